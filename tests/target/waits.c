/*
 * waits.c - threads that wait, and know for how long and what for.
 *
 * waits KIND N US: does one kind of waiting N times, US microseconds each where that is its to
 * choose. KIND is one of those in the table at the end. At the end a line for each thread that
 * waited: its name, nanoseconds that its waits took by its own clock, its number, and the
 * nanoseconds of its CPU time among those: the way into the kernel and out of it. Then "switches"
 * with how often its threads left a CPU: since main() began, and in all.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long times, wait_us;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2][2]; /* two pipes or pairs of sockets */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* Waits of a thread by its own clocks: the time they took, and its CPU time meanwhile. */
struct waited {
    int64_t wall_ns, cpu_ns;
};

static void wait_begins(struct waited *w)
{
    w->wall_ns -= now_ns();
    w->cpu_ns -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void wait_is_over(struct waited *w)
{
    w->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
    w->wall_ns += now_ns();
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

static void tell(const char *name, const struct waited *w)
{
    printf("%s %lld %d %lld\n", name, (long long)w->wall_ns, (int)gettid(), (long long)w->cpu_ns);
}

/* How often its threads left a CPU, by waiting or not. */
static long count_switches(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_nvcsw + r.ru_nivcsw;
}

/* --- sleep --- */

__attribute__((noinline)) void sleep_here(struct waited *sum)
{
    for (long i = 0; i < times; i++) {
        wait_begins(sum);
        pause_us(wait_us);
        wait_is_over(sum);
    }
}

static void run_sleep(void)
{
    struct waited sum = {0};
    sleep_here(&sum);
    tell("sleep", &sum);
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

__attribute__((noinline)) void lock_here(struct waited *sum)
{
    wait_begins(sum);
    pthread_mutex_lock(&mutex);
    wait_is_over(sum);
    pthread_mutex_unlock(&mutex);
}

static void *want_lock(void *none)
{
    struct waited sum = {0};
    while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
        if (__atomic_load_n(&held, __ATOMIC_SEQ_CST))
            lock_here(&sum);
        else
            usleep(50);
    }
    tell("wants", &sum);
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
    struct waited sum = {0};
    pthread_mutex_lock(&mutex);
    for (long i = 0; i < times; i++) {
        wait_begins(&sum);
        while (given <= i)
            pthread_cond_wait(&condition, &mutex);
        wait_is_over(&sum);
    }
    pthread_mutex_unlock(&mutex);
    tell("consumes", &sum);
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
    struct waited sum = {0};
    char c = 'x';
    launch(&t, "answers", answer);
    for (long i = 0; i < times; i++) {
        if (write(ends[0][1], &c, 1) != 1)
            abort();
        wait_begins(&sum);
        if (read(ends[1][0], &c, 1) != 1)
            abort();
        wait_is_over(&sum);
    }
    tell(name, &sum);
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

/* The same over the loopback interface. */
static void run_loopback(void)
{
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    if (bind(server, (void *)&at, n) != 0 || listen(server, 1) != 0 ||
        getsockname(server, (void *)&at, &n) != 0 || connect(client, (void *)&at, n) != 0)
        abort();
    int served = accept(server, NULL, NULL);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(served, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ends[0][1] = ends[1][0] = client;
    ends[0][0] = ends[1][1] = served;
    ping("loopback");
}

/* A long sleep after N short waits at once. */
static void run_burst(void)
{
    long us = wait_us;
    struct waited sum = {0};
    wait_us = 0;
    run_pipe();
    wait_us = us;
    times = 1;
    sleep_here(&sum);
    tell("sleep", &sum);
}

/* --- poll that times out, a child, the disk --- */

static void run_poll(void)
{
    struct waited sum = {0};
    if (pipe(ends[0]) != 0)
        abort();
    struct pollfd f = {.fd = ends[0][0], .events = POLLIN};
    for (long i = 0; i < times; i++) {
        wait_begins(&sum);
        poll(&f, 1, (int)(wait_us / 1000));
        wait_is_over(&sum);
    }
    tell("poll", &sum);
}

static void run_child(void)
{
    struct waited sum = {0};
    for (long i = 0; i < times; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pause_us(wait_us);
            _exit(0);
        }
        wait_begins(&sum);
        waitpid(pid, NULL, 0);
        wait_is_over(&sum);
    }
    tell("child", &sum);
}

static void run_sync(void)
{
    struct waited sum = {0};
    static char block[1 << 20];
    size_t n = (size_t)wait_us * 100 < sizeof block ? (size_t)wait_us * 100 : sizeof block;
    int fd = open("waits.sync", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    for (long i = 0; fd >= 0 && i < times; i++) {
        if (write(fd, block, n) != (ssize_t)n)
            abort();
        wait_begins(&sum);
        fsync(fd);
        wait_is_over(&sum);
    }
    unlink("waits.sync");
    tell("sync", &sum);
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

/* --- a thread that never runs, as another keeps its CPU; 77 where that needs more rights --- */

static void *return_at_once(void *none)
{
    return none;
}

static void run_starve(void)
{
    pthread_t t;
    pthread_attr_t ordinary;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    pthread_attr_init(&ordinary);
    pthread_attr_setinheritsched(&ordinary, PTHREAD_EXPLICIT_SCHED);
    if (sched_setaffinity(0, sizeof one, &one) != 0 ||
        sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) != 0 ||
        pthread_create(&t, &ordinary, return_at_once, NULL) != 0)
        exit(77);
    spin(NULL);
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    pthread_join(t, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"sleep", run_sleep},   {"lock", run_lock},     {"condition", run_condition},
    {"pipe", run_pipe},     {"socket", run_socket}, {"poll", run_poll},
    {"child", run_child},   {"sync", run_sync},     {"busy", run_busy},
    {"starve", run_starve}, {"burst", run_burst},   {"loopback", run_loopback},
};

int main(int argc, char **argv)
{
    long before = count_switches(); /* by who started it, too, before this was its program */
    times = argc > 2 ? atol(argv[2]) : 10;
    wait_us = argc > 3 ? atol(argv[3]) : 1000;
    for (size_t i = 0; argc > 1 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].run();
            printf("switches %ld %ld\n", count_switches() - before, count_switches());
            return 0;
        }
    fputs("usage: waits KIND N US\n", stderr);
    return 2;
}
