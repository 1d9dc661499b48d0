# Commands measured and compared: verdicts, gates, parameters, and commands that do not behave.
#
# Nothing here depends on how fast the machine is: differences are tenfold, or told by a script
# that answers as a benchmark program does (lib/bench/protocol.h), with numbers of its own.
#
# shellcheck disable=SC2016,SC2153,SC2154  # commands are to get $ as it is; run sets stderr
load ../lib/helpers

has() { [[ $output == *"$1"* ]] || fail "no '$1' in: $output"; }
has_not() { [[ $output != *"$1"* ]] || fail "'$1' in: $output"; }
says() { [[ $stderr == *"$1"* ]] || fail "no '$1' in: $stderr"; }

bench() { kelvin bench -q "$@"; }

# ./NAME answers with the lines on standard input, in which $1.. are its arguments.
program() { # NAME
    {
        echo '#!/bin/sh'
        printf '%s\n' 'say() { echo "$1" >&$KELVIN_BENCH_FD; }'
        echo 'say "{\"kelvin_bench\":1,\"program\":\"$0\"}"'
        cat
    } >"$1"
    chmod +x "$1"
}

# The process has ended, or does so soon; one that nobody has waited for yet counts as ended.
is_gone() { # PID
    local tries=0
    while grep -q '^State:.[^Z]' "/proc/$1/status" 2>/dev/null; do
        [ $((tries++)) -lt 100 ] || fail "process $1 is still there" || return
        sleep 0.1
    done
}

# The value at a path of the JSON in $output.
json() { # PATH, as Python would write it after the document
    python3 -c 'import json,sys; print(eval("json.load(sys.stdin)" + sys.argv[1]))' "$1" <<<"$output"
}

@test "one command is measured: time, CPU, memory, faults, switches" {
    bench --runs 8 --warmup 2 'sh -c "echo x >>ran; sleep 0.01"' --format json
    exits 0
    [ "$(wc -l <ran)" -eq 10 ] || fail "$(wc -l <ran) runs"
    [ "$(json '["benchmarks"][0]["measures"]["time"]["n"]')" -eq 8 ]
    [ "$(json '["benchmarks"][0]["measures"]["time"]["min"] >= 10e6')" = True ]
    [ "$(json '["benchmarks"][0]["measures"]["cpu"]["max"] > 0')" = True ]
    [ "$(json '["benchmarks"][0]["measures"]["peak_rss"]["median"] > 2**17')" = True ]
    [ "$(json '["benchmarks"][0]["measures"]["minor_faults"]["median"] > 0')" = True ]
    [ "$(json '["benchmarks"][0]["measures"]["switches_voluntary"]["median"] > 0')" = True ]
}

@test "user and system are not shown of runs too short for the kernel to tell" {
    kelvin bench --runs 3 true
    exits 0
    [[ $output == *"ms of CPU time do not show how it divides into user"* ]] || fail "$output"
    grep -Eq '^  benchmark +CPU +peak memory ' <<<"$output" || fail "$output"
}

@test "peak memory is the command's own, not that of who started it" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "a checked program is large itself"
    bench --runs 3 true --format json
    exits 0
    [ "$(json '["benchmarks"][0]["measures"]["peak_rss"]["max"] < 2**21')" = True ] || fail "$output"
}

@test "runs end when the median is precise, or the time is up" {
    bench --precision 90 --time 60 'sleep 0.001' --format json
    exits 0
    local n
    n=$(json '["benchmarks"][0]["measures"]["time"]["n"]')
    [ "$n" -ge 10 ] && [ "$n" -lt 200 ] || fail "$n runs"
    bench --precision 0.001 --time 0.1 --min-runs 3 'sleep 0.02' --format json
    n=$(json '["benchmarks"][0]["measures"]["time"]["n"]')
    [ "$n" -ge 3 ] && [ "$n" -le 10 ] || fail "$n runs"
}

