#!/usr/bin/env bats
# Proofs that a rewrite computes the same, and races: real programs with planted errors.
# shellcheck disable=SC2154  # run sets output, status, stderr
load ../lib/helpers

LIB=$(dirname "$KELVIN")/libkelvin_bench.a
# The library of the checked build is itself checked, so its programs must be.
CC=gcc CXX=g++ FLAGS=""
[ -z "${KELVIN_SANITIZED:-}" ] || CC=clang CXX=clang++ FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"
STRICT="-Wall -Wextra -Wpedantic -Wshadow -Werror"

build() { # COMPILER SOURCE PROGRAM [OPTION]...
    local compiler=$1 source=$2 program=$3
    shift 3
    # shellcheck disable=SC2086
    "$compiler" -O2 $STRICT $FLAGS -I"$ROOT/include" "$@" -o "$program" "$source" "$LIB" -lm
}

setup_file() {
    local name
    for name in planted vacuous tolerance; do
        build "$CC" "$ROOT/tests/target/equal/$name.c" "$BATS_FILE_TMPDIR/$name"
    done
}

# Run one proof of a program in tests/target/equal.
proof() { # PROGRAM NAME [OPTION]...
    run --separate-stderr "$BATS_FILE_TMPDIR/$1" --inputs 20000 "${@:2}"
}

# The proof NAME of planted.c is found wrong, in words that have every WORD.
caught() { # NAME WORD...
    local word
    proof planted "$1"
    exits 3
    for word in "${@:2}"; do
        [[ $output == *"$word"* ]] || fail "no '$word' in: $output"
    done
}

# The length that the printed code has is at most MOST.
shrunk() { # MOST
    local n
    n=$(sed -n 's/.*kelvin_given_length(c, "n", \([0-9]*\));.*/\1/p' <<<"$output")
    [ "$n" -le "$1" ] || fail "shrunk only to $n elements, not $1: $output"
}

refused() { # NAME WORD
    proof vacuous "$1"
    exits 1
    [[ $stderr == *"refused: "*"$2"* ]] || fail "no 'refused' and '$2' in: $stderr"
    [[ $output != *agree* ]]
}

@test "memchr, a dot product and a histogram with SIMD are equal to plain loops, and faster" {
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "checked code is too slow to race"
    local name
    for name in memchr dot histogram; do
        build "$CC" "$ROOT/examples/race_$name.c" race
        run --separate-stderr ./race --inputs 20000 --time 0.3
        exits 0
        [[ $output == *"20,000 cases agree"*"101 of 101 lengths"*"at least 2: passed"* ]] || fail "$output"
    done
}

@test "a tail that is left out is caught and shrunk to one element" {
    caught tail "the candidate differs: sum is 0.0f, the reference has 1.0f" "{1.0f}"
    shrunk 1
}

@test "a mishandled NaN is caught and shrunk to it and its neighbours" {
    caught nan "the candidate differs: max is" "NAN"
    shrunk 3
    [ "$(grep -o NAN <<<"$output" | wc -l)" -ge 1 ]
}

@test "a vector read past the end is caught, with the side, the place and one element" {
    caught overread "the candidate reads out of bounds: x[1], 0 bytes past the end of x, which has 1 element"
    shrunk 1
}

@test "a read before the start is caught" {
    caught underread "the candidate reads out of bounds: x[-1], 4 bytes before the start of x"
    shrunk 1
}

@test "writes past the end are caught" {
    caught overwrite "the candidate writes out of bounds: y[1], 0 bytes past the end of y"
    shrunk 1
}

@test "a changed input, a lost sign of zero and a saturated sum are caught" {
    caught changes "the candidate changes its input: x[2] is 7.0f afterwards"
    shrunk 3
    caught zero "y[0] is 0.0f, the reference has -0.0f" "{-0.0f}"
    shrunk 1
    caught saturated "the candidate differs: x[0] is"
    shrunk 1
}

