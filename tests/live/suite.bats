#!/usr/bin/env bats
# A whole suite: from source to a published folder, and everything that can go wrong on the way.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr; make has variables too
load ../lib/helpers
load ../lib/suite

@test "a pipe among the sources holds nobody up" {
    mkfifo pipe.c
    run timeout -k 5 "$(patience 60)" "$KELVIN" run
    [ -e perf/index.html ] || fail "$status: $output"
}

@test "a run publishes pages that leave nothing to be filled in" {
    kelvin run --set publish.arguments=show
    exits 0
    for f in README.md index.html run.json summary.md small.md small.svg small.kelvin; do
        [ -s "perf/$f" ] || fail "perf/$f is not there"
    done
    has perf/small.md "$(git rev-parse HEAD)"
    has perf/small.md 'software clock\|hardware counter\|in-process timer'
    has perf/small.md './app 3000'
    has perf/small.md 'suspect'
    has perf/small.md 'kelvin run small'
    has perf/small.md 'digest of the sources'
    if [[ $("$KELVIN" view 2>&1) != *"built without the page"* ]]; then
        has perf/small.view.html 'id="data0"'
        has perf/index.html '<a href="small.view.html"><img src="small.svg"'
        has perf/small.md '](small.svg)\](small.view.html)'
    fi
    ! grep -rniE 'todo|fixme|to be filled|tbd' perf/*.md perf/index.html || fail "left to be filled in"
    ! grep -rn "$HOME/" perf/*.md perf/index.html perf/run.json || fail "shows the home folder"
    python3 -c 'import json; r = json.load(open("perf/run.json"));
assert r["outcome"] == "ok", r["outcome"]
assert r["workloads"][0]["functions"], "no functions"' || fail "run.json"
    xmllint --noout perf/small.svg || fail "the drawing is no XML"
    [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
    long=a-folder-whose-name-is-longer-than-forty-characters-in-all
    kelvin run --skip-build --set publish.folder=$long
    exits 0
    said "Published $long/index.html in "
}

@test "values of the environment are not published unless they are named" {
    kelvin run -q --set 'build.env=CFLAGS="-O2 -g" TOKEN=hush1' --set 'determinism.env=LC_ALL=C KEY=hush2' \
        --set workload.small.min-samples=1
    exits 0
    ! grep -rl 'hush[12]' perf || fail "a secret was published"
    has perf/small.md 'TOKEN=(not shown)'
    has perf/small.md 'LC.*ALL=C KEY=(not shown)'
    kelvin run -q --set 'build.env=CFLAGS="-O2 -g" TOKEN=hush1' --set 'publish.environment=CFLAGS NOT_THERE' \
        --set workload.small.min-samples=1
    exits 0
    has perf/small.md 'CFLAGS="-O2 -g" TOKEN=(not shown)'
    has perf/small.md '| other variables, as named in the suite | NOT.*THERE=(not set) |'
}

@test "the same commit twice differs only in what was measured" {
    kelvin run -q
    exits 0
    sed -E 's/[0-9]+([.,][0-9]+)*//g; s/not known//g' perf/small.md | sort -u >first
    kelvin run -q
    exits 0
    sed -E 's/[0-9]+([.,][0-9]+)*//g; s/not known//g' perf/small.md | sort -u >second
    # Lines of text and tables that name things must be there both times.
    grep -E '^\| (commit|command|build|kind|event|digest|compiler|machine|kernel)' first >a
    grep -E '^\| (commit|command|build|kind|event|digest|compiler|machine|kernel)' second >b
    cmp a b || fail "$(diff a b)"
    kelvin history
    exits 0
    [ "$(grep -c ' small ' <<<"$output")" -ge 2 ] || fail "not two runs: $output"
}

