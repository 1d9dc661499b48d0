#!/usr/bin/env bats
# Files of other tools, made by those tools where they are installed.
# shellcheck disable=SC2154,SC2030,SC2031  # kelvin sets output, status, stderr
load ../lib/helpers

# Commas, blanks and brackets are of names; ';' after the last frame is a habit of some scripts.
@test "odd folded stacks are read" {
    local text
    for text in 'main;std::map<int, char>::find(int, char) 10' 'operator new(unsigned long) 10' 'a, b 4' 'Process,Thread;main, x 4' \
        'java;Lcom/x;.f;L;g 3.5' 'a;b; 3' '"quoted" 4' 'GC Thread#0 5' '<module> (a.py:3) 4' '1234;0x5678 9'; do
        echo "$text" >odd.folded
        kelvin fold odd.folded
        exits 0
        [ "$(tr -d ';' <<<"$output")" = "$(tr -d ';' <<<"$text")" ] || fail "$text: $output"
    done
    printf 'a, b;c 1.5 2\nd e 0 4\n' >odd.folded
    [ "$("$KELVIN" fold odd.folded)" = $'a, b;c 2\nd e 4' ] || fail "$("$KELVIN" fold odd.folded)"
}

@test "text that is not folded stacks is refused, though a line or two end in a number" {
    { yes 'a line of prose' | head -n 282; echo 'chapter 3'; } >prose.txt
    kelvin fold prose.txt
    exits 5
    complains 'not a profile'
    kelvin fold --from folded prose.txt
    exits 5
    complains '282 of 283 lines'
    # Stacks at the start do not make the rest folded.
    { yes 'main;a 1' | head -n 60; yes 'log: nothing' | head -n 90; } >mixed.txt
    kelvin fold mixed.txt
    exits 5
    complains '90 of 150 lines'
    # Tables end in numbers, too.
    { for i in {1..40}; do echo "  fun$i   Module.hs:$i   $i   0.0  $((i % 7)).5"; done; } >table.prof
    kelvin fold table.prof
    exits 5
    complains 'not a profile'
    { echo 'Counts per second:'; for i in {1..20}; do echo "$i:00"; echo "sum $i"; done; } >log.txt
    kelvin fold --from folded log.txt
    exits 5
    complains '21 of 41 lines'
    printf '%s\n' Process,Stack,Weight,Count 'a.exe (12),a.exe!f<int, char>, 1, 10' 'a.exe (12),b.dll!g, 1, 12' >xperf.csv
    { echo 'name; calls; ms'; for i in {1..20}; do echo "fun; $i; $i"; done; } >semicolons.csv
    for file in xperf.csv semicolons.csv; do
        kelvin fold $file
        exits 5
        kelvin fold --from folded $file
        exits 5
        complains 'not folded stacks'
    done
    printf '{"version":1,"data":"%0100000d;"}' 1 >long.json
    kelvin fold long.json
    exits 5
    complains 'not a profile'
    # Alone, functions with blanks in their names are stacks.
    printf 'std::map<int, int>::find 3\nmain 4\n' >alone.folded
    kelvin fold alone.folded
    exits 0
    prints $'main 4\nstd::map<int, int>::find 3'
}

@test "a folded stack may have 100,000 frames, and no more" {
    { yes 'f;' | head -n 100000 | tr -d '\n' | sed 's/;$/ 1\n/'; echo 'main 2'; } >deep.folded
    kelvin info deep.folded
    exits 0
    [ -z "$stderr" ] || fail "$stderr"
    { yes 'f;' | head -n 100001 | tr -d '\n' | sed 's/;$/ 1\n/'; echo 'main 2'; } >deeper.folded
    kelvin fold deeper.folded
    prints 'main 2'
    complains 'skipped 1 flaw' 'more than 100000 frames'
}

