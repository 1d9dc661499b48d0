#!/usr/bin/env bats
# What functions are called: by one rule, wherever the names come from; files of other tools too.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$PWD/home
    mkdir -p home
}

can_record() {
    need_record -- true
}

# A program that spends its time in NAME, with a comment that makes its build-id differ by TEXT.
compile() { # NAME TEXT FLAGS...
    local name=$1 text=$2
    shift 2
    cat >app.c <<SOURCE
const char version[] = "$text";
__attribute__((noinline)) unsigned long $name(unsigned long n)
{
    unsigned long x = n;
    for (unsigned long i = 0; i < n; i++)
        x = x * 6364136223846793005ul + (x >> 7);
    return x;
}
int main(void)
{
    return $name(300000000) == (unsigned long)version;
}
SOURCE
    gcc -O1 -Wl,--build-id "$@" app.c -o app
}

# Share of the samples, in percent, whose stack has TEXT in it.
share() { # TEXT
    awk -v text="$1" '
        { all += $NF } index($0, text) { got += $NF } END { print int(all ? 100 * got / all : 0) }'
}

build_id() { # FILE
    readelf -n "$1" | awk '/Build ID/ { print $3 }'
}

address() { # FILE SYMBOL
    nm "$1" | awk -v name="$2" '$3 == name { print $1 }'
}

# A profile as samply saves it: one address in a library, no name.
samply() { # FILE ADDRESS BUILD-ID
    cat <<JSON
{"meta": {"preprocessedProfileVersion": 49, "interval": 1, "startTime": 0, "symbolicated": false,
  "product": "app", "categories": [{"name": "User", "color": "yellow", "subcategories": ["Other"]}]},
 "libs": [{"name": "app", "path": "$1", "debugName": "app", "debugPath": "$1", "breakpadId": "X",
  "codeId": "$3", "arch": "x86_64"}],
 "threads": [{"name": "app", "pid": "1", "tid": 1,
  "samples": {"length": 2, "stack": [0, 0], "time": [0, 1], "weight": [1, 1], "weightType": "samples"},
  "stackTable": {"length": 1, "prefix": [null], "frame": [0], "category": [0]},
  "frameTable": {"length": 1, "address": [$2], "inlineDepth": [0], "category": [0], "func": [0],
   "nativeSymbol": [null], "line": [null], "column": [null]},
  "funcTable": {"length": 1, "name": [0], "resource": [0], "fileName": [null], "lineNumber": [null]},
  "resourceTable": {"length": 1, "lib": [0], "name": [1], "type": [1]},
  "stringArray": ["0x$(printf %x "$2")", "app"]}]}
JSON
}

@test "samply's bare addresses get names, whatever the program was linked to" {
    local flags
    for flags in "-pie -fPIE" "-no-pie -fno-pie"; do
        # shellcheck disable=SC2086  # two words
        compile spin one $flags
        base=$(readelf -lW app | awk '$1 == "LOAD" { print $3; exit }')
        samply "$PWD/app" $((0x$(address app spin) + 4 - base)) "$(build_id app)" >p.json
        kelvin fold p.json
        exits 0
        [ "$output" = "app;spin 2" ] || fail "$flags: $output"
    done
}

@test "samply's names beside its profile are used when the program is gone" {
    samply /nowhere/app 4100 abcdef0123 >p.json
    kelvin fold p.json
    [[ $stderr == *"/nowhere/app is gone: its functions have no names; find the old file with --symbols DIR"* ]] || fail "$stderr"
    cat >p.syms.json <<'JSON'
{"string_table": ["UNKNOWN", "spin"], "data": [{"debug_name": "app", "debug_id": "X", "code_id": "abcdef0123",
 "symbol_table": [{"rva": 4096, "size": 64, "symbol": 1}], "known_addresses": [[4100, 0]]}]}
JSON
    kelvin fold p.json
    exits 0
    prints "app;spin 2"
    [ -z "$stderr" ] || fail "$stderr"
}