@test "a workload that fails fails the run, the others still run, the good folder stays" {
    kelvin run -q
    exits 0
    before=$(print_of perf)
    printf '[workload broken]\ncommand = ./app 100 7\n' >>kelvin.conf
    kelvin run
    exits 1
    said "broken"
    said "exit code 7"
    [ "$(print_of perf)" = "$before" ] || fail "the good folder was touched"
    has perf-failed/README.md failed
    has perf-failed/small.md suspect
    has perf-failed/broken.md 'exit code 7'
}

@test "too few samples are no result: incomplete, exit 4, and the good folder stays" {
    kelvin run -q
    exits 0
    before=$(print_of perf)
    printf '[workload idle]\ncommand = sleep 0.01\nmin-samples = 1000000\npool-time = 0.5\n' >>kelvin.conf
    kelvin run --save main
    exits 4
    said "workload 'idle': incomplete"
    has perf-failed/summary.md 'no cpu: only [0-9]* sample'
    [ "$(print_of perf)" = "$before" ] || fail "the good folder was touched"
    [ ! -e .kelvin/baselines/main ] || fail "saved as a baseline"
    has perf-failed/idle.md 'absent: cpu'
    has perf-failed/README.md 'absent: cpu'
    has perf-failed/idle.md 'only [0-9]* samples\{0,1\} in [0-9]* runs\{0,1\}, fewer than min-samples'
    has perf-failed/small.md suspect
    [ ! -e perf-failed/idle.svg ] || fail "a drawing of nothing"
    kelvin run -q --set workload.idle.optional=cpu
    exits 0
    has perf/idle.md 'absent: cpu'
    [ ! -e perf-failed ] || fail "perf-failed/ is still there after a good run"
}

@test "a short program is run again until there are enough samples, and the pool is drawn" {
    printf '[workload short]\ncommand = ./app 20\nrate = 4999\nmin-samples = 60\npool-time = 120\n' >>kelvin.conf
    kelvin run short
    exits 0
    said "short: pooled from "
    has perf/short.md 'suspect'
    xmllint --noout perf/short.svg || fail "the drawing is no XML"
    [ "$(find perf -name '*.old' -o -name '*.part' | wc -l)" -eq 0 ] || fail "left files behind"
    kelvin info perf/short.kelvin
    exits 0
    [[ $output =~ pooled_runs\ +([0-9]+) ]] || fail "$output"
    [ "${BASH_REMATCH[1]}" -ge 2 ] || fail "one run only: $output"
    has perf/short.md " per run, [0-9]* samples of ${BASH_REMATCH[1]} runs pooled"
    python3 -c 'import json; w, = json.load(open("perf/run.json"))["workloads"]
assert int(w["recordings"][0]["stream"]["samples"].replace(",", "")) >= 60, w' || fail "run.json"
}

@test "a workload that never ends is ended" {
    printf '[workload stuck]\ncommand = sleep 1000\ntimeout = 1\n' >>kelvin.conf
    kelvin run stuck
    exits 1
    said "was not done after"
}

@test "a build that fails shows its last lines" {
    echo 'this is no C' >>app.c
    kelvin run --format github
    exits 1
    [[ $output == "::error title=kelvin run ended early::the build ended"* ]] || fail "annotation: $output"
    said "app.c"
    said "the build ended with exit code 1"
    [ ! -e perf ] || fail "perf was written"
}

@test "a build that leaves no program is told" {
    kelvin run --set build.command=true
    exits 1
    said "no program './app'"
}

