#!/usr/bin/env bats
# What `kelvin heap` says is so: of several processes, of programs that nobody could look into, of samples that did not come.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# Keeps 1000 blocks of 1000 bytes, and works for a while so that there are samples.
make_keeper() {
    cat >keeper.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[1000];
static volatile unsigned long work;
static void keep(void)
{
    for (int i = 0; i < 1000; i++) {
        kept[i] = malloc(1000);
        for (int k = 0; k < 30000; k++)
            work++;
    }
}
int main(void)
{
    keep();
    usleep(150000); /* RSS is read ten times a second */
    return 0;
}
END
    cc -O1 -g -o keeper keeper.c
}

@test "a process that ended holds nothing, and sums over processes say so" {
    make_keeper
    kelvin record --heap -o r.kelvin -- sh -c './keeper; ./keeper; ./keeper; ./keeper'
    exits 0
    [[ $stderr == *"sums over 5 processes"* ]] || fail "$stderr"
    kelvin heap --format json r.kelvin
    [ "$(jq '.peak < 1200000 and .leaked >= 4000000 and .processes == 5' <<<"$output")" = true ] || fail "$output"
    [ "$(jq '[.places[] | select(.function == "keep") | .live_near_the_end <= 1000000] | all' <<<"$output")" = true ] || fail "$output"
    kelvin heap r.kelvin
    [[ $output == *"sums over 5 processes"*"RSS of the largest process"* ]] || fail "$output"
}

@test "the chart of one process is the whole's without the others, and rates are of its own time" {
    make_keeper
    kelvin record --heap -o r.kelvin -- sh -c './keeper; sleep 1'
    exits 0
    kelvin heap --format json --process keeper r.kelvin
    exits 0
    # as many bytes as it held at its end; nothing afterwards
    jq -e '([.live[][1]] | max) >= 1000000 and .live[-1][1] == 0' <<<"$output" || fail "$output"
    local whole own
    whole=$(jq .seconds <<<"$output")
    kelvin heap --width 200 --process keeper r.kelvin
    own=$(sed -nE 's/.*, .* in ([0-9.]+) (m?)s \(.*/\1 \2/p' <<<"$output" | awk '{ print $2 == "m" ? $1 / 1000 : $1 }')
    awk -v own="$own" -v whole="$whole" 'BEGIN { exit !(own > 0 && own < whole - 0.8) }' || fail "$whole $output"
    kelvin heap --process keeper r.kelvin -o part.html
    grep -q '<svg class="heap"' part.html
}

