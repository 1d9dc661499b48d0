#!/usr/bin/env bats
# A whole suite: from source to a published folder, and everything that can go wrong on the way.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too
load ../lib/helpers

# A project with one program and one workload, committed.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
    mkdir project
    cd project || return
    cat >app.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef WORK
#define WORK 100
#endif
static volatile uint64_t sink;
__attribute__((noinline)) static void steady(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 31 + 7;
}
__attribute__((noinline)) static void suspect(long n)
{
    for (long i = 0; i < n * WORK / 100; i++)
        sink = sink * 33 + 5;
}
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < n; i++) {
        steady(10000);
        suspect(10000);
    }
    printf("%ld\n", n);
    return argc > 2 ? atoi(argv[2]) : 0;
}
C
    cat >kelvin.conf <<'CONF'
[project]
name = trial
[build]
command = cc $CFLAGS -o app app.c
env = CFLAGS="-O2 -g"
binary = ./app
[workload small]
command = ./app 6000
rate = 4999
[publish]
sources = *.c
CONF
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
}

has() { grep -q -- "$2" "$1" || fail "no '$2' in $1:" "$(head -c 600 "$1")"; }

said() { [[ $stderr == *"$1"* ]] || fail "did not say '$1' but: $stderr"; }

# What a folder holds, without the bytes that tell time.
print_of() { (cd "$1" && find . -type f | sort | xargs sha256sum) | sha256sum; }

@test "a pipe among the sources holds nobody up" {
    mkfifo pipe.c
    run timeout -k 5 "$(patience 60)" "$KELVIN" run
    [ -e perf/index.html ] || fail "$status: $output"
}

@test "a run publishes pages that leave nothing to be filled in" {
    kelvin run --set publish.arguments=show
    exits 0
    for f in README.md index.html run.json summary.md small.md small.svg small.kelvin; do
        [ -s "perf/$f" ] || fail "perf/$f is not there"
    done
    has perf/small.md "$(git rev-parse HEAD)"
    has perf/small.md 'software clock\|hardware counter\|in-process timer'
    has perf/small.md './app 6000'
    has perf/small.md 'suspect'
    has perf/small.md 'kelvin run small'
    has perf/small.md 'digest of the sources'
    if [[ $("$KELVIN" view 2>&1) != *"built without the page"* ]]; then
        has perf/small.view.html 'id="data0"'
        has perf/index.html '<a href="small.view.html"><img src="small.svg"'
        has perf/small.md '](small.svg)\](small.view.html)'
    fi
    ! grep -rniE 'todo|fixme|to be filled|tbd' perf/*.md perf/index.html || fail "left to be filled in"
    ! grep -rn "$HOME/" perf/*.md perf/index.html perf/run.json || fail "shows the home folder"
    python3 -c 'import json; r = json.load(open("perf/run.json"));
assert r["outcome"] == "ok", r["outcome"]
assert r["workloads"][0]["functions"], "no functions"' || fail "run.json"
    xmllint --noout perf/small.svg || fail "the drawing is no XML"
    [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
    long=a-folder-whose-name-is-longer-than-forty-characters-in-all
    kelvin run --skip-build --set publish.folder=$long
    exits 0
    said "Published $long/index.html in "
}

@test "values of the environment are not published unless they are named" {
    kelvin run -q --set 'build.env=CFLAGS="-O2 -g" TOKEN=hush1' --set 'determinism.env=LC_ALL=C KEY=hush2' \
        --set workload.small.min-samples=1
    exits 0
    ! grep -rl 'hush[12]' perf || fail "a secret was published"
    has perf/small.md 'TOKEN=(not shown)'
    has perf/small.md 'LC.*ALL=C KEY=(not shown)'
    kelvin run -q --set 'build.env=CFLAGS="-O2 -g" TOKEN=hush1' --set 'publish.environment=CFLAGS' \
        --set workload.small.min-samples=1
    exits 0
    has perf/small.md 'CFLAGS="-O2 -g" TOKEN=(not shown)'
}

@test "the same commit twice differs only in what was measured" {
    kelvin run -q
    exits 0
    sed -E 's/[0-9]+([.,][0-9]+)*//g; s/not known//g' perf/small.md | sort -u >first
    kelvin run -q
    exits 0
    sed -E 's/[0-9]+([.,][0-9]+)*//g; s/not known//g' perf/small.md | sort -u >second
    # Lines of text and tables that name things must be there both times.
    grep -E '^\| (commit|command|build|kind|event|digest|compiler|machine|kernel)' first >a
    grep -E '^\| (commit|command|build|kind|event|digest|compiler|machine|kernel)' second >b
    cmp a b || fail "$(diff a b)"
    kelvin history
    exits 0
    [ "$(grep -c ' small ' <<<"$output")" -ge 2 ] || fail "not two runs: $output"
}

@test "a workload that fails fails the run, the others still run, the good folder stays" {
    kelvin run -q
    exits 0
    before=$(print_of perf)
    printf '[workload broken]\ncommand = ./app 100 7\n' >>kelvin.conf
    kelvin run
    exits 1
    said "broken"
    said "exit code 7"
    [ "$(print_of perf)" = "$before" ] || fail "the good folder was touched"
    has perf-failed/README.md failed
    has perf-failed/small.md suspect
    has perf-failed/broken.md 'exit code 7'
}

