#!/usr/bin/env bats
# Locks: waits of real programs, against what they measured around the calls themselves.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
INCLUDE=$BATS_TEST_DIRNAME/../../include

setup_file() {
    build_targets
}

record() { # COMMAND...
    kelvin record --locks -o r.kelvin -- "$@"
    exits 0
}

# An expression of jq on what `kelvin locks` says as JSON.
locks() { # EXPRESSION
    "$KELVIN" locks --format json r.kelvin | jq -r "$1"
}

# The waits for LOCK took no longer than the program saw from around them, and at least PERCENT of that.
agrees() { # LOCK PERCENT
    local told is
    told=$(sed -n "s/^$1 [0-9]* //p" <<<"$output")
    is=$(locks "[.locks[] | select(.lock == \"$1\") | .wait_ns] | add")
    [ -n "$told" ] || fail "the program did not say how long it waited for $1: $output"
    # The clocks that both read may differ by a part in a hundred.
    awk -v is="$is" -v told="$told" -v least="$2" 'BEGIN { exit !(is <= 1.01 * told && is >= least / 100 * told) }' ||
        fail "$1: recorded $is ns, the program saw $told ns"
}

@test "a convoy: which lock, how long, who waited, who held it" {
    record "$TARGET/locks" convoy
    agrees convoy_lock 50
    [ "$(locks '.locks[0] | "\(.lock) \(.kind)"')" = "convoy_lock mutex" ]
    [ "$(locks '.locks[0].waits')" -le 100 ]
    [ "$(locks '.locks[0].threads | length')" = 4 ]
    [ "$(locks '.locks[0].waiters[0].stack[0:2] | join(" ")')" = "convoy_enter convoy_thread" ]
    [ "$(locks '.locks[0].holders[0].stack[0:2] | join(" ")')" = "convoy_leave convoy_thread" ]
    [ "$(locks '.locks[0] | [.waiters[].wait_ns] | add')" = "$(locks '.locks[0].wait_ns')" ]
    [ "$(locks '.locks[0] | .longest_ns <= .wait_ns and .waited_for_ns <= .wait_ns and .holder_known <= .waits')" = true ]
    [ "$(locks '.insights[0].title')" = "lock convoy" ]
    [[ $(locks '.insights[0].text') == "4 threads queued for convoy_lock during "*"held by convoy_leave < convoy_thread; the "*" holds that were timed took "*" at most" ]]
    # Each of 100 holds sleeps for 5 ms; those that nobody waited for are not told.
    [ "$(locks '.locks[0] | .holds >= 20 and .holds <= 100 and .held_ns >= 5000000 * .holds and .longest_hold.ns <= .held_ns')" = true ] ||
        fail "$(locks '.locks[0]')"
    [ "$(locks '.locks[0].longest_hold | "\(.thread) \(.stack[0])"')" = "convoy convoy_leave" ]
    "$KELVIN" fold --value lock-held r.kelvin 2>/dev/null | grep -q ';convoy_thread;convoy_leave [0-9]*$'
    [[ $("$KELVIN" locks r.kelvin) == *" holds were timed during which a wait began: "* ]]
    [ "$(locks '.lost')" = 0 ]
    [[ $stderr == *"next: kelvin locks r.kelvin"* ]]
}

@test "one wait of each kind, by the name of its variable or the program's own" {
    record "$TARGET/locks" kinds
    local name
    [ "$(locks '[.locks[] | "\(.lock):\(.kind):\(.waits)"] | sort | join(" ")')" = \
        "cache of tiles:mutex:1 kinds_barrier:barrier:1 kinds_condition:condition:1 kinds_rwlock:rwlock, read:1 kinds_semaphore:semaphore:1" ]
    for name in kinds_rwlock kinds_condition kinds_semaphore kinds_barrier "cache of tiles"; do
        agrees "$name" 1
    done
    # A lock on the heap was made somewhere; a static one has no such place.
    [ "$(locks '.locks[] | select(.lock == "cache of tiles") | .created.stack[0:2] | join(" ")')" = "kinds main" ] || fail "$(locks .)"
    [ "$(locks '[.locks[] | select(.lock == "kinds_rwlock") | has("created")] | any')" = false ]
    # Who let each of them go on.
    [ "$(locks '[.locks[] | .holders[0].stack[0:2] | join(" ")] | unique | join(",")')" = "kinds_end kinds" ]
}

@test "locks that are taken in opposite orders are an inversion though nobody waited" {
    record "$TARGET/locks" inversion
    [ "$(locks '.waits')" = 0 ]
    [ "$(locks '[.inversions[0][] | "\(.held) \(.taken) \(.stack[1])"] | sort | join(",")')" = \
        "account_a+8 account_b+8 pay_forth,account_b+8 account_a+8 pay_back" ]
    kelvin locks r.kelvin
    [[ $output == *"lock-order inversion:"* ]]
    record "$TARGET/locks" order
    [ "$(locks '.inversions | length')" = 0 ]
}