@test "xz, bzip2, UTF-16 and a UTF-8 mark are undone" {
    printf 'main;größe;😀 7\nmain 2\n' >plain.folded
    local want=$'main 2\nmain;größe;😀 7'
    xz -k plain.folded
    bzip2 -k plain.folded
    cat plain.folded.bz2 plain.folded.bz2 >twice.bz2
    cat plain.folded.xz plain.folded.xz >twice.xz
    iconv -t UTF-16 plain.folded >little.txt
    { printf '\376\377'; iconv -t UTF-16BE plain.folded; } >big.txt
    { printf '\357\273\277'; cat plain.folded; } >mark.txt
    for pack in gzip zstd xz bzip2; do
        for text in little big mark; do "$pack" -c "$text.txt" >"$text.$pack"; done
    done
    for file in plain.folded.xz plain.folded.bz2 {little,big,mark}.{txt,gzip,zstd,xz,bzip2}; do
        kelvin fold "$file"
        prints "$want"
        [ -z "$stderr" ] || fail "$file: $stderr"
        kelvin fold - <"$file"
        prints "$want"
    done
    for file in twice.bz2 twice.xz; do
        kelvin fold "$file"
        prints $'main 4\nmain;größe;😀 14'
    done
}

@test "what is packed twice is no profile, and UTF-16 that is cut inside of gzip is said to be" {
    printf 'main;f 7\n' | gzip | gzip >twice.gz
    kelvin fold twice.gz
    exits 5
    complains 'not a profile in any format'
    printf 'main;f 7\n' | iconv -t UTF-16 | head -c -1 | gzip >odd.gz
    kelvin fold odd.gz
    exits 5
    complains 'UTF-16 data is'
}

@test "xz and bzip2 that are cut or damaged are an error" {
    seq -f 'main;f%g 3' 20000 >plain.folded
    xz -k plain.folded
    bzip2 -k plain.folded
    for file in plain.folded.xz plain.folded.bz2; do
        head -c -20 "$file" >"cut"
        kelvin fold cut
        exits 5
        complains 'is cut off at byte'
        { head -c 5000 $file; echo damage; tail -c +5008 $file; } >bad
        kelvin fold --from folded bad
        exits 5
        complains 'is damaged near byte'
    done
}

# A program that spends its time in hot(), called by warm(), and holds what grow() allocated.
compile_worker() {
    cat >worker.c <<'SOURCE'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) unsigned long hot(unsigned long n)
{
    unsigned long x = n;
    for (unsigned long i = 0; i < n; i++)
        x = x * 6364136223846793005ul + (x >> 7);
    return x;
}
__attribute__((noinline)) unsigned long warm(unsigned long n)
{
    unsigned long sum = hot(n) + hot(n + 1);
    __asm__ volatile("");
    return sum;
}
void *keep[20000];
__attribute__((noinline)) void grow(int n)
{
    for (int i = 0; i < n; i++)
        keep[i] = memset(malloc(1000), 1, 1000);
    __asm__ volatile("");
}
int main(void)
{
    unsigned long sum = 0;
    grow(20000);
    for (int i = 0; i < 5000; i++)
        free(keep[i]);
    for (int i = 0; i < 150; i++)
        sum += warm(1000000);
    return sum == 1;
}
SOURCE
    gcc -O1 -g -fno-omit-frame-pointer -o worker worker.c
}

# Sets lib.
library() { # NAME
    lib=$(ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }')
    [ -n "$lib" ] || skip "$1 is not installed"
}

@test "a CPU profile of gperftools has the samples that were taken, with names" {
    library libprofiler.so.0
    compile_worker
    CPUPROFILE=cpu.prof LD_PRELOAD=$lib ./worker 2>said.txt
    local taken
    taken=$(sed -n 's/^PROFILE: interrupts.*= \([0-9]*\)\/.*/\1/p' said.txt)
    kelvin fold --value samples cpu.prof
    exits 0
    [ "$(awk '{ n += $NF } END { print n }' <<<"$output")" = "$taken" ] || fail "$output" "$taken taken"
    grep -q ';main;warm;hot ' <<<"$output" || fail "$output"
}

