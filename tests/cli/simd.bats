#!/usr/bin/env bats
# What code is made of, held against objdump.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
}

# Instructions of the functions in FILE's .text whose mnemonic matches, by objdump.
objdump_count() { # FILE PATTERN
    objdump -d -w --no-show-raw-insn -j .text "$1" |
        awk -F'\t' -v want="$2" '/^ *[0-9a-f]+:\t/ {
            n = split($2, word, " ")
            for (i = 1; i < n && word[i] ~ /^(rep|repz|repnz|lock|data16|cs|ds|es|fs|gs|bnd|notrack)$/; i++);
            if (word[i] ~ want) found++ } END { print found + 0 }'
}

json_number() { # KEY-PATH
    python3 -c 'import json, sys
v = json.load(sys.stdin)
for key in sys.argv[1].split("."): v = v[key]
print(v)' "$1"
}

compile() { # FLAGS...
    cat >mix.c <<'SOURCE'
void scale(float *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 1.5f + 2; }
double horner(const double *c, int n, double x) { double s = 0; for (int i = 0; i < n; i++) s = s * x + c[i]; return s; }
SOURCE
    gcc -shared -fPIC -nostdlib "$@" mix.c -o mix.so
}

@test "simd agrees with objdump on every packed and scalar instruction of liblzma" {
    local lib
    lib=$(ldconfig -p | awk '/liblzma.so.5.*x86-64/ { print $NF; exit }')
    [ -n "$lib" ] || skip "no liblzma here"
    kelvin simd "$lib" --format json
    exits 0
    [ "$(json_number kind.packed_fp <<<"$output")" = "$(objdump_count "$lib" '(ps|pd)$')" ]
    [ "$(json_number kind.scalar_fp <<<"$output")" = "$(objdump_count "$lib" '(ss|sd)[lq]?$')" ]
}

@test "simd tells packed AVX2 from scalar code" {
    compile -O3 -mavx2 -mfma -ffast-math
    kelvin simd mix.so
    exits 0
    [[ $output =~ packed\ AVX[2]?\ +scale ]]
    compile -O1 -fno-tree-vectorize
    kelvin simd mix.so
    [[ $output =~ scalar\ SSE\ +scale ]]
    [[ $output =~ scalar\ SSE\ +horner ]]
    [[ $output == *"none beyond SSE2"* ]]
    [[ $output == *"Numbers are instructions of the whole function. Packed: "* && $output != *'Kind and hot time'* ]] || fail "$output"
}

# Assembly as in video coders: no sizes, no unwind rules, and one label that stays when it is stripped.
# Forty blocks of packed integers, none of which has a tenth of the time.
build_stripped() {
    {
        printf '.text\n.globl first_label\nfirst_label: ret\n.p2align 6\nmany:\n'
        for ((i = 0; i < 40; i++)); do
            printf 'test %%edi, %%edi\njs %df\npaddd %%xmm1, %%xmm0\npmulld %%xmm0, %%xmm1\npaddd %%xmm1, %%xmm2\n%d:\n' "$i" "$i"
        done
        printf 'dec %%edi\njns many\nret\n.globl run_many\n.type run_many, @function\nrun_many: call many\nret\n'
        printf '.size run_many, .-run_many\n.section .note.GNU-stack,"",@progbits\n'
    } >many.s
    echo 'void run_many(int n); int main(int n, char **v) { (void)v; for (int i = 0; i < 400 * n; i++) run_many(30000); return 0; }' >main.c
    gcc -O1 -rdynamic main.c many.s -o stripped
    strip stripped
}

@test "simd: assembly between the functions that are known has no function's name, and is what ran in it" {
    need_record --engine timer -- true
    build_stripped
    kelvin simd ./stripped
    exits 0
    [[ $output =~ packed\ integer\ SSE\ +\[stripped\] && $output != *first_label* ]] || fail "$output"
    "$KELVIN" record -q --engine timer --min-samples 0 -o s.kelvin -- ./stripped
    kelvin simd s.kelvin --format json
    exits 0
    python3 -c '
import json, sys
d = json.load(sys.stdin)
row = d["functions"][0]
assert row["name"] == "[stripped]" and row["is"] == "packed integer SSE", row
assert sum(h["share"] for h in d["hot"] if h["kind"] == "packed_int") > 0.5, d["hot"]' <<<"$output" || fail "$output"
}

