# helpers.bash - what the command-line tests share. In a .bats file: `load ../lib/helpers`.
#
# $KELVIN is the program under test; KELVIN_SANITIZED=1 tells that it is the slow, checked build.
# Every test runs in a folder of its own, which is gone afterwards.

# shellcheck disable=SC2154  # run sets output, status, lines, stderr
KELVIN=${KELVIN:-$BATS_TEST_DIRNAME/../../build/kelvin}
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# Run kelvin; then $output is its standard output, $stderr the rest, $status the exit code.
kelvin() {
    run --separate-stderr "$KELVIN" "$@"
}

# Root of a user namespace has no rights over the kernel.
is_real_root() {
    [ "$(id -u)" = 0 ] && [ "$(awk '{ print $3 }' /proc/self/uid_map)" = 4294967295 ]
}

# Where `kelvin record OPTION...` does not work the test is skipped, with what it says.
need_record() { # OPTION... [-- COMMAND]
    local why
    why=$("$KELVIN" record -q --min-samples 0 -o probe.kelvin "$@" 2>&1) || skip "$why"
    rm -f probe.kelvin*
}

# Build the programs of tests/target, for setup_file.
build_targets() {
    make -s -C "$ROOT" B="${KELVIN%/*}" targets >&2
}

# SECONDS, more of them the busier the machine: for `timeout`, where a limit only tells a hang from work.
patience() { # SECONDS
    awk -v seconds="$1" -v cpus="$(nproc)" '{ n = $1 / cpus; print int(seconds * (n > 1 ? 2 * n : 2)) }' /proc/loadavg
}

# Wait until COMMAND succeeds; fail if it does not in SECONDS of patience.
wait_until() { # SECONDS COMMAND...
    local end=$((SECONDS + $(patience "$1")))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { fail "in vain: $*"; return; }
        sleep 0.05
    done
}

# Process PID has used SECONDS of CPU time, in whole seconds.
has_run() { # PID SECONDS
    local all
    all=$(<"/proc/$1/stat") && set -- "$2" "${all##*) }"
    [ "$(awk -v hz="$(getconf CLK_TCK)" '{ print int(($12 + $13) / hz) }' <<<"$2")" -ge "$1" ]
}

# Process PID has at least N threads.
has_threads() { # PID N
    [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge "$2" ]
}

# FILE has at least N bytes.
has_bytes() { # FILE N
    [ "$(stat -c %s "$1")" -ge "$2" ]
}

# Process PID ignores SIGHUP.
ignores_hangup() { # PID
    [ $((0x$(awk '$1 == "SigIgn:" { print $2 }' "/proc/$1/status") & 1)) -eq 1 ]
}

# A folder that everybody can reach, with kelvin and its agent in it: the clone and the tests' own folders may lie in a
# closed home. Prints its name; it is gone after the test, with teardown or without.
open_folder() { # [FILE...]
    local folder
    folder=$(mktemp -d /tmp/kelvin-test.XXXXXX)
    chmod 755 "$folder"
    install -m 755 "$KELVIN" "${KELVIN%/*}/libkelvin-agent.so" "$@" "$folder"
    echo "$folder" >>"$BATS_TEST_TMPDIR/.open-folders"
    echo "$folder"
}

# A library to be preloaded that does what faketime does: 30 years ago.
make_fake_clock() { # FILE
    cat >"$1.c" <<'C'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, t);
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME)
        t->tv_sec -= 1000000000;
    return failed;
}
C
    cc -shared -fPIC -O1 -o "$1" "$1.c"
}

remove_open_folders() {
    local folder
    [ -f "$BATS_TEST_TMPDIR/.open-folders" ] || return 0
    while read -r folder; do
        rm -rf "$folder"
    done <"$BATS_TEST_TMPDIR/.open-folders"
}

teardown() {
    remove_open_folders
}

# Run a command as somebody without rights, as `run` does.
run_as_nobody() { # COMMAND...
    run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# What the browser tests need is there, and works; else the test is skipped, and says what is missing.
need_browser() { # [NPM-PACKAGE...]
    local package
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "needs Chromium ('make check-all' installs it)"
    for package in playwright-core "$@"; do
        [ -d "$ROOT/tests/browser/node_modules/$package" ] || skip "needs $package ('make check-all' fetches it)"
    done
    (cd "$ROOT/tests/browser" && node -e "import('playwright-core')") 2>/dev/null ||
        skip "this node, $(node --version), cannot load playwright-core"
}

# Say what is wrong, and fail. Long texts are cut: somebody has to read this.
fail() {
    printf '%.500s\n' "$@" >&2
    return 1
}

# The exit code is CODE.
exits() { # CODE
    [ "$status" -eq "$1" ] || fail "exit code $status, not $1" "stdout: $output" "stderr: $stderr"
}

# Standard error is one sentence, "kelvin: ...", that has every WORD in it. A busy machine may be mentioned before it.
complains() { # WORD...
    local word
    stderr=$(grep -v '^kelvin: note: load was ' <<<"$stderr")
    [ "$(wc -l <<<"$stderr")" -eq 1 ] || fail "not one line on standard error: '$stderr'"
    [[ $stderr == "kelvin: "* ]] || fail "does not start with 'kelvin: ': '$stderr'"
    for word in "$@"; do
        [[ $stderr == *"$word"* ]] || fail "no '$word' in: $stderr"
    done
}

# Standard output is TEXT.
prints() { # TEXT
    [ "$output" = "$1" ] || fail "printed: $output" "expected: $1" "stderr: $stderr"
}

# FILE does not exist, and nothing of ours lies about beside it.
no_file() { # FILE
    [ ! -e "$1" ] || fail "$1 was written"
    no_litter "$(dirname "$1")"
}

no_litter() { # FOLDER
    local left
    left=$(find "$1" -name '.kelvin*')
    [ -z "$left" ] || fail "left behind: $left"
}

# What `kelvin info` knows of a profile: a key of its metadata, else a fact or the total of a column of its first stream.
info() { # FILE KEY
    "$KELVIN" info "$1" --json 2>/dev/null | jq -r --arg k "$2" '.meta[$k] // .streams[0][$k] // .streams[0].unfinished_why[$k] //
        ([.streams[0].values[] | select(.name == $k) | .total] | first) // "not recorded"'
}