@test "a heap profile of tcmalloc has every byte that is live" {
    library libtcmalloc.so.4
    compile_worker
    HEAPPROFILE=$PWD/heap LD_PRELOAD=$lib ./worker 2>said.txt
    kelvin fold heap.0001.heap
    exits 0
    grep -q ';main;grow 15000000$' <<<"$output" || fail "$output"
    kelvin fold --value alloc_objects heap.0001.heap
    grep -q ';main;grow 20000$' <<<"$output" || fail "$output"
}

@test "a heap profile of jemalloc estimates what is live, and ends in the caller of malloc" {
    library libjemalloc.so.2
    compile_worker
    MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:12,prof_prefix:je LD_PRELOAD=$lib ./worker
    kelvin fold je.*.heap
    exits 0
    local bytes
    bytes=$(sed -n 's/.*;main;grow \([0-9]*\)$/\1/p' <<<"$output")
    # 3,300 of 15,000 blocks are sampled: far inside of 10 %. jemalloc rounds 1,000 up to 1,024.
    [ "$bytes" -gt 13800000 ] && [ "$bytes" -lt 16900000 ] || fail "$output"
}

@test "clang's time trace adds up to the time that clang says it took" {
    command -v clang++ >/dev/null || skip "clang++ is not installed"
    printf '#include <vector>\n#include <string>\nstd::vector<std::string> v;\nint main() { v.emplace_back("a"); }\n' >t.cc
    clang++ -ftime-trace -c t.cc || skip "this clang has no -ftime-trace"
    kelvin fold t.json
    exits 0
    [ -z "$stderr" ] || fail "$stderr"
    local took_us
    took_us=$(grep -o '"ts":[0-9]*,"dur":[0-9]*,"name":"ExecuteCompiler"' t.json | sed 's/.*"dur":\([0-9]*\).*/\1/')
    [ "$(awk '/ExecuteCompiler/ { n += $NF } END { printf "%d", n / 1000 }' <<<"$output")" = "$took_us" ] ||
        fail "$took_us" "$output"
    grep -q ';Source: .*vector' <<<"$output" || fail "$output"
}

@test "a folder of perf record --threads has all samples that perf script prints" {
    command -v perf >/dev/null || skip "perf is not installed"
    compile_worker
    perf record -q --threads -g -o thr.data ./worker 2>said.txt || skip "perf record --threads: $(tail -n 1 said.txt)"
    [ -d thr.data ] || fail "perf wrote no folder"
    kelvin fold --value samples thr.data
    exits 0
    local n
    n=$(perf script -i thr.data -F event 2>/dev/null | grep -c :)
    [ "$(awk '{ n += $NF } END { print n }' <<<"$output")" = "$n" ] || fail "$n in perf script" "$output"
    mkdir empty
    kelvin fold empty
    exits 1
    complains 'is a folder, but neither' "a file 'data'"
}

@test "pprof takes the program for the file, and prints none of our comments" {
    command -v go >/dev/null || skip "go is not installed"
    cat >in.txt <<'TEXT'
app 7/7 [000] 1.000000:     5 cycles:u: 
	    7f0000000100 memcpy+0x1 (/usr/lib/libc.so.6)
	          401100 main+0x9 (/opt/nowhere/app)

TEXT
    kelvin convert in.txt --to pprof -o out.pb.gz
    exits 0
    run go tool pprof -top -symbolize=none out.pb.gz
    [[ $output == *"File: app"* ]] || fail "$output"
    [[ $output != *kelvin* ]] || fail "$output"
    run go tool pprof -comments -symbolize=none out.pb.gz
    [[ $output == *'#kelvin-export=1'* ]] || fail "$output"
}

@test "a hardware trace beside the samples is told" {
    kelvin fold "$ROOT/tests/golden/perf.data/trace.data"
    exits 0
    [[ $stderr == *'hardware trace (Intel PT'*'perf script --itrace'* ]] || fail "$stderr"
}

