#!/usr/bin/env bats
# The whole machine: processes that ran before and those that come, their labels, idle CPUs, rights.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

need_rights() {
    need_record -a -d 0.1
}

# The share of the samples that a process has, in percent, of the JSON of a report.
share_of() { # NAME
    "$KELVIN" report --by process --format json --top 1000 r.kelvin |
        jq -r "[.groups[] | select(.name == \"$1\") | .self.share * 100 | floor] | add // 0"
}

@test "a process that ran before and one that comes are both recorded, with their labels" {
    need_rights
    cp "$(command -v dash || command -v sh)" ./earlybird
    cp ./earlybird ./latecomer
    timeout 30 ./earlybird -c 'while :; do :; done' &
    early=$!
    wait_until 10 has_run "$early" 0
    (sleep 0.7; timeout 20 ./latecomer -c 'while :; do :; done') &
    late=$!
    kelvin record -a -d 2.5 -o r.kelvin
    kill "$early" "$late"
    exits 0
    [[ $stderr == *" process"*"CPU"*"busy"* ]] || fail "$stderr"
    [ "$(share_of earlybird)" -ge 1 ] || fail "no earlybird: $("$KELVIN" report --by process r.kelvin)"
    [ "$(share_of latecomer)" -ge 1 ] || fail "no latecomer: $("$KELVIN" report --by process r.kelvin)"
    # The functions of both have names or a place in their file, and the program is on the stacks.
    kelvin fold --by process --where command=earlybird r.kelvin
    exits 0
    [[ $output == *"earlybird;"* && $output != *"latecomer;"* ]] || fail "$output"
    user=$(id -un)
    kelvin report --by user r.kelvin
    exits 0
    [[ $output == *"$user"* ]] || fail "no user '$user'" "$output"
    kelvin report --by cgroup r.kelvin
    exits 0
    [[ $output == *" /"* ]] || fail "no cgroup" "$output"
    kelvin report r.kelvin
    exits 0
    [[ $output == *"the whole machine"*"Idle time is in none of the shares"*"Processes"*"earlybird"* ]] || fail "$output"
    kelvin flame --by process -o r.svg r.kelvin
    exits 0
    grep -q earlybird r.svg
}

@test "one user's processes and one cgroup's are all that is recorded where that is asked for" {
    need_rights
    [ "$(id -u)" = 0 ] || skip "needs root: processes of two users"
    folder=$(open_folder)
    cp "$(command -v dash || command -v sh)" "$folder/nobodys"
    cp "$(command -v dash || command -v sh)" "$folder/roots"
    setpriv --reuid=65534 --regid=65534 --clear-groups timeout 30 "$folder/nobodys" -c 'while :; do :; done' &
    one=$!
    timeout 30 "$folder/roots" -c 'while :; do :; done' &
    two=$!
    kelvin record -u 65534 -d 1.5 -o r.kelvin
    exits 0
    [ "$(share_of nobodys)" -ge 1 ] || fail "$("$KELVIN" report --by process r.kelvin)"
    [ "$(share_of roots)" = 0 ] || fail "$("$KELVIN" report --by process r.kelvin)"
    kelvin report r.kelvin
    [[ $output == *"Report on the machine, only user 65534"* ]] || fail "$output"
    # All but the last folder of its path would be a cgroup above it.
    cgroup=$(awk -F: '{ if (length($3) > length(best)) best = $3 } END { print best }' "/proc/$two/cgroup")
    kelvin record --cgroup "$cgroup" -d 1 -o r.kelvin
    exits 0
    kelvin report --by cgroup r.kelvin
    [[ $output == *"$cgroup"* ]] || fail "$output"
    kill "$one" "$two"
}

@test "a CPU that idles has no samples, and the report says how long" {
    need_rights
    kelvin record --cpu 0 -d 1 -F 500 -o r.kelvin
    exits 0
    [ "$("$KELVIN" info r.kelvin | awk '$1 == "idle_cpus" { print $2 }')" = 1 ]
    [[ $("$KELVIN" report r.kelvin) == *"Report on the machine, only CPU 0"* ]]
    # No stack of the idle task: what is left of it are interrupts.
    run "$KELVIN" fold --by process r.kelvin
    ! grep -E 'do_idle;' <<<"$output" | grep -vE 'sysvec|softirq|common_interrupt' || fail "$output"
}

