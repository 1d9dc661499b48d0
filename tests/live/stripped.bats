#!/usr/bin/env bats
# Programs without symbols: whole stacks, and functions told apart by where they start.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cat >two.c <<'C'
#include <stdlib.h>
#include <time.h>
static volatile unsigned sink;
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
#define WORK(name, step)                                            \
    __attribute__((noinline)) static void name(double until)        \
    {                                                               \
        while (cpu() < until)                                       \
            for (int i = 0; i < 20000; i++)                         \
                sink += (unsigned)i * step;                         \
    }
WORK(first, 3)
WORK(second, 5)
int main(void)
{
    first(0.3);
    second(0.6);
    return 0;
}
C
    cc -O2 -o two two.c
    nm two | awk '$3 ~ /^(first|second)/ { sub(/^0+/, "", $1); print "[two+0x" $1 "]" }' |
        sort >starts
    strip two
    "$KELVIN" record -q -o two.kelvin -- ./two || skip "kelvin record does not work here"
}

@test "functions of a stripped program stay apart" {
    kelvin fold two.kelvin
    exits 0
    [ "$(wc -l <starts)" -eq 2 ]
    while read -r start; do
        [[ $output == *"$start"* ]] || fail "no $start in: $output"
    done <starts
}

@test "where a function starts is not counted as a name" {
    kelvin info two.kelvin --json
    exits 0
    [[ $output != *'"unnamed_share":0,'* ]] || fail "$output"
}

@test "memcpy has its name without the C library's debug symbols" {
    unshare -m mount -t tmpfs none "$BATS_TEST_TMPDIR" 2>/dev/null || skip "no right to hide /usr/lib/debug"
    cat >copies.c <<'EOF'
#include <string.h>
static char a[1 << 16], b[1 << 16];
int main(void)
{
    for (int i = 0; i < 100000; i++) {
        memcpy(a, b, sizeof a);
        __asm__ volatile("" ::"r"(a) : "memory");
    }
}
EOF
    gcc -O2 copies.c -o copies
    mkdir -p empty
    cat >hidden.sh <<'EOF'
[ ! -d /usr/lib/debug ] || mount --bind empty /usr/lib/debug || exit
exec "$1" record -q -o r.kelvin -- ./copies
EOF
    HOME=$PWD XDG_CACHE_HOME=$PWD/cache unshare -m sh hidden.sh "$KELVIN" || fail "not recorded"
    kelvin report r.kelvin --format json
    exits 0
    local top
    top=$(jq -r '.by_self[0].name' <<<"$output")
    [ "$top" = memcpy ] || [ "$top" = memmove ] || fail "$top"
    jq -e '[.insights[].id] | index("copies")' <<<"$output" || fail "$output"
}