@test "without kelvin.conf init is offered, and init writes one that runs" {
    rm kelvin.conf
    kelvin run
    exits 1
    complains "kelvin init"
    printf 'app: app.c\n\tcc $(CFLAGS) -o app app.c\n' >Makefile
    kelvin init
    [[ $stderr == *"no program was found: build it and run 'kelvin init --force'"* ]] || fail "$stderr"
    kelvin run
    exits 1
    line=$(grep -n '^command = ./program' kelvin.conf | cut -d: -f1)
    complains "kelvin.conf:$line: './program --argument' is only an example" "[workload main]"
    [ ! -e app ] || fail "built for a program that nobody named"
    [ ! -e perf-failed ] || fail "a failed run, though none began"
    kelvin run mian
    exits 1
    complains "no workload 'mian'; did you mean 'main'?"
    [ ! -e perf-failed ] || fail "a failed run, though none began"
    make -s CFLAGS='-O2 -g'
    kelvin init --force
    exits 0
    has kelvin.conf '^command = make -j'
    has kelvin.conf '^binary = ./app'
    kelvin run --set 'workload.main.command=./app 3000' --set workload.main.rate=4999 --set workload.main.runs=2
    exits 0
    [ -s perf/main.svg ] || fail "no drawing"
    kelvin init
    exits 1
    complains "there already"
}

@test "init quotes the program where its name has a blank" {
    rm kelvin.conf
    cp /bin/true "my app"
    kelvin init
    exits 0
    has kelvin.conf "^command = './my app'$"
    has kelvin.conf "^binary = ./my app$"
    kelvin run --set workload.main.collect=bench --set workload.main.runs=2
    exits 0
}

@test "init names the program of a project that was not built yet" {
    rm -f kelvin.conf
    named() { # PROGRAM
        kelvin init --force
        exits 0
        has kelvin.conf "^command = $1$"
        has kelvin.conf "^binary = $1$"
    }
    printf 'project(demo C)\n# add_executable(old old.c)\nadd_executable( tool\n main.c)\n' >CMakeLists.txt
    named ./build/tool
    printf 'project(demo C)\nadd_executable(${PROJECT_NAME} main.c)\n' >CMakeLists.txt
    named ./build/demo
    printf 'add_subdirectory(src)\nmy_add_executable(x)\n' >CMakeLists.txt
    kelvin init --force
    [[ $stderr == *"no program was found"* ]] || fail "$stderr"
    rm CMakeLists.txt
    printf "project('x', 'c')\\ne = executable('tool', 'a.c')\\n" >meson.build
    named ./build/tool
    rm meson.build
    printf '[package]\nname = "my-tool"\n' >Cargo.toml
    named ./target/release/my-tool
}

@test "unknown keys and wrong values are told with their lines, all at once, and nothing runs" {
    printf '[workload bad]\ncomand = x\ncollect = cpu hep\n' >>kelvin.conf
    kelvin run
    exits 1
    said "kelvin.conf:13: no key 'comand' in [workload bad]; did you mean 'command'?"
    said "kelvin.conf:14: 'collect' is made of"
    [ ! -e app ] || fail "it was built all the same"
}

@test "every value can be overruled, and --explain says by whom" {
    KELVIN_WORKLOAD_SMALL_RATE=50 kelvin run --explain --set workload.small.runs=30
    exits 0
    grep -q 'workload.small.rate *= 50 *# KELVIN_WORKLOAD_SMALL_RATE' <<<"$output" || fail "$output"
    grep -q 'workload.small.runs *= 30 *# --set' <<<"$output" || fail "$output"
    grep -q 'build.binary *= ./app *# kelvin.conf:6' <<<"$output" || fail "$output"
    grep -q 'workload.small.timeout *= 300 *# default' <<<"$output" || fail "$output"
}

@test "a folder that is not ours is refused before anything is built" {
    mkdir perf && echo thesis >perf/thesis.txt
    kelvin run
    exits 1
    complains "not made by kelvin" "perf"
    [ "$(cat perf/thesis.txt)" = thesis ] || fail "it was touched"
    [ ! -e app ] || fail "it was built all the same"
}

@test "a suite file that is a pipe or a device is refused, and no folder is no place to publish" {
    mv kelvin.conf saved.conf
    mkfifo kelvin.conf
    run timeout "$(patience 20)" "$KELVIN" run
    [ "$status" = 1 ] || fail "$status: $output"
    [[ $output == *"kelvin.conf': it is not a regular file"* ]] || fail "$output"
    ln -sf /dev/zero kelvin.conf
    kelvin run --explain
    exits 1
    complains "not a regular file"
    mv saved.conf kelvin.conf
    kelvin run --set publish.folder=
    exits 1
    complains "publish.folder is empty"
    [ ! -e app ] || fail "it was built all the same"
}