@test "waits of the whole machine have threads, reasons and stacks" {
    need_rights
    cp "$TARGET/waits" ./sleeper
    (sleep 0.3; ./sleeper sleep 40 20000) &
    kelvin record -a --waits -d 2 -o r.kelvin
    exits 0
    wait
    kelvin report --waits --process sleeper --format json r.kelvin
    exits 0
    [ "$(jq '[.threads[] | .blocked_by_reason_ns.sleep // 0] | add > 300000000' <<<"$output")" = true ] ||
        fail "$output"
    kelvin fold --value blocked --where reason=sleep --where process=sleeper --by reason r.kelvin
    exits 0
    [[ $output == "sleep;"* ]] || fail "$output"
}

@test "a process that has ended and was not waited for is nobody who waits" {
    need_rights
    cat >zombie.c <<'E'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    int pid = fork();
    if (!pid)
        return 0;
    printf("%d\n", pid);
    fflush(stdout);
    sleep(100);
}
E
    cc zombie.c -o zombie
    ./zombie >pid &
    parent=$!
    wait_until 10 test -s pid
    wait_until 10 grep -q '^State:.Z' "/proc/$(cat pid)/status"
    kelvin record -a --waits -d 1 -q -o r.kelvin
    kill $parent
    exits 0
    [ "$("$KELVIN" report --waits --format json --top 10000 r.kelvin | jq "[.threads[] | select(.tid == $(cat pid))] | length")" = 0 ]
}

@test "a process that has ended waits no more, and has its last name" {
    is_real_root || skip "needs root"
    (for _ in 1 2 3 4 5; do sleep 0.2 && "$(type -P true)"; done) &
    kelvin record -a --waits -d 2 -o m.kelvin
    wait $!
    exits 0
    kelvin report m.kelvin --waits --format json --process true
    exits 0
    [ "$(jq '[.threads[] | select(.thread == "true")] | length >= 3' <<<"$output")" = true ] || fail "$output"
    [ "$(jq '[.threads[] | .blocked_ns < .wall_ns / 2] | all' <<<"$output")" = true ] || fail "$output"
}

@test "what cannot be recorded is refused with what would help" {
    kelvin record -a -- true
    exits 125
    complains "leave out the command"
    kelvin record -a -p 1
    exits 125
    complains "leave out the process"
    kelvin record -a --heap
    exits 125
    complains "--heap"
    kelvin record --cpu 0-
    exits 125
    complains "'0-' is not a list of CPUs"
    kelvin record -u nosuchuser
    exits 125
    complains "no user 'nosuchuser'"
    need_rights
    kelvin record --cpu 4095 -d 1
    exits 125
    complains "not all of these CPUs are there: this machine has CPUs $(cat /sys/devices/system/cpu/online)"
    kelvin record --cgroup nosuch -d 1
    exits 125
    complains "no process is in the cgroup or container 'nosuch'"
    [ ! -e machine.kelvin ]
    [ ! -e machine.kelvin.part ]
}

@test "without rights the refusal names the line that gives them" {
    [ "$(id -u)" = 0 ] || skip "needs root, to give up its rights"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] || skip "everybody may here"
    folder=$(open_folder)
    run_as_nobody "$folder/kelvin" record -a -d 1 -o /dev/null
    exits 125
    complains "no right to record the whole machine" "sysctl kernel.perf_event_paranoid=0"
}

@test "root without the right is not told to become root, and the limit of open files is named" {
    is_real_root || skip "needs root, to give up its rights"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] || skip "everybody may here"
    for what in "record -a -d 1 -o r.kelvin" "top -n 1"; do
        # shellcheck disable=SC2086
        run --separate-stderr setpriv --bounding-set=-all --inh-caps=-all "$KELVIN" $what
        [[ $stderr != *"setpriv"* ]] || skip "rights cannot be given up here: $stderr"
        complains "root has no CAP_PERFMON here" "--cap-add PERFMON" "kernel.perf_event_paranoid=0"
        [[ $stderr != *"run as root"* ]] || fail "$stderr"
    done
    run --separate-stderr bash -c 'ulimit -n 8; exec "$@"' sh "$KELVIN" record -a -d 1 -o r.kelvin
    exits 125
    complains "ulimit -n"
    [[ $stderr != *thread* ]] || fail "$stderr"
}

