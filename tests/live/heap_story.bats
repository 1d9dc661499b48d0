#!/usr/bin/env bats
# What kelvin heap and other commands make of a recorded heap: story, rules, known leaks, pprof, benchmarks.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers
load ../lib/heap

setup_file() {
    build_targets
    share plain "$TARGET/heap" plain 20000
    share cache "$TARGET/heap" cache 20
    share busy "$TARGET/heap" plain 400000
}

@test "CPU samples stay the default beside the heap" {
    shared busy
    kelvin report r.kelvin
    [[ $output == *"cpu-clock"* ]] || [[ $output == *cycles* ]] || fail "$output"
    kelvin report --value allocated r.kelvin
    [[ $output == *"exact count"*"event heap"* ]] || fail "$output"
    [[ $output == *part_grown* ]] || fail "$output"
}

@test "kelvin heap: peak, leaks, growth and churn of a planted cache and loop" {
    shared cache
    kelvin heap r.kelvin
    exits 0
    [[ $output == *"Never freed: 1.91 MiB in 400 blocks"* ]] || fail "$output"
    [[ $output == *"leak: part_cached never freed 1.91 MiB in 400 blocks"* ]] || fail "$output"
    [[ $output == *"growth: memory held by part_cached grew"* ]] || fail "$output"
    [[ $output == *"churn: part_small makes 100% of the allocations"* ]] || fail "$output"
    [[ $output == *"one size: 100% of the blocks of part_small have 32 to 63 bytes"* ]] || fail "$output"
    [[ $output == *"temporary: 100% of the allocations"* ]] || fail "$output"
}

@test "kelvin heap says what runtimes keep on purpose, and when nothing is left" {
    echo '#include <stdio.h>
int main(void) { puts("x"); return 0; }' >keeps.c
    cc -O1 -o keeps keeps.c
    echo 'int main(void) { return 0; }' >clean.c
    cc -O1 -o clean clean.c
    kelvin record --engine none --heap -o r.kelvin -- ./keeps
    kelvin heap --width 200 r.kelvin
    [[ $output == *"in 1 block. Of that, runtimes keep "*" on purpose"* ]] || fail "$output"
    kelvin record --engine none --heap -o r.kelvin -- ./clean
    kelvin heap --width 200 r.kelvin
    [[ $output == *"0 allocations"*"Never freed: nothing."*"exact: every allocation"* ]] || fail "$output"
    echo 'allocations == 0' >none.rules
    kelvin check r.kelvin none.rules
    exits 0
}

@test "what is live over time grows as it was allocated" {
    shared cache
    kelvin heap r.kelvin --format json
    python3 - "$output" <<'END'
import json, sys
heap = json.loads(sys.argv[1])
live = heap["live"]
assert len(live) >= 10, live
assert all(a[0] <= b[0] for a, b in zip(live, live[1:])), live
early = [v for t, v in live if t < 0.4 * heap["seconds"]][-1]
assert 0.15 * heap["leaked"] < early < 0.75 * heap["leaked"], live
END
}

@test "kelvin heap: JSON agrees with the program, HTML has a chart, markdown tables" {
    shared plain
    local told=$output
    kelvin heap r.kelvin --format json
    exits 0
    python3 - "$output" "$told" <<'END'
import json, sys
heap, told = json.loads(sys.argv[1]), dict(l.split() for l in sys.argv[2].splitlines())
for key in told:
    assert heap[key] == int(told[key]), (key, heap[key], told[key])
places = {p["function"]: p for p in heap["places"]}
assert sum(p["allocations"] for p in heap["places"]) == heap["allocations"]
assert places["part_leaked"]["leaked"] == int(told["leaked"])
assert sum(c["blocks"] for c in heap["sizes"]) == heap["allocations"]
assert sum(c["blocks"] for c in heap["lifetimes_ns"]) == heap["frees"]
END
    kelvin heap r.kelvin -o heap.html
    exits 0
    grep -q '<svg class="heap"' heap.html
    kelvin heap r.kelvin --format md
    [[ $output == *"| function"* ]] || fail "$output"
}

@test "kelvin heap says what to do where there is no heap" {
    printf 'main;work 5\n' >x.folded
    kelvin heap x.folded
    exits 5
    complains "no heap in this profile" "kelvin record --heap"
}

