# Benchmarks in programs of one's own: kelvin_bench.h and the library behind it. Real programs are
# built against it and run; times are only compared with each other, the best of several tries.
load ../lib/helpers

LIB=$(dirname "$KELVIN")/libkelvin_bench.a
CHECKS="-fsanitize=address,undefined -fno-sanitize-recover=all"
# The library of the checked build is itself checked, so its programs must be.
CC=gcc CXX=g++ FLAGS=""
[ -z "${KELVIN_SANITIZED:-}" ] || CC=clang CXX=clang++ FLAGS=$CHECKS
STRICT="-Wall -Wextra -Wpedantic -Wshadow -Werror"
SHORT="--warm-up 0.005 --time 0.04 --samples 20"

# Build ./bench from C on standard input, with more options if given.
build() { # [OPTION]...
    { printf '#include <kelvin_bench.h>\n#line 1 "bench.c"\n'; cat; } >bench.c
    # shellcheck disable=SC2086
    "$CC" -std=gnu11 -O2 $STRICT $FLAGS -I"$ROOT/include" "$@" -o bench bench.c "$LIB" -lm -pthread
}

# Work that takes a time in proportion to its number.
spin='__attribute__((noinline, unused)) static void spin(size_t n)
{ for (size_t i = 0; i < n; i++) __asm__ volatile("" : "+r"(i)); }'

# Run ./bench for a short time; $output is what it printed.
bench() {
    # shellcheck disable=SC2086
    run --separate-stderr ./bench $SHORT "$@"
}

# The number under KEY in the record of NAME, of a run with --json.
number() { # NAME KEY
    sed -n "s|^{\"name\":\"$1\",.*\"$2\":\([-0-9.e+]*\)[,}].*|\1|p" <<<"$output"
}

# Standard error has a line with every WORD.
# shellcheck disable=SC2154  # run sets stderr
says() { # WORD...
    local word
    for word in "$@"; do
        [[ $stderr == *"$word"* ]] || fail "no '$word' in: $stderr"
    done
}

# Of the rounds of a benchmark the shortest, per iteration, what the loop costs taken off: whatever
# else the machine does only makes rounds longer.
shortest() { # NAME
    # shellcheck disable=SC2086
    ./bench $SHORT --json "$1" | python3 -c '
import json, sys
r = [json.loads(line) for line in sys.stdin][1]
print(min(t / c for t, c in zip(r["times"], r["counts"])) - r["overhead_ns"])'
}

# The least of some runs of a benchmark: what the machine does beside it only makes it slower.
best() { # NAME KEY
    local i least=
    for i in 1 2 3 4 5; do
        bench --json "$1"
        least=$(awk -v a="$(number "$1" "$2")" -v b="${least:-1e99}" 'BEGIN { print a + 0 < b + 0 ? a : b }')
    done
    echo "$least"
}

holds() { # EXPRESSION of awk
    awk "BEGIN { exit !($1) }" || fail "not true: $1"
}

@test "one program is C11 and C++11 and later, for gcc and clang, without a warning" {
    cat >all.c <<'END'
#include <kelvin_bench.h>
struct pair { double a[3]; };
static struct pair make(void) { struct pair p = {{1, 2, 3}}; return p; }
static int xs[10];
BENCH(values)
{
    int i = 1;
    float f = 2;
    KELVIN_HIDE(i);
    KELVIN_HIDE(xs);
    BENCH_LOOP
    {
        KELVIN_KEEP(i);
        KELVIN_KEEP(f * (float)i);
        KELVIN_KEEP(make());
        KELVIN_KEEP(&xs[1]);
        KELVIN_KEEP(xs);
        KELVIN_KEEP('c');
        KELVIN_CLOBBER();
    }
}
BENCH(linux) { BENCH_LOOP {} }
BENCH_OVER(sizes, n, 1, 2) { kelvin_bytes((double)n); BENCH_LOOP { KELVIN_KEEP(n); } }
BENCH_OVER(unused, n, 1) { BENCH_LOOP {} }
BENCH_THREADS(threads, 1, 2) { kelvin_items(1); BENCH_LOOP { KELVIN_KEEP(kelvin_thread()); } }
BENCH_MAIN
END
    local how
    for how in "gcc -std=c11" "clang -std=c11" "gcc -std=gnu2x" "g++ -xc++ -std=c++11" \
        "clang++ -xc++ -std=c++11" "g++ -xc++ -std=c++20" "clang++ -xc++ -std=c++20"; do
        # shellcheck disable=SC2086
        $how $STRICT -O1 -I"$ROOT/include" -fsyntax-only all.c || fail "$how"
    done
    # shellcheck disable=SC2086
    "$CXX" -O2 $FLAGS -I"$ROOT/include" -xc++ all.c -xnone "$LIB" -lm -pthread -o bench
    bench --list
    prints "$(printf '%s\n' values linux sizes/n=1 sizes/n=2 unused/n=1 threads/threads=1 threads/threads=2)"
    bench
    exits 0
    # Whatever the unit: two threads on a busy CPU take turns.
    [ "$(grep -cE ' [num]?s ' <<<"$output")" -eq 7 ] || fail "$output"
}

