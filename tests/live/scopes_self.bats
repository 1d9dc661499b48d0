#!/usr/bin/env bats
# Programs that record their scopes by themselves, and recorders that come while a program runs.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
INCLUDE=$BATS_TEST_DIRNAME/../../include

setup_file() {
    build_targets
}

# A `kelvin` in PATH, as for people who installed it.
alone() { # COMMAND...
    run --separate-stderr env PATH="${KELVIN%/*}:$PATH" KELVIN_OUTPUT=r.kelvin "$@"
}

scopes() { # EXPRESSION [OPTION...]
    "$KELVIN" scopes --format json "${@:2}" r.kelvin | jq -r "$1"
}

spans_of() { # FILE
    "$KELVIN" scopes --format json "$1" 2>/dev/null | jq .spans
}

# A program that runs until it is killed: ./loop
start_loop() {
    cat >loop.c <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <unistd.h>
static void *work(void *x) { for (;;) { KELVIN_SCOPE("other"); usleep(500); } return x; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    KELVIN_SCOPE("open all the time");
    for (int i = 0;; i++) {
        KELVIN_SCOPE("step", "i", i % 4);
        { KELVIN_SCOPE("inner"); usleep(1000); }
        KELVIN_COUNT("steps", 1);
    }
}
END
    cc -O2 -pthread -I"$INCLUDE" loop.c -o loop
    strip loop
    "$@" ./loop 3>&- &
    loop=$!
}

stop_loop() {
    kill -9 "$loop"
    wait "$loop" || true
}

@test "KELVIN_OUTPUT: the file is whole when the program has ended, and has every span" {
    alone "$TARGET/scopes" 200 3
    exits 0
    [ -z "$stderr" ]
    [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | join(",")')" = \
        "null token 200,0 layer 600,1 matmul 600" ]
    [ "$(scopes '"\(.lost) \(.note)"')" = "0 null" ]
    [ "$(scopes '.counters[] | select(.name == "tokens") | .last')" = 200 ]
    [ "$("$KELVIN" info r.kelvin | awk '$1 == "engine" { print $2 }')" = none ]
    kelvin report r.kelvin
    [[ $output$stderr != *nan* ]]
}

@test "KELVIN_OUTPUT: longjmp, fork, deep nesting and scopes open at exit, as with a recorder" {
    alone "$TARGET/scopes" odd
    exits 0
    [[ $(scopes .note) == "3 scopes never ended, 1 end without a beginning, 73 scopes nested too deeply" ]]
    [ "$(scopes '.flat[] | select(.scope == "child") | .calls')" = 1 ]
}

@test "KELVIN_OUTPUT: killed with SIGKILL, all that ended before is in the file" {
    cat >dies.c <<'END'
#include <kelvin.h>
#include <signal.h>
int main(void)
{
    for (int i = 0; i < 1234; i++) { KELVIN_SCOPE("step"); }
    raise(SIGKILL);
}
END
    cc -I"$INCLUDE" dies.c -o dies
    alone ./dies
    [ "$status" = 137 ]
    wait_until 10 test -s r.kelvin
    [ "$(scopes .spans)" = 1234 ]
}

@test "KELVIN_OUTPUT: no kelvin in PATH is said, and the program runs as ever" {
    local empty=$PWD/empty
    mkdir "$empty"
    run --separate-stderr env PATH="$empty" KELVIN_OUTPUT=r.kelvin "$TARGET/scopes" 20 2
    exits 0
    [ "$stderr" = "kelvin: KELVIN_OUTPUT is set, but there is no kelvin in PATH with its libkelvin-scopes.so: nothing is recorded" ]
    no_file r.kelvin
}

@test "KELVIN_OUTPUT: a file that cannot be written is said, and the program runs as ever" {
    run --separate-stderr env PATH="${KELVIN%/*}:$PATH" KELVIN_OUTPUT=no/such/folder/r.kelvin "$TARGET/scopes" 20 2
    exits 0
    complains "no/such/folder/r.kelvin"
}

@test "KELVIN_OUTPUT: the program has no new child, its pipes end with it, and files may be closed" {
    cat >manners.c <<'END'
#include <kelvin.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    if (wait(NULL) != -1 || errno != ECHILD) return 1;
    if (getenv("KELVIN_OUTPUT")) return 2;
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < 300; i++) /* numbers that were the recorder's */
        if (dup(1) < 0) return 3;
    { KELVIN_SCOPE("after"); }
    puts("done");
    return 7;
}
END
    cc -I"$INCLUDE" manners.c -o manners
    run bash -c "PATH='${KELVIN%/*}:$PATH' KELVIN_OUTPUT=r.kelvin ./manners | od -c | head -2; exit \${PIPESTATUS[0]}"
    [ "$status" = 7 ]
    # Not a byte of ours in what it writes.
    [[ $output == "0000000   d   o   n   e  \n"* && $output == *0000005* ]]
    wait_until 10 test -s r.kelvin
    [ "$(scopes '.flat[] | "\(.scope) \(.calls)"')" = "after 1" ]
}

