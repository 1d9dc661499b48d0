#!/usr/bin/env bats
# Shares of programs whose threads know their own CPU time: busy and nearly idle ones, loops that
# are as long as the time between samples, started and attached, and short processes.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record --engine perf -- true
}

# Of the samples of r.kelvin, those that match PATTERN have the share TRUE percent: within five
# standard deviations of independent samples (one failure in a million) and SLACK points.
has_share() { # PATTERN TRUE SLACK
    "$KELVIN" fold r.kelvin | awk -v re="$1" -v p="$2" -v slack="$3" '
        { n += $NF }
        $0 ~ re { hit += $NF }
        END {
            if (n < 50) { print n + 0 " samples only"; exit 1 }
            seen = 100 * hit / n
            off = seen > p ? seen - p : p - seen
            most = 5 * sqrt(p * (100 - p) / n) + slack
            printf "%s: %.2f %% of %d samples, truly %.2f %% (+- %.2f)\n", re, seen, n, p, most
            exit off > most
        }' >&2
}

# What duty printed: the share of group GROUP, or with "rare" that of rare_part().
truth() { # GROUP
    awk -v g="$1" '$1 == "all" { all = $2; next } { rare += $3; if ($1 == g) mine += $2 }
        END { printf "%.4f", 100 * (g == "rare" ? rare : mine) / all }'
}

# Record a duty that runs already, for four seconds. Its own truth is then in truth.txt.
attach_to_duty() { # LOOP_US GROUP...
    "$TARGET/duty" 5 "$@" >truth.txt &
    local pid=$! group threads=1
    for group in "${@:2}"; do
        threads=$((threads + ${group%x*}))
    done
    wait_until 10 has_threads $pid $threads
    kelvin record -p $pid -d 4 --min-samples 0 -o r.kelvin
    wait $pid
    exits 0
}

@test "threads that hardly run are sampled as often as they run, attached" {
    attach_to_duty 500 1x10 40x0.5
    has_share '^g1;' "$(truth g1 <truth.txt)" 5
}

@test "threads that hardly run are sampled as often as they run, started" {
    kelvin record -o r.kelvin -- "$TARGET/duty" 4 1000 1x10 40x0.5
    exits 0
    has_share '^g1;' "$(truth g1 <<<"$output")" 5
}

@test "one thread in a hundred of the time, beside a busy one" {
    attach_to_duty 2000 1x50 1x1
    has_share '^g1;' "$(truth g1 <truth.txt)" 1
}

# Clocks of CPUs take rights that root has, outside of containers.
need_cpu_clocks() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] || skip "needs the first PID namespace"
}

parts_have_shares() { # LOOP_US...
    for loop_us in "$@"; do
        kelvin record -o r.kelvin -- "$TARGET/duty" 3 "$loop_us" 1x100
        exits 0
        has_share rare_part "$(truth rare <<<"$output")" 1
    done
}

@test "a part of a loop of 1 and 3 ms has its share" {
    parts_have_shares 1000 3000
}

# A loop that starts right after an interrupt at its end brings a clock of one period in step.
@test "a part of a loop of 0.5 and 0.45 ms has its share where the clocks of CPUs are to be had" {
    need_cpu_clocks
    parts_have_shares 500 450
}

# Clocks of threads are in step with short bursts of work: these intervals do not hold there.
@test "threads at 0.1 to 100 % duty, attached: intervals hold the true shares" {
    need_cpu_clocks
    cd "${BATS_TEST_DIRNAME}/../.." || return
    run --separate-stderr env B="$BATS_TEST_TMPDIR" python3 bench/sampling_truth.py 1 1.5 attached
    exits 0
}

@test "each sample stands for the time between two, and together they are the CPU time" {
    kelvin record -F 500 -o r.kelvin -- "$TARGET/duty" 3 1000 1x100
    exits 0
    local true_ns sampled_ns
    true_ns=$(awk '$1 == "all" { print $2 }' <<<"$output")
    sampled_ns=$("$KELVIN" fold --value weight r.kelvin | awk '{ n += $NF } END { printf "%.0f", n }')
    [ "$sampled_ns" = "$(info r.kelvin sampled_ns)" ] || fail "$sampled_ns is not $(info r.kelvin sampled_ns)"
    # Clocks of CPUs meet a program that runs now and then by chance: five standard deviations of 2 ms each.
    awk -v seen="$sampled_ns" -v true="$true_ns" 'BEGIN {
        off = 5 * sqrt(true / 2e6) * 2e6
        exit seen < 0.85 * true - off || seen > 1.05 * true + off
    }' || fail "$sampled_ns of $true_ns ns"
}