@test "a Firefox profile has each process by its name, and CPU time beside the samples" {
    command -v jq >/dev/null || skip "jq is not installed"
    cat >in.txt <<'TEXT'
make 7/7 [000] 1.000000:     250000 cpu-clock:u: 
	          401100 main+0x9 (/usr/bin/make)

cc1 9/9 [000] 1.100000:     250000 cpu-clock:u: 
	          401100 main+0x9 (/usr/lib/cc1)

worker 9/10 [000] 1.200000:     250000 cpu-clock:u: 
	          401200 run+0x9 (/usr/lib/cc1)

TEXT
    kelvin convert in.txt --to firefox -o out.json.gz
    exits 0
    gzip -d out.json.gz
    [ "$(jq -c '[.threads[] | [.name, .processName, .samples.threadCPUDelta[0]]] | sort' out.json)" = \
        '[["cc1","cc1",250000],["make","make",250000],["worker","cc1",250000]]' ] ||
        fail "$(jq -c '[.threads[] | [.name, .processName, .samples.threadCPUDelta]]' out.json)"
}

@test "the Firefox Profiler's title is the program that perf recorded, not perf" {
    cat >in.txt <<'TEXT'
# cmdline : /usr/bin/perf record -g ./app --fast
app 7/7 [000] 1.000000:     250000 cpu-clock:u: 
	          401100 main+0x9 (/usr/bin/app)

worker 7/8 [000] 1.100000:     250000 cpu-clock:u: 
	          401100 run+0x9 (/usr/bin/app)

TEXT
    kelvin convert in.txt --to firefox -o out.json.gz
    exits 0
    gzip -d out.json.gz
    [ "$(jq -r .meta.product out.json)" = app ] || fail "$(jq -c .meta out.json)"
    sed 's,worker 7/8,worker 9/9,' in.txt >two.txt # of two programs none is what was recorded
    kelvin convert two.txt --to firefox -o two.json.gz
    exits 0
    [[ $(gzip -dc two.json.gz | jq -r .meta.product) == /usr/bin/perf* ]] || fail "$(gzip -dc two.json.gz | jq -c .meta)"
    sed 's,cmdline : .*,cmdline : ./tool,' in.txt >other.txt
    kelvin convert other.txt --to firefox -o other.json.gz
    exits 0
    [ "$(gzip -dc other.json.gz | jq -r .meta.product)" = ./tool ]
}

# A program that knows what it allocates: 23 blocks of 1,000 bytes, of which 6 stay, 30 of 21 bytes, and 8 that leak. Sums over all
# of its functions, without what libraries allocate before main().
heap_program() {
    cat >heap.c <<'END'
#include <stdlib.h>
#include <string.h>
#define OWN __attribute__((noinline))
static void *kept[100];
OWN void keep(int n) { for (int i = 0; i < n; i++) kept[i] = malloc(1000); }
OWN void drop(int n) { for (int i = 0; i < n; i++) { free(kept[i]); kept[i] = NULL; } }
OWN void churn(int n) { for (int i = 0; i < n; i++) { char *volatile p = calloc(3, 7); free(p); } }
OWN void leak(int n)
{
    for (int i = 0; i < n; i++) {
        char **p = calloc(1, 40);
        p[0] = strdup("indirectly leaked");
        *(char *volatile *)&kept[99] = (char *)p;
    }
    kept[99] = NULL;
}
int main(void) { keep(20); drop(15); churn(30); leak(4); keep(3); drop(2); return 0; }
END
}

# sum VALUE FILE: of the stacks that go through main.
sum() {
    kelvin fold --value "$1" "$2"
    exits 0
    sum=$(awk '/(^|;)main;/ { n += $NF } END { print n + 0 }' <<<"$output")
}

# sums FILE VALUE=NUMBER...
sums() {
    local file=$1 pair
    shift
    for pair; do
        sum "${pair%=*}" "$file"
        [ "$sum" = "${pair#*=}" ] || fail "$file: ${pair%=*} is $sum, not ${pair#*=}" "$output"
    done
}