@test "KELVIN_OUTPUT: the program does not end before the file is there" {
    local i
    for i in 1 2 3; do
        rm -f r.kelvin
        PATH="${KELVIN%/*}:$PATH" KELVIN_OUTPUT=r.kelvin "$TARGET/scopes" 20 2 >out 2>err # no pipe to wait for
        [ -s r.kelvin ]
    done
}

@test "KELVIN_OUTPUT: a pipe that the program closes ends, as the recorder has no part in it" {
    cat >closes.c <<'END'
#include <kelvin.h>
#include <unistd.h>
int main(void)
{
    { KELVIN_SCOPE("first"); }
    close(5);
    for (int i = 0; i < 3000 && access("ended", F_OK) != 0; i++)
        usleep(10000);
    return access("ended", F_OK) == 0 ? 0 : 9;
}
END
    cc -I"$INCLUDE" closes.c -o closes
    mkfifo pipe
    (cat pipe >/dev/null && touch ended) 3>&- &
    PATH="${KELVIN%/*}:$PATH" KELVIN_OUTPUT=r.kelvin ./closes 5>pipe 3>&- 2>err
    wait
}

@test "KELVIN_OUTPUT: under a limit on the size of files the program runs as ever" {
    run --separate-stderr bash -c "ulimit -f 100; PATH='${KELVIN%/*}:$PATH' KELVIN_OUTPUT=r.kelvin '$TARGET/scopes' 20 2"
    exits 0
    no_file r.kelvin
}

@test "attached: scopes are found in a stripped program, switched on, off and on again" {
    start_loop
    local i
    for i in 1 2; do
        kelvin record -q --engine none -p "$loop" -d 1 -o r.kelvin
        exits 0
        # The scope that was open before is not told, and nothing is called unbalanced.
        [ "$(scopes '[.tree[] | "\(.parent) \(.scope)"] | sort | join(",")')" = "$(scopes '.tree | map(.scope == "step") | index(true)') inner,null other,null step" ]
        [ "$(scopes .note)" = null ]
        [ "$(scopes '[.tree[].calls > 100] | all')" = true ]
        [ "$(scopes '[.groups[].value] | join(",")' --by i)" = 0,1,2,3 ]
    done
    # Off: nothing is written into the rings.
    cat /proc/"$loop"/maps >maps
    stop_loop
    [ "$(grep -c 'memfd:kelvin-scopes' maps)" = 2 ]
}