@test "an input that is written to and put back is caught" {
    caught sentinel "the candidate writes to its input x[3], and puts the old value back"
    shrunk 4
}

@test "memory that is not freed is caught, even where only one length leaks" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the sanitizer has an allocator of its own, and finds leaks itself"
    caught leak "the candidate leaks: " "bytes of each call are never freed"
    shrunk 33
}

@test "a floating-point mode that is left changed is caught" {
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    caught mode "the candidate leaves the floating-point mode changed: flush to zero, subnormals are zero (MXCSR is 0x9fc0, after the reference 0x1f80)"
    shrunk 3
}

@test "what reference and candidate both do is not held against the candidate" {
    cat >both.c <<'END'
#include <kelvin_bench.h>
#include <stdlib.h>
static int *make(const int32_t *x, size_t n, int by)
{
    int *p = malloc(sizeof *p), was = n ? x[0] : 0;
    *p = 0;
    if (n)
        ((volatile int32_t *)x)[0] = was;
    for (size_t i = 0; i < n; i++)
        *p += (int)((unsigned)x[i] % 100) * by;
    return p;
}
static int *once(const int32_t *x, size_t n) { return make(x, n, 1); }
static int *negated(const int32_t *x, size_t n)
{
    int *p = make(x, n, -1);
    *p = -*p;
    return p;
}
KELVIN_EQUAL(both)
{
    size_t n = kelvin_length(c, "n", 30);
    const int32_t *x = kelvin_in_i32(c, "x", n, KELVIN_ANY);
    int *p = KELVIN_SIDE(c, once, negated)(x, n);
    kelvin_result_i32(c, "r", *p);
}
BENCH_MAIN
END
    build "$CC" both.c both
    ASAN_OPTIONS=detect_leaks=0 run ./both --inputs 3000
    exits 0
    [[ $output == *"3,000 cases agree"* ]] || fail "$output"
}

@test "an access that wants alignment is caught" {
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the sanitizer is faster"
    caught aligned "the candidate" "not aligned"
    shrunk 7
}

@test "a candidate that aborts or does not return is caught" {
    caught aborts "the candidate aborts"
    # The limit of a call counts CPU time, that of the whole does not: where CPU time comes slowly, the default of 600 s.
    local limit=15.9
    [ "$(patience 1)" -le 4 ] || limit=600
    run --separate-stderr "$BATS_FILE_TMPDIR/planted" forever --limit $limit
    exits 3
    [[ $output == *"the candidate does not return"* ]]
}

@test "the printed code reproduces the failure before any other input" {
    local name
    cp "$ROOT/tests/target/equal/planted.c" again.c
    for name in tail nan overread underread overwrite zero saturated sentinel; do
        proof planted "$name"
        sed -n '/^KELVIN_REPRODUCE/,/^}/p' <<<"$output" >>again.c
    done
    [ "$(grep -c KELVIN_REPRODUCE again.c)" -eq 8 ]
    build "$CC" again.c again
    for name in tail nan overread underread overwrite zero saturated sentinel; do
        run ./again --inputs 1 "$name"
        exits 3
        [[ $output == *"FAILED at a case of KELVIN_REPRODUCE"* ]] || fail "$output"
    done
    run ./again --inputs 1 aborts
    exits 1 # of one case nothing can be concluded
}

@test "a reference that is wrong itself is named" {
    sed 's/KELVIN_SIDE(c, sum_plain, candidate)/KELVIN_SIDE(c, candidate, sum_plain)/' \
        "$ROOT/tests/target/equal/planted.c" >turned.c
    build "$CC" turned.c turned
    run ./turned --inputs 1000 overread
    exits 3
    [[ $output == *"the reference reads out of bounds: x[1]"* ]]
}

@test "proofs that could not fail are refused" {
    refused same "same function"
    refused constant "same for all inputs"
    refused loose "'sum' is wrong by 1%"
    refused uncalled "never calls"
    refused unreported "no results"
    refused sideless "does not use KELVIN_SIDE"
    refused empty "'y' was empty"
    refused unlike_draws "draws other inputs"
}

