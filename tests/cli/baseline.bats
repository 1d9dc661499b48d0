#!/usr/bin/env bats
# Baselines: kept, compared with, refused, carried elsewhere; and a store that nothing damages.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset KELVIN_STORE
    touch kelvin.conf # the store belongs beside it
}

STORE=.kelvin/history.db

# An export with benchmarks NAME=MEDIAN of 24 runs each, spread by 1 %, as FILE.
export_of() { # FILE BASELINE NAME=MEDIAN...
    local file=$1
    shift
    python3 - "$@" >"$file" <<'PYTHON'
import json, sys
series = []
for word in sys.argv[2:]:
    name, median = word.rsplit("=", 1)
    time = [float(median) * (0.995 + 0.01 * (i * 7 % 24) / 23) for i in range(24)]
    series.append({"name": name, "blocks": list(range(24)), "measures": {"time": time}})
print(json.dumps({"kelvin": "bench", "version": 1, "name": sys.argv[1],
                  "meta": {"host": "2c-8g-01234567", "governor": "performance"}, "series": series}))
PYTHON
}

import_of() { # BASELINE NAME=MEDIAN...
    export_of in.json "$@"
    "$KELVIN" bench -q --import in.json
}

# What `kelvin bench --export` wrote, changed by a line of python that sees it as `d`.
change() { # FILE PYTHON
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(d, open(sys.argv[1], "w"))' "$1" "$2"
}

# A baseline "main" of this host, and its export main.json.
measure_main() { # [COMMAND]
    "$KELVIN" bench -q --runs 12 --name it --save main "${1:-true}" >/dev/null
    "$KELVIN" bench --export main main.json
}

@test "an import says which baseline it made" {
    export_of in.json there it=5
    run --separate-stderr "$KELVIN" bench --import in.json
    exits 0
    [ "$stderr" = "kelvin: imported baseline 'there': 1 benchmark" ] || fail "$stderr"
}

@test "a baseline is saved beside the project, listed and deleted, and leaves no other files" {
    mkdir -p deep/er
    cd deep/er || return
    kelvin bench -q --runs 3 --name it --save main true
    exits 0
    cd ../.. || return
    [ "$(ls -A .kelvin)" = history.db ]
    kelvin bench --baselines
    exits 0
    [[ $output =~ main\ +[0-9-]+\ [0-9:]+\ .*\ 1\ +3 ]]
    kelvin bench --delete main
    exits 0
    kelvin bench --baselines
    [[ $output != *main* ]]
}

@test "a regression against a baseline exits 3 and names the benchmark" {
    measure_main
    # CPU time that no busy machine can make look slower now: twice what was measured.
    change main.json 'for s in d["series"]: m = s["measures"]; m["time"] = [v / 20 for v in m["time"]]; m["cpu"] = [v * 2 for v in m["cpu"]]'
    "$KELVIN" bench -q --import main.json --save hour
    kelvin bench -q --runs 12 --name it --against hour --max-regression 10% true
    exits 4
    [[ $stderr == *"not decided whether 'it' is more than 10% slower"*"CPU time does not match"* ]] || fail "$stderr"
    change main.json 'for s in d["series"]: s["measures"]["cpu"] = [v / 40 for v in s["measures"]["cpu"]]'
    "$KELVIN" bench -q --import main.json --save fast
    kelvin bench -q --runs 12 --name it --against fast --max-regression 10% true
    exits 3
    [[ $stderr == *"'it' is "*"slower than in the baseline"* ]]
    [[ $output == *"10% failed"* ]]
    kelvin bench -q --runs 12 --name it --against fast --max-regression 10% --max-regression it=90000% true
    exits 0
    [[ $output == *"90000% passed"* ]]
    kelvin bench -q --runs 12 --name it --against fast --save fast --max-regression 10% true
    exits 3
    [[ $stderr == *"'fast' was not saved: its gate failed"* ]]
}

