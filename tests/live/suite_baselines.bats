#!/usr/bin/env bats
# Suites against what was saved before: regressions, turns of two programs, names, the archive of recordings.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too
load ../lib/helpers
load ../lib/suite

@test "a regression against a saved run exits with 3 and names the function" {
    kelvin run -q --save main --set 'workload.small.collect=cpu bench' --set workload.small.runs=12
    exits 0
    kelvin run --against main --format github --set 'build.env=CFLAGS="-O2 -g -DWORK=1000"' \
        --set 'workload.small.collect=cpu bench' --set workload.small.runs=12
    exits 3
    said "suspect"
    [[ $output =~ ^::error\ file=app.c,line=1[0-9],title=small\ regressed::.*suspect ]] || fail "annotation: $output"
    has perf-failed/small.md suspect
    has perf-failed/small.md 'by both programs in turns'
    [ "$(wc -l <perf-failed/summary.md)" -le 24 ] || fail "the summary is longer than a screen"
    has perf-failed/summary.md regressed
    kelvin run --against nothing
    exits 1
    said "no baseline 'nothing'"
    said "--save"
}

@test "rates of cache misses are published and remembered, and more instructions are a regression" {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    local only=(-q --set 'workload.small.collect=cache' --set 'workload.small.command=./app 20')
    kelvin run "${only[@]}" --save main
    exits 0
    has perf/small.md 'Caches and branches, simulated'
    has perf/small.md '(the whole program)'
    python3 -c 'import json; c = json.load(open("perf/run.json"))["workloads"][0]["cache"]
assert c["how"] == "simulated" and 0 < c["d1_rate"] < 0.05, c' || fail "run.json"
    kelvin history
    exits 0
    [[ $output == *"D1 misses"* ]] || fail "not in the history: $output"
    kelvin run "${only[@]}" --against main
    exits 0
    has perf/small.md 'Instructions: same'
    run ! grep -q 'side by side' perf/small.md # counts are those of one program: there are no turns to take
    kelvin run "${only[@]}" --against main --set 'build.env=CFLAGS="-O2 -g -DWORK=120"'
    exits 3
    has perf-failed/small.md 'Instructions: more, +[89]'
    has perf-failed/summary.md 'suspect.*: +20.0% instructions'
}

@test "the name of a baseline is a plain name, no path and no pattern" {
    mkdir -p .kelvin/baselines/main && echo mine >.kelvin/baselines/main/a.kelvin
    echo mine >a.kelvin
    for name in '*' '../..' '../../../x' . .. .x /tmp/x feature/x '' -x 'a b' $'a\033[2J' '{a,b}'; do
        kelvin run "--save=$name"
        exits 1
        said "cannot be the name of a baseline"
        kelvin run "--against=$name"
        exits 1
        said "cannot be the name of a baseline"
    done
    [ "$(cat .kelvin/baselines/main/a.kelvin a.kelvin)" = $'mine\nmine' ] || fail "a file was touched"
    [ ! -e app ] || fail "it was built all the same"
}

@test "a baseline that cannot be saved leaves the one before as it was" {
    kelvin run -q --save main
    exits 0
    [ -s .kelvin/baselines/main/small.kelvin ] && [ -x .kelvin/baselines/main/program ] || fail "not saved"
    before=$(print_of .kelvin/baselines)
    cp .kelvin/history.db good.db
    echo 'no database at all' >.kelvin/history.db
    kelvin run -q --save main
    exits 5
    [ "$(print_of .kelvin/baselines)" = "$before" ] || fail "the baseline was touched"
    mv good.db .kelvin/history.db
    kelvin run -q --save main --set 'workload.small.collect=bench' --set workload.small.runs=2
    exits 0
    [ ! -e .kelvin/baselines/main/small.kelvin ] || fail "a recording of the baseline before is still there"
}

@test "few recordings against a baseline are inconclusive, and many times slower is a regression" {
    kelvin run -q --save main
    exits 0
    kelvin run --against main
    exits 4
    said "not decided whether 'small' uses more than 5% more CPU time than in the baseline 'main'"
    said "collect bench, or make at least 6 recordings"
    kelvin run --against main --set 'build.env=CFLAGS="-O2 -g -DWORK=2000"' --format github
    exits 3
    said "more than the 5% that check.max-regression allows"
    [[ $output == "::error "*"small regressed"* ]] || fail "annotation: $output"
    has perf-failed/summary.md regressed
}

