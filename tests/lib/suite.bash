# suite.bash - what the tests of suites share. In a .bats file: `load ../lib/helpers`, then `load ../lib/suite`.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too

# A project with one program and one workload, committed.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
    mkdir project
    cd project || return
    cat >app.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifndef WORK
#define WORK 100
#endif
static volatile uint64_t sink;
__attribute__((noinline)) static void steady(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 31 + 7;
}
__attribute__((noinline)) static void suspect(long n)
{
    for (long i = 0; i < n * WORK / 100; i++)
        sink = sink * 33 + 5;
}
int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1;
    for (long i = 0; i < n; i++) {
        steady(10000);
        suspect(10000);
    }
    printf("%ld\n", n);
    return argc > 2 ? atoi(argv[2]) : 0;
}
C
    cat >kelvin.conf <<'CONF'
[project]
name = trial
[build]
command = cc $CFLAGS -o app app.c
env = CFLAGS="-O2 -g"
binary = ./app
[workload small]
command = ./app 3000
rate = 4999
[publish]
sources = *.c
CONF
    git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -q -m one
}

has() { grep -q -- "$2" "$1" || fail "no '$2' in $1:" "$(head -c 600 "$1")"; }

said() { [[ $stderr == *"$1"* ]] || fail "did not say '$1' but: $stderr"; }

# What a folder holds, without the bytes that tell time.
print_of() { (cd "$1" && find . -type f | sort | xargs sha256sum) | sha256sum; }