@test "of two commands the slower one is named, and a gate stops the build" {
    bench --max-regression 50% 'sleep 0.005' 'sleep 0.05'
    exits 3
    has slower
    has " interleaved blocks of 2 runs in random order"
    has "overall false-alarm risk 0.5%"
    says "'sleep 0.05' is"
    says "more than the 50% that --max-regression allows"
    bench --max-regression 50% 'sleep 0.05' 'sleep 0.005'
    exits 0
    has faster
}

@test "a gate that could not be decided is neither kept nor broken" {
    bench --runs 3 --max-regression 10% true true
    exits 4
    says "not decided whether 'true #2' is more than 10% slower than 'true'"
    bench --runs 3 true true
    exits 0
    has inconclusive
}

@test "without a shell nothing is expanded, with one it is" {
    bench --runs 1 --warmup 0 --output-of out 'echo $HOME "two  words" *'
    exits 0
    [ "$(cat out)" = '$HOME two  words *' ] || fail "$(cat out)"
    HOME=/there bench --runs 1 --warmup 0 --shell --output-of out 'echo $HOME | tr a-z A-Z'
    exits 0
    [ "$(cat out)" = /THERE ] || fail "$(cat out)"
}

@test "setup and cleanup run once, prepare before each run" {
    bench --runs 3 --warmup 1 --setup 'sh -c "echo s >>log"' --prepare 'sh -c "echo p >>log"' \
        --cleanup 'sh -c "echo c >>log"' 'sh -c "echo r >>log"'
    exits 0
    [ "$(tr -d '\n' <log)" = sprprprprc ] || fail "$(tr -d '\n' <log)"
    bench --prepare false true
    exits 1
    says "the prepare command 'false' ended with exit code 1"
}

