/*
 * deep.c - recursion to a given depth, and captures of the stack at its end.
 *
 * deep MODE DEPTH FILE: MODE is here, signal, thread, or sampled (which works a while and is
 * interrupted wherever it happens to be). Build with -O2 -fomit-frame-pointer -rdynamic -pthread.
 */
#define _GNU_SOURCE
#include "capture.h"

static void (*at_the_end)(void);

/* Keeps the compiler from making a loop of the recursion. */
static inline int keep(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

/* Frames of several kinds: small, with a variable part, with an aligned one, by pointer. */
__attribute__((noinline)) static int go(int depth);

__attribute__((noinline)) static int with_alloca(int depth)
{
    volatile char *bytes = (volatile char *)__builtin_alloca((size_t)depth % 64 + 8);
    bytes[0] = (char)depth;
    return go(depth - 1) + bytes[0];
}

__attribute__((noinline)) static int with_alignment(int depth)
{
    volatile int words[16] __attribute__((aligned(64)));
    words[depth % 16] = depth;
    return go(depth - 1) + words[depth % 16];
}

__attribute__((noinline)) static int with_large_frame(int depth)
{
    volatile char bytes[1500];
    bytes[depth] = 1;
    return go(depth - 1) + bytes[depth];
}

static int compare(const void *a, const void *b)
{
    int depth = *(const int *)a;
    (void)b;
    return depth > 0 ? go(depth - 1) % 2 : 0;
}

__attribute__((noinline)) static int through_libc(int depth)
{
    int pair[2] = {depth, depth};
    qsort(pair, 2, sizeof pair[0], compare);
    return pair[0];
}

static int go(int depth)
{
    if (depth <= 0) {
        at_the_end();
        return 1;
    }
    switch (depth % 16) {
    case 3:
        return with_alloca(depth) + 1;
    case 5:
        return with_alignment(depth) + 1;
    case 7:
        return with_large_frame(depth) + 1;
    case 9:
        return depth < 16 ? through_libc(depth) + 1 : keep(go(depth - 1));
    default:
        return keep(go(depth - 1));
    }
}

static void on_signal(int sig)
{
    (void)sig;
    capture_here();
}

static void raise_one(void)
{
    signal(SIGUSR1, on_signal);
    kill(getpid(), SIGUSR1);
}

/* Some of everything: PLT stubs, string functions, the vdso, arithmetic. */
static void work(void)
{
    char text[256];
    struct timeval now;
    volatile double sum = 0;
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "%d %s %g", i, "some text", sum);
        sum += (double)strlen(text) + atoi(text);
        gettimeofday(&now, NULL);
        memset(text, i, sizeof text);
        free(malloc((size_t)i * 10));
    }
}

static void *in_thread(void *depth)
{
    go(*(int *)depth);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 1;
    const char *mode = argv[1];
    int depth = atoi(argv[2]);
    capture_open(argv[3]);
    at_the_end = strcmp(mode, "signal") == 0    ? raise_one
                 : strcmp(mode, "sampled") == 0 ? work
                                                : capture_here;
    if (strcmp(mode, "sampled") == 0) {
        capture_samples();
        while (capture_count < 60 && clock() < 2 * CLOCKS_PER_SEC)
            go(depth);
    } else if (strcmp(mode, "thread") == 0) {
        pthread_t t;
        pthread_create(&t, NULL, in_thread, &depth);
        pthread_join(t, NULL);
    } else {
        go(depth);
    }
    capture_close(argv[3]);
    return 0;
}