# One sample of sixteen is less than a tenth: a tenth of sixteen is not one.
@test "simd judges a function by blocks with a tenth of its samples, however few they are" {
    [ "$(uname -m)" = x86_64 ] || skip "its code is for x86-64"
    cat >rare.s <<'ASM'
    .globl rare
    .type rare, @function
rare:
    .cfi_startproc
1:  inc %rax
    dec %rdi
    jz 2f
    test %rax, %rax
    jns 1b
    mulsd %xmm0, %xmm1
    mulsd %xmm0, %xmm1
    mulsd %xmm0, %xmm1
    jmp 1b
2:  ret
    .cfi_endproc
    .size rare, . - rare
    .section .note.GNU-stack, "", @progbits
ASM
    echo 'double rare(long); int main(void) { return (int)rare(1); }' >main.c
    gcc -no-pie -o rare main.c rare.s
    local at i
    for i in $(seq 16); do
        at=$(objdump -d rare | awk -v what="$([ "$i" = 1 ] && echo mulsd || echo 'inc    %rax')" 'index($0, what) { sub(":", "", $1); print $1; exit }')
        printf 'rare 1 1.%06d: cpu-clock:\n\t%16s rare+0x0 (%s)\n\n' "$i" "$at" "$PWD/rare"
    done >rare.txt
    kelvin simd rare.txt
    exits 0
    [[ $output == *"100.00%  in integer code"* ]] || fail "$output"
}

@test "simd agrees with objdump on AArch64 code that computes" {
    local libm=/usr/aarch64-linux-gnu/lib/libm.so.6 computes
    [ -f $libm ] && command -v aarch64-linux-gnu-objdump >/dev/null || skip "no cross tools for AArch64"
    computes='^f(n?m(add|sub|ul)|add|sub|div|(max|min)(nm)?[pv]?|sqrt|abs|neg|rint[a-z]|ml[as]|abd|mulx|addp|r(ecp|sqrt)[es])$'
    kelvin simd $libm --format json
    exits 0
    local all
    all=$(aarch64-linux-gnu-objdump -d -w --no-show-raw-insn -j .text $libm |
        awk -F'\t' -v want="$computes" '/^ *[0-9a-f]+:\t/ { split($2, word, " "); if (word[1] ~ want) n++ } END { print n + 0 }')
    [ "$all" -gt 1000 ]
    [ "$(($(json_number fp_math.scalar <<<"$output") + $(json_number fp_math.packed <<<"$output")))" = "$all" ]
}

@test "simd tells NEON from scalar code" {
    command -v aarch64-linux-gnu-gcc >/dev/null || skip "no cross compiler for AArch64"
    echo 'void scale(float *a) { for (int i = 0; i < 1024; i++) a[i] = a[i] * 1.5f + 2; }' >neon.c
    aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -O3 neon.c -o neon.so
    kelvin simd neon.so
    exits 0
    [[ $output =~ packed\ NEON\ +scale ]] || fail "$output"
    aarch64-linux-gnu-gcc -shared -fPIC -nostdlib -O1 -fno-tree-vectorize neon.c -o neon.so
    kelvin simd neon.so
    [[ $output =~ scalar\ +scale ]] || fail "$output"
}

@test "simd of a profile without addresses explains itself" {
    echo 'main;a 3' >plain.folded
    kelvin simd plain.folded
    exits 5
    [[ $stderr == *"has no addresses"* ]]
}

@test "simd of a damaged ELF file is one sentence" {
    printf '\177ELFjunk' >bad.so
    kelvin simd bad.so
    exits 5
    [[ $stderr == *"bad.so"* ]]
}