@test "environment, folder and input are as asked" {
    mkdir sub
    echo hallo >in
    bench --runs 1 --warmup 0 --env COLOUR=blue --cwd sub --input in --output-of out \
        'sh -c "echo $COLOUR; pwd; cat"'
    exits 0
    [ "$(cat out)" = "blue
$PWD/sub
hallo" ] || fail "$(cat out)"
}

@test "a command that fails stops it, and what it said is shown" {
    bench 'sh -c "echo disk on fire >&2; exit 7"'
    exits 1
    says "disk on fire"
    says "ended with exit code 7; --ignore-failure goes on regardless"
    bench --ignore-failure --runs 4 'sh -c "exit 7"'
    exits 0
    says "4 runs ended with an exit code other than 0"
    bench false
    says "--show-output shows what it prints"
}

@test "a command that fails now and then is told apart from one that always does" {
    cat >flaky <<'END'
#!/bin/sh
echo x >>count
[ "$(wc -l <count)" -ne 5 ] || { echo lost the lock >&2; exit 3; }
END
    chmod +x flaky
    bench --warmup 0 --runs 9 ./flaky
    exits 1
    says "lost the lock"
    says "exit code 3 in run 5, after 4 that went well"
}

@test "what cannot be run is named, with a hint" {
    bench no-such-command-here
    exits 1
    complains "no-such-command-here: not found in PATH"
    touch tool
    bench tool
    complains "did you mean './tool'?"
    bench ./tool
    complains "'chmod +x' it"
    bench ./nowhere
    complains "./nowhere: not found"
    mkdir bin
    printf '#!/bin/sh\n' >bin/frobnicate
    chmod +x bin/frobnicate
    PATH=$PWD/bin:$PATH bench frobnicat
    complains "did you mean 'frobnicate'?"
}

@test "a run that never ends is ended, with all that it started" {
    bench --timeout 0.3 --warmup 0 'sh -c "sleep 987 & echo $! >pid; wait"'
    exits 1
    says "did not end within the time limit; --timeout sets the limit"
    is_gone "$(cat pid)"
}

@test "output cannot fill the disk" {
    bench --runs 1 --warmup 0 --output-of out 'head -c 70000000 /dev/zero'
    exits 0
    [ "$(stat -c %s out)" -eq 67108864 ] || fail "$(stat -c %s out) bytes"
    says "was thrown away"
}

@test "Ctrl-C tells what there is, and leaves nothing running" {
    # Four runs of no time, and a fifth that would go on for long.
    cat >app <<'END'
#!/bin/sh
echo $$ >pid
echo >>runs
[ "$(wc -l <runs)" -lt 5 ] || exec sleep 987
END
    chmod +x app
    # Jobs of a script have SIGINT ignored, kelvin must not mind.
    env --default-signal=INT "$KELVIN" bench -q --width 200 --warmup 0 --runs 100000 ./app >out 2>err &
    local started=$! tries=0
    until grep -qs sleep "/proc/$(cat pid 2>/dev/null)/comm"; do
        [ $((tries++)) -lt 300 ] || fail "the fifth run never came" || return
        sleep 0.1
    done
    kill -INT "$started"
    is_gone "$started" || { kill -KILL "$started" "$(cat pid)" && return 1; }
    local code=0
    wait "$started" || code=$?
    [ "$code" -eq 130 ] || fail "exit code $code" "$(cat err)"
    grep -q '\./app' out || fail "$(cat out)"
    is_gone "$(cat pid)" || { kill -KILL "$(cat pid)" && return 1; }
}

@test "a command finds signals as it would without kelvin" {
    local ask='grep -E ^Sig(Blk|Ign) /proc/self/status'
    (trap '' USR2 PIPE; grep -E '^Sig(Blk|Ign)' /proc/self/status >before
     "$KELVIN" bench -q --runs 1 --warmup 0 --output-of after "$ask" >out 2>err)
    cmp before after || fail "$(cat before after err)"
    (grep -E '^Sig(Blk|Ign)' /proc/self/status >before
     "$KELVIN" bench -q --runs 1 --warmup 0 --output-of after "$ask" >out 2>err)
    cmp before after || fail "$(cat before after err)"
}

@test "blocks have one padding each, orders follow from the seed" {
    local script='sh -c "echo NAME ${#KELVIN_BENCH_PADDING} >>log"'
    bench --runs 6 --warmup 0 --seed 7 "${script/NAME/a}" "${script/NAME/b}"
    exits 0
    mv log first
    bench --runs 6 --warmup 0 --seed 7 "${script/NAME/a}" "${script/NAME/b}"
    cmp log first || fail "$(paste log first)"
    [ "$(cut -d' ' -f2 log | uniq | wc -l)" -eq 6 ] || fail "$(cat log)"
    [ "$(cut -d' ' -f1 log | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')" = "6 6 " ]
}

@test "a benchmark program gives a value for each of its benchmarks" {
    program mybench <<'END'
say '{"name":"sum/n=10","ns":100,"bytes":400,"param":"n","size":10}'
say '{"name":"copy","ns":7.5}'
say '{"end":true,"exit":0}'
END
    bench --runs 6 ./mybench --format json
    exits 0
    [ "$(json '["benchmarks"][0]["name"]')" = "sum/n=10" ]
    [ "$(json '["benchmarks"][0]["measures"]["time"]["median"]')" = 100 ]
    [ "$(json '["benchmarks"][1]["name"]')" = copy ]
    [ "$(json '["benchmarks"][1]["measures"]["time"]["n"]')" = 6 ]
}

@test "programs are compared benchmark by benchmark, each with its own gate" {
    program old <<'END'
say '{"name":"sum","ns":100}'
say '{"name":"copy","ns":50}'
END
    program new <<'END'
say '{"name":"sum","ns":108}'
say '{"name":"copy","ns":50.1}'
END
    bench --max-regression 10% ./old ./new --format json
    exits 0
    [ "$(json '["comparisons"][0]["verdict"]')" = slower ]
    [ "$(json '["comparisons"][1]["verdict"]')" = same ]
    bench --max-regression 10% --max-regression sum=5% ./old ./new
    exits 3
    says "'./new: sum' is 8.0% slower than './old: sum'"
    [[ $stderr != *copy* ]] || fail "$stderr"
}

@test "a proof that fails inside a program fails the run, in its own words" {
    program proof <<'END'
say '{"equal":"histogram","ok":false,"message":"differs at byte 3"}'
exit 3
END
    bench ./proof
    exits 3
    complains "equivalence 'histogram' does not hold: differs at byte 3"
}

@test "a sweep tells how cost grows" {
    program grows <<'END'
say "{\"name\":\"x\",\"ns\":$(($1 * $1))}"
END
    bench --runs 3 --list n=100,200,400,800 './grows {n}'
    exits 0
    has "./grows {n}: x: cost grows as n^2.00"
    program inner <<'END'
for n in 1000 2000 4000; do say "{\"name\":\"f/n=$n\",\"ns\":$n,\"param\":\"n\",\"size\":$n}"; done
END
    bench --runs 3 ./inner
    has "f: cost grows as n^1.00"
    has "n^1.00 ±0.00"
    # what starts up and does next to nothing: no curve is named
    program flat <<'END'
case $1 in 100) n=1000 ;; 200) n=1100 ;; *) n=1020 ;; esac
say "{\"name\":\"x\",\"ns\":$n}"
END
    bench --runs 3 --list n=100,200,400 './flat {n}'
    has "./flat {n}: x: no growth is shown over these sizes: n^0.01 ±"
    has " includes a constant cost."
    [[ $output != *"best fit"* ]] || fail "$output"
    # medians on a line, and runs that scatter by a third: the exponent is not that sure
    program scattered <<'END'
