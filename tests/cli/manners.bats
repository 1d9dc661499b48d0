#!/usr/bin/env bats
# Small things that make a first hour pleasant.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

@test "whoever stops reading is no reason to complain" {
    python3 -c "
for i in range(30000):
    print('main;f%d;g%d %d' % (i % 700, i, i + 1))" >x.folded
    # Nobody reads from the first byte on: how much fits into a pipe does not matter.
    for how in "fold" "flame" "convert --to json" "convert --to pprof" "convert --to firefox" "report --format json" \
        "report --format html"; do
        code=0
        # shellcheck disable=SC2086
        python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
sys.exit(subprocess.run(sys.argv[1:], stdout=w).returncode)' "$KELVIN" $how x.folded 2>err || code=$?
        [ ! -s err ] || fail "kelvin $how: $(cat err)"
        [ "$code" = 141 ] || fail "kelvin $how: exit code $code"
    done
    # A disk that is full is another matter.
    "$KELVIN" fold x.folded >/dev/full 2>err && fail "a full disk went unnoticed"
    grep -q 'No space left' err
}

@test "a drawing is not poured into a terminal" {
    command -v script >/dev/null || skip "script is not installed"
    echo 'main;work 5' >x.folded
    run script -qec "'$KELVIN' flame x.folded" /dev/null
    [[ $output == *"-o out.svg"* && $output != *"<svg"* ]] || fail "$output"
    [ "$status" = 1 ]
}

