#!/usr/bin/env bats
# Killed at any moment, at any command that writes: the old file or the new one is there, never half of one.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
ROUNDS=12

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

# Run kelvin, and kill it and all that it started at a moment of the first MOST_MS milliseconds.
kill_at_random() { # MOST_MS OPTION...
    local pid most=$1
    shift
    setsid "$KELVIN" "$@" >/dev/null 2>&1 &
    pid=$!
    sleep "$(awk -v most="$most" -v r="$RANDOM" 'BEGIN { print most * r / 32768 / 1000 }')"
    kill -9 -- -"$pid" 2>/dev/null || kill -9 "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
}

# How long it takes when nobody kills it, in milliseconds.
took_ms() { # OPTION...
    local start end
    start=$(date +%s%N)
    "$KELVIN" "$@" >/dev/null 2>&1
    end=$(date +%s%N)
    echo $(((end - start) / 1000000))
}

# What a killed kelvin had started gets a moment to end, and holds the mark's lock as long.
wait_for_locks() { # FILE...
    local file
    for file in "$@"; do
        [ ! -e "$file" ] || flock -w "$(patience 20)" "$file" true || fail "$file is still locked"
    done
}

opens() { # FILE...
    local file
    for file in "$@"; do
        "$KELVIN" info "$file" >/dev/null 2>why || fail "$file: $(<why)"
    done
}

@test "a suite that is killed leaves the published folder, its baseline, archive and history whole" {
    printf '[workload small]\ncommand = %s 0.05\ncollect = cpu\nmin-samples = 1\n' "$TARGET/split" >kelvin.conf
    "$KELVIN" run -q --save main
    local round most
    most=$(took_ms run -q --save main)
    for ((round = 0; round < ROUNDS; round++)); do
        kill_at_random "$most" run -q --save main
        opens perf/small.kelvin .kelvin/baselines/main/small.kelvin .kelvin/archive/*/small.kelvin
        [ -s perf/index.html ] && [ -s perf/run.json ] || fail "$(ls -A perf)"
        kelvin bench --baselines
        exits 0
        [[ $output == *suite:main* ]] || fail "$output"
    done
    # Time passes, and the next run removes what killed ones left.
    wait_for_locks .*.new-*/.kelvin-published .kelvin/*/.*.new-*/.kelvin-published
    find . -name '.*.new-*' -empty -exec touch -d '1 hour ago' {} +
    "$KELVIN" run -q --save main
    [ -z "$(find . -name '.*.new-*')" ] || fail "$(find . -path '*/.*.new-*' -ls)"
    kelvin history
    exits 0
}

@test "a recording that is killed leaves the old one, and a part that opens or none" {
    "$KELVIN" record -q -o x.kelvin -- "$TARGET/split" 0.2
    cp x.kelvin before
    local round most
    most=$(took_ms record -q -o y.kelvin -- "$TARGET/split" 0.2)
    for ((round = 0; round < ROUNDS; round++)); do
        kill_at_random "$most" record -q -o x.kelvin -- "$TARGET/split" 0.2
        cmp -s x.kelvin before || { opens x.kelvin && cmp x.kelvin.old before && cp x.kelvin before; }
        # What was written until then: the first second may have had no time to be.
        if [ -s x.kelvin.part ]; then
            kelvin info x.kelvin.part
            [ "$status" -lt 100 ] || fail "$status: $stderr"
        fi
    done
    "$KELVIN" record -q -o x.kelvin -- "$TARGET/split" 0.2
    opens x.kelvin
    no_file x.kelvin.part
}

@test "a file that is converted or drawn when the kill comes is the old one or the new one" {
    python3 -c 'for i in range(60000): print(f"main;work{i % 997};part{i} {i + 1}")' >p.folded
    local round how most to
    for how in "convert p.folded --to pprof -o x.pb.gz" "convert p.folded -o x.kelvin" "flame p.folded -o x.svg" "report p.folded -o x.html"; do
        to=${how##* }
        # shellcheck disable=SC2086
        most=$(took_ms $how)
        cp "$to" new
        for ((round = 0; round < ROUNDS / 2; round++)); do
            echo before >"$to"
            # shellcheck disable=SC2086
            kill_at_random "$most" $how
            [ "$(head -c 7 "$to" | tr -d '\0')" = before ] || cmp "$to" new || fail "$how"
        done
    done
    rm -f .kelvin-* # between a name and its last one
}

# On a file system of its own, in a namespace of its own, which is gone with it.
@test "a suite on a disk that fills up leaves the published folder, its baseline, archive and history whole" {
    unshare -m sh -c 'mkdir -p disk && mount -t tmpfs none disk' 2>/dev/null || skip "a file system of its own cannot be mounted"
    cat >on_disk <<'SH'
kelvin=$1 target=$2
mount -t tmpfs -o size=4m none disk && cd disk || exit 99
printf '[workload small]\ncommand = %s 0.05\ncollect = cpu\nmin-samples = 1\n' "$target" >kelvin.conf
"$kelvin" run -q --save main || exit 98
room=$(df -k . | awk 'END { print $4 }')
before=$(cat perf/run.json)
for left in 0 20 100 300; do
    head -c $((room - left))k /dev/zero >filler
    "$kelvin" run -q --save main >/dev/null 2>../said && echo "$left: nothing was wrong"
    grep -q 'No space left\|disk is full' ../said || echo "$left: $(<../said)"
    for file in perf/small.kelvin .kelvin/baselines/main/small.kelvin .kelvin/archive/*/small.kelvin; do
        "$kelvin" info "$file" >/dev/null 2>&1 || echo "$left: $file does not open"
    done
    [ "$(cat perf/run.json)" = "$before" ] || echo "$left: published"
    "$kelvin" bench --baselines 2>&1 | grep -q suite:main || echo "$left: no baseline"
    find . -name '.*.new-*'
    rm filler
done
SH
    run --separate-stderr timeout "$(patience 120)" unshare -m bash on_disk "$KELVIN" "$TARGET/split"
    exits 0
    prints ""
}
