#!/usr/bin/env bats
# The heap of processes that run already, against their own count.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    make -s -C "${BATS_TEST_DIRNAME}/../.." B="${KELVIN%/*}" targets >&2
}

setup() {
    is_real_root || skip "probes of a running process need root"
    [ -r /sys/bus/event_source/devices/uprobe/type ] || skip "this kernel has no uprobes"
    cd "$BATS_TEST_TMPDIR" || return
    mkfifo go
}

teardown() {
    remove_open_folders
    exec 7>&- 2>/dev/null || true
    if [ -n "${pid:-}" ]; then
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    fi
}

# A command that waits for a byte of its input; its number is $pid.
start() { # COMMAND...
    "$@" <go >told &
    pid=$!
    exec 7>go
}

# Record it from here to when it has printed what it did.
record_work() { # OPTION...
    local patience
    "$KELVIN" record --engine none -p "$pid" -o r.kelvin "$@" 2>recorded &
    recorder=$!
    patience=$(($(patience 20) * 10))
    until [ -s r.kelvin.part ] || [ $((patience--)) = 0 ] || ! kill -0 $recorder; do sleep 0.1; done
    sleep 0.3
    echo >&7
    until [ -s told ] || [ $((patience--)) = 0 ] || ! kill -0 "$pid"; do sleep 0.1; done
    sleep 0.2
    kill -INT $recorder
    wait $recorder || fail "$(cat recorded)"
}

sum() { # VALUE [PATTERN]
    "$KELVIN" fold --event heap --value "$1" r.kelvin 2>/dev/null |
        awk -v re="${2:-.}" '$0 ~ re { n += $NF } END { printf "%.0f", n }'
}

told() { # WORD
    awk -v key="$1" '$1 == key { print $2 }' told
}

