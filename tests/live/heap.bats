#!/usr/bin/env bats
# The heap: every allocation of real programs, against their own count.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers
load ../lib/heap

setup_file() {
    build_targets
    share plain "$TARGET/heap" plain 20000
}

@test "C: every block, by function, equals the program's own count" {
    shared plain
    agrees
    [ "$(sum allocations ';part_aligned ')" = 20000 ]
    [ "$(sum allocations ';part_grown ')" = 40000 ]
    [ "$(sum leaked ';part_leaked ')" = "$(told leaked)" ]
    [ "$(sum temporary)" = 20001 ]
    [ "$(sum peak)" -ge $((10 << 20)) ]
    [ "$(sum peak)" -le $(((10 << 20) + $(told leaked) + 100000)) ]
}

@test "C: stacks reach from main to the call, at every depth" {
    shared plain
    [ "$(sum allocations '_start.*;main;.*part_small ')" = 40000 ]
    [ "$(sum allocations "main;[^;]*$(printf ';part_deep%.0s' {1..20});part_small ")" = 1000 ]
    [ "$(sum allocations 'main;[^;]*;part_deep;part_small ')" = 1000 ]
    "$KELVIN" info r.kelvin | grep -A3 '^stream 2' | grep 'unfinished stacks *0$'
}

@test "threads that hand blocks to each other" {
    record "$TARGET/heap" threads 50000
    agrees
}

# Times are left out where a thread is alone with a block (lib/heap_owner.h): here it is not, and each address changes hands.
@test "threads that pass one address to and fro: no event changes places with another's" {
    record "$TARGET/heap" turns 500
    agrees
    [ "$(sum frees part_cleared)" = 500 ] || fail "$(sum frees part_cleared)"
    kelvin info r.kelvin
    ! grep -E '(unknown|missed)_frees' <<<"$output" || fail "$output"
}

@test "a child has a heap of its own after fork" {
    record "$TARGET/heap" fork 500
    agrees
    [ "$(sum leaked)" = 640 ]
    "$KELVIN" info r.kelvin | grep 'processes 2'
}

@test "programs that a shell starts are recorded as well" {
    record bash -c "'$TARGET/heap' plain 100; '$TARGET/heap' plain 100"
    [ "$(sum allocations ';part_aligned ')" = 200 ]
}

@test "the program is not disturbed: errno, signal handlers, threads that die" {
    local mode
    for mode in errno handler churn; do
        record "$TARGET/heap_odd" $mode
        [ "$output" = undisturbed ] || fail "$mode: $output"
    done
    [ "$(sum allocations ';short_life;block ')" = 2000 ]
    [ "$(sum allocations ';last_words;block ')" = 1000 ]
    [ "$(sum leaked 'short_life|last_words')" = 0 ]
}