@test "rules hold and fail on the heap, whole and by function" {
    shared plain
    cat >good.rules <<'END'
peak <= 200 MiB
peak 10..11 MiB
allocs(part_aligned) == 20000
allocations part_deep == 20000
leaked part_leaked <= 120 KiB
leaked part_small == 0 B
temporary <= 40000
allocated 30..35 MB
END
    kelvin check r.kelvin good.rules
    exits 0
    local rule
    for rule in 'peak <= 1 MiB' 'allocs(part_leaked) == 0' 'leaked == 0' 'allocated >= 1 GiB' 'temporary == 0'; do
        echo "$rule" >bad.rules
        kelvin check r.kelvin bad.rules
        exits 3
        [[ $output == *"line 1 failed: $rule"* ]] || fail "$output"
    done
    echo 'allocs(part_smal1) == 0' >typo.rules
    kelvin check r.kelvin typo.rules
    exits 1
    [[ $stderr == *"no function 'part_smal1'"*part_small* ]] || fail "$stderr"
    echo 'peak <= 5 bananas' >typo.rules
    kelvin check r.kelvin typo.rules
    exits 1
    [[ $stderr == *bananas*MiB* ]] || fail "$stderr"
}

@test "rules hold and fail on a change of the heap" {
    record "$TARGET/heap" plain 2000
    mv r.kelvin before.kelvin
    record "$TARGET/heap" plain 2100
    printf 'diff allocs(part_small) <= +5%%\ndiff leaked <= +10%%\ndiff peak -1..+1%%\n' >good.rules
    kelvin check --force --against before.kelvin r.kelvin good.rules
    exits 0
    printf 'diff allocations part_small <= +4%%\ndiff leaked part_leaked <= 0%%\n' >bad.rules
    kelvin check --force --against before.kelvin r.kelvin bad.rules
    exits 3
    [[ $output == *"0 passed, 2 failed"* && $output == *"from 4,000 blocks to 4,200 blocks"* ]] || fail "$output"
    printf 'diff peak <= 5 points\ndiff p99 x <= 5%%\n' >wrong.rules
    kelvin check --force --against before.kelvin r.kelvin wrong.rules
    exits 1
    [[ $stderr == *"write '+5%'"* && $stderr == *"another word of the heap"* ]] || fail "$stderr"
    kelvin check r.kelvin good.rules
    [[ $status == 1 && $stderr == *"name the profile to compare with: --against PROFILE"* ]] || fail "$status $stderr"
}

@test "rules on samples allow for their error" {
    # It allocates 122.45 MB: 5 of 100 intervals miss the truth, five in a row do not.
    echo 'allocated <= 122450 kB' >close.rules
    for _ in 1 2 3 4 5; do
        kelvin record --heap=sampled:20000 -o r.kelvin -- "$TARGET/heap" plain 100000
        exits 0
        kelvin check r.kelvin close.rules
        [ "$status" != 4 ] || break
    done
    exits 4
    echo 'allocated 90..160 MB' >wide.rules
    kelvin check r.kelvin wide.rules
    exits 0
}

@test "a program whose frees all fit says nothing of odd ones" {
    shared plain
    [[ $stderr != *"allocation was not seen"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output != *"allocation was not seen"* ]] || fail "$output"
}

@test "known leaks are left out of what was never freed, and told" {
    shared plain
    local leaked
    leaked=$(sum leaked ';part_leaked ')
    kelvin heap --format json r.kelvin
    ! grep -q '"suppressed"' <<<"$output" || fail "$output"
    printf 'leak:^part_leaked$\n' >lsan.supp
    printf '{\n known\n Memcheck:Leak\n fun:malloc\n fun:part_leaked\n ...\n fun:main\n}\n' >valgrind.supp
    for file in lsan.supp valgrind.supp; do
        kelvin heap --suppressions $file --format json r.kelvin
        exits 0
        grep -Eq "\"suppressed\": ?$leaked\\b" <<<"$output" || fail "$file: $leaked" "$output"
        kelvin heap --suppressions $file r.kelvin
        [[ $output == *"Known leaks, left out: "* ]] || fail "$output"
        ! sed -n '/^Never freed/,/^$/p' <<<"$output" | grep -q part_leaked || fail "$output"
    done
    printf 'race:x\n' >bad.supp
    kelvin heap --suppressions bad.supp r.kelvin
    [[ $status != 0 && $stderr == *"bad.supp: line 1: "* ]] || fail "$status $stderr"
}

@test "a recording with a heap leads to kelvin heap, and its report owns up to the counting" {
    shared busy
    [[ $stderr == *"next: kelvin heap busy.kelvin"* ]] || fail "$stderr"
    kelvin report r.kelvin
    exits 0
    [[ $stderr == *"'kelvin heap' shows the heap"* && $stderr != *"events in the input"* ]] || fail "$stderr"
    [[ $output == *"heap-recorded: "*"%"*" goes to allocations with kelvin's own counting of them"* ]] || fail "$output"
}

