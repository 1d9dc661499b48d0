#!/usr/bin/env bats
# A part of a profile: the same options, with one meaning, in every command that shows something.

# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# Two processes, three threads, two seconds, two events.
make_profile() {
    cat >in.txt <<'EOF'
app 10/10 [000] 1.000000: 1000000 cpu-clock:
	55d0 read+0x1 (/bin/app)
	55d1 parse+0x1 (/bin/app)
	55d2 main+0x1 (/bin/app)

app 10/10 [000] 1.500000: 2000000 cpu-clock:
	55d0 read+0x1 (/bin/app)
	55d0 read+0x2 (/bin/app)
	55d1 parse+0x1 (/bin/app)
	55d2 main+0x1 (/bin/app)

worker 10/11 [000] 2.000000: 4000000 cpu-clock:
	55d3 write+0x1 (/bin/app)
	55d2 main+0x1 (/bin/app)

helper 20/20 [000] 3.000000: 8000000 cpu-clock:
	55d4 idle+0x1 (/bin/app)

helper 20/20 [000] 3.000000: 16 page-faults:
	55d4 idle+0x1 (/bin/app)

EOF
}

fold() { # OPTION...
    kelvin fold in.txt --event cpu-clock "$@"
    exits 0
}

@test "fold: each filter leaves what it says" {
    make_profile
    fold --time ..0.6
    prints 'app;main;parse;read 1000000
app;main;parse;read;read 2000000'
    fold --time 50%..
    prints 'helper;idle 8000000
worker;main;write 4000000'
    fold --thread worker
    prints 'worker;main;write 4000000'
    fold --thread 11 --thread helper
    prints 'helper;idle 8000000
worker;main;write 4000000'
    fold --process 20
    prints 'helper;idle 8000000'
    fold --focus '^write$'
    prints 'worker;main;write 4000000'
    fold --ignore read --ignore idle
    prints 'worker;main;write 4000000'
    fold --hide '^read$' --process 10
    prints 'app;main;parse 3000000
worker;main;write 4000000'
    fold --hide '^std::' --process 20 # what is not there is hidden already
    prints 'helper;idle 8000000'
    fold --focus parse --merge-recursion
    prints 'app;main;parse;read 3000000'
}

@test "what matches nothing is an error that offers names, in every command" {
    make_profile
    echo 'present read' >rules
    for command in "fold in.txt" "report in.txt" "flame in.txt" "diff in.txt in.txt" \
        "check in.txt rules" "annotate in.txt read" "convert in.txt --to folded" "simd in.txt"; do
        # shellcheck disable=SC2086  # words of a command
        kelvin $command --event cpu-clock --focus pasre
        exits 1
        complains "no function matches 'pasre'" "did you mean 'parse'"
        # shellcheck disable=SC2086
        kelvin $command --event cpu-clock --thread workr
        exits 1
        complains "no thread matches 'workr'" "did you mean 'worker'"
    done
    kelvin fold in.txt --event cpu-clock --where tenant=blue
    exits 1
    complains "no attribute matches 'tenant'"
    kelvin fold in.txt --event cpu-clock --time 7..9
    exits 1
    complains "0..2 s"
}

# 1: a name that this profile lacks. 5: a kind of data that was not recorded.
@test "the exit code tells a wrong name from data that was never recorded" {
    make_profile
    local options
    for options in "report --callers nosuch" "fold --value nosuch" "report --by nosuch" "fold --thread nosuch"; do
        # shellcheck disable=SC2086
        kelvin $options in.txt
        [ "$status" = 1 ] || fail "$options: $status, $stderr"
    done
    for options in heap locks scopes "report --waits" "report --value wall" "report --scope layer" "report --by scope"; do
        # shellcheck disable=SC2086
        kelvin $options in.txt
        [ "$status" = 5 ] || fail "$options: $status, $stderr"
    done
    echo 'main;a 10' >in.folded
    kelvin report in.folded --time 0..1
    exits 5
    complains "no times"
}

@test "report, flame and check say what was selected" {
    make_profile
    kelvin report in.txt --event cpu-clock --thread app --hide read --width 300
    exits 0
    [[ $output == *"selected: thread app, hide read"* ]] || fail "$output"
    [[ $output == *"parse"* && $output != *"idle"* ]] || fail "$output"
    "$KELVIN" report in.txt --event cpu-clock --time 0..1 --format json >report.json
    grep -q '"selected":"time 0..1"' report.json
    "$KELVIN" flame in.txt --event cpu-clock --process 10 --focus write -o out.svg
    grep -q 'selected: process 10, focus write' out.svg
    grep -q '<title>write (1 sample, 100.00%, 4 ms)</title>' out.svg
    echo 'absent idle' >rules
    kelvin check in.txt rules --event cpu-clock --process 10 --width 300
    exits 0
    [[ $output == *"selected: process 10"* ]] || fail "$output"
    kelvin diff in.txt in.txt --event cpu-clock --process 10
    exits 0
    [[ $output == *"Selected on both sides: process 10"* ]] || fail "$output"
}