@test "short processes are sampled as often as they run where the clocks of CPUs are to be had" {
    need_cpu_clocks
    kelvin record --min-samples 0 -o r.kelvin -- "$TARGET/storm" 2000 100 500
    exits 0
    local used_ns=$output
    [[ $stderr != *"sampled "*"% of "* ]] || fail "$stderr"
    [ "$(info r.kelvin sampled_ns)" -gt $((used_ns * 85 / 100)) ] || fail "$(info r.kelvin sampled_ns) of $used_ns ns"
    # A quarter of their work is in storm_first(), which a clock that begins with them hardly sees.
    "$KELVIN" fold r.kelvin | grep -E 'storm_(first|last)' >work.txt
    local n first
    n=$(awk '{ n += $NF } END { print n + 0 }' work.txt)
    first=$(awk '/storm_first/ { n += $NF } END { print n + 0 }' work.txt)
    awk -v n="$n" -v k="$first" 'BEGIN { off = k / n - 0.25; exit off * off > 25 * 0.25 * 0.75 / n }' ||
        fail "$first of $n samples"
}

@test "the clocks of CPUs meet other programs, and none of them is recorded" {
    need_cpu_clocks
    (while :; do cat /proc/cpuinfo >/dev/null; done) &
    local noise=$!
    kelvin record --min-samples 0 -o r.kelvin -- "$TARGET/duty" 2 1000 1x50
    kill $noise
    exits 0
    # The command's first thread is called as the program, the one that works g0.
    [ -z "$("$KELVIN" fold r.kelvin | grep -v -E '^(duty|g0);')" ] || fail "$("$KELVIN" fold r.kelvin)"
}

@test "a thread that calls exec is followed" {
    kelvin record --min-samples 0 -o r.kelvin -- python3 -c '
import os, sys, threading, time
threading.Thread(target=lambda: os.execv(sys.argv[1], ["split", "1"])).start()
time.sleep(60)' "$TARGET/split"
    exits 0
    "$KELVIN" fold r.kelvin | awk '/^split;/ { n += $NF } END { exit n < 50 }'
}

# As somebody without the right to clocks of CPUs. The recording is then r.kelvin here.
record_as_nobody() { # [-F RATE] PROGRAM ARG...
    local folder program rate=999
    [ "$1" != -F ] || { rate=$2; shift 2; }
    program=$1
    folder=$(open_folder "$program")
    chmod 777 "$folder"
    shift
    run_as_nobody "$folder/kelvin" record --engine perf -F "$rate" --min-samples 0 -o "$folder/r.kelvin" -- "$folder/${program##*/}" "$@"
    exits 0
    cp "$folder/r.kelvin" .
}

@test "no sample of processes shorter than a period: that is said, and not that they used no CPU time" {
    record_as_nobody -F 49 "$TARGET/storm" 600 200 400
    [[ $stderr == *"no samples of "*"s CPU time: processes and threads that end within one sampling period"* ]] || fail "$stderr"
    kelvin report r.kelvin
    exits 5
    [[ $stderr == *"no samples in it: "*"s CPU time was used by processes and threads that live for less than a period"* ]] || fail "$stderr"
    [ "$(info r.kelvin sampled_ns)" = 0 ]
    "$KELVIN" info --json r.kelvin | grep -q '"sampled_share":0[,}]'
    "$KELVIN" info r.kelvin | grep -q 'no samples: .* for less than a period' || fail "$("$KELVIN" info r.kelvin)"
}

# Since Linux 6.13 samples of clocks that children inherit say how old their thread is.
need_ages() {
    printf '%s\n' 6.13 "$(uname -r)" | sort -V -C || skip "needs Linux 6.13"
}

# A short thread is seen now and then, and counts for more then: shares scatter by 2 to 4 points. (Without further clocks they
# are off by 18 and more.)
RELAY_SLACK=14

relay_as_nobody() { # TURNS FIRST_US SECOND_US [fork]
    need_ages
    record_as_nobody "$TARGET/relay" "$@"
    has_share relay_second "$output" $RELAY_SLACK
}

@test "threads that live for less than a period have their share beside the one that starts them" {
    relay_as_nobody 1500 200 800
    relay_as_nobody 1500 600 600
}

@test "processes that live for less than a period have their share beside the one that starts them" {
    relay_as_nobody 1000 200 800 fork
    relay_as_nobody 1000 700 500 fork
}

@test "threads that live for some periods have their share beside the one that starts them" {
    relay_as_nobody 500 300 2000
}

@test "threads that live for less than a period have their share in a process that ran already" {
    need_ages
    local folder
    folder=$(open_folder "$TARGET/relay")
    chmod 777 "$folder"
    run_as_nobody sh -c 'cd "$1" && ./relay 4000 200 800 & sleep 0.3
        "$1/kelvin" record -q --engine perf --min-samples 0 -d 3 -p $! -o "$1/r.kelvin"; wait' sh "$folder"
    exits 0
    cp "$folder/r.kelvin" .
    has_share relay_second "$output" $RELAY_SLACK
}


