#!/usr/bin/env bats
# kelvin top: screens, keys, a narrow terminal, and the terminal as it was.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record --engine perf -- true
    "$TARGET/split" 120 >/dev/null &
    busy=$!
    wait_until 10 has_run "$busy" 1
}

teardown() {
    [ -z "$busy" ] || kill "$busy" 2>/dev/null || :
}

# Press KEYS in a terminal of COLUMNS x ROWS; what came of it is in $output.
press() { # COLUMNS ROWS KEYS COMMAND...
    run python3 "$BATS_TEST_DIRNAME/../lib/terminal.py" "$1" "$2" "$3" -- "${@:4}"
}

@test "a screen as text shows the functions of a process with self and total" {
    kelvin top -p "$busy" -n 1 -d 2
    exits 0
    [[ $output == *"process $busy: "*"CPUs used"*"self*"*"total"*"function"* ]] || fail "$output"
    [[ $output == *"part_sixty"* ]] || fail "$output"
    # The window may be longer than the machine is up.
    kelvin top -p "$busy" -n 1 -d 2 --sort total --window 3600
    exits 0
    [[ $output == *"total*"*" main"*"part_sixty"* ]] || fail "$output"
    kelvin top -p "$busy" -n 2 -d 1 --by thread
    exits 0
    [[ $output == *"split $busy/$busy"* ]] || fail "$output"
    kelvin top -p "$busy" -n 1 -d 2 --filter nosuchfunction
    [[ $output == *"no name matches the filter"* ]] || fail "$output"
}

@test "a preloaded library that fakes the clock hides no samples" {
    make_fake_clock fake.so
    LD_PRELOAD=$PWD/fake.so kelvin top -p "$busy" -n 1 -d 2
    exits 0
    [[ $output == *part_sixty* ]] || fail "$output"
}

@test "keys sort, filter, show callers, pause and save, and q leaves the terminal as it was" {
    press 80 24 "wait:part s t wait:split f wait:part / part Enter wait:part c wait:caller c p wait:paused w wait:saved q" \
        "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(jq .restored <<<"$output")" = true ] || fail "$output"
    seen() { # TEXT
        jq -r '.screens[][]' <<<"$output" | grep -qF -- "$1" || fail "never seen: $1" "$output"
    }
    seen "total*"
    seen "with 'part'"
    seen "caller of part"
    seen "[paused]"
    seen "saved as top.kelvin"
    kelvin report top.kelvin
    exits 0
    [[ $output == *"part_"* ]] || fail "$output"
}

@test "what is saved replaces nothing, follows no link and waits for no pipe" {
    echo precious >victim
    ln -s victim top.kelvin
    mkfifo top-2.kelvin
    ln -s nowhere top-3.kelvin
    press 80 24 "wait:part p wait:paused w wait:top-4 w wait:top-5 q" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(cat victim)" = precious ] || fail "written through a link"
    [ ! -e nowhere ] || fail "written through a link that led nowhere"
    for file in top-4.kelvin top-5.kelvin; do
        [ "$(stat -c %a $file)" = 600 ] || fail "$file: $(stat -c %a $file)"
        kelvin report $file
        exits 0
    done
}

@test "a full disk keeps top running, and leaves nothing half-written" {
    mkdir small
    mount -t tmpfs -o size=4k none small 2>/dev/null || skip "a file system of its own cannot be mounted"
    cd small
    head -c 4096 /dev/zero >filler
    press 80 24 "wait:part w wait:No_space q" "$KELVIN" top -p "$busy" -d 1
    cd ..
    local left
    left=$(ls -A small)
    umount small
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$left" = filler ] || fail "left behind: $left"
}

@test "a terminal of 40 columns is enough, and Ctrl-C gives it back" {
    press 40 12 "wait:part Down Down Ctrl-C" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(jq .restored <<<"$output")" = true ] || fail "$output"
    [ "$(jq '[.screens[][] | length] | max' <<<"$output")" -le 40 ] || fail "$output"
    [ "$(jq '.screens[0] | length' <<<"$output")" -le 12 ] || fail "$output"
    # The keys are whole, and where to read about them.
    [[ $(jq -r '.screens[0][-1]' <<<"$output") == *"q "*"--help"* ]] || fail "$output"
}