@test "too few samples are no result: incomplete, exit 4, and the good folder stays" {
    kelvin run -q
    exits 0
    before=$(print_of perf)
    printf '[workload idle]\ncommand = sleep 0.01\nmin-samples = 1000000\npool-time = 0.5\n' >>kelvin.conf
    kelvin run --save main
    exits 4
    said "workload 'idle': incomplete"
    has perf-failed/summary.md 'no cpu: only [0-9]* sample'
    [ "$(print_of perf)" = "$before" ] || fail "the good folder was touched"
    [ ! -e .kelvin/baselines/main ] || fail "saved as a baseline"
    has perf-failed/idle.md 'absent: cpu'
    has perf-failed/README.md 'absent: cpu'
    has perf-failed/idle.md 'only [0-9]* samples\{0,1\} in [0-9]* runs, fewer than min-samples'
    has perf-failed/small.md suspect
    [ ! -e perf-failed/idle.svg ] || fail "a drawing of nothing"
    kelvin run -q --set workload.idle.optional=cpu
    exits 0
    has perf/idle.md 'absent: cpu'
    [ ! -e perf-failed ] || fail "perf-failed/ is still there after a good run"
}

@test "a short program is run again until there are enough samples, and the pool is drawn" {
    printf '[workload short]\ncommand = ./app 20\nrate = 4999\nmin-samples = 60\npool-time = 120\n' >>kelvin.conf
    kelvin run short
    exits 0
    said "short: pooled from "
    has perf/short.md 'suspect'
    xmllint --noout perf/short.svg || fail "the drawing is no XML"
    [ "$(find perf -name '*.old' -o -name '*.part' | wc -l)" -eq 0 ] || fail "left files behind"
    kelvin info perf/short.kelvin
    exits 0
    [[ $output =~ pooled_runs\ +([0-9]+) ]] || fail "$output"
    [ "${BASH_REMATCH[1]}" -ge 2 ] || fail "one run only: $output"
    has perf/short.md " per run, [0-9]* samples of ${BASH_REMATCH[1]} runs pooled"
    python3 -c 'import json; w, = json.load(open("perf/run.json"))["workloads"]
assert int(w["recordings"][0]["stream"]["samples"].replace(",", "")) >= 60, w' || fail "run.json"
}

@test "a workload that never ends is ended" {
    printf '[workload stuck]\ncommand = sleep 1000\ntimeout = 1\n' >>kelvin.conf
    kelvin run stuck
    exits 1
    said "was not done after"
}

@test "a build that fails shows its last lines" {
    echo 'this is no C' >>app.c
    kelvin run --format github
    exits 1
    [[ $output == "::error title=kelvin run ended early::the build ended"* ]] || fail "annotation: $output"
    said "app.c"
    said "the build ended with exit code 1"
    no_file perf
}

@test "a build that leaves no program is told" {
    kelvin run --set build.command=true
    exits 1
    said "no program './app'"
}

@test "without kelvin.conf init is offered, and init writes one that runs" {
    rm kelvin.conf
    kelvin run
    exits 1
    complains "kelvin init"
    printf 'app: app.c\n\tcc $(CFLAGS) -o app app.c\n' >Makefile
    kelvin init
    [[ $stderr == *"no program was found: build it and run 'kelvin init --force'"* ]] || fail "$stderr"
    kelvin run
    exits 1
    line=$(grep -n '^command = ./program' kelvin.conf | cut -d: -f1)
    complains "kelvin.conf:$line: './program --argument' is only an example" "[workload main]"
    [ ! -e app ] || fail "built for a program that nobody named"
    make -s CFLAGS='-O2 -g'
    kelvin init --force
    exits 0
    has kelvin.conf '^command = make -j'
    has kelvin.conf '^binary = ./app'
    kelvin run --set 'workload.main.command=./app 6000' --set workload.main.rate=4999 --set workload.main.runs=2
    exits 0
    [ -s perf/main.svg ] || fail "no drawing"
    kelvin init
    exits 1
    complains "there already"
}

@test "unknown keys and wrong values are told with their lines, all at once, and nothing runs" {
    printf '[workload bad]\ncomand = x\ncollect = cpu hep\n' >>kelvin.conf
    kelvin run
    exits 1
    said "kelvin.conf:13: no key 'comand' in [workload bad]; did you mean 'command'?"
    said "kelvin.conf:14: 'collect' is made of"
    [ ! -e app ] || fail "it was built all the same"
}

@test "every value can be overruled, and --explain says by whom" {
    KELVIN_WORKLOAD_SMALL_RATE=50 kelvin run --explain --set workload.small.runs=30
    exits 0
    grep -q 'workload.small.rate *= 50 *# KELVIN_WORKLOAD_SMALL_RATE' <<<"$output" || fail "$output"
    grep -q 'workload.small.runs *= 30 *# --set' <<<"$output" || fail "$output"
    grep -q 'build.binary *= ./app *# kelvin.conf:6' <<<"$output" || fail "$output"
    grep -q 'workload.small.timeout *= 300 *# default' <<<"$output" || fail "$output"
}

@test "a folder that is not ours is refused before anything is built" {
    mkdir perf && echo thesis >perf/thesis.txt
    kelvin run
    exits 1
    complains "not made by kelvin" "perf"
    [ "$(cat perf/thesis.txt)" = thesis ] || fail "it was touched"
    [ ! -e app ] || fail "it was built all the same"
}

