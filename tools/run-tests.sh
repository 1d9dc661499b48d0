#!/bin/bash
# Run the tests and end with one line: "N passed, N failed, N skipped".
#
# Usage: tools/run-tests.sh [SUITE...]; without a word, all that need the plain build only. Every suite prints TAP; this
# script shows what failed and what was skipped and why, and counts.
#
#   tools/run-tests.sh                  make check: the plain build, cli, live and unit at the same time, since each waits much and
#                                       tests have to hold on a busy machine
#   tools/run-tests.sh first COMMAND    make check-all: with the suites that end in -sanitized and the fuzzers, whose build COMMAND
#                                       makes while the live tests wait for their programs
#   tools/run-tests.sh rest COMMAND     make check-rest: what the first of these left out, and of what it skipped all that may have
#                                       what it needs by now. The counts are those of both runs.
#
# unit, golden and cli run with both builds: hostile input is where a sanitizer earns its time. Tests that learn nothing from it (a
# browser, another tool, races) skip themselves there. live is left to the plain build: it needs the programs' true speed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export B=${B:-build}
export LC_ALL=C.UTF-8
logs=$B/test-logs
[ "${1:-}" = rest ] || rm -rf "$logs"
mkdir -p "$logs"
# Leaks are errors too, and a report must not hide behind a test's own exit code.
export ASAN_OPTIONS=detect_leaks=1:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1
export CMOCKA_MESSAGE_OUTPUT=TAP

# What TENTHS of a second are worth where others use the CPUs too: half as much at a load of twice the CPUs.
worth() { # TENTHS
    awk -v tenths="$1" -v cpus="$(nproc)" '{ print int($1 > cpus ? tenths * cpus / $1 : tenths) }' /proc/loadavg
}

# Run COMMAND; end it when it has printed nothing for SECONDS. Limits on a whole suite fail on a busy machine, so it is
# silence that is limited, and it counts by what the machine had left for us. A test that hangs is silent on any.
patient() { # SECONDS COMMAND...
    local left=$(($1 * 10)) limit=$(($1 * 10)) pipe line part='' code
    shift
    pipe=$(mktemp -u "$logs/pipe.XXXXXX")
    mkfifo "$pipe"
    # timeout has a process group of its own, and takes all of it along; and it gives SIGINT back, which is ignored by what
    # a script starts in the background.
    timeout -k 10 86400 "$@" >"$pipe" 2>&1 &
    echo $! >"$logs/patient.$BASHPID"
    while true; do
        if IFS= read -r -t 10 line; then
            printf '%s\n' "$part$line"
            part='' left=$limit
        elif [ $? -le 128 ] || ! kill -0 $! 2>/dev/null; then
            break
        else
            part+=$line left=$((left - $(worth 100)))
            [ $left -gt 0 ] || kill $!
        fi
    done <"$pipe"
    [ -z "$part$line" ] || printf '%s\n' "$part$line"
    rm -f "$pipe" "$logs/patient.$BASHPID"
    wait $!
    code=$?
    [ $left -gt 0 ] || echo "# exit code $code: nothing was heard of it for too long"
    return $code
}

# Run COMMAND beside others that do the same (-s), or when none of them runs (-x).
holding() { # -s|-x COMMAND...
    local lock code
    exec {lock}>"$logs/busy"
    flock "$1" "$lock"
    "${@:2}"
    code=$?
    # Not only closed: a process that COMMAND left behind has the file open too.
    flock -u "$lock"
    exec {lock}>&-
    return $code
}

# Programs of unit tests. One that failed runs once more, for what it asks of the kernel and of clocks can fail by chance on a busy
# machine; a crash or what a sanitizer found (99) is no chance.
unit() { # FOLDER
    local program out code
    out=$(mktemp "$logs/unit.XXXXXX")
    for program in "$1"/tests/unit/test_*; do
        [ -x "$program" ] || continue
        patient 300 "$program" >"$out"
        code=$?
        if [ $code -gt 0 ] && [ $code -lt 99 ] && patient 300 "$program" >"$out.again"; then
            cat "$out.again"
            echo "passed the second time: $program"
            grep '^#' "$out" | sed 's/^#/   /'
        else
            cat "$out"
            [ $code = 0 ] || echo "# exit code $code from $program"
        fi
    done
    rm -f "$out" "$out.again"
}