# ./app, which does so much work; what it reads changes nothing.
build_app() { # WORK
    cat >app.c <<'END'
#include <stdlib.h>
int main(void)
{
    volatile unsigned long x = 0;
    for (unsigned long i = 0; i < WORK * 1000ul; i++)
        x += i;
    return 0;
}
END
    gcc -O1 -DWORK="$1" app.c -o app
}

@test "a baseline keeps the program, and both take turns whenever that is still there" {
    build_app 3000
    echo one >input
    kelvin bench -q --runs 12 --measure cpu --save main './app input'
    exits 0
    [ -x .kelvin/programs/main/program/app ]
    # In this program nothing changed, whatever else runs now: the same within a gate.
    kelvin bench -q --runs 20 --measure cpu --against main --max-regression 100% './app input' --format json
    exits 0
    [[ $stderr == *"note: ran in turns with the program that 'main' has kept"* ]] || fail "$stderr"
    [[ $output == *'"design":"side by side"'* ]] || fail "$output"
    build_app 12000
    kelvin bench -q --runs 20 --measure cpu --against main --max-regression 100% --name it './app input'
    exits 3
    [[ $stderr == *"'it' uses "*" more CPU time than in the baseline"*"more than the 100%"* ]] || fail "$stderr"
    # Elsewhere in the project it is the same program.
    mkdir out
    mv app out
    kelvin bench -q --runs 20 --measure cpu --against main --max-regression 100% './out/app input'
    exits 3
    [[ $stderr == *"in turns"* ]] || fail "$stderr"
    kelvin bench -q --runs 12 --measure cpu --against main './out/app other'
    [[ $stderr == *"not side by side: the baseline ran with other arguments"* ]] || fail "$stderr"
    kelvin bench --delete main
    [ ! -e .kelvin/programs/main ]
    gcc -static -DWORK=10 app.c -o app 2>/dev/null || return 0 # no static C library here
    kelvin bench -q --runs 3 --save static ./app
    [ -x .kelvin/programs/static/program/app ]
}

# Three programs keep the CPU busy that ./app is bound to, for a minute at most; $others are their numbers.
start_others() { # CPU
    local i
    others=()
    for i in 1 2 3; do
        taskset -c "$1" timeout 60 sh -c 'while :; do :; done' &
        others+=($!)
    done
}

@test "programs that were started since the baseline break no gate, kept program or not" {
    command -v taskset >/dev/null || skip "no taskset"
    local cpu
    cpu=$(taskset -pc $$ | grep -o '[0-9]*$')
    build_app 20000
    # The words that bind it are the command here: no program is kept.
    kelvin bench -q --runs 24 --name it --save bound "taskset -c $cpu ./app"
    exits 0
    taskset -c "$cpu" "$KELVIN" bench -q --runs 24 --name it --save kept ./app >/dev/null
    [ -x .kelvin/programs/kept/program/app ]
    start_others "$cpu"
    sleep 0.2
    kelvin bench -q --runs 24 --name it --against bound --max-regression 60% --format json "taskset -c $cpu ./app"
    local code=$status text=$output said=$stderr
    run --separate-stderr taskset -c "$cpu" "$KELVIN" bench -q --runs 24 --name it --against kept --max-regression 150% --format json ./app
    kill "${others[@]}"
    wait "${others[@]}" 2>/dev/null || true
    # Beside each other both wait alike. Apart, wall time is that of another hour, and CPU time says so.
    [[ $stderr == *"in turns"* && $status != 3 ]] || fail "$status: $stderr"
    [ "$(jq '.comparisons[0].after / .comparisons[0].before > 1.6' <<<"$text")" = true ] || skip "the CPU was as busy before: $text"
    [ "$code" = 4 ] || fail "exit code $code: $said"
    [[ $said == *"not decided whether 'it' is more than 60% slower than in 'bound'"* || $said == *"not decided"* ]] || fail "$said"
}

@test "a program that others may not read is kept that way, and without its owner's rights" {
    build_app 10
    chmod 4700 app
    kelvin bench -q --runs 3 --save main ./app
    exits 0
    [ "$(stat -c %a .kelvin/programs/main/program/app)" = 700 ]
}