@test "a terminal of 20 columns shows shares without intervals, and room for names" {
    press 20 10 "wait:part q" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(jq '[.screens[][] | length] | max' <<<"$output")" -le 20 ] || fail "$output"
    jq -r '.screens[0][]' <<<"$output" | grep -Eq '^ *[0-9.]+% part_' || fail "$output"
}

@test "a new size of the terminal is a new screen at once" {
    press 100 20 "wait:part size:40x8 size:90x12 q" "$KELVIN" top -p "$busy" -d 3 --window 3000
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [[ $(jq -r '.screens[1] | "\(length) \(map(length) | max <= 40)"' <<<"$output") == "8 true" ]] || fail "$output"
    [ "$(jq '.screens[2] | length' <<<"$output")" = 12 ] || fail "$output"
}

@test "Ctrl-Z gives the terminal to the shell, and fg the keys and the screen back" {
    press 80 24 "$KELVIN Space top Space -d1 Space -p Space $busy Enter wait:part Ctrl-Z shell:Stopped fg Enter wait:part o wait:share_process q shell:ready exit Enter" \
        env PS1='ready ' bash --norc --noprofile -i
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(jq .restored <<<"$output")" = true ] || fail "$output"
    jq -r '.screens[][]' <<<"$output" | grep -q 'share process' || fail "a key did nothing after fg" "$output"
}

@test "Ctrl-Z does nothing where no shell could continue it" {
    press 80 24 "wait:part Ctrl-Z o wait:share_process q" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [ "$(jq .restored <<<"$output")" = true ] || fail "$output"
    jq -r '.screens[][]' <<<"$output" | grep -q 'share process' || fail "$output"
}

@test "a reader that goes away and a full disk end it" {
    run bash -c '"$1" top -p "$2" -n 1000 -d 0.2 2>stderr | head -1 >/dev/null; echo "${PIPESTATUS[0]}"' - "$KELVIN" "$busy"
    [ "$output" = 141 ] || fail "exit code $output"
    [ ! -s stderr ] || fail "$(cat stderr)"
    run --separate-stderr bash -c '"$1" top -p "$2" -n 1000 -d 0.2 >/dev/full' - "$KELVIN" "$busy"
    exits 1
    complains "cannot write to standard output"
}

@test "a process that ended and that nobody has waited for ends it" {
    cat >zombie.py <<'E'
import os, time
pid = os.fork()
if not pid:
    time.sleep(2)
    os._exit(0)
print(pid, flush=True)
time.sleep(100)
E
    python3 zombie.py >pid &
    local parent=$! state
    wait_until 10 test -s pid
    kelvin top -p "$(cat pid)" -n 60 -d 0.5
    state=$(awk '$1 == "State:" { print $2 }' "/proc/$(cat pid)/status")
    kill "$parent"
    exits 0
    [[ $stderr == *"process $(cat pid) has ended"* ]] || fail "$stderr"
    [ "$state" = Z ] || fail "it is in state $state"
}

@test "callers are not filtered and not called so, and a new filter goes back to the functions" {
    press 80 24 "wait:part / part Enter wait:with c wait:caller / n o s u c h Enter wait:matches q" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    ! jq -r '.screens[][]' <<<"$output" | grep 'caller of' | grep -F "with '" || fail "callers are called filtered" "$output"
    jq -r '.screens[][]' <<<"$output" | grep -qF "function with 'nosuch'" || fail "$output"
    [[ $output == *"no name matches the filter"* ]] || fail "$output"
}

@test "a filter that no name has says so, and is not called idleness" {
    press 120 20 "wait:part / z z q q Enter wait:filter q" "$KELVIN" top -p "$busy" -d 1
    [ "$(jq .exit <<<"$output")" = 0 ] || fail "$output"
    [[ $output == *"no name matches the filter"* ]] || fail "$output"
}

@test "the end of the process ends it, and without a terminal it says what to do" {
    sleep 1000 &
    other=$!
    (sleep 1.5; kill "$other") &
    kelvin top -p "$other" -n 100 -d 0.5
    exits 0
    [[ $stderr == *"process $other has ended"* ]] || fail "$stderr"
    kelvin top -p "$busy" </dev/null
    exits 1
    complains "-n 1"
    kelvin top -p 4194304
    exits 1
    complains "4194304"
    kelvin top something
    exits 1
    complains "not an option"
}