@test "files that differ from the commit are allowed and named" {
    echo '/* changed */' >>app.c
    kelvin run -q
    exits 0
    has perf/small.md 'app.c'
    has perf/README.md 'with changes'
    echo x >Größe.txt && git add . && git -c user.name=t -c user.email=t@t commit -q -m two && echo y >Größe.txt
    kelvin run -q
    exits 0
    has perf/small.md '| files that differ from the commit | .*Größe.txt' # and not "Gr\\303\\266..."
}

@test "a suite that is started twice at once says so" {
    "$KELVIN" run -q --set 'build.command=touch begun; while [ ! -e end ]; do sleep 0.1; done; cc -O2 -g -o app app.c' 3>&- &
    local first=$!
    for i in $(seq "$(patience 100)"); do [ -e begun ] && break; sleep 0.1; done
    kelvin run --set build.command='cc -O2 -g -o app app.c' --set workload.small.min-samples=1
    touch end
    wait "$first" || true
    said "note: another 'kelvin run' of this suite is running"
    kelvin run --set build.command='cc -O2 -g -o app app.c' --set workload.small.min-samples=1
    [[ $stderr != *"another 'kelvin run'"* ]] || fail "$stderr"
}

@test "a project without git works" {
    rm -rf .git
    GIT_CEILING_DIRECTORIES=$PWD/.. kelvin run -q
    exits 0
    has perf/README.md '^Passed: 1 of 1 workload ok\.$'
    has perf/small.md 'no git repository, or'
}

@test "without valgrind that part is absent and the run incomplete, unless it is optional" {
    mkdir bin
    for tool in sh cc as ld git taskset; do
        ln -s "$(command -v $tool)" bin/
    done
    run --separate-stderr env PATH="$PWD/bin" "$KELVIN" run -q --set 'workload.small.collect=cpu cache memcheck'
    exits 4
    has perf-failed/small.md 'valgrind is not installed'
    has perf-failed/summary.md incomplete
    [ ! -e perf ] || fail "published as a result"
    run --separate-stderr env PATH="$PWD/bin" "$KELVIN" run -q --set 'workload.small.collect=cpu cache memcheck' \
        --set 'workload.small.optional=cache memcheck'
    exits 0
    has perf/small.md 'valgrind is not installed'
}

@test "a damaged history is told, and the rest goes on" {
    mkdir .kelvin && echo 'no database at all' >.kelvin/history.db
    kelvin run
    exits 0
    said "not added to the history"
    [ -s perf/small.svg ] || fail "nothing was published"
    [ "$(cat .kelvin/history.db)" = 'no database at all' ] || fail "it was written to"
}

@test "a full disk leaves the published folder as it was" {
    mkdir disk
    mount -t tmpfs -o size=2m none disk 2>/dev/null || skip "this needs the right to mount"
    cp app.c kelvin.conf disk/
    cd disk || return
    kelvin run -q --set history.store=
    [ "$status" -eq 0 ] || { umount -l ../disk; exits 0; }
    before=$(print_of perf)
    head -c $(($(df --output=avail . | tail -1) * 1024 - 40000)) /dev/zero >filler
    kelvin run -q --set history.store=
    after=$(print_of perf)
    left=$(find . -name '.perf.new*')
    cd .. && umount -l disk
    exits 1
    said "No space left"
    [ "$after" = "$before" ] || fail "the folder was touched"
    [ -z "$left" ] || fail "left behind: $left"
}