@test "samply's names are used where sizes, order and build-ids are missing, as for the vDSO" {
    samply /nowhere/app 4100 "" >p.json
    cat >p.syms.json <<'JSON'
{"string_table": ["UNKNOWN", "later", "spin", "other"], "data": [
 {"debug_name": "lib", "debug_id": "Y", "code_id": "", "symbol_table": [{"rva": 4096, "symbol": 3}], "known_addresses": [[4100, 0]]},
 {"debug_name": "app", "debug_id": "X", "code_id": "",
  "symbol_table": [{"rva": 4200, "symbol": 1}, {"rva": 4096, "symbol": 2, "frames": [{"function": 2, "file": null, "line": 7}]}],
  "known_addresses": [[4210, 0], [4100, 1]]}]}
JSON
    kelvin fold p.json
    exits 0
    prints "app;spin 2"
}

# A profile as Firefox saves it: OUTER calls INNER, both addresses in FILE, mapped at START.
gecko() { # FILE START OUTER INNER BUILD-ID
    cat <<JSON
{"meta": {"version": 31, "startTime": 0, "interval": 1, "stackwalk": 1, "gcpoison": 0, "processType": 0},
 "libs": [{"name": "app", "path": "$1", "breakpadId": "X", "codeId": "$5",
  "start": $2, "end": $(($2 + 65536)), "offset": 0}],
 "threads": [{"name": "app", "pid": 1, "tid": 1,
  "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 0], [1, 1]]},
  "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]},
  "frameTable": {"schema": {"location": 0}, "data": [[0], [1]]},
  "stringTable": ["0x$(printf %x "$3")", "0x$(printf %x "$4")"]}], "processes": []}
JSON
}

@test "a raw Gecko profile's addresses get names, a caller's by the byte before its return address" {
    compile spin one -pie -fPIE
    base=$(readelf -lW app | awk '$1 == "LOAD" { print $3; exit }')
    start=$((0x7f0000000000))
    inner=$((0x$(address app spin) - base + start))
    # The return address of a call that is a function's last instruction is the next function's first byte.
    size=$((0x$(nm -S app | awk '$4 == "main" { print $2 }')))
    outer=$((0x$(address app main) - base + start + size))
    gecko "$PWD/app" "$start" "$outer" "$inner" "$(build_id app)" >p.json
    kelvin fold p.json
    exits 0
    [ "$output" = "app;main;spin 2" ] || fail "$output"
}

# pprof with one address and no function, in a mapping of FILE at 0x7f0000000000.
pprof() { # FILE BUILD-ID OFFSET-IN-MAPPING OFFSET-IN-FILE
    perl -e '
        sub v { my $n = shift; my $o = ""; while ($n > 127) { $o .= chr($n & 127 | 128); $n >>= 7 } $o . chr $n }
        sub n { v($_[0] << 3) . v($_[1]) }
        sub b { v($_[0] << 3 | 2) . v(length $_[1]) . $_[1] }
        my ($file, $id, $at, $offset) = @ARGV;
        my $start = 0x7f0000000000;
        print b(1, n(1, 1) . n(2, 2)), b(2, b(1, v(1)) . b(2, v(7))),
            b(3, n(1, 1) . n(2, $start) . n(3, $start + 0x100000) . n(4, $offset) . n(5, 3) . n(6, 4)),
            b(4, n(1, 1) . n(2, 1) . n(3, $start + $at)), map { b(6, $_) } "", "samples", "count", $file, $id;
    ' "$1" "$2" "$3" "$4"
}

@test "pprof's run-time addresses get names, and only from the program that ran" {
    compile spin one
    offset=0 vaddr=0
    read -r offset vaddr < <(readelf -lW app | awk '$1 == "LOAD" && / E / { print $2, $3 }')
    at=$((0x$(address app spin) + 4 - vaddr))
    pprof "$PWD/app" "$(build_id app)" $at $((offset)) >p.pb
    kelvin fold p.pb
    exits 0
    prints "spin 7"
    cp app kept
    compile spin another
    kelvin fold p.pb
    [[ $output != *spin* ]] || fail "named from another build: $output"
    [[ $stderr == *"app was rebuilt since the recording (its build-id differs)"*"--symbols DIR"* ]] || fail "$stderr"
    mkdir -p store/old && mv kept store/old/app
    kelvin fold --symbols /nowhere:store p.pb
    prints "spin 7"
    kelvin fold --symbols /nowhere --symbols store p.pb
    prints "spin 7"
    kelvin simd p.pb
    exits 5
    [[ $stderr == *"'$PWD/app' has changed since"* ]] || fail "$stderr"
    kelvin simd --symbols store --format json p.pb
    exits 0
    [[ $output == *'"name":"spin"'*'"module":"app"'* ]] || fail "$output"
}