# With a sample in every byte or so each block is one: the sums are those of the program itself.
agrees() {
    local value
    ! grep 'records were lost' recorded || skip "the machine is too busy: samples were lost"
    for value in allocations allocated frees freed leaked; do
        [ "$(sum $value 'part_|;plain')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_|;plain'), the program counted $(told $value)"
    done
}

@test "attach: every block of a running process, by function, when each is sampled" {
    start "$TARGET/heap" plain 150 wait
    record_work --heap=sampled:1 --stack-size 4096
    agrees
    [ "$(sum allocations ';part_aligned ')" = 150 ]
    [ "$(sum allocations ';part_grown ')" = 300 ]
    [ "$(sum leaked ';part_leaked ')" = "$(told leaked)" ]
    [ "$(sum allocations '_start.*;main;.*part_small ')" = 300 ]
    grep 'only blocks allocated since' recorded
}

@test "attach: threads that hand blocks to each other" {
    start "$TARGET/heap" threads 300 wait
    record_work --heap=sampled:1 --stack-size 4096
    agrees
}

@test "attach: samples are unbiased, and a block of 10 MiB is seen" {
    local estimate truth
    # Few enough for a fast machine to be done before the probes are found to cost too much.
    start "$TARGET/heap" plain 4000 wait
    record_work --heap=sampled:20000
    estimate=$(sum allocated) truth=$(told allocated)
    [ $((estimate * 100 / truth)) -ge 85 ] && [ $((estimate * 100 / truth)) -le 115 ] ||
        fail "$estimate of $truth: $(cat recorded)"
    [ "$(sum samples)" -lt $(($(told allocations) / 20)) ]
    [ "$(sum allocated ';plain')" -ge $((10 << 20)) ]
}

@test "attach: kelvin heap says what is not known, and shows who keeps growing" {
    start "$TARGET/heap" cache 25 wait few
    record_work --heap=sampled:2000
    kelvin heap r.kelvin
    exits 0
    [[ $output == *"Recorded from a running process: blocks that it allocated before are in none"* ]] || fail "$output"
    [[ $output == *"Held at the end: "* && $output == *"memory held by part_cached grew"* ]] || fail "$output"
    [[ $output != *"ever freed"* && $output != *emporary:* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    [[ $output == *'"attached": true'* || $output == *'"attached":true'* ]] || fail "${output:0:300}"
}

@test "attach: what a program holds at the end is held, though it is freed while probes are taken away" {
    cat >ring.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *block[4];
int main(void)
{
    for (unsigned i = 0; i < 3000; i++, usleep(20000)) {
        free(block[i % 4]);
        block[i % 4] = malloc(4000000);
        memset(block[i % 4], 1, 4000000);
    }
}
C
    gcc -O1 -o ring ring.c
    start ./ring
    "$KELVIN" record -q --engine none --heap=sampled -p "$pid" -d 1 -o r.kelvin
    [ "$(sum leaked)" -ge 12000000 ] || fail "held: $(sum leaked)"
}

@test "attach: a static program has an allocator as well" {
    cc -O1 -g -fno-builtin -static -pthread -o heap_static "${BATS_TEST_DIRNAME}/../target/heap.c" || skip "no static libc"
    start ./heap_static plain 150 wait
    record_work --heap=sampled:1 --stack-size 4096
    agrees
}

@test "attach: jemalloc as a shared library" {
    local library
    library=$(ldconfig -p | awk '/libjemalloc\.so/ { print $NF; exit }')
    [ -n "$library" ] || skip "libjemalloc is not installed"
    start env LD_PRELOAD="$library" "$TARGET/heap" plain 150 wait
    record_work --heap=sampled:1 --stack-size 4096
    agrees
}

@test "attach: a process that allocates all the time is let go, and runs on" {
    start "$TARGET/heap" threads 100000000 wait
    "$KELVIN" record --engine none --heap=sampled -p "$pid" -d 20 -o r.kelvin 2>recorded &
    recorder=$!
    sleep 0.5
    echo >&7
    wait $recorder || fail "$(cat recorded)"
    kill -0 "$pid"
    # With less than a CPU, probes cannot cost a quarter of one.
    [ "$(awk -v tick="$(getconf CLK_TCK)" '{ print int(($14 + $15) / tick) }' "/proc/$pid/stat")" -ge 20 ] ||
        grep -q 'the probes were removed after' recorded || skip "other programs leave too little of a CPU"
    grep 'the probes were removed after' recorded || fail "$(cat recorded)"
    kelvin heap r.kelvin
    [[ $output == *"followed for the first"* ]] || fail "$output"
}

@test "attach: a process that allocates nothing was not stopped" {
    start "$TARGET/heap" plain 10 wait
    kelvin record --heap=sampled -p "$pid" -d 0.5 -o idle.kelvin
    exits 0
    [[ $stderr == *"no probe was hit in "*" s: the process called neither malloc nor free"* && $stderr != *" 0 times"* ]] || fail "$stderr"
}

@test "attach: what cannot be done is said" {
    start "$TARGET/heap" plain 10 wait
    kelvin record --heap -p "$pid"
    exits 125
    [[ $stderr == *"the heap of a running process can only be sampled"* ]] || fail "$stderr"
    kelvin record --heap=sampled,mmap -p "$pid"
    exits 125
    kelvin record --heap=sampled -p 4194304
    exits 125
    [[ $stderr == *"no process 4194304"* ]] || fail "$stderr"
    folder=$(open_folder)
    run_as_nobody "$folder/kelvin" record --heap=sampled -p "$pid" -d 1 -o /tmp/nobody.kelvin
    [ "$status" = 125 ] || fail "$status: $output"
    kill -0 "$pid"
}

@test "attach: without root one's own process is refused with what to do" {
    folder=$(open_folder)
    run_as_nobody bash -c "sleep 30 & p=\$!
        '$folder/kelvin' record --heap=sampled -p \$p -d 1 -o /tmp/nobody.kelvin; rc=\$?; kill \$p; exit \$rc"
    [ "$status" = 125 ] || fail "$status: $output"
    [[ $stderr == *"no right to follow the heap of process "*": run as root, or record it from its start"* ]] || fail "$stderr"
}
