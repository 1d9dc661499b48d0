#!/usr/bin/env bats
# A program planted for each insight, which must get it, and healthy ones that must get none.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    cat >planted.cc <<'EOF'
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define KEEP __attribute__((noinline, noclone))
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static float floats[4096];
static volatile uint64_t sink;
extern "C" {
KEEP float add_up(const float *a, int n) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
static int ints[4096];
struct node { struct node *next; long x; };
static struct node nodes[4096];
KEEP float curve(float x) { return x * x * 0.5f + x * 3.f - 1.f / (x + 2.f) + x * x * x; }
KEEP float steps(float x, int n) { float s = x; do { if (s > 9.f) s *= 0.1f; s += curve(s) * 0.01f - s * s * 0.02f; } while (--n); return s; }
KEEP long add_ints(const int *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
KEEP long follow(const struct node *p) { long s = 0; for (; p; p = p->next) s += p->x; return s; }
KEEP long look_up(const int *a, int n) { long s = 0; for (int i = 0; i < n; i++) s += ints[a[i]]; return s; }
KEEP long search(const int *a, int x) { const int *p = a; while (*p != x) p++; return p - a; }
KEEP void mix(uint64_t n) { uint64_t x = sink; while (n--) x = x * 6364136223846793005u + (x >> 7); sink = x; }
KEEP void allocate(void) { void *p[64]; for (int i = 0; i < 64; i++) { p[i] = malloc(20 + i * 40); asm volatile("" ::"r"(p[i])); } for (int i = 0; i < 64; i++) free(p[i]); }
KEEP uint64_t hash_name(const char *s) { uint64_t h = 14695981039346656037u; for (; *s; s++) h = (h ^ (uint8_t)*s) * 1099511628211u; return h; }
KEEP void lock(void) { static pthread_mutex_t m; for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&m); sink++; pthread_mutex_unlock(&m); } }
KEEP void copy(void) { static char a[1 << 15], b[1 << 15]; for (int i = 0; i < 50; i++) { memcpy(a, b, sizeof a); asm volatile("" ::"r"(a) : "memory"); } }
KEEP void load(void) { static char b[1 << 20]; static int fd = open("/dev/shm/.", O_TMPFILE | O_RDWR, 0600); static int once = write(fd, b, sizeof b); (void)once; if (pread(fd, b, sizeof b, 0) < 0) exit(1); }
KEEP void touch(void) { size_t n = 1 << 22; char *p = (char *)mmap(0, n, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); for (size_t i = 0; i < n; i += 4096) p[i] = 1; munmap(p, n); }
KEEP void thrower(int i) { if (i >= 0) throw i; }
KEEP void tries(void) { for (int i = 0; i < 100; i++) try { thrower(i); } catch (int x) { sink += x; } }
KEEP void format(void) { char s[64]; for (int i = 0; i < 100; i++) snprintf(s, sizeof s, "%d %f %s", i, i / 3.0, "x"); sink += s[0]; }
KEEP int nest(int n) { if (!n) { mix(1000); return 1; } return nest(n - 1) + (int)(sink & 1); }
}
int main(int n, char **args)
{
    const char *w = n > 1 ? args[1] : "mix";
    while (cpu() < (n > 2 ? atof(args[2]) : 0.5)) {
        if (!strcmp(w, "mix")) mix(200000);
        if (!strcmp(w, "floats")) for (int i = 0; i < 50; i++) sink += (uint64_t)add_up(floats, 4096);
        if (!strcmp(w, "steps")) for (int i = 0; i < 50; i++) sink += (uint64_t)steps(i, 4096);
        if (!strcmp(w, "ints")) for (int i = 0; i < 50; i++) sink += add_ints(ints, 4096);
        if (!strcmp(w, "follow")) { for (int i = 0; i < 4095; i++) nodes[i].next = &nodes[i + 1]; for (int i = 0; i < 50; i++) sink += follow(nodes); }
        if (!strcmp(w, "look_up")) for (int i = 0; i < 50; i++) sink += look_up(ints, 4096);
        if (!strcmp(w, "search")) { ints[4095] = 7; for (int i = 0; i < 50; i++) sink += search(ints, 7); }
        if (!strcmp(w, "allocate")) for (int i = 0; i < 100; i++) allocate();
        if (!strcmp(w, "hash")) for (int i = 0; i < 1000; i++) sink += hash_name("a name that is long enough to matter");
        if (!strcmp(w, "lock")) lock();
        if (!strcmp(w, "copy")) copy();
        if (!strcmp(w, "load")) load();
        if (!strcmp(w, "touch")) touch();
        if (!strcmp(w, "throw")) tries();
        if (!strcmp(w, "format")) format();
        if (!strcmp(w, "nest")) nest(100);
        if (!strcmp(w, "sleep")) { mix(3000000); usleep(60000); }
    }
}
EOF
    g++ -g -O2 -fno-tree-vectorize planted.cc -o planted -pthread
    g++ -g -O0 planted.cc -o slow -pthread
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