@test "a suite file that is a pipe or a device is refused, and no folder is no place to publish" {
    mv kelvin.conf saved.conf
    mkfifo kelvin.conf
    run timeout "$(patience 20)" "$KELVIN" run
    [ "$status" = 1 ] || fail "$status: $output"
    [[ $output == *"kelvin.conf': it is not a regular file"* ]] || fail "$output"
    ln -sf /dev/zero kelvin.conf
    kelvin run --explain
    exits 1
    complains "not a regular file"
    mv saved.conf kelvin.conf
    kelvin run --set publish.folder=
    exits 1
    complains "publish.folder is empty"
    [ ! -e app ] || fail "it was built all the same"
}

@test "files that differ from the commit are allowed and named" {
    echo '/* changed */' >>app.c
    kelvin run -q
    exits 0
    has perf/small.md 'app.c'
    has perf/README.md 'with changes'
}

@test "a project without git works" {
    rm -rf .git
    GIT_CEILING_DIRECTORIES=$PWD/.. kelvin run -q
    exits 0
    has perf/small.md 'no git repository, or'
}

@test "without valgrind that part is absent and the run incomplete, unless it is optional" {
    mkdir bin
    for tool in sh cc as ld git taskset; do
        ln -s "$(command -v $tool)" bin/
    done
    run --separate-stderr env PATH="$PWD/bin" "$KELVIN" run -q --set 'workload.small.collect=cpu cache memcheck'
    exits 4
    has perf-failed/small.md 'valgrind is not installed'
    has perf-failed/summary.md incomplete
    [ ! -e perf ] || fail "published as a result"
    run --separate-stderr env PATH="$PWD/bin" "$KELVIN" run -q --set 'workload.small.collect=cpu cache memcheck' \
        --set 'workload.small.optional=cache memcheck'
    exits 0
    has perf/small.md 'valgrind is not installed'
}

@test "a damaged history is told, and the rest goes on" {
    mkdir .kelvin && echo 'no database at all' >.kelvin/history.db
    kelvin run
    exits 0
    said "not added to the history"
    [ -s perf/small.svg ] || fail "nothing was published"
    [ "$(cat .kelvin/history.db)" = 'no database at all' ] || fail "it was written to"
}

@test "a regression against a saved run exits with 3 and names the function" {
    kelvin run -q --save main --set 'workload.small.collect=cpu bench' --set workload.small.runs=12
    exits 0
    kelvin run --against main --format github --set 'build.env=CFLAGS="-O2 -g -DWORK=300"' \
        --set 'workload.small.collect=cpu bench' --set workload.small.runs=12
    exits 3
    said "suspect"
    [[ $output =~ ^::error\ file=app.c,line=1[0-9],title=small\ regressed::.*suspect ]] || fail "annotation: $output"
    has perf-failed/small.md suspect
    has perf-failed/small.md 'by both programs in turns'
    [ "$(wc -l <perf-failed/summary.md)" -le 24 ] || fail "the summary is longer than a screen"
    has perf-failed/summary.md regressed
    kelvin run --against nothing
    exits 1
    said "no baseline 'nothing'"
    said "--save"
}

@test "rules that do not hold exit with 3, wrong rules are told with their place" {
    printf 'self suspect <= 5%%\n' >perf.rules
    kelvin run --set check.rules=perf.rules --format gitlab
    exits 3
    said "rule failed: self suspect <= 5%"
    said "workload 'small': failed its rules"
    has perf-failed/summary.md '^### .*: failed its rules$'
    has perf-failed/summary.md '^| small | failed its rules |'
    [ "$(jq -r .outcome perf-failed/run.json)" = rules ] || fail "the key changed"
    python3 -c 'import json, sys; n, = json.loads(sys.argv[1])
assert n["location"] == {"path": "perf.rules", "lines": {"begin": 1}}, n' "$output" || fail "report: $output"
    kelvin run --set check.rules=perf.rules --set 'workload.small.command=./app 1' \
        --set workload.small.pool-time=0
    exits 4
    said "no recording to check the rules against"
    printf 'self suspect <> 5%%\n' >perf.rules
    kelvin run --set check.rules=perf.rules
    exits 1
    said "perf.rules:1:"
}

@test "memory errors fail the run unless as many are allowed" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    sed -i 's/printf("%ld.n", n);/printf("%d\\n", ((int *)malloc(4))[argc]);/' app.c
    local only=(--set 'workload.small.collect=memcheck' --set 'workload.small.command=./app 1')
    kelvin run "${only[@]}"
    exits 3
    said "findings: more than check.max-findings allows"
    has perf-failed/small.md 'Invalid read of size 4'
    kelvin run -q "${only[@]}" --set check.max-findings=10
    exits 0
    has perf/small.md 'Invalid read of size 4'
    python3 -c 'import json; assert json.load(open("perf/run.json"))["workloads"][0]["memcheck_findings"] > 0' ||
        fail "not in run.json"
}

@test "rates of cache misses are published and remembered, and more instructions are a regression" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    local only=(-q --set 'workload.small.collect=cache' --set 'workload.small.command=./app 20')
    kelvin run "${only[@]}" --save main
    exits 0
    has perf/small.md 'Caches and branches, simulated'
    has perf/small.md '(the whole program)'
    python3 -c 'import json; c = json.load(open("perf/run.json"))["workloads"][0]["cache"]