@test "libraries that come and go by dlopen have whole stacks" {
    cat >plugin.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *inner(void) { void *p = malloc(1234); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
void *plugin_make(void) { void *p = inner(); __asm__ volatile("" : : "r"(p) : "memory"); return p; }
END
    cc -O2 -g -fPIC -shared -o plugin.so plugin.c
    record "$TARGET/heap_odd" plugin "$PWD/plugin.so"
    [ "$output" = undisturbed ] || fail "$output"
    [ "$(sum allocated 'main;.*plugin_make;inner ')" = $((5 * 1234)) ]
}

@test "samples of the heap are unbiased by size, and few" {
    local estimate truth
    kelvin record --heap=sampled:20000 -o r.kelvin -- "$TARGET/heap" plain 100000
    exits 0
    estimate=$(sum allocated) truth=$(told allocated)
    [ $((estimate * 100 / truth)) -ge 90 ] && [ $((estimate * 100 / truth)) -le 110 ] ||
        fail "$estimate of $truth"
    estimate=$(sum allocations) truth=$(told allocations)
    [ $((estimate * 100 / truth)) -ge 85 ] && [ $((estimate * 100 / truth)) -le 115 ] ||
        fail "$estimate of $truth"
    [ "$(sum samples)" -lt $(($(told allocations) / 20)) ]
    "$KELVIN" info r.kelvin | grep 'sampled by bytes'
}

@test "anonymous maps, and parts of them, equal the program's own count where they are asked for" {
    kelvin record --heap=mmap -o r.kelvin -- "$TARGET/heap_maps"
    exits 0
    local value
    for value in allocations allocated frees freed leaked; do
        [ "$(sum $value 'part_.*;(mmap|mremap) ')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_.*;(mmap|mremap) '), the program counted $(told $value)"
    done
    [ "$(sum allocations 'part_leaked ')" = 1 ] # malloc's, not its map
    [[ $("$KELVIN" heap r.kelvin) == *take* ]]
    kelvin record --heap -o r.kelvin -- "$TARGET/heap_maps"
    exits 0
    [ "$(sum allocations 'mmap|mremap')" = 0 ]
}

@test "samples of maps stand for their bytes" {
    kelvin record --heap=sampled:8192,mmap -o r.kelvin -- "$TARGET/heap_maps"
    exits 0
    local seen all
    seen=$(sum allocated 'part_whole.*;mmap ') all=$((3999 * 4096)) # pages of 1000 maps
    [ "$seen" -gt $((all * 8 / 10)) ]
    [ "$seen" -lt $((all * 12 / 10)) ]
}

@test "blocks of a pool that the program tells of are counted beside the arena" {
    record "$TARGET/heap_odd" pool
    [ "$output" = undisturbed ] || fail "$output"
    local value
    for value in "allocations 301" "allocated $((300 * 64 + 65536))" "frees 299" "leaked 128" "peak $((100 * 64 + 65536))"; do
        [ "$(sum "${value% *}" ';pool')" = "${value#* }" ] || fail "$value: $(sum "${value% *}" ';pool')"
    done
    [[ $stderr != *"allocation was not seen"* ]] || fail "$stderr"
}

@test "a thousand threads at once: every block of each" {
    cat >many.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 1000, EACH = 50 };
static pthread_barrier_t all;
__attribute__((noinline)) static void *of_thread(void *arg)
{
    void *volatile kept[EACH];
    pthread_barrier_wait(&all);
    for (int i = 0; i < EACH; i++)
        kept[i] = malloc(10 + (size_t)i);
    for (int i = 0; i < EACH; i++)
        free(kept[i]);
    return arg;
}
int main(void)
{
    pthread_t t[THREADS];
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 65536);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], &a, of_thread, NULL)) return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
END
    cc -O1 many.c -o many -pthread
    record ./many
    [ "$(sum allocations of_thread)" = 50000 ] || fail "$(sum allocations of_thread)" "$stderr"
    [ "$(sum leaked of_thread)" = 0 ] || fail "$(sum leaked of_thread)"
    [[ $stderr != *"were lost"* ]] || fail "$stderr"
}

@test "a storm of forks: every child's block" {
    cat >storm.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void of_child(void) { void *volatile p = malloc(123); free(p); }
int main(void)
{
    void *volatile from_parent = malloc(77);
    for (int i = 0; i < 300; i++) {
        if (fork() == 0) { of_child(); _exit(0); }
        if (i % 30 == 29) while (wait(NULL) > 0) ;
    }
    while (wait(NULL) > 0) ;
    free(from_parent);
    return 0;
}
END
    cc -O1 storm.c -o storm
    record ./storm
    [ "$(sum allocations of_child)" = 300 ] || fail "$(sum allocations of_child)" "$stderr"
    [ "$(sum leaked main)" = 0 ] || fail "$(sum leaked main)"
}

@test "stacks that differ only far out are told apart, in turns" {
    cat >turns.c <<'END'
#include <stdlib.h>
#define FAR __attribute__((noinline, noclone)) static
FAR void *inner(void *p) { __asm__ volatile("" : "+r"(p) : : "memory"); return p; }
FAR void *leaf(size_t n) { return inner(malloc(n)); }
FAR void *middle(size_t n) { return inner(leaf(n)); }
FAR void *deeper(int k, size_t n) { return inner(k ? deeper(k - 1, n) : middle(n)); }
FAR void from_a(int k) { free(inner(deeper(k, 10))); }
FAR void from_b(int k) { free(inner(deeper(k, 20))); }
FAR void from_c(int k) { free(inner(deeper(k, 40))); }
int main(void)
{
    void (*const who[])(int) = {from_a, from_b, from_c, from_b, from_a};
    for (int i = 0; i < 50000; i++)
        who[i % 5](i % 7 * i % 3);
    return 0;
}
END
    cc -O2 -g -fno-inline -fno-optimize-sibling-calls -o turns turns.c
    record ./turns
    local who
    for who in "from_a 20000 200000" "from_b 20000 400000" "from_c 10000 400000"; do
        # shellcheck disable=SC2086
        set -- $who
        [ "$(sum allocations ";$1;deeper;(.*;)?middle;leaf")" = "$2" ] || fail "$1: $(sum allocations ";$1;") allocations"
        [ "$(sum allocated ";$1;deeper;(.*;)?middle;leaf")" = "$3" ] || fail "$1: $(sum allocated ";$1;") bytes"
    done
}

