/*
 * waits.c - threads that wait, and know for how long and what for.
 *
 * waits KIND N US: does one kind of waiting N times, US microseconds each where that is its to
 * choose. KIND is one of those in the table at the end. At the end a line for each thread that
 * waited: its name, nanoseconds that its waits took by its own clock, and its number.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long times, wait_us;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2][2]; /* two pipes or pairs of sockets */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void pause_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

struct start {
    const char *name;
    void *(*run)(void *);
};

/* A thread names itself: it may be over before anybody else could. */
static void *run_named(void *start)
{
    const struct start *s = start;
    pthread_setname_np(pthread_self(), s->name);
    return s->run(NULL);
}

static void launch(pthread_t *t, const char *name, void *(*run)(void *))
{
    enum { MOST = 8 };
    static struct start starts[MOST];
    static int n;
    starts[n] = (struct start){name, run};
    if (pthread_create(t, NULL, run_named, &starts[n++]) != 0)
        abort();
}

static void tell(const char *name, int64_t waited_ns)
{
    printf("%s %lld %d\n", name, (long long)waited_ns, (int)gettid());
}

/* --- sleep --- */

__attribute__((noinline)) int64_t sleep_here(void)
{
    int64_t sum = 0;
    for (long i = 0; i < times; i++) {
        int64_t start = now_ns();
        pause_us(wait_us);
        sum += now_ns() - start;
    }
    return sum;
}

static void run_sleep(void)
{
    tell("sleep", sleep_here());
}

/* --- a lock that somebody else holds all the time --- */

static volatile int held, over;

static void *hold_lock(void *none)
{
    for (long i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        __atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
        pause_us(wait_us);
        __atomic_store_n(&held, 0, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&mutex);
        pause_us(200); /* so that the other gets it, whatever the machine does */
    }
    __atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
    return none;
}

__attribute__((noinline)) int64_t lock_here(void)
{
    int64_t start = now_ns();
    pthread_mutex_lock(&mutex);
    int64_t end = now_ns();
    pthread_mutex_unlock(&mutex);
    return end - start;
}

static void *want_lock(void *none)
{
    int64_t sum = 0;
    while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
        if (__atomic_load_n(&held, __ATOMIC_SEQ_CST))
            sum += lock_here();
        else
            usleep(50);
    }
    tell("wants", sum);
    return none;
}

static void run_lock(void)
{
    pthread_t holder, other;
    launch(&other, "wants", want_lock);
    launch(&holder, "holds", hold_lock);
    pthread_join(holder, NULL);
    pthread_join(other, NULL);
}

/* --- a condition that comes late --- */

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static long given;

static void *give(void *none)
{
    for (long i = 0; i < times; i++) {
        pause_us(wait_us);
        pthread_mutex_lock(&mutex);
        given++;
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&mutex);
    }
    return none;
}

static void *want_condition(void *none)
{
    int64_t sum = 0;
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < times; i++) {
        int64_t start = now_ns();
        while (given <= i)
            pthread_cond_wait(&condition, &mutex);
        sum += now_ns() - start;
    }
    pthread_mutex_unlock(&mutex);
    tell("consumes", sum);
    return none;
}

static void run_condition(void)
{
    pthread_t t[2];
    launch(&t[0], "consumes", want_condition);
    launch(&t[1], "gives", give);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
}

/* --- ping and pong; who answers takes its time, or none --- */

static void *answer(void *none)
{
    char c;
    while (read(ends[0][0], &c, 1) == 1) {
        if (wait_us)
            pause_us(wait_us);
        if (write(ends[1][1], &c, 1) != 1)
            break;
    }
    return none;
}

static void ping(const char *name)
{
    pthread_t t;
    int64_t sum = 0;
    char c = 'x';
    launch(&t, "answers", answer);
    for (long i = 0; i < times; i++) {
        if (write(ends[0][1], &c, 1) != 1)
            abort();
        int64_t start = now_ns();
        if (read(ends[1][0], &c, 1) != 1)
            abort();
        sum += now_ns() - start;
    }
    tell(name, sum);
    close(ends[0][1]);
    pthread_join(t, NULL);
}

static void run_pipe(void)
{
    if (pipe(ends[0]) != 0 || pipe(ends[1]) != 0)
        abort();
    ping("pipe");
}

static void run_socket(void)
{
    int pair[2][2];
    for (int i = 0; i < 2; i++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]) != 0)
            abort();
        memcpy(ends[i], pair[i], sizeof pair[i]);
    }
    ping("socket");
}

/* --- poll that times out, a child, the disk --- */

static void run_poll(void)
{
    int64_t sum = 0;
    if (pipe(ends[0]) != 0)
        abort();
    struct pollfd f = {.fd = ends[0][0], .events = POLLIN};
    for (long i = 0; i < times; i++) {
        int64_t start = now_ns();
        poll(&f, 1, (int)(wait_us / 1000));
        sum += now_ns() - start;
    }
    tell("poll", sum);
}

static void run_child(void)
{
    int64_t sum = 0;
    for (long i = 0; i < times; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pause_us(wait_us);
            _exit(0);
        }
        int64_t start = now_ns();
        waitpid(pid, NULL, 0);
        sum += now_ns() - start;
    }
    tell("child", sum);
}

static void run_sync(void)
{
    int64_t sum = 0;
    char block[4096] = {0};
    int fd = open("waits.sync", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (long i = 0; fd >= 0 && i < times; i++) {
        if (write(fd, block, sizeof block) != sizeof block)
            abort();
        int64_t start = now_ns();
        fsync(fd);
        sum += now_ns() - start;
    }
    unlink("waits.sync");
    tell("sync", sum);
}

/* --- busy: more threads than CPUs --- */

static void *spin(void *none)
{
    int64_t end = now_ns() + times * wait_us * 1000;
    while (now_ns() < end)
        ;
    return none;
}

static void run_busy(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        launch(&t[i], "spins", spin);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"sleep", run_sleep}, {"lock", run_lock},     {"condition", run_condition},
    {"pipe", run_pipe},   {"socket", run_socket}, {"poll", run_poll},
    {"child", run_child}, {"sync", run_sync},     {"busy", run_busy},
};

int main(int argc, char **argv)
{
    times = argc > 2 ? atol(argv[2]) : 10;
    wait_us = argc > 3 ? atol(argv[3]) : 1000;
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            return 0;
        }
    fputs("usage: waits KIND N US\n", stderr);
    return 2;
}