@test "where the program is not all that changed, or is not kept, the figures are compared, and that is said" {
    build_app 10
    echo one >input
    kelvin bench -q --runs 6 --save main './app input'
    echo two >input
    kelvin bench -q --runs 6 --against main './app input'
    exits 0
    [[ $stderr == *"compared with the figures of 'main', not side by side: the program is the same, but the files that its command line names changed"* ]] || fail "$stderr"
    echo broken >>.kelvin/programs/main/program/app
    kelvin bench -q --runs 6 --against main './app input'
    [[ $stderr == *"not side by side: the program that the baseline kept is gone"* ]] || fail "$stderr"
    printf '#!/bin/sh\nexec ./app "$@"\n' >script
    chmod +x script
    local command
    for command in './script' 'ls'; do
        kelvin bench -q --runs 6 --save other "$command"
        [ ! -e .kelvin/programs/other ]
        kelvin bench -q --runs 6 --against other "$command"
        exits 0
        [[ $stderr == *"not side by side: the baseline did not keep its program"* ]] || fail "$stderr"
    done
    kelvin bench -q --runs 6 --against main --shell --force './app input'
    [[ $stderr == *"not side by side: the command is handed to a shell"* ]] || fail "$stderr"
}

@test "benchmarks of a kept program keep their names, in gates and in what is saved" {
    cat >bench.c <<'END'
#include <kelvin_bench.h>
static void spin(size_t n) { for (size_t i = 0; i < n; i++) __asm__ volatile("" : "+r"(i)); }
BENCH(first) { BENCH_LOOP { spin(WORK); } }
BENCH(second) { BENCH_LOOP { spin(1000); } }
BENCH_MAIN
END
    local cc=gcc flags=
    [ -z "${KELVIN_SANITIZED:-}" ] || cc=clang flags=-fsanitize=address,undefined
    build_bench() { # shellcheck disable=SC2086
        "$cc" -O2 $flags -DWORK="$1" -I"$ROOT/include" bench.c "${KELVIN%/*}/libkelvin_bench.a" -lm -pthread -o bench
    }
    build_bench 1000
    kelvin bench -q --quick --runs 8 --measure cpu --save main ./bench
    build_bench 8000
    kelvin bench -q --quick --runs 16 --measure cpu --against main --save now --max-regression first=100% \
        --max-regression second=900% ./bench --format json
    exits 3
    [[ $stderr == *"in turns"*"'first' uses "*"more CPU time than in the baseline"* ]] || fail "$stderr"
    [[ $stderr != *"'second' uses"* ]] || fail "$stderr"
    kelvin bench --export now now.json
    [ "$(python3 -c 'import json; print([s["name"] for s in json.load(open("now.json"))["series"]])')" = "['first', 'second']" ]
}

@test "a gate against a baseline that cannot be decided exits 4" {
    measure_main
    # Runs that differ by a factor of 25 leave everything open, whatever the machine does.
    change main.json 'for s in d["series"]: s["measures"]["time"] = [v * (5 if i % 2 else 0.2) for i, v in enumerate(s["measures"]["time"])]'
    "$KELVIN" bench -q --import main.json --save wild
    kelvin bench -q --runs 3 --name it --against wild --max-regression 10% true
    exits 4
    [[ $stderr == *"not decided whether 'it' is more than 10% slower than in the baseline"* ]] || fail "$stderr"
    grep -qE "more --time|runs differ too much" <<<"$stderr" || fail "$stderr"
    kelvin bench -q --runs 3 --name it --against main true
    exits 0
    import_of one sort=1000
    import_of two other=1000
    kelvin bench --compare one two --max-regression 10%
    exits 4
    kelvin bench --compare one two
    exits 4
    kelvin bench -q --runs 3 --name new --against one --force true
    exits 4
    [[ $stderr == *"no benchmark in common"* ]] || fail "$stderr"
}

