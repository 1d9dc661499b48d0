#!/usr/bin/env bats
# Thread bodies under every schedule: what is planted is found with as few preemptions as possible, told step by step, and runs again.
# shellcheck disable=SC2154  # run sets output, status, stderr
load ../lib/helpers

LIB=$(dirname "$KELVIN")/libkelvin_bench.a
# The library of the checked build is itself checked, so its programs must be.
CC=gcc FLAGS=""
[ -z "${KELVIN_SANITIZED:-}" ] || CC=clang FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"

build() { # PROGRAM [OPTION]...
    local program=$1
    shift
    # shellcheck disable=SC2086
    "$CC" -O1 -g -Wall -Wextra -Werror $FLAGS -I"$ROOT/include" "$@" -o "$program" "$ROOT/tests/target/interleave/threads.c" "$LIB" -lm -pthread
}

setup_file() {
    build "$BATS_FILE_TMPDIR/threads"
    build "$BATS_FILE_TMPDIR/careless" -DWAIT_ONCE
}

setup() {
    cd "$BATS_FILE_TMPDIR" || exit
}

threads() { # [OPTION]... NAME
    run --separate-stderr timeout "$(patience 60)" ./threads "$@"
}

@test "a lost update is found with one preemption, and its steps are in the order in which they took place" {
    threads lost_update
    [ "$status" -eq 3 ]
    [[ $output == *"fails under schedule"*"at most 1 preemption: expected count == 2"* ]]
    [[ $output == *load*load*store*store* ]]
}

@test "a failing schedule can be run again by its word" {
    threads lost_update
    word=$(sed -n 's/.*--schedule //p' <<<"$output")
    [ -n "$word" ]
    threads lost_update --schedule "$word"
    [ "$status" -eq 3 ]
    [[ $output == *"lost_update: fails: expected count == 2"* ]]
    threads lost_update --schedule 1x3
    [ "$status" -eq 0 ]
    [[ $output == *"holds under this schedule"* ]]
}

@test "what is right holds under all schedules, and more preemptions make more of them" {
    threads counted same_order spinlock handed_over
    [ "$status" -eq 0 ]
    [ "$(grep -c 'holds under all' <<<"$output")" -eq 4 ]
    few=$(./threads --preemptions 1 same_order | sed 's/.*all \([0-9]*\) .*/\1/')
    many=$(./threads --preemptions 3 same_order | sed 's/.*all \([0-9]*\) .*/\1/')
    [ "$few" -lt "$many" ]
}

@test "two locks in two orders are a deadlock, with the places of both threads" {
    threads inversion
    [ "$status" -eq 3 ]
    [[ $output == *"deadlock: thread 1 waits at"*"thread 2 waits at"* ]]
}

@test "a waiter that does not look again is found, and the queue that looks is not blamed" {
    run timeout "$(patience 60)" ./careless handed_over
    [ "$status" -eq 3 ]
    [[ $output == *"expected got[0] + got[1] == 3"* ]] || [[ $output == *deadlock* ]]
    [[ $output == *woken* ]]
}

@test "threads that wait for nobody end, and that is told" {
    threads endless
    [ "$status" -eq 3 ]
    [[ $output == *"no end after"* ]]
}

@test "a program that dies says under which schedule" {
    threads dies
    [ "$status" -ne 0 ]
    [[ $stderr == *"the program died under this schedule"*"--schedule 1x2"* ]]
}

@test "wrong use is told: a mutex that is not held, threads that never run, a body with moods" {
    threads not_held
    [ "$status" -eq 3 ]
    [[ $output == *"unlocks a mutex that it does not hold"* ]]
    threads forgotten
    [ "$status" -eq 3 ]
    [[ $output == *"call kelvin_join()"* ]]
    threads moody
    [ "$status" -eq 3 ]
    [[ $output == *"does not do the same under the same schedule"* ]]
}

@test "words that are no schedule are refused, and one of another program does not fit" {
    for word in 0 8 x 1x 1x0 1..2 1x99999 a.b; do
        threads counted --schedule "$word"
        [ "$status" -eq 1 ] || fail "'$word' was taken"
        [[ $stderr == *"is not a schedule"* ]]
    done
    threads counted --schedule 7x2
    [ "$status" -eq 3 ]
    [[ $output == *"does not fit the program"* ]]
}

@test "so many schedules at most are tried, and that is told" {
    threads --schedules 5 counted
    [ "$status" -eq 0 ]
    [[ $output == *"holds under the first 5 schedules"* ]]
}

@test "records have the verdict and the schedule, and kelvin bench fails with the words" {
    run ./threads --json counted
    [[ $output == *'"interleave":"counted","ok":true,"schedules":'*'"whole":true'* ]]
    run ./threads --json lost_update
    [[ $output == *'"ok":false'*'"schedule":"1'* ]]
    run "$KELVIN" bench --runs 1 "./threads --filter lost_update"
    [ "$status" -eq 3 ]
    [[ $output == *"interleaving 'lost_update' fails under schedule"*"; to run it again: --schedule 1"* ]] || fail "$output"
    printf '[workload w]\ncommand = ./threads --filter lost_update\ncollect = benchmarks\nruns = 2\n' >kelvin.conf
    run --separate-stderr "$KELVIN" run
    [ "$status" -eq 1 ] || fail "$status" "$stderr"
    [[ $stderr == *"workload 'w': failed, it reported: interleaving 'lost_update' fails under schedule"* ]] || fail "$stderr"
}
