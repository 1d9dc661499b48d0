#!/usr/bin/env bats
# Functions of programs built with -finstrument-functions as scopes.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    cat >app.c <<'END'
#include <setjmp.h>
#include <pthread.h>
#include <unistd.h>
static volatile long sink;
static jmp_buf back;
__attribute__((noinline)) static void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) static void middle(int n) { leaf(n); leaf(1); }
__attribute__((noinline)) static void slow(void) { usleep(20000); }
__attribute__((noinline)) static void leaps(int n) { if (n) longjmp(back, 1); sink++; }
__attribute__((noinline)) static void catches(void) { if (!setjmp(back)) leaps(1); sink++; }
__attribute__((noinline)) static void deep(int n) { if (n) deep(n - 1); sink++; }
static void *work(void *x) { middle(10); return x; }
int main(int argc, char **argv)
{
    pthread_t t;
    (void)argv;
    for (int i = 0; i < 1000; i++) middle(100);
    slow();
    pthread_create(&t, 0, work, 0);
    pthread_join(t, 0);
    for (int i = 0; argc > 1 && i < 10; i++) catches();
    if (argc > 1) deep(300);
    return 0;
}
END
    cc -O1 -g -pthread -finstrument-functions app.c -o app
}

calls() { # FILE
    "$KELVIN" scopes --format json "$1" | jq -r '[.flat[] | "\(.scope) \(.calls)"] | sort | join(",")'
}

@test "each function is a scope: exact calls, nested as they were" {
    kelvin record -q --functions -o r.kelvin -- ./app
    exits 0
    [ "$(calls r.kelvin)" = "leaf 2002,main 1,middle 1001,slow 1,work 1" ]
    [ "$("$KELVIN" scopes --format json r.kelvin | jq -r '. as $all | [.tree[] | select(.scope == "middle") | $all.tree[.parent].scope] | sort | join(",")')" = main,work ]
    [ "$("$KELVIN" scopes --format json r.kelvin | jq -r '.note')" = null ]
    # Without the option nothing is told, and the program is left alone.
    kelvin record -q -o none.kelvin -- ./app
    kelvin scopes none.kelvin
    if [[ $stderr != *"no samples in it"* ]]; then # so short a program may have no sample at all
        exits 5
    fi
    [ -z "$output" ] || fail "$output"
}

@test "names are there without samples, too" {
    kelvin record -q --engine none --functions -o r.kelvin -- ./app
    exits 0
    [ "$(calls r.kelvin)" = "leaf 2002,main 1,middle 1001,slow 1,work 1" ]
}

@test "a filter by name, by least duration, by both" {
    kelvin record -q --functions='^(middle|slow)$' -o r.kelvin -- ./app
    exits 0
    [ "$(calls r.kelvin)" = "middle 1001,slow 1" ]
    kelvin record -q --functions --functions-min 15000 -o r.kelvin -- ./app
    exits 0
    [[ ,$(calls r.kelvin), == *",main 1,"* && ,$(calls r.kelvin), == *",slow 1,"* ]]
    [[ ,$(calls r.kelvin), != *",leaf 2002,"* ]]
    kelvin record -q --functions=slow --functions-min 15000 -o r.kelvin -- ./app
    [ "$(calls r.kelvin)" = "slow 1" ]
    kelvin record -q --functions=nosuch -o none.kelvin -- ./app
    exits 125
    complains "no function of './app' matches"
    kelvin record -q --functions='(' -o none.kelvin -- ./app
    exits 125
    complains "is not a regular expression"
    kelvin record -q --functions -p 1 -o none.kelvin
    exits 125
    complains "cannot attach"
}

@test "longjmp and recursion beyond the limit are counted, and the rest stays right" {
    kelvin record -q --functions -o r.kelvin -- ./app odd
    exits 0
    # main and 127 of 301.
    [ "$(calls r.kelvin)" = "catches 10,deep 127,leaf 2002,leaps 0,main 1,middle 1001,slow 1,work 1" ] ||
        [ "$(calls r.kelvin)" = "catches 10,deep 127,leaf 2002,main 1,middle 1001,slow 1,work 1" ]
    [ "$("$KELVIN" scopes --format json r.kelvin | jq -r '.note')" = "10 scopes never ended, 174 scopes nested too deeply" ]
}

@test "C++: exceptions end functions, and names are readable" {
    cat >x.cc <<'END'
namespace app { struct tree { __attribute__((noinline)) void walk(int n) { if (n == 3) throw n; } }; }
static void catcher(int i) { app::tree t; try { t.walk(i); } catch (int) { } }
int main() { for (int i = 0; i < 10; i++) catcher(i); }
END
    g++ -O1 -g -finstrument-functions x.cc -o x
    kelvin record -q --functions='walk|catcher' -o r.kelvin -- ./x
    exits 0
    [[ $(calls r.kelvin) == *"app::tree::walk"*" 10"* ]] || fail "$(calls r.kelvin)"
    [ "$("$KELVIN" scopes --format json r.kelvin | jq -r '.note')" = null ]
}

@test "a program without such functions is told apart from one that called none" {
    cc -O1 -g -pthread app.c -o plain
    kelvin record --engine none --functions -o r.kelvin -- ./plain
    [[ $stderr == *"no function was seen: build the program with -finstrument-functions"* ]] || fail "$stderr"
    kelvin record --engine none --functions -o r.kelvin -- ./app
    [[ $stderr != *"no function was seen"* ]] || fail "$stderr"
}

# A program whose functions and scopes are in each other, and which asks for a trace in both.
nested_program() {
    cat >nested.c <<'END'
#include <kelvin.h>
#include <stdio.h>
static volatile int sink;
static void give(void) __attribute__((no_instrument_function));
static void give(void) { char h[KELVIN_TRACEPARENT]; kelvin_trace_give(h); puts(h); }
__attribute__((noinline)) static void leaf(int i) { KELVIN_SCOPE("scope", "i", i); KELVIN_COUNT("leaves", 1); sink++; }
__attribute__((noinline)) static void outer(void) { KELVIN_SCOPE("around"); for (int i = 0; i < 10; i++) leaf(i); give(); }
int main(void) { outer(); give(); return 0; }
END
}

@test "functions nest with the scopes of kelvin.h, whose own functions are none of the program's" {
    nested_program
    local compiler level
    for compiler in "gcc -std=gnu11" "g++ -x c++" "clang -std=gnu11" "clang++ -x c++"; do
        command -v "${compiler%% *}" >/dev/null || continue
        for level in -O0 -O2; do
            # shellcheck disable=SC2086  # words
            $compiler $level -g -finstrument-functions -I"$ROOT/include" nested.c -o nested
            kelvin record -q --functions -o r.kelvin -- ./nested
            exits 0
            "$KELVIN" scopes --format json r.kelvin >r.json
            [ "$(jq -r '[.tree[] | "\(.scope | sub("\\(.*"; "")) \(.calls)"] | join(",")' r.json)" = \
                "main 1,outer 1,around 1,leaf 10,scope 10" ] || fail "$compiler $level: $(jq -c '[.tree[].scope]' r.json)"
            [ "$(jq -r .note r.json)" = null ]
            # The ids are those of the innermost scope and of the function, in a trace that main began.
            [ "$(jq -r '.slowest | map({(.scope | sub("\\(.*"; "")): .attributes}) | add
                | "00-\(.main.trace_id)-\(.around.span_id)-01 00-\(.main.trace_id)-\(.main.span_id)-01"' r.json)" = \
                "$(tr '\n' ' ' <<<"$output" | sed 's/ $//')" ] || fail "$compiler $level: $output"
        done
    done
}
