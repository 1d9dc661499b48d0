#!/usr/bin/env bats
# The engine `timer`: sampling from within, where perf_event_open is blocked.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

# Sample a command from within; its own output is $output.
record() { # COMMAND...
    kelvin record --engine timer --min-samples 1 -o r.kelvin -- "$@"
}

# A target that would have noticed us did not.
undisturbed() {
    exits 0
    [[ $output == *undisturbed* ]] || fail "the program said: $output"
    [[ $output != *wrong* ]] || fail "the program said: $output"
}

# The share of CPU time whose stack matches PATTERN, of those that match OF, in whole percent.
share() { # PATTERN [OF]
    "$KELVIN" fold --value cpu r.kelvin | awk -v re="$1" -v of="${2:-.}" '
        $0 ~ of { n += $NF; if ($0 ~ re) hit += $NF }
        END { printf "%d", n ? 100 * hit / n : 0 }'
}

between() { # LOW VALUE HIGH
    [ "$2" -ge "$1" ] && [ "$2" -le "$3" ] || fail "$2 is not between $1 and $3"
}

# CPU time by the samples' weights is within PERCENT of what the kernel says.
weighs_right() { # PERCENT
    local told sampled
    told=$(info r.kelvin cpu_time_ns)
    sampled=$("$KELVIN" fold --value cpu r.kelvin | awk '{ n += $NF } END { printf "%.0f", n }')
    between $((told * (100 - $1) / 100)) "$sampled" $((told * (100 + $1) / 100))
}

@test "where perf_event_open is blocked the timer is chosen, and says so" {
    run --separate-stderr "$TARGET/noperf" "$KELVIN" record -o r.kelvin -- "$TARGET/split" 2
    exits 0
    [[ $stderr == *"in-process timer"* ]] || fail "$stderr"
    [[ $stderr == *"perf_event_open is blocked"* ]] || fail "$stderr"
    [ "$(info r.kelvin kind)" = "in-process timer" ]
    [ "$(info r.kelvin engine)" = timer ]
}

@test "shares of a known program, whole stacks, weights that add up to its CPU time" {
    record "$TARGET/split" 3 50
    exits 0
    between 52 "$(share part_sixty part_)" 68
    between 22 "$(share part_thirty part_)" 38
    between 4 "$(share part_ten part_)" 16
    between 99 "$(share '_start;.*;main;.*descend')" 100
    between 0 "$(share unfinished)" 0
    weighs_right 5
}

@test "the rate that was possible is told beside the one asked for" {
    record "$TARGET/split" 1
    exits 0
    [ "$(info r.kelvin rate_hz)" = 999 ]
    [ "$(info r.kelvin rate_achieved_hz)" -gt 50 ]
    [ "$(info r.kelvin rate_achieved_hz)" -le 1010 ]
}