@test "programs take turns however the program is written, and recordings do, too" {
    sed -i 's|^binary = ./app|binary = app|' kelvin.conf
    kelvin run -q --save main --set 'workload.small.collect=cpu bench' --set workload.small.runs=3
    exits 0
    [ -x .kelvin/baselines/main/program/app ] || fail "the program was not kept"
    kelvin run --against main --set 'workload.small.collect=cpu bench' --set workload.small.runs=3 \
        --set workload.small.decide-time=0 --set 'build.env=CFLAGS="-O2 -g -DWORK=400"' --set workload.small.recordings=2
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ] || exits 3
    said "small: recordings in turns: "
    [[ $stderr != *"side by side"* ]] || fail "not side by side: $stderr"
    page=perf/small.md
    [ ! -e perf-failed ] || page=perf-failed/small.md
    has "$page" 'Recordings, made in turns'
    # Seconds, and what that is of the CPU time before: shares alone say nothing of cost.
    has "$page" '| before | now | change | of CPU time | proven | function |'
    grep -qE '^\| [0-9.]+ m?s \| [0-9.]+ m?s \| .* \| \+[0-9.]+% \| (yes|no) \| suspect' "$page" ||
        fail "$(cat "$page")"
    [ -z "$(find perf* -name '*before*')" ] || fail "the baseline's recording was published"
    # Without it, the reason is told and no function is proven to have changed.
    rm -r .kelvin/baselines/main/program
    kelvin run --against main --set workload.small.recordings=2
    said "small: cannot run side by side with 'main': the baseline did not keep the program"
    said "recordings of 'main' are of another time: no verdict on functions"
    has perf/small.md 'did not run side by side'
    ! grep -q '| yes |' perf/small.md || fail "proven by recordings of another time"
}

@test "a program with blanks in its name takes turns, is built as a variant, and what becomes of it reads well" {
    sed -i 's|-o app app.c|-o "my äpp" app.c|; s|^binary = ./app|binary = my äpp|; s|^command = ./app|command = "./my äpp"|' kelvin.conf
    kelvin run -q --save main --set workload.small.collect=bench --set workload.small.runs=2
    exits 0
    kelvin run --against main --set workload.small.collect=bench --set workload.small.runs=2 --set workload.small.decide-time=0 \
        --set 'variant.o1.env=CFLAGS="-O1 -g"'
    [[ $stderr != *"side by side"* && $stderr != *"no variant"* ]] || fail "$stderr"
    has perf/small.md '| o1 | '
    kelvin run --set 'build.command=printf "#!/bin/sh\nexit 7\n" >"my äpp"; chmod +x "my äpp"' --set workload.small.collect=bench
    exits 1
    said "kelvin: workload 'small': failed, it ended with exit code 7"
}

@test "where programs take turns, the one that fails is named: today's fails the run, the baseline's is left out" {
    local only=(--set workload.small.collect=bench --set workload.small.runs=2 --set workload.small.decide-time=0)
    # It fails from the run on that the file LIMIT names, if there is one; all builds count in one file.
    cat >app.c <<'C'
#include <stdio.h>
static int number(const char *path, int otherwise)
{
    int n = otherwise;
    FILE *f = fopen(path, "r");
    return f && (fscanf(f, "%d", &n) != 1 || fclose(f) != 0) ? otherwise : n;
}
int main(void)
{
    int n = number("n", 0) + 1;
    FILE *f = fopen("n", "w");
    fprintf(f, "%d\n", n);
    return fclose(f) != 0 || n >= number(LIMIT, 1 << 30);
}
C
    kelvin run -q --save main "${only[@]}" --set 'build.env=CFLAGS=-DLIMIT=\"then\"'
    exits 0
    for from in 1 4; do # at once, and once only
        echo "$from" >now
        rm n
        kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS=-DLIMIT=\"now\"'
        exits 1
        [[ $stderr != *"the baseline's program"* ]] || fail "the baseline's is well: $stderr"
        said "kelvin: workload 'small': failed, it ended with exit code 1"
    done
    rm now
    echo 0 >"then"
    kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS=-DLIMIT=\"now\"'
    said "small: the baseline's program does not run any more: "
    [[ $stderr != *"small: failed"* ]] || fail "$stderr"
}