@test "what was converted without names gets them later, by --symbols" {
    compile spin one -g
    local offset vaddr at to
    read -r offset vaddr < <(readelf -lW app | awk '$1 == "LOAD" && / E / { print $2, $3 }')
    at=$((0x$(address app spin) + 4 - vaddr))
    pprof "$PWD/app" "$(build_id app)" $at $((offset)) >p.pb
    mkdir store
    objcopy --only-keep-debug app store/app.debug
    strip app
    for to in out.pb.gz out.profile.json.gz out.kelvin; do
        kelvin convert p.pb -o $to
        exits 0
        kelvin fold $to
        [[ $output == "[app+0x"*"] 7" ]] || fail "$to: $output"
        kelvin fold --symbols store $to
        prints "spin 7"
    done
}

@test "perf.data of a rebuilt program is named from perf's cache" {
    command -v perf >/dev/null || skip "no perf"
    compile spin one
    perf record -q -e cpu-clock -o perf.data ./app >/dev/null 2>&1 || skip "perf cannot record here"
    [ -d home/.debug/.build-id ] || skip "this perf keeps no copies"
    [ "$("$KELVIN" fold perf.data | share spin)" -ge 80 ]
    compile other another
    [ "$("$KELVIN" fold perf.data 2>/dev/null | share spin)" -ge 80 ] || fail "$("$KELVIN" fold perf.data)"
    kelvin annotate perf.data spin
    exits 0
    [[ $output == *imul* ]] || fail "$output"
    rm -rf home/.debug
    [ "$("$KELVIN" fold perf.data 2>/dev/null | share spin)" -eq 0 ]
    [ "$("$KELVIN" fold perf.data 2>/dev/null | share other)" -eq 0 ]
}

@test "a program that was rebuilt is compared by the names that its recordings carry, when the old one is gone" {
    can_record
    local work
    for work in 3 30; do
        cat >app.c <<SOURCE
#define WORK __attribute__((noinline)) static unsigned long
#define LOOP(n) unsigned long x = n; for (unsigned long i = 0; i < n; i++) x = x * 6364136223846793005ul + (x >> 7); return x
WORK steady(unsigned long n) { LOOP(n); }
WORK parse(unsigned long n) { LOOP(n); }
int main(void)
{
    return steady(150000000) + parse(${work}0000000) == 1;
}
SOURCE
        gcc -O1 app.c -o app
        strip -o stripped app # what is not recorded cannot be named later
        "$KELVIN" record -q --min-samples 0 --allow-partial -o "$work.kelvin" -- ./app
    done
    rm app app.c
    kelvin diff 3.kelvin 30.kelvin
    exits 0
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"Verdict: regressed"*"'parse' "* ]] || fail "$output"
    [[ $output == *" steady"* && $output != *"no function names"* && $output != *"[app]"* ]] || fail "$output"
    kelvin diff --format json 3.kelvin 30.kelvin
    [ "$(jq -c '[.functions[] | select(.self.proven) | .name]' <<<"$output")" = '["parse"]' ] || fail "$output"
}

@test "a program in /dev/shm gets names" {
    can_record
    [ -d /dev/shm ] && [ -w /dev/shm ] || skip "no /dev/shm"
    compile spin one
    shm=$(mktemp -d /dev/shm/kelvin-test-XXXXXX)
    cp app "$shm/app"
    "$shm/app" || true
    "$KELVIN" record -q --min-samples 0 --allow-partial -o shm.kelvin -- "$shm/app" || true
    rm -rf "$shm"
    [ "$("$KELVIN" fold shm.kelvin | share 'main;spin')" -ge 80 ] || fail "$("$KELVIN" fold shm.kelvin)"
}

