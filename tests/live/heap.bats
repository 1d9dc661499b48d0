#!/usr/bin/env bats
# The heap: every allocation of real programs, against their own count.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

# Record the heap of a command; its own output is $output.
record() { # COMMAND...
    kelvin record --heap -o r.kelvin -- "$@"
    exits 0
}

# The sum of a column over the stacks that match PATTERN.
sum() { # VALUE [PATTERN]
    "$KELVIN" fold --value "$1" r.kelvin 2>/dev/null |
        awk -v re="${2:-.}" '$0 ~ re { n += $NF } END { printf "%.0f", n }'
}

# What the program counted itself.
told() { # WORD
    awk -v key="$1" '$1 == key { print $2 }' <<<"$output"
}

# All that the program counted is what was recorded, from its own functions.
agrees() {
    local value
    for value in allocations allocated frees freed leaked; do
        [ -n "$(told $value)" ] || fail "the program did not say $value: $output"
        [ "$(sum $value 'part_|;plain')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_|;plain'), the program counted $(told $value)"
    done
}

@test "C: every block, by function, equals the program's own count" {
    record "$TARGET/heap" plain 20000
    agrees
    [ "$(sum allocations ';part_aligned ')" = 20000 ]
    [ "$(sum allocations ';part_grown ')" = 40000 ]
    [ "$(sum leaked ';part_leaked ')" = "$(told leaked)" ]
    [ "$(sum temporary)" = 20001 ]
    [ "$(sum peak)" -ge $((10 << 20)) ]
    [ "$(sum peak)" -le $(((10 << 20) + $(told leaked) + 100000)) ]
}

@test "C: stacks reach from main to the call, at every depth" {
    record "$TARGET/heap" plain 2000
    [ "$(sum allocations '_start.*;main;.*part_small ')" = 4000 ]
    [ "$(sum allocations "main;[^;]*$(printf ';part_deep%.0s' {1..20});part_small ")" = 100 ]
    [ "$(sum allocations 'main;[^;]*;part_deep;part_small ')" = 100 ]
    "$KELVIN" info r.kelvin | grep -A3 '^stream 2' | grep 'unfinished stacks *0$'
}

@test "C++: containers, aligned new and exceptions" {
    kelvin record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
    exits 0
    [ "$(sum allocations 'part_(vector|map|aligned)')" = "$(told allocations)" ]
    [ "$(sum allocated 'part_(vector|map|aligned)')" = "$(told allocated)" ]
    [ "$(sum freed 'part_(vector|map|aligned)')" = "$(told freed)" ]
    [ "$(sum leaked 'part_')" = 0 ]
    [ "$(sum allocations 'part_thrown')" = 50 ]
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

@test "a program that is killed leaves what it held" {
    kelvin record --heap -o r.kelvin -- "$TARGET/heap_odd" killed
    exits 137
    [ "$(sum leaked 'main.*;block ')" = 1000000 ]
}

@test "a program that crashes leaves what it held" {
    cat >crash.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void part_held(void)
{
    for (int i = 0; i < 500; i++)
        *(char *volatile *)malloc(1000) = NULL;
}
int main(void)
{
    part_held();
    *(volatile int *)8 = 1;
    return 0;
}
END
    cc -O1 -g -fno-builtin -o crash crash.c
    kelvin record --heap -o r.kelvin -- ./crash
    exits 139
    [ "$(sum leaked part_held)" = 500000 ]
    [ "$(sum allocations part_held)" = 500 ]
}

@test "CPU samples stay the default beside the heap" {
    record "$TARGET/heap" plain 200000
    kelvin report r.kelvin
    [[ $output == *"cpu-clock"* ]] || [[ $output == *cycles* ]] || fail "$output"
    kelvin report --value allocated r.kelvin
    [[ $output == *"exact count"*"event heap"* ]] || fail "$output"
    [[ $output == *part_grown* ]] || fail "$output"
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

@test "kelvin heap: peak, leaks, growth and churn of a planted cache and loop" {
    record "$TARGET/heap" cache 20
    kelvin heap r.kelvin
    exits 0
    [[ $output == *"Never freed: 1.91 MiB in 400 blocks"* ]] || fail "$output"
    [[ $output == *"leak: part_cached never freed 1.91 MiB in 400 blocks"* ]] || fail "$output"
    [[ $output == *"growth: memory held by part_cached grew"* ]] || fail "$output"
    [[ $output == *"churn: part_small makes 100% of the allocations"* ]] || fail "$output"
    [[ $output == *"one size: 100% of the blocks of part_small have 32 to 63 bytes"* ]] || fail "$output"
    [[ $output == *"temporary: 100% of the allocations"* ]] || fail "$output"
}

@test "a recorder that is killed: the program goes on, and kelvin heap claims no peak" {
    "$KELVIN" record -q --heap -o r.kelvin -- "$TARGET/heap" cache 60 >own.txt 2>/dev/null &
    local recorder=$!
    wait_until 20 bash -c '"$0" fold --value allocated r.kelvin.part | grep -q part_' "$KELVIN"
    kill -9 "$recorder"
    wait "$recorder" || true
    kelvin heap r.kelvin.part
    exits 0
    [[ $output == *"The recording was cut off: its peak and what was never freed are not known."* ]] || fail "$output"
    [[ $output != *"Peak 0"* && $output != *"Never freed"* && $output != *"exact:"* ]] || fail "$output"
    kelvin heap --format json r.kelvin.part
    [ "$(jq '.cut_off, has("peak"), has("leaked")' <<<"$output" | xargs)" = "true false false" ] || fail "$output"
    wait_until 20 grep -q '^leaked' own.txt
}

@test "the recorder stops for a second: threads wait, and nothing is lost" {
    "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" plain 2000000 >own.txt 2>err.txt &
    local recorder=$!
    wait_until 20 test -e r.kelvin.part
    sleep 0.3
    kill -STOP "$recorder"
    sleep 1
    kill -CONT "$recorder"
    wait "$recorder"
    grep -q 'times for the recorder to catch up' err.txt || fail "$(cat err.txt)"
    output=$(cat own.txt)
    agrees
}

@test "what is live over time grows as it was allocated" {
    record "$TARGET/heap" cache 20
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
    record "$TARGET/heap" plain 20000
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
    record "$TARGET/heap" plain 100000
    cat >good.rules <<'END'
peak <= 200 MiB
peak 10..11 MiB
allocs(part_aligned) == 100000
allocations part_deep == 100000
leaked part_leaked <= 600 KiB
leaked part_small == 0 B
temporary <= 200000
allocated 100..200 MB
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
    [[ $stderr == *"write '<= +5%'"* && $stderr == *"another word of the heap"* ]] || fail "$stderr"
    kelvin check r.kelvin good.rules
    [[ $status == 1 && $stderr == *"name the profile to compare with by --against"* ]] || fail "$status $stderr"
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

@test "another allocator, preloaded or linked, is the one that works" {
    local found=
    for lib in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2; do
        [ -e "$lib" ] || continue
        found=1
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" threads 5000
        exits 0
        agrees
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap" plain 2000
        exits 0
        agrees
    done
    [ "$found" ] || skip "no other allocator is installed here"
}

# Of the C++ program, by function.
cxx_agrees() {
    local value
    for value in allocations allocated freed; do
        [ "$(sum $value 'part_(vector|map|aligned)')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_(vector|map|aligned)'), the program counted $(told $value)"
    done
    [ "$(sum leaked 'part_(vector|map|aligned)')" = 0 ]
    [ "$(sum allocations 'part_thrown;.*allocate_exception')" = 50 ] # a static program's unwinder sorts its rules once
}

@test "an allocator with a new and delete of its own, which do not call malloc" {
    local found=
    for lib in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4 /usr/lib/*/libmimalloc.so.2; do
        [ -e "$lib" ] || continue
        found=1
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
        exits 0
        cxx_agrees
    done
    [ "$found" ] || skip "no other allocator is installed here"
}

@test "a library whose new and delete call malloc and free counts each block once" {
    cat >own.cc <<'END'
#include <cstdlib>
#include <new>
void *operator new(std::size_t n)
{
    if (void *p = std::malloc(n))
        return p;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }
END
    c++ -shared -fPIC -o libown.so own.cc
    run --separate-stderr env LD_PRELOAD="$PWD/libown.so" "$KELVIN" record --heap -o r.kelvin -- "$TARGET/heap_cxx" 50
    exits 0
    cxx_agrees
    [[ $("$KELVIN" heap r.kelvin) != *"nobody was seen"* ]]
}

@test "C++ that a C program loads finds its own library's new" {
    cat >plugin.cc <<'END'
#include <new>
#include <stdexcept>
#include <string>
#include <vector>
extern "C" __attribute__((visibility("default"))) int part_plugin(int n)
{
    std::vector<std::string *> all;
    all.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; i++)
        all.push_back(new std::string(100, 'x'));
    for (std::string *s : all)
        delete s;
    try {
        volatile std::size_t huge = ~std::size_t{0} >> 2;
        delete[] new char[huge];
    } catch (const std::bad_alloc &) {
        return n;
    }
    return -1;
}
END
    cat >host.c <<'END'
#include <dlfcn.h>
int main(void)
{
    void *lib = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*call)(int) = lib ? (int (*)(int))dlsym(lib, "part_plugin") : 0;
    return call && call(1000) == 1000 ? 0 : 1;
}
END
    c++ -shared -fPIC -g -o plugin.so plugin.cc
    cc -g -o host host.c -ldl
    record ./host
    [ "$(sum allocations "part_plugin.*(operator new|exception)")" = 2002 ] # a vector, two for each string, an exception
    [ "$(sum leaked "part_plugin.*operator new")" = 0 ]
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

@test "an allocator's own maps are no maps of the program" {
    local lib=
    for lib in /usr/lib/*/libjemalloc.so.2; do
        [ -e "$lib" ] || skip "jemalloc is not installed here"
        run --separate-stderr env LD_PRELOAD="$lib" "$KELVIN" record --heap=mmap -o r.kelvin -- "$TARGET/heap" plain 2000
        exits 0
        agrees
        [ "$(sum allocations 'mmap|mremap')" = 0 ]
    done
}

@test "samples of maps stand for their bytes" {
    kelvin record --heap=sampled:8192,mmap -o r.kelvin -- "$TARGET/heap_maps"
    exits 0
    local seen all
    seen=$(sum allocated 'part_whole.*;mmap ') all=$((3999 * 4096)) # pages of 1000 maps
    [ "$seen" -gt $((all * 8 / 10)) ]
    [ "$seen" -lt $((all * 12 / 10)) ]
}

@test "a static program is refused with a reason" {
    echo 'int main(void) { return 0; }' >s.c
    cc -static -o s s.c || skip "no static libc here"
    kelvin record --heap -o r.kelvin -- ./s
    exits 125
    complains "static program" "libkelvin-heap.a"
    no_file r.kelvin
}

# With the setuid bit the environment is somebody else's, and so is the memory that it names.
@test "a setuid program that the archive is linked into maps no memory that its caller names" {
    [ "$(id -u)" = 0 ] || skip "needs root, to set the bit"
    local folder b=${KELVIN%/*}
    cat >s.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char line[500], *p = malloc(100);
    FILE *f = fopen("/proc/self/maps", "r");
    int n = 0;
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:channel") != NULL;
    printf("%d\n", f ? n : -1);
    free(p);
    return 0;
}
END
    cat >start.c <<'END'
#include "wire/channel.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct channel head = {CHANNEL_MAGIC, 12288, 1, 4096, getpid(), CHANNEL_HEAP};
    char where[100];
    struct stat st;
    int fd = memfd_create("channel", MFD_ALLOW_SEALING);
    if (argc < 2 || ftruncate(fd, 12288) != 0 || pwrite(fd, &head, sizeof head, 0) < 0 || fstat(fd, &st) != 0)
        return 1;
    snprintf(where, sizeof where, "%d %d %lu", (int)getpid(), fd, (unsigned long)st.st_ino);
    setenv("KELVIN_CHANNEL", where, 1);
    execv(argv[1], argv + 1);
    return 1;
}
END
    cc -D_GNU_SOURCE -I "$BATS_TEST_DIRNAME/../../src" -o start start.c
    cc -O2 -static -o s s.c -L "$b" "@$b/kelvin-heap.link" || skip "no static libc here"
    folder=$(open_folder s start)
    run_as_nobody "$folder/start" "$folder/s"
    exits 0
    [ "$output" -ge 1 ] || fail "the memory is not mapped without the bit either: '$output' $stderr"
    chmod u+s "$folder/s"
    run_as_nobody "$folder/start" "$folder/s"
    exits 0
    prints 0
}

@test "a static program that the archive is linked into: every block" {
    echo 'int main(void) { return 0; }' >s.c
    cc -static -o s s.c || skip "no static libc here"
    local b=${KELVIN%/*}
    cc -O2 -g -static -pthread -o heap "${BATS_TEST_DIRNAME}/../target/heap.c" -L "$b" "@$b/kelvin-heap.link"
    c++ -O2 -g -static -pthread -o cxx "${BATS_TEST_DIRNAME}/../target/heap_cxx.cc" -L "$b" "@$b/kelvin-heap.link"
    cc -O2 -g -static -o maps "${BATS_TEST_DIRNAME}/../target/heap_maps.c" -L "$b" "@$b/kelvin-heap.link"
    ./heap plain 100 # without a recorder
    record ./heap plain 2000
    agrees
    record ./heap threads 2000
    agrees
    record ./cxx 50
    cxx_agrees
    kelvin record --heap=mmap -o r.kelvin -- ./maps
    exits 0
    [ "$(sum allocated 'part_.*map ')" = "$(told allocated)" ]
    [ "$(sum leaked 'part_.*map ')" = "$(told leaked)" ]
}

@test "a program for another machine is refused with a reason" {
    printf '\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0\x01\0\0\0%0100d' 0 >small
    chmod +x small
    kelvin record --heap -o r.kelvin -- ./small
    exits 125
    complains "32-bit"
    [[ $stderr != *libkelvin-heap.a* ]]
    no_file r.kelvin
}

@test "options that make no sense are refused" {
    kelvin record --heap=everything -- true
    exits 125
    complains "--heap=sampled" "everything"
    kelvin record --heap -p $$
    exits 125
    complains "running process"
    kelvin record --heap --rotate 5 -- true
    exits 125
    complains "--rotate"
}

@test "a double free is counted, named and passed on unchanged" {
    cat >twice.c <<'END'
#include <stdlib.h>
int main(void)
{
    char *volatile p = malloc(100), *volatile kept = malloc(300);
    free(p);
    free(p);
    return kept == NULL;
}
END
    cc -O0 -w twice.c -o twice
    kelvin record --heap -o r.kelvin -- ./twice
    exits 134
    [[ $stderr == *"free(): double free detected"* ]] || fail "$stderr"
    [[ $stderr == *"1 free was of a block that nobody was seen to allocate"* ]] || fail "$stderr"
    [ "$(sum leaked ';main ')" = 300 ] || fail "$(sum leaked)"
    kelvin heap r.kelvin
    [[ $output == *"nobody was seen to allocate: 1."* ]] || fail "$output"
    kelvin heap --format json r.kelvin
    grep -Eq '"unknown_frees": ?1\b' <<<"$output" || fail "$output"
}

@test "a free of a foreign pointer is counted, named and passed on unchanged" {
    cat >foreign.c <<'END'
#include <stdlib.h>
int main(void)
{
    static char own[64];
    char *volatile p = own + 16, *volatile kept = malloc(300);
    free(p);
    return kept == NULL;
}
END
    cc -O0 -w foreign.c -o foreign
    run --separate-stderr ./foreign
    exits 134
    local bare=$stderr
    kelvin record --heap -o r.kelvin -- ./foreign
    exits 134
    [[ $bare == *"free(): invalid pointer"* && $stderr == *"free(): invalid pointer"* ]] || fail "$stderr"
    [[ $stderr == *"1 free was of a block that nobody was seen to allocate"* ]] || fail "$stderr"
    [ "$(sum leaked ';main ')" = 300 ] || fail "$(sum leaked)"
}

@test "a full disk: the program goes on, and the recorder says why there is no recording" {
    [ "$(id -u)" = 0 ] || skip "needs root, to mount a small disk"
    mkdir small
    mount -t tmpfs -o size=4k tmpfs small || skip "no right to mount"
    kelvin record --heap -o small/r.kelvin -- "$TARGET/heap" plain 20000
    umount small
    exits 125
    [[ $stderr == *"No space left"* ]] || fail "$stderr"
    [ "$(told allocations)" -gt 20000 ] || fail "$output"
}

# What stands out in r.kelvin, by title.
insights() {
    "$KELVIN" heap --format json r.kelvin 2>/dev/null | jq -r '.insights[] | .title + ": " + .text'
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
    [[ $(insights) == *"string copies: part_copy"*" made 20,000 copies of strings, 100%"* ]] || fail "$(insights)"
    record ./steps strdup
    [[ $(insights) == *"string copies: part_names"*" made 20,000 copies of strings, 100%"* ]] || fail "$(insights)"
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

@test "a program whose frees all fit says nothing of odd ones" {
    record "$TARGET/heap" plain 200
    [[ $stderr != *"nobody was seen"* ]] || fail "$stderr"
    kelvin heap r.kelvin
    [[ $output != *"nobody was seen"* ]] || fail "$output"
}

@test "known leaks are left out of what was never freed, and told" {
    record "$TARGET/heap" plain 2000
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

@test "blocks of a pool that the program tells of are counted beside the arena" {
    record "$TARGET/heap_odd" pool
    [ "$output" = undisturbed ] || fail "$output"
    local value
    for value in "allocations 301" "allocated $((300 * 64 + 65536))" "frees 299" "leaked 128" "peak $((100 * 64 + 65536))"; do
        [ "$(sum "${value% *}" ';pool')" = "${value#* }" ] || fail "$value: $(sum "${value% *}" ';pool')"
    done
    [[ $stderr != *"nobody was seen"* ]] || fail "$stderr"
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

@test "a program with a malloc of its own is said to be one" {
    cat >own.c <<'END'
#include <stddef.h>
#include <string.h>
static char pool[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = pool + used; used += (n + 15) & ~(size_t)15; return used <= sizeof pool ? p : NULL; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (q && p) memcpy(q, p, n); return q; }
int main(void) { char *volatile p = malloc(100); return p == NULL; }
END
    cc -O0 -fno-builtin own.c -o own
    kelvin record --heap -o r.kelvin -- ./own
    exits 0
    [[ $stderr == *"has a malloc of its own"* ]] || fail "$stderr"
    kelvin record --heap -o r.kelvin -- env -i "$PWD/own"
    exits 0
    kelvin record --heap -o r.kelvin -- "$TARGET/heap" plain 10
    exits 0
    [[ $stderr != *"malloc of its own"* ]] || fail "$stderr"
}

@test "a setuid program is refused with a reason" {
    [ "$(id -u)" = 0 ] || skip "needs root to make one"
    cp /bin/true ./other
    chown nobody other
    chmod u+s other
    kelvin record --heap -o r.kelvin -- ./other
    [ "$status" != 0 ] || fail "$stderr"
    [[ $stderr == *setuid*"its allocations cannot be recorded"* ]] || fail "$stderr"
    [[ $stderr != *"timer engine"* ]] || fail "$stderr"
}

@test "a recording with a heap leads to kelvin heap, and its report owns up to the counting" {
    kelvin record --heap -o r.kelvin -- "$TARGET/heap" plain 400000
    exits 0
    [[ $stderr == *"next: kelvin heap r.kelvin"* ]] || fail "$stderr"
    kelvin report r.kelvin
    exits 0
    [[ $stderr == *"'kelvin heap' shows the heap"* && $stderr != *"events in the input"* ]] || fail "$stderr"
    [[ $output == *"heap-recorded: "*"%"*" goes to allocations with kelvin's own counting of them"* ]] || fail "$output"
}

@test "pprof has the heap by its own names, and what comes back is the same" {
    record "$TARGET/heap" plain 2000
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
    kelvin check --against r.kelvin r.kelvin same
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
