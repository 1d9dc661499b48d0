#!/usr/bin/env bats
# The page of a benchmark: the verdict first, what is compared on one axis, the user's names.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

measure() { # RUNS
    kelvin bench --runs "$1" --name old --name 'new & <b>' -o page.html 'sleep 0.02' 'sleep 0.12'
}

@test "bench page: the verdict comes first, in words, with the user's names" {
    measure 14
    local head=${BATS_TEST_TMPDIR}/head
    sed '/Results/,$d' page.html >"$head"
    grep -q '&#39;new &amp; &lt;b&gt;&#39; is .*% slower than &#39;old&#39;' "$head" || fail "$(cat "$head")"
    grep -q '<h1>old and new &amp; &lt;b&gt; compared</h1>' page.html || fail "$(grep '<h1' page.html)"
}

@test "bench page: what is compared stands on one axis, a row each" {
    measure 14
    [ "$(grep -c '<svg viewBox' page.html)" -eq 1 ] || fail "$(grep -c '<svg viewBox' page.html) drawings"
    grep -q '<tspan class="to">old</tspan>' page.html
    grep -q '<tspan class="tn">new &amp; &lt;b&gt;</tspan>' page.html
}

@test "bench page: below ten runs there are dots and no shapes" {
    measure 9
    [ "$(grep -c '<circle class="d[no]"' page.html)" -ge 10 ] || fail "no dots"
    run ! grep -qE '<path class="[no]"' page.html
    measure 10
    grep -qE '<path class="n"' page.html
}

@test "bench: with -o the verdict is printed on the terminal too" {
    measure 14
    [[ $stderr == *"'new & <b>' is "*" slower than 'old'"* ]] || fail "$stderr"
    kelvin bench --runs 14 --name old --name new true 'sleep 0.05'
    [[ $stderr != *slower* ]] || fail "told twice: $stderr"
}

@test "bench: where a number of runs was asked for, more runs are advised, not more time" {
    kelvin bench --runs 3 -o page.html -- true "true 1"
    [[ $stderr == *"give it more --runs"* ]] || fail "$stderr"
    [[ $stderr != *"more --time"* ]] || fail "$stderr"
}

@test "pages show the program without its arguments, unless asked for" {
    "$KELVIN" bench -q --runs 3 --save old 'true hunter2 a' 'true hunter2 b' >/dev/null
    "$KELVIN" bench -q --runs 3 --save new 'true hunter2 b' 'true hunter2 a' >/dev/null
    mkdir out
    for format in html md; do
        "$KELVIN" bench -q --runs 3 --against old --format $format -o out/against.$format 'true hunter2 a' 2>/dev/null
        "$KELVIN" bench --compare old new --format $format -o out/compare.$format 2>/dev/null
        "$KELVIN" bench -q --runs 3 --list n=1,2,3 --format $format -o out/sweep.$format 'true hunter2 {n}' 2>/dev/null
    done
    run ! grep -r hunter2 out
    grep -q 'true (2 arguments not shown) ..2' out/compare.md || fail "$(cat out/compare.md)"
    "$KELVIN" bench -q --runs 3 --arguments --format md 'true hunter2 a' 2>/dev/null | grep -q 'true hunter2 a'
    "$KELVIN" bench -q --runs 3 --name mine --format md 'true hunter2 a' 2>/dev/null | grep -q mine
    # Data keep the command: its name is the key by which sessions are compared.
    "$KELVIN" bench -q --runs 3 --format json 'true hunter2 a' 2>/dev/null | grep -q 'true hunter2 a'
}

@test "bench: on a terminal a broken gate is told once" {
    command -v script >/dev/null || skip "script is not installed"
    run script -qec "'$KELVIN' bench -q --runs 10 --max-regression 5% true 'sleep 0.05'" /dev/null
    [ "$(grep -c 'slower than' <<<"$output")" = 1 ] || fail "$output"
}
