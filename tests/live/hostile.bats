#!/usr/bin/env bats
# A program whose names are meant for the terminal of whoever measures it.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

# Escape sequences and a mark that turns the direction, as names of a function, a thread, a lock, a scope, a key, the program.
evil_program() {
    cat >evil.c <<'SOURCE'
#define _GNU_SOURCE
#include <kelvin.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#define EVIL "\033]0;x\007\033[31m\n\xe2\x80\xae<script>"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) int busy(void)
{
    KELVIN_SCOPE("scope" EVIL, "key" EVIL, 7);
    volatile char *p = malloc(5000000);
    for (int i = 0; i < 5000000; i++)
        p[i] = 1;
    usleep(20000);
    return p[3];
}
static void *work(void *x)
{
    pthread_setname_np(pthread_self(), "t\033[31m\xe2\x80\xae");
    pthread_mutex_lock(&lock);
    busy();
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void)
{
    pthread_t t[2];
    prctl(PR_SET_NAME, "p\033[5m\n");
    kelvin_lock_name(&lock, "lock" EVIL);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
SOURCE
    gcc -O1 -pthread -I"$BATS_TEST_DIRNAME/../../include" -c evil.c -o evil.o
    objcopy --redefine-sym busy=$'busy\e[31m\xe2\x80\xae' evil.o
    gcc -pthread evil.o -o $'evil\e[31m'
}

# Nothing in FILE... that a terminal acts on, nor a tag of the program's in a page.
is_harmless() { # FILE...
    ! LC_ALL=C grep -aqP '\x1b|\x07|\xe2\x80\xae' "$@" || fail "$(LC_ALL=C grep -aP '\x1b|\x07|\xe2\x80\xae' "$@" | head -n 3 | cat -v)"
}

@test "names of functions, threads, locks, scopes and the program reach no terminal and no page" {
    evil_program
    "$KELVIN" record --heap --locks --waits -o evil.kelvin -- $'./evil\e[31m' $'\e[31m' 2>err
    is_harmless err
    local command format
    for command in report 'report --waits' heap locks scopes 'scopes --by key' info fold simd 'report --thread no' 'report --scope no'; do
        # shellcheck disable=SC2086
        "$KELVIN" $command evil.kelvin >out 2>err || true
        is_harmless out err
    done
    for command in report 'report --waits' heap locks scopes; do
        for format in md html json; do
            # shellcheck disable=SC2086
            "$KELVIN" $command evil.kelvin --format $format >out.$format 2>err
            is_harmless out.$format err
        done
        ! grep -qE '(lock|scope|key)[^<]*<script>' out.html || fail "$command: $(grep -E '(lock|scope|key)[^<]*<script>' out.html | head -c 300)"
        python3 -m json.tool out.json >/dev/null
    done
    "$KELVIN" flame evil.kelvin --value lock-wait -o out.svg
    xmllint --noout out.svg
    is_harmless out.svg
    grep -q lock out.md
}

# The heap's, the locks' and the scopes' rings, stacks and modules: whatever is written there, the recording can be read.
@test "a program that scribbles on all memory it shares cannot spoil the recording" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    local how seed=0
    for how in "--heap --locks" "--engine timer --heap --locks" "--heap=sampled"; do
        seed=$((seed + 1))
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$(patience 60)" "$KELVIN" record --min-samples 0 $how -o s.kelvin -- \
            python3 "$ROOT/tests/target/scribble_rings.py" $seed 1
        exits 0
        [ "${lines[0]}" -ge 3 ] || fail "$how: nothing to scribble on: $output"
        kelvin info --strict s.kelvin
        exits 0
        for view in report heap locks scopes; do
            kelvin $view s.kelvin
            [ "$status" -le 5 ] || fail "$how: $view ends with $status: $stderr"
        done
    done
}

@test "what a suite file says reaches no terminal and no page as it stands" {
    printf '[project]\nname = p\e[31m\xe2\x80\xae\n[build]\ncommand = echo "\e[31m\xe2\x80\xae"; false\n[workload w]\ncommand = true\n' >kelvin.conf
    kelvin run --explain
    exits 0
    printf '%s' "$output" >out
    kelvin run
    exits 1
    printf '%s' "$output$stderr" >said
    is_harmless out said perf-failed/*.md perf-failed/*.html
    grep -q 'p?' out perf-failed/summary.md || fail "the name is gone"
}

# Each of the 128 forks works a little and waits for those that it made.
@test "a bounded fork bomb is recorded by every engine, and nothing of it stays behind" {
    cat >bomb.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sink;
int main(void)
{
    for (int i = 0; i < 7; i++)
        fork();
    for (long k = 0; k < 3000000; k++)
        sink += k;
    while (wait(0) > 0)
        ;
    return 0;
}
C
    cc -O1 -o forkbomb bomb.c
    local how
    for how in "--engine perf" "--engine timer" "--heap" "--locks"; do
        # shellcheck disable=SC2086
        "$KELVIN" record -q --min-samples 0 $how -o probe.kelvin -- true 2>/dev/null || continue
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$(patience 60)" "$KELVIN" record --min-samples 0 $how -o b.kelvin -- ./forkbomb
        exits 0
        kelvin info b.kelvin
        exits 0
        ! pgrep -x forkbomb >/dev/null || fail "$how: some are still there"
    done
}

# Another user writes names for a process of ours where such files are looked for.
@test "a perf map that another user put into /tmp names nothing" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make files of others"
    cat >jit.c <<'C'
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
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(name, "w");
    fprintf(map, "200000000 1000 planted_name\n");
    fclose(map);
    if (*getenv("OTHER"))
        chown(name, 65534, 65534);
    ((void (*)(void))at)();
    puts(name);
    return 0;
}
C
    [ "$(uname -m)" = x86_64 ] || skip "its code is for x86-64"
    cc -O1 -include stdlib.h -o jit jit.c
    local own
    for own in "" 1; do
        map=$(OTHER=$own "$KELVIN" record -q --min-samples 0 -o "j$own.kelvin" -- ./jit 2>said)
        rm -f "$map"
    done
    kelvin fold j.kelvin
    [[ $output == *planted_name* ]] || fail "our own map is not used: $output"
    kelvin fold j1.kelvin
    [[ $output != *planted_name* ]] || fail "a map of another user is used: $output"
}
