#!/usr/bin/env bats
# Claims about measured runs, held against a suite's benchmarks, commands, metrics and simulated caches.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# A program with benchmarks that declare their work, and a command that prints a number; neither needs a recording.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cat >kernels.c <<'C'
#include <kelvin_bench.h>
#include <stdio.h>
static float xs[4096];
__attribute__((noinline)) static float dot(const float *x, size_t n)
{
    float s = 0;
    for (size_t i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}
BENCH_OVER(dot, n, 256, 4096) { kelvin_flops(2.0 * n); kelvin_items(n); BENCH_LOOP { KELVIN_KEEP(dot(xs, n)); } }
int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == 'r') {
        float s = 0;
        for (int i = 0; i < 2000; i++)
            s += dot(xs, 4096);
        return printf("score: %d\n", 40 + (s > 1)) < 0;
    }
    return kelvin_main(argc, argv);
}
C
    cat >kelvin.conf <<CONF
[build]
command = cc -O1 -g -I$ROOT/include kernels.c -o kernels $(dirname "$KELVIN")/libkelvin_bench.a -lm
[workload kernels]
command = ./kernels
collect = benchmarks
runs = 7
rules = micro.rules
[workload whole]
command = ./kernels run
collect = bench
runs = 7
rules = whole.rules
[metric score]
workload = whole
pattern = "score: ([0-9]+)"
better = higher
CONF
    printf 'time dot/n=256 0.001..1 s\n' >micro.rules
    printf 'memory <= 100 GiB\n' >whole.rules
}

@test "rules about benchmarks pass, fail and are open, without a recording" {
    cat >micro.rules <<'R'
time dot/n=256 0.001..1000 us
time dot/n=4096 <= 1 ns
scatter dot/n=256 <= 100 % over 50 runs
gflops dot/n=256 >= 0.001
rate dot/n=4096 >= 1000
self dot <= 90%
R
    kelvin run kernels
    [ "$status" = 3 ] || fail "$status" "$stderr"
    [[ $stderr == *"rule failed: time dot/n=4096 <= 1 ns (dot/n=4096: median of 7 runs: its 95% interval"* ]] || fail "$stderr"
    [[ $stderr == *"rule inconclusive: scatter dot/n=256 <= 100 % over 50 runs (7 runs were made, and the rule needs 50)"* ]] || fail "$stderr"
    [[ $stderr == *"rule inconclusive: self dot <= 90% (there is no recording to check it against)"* ]]
    [[ $stderr == *"kernels: rules: 3 passed, 1 failed, 2 inconclusive"* ]]
    grep -q 'GFLOP/s' perf-failed/kernels.md || fail "no rate on the page"
    [ "$(jq '[.workloads[0].rules[] | select(.verdict == "passed")] | length' perf-failed/run.json)" = 3 ]
    jq -e '.workloads[0].benchmarks["dot/n=256"].r2' perf-failed/run.json >/dev/null || fail "no R2 in run.json"
}

@test "rules about whole runs: time, memory, metrics; a name that is not there is told with those that are" {
    cat >whole.rules <<'R'
time 0.000001..1000 s
memory <= 100 GiB
metric score 40..41
R
    kelvin run whole
    [ "$status" = 0 ] || fail "$status" "$stderr"
    [[ $stderr == *"whole: rules: 3 passed, 0 failed, 0 inconclusive"* ]]
    grep -q '| scatter |' perf/whole.md || fail "no scatter in the table"
    printf 'metric score >= 50\nmemory <= 1 KiB\n' >whole.rules
    kelvin run whole
    [ "$status" = 3 ]
    [[ $stderr == *"rules: 0 passed, 2 failed"* ]]
    printf 'metric scores >= 50\ntime dto <= 5 s\n' >whole.rules
    kelvin run whole
    [ "$status" = 1 ] || fail "$status" "$stderr"
    [[ $stderr == *"whole.rules:1:8: there is no metric 'scores'; there are: score"* ]] || fail "$stderr"
    [[ $stderr == *"whole.rules:2:6: there is no benchmark 'dto'"* ]]
}