@test "the example runs and its table has a row for each value" {
    # shellcheck disable=SC2086
    "$CC" -O2 $STRICT $FLAGS -I"$ROOT/include" "$ROOT/examples/bench_sum.c" "$LIB" -lm -pthread -o bench
    bench
    exits 0
    [[ ${lines[0]} == benchmark*time*"95% interval"*"CPU time"*R^2*outliers*throughput ]]
    [[ ${lines[1]} == "sum/n=1000 "*" .. "*" of 20"*B/s*/s ]] || fail "${lines[1]}"
    [[ ${lines[4]} == "sum_lanes/n=100000 "* ]] || fail "${lines[4]}"
}

@test "an empty benchmark reads 0 within its interval, and the harness costs less than 1 ns" {
    build <<<'BENCH(null) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench
    [[ ${lines[1]} == "null  "*" 0 ns  0 .. "*" ns "* ]] || fail "$output"
    [ "$(best null low)" = 0 ]
    holds "$(best null ns) < 1"
}

@test "work that the compiler removed is called that, work that is kept is not" {
    build <<<"$spin
        static int twice(int v) { return 2 * v; }
        BENCH(gone) { int r = 0; BENCH_LOOP { r = twice(3); } (void)r; }
        BENCH(kept) { BENCH_LOOP { spin(2000); } }
        BENCH_MAIN"
    bench
    exits 0
    [[ $output == *"gone "*" 0 ns  0 .. "*"takes no longer than an empty loop"*"kept "* ]] || fail "$output"
    [ "$(grep -c "empty loop" <<<"$output")" -eq 1 ] || fail "$output"
}

@test "beside others on the same CPU, CPU time stays what it was, and the table says which to trust" {
    [ -z "$FLAGS" ] || skip "the scheduler does the same to the checked build"
    command -v taskset >/dev/null || skip "needs taskset"
    build <<<"$spin
        BENCH(work) { BENCH_LOOP { spin(1000); } }
        BENCH(pauses) { BENCH_LOOP { spin(1000); kelvin_pause(); kelvin_resume(); } }
        BENCH_MAIN"
    local cpu alone pressed ratio try pids=()
    cpu=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
    alone=$(best work cpu_ns)
    for try in 1 2 3; do
        taskset -c "$cpu" sh -c 'while :; do :; done' 3>&- &
        pids+=($!)
    done
    for try in 1 2 3 4 5; do
        # shellcheck disable=SC2086
        output=$(taskset -c "$cpu" ./bench $SHORT --time 0.3 --json work)
        pressed=$(number work cpu_ns) ratio=$(awk "BEGIN { print $(number work ns) / $pressed }")
        awk "BEGIN { exit !($ratio > 2 && $pressed < 2 * $alone) }" && break
    done
    # shellcheck disable=SC2086
    output=$(taskset -c "$cpu" ./bench $SHORT --time 0.3)
    kill "${pids[@]}"
    holds "$ratio > 2 && $pressed < 2 * $alone"
    [[ $output == benchmark*" CPU time "*"The machine was busy: in "*"CPU time leaves such waits out"* ]] || fail "$output"
    [[ $output == *$'\n'"pauses "*"   -  "* ]] || fail "$output"
}

@test "a short function takes as long as in a loop timed by hand" {
    [ -z "$FLAGS" ] || skip "the checked build has other costs"
    # Where a loop happens to lie can double its time: both at the start of a line of the cache.
    build -falign-functions=64 -falign-loops=64 <<<"#include <stdio.h>
        #include <time.h>
        $spin
        static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return 1e9 * (double)t.tv_sec + (double)t.tv_nsec; }
        BENCH(twenty) { BENCH_LOOP { spin(20); } }
        int main(int argc, char **argv)
        {
            double least = 1e9, start;
            for (int r = 0; argc < 2 && r < 200; r++) {
                start = now();
                for (size_t i = 0; i < 1000; i++)
                    spin(20);
                least = now() - start < least * 1000 ? (now() - start) / 1000 : least;
            }
            return argc < 2 ? printf(\"%g\\n\", least) < 0 : kelvin_main(argc, argv);
        }"
    local by_hand here try
    for try in 1 2 3 4 5; do
        by_hand=$(./bench) here=$(shortest twenty)
        awk "BEGIN { d = $here - $by_hand; exit !(d < 1 && d > -1) }" && return
    done
    fail "by hand $by_hand ns, here $here ns"
}