echo >>count-$1
say "{\"name\":\"x\",\"ns\":$(($1 * (70 + 30 * ($(wc -l <count-$1) % 3))))}"
END
    bench --warmup 0 --runs 9 --list n=100,200,400 './scattered {n}'
    [[ $output =~ "n^1.00 ±"(0\.[1-9]) ]] || fail "$output"
}

@test "parameters that are no numbers are compared, all combinations run" {
    program app <<'END'
[ "$1" = fast ] && t=10 || t=20
say "{\"name\":\"x\",\"ns\":$((t * $2))}"
END
    bench --list how=fast,slow --list n=1,2,4 './app {how} {n}' --format json
    exits 0
    [ "$(json '["benchmarks"].__len__()')" -eq 6 ]
    [ "$(json '["comparisons"].__len__()')" -eq 3 ]
    [ "$(json '["comparisons"][2]["verdict"]')" = slower ]
    [ "$(json '["comparisons"][2]["before"]')" = "./app fast 4: x" ]
    [ "$(json '["growth"].__len__()')" -eq 2 ]
}

@test "parameters and names that make no sense are refused" {
    bench --list n= 'echo {n}'
    exits 1
    complains "parameter 'n': no values"
    bench --list n=1,,2 'echo {n}'
    complains "a value is empty"
    bench --range n=3..1 'echo {n}'
    complains "no values from 3 to 1"
    bench --list n=1,2 'echo'
    complains "parameter 'n' is in no command"
    bench --name a --name a true false
    complains "two commands are named 'a'"
    bench --max-regression lots true true
    complains "takes a percentage"
    bench --max-regression 5% true
    complains "nothing to compare with"
    bench --runs 1 --max-regression nobody=5% true true
    exits 1
    says "no benchmark is named 'nobody'"
    bench "echo 'x"
    complains "a quote has no end"
    bench
    complains "no command"
}

@test "a command too short to be told is called that" {
    bench --runs 10 true
    exits 0
    says "too short to measure"
    program nothing <<'END'
say '{"name":"nop","ns":0}'
END
    bench --runs 3 ./nothing
    says "'nop' takes no longer than an empty loop"
    program nearly <<'END'
say '{"name":"add","ns":0.2,"low":0,"high":0.6}'
say '{"name":"work","ns":80,"low":79,"high":81}'
END
    bench --runs 3 ./nearly
    says "'add' takes no longer than an empty loop: the compiler may have removed its work"
    [[ $stderr != *"'work'"* ]] || fail "$stderr"
}

