#!/usr/bin/env bats
# A program planted for each insight on waits, which must get it, and healthy ones that must get none.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    cat >planted.c <<'EOF'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static int jobs, finished, over, job_us;
static void nap(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }
static void burn(long us)
{
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}
static void *pool(void *arg)
{
    pthread_setname_np(pthread_self(), "pool");
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!jobs && !over)
            pthread_cond_wait(&work, &mutex);
        if (!jobs)
            break;
        jobs--;
        pthread_mutex_unlock(&mutex);
        nap(job_us);
        pthread_mutex_lock(&mutex);
        finished++;
        pthread_cond_signal(&done);
    }
    pthread_mutex_unlock(&mutex);
    return arg;
}
/* N threads, rounds of MANY jobs that wait for something for 5 ms each. */
static void run_pool(int n, int many, int rounds)
{
    pthread_t t[16];
    job_us = 5000;
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, pool, NULL);
    pthread_mutex_lock(&mutex);
    for (int r = 0; r < rounds; r++) {
        jobs = many;
        finished = 0;
        pthread_cond_broadcast(&work);
        while (finished < many)
            pthread_cond_wait(&done, &mutex);
    }
    over = 1;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}
/* A lock of a futex of our own. */
static int word;
static void futex(int op, int value) { syscall(SYS_futex, &word, op, value, NULL, NULL, 0); }
__attribute__((noinline)) static void own_lock(void)
{
    int was = 0;
    if (__atomic_compare_exchange_n(&word, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE))
        futex(FUTEX_WAIT_PRIVATE, 2);
}
__attribute__((noinline)) static void own_unlock(void)
{
    if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
        futex(FUTEX_WAKE_PRIVATE, 1);
    burn(100); /* to be seen here */
}
static void *own(void *arg)
{
    for (int i = 0; i < 60; i++) {
        own_lock();
        nap(2000);
        own_unlock();
    }
    return arg;
}
static void run_own(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, own, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}
static void *convoy(void *arg)
{
    for (int i = 0; i < 40; i++) {
        pthread_mutex_lock(&mutex);
        nap(3000);
        pthread_mutex_unlock(&mutex);
        nap(100);
    }
    return arg;
}
static void run_convoy(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, convoy, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}
static void run_sync(void)
{
    int fd = open("synced", O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 200; i++)
        if (pwrite(fd, "x", 1, i) != 1 || fsync(fd) != 0)
            exit(1);
}
static void *answer(void *fds)
{
    char c;
    while (read(((int *)fds)[0], &c, 1) == 1 && write(((int *)fds)[3], &c, 1) == 1)
        ;
    return NULL;
}
static void run_pingpong(void)
{
    int fds[4];
    char c = 0;
    pthread_t t;
    if (pipe(fds) != 0 || pipe(fds + 2) != 0)
        exit(1);
    pthread_create(&t, NULL, answer, fds);
    for (int i = 0; i < 50000; i++)
        if (write(fds[1], &c, 1) != 1 || read(fds[2], &c, 1) != 1)
            exit(1);
    close(fds[1]);
    pthread_join(t, NULL);
}
int main(int n, char **args)
{
    const char *w = n > 1 ? args[1] : "";
    if (!strcmp(w, "small")) run_pool(2, 200, 1);
    if (!strcmp(w, "fits")) run_pool(8, 8, 40);
    if (!strcmp(w, "timers")) for (int i = 0; i < 3000; i++) nap(200);
    if (!strcmp(w, "naps")) for (int i = 0; i < 40; i++) { burn(1000); nap(10000); }
    if (!strcmp(w, "convoy")) run_convoy();
    if (!strcmp(w, "own")) run_own();
    if (!strcmp(w, "sync")) run_sync();
    if (!strcmp(w, "pingpong")) run_pingpong();
    if (!strcmp(w, "burn")) burn(500000);
    return 0;
}
EOF
    cc -O1 -g -pthread planted.c -o planted
}