@test "convert: only the selected part goes out, in every format" {
    make_profile
    for format in kelvin folded pprof speedscope firefox; do
        "$KELVIN" convert in.txt --event cpu-clock --process 10 --hide '^read$' --to $format -o out.$format
        kelvin fold out.$format --value weight
        [[ $output == *"main;parse 3000000"* && $output == *"main;write 4000000"* ]] ||
            fail "$format: $output"
        [[ $output != *idle* && $output != *read* ]] || fail "$format: $output"
    done
}

@test "info and flame agree on the label of every event" {
    make_profile
    kelvin info in.txt
    exits 0
    [[ $output == *"stream 1: cpu-clock, 4 rows
    kind               software clock"* ]] || fail "$output"
    [[ $output == *"stream 2: page-faults, 1 row
    kind               software event"* ]] || fail "$output"
    "$KELVIN" flame in.txt --event page-faults -o faults.svg
    grep -q 'software event · event page-faults' faults.svg
    grep -q 'shown: page-faults; also in the input: cpu-clock' faults.svg
    "$KELVIN" flame in.txt --event cpu-clock -o time.svg
    grep -q 'software clock · event cpu-clock' time.svg
    "$KELVIN" info in.txt --json >info.json
    grep -q '"streams":\[{"event":"cpu-clock","kind":"software clock"' info.json
    kelvin report in.txt
    [[ $stderr == *"showing the event 'cpu-clock' of several"* ]] || fail "$stderr"
}

@test "labels of a pprof file select, and go out again" {
    command -v python3 >/dev/null || skip "needs python3"
    python3 - <<'EOF'
def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def number(field, n): return varint(field << 3) + varint(n)
def text(field, b): return varint(field << 3 | 2) + varint(len(b)) + b
strings = [b"", b"cpu", b"nanoseconds", b"tenant", b"blue", b"green", b"f", b"size", b"bytes"]
def sample(value, *labels): return text(2, number(1, 1) + number(2, value) + b"".join(text(3, l) for l in labels))
blue, green = number(1, 3) + number(2, 4), number(1, 3) + number(2, 5)
size = number(1, 7) + number(3, 512) + number(4, 8)
out = text(1, number(1, 1) + number(2, 2)) + sample(5, blue, size) + sample(7, green)
out += text(4, number(1, 1) + text(4, number(1, 1))) + text(5, number(1, 1) + number(2, 6))
out += b"".join(text(6, s) for s in strings)
open("in.pb", "wb").write(out)
EOF
    kelvin fold in.pb
    prints 'f 12'
    kelvin fold in.pb --where tenant=blue
    prints 'f 5'
    "$KELVIN" convert in.pb -o out.pb.gz
    kelvin fold out.pb.gz --where tenant=green
    prints 'f 7'
    kelvin fold out.pb.gz --where size=512
    prints 'f 5'
    "$KELVIN" convert out.pb.gz --where tenant=blue -o out.kelvin
    kelvin fold out.kelvin --where size=512
    prints 'f 5'
    kelvin fold out.kelvin --where tenant=green
    exits 1
}

@test "a heap profile is not told to vectorise, nor that it takes time" {
    kelvin report "$ROOT/tests/golden/pprof/go-heap.pb.gz" --value alloc_space
    exits 0
    [[ $output != *vectoris* && $output != *"time is"* && $output != *"--rate"* ]] || fail "$output"
    for id in scalar-loop allocation copies kernel waiting hashing locks; do
        [[ $output != *"$id:"* ]] || fail "$id in: $output"
    done
}

@test "a subtree begins at main although the library that starts it is collapsed" {
    printf 'app 7 1.000001: cycles: \n\t 10 %s\n\t 20 parse (/bin/app)\n\t 30 main (/bin/app)\n\t 40 __libc_start_main (/lib/libc.so.6)\n\t 50 _start (/bin/app)\n\n' \
        'memcpy (/lib/libc.so.6)' 'scan (/bin/app)' >app.txt
    kelvin fold app.txt --subtree 'main;parse' --collapse-module '^libc'
    exits 0
    prints $'app;parse;[libc.so.6] 1\napp;parse;scan 1'
}
