/*
 * capture.h - what a profiler would see of this program, and what backtrace(3) says about it.
 *
 * For the programs of this folder, in C and C++. A file gets one record for each capture, in
 * words of 8 bytes: pc sp fp rbx, number of stack words, those words, number of addresses, those
 * addresses (as backtrace finds them, innermost first). FILE.maps is a copy of /proc/self/maps.
 */
#pragma once
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { CAPTURE_DEPTH_MAX = 4096 };

static FILE *capture_file;
static volatile int capture_count;

static uint64_t capture_stack_end(void)
{
    pthread_attr_t attr;
    void *start;
    size_t n;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &start, &n);
    pthread_attr_destroy(&attr);
    return (uint64_t)(uintptr_t)start + n;
}

static void capture_words(const void *words, uint64_t n)
{
    fwrite(words, 8, n, capture_file);
}

__attribute__((unused)) static void capture_write(const ucontext_t *uc, uint64_t stack_end,
                                                  void **pcs, uint64_t n)
{
    const greg_t *g = uc->uc_mcontext.gregs;
    uint64_t head[5] = {(uint64_t)g[REG_RIP], (uint64_t)g[REG_RSP], (uint64_t)g[REG_RBP],
                        (uint64_t)g[REG_RBX], 0};
    head[4] = (stack_end - head[1]) / 8;
    capture_words(head, 5);
    capture_words((const void *)head[1], head[4]);
    capture_words(&n, 1);
    capture_words(pcs, n);
    capture_count++;
}

/* The stack from here. The first address differs: each has its own place in this function. */
__attribute__((noinline, unused)) static void capture_here(void)
{
    static void *pcs[CAPTURE_DEPTH_MAX];
    ucontext_t uc;
    uint64_t end = capture_stack_end();
    getcontext(&uc);
    int n = backtrace(pcs, CAPTURE_DEPTH_MAX);
    capture_write(&uc, end, pcs, (uint64_t)n);
}

static uint64_t capture_sampled_end;

/* The stack that a signal came into: what backtrace says from the interrupted address on. */
__attribute__((unused)) static void capture_on_signal(int sig, siginfo_t *info, void *context)
{
    static void *pcs[CAPTURE_DEPTH_MAX];
    const ucontext_t *uc = (const ucontext_t *)context;
    int e = errno, n = backtrace(pcs, CAPTURE_DEPTH_MAX), i = 0;
    (void)sig, (void)info;
    while (i < n && (greg_t)(uintptr_t)pcs[i] != uc->uc_mcontext.gregs[REG_RIP])
        i++;
    if (i < n)
        capture_write(uc, capture_sampled_end, pcs + i, (uint64_t)(n - i));
    errno = e;
}

/* Capture the main thread a thousand times a second of its time. */
__attribute__((unused)) static void capture_samples(void)
{
    struct sigaction act;
    struct itimerval every = {{0, 1000}, {0, 1000}};
    memset(&act, 0, sizeof act);
    act.sa_sigaction = capture_on_signal;
    act.sa_flags = SA_SIGINFO | SA_RESTART;
    capture_sampled_end = capture_stack_end();
    sigaction(SIGPROF, &act, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
}

__attribute__((unused)) static void capture_open(const char *path)
{
    void *warm[1];
    backtrace(warm, 1); /* loads libgcc, which must not happen in a handler */
    capture_file = fopen(path, "w");
    setvbuf(capture_file, NULL, _IOFBF, 1 << 20);
}

__attribute__((unused)) static void capture_close(const char *path)
{
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, NULL);
    fclose(capture_file);
    char command[4096];
    snprintf(command, sizeof command, "%s.maps", path);
    FILE *in = fopen("/proc/self/maps", "r"), *out = fopen(command, "w");
    while (fgets(command, sizeof command, in))
        fputs(command, out);
    fclose(in);
    fclose(out);
}