assert c["how"] == "simulated" and 0 < c["d1_rate"] < 0.05, c' || fail "run.json"
    kelvin history
    exits 0
    [[ $output == *"D1 misses"* ]] || fail "not in the history: $output"
    kelvin run "${only[@]}" --against main
    exits 0
    has perf/small.md 'Instructions: same'
    run ! grep -q 'side by side' perf/small.md # counts are those of one program: there are no turns to take
    kelvin run "${only[@]}" --against main --set 'build.env=CFLAGS="-O2 -g -DWORK=120"'
    exits 3
    has perf-failed/small.md 'Instructions: more, +[89]'
    has perf-failed/summary.md 'suspect.*: +20.0% instructions'
}

@test "a full disk leaves the published folder as it was" {
    mkdir disk
    mount -t tmpfs -o size=700k none disk 2>/dev/null || skip "this needs the right to mount"
    cp app.c kelvin.conf disk/
    cd disk || return
    kelvin run -q --set history.store=
    [ "$status" -eq 0 ] || { umount -l ../disk; exits 0; }
    before=$(print_of perf)
    head -c $(($(df --output=avail . | tail -1) * 1024 - 40000)) /dev/zero >filler
    kelvin run -q --set history.store=
    after=$(print_of perf)
    left=$(find . -name '.perf.new*')
    cd .. && umount -l disk
    exits 1
    said "No space left"
    [ "$after" = "$before" ] || fail "the folder was touched"
    [ -z "$left" ] || fail "left behind: $left"
}

@test "killed in any phase, the published folder is whole" {
    kelvin run -q
    exits 0
    for phase in 1 2 3 4 5 6 7; do
        before=$(print_of perf)
        "$KELVIN" run --set workload.small.collect='cpu bench' --set workload.small.runs=3 2>trace &
        pid=$!
        for _ in $(seq 2000); do
            grep -q "^\[$phase/7\]" trace && break
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        kill -9 $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        if [ "$(print_of perf)" != "$before" ]; then
            # It was past the point where the folders change places: then all of the new one is there.
            grep -q '^\[7/7\]' trace || fail "changed before it was published, in phase $phase"
            python3 -c 'import json; json.load(open("perf/run.json"))' || fail "half a receipt"
        fi
        for f in README.md index.html small.md small.svg small.kelvin run.json; do
            [ -s "perf/$f" ] || fail "perf/$f is missing after phase $phase"
        done
    done
    kelvin run -q
    exits 0
    [ -z "$(find . -name '.perf.new*')" ] || fail "what killed runs left was not removed"
}