@test "errors inside a tolerance pass, those just outside fail" {
    local name want
    proof tolerance --json
    for name in absolute relative ulp scale; do
        grep -q "\"equal\":\"${name}_in\",\"ok\":true" <<<"$output" || fail "${name}_in"
        grep -q "\"equal\":\"${name}_out\",\"ok\":false" <<<"$output" || fail "${name}_out"
    done
    want='exact_out nan_out infinity_out zero_sign_out'
    for name in $want; do
        grep -q "\"equal\":\"$name\",\"ok\":false" <<<"$output" || fail "$name"
    done
    for name in nan_payload_in zero_sign_in ulp_across_zero_in; do
        grep -q "\"equal\":\"$name\",\"ok\":true" <<<"$output" || fail "$name"
    done
}

@test "the same seed gives the same inputs, another seed others" {
    proof planted nan --seed 7
    local first=$output
    [[ $output == *"seed 7"* ]]
    proof planted nan --seed 7
    prints "$first"
    proof tolerance relative_out --seed 8
    [[ $output == *"seed 8"* ]]
}

# Two functions that take about as long, or one that takes CANDIDATE-TIMES as long as the other. Both run the same machine code:
# two copies of one loop may differ in speed by where they lie.
race_program() { # CANDIDATE-TIMES GATE SECONDS
    cat >race.c <<END
#include <kelvin_bench.h>
__attribute__((noinline)) static uint64_t work(uint64_t v, int times)
{
    static uint64_t dice = 1;
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = 1;
    for (uint64_t i = 0; i < (uint64_t)times * (2000 + (dice >> 52)); i++) {
        x = x * 6364136223846793005u + i;
        __asm__ volatile("" : "+r"(x));
    }
    return v * 3;
}
static uint64_t plain(uint64_t v) { return work(v, 1); }
static uint64_t other(uint64_t v) { return work(v, $1) + 0 * v; }
KELVIN_EQUAL(work)
{
    uint64_t v = kelvin_draw_u64(c, "v", 0, 100), r = 0;
    uint64_t (*f)(uint64_t) = KELVIN_SIDE(c, plain, other);
    kelvin_min_speedup(c, $2);
    KELVIN_RACE(c) r = f(v);
    kelvin_result_u64(c, "r", r);
}
BENCH_MAIN
END
    build "$CC" race.c race
    run --separate-stderr ./race --inputs 500 --time "$3"
}

@test "min_speedup is a gate: broken 3, undecided 4" {
    race_program 3 1.0 0.3
    exits 3
    [[ $output == *"race "*"times as fast"*"at least 1: FAILED"* ]] || fail "$output"
    race_program 1 1.0 0.05
    exits 4
    [[ $output == *"at least 1: INCONCLUSIVE"* ]] || fail "$output"
}

@test "a candidate that depends on more than its inputs is called that" {
    cat >flaky.c <<'END'
#include <kelvin_bench.h>
static int plain(int v) { return v; }
static int flaky(int v) { static int calls; return ++calls == 500 ? v + 1 : v; }
KELVIN_EQUAL(flaky)
{
    kelvin_result_i32(c, "r", KELVIN_SIDE(c, plain, flaky)(kelvin_draw_i32(c, "v", -9, 9)));
}
BENCH_MAIN
END
    build "$CC" flaky.c flaky
    run ./flaky --inputs 2000
    exits 3
    [[ $output == *"the candidate differs: r is"*"but not every time"* ]] || fail "$output"
}