@test "pprof has the heap by its own names, and what comes back is the same" {
    shared plain
    "$KELVIN" convert r.kelvin -o r.pb.gz || fail "convert"
    local value
    for value in allocations allocated leaked leaked_blocks frees peak; do
        [ "$(sum $value)" = "$("$KELVIN" fold --value $value r.pb.gz 2>/dev/null | awk '{ n += $NF } END { printf "%.0f", n }')" ] || fail "$value"
    done
    [ "$(sum leaked_blocks)" = "$(($(sum allocations) - $(sum frees)))" ] || fail "$(sum leaked_blocks) blocks"
    command -v go >/dev/null || skip "needs go"
    HOME=$PWD go tool pprof -raw r.pb.gz >raw.txt 2>/dev/null || skip "go tool pprof does not run"
    for value in alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes; do
        grep -q "\\b$value\\b" raw.txt || fail "no $value: $(head -20 raw.txt)"
    done
    for value in alloc_objects=allocations inuse_objects=leaked_blocks; do
        HOME=$PWD go tool pprof -top "-${value%=*}" r.pb.gz >top.txt 2>&1 || fail "$(cat top.txt)"
        grep -Eq "of $(sum "${value#*=}") total|100% of $(sum "${value#*=}")" top.txt || fail "$value $(sum "${value#*=}"): $(cat top.txt)"
    done
}

@test "a benchmark shows what an iteration allocates, without what it does in a pause" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the checked library needs programs that are checked, which want to be first"
    cat >bench.c <<'END'
#include <kelvin_bench.h>
#include <stdlib.h>
BENCH(three)
{
    BENCH_LOOP {
        for (int i = 0; i < 3; i++) {
            void *p = malloc(100);
            KELVIN_KEEP(p);
            free(p);
        }
    }
}
BENCH_MAIN
BENCH(none)
{
    BENCH_LOOP {
        kelvin_pause();
        void *p = malloc(100);
        KELVIN_KEEP(p);
        free(p);
        kelvin_resume();
    }
}
END
    gcc -O2 -I"${BATS_TEST_DIRNAME}/../../include" -o bench bench.c "${KELVIN%/*}/libkelvin_bench.a" -lm -pthread
    kelvin record -q --min-samples 0 --heap -o r.kelvin -- ./bench --warm-up 0.005 --time 0.04 --samples 20 --json
    exits 0
    jq -es '[.[] | select(.name == "three") | .allocations == 3 and .allocated == 300] == [true]' <<<"$output" >/dev/null || fail "$output"
    jq -es '[.[] | select(.name == "none") | .allocations == 0] == [true]' <<<"$output" >/dev/null || fail "$output"
    kelvin record -q --min-samples 0 --heap -o r.kelvin -- ./bench --warm-up 0.005 --time 0.04 --samples 20 three
    [[ $output == *"per iteration: 3 allocations, 300 B"* ]] || fail "$output"
    printf '%s\n' 'allocs_per_op three == 3' 'bytes_per_op(three) <= 300 B' >good
    kelvin check r.kelvin good
    exits 0
    echo 'allocs_per_op(three) <= 2' >bad
    kelvin check r.kelvin bad
    exits 3
    [[ $output == *"3 blocks per iteration"* ]] || fail "$output"
    echo 'diff allocs_per_op three <= 0%' >same
    kelvin check --force --against r.kelvin r.kelvin same
    exits 0
    echo 'allocs_per_op thre == 3' >misspelled
    kelvin check r.kelvin misspelled
    exits 1
    [[ $stderr == *"there are: three"* ]] || fail "$stderr"
    run ./bench --warm-up 0.005 --time 0.04 --samples 20 three
    [[ $output != *"per iteration"* ]] || fail "$output"
    # The same in a suite.
    printf '%s\n' '[workload ops]' 'command = ./bench --warm-up 0.005 --time 0.04 --samples 20 three' 'collect = heap' 'rules = bad' >kelvin.conf
    kelvin run
    exits 3
    [[ $stderr == *"ops: rule failed: allocs_per_op(three) <= 2 (3 blocks per iteration is outside"* ]] || fail "$stderr"
}

@test "RSS is the program's own, without the table of stacks that it shares with the recorder" {
    cat >own.py <<'END2'
import json, mmap, re, time
json.loads(json.dumps([{str(i): [i]} for i in range(20000)]))
shared = mmap.mmap(-1, 32 << 20)
for at in range(0, 32 << 20, 4096):
    shared[at] = 1
time.sleep(0.5)
status = open("/proc/self/status").read()
print("own", 1024 * (32768 + sum(int(re.search(key + r":\s+(\d+)", status)[1]) for key in ("RssAnon", "RssFile"))))
print("all", 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1]))
END2
    PYTHONMALLOC=malloc record python3 own.py
    local own all rss
    own=$(told own) all=$(told all)
    rss=$("$KELVIN" heap --format json r.kelvin | jq .rss_max)
    [ $((all - own)) -gt $((8 << 20)) ] || fail "the table of stacks is too small to show: own $own, all $all"
    [ "$rss" -gt $((own - (4 << 20))) ] || fail "RSS $rss, own $own, all $all"
    [ "$rss" -lt $((own + (4 << 20))) ] || fail "RSS $rss, own $own, all $all"
}