@test "opposite orders of one thread alone are no inversion, until another thread joins in" {
    record "$TARGET/locks" alone
    [ "$(locks '.inversions | length')" = 0 ] || fail "$(locks .inversions)"
    record "$TARGET/locks" joined
    [ "$(locks '.inversions | length')" = 1 ] || fail "$(locks .inversions)"
}

@test "recursive, error-checking, robust and PI mutexes, timeouts, cancellation and fork behave as ever" {
    "$TARGET/locks" odd
    record "$TARGET/locks" odd
    [ "$(locks '[.locks[] | select(.lock == "odd_condition") | .waits] | add >= 2')" = true ]
    [ "$(locks '.locks[] | select(.lock == "odd_lock") | .waiters[0].stack[0:2] | join(" ")')" = "odd_fork main" ]
    [ "$(locks '.locks[] | select(.lock == "odd_lock") | .holders[0].stack[0]')" = odd_holder ]
}

# On a busy machine the thread that waited often runs before the one that woke it goes on.
@test "who held a lock is known though it is preempted while it lets go" {
    "$TARGET/locks" preempted || skip "no right to be urgent (SCHED_FIFO)"
    record "$TARGET/locks" preempted
    [ "$(locks '.locks[] | select(.lock == "preempted_lock") | "\(.waits) \(.holder_known) \(.holders | length)"')" = "5 5 1" ] || fail "$(locks .)"
    [ "$(locks '.locks[] | select(.lock == "preempted_lock") | .holders[0].stack[0]')" = preempted_holder ]
}

@test "C++: std::mutex and its relatives, with heap and scopes at once" {
    kelvin record --locks --heap -o r.kelvin -- "$TARGET/locks_cxx"
    exits 0
    agrees app::settings 1
    agrees app::slow 1
    [ "$(locks '.locks[] | select(.lock == "app::settings") | .kind')" = "rwlock, read" ]
    [ "$(locks '.locks[] | select(.lock == "app::settings") | .holders[0].stack[-5:] | index("main") != null')" = true ]
    [ "$("$KELVIN" heap --format json r.kelvin | jq '.allocations > 400')" = true ]
    [ "$("$KELVIN" scopes --format json r.kelvin | jq '.spans')" = 1 ]
    kelvin locks r.kelvin
    [[ $output == *"read_settings < "* ]]
}

@test "programs that a shell starts, and one that takes its place, have their own locks" {
    record sh -c "$TARGET/locks kinds; exec $TARGET/locks inversion"
    [ "$(locks '.waits')" = 5 ]
    [ "$(locks '[.locks[].waiters[].stack[0]] | unique | join(" ")')" = kinds_thread ]
    [ "$(locks '.inversions | length')" = 1 ]
}

@test "code that came by dlopen waits with whole stacks" {
    cat >lib.c <<'END'
#include <pthread.h>
pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
void library_wait(void) { pthread_mutex_lock(&library_lock); pthread_mutex_unlock(&library_lock); __asm__ volatile(""); }
END
    cat >main.c <<END
#include "$ROOT/tests/target/asleep.h"
#include <dlfcn.h>
#include <pthread.h>
static _Atomic int tid;
static void *wait_there(void *f) { tid = gettid(); ((void (*)(void))f)(); return NULL; }
int main(void)
{
    pthread_t t;
    void *lib = dlopen("./lib.so", RTLD_NOW);
    pthread_mutex_t *m = dlsym(lib, "library_lock");
    pthread_mutex_lock(m);
    pthread_create(&t, NULL, wait_there, dlsym(lib, "library_wait"));
    while (!tid)
        usleep(1000);
    wait_until_asleep(tid);
    pthread_mutex_unlock(m);
    return pthread_join(t, NULL);
}
END
    cc -O2 -fPIC -shared lib.c -o lib.so
    cc -O2 main.c -o app -pthread
    record ./app
    [ "$(locks '.locks[0] | "\(.lock) \(.waits)"')" = "library_lock 1" ]
    [[ $(locks '.locks[0].waiters[0].stack | join(" ")') == "library_wait wait_there "* ]]
}