@test "in a PID namespace what runs outside of it is one process, and borrows no name" {
    need_rights
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "cannot make a namespace of process numbers"
    # Outside: one that runs, and others that start meanwhile and would lend it their names.
    timeout 60 sh -c 'while :; do :; done' &
    busy=$!
    (while kill -0 "$busy" 2>/dev/null; do /bin/true; done) &
    others=$!
    run --separate-stderr unshare --pid --fork --mount-proc "$KELVIN" record -a -d 2 -o r.kelvin
    kill "$busy" "$others"
    exits 0
    [[ $stderr == *"outside of this PID namespace"* ]] || fail "$stderr"
    names=$("$KELVIN" report --by process --format json --top 1000 r.kelvin | jq -r '.groups[].name' | sort -u | paste -sd' ')
    # A thread that is just ending has lost its number, inside of the namespace or not: its samples are of "[ended]".
    [[ $names =~ ^("[ended] ")?"[outside]"(" kelvin")?$ ]] || fail "$names"
}

@test "thousands of processes that come and go are recorded in little memory, and none is unnamed" {
    need_rights
    (for ((i = 0; i < 2000; i++)); do /bin/true; done) &
    many=$!
    "$KELVIN" record -a -F 99 -q -o r.kelvin &
    recorder=$!
    sleep 4
    kill "$many" 2>/dev/null || :
    peak=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$recorder/status")
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?"
    [ -n "$KELVIN_SANITIZED" ] || [ "$peak" -lt 150000 ] || fail "$peak kB"
    # A name that is only a number is one of a process nobody has heard of.
    run "$KELVIN" fold --by process r.kelvin
    ! grep -E '^:[0-9]+;' <<<"$output" || fail "$output"
    [ "$("$KELVIN" info r.kelvin | awk '/samples lost/ { print $3 }')" = 0 ]
}

# The kernel gives the sample of a context switch to all who asked for it with the id of the one who came last.
@test "of two recorders of the machine none takes switches for samples of CPU time" {
    need_rights
    "$KELVIN" record -a --waits -F 49 -d 4 -q -o first.kelvin &
    first=$!
    sleep 1
    "$KELVIN" record -a --waits -F 49 -d 2 -q -o second.kelvin &
    second=$!
    while kill -0 "$second" 2>/dev/null; do
        "$TARGET/waits" pipe 500 0
    done
    wait "$first" "$second"
    # Of -F 49 a CPU gives 200 samples in four seconds; there were some thousand switches.
    for file in first second; do
        most=$((200 * $(nproc) * 2))
        samples=$("$KELVIN" info "$file.kelvin" | sed -n 's/^stream 1: cpu-clock, \([0-9,]*\) rows$/\1/p' | tr -d ,)
        ((samples < most)) || fail "$file: $samples samples"
        ran=$("$KELVIN" report --waits --format json "$file.kelvin" | jq '[.reasons[] | select(.reason == "pipe") | .waits] | add')
        ((ran >= 1000)) || fail "$file: $ran waits on pipes"
    done
}

# Each time it gets up the recorder costs more than the samples it finds: at 99 Hz a few times a second is enough.
@test "at a low rate the recorder of a machine seldom gets up" {
    need_rights
    "$KELVIN" record -a -F 99 -q -o r.kelvin &
    recorder=$!
    sleep 1
    turns() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$recorder/status"; }
    before=$(turns) from=$(date +%s%N)
    sleep 4
    after=$(turns) until=$(date +%s%N)
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?"
    ((after - before < 35 * (until - from) / 1000000000)) || fail "$((after - before)) times in $((until - from)) ns"
}

# In a container processes of the host have the number 0. They come and go, and are not one process that does.
@test "processes outside of our namespace are called that" {
    need_rights
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "no namespaces here"
    (while :; do /bin/true; done) &
    many=$!
    run unshare --pid --fork --mount-proc "$KELVIN" record -a -F 99 -q -d 3 -o r.kelvin
    kill "$many"
    exits 0
    run "$KELVIN" fold --by process r.kelvin
    grep -q '^\[outside\];' <<<"$output" || fail "$output"
    ! grep -E '^:0;' <<<"$output" || fail "$output"
}
