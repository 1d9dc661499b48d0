/*
 * A program that does with its heap what few do: heap_odd MODE. Prints "undisturbed" when all went
 * as it should.
 *
 *     handler   allocates in signal handlers, hundreds of times a second
 *     errno     malloc and free leave errno alone; a malloc that fails sets it
 *     churn     a thousand threads, eight at a time, that allocate to their last destructor
 *     plugin    FILE: loads a library, allocates in it, unloads it, again and again
 *     pool      hands out blocks of an arena of its own, and tells of them; two are never given
 * back killed    allocates a lot, then kills itself
 */
#include "../../include/kelvin.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* A compiler may leave out a block that nobody uses. */
__attribute__((noinline)) static void *block(size_t n)
{
    char *p = malloc(n);
    p[0] = 1;
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

static volatile int in_handler;

/* Only when the main thread is between its own calls: malloc itself is not reentrant. */
static volatile sig_atomic_t may_allocate;

static void handler(int sig)
{
    (void)sig;
    if (may_allocate)
        free(block(77));
    in_handler++;
}

static int handlers(void)
{
    struct sigaction act = {.sa_handler = handler};
    struct itimerval often = {{0, 2000}, {0, 2000}};
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (in_handler < 200) {
        void *p = malloc(100);
        may_allocate = 1;
        for (volatile int i = 0; i < 10000; i++)
            ;
        may_allocate = 0;
        free(p);
    }
    return 0;
}

static int errnos(void)
{
    for (int i = 0; i < 10000; i++) {
        errno = 4711;
        void *p = malloc(100 + (size_t)i);
        p = realloc(p, 200 + (size_t)i);
        free(p);
        if (errno != 4711)
            return 1;
    }
    errno = 0;
    volatile size_t too_much = SIZE_MAX / 2;
    void *kept = malloc(10);
    if (malloc(too_much) || errno != ENOMEM || realloc(kept, too_much))
        return 1;
    strcpy(kept, "kept");
    free(kept);
    return 0;
}

static pthread_key_t key;

static void last_words(void *p)
{
    free(p);
    free(block(33));
}

static void *short_life(void *unused)
{
    pthread_setspecific(key, block(55));
    free(block(44));
    return unused;
}

static int churn(void)
{
    pthread_t t[8];
    pthread_key_create(&key, last_words);
    for (int i = 0; i < 125; i++) {
        for (int k = 0; k < 8; k++)
            if (pthread_create(&t[k], NULL, short_life, NULL) != 0)
                return 1;
        for (int k = 0; k < 8; k++)
            pthread_join(t[k], NULL);
    }
    return 0;
}

static int plugin(const char *file)
{
    for (int i = 0; i < 5; i++) {
        void *lib = dlopen(file, RTLD_NOW);
        void *(*make)(void) = lib ? (void *(*)(void))dlsym(lib, "plugin_make") : NULL;
        if (!make)
            return 1;
        free(make());
        dlclose(lib);
    }
    return 0;
}

/* The arena and its first block begin at the same address. */
__attribute__((noinline)) static int pool(void)
{
    char *arena = block(1 << 16);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++)
            kelvin_alloc(arena + i * 64, 64);
        for (int i = 0; i < 100 && round < 2; i++)
            kelvin_free(arena + i * 64);
    }
    for (int i = 2; i < 100; i++)
        kelvin_free(arena + i * 64);
    free(arena);
    return 0;
}

static int killed(void)
{
    for (int i = 0; i < 1000; i++)
        block(1000);
    usleep(300000);
    fputs("undisturbed\n", stdout);
    fflush(stdout);
    return raise(SIGKILL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int rc = strcmp(mode, "handler") == 0  ? handlers()
             : strcmp(mode, "errno") == 0  ? errnos()
             : strcmp(mode, "churn") == 0  ? churn()
             : strcmp(mode, "plugin") == 0 ? plugin(argv[2])
             : strcmp(mode, "pool") == 0   ? pool()
             : strcmp(mode, "killed") == 0 ? killed()
                                           : 1;
    fputs(rc == 0 ? "undisturbed\n" : "wrong\n", stdout);
    return rc;
}