@test "a recording of heaptrack has every block that the program counts, interpreted and raw" {
    command -v heaptrack >/dev/null || skip "heaptrack is not installed"
    heap_program
    cc -g -O1 heap.c -o heap
    heaptrack -o ht ./heap >/dev/null 2>&1
    heaptrack --raw -o htraw ./heap >/dev/null 2>&1
    zstd -dcq ht.zst >ht.txt
    gzip -k ht.txt
    # 3 of the first 20 blocks are lost when keep() runs again, and 2 of the 3 new ones are freed.
    for file in ht.zst ht.txt.gz htraw.raw.zst; do
        sums "$file" allocations=61 allocated=23862 frees=47 freed=17630 leaked=6232 peak=20000
    done
    sums htraw.raw.zst temporary=30
    kelvin heap ht.zst
    exits 0
    grep -q 'Peak .* at .* s' <<<"$output" || fail "$output"
    printf 'leaked <= 6 kB\nallocs(churn) == 30\n' >heap.rules
    kelvin check ht.zst heap.rules
    exits 3
    grep -q 'FAILED .*leaked <= 6 kB' <<<"$output" || fail "$output" "$stderr"
    grep -q 'passed .*allocs(churn) == 30' <<<"$output" || fail "$output" "$stderr"
}

@test "heaptrack_print has the same allocations, peak and leaks" {
    command -v heaptrack_print >/dev/null || skip "heaptrack is not installed"
    heap_program
    cc -g -O1 heap.c -o heap
    heaptrack -o ht ./heap >/dev/null 2>&1
    heaptrack_print ht.zst >printed.txt 2>/dev/null
    kelvin info ht.zst
    exits 0
    local calls
    calls=$(sed -n 's/^calls to allocation functions: \([0-9]*\) .*/\1/p' printed.txt)
    grep -Eq " allocations +$calls count" <<<"$output" || fail "$output" "$calls"
    for pair in 'peak heap memory consumption:peak' 'total memory leaked:leaked'; do
        local theirs ours
        theirs=$(sed -n "s/^${pair%:*}: //p" printed.txt)
        ours=$(sed -n "s/.* ${pair#*:} *\\([0-9,]*\\) bytes.*/\\1/p" <<<"$output" | tr -d ,)
        awk -v b="$ours" -v t="$theirs" 'BEGIN { exit sprintf("%.2fK", b / 1000) != t }' || fail "$pair: $ours, $theirs"
    done
}

@test "massif's peak has every byte of the snapshot" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    heap_program
    cc -g -O1 heap.c -o heap
    valgrind --tool=massif --peak-inaccuracy=0 --massif-out-file=massif.out ./heap 2>/dev/null
    sums massif.out peak=20000
    kelvin heap massif.out
    exits 0
    ! grep -q 'allocations' <<<"$output" || fail "$output"
}

@test "massif's pages are called pages, and a valgrind xtree is not a row of moments" {
    local golden=$BATS_TEST_DIRNAME/../golden/massif
    sed '1s/.*/desc: --pages-as-heap=yes/' "$golden/app.out" >pages.out
    kelvin info pages.out
    exits 0
    [[ $output$stderr == *'the bytes are mapped pages'* ]] || fail "$output" "$stderr"
    kelvin info "$golden/app.out"
    ! grep -q 'mapped pages' <<<"$output$stderr" || fail "$output"
    sed '1s/.*/desc: --pages-as-heap=no/' "$golden/app.out" >heap.out
    kelvin info heap.out
    exits 0
    ! grep -q 'mapped pages' <<<"$output$stderr" || fail "$output"
    sed 's/curB : currently allocated Bytes/LDR/' "$golden/xtree.out" >leaks.out
    kelvin info leaks.out
    exits 5
    complains 'an xtree of leaks is not a heap at one moment'
    kelvin info "$golden/xtree.out"
    exits 0
    grep -Eq 'live +3,000 bytes' <<<"$output" || fail "$output"
    complains 'of an xtree only that is read'
    ! grep -q 'points' <<<"$output" || fail "$output"
}

@test "DHAT's sums are those that valgrind prints" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    heap_program
    cc -g -O1 heap.c -o heap
    valgrind --tool=dhat --dhat-out-file=dhat.json ./heap 2>said.txt
    sums dhat.json allocations=61 allocated=23862 leaked=6232 leaked_blocks=14 peak=20000 peak_blocks=20 frees=47
    [ "$(sed -n 's/.*Total: *\([0-9,]*\) bytes.*/\1/p' said.txt)" = 23,862 ] || fail "$(cat said.txt)"
}

