#!/usr/bin/env bats
# Gates of a suite that must not pass by oversight, and runs that end before there is a result.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too
load ../lib/helpers

# A project with one program and one workload, committed.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
    mkdir project
    cd project || return
    cat >app.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#ifndef SLOW /* one run after so many does eight times the work */
#define SLOW 1000000
#endif
static volatile unsigned sink;
static int count_runs(void)
{
    int n = 0;
    FILE *f = fopen(SLOW < 100 ? "count" : "counts", "a+");
    while (f && fgetc(f) != EOF)
        n++;
    fputc('.', f);
    fclose(f);
    return n;
}
int main(void)
{
    int times = count_runs() % (SLOW + 1) == SLOW ? 8 : 1;
    for (long i = 0; i < times * 3000000L; i++)
        sink = sink * 31 + 7;
    void *p = malloc(100);
    printf("%p\n", p);
    free(p);
    return 0;
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
command = ./app
collect = bench
runs = 3
CONF
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
}

has() { grep -q -- "$2" "$1" || fail "no '$2' in $1:" "$(head -c 600 "$1")"; }

lacks() { ! grep -q -- "$2" "$1" || fail "'$2' is in $1:" "$(head -c 600 "$1")"; }

said() { [[ $stderr == *"$1"* ]] || fail "did not say '$1' but: $stderr"; }

silent() { [[ $stderr != *"$1"* ]] || fail "said '$1': $stderr"; }

# The step of doc/ci.md that posts a summary.
recipe() { sed -n '/- name: Measure the change/,/- uses:/p' "$ROOT/doc/ci.md" | sed '1,2d;$d'; }

@test "a build that fails leaves a summary with the reason, and the good folder stays" {
    kelvin run -q --save base
    exits 0
    kelvin run -q --against base --set 'build.command=echo no such header; false'
    exits 1
    has perf/summary.md 'trial: ok'
    has perf-failed/summary.md 'trial: failed'
    has perf-failed/summary.md 'the build ended with exit code 1'
    has perf-failed/summary.md 'no such header'
    has perf-failed/summary.md "Commit $(git rev-parse --short=12 HEAD)"
    has perf-failed/index.html 'the build ended with exit code 1'
    kelvin history
    [[ $output == *"failed"* ]] || fail "no trace of the commit that does not build: $output"
    [ "$(wc -l <perf-failed/summary.md)" -le 24 ] || fail "longer than a screen: $(cat perf-failed/summary.md)"
    kelvin run -q
    exits 0
    [ ! -e perf-failed ] || fail "perf-failed/ is still there after a good run"
}

@test "a baseline that is not there leaves a summary" {
    kelvin run -q --against nothing
    exits 1
    has perf-failed/summary.md "there is no baseline 'nothing'"
}

