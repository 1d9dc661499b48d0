#!/usr/bin/env bats
# What others get to see holds no passwords and no home folders.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    export HOME=$BATS_TEST_TMPDIR/my-home
    mkdir -p "$HOME/bin"
    cp "$TARGET/split" "$HOME/bin/split"
    need_record -- true
}

# No FILE below the folders and files named says hunter2, packed or not.
tells_nothing() { # WORD PATH...
    local word=$1 file
    shift
    while read -r file; do
        { zcat -f "$file" || cat "$file"; } 2>/dev/null | grep -aq -- "$word" && fail "$file says $word"
    done < <(find "$@" -type f)
    return 0
}

@test "exports and pages name the program without its arguments, unless asked for" {
    "$KELVIN" record -q -o x.kelvin -- "$HOME/bin/split" 0.1 5 hunter2
    "$KELVIN" record -q -o y.kelvin -- "$HOME/bin/split" 0.1 5 hunter2
    mkdir out
    for to in pprof speedscope firefox json kelvin; do
        "$KELVIN" convert x.kelvin --to "$to" -o "out/x.$to"
    done
    for format in html md json; do
        "$KELVIN" report x.kelvin --format "$format" -o "out/report.$format"
        "$KELVIN" report x.kelvin y.kelvin --format "$format" -o "out/reports.$format"
        "$KELVIN" diff x.kelvin x.kelvin --format "$format" -o "out/diff.$format"
    done
    "$KELVIN" flame x.kelvin -o out/x.svg
    tells_nothing hunter2 out
    "$KELVIN" info out/x.kelvin | grep -q '^command  *~/bin/split (3 arguments not shown)' || fail "$("$KELVIN" info out/x.kelvin)"
    grep -q 'Report on ~/bin/split (3 arguments not shown)' out/report.html
    "$KELVIN" convert x.kelvin --arguments --to json | grep -q hunter2
    "$KELVIN" report x.kelvin --arguments --format md | grep -q hunter2
    "$KELVIN" info x.kelvin | grep -q hunter2 # one's own recording, in one's own terminal
}

@test "record --hide-arguments keeps them out of the recording itself" {
    "$KELVIN" record -q --hide-arguments -o x.kelvin -- "$TARGET/split" 0.1 5 hunter2
    "$KELVIN" info x.kelvin | grep -q '(3 arguments not shown)'
    "$KELVIN" info --json x.kelvin >info
    tells_nothing hunter2 info
}

@test "a password in the address of a collector is refused, and quoted nowhere" {
    local url
    for url in http://user:hunter2@127.0.0.1:4318 https://hunter2@example.com/x http://:hunter2@127.0.0.1; do
        kelvin record --otlp $url -o x.kelvin -- true
        exits 125
        complains "password"
        [[ $stderr != *hunter2* ]] || fail "$stderr"
        [ ! -e x.kelvin ]
    done
}

@test "a key in the address of a collector is neither printed nor kept with the recording" {
    local how
    need_record -- true
    for how in "--otlp http://127.0.0.1:1/v1/traces?key=hunter2" "--otlp=http://127.0.0.1:1/v1/traces?key=hunter2"; do
        # shellcheck disable=SC2086
        "$KELVIN" record $how -o x.kelvin -- "$TARGET/split" 2>printed
        grep -q 'sent to http://127.0.0.1:1/v1/traces' printed || fail "$(cat printed)"
        ! grep -q hunter2 printed || fail "$(cat printed)"
        "$KELVIN" info --json x.kelvin >said
        grep -q '/v1/traces' said || fail "$(cat said)"
        ! grep -q hunter2 said || fail "$(cat said)"
    done
}

write_suite() { # LINES-FOR-PUBLISH...
    cp "$TARGET/split" app
    cat >kelvin.conf <<CONF
[build]
command = true hunter2-build
env = TOKEN=hunter2-env CFLAGS=-O2
[determinism]
env = PASSWORD=hunter2-all
[workload w]
command = ./app 0.3 5 hunter2-word
collect = cpu bench cache
optional = cache
runs = 2
[publish]
environment = CFLAGS
$(printf '%s\n' "$@")
CONF
}

@test "the pages of a suite show no arguments and no values of variables" {
    write_suite
    kelvin run --set workload.w.timeout=200 --set 'determinism.env=PASSWORD=hunter2-set'
    [ -d perf ] || fail "$stderr"
    tells_nothing hunter2 perf
    grep -rq 'PASSWORD' perf/w.md
    grep -rq 'CFLAGS=-O2' perf/w.md
    grep -rq './app (3 arguments not shown)' perf/w.html
}

@test "publish.arguments = show publishes them" {
    write_suite "arguments = show"
    kelvin run
    [ -d perf ] || fail "$stderr"
    grep -rq 'hunter2-word' perf/w.html
    tells_nothing hunter2-all perf
}

@test "a folder with a long name is printed whole" {
    local name=results-of-the-performance-suite-of-the-project-with-a-long-name
    write_suite "folder = $name"
    kelvin run
    [ -d "$name" ] || fail "$stderr"
    [[ $stderr == *"$name/index.html"* ]] || fail "$stderr"
}
