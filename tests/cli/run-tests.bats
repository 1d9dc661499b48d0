# tools/run-tests.sh: what counts as passed, failed and skipped, whoever printed it.
# shellcheck disable=SC2154  # run sets output, status
load ../lib/helpers

setup() {
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "runs scripts only: the same with every build"
    cd "$BATS_TEST_TMPDIR" || return
}

# A unit test program that prints what is on standard input, and exits with CODE.
program() { # NAME [CODE]
    mkdir -p build/tests/unit
    {
        echo '#!/bin/sh'
        echo "cat <<'TAP'"
        cat
        echo TAP
        echo "exit ${2:-0}"
    } >"build/tests/unit/test_$1"
    chmod +x "build/tests/unit/test_$1"
}

run_tests() {
    run env B="$PWD/build" "$ROOT/tools/run-tests.sh" unit
}

ends_with() { # COUNTS
    [ "${lines[-1]}" = "$1" ] || fail "not '$1' but: $output"
}

@test "what cmocka skips is skipped, not failed" {
    printf '1..3\nok 1 - one\nnot ok 2 # SKIP two\nok 3 - three\n# ok - tests\n' | program a
    run_tests
    exits 0
    ends_with "2 passed, 0 failed, 1 skipped"
    [[ $output == *"skip unit: two"* ]] || fail "$output"
}

@test "what bats skips is skipped with its reason" {
    printf '1..2\nok 1 one\nok 2 two # skip no valgrind\n' | program a
    run_tests
    exits 0
    ends_with "1 passed, 0 failed, 1 skipped"
    [[ $output == *"skip unit: two # skip no valgrind"* ]] || fail "$output"
}

@test "a failure is one, and its words are shown" {
    printf '1..2\nok 1 - one\nnot ok 2 - two\n# a.c:7: error: 1 != 2\n# not ok - tests\n' | program a 1
    run_tests
    exits 1
    ends_with "1 passed, 1 failed, 0 skipped"
    [[ $output == *"FAIL unit: two"*"a.c:7: error"* ]] || fail "$output"
}

@test "a program that ends early is a failure" {
    printf '1..3\nok 1 - one\n' | program a 139
    run_tests
    exits 1
    ends_with "1 passed, 1 failed, 0 skipped"
    [[ $output == *"1 of 3 tests came to an end"*"exit code 139"* ]] || fail "$output"
}

@test "a program that says all is well and exits with an error is a failure" {
    printf '1..1\nok 1 - one\n' | program a 99
    run_tests
    exits 1
    ends_with "1 passed, 1 failed, 0 skipped"
}

@test "a unit test that fails once and then passes has passed, and is named; a crash has no second chance" {
    mkdir -p build/tests/unit
    cat >build/tests/unit/test_shaky <<'PROGRAM'
#!/bin/sh
[ ! -e "$0.ran" ] || { printf '1..1\nok 1 - shaky\n'; exit 0; }
touch "$0.ran"
printf '1..1\nnot ok 1 - shaky\n# a.c:7: error: too slow\n'
exit "${CODE:-1}"
PROGRAM
    chmod +x build/tests/unit/test_shaky
    run_tests
    exits 0
    ends_with "1 passed, 0 failed, 0 skipped"
    [[ $output == *"passed the second time: "*"test_shaky"*"a.c:7: error: too slow"* ]] || fail "$output"
    rm build/tests/unit/test_shaky.ran
    CODE=99 run_tests
    exits 1
    ends_with "0 passed, 1 failed, 0 skipped"
}

@test "nothing at all is no success" {
    mkdir build
    run_tests
    exits 1
    ends_with "0 passed, 0 failed, 0 skipped"
}

# A folder of tests, one of which fails the first CHANCES times.
live_tests() { # CHANCES
    mkdir -p tests/live
    echo "$1" >chances
    # bats reads this file line by line and would take such a line for a test of its own.
    sed 's/^TEST/@test/' >tests/live/a.bats <<'BATS'
TEST "steady" { true; }
TEST "shaky (a.b)" {
    n=$(cat "$CHANCES")
    echo $((n - 1)) >"$CHANCES"
    [ "$n" -le 0 ] || { echo "only $n left"; false; }
}
BATS
    mkdir -p build
    CHANCES=$PWD/chances TESTS=$PWD/tests B=$PWD/build run "$ROOT/tools/run-tests.sh" live
}

@test "what fails beside the others and passes by itself has passed, and is named" {
    live_tests 1
    exits 0
    ends_with "2 passed, 0 failed, 0 skipped"
    [[ $output == *"passed by itself, not beside the others: shaky (a.b)"*"only 1 left"* ]] || fail "$output"
}

@test "what fails twice has failed" {
    live_tests 2
    exits 1
    ends_with "1 passed, 1 failed, 0 skipped"
    [[ $output == *"FAIL live: shaky (a.b)"*"only 2 left"* ]] || fail "$output"
}