@test "a program with a malloc of its own is not counted exactly" {
    cat >own.c <<'END'
#include <stddef.h>
static char pool[1 << 20];
static size_t top;
void *malloc(size_t n) { void *p = pool + top; top = (top + n + 31) % (sizeof pool / 2) & ~(size_t)15; return p; }
void free(void *p) { (void)p; }
int main(void)
{
    for (int i = 0; i < 50000000; i++) {
        void *volatile p = malloc(100);
        (void)p;
    }
    return 0;
}
END
    cc -O1 -g -fno-builtin -w -o own own.c
    kelvin record --heap -o r.kelvin -- ./own
    exits 0
    [[ $stderr == *"not recorded: own, with a malloc of its own"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output == *"Not recorded: own, with a malloc of its own"* ]] || fail "$output"
    [[ $output != *"every allocation was counted"* && $output != *"Peak 0"* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    [ "$(jq -r '.own_malloc, .nothing_seen' <<<"$output" | xargs)" = "own true" ] || fail "$output"
}

# Nobody can preload into it, and the shell that starts it is recorded.
@test "a static program that a shell starts is named, and no rule passes on what was not seen" {
    make_keeper
    cc -O1 -static -o still keeper.c 2>/dev/null || skip "no static libc here"
    kelvin record --heap -o r.kelvin -- sh -c './still; true'
    exits 0
    if [[ $("$KELVIN" info r.kelvin) == *"engine       perf"* ]]; then # others miss what is over so soon
        [[ $stderr == *"heap: not recorded: still, as kelvin's library did not get into it"* ]] || fail "$stderr"
    fi
    kelvin record --engine none --heap -o r.kelvin -- sh -c 'env -i sleep 2; true'
    exits 0
    [[ $stderr == *"heap: not recorded: sleep, as"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output == *"Not recorded: sleep, as kelvin's library did not get into it"*"not exact: allocations by programs that were not recorded"* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    [ "$(jq -r .not_recorded <<<"$output")" = sleep ] || fail "$output"
    echo 'peak <= 200 MiB' >heap.rules
    kelvin check r.kelvin heap.rules
    [[ $output == *"allocations of sleep were not recorded, so there may be more"* ]] || fail "$output"
    [ "$status" -ne 0 ]
}

@test "a program without room for what the library shares is named, and runs" {
    need_record --engine perf -- true
    make_keeper
    kelvin record --heap -o r.kelvin -- sh -c 'ulimit -v 500000; ./keeper; echo "rc $?"'
    exits 0
    [[ $output == "rc 0" ]] || fail "$output"
    [[ $stderr == *"not recorded: keeper, as kelvin's library"*"address space"* ]] || fail "$stderr"
}

@test "programs that are seen, however they are started, are not called unseen" {
    make_keeper
    cp keeper 'a name with blanks and more'
    kelvin record --heap -o r.kelvin -- sh -c 'for i in 1 2 3 4 5 6 7 8; do (:); true | ./keeper; done; ./a*; exec ./keeper'
    exits 0
    [[ $stderr == *"sums over"* && $stderr != *"not recorded"* ]] || fail "$stderr"
    kelvin record --engine none --heap -o r.kelvin -- sh -c 'sleep 1.2; exec ./keeper'
    exits 0
    [[ $stderr != *"not recorded"* ]] || fail "$stderr"
}

@test "a program with AddressSanitizer is refused with the true reason" {
    echo 'int main(void) { return 0; }' >a.c
    cc -fsanitize=address -o a a.c 2>/dev/null || skip "cc has no AddressSanitizer"
    kelvin record --heap -o r.kelvin -- ./a
    exits 125
    complains "AddressSanitizer" "-fsanitize=address"
}

@test "a Go program is sent to pprof, not to libkelvin-heap.a" {
    cc -O1 -static -o g -x c - <<<'__attribute__((section(".go.buildinfo"))) char info[64] = "\xff Go buildinf:"; int main(void) { return 0; }'
    kelvin record --heap -o r.kelvin -- ./g
    exits 125
    complains "Go program" "pprof"
}

@test "sampled: no sample is not nothing, and every number says what it rests on" {
    make_keeper
    kelvin record --heap=sampled:1073741824 -o r.kelvin -- ./keeper
    exits 0
    [[ $stderr == *"no sample, so at most about 3 GiB"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output == *"Never freed: No sample, so at most about 3 GiB (95%)."* && $output != *"Nothing"* ]] || fail "$output"
    kelvin record --heap=sampled:16384 -o r.kelvin -- ./keeper
    kelvin heap r.kelvin
    [[ $output == *"Number of allocations: between "*"Never freed: about "*" (95%: "*" samples)"*"samples  function"* ]] || fail "$output"
    [[ $output != *"per second"* && $output != *"Temporary"* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    [ "$(jq '.leaked_samples >= 20 and .leaked_interval[0] < .leaked and .leaked < .leaked_interval[1]' <<<"$output")" = true ] || fail "$output"
    jq -e '.allocations_interval[0] < .allocations and .allocations < .allocations_interval[1]' <<<"$output"
}

@test "libraries that call free past kelvin are no exact count" {
    cat >gone.c <<'END'
#include <stdlib.h>
void gone(void *p) { free(p); }
END
    cat >deep.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
static void *volatile block;
int main(void)
{
    void *library = dlopen("./gone.so", RTLD_NOW | RTLD_DEEPBIND);
    void (*gone)(void *) = (void (*)(void *))dlsym(library, "gone");
    for (int i = 0; i < 10; i++) {
        block = malloc(40);
        gone(block);
    }
    return 0;
}
END
    cc -O1 -shared -fPIC -o gone.so gone.c
    cc -O1 -o deep deep.c
    kelvin record --engine none --heap -o r.kelvin -- ./deep
    exits 0
    kelvin heap --width 1000 r.kelvin
    [[ $output == *"Not every free was seen: malloc gave 9 blocks out again without one."*RTLD_DEEPBIND*"not exact: some calls"* ]] || fail "$output"
}

@test "a heap that was never touched is not part of RSS" {
    cat >big.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile big;
static volatile unsigned long work;
int main(void)
{
    big = malloc(1 << 30);
    for (unsigned long i = 0; i < 1000000000; i++)
        work++;
    return 0;
}
END
    cc -O1 -g -o big big.c
    kelvin record --heap -o r.kelvin -- ./big
    exits 0
    kelvin heap r.kelvin
    [[ $output == *"less than the heap: the rest was never touched"* && $output != *"the heap is part of it"* ]] || fail "$output"
}

@test "a process that outlives the command is said to run" {
    cat >on.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
int main(void)
{
    kept = malloc(1000);
    write(1, "ready", 5);
    pause();
    return (int)alarm(0);
}
END
    cc -O1 -g -o on on.c
    kelvin record --heap -o r.kelvin -- sh -c './on >ready 3>&- & echo $! >pid; i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done; while [ ! -s ready ]; do :; done'
    kill "$(cat pid)"
    exits 0
    [[ $stderr == *"1 process was still running"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output == *"1 process was still running when the recording ended"* ]] || fail "$output"
}

@test "heap profiles of what was in use are sent to the report, and the list of functions is the program's" {
    printf 'heap_v2/524288\n  t*: 1: 1024 [0: 0]\n@ 0x401000 0x402000\n  t*: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n' >j.heap
    kelvin heap j.heap
    exits 5
    complains "--value inuse_space"
    make_keeper
    sed -i 's/k < 30000/k < 10/; s/    keep();/    for (int n = 0; n < 300; n++) { keep(); for (int i = 0; i < 1000; i++) free(kept[i]); }/' keeper.c
    cc -O1 -g -o keeper keeper.c
    kelvin record --heap -o r.kelvin -- ./keeper
    exits 0
    [[ $stderr == *"(kelvin's own recording of the heap)"* && $stderr != *heap_tell* ]] || fail "$stderr"
}