@test "Ctrl-C while recording or measuring says so, and leaves nothing behind" {
    for collect in cpu bench; do
        run --separate-stderr timeout --preserve-status -s INT 2 "$KELVIN" run \
            --set 'workload.small.command=./app 20000000' --set "workload.small.collect=$collect"
        exits 130
        said "interrupted: nothing was published"
        [ ! -e perf ] || fail "published all the same"
        [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
        ! pgrep -f 'app 20000000' >/dev/null || fail "the workload goes on"
    done
}

@test "a command that is not there is told, and a recorder that dies costs its workload only" {
    printf '[workload gone]\ncommand = ./nosuch\n[workload murder]\ncommand = kill -9 $PPID\nshell = yes\n' >>kelvin.conf
    kelvin run
    exits 1
    said "gone: FAILED, it could not be recorded: ./nosuch: not found"
    said "murder: FAILED, it could not be recorded: the recorder was killed by signal 9"
    has perf-failed/small.md suspect
    [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
}

@test "the name of a baseline is a plain name, no path and no pattern" {
    mkdir -p .kelvin/baselines/main && echo mine >.kelvin/baselines/main/a.kelvin
    echo mine >a.kelvin
    for name in '*' '../..' '../../../x' . .. .x /tmp/x feature/x '' -x 'a b' $'a\033[2J' '{a,b}'; do
        kelvin run "--save=$name"
        exits 1
        said "cannot be the name of a baseline"
        kelvin run "--against=$name"
        exits 1
        said "cannot be the name of a baseline"
    done
    [ "$(cat .kelvin/baselines/main/a.kelvin a.kelvin)" = $'mine\nmine' ] || fail "a file was touched"
    [ ! -e app ] || fail "it was built all the same"
}

@test "a baseline that cannot be saved leaves the one before as it was" {
    kelvin run -q --save main
    exits 0
    [ -s .kelvin/baselines/main/small.kelvin ] && [ -x .kelvin/baselines/main/program ] || fail "not saved"
    before=$(print_of .kelvin/baselines)
    cp .kelvin/history.db good.db
    echo 'no database at all' >.kelvin/history.db
    kelvin run -q --save main
    exits 5
    [ "$(print_of .kelvin/baselines)" = "$before" ] || fail "the baseline was touched"
    mv good.db .kelvin/history.db
    kelvin run -q --save main --set 'workload.small.collect=bench' --set workload.small.runs=2
    exits 0
    [ ! -e .kelvin/baselines/main/small.kelvin ] || fail "a recording of the baseline before is still there"
}

@test "few recordings against a baseline are inconclusive, and many times slower is a regression" {
    kelvin run -q --save main
    exits 0
    kelvin run --against main
    exits 4
    said "not decided whether 'small' uses more than 5% more CPU time than in the baseline 'main'"
    said "collect bench, or make at least 6 recordings"
    kelvin run --against main --set 'build.env=CFLAGS="-O2 -g -DWORK=2000"' --format github
    exits 3
    said "more than the 5% that check.max-regression allows"
    [[ $output == "::error "*"small regressed"* ]] || fail "annotation: $output"
    has perf-failed/summary.md regressed
}

@test "programs take turns however the program is written, and recordings do, too" {
    sed -i 's|^binary = ./app|binary = app|' kelvin.conf
    kelvin run -q --save main --set 'workload.small.collect=cpu bench' --set workload.small.runs=3
    exits 0
    [ -x .kelvin/baselines/main/program/app ] || fail "the program was not kept"
    kelvin run --against main --set 'workload.small.collect=cpu bench' --set workload.small.runs=3 \
        --set workload.small.decide-time=0 --set 'build.env=CFLAGS="-O2 -g -DWORK=400"' --set workload.small.recordings=2
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ] || exits 3
    said "small: recordings in turns: "
    [[ $stderr != *"side by side"* ]] || fail "not side by side: $stderr"
    page=perf/small.md
    [ ! -e perf-failed ] || page=perf-failed/small.md
    has "$page" 'Recordings, made in turns'
    # Seconds, and what that is of the CPU time before: shares alone say nothing of cost.
    has "$page" '| before | now | change | of CPU time | proven | function |'
    grep -qE '^\| [0-9.]+ m?s \| [0-9.]+ m?s \| .* \| \+[0-9.]+% \| (yes|no) \| suspect' "$page" ||
        fail "$(cat "$page")"
    [ -z "$(find perf* -name '*before*')" ] || fail "the baseline's recording was published"
    # Without it, the reason is told and no function is proven to have changed.
    rm -r .kelvin/baselines/main/program
    kelvin run --against main --set workload.small.recordings=2
    said "small: cannot run side by side with 'main': the baseline has not kept the program"
    said "recordings of 'main' are of another time: no verdict on functions"
    has perf/small.md 'did not run side by side'
    ! grep -q '| yes |' perf/small.md || fail "proven by recordings of another time"
}

@test "programs that take turns go on until it is decided, and a key says what gates" {
    sed -i 's/app 6000/app 300/' kelvin.conf
    local only=(--set workload.small.collect=bench --set workload.small.runs=3)
    kelvin run -q --save main "${only[@]}"
    exits 0
    kelvin run --against main "${only[@]}" --set check.max-regression=60%
    exits 0
    has perf/small.md 'by both programs in turns'
    runs=$(sed -n 's/.*Based on \([0-9]*\) runs before.*/\1/p' perf/small.md | head -1)
    [ "$runs" -ge 14 ] || fail "only $runs runs"
    [ "$runs" -le 3000 ] || fail "it did not stop: $runs runs"
    kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS="-O2 -g -DWORK=400"'
    exits 3
    kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS="-O2 -g -DWORK=400"' --set check.gates=instructions
    exits 0
    has perf/small.md 'slower'
}

# A program with a heap that can be counted by hand, and a suite of it.
heap_suite() {
    cat >mem.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static void *keep(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}
__attribute__((noinline)) static void churn(void)
{
    for (int i = 0; i < 1000; i++)
        free(keep(malloc(64)));
}
__attribute__((noinline)) static void leaky(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(1000));
}
int main(void)
{
    churn();
    leaky();
    return 0;
}
C
    cat >kelvin.conf <<'CONF'
[build]
command = cc $CFLAGS -o mem mem.c
env = CFLAGS="-O2 -g"
[workload mem]
command = ./mem
collect = heap
rules = heap.rules
CONF
    printf 'allocs(churn) == 1000\nleaked(leaky) == 10000 B\npeak <= 1 MiB\n' >heap.rules
}

@test "a suite records the heap, shows it, judges it by rules and remembers it" {
    heap_suite
    kelvin run
    exits 0
    said "rules: 3 passed, 0 failed, 0 inconclusive"
    [ "$(jq -r '.workloads[0].heap | .leaked >= 10000 and .allocations >= 1010 and .peak >= 10000' perf/run.json)" = true ] ||
        fail "$(jq .workloads[0].heap perf/run.json)"
    [ "$(jq -r '.workloads[0].heap.file' perf/run.json)" = mem.heap.kelvin ]
    has perf/mem.md '^## Heap'
    grep -Eq '^\| *`?leaky`? *\|.*9.77 KiB' perf/mem.md || fail "$(sed -n '/^## Heap/,/^## /p' perf/mem.md)"
    kelvin heap perf/mem.heap.kelvin
    exits 0
    kelvin run -q
    kelvin history
    [[ $output == *"heap peak"* ]] || fail "$output"
    printf 'allocs(churn) == 0\n' >heap.rules
    kelvin run
    exits 3
    said "rule failed: allocs(churn) == 0"
    rm heap.rules && sed -i '/^rules/d' kelvin.conf
    kelvin run -q --save main
    exits 0
    printf 'rules = heap.rules\n' >>kelvin.conf
    printf 'diff allocs(leaky) <= 0%%\ndiff peak <= 0%%\n' >heap.rules
    kelvin run --against main
    said "rules: 2 passed, 0 failed, 0 inconclusive"
    sed -i 's/i < 10;/i < 11;/' mem.c
    kelvin run --against main
    exits 3
    said "rule failed: diff allocs(leaky) <= 0% (from 10 blocks to 11 blocks"
}