@test "what is allocated while a lock is held is counted apart, and stands out where threads wait" {
    kelvin record --heap --locks -o r.kelvin -- "$TARGET/heap" locked 20000
    exits 0
    agrees
    [ "$(sum under_lock ';part_locked ')" = 40000 ]
    [ "$(sum under_lock ';part_small ')" = 0 ]
    kelvin heap r.kelvin
    exits 0
    [[ $output == *"Allocated under a lock: 50.0% of the allocations"* ]]
    kelvin heap r.kelvin --format json
    exits 0
    [[ $(jq -r '.insights[] | select(.title == "allocation under a lock").text' <<<"$output") == \
        *"allocations (50%) were made by a thread that held a lock; 100% of those come from part_locked"* ]] || fail "$output"
    record "$TARGET/heap" locked 2000
    kelvin heap r.kelvin
    exits 0
    ! grep 'under a lock' <<<"$output" || fail 'nobody recorded locks'
}

@test "vectors that grow by steps and copies of strings are found, and those that reserve are not" {
    cat >steps.cc <<'END'
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#define PART __attribute__((noinline)) static
static void keep(const void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
PART void part_vector(bool reserves)
{
    std::vector<int> v;
    if (reserves)
        v.reserve(1000);
    for (int i = 0; i < 1000; i++)
        v.push_back(i);
    keep(v.data());
}
PART void part_lines()
{
    char *p = nullptr;
    for (int n = 64; n <= 1024; n += 64)
        keep(p = static_cast<char *>(realloc(p, n)));
    free(p);
}
PART size_t length_of(std::string s) { keep(s.data()); return s.size(); }
PART void part_copy(const std::string &s) { size_t n = length_of(s); keep(&n); }
PART void part_names(const char *s) { char *p = strdup(s); keep(p); free(p); }
int main(int, char **argv)
{
    std::string text = "a string that is too long to be kept without a block";
    for (int i = 0; i < 20000; i++) {
        switch (argv[1][0]) {
        case 'v': part_vector(false); break;
        case 'h': part_vector(true); break;
        case 'r': part_lines(); break;
        case 'c': part_copy(text); break;
        case 's': part_names(text.c_str()); break;
        }
    }
}
END
    c++ -O2 -g -o steps steps.cc
    record ./steps vector
    [[ $(insights) == *"growth by steps: part_vector"*" moved to a larger block 220,000 times, as a vector that was full or by realloc: 100%"* ]] || fail "$(insights)"
    record ./steps realloc
    [[ $(insights) == *"growth by steps: part_lines"*" moved to a larger block 300,000 times"*"94%"* ]] || fail "$(insights)"
    record ./steps copy
    [[ $(insights) == *"string copies: part_copy"*" made 20,000 strings or copies of strings, 100%"* ]] || fail "$(insights)"
    record ./steps strdup
    [[ $(insights) == *"string copies: part_names"*" made 20,000 strings or copies of strings, 100%"* ]] || fail "$(insights)"
    local quiet
    for quiet in "./steps healthy" "git --version" "jq -n [range(20000)]"; do
        # shellcheck disable=SC2086
        record $quiet
        [[ $(insights) != *"growth by steps"* && $(insights) != *"string copies"* ]] || fail "$quiet: $(insights)"
    done
}

# The program asks malloc itself: malloc_usable_size() and the header of 8 bytes.
@test "small-block overhead is what glibc's malloc adds, and is left out with another allocator" {
    cat >small.c <<'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    static char out[4096];
    long added = 0;
    setvbuf(stdout, out, _IOFBF, sizeof out);
    for (int i = 0; i < 1023; i++)
        added += (long)malloc_usable_size(malloc(i)) + 8 - i;
    printf("added %ld\n", added);
    return 0;
}
END
    cc -O0 -w small.c -o small
    record ./small
    local added
    added=$(told added)
    kelvin heap --format json r.kelvin
    [ "$(jq '.places[] | select(.function == "main") | .small_block_overhead' <<<"$output")" = "$added" ] || fail "$added: $output"
    kelvin heap r.kelvin
    [[ $output == *"Small-block overhead: malloc added "*" to 1,023 blocks below 1 KiB"* ]] || fail "$output"
    local lib=(/usr/lib/*/libjemalloc.so.2)
    [ -e "${lib[0]}" ] || skip "jemalloc is not installed here"
    run --separate-stderr env LD_PRELOAD="${lib[0]}" "$KELVIN" record --heap -o r.kelvin -- ./small
    exits 0
    kelvin heap r.kelvin
    [[ $output != *"Small-block overhead"* ]] || fail "$output"
}