# The kernel counts at its ticks what is its own, and finds none in processes as short as these.
@test "how much of the time of short processes the kernel had is not known, and so not told" {
    cat >storm.sh <<'END'
i=0
while [ $i -lt 150 ]; do
    i=$(expr $i + 1)
    echo $i | sed s/1/2/ | tr 2 3
done
END
    local folder
    folder=$(open_folder "$TARGET/relay")
    chmod 777 "$folder"
    cp storm.sh "$folder"
    run_as_nobody "$folder/kelvin" record --engine perf --min-samples 0 -o "$folder/r.kelvin" -- sh "$folder/storm.sh"
    exits 0
    cp "$folder/r.kelvin" .
    kelvin report r.kelvin
    [[ $output == *"what happens there is not"* ]] || fail "$output"
    tr '\n' ' ' <<<"$output" | tr -s ' ' | grep -q 'the hidden kernel or short-lived processes and threads may have more' ||
        fail "$output"
}

# A process that ends within its first period of about 1 ms is never sampled on a quiet machine (on a busy one some are): a tenth live longer.
@test "short processes that clocks of threads hardly see: every report says what share was sampled" {
    record_as_nobody "$TARGET/storm" 2000 100 1100
    local used_ns=$output
    [[ $stderr == *"sampled "*"% of "*"s CPU time"* ]] || fail "$stderr"
    [ "$(info r.kelvin sampled_ns)" -lt "$used_ns" ]
    "$KELVIN" info r.kelvin | grep -q 'samples stand for .*% of the CPU time' || fail "$("$KELVIN" info r.kelvin)"
    "$KELVIN" info --json r.kelvin | grep -q '"sampled_share":0'
    for format in text md html; do
        "$KELVIN" report --format $format r.kelvin | tr '\n' ' ' | tr -s ' ' >report.txt
        grep -q 'sampled [0-9]*% of the CPU time' report.txt || fail "$format"
        grep -q 'Careful: samples stand for [0-9]*% of the CPU time only' report.txt || fail "$format"
    done
    "$KELVIN" flame r.kelvin | grep -q 'sampled [0-9]*% of the CPU time' || fail "flame"
    # The whole is what the program says, within a tenth.
    local told_ns
    told_ns=$(info r.kelvin cpu_time_ns)
    [ "$told_ns" -gt $((used_ns * 9 / 10)) ] && [ "$told_ns" -lt $((used_ns * 11 / 10)) ] ||
        fail "cpu_time_ns $told_ns, not $used_ns"
}

@test "a thousand busy threads: nothing is lost where real-time priority is to be had" {
    chrt -r 1 true 2>/dev/null || skip "no right to real-time priority"
    kelvin record -o r.kelvin -- "$TARGET/duty" 4 1000 1000x100
    exits 0
    [ "$(info r.kelvin lost)" = 0 ] || fail "$(info r.kelvin lost) lost"
}

@test "deep stacks stay whole, also when they come after shallow ones" {
    kelvin record -o r.kelvin -- "$TARGET/plunge" 2
    exits 0
    [[ $stderr != *"for want of ring memory"* ]] || skip "whole stacks are not copied for this user: ring memory is limited"
    local n cut
    n=$(info r.kelvin samples)
    cut=$(info r.kelvin unfinished)
    [ "$cut" -le $((n / 20 + 20)) ] || fail "$cut of $n stacks are unfinished"
    # Both phases were seen, and the second with its outermost frame.
    "$KELVIN" fold r.kelvin | awk '/;main;.*plunge_deep/ { deep += $NF } /;main;.*plunge_flat/ { flat += $NF }
        END { exit !(deep > 50 && flat > 50) }'
}

@test "the command gets the signal mask and ignored signals that kelvin was started with" {
    local alone recorded
    alone=$(env --ignore-signal=PIPE,HUP,USR1 --block-signal=USR2 grep -E 'Sig(Blk|Ign)' /proc/self/status)
    recorded=$(env --ignore-signal=PIPE,HUP,USR1 --block-signal=USR2 \
        "$KELVIN" record -q --min-samples 0 -o r.kelvin -- grep -E 'Sig(Blk|Ign)' /proc/self/status)
    [ "$recorded" = "$alone" ] || fail "$recorded" "not" "$alone"
}

@test "nohup: a hang-up does not end a recording" {
    "$TARGET/duty" 6 1000 1x50 >/dev/null &
    local target=$!
    nohup "$KELVIN" record -q --min-samples 0 -o r.kelvin -p $target -d 4 >/dev/null 2>&1 &
    local recorder=$!
    wait_until 10 test -e r.kelvin.part
    ignores_hangup $recorder
    kill -HUP $recorder
    wait $recorder
    kill $target
    [ "$(info r.kelvin duration_ns)" -ge 3900000000 ] || fail "ended after $(info r.kelvin duration_ns) ns"
}

@test "clocks of CPUs take as many samples per second of CPU time as were asked for" {
    need_cpu_clocks
    local asked rate
    for asked in 4999 499; do
        kelvin record -F $asked --min-samples 0 -o rate.kelvin -- "$TARGET/duty" $((asked < 1000 ? 9 : 3)) 700 3x100
        exits 0
        rate=$(sed -nE 's/.*, ([0-9]+) per second of CPU time.*/\1/p' <<<"$stderr")
        echo "$rate for $asked" >&2
        # One clock for each CPU took a tenth more.
        ((rate * 1000 > asked * 945 && rate * 1000 < asked * 1055))
    done
}