@test "memory that grew since the baseline fails a rule that names both figures; the same program does not" {
    cat >kernels.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef MIB
#define MIB 32
#endif
int main(void)
{
    char *volatile all = malloc((size_t)MIB << 20);
    memset(all, 7, (size_t)MIB << 20);
    return printf("score: %d\n", 40 + (all[MIB] > 7)) < 0;
}
C
    sed -i 's/^command = cc .*/command = cc -O1 $CFLAGS kernels.c -o kernels/' kelvin.conf
    sed -i 's/^collect = bench$/collect = bench\ndecide-time = 0/' kelvin.conf
    printf 'diff memory <= +5%%\n' >whole.rules
    kelvin run whole --save main
    [ "$status" = 0 ] || fail "$status" "$stderr"
    kelvin run whole --against main --set check.gates=instructions --set metric.score.gate=no
    [ "$status" = 0 ] || fail "$status" "$stderr"
    [[ $stderr == *"whole: rules: 1 passed"* ]] || fail "$stderr"
    kelvin run whole --against main --set check.gates=instructions --set metric.score.gate=no --set build.env=CFLAGS=-DMIB=40
    [ "$status" = 3 ] || fail "$status" "$stderr"
    [[ $stderr == *"rule failed: diff memory <= +5% (from 3"*" MiB to 4"*" MiB, medians of 7 and 7 runs: "* ]] || fail "$stderr"
    kelvin run whole --against main --set check.gates=instructions --set metric.score.gate=no --set workload.whole.collect=cpu --set workload.whole.min-samples=1
    [ "$status" = 1 ] || fail "$status" "$stderr"
    [[ $stderr == *"no whole runs of the command were measured"* ]] || fail "$stderr"
}

@test "simulated misses are held against numbers and the baseline, and one function is named" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    cat >whole.rules <<'R'
cache-misses dot <= 100000
l1-misses <= 500 per 1000
branch-misses dot <= 100 per 1000 instructions
R
    sed -i '/^\[metric/,$d' kelvin.conf
    kelvin run --set workload.whole.collect=cache --save main whole
    [ "$status" = 0 ] || fail "$status" "$stderr"
    printf 'diff l1-misses dot <= +1%%\ndiff branch-misses dot <= +1%%\n' >whole.rules
    kelvin run --set workload.whole.collect=cache --against main whole
    [ "$status" = 0 ] || fail "$status" "$stderr"
    sed -i 's/i = 0; i < n; i++/i = 0; i < n; i += 1 + (i % 7 == 3)/' kernels.c
    kelvin run --set workload.whole.collect=cache --set check.max-regression=1000% --against main whole
    [ "$status" = 3 ] || fail "$status" "$stderr"
    [[ $stderr == *"rule failed: diff branch-misses dot <= +1% (from "*", simulated: "* ]] || fail "$stderr"
}

@test "archived runs are stepped through, one figure is shown, and the index says at a glance what passed" {
    cat >app.c <<'C'
#include <stdio.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void work(void) { for (long i = 0; i < 60000000; i++) sink = sink * 31 + 7; }
int main(void) { work(); return printf("speed: 12\n") < 0; }
C
    cat >kelvin.conf <<'CONF'
[build]
command = cc -O2 -g -o app app.c
[workload app]
command = ./app
collect = cpu bench
runs = 2
min-samples = 20
rate = 1999
rules = app.rules
[metric speed]
pattern = "speed: ([0-9]+)"
better = higher
CONF
    printf 'hotspot work primary\nself work >= 50%%\n' >app.rules
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
    kelvin run -q --save main
    [ "$status" = 0 ] || fail "$status" "$stderr"
    head -5 perf/README.md | grep -q 'Passed: 1 of 1 workload ok; rules: 2 passed, 0 failed, 0 inconclusive' || fail "$(head -5 perf/README.md)"
    [ ! -e perf/app.diff.svg ]
    kelvin run -q --against main --set check.max-regression=1000%
    [ -s perf/app.diff.svg ] || fail "no drawing of what changed: $stderr"
    grep -q '2 passed' perf/index.html
    grep -q $'\xe2\x96' perf/index.html || fail "no last runs on the index"
    kelvin history --flame
    [ "$status" = 1 ]
    kelvin history --flame -o steps.html
    [ "$status" = 0 ] || fail "$stderr"
    [ "$(grep -c '<section>' steps.html)" = 2 ] || fail "$(grep -c '<section>' steps.html)"
    grep -q 'work' steps.html
    kelvin history --metric speed
    [[ $output == *"app: speed"* ]]
    [[ $output != *"app: CPU time"* ]]
    kelvin history --metric nosuch
    [ "$status" = 1 ]
}