@test "a report of LeakSanitizer has what leaked, named also where it has bare addresses" {
    command -v clang >/dev/null || skip "clang is not installed"
    heap_program
    clang -g -O1 -fsanitize=address -fno-omit-frame-pointer heap.c -o heap || skip "clang has no AddressSanitizer"
    ASAN_OPTIONS=detect_leaks=1 ./heap 2>lsan.txt || true
    grep -q 'LeakSanitizer: detected' lsan.txt || skip "LeakSanitizer does not run here"
    # All of keep()'s are still reachable but the 3 that were overwritten.
    local bytes
    bytes=$(sed -n 's/^SUMMARY: .*: \([0-9]*\) byte.*/\1/p' lsan.txt)
    sums lsan.txt "leaked=$bytes"
    grep -q ';main;leak;strdup 72$' <<<"$output" || fail "$output"
    ASAN_OPTIONS=detect_leaks=1:symbolize=0 ./heap 2>bare.txt || true
    kelvin fold bare.txt
    exits 0
    grep -q ';main;leak;.*strdup 72$' <<<"$output" || fail "$output"
}

@test "a trace's samples of JavaScript are not read, and that is said; it is no CPU profile for holding one" {
    cat >trace.json <<'EOF'
{"traceEvents": [
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"Main"}},
{"ph":"P","pid":1,"tid":1,"ts":5,"id":"0x1","name":"ProfileChunk","args":{"data":{"cpuProfile":{"nodes":[{"callFrame":{"functionName":"f"},"id":1}],"samples":[1]},"timeDeltas":[5]}}}
EOF
    cp trace.json bare.json
    echo ']}' >>bare.json
    echo ',{"ph":"X","pid":1,"tid":1,"ts":5,"dur":10,"name":"run"}]}' >>trace.json
    kelvin fold trace.json
    exits 0
    prints 'Main;run 10000'
    [[ $stderr == *"not the samples of JavaScript"*"in 1 piece"* ]] || fail "$stderr"
    kelvin fold bare.json
    exits 5
    complains "no stack in it (read as Chrome trace events)" "not the samples of JavaScript"
    echo '{"head":{"callFrame":{"functionName":"(root)"},"selfSize":12,"children":[]},"samples":[]}' >x.heapprofile
    kelvin info x.heapprofile
    exits 5
    complains "a heap profile of V8, a format that kelvin does not know"
}

@test "what other tools print, drawings and archives are called what they are, with what to read instead" {
    tell() { # FILE WORDS
        kelvin fold "$1"
        exits 5
        complains "$1: " "$2"
    }
    printf '# To display the perf.data header info\n#\n# Overhead  Command\n# ........\n    12.00%%  app\n' >report.txt
    tell report.txt "what 'perf report' prints: read perf.data itself"
    printf "\n Performance counter stats for './app':\n\n   12.30 msec task-clock\n" >stat.txt
    tell stat.txt "what 'perf stat' prints"
    printf 'File: app\nType: cpu\nShowing nodes accounting for 2s, 100%% of 2s total\n' >top.txt
    tell top.txt "a table of pprof"
    printf '==1== Memcheck\n==1== HEAP SUMMARY:\n==1==     in use at exit: 1 bytes\n' >memcheck.log
    tell memcheck.log "--xtree-leak-file=leaks.kcg"
    printf 'a;b 1\n' >a.folded
    kelvin flame a.folded -o flame.svg
    exits 0
    tell flame.svg "a drawing: read the profile that it was drawn from"
    kelvin report a.folded --format html -o page.html
    exits 0
    tell page.html "a page: read the profile that it was made from"
    tar cf a.tar a.folded
    tell a.tar "a tar archive"
    gzip <a.tar >a.tgz
    tell a.tgz "a tar archive"
    printf 'PK\003\004rest' >a.zip
    tell a.zip "a zip archive"
    tell /bin/sh "a program or library"
}