@test "of a benchmark program CPU time is measured beside wall time, and may decide" {
    # Wall times that scatter as on a busy machine; of CPU time b takes a tenth more.
    program noisy <<'END'
n=$(($(cat count."$1" 2>/dev/null || echo 0) + 1))
echo $n >count."$1"
[ $(((n + $3) % 2)) -eq 0 ] && ns=100 || ns=500
say "{\"name\":\"x\",\"ns\":$ns,\"cpu_ns\":$2.$((n % 10))}"
END
    bench --runs 30 --name a --name b './noisy a 100 0' './noisy b 110 1'
    exits 0
    has inconclusive
    says "by CPU time, which does not see waiting, 'b: x' is slower: +"
    bench --runs 30 --measure cpu --max-regression 5% --name a --name b './noisy c 100 0' './noisy d 110 1'
    exits 3
    says "'b: x' uses "
}

@test "runs that fall into two groups are called that" {
    program modes <<'END'
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
[ $((n % 3)) -eq 0 ] && ns=190 || ns=120
say "{\"name\":\"two\",\"ns\":$ns.$((n % 7))}"
say "{\"name\":\"one\",\"ns\":120.$((n % 7))}"
END
    bench --runs 30 ./modes
    exits 0
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"Careful: the runs of two fall into two groups, 67% at about 120."*" ns and 33% at about 190."* ]] || fail "$output"
    has_not "runs of one"
    bench --runs 12 ./modes
    has_not "two groups"
}

@test "slower with the same number of instructions is called that" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the same in the plain build"
    command -v valgrind >/dev/null || "$KELVIN" bench -q --count instructions --runs 1 true || skip "nothing counts instructions here"
    cat >walk.c <<'END'
#include <stdlib.h>
enum { N = 1 << 18 }; /* a ring of all elements, one after another or all over the place */
int main(int argc, char **argv)
{
    unsigned *next = malloc(N * sizeof *next), at = 0, steps = N * (argc > 2 ? atoi(argv[2]) : 1);
    unsigned long step = strtoul(argv[1], NULL, 10);
    for (unsigned i = 0; i < N; i++)
        next[i] = (unsigned)((i * 4096ul * step + i + 1) % N);
    for (unsigned i = 0; i < steps; i++)
        at = next[at];
    return at == N;
}
END
    gcc -O1 walk.c -o walk
    bench --name near --name far './walk 0 3' './walk 9 3'
    exits 0
    has "slower"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"'far' is "*"slower than 'near'"*"; with the same number of instructions."* ]] || fail "$output"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"where code and data lie in memory, or waiting, may be the cause, not more work"* ]] || fail "$output"
    bench --name less --name more './walk 0 3' './walk 0 30'
    has "slower"
    has_not "same number of instructions"
}

@test "the same source shifted by 32 bytes is slower with the same number of instructions, beside a baseline too" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the same in the plain build"
    command -v valgrind >/dev/null || "$KELVIN" bench -q --count instructions --runs 1 true || skip "nothing counts instructions here"
    # What is added to lies in one page, or on the border of two.
    cat >sum.c <<'END'
static unsigned char pages[8192] __attribute__((aligned(4096)));
int main(void)
{
    volatile unsigned long *at = (volatile unsigned long *)(pages + 4096 - 36 + SHIFT);
    for (int i = 0; i < 2000000; i++)
        *at = *at + 1;
    return *at == 0;
}
END
    touch kelvin.conf
    gcc -O1 -DSHIFT=0 sum.c -o sum
    cp sum plain
    bench --runs 12 --measure cpu --name it --save main ./sum
    gcc -O1 -DSHIFT=32 sum.c -o sum
    bench --runs 16 --measure cpu --name plain --name shifted ./plain ./sum
    exits 0
    has "slower"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"'shifted' uses "*"more CPU time than 'plain'"*"; with the same number of instructions"* ]] || fail "$output"
    [[ $(tr -s '\n ' ' ' <<<"$output") == *"where code and data lie in memory, or waiting, may be the cause, not more work"* ]] || fail "$output"
    bench --runs 16 --measure cpu --name it --against main --max-regression 30% ./sum
    exits 3
    says "in turns"
    says "with the same number of instructions"
}

