#!/usr/bin/env bats
# What a suite collects besides CPU samples: rules, memory errors, heap, scopes, metrics, benchmarks, variants, sanitizers.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too
load ../lib/helpers
load ../lib/suite

@test "rules that do not hold exit with 3, wrong rules are told with their place" {
    printf 'self suspect <= 5%%\n' >perf.rules
    kelvin run --set check.rules=perf.rules --format gitlab
    exits 3
    said "rule failed: self suspect <= 5%"
    said "workload 'small': failed its rules"
    has perf-failed/summary.md '^### .*: failed its rules$'
    has perf-failed/index.html 'rules: 0 passed, 1 failed, 0 inconclusive'
    has perf-failed/summary.md '^| small | failed its rules |'
    [ "$(jq -r .outcome perf-failed/run.json)" = rules ] || fail "the key changed"
    python3 -c 'import json, sys; n, = json.loads(sys.argv[1])
assert n["location"] == {"path": "perf.rules", "lines": {"begin": 1}}, n' "$output" || fail "report: $output"
    kelvin run --set check.rules=perf.rules --set 'workload.small.command=./app 1' \
        --set workload.small.pool-time=0
    exits 4
    said "no recording to check the rules against"
    printf 'self suspect <> 5%%\nscatter <= 5\nsamples many\n' >perf.rules
    kelvin run --set check.rules=perf.rules
    [ "$(grep -o 'perf.rules:[0-9]*' <<<"$stderr" | tr '\n' ' ')" = "perf.rules:1 perf.rules:2 perf.rules:3 " ] ||
        fail "not in the order of the file: $stderr"
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

@test "over sizes a suite shows how scopes grow, per item where its workloads count items, and rules may ask for both" {
    scopes_suite
    sed -i 's/int main(void)/#include <stdlib.h>\nint main(int c, char **v)/; s/i < 500/i < 1600 \/ (unsigned)atoi(v[c - 1])/;
        s/request(200000 + i % 7 \* 10000)/request(200000 * (unsigned)atoi(v[c - 1]))/' serve.c
    sed -i '/^.workload/,$d' kelvin.conf
    for n in 1 2 4; do
        printf '[workload w%s]\ncommand = ./serve %s\ncollect = cpu scopes bench\nruns = 2\nmin-samples = 1\nsize = %s\nitems = %s requests\n' \
            "$n" "$n" "$n" $((1600 / n)) >>kelvin.conf
    done
    printf 'rules = scopes.rules\n' >>kelvin.conf
    printf 'growth total 0.2..5\ngrowth request >= 0.2\n' >scopes.rules
    kelvin run
    # Each takes twice as long per item as the one before, and all take the same: without items the total would not grow.
    [[ $stderr == *"w4: rules: "*", 0 failed"* ]] || fail "$stderr"
    has perf*/README.md 'Costs are per item. Items per run, by size: 1600, 800 and 400'
    has perf*/README.md 'Scopes by total time'
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
    # As the number itself goes: less of it is below 1.
    [ "$(jq -c '.workloads[0].against["metric rate"] | [.ratio, .low, .high, .allowed] | map(. * 100 | round)' perf-failed/run.json)" = '[91,91,91,95]' ] ||
        fail "$(jq -c '.workloads[0].against' perf-failed/run.json)"
    WORK=9 kelvin run --against main
    [ "$status" = 0 ] || fail "a rate that rose: $status" "$stderr"
    [[ $stderr == *"rate 100 -> 111.1 points (+11.1%, "*": better"* ]]
    WORK=11 kelvin run --against main --set metric.rate.max-regression=20% --set metric.loss.gate=no
    [ "$status" = 0 ] || fail "within its own limit: $status" "$stderr"
    WORK=10 kelvin run -q --set workload.small.collect=heap
    [ "$status" = 0 ] || fail "less of a workload, for once: $status" "$stderr"
}

@test "a number that no run gives makes the run incomplete, and is named" {
    with_metrics
    printf '[metric lost]\npattern = nowhere ([0-9]+)\n' >>kelvin.conf
    WORK=10 kelvin run
    [ "$status" = 4 ]
    [[ $stderr == *"small: no metric lost: its pattern matched a number in the output of no run"* ]]
    has perf-failed/small.md 'absent: metric lost'
    # What stands before the end of a long output is not searched: that is said.
    printf '#!/bin/sh\necho nowhere 7\nyes | head -c 200000\n' >long
    chmod +x long
    WORK=10 kelvin run --set workload.small.command=./long
    [ "$status" = 4 ]
    said "small: no metric lost: its pattern matched no number in the last 64 KiB of any run's output"
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
    said "small: metric once: 1 of 10 runs did not give it"
    said "small: metric rate: its pattern matches up to 2 numbers in a run, of which the last counts"
    has perf/small.md 'metric rate: its pattern matches up to 2 numbers'
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
    FLAGS=-DREPEAT=1 kelvin run --set workload.kernels.command=false
    exits 1
    said "workload 'kernels': failed"
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
    # One that does not build, and one that ends badly: each is named, the others are compared.
    printf '#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n' >die.h
    printf '[variant dies]\nenv = CFLAGS="-O1 -DWORK=100 -include die.h"\n' >>kelvin.conf
    printf '[variant broken]\nenv = CFLAGS=-nosuchflag\n' >>kelvin.conf
    kelvin run
    [ "$status" = 4 ] || fail "$status" "$stderr"
    [[ $stderr == *$'\n        cc: error:'* ]] || fail "lines of the build: $stderr"
    [[ $stderr == *"small: no variant broken: its build ended with exit code 1"* ]]
    has perf-failed/small.md 'absent: variant broken.*its build ended with exit code 1'
    has perf-failed/summary.md 'no variant broken: its build ended'
    has perf-failed/small.md 'absent: variant dies\*\*: it ended with signal 6'
    has perf-failed/small.md '| twice |'
    ! grep -q '^| dies' perf-failed/small.md || fail "$(cat perf-failed/small.md)"
    [[ "$(jq -r '.workloads[0].variants_absent[]' perf-failed/run.json)" == "broken: its build ended with exit code 1"* ]] ||
        fail "$(jq -c '.workloads[0] | .variants_absent, .variants' perf-failed/run.json)"
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
    ! grep -q 'How to read it\|flame graph' perf/small.md || fail "it explains what the page does not have"
    has perf/small.md 'No findings.'
    kelvin run --set 'workload.small.command=./faulty 4'
    [ "$status" = 3 ] || fail "one past the end: $status" "$stderr"
    has perf-failed/small.md '^heap-buffer-overflow in main (faulty.c:7): WRITE of size 4$'
    has perf-failed/summary.md 'has findings'
    [[ $stderr == *"found: 1 by AddressSanitizer (heap-buffer-overflow in main (faulty.c:7): WRITE of size 4)"* && $stderr != *rules* ]] || fail "$stderr"
    kelvin run --set 'workload.small.command=./faulty 100000000' --set workload.small.collect=ubsan
    [ "$(jq -c '.workloads[0].ubsan_findings' perf-failed/run.json)" = 1 ] || fail "$(cat perf-failed/run.json)"
    has perf-failed/small.md "^signed integer overflow in main (faulty.c:8): "
    kelvin run --set 'build.command=cc faulty.c -o faulty'
    [ "$status" = 4 ] || fail "a build that does not heed CFLAGS: $status" "$stderr"
    [[ $stderr == *"small: no asan: the program that was built has no trace of it"* ]]
}
