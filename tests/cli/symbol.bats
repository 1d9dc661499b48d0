#!/usr/bin/env bats
# Names in a recording: inlined functions, separate debug files, code made at run time.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

record() { # COMMAND...
    "$KELVIN" record -q --min-samples 0 --allow-partial -o app.kelvin -- "$@" >/dev/null
}

# Share of the samples, in percent, whose stack has TEXT in it.
share() { # TEXT
    "$KELVIN" fold app.kelvin | awk -v text="$1" '
        { all += $NF } index($0, text) { got += $NF } END { print int(all ? 100 * got / all : 0) }'
}

compile_spinner() { # FLAGS...
    cat >spin.c <<'SOURCE'
static inline __attribute__((always_inline)) unsigned long step(unsigned long x)
{
    for (int i = 0; i < 1000; i++)
        x = x * 6364136223846793005ul + (x >> 7);
    return x;
}
static __attribute__((noinline)) unsigned long spin(unsigned long n)
{
    unsigned long x = 1;
    while (n--)
        x = step(x);
    return x;
}
int main(void)
{
    return spin(250000) == 1;
}
SOURCE
    gcc -O2 "$@" spin.c -o spin
}

@test "inlined functions are frames of their own" {
    compile_spinner -g
    record ./spin
    [ "$(share 'main;spin;step')" -ge 50 ] || fail "$("$KELVIN" fold app.kelvin)"
}

@test "without debug information the function that holds the code is named" {
    compile_spinner
    record ./spin
    [ "$(share 'main;spin')" -ge 90 ] || fail "$("$KELVIN" fold app.kelvin)"
    [ "$(share step)" -eq 0 ]
}

@test "a debug link leads to the names of a stripped program" {
    compile_spinner -g
    objcopy --only-keep-debug spin spin.debug
    strip spin
    record ./spin
    [ "$(share 'spin;step')" -eq 0 ]
    [ "$(share '[spin+0x')" -ge 90 ] || fail "$("$KELVIN" fold app.kelvin)"
    objcopy --add-gnu-debuglink=spin.debug spin
    record ./spin
    [ "$(share 'main;spin;step')" -ge 50 ] || fail "$("$KELVIN" fold app.kelvin)"
}

# What V8 calls the optimised code of hot(): "JS:*hot" since Node 20, "LazyCompile:*hot" in Debian 12's Node 18.
OPTIMISED=':*hot '

write_script() {
    cat >hot.js <<'SOURCE'
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
let t = 0;
for (let k = 0; k < 3000; k++) t += hot(20000 + k % 7);
console.log(t);
SOURCE
}

# Assemblers give no sizes: where a label ends is known by the next one, which strip may have removed.
@test "a label without a size names no code behind it once the file is stripped" {
    [ "$(uname -m)" = x86_64 ] || skip "assembly of x86-64"
    cat >part.s <<'ASM'
    .text
    .globl label
label:
    ret
    .balign 16
hidden:
    mov $300000000, %ecx
1:  dec %ecx
    jnz 1b
    ret
    .globl work
    .type work, @function
work:
    call hidden
    ret
    .size work, . - work
    .section .note.GNU-stack, "", @progbits
ASM
    echo 'void work(void); int main(void) { work(); return 0; }' >main.c
    gcc -shared -o libpart.so part.s
    gcc -o calls main.c -L. -lpart -Wl,-rpath,"$PWD"
    record ./calls
    [ "$(share hidden)" -ge 90 ] || fail "$("$KELVIN" fold app.kelvin)"
    strip libpart.so
    record ./calls
    [ "$(share label)" -eq 0 ] && [ "$(share '[libpart.so')" -ge 90 ] || fail "$("$KELVIN" fold app.kelvin)"
}

@test "a perf map names JavaScript functions" {
    command -v node >/dev/null || skip "no node"
    write_script
    record node --perf-basic-prof hot.js
    [ "$(share "$OPTIMISED")" -ge 40 ] || fail "$("$KELVIN" fold app.kelvin | tail -n 5)"
}

