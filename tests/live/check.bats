#!/usr/bin/env bats
# Rules held against recordings of programs that know what is in them.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

has() { [[ $output == *"$1"* ]] || fail "no '$1' in: $output"; }

@test "a program that spends 60, 30 and 10 % keeps rules that say so, and no others" {
    "$KELVIN" record -q -o split.kelvin -- "$TARGET/split" 1 || fail "no recording"
    cat >good.rules <<'RULES'
samples >= 200
lost <= 5%
unfinished <= 5%
unnamed <= 5%
total part_sixty 50..65% tolerance 5
self part_thirty 22..35% tolerance 5
self part_ten 5..15% tolerance 3
total main >= 95%
present descend
absent part_forty
RULES
    kelvin check split.kelvin good.rules
    exits 0
    printf 'total part_sixty <= 30%%\nself part_ten >= 30%%\nabsent descend\n' >bad.rules
    kelvin check split.kelvin bad.rules
    exits 3
    has "0 passed, 3 failed"
    echo 'diff total part_sixty -30..+30%' >same.rules
    "$KELVIN" record -q -o again.kelvin -- "$TARGET/split" 1 || fail "no recording"
    kelvin check again.kelvin same.rules --against split.kelvin
    exits 0
}

@test "a rule about a function that never ran holds; one about no function is an error" {
    cat >idle.cc <<'SOURCE'
#include <stdint.h>
namespace app { __attribute__((noinline, used)) int never_called(int x) { return x + 1; } }
namespace app { static inline __attribute__((always_inline)) int folded_in(int x) { return x * 7 + 3; } }
namespace app { static inline __attribute__((always_inline)) int folded_too(int x) { return x * 5 + 1; } }
struct box { int n; __attribute__((always_inline)) int opened(int x) const { return n ^ x; } int promised(int x) const; };
extern "C" __attribute__((noinline)) void busy(void) { for (volatile uint64_t i = 0; i < 4000000000; i++); }
int main(int n, char **) { busy(); volatile int sink = app::folded_in(n) + app::folded_too(n) + box{n}.opened(3); return sink == -1; }
SOURCE
    g++ -O2 -g idle.cc -o idle
    "$KELVIN" record -q -o idle.kelvin -- ./idle || fail "no recording"
    # What was inlined everywhere has no symbol: a rule on it must not hang on whether a sample hits it.
    printf 'self app::never_called <= 5%%\nself busy >= 50%%\nself app::folded_in <= 5%%\nself app::folded_too <= 5%%\nself box::opened <= 5%%\n' >idle.rules
    kelvin check idle.kelvin idle.rules
    exits 0
    has "at most "
    echo 'self app::never_caled <= 5%' >typo.rules
    kelvin check idle.kelvin typo.rules
    exits 1
    [[ $stderr == *"no function 'app::never_caled'"* ]] || fail "$stderr"
    for function in box::open box::promised; do # the second is only declared
        echo "self $function <= 5%" >typo.rules
        kelvin check idle.kelvin typo.rules
        exits 1
    done
}

@test "a loop that was vectorised keeps its contract, a chain that cannot be does not" {
    grep -qw avx2 /proc/cpuinfo || skip "this CPU has no AVX2"
    cat >kernels.c <<'SOURCE'
enum { N = 1024 };
static float a[N], b[N];
__attribute__((noinline)) void axpy(float x)
{
    for (int i = 0; i < N; i++)
        b[i] += x * a[i];
}
__attribute__((noinline)) float chain(float x)
{
    for (int i = 0; i < 1000; i++)
        x = x * 0.999f + 1.0f;
    return x;
}
int main(void)
{
    float x = 0;
    for (int i = 0; i < 60000; i++) {
        for (int k = 0; k < 20; k++)
            axpy(x);
        x = chain(x);
    }
    return b[3] > 1e30f;
}
SOURCE
    cc -g -O3 -mavx2 -o kernels kernels.c || fail "does not compile"
    "$KELVIN" record -q -o kernels.kelvin -- ./kernels || fail "no recording"
    printf 'simd axpy packed >= 80%% width >= 256\nsimd chain packed <= 20%%\n' >simd.rules
    kelvin check kernels.kelvin simd.rules
    exits 0
    echo 'simd chain packed >= 80%' >broken.rules
    kelvin check kernels.kelvin broken.rules
    exits 3
    has "its hot code, 0.0% packed, is outside the expected range, at least 80% packed"
    cc -g -O1 -o kernels kernels.c || fail "does not compile"
    kelvin check kernels.kelvin simd.rules
    exits 4
    has "has changed since"
}