@test "a race is also a test: what fails there fails, and a gate without a race is refused" {
    cat >late.c <<'END'
#include <kelvin_bench.h>
static int plain(const uint8_t *x, size_t n) { int s = 0; while (n--) s += x[n]; return s; }
static int late(const uint8_t *x, size_t n) { return plain(x, n) + (n > 1000); }
KELVIN_EQUAL(late)
{
    size_t n = kelvin_length(c, "n", 50);
    const uint8_t *x = kelvin_in_u8(c, "x", n, KELVIN_ANY);
    int (*f)(const uint8_t *, size_t) = KELVIN_SIDE(c, plain, late), s = 0;
    KELVIN_RACE(c) s = f(x, n);
    kelvin_result_i32(c, "s", s);
}
KELVIN_EQUAL(raceless)
{
    kelvin_min_speedup(c, 2);
    size_t n = kelvin_length(c, "n", 50);
    const uint8_t *x = kelvin_in_u8(c, "x", n, KELVIN_ANY);
    kelvin_result_i32(c, "s", KELVIN_SIDE(c, plain, late)(x, n));
}
BENCH_MAIN
END
    build "$CC" late.c late
    run --separate-stderr ./late --inputs 2000 late
    exits 3
    [[ $stderr == *"in the race late/n=4096, the candidate differs: s is"* ]] || fail "$stderr"
    run --separate-stderr ./late --inputs 2000 raceless
    exits 1
    [[ $stderr == *"without KELVIN_RACE"* ]] || fail "$stderr"
}

@test "a length at which the candidate is suddenly slow is named, and no other" {
    cat >cliff.c <<'END'
#include <kelvin_bench.h>
static void wait(size_t n) { for (size_t i = 0; i < n; i++) __asm__ volatile("" : "+r"(i)); }
static int plain(const uint8_t *x, size_t n) { int s = 0; while (n--) s += x[n]; return s; }
static int spike(const uint8_t *x, size_t n) { if (n == 64) wait(20000); return 0 + plain(x, n); }
static int step(const uint8_t *x, size_t n) { if (n >= 96) wait(20000); return plain(x, n) + 0; }
static int even(const uint8_t *x, size_t n) { int s = 0; for (size_t i = 0; i < n; i++) s += x[i]; return s; }
static int both(const uint8_t *x, size_t n) { if (n >= 50) wait(20000); return plain(x, n); }
#define PROOF(name, a, b)                                                     \
    KELVIN_EQUAL(name)                                                        \
    {                                                                         \
        KELVIN_RACE_LENGTHS(c, 32);                                           \
        size_t n = kelvin_length(c, "n", 120);                                \
        const uint8_t *x = kelvin_in_u8(c, "x", n, KELVIN_ANY);               \
        int (*f)(const uint8_t *, size_t) = KELVIN_SIDE(c, a, b), s = 0;      \
        KELVIN_RACE(c) s = f(x, n);                                           \
        kelvin_result_i32(c, "s", s);                                         \
    }
PROOF(spike, plain, spike)
PROOF(step, plain, step)
PROOF(even, plain, even)
PROOF(both, both, step)
BENCH_MAIN
END
    build "$CC" cliff.c cliff
    local patience
    patience=$(patience 1)
    run ./cliff --inputs 3000 --time "$patience"
    exits 0
    [ "$(grep -c "cliff: " <<<"$output")" -eq 3 ] || fail "$output"
    [[ $output == *"race  spike "*"cliff: the candidate takes "*" at n=64, "*" at n=63 and "*" at n=65; the reference has no such step"* ]] || fail "$output"
    [[ $output == *"race  step "*"cliff: the candidate takes "*" at n=96, "*" at n=95 and "* ]] || fail "$output"
    [[ $output == *"race  both "*"cliff: the candidate takes "*" at n=96, "* ]] || fail "$output"
    KELVIN_BENCH_FD=7 ./cliff --inputs 3000 --time "$patience" spike 7>records
    grep -q '^{"cliff":"spike","length":64,"message":"cliff: the candidate takes ' records
}