@test "files that run at the same time: each counts once, and words stay with their failure" {
    mkdir -p tests/live build
    local i
    for i in 1 2 3 4 5; do
        sed "s/^TEST/@test/; s/FILE/$i/" >"tests/live/f$i.bats" <<'BATS'
TEST "one of FILE" {
    sleep 0.2
}
TEST "two of FILE" {
    [[ $BATS_TEST_NAME != *3 ]] || { echo "it is $BATS_TEST_NAME"; false; }
}
BATS
    done
    TESTS=$PWD/tests B=$PWD/build run "$ROOT/tools/run-tests.sh" live
    exits 1
    ends_with "9 passed, 1 failed, 0 skipped"
    [[ $output == *"FAIL live: two of 3"*"it is test_two_of_3"* ]] || fail "$output"
    [ -z "$(find build/test-logs -name 'queue*' -o -name 'patient*' -o -name 'pipe*')" ] || fail "$(ls build/test-logs)"
}

@test "a build that fails ends the tests beside it" {
    mkdir -p tests/live build
    sed 's/^TEST/@test/' >tests/live/a.bats <<'BATS'
TEST "long" {
    echo $BASHPID >"$LONG"
    exec sleep 987
}
BATS
    # shellcheck disable=SC2016  # for the command
    LONG=$PWD/long TESTS=$PWD/tests B=$PWD/build run timeout "$(patience 60)" \
        "$ROOT/tools/run-tests.sh" first bash -c 'until [ -s "$LONG" ]; do sleep 0.1; done; exit 1'
    exits 1
    [[ $output == *"the build failed: bash"* ]] || fail "$output"
    ends() { ! kill -0 "$(cat long)"; }
    wait_until 20 ends
}

@test "a second chance comes when the build beside it is done" {
    mkdir -p tests/live tests/cli build
    sed 's/^TEST/@test/' >tests/live/a.bats <<'BATS'
TEST "needs quiet" { [ ! -e "$BUILDING" ]; }
BATS
    touch building
    # shellcheck disable=SC2016  # for the command
    BUILDING=$PWD/building TESTS=$PWD/tests B=$PWD/build run timeout "$(patience 60)" \
        "$ROOT/tools/run-tests.sh" first bash -c 'sleep 3; rm "$BUILDING"'
    [[ $output == *"passed by itself, not beside the others: needs quiet"* ]] || fail "$output"
}

@test "the rest: what was skipped runs once more, and what was left out; the counts are those of both runs" {
    local suite
    mkdir -p tests/live tests/cli build/sanitize tools
    cp "$ROOT/tools/run-tests.sh" tools/
    for suite in golden fuzz; do # others' scripts, with one test each
        printf '#!/bin/sh\necho 1..1\necho "ok 1 %s"\n' $suite >tools/$suite.sh
        chmod +x tools/$suite.sh
    done
    sed 's/^TEST/@test/' >tests/live/a.bats <<'BATS'
TEST "steady" { echo ran >>"$RAN"; }
TEST "needs (a.b)" { [ -e "$TOOL" ] || skip "no tool"; }
TEST "needs more" { skip "never there"; }
BATS
    sed 's/^TEST/@test/' >tests/cli/a.bats <<'BATS'
TEST "both builds" { echo "${KELVIN_SANITIZED:-0}" >>"$RAN.cli"; }
BATS
    export RAN=$PWD/ran TOOL=$PWD/tool B=build
    run tools/run-tests.sh rest touch built
    exits 1
    [[ $output == *"nothing ran before"* ]] || fail "$output"
    run tools/run-tests.sh cli live
    exits 0
    ends_with "2 passed, 0 failed, 2 skipped"
    echo '1..0' >build/test-logs/unit.tap
    touch tool
    run tools/run-tests.sh rest touch built
    exits 0
    ends_with "6 passed, 0 failed, 1 skipped" # steady, needs (a.b), both builds twice, golden, fuzz
    [ "$(cat ran)" = ran ] || fail "ran again: $(cat ran)"
    [ "$(sort ran.cli | paste -sd' ')" = "0 1" ] || fail "$(cat ran.cli)"
    [ -e built ] || fail "the command did not run"
}

@test "CI runs in the clone where no bare root can be made, and says so" {
    mkdir -p clone/.ci clone/tools bin
    cp "$ROOT/.ci/run" clone/.ci/
    printf '#!/bin/sh\necho "fresh: debootstrap is missing" >&2\nexit 77\n' >clone/tools/fresh.sh
    # shellcheck disable=SC2016  # for the script
    printf '#!/bin/sh\necho "made $* in $PWD"\n[ "$1" != check-rest ] || echo "3 passed, 0 failed, 0 skipped"\n' >bin/make
    chmod +x clone/tools/fresh.sh bin/make
    PATH=$PWD/bin:$PATH run clone/.ci/run
    exits 0
    [[ $output == *"no bare root can be made here"*"made demo in $PWD/clone"*"made check in $PWD/clone"*"made check-rest in $PWD/clone"*"made lint in $PWD/clone"* ]] || fail "$output"
    ends_with "3 passed, 0 failed, 0 skipped"
}
