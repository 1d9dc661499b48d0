#!/usr/bin/env bats
# Stacks that are hard to walk: all reach their bottom, or the reason is counted.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
SOURCE=$ROOT/tests/target

ELSEWHERE="goes on in a stack that was not copied (signal handler on its own stack)"

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record --engine perf -- true
}

# The share of samples, in percent, that has PATTERN (of awk) in its folded line.
share() { # FILE PATTERN
    "$KELVIN" fold "$1" | awk -v pattern="$2" '
        { all += $NF }
        $0 ~ pattern { n += $NF }
        END { printf "%d\n", all ? 100 * n / all : 0 }'
}

# 99 % of the stacks reach the bottom, of which at most GUESSED % by a guess.
reaches_bottom() { # FILE GUESSED
    local all cut guessed
    all=$("$KELVIN" fold --value samples "$1" | awk '{ n += $NF } END { print n + 0 }')
    cut=$("$KELVIN" fold --value samples "$1" | awk '/\[unfinished\]/ { n += $NF } END { print n + 0 }')
    guessed=$(info "$1" guessed)
    [ "$all" -ge 200 ] || fail "$all samples only"
    [ $((cut * 100)) -le "$all" ] || fail "$cut of $all stacks are unfinished"
    [ $((guessed * 100)) -le $((all * $2)) ] || fail "$guessed of $all stacks are guessed"
    [ "$(info "$1" unfinished)" = "$cut" ]
}

record() { # COMMAND...
    kelvin record -F 1999 -o s.kelvin -- "$@"
    exits 0
}

@test "a coroutine's stack is whole, and named down to where it starts" {
    record "$TARGET/coroutine" 1
    reaches_bottom s.kelvin 1
    [ "$(share s.kelvin ';coroutine_body;coroutine_work')" -ge 90 ]
    [ "$(share s.kelvin ';__start_context;coroutine_body|^coroutine;_start')" -ge 90 ] ||
        [ "$(share s.kelvin 'libc.so')" -ge 90 ] # a stripped libc does not have the name
}

@test "handlers in handlers lead to what they interrupted, over a named trampoline" {
    record "$TARGET/handlers" 1
    reaches_bottom s.kelvin 1
    [ "$(share s.kelvin '_start;.*;main;interrupted;.*;__restore_rt;handler_outer;.*;__restore_rt;handler_middle;.*;__restore_rt;handler_inner')" -ge 20 ] ||
        fail "$("$KELVIN" fold s.kelvin | head -5)"
}

@test "a page of the stack that was never touched does not hide the callers" {
    record "$TARGET/stackhole" 1
    [ "$(share s.kelvin ';hole_caller;hole_buffer;hole_work')" -ge 80 ] || fail "$("$KELVIN" info s.kelvin)"
    [ "$(share s.kelvin ';\\[unfinished\\];.*hole_work')" -le 20 ]
}

@test "a handler on a stack of its own is counted as that" {
    record "$TARGET/handlers" 1 alt
    [ "$(share s.kelvin 'interrupted.*;handler_work' )" -le 30 ]
    [ "$(info s.kelvin "$ELSEWHERE")" -ge 200 ] || fail "$("$KELVIN" info s.kelvin)"
    [ "$(info s.kelvin "$ELSEWHERE")" = "$(info s.kelvin unfinished)" ]
    [ "$(share s.kelvin '\\[unfinished\\];[^;]*;__restore_rt;handler_outer')" -ge 50 ]
}

@test "static musl without unwind rules: whole, and each function below the right one" {
    command -v musl-gcc >/dev/null || skip "no musl-gcc (musl-tools)"
    musl-gcc -O2 -static -o musl "$SOURCE/libcalls.c"
    record ./musl 2
    reaches_bottom s.kelvin 2
    [ "$(share s.kelvin '^musl;(_start;libc_start_main_stage2;main|__clone;start);calls_all;(calls_|clock)')" -ge 97 ] ||
        fail "$("$KELVIN" fold s.kelvin | cut -d';' -f1-6 | sort | uniq -c | sort -nr | head)"
    strip musl
    record ./musl 1
    reaches_bottom s.kelvin 2
}

@test "LuaJIT's traces and interpreter reach main; what no rule confirms is counted as guessed" {
    command -v luajit >/dev/null || skip "no luajit"
    record luajit "$SOURCE/traces.lua" 2
    reaches_bottom s.kelvin 100
    [ "$(info s.kelvin guessed)" -ge 100 ]
    [[ $stderr == *"guessed: "* ]] || fail "$stderr"
}

# As V8's builtins do: how many arguments are taken off the stack is only known as it runs.
@test "code without rules that takes its arguments off the stack has callers, by its frame pointer" {
    [ "$(uname -m)" = x86_64 ] || skip "its code is for x86-64"
    cat >run.s <<'ASM'
    .globl run
    .type run, @function
run:
    push %rbp
    mov %rsp, %rbp
    push %rbx
    sub $8, %rsp
    mov $2, %ebx
    push $1
    push $2
    call takes_arguments
    mov -8(%rbp), %rbx
    leave
    ret
    .size run, . - run
    .type takes_arguments, @function
takes_arguments:
    push %rbp
    mov %rsp, %rbp
    call work
    leave
    pop %rcx
    lea (%rsp,%rbx,8), %rsp
    push %rcx
    ret
    .size takes_arguments, . - takes_arguments
    .section .note.GNU-stack, "", @progbits
ASM
    cat >main.c <<'C'
void run(void);
__attribute__((noinline)) void work(void) { for (volatile long i = 0; i < 300000000; i++) ; }
int main(void) { run(); return 0; }
C
    cc -O1 -fomit-frame-pointer -o pops main.c run.s
    record ./pops
    [ "$(share s.kelvin '_start;.*;main;run;takes_arguments;work')" -ge 90 ] || fail "$("$KELVIN" fold s.kelvin | tail -3)"
    [ "$(info s.kelvin guessed)" -gt 0 ]
}

@test "Go: goroutines, the scheduler's stack and the collector are whole" {
    command -v go >/dev/null || skip "no go"
    GOCACHE=$PWD/cache go build -o goroutines "$SOURCE/goroutines.go" || skip "go does not build here"
    record ./goroutines 2
    reaches_bottom s.kelvin 1
    [ "$(share s.kelvin ';runtime.goexit(.abi0)?;main.main.func1;main.work')" -ge 50 ]
}

@test "short processes of a storm of forks are whole" {
    record "$TARGET/short_storm" "$(patience 2)"
    reaches_bottom s.kelvin 1
}

@test "short processes of a build are whole" {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "int f$i(int a) { return a + 1; }" >"f$i.c"; done
    # shellcheck disable=SC2016  # make's own variables
    printf 'all: $(patsubst %%.c,%%.o,$(wildcard f*.c))\n%%.o: %%.c\n\t$(CC) -c $< -o $@\n\texpr $$(echo 1) + 1 | sed s/a/b/\n' >Makefile
    record make -j2
    reaches_bottom s.kelvin 1
}