# The insights of a command, a line each: its id, a colon, its evidence.
insights_of() { # COMMAND...
    # Into a file: grep stops at the first match where it writes to /dev/null.
    "$KELVIN" record -q -o r.kelvin -- "$@" >printed 2>record.err || fail "$(cat record.err)"
    kelvin report r.kelvin --format json
    exits 0
    run jq -r '.insights[] | "\(.id): \(.evidence) | \(.advice)"' <<<"$output"
}

gets() { # ID WORDS
    grep -q "^$1: .*$2" <<<"$output" || fail "no '$1' with '$2' in: $output"
}

gets_none_of() { # ID...
    local id
    for id in "$@"; do
        ! grep -q "^$id: " <<<"$output" || fail "'$id' in: $output"
    done
}

sees_kernel() {
    ! "$KELVIN" info r.kelvin | grep -q '^kernel_hidden *yes' || skip "the kernel is not shown to this user"
}

planted() { insights_of "$BATS_FILE_TMPDIR/planted" "$@"; }

@test "one function that is most of it: start here, with the gain" {
    planted mix
    gets dominating "mix alone takes .*twice as fast here gains 4[0-9]\.[0-9]% of the \(whole\|time outside the kernel\)"
    gets dominating "Start here\."
    gets_none_of unoptimized waiting scalar-loop copies
}

@test "a program that mostly waits: that is the headline, and nothing says start here" {
    planted sleep 0.4
    [[ ${lines[0]} == "waiting: "*"off-CPU for "* ]] || fail "$output"
    gets dominating "of the \(CPU time\|time outside the kernel\)"
    [[ $output != *"Start here"* ]] || fail "$output"
}

@test "children and threads that queue for a CPU wait for nothing else" {
    local cpu
    cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    insights_of taskset -c "$cpu" sh -c "'$BATS_FILE_TMPDIR/planted' mix 0.5 & '$BATS_FILE_TMPDIR/planted' mix 0.5 &
        '$BATS_FILE_TMPDIR/planted' mix 0.5 & wait"
    gets_none_of waiting
    gets busy-host "the program's threads waited .* in total for a CPU, in a run of"
    # Three at a time on one CPU: each waits for it at least as long as the others have it.
    run "$KELVIN" report r.kelvin --format json
    jq -e '.meta | (.queued_ns | tonumber) > 0.8 * (.cpu_time_ns | tonumber)' <<<"$output" || fail "$output"
}

@test "code compiled without optimization: told first" {
    insights_of "$BATS_FILE_TMPDIR/slow" floats
    local first=${lines[0]}
    [[ $first != "busy-host: "* ]] || first=${lines[1]}
    [[ $first == "unoptimized: "*"mostly add_up"* ]] || fail "$output"
    gets_none_of scalar-loop
    [[ $output != *"Start here"* ]] || fail "$output"
}

@test "a sum of floats, one at a time" {
    planted floats
    gets scalar-loop "loops of add_up .*scalar SSE"
    gets scalar-loop "also counted under dominating"
}

@test "scalar code that is no loop, or a loop that calls, is not told to use vectors" {
    planted steps
    gets_none_of scalar-loop
}

@test "a sum of integers could use vectors; lists, tables, searches and hashes could not" {
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    planted ints
    gets scalar-loop "loops of add_ints .*scalar integer"
    local what
    for what in follow look_up search hash mix; do
        planted "$what"
        gets_none_of scalar-loop
    done
}

@test "allocation, hashing, locks, copies, exceptions, formatting, recursion" {
    planted allocate
    gets allocation "% of that comes from allocate"
    planted hash
    gets hashing "hash_name"
    planted lock
    gets locks "lock"
    planted copy
    gets copies "copying or clearing memory"
    planted throw
    gets exceptions "exceptions"
    planted format
    gets formatting "goes to formatting text"
    planted nest
    gets deep-recursion "nest is up to 10[0-9] times on one stack"
}

@test "copies that the kernel makes for read() are not told to pass references" {
    planted load
    sees_kernel
    gets kernel "goes to the kernel"
    gets kernel-copies "read()"
    gets_none_of copies
}

@test "page faults of fresh memory" {
    planted touch
    sees_kernel
    gets page-faults "page faults"
    gets_none_of kernel-copies copies
}

# What no healthy optimized program may be told.
@test "healthy programs get no advice that is wrong" {
    seq 1 300000 >numbers
    local command
    for command in "gzip -9c numbers" "sort -R numbers" "xz -6kc numbers" "bzip2 -kc numbers" "sha256sum numbers numbers numbers" \
        "awk '{s+=\$1*\$1} END {print s}' numbers" "grep -c 9.*9.*7 numbers" "sed s/1/one/g numbers" "python3 -c 'print(sum(i*i for i in range(3000000)))'" \
        "perl -e 'for (1..4000000) { \$s += \$_ } print \$s'"; do
        insights_of bash -c "exec $command"
        gets_none_of unoptimized deep-recursion exceptions locks scalar-loop lost-samples
        [[ $output != *"--stack-bytes"* ]] || fail "$output"
    done
}