@test "attached: CPU samples are inside of the scopes" {
    "$TARGET/scopes" 100000000 4 3>&- &
    local pid=$!
    kelvin record -p "$pid" -d 1.5 -o r.kelvin
    kill -9 "$pid"
    [[ $stderr == *"scopes: "*" spans, "* ]] || fail "$stderr"
    local in all
    all=$("$KELVIN" fold r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    in=$("$KELVIN" fold --scope '^matmul$' r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    [ $((10 * in)) -ge $((6 * all)) ]
}

@test "attached: files that follow one another have the scopes of their time" {
    start_loop
    kelvin record -q --engine none -p "$loop" --rotate 1s -d 3.5 -o d/
    stop_loop
    exits 0
    local file n=0
    for file in d/2*.kelvin; do
        cp "$file" r.kelvin
        [ "$(scopes '[.flat[].scope] | sort | join(",")')" = inner,other,step ] || fail "$file: $(scopes '[.flat[].scope]')"
        [ "$(scopes '.duration_ns < 3000000000 and .note == null')" = true ] || fail "$file"
        n=$((n + 1))
    done
    [ "$n" -ge 3 ] || fail "$(ls d)"
}

@test "attached: one recorder at a time, the second is told and the first is left alone" {
    start_loop
    "$KELVIN" record -q --engine none -p "$loop" -d 3 -o r.kelvin 3>&- &
    local first=$!
    wait_until 10 test -s r.kelvin.part
    kelvin record --engine none -p "$loop" -d 0.3 -o second.kelvin
    exits 0
    [[ $stderr == *"no scopes of kelvin.h: process $first records them"* ]] || fail "$stderr"
    wait "$first"
    stop_loop
    [ "$(scopes '.duration_ns > 2500000000 and .note == null')" = true ]
}

@test "attached: the recorder killed, the next one takes over" {
    start_loop
    "$KELVIN" record -q --engine none -p "$loop" -o first.kelvin 3>&- &
    local first=$!
    wait_until 10 test -s first.kelvin.part
    kill -9 "$first"
    wait "$first" || true
    kelvin record -q --engine none -p "$loop" -d 1 -o r.kelvin
    stop_loop
    exits 0
    [ "$(scopes '.spans > 100 and .note == null')" = true ]
}

@test "attached: a program without scopes, and one that begins none, are told apart" {
    sleep 100 3>&- &
    local pid=$!
    kelvin record --engine none -p "$pid" -d 0.2 -o r.kelvin
    exits 0
    [[ $stderr != *"kelvin.h"* ]]
    kill "$pid"
    printf '#include <kelvin.h>\n#include <unistd.h>\nint main(void){pause();KELVIN_SCOPE("x");return 0;}\n' >quiet.c
    cc -I"$INCLUDE" quiet.c -o quiet
    ./quiet 3>&- &
    pid=$!
    kelvin record --engine none -p "$pid" -d 0.2 -o r.kelvin
    kill "$pid"
    exits 0
    [[ $stderr == *"no scopes of kelvin.h: the program began no scope while it was recorded"* ]] || fail "$stderr"
}

@test "attached: root reaches another user's program, which may not look at root's files" {
    [ "$(id -u)" = 0 ] || skip "needs root"
    start_loop true
    local folder
    folder=$(open_folder ./loop "${KELVIN%/*}/libkelvin-scopes.so")
    setpriv --reuid=65534 --regid=65534 --clear-groups "$folder/loop" 3>&- &
    loop=$!
    run --separate-stderr "$folder/kelvin" record -q --engine none -p "$loop" -d 1 -o r.kelvin
    stop_loop
    exits 0
    [ "$(scopes '.spans > 100')" = true ]
}

@test "a program that may not be written to: said, and what to do" {
    [ "$(id -u)" = 0 ] || skip "needs root, to be somebody else"
    start_loop
    local folder
    folder=$(open_folder "${KELVIN%/*}/libkelvin-scopes.so")
    chmod 777 "$folder"
    run_as_nobody "$folder/kelvin" record --engine none -p "$loop" -d 0.2 -o "$folder/r.kelvin"
    stop_loop
    exits 0
    [[ $stderr == *"no scopes of kelvin.h: scopes of a running program need the right to write to its memory"* ]] || fail "$stderr"
}