@test "a report on samples of the timer says what the tick can do to shares" {
    record "$TARGET/split" 1
    exits 0
    kelvin report r.kelvin
    [[ ${output//$'\n  '/ } == *"Work that repeats in step with the tick"* ]] || fail "$output"
}

# Others on the same CPU stop the program before the tick: fewer samples than ticks, which is said. A machine
# may divide its CPUs otherwise, so the sentence is asked for only where there are fewer.
@test "fewer samples than ticks are called that, and intervals know it" {
    local cpu
    cpu=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//') || skip "needs taskset"
    for _ in 1 2 3 4; do taskset -c "$cpu" timeout 60 sh -c 'while :; do :; done' 3>&- & done
    run --separate-stderr taskset -c "$cpu" "$KELVIN" record --engine timer --min-samples 1 -o r.kelvin -- "$TARGET/split" 0.5
    # shellcheck disable=SC2046
    kill $(jobs -p)
    exits 0
    if [ "$(info r.kelvin rate_achieved_hz)" -lt 55 ]; then # of 100 ticks, the fewest there are
        [[ $stderr == *"seldom runs when the kernel's clock ticks"* ]] || fail "$stderr"
    fi
    kelvin report --format json r.kelvin
    jq -e '[.by_self[] | select(.name == "part_sixty").self | .low < 0.62 and .high > 0.50] | all' <<<"$output"
}

@test "a lower rate than the tick is kept" {
    kelvin record --engine timer -F 50 --min-samples 1 -o r.kelvin -- "$TARGET/split" 2
    exits 0
    between 40 "$(info r.kelvin rate_achieved_hz)" 60
    weighs_right 10
}

@test "threads, with names, also those that block all signals" {
    record "$TARGET/guest" threads 8
    undisturbed
    between 90 "$(share '^worker;.*start_thread;worker;')" 100
    between 0 "$(share 'agent|thread_run')" 0
    weighs_right 15
}

@test "a thousand threads" {
    record "$TARGET/guest" threads 1000
    undisturbed
    [ "$(info r.kelvin lost)" -eq 0 ]
}

@test "threads that come and go leave no timers behind" {
    # More threads than timers may wait: RLIMIT_SIGPENDING counts those that were not deleted.
    run --separate-stderr bash -c 'ulimit -i 200; exec "$@"' - \
        "$KELVIN" record --engine timer --min-samples 1 -o r.kelvin -- "$TARGET/guest" storm 2000
    undisturbed
    [[ $stderr != *missing* ]] || fail "$stderr"
}

@test "a fork is followed" {
    record "$TARGET/guest" fork
    undisturbed
    between 55 "$(share child_work)" 75
    weighs_right 10
}

@test "a storm of forks" {
    record "$TARGET/guest" forks 500
    undisturbed
}

@test "an exec is followed, even with all files closed" {
    record "$TARGET/guest" exec
    undisturbed
    between 55 "$(share 'spawned_work')" 75
    between 25 "$(share 'execs')" 45
}

@test "a spawned program is followed" {
    record "$TARGET/guest" spawn
    undisturbed
    between 90 "$(share 'spawned_work')" 100
}

@test "a library that is loaded later is known" {
    record "$TARGET/guest" load
    undisturbed
    between 90 "$(share 'main.*loads;')" 100
}

@test "a program that resets and blocks all signals lives on, and is sampled" {
    record "$TARGET/guest" reset
    undisturbed
    [ "$(info r.kelvin samples)" -gt 20 ]
}

@test "a program keeps its own timers, its errno, and its use of our signal" {
    record "$TARGET/guest" signals
    undisturbed
}

@test "read and write are restarted" {
    record "$TARGET/guest" restarts
    undisturbed
}

@test "stacks that end where memory does are not read past their end" {
    record "$TARGET/guest" coroutine
    undisturbed
    between 90 "$(share 'coroutine')" 100
    record "$TARGET/guest" altstack
    undisturbed
}

@test "programs built with AddressSanitizer" {
    local compiler
    for compiler in gcc clang; do
        echo 'int main(void) { return 0; }' | "$compiler" -xc - -fsanitize=address -o none 2>/dev/null ||
            skip "$compiler has no AddressSanitizer here ('make check-all' installs clang's)"
        "$compiler" -O1 -g -fsanitize=address -pthread -o guest-asan "$ROOT/tests/target/guest.c"
        record ./guest-asan threads 4
        undisturbed
        record ./guest-asan signals
        undisturbed
    done
}

@test "a static program is refused" {
    gcc -O2 -static -pthread -o static "$ROOT/tests/target/split.c" || skip "no static libc"
    record ./static 1
    exits 125
    complains "static program" "kelvin doctor"
}

@test "a script whose interpreter is static is refused" {
    gcc -O2 -static -pthread -o static "$ROOT/tests/target/split.c" || skip "no static libc"
    printf '#!%s 1\n' "$PWD/static" >script
    chmod +x script
    record ./script
    exits 125
    complains "static program"
}

@test "a setuid program of somebody else is refused" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make one"
    cp "$TARGET/split" setuid
    chown 65534 setuid
    chmod u+s setuid
    record ./setuid 1
    exits 125
    complains "setuid"
}

@test "an ordinary user needs no rights" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
    local folder
    folder=$(open_folder "$TARGET/split")
    chmod 777 "$folder"
    run_as_nobody "$folder/kelvin" record --engine timer -o "$folder/r.kelvin" -- "$folder/split" 2
    cp "$folder/r.kelvin" .
    exits 0
    between 52 "$(share part_sixty part_)" 68
}

@test "a program that gives up its rights before it execs is sampled" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become somebody else"
    local folder
    folder=$(open_folder "$TARGET/split")
    KELVIN=$folder/kelvin record setpriv --reuid 65534 --clear-groups "$folder/split" 1
    exits 0
    between 50 "$(share part_sixty part_)" 70
}

@test "a running process cannot be attached to" {
    sleep 100 &
    kelvin record --engine timer -p $!
    kill $!
    exits 125
    complains "cannot attach to a running process"
}

@test "events are refused" {
    kelvin record --engine timer -e cycles -- true
    exits 125
    complains "only CPU time" "cycles"
}