@test "a page is not poured into a terminal either" {
    command -v script >/dev/null || skip "script is not installed"
    echo 'main;work 5' >x.folded
    for how in "report x.folded --format html" "diff x.folded x.folded --format svg" "heap x.folded --format html" \
        "bench --runs 2 --format html true" "convert x.folded --to speedscope" "convert x.folded --to pprof"; do
        run script -qec "'$KELVIN' $how" /dev/null
        [[ $output == *"not for a terminal"* && $output != *[\<\{]* ]] || fail "$how: $output"
        [ "$status" = 1 ]
    done
    "$KELVIN" report x.folded --format html | grep -q '</html>'
}

@test "top does not draw where the terminal cannot" {
    command -v script >/dev/null || skip "script is not installed"
    run script -qec "TERM=dumb '$KELVIN' top" /dev/null
    [[ $output == *"TERM is dumb"*"-n 1"* && $output != *$'\e'* ]] || fail "$output"
    [ "$status" = 1 ]
}

@test "bench draws no progress where the command writes to the same terminal" {
    command -v script >/dev/null || skip "script is not installed"
    run script -qec "'$KELVIN' bench --runs 2 --show-output 'echo said'" /dev/null
    [ "$(grep -c '^said.$' <<<"$output")" -ge 2 ] || fail "$output"
    [[ $output != *"[--"* ]] || fail "$output"
    run script -qec "'$KELVIN' bench --runs 2 'sleep 0.3'" /dev/null
    [[ $output == *"[--"* ]] || fail "$output"
}

@test "a root without /dev/null is no missing interpreter" {
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "needs root and a mount namespace"
    run unshare -m bash -c "mount -t tmpfs none /dev && '$KELVIN' bench --runs 2 true 2>&1"
    [[ $status = 1 && $output == *"there is no /dev/null here"* ]] || fail "$output"
}

@test "help begins with what to type first" {
    kelvin help
    exits 0
    [ "$(sed -n 3p <<<"$output")" = "Start here:" ]
    [[ $(sed -n 4p <<<"$output") == "  kelvin record -- ./app"* ]]
}

@test "who knows perf is told what is called what here" {
    echo 'main;work 5' >x.folded
    kelvin record -g -- true
    exits 125
    complains "-g is not needed" "always recorded"
    kelvin record --call-graph=dwarf -- true
    complains "--call-graph is not needed"
    kelvin record -F 99 -a -- true
    complains "leave out the command" "-d SECONDS"
    kelvin record -a --rotate 60s recordings -d 5
    exits 125
    complains "put the folder 'recordings' last: '-d' follows it"
    kelvin report --stdio x.folded
    exits 1
    complains "--stdio is not needed"
    kelvin stat ls
    exits 1
    complains "kelvin bench"
    kelvin record -- echo -g # an option of the command, not of ours
    [[ $stderr != *"not needed"* ]]
}

@test "options that are misspelt are guessed" {
    kelvin record --ouput x.kelvin -- true
    complains "did you mean '--output'?"
    kelvin report --colr always x
    complains "did you mean '--color'?"
    kelvin reprot x
    complains "did you mean 'report'?"
    kelvin report x.folded --json
    complains "there is no --json: --format json"
    kelvin run --json
    complains "no option '--json'"
    kelvin info x.folded --format json
    complains "there is no --format: --json prints JSON"
    kelvin record -ap 5
    complains "-a takes no value; write options apart: -a -p"
}

@test "who leaves out the command is told which one it may be" {
    echo 'main;work 5' >x.folded
    cp "$(type -P true)" app
    kelvin x.folded
    complains "no command 'x.folded'; did you mean 'kelvin report x.folded'?"
    kelvin ./app
    complains "no command './app'; did you mean 'kelvin record -- ./app'?"
    kelvin nosuch.folded
    complains "'kelvin help' lists them"
}

@test "two letters that changed places are one slip, also in a short option, and with its value behind =" {
    printf 'main;a 3\n' >small.folded
    kelvin report small.folded --tpo 3
    exits 1
    complains "no option '--tpo'; did you mean '--top'?"
    kelvin report small.folded --tpo=3
    complains "no option '--tpo'; did you mean '--top'?"
    kelvin report small.folded --xyz
    complains "no option '--xyz'; see --help"
}

@test "bench points to --shell where a line needs a shell" {
    kelvin bench 'cd /tmp'
    exits 1
    complains "word of the shell" "--shell"
    kelvin bench 'N=5 true'
    exits 1
    complains "N=5: not a program; 'env NAME=VALUE COMMAND' sets a variable"
    kelvin bench --runs 2 'true a | b'
    exits 0
    [[ $stderr == *"'|' is passed to the program as it is"*"--shell"* ]] || fail "$stderr"
    kelvin bench --runs 2 'true *.c'
    [[ $stderr == *"'*' is passed"* ]] || fail "$stderr"
    kelvin bench --runs 2 "true 'a | b' \"*\" \\; http://x/?a=1&b=2"
    [[ $stderr != *"--shell"* ]] || fail "$stderr"
    kelvin bench --runs 2 --shell 'true | true'
    exits 0
    [[ $stderr != *"is passed"* ]]
}

@test "bench ends with one plain sentence" {
    kelvin bench --time 2 'sleep 0.01' 'sleep 0.2'
    [[ $(tail -n 1 <<<"$output") =~ "'sleep 0.01' ran "[0-9.]+" times as fast as 'sleep 0.2'." ]] || fail "$output"
    kelvin bench --runs 3 true
    [[ $(tail -n 1 <<<"$output") =~ "'true' takes "[0-9.]+" "[mun]?s", the median of 3 runs." ]] || fail "$output"
}

@test "bench works, and measures true time, under a library that is preloaded to change the clock" {
    cat >frozen.c <<'C'
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timespec *volatile state;
static struct timespec now = {1000000, 5};
__attribute__((constructor)) static void begin(void) { state = &now; }
int clock_gettime(clockid_t which, struct timespec *t)
{
    (void)which;
    pthread_mutex_lock(&lock);
    *t = *state;
    pthread_mutex_unlock(&lock);
    return 0;
}
C
    gcc -shared -fPIC -o frozen.so frozen.c
    [ "${KELVIN_SANITIZED:-}" != 1 ] || skip "a sanitizer must be preloaded first"
    LD_PRELOAD=$PWD/frozen.so run --separate-stderr timeout 100 "$KELVIN" bench --runs 3 --format json 'sleep 0.1'
    exits 0
    python3 -c 'import json, sys
text = sys.stdin.read()
median = json.loads(text)["benchmarks"][0]["measures"]["time"]["median"]
sys.exit(0 if median >= 0.1e9 else f"{median} ns")' <<<"$output"
}

@test "Ctrl-C ends every command, whatever file is in the way" {
    mkfifo pipe
    echo 'main;work 300' >x.folded
    python3 - "$KELVIN" <<'PY'
import os, signal, subprocess, sys, time
for words in (["bench", "--input", "pipe", "cat"], ["bench", "--runs", "3", "-o", "pipe", "true"], ["report", "pipe"],
              ["flame", "x.folded", "-o", "pipe"], ["diff", "pipe", "x.folded"], ["check", "x.folded", "pipe"],
              ["bench", "--import", "pipe", "--save", "q"], ["annotate", "pipe", "main"], ["info", "-"]):
    p = subprocess.Popen([sys.argv[1]] + words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while p.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGINT)
    if p.poll() is None:
        os.killpg(p.pid, signal.SIGKILL)
        sys.exit(f"goes on: {words}")
PY
}

@test "help topics and formats that are misspelt are guessed, and a program is not taken for a profile" {
    kelvin help recrod
    exits 1
    complains "no help on 'recrod'; did you mean 'record'?"
    echo 'a;b 1' >x.folded
    kelvin convert x.folded --to pproff -o x.out
    exits 1
    complains "no format 'pproff' to write; did you mean 'pprof'?"
    kelvin report "$KELVIN"
    exits 5
    complains "a program or library, not a profile: 'kelvin record' makes one"
}

@test "no command replaces what it reads" {
    echo 'main;work 5' >x.folded
    ln -s x.folded link && ln x.folded second
    for how in "fold" "flame" "convert" "report" "heap" "view" "simd"; do
        for out in x.folded ./x.folded link second; do
            kelvin $how x.folded -o $out
            [ "$status" = 1 ] || fail "kelvin $how -o $out: exit code $status"
            [[ $stderr == *"which is the input"* ]] || fail "kelvin $how -o $out: $stderr"
        done
    done
    [ "$(cat x.folded)" = 'main;work 5' ]
}

@test "record does not replace a file that is no recording" {
    echo important >notes.txt
    kelvin record --engine none -o notes.txt -- true
    [ "$status" != 0 ]
    [[ $stderr == *"'notes.txt' exists and is not a recording"* ]]
    [ "$(cat notes.txt)" = important ]
    [ ! -e notes.txt.old ] && [ ! -e notes.txt.part ]
}