@test "a heap that cannot be recorded is absent with its reason" {
    heap_suite
    rm heap.rules
    sed -i '/^rules/d' kelvin.conf
    kelvin run --set build.env='CFLAGS="-O2 -g -static"'
    exits 4
    has perf-failed/mem.md 'absent: heap'
    jq -e '.workloads[0].absent.heap | contains("static")' perf-failed/run.json >/dev/null || fail "$(cat perf-failed/run.json)"
}

scopes_suite() {
    cat >serve.c <<'C'
#include <kelvin.h>
static volatile unsigned sink;
static void request(unsigned n)
{
    KELVIN_SCOPE("request");
    for (unsigned i = 0; i < n; i++)
        sink += i;
}
int main(void)
{
    for (unsigned i = 0; i < 500; i++) {
        request(200000 + i % 7 * 10000);
        KELVIN_COUNT("requests", 1);
    }
    return 0;
}
C
    cat >kelvin.conf <<CONF
[build]
command = cc -O1 -g -I'$BATS_TEST_DIRNAME/../../include' -o serve serve.c
[workload serve]
command = ./serve
collect = cpu scopes
min-samples = 1
rules = scopes.rules
CONF
    printf 'calls request == 1 * requests\np50 request <= 100 s\n' >scopes.rules
}

@test "a suite shows how long scopes took, judges them by rules and remembers them" {
    scopes_suite
    kelvin run
    exits 0
    said "rules: 2 passed, 0 failed, 0 inconclusive"
    jq -e '.workloads[0].scopes[0] | .scope == "request" and .calls == 500 and .p50.low <= .p50.ns and (.p50.high == null or .p50.ns <= .p50.high)
        and .p99.ns <= .max_ns' perf/run.json >/dev/null || fail "$(jq .workloads[0].scopes perf/run.json)"
    [ "$(jq '.workloads[0].scopes[0].p50.ns' perf/run.json)" = \
        "$("$KELVIN" scopes perf/serve.kelvin --format json | jq '.flat[0].p50.ns')" ]
    has perf/serve.md '^## Scopes'
    grep -Eq '^\| *`?request`? *\| *500 ' perf/serve.md || fail "$(sed -n '/^## Scopes/,/^## /p' perf/serve.md)"
    kelvin run -q
    kelvin history
    [[ $output == *"p99 of scope request"* ]] || fail "$output"
}

@test "scopes of a program that has none are absent with the reason" {
    scopes_suite
    sed -i '/^rules/d' kelvin.conf
    kelvin run --set build.command="cc -O1 -g -DKELVIN_OFF -I'$BATS_TEST_DIRNAME/../../include' -o serve serve.c"
    exits 4
    jq -e '.workloads[0].absent.scopes | contains("no scopes in the recording")' perf-failed/run.json >/dev/null ||
        fail "$(cat perf-failed/run.json)"
}

# A program that prints a rate of its own, 1000 / WORK, and writes it to a file, too.
with_metrics() {
    cat >score.c <<'C'
#include <stdio.h>
int main(void)
{
    FILE *out = fopen("score.json", "w");
    printf("rate 1\n");
    printf("rate %g\n", 1000.0 / WORK);
    fprintf(out, "{\"eval\": {\"loss\": %d}}\n", WORK);
    return fclose(out);
}
C
    cat >kelvin.conf <<'CONF'
[build]
command = cc -DWORK=$WORK -o score score.c
binary = score
[workload small]
command = ./score
collect = bench
runs = 24
items = 50 tokens
decide-time = 0
[metric rate]
pattern = "rate ([0-9.]+)"
unit = points
better = higher
[metric loss]
json = score.json
field = eval.loss
[check]
gates = instructions
CONF
}

@test "numbers that a program prints or writes are measured, kept and gated" {
    with_metrics
    WORK=10 kelvin run --save main
    [ "$status" = 0 ]
    has perf/small.md '| rate | 100 points | 100 to 100 |'
    has perf/small.md '| loss | 10 | 10 to 10 |'
    has perf/small.md 'tokens/s'
    has perf/small.output.txt 'rate 100'
    [ "$(jq -c '.workloads[0].metrics.rate | [.median, .better, .missing]' perf/run.json)" = '[100,"higher",0]' ]
    kelvin history
    [[ $output == *"small: rate"* && $output == *"small: tokens/s"* ]]
    WORK=11 kelvin run --against main
    [ "$status" = 3 ] || fail "a rate that fell by 9 %: $status" "$stderr"
    [[ $stderr == *"rate 100 -> 90.91 points (-9.1%, -9.1 to -9.1%): worse by more than the 5% allowed"* ]]
    [[ $stderr == *"loss 10 -> 11 (+10.0%, +10.0 to +10.0%): worse by more than the 5% allowed"* ]]
    has perf-failed/summary.md 'rate 100'
    WORK=9 kelvin run --against main
    [ "$status" = 0 ] || fail "a rate that rose: $status" "$stderr"
    [[ $stderr == *"rate 100 -> 111.1 points (+11.1%, "*": better"* ]]
    WORK=11 kelvin run --against main --set metric.rate.max-regression=20% --set metric.loss.gate=no
    [ "$status" = 0 ] || fail "within its own limit: $status" "$stderr"
}

