#!/usr/bin/env bats
# Scopes: a program's own words, against its own count.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
INCLUDE=$BATS_TEST_DIRNAME/../../include

setup_file() {
    build_targets
}

record() { # COMMAND...
    kelvin record -o r.kelvin -- "$@"
    exits 0
}

# An expression of jq on what `kelvin scopes` says as JSON.
scopes() { # EXPRESSION [OPTION...]
    "$KELVIN" scopes --format json "${@:2}" r.kelvin | jq -r "$1"
}

@test "suggested commands can be pasted whatever the file is called" {
    kelvin record --waits -o 'a b.kelvin' -- "$TARGET/scopes" 1 1
    exits 0
    [[ $stderr == *"; see: kelvin scopes 'a b.kelvin'"* ]] || fail "$stderr"
    [[ $stderr == *"; next: kelvin report 'a b.kelvin' --waits"* ]] || fail "$stderr"
}

@test "every span is there, under the scopes around it" {
    record "$TARGET/scopes" 200 3
    [[ $stderr == *"scopes: 1,400 spans, 0 lost; see: kelvin scopes r.kelvin"* ]]
    [ "$(scopes '.spans')" = 1400 ]
    [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | join(",")')" = \
        "null token 200,0 layer 600,1 matmul 600" ]
    [ "$(scopes '.lost')" = 0 ]
    [ "$(scopes '.note')" = null ]
}

@test "self times add up to the outermost total, and percentiles are in order" {
    record "$TARGET/scopes" 500 3
    local self total
    self=$(scopes '[.tree[].self_ns] | add')
    total=$(scopes '.tree[0].total_ns')
    # Each span is rounded to a nanosecond.
    [ $((self > total ? self - total : total - self)) -le 3500 ]
    [ "$(scopes '[.tree[] | .min_ns <= .p50.ns and .p50.ns <= .p90.ns and .p90.ns <= .p99.ns
        and .p99.ns <= .p99_9.ns and .p99_9.ns <= .max_ns and .p50.low <= .p50.high] | all')" = true ]
}

@test "the wall time of the outermost scopes is what the program took" {
    cat >sleeper.c <<'END'
#include <kelvin.h>
#include <unistd.h>
int main(void) { KELVIN_SCOPE("sleep"); usleep(200000); return 0; }
END
    cc -I"$INCLUDE" sleeper.c -o sleeper
    record ./sleeper
    [ "$(scopes '.tree[0].total_ns >= 199000000')" = true ]
    # On a busy machine a sleep may last longer, but not longer than the recording.
    [ "$(scopes '.tree[0].total_ns')" -le "$("$KELVIN" info r.kelvin | awk '$1 == "duration_ns" { print $2 }')" ]
}

@test "spans that are summed up while the file is read give the same tables as those in memory" {
    record "$TARGET/scopes" 2000 4
    "$KELVIN" scopes r.kelvin --by index >parts.txt
    "$KELVIN" scopes r.kelvin --by index --thread . >whole.txt # what is selected is kept in memory
    diff <(sed -n '/^Scopes$/,/^Counters/p' parts.txt) <(sed -n '/^Scopes$/,/^Counters/p' whole.txt)
}

@test "attributes make a table" {
    record "$TARGET/scopes" 100 4
    [ "$(scopes '[.groups[] | "\(.scope) \(.value) \(.calls)"] | join(",")' --by index)" = \
        "layer 0 100,layer 1 100,layer 2 100,layer 3 100" ]
    [ "$(scopes '[.groups[] | "\(.value) \(.calls)"] | join(",")' --by kind)" = "even 200,odd 200" ]
    [ "$(scopes '.spans' --where index=2)" = 100 ]
    kelvin scopes r.kelvin --by nosuch
    exits 1
    [[ $stderr == *"no scope has an attribute 'nosuch'"* ]]
    kelvin report r.kelvin --where index=2
    exits 1
    [[ $stderr == *"nothing of event 'cpu-clock' has index '2', but other events of the profile do"* ]]
}

@test "counters, gauges and events" {
    record "$TARGET/scopes" 100 1
    [ "$(scopes '.counters[] | select(.name == "tokens") | .last')" = 100 ]
    [ "$(scopes '.counters[] | select(.name == "left") | "\(.last) \(.min) \(.max)"')" = "0 0 99" ]
    [ "$("$KELVIN" fold --event events r.kelvin 2>/dev/null)" = "scopes;done 1" ]
}

@test "samples inside a scope are those of its functions" {
    record "$TARGET/scopes" 3000 4
    local in all
    all=$("$KELVIN" fold r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    in=$("$KELVIN" fold --scope '^matmul$' r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    # Nearly all of the program's time is in there; its start is not.
    [ $((10 * in)) -ge $((6 * all)) ]
    [ "$in" -lt "$all" ]
    kelvin report r.kelvin --scope nosuch
    exits 1
    [[ $stderr == *"no scope matches 'nosuch'; there are: "*layer* ]]
}

@test "longjmp, fork, deep nesting and scopes open at exit are counted, and the rest stays right" {
    record "$TARGET/scopes" odd
    [[ $(scopes .note) == "3 scopes never ended, 1 end without a beginning, 73 scopes nested too deeply" ]]
    [ "$(scopes '.flat[] | select(.scope == "after longjmp") | .calls')" = 1 ]
    [ "$(scopes '.tree as $t | .tree[] | select(.scope == "after longjmp") | $t[.parent].scope')" = outer ]
    [ "$(scopes '.flat[] | select(.scope == "nested") | .calls')" = 128 ]
    [ "$(scopes '[.tree[] | select(.scope == "left by longjmp") | .calls] | add')" = null ]
    [ "$(scopes '.flat[] | select(.scope == "child") | .calls')" = 1 ]
    # A span that ends in another thread.
    [ "$(scopes '.flat[] | select(.scope == "request") | .max_ns >= 1900000')" = true ]
}

@test "names with odd characters come out as text, and no control character reaches the terminal" {
    record "$TARGET/scopes" odd
    kelvin scopes r.kelvin
    exits 0
    [[ $output != *$'\x1b'* ]]
    "$KELVIN" scopes r.kelvin --format html >page.html
    [ "$(grep -c '"<&>' page.html)" = 0 ]
    "$KELVIN" scopes r.kelvin --format csv | grep -c '^flat' | grep -qx 7
}

@test "too many names are bounded and told" {
    record "$TARGET/scopes" names 1000000
    [ "$(scopes '.flat | length')" -le 4096 ]
    [[ $(scopes .note) == *"scopes under '[more scopes]'"* ]]
    local spans lost
    spans=$(scopes .spans) lost=$(scopes .lost)
    [ $((spans + lost)) = 1000000 ]
}

@test "as fast as can be: kept and lost add up to what was done" {
    record "$TARGET/scopes" many 3000000
    [ $(($(scopes .spans) + $(scopes .lost))) = 3000000 ]
}

@test "at most 12 bytes on disk for a span" {
    cat >pace.c <<'END'
#include <kelvin.h>
#include <unistd.h>
static volatile int sink;
int main(void)
{
    unsigned seed = 1;
    for (int i = 0; i < 200000; i++) {
        KELVIN_SCOPE("step");
        seed = seed * 1103515245 + 12345;
        for (int n = seed >> 20; n > 0; n--)
            sink += n;
    }
    return 0;
}
END
    cc -O1 -I"$INCLUDE" pace.c -o pace
    record ./pace
    [ "$(scopes .spans)" -ge 100000 ]
    [ "$(stat -c %s r.kelvin)" -le $((12 * $(scopes .spans))) ]
}

part_has_spans() {
    [ -s r.kelvin.part ] && [ "$("$KELVIN" scopes r.kelvin.part --format json 2>/dev/null | jq '.tree[0].calls > 0 and .tree[0].scope == "token"')" = true ]
}

@test "the recorder killed: all spans but those of the last second are there" {
    "$KELVIN" record -o r.kelvin -- "$TARGET/scopes" 1000000 4 &
    local pid=$! program
    wait_until 30 part_has_spans
    program=$(pgrep -P "$pid")
    kill -9 "$pid"
    wait "$pid" || true
    kill -9 "$program" # it goes on without a recorder
    mv r.kelvin.part r.kelvin
    [ "$(scopes '.tree[0].calls > 0 and .tree[0].scope == "token"' 2>/dev/null)" = true ]
}

@test "the program killed: what it told before is there" {
    kelvin record -o r.kelvin -- bash -c "'$TARGET/scopes' 1000000 4 & sleep 1; kill -9 \$!"
    [ "$(scopes '.tree[0].calls > 0')" = true ]
}

@test "C++: scopes end with the block, by exceptions as well" {
    cat >x.cc <<'END'
#include <kelvin.h>
#include <string>
static void throws() { KELVIN_SCOPE("throws", "who", std::string("me").c_str(), "n", 3u, "x", 1.5); throw 1; }
int main()
{
    for (int i = 0; i < 10; i++) {
        KELVIN_SCOPE("outer");
        try { throws(); } catch (int) { KELVIN_SCOPE("caught"); }
    }
}
END
    local cxx
    for cxx in g++ clang++; do
        command -v $cxx >/dev/null || continue
        $cxx -std=c++11 -Wall -Wextra -Werror -I"$INCLUDE" x.cc -o x
        record ./x
        [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | sort | join(",")')" = \
            "0 caught 10,0 throws 10,null outer 10" ]
        [ "$(scopes '.groups[] | "\(.value) \(.calls)"' --by who)" = "me 10" ]
        [ "$(scopes '.groups[] | "\(.value) \(.calls)"' --by x)" = "1.5 10" ]
    done
}

@test "attributes are what they are: characters in an array, real numbers of every size" {
    cat >v.cc <<'END'
#include <kelvin.h>
int main(void) { char name[] = "buffer"; KELVIN_SCOPE("values", "name", name, "f", 2.5f, "l", 0.25L, "n", 7u); return 0; }
END
    cp v.cc v.c
    local compiler
    for compiler in "gcc -std=c11 v.c" "clang -std=c11 v.c" "g++ -std=c++11 v.cc" "clang++ -std=c++11 v.cc"; do
        command -v "${compiler%% *}" >/dev/null || continue
        $compiler -Wall -Wextra -Werror -I"$INCLUDE" -o v
        record ./v
        [ "$(for key in name f l n; do scopes '.groups[].value' --by $key; done | xargs)" = "buffer 2.5 0.25 7" ] ||
            fail "$compiler: $(scopes .)"
    done
}

@test "several files and libraries share nothing but the recorder; PIE or not" {
    printf '#include <kelvin.h>\nvoid a(void){KELVIN_SCOPE("a");}\n' >a.c
    printf '#include <kelvin.h>\nvoid b(void){KELVIN_SCOPE("b");}\n' >b.c
    printf '#include <kelvin.h>\nvoid a(void);void b(void);int main(void){KELVIN_SCOPE("main");a();b();return 0;}\n' >m.c
    cc -I"$INCLUDE" -fPIC -shared a.c -o liba.so
    local pie
    for pie in -pie -no-pie; do
        cc -I"$INCLUDE" $pie m.c b.c -L. -la -Wl,-rpath,. -o m
        record ./m
        [ "$(scopes '[.tree[] | "\(.parent) \(.scope)"] | sort | join(",")')" = "0 a,0 b,null main" ]
    done
}

@test "-DKELVIN_OFF leaves nothing, and a program without a recorder evaluates nothing" {
    cat >off.c <<'END'
#include <kelvin.h>
#include <stdio.h>
static int n;
int main(void)
{
    KELVIN_SCOPE("s", "n", ++n);
    KELVIN_COUNT("c", ++n);
    KELVIN_GAUGE("g", ++n);
    KELVIN_EVENT("e");
    kelvin_end(kelvin_begin("b"));
    kelvin_alloc(&n, 4);
    kelvin_free(&n);
    kelvin_thread_name("t");
    return n;
}
END
    cc -Wall -Wextra -Werror -std=c11 -DKELVIN_OFF -O2 -I"$INCLUDE" -c off.c
    [ "$(nm off.o | grep -vc ' main$\| n$')" = 0 ]
    cc -Wall -Wextra -Werror -std=c11 -I"$INCLUDE" off.c -o off
    ./off
    KELVIN_SCOPES="1 2 3 /nonexistent.so" ./off
    KELVIN_SCOPES="nonsense" ./off
    cc -static -I"$INCLUDE" off.c -o off-static 2>warnings || skip "no static libc"
    [ ! -s warnings ]
    ./off-static
    run "$KELVIN" record -q -o r.kelvin -- ./off
    [ "$status" = 3 ]
}

@test "a large rate of a counter is written as a number" {
    cat >bytes.c <<'END'
#include <kelvin.h>
int main(void)
{
    for (int i = 0; i < 10; i++) {
        KELVIN_SCOPE("block");
        KELVIN_COUNT("bytes", 1000000);
    }
    return 0;
}
END
    cc -I"$INCLUDE" bytes.c -o bytes
    record ./bytes
    "$KELVIN" scopes r.kelvin | grep -E '^ +10000000 +- +- +[0-9]{1,3}(,[0-9]{3})+  bytes$' ||
        fail "$("$KELVIN" scopes r.kelvin)"
}

@test "rules about scopes: a percentile, calls by a counter, a rate; each as kelvin scopes has it" {
    record "$TARGET/scopes" 1000 4
    cat >r.rules <<'END'
p90 layer 1..100000000000 ns
calls layer == 4 * tokens
calls layer == 24
rate tokens >= 0.001
END
    kelvin check r.kelvin r.rules --format json
    exits 3
    [ "$(jq -r '[.results[].verdict] | join(" ")' <<<"$output")" = "passed passed failed passed" ]
    [ "$(jq '.results[0].value' <<<"$output")" = "$(scopes '.flat[] | select(.scope == "layer") | .p90.ns')" ]
    [ "$(jq -r '.results[1].expected' <<<"$output")" = "exactly 4,000 calls (tokens: 1000)" ]
    # A thousand tokens take less than a thousand seconds.
    [ "$(jq '.results[3].value > 1' <<<"$output")" = true ]
    echo 'p99 lair <= 5 ms' >r.rules
    kelvin check r.kelvin r.rules
    exits 1
    [[ $stderr == *"r.rules:1:5: there is no scope 'lair'; there are: token, layer, matmul"* ]]
}

@test "diff --scopes: more layers make tokens slower, and both sides' figures are those of kelvin scopes" {
    record "$TARGET/scopes" 1000 8
    mv r.kelvin after.kelvin
    record "$TARGET/scopes" 1000 2
    kelvin diff --scopes r.kelvin after.kelvin --format json
    exits 0
    # 12 times the work.
    [ "$(jq -r '.scopes[] | select(.scope == "token") | .p50.verdict' <<<"$output")" = slower ]
    [ "$(jq '.scopes[] | select(.scope == "token") | .p50 | .low > 1 and .low < .change and .change < .high' <<<"$output")" = true ]
    [ "$(jq -r '.scopes[] | select(.scope == "layer") | "\(.before.calls) \(.after.calls)"' <<<"$output")" = "2000 8000" ]
    [ "$(jq '.scopes[] | select(.scope == "token") | .p90.before_ns | round' <<<"$output")" = \
        "$(scopes '.flat[] | select(.scope == "token") | .p90.ns')" ]
    local format
    for format in text md html; do
        kelvin diff --scopes r.kelvin after.kelvin --format $format
        exits 0
        [[ $output == *"One run per side"* && $output == *token* ]]
    done
    kelvin diff --scopes r.kelvin after.kelvin -o x.svg
    exits 1
    [ ! -e x.svg ]
    kelvin record -q -o none.kelvin -- bash -c 'for ((i = 0; i < 200000; i++)); do :; done'
    kelvin diff --scopes r.kelvin none.kelvin
    exits 5
    [[ $stderr == *"there are no scopes in this profile"* ]]
}

@test "Python: scopes nest, an exception ends them, and without a recorder nothing happens" {
    cp "$BATS_TEST_DIRNAME/../../examples/kelvin_scopes.py" .
    python3 kelvin_scopes.py
    KELVIN_SCOPES="1 2 3 /nonexistent.so" python3 kelvin_scopes.py
    record python3 kelvin_scopes.py
    [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | sort | join(",")')" = \
        "0 answer 200,0 parse 200,null request 200" ]
    # 0 to 499 have 1,390 digits and 499 blanks between them.
    [ "$(scopes '.counters[] | select(.name == "bytes") | .last')" = $((200 * 1889)) ]
    [ "$(scopes .note)" = null ]
    cat >raises.py <<'END'
from kelvin_scopes import scope
def fails():
    with scope("fails"):
        raise ValueError
for i in range(10):
    with scope("outer"):
        try:
            fails()
        except ValueError:
            with scope("caught"):
                pass
END
    record python3 raises.py
    [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | sort | join(",")')" = \
        "0 caught 10,0 fails 10,null outer 10" ]
}

@test "Rust: scopes nest, and CPU samples are inside them" {
    command -v rustc >/dev/null || skip "no rustc"
    echo 'fn main() { let _ = c"x"; }' >old.rs
    rustc --edition 2021 old.rs 2>/dev/null || skip "rustc is older than 1.77"
    rustc --edition 2021 -O -g -D warnings "$BATS_TEST_DIRNAME/../../examples/kelvin_scopes.rs" -o app
    ./app >/dev/null
    record ./app
    [ "$(scopes '[.tree[] | "\(.parent) \(.scope) \(.calls)"] | sort | join(",")')" = \
        "0 answer 200,0 parse 200,null request 200" ]
    [ "$(scopes '.counters[] | select(.name == "numbers") | .last')" = 1000000 ]
    [ "$(scopes .note)" = null ]
    kelvin fold --scope '^request$' r.kelvin
    exits 0
    [ -n "$output" ]
}

@test "pushed scopes: too many pops are counted, C scopes nest inside of them" {
    cat >push.c <<'END'
#include <kelvin.h>
#include <dlfcn.h>
#include <string.h>
static int (*push)(const char *);
static void (*pop)(void);
int main(void)
{
    const char *at = getenv("KELVIN_SCOPES");
    for (int i = 0; at && i < 3; i++)
        at = strchr(at, ' ') + 1;
    void *library = at ? dlopen(at, RTLD_NOW) : 0;
    if (!library)
        return 0;
    push = (int (*)(const char *))dlsym(library, "kelvin_push");
    pop = (void (*)(void))dlsym(library, "kelvin_pop");
    pop();
    push("outer");
    {
        KELVIN_SCOPE("c");
        push("inner");
        pop();
    }
    for (int i = 0; i < 3; i++) {
        push("left open");
    }
    pop();
    return 0;
}
END
    cc -I"$INCLUDE" push.c -o push
    ./push
    record ./push
    [ "$(scopes '[.tree[] | "\(.scope) \(.calls)"] | sort | join(",")')" = "c 1,inner 1,left open 0,left open 0,left open 1,outer 0" ]
    [[ $(scopes .note) == "3 scopes never ended, 1 end without a beginning" ]]
}

@test "a program without scopes: said, and what to do" {
    record bash -c 'for ((i = 0; i < 200000; i++)); do :; done'
    kelvin scopes r.kelvin
    exits 5
    [[ $stderr == *"no scopes in this profile: put KELVIN_SCOPE"* ]]
    [ "$("$KELVIN" info r.kelvin | grep -c '^stream')" = 1 ]
}

@test "thousands of threads: each has its spans or is told of" {
    cat >threads.c <<'END'
#include <kelvin.h>
#include <pthread.h>
static void *work(void *x) { KELVIN_SCOPE("work"); return x; }
int main(void)
{
    pthread_t t[50];
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 50; i++)
            pthread_create(&t[i], 0, work, 0);
        for (int i = 0; i < 50; i++)
            pthread_join(t[i], 0);
    }
    return 0;
}
END
    cc -pthread -I"$INCLUDE" threads.c -o threads
    record ./threads
    [ "$(scopes .spans)" = 3000 ]
}

@test "more threads at once than there are rings: the rest is counted, and all end well" {
    cat >crowd.c <<'END'
#define _GNU_SOURCE
#include <kelvin.h>
#include <pthread.h>
#include <stdio.h>
enum { CROWD = 4400 };
static pthread_barrier_t gate;
static void *work(void *x) { { KELVIN_SCOPE("work"); } pthread_barrier_wait(&gate); return x; }
int main(void)
{
    static pthread_t t[CROWD];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&gate, 0, CROWD + 1);
    for (int i = 0; i < CROWD; i++)
        if (pthread_create(&t[i], &small, work, 0)) { puts("no thread"); _exit(9); }
    pthread_barrier_wait(&gate);
    for (int i = 0; i < CROWD; i++)
        pthread_join(t[i], 0);
    return 0;
}
END
    cc -O1 -pthread -I"$INCLUDE" crowd.c -o crowd
    ./crowd || skip "so many threads cannot be made here"
    kelvin record -q --engine none -o r.kelvin -- ./crowd
    exits 0
    [ "$(scopes .spans)" = 4096 ]
    [[ $(scopes .note) == *"304 threads found no ring"* ]] || fail "$(scopes .note)"
}

@test "exec and exit in a scope: the open scopes are not invented, what follows is recorded" {
    cat >again.c <<'END'
#include <kelvin.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    { KELVIN_SCOPE("whole"); }
    KELVIN_SCOPE("cut off");
    if (argc == 1)
        execl("/proc/self/exe", argv[0], "x", (char *)NULL);
    { KELVIN_SCOPE("second"); }
    _exit(3);
}
END
    cc -I"$INCLUDE" again.c -o again
    kelvin record -q -o r.kelvin -- ./again
    exits 3
    [ "$(scopes '[.flat[] | select(.calls > 0) | "\(.scope) \(.calls)"] | sort | join(",")')" = "second 1,whole 2" ]
    [ "$(scopes .note)" = "2 scopes never ended" ]
}

@test "a flame graph has the scopes above the functions" {
    record "$TARGET/scopes" 3000 3
    kelvin flame r.kelvin --scopes -o r.svg
    exits 0
    grep -q '<title>token (' r.svg
    grep -q '<title>matmul (' r.svg
    # Every sample is there, as without scopes.
    local all
    all=$("$KELVIN" fold r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    grep -o '<title>all ([0-9,]*' r.svg | tr -d ',' | grep -qx "<title>all ($all"
}

@test "Chrome trace events: all spans with their attributes, and they come back the same" {
    record "$TARGET/scopes" 100 2
    kelvin convert r.kelvin --to chrometrace -o r.trace.json
    exits 0
    [ "$(jq '[.traceEvents[] | select(.ph == "X")] | length' r.trace.json)" = 500 ]
    [ "$(jq '[.traceEvents[] | select(.args.index? == 1)] | length' r.trace.json)" = 100 ]
    [ "$(jq '[.traceEvents[] | select(.ph == "i")] | length' r.trace.json)" = 1 ]
    [ "$(jq '[.traceEvents[] | select(.name == "tokens")][-1].args.value' r.trace.json)" = 100 ]
    [ "$("$KELVIN" fold r.trace.json 2>/dev/null | sed 's/ [0-9]*$//')" = \
        "$("$KELVIN" fold --event scopes --value self r.kelvin 2>/dev/null | sed 's/ [0-9]*$//')" ]
}

@test "OTLP: spans have unique ids, and parents that are there and around them" {
    record "$TARGET/scopes" 50 2
    kelvin convert r.kelvin --to otlp -o r.otlp.json
    exits 0
    jq -e '[.resourceSpans[].scopeSpans[].spans[]] as $s
        | ($s | map({(.spanId): .}) | add) as $by
        | ($s | length) == 250 and ($by | length) == 250
        and ([$s[] | select(.parentSpanId) | $by[.parentSpanId] as $p
            | $p.traceId == .traceId and $p.startTimeUnixNano <= .startTimeUnixNano] | all)
        and ([$s[] | select(.name == "matmul") | $by[.parentSpanId].name == "layer"] | all)
        and ([$s[] | select(.parentSpanId | not)] | length) == 50
        and ([$s[] | .traceId | test("^[0-9a-f]{32}$")] | all)' r.otlp.json
    kelvin record -q -o none.kelvin -- bash -c 'for ((i = 0; i < 200000; i++)); do :; done'
    kelvin convert none.kelvin --to otlp -o none.json
    exits 5
    [[ $stderr == *"OTLP holds spans, and there are none"* ]]
    [ ! -e none.json ]
}

@test "every figure of the scopes is in their JSON: tables, slowest spans, counters" {
    record "$TARGET/scopes" 300 3
    "$KELVIN" scopes --by index r.kelvin >text
    "$KELVIN" scopes --by index --format json r.kelvin >json
    python3 "$BATS_TEST_DIRNAME/../lib/figures-agree.py" text json 'accurate to 1%' >missing || fail "$(cat missing)"
    # Each is that of the figures beside it, not another that happens to be there.
    jq -e '. as $all | [.slowest[] | .scope as $scope | ($all.flat[] | select(.scope == $scope)) as $sum |
        .duration_ns == $sum.max_ns and (.x_median - $sum.max_ns / $sum.p50.ns | fabs) < 1e-9
        and .at_seconds >= 0 and .at_seconds <= $all.duration_ns / 1e9] | length == 3 and all' json
    jq -e '.slowest[] | select(.scope == "layer") | .attributes | has("index")' json
    jq -e '.duration_ns as $ns | .counters[] | select(.name == "tokens") | (.per_second - .last / $ns * 1e9 | fabs) < 1' json
    # A counter is of the whole program: there is no rate over a part of the spans.
    [ "$(scopes '.counters[] | select(.name == "tokens") | .per_second' --where index=2)" = null ]
    [ "$("$KELVIN" scopes --where index=2 r.kelvin | grep -c 'Per second')" = 0 ] && grep -q '^ *Per second: ' text
}

@test "the language model of the examples: each layer once per token, and CPU samples agree with the spans" {
    cc -O2 -g -Wall -Wextra -Werror -I"$INCLUDE" "$BATS_TEST_DIRNAME/../../examples/tiny_lm.c" -lm -o tiny_lm
    ./tiny_lm --make model.bin
    record ./tiny_lm model.bin 300
    [ "$(scopes '[.groups[] | "\(.value) \(.calls)"] | join(",")' --by layer)" = "0 300,1 300,2 300,3 300,4 300,5 300" ]
    [ "$(scopes '.counters[] | select(.name == "tokens") | .last')" = 300 ]
    local attention forward spans
    attention=$("$KELVIN" fold --scope '^attention$' r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    forward=$("$KELVIN" fold --scope '^feed forward$' r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    # Medians: a span that had to wait for a CPU is longer, its samples are not more.
    spans=$(scopes '(.flat | map({(.scope): .p50.ns}) | add) as $ns | 100 * $ns.attention / ($ns.attention + $ns["feed forward"]) | round')
    [ $((100 * attention / (attention + forward) - spans)) -le 15 ]
    [ $((spans - 100 * attention / (attention + forward))) -le 15 ]
    # A page and a table in Markdown: insights end with one full stop, and one call has no 99th percentile.
    "$KELVIN" scopes r.kelvin -o page.html
    "$KELVIN" scopes r.kelvin -o page.md
    grep -q 'Hot path' page.html && grep -q 'Hot path' page.md
    [ -z "$(grep -E '^- .*\.\.$|\.\.</p>' page.md page.html)" ]
    [ "$(grep -o '>p50 ' page.html | wc -l)" -gt "$(grep -o '>p99 ' page.html | wc -l)" ]
}

@test "the server of the examples: a request is its time in the queue and in service" {
    cc -O2 -g -Wall -Wextra -Werror -pthread -I"$INCLUDE" "$BATS_TEST_DIRNAME/../../examples/tiny_server.c" -o tiny_server
    record ./tiny_server 4 500
    [ "$(scopes '[.flat[] | select(.scope == "request" or .scope == "queue" or .scope == "service") | .calls] | join(",")')" = "500,500,500" ]
    # Both are inside of it, and little else is.
    [ "$(scopes '(.flat | map({(.scope): .total_ns}) | add) as $ns | $ns.queue + $ns.service <= $ns.request and $ns.queue + $ns.service >= 0.5 * $ns.request')" = true ]
    [ "$(scopes .note)" = null ]
}

# 11 blocks per token: 1 of its own, 1 to 4 in each layer. gcc must not see through them.
allocating_program() {
    cat >blocks.c <<'END'
#include <kelvin.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf back;
static void take(size_t n) { char *volatile p = malloc(n); free(p); }
static void layer(int i)
{
    KELVIN_SCOPE("layer", "index", i);
    for (int k = 0; k <= i; k++)
        take(100 * (size_t)(i + 1));
}
static __attribute__((noinline)) void leap(void)
{
    KELVIN_SCOPE("left");
    take(1);
    longjmp(back, 1);
}
static void *work(void *n)
{
    kelvin_thread_name("worker");
    for (int t = 0; t < *(int *)n; t++) {
        KELVIN_SCOPE("token");
        take(10);
        for (int i = 0; i < 4; i++)
            layer(i);
        { KELVIN_SCOPE("quiet"); }
    }
    return NULL;
}
int main(void)
{
    pthread_t threads[3];
    int n = 100;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, &n);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    { KELVIN_SCOPE("around"); if (!setjmp(back)) leap(); }
    return 0;
}
END
    cc -O1 -pthread -I"$INCLUDE" blocks.c -o blocks
}

@test "each allocation knows the scopes it was in, and each span what was allocated in it" {
    allocating_program
    kelvin record --heap -o r.kelvin -- ./blocks
    exits 0
    [ "$(scopes '[.flat[] | "\(.scope) \(.allocations) \(.allocated_bytes)"] | sort | join(",")')" = \
        "around 1 1,layer 3000 900000,quiet 0 0,token 3300 903000" ]
    [ "$(scopes '[.groups[] | "\(.value) \(.allocations)"] | join(",")' --by index)" = "0 300,1 600,2 900,3 1200" ]
    [ "$(scopes '.slowest[] | select(.scope == "token") | .allocations, .mean_allocations')" = $'11\n11' ]
    # The same of the blocks themselves, whose call stacks are known.
    in_scope() { "$KELVIN" fold --event heap --value allocations --scope "$1" r.kelvin 2>&1 | awk '{ n += $NF } END { print n }'; }
    [ "$(in_scope '^layer$')" = 3000 ]
    [ "$(in_scope '^token$')" = 3300 ]
    # A scope that was left by longjmp has no span, but its blocks know it.
    [ "$("$KELVIN" fold --event heap --value allocations --where scope=left r.kelvin | awk '{ print $NF }')" = 1 ]
    [ "$(in_scope '^around$')" = 1 ]
    "$KELVIN" flame --scopes --event heap --value allocations r.kelvin -o heap.svg
    grep -q '>token (3,300 allocations' heap.svg
    # The program has no counters; those of the heap are not its own.
    [ "$(scopes '.counters | length')" = 0 ]
    [[ $("$KELVIN" scopes r.kelvin) != *"Counters and gauges"* ]]
}

@test "check --sizes: how each scope grows, from the times that kelvin scopes has" {
    cat >grows.c <<'END'
#include <kelvin.h>
#include <stdlib.h>
static void work(long n) { for (volatile long i = 0; i < n; i++); }
int main(int argc, char **argv)
{
    long n = atol(argv[argc - 1]);
    { KELVIN_SCOPE("pairs by pairs"); work(n * n * 40); }
    { KELVIN_SCOPE("one by one"); work(n * 40000); }
    return 0;
}
END
    cc -O1 -I"$INCLUDE" grows.c -o grows
    for n in 200 400 800; do
        "$KELVIN" record -q -o "$n.kelvin" -- ./grows $n
    done
    kelvin check --sizes 200,400,800 200.kelvin 400.kelvin 800.kelvin --format json
    exits 0
    for n in 200 400 800; do
        "$KELVIN" scopes --format json "$n.kelvin" | jq '.flat[] | select(.scope == "pairs by pairs") | .total_ns'
    done >want.txt
    jq '.growth.scopes[] | select(.name == "pairs by pairs") | .total.costs[]' <<<"$output" | diff - want.txt
    printf 'growth "pairs by pairs" >= 0.1\ngrowth self "one by one" >= -9\n' >grow.rules
    kelvin check --sizes 200,400,800 200.kelvin 400.kelvin 800.kelvin grow.rules
    [[ $output == *"Scopes by total time"* ]] || fail "$output"
    [[ $stderr != *"no function"* ]] || fail "$stderr"
    echo 'growth "three by three" <= 1' >none.rules
    kelvin check --sizes 200,400,800 200.kelvin 400.kelvin 800.kelvin none.rules
    exits 1
}

@test "memory that the scopes need themselves is not the program's" {
    allocating_program
    kelvin record --heap=mmap -o r.kelvin -- ./blocks
    exits 0
    "$KELVIN" fold --event heap --value allocated r.kelvin >stacks.txt
    [ -s stacks.txt ]
    [ -z "$(grep scopes_thread stacks.txt)" ] || fail "$(grep scopes_thread stacks.txt)"
}

@test "rules say what may be allocated in a scope" {
    allocating_program
    kelvin record --heap -o r.kelvin -- ./blocks
    printf '%s\n' 'allocs quiet == 0' 'allocs layer == 3000' 'allocated token == 903000 B' >good.rules
    kelvin check r.kelvin good.rules
    exits 0
    echo 'allocs layer == 0' >bad.rules
    kelvin check r.kelvin bad.rules
    exits 3
    # Samples cannot show that there was none.
    kelvin record --heap=sampled:512 -o r.kelvin -- ./blocks
    echo 'allocs quiet == 0' >quiet.rules
    kelvin check r.kelvin quiet.rules
    [[ $output == *"inconclusive"* ]] || fail "$output"
}

@test "without the heap nothing is said about allocations" {
    allocating_program
    record ./blocks
    [ "$(scopes '.flat[0] | has("allocations")')" = false ]
    [[ $("$KELVIN" scopes r.kelvin) != *alloc* ]]
    kelvin check r.kelvin <(echo 'allocs quiet == 0')
    exits 1
}

@test "CPU samples are counted by scope, the same when the spans are not kept" {
    record "$TARGET/scopes" 4000 4
    "$KELVIN" scopes r.kelvin | sed -n '/^CPU time by scope/,/^$/p' >parts.txt
    "$KELVIN" scopes r.kelvin --thread . | sed -n '/^CPU time by scope/,/^$/p' >whole.txt
    diff parts.txt whole.txt
    grep -q matmul parts.txt
    # As many as report has.
    local n
    n=$("$KELVIN" fold --value samples --scope '^layer$' r.kelvin 2>/dev/null | awk '{ n += $NF } END { print n }')
    [ "$(scopes '.cpu[] | select(.scope == "layer") | .samples')" = "$n" ]
}