@test "a baseline of another build is compared, and that is told" {
    measure_main "$KELVIN --version"
    cp main.json other.json
    change other.json "d['meta']['build'] = 'other flags'"
    "$KELVIN" bench -q --import other.json --save other
    kelvin bench -q --runs 12 --name it --against other "$KELVIN --version"
    exits 0
    [[ $stderr == *"note: the build differs ('other flags', now"* ]] || fail "$stderr"
    [[ $output == *"Comparison"* ]]
}

@test "a baseline of another host, governor or other options is refused, unless forced" {
    local key what
    measure_main "$KELVIN --version"
    for key in host governor method; do
        cp main.json other.json
        change other.json "d['meta']['$key'] = 'something else'"
        "$KELVIN" bench -q --import other.json --save other
        kelvin bench -q --runs 12 --name it --against other "$KELVIN --version"
        exits 1
        case $key in
        governor) what="frequency governor differs" ;;
        method) what="measuring options differ" ;;
        *) what="$key differs" ;;
        esac
        complains "cannot compare with 'other'" "the $what ('something else'" "--force"
    done
    kelvin bench -q --runs 12 --name it --against other --force "$KELVIN --version"
    exits 0
    [[ ${output//$'\n'/ } == *"compared anyway although the measuring options differ"* ]]
}

@test "options that change the numbers are part of what is compared" {
    measure_main
    kelvin bench -q --runs 12 --name it --against main --shell true
    exits 1
    complains "measuring options" "shell no" "shell yes"
}

@test "what is only on one side is said, and a renamed benchmark is found" {
    import_of main sort=1000 gone=500
    import_of feature sort2=1000 fresh=20
    kelvin bench --compare main feature
    exits 4
    [[ $output == *"In the baseline, but not measured now: sort, gone."* ]]
    [[ $output == *"New: not in the baseline: sort2, fresh."* ]]
    [[ $stderr == *"no benchmark in common"*"--rename"* ]]
    kelvin bench --compare main feature --rename sort=sort2
    exits 0
    [[ $output =~ sort2\ +1.000\ us\ +1.000\ us\ +\+0.0% ]]
    kelvin bench --rename sort=sort2
    exits 0
    kelvin bench --compare main feature
    [[ $output =~ sort2\ +1.000\ us\ +1.000\ us\ +\+0.0% ]]
    kelvin bench --rename sort=sort2
    exits 1
    complains "no benchmark in the store is called 'sort'"
}

@test "several baselines stand side by side with their factors" {
    import_of main sort=1000 scan=50
    import_of wip sort=1500 scan=50.2
    import_of old sort=2000 scan=50.1
    kelvin bench --compare main wip old
    exits 0
    [[ $output =~ sort\ +1.00\*\ +1.000\ us\ +1.50\ +1.500\ us\ +2.00\ +2.000\ us ]]
    kelvin bench --compare main wip old --threshold 5
    [[ ! $output =~ scan\ +1.0 && $output == *"1 that differ by less than 5%"* ]]
    kelvin bench --compare main wip --max-regression scan=5% --max-regression 20%
    exits 3
    complains "'sort' is 50.0% slower"
}

@test "an export comes back the same to the last bit" {
    measure_main
    change main.json 'd["series"][0]["measures"]["time"][0] = 5e-324; d["series"][0]["measures"]["time"][1] = 0.1 + 0.2'
    "$KELVIN" bench -q --import main.json
    "$KELVIN" bench --export main again.json
    "$KELVIN" bench -q --import again.json --save copy --store copy.db
    "$KELVIN" bench --export copy --store copy.db -o third.json
    sed -i 's/"name":"copy"/"name":"main"/' third.json
    cmp again.json third.json
    grep -q '5e-324\|4.94066e-324' third.json
    grep -q '0.30000000000000004' third.json
}

@test "an import that is cut, foreign or wrong changes nothing" {
    import_of main sort=1000
    local before
    before=$(sha256sum $STORE)
    head -c 200 in.json >cut.json
    kelvin bench --import cut.json
    exits 5
    complains cut.json "cut off"
    echo '{"traceEvents": []}' >foreign.json
    kelvin bench --import foreign.json
    exits 5
    complains "not an export of 'kelvin bench'"
    kelvin bench --import missing.json
    exits 1
    kelvin bench --import in.json --save $'two\nlines'
    exits 1
    [ "$(sha256sum $STORE)" = "$before" ]
}

@test "a store that is not one is refused and left alone" {
    echo 'my diary, which is not a database and must stay as it is' >diary
    cp diary kept
    kelvin bench -q --runs 2 --store diary --save main true
    exits 5
    complains diary "not a store"
    cmp diary kept
    kelvin bench --compare a b
    exits 1
    complains "there are no baselines yet" "--save NAME"
    [ ! -e .kelvin ]
}

@test "programs that save at once lose nothing" {
    local i
    for i in 1 2 3 4 5 6; do
        export_of "$i.json" "b$i" "sort=$i"
    done
    for i in 1 2 3 4 5 6; do
        "$KELVIN" bench -q --import "$i.json" &
    done
    wait
    kelvin bench --baselines
    [ "$(grep -c '^  b[1-6] ' <<<"$output")" -eq 6 ]
}

@test "a full disk leaves the store as it was" {
    import_of main sort=1000
    "$KELVIN" bench --export main before.json
    python3 -c 'import json
d = json.load(open("in.json"))
d["series"][0]["blocks"] = list(range(50000)); d["series"][0]["measures"]["time"] = [1.5] * 50000
json.dump(d, open("big.json", "w"))'
    run --separate-stderr bash -c "ulimit -f 100; trap '' XFSZ; exec '$KELVIN' bench -q --import big.json"
    exits 1
    complains history.db "disk" "nothing was changed"
    "$KELVIN" bench --export main after.json
    cmp before.json after.json
    [ "$(ls -A .kelvin)" = history.db ]
}

@test "a full disk where no store is yet: it cannot be written" {
    run --separate-stderr bash -c "ulimit -f 1; trap '' XFSZ; exec '$KELVIN' bench -q --runs 3 --save main true"
    exits 1
    complains "cannot write" history.db "disk"
}

@test "every format has all that was measured" {
    import_of main sort=1000 scan=50
    import_of feature sort=1200 scan=50
    kelvin bench --compare main feature --format csv
    [ "$(wc -l <<<"$output")" -eq $((1 + 4 * 24)) ]
    [[ ${output%%$'\n'*} == set,benchmark,parameter,size,measure,unit,run,block,value ]]
    kelvin bench --compare main feature --format json
    python3 -c 'import json, sys
d = json.load(sys.stdin)
assert [len(s["benchmarks"][0]["measures"]["time"]["runs"]) for s in d["sets"]] == [24, 24]
assert d["comparisons"][0]["verdict"] == "slower" and abs(d["comparisons"][0]["ratio"] - 1.2) < 1e-9' <<<"$output"
    kelvin bench --compare main feature -o page.html
    exits 0
    grep -q '<svg' page.html
    grep -q 'slower +20.0%' page.html
    run ! grep -Eq '(src|href)="?https?:|<td></td>' page.html
    kelvin bench --compare main feature -o page.md
    grep -q '| sort | 1.000 us | 1.200 us | +20.0% |' page.md
}

@test "an option that measures nothing runs no command" {
    kelvin bench --baselines 'touch ran'
    exits 1
    complains "no command is run"
    kelvin bench --compare main
    exits 1
    complains "2 to 7 baselines"
    [ ! -e ran ]
}

@test "the page in a browser: shapes, labels inside, narrow and dark" {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "seen with the plain build, same bytes"
    need_browser
    local i
    for i in 1 2 3 4 5 6 7 8; do # the level changes in the middle
        import_of main "sort=$((i < 5 ? 1000 : 1300))" "a<b>&'c'=0.25" "flat=7"
    done
    import_of feature sort=1200 "a<b>&'c'=0.5" flat=7
    "$KELVIN" bench --compare main feature -o page.html
    node "$ROOT/tests/browser/bench.mjs" "$PWD/page.html"
}