@test "the recipe for CI never posts the summary of the base for the change" {
    kelvin run -q --save base
    exits 0
    export GITHUB_STEP_SUMMARY=$PWD/posted
    PATH=${KELVIN%/*}:$PATH
    for broken in 's/^command = cc.*/command = false/' 's/^binary/bin ary/'; do
        kelvin run -q --save base
        exits 0
        sed -i.good "$broken" kelvin.conf
        : >posted
        run bash -e <(recipe)
        [ "$status" -eq 1 ] || fail "exit code $status: $output"
        lacks posted 'trial: ok'
        [ -s posted ] || fail "nothing was posted"
        mv kelvin.conf.good kelvin.conf
    done
    kelvin run -q --save base
    : >posted
    run bash -e <(recipe)
    [ "$status" -eq 0 ] || fail "exit code $status: $output"
    has posted 'trial: '
}

@test "a suite with diff rules gets its first baseline: they do not apply yet" {
    printf 'diff allocations <= +10%%\nmemory <= 1 GiB\n' >app.rules
    printf 'rules = app.rules\n' >>kelvin.conf
    local heap=(--set 'workload.small.collect=bench heap')
    kelvin run --save main "${heap[@]}"
    exits 0
    said "rule not applicable: diff allocations <= +10%"
    said "rules: 1 passed, 0 failed, 0 inconclusive"
    has perf/small.md 'not applicable'
    [ "$(jq -r '.workloads[0].rules[0].verdict' perf/run.json)" = 'not applicable' ] || fail "$(cat perf/run.json)"
    kelvin run --against main "${heap[@]}" --set workload.small.max-regression=1000
    exits 0
    said "rules: 2 passed, 0 failed, 0 inconclusive"
}

@test "rules and baselines that are not there are told before anything runs" {
    kelvin run --against nosuch
    exits 1
    said "there is no baseline 'nosuch'"
    silent '[1/7]'
    kelvin run --set workload.small.rules=nothere.rules
    exits 1
    said 'nothere.rules'
    silent '[1/7]'
    printf 'peak <= 1 GiB\nself x <> 5%%\nself y <> 5%%\n' >bad.rules
    kelvin run --set workload.small.rules=bad.rules
    exits 1
    said 'bad.rules:2:'
    said 'bad.rules:3:'
    silent '[1/7]'
    printf 'tolal x <= 5%%\n' >worse.rules
    printf '[workload other]\ncommand = ./app\nrules = worse.rules\n[workload third]\ncommand = ./app\nrules = bad.rules\n' >>kelvin.conf
    kelvin run -q --set workload.small.rules=bad.rules # errors are said, however quiet
    exits 1
    [ "$(grep -o '^kelvin: [a-z]*.rules:[0-9]*' <<<"$stderr" | tr '\n' ' ')" = "kelvin: bad.rules:2 kelvin: bad.rules:3 kelvin: worse.rules:1 " ] ||
        fail "$stderr"
    has perf-failed/index.html 'bad.rules:2:'
}

@test "the filter holds for results of other benchmark libraries too" {
    cat >gbench.sh <<'S'
#!/bin/sh
t='"run_type":"iteration","time_unit":"ns","real_time":10.0,"cpu_time":10.0'
echo '{"benchmarks":[{"name":"BM_sum/8",'"$t"'},{"name":"BM_dot/8",'"$t"'}]}' >g.json
S
    chmod +x gbench.sh
    printf '[workload g]\ncommand = ./gbench.sh\ncollect = benchmarks\nresults = g.json\nruns = 2\n' >>kelvin.conf
    kelvin run g --set workload.g.filter=sum
    exits 0
    said 'g: 1 benchmark'
    lacks perf/g.md BM_dot
    kelvin run g --set workload.g.filter=ZZZ
    exits 4
    said "none of its 2 benchmarks has 'ZZZ' in its name"
}

@test "benchmarks whose program no baseline keeps are gated by what was measured then" {
    cat >crit.sh <<'S'
#!/bin/sh
mkdir -p crit/sum/new
printf '{"group_id":"sum","function_id":null,"value_str":null,"throughput":null,"full_id":"sum"}' >crit/sum/new/benchmark.json
printf '{"mean":{"point_estimate":%s}}' "$(cat ns)" >crit/sum/new/estimates.json
S
    echo 100.0 >ns
    printf '[workload c]\ncommand = sh crit.sh\ncollect = benchmarks\nresults = crit\nruns = 6\n' >>kelvin.conf
    kelvin run -q c --save base
    exits 0
    echo 150.0 >ns
    kelvin run c --against base
    [ "$status" = 3 ] || [ "$status" = 4 ] || fail "half as slow again: exit code $status" "$stderr"
    said "c: sum' is" # more than the 5% that check.max-regression allows, or not decided on a busy machine
    echo 100.0 >ns
    kelvin run c --against base
    [ "$status" = 0 ] || [ "$status" = 4 ] || fail "the same: exit code $status" "$stderr"
}

@test "a gate does not pass where slow runs come more often and the mean grows" {
    local opts=(--set workload.small.decide-time=0 --set workload.small.runs=60 --set workload.small.max-regression=40)
    kelvin run -q --save base "${opts[@]}"
    exits 0
    kelvin run --against base --set 'build.env=CFLAGS="-O2 -g -DSLOW=9"' "${opts[@]}"
    exits 4
    said 'the mean is +'
    kelvin run --against base "${opts[@]}"
    exits 0
    said 'in the median than'
}

@test "a benchmark that is gone leaves the gate open, and summary and annotations name it" {
    cat >gbench.sh <<'S'
#!/bin/sh
t='"run_type":"iteration","time_unit":"ns","real_time":10.0,"cpu_time":10.0'
echo '{"benchmarks":[{"name":"BM_sum",'"$t"'},{"name":"'"$(cat name)"'",'"$t"'}]}' >g.json
S
    chmod +x gbench.sh
    echo BM_old >name
    printf '[workload g]\ncommand = ./gbench.sh\ncollect = benchmarks\nresults = g.json\nruns = 6\n' >>kelvin.conf
    kelvin run g --save base
    exits 0
    said "saved as the baseline 'base'"
    kelvin run -q g --against base
    exits 0
    echo BM_new >name
    kelvin run g --against base --format github
    exits 4
    [[ $output == *"lost a benchmark"*"BM_old"* ]] || fail "$output"
    has perf/summary.md "no 'BM_old' any more"
    has perf/README.md '2 benchmarks; the slowest is '
    lacks perf/README.md 'table below'
    kelvin history
    [[ $output == *"g: BM_new"* && $output == *"g: BM_old (not in the newest run)"* ]] || fail "$output"
}

@test "the summary has all that keeps a workload from being ok" {
    printf 'allocations <= 0\nleaked == 1\n' >strict.rules
    kelvin run -q --set workload.small.collect=heap --set workload.small.rules=strict.rules --save base
    exits 3
    has perf-failed/summary.md 'rule failed: allocations <= 0; rule failed: leaked == 1'
    [ ! -e perf/summary.md ]
    echo 'scatter <= 100% over 50 runs' >open.rules
    kelvin run -q --set workload.small.collect=bench --set workload.small.rules=open.rules
    exits 4
    has perf/summary.md 'rule inconclusive: scatter <= 100% over 50 runs |'
}

@test "a workload alone leaves the pages of the others, with the run that made them" {
    printf '[workload other]\ncommand = ./app\ncollect = bench heap\nruns = 2\n' >>kelvin.conf
    kelvin run -q
    exits 0
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m two
    for again in 1 2; do
        kelvin run -q small
        exits 0
        has perf/other.html 'other'
        [ -s perf/other.heap.kelvin ] || fail "$(ls perf)"
        has perf/index.html 'Not run this time'
        has perf/README.md "other.md.*"
        has perf/README.md "| other | ok | .*commit $(git rev-parse --short=12 HEAD~1)"
        has perf/summary.md "Not run this time: other (ok; .*commit $(git rev-parse --short=12 HEAD~1))"
        [ "$(jq -c '[.workloads[].name, .carried[].name]' perf/run.json)" = '["small","other"]' ] || fail "$again"
    done
    kelvin run -q other --set 'workload.other.command=false' --set workload.other.collect=bench
    exits 1
    kelvin run -q small
    exits 0
    has perf-failed/summary.md other # it failed, and was not run since
    sed -i 's/workload other/workload third/' kelvin.conf
    kelvin run -q small
    exits 0
    [ ! -e perf/other.html ] || fail "a workload that the suite no longer has"
    kelvin run -q
    exits 0
    lacks perf/index.html 'Not run this time'
}

@test "a C++ program passes 'leaked == 0', a leak is named, and a list of known leaks is heeded" {
    printf '#include <cstdio>\n#include <cstdlib>\n#include <string>\nstatic void *lose(size_t n) { return malloc(n); }\n%s\n' \
        'int main(int n, char **) { std::string s(100, 65); puts(s.c_str()); void *volatile p = n > 1 ? lose(64) : 0; return p == (void *)1; }' >app.cc
    c++ -x c++ app.cc -o probe 2>/dev/null || skip "no C++ compiler"
    sed -i 's/app app.c/app app.cc -lstdc++/; s/"-O2 -g"/"-O0 -g"/; s/^collect.*/collect = heap\nrules = app.rules/' kelvin.conf
    printf 'leaked == 0\n' >app.rules
    kelvin run
    exits 0
    has perf/small.md 'without .* that runtimes keep on purpose'
    kelvin run --set 'workload.small.command=./app x'
    exits 3
    said 'most by lose'
    printf 'leak:lose\n' >known.supp
    kelvin run --set 'workload.small.command=./app x' --set check.suppressions=known.supp
    exits 0
    kelvin check perf/small.heap.kelvin app.rules
    exits 3
    kelvin check perf/small.heap.kelvin app.rules --suppressions known.supp
    exits 0
    kelvin run --set check.suppressions=gone.supp
    exits 1
    said gone.supp
    silent '[1/7]'
}

@test "a library's function that grew is named with its caller in the program" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    cat >app.c <<'C'
#include <stdlib.h>
#ifndef TIMES
#define TIMES 1
#endif
__attribute__((noinline)) static void split(void *volatile *p)
{
    for (int i = 0; i < TIMES * 20000; i++) {
        *p = malloc(40);
        free(*p);
    }
}
int main(void)
{
    void *volatile p;
    split(&p);
    return 0;
}
C
    sed -i 's/^collect.*/collect = bench instructions cache/' kelvin.conf
    kelvin run -q --save base
    exits 0
    kelvin run --against base --set 'build.env=CFLAGS="-O2 -g -DTIMES=30"'
    exits 3
    [[ $stderr == *"look at "*alloc*"-> "*" instructions"*"in the project's own code split: "* ||
        $stderr == *"look at "*free*"-> "*" instructions"*"in the project's own code split: "* ]] || fail "$stderr"
    has perf-failed/summary.md split
}
