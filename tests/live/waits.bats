#!/usr/bin/env bats
# Waits: programs that know how long they waited, against what the kernel's switches say.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record --engine perf -- true
}

# An expression of jq on what `kelvin report --waits` says as JSON.
waits() { # EXPRESSION [OPTION...]
    "$KELVIN" report --waits --format json "${@:2}" r.kelvin | jq -r "$1"
}

# Record the target; what it says of its own waits is in $own: "NAME NANOSECONDS TID".
record_target() { # KIND N US
    kelvin record --waits -o r.kelvin -- "$TARGET/waits" "$@"
    exits 0
    own=$output
    [ "$(waits .lost)" = 0 ] || fail "records were lost: $stderr"
}

need_stacks() {
    [ "$(waits .stacks_recorded)" = true ] || skip "needs the right to see the kernel: root, or kernel.perf_event_paranoid at most 1"
    [ "$(waits '[.stacks[].stack[] | select(.kernel and .function == "schedule")] | length')" -gt 0 ] ||
        skip "the kernel's functions have no names here"
}

# What the program's clock saw lies between the waits of that reason and these with all the time in which the thread ran,
# was held up, or waited for something else than to start the next round.
agrees() { # REASON ROUNDS
    local name ns tid least most
    read -r name ns tid _ <<<"$own"
    least=$(waits ".threads[] | select(.tid == $tid) | .blocked_by_reason_ns[\"$1\"] // 0")
    most=$(waits ".threads[] | select(.tid == $tid) | .wall_ns")
    [ "$1" != lock ] || most=$((most - $(waits ".threads[] | select(.tid == $tid) | .blocked_by_reason_ns.sleep // 0")))
    [ "$least" -le "$ns" ] || fail "$name: $1 takes $least ns, more than the $ns ns it waited" "$(waits .)"
    [ "$ns" -le "$most" ] || fail "$name: waited $ns ns, of $most ns" "$(waits .)"
    # A thread that only waits is on a CPU for next to nothing: the rest is what held it up.
    local rest
    rest=$(waits ".threads[] | select(.tid == $tid) | .running_ns + .runnable_ns + .unknown_ns +
        ([.blocked_by_reason_ns | to_entries[] | select(.key != \"$1\" and .key != \"sleep\") | .value] | add // 0)")
    [ "$ns" -le $((least + rest)) ] || fail "$name: waited $ns ns, but $1 took $least and all else $rest" "$(waits .)"
}

@test "each kind of waiting has its name, and lasts as long as the program saw" {
    local kind
    record_target sleep 20 5000
    need_stacks
    agrees sleep
    for kind in lock condition pipe socket poll child; do
        record_target "$kind" 20 5000
        agrees "$kind"
        [ "$(waits ".reasons[] | select(.reason == \"$kind\") | .waits")" -ge 1 ] || fail "no $kind: $(waits .reasons)"
    done
}

@test "fsync is told apart from other waiting for files" {
    record_target sync 20 1000
    need_stacks
    agrees fsync
}

@test "how to see the waits is said once" {
    kelvin record --waits -o r.kelvin -- "$TARGET/waits" sync 20 1000
    [ "$(grep -c -- --waits <<<"$stderr")" -eq 1 ] || fail "$stderr"
}

@test "waits at the end of 40 KiB of stack have it whole, after the first" {
    cat >deep.c <<'C'
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void deep(int d)
{
    volatile char x[4096];
    memset((char *)x, d, sizeof x);
    if (d)
        deep(d - 1);
    else
        for (int i = 0; i < 2000; i++)
            usleep(1000);
    x[0]++;
}
int main(void) { deep(9); return 0; }
C
    cc -O1 -o deep deep.c
    kelvin record --waits -o r.kelvin -- ./deep
    exits 0
    need_stacks
    run "$KELVIN" fold --value waits r.kelvin
    [ "$(awk '{ n += $NF } /unfinished/ { cut += $NF } END { print (n > 1000 && 2 * cut < n) }' <<<"$output")" = 1 ] ||
        fail "$output"
}

@test "waits have the whole stack of the program" {
    record_target lock 20 5000
    need_stacks
    [ "$(waits '[.stacks[] | select(.reason == "lock") | [.stack[].function]
        | index("lock_here") and index("want_lock")] | any')" = true ] || fail "$(waits .stacks)"
    run "$KELVIN" fold --value blocked r.kelvin
    [[ $output == *"want_lock;lock_here;"* ]] || fail "$output"
    [ "$(awk '{ s += $NF } END { printf "%d", s }' <<<"$output")" = "$(waits .blocked_ns)" ]
}

@test "states of threads add up to their life, and none is longer than the recording" {
    record_target condition 20 5000
    [ "$(waits '[.threads[] | .wall_ns == .running_ns + .runnable_ns + .blocked_ns + .unknown_ns] | all')" = true ]
    [ "$(waits '.threads | length')" = 3 ]
    local duration
    duration=$("$KELVIN" info r.kelvin --json | jq -r .meta.duration_ns)
    [ "$(waits "[.threads[].wall_ns <= $duration] | all")" = true ] || fail "$duration: $(waits .threads)"
    # Blocked time is the same, counted by thread and by wait.
    [ "$(waits '.blocked_ns == ([.reasons[] | select(.reason != "runnable") | .ns] | add)')" = true ]
    [ "$(waits '.runnable_ns == ([.reasons[] | select(.reason == "runnable") | .ns] | add // 0)')" = true ]
    # The wait for a CPU is one number in all reports. Without wakeups the waits know a part of it only.
    [ "$(waits .wakers_recorded)" = true ] || skip "no right to see wakeups"
    [ "$("$KELVIN" info r.kelvin --json | jq -r .meta.queued_ns)" = "$(waits .runnable_ns)" ] || fail "$("$KELVIN" info r.kelvin)"
}

@test "four busy threads on one CPU could run most of the time, and do not" {
    kelvin record --waits -o r.kelvin -- taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$TARGET/waits" busy 40 10000
    exits 0
    [ "$(waits '[.threads[] | select(.thread == "spins") | .runnable_ns] | add')" -ge \
        "$(waits '[.threads[] | select(.thread == "spins") | .wall_ns] | add * 0.4 | floor')" ] || fail "$(waits .threads)"
}

@test "a process that sleeps all the time is blocked all the time" {
    "$TARGET/waits" poll 1 100000000 &
    local pid=$!
    wait_until 10 grep -q '^State:.S' "/proc/$pid/status"
    sleep 0.5
    kelvin record --waits -p $pid -d 1 -o r.kelvin
    kill $pid
    exits 0
    [ "$(waits '[(.threads | length), .threads[0].blocked_ns == .wall_ns, .open + .begun_before] | join(" ")')" = "1 true 1" ] ||
        fail "$(waits .)"
    [ "$(waits '.wall_ns > 500000000')" = true ]
    # No record ever says where it is: it was looked at, in /proc.
    [ -r "/proc/self/stack" ] && cat /proc/self/stack >/dev/null 2>&1 || skip "only root reads where in the kernel a thread waits"
    [ "$(waits '.reasons[0].reason')" = poll ] || fail "$(waits .)"
    # The functions of the kernel that are read there belong to the same module as those of samples.
    modules=$("$KELVIN" report --value blocked --by module --format json r.kelvin | jq -c '[.modules[].name]')
    [[ $modules == *'"[kernel.kallsyms]"'* ]] || fail "$modules"
    [ "$(waits '[.stacks[0].stack[].function] | any(. == "main")')" = true ] || fail "$(waits .stacks)"
}

# A signal stopped it before anybody looked: no record will ever say so.
@test "a process that is stopped all the time is blocked all the time" {
    "$TARGET/waits" poll 1 100000000 &
    local pid=$!
    wait_until 10 grep -q '^State:.S' "/proc/$pid/status"
    kill -STOP $pid
    wait_until 10 grep -q '^State:.T' "/proc/$pid/status"
    kelvin record --waits -p $pid -d 1 -o r.kelvin
    kill -KILL $pid
    exits 0
    [ "$(waits '[(.threads | length), .threads[0].blocked_ns == .wall_ns, .wall_ns > 500000000] | join(" ")')" = "1 true true" ] ||
        fail "$(waits .)"
}

@test "a process that is attached to is seen waiting from then on" {
    "$TARGET/waits" poll 3000 10000 &
    local pid=$!
    wait_until 10 grep -q '^State:.S' "/proc/$pid/status"
    kelvin record --waits -p $pid -d 2 -o r.kelvin
    kill $pid
    exits 0
    need_stacks
    [ "$(waits '.reasons[0].reason')" = poll ] || fail "$(waits .)"
    [ "$(waits '[.threads[] | .wall_ns == .running_ns + .runnable_ns + .blocked_ns + .unknown_ns] | all')" = true ]
}

@test "without the right to see the kernel there are durations, and it is said" {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "everybody may see the kernel here"
    local folder
    folder=$(open_folder "$TARGET/waits")
    chmod 777 "$folder"
    run_as_nobody "$folder/kelvin" record --waits -o "$folder/r.kelvin" -- "$folder/waits" sleep 20 5000
    [ "$status" -eq 0 ] || skip "nobody may not record here: $stderr"
    own=$output
    [[ $stderr == *"durations but no stacks of their own"*"kernel.perf_event_paranoid"* ]] || fail "$stderr"
    cp "$folder/r.kelvin" .
    [ "$(waits .stacks_recorded)" = false ]
    local name ns tid
    read -r name ns tid _ <<<"$own"
    [ "$(waits ".threads[] | select(.tid == $tid) | .blocked_ns * 2 >= $ns and .wall_ns >= $ns")" = true ] ||
        fail "$name waited $ns ns" "$(waits .)"
    kelvin report --waits r.kelvin
    [[ $output == *"switch records alone"* ]] || fail "$output"
    [ "$(waits '.stack_of_cpu_sample == 0 or ([.stacks[].stack | length] | max) > 1')" = true ] || fail "$(waits .)"
}

@test "where the kernel is hidden, waits for locks are told from the others" {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 2 ] || skip "everybody may see the kernel here"
    local folder
    folder=$(open_folder "$TARGET/locks" "${KELVIN%/*}/libkelvin-locks.so")
    chmod 777 "$folder"
    run_as_nobody "$folder/kelvin" record --waits --locks -o "$folder/r.kelvin" -- "$folder/locks" convoy
    [ "$status" -eq 0 ] || skip "nobody may not record here: $stderr"
    kelvin report --waits --width 1000 "$folder/r.kelvin"
    local said
    said=$("$KELVIN" locks --format json "$folder/r.kelvin" | jq '[.locks[] | select(.kind == "mutex") | .waits] | add')
    [[ $output == *" for locks ($said waits)"* ]] || fail "$output"
    kelvin report --waits --width 1000 --thread locks "$folder/r.kelvin"
    [[ $output != *"for locks ("* ]] || fail "of all threads" "$output"
}

@test "who may see the kernel but not its tracepoints is told that wakeups take root" {
    local folder perfmon=(setpriv --reuid 65534 --clear-groups --inh-caps +perfmon --ambient-caps +perfmon)
    "${perfmon[@]}" true 2>/dev/null || skip "cannot give the right to see the kernel to others"
    folder=$(open_folder "$TARGET/waits")
    chmod 777 "$folder"
    run --separate-stderr "${perfmon[@]}" "$folder/kelvin" record --waits -o "$folder/r.kelvin" -- "$folder/waits" sleep 5 5000
    [ "$status" -eq 0 ] || skip "nobody may not record here: $stderr"
    cp "$folder/r.kelvin" .
    [ "$(waits .stacks_recorded)" = true ] || skip "nobody may not see the kernel here"
    [[ $stderr != *"in a pid namespace"* ]] || skip "in a pid namespace wakeups are shown to nobody"
    [[ $stderr == *"who ended the waits is not known: wakeups are shown to root only; run as root"* ]] || fail "$stderr"
    kelvin report --waits r.kelvin
    [[ $output == *"Wakers are not known: wakeups are shown to root only; run as root."* ]] || fail "$output"
}

@test "with --user-only the option is named as the reason, not a missing right" {
    kelvin record --waits --user-only -o r.kelvin -- "$TARGET/waits" sleep 5 5000
    exits 0
    [[ $stderr == *"no reasons, because --user-only leaves out the kernel"* && $stderr != *"run as root"* ]] || fail "$stderr"
    kelvin record -q --waits --user-only -o p.kelvin -- bash -c 'sleep 0.3 & for ((i = 0; i < 20000; i++)); do :; done; wait'
    kelvin report --waits p.kelvin
    [[ $output != *"waited for: unknown"* ]] || fail "$output"
}

@test "in a namespace of process numbers the numbers are its own" {
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "cannot make a namespace of process numbers"
    run --separate-stderr unshare --pid --fork --mount-proc "$KELVIN" record --waits -o r.kelvin -- "$TARGET/waits" lock 20 5000
    exits 0
    own=$output
    need_stacks
    agrees lock
    [ "$(waits '[.threads[].tid <= 100] | all')" = true ]
}

@test "one thread of many can be looked at" {
    record_target lock 20 5000
    [ "$(waits '[.threads[].thread] | join(",")' --thread wants)" = wants ]
    [ "$(waits '.selected' --thread wants)" = "thread wants" ]
}

@test "functions can be hidden, and are named nowhere then" {
    record_target lock 20 5000
    kelvin report --waits --hide '^(want_lock|lock_.ere)$' r.kelvin
    exits 0
    [[ $output != *lock_here* ]] || fail "$output"
    [[ $(waits '[.insights[].evidence, .stacks[].stack[].function] | join(" ")' --hide '^(want_lock|lock_.ere)$') != *lock_here* ]]
}

@test "who asks for waits that are not there is told how to get them" {
    "$KELVIN" record -q -o r.kelvin -- "$TARGET/split" 0.3 >/dev/null
    kelvin report --waits r.kelvin
    exits 5
    complains "no waits" "kelvin record --waits"
    kelvin report --waits --by thread r.kelvin
    exits 1
    complains "--by"
    kelvin record -a --waits --rotate 5s d
    exits 125
    complains "--rotate" "-p PID"
    kelvin record --waits --engine timer -- true
    exits 125
    complains "context switches"
}

@test "one event of the kernel is not recorded twice: its samples could not be told apart" {
    kelvin record -e page-faults,faults:u -o r.kelvin -- true
    exits 125
    complains "'page-faults' and 'faults:u' are one event of the kernel: leave one out"
    kelvin record --waits -o r.kelvin -- true
    [ "$status" -eq 0 ] && [ "$("$KELVIN" report --waits --format json r.kelvin | jq .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    kelvin record --waits -e cpu-clock,cs -o r.kelvin -- true
    exits 125
    complains "leave out the event 'cs'"
}

@test "who may not read tracefs is not told that a tracepoint does not exist" {
    [ "$(id -u)" = 0 ] || skip "needs root, to give up its rights"
    folder=$(open_folder)
    kelvin record -e sched:nosuch -o r.kelvin -- true
    exits 125
    [[ $stderr != *"no right to look up"* ]] || skip "root may not read tracefs here either"
    complains "no event 'sched:nosuch'"
    run_as_nobody "$folder/kelvin" record -e sched:sched_switch -o "$folder/r.kelvin" -- true
    exits 125
    complains "no right to look up the tracepoint 'sched:sched_switch'" "run as root"
}

@test "nobody is advised to make the scheduler faster" {
    record_target lock 20 5000
    local value
    for value in blocked runnable waits; do
        kelvin report --value $value r.kelvin
        exits 0
        [[ $output != *dominating* ]] || fail "$output"
    done
}

@test "running and waiting in one tree add up to the wall time of each thread" {
    record_target lock 20 5000
    need_stacks
    run "$KELVIN" fold --value wall r.kelvin
    [[ $output == *"want_lock;lock_here;"*"[blocked:_lock] "* || $output == *"want_lock;lock_here;"*"[blocked: lock] "* ]] || fail "$output"
    sum=$(awk '{ s += $NF } END { printf "%d", s }' <<<"$output")
    wall=$(waits '.wall_ns - .unknown_ns')
    [ $((sum > wall ? sum - wall : wall - sum)) -le 1000 ] || fail "$sum ns of $wall"
    blocked=$("$KELVIN" fold --value wall --where state=blocked r.kelvin | awk '{ s += $NF } END { printf "%d", s }')
    [ "$blocked" = "$(waits .blocked_ns)" ] || fail "$blocked ns blocked"
    kelvin flame --value wall -o wall.svg r.kelvin
    exits 0
    grep -q 'blocked: lock' wall.svg
    kelvin record -q -o plain.kelvin -- "$TARGET/split" 0.2
    kelvin report --value wall plain.kelvin
    exits 5
    complains "no waits"
}

@test "a report says how parallel the program was" {
    record_target lock 20 5000
    [ "$(waits '.parallel.threads_most')" = 3 ] || fail "$(waits .parallel)"
    [ "$(waits '.parallel.serial_ns <= .parallel.busy_ns and .parallel.busy_ns <= .parallel.wall_ns')" = true ]
    kelvin report --waits r.kelvin
    [[ $output == *"Parallelism"*"ran alone"* ]] || fail "$output"
}

@test "of a program without names the functions that ran alone are its own, as places" {
    cat >fill.c <<'C'
#include <pthread.h>
#include <string.h>
static char to[8 << 20];
static void *fill(void *arg)
{
    for (int i = 0; i < 300; i++) {
        memset(to, i, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
    return arg;
}
int main(void)
{
    pthread_t t;
    return pthread_create(&t, 0, fill, 0) || pthread_join(t, 0);
}
C
    cc -O1 -pthread -s -o fill fill.c
    kelvin record --waits -o r.kelvin -- ./fill
    exits 0
    kelvin report --waits r.kelvin
    [[ $output == *"Functions in the serial time, by "*" samples: [fill+0x"* ]] || fail "$output"
}

@test "where stacks of waits are deep, more of them is copied" {
    kelvin record --waits -o r.kelvin -- "$TARGET/waits_deep" 400
    exits 0
    need_stacks
    run "$KELVIN" fold --value blocked r.kelvin
    awk '/usleep|nanosleep/ { all += $NF; if (/;main;go_down;/ && !/\[unfinished\]/) whole += $NF }
        END { if (whole < 0.8 * all) { print whole " of " all; exit 1 } }' <<<"$output" || fail "$output"
}

need_wakers() {
    [ "$(waits .wakers_recorded)" = true ] || skip "wakers are not seen here: $stderr"
}

@test "who ended the waits is named, with the function that did" {
    record_target lock 20 5000
    need_stacks
    need_wakers
    # The holder lets go in hold_lock(), and so wakes who waits in lock_here().
    [ "$(waits '[.wakers[] | select(.waker == "holds" and .reason == "lock")
        | (.stack | map(select(.waker).function) | index("hold_lock")) and
          (.stack | map(select(.waker | not).function) | index("lock_here"))] | any')" = true ] || fail "$(waits .wakers)"
    # Sleepers are woken by the clock.
    [ "$(waits '[.wakers[] | select(.reason == "sleep") | .waker] | unique | join(",")')" = "an interrupt" ] || fail "$(waits .wakers)"
    run "$KELVIN" fold --value woken r.kelvin
    [[ $output == *"lock_here;"*"[woken by holds]"*"hold_lock;"* ]] || fail "$output"
    kelvin report --waits r.kelvin
    # By whole name, in the column before the one with lock_here: what is cut is the library's.
    grep -Eq '^ .* holds  .* < hold_lock  .* < lock_here' <<<"$output" || fail "$output"
}

@test "who ended a wait and has ended itself is not a number" {
    mkfifo fifo
    cat fifo >/dev/null &
    local pid=$! recorder
    exec 9>fifo
    "$KELVIN" record -q --waits -p $pid -o r.kelvin 9>&- & recorder=$!
    wait_until 10 test -s r.kelvin.part
    for _ in {1..40}; do (/bin/echo x >&9) done
    exec 9>&-
    wait $recorder
    need_stacks
    need_wakers
    [ "$(waits '[.wakers[] | select(.reason == "pipe") | .wakeups] | add >= 5')" = true ] || fail "$(waits .wakers)"
    [ "$(waits '[.wakers[].waker | select(startswith(":"))] | length')" = 0 ] || fail "$(waits '[.wakers[].waker]')"
}

@test "who sends over the loopback interface is named, and the network is not" {
    record_target loopback 50 2000
    need_stacks
    need_wakers
    # Each answer ends a wait in read(): the thread that answers sent it.
    local by all
    by=$(waits '[.wakers[] | select(.reason == "socket" and .waker == "answers" and (.stack | map(select(.waker).function) | index("answer"))) | .wakeups] | add // 0')
    all=$(waits '[.wakers[] | select(.reason == "socket" and (.stack | map(select(.waker | not).function) | index("ping"))) | .wakeups] | add // 0')
    [ "$all" -ge 25 ] && [ "$by" -ge $((all * 8 / 10)) ] || fail "$by of $all: $(waits .wakers)"
    # Its naps end by a timer all the same.
    [ "$(waits '[.wakers[] | select(.reason == "sleep" and .waker != "an interrupt")] | length')" = 0 ] || fail "$(waits .wakers)"
}

@test "time after a wake is the wait for a CPU, not of what was waited for" {
    local name ns tid blocked
    # A timer that fires on an idle CPU is not always seen to wake: record again until it was.
    for _ in {1..12}; do
        record_target sleep 20 5000
        need_stacks
        [ "$(waits '[.wakers[].wakeups] | add // 0')" -lt 20 ] || break
    done
    need_wakers
    read -r name ns tid _ <<<"$own"
    # Without the wake the queue for a CPU would count too; no sleep takes more than its 5 ms and the timer's slack.
    blocked=$(waits ".threads[] | select(.tid == $tid) | .blocked_by_reason_ns.sleep")
    [ "$blocked" -ge 100000000 ] && [ "$blocked" -le "$ns" ] || fail "$blocked ns of $ns"
    [ "$(waits '[.wakers[].wakeups] | add')" -ge 20 ] || fail "$(waits .wakers)"
}

@test "where switches come too fast for a stack each, all are counted and timed, and that is said" {
    kelvin record --waits -o r.kelvin -- "$TARGET/waits" pipe 60000 0
    exits 0
    own=$output
    need_stacks
    [ "$(waits .lost)" = 0 ] || skip "records were lost: $stderr"
    [ "$(waits '.summed > 0')" = true ] || skip "switches were slow here: $(waits .waits)"
    [[ $stderr == *"switches came too fast for a stack each"* ]] || fail "$stderr"
    # One wait for each way of a round trip, whether it was given a stack or not.
    [ "$(waits '.waits >= 114000 and .without_stack < 2000')" = true ] || fail "$(waits '{waits, summed, without_stack}')"
    [ "$(waits '[.threads[] | .wall_ns == .running_ns + .runnable_ns + .blocked_ns + .unknown_ns] | all')" = true ]
    [ "$(waits '.blocked_ns == ([.reasons[] | select(.reason != "runnable") | .ns] | add)')" = true ] || fail "$(waits .)"
    # Both threads wait for pipes, but for the start and the end.
    [ "$(waits '([.reasons[] | select(.reason == "pipe") | .ns] | add) > 0.95 * .blocked_ns')" = true ] || fail "$(waits .reasons)"
    kelvin report --waits r.kelvin
    [[ $output == *"Switches came too fast to take every stack"* ]] || fail "$output"
    [[ $output != *"Parallelism"* ]]
}

@test "a long wait has its stack though stacks came in turns when it began" {
    local i burst=0
    for i in 1 2 3 4 5 6; do
        record_target burst 4000 300000
        need_stacks
        [ "$(waits .summed)" = 0 ] || burst=1
        [ "$(waits '[.stacks[] | select(.reason == "sleep" and ([.stack[].function] | index("sleep_here"))) | .ns] | add >= 300000000')" = true ] ||
            fail "$(waits .)"
    done
    [ $burst = 1 ] || skip "the machine is too slow for turns: under 5,000 switches per second"
}

@test "context switches are as many as the program counts itself" {
    local kind threads seen since_main all
    for kind in "pipe 500 0" "lock 100 1000" "condition 200 1000" "sleep 200 500" "busy 20 10000"; do
        # shellcheck disable=SC2086
        record_target $kind
        read -r _ since_main all < <(grep '^switches ' <<<"$output")
        threads=$(waits '.threads | length')
        # A thread begins with one wait more, for its first CPU; its last switch ends no wait.
        seen=$(waits .waits)
        [ "$seen" -ge $((since_main - 1)) ] && [ "$seen" -le $((all + threads)) ] ||
            fail "$kind: $seen waits of $threads threads, but $since_main switches since main() and $all in all"
    done
}

# What folded stacks add up to.
sum_of() { # OPTION...
    "$KELVIN" fold r.kelvin "$@" 2>/dev/null | awk '{ sum += $NF } END { printf "%d\n", sum }'
}

@test "the parts of a range of time add up to the whole, of blocked and of wall time" {
    record_target sleep 5 200000
    local value all sum
    for value in blocked wall; do
        all=$(sum_of --value $value) sum=0
        for range in 0..25% 25%..50% 50%..75% 75%..; do
            part=$(sum_of --value $value --time $range)
            ((part > all / 10 && part < all / 2)) || fail "$value: $part of $all in $range"
            sum=$((sum + part))
        done
        # A sample that is on the border of two parts is in both.
        ((sum > all - all / 50 && sum < all + all / 50)) || fail "$value: $sum in parts, $all in all"
    done
}

@test "where the kernel hides its names, as from root of a container, the C library's functions give the reasons" {
    setpriv --bounding-set=-syslog true 2>/dev/null || skip "needs root, to give up a capability"
    export XDG_CACHE_HOME=$PWD/cache # no names that were read before
    setpriv --bounding-set=-syslog grep -q '^0*[1-9a-f]' /proc/kallsyms && skip "names are not hidden here"
    run --separate-stderr setpriv --bounding-set=-syslog "$KELVIN" record --waits -o r.kelvin -- "$TARGET/waits" sleep 20 5000
    exits 0
    own=$output
    [ "$(waits .stacks_recorded)" = true ] || skip "needs the right to see the kernel"
    agrees sleep
    [ "$(waits '[.stacks[].stack[] | select(.kernel and .function == "schedule")] | length')" = 0 ] || fail "the kernel's functions have names"
    run --separate-stderr setpriv --bounding-set=-syslog "$KELVIN" doctor
    grep -q '^  limited  *waits .*reasons only where a function of the C library' <<<"$output" || fail "$output"
    [[ $output == *"CAP_SYSLOG"* ]] || fail "$output"
}

@test "in a seccomp jail what is left is named: waits for locks, and the doctor says how to get the rest" {
    run --separate-stderr "$TARGET/noperf" "$KELVIN" record --waits -o j.kelvin -- "$TARGET/waits" lock 5 5000
    [[ $stderr != *"no seccomp"* ]] || skip "no seccomp filter can be set here"
    exits 125
    complains "perf_event_open is blocked" "--cap-add PERFMON" "--locks still records waits for locks"
    [[ $stderr != *"--engine timer"* ]] || fail "$stderr"
    run --separate-stderr "$TARGET/noperf" "$KELVIN" record -a -d 1 -o j.kelvin
    exits 125
    complains "perf_event_open is blocked"
    [[ $stderr != *"--engine timer"* ]] || fail "$stderr"
    run --separate-stderr "$TARGET/noperf" "$KELVIN" top -n 1
    complains "perf_event_open is blocked"
    [[ $stderr != *"--engine"* ]] || fail "top has no such option" "$stderr"
    run --separate-stderr "$TARGET/noperf" "$KELVIN" record --locks -o j.kelvin -- "$TARGET/locks" convoy
    exits 0
    kelvin locks j.kelvin
    [[ $output == *convoy_lock* ]] || fail "$output"
    run --separate-stderr "$TARGET/noperf" "$KELVIN" doctor
    grep -q '^  no  *waits .*seccomp; waits for locks' <<<"$output" || fail "$output"
}

@test "in a PID namespace the doctor says how to see who ends the waits" {
    is_real_root || skip "needs root"
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "no PID namespace can be made"
    run --separate-stderr unshare --pid --fork --mount-proc "$KELVIN" doctor
    [[ $output == *"not who ended them: in a PID namespace"* ]] || skip "the kernel is hidden: $output"
    grep -A 1 'not who ended them' <<<"$output" | grep -qE -- '-> .*(--pid=host|hostPID|outside)' || fail "$output"
}

@test "waits are whole where no tracefs is mounted, or it is said what is missing" {
    unshare --mount true 2>/dev/null || skip "needs a namespace of mounts: root, and a root folder that is a mount"
    run --separate-stderr unshare --mount sh -c 'umount /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug 2>/dev/null
        test ! -e /sys/kernel/tracing/events || exit 77
        exec "$@"' sh "$KELVIN" record --waits -o r.kelvin -- "$TARGET/waits" sleep 20 5000
    [ "$status" -ne 77 ] || skip "tracefs cannot be unmounted here"
    exits 0
    own=$output
    need_stacks
    agrees sleep
    kelvin report --waits r.kelvin
    [[ $output == *"Who ended the waits"* || $output == *"Wakers are not known: "* ]] || fail "$output"
}

@test "files of a rotation have all waits, each in the file in which it ends" {
    kelvin record --waits --rotate 1s -o r.kelvin -- "$TARGET/waits" sleep 40 100000
    exits 0
    own=$output
    local name ns tid sum=0 n=0 file blocked
    read -r name ns tid _ <<<"$own"
    for file in r.*.kelvin; do
        blocked=$("$KELVIN" report --waits --format json "$file" | jq "[.threads[] | select(.tid == $tid) | .blocked_ns] | add // 0")
        sum=$((sum + blocked)) n=$((n + 1))
    done
    [ $n -ge 3 ] || fail "$(ls)"
    [[ $stderr == *"see: kelvin report r.0001.kelvin --waits"* ]] || fail "$stderr"
    # 40 sleeps of 0.1 s: none is lost between files, and none counted twice.
    if [ $sum -lt 4000000000 ] || [ $sum -gt $((ns + ns / 10)) ]; then fail "$name waited $ns ns, the files say $sum" "$(ls)"; fi
}

@test "a thread that never got a CPU is runnable all its life, and called not started yet" {
    kelvin record --waits -d 0.3 -o r.kelvin -- "$TARGET/waits" starve 6 100000
    [ "$status" -ne 77 ] || skip "needs the right to use SCHED_FIFO"
    exits 0
    [ "$(waits '[.threads[] | select(.tid != .pid) | .runnable_ns >= 0.95 * .wall_ns and .blocked_ns == 0] | length == 1 and all')" = true ] ||
        fail "$(waits .threads)"
    [ "$(waits '.stacks[0] | .reason + " " + .stack[0].function')" = "runnable [not started yet]" ] || fail "$(waits .stacks[0])"
}

@test "where records of switches are lost, time is unknown and no wait is made up" {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody with small rings"
    local folder
    folder=$(open_folder "$TARGET/waits")
    chmod 777 "$folder"
    cat >"$folder/stop-recorder" <<'EOF'
cd "${0%/*}" || exit
./kelvin record --waits -o r.kelvin -- ./waits pipe 200000 0 & recorder=$!
until [ -s r.kelvin.part ]; do sleep 0.1; done
kill -STOP $recorder; sleep 2; kill -CONT $recorder
wait $recorder
EOF
    run_as_nobody bash "$folder/stop-recorder"
    [ "$status" -eq 0 ] || skip "nobody may not record here: $stderr"
    cp "$folder/r.kelvin" .
    [ "$(waits .lost)" -gt 0 ] || skip "the rings held all of two seconds"
    [ "$(waits '.unknown_ns > 0')" = true ] || fail "$(waits .)"
    [ "$(waits '[.threads[] | .wall_ns == .running_ns + .runnable_ns + .blocked_ns + .unknown_ns] | all')" = true ] || fail "$(waits .threads)"
    # A wait over the hole would last as long as that.
    [ "$(waits '[.reasons[].max_ns] | max')" -lt "$(waits '.unknown_ns / 4 | floor')" ] || fail "$(waits .)"
    kelvin report --waits r.kelvin
    [[ $output == *"records were lost: waits are missing"* ]] || fail "$output"
}