@test "counters of a recording are one group, and how much of the time they counted is told" {
    kelvin record -q --min-samples 0 -e page-faults,minor-faults -o faults.kelvin -- sh -c 'for i in 1 2 3 4 5; do /bin/true; done'
    [ "$status" = 0 ] || skip "$stderr"
    kelvin info faults.kelvin
    [[ $output == *"counters_running"*"page-faults "*"% of the time, minor-faults "* ]] || fail "$output"
    running=$(sed -n 's/.*page-faults \([0-9]*\)% of the time.*/\1/p' <<<"$output" | tail -1)
    [ "$running" -ge 95 ] && [ "$running" -le 105 ] || fail "$running% of the time"
}

# Instead of hardware events, which virtual machines lack, software events are opened. With ELSEWHERE what would be on CPU 0 watches
# the shell that waits: like a counter that took turns with others it is enabled, and does not count there. So does one for all CPUs,
# which is for CPU 0 alone then. What bench reads of them is a hundred times as much: nanoseconds are too few for instructions.
make_counters() {
    cat >counters.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ours;
ssize_t read(int fd, void *to, size_t n)
{
    ssize_t got = ((ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read"))(fd, to, n);
    if (got == 24 && fd == ours)
        *(unsigned long *)to *= 100;
    return got;
}
long syscall(long n, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"), a[6];
    va_list ap;
    va_start(ap, n);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    struct perf_event_attr at;
    if (n == SYS_perf_event_open && ((struct perf_event_attr *)a[0])->type == PERF_TYPE_HARDWARE) {
        at = *(struct perf_event_attr *)a[0];
        at.type = PERF_TYPE_SOFTWARE;
        at.config = PERF_COUNT_SW_TASK_CLOCK;
        a[0] = (long)&at;
        if (getenv("ELSEWHERE") && (int)a[2] == 0)
            a[1] = getppid();
        if (getenv("ELSEWHERE") && (int)a[2] == -1)
            a[2] = 0;
        return ours = real(n, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    return real(n, a[0], a[1], a[2], a[3], a[4], a[5]);
}
C
    cc -shared -fPIC -o counters.so counters.c -ldl
}

@test "of a counter the time that it counted is told, and that it took turns only where it did" {
    make_counters
    loop='i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
    LD_PRELOAD=$PWD/counters.so kelvin record --min-samples 0 -e cycles -o all.kelvin -- sh -c "$loop"
    [ "$status" = 0 ] || skip "$stderr"
    [[ $stderr != *"too few counters"* ]] || fail "$stderr"
    kelvin info all.kelvin
    running=$(sed -n 's/.*cycles \([0-9]*\)% of the time.*/\1/p' <<<"$output" | tail -1)
    [ "$running" -ge 90 ] && [ "$running" -le 105 ] || fail "$running% of the time"
    ELSEWHERE=1 LD_PRELOAD=$PWD/counters.so kelvin record --min-samples 0 -e cycles -o half.kelvin -- taskset -c 0 sh -c "$loop"
    [[ $stderr == *"the CPU has too few counters: cycles counted "*"% of the time"* ]] || fail "$stderr"
    [ "$(nproc)" -gt 1 ] || skip "one CPU"
    ELSEWHERE=1 LD_PRELOAD=$PWD/counters.so run --separate-stderr taskset -c 0 "$KELVIN" bench --count instructions --runs 2 --warmup 0 \
        -- "taskset -c 1 sh -c '$loop'"
    [ "$status" = 1 ] && [[ $stderr == *"no count of instructions of "*": another program, or kernel.nmi_watchdog, used the CPU's counters"* ]] ||
        fail "$status $stderr"
}

@test "runs that follow one another within a second are all in the archive, in their order" {
    printf '#include <stdio.h>\nint main(void) { volatile long n = 0; for (long i = 0; i < 30000000; i++) n += i; return 0; }\n' >app.c
    cc -O2 -g -o app app.c
    printf '[workload app]\ncommand = ./app\ncollect = cpu\nmin-samples = 1\n' >kelvin.conf
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
    for i in 1 2 3 4; do
        git -c user.name=t -c user.email=t@t commit -q --allow-empty -m "$i"
        kelvin run -q
        [ "$status" = 0 ] || fail "$status" "$stderr"
        [ "$(find .kelvin/archive -name app.kelvin | sort | tail -1 | grep -c "$(git rev-parse HEAD | cut -c1-12)")" = 1 ] ||
            fail "not the last: $(find .kelvin/archive)"
    done
    [ "$(find .kelvin/archive -name app.kelvin | wc -l)" = 4 ] || fail "$(find .kelvin/archive)"
}

@test "of several workloads in the archive one is to be named, whatever its name is" {
    printf '#include <stdio.h>\nint main(void) { volatile long n = 0; for (long i = 0; i < 30000000; i++) n += i; return 0; }\n' >app.c
    cc -O2 -g -o app app.c
    printf '[workload v1.2]\ncommand = ./app\nmin-samples = 1\npool-time = 0\nrecordings = 2\n' >kelvin.conf
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
    kelvin run -q
    [ "$status" = 0 ] || fail "$status" "$stderr"
    kelvin history --flame -o steps.html
    [[ $status = 0 && $stderr == *"steps.html has 1 run to step through"* ]] || fail "$status" "$stderr"
    printf '[workload b]\ncommand = ./app\nmin-samples = 1\npool-time = 0\n' >>kelvin.conf
    kelvin run -q b
    kelvin run -q
    kelvin report @last
    [[ $status = 1 && $stderr == *"'@last' has 2 recordings; name one: @last:b, @last:v1.2"* ]] || fail "$status" "$stderr"
    kelvin report @last:v1.2
    [ "$status" = 0 ] || fail "$stderr"
    # Runs of another workload, and without a recording, change nothing about that.
    kelvin run -q b
    kelvin run -q b --set workload.b.collect=bench --set workload.b.runs=2
    for name in @last @HEAD; do
        kelvin report $name:v1.2
        [ "$status" = 0 ] || fail "$name: $stderr"
    done
    kelvin info @last
    [[ $status = 0 && $output == *b.kelvin* ]] || fail "the newest recording is of b: $output $stderr"
    kelvin info @last:nosuch
    [[ $status = 1 && $stderr == *"'@last' has no recording of 'nosuch'"* ]] || fail "$stderr"
    kelvin history --flame -o steps.html
    [[ $status = 1 && $stderr == *"archived runs have recordings of 2 workloads; name one: b, v1.2"* ]] || fail "$status" "$stderr"
    kelvin history v1.2 --flame -o steps.html
    [[ $status = 0 && $stderr == *"steps.html has 2 runs to step through"* ]] || fail "$status" "$stderr"
    kelvin history nosuch --flame -o steps.html
    [[ $status = 1 && $stderr == *"no archived run has a recording of 'nosuch'; there are: b, v1.2"* ]] || fail "$status" "$stderr"
}

@test "without a PMU, record says which event it lacks and where counts can be had" {
    kelvin record -q -o none.kelvin -e cycles,instructions -- true
    [ "$status" != 0 ] || skip "this machine has a PMU"
    [[ $stderr == *"no event 'cycles'"*"kelvin bench --count instructions,cache-misses COMMAND"* ]] || fail "$stderr"
}