# A name as a regular expression that matches nothing else.
as_pattern() {
    sed 's/[][\.*^$+?(){}|]/\\&/g'
}

# The tests of FOLDER in the order of their files; with several LANES a file at a time in each, the largest first. Files are then
# printed as they are done.
bats_lanes() { # FOLDER LANES
    local queue lane lanes=()
    if [ "$2" = 1 ]; then
        patient 300 bats --tap ${FILTER:+-f "$FILTER"} -r "$1"
        return
    fi
    queue=$(mktemp "$logs/queue.XXXXXX")
    find "$1" -name '*.bats' -printf '%s %p\n' | sort -rn | cut -d' ' -f2- >"$queue"
    for ((lane = 0; lane < $2; lane++)); do
        bats_lane "$queue" &
        lanes+=($!)
    done
    for lane in "${lanes[@]}"; do
        wait "$lane" || set -- "$1" failed
    done
    rm -f "$queue" "$queue".*
    [ "$2" != failed ]
}

bats_lane() { # QUEUE
    local file out=$1.$BASHPID failed=0
    # shellcheck disable=SC2016  # for the shell that has the lock
    while file=$(flock "$1.lock" sh -c 'head -n 1 "$0" && sed -i 1d "$0"' "$1") && [ -n "$file" ]; do
        patient 300 bats --tap ${FILTER:+-f "$FILTER"} "$file" >"$out" || failed=1
        flock "$logs" cat "$out"
    done
    return $failed
}

# Run the tests of FOLDER, or those that FILTER names. What failed beside all the others is run once more by itself, when all suites
# and builds that run at the same time are done: what measures can fail by chance on a busy machine. A second failure is one, and
# a test that needed its second chance is named. More than twelve failures are no chance.
bats_folder() { # FOLDER [LANES]
    local held number name pattern again code
    held=$(mktemp -d "$logs/held.XXXXXX")
    holding -s bats_lanes "$1" "${2:-1}" | awk -v held="$held" '
        /^(ok|not ok|1\.\.) ?/ { file = "" }
        /^not ok/ { file = held "/" ++n; print > file; next }
        file != "" { print > file; next }
        { print; fflush() }'
    code=${PIPESTATUS[0]}
    again=$(find "$held" -type f | wc -l)
    for number in $(find "$held" -type f -printf '%f\n' | sort -n); do
        name=$(sed -n '1s/^not ok [0-9]* //p' "$held/$number")
        pattern=$(as_pattern <<<"$name")
        if [ "$again" -le 12 ] && holding -x patient 300 bats --tap -f "^$pattern\$" -r "$1" | grep -q '^ok 1 '; then
            echo "ok $number $name"
            echo "passed by itself, not beside the others: $name"
            sed -n 's/^# /    /p' "$held/$number"
        else
            cat "$held/$number"
        fi
    done
    rm -rf "$held"
    [ "$again" -gt 0 ] || return "$code"
}

cli() { # FOLDER
    KELVIN=$PWD/$1/kelvin KELVIN_SANITIZED=$([ "$1" = "$B" ] || echo 1) bats_folder "${TESTS:-tests}/cli"
}

# Recording real programs, and where rights are missing skipped. They wait more than they compute: two at a time.
live() {
    KELVIN=$PWD/$B/kelvin bats_folder "${TESTS:-tests}/live" 2
}

golden() { # FOLDER
    KELVIN=$1/kelvin tools/golden.sh
}

layers() {
    tools/check-layers.sh --tap
}

docs() {
    KELVIN=$B/kelvin tools/check-docs.sh
}

# The same inputs each time: `make fuzz` looks for new ones.
fuzz() {
    FUZZ_SECONDS=${FUZZ_SECONDS:-1} FUZZ_SEED=${FUZZ_SEED-1} holding -s tools/fuzz.sh
}