@test "a busy machine is said" {
    unshare -rm true 2>/dev/null || skip "needs a mount namespace"
    echo "9999.50 1 1 1/1 1" >busy
    echo "0.00 0 0 1/1 1" >idle
    local load
    for load in busy idle; do
        run --separate-stderr unshare -rm sh -c 'mount --bind "$1" /proc/loadavg && exec "$2" bench -q --runs 3 "sleep 0.001"' \
            - "$load" "$KELVIN"
        exits 0
        [ "$load" = idle ] || has "Careful: load was 9999.5 on "
        [ "$load" = busy ] || has_not "load was"
    done
    run --separate-stderr unshare -rm sh -c 'mount --bind busy /proc/loadavg && exec "$1" bench -q --runs 3 -o page.html true' - "$KELVIN"
    exits 0
    says "note: load was 9999.5 on "
    grep -q "load was 9999.5" page.html || fail "the page does not say it"
}

@test "where waiting hides a difference, CPU time may tell it" {
    # Sleeps for one time and another in turns, after some work: nap NAME SECONDS SECONDS LOOPS
    cat >nap <<'END'
#!/bin/sh
echo >>"$1"
[ $(($(wc -l <"$1") % 2)) -eq 0 ] && t=$2 || t=$3
i=0
while [ $i -lt "$4" ]; do i=$((i + 1)); done
exec sleep "$t"
END
    chmod +x nap
    bench --runs 20 --name a --name b './nap a 0.005 0.06 0' './nap b 0.06 0.005 2000'
    exits 0
    has inconclusive
    says "by CPU time, which does not see waiting, 'b' is slower"
    bench --runs 20 --measure cpu './nap a 0.005 0.06 0' './nap b 0.06 0.005 2000'
    has slower
}

@test "the rate of false alarms of this machine is told on request" {
    bench --aa --runs 24 true --width 300
    exits 0
    has "the first command against itself"
    has " in 2 tries; "
    has_not "(A/A)"
}

@test "instructions repeat within 0.01%" {
    command -v valgrind >/dev/null || skip "no valgrind here"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "the same in the plain build"
    local first
    bench --count instructions --warmup 0 /bin/true --format json
    exits 0
    first=$(json '["benchmarks"][0]["measures"]["instructions"]["median"]')
    bench --count instructions --warmup 0 /bin/true --format json
    [ "$(json "['benchmarks'][0]['measures']['instructions']['median'] / $first")" = 1.0 ] ||
        [ "$(json "['benchmarks'][0]['measures']['instructions']['max'] / $first < 1.0001")" = True ] ||
        fail "$first, then $output"
    [ "$(json '["benchmarks"][0]["measures"].keys()')" = "dict_keys(['instructions'])" ]
}

@test "every format can be had" {
    local format
    for format in text md csv json html; do
        bench --runs 6 --arguments -o "out.$format" --format "$format" 'sleep 0.001' 'sleep 0.002'
        exits 0
        [ -s "out.$format" ] || fail "no $format"
        grep -q 'sleep 0.002' "out.$format" || fail "no command in $format"
    done
}

@test "Ctrl-C before the first run is over is told" {
    # Once the command runs, however long that takes here: before, kelvin may not have got round to signals.
    env --default-signal=INT "$KELVIN" bench 'sh -c "echo $$ >pid; exec sleep 1000"' >out 2>err &
    local started=$! tries=0
    until [ -s pid ] || [ $((tries++)) -gt 6000 ]; do sleep 0.05; done
    kill -INT "$started"
    status=0
    wait "$started" || status=$?
    output=$(cat out) stderr=$(cat err)
    exits 130
    complains "interrupted before anything was measured"
}