# ./alloc, which allocates and frees all the time.
compile_mallocs() {
    cat >alloc.c <<'SOURCE'
#include <stdlib.h>
int main(void)
{
    void *volatile at[64] = {0};
    for (unsigned i = 0; i < 12000000; i++) {
        free(at[i % 64]);
        at[i % 64] = malloc(16 + i % 512);
    }
    return 0;
}
SOURCE
    gcc -O1 alloc.c -o alloc
}

@test "a rule that forbids malloc finds it by its public name" {
    can_record
    compile_mallocs
    "$KELVIN" record -q --min-samples 0 --allow-partial -o alloc.kelvin -- ./alloc
    echo 'absent malloc' >perf.rules
    kelvin check alloc.kelvin perf.rules
    exits 3
    "$KELVIN" fold alloc.kelvin >folded
    ! grep -q '__GI_\|__libc_malloc\|__libc_free' folded || fail "$(grep -o '[^; ]*__GI_[^; ]*\|__libc_[a-z]*' folded | sort -u | head)"
    grep -q ';malloc' folded && grep -q ';free' folded || fail "$(cut -c1-200 folded | head -n 5)"
}

@test "malloc is malloc with the C library's debug symbols and without, for rules and for reports" {
    can_record
    local libc id with symbols
    libc=$(ldd "$KELVIN" | awk '$1 == "libc.so.6" { print $3 }')
    id=$(build_id "$libc")
    with=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
    compile_mallocs
    echo 'absent malloc' >absent.rules
    echo 'total malloc <= 0.5%' >most.rules
    mkdir none
    is_real_root && symbols="unshare -m" || symbols="unshare -rm"
    # shellcheck disable=SC2016  # for the shell inside
    $symbols sh -c 'mount --bind none /usr/lib/debug && exec "$1" record -q --min-samples 0 --allow-partial -o without.kelvin -- ./alloc' - "$KELVIN" ||
        skip "needs a mount namespace"
    "$KELVIN" record -q --min-samples 0 --allow-partial -o with.kelvin -- ./alloc
    for symbols in without with; do
        kelvin check $symbols.kelvin absent.rules
        exits 3
        kelvin check $symbols.kelvin most.rules
        exits 3
        kelvin report $symbols.kelvin --callers malloc
        exits 0
        [[ $output == *"Total "[1-9]* ]] || fail "$output"
        "$KELVIN" fold $symbols.kelvin >folded
        ! grep -q '__GI_\|__libc_malloc\|__libc_free' folded || fail "$symbols: $(grep -o '__GI_[^; ]*\|__libc_[a-z]*' folded | sort -u)"
    done
    [ -e "$with" ] || skip "the C library's debug symbols are not installed: only seen without them"
}

@test "a program may be overwritten while its recording is named" {
    command -v perf >/dev/null || skip "no perf"
    compile spin one -g
    perf record -q -e cpu-clock -o perf.data ./app >/dev/null 2>&1 || skip "perf cannot record here"
    rm -rf home/.debug
    cp app kept
    (for _ in $(seq 300); do : >app; cat kept >app; done) &
    overwriter=$!
    for _ in $(seq 20); do
        kelvin fold perf.data
        exits 0
    done
    kill $overwriter 2>/dev/null || true
    wait $overwriter || true
}

@test "each of the variants that the loader chooses from has the function's name, not that of the code that chooses" {
    can_record
    [ "$(uname -m)" = x86_64 ] || skip "variants for one processor each are tried with gcc on x86-64"
    compile 'turn' chosen -g
    sed -i 's/__attribute__((noinline)) /__attribute__((noinline, target_clones("avx2", "default"))) static /' app.c
    gcc -O1 -g app.c -o app
    nm app | grep -q 'turn\.resolver'
    kelvin record -q -o app.kelvin -- ./app
    [ "$status" -eq 0 ]
    kelvin fold app.kelvin
    [ "$(share 'turn ' <<<"${output//;/ }")" -ge 50 ]
    [[ "$output" != *resolver* ]]
}