@test "reallocarray is one allocation, and nobody is accused of double frees" {
    cat >array.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
int main(void)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile p = reallocarray(NULL, 10, 10);
        p = reallocarray(p, 20, 50);
        free(p);
    }
    return reallocarray(NULL, -1, 16) != NULL;
}
END
    cc -O1 -g -fno-builtin -w -o array array.c
    record ./array
    [ "$(sum allocations ';main ')" = 2000 ] || fail "$(sum allocations ';main ') allocations"
    [ "$(sum allocated ';main ')" = 1100000 ]
    kelvin heap r.kelvin --format json
    jq -e '.unknown_frees == 0 and .missed_frees == 0' <<<"$output"
}

@test "handlers of signals that tell of blocks at any moment: every block, every free" {
    cat >signals.c <<'END'
#include <kelvin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
static char room[1 << 20];
static volatile long told;
static void *volatile sink;
static void handler(int s)
{
    (void)s;
    for (int i = 0; i < 3; i++) {
        char *p = room + told++ % 16384 * 64;
        kelvin_alloc(p, 33);
        kelvin_free(p);
    }
}
__attribute__((noinline)) static void one(long i)
{
    free(sink = malloc((size_t)(16 + i % 300)));
}
__attribute__((noinline)) static void eight(long i)
{
    void *p[8];
    for (int k = 0; k < 8; k++)
        sink = p[k] = malloc((size_t)(20 + (i + k) % 200));
    for (int k = 0; k < 8; k++)
        free(p[k]);
}
int main(void)
{
    struct itimerval often = {{0, 50}, {0, 50}}, never = {0};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, NULL);
    for (long i = 0; i < 600000; i++)
        i % 3 ? one(i) : eight(i);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("allocations %ld\n", 400000 + 1600000 + told);
    return 0;
}
END
    cc -O1 -g -fno-builtin -I"$BATS_TEST_DIRNAME/../../include" -o signals signals.c
    record ./signals
    kelvin heap r.kelvin --format json
    jq -e '.unknown_frees == 0 and .missed_frees == 0' <<<"$output" || fail "$output"
    [ "$(sum allocations ';one ')" = 400000 ]
    [ "$(sum allocations ';eight ')" = 1600000 ]
}

@test "a realloc that fails leaves the block: it is still held, and its free is no double one" {
    cat >kept.c <<'END'
#include <stdint.h>
#include <stdlib.h>
static void *volatile block;
static void part_kept(int n)
{
    for (int i = 0; i < n; i++) {
        block = malloc(1000);
        if (realloc(block, PTRDIFF_MAX))
            abort();
        if (i % 2)
            free(block);
    }
}
int main(void)
{
    part_kept(100);
    return 0;
}
END
    cc -O1 -g -w -fno-inline -o kept kept.c
    local how
    for how in --heap --heap=sampled:1; do
        kelvin record --engine none $how -o r.kelvin -- ./kept
        exits 0
        [[ $stderr != *"allocation was not seen"* ]] || fail "$stderr"
        [ "$(sum allocations part_kept)" = 100 ] || fail "$(sum allocations part_kept)"
        [ "$(sum leaked part_kept)" = 50000 ] || fail "$(sum leaked part_kept)"
        [ "$(sum freed part_kept)" = 50000 ] || fail "$(sum freed part_kept)"
    done
}

@test "samples: a block is not temporary when another came that was no sample; realloc to the same size is no growth" {
    cat >between.c <<'END'
#include <stdlib.h>
static void *volatile large, *volatile small;
static void part_between(int n)
{
    for (int i = 0; i < n; i++) {
        large = malloc(16 << 20);
        small = malloc(1);
        free(large);
        free(small);
    }
}
static void part_same(int n)
{
    for (int i = 0; i < n; i++) {
        small = malloc(100);
        small = realloc(small, 100);
        free(small);
    }
}
int main(void)
{
    part_between(50);
    part_same(20000);
    return 0;
}
END
    cc -O1 -g -w -fno-inline -o between between.c
    kelvin record --engine none --heap=sampled:1048576 -o r.kelvin -- ./between
    exits 0
    [ "$(sum allocations part_between)" -ge 50 ]
    [ "$(sum temporary part_between)" -lt 5 ] || fail "$(sum temporary part_between)"
    record ./between
    [ "$(sum temporary part_between)" = 50 ] || fail "$(sum temporary part_between)" # the small ones
    [[ $(insights) != *"growth by steps"* ]] || fail "$(insights)"
}