@test "killed in any phase, the published folder is whole" {
    kelvin run -q
    exits 0
    for phase in 1 2 3 4 5 6 7; do
        before=$(print_of perf)
        "$KELVIN" run --set workload.small.collect='cpu bench' --set workload.small.runs=3 2>trace &
        pid=$!
        for _ in $(seq 2000); do
            grep -q "^\[$phase/7\]" trace && break
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        kill -9 $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
        if [ "$(print_of perf)" != "$before" ]; then
            # It was past the point where the folders change places: then all of the new one is there.
            grep -q '^\[7/7\]' trace || fail "changed before it was published, in phase $phase"
            python3 -c 'import json; json.load(open("perf/run.json"))' || fail "half a receipt"
        fi
        for f in README.md index.html small.md small.svg small.kelvin run.json; do
            [ -s "perf/$f" ] || fail "perf/$f is missing after phase $phase"
        done
    done
    kelvin run -q
    exits 0
    [ -z "$(find . -name '.perf.new*')" ] || fail "what killed runs left was not removed"
}

@test "Ctrl-C while recording or measuring says so, and leaves nothing behind" {
    for collect in cpu bench; do
        run --separate-stderr timeout --preserve-status -s INT 2 "$KELVIN" run \
            --set 'workload.small.command=./app 20000000' --set "workload.small.collect=$collect"
        exits 130
        said "interrupted: nothing was published"
        [ ! -e perf ] || fail "published all the same"
        [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
        ! pgrep -f 'app 20000000' >/dev/null || fail "the workload goes on"
    done
}

@test "a command that is not there is told, and a recorder that dies costs its workload only" {
    printf '[workload gone]\ncommand = ./nosuch\n[workload murder]\ncommand = kill -9 $PPID\nshell = yes\n' >>kelvin.conf
    kelvin run
    exits 1
    said "gone: FAILED, it could not be recorded: ./nosuch: not found"
    said "murder: FAILED, it could not be recorded: the recorder was killed by signal 9"
    has perf-failed/small.md suspect
    [ -z "$(find . -name '.perf.new*')" ] || fail "left a folder behind"
}

@test "notes that a person wrote are on the index, and a missing file is told" {
    printf '# Why\nRead **this** first.\n<script>alert(1)</script> [x](javascript:alert(2))\n\n- one\n\n`````\n# of the page\n' >NOTES.md
    kelvin run -q --set publish.notes=NOTES.md
    [ "$status" = 0 ] || fail "$stderr"
    has perf/README.md 'Read \*\*this\*\* first.'
    has perf/index.html '<h3>Why</h3>'
    has perf/index.html 'Read <strong>this</strong> first.'
    has perf/index.html '<li>one'
    run ! grep -q '<script>alert\|href="javascript' perf/index.html
    [ "$(sed -n '/^``````text$/,/^``````$/p' perf/README.md | grep -c 'of the page')" = 1 ] || fail "the notes end their block: $(cat perf/README.md)"
    head -c 300000 /dev/zero | tr '\0' 'x' >LONG.md
    kelvin run -q --set publish.notes=LONG.md
    has perf/index.html '(The rest of LONG.md is left out: it has more than 256 KiB.)'
    kelvin run --set publish.notes=gone.md
    [[ $status = 1 && $stderr == *"publish.notes: cannot read 'gone.md': No such file or directory. Write that file, or correct or remove publish.notes"* && $stderr != *'[1/7]'* ]] || fail "$status $stderr"
}

@test "the compiler on a page is that of the program that the workload runs" {
    command -v g++ >/dev/null || skip "no g++"
    sed 's/argc > 1 ? atol(argv\[1\]) : 1/3000/' app.c >other.cc
    sed -i 's|^command = cc .*|command = cc $CFLAGS -o app app.c \&\& g++ $CFLAGS -o other other.cc|' kelvin.conf
    printf '[workload other]\ncommand = ./other\n' >>kelvin.conf
    kelvin run -q
    exits 0
    has perf/small.md 'the program was built by | GNU C[0-9]'
    has perf/other.md 'the program was built by | GNU C++'
}