@test "sides that differ a hundred thousand times in speed race within the time" {
    cat >unlike.c <<'END'
#include <kelvin_bench.h>
static uint64_t spin(uint64_t v)
{
    for (uint64_t i = 0; i < 300000; i++)
        __asm__ volatile("" : "+r"(i));
    return v + 1;
}
static uint64_t quick(uint64_t v) { return v + 1; }
KELVIN_EQUAL(unlike)
{
    uint64_t v = kelvin_draw_u64(c, "v", 0, 100), r = 0;
    uint64_t (*f)(uint64_t) = KELVIN_SIDE(c, spin, quick);
    KELVIN_RACE(c) r = f(v);
    kelvin_result_u64(c, "r", r);
}
BENCH_MAIN
END
    build "$CC" unlike.c unlike
    run timeout "$(patience 60)" ./unlike --inputs 300 --time 0.05
    exits 0
    [[ $output =~ race\ +unlike\ +[0-9.]+e\+0[3-9]\ times\ as\ fast ]] || fail "$output"
}

@test "an input whose end never matters is pointed out, as is a result that never varies" {
    cat >unused.c <<'END'
#include <kelvin_bench.h>
static int first(const int32_t *x, const int32_t *y, size_t n) { return n && y ? x[n - 1] : 0; }
static int other(const int32_t *x, const int32_t *y, size_t n) { return n == 0 || !y ? 0 : x[n - 1]; }
KELVIN_EQUAL(unused)
{
    size_t n = kelvin_length(c, "n", 30);
    const int32_t *x = kelvin_in_i32(c, "x", n, KELVIN_ANY), *y = kelvin_in_i32(c, "y", n, KELVIN_ANY);
    kelvin_result_i32(c, "r", KELVIN_SIDE(c, first, other)(x, y, n));
    kelvin_result_i32(c, "status", 0);
}
BENCH_MAIN
END
    build "$CC" unused.c unused
    run ./unused --inputs 2000
    exits 0
    [[ $output == *"status never varies"* ]] || fail "$output"
    [[ $output == *"no result depended on the last element of 'y'"* ]] || fail "$output"
}

@test "under kelvin bench proofs and races are records" {
    race_program 3 0.1 0.1
    exits 0
    KELVIN_BENCH_FD=7 ./race --inputs 500 --time 0.1 7>records >said
    [ ! -s said ]
    grep -q '^{"equal":"work","ok":true,"cases":500,' records
    grep -q '^{"race":"work","ratio":0\.[0-9]*,"low":.*"min_speedup":0.1,"gate":"holds","ok":true}' records
    KELVIN_BENCH_FD=7 "$BATS_FILE_TMPDIR/planted" tail 7>records || [ $? -eq 3 ]
    grep -q '"ok":false.*"message":"the candidate differs.*"code":"KELVIN_REPRODUCE' records
}

@test "the header is C11 and C++11, for gcc and clang, without a warning" {
    local compiler
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || continue
        "$compiler" -std=c11 $STRICT -I"$ROOT/include" -c -o c.o "$ROOT/tests/target/equal/vacuous.c"
    done
    cat >twice.cc <<'END'
#include <kelvin_bench.h>
static int twice(int v) noexcept { return 2 * v; }
static int shifted(int v) noexcept { return int(unsigned(v) << 1); }
KELVIN_EQUAL(twice)
{
    int v = kelvin_draw_i32(c, "v", -1000, 1000), r = 0;
    auto f = KELVIN_SIDE(c, twice, shifted);
    KELVIN_RACE(c) r = f(v);
    kelvin_result_i32(c, "r", r);
}
KELVIN_REPRODUCE(twice)
{
    const int32_t values[] = {-7};
    kelvin_given_i32(c, "v", values, 1, 0);
}
BENCH_MAIN
END
    for compiler in g++ clang++; do
        command -v "$compiler" >/dev/null || continue
        "$compiler" -std=c++11 $STRICT -I"$ROOT/include" -c -o cc.o twice.cc
        "$compiler" -std=c++17 $STRICT -I"$ROOT/include" -c -o cc.o twice.cc
    done
    build "$CXX" twice.cc twice
    run ./twice --inputs 1000 --time 0.02
    exits 0
    [[ $output == *"1,000 cases agree bit for bit, 1 reproduced"* ]]
}