@test "a number that no run gives makes the run incomplete, and is named" {
    with_metrics
    printf '[metric lost]\npattern = nowhere ([0-9]+)\n' >>kelvin.conf
    WORK=10 kelvin run
    [ "$status" = 4 ]
    [[ $stderr == *"small: no metric lost: its pattern matched a number in the output of no run"* ]]
    has perf-failed/small.md 'absent: metric lost'
}

@test "of several matches the last counts, and a number missing in one of ten runs is told" {
    cat >score <<'SH'
#!/bin/sh
n=$(cat n 2>/dev/null || echo 0)
echo $((n + 1)) >n
echo "rate 50"
[ "$n" = 5 ] || echo "rate 100"
[ "$n" = 5 ] || echo "once 7"
SH
    chmod +x score
    cat >kelvin.conf <<'CONF'
[workload small]
command = ./score
collect = bench
runs = 10
[metric rate]
pattern = "rate ([0-9.]+)"
[metric once]
pattern = "once ([0-9.]+)"
CONF
    kelvin run
    [ "$status" = 0 ] || fail "$status $stderr"
    [ "$(jq -c '.workloads[0].metrics | [.rate.median, .rate.missing, .once.median, .once.missing]' perf/run.json)" = '[100,0,7,1]' ] ||
        fail "$(jq -c '.workloads[0].metrics' perf/run.json)"
    has perf/small.md '| once | 7 |.*9 of 10'
}

# A program of kelvin_bench.h with two benchmarks, of which one does REPEAT times the work; and one that uses the same code.
with_benchmarks() {
    cat >kernels.c <<'C'
#include <kelvin_bench.h>
static float xs[1024];
__attribute__((noinline)) static float dot(const float *x, size_t n)
{
    float s = 0;
    for (int r = 0; r < REPEAT; r++)
        for (size_t i = 0; i < n; i++)
            s += x[i] * x[i];
    return s;
}
BENCH_OVER(dot, n, 256, 1024) { BENCH_LOOP { KELVIN_KEEP(dot(xs, n)); } }
#ifndef NO_SUM
static float sum(const float *x, size_t n)
{
    float s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[i];
    return s;
}
BENCH(sum) { BENCH_LOOP { KELVIN_KEEP(sum(xs, 512)); } }
#endif
BENCH_MAIN
C
    local lib
    lib=$(dirname "$KELVIN")/libkelvin_bench.a
    cat >Makefile <<MAKE
all:
	cc -O1 \$(FLAGS) -I$ROOT/include kernels.c -o kernels $lib -lm
MAKE
    cat >kelvin.conf <<'CONF'
[build]
command = make -B FLAGS="$FLAGS"
[workload kernels]
command = ./kernels
binary = ./kernels
collect = benchmarks
runs = 8
decide-time = 20
max-regression = 30%
CONF
}

@test "each benchmark of a program is measured, compared in turns and gated" {
    with_benchmarks
    FLAGS=-DREPEAT=1 kelvin run --save main
    [ "$status" = 0 ] || fail "$stderr"
    has perf/kernels.md '| dot/n=256 |'
    has perf/kernels.md '| sum |'
    kelvin history
    [[ $output == *"kernels: dot/n=1024"* ]]
    FLAGS="-DREPEAT=3 -DNO_SUM" kelvin run --against main
    [ "$status" = 3 ] || fail "three times the work: $status" "$stderr"
    [[ $stderr == *"'kernels: dot/n=256'"*"more than the 30% that its max-regression allows"* ]]
    [[ $stderr == *"no benchmark 'sum' any more; 'main' has one"* ]]
    has perf-failed/kernels.md "In turns with the baseline's program"
    has perf-failed/summary.md '2 of 2 slower than allowed'
    [ "$(jq -c '.workloads[0].benchmarks_against["dot/n=256"].broken' perf-failed/run.json)" = true ]
    FLAGS=-DREPEAT=1 kelvin run --against main
    [ "$status" = 0 ] || [ "$status" = 4 ] || fail "the same program: $status" "$stderr"
}

@test "a command that is no benchmark program is told, and the run is incomplete" {
    with_benchmarks
    FLAGS=-DREPEAT=1 kelvin run --set workload.kernels.command=true
    [ "$status" = 4 ]
    [[ $stderr == *"kernels: no benchmarks: the command is not a program of kelvin_bench.h, or has no such benchmark"* ]]
    FLAGS=-DREPEAT=1 kelvin run --set workload.kernels.filter=nosuch
    [ "$status" = 4 ] || fail "$status" "$stderr"
}

@test "recordings of earlier runs have names: @last, a baseline, a commit" {
    kelvin run -q --save main
    [ "$status" = 0 ] || fail "$stderr"
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m two
    kelvin run -q
    [ "$status" = 0 ]
    kelvin fold @last
    [ "$status" = 0 ]
    [[ $output == *suspect* ]]
    for name in @main @HEAD @HEAD~1 @last:small "@$(git rev-parse --short HEAD)"; do
        kelvin info "$name"
        [ "$status" = 0 ] || fail "$name: $stderr"
    done
    kelvin diff @HEAD~1 @HEAD
    [ "$status" = 0 ] || fail "$stderr"
    kelvin info @last:other
    [[ $status = 1 && $stderr == *"'@last' has no recording of 'other'"* ]]
    kelvin info @nosuch
    [[ $status = 1 && $stderr == *"'@nosuch' is neither @last nor a baseline nor a commit that git knows"* ]]
    kelvin info @../../etc
    [ "$status" = 1 ]
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m three
    kelvin info @HEAD
    [[ $stderr == *"of which no run is in the archive: it keeps good runs only"* ]]
    mkdir .kelvin/archive/mine
    kelvin run -q --set history.keep=1
    kelvin info @HEAD~1
    [ "$status" = 1 ] || fail "more than history.keep runs are kept"
    [ -d .kelvin/archive/mine ] || fail "a folder that is not ours is gone"
}