# Read TAP, show what needs to be seen, and leave the counts in $logs/NAME.counts. A suite that
# ended early (a plan not kept, a crash before the first test) counts as one failure more.
digest() { # NAME
    awk -v name="$1" -v counts="$logs/$1.counts" '
        function out(text) { print text; fflush() }
        /^1\.\.[0-9]+/ { split($1, plan, "."); planned += plan[3]; next }
        /^not ok [0-9]+ # SKIP / { # as cmocka has it
            skipped++; bad = 0
            sub(/^not ok [0-9]* # SKIP */, ""); out("  skip " name ": " $0); next
        }
        /^not ok/ { failed++; bad = 1; sub(/^not ok [0-9]* *(- )?/, ""); out("  FAIL " name ": " $0); next }
        /^ok .*# *[sS][kK][iI][pP]/ {
            skipped++; bad = 0
            sub(/^ok [0-9]* *(- )?/, ""); out("  skip " name ": " $0); next
        }
        /^ok/ { passed++; bad = 0; next }
        /^# exit code/ { if (!bad) broken = broken "\n       " $0; next }
        bad || !/^#/ { out("       " $0) }
        END {
            seen = passed + failed + skipped
            if (seen != planned || (broken != "" && !failed)) {
                failed++
                out("  FAIL " name ": " seen + 0 " of " planned + 0 " tests came to an end" broken)
            }
            out(sprintf("%-18s %d passed, %d failed, %d skipped", name ":", passed, failed, skipped))
            print passed + 0, failed + 0, skipped + 0 > counts
        }'
}

run() { # NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    "$@" | tee "$logs/$name.tap" | digest "$name"
    echo "$name took $((SECONDS - start)) s" >>"$logs/times"
}

# What SUITE of the run before skipped, once more. Its counts become those of both runs.
run_skipped() { # NAME COMMAND...
    local name=$1 filter passed failed again
    filter=$(sed -n 's/^ok [0-9]* \(.*\) # skip.*/\1/p' "$logs/$name.tap" | as_pattern | paste -sd'|')
    [ -n "$filter" ] || return 0
    read -r passed failed _ <"$logs/$name.counts"
    FILTER="^($filter)\$" run "$@"
    read -r -a again <"$logs/$name.counts"
    echo $((passed + again[0])) $((failed + again[1])) "${again[2]}" >"$logs/$name.counts"
}

suite() {
    case $1 in
    unit | cli | golden) run "$1" "$1" "$B" ;;
    *-sanitized) run "$1" "${1%-sanitized}" "$B/sanitize" ;;
    layers | docs | live | fuzz) run "$1" "$1" ;;
    # One program holds many unit tests: all of them, if one was skipped.
    unit-rest) ! grep -q '# SKIP' "$logs/unit.tap" || run unit unit "$B" ;;
    cli-rest) run_skipped cli cli "$B" ;;
    live-rest) run_skipped live live ;;
    *) echo "no suite '$1'; there are unit golden cli, each also with -sanitized behind it, live layers docs fuzz; 'first' and 'rest'" >&2; exit 1 ;;
    esac
}

# Each SUITE in a process of its own. What they print comes as each of them is done.
together() { # SUITE...
    local name started=()
    echo "at the same time: $*; what they find is shown when each is done"
    for name in "$@"; do
        (suite "$name" >"$logs/$name.all" && cat "$logs/$name.all") &
        started+=($!)
    done
    wait "${started[@]}"
}

build() { # COMMAND...
    "$@" && return
    echo "run-tests: the build failed: $*" >&2
    truncate -s 0 "$logs"/queue.??????
    cat "$logs"/patient.* 2>/dev/null | xargs -r kill
    exit 1
}

# LIVE, which needs the plain build only, beside the COMMAND that makes the other one; then the suites of $short, then those of $long.
beside_build() { # LIVE COMMAND...
    local live
    echo "live tests run beside the build with sanitizers; what they find is shown in the end"
    (suite "$1" >"$logs/live.all") &
    live=$!
    holding -s build "${@:2}"
    together "${short[@]}"
    together "${long[@]}"
    wait "$live"
    cat "$logs/live.all"
}

case ${1:-} in
first)
    suite layers
    suite docs
    short=(unit unit-sanitized golden golden-sanitized) long=(cli cli-sanitized fuzz)
    beside_build live "${@:2}"
    ;;
rest)
    [ -s "$logs/live.counts" ] || { echo "run-tests: nothing ran before in $logs: 'make check' does" >&2; exit 1; }
    short=(unit-rest unit-sanitized golden-sanitized) long=(cli-rest cli-sanitized fuzz)
    beside_build live-rest "${@:2}"
    ;;
'')
    suite layers
    suite docs
    together unit golden cli live
    ;;
*)
    for name in "$@"; do
        suite "$name"
    done
    ;;
esac
cat "$logs"/*.counts | awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0 || passed == 0
    }'