setup() {
    local why
    cd "$BATS_TEST_TMPDIR" || return
    why=$("$KELVIN" record --engine perf --waits -q -o probe.kelvin -- true 2>&1) || skip "$why"
    [ "$("$KELVIN" report --waits --format json probe.kelvin | jq .stacks_recorded)" = true ] ||
        skip "needs the right to see the kernel: root, or kernel.perf_event_paranoid at most 1"
}

# The ids of the insights, but for the queue for a CPU, which is the machine's.
insights_of() { # WHAT
    "$KELVIN" record --waits -q -o r.kelvin -- "$BATS_FILE_TMPDIR/planted" "$1" >&2
    "$KELVIN" report --waits --format json r.kelvin | jq -r '[.insights[].id | select(. != "no-cpu")] | join(" ")'
}

gets() { # WHAT IDS
    local is
    is=$(insights_of "$1")
    [ "$is" = "$2" ] || fail "$1: '$is', not '$2'" "$("$KELVIN" report --waits r.kelvin)"
}

@test "a pool of two threads for two hundred jobs that wait is too small; one that fits is not" {
    [ "$("$KELVIN" report --waits --format json probe.kelvin | jq .wakers_recorded)" = true ] || skip "wakers are not seen here"
    gets small pool-too-small
    [[ $("$KELVIN" report --waits r.kelvin) == *"the 2 threads 'pool' hardly ever waited for work"* ]] || fail "$("$KELVIN" report --waits r.kelvin)"
    gets fits ""
}

@test "thousands of short sleeps are a timer storm; a nap now and then is not" {
    gets timers timer-storm
    gets naps ""
}

@test "a lock that is held while its holder sleeps, and fsync in the path" {
    gets convoy lock-waits
    insights_of sync >is # a file system in memory waits for nothing, a fast disk shortly
    [[ $(<is) =~ ^(io-in-path)?\ ?(wakes-often)?$ ]] || fail "$(<is)"
    [[ $("$KELVIN" report --waits --format json r.kelvin | jq '.threads[0] | .blocked_by_reason_ns.fsync > 0.25 * .wall_ns') != true ||
        $(<is) == io-in-path* ]] || fail "$("$KELVIN" report --waits r.kelvin)"
}

@test "a lock that a program makes of a futex is one, by who ends the waits" {
    insights_of own >is
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .wakers_recorded)" = true ] || skip "wakers are not seen here"
    [ "$(<is)" = wait-for-each-other ] || fail "$(<is)" "$("$KELVIN" report --waits r.kelvin)"
    "$KELVIN" report --waits r.kelvin | tr -s '\n ' ' ' | grep -q 'waits (futex) in own_lock that end when another of these threads calls own_unlock' ||
        fail "$("$KELVIN" report --waits r.kelvin)"
}

@test "two threads that hand a byte to and fro wake too often; who computes gets no advice on waits" {
    gets pingpong wakes-often
    gets burn ""
}

# A folder of its own with a third of a CPU, in either version of cgroups.
make_quota() {
    group=/sys/fs/cgroup/cpu/kelvin-test-$$
    if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ] || [ -e /sys/fs/cgroup/cpu/cpu.stat ]; then
        mkdir "$group" 2>/dev/null && echo 30000 >"$group/cpu.cfs_quota_us"
    else
        group=/sys/fs/cgroup/kelvin-test-$$
        mkdir "$group" 2>/dev/null && echo 30000 100000 >"$group/cpu.max"
    fi
}

teardown() {
    [ ! -d "${group:-}" ] || wait_until 10 rmdir "$group" || true
}

@test "a CPU quota is named as what keeps threads from the CPUs" {
    make_quota 2>/dev/null || skip "no cgroup with a CPU quota can be made here"
    # The recorder stays outside. The program goes there first, and is there when recording begins.
    sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" burn' sh "$group" "$BATS_FILE_TMPDIR/planted" >/dev/null 2>&1 &
    wait_until 10 grep -qx $! "$group/cgroup.procs"
    "$KELVIN" record --waits -q -o r.kelvin -p $!
    local said
    said=$("$KELVIN" report --waits --format json r.kelvin | jq -r '.insights[] | select(.id == "no-cpu") | .evidence')
    [[ $said == *"used up its CPU quota for"* ]] || fail "$("$KELVIN" report --waits r.kelvin)"
}