@test "an archive above its size gives up the oldest runs, says so, and keeps the newest" {
    kelvin run -q
    kelvin run -q
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 2 ]
    kelvin run --set history.max-size=0.001
    [ "$status" = 0 ] || fail "$stderr"
    [[ $stderr == *"the archive was above its history.max-size: recordings of the oldest 2 runs were deleted"* ]] || fail "$stderr"
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 1 ]
    kelvin info @last
    [ "$status" = 0 ] || fail "the newest is gone: $stderr"
    kelvin run --set history.max-size=100
    [[ $stderr != *history.max-size* ]]
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 2 ]
}

@test "notes that a person wrote are on the index, and a missing file is told" {
    printf 'Read **this** first.\n<script>alert(1)</script>\n' >NOTES.md
    kelvin run -q --set publish.notes=NOTES.md
    [ "$status" = 0 ] || fail "$stderr"
    has perf/README.md 'Read \*\*this\*\* first.'
    has perf/index.html 'Read \*\*this\*\* first.'
    run ! grep -q '<script>alert' perf/index.html
    kelvin run --set publish.notes=gone.md
    [[ $status = 0 && $stderr == *"no notes: cannot read 'gone.md'"* ]] || fail "$status $stderr"
}

@test "variants are built, run in turns and compared; one that does not build leaves the others" {
    cat >kelvin.conf <<'CONF'
[build]
command = cc $CFLAGS -o app app.c
env = CFLAGS="-O1 -DWORK=100"
binary = app
[workload small]
command = ./app 300
collect = bench
runs = 6
decide-time = 3
[variant twice]
env = CFLAGS="-O1 -DWORK=300"
[variant same]
env = OTHER=1
CONF
    kelvin run
    [ "$status" = 0 ] || fail "$status" "$stderr"
    [[ $stderr == *"small: variant same is the same program as the suite's own build"* ]]
    has perf/small.md '| as built |'
    [ "$(jq -c .workloads[0].variants.twice.against.verdict perf/run.json)" = '"slower"' ] ||
        fail "$(jq -c .workloads[0].variants perf/run.json)"
    [ "$(jq -c '.workloads[0].variants.same | .same_program, .against' perf/run.json | xargs)" = 'true null' ] ||
        fail "a verdict on a program and itself: $(jq -c .workloads[0].variants.same perf/run.json)"
    has perf/small.md '| same |.*| the same program |'
    nm app | grep -q suspect # the suite's own build is what stays
    printf '[variant broken]\nenv = CFLAGS=-nosuchflag\n' >>kelvin.conf
    kelvin run
    [ "$status" = 4 ] || fail "$status" "$stderr"
    [[ $stderr == *$'\n        cc: error:'* ]] || fail "lines of the build: $stderr"
    [[ $stderr == *"small: no variant broken: its build ended with exit code 1"* ]]
    has perf-failed/small.md 'absent.*broken'
    has perf-failed/small.md '| twice |'
}

@test "sanitizers make builds of their own, and what they find fails the run" {
    cat >faulty.c <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
    volatile int *xs = malloc(4 * sizeof *xs);
    int n = argc > 1 ? atoi(argv[1]) : 3;
    if (n < 1000)
        xs[n] = 1;
    volatile int sum = n + 2147483640;
    return sum == 1;
}
C
    cat >kelvin.conf <<'CONF'
[build]
command = cc $CFLAGS faulty.c -o faulty $LDFLAGS
binary = faulty
[workload small]
command = ./faulty 3
collect = asan ubsan
CONF
    : >empty.c
    if ! cc -fsanitize=address,undefined -shared -o probe.so empty.c 2>/dev/null; then
        skip "the compiler has no sanitizers"
    fi
    kelvin run
    [ "$status" = 0 ] || fail "nothing to find: $status" "$stderr"
    has perf/small.md 'Memory errors (AddressSanitizer)'
    has perf/small.md 'No findings.'
    kelvin run --set 'workload.small.command=./faulty 4'
    [ "$status" = 3 ] || fail "one past the end: $status" "$stderr"
    has perf-failed/small.md 'ERROR: AddressSanitizer: heap-buffer-overflow'
    kelvin run --set 'workload.small.command=./faulty 100000000' --set workload.small.collect=ubsan
    [ "$(jq -c '.workloads[0].ubsan_findings' perf-failed/run.json)" = 1 ] || fail "$(cat perf-failed/run.json)"
    kelvin run --set 'build.command=cc faulty.c -o faulty'
    [ "$status" = 4 ] || fail "a build that does not heed CFLAGS: $status" "$stderr"
    [[ $stderr == *"small: no asan: the program that was built has no trace of it"* ]]
}
