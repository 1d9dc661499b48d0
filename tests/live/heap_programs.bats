#!/usr/bin/env bats
# The heap of programs that are not like others: children of a fork, 32 bits, an interpreter with tests of its own.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

@test "frees by the child of a fork of its parent's blocks are counted apart from faults" {
    cat >inherit.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[30];
int main(void)
{
    for (int i = 0; i < 30; i++)
        kept[i] = malloc(100);
    if (fork() == 0) {
        for (int i = 0; i < 20; i++)
            free(kept[i]);
        _exit(0);
    }
    wait(NULL);
    for (int i = 0; i < 30; i++)
        free(kept[i]);
    return 0;
}
END
    cc -O1 -o inherit inherit.c
    kelvin record --heap -o r.kelvin -- ./inherit
    exits 0
    [[ $stderr == *"20 frees were of blocks that a forked child inherited"* ]] || fail "$stderr"
    [[ $stderr != *"whose allocation was not seen"* ]] || fail "$stderr"
    kelvin heap --format json r.kelvin
    [ "$(jq '.inherited_frees, .unknown_frees, .leaked' <<<"$output" | xargs)" = "20 0 0" ] || fail "$output"
    kelvin heap r.kelvin
    [[ $output == *"Frees by forked children"*": 20."* ]] || fail "$output"
}

# Its first child there is process 1, and cannot see the recorder; after a full ring nobody was recorded any more.
@test "a program in a pid namespace of its own is recorded under the numbers of this one" {
    unshare --pid --fork true 2>/dev/null || skip "cannot make a namespace of process numbers"
    cat >many.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *volatile kept;
static long rounds = 200000;
static void *run(void *arg)
{
    for (long i = 0; i < rounds; i++) {
        kept = malloc(40);
        free(kept);
    }
    return arg;
}
int main(int argc, char **argv)
{
    pthread_t t;
    if (argc > 1)
        rounds = atol(argv[1]);
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, NULL);
    run(NULL);
    return 0;
}
END
    cc -O1 -pthread -o many many.c
    kelvin record --heap -o r.kelvin -- unshare --pid --fork ./many
    exits 0
    [[ $stderr != *"not recorded"* && $stderr != *"still running"* ]] || fail "$stderr"
    "$KELVIN" heap r.kelvin | grep -q "exact: every allocation was counted" || fail "$("$KELVIN" heap r.kelvin)"
    "$KELVIN" fold --value allocations r.kelvin >folded
    [ "$(awk '/;run / { n += $NF } END { print n }' folded)" = 400000 ] || fail "$(cat folded)"
    # Long enough for a timer that ticks a few times in a hundredth of a second.
    kelvin record --engine timer --min-samples 0 -o r.kelvin -- unshare --pid --fork ./many 15000000
    exits 0
    "$KELVIN" fold r.kelvin | grep -q "^many;.*;run" || fail "$("$KELVIN" fold r.kelvin)"

    unshare --pid --fork --mount-proc true 2>/dev/null || skip "no right to mount /proc"
    kelvin record --heap -o r.kelvin -- unshare --pid --fork --mount-proc ./many
    exits 0
    [[ $stderr == *"not recorded: many, "*"or it has a /proc of its own"* ]] || fail "$stderr"
}

@test "a 32-bit program is refused with a reason" {
    cat >small.c <<'END'
void _start(void) { __asm__ volatile("movl $1, %eax; xorl %ebx, %ebx; int $0x80"); }
END
    cc -m32 -nostdlib -static -o small small.c 2>/dev/null || skip "cc makes no 32-bit programs here"
    kelvin record --heap -o r.kelvin -- ./small
    exits 125
    complains "32-bit program" "allocations cannot be recorded"
}

# The interpreter's own tests; how many there are and which fail here is its own affair: the same with the agent as without.
@test "tests of python3 end under the agent as they do without it" {
    local python=/usr/bin/python3 tests=(test_list test_dict test_gc test_fork1 test_bytes)
    "$python" -c 'import test.test_list, test.test_fork1' 2>/dev/null || skip "needs python3's own tests (libpython3-testsuite)"
    run timeout "$(patience 120)" "$python" -m test "${tests[@]}"
    local bare=$status
    kelvin record --heap -q -o r.kelvin -- timeout "$(patience 240)" "$python" -m test "${tests[@]}"
    exits "$bare"
    [[ $stderr != *"whose allocation was not seen"* ]] || fail "$stderr"
    [ "$("$KELVIN" heap --format json r.kelvin | jq '.allocations > 10000 and .unknown_frees == 0 and .missed_frees == 0')" = true ]
}