@test "slow runs that come more often are reported, though the median is the same" {
    # Both do the same but for the length of some sleeps: on a busy machine all else costs time as well.
    local name
    for name in steady moody; do
        cat >$name <<'SH'
#!/bin/sh
read -r n <$0.count
echo $((n + 1)) >$0.count
[ $((n % 3)) -ne 0 ] || exec sleep $(cat $0.slow)
exec sleep 0.04
SH
        echo 0 >$name.count
    done
    chmod +x steady moody
    echo 0.04 >steady.slow
    echo 0.4 >moody.slow
    kelvin bench -q --runs 60 ./steady ./moody
    exits 0
    [[ ${output//$'\n'/ } =~ slow\ +runs\ +come\ +more\ +often ]] || fail "$output"
    ! grep -q 'moody vs .*same' <<<"$output" || fail "called the same: $output"
}

@test "allocations are counted to the last block, in all processes of a command" {
    cat >blocks.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < atoi(argv[1]); i++) {
        char *volatile p = malloc(10 + (size_t)i);
        p = realloc(p, 5000);
        free(p);
    }
    if (argc > 2 && fork() == 0) {
        for (int i = 0; i < 7; i++)
            if (!calloc(1, 10))
                return 1;
        _exit(0); /* nobody tidies up */
    }
    wait(NULL);
    return 0;
}
END
    cc -O1 -fno-builtin -o blocks blocks.c
    # Of libc's own there are as many in both.
    bench --count allocations --runs 2 "./blocks 0" "./blocks 100" "./blocks 100 fork" --format json
    [ "$status" = 0 ]
    local none some more
    none=$(jq '.benchmarks[0].measures.allocations.runs[0]' <<<"$output")
    some=$(jq '.benchmarks[1].measures.allocations.runs[1]' <<<"$output")
    more=$(jq '.benchmarks[2].measures.allocations.runs[0]' <<<"$output")
    [ $((some - none)) = 200 ] || fail "$none $some"
    [ $((more - some)) = 7 ] || fail "$some $more"
    jq -e '.benchmarks[1].measures | has("time") | not' <<<"$output"
}

@test "the last sentence says how many allocations a run takes" {
    echo 'int main(void) { return 0; }' >z.c
    cc -o z z.c
    bench --count allocations --runs 2 --warmup 0 ./z
    [[ $output == *"'./z' takes 0 allocations, the median of 2 runs."* ]] || fail "$output"
}

@test "more allocations are more, not slower, and their range has no probability" {
    printf '#include <stdlib.h>\nint main(int n, char **v) { for (; n > 0; n--) free(malloc((size_t)n)); return !v; }\n' >some.c
    cc -fno-builtin -o some some.c
    bench --count allocations --runs 2 --warmup 0 ./some './some 2 3'
    grep -Eq ' more +-$' <<<"$output" || fail "$output"
    [[ $output != *slower* && $output != *100%* ]] || fail "$output"
    has "from the smallest to the largest change between two"
}

@test "where allocations cannot be counted, bench says so" {
    echo 'int main(void) { return 0; }' >s.c
    cc -static -o s s.c || skip "no static libc here"
    bench --count allocations --runs 1 ./s
    [ "$status" = 1 ] || fail "$status"
    [[ $stderr == *"no count of allocations"*static* ]] || fail "$stderr"
}

@test "several things are counted at once, simulated where there is no counter, and the first decides" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    bench --count branch-misses,instructions --runs 2 --warmup 0 /bin/true --format json
    [ "$status" = 0 ] || fail "$stderr"
    [[ $output == *'"branch-misses"'*'"instructions"'* ]] || [[ $output == *'"instructions"'*'"branch-misses"'* ]] || fail "$output"
    bench --count branch-misses,instructions --runs 2 --warmup 0 /bin/true
    [[ $output == *"Counts, medians"* ]] || fail "$output"
    [[ $output == *"valgrind simulates"* ]] || [[ $output == *"CPU's counters"* ]] || fail "$output"
    bench --count time /bin/true
    [ "$status" = 1 ]
    [[ $stderr == *"'time' cannot be counted: there are instructions"* ]]
    bench --count allocations,cycles /bin/true
    [ "$status" = 1 ]
}

@test "a run that takes longer than --time says why" {
    kelvin bench --time 0.1 'sleep 0.05' 'sleep 0.06'
    exits 0
    [[ $(tr -s ' \n' ' ' <<<"$output") == *" s, because at least 14 runs of each are needed"* ]] || fail "$output"
    kelvin bench --time 20 --max-runs 14 true true
    [[ $output != *"runs of each are needed"* ]] || fail "$output"
}
