#!/usr/bin/env bats
# Recordings that follow one another in a folder: rotation, limits, a crash, a full disk, reading across files.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers
TARGET=${KELVIN%/*}/tests/target

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -a -d 0.1
    # Something to record, at a fifth of a CPU or so: most of a test is waiting for files.
    timeout 60 sh -c 'while :; do i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.05; done' &
    busy=$! recorder=
}

teardown() {
    [ -z "$recorder" ] || { pkill -KILL -P "$recorder" || :; kill -KILL "$recorder" 2>/dev/null || :; }
    [ -z "$busy" ] || kill "$busy" 2>/dev/null || :
    [ ! -d small ] || umount small 2>/dev/null || :
}

recordings() { # DIR
    find "$1" -name '2*Z.kelvin' | sort
}

has_recordings() { # DIR N
    [ "$(recordings "$1" | wc -l)" -ge "$2" ]
}

samples_in() { # FILE-OR-DIR [OPTION...]
    "$KELVIN" report --format json --top 1 "$@" 2>/dev/null | jq .samples
}

@test "files follow one another in a folder, and are read as one" {
    "$KELVIN" record -a --rotate 1s -q d &
    recorder=$!
    wait_until 30 has_recordings d 3
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?"
    sum=0
    while read -r file; do
        sum=$((sum + $(samples_in "$file")))
    done < <(recordings d)
    [ "$(samples_in d)" = "$sum" ] || fail "$(samples_in d) of $sum samples"
    [ "$(samples_in d --last 1s)" -lt "$sum" ]
    [ "$("$KELVIN" info --json d 2>/dev/null | jq -r .meta.source)" = d ]
    kelvin report d --last 1s
    exits 0
    [[ $output == *"the last 1s"* ]] || fail "$output"
    # What is in one file only is a file's worth: names and stacks of all the others are not in it.
    kelvin flame d --by process -o d.svg
    exits 0
}

# Stop those that finish files, and count them. SIGSTOP in place of a machine so busy that names take longer than a file.
stopped() { # RECORDER LEAST
    pkill -STOP -P "$1" || :
    [ "$(pgrep -c -P "$1")" -ge "$2" ]
}

@test "where files cannot be finished in time, the present one goes on" {
    "$KELVIN" record -a --rotate 1s -q d &
    recorder=$!
    wait_until 30 stopped "$recorder" 2
    local end=$((SECONDS + 4))
    while [ "$SECONDS" -lt "$end" ]; do
        ! stopped "$recorder" 3 || fail "three at once"
        sleep 0.1
    done
    pkill -CONT -P "$recorder"
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?"
    [ "$(samples_in d)" -gt 0 ]
}

@test "rotation loses nothing: the files have every page fault between them, or count it as lost" {
    "$KELVIN" record -q -e page-faults --rotate 1s -o d/ -- "$TARGET/touch" 40000
    [ "$(recordings d | wc -l)" -ge 2 ]
    sum=0 lost=0
    while read -r file; do
        sum=$((sum + $("$KELVIN" fold "$file" 2>/dev/null | awk '/touch_page/ { n += $NF } END { print n + 0 }')))
        lost=$((lost + $("$KELVIN" info --json "$file" | jq '.streams[0].lost')))
    done < <(recordings d)
    # What was lost may have been others than those of touch_page: the program's start has a few.
    [ "$sum" -le 40000 ] && [ $((sum + lost)) -ge 40000 ] || fail "$sum in the files, $lost lost"
}

@test "a file of a time in which nothing ran has no samples, which info shows and a folder adds up" {
    "$KELVIN" record -q -e page-faults --rotate 1s -o d/ -- "$TARGET/touch" 2000 3500
    empty=0
    while read -r file; do
        kelvin info "$file"
        exits 0
        [[ $output != *"page-faults, 0 rows"*"no samples: page-faults did not happen in this time"* ]] || empty=$((empty + 1))
    done < <(recordings d)
    [ "$empty" -ge 1 ]
    kelvin report d
    exits 0
    [[ $stderr != *"left out"* && $output == *touch_page* ]] || fail "$stderr$output"
    find d -name '2*Z.kelvin' | while read -r file; do
        "$KELVIN" info "$file" | grep -q 'page-faults, 0 rows' || rm "$file"
    done
    kelvin report d
    exits 5
    [ "$stderr" = "kelvin: 'd' has no recording with samples yet" ] || fail "$stderr"
}

@test "old recordings are removed, by age and by size" {
    "$KELVIN" record -a --rotate 1s --keep 3s -q d &
    recorder=$!
    wait_until 30 has_recordings d 2
    first=$(recordings d | head -1)
    gone() { [ ! -e "$first" ]; }
    wait_until 30 gone
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?"
    "$KELVIN" record -a --rotate 1s --max-size 20K -d 6 -q e
    [ "$(recordings e | wc -l)" -ge 1 ]
    [ "$(du -cb e/*.kelvin | awk 'END { print $1 }')" -lt 200000 ] || fail "$(ls -l e)"
}

@test "a recorder that is killed loses about a second, and its folder goes on" {
    "$KELVIN" record -a --rotate 60s -q d &
    recorder=$!
    has_part() { [ -n "$(find d -name '*.part')" ]; }
    wait_until 30 has_part
    sleep 4
    kill -9 "$recorder"
    wait "$recorder" || :
    part=$(find d -name '*.part')
    [ -n "$part" ] || fail "$(ls d)"
    ns=$("$KELVIN" info --json "$part" 2>/dev/null | jq '.quality.samples')
    [ "$ns" -gt 20 ] || fail "$ns samples"
    "$KELVIN" record -a --rotate 60s -d 1 -q d
    [ "$(samples_in d)" -gt "$ns" ] || fail "$(samples_in d) samples"
}

@test "a disk that fills up does not end it: the oldest file makes room" {
    [ "$(id -u)" = 0 ] || skip "needs root: a small disk"
    mkdir small
    mount -t tmpfs -o size=600k tmpfs small 2>/dev/null || skip "cannot mount a small disk here"
    "$KELVIN" record -a --rotate 1s small/d 2>err &
    recorder=$!
    wait_until 30 has_recordings small/d 4
    oldest=$(recordings small/d | head -1)
    head -c 10M /dev/zero >small/filler 2>/dev/null || :
    before=$(recordings small/d | tail -1)
    newer() { [ "$(recordings small/d | tail -1)" != "$before" ]; }
    # While the disk is full, too.
    wait_until 30 test ! -e "$oldest"
    wait_until 30 newer
    kill -0 "$recorder" || fail "it has ended: $(cat err)"
    rm small/filler
    before=$(recordings small/d | tail -1)
    wait_until 30 newer
    kill -INT "$recorder"
    wait "$recorder" || fail "exit code $?: $(cat err)"
    grep -q "could not be written" err || fail "$(cat err)"
    [ "$(samples_in small/d)" -gt 0 ]
}

@test "where the disk is full at the end, it is said that the recordings from before are there" {
    [ "$(id -u)" = 0 ] || skip "needs root: a small disk"
    mkdir small
    mount -t tmpfs -o size=600k tmpfs small 2>/dev/null || skip "cannot mount a small disk here"
    for attempt in 1 2 3 4 5; do # by chance the oldest file makes room for the last one
        rm -rf small/*
        "$KELVIN" record -a --rotate 1s small/d 2>err &
        recorder=$!
        wait_until 30 has_recordings small/d 2
        head -c 10M /dev/zero >small/filler 2>/dev/null || :
        kill -INT "$recorder"
        wait "$recorder" || break
    done
    echo "attempt $attempt: $(cat err)"
    grep -q "No space left on device" err
    grep -q "what was recorded before is in the folder small/d; see: kelvin report small/d" err
    ! grep -q "kelvin: wrote" err || return 1
    rm small/filler
    [ "$(samples_in small/d)" -gt 0 ]
}

@test "a full disk from the start leaves nothing, and nothing is said to be there" {
    [ "$(id -u)" = 0 ] || skip "needs root: a small disk"
    mkdir small
    mount -t tmpfs -o size=40k tmpfs small 2>/dev/null || skip "cannot mount a small disk here"
    kelvin record -a --rotate 1s -d 0.5 -q small/d
    rm -f small/d/2*
    head -c 10M /dev/zero >small/filler 2>/dev/null || :
    kelvin record -a --rotate 1s -d 2 small/d
    exits 125
    [[ $stderr == *"No space left on device"*"none of the last"*"could be saved"* ]] || fail "$stderr"
    [[ $stderr != *"what was recorded before"* ]] || fail "$stderr"
}

@test "a second recorder is kept out of the folder of the first" {
    "$KELVIN" record -a --rotate 1s -q d &
    recorder=$!
    wait_until 30 has_recordings d 1
    kelvin record -a --rotate 1s -d 1 d
    exits 125
    complains "another recorder writes to the folder 'd'"
    # Processes that finish files do not keep out the next one.
    wait_until 30 stopped "$recorder" 1
    pkill -KILL -P "$recorder" || :
    kill -KILL "$recorder"
    wait "$recorder" || :
    kelvin record -a --rotate 1s -d 1 -q d
    exits 0
}

@test "the end of a folder that was copied is as long as that of the folder" {
    kelvin record -a --rotate 1s -d 5 -q d
    exits 0
    cp -r d copy
    touch -d '+1 hour' copy/*
    [ "$(samples_in copy --last 3s)" = "$(samples_in d --last 3s)" ]
    [ "$(samples_in copy --last 3s)" -gt "$(samples_in d --last 1s)" ]
}

@test "damaged recordings in a folder are left out by name, and refused if asked" {
    kelvin record -a --rotate 1s -d 3 -q d
    exits 0
    local first second
    first=$(recordings d | head -1)
    : >"$first"
    second=$(recordings d | sed -n 2p)
    cp "$second" d/20260101T000000.000Z.kelvin
    truncate -s 3000 d/20260101T000000.000Z.kelvin
    head -c 3000 /dev/urandom >d/20260101T000001.000Z.kelvin
    ln -s /etc/passwd d/20260101T000002.000Z.kelvin
    mkfifo d/20260101T000003.000Z.kelvin
    mkdir d/20260101T000004.000Z.kelvin
    kelvin report d --last 10m
    exits 0
    [[ $stderr == *"kelvin: left out: $first is empty"* ]] || fail "$stderr"
    kelvin report d
    exits 0
    [[ $stderr == *"left out: d/20260101T000000.000Z.kelvin: the recording is cut off at byte 3000"* ]] || fail "$stderr"
    [[ $stderr == *"kelvin: left out: d/20260101T000001.000Z.kelvin: not a profile"*"kelvin: left out: $first is empty"* ]] ||
        fail "$stderr"
    kelvin report d --strict
    exits 3
    complains "d/20260101T000000.000Z.kelvin: the recording is cut off"
    [[ $stderr != *"no recording"* ]] || fail "$stderr"
}

@test "a folder of another program is refused, and so are limits without one" {
    mkdir others
    echo precious >others/20261117T075512.123Z.kelvin
    kelvin record -a --rotate 1s --keep 1s others
    exits 125
    complains "empty folder"
    [ "$(cat others/20261117T075512.123Z.kelvin)" = precious ]
    kelvin record -a --keep 1s -o x.kelvin
    exits 125
    complains "--rotate"
    kelvin record -a --rotate soon d
    exits 125
    complains "--rotate is 'soon'"
    kelvin record -a --rotate 5s --max-size 3X d
    exits 125
    complains "--max-size is '3X'"
    mkdir empty
    kelvin report empty
    exits 1
    complains "'empty' is a folder"
}
