#!/usr/bin/env bats
# Waits for locks that never end, and locks that the agent cannot see.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

# An expression of jq on what `kelvin locks` says as JSON.
locks() { # EXPRESSION
    "$KELVIN" locks --format json r.kelvin | jq -r "$1"
}

deadlock() { # END: what the main thread does
    cat >dead.c <<E
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *other_way(void *arg)
{
    pthread_setname_np(pthread_self(), "other");
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&first);
    return arg;
}
static void *one_way(void *arg)
{
    pthread_setname_np(pthread_self(), "one");
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&second);
    return arg;
}
int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&t[0], NULL, one_way, NULL);
    pthread_create(&t[1], NULL, other_way, NULL);
    usleep(300000);
    $1;
}
E
    cc -O1 -g -pthread dead.c -o dead
}

@test "a wait that never ends lasts as long as its process, not until the recorder hears of the end" {
    cat >open.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void *waits(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_cond_wait(&never, &mutex);
    return arg;
}
int main(void)
{
    struct timespec a, b;
    pthread_t t;
    clock_gettime(CLOCK_MONOTONIC, &a);
    pthread_create(&t, NULL, waits, NULL);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%lld\n", (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec);
    return 0;
}
END
    cc -O1 -pthread open.c -o open
    # The recorder looks ten times in a second: it hears of an end up to 0.1 s late, 0.05 s on average.
    local own=0 seen=0 i
    for i in {1..8}; do
        kelvin record --locks --waits -o o.kelvin -- ./open
        [ "$status" -eq 0 ] || skip "no waits here: $stderr"
        own=$((own + output))
        seen=$((seen + $("$KELVIN" locks --format json o.kelvin | jq '[.locks[].wait_ns] | add')))
    done
    [ $seen -ge $((own / 2)) ] && [ $seen -le $((own + own / 4)) ] || fail "$seen ns of $own ns"
}

@test "a deadlock is found, however the program ends" {
    for end in "_exit(0)" "return 0" "kill(getpid(), SIGKILL)" "pthread_join(t[0], NULL)"; do
        deadlock "$end"
        kelvin record --locks -d 2 -o r.kelvin -- ./dead
        [ "$(locks '"\(.open_waits) \([.locks[] | select(.kind == "mutex") | .lock] | sort | join(" "))"')" = "2 first second" ] ||
            fail "$end: $(locks .)"
        [ "$(locks '.insights[0].title')" = deadlock ] || fail "$end: $(locks .insights)"
        [[ $(locks '.insights[0].text') == *"first was taken while second was held, in other_way"*"threads still waited for each"* ]]
        [ "$(locks '[.insights[] | select(.title == "never let go")] | length')" = 0 ]
    done
}

@test "a lock that is never let go of is named with the thread that has it" {
    cat >stuck.c <<'E'
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
pthread_mutex_t stuck = PTHREAD_MUTEX_INITIALIZER;
static void *asks(void *arg)
{
    pthread_setname_np(pthread_self(), "asks");
    pthread_mutex_lock(&stuck);
    return arg;
}
int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&stuck);
    pthread_create(&t, NULL, asks, NULL);
    usleep(400000);
    return 0;
}
E
    cc -O1 -g -pthread stuck.c -o stuck
    kelvin record --locks -o r.kelvin -- ./stuck
    exits 0
    [[ $(locks '.insights[0] | "\(.title): \(.text)"') == "never let go: 1 thread still waited for stuck "*"which thread stuck held"* ]] ||
        fail "$(locks .insights)"
    kelvin locks r.kelvin
    [[ $output == *"1 of the waits had not ended when the program or the recording did"* ]]
}

@test "who waits for a lock of another process is not taken for its holder" {
    cat >shared.c <<'E'
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(m, &a);
    int ready[2];
    char c;
    if (pipe(ready) != 0)
        return 1;
    if (fork() == 0) {
        pthread_mutex_lock(m);
        if (write(ready[1], "x", 1) != 1)
            return 1;
        usleep(300000);
        pthread_mutex_unlock(m);
        _exit(0);
    }
    if (read(ready[0], &c, 1) != 1)
        return 1;
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    wait(NULL);
    return 0;
}
E
    cc -O1 -g -pthread shared.c -o shared
    kelvin record --locks -o r.kelvin -- ./shared
    exits 0
    [ "$(locks '.locks[0] | "\(.waits) \(.holds)"')" = "1 0" ] || fail "$(locks .locks)"
}

@test "waits for C11's locks are counted where the kernel's view was recorded" {
    cat >c11.c <<'E'
#include <threads.h>
#include <time.h>
static mtx_t lock;
static int asks(void *arg)
{
    (void)arg;
    mtx_lock(&lock);
    mtx_unlock(&lock);
    return 0;
}
int main(void)
{
    thrd_t t;
    mtx_init(&lock, mtx_plain);
    mtx_lock(&lock);
    thrd_create(&t, asks, NULL);
    thrd_sleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
    mtx_unlock(&lock);
    thrd_join(t, NULL);
    return 0;
}
E
    cc -O1 -g -pthread c11.c -o c11
    kelvin record --locks --waits -o r.kelvin -- ./c11
    [ "$status" -eq 0 ] || skip "no waits here: $stderr"
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    [ "$(locks '.waits == 0 and .futex_waits >= 1 and .futex_ns >= 10000000')" = true ] || fail "$(locks .)"
}

@test "what kelvin's own library waits for is not called the program's" {
    printf 'int main(void) { return 0; }\n' >idle.c
    cc -O1 idle.c -o idle
    kelvin record --locks --waits -o r.kelvin -- ./idle
    [ "$status" -eq 0 ] || skip "no waits here: $stderr"
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    ! "$KELVIN" report --waits --format json r.kelvin | jq -e '.reasons[] | select(.reason == "futex")' ||
        fail "$("$KELVIN" report --waits r.kelvin)"
}

@test "who passes kelvin's own library on the way to a lock or to malloc calls these in every view" {
    kelvin record --locks --waits -o r.kelvin -- "$TARGET/locks" convoy
    [ "$status" -eq 0 ] || skip "no waits here: $stderr"
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    local value
    for value in blocked wall woken; do
        run "$KELVIN" fold --value $value r.kelvin
        [[ $value == woken || $output == *";convoy_enter;"*pthread_mutex_lock* ]] || fail "$value: $output"
        ! grep -E 'mutex_(take|wait|release)[^ ]*;[^ ]*(pthread_mutex_|lll_)' <<<"$output" || fail "$value"
    done
    # They are there all the same: what the agent saw and what it did not are told apart.
    [ "$(locks '.waits >= 20 and .futex_waits == 0')" = true ] || fail "$(locks .)"
    "$KELVIN" convert r.kelvin -o again.kelvin
    [ "$("$KELVIN" locks --format json again.kelvin | jq '.futex_waits == 0')" = true ]
}