# User and system time of a process so far, in ticks of 10 ms.
ticks_of() { # PID
    sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

@test "threads of a process show how they spent their time, also those that only wait" {
    "$TARGET/duty" 100 1000 1x50 2x1 >/dev/null &
    local duty=$! row
    # shellcheck disable=SC2016  # another shell's
    wait_until 10 sh -c '[ "$(ls /proc/$1/task | wc -l)" = 4 ]' sh "$duty"
    kelvin top -p "$duty" -n 2 -d 1 --by thread
    kill "$duty"
    exits 0
    grep -Eq '^ +share +running runnable +blocked thread$' <<<"$output" || fail "$output"
    # The first thread waits for the others, and has no sample.
    row=$(grep -E " duty $duty/$duty$" <<<"$output" | tail -n 1)
    awk '{ exit !(NF == 5 && $1 + $2 < 5 && $3 + 0 > 95) }' <<<"$row" || fail "$output"
    [ "$(grep -c '% g1 ' <<<"$output")" -ge 2 ] || fail "$output"
    # Of each known row the three parts are the whole.
    grep -E '% (g0|g1|duty) ' <<<"$output" |
        sed -E 's/^.* +([0-9.]+)% +([0-9.]+)% +([0-9.]+)% .*/\1 \2 \3/' |
        awk '{ sum = $1 + $2 + $3; if (sum < 99.7 || sum > 100.3) exit 1 }' || fail "$output"
    # A thread that works half of the time is on a CPU or wants one for more of it than the others.
    awk '/% g0 / { n++; if ($(NF - 4) + $(NF - 3) < 20) exit 1 } END { exit !n }' <<<"$output" || fail "$output"
}

@test "screens show the time of their window alone, and as much as the kernel counts" {
    local before from used seen
    before=$(ticks_of "$busy") from=$(date +%s%N)
    kelvin top -p "$busy" -n 6 -d 1 --window 1
    exits 0
    used=$((($(ticks_of "$busy") - before) * 1000000000 / (($(date +%s%N) - from) / 100)))
    seen=$(sed -n 's/^process [0-9]*: \([0-9.]*\) CPUs used.*/\1/p' <<<"$output" | awk '{ sum += $1; n++ } END { printf "%d", 1000 * sum / n }')
    used=$((used / 10)) # both in thousandths of a CPU
    ((seen > used * 6 / 10 && seen < used * 14 / 10)) || fail "$seen seen, $used used" "$output"
    # Six seconds of samples are not those of one.
    [[ $output != *"in 2 s"* && $output != *"in 6 s"* ]] || fail "$output"
}

@test "samples that are lost are counted, and a kernel that is hidden is said to be" {
    "$KELVIN" top -p "$busy" -n 4 -d 1 -F 20000 >screens &
    local top=$! folder
    sleep 1
    kill -STOP "$top"
    sleep "$(patience 3)" # a process with a quarter of a CPU takes longer to fill the rings
    kill -CONT "$top"
    wait "$top"
    grep -q "[0-9] lost so far" screens || fail "$(cat screens)"
    [ "$(id -u)" = 0 ] || skip "needs root, to give up its rights"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ] || skip "kernel.perf_event_paranoid is not 2"
    folder=$(open_folder)
    cp "$TARGET/split" "$folder/"
    run_as_nobody sh -c '"$1/split" 6 >/dev/null & "$1/kelvin" top -p $! -n 1 -d 1' - "$folder"
    [[ $output == *", kernel hidden"* ]] || fail "$output" "$stderr"
}

@test "the whole machine has processes" {
    need_record -a -d 0.1
    kelvin top -n 1 -d 2 --by process
    exits 0
    [[ $output == "machine, "*"busy"*"share process"*"split-$busy"* ]] || fail "$output"
}

# User, nice, system, interrupts and what a hypervisor takes; idle time.
cpu_ticks() {
    awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 + $9, $5 + $6 }' /proc/stat
}

@test "how busy the machine is agrees with the kernel from the first screen on" {
    need_record -a -d 0.1
    read -r was_busy was_idle < <(cpu_ticks)
    kelvin top -n 1 -d 3 --window 100
    exits 0
    read -r is_busy is_idle < <(cpu_ticks)
    local said=${output#*: } expected
    expected=$((100 * (is_busy - was_busy) / (is_busy - was_busy + is_idle - was_idle)))
    said=${said%%%*}
    ((said >= expected - 25 && said <= expected + 25)) || fail "$expected% are expected" "$output"
}