@test "three times the work takes three times as long" {
    build <<<"$spin
        BENCH(one) { BENCH_LOOP { spin(1000); } }
        BENCH(three) { BENCH_LOOP { spin(3000); } }
        BENCH_MAIN"
    local ratio try
    for try in 1 2 3 4 5; do
        ratio=$(awk "BEGIN { print $(shortest three) / $(shortest one) }")
        awk "BEGIN { exit !($ratio > 2.7 && $ratio < 3.3) }" && return
    done
    fail "$ratio times as long"
}

@test "what stands before and after the loop runs once and is not timed" {
    build <<<"#include <stdio.h>
        #include <unistd.h>
        $spin
        BENCH(one)
        {
            fprintf(stderr, \"before \");
            usleep(20000);
            BENCH_LOOP { spin(10); }
            fprintf(stderr, \"after\");
        }
        BENCH_MAIN"
    bench --json
    exits 0
    [ "$stderr" = "before after" ] || fail "$stderr"
    holds "$(best one ns) < 20000000 / 100"
}

@test "paused time does not count, but is not waited for either" {
    build <<<"#include <unistd.h>
        $spin
        BENCH(mostly) { BENCH_LOOP { spin(10); kelvin_pause(); usleep(2000); kelvin_resume(); } }
        BENCH(plain) { BENCH_LOOP { spin(2000); } }
        BENCH(paused) { BENCH_LOOP { spin(2000); kelvin_pause(); spin(20000); kelvin_resume(); } }
        BENCH_MAIN"
    holds "$(shortest paused) < 3 * $(shortest plain)"
    timeout "$(patience 3)" ./bench --warm-up 0.01 --time 0.1 --json mostly >one || fail "waited for what is paused"
    output=$(cat one)
    holds "$(number mostly ns) < 1000000"
}

@test "throughput is what an iteration does by what it takes" {
    build <<<"$spin
        BENCH(both) { kelvin_items(2); kelvin_bytes(4096); BENCH_LOOP { spin(1000); } }
        BENCH(wrong) { kelvin_items(-1); BENCH_LOOP {} }
        BENCH_MAIN"
    bench --json both
    [ "$(number both items) $(number both bytes)" = "2 4096" ] || fail "$output"
    bench both
    [[ ${lines[1]} == *B/s*/s ]] || fail "$output"
    bench wrong
    exits 1
    says "kelvin_items()"
}

@test "threads start together, each with its number, after thread 0 has set up" {
    build <<<'#include <stdatomic.h>
        #include <stdio.h>
        static atomic_long done[4];
        static int shared;
        BENCH_THREADS(count, 4, 1)
        {
            size_t me = kelvin_thread();
            if (me == 0)
                shared = 1;
            kelvin_items(1);
            BENCH_LOOP { done[me] += shared; }
            if (me == 0 && kelvin_threads() == 4)
                fprintf(stderr, "%d %d %d", done[0] == done[1], done[1] == done[2], done[2] == done[3]);
        }
        BENCH_MAIN'
    bench --json count/threads=4
    exits 0
    # Thread 0 prints while the others may still be on their way out, but not before their last round.
    [ "$stderr" = "1 1 1" ] || fail "$stderr"
    [ "$(number count/threads=4 items) $(number count/threads=4 threads)" = "4 4" ] || fail "$output"
    bench count
    [ "${#lines[@]}" -ge 3 ] || fail "$output"
}

@test "rounds grow in equal steps; a slow body gets fewer and equal ones" {
    build <<<"#include <unistd.h>
        $spin
        BENCH(fast) { BENCH_LOOP { spin(10); } }
        BENCH(slow) { BENCH_LOOP { usleep(10000); } }
        BENCH_MAIN"
    bench --json
    exits 0
    local counts
    counts=$(sed -n 's/.*"name":"fast".*"counts":\[\([^]]*\)\].*/\1/p' <<<"$output" | tr , '\n' | sort -g)
    [ "$(wc -l <<<"$counts")" -eq 20 ]
    [ "$(awk 'NR == 1 { d = $1 } $1 != d * NR' <<<"$counts")" = "" ] || fail "$counts"
    [[ $output == *'"name":"slow"'*'"sampling":"flat","counts":[1,1,1,1,1,1],'* ]] || fail "$output"
}

@test "two of the same name are an error that tells where" {
    cat >other.c <<'END'
#include <kelvin_bench.h>
BENCH(same) { BENCH_LOOP {} }
END
    build other.c <<<'BENCH(same) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench
    exits 1
    says "two have the name 'same'" bench.c:1 other.c:2
    build <<<'BENCH_OVER(size, n, 5, 6, 5) { BENCH_LOOP { KELVIN_KEEP(n); } }
        BENCH_MAIN'
    bench
    exits 1
    says "two have the name 'size/n=5'"
}

@test "parameters without values, and no threads, are errors" {
    STRICT=
    build <<<'BENCH_OVER(none, n) { BENCH_LOOP { KELVIN_KEEP(n); } }
        BENCH_MAIN'
    bench
    exits 1
    says "none (bench.c:1)" "no value is given for n"
    build <<<'BENCH_THREADS(idle, 0) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench
    exits 1
    says "idle (bench.c:1)" "cannot be run by 0 threads"
    build <<<'BENCH_MAIN'
    bench
    exits 1
    says "nothing to run" "BENCH("
}

@test "names and filters choose, and what chooses nothing says what there is" {
    build <<<'BENCH_OVER(sort, n, 1, 10) { BENCH_LOOP { KELVIN_KEEP(n); } }
        BENCH(resort) { BENCH_LOOP {} }
        BENCH(search) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench --list sort
    prints "$(printf 'sort/n=1\nsort/n=10')"
    bench --list sort/n=1 search
    prints "$(printf 'sort/n=1\nsearch')"
    bench --list --filter sort
    prints "$(printf 'sort/n=1\nsort/n=10\nresort')"
    bench --list --filter 'sort*10' --filter sea
    prints "$(printf 'sort/n=10\nsearch')"
    bench searhc
    exits 1
    says "'searhc'" "did you mean 'search'"
    bench --filter xyzxyz
    exits 1
    says "'xyzxyz'" "sort/n=1, sort/n=10, resort, search"
}

@test "bodies that are not benchmarks are named, and the others still run" {
    build <<<'BENCH(never) {}
        BENCH(breaks) { BENCH_LOOP { break; } }
        BENCH(returns) { BENCH_LOOP { return; } }
        BENCH(twice) { BENCH_LOOP {} BENCH_LOOP {} }
        BENCH(resumes) { BENCH_LOOP { kelvin_resume(); } }
        BENCH(pauses) { BENCH_LOOP { kelvin_pause(); } }
        BENCH_THREADS(leaves, 3) { if (kelvin_thread() != 1) BENCH_LOOP {} }
        BENCH(good) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench
    exits 1
    [[ $output == *$'\n'good* ]] || fail "$output"
    [ "$(grep -c '^./bench: ' <<<"$stderr")" -eq 7 ] || fail "$stderr"
    says "never (bench.c:1): never reaches BENCH_LOOP" "breaks (bench.c:2): leaves BENCH_LOOP by 'break'" \
        "returns (bench.c:3): leaves BENCH_LOOP by 'return'" "twice (bench.c:4): has two BENCH_LOOPs" \
        "kelvin_resume() without kelvin_pause()" "leaves/threads=3 (bench.c:7): never reaches"
}

@test "a benchmark that never ends is ended" {
    build <<<'#include <unistd.h>
        BENCH(stuck) { BENCH_LOOP { pause(); } }
        BENCH_MAIN'
    bench --limit 0.2
    exits 1
    says "stuck" "not over after 0.2 s" --limit
}

@test "a result that cannot be written is an error" {
    build <<<'BENCH(one) { BENCH_LOOP {} }
        BENCH_MAIN'
    # shellcheck disable=SC2086
    run -1 bash -c "./bench $SHORT 2>&1 >/dev/full"
    [[ $output == *"cannot write the results: No space left"* ]] || fail "$output"
    # shellcheck disable=SC2086
    run -1 bash -c "./bench $SHORT 2>&1 >&-"
    [[ $output == *"cannot write the results: "* ]] || fail "$output"
    run -1 bash -c "./bench --list --json 2>&1 >/dev/full"
    run -1 bash -c "KELVIN_BENCH_FD=77 ./bench 2>&1"
    [[ $output == *KELVIN_BENCH_FD=77* ]] || fail "$output"
}

@test "wrong options are refused, options come from the environment too" {
    build <<<'BENCH(one) { BENCH_LOOP {} }
        BENCH(two) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench --tmie 3
    exits 1
    says "did you mean '--time'"
    bench --samples 1
    exits 1
    says "--samples"
    KELVIN_BENCH_OPTIONS="--filter two --list" run -0 ./bench
    prints two
    KELVIN_BENCH_OPTIONS="two" bench
    exits 1
    says KELVIN_BENCH_OPTIONS
}

@test "kelvin bench is answered on its descriptor and nowhere else" {
    build <<<"#include <stdlib.h>
        $spin
        BENCH_OVER(size, n, 80) { kelvin_bytes(64); BENCH_LOOP { spin(n); } }
        BENCH(env) { if (getenv(\"KELVIN_BENCH_FD\") || getenv(\"KELVIN_BENCH_ASK\")) return; BENCH_LOOP {} }
        BENCH(bad) {}
        BENCH_MAIN"
    KELVIN_BENCH_FD=3 KELVIN_BENCH_ASK="warmup_ms=1 future=x measure_ms=5 samples=7" \
        run --separate-stderr ./bench 3>answer
    exits 1
    prints ""
    python3 - <<'END'
import json
lines = [json.loads(line) for line in open("answer")]
assert lines[0] == {"kelvin_bench": 1, "program": "./bench"}, lines[0]
size, env, bad, end = lines[1:]
assert size["name"] == "size/n=80" and size["param"] == "n" and size["size"] == 80, size
assert size["bytes"] == 64 and size["items"] == 0 and size["threads"] == 1, size
assert len(size["counts"]) == len(size["times"]) == 7, size
each = [t / c for t, c in zip(size["times"], size["counts"])]
assert min(each) <= size["ns"] + size["overhead_ns"] * 1.001 <= max(each) * 1.01, size
assert size["low"] <= size["ns"] <= size["high"] and size["overhead_ns"] > 0, size
assert env["name"] == "env" and "ns" in env and "param" not in env, env
assert bad["name"] == "bad" and "BENCH_LOOP" in bad["error"] and bad["exit"] == 1, bad
assert end == {"end": True, "exit": 1}, end
END
    KELVIN_BENCH_FD=3 KELVIN_BENCH_ASK="list=1 filter=i z" run -1 ./bench 3>answer
    KELVIN_BENCH_FD=3 KELVIN_BENCH_ASK="list=1 only=env" run -0 ./bench 3>answer
    [ "$(sed -n 2p answer)" = '{"name":"env"}' ]
    KELVIN_BENCH_FD=3 KELVIN_BENCH_ASK="samples=many" run -1 ./bench 3>answer
    [[ $output == *KELVIN_BENCH_ASK*many*samples* ]] || fail "$output"
}

@test "a program's own names do not meet the library's" {
    [ "$(nm --defined-only --extern-only "$LIB" | awk 'NF == 3 && $3 !~ /^kelvin_/ && $3 !~ /^__(odr_)?asan/ { print $3 }')" = "" ]
    build <<<'extern int mem_calloc, json_open, sample_slope, registry_add, opt_parse;
        int mem_calloc, json_open, sample_slope, registry_add, opt_parse;
        BENCH(one) { BENCH_LOOP {} }
        BENCH_MAIN'
    bench
    exits 0
}

@test "programs under the sanitizers can use the plain library" {
    [ -z "$FLAGS" ] || skip "the library of the checked build is checked itself"
    local compiler
    for compiler in gcc clang; do
        # shellcheck disable=SC2086
        echo 'int main(void) { return 0; }' | "$compiler" -xc - $CHECKS -o none 2>/dev/null ||
            skip "$compiler has no sanitizers here ('make check-all' installs them)"
        # shellcheck disable=SC2086
        "$compiler" -O1 $CHECKS -I"$ROOT/include" "$ROOT/examples/bench_sum.c" "$LIB" -lm -pthread -o bench
        bench
        exits 0
    done
}

@test "what is installed builds with pkg-config" {
    command -v pkg-config >/dev/null || skip "pkg-config is not installed (Debian: pkgconf)"
    cd "$ROOT"
    PREFIX=$BATS_TEST_TMPDIR/usr B=$(dirname "$KELVIN") tools/install.sh install
    cd "$BATS_TEST_TMPDIR"
    export PKG_CONFIG_PATH=$PWD/usr/lib/pkgconfig
    # shellcheck disable=SC2046,SC2086
    "$CC" -O2 $FLAGS "$ROOT/examples/bench_sum.c" $(pkg-config --cflags --libs kelvin) -o bench
    bench
    exits 0
}