@test "a command with an empty environment is told to be missing" {
    kelvin record --engine timer --min-samples 100 -- env -i "$TARGET/split" 0.5
    exits 3
    [[ $stderr == *samples* ]] || fail "$stderr"
}

@test "the command's exit code is passed on" {
    kelvin record --engine timer -o r.kelvin -- sh -c 'exit 7'
    exits 7
    [[ $stderr == *"the command ended with exit code 7"* ]] || fail "$stderr"
    kelvin record --engine timer -o r.kelvin -- sh -c 'kill -SEGV $$'
    exits 139
    [[ $stderr == *"the command was ended by signal 11"* ]] || fail "$stderr"
    kelvin record --engine timer -o r.kelvin -- true
    [[ $status = 0 && $stderr != *"the command"* ]] || fail "$status $stderr"
}

@test "a higher rate is advised only where there is one" {
    kelvin record --engine timer -F 50 -o r.kelvin -- "$TARGET/split" 0.1
    [[ $stderr == *"run longer, or raise -F"* ]] || fail "$stderr"
    kelvin record --engine timer -F 5000 -o r.kelvin -- "$TARGET/split" 0.1
    [[ $stderr == *"run longer"* && $stderr != *"raise"* ]] || fail "$stderr"
    kelvin record --engine timer -F 5000 --min-samples 1000000 -o r.kelvin -- "$TARGET/split" 0.1
    [[ $status = 3 && $stderr == *"run longer, or keep"* && $stderr != *"raise"* ]] || fail "$status $stderr"
}

@test "preloads of the user come first and stay" {
    LD_PRELOAD=libz.so.1 kelvin record --engine timer --min-samples 1 -o r.kelvin -- \
        sh -c "echo \$LD_PRELOAD; '$TARGET/split' 0.5"
    exits 0
    [[ $output == libz.so.1:*libkelvin-agent.so* ]] || fail "$output"
}

@test "a preloaded library that fakes the clock changes nothing, in the program or in kelvin" {
    make_fake_clock fake.so
    record sh -c "LD_PRELOAD=$PWD/fake.so:\$LD_PRELOAD exec '$TARGET/split' 1"
    exits 0
    [[ $stderr != *"were lost"* ]] || fail "$stderr"
    weighs_right 30
    for how in timer perf; do
        need_record --engine $how -- true
        LD_PRELOAD=$PWD/fake.so kelvin record --engine $how --min-samples 1 -o r.kelvin -- "$TARGET/split" 0.5
        exits 0
        weighs_right 30
        [ "$(info r.kelvin time_ns)" -gt $((($(date +%s) - 100000) * 1000000000)) ] || fail "a date of $(info r.kelvin time_ns)"
        [ "$(info r.kelvin duration_ns)" -ge "$(($(info r.kelvin cpu_time_ns) / 2))" ] || fail "$(info r.kelvin duration_ns)"
    done
}

@test "killing the recorder leaves the command alone" {
    "$KELVIN" record -q --engine timer -o r.kelvin -- sh -c \
        "echo \$\$ >pid; '$TARGET/guest' threads 4 >said; echo \$? >status" &
    local recorder=$!
    wait_until 10 test -s pid
    wait_until 10 test -s r.kelvin.part
    kill -9 "$recorder"
    wait_until 20 test -s status
    [ "$(cat status)" = 0 ]
    [ "$(cat said)" = undisturbed ]
}

@test "a program under strict seccomp, and one with a small signal stack, live on" {
    for mode in strict altstack; do
        "$TARGET/narrow" $mode >alone.txt || continue # not to be had here
        kelvin record --engine timer --min-samples 0 -o r.kelvin -- "$TARGET/narrow" $mode
        exits 0
        [ "$output" = "done" ] || fail "$mode: $output"
        [[ $stderr == *"1 thread could not be sampled"* ]] || fail "$stderr"
    done
}

@test "a program that scribbles on the shared memory cannot spoil the recording" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    for seed in 1 2; do
        kelvin record --engine timer -o s.kelvin -- python3 "$ROOT/tests/target/scribble.py" $seed 1
        exits 0
        kelvin info --strict s.kelvin
        exits 0
        [[ $stderr != *damaged* ]] || fail "$stderr"
        kelvin info --json s.kelvin
        # What it claims to have used is no more than there was time.
        python3 -c 'import json, sys
p = json.load(sys.stdin)
ns = [v["total"] for v in p["values"] if v["name"] == "cpu"][0]
sys.exit(f"{ns} ns of CPU time" if not 0 <= ns < 1e15 else 0)' <<<"$output"
    done
}