@test "programs that take turns go on until it is decided, and a key says what gates" {
    sed -i 's/app 3000/app 300/' kelvin.conf
    local only=(--set workload.small.collect=bench --set workload.small.runs=3)
    kelvin run -q --save main "${only[@]}"
    exits 0
    kelvin run --against main "${only[@]}" --set check.max-regression=60%
    exits 0
    has perf/small.md 'by both programs in turns'
    runs=$(sed -n 's/.*Based on \([0-9]*\) runs before.*/\1/p' perf/small.md | head -1)
    [ "$runs" -ge 14 ] || fail "only $runs runs"
    [ "$runs" -le 3000 ] || fail "it did not stop: $runs runs"
    kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS="-O2 -g -DWORK=400"'
    exits 3
    kelvin run --against main "${only[@]}" --set 'build.env=CFLAGS="-O2 -g -DWORK=400"' --set check.gates=instructions
    exits 0
    has perf/small.md 'slower'
}

@test "recordings of earlier runs have names: @last, a baseline, a commit" {
    kelvin run -q --save main
    [ "$status" = 0 ] || fail "$stderr"
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m two
    kelvin run -q
    [ "$status" = 0 ]
    kelvin fold @last
    [ "$status" = 0 ]
    [[ $output == *suspect* ]]
    for name in @main @HEAD @HEAD~1 @last:small "@$(git rev-parse --short HEAD)"; do
        kelvin info "$name"
        [ "$status" = 0 ] || fail "$name: $stderr"
    done
    kelvin diff @HEAD~1 @HEAD
    [ "$status" = 0 ] || fail "$stderr"
    kelvin info @last:other
    [[ $status = 1 && $stderr == *"'@last' has no recording of 'other'"* ]]
    kelvin info @nosuch
    [[ $status = 1 && $stderr == *"'@nosuch' is neither @last nor a baseline nor a commit that git knows"* ]]
    kelvin info @../../etc
    [ "$status" = 1 ]
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m three
    kelvin info @HEAD
    [[ $stderr == *"of which no run is in the archive: it keeps good runs only, as many as history.keep and history.max-size allow"* ]]
    mkdir .kelvin/archive/mine
    kelvin run -q --set history.keep=1
    [ "$status" = 0 ] || fail "$status" "$stderr"
    kelvin info @HEAD~1
    [ "$status" = 1 ] || fail "more than history.keep runs are kept"
    [ -d .kelvin/archive/mine ] || fail "a folder that is not ours is gone"
}

@test "an archive above its size gives up the oldest runs, says so, and keeps the newest" {
    kelvin run -q
    kelvin run -q
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 2 ]
    kelvin run --set history.max-size=0.001
    [ "$status" = 0 ] || fail "$stderr"
    [[ $stderr == *"the archive was above its history.max-size: recordings of the oldest 2 runs were deleted"* ]] || fail "$stderr"
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 1 ]
    kelvin info @last
    [ "$status" = 0 ] || fail "the newest is gone: $stderr"
    kelvin run --set history.max-size=100
    [[ $stderr != *history.max-size* ]]
    [ "$(find .kelvin/archive -mindepth 1 -maxdepth 1 -name '2*' | wc -l)" = 2 ]
}

@test "the recipe for every night publishes, and mails when it got slower" {
    mkdir -p bin www
    git clone -q . project
    sed '/^## Every night/,/^## /!d' "$ROOT/doc/ci.md" | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d; s,/srv/www/perf,$HOME/www,' >nightly.sh
    ln -s "$(readlink -f "$KELVIN")" bin/kelvin
    printf '#!/bin/sh\necho "$2" >"$HOME/mail" && cat >>"$HOME/mail"\n' >bin/mail
    chmod +x bin/mail nightly.sh
    night() { run --separate-stderr env HOME="$PWD" PATH="$PWD/bin:$PATH" sh nightly.sh; }
    (cd project && kelvin run -q --save nightly && [ "$status" = 0 ]) || fail "no baseline"
    night
    [ "$status" = 0 ] || [ "$status" = 4 ] || fail "$status" "$stderr"
    [[ $stderr != *"cannot stat"* && $stderr != *"name one"* ]] || fail "$stderr"
    [ -f www/perf/index.html ] && [ -f www/perf-history.html ] && [ -f www/perf-steps.html ] && [ ! -e mail ] || fail "$(ls www)" "$stderr"
    sed -i 's/#define WORK 100/#define WORK 3000/' app.c
    git -c user.name=t -c user.email=t@t commit -qam slower
    night
    [ "$status" = 3 ] || fail "$status" "$stderr"
    has mail 'performance: .* slower'
    has mail 'regressed'
}