# Java writes its map as it exits: no file is there while samples come.
@test "a perf map that is written as the program exits names its code" {
    [ "$(uname -m)" = x86_64 ] || skip "its code is for x86-64"
    cat >late.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* mov $400000000,%eax; 1: dec %eax; jnz 1b; ret */
static const uint8_t code[] = {0xb8, 0x00, 0x84, 0xd7, 0x17, 0xff, 0xc8, 0x75, 0xfc, 0xc3};
int main(void)
{
    char name[64];
    uint8_t *at = mmap((void *)0x200000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    memcpy(at, code, sizeof code);
    ((void (*)(void))at)();
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "200000000 1000 late_name\n");
    fclose(map);
    puts(name);
    return 0;
}
C
    cc -O1 -o late late.c
    map=$("$KELVIN" record -q --min-samples 0 -o app.kelvin -- ./late)
    rm -f "$map"
    [ "$(share late_name)" -ge 80 ] || fail "$("$KELVIN" fold app.kelvin)"
    kelvin annotate app.kelvin late_name
    exits 5
    complains "'late_name' is code made at run time"
    kelvin report app.kelvin
    [[ $output != *"'kelvin annotate' shows"* ]] || fail "$output"
}

# The heap's stacks are walked by another room of the recorder.
@test "a perf map that is written as the program exits names its code on stacks of the heap" {
    [ "$(uname -m)" = x86_64 ] || skip "its code is for x86-64"
    cat >late.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push rbp; mov rbp,rsp; mov edi,100; mov rax,malloc; call rax; pop rbp; ret */
static uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xbf, 100, 0, 0, 0, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};
int main(void)
{
    char name[64];
    void *(*allocate)(size_t) = malloc;
    memcpy(code + 11, &allocate, 8);
    uint8_t *at = mmap((void *)0x200000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    memcpy(at, code, sizeof code);
    for (int i = 0; i < 1000; i++)
        ((void *(*)(void))at)();
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "200000000 1000 late_alloc_name\n");
    fclose(map);
    puts(name);
    return 0;
}
C
    cc -O0 -o late late.c
    map=$("$KELVIN" record -q --min-samples 0 --heap -o app.kelvin -- ./late)
    rm -f "$map"
    kelvin fold --value allocations app.kelvin
    [[ $output == *late_alloc_name* ]] || fail "$output"
}

# Debian's Go programs and all built with -ldflags=-s have no symbols, but the table of their own stack traces.
@test "a stripped Go program has the same names as one with symbols" {
    command -v go >/dev/null || skip "no go"
    export HOME=$PWD GOCACHE=$PWD/cache GOFLAGS=-mod=mod
    cat >work.go <<'GO'
package main

type box struct{ sum int }

//go:noinline
func (b *box) fill(n int) {
	for i := 0; i < n; i++ {
		b.sum += i ^ b.sum
	}
}

func main() {
	b := &box{}
	b.fill(300000000)
	println(b.sum)
}
GO
    local flags names=()
    for flags in "" -s; do
        go build -ldflags="$flags" -o work work.go
        record ./work
        [ "$(share 'main.(*box).fill')" -ge 90 ] || fail "$("$KELVIN" fold app.kelvin | tail -n 5)"
        names+=("$("$KELVIN" report app.kelvin --format json | jq -r '.by_self[0].name')")
        kelvin annotate app.kelvin 'main.(*box).fill'
        exits 0
        kelvin simd work
        [[ $output =~ " in "[0-9]",".*" functions" ]] || fail "$output"
    done
    [ "${names[0]}" = "${names[1]}" ]
    ! readelf -SW work | grep -q ' [.]symtab ' || fail "it has symbols"
    # Whatever the table says, nothing is read outside of it.
    local at i
    at=$((16#$(readelf -SW work | awk '{ sub(/^ *\[ */, "") } $2 == ".gopclntab" { print $5 }')))
    for i in 8 24 32 64; do
        cp work damaged
        printf '\377\377\377\377\377\377\377\177' | dd of=damaged bs=1 seek=$((at + i)) conv=notrunc 2>/dev/null
        kelvin simd damaged
        [ "$status" -lt 126 ] || fail "byte $i: $status $stderr"
    done
}

@test "copies of a program are one module" {
    echo 'int main(void) { for (volatile long i = 0; i < 200000000; i++) ; return 0; }' >one.c
    cc -O1 -o one one.c
    cp one two
    record sh -c './one; ./two'
    kelvin report app.kelvin
    [[ $output != *" +1"* ]] || fail "$output"
    cc -O0 -o two one.c
    record sh -c './one; ./two'
    kelvin report app.kelvin
    [[ $output == *" +1"*"module +N: N more files have a function of this name"* ]] || fail "$output"
}

@test "a jitdump names JavaScript functions" {
    command -v node >/dev/null || skip "no node"
    write_script
    record node --perf-prof hot.js
    [ "$(share "$OPTIMISED")" -ge 40 ] || fail "$("$KELVIN" fold app.kelvin | tail -n 5)"
}
