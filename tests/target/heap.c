/*
 * A program that counts its own allocations: heap MODE [ROUNDS [wait]]. Prints what it did, a line
 * each: "allocations N", "allocated BYTES", "freed BYTES", "leaked BYTES", "temporary N".
 *
 *     plain    malloc, calloc, realloc, aligned, of known sizes from known functions
 *     threads  four threads, blocks handed from one to the next
 *     turns    two threads that pass one address to and fro, and allocate for themselves in between
 *     fork     a child that allocates and frees, and frees blocks of its parent
 *     locked   two threads that allocate ROUNDS blocks each while they hold a lock, and as many
 * without cache    ROUNDS tenths of a second: a cache that is never emptied, and a loop that
 * allocates
 *
 * With "wait" it begins when it can read a byte, and ends when its input does. With "wait few" the
 * cache's loop allocates 200 blocks at a time, not 20,000.
 */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic long allocations, allocated, frees, freed;

static void *count(void *p, size_t n)
{
    allocations++;
    allocated += (long)n;
    return p;
}

static void drop(void *p, size_t n)
{
    frees++;
    freed += (long)n;
    free(p);
}

__attribute__((noinline)) static void *part_small(size_t n)
{
    void *p = count(malloc(n), n);
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

__attribute__((noinline)) static void *part_cleared(size_t n)
{
    void *p = count(calloc(n, 3), 3 * n);
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

__attribute__((noinline)) static void *part_grown(size_t n)
{
    char *p = count(malloc(n), n);
    p[0] = 1;
    frees++;
    freed += (long)n;
    p = count(realloc(p, 10 * n), 10 * n);
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

__attribute__((noinline)) static void *part_aligned(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 256, n) != 0)
        abort();
    __asm__ volatile("" : : "r"(p) : "memory");
    return count(p, n);
}

__attribute__((noinline)) static void part_leaked(size_t n)
{
    void *p = count(malloc(n), n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* DEPTH frames down, where it allocates and frees again. */
__attribute__((noinline)) static int part_deep(int depth, size_t n)
{
    if (depth == 0) {
        void *p = part_small(n);
        drop(p, n);
        return 1;
    }
    int rc = part_deep(depth - 1, n);
    __asm__ volatile("" : "+r"(rc));
    return rc + 1;
}

static void plain(long rounds)
{
    for (long i = 0; i < rounds; i++) {
        size_t n = 16 + (size_t)(i % 100);
        void *a = part_small(n), *b = part_cleared(n), *c = part_grown(n), *d = part_aligned(n);
        part_deep((int)(i % 20), n);
        drop(a, n);
        drop(d, n);
        drop(b, 3 * n);
        drop(c, 10 * n);
        if (i % 10 == 0)
            part_leaked(n);
    }
    void *big = count(malloc(10 << 20), 10 << 20);
    memset(big, 1, 10 << 20);
    drop(big, 10 << 20);
}

/* --- threads --- */

enum { HANDS = 1024 };

static _Atomic(void *) hands[HANDS];
static long thread_rounds;

static void *worker(void *unused)
{
    for (long i = 0; i < thread_rounds; i++) {
        void *p = part_small(48), *old = atomic_exchange(&hands[i * 7 % HANDS], p);
        if (old)
            drop(old, 48);
    }
    return unused;
}

static void threads(long rounds)
{
    pthread_t t[4];
    thread_rounds = rounds;
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < HANDS; i++)
        if (hands[i])
            drop(hands[i], 48);
}

/* --- turns --- */

static sem_t turn_of[2];
static void *passed;

/* What a thread frees the other one has allocated, as a rule at the address that it freed itself.
 */
static void take_turns(long rounds, int me)
{
    for (long i = 0; i < rounds; i++) {
        sem_wait(&turn_of[me]);
        for (int k = 0; k < 20 + i % 16; k++)
            drop(part_small(200), 200);
        drop(passed, 48);
        passed = me ? part_small(48) : part_cleared(16);
        sem_post(&turn_of[1 - me]);
    }
}

static void *second_of_two(void *rounds)
{
    take_turns((long)rounds, 1);
    return NULL;
}

static void turns(long rounds)
{
    pthread_t other;
    passed = part_small(48);
    sem_init(&turn_of[0], 0, 1);
    sem_init(&turn_of[1], 0, 0);
    pthread_create(&other, NULL, second_of_two, (void *)rounds);
    take_turns(rounds, 0);
    pthread_join(other, NULL);
    drop(passed, 48);
}

/* --- fork --- */

static void forks(long rounds)
{
    void *inherited = part_small(1000);
    int pipes[2];
    long theirs[4];
    if (pipe(pipes) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        allocations = allocated = frees = freed = 0;
        free(inherited);
        for (long i = 0; i < rounds; i++)
            drop(part_small(64), 64);
        part_leaked(640);
        long mine[4] = {allocations, allocated, frees, freed};
        _exit(write(pipes[1], mine, sizeof mine) == sizeof mine ? 0 : 1);
    }
    if (read(pipes[0], theirs, sizeof theirs) != sizeof theirs)
        abort();
    waitpid(pid, NULL, 0);
    for (long i = 0; i < rounds; i++)
        drop(part_small(32), 32);
    allocations += theirs[0];
    allocated += theirs[1];
    frees += theirs[2];
    freed += theirs[3];
    drop(inherited, 1000);
}

/* --- under a lock --- */

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int at_the_lock;

__attribute__((noinline)) static void *part_locked(size_t n)
{
    void *p = count(malloc(n), n);
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static void *lock_and_allocate(void *rounds)
{
    at_the_lock++;
    for (long i = *(long *)rounds; i > 0; i--) {
        pthread_mutex_lock(&shared);
        void *p = part_locked(40);
        pthread_mutex_unlock(&shared);
        drop(p, 40);
        drop(part_small(40), 40);
    }
    return NULL;
}

/* Both threads have to wait for their first lock. */
static void locked(long rounds)
{
    pthread_t thread[2];
    pthread_mutex_lock(&shared);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, lock_and_allocate, &rounds);
    while (at_the_lock < 2)
        usleep(1000);
    usleep(50000);
    pthread_mutex_unlock(&shared);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

/* --- a cache --- */

__attribute__((noinline)) static void part_cached(size_t n)
{
    void *p = count(malloc(n), n);
    memset(p, 1, n);
    __asm__ volatile("" : : "r"(p) : "memory");
}

static void cache(long rounds, int blocks)
{
    for (long i = 0; i < rounds; i++) {
        for (int k = 0; k < 20; k++)
            part_cached(5000);
        for (int k = 0; k < blocks; k++)
            drop(part_small(40), 40);
        usleep(100000);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "plain";
    long rounds = argc > 2 ? atol(argv[2]) : 1000;
    static char out[4096]; /* stdio would allocate it */
    setvbuf(stdout, out, _IOFBF, sizeof out);
    char byte;
    bool waits = argc > 3;
    if (waits && read(STDIN_FILENO, &byte, 1) != 1)
        return 1;
    if (strcmp(mode, "plain") == 0)
        plain(rounds);
    else if (strcmp(mode, "threads") == 0)
        threads(rounds);
    else if (strcmp(mode, "turns") == 0)
        turns(rounds);
    else if (strcmp(mode, "fork") == 0)
        forks(rounds);
    else if (strcmp(mode, "locked") == 0)
        locked(rounds);
    else if (strcmp(mode, "cache") == 0)
        cache(rounds, argc > 4 ? 200 : 20000);
    else
        return 1;
    printf("allocations %ld\nallocated %ld\nfrees %ld\nfreed %ld\nleaked %ld\n", (long)allocations,
           (long)allocated, (long)frees, (long)freed, (long)(allocated - freed));
    fflush(stdout);
    while (waits && read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