@test "every view shows the waits: flame, fold, report" {
    record "$TARGET/locks" kinds
    [ "$("$KELVIN" fold --value lock-waits r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')" = 5 ]
    "$KELVIN" fold --value lock-wait --where kind=barrier r.kelvin 2>/dev/null | grep -q ';kinds_thread [0-9]*$'
    "$KELVIN" fold --value lock-blocked --where kind=semaphore r.kelvin 2>/dev/null | grep -q ';kinds_end [0-9]*$'
    # CPU samples are what is shown unless asked.
    "$KELVIN" info r.kelvin | grep -q '^stream 1: cpu'
}

@test "kelvin locks: text, markdown and HTML have the same locks" {
    record "$TARGET/locks" kinds
    local format
    for format in text md html; do
        kelvin locks --format $format r.kelvin
        exits 0
        [[ ${output//\\/} == *kinds_semaphore* ]]
        [[ $output == *"cache of tiles"* ]]
    done
}

@test "a program without locks has none, and a recording without --locks says what to do" {
    local -a busy=(awk 'BEGIN { while (i++ < 5000000) n += i }') # long enough for a few samples
    record "${busy[@]}"
    [ "$(locks '.waits')" = 0 ]
    kelvin locks r.kelvin
    [[ $output == *"No call that locks a mutex or read-write lock had to wait."* ]]
    kelvin record -o plain.kelvin -- "${busy[@]}"
    exits 0
    kelvin locks plain.kelvin
    exits 5
    complains "kelvin record --locks"
}

@test "locks made of futexes by a program itself are counted where the kernel is seen, and said to be unknown else" {
    cat >own.c <<'END'
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static _Atomic int word;
static void own_lock(void) { while (__c11_exchange) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0); }
static void own_unlock(void) { word = 0; syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }
static void *work(void *arg) { for (int i = 0; i < 20; i++) { own_lock(); usleep(2000); own_unlock(); usleep(500); } return arg; }
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
END
    sed -i 's/__c11_exchange/__atomic_exchange_n(\&word, 1, 5)/' own.c
    cc -O1 -pthread own.c -o own
    record ./own
    [ "$(locks '"\(.waits) \(.futex_waits)"')" = "0 0" ]
    kelvin locks r.kelvin
    [[ $output == *"No call that locks a mutex"*"Only waits through pthreads are seen"* ]] || fail "$output"
    kelvin record --locks --waits -o r.kelvin -- ./own
    [ "$status" -eq 0 ] || skip "no waits here: $stderr"
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    [ "$(locks '.futex_waits >= 20 and .futex_ns >= 20000000')" = true ] || fail "$(locks .)"
    kelvin locks r.kelvin
    [[ $output == *"The kernel also saw"*"futexes outside of pthreads"*"who held it is unknown"* ]] || fail "$output"
}

@test "a call that wakes and finds the lock taken again is one wait of the program and several of the kernel" {
    kelvin record --locks --waits -o r.kelvin -- "$TARGET/locks" greedy
    [ "$status" -eq 0 ] || skip "no waits here: $stderr"
    [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    [ "$(locks .lost)" = 0 ] || skip "records were lost"
    [ "$(locks '.woken_in_vain >= 1 and .woken_in_vain == .blocked_waits - .waits')" = true ] || fail "$(locks .)"
    [ "$(locks .blocked_waits)" = "$("$KELVIN" report --waits --format json r.kelvin | jq '[.reasons[] | select(.reason == "lock") | .waits] | add')" ]
    kelvin locks --width 300 r.kelvin
    [[ $output == *"The kernel saw "*" woke, found the lock taken again and waited once more."* ]] || fail "$output"
    kelvin report --waits r.kelvin
    [[ $output == *"Lock: each time off-CPU counts as a wait."* ]] || fail "$output"
}

@test "locks: what cannot be done is refused with a reason" {
    kelvin record --locks -p $$ -o r.kelvin
    exits 125
    complains "--locks cannot attach to a running process"
    kelvin record --locks --rotate 1 -o r.kelvin -- true
    exits 125
    complains "--locks and --rotate cannot be combined"
    printf 'int main(void) { return 0; }\n' >s.c
    cc -static -o s s.c || skip "no static libc here"
    kelvin record --locks -o r.kelvin -- ./s
    exits 125
    complains "static program" "its locks cannot be recorded"
}

@test "a lock's name costs nothing where nobody records, and compiles as C11 and C++11" {
    printf '#include <kelvin.h>\nint main(void) { int lock = 0; kelvin_lock_name(&lock, "x"); return lock; }\n' >n.c
    cp n.c n.cc
    cc -std=c11 -Wall -Wextra -Werror -I"$INCLUDE" n.c -o n
    c++ -std=c++11 -Wall -Wextra -Werror -I"$INCLUDE" n.cc -o nn
    cc -DKELVIN_OFF -Wall -Wextra -Werror -I"$INCLUDE" n.c -o off
    ./n && ./nn && ./off
    record ./n
}
