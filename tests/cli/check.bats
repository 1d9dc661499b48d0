# Rules held against profiles: verdicts, exit codes, every format, every error at once; growth.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# N samples of perf script, a millisecond apart, that take turns: LEAF times COUNT out of ten.
profile() { # N LEAF COUNT LEAF COUNT...
    local n=$1
    shift
    awk -v n="$n" -v parts="$*" 'BEGIN {
        k = split(parts, p, " ")
        for (i = 1; i < k; i += 2)
            for (j = 0; j < p[i + 1]; j++)
                turn[turns++] = p[i]
        for (i = 0; i < n; i++)
            printf "app 1/1 %.6f: 1000000 cpu-clock:\n\t1 %s (/bin/app)\n\t2 main (/bin/app)\n\n",
                1 + i / 1000, turn[(i * 7) % turns]
    }'
}

has() { [[ $output == *"$1"* ]] || fail "no '$1' in: $output"; }

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    profile 1000 hot 6 warm 3 cold 1 >app.txt
}

@test "rules that pass: exit 0 and a line each" {
    printf '# as designed\nsamples >= 200\ntotal main >= 99%%\nself hot 50..60%% tolerance 5\npresent cold\nabsent malloc\n' >perf.rules
    kelvin check app.txt perf.rules
    exits 0
    [ -z "$stderr" ]
    has "Check of app.txt by perf.rules: passed"
    [[ $output =~ passed\ +4\ +self\ hot\ 50..60%\ tolerance\ 5\ +60.0%\ ±[0-9] ]] || fail "$output"
    has "5 passed, 0 failed, 0 inconclusive."
}

@test "a rule that fails: exit 3, with its evidence, even when others are inconclusive" {
    printf 'self cold <= 5%%\nself cold <= 10%%\nlost <= 1%%\n' >perf.rules
    kelvin check app.txt perf.rules
    exits 3
    has "FAILED"
    has "line 1 failed: self cold <= 5%"
    has "is outside the expected range, at most 5%"
    has "line 2 is inconclusive"
    has "does not say how many samples were lost"
}

@test "too few samples for a verdict: exit 4, and what would give one" {
    profile 100 hot 6 warm 3 cold 1 >few.txt
    echo 'self hot <= 65%' >perf.rules
    kelvin check few.txt perf.rules
    exits 4
    has "times as many samples would decide"
    kelvin check app.txt perf.rules
    exits 0
}

@test "without a number of samples no share is judged" {
    printf 'main;a 90\nmain;b 10\n' >plain.folded
    echo 'self a >= 50%' >perf.rules
    kelvin check plain.folded perf.rules
    exits 4
    has "does not say how many samples it has"
}

@test "errors in rules: all of them, each with its place, and nothing is run" {
    printf 'samples >= 200\nself hot <= 5\n  totall x\nself "a b <= 5%%\n' >bad.rules
    kelvin check no-such-profile bad.rules -o out.txt
    exits 1
    [ -z "$output" ]
    [ "$(wc -l <<<"$stderr")" -eq 3 ] || fail "$stderr"
    [[ $stderr == *"kelvin: bad.rules:2:14: a share is in %"* ]] || fail "$stderr"
    [[ $stderr == *"kelvin: bad.rules:3:3: no rule starts with 'totall'"* ]] || fail "$stderr"
    [[ $stderr == *"kelvin: bad.rules:4:6: the quotes that start here do not end"* ]] || fail "$stderr"
    no_file out.txt
}

@test "functions that are not there: all are told with the nearest names" {
    printf 'self htt <= 5%%\nself hot <= 90%%\nself coold <= 5%%\n' >bad.rules
    kelvin check app.txt bad.rules
    exits 1
    [ "$(wc -l <<<"$stderr")" -eq 2 ] || fail "$stderr"
    [[ $stderr == *"bad.rules:1:6: no function 'htt'"*"'hot'"* ]] || fail "$stderr"
    [[ $stderr == *"bad.rules:3:6: no function 'coold'"*"'cold'"* ]] || fail "$stderr"
}

@test "what is no rules file is one sentence" {
    kelvin check app.txt "$KELVIN"
    exits 1
    complains "not text"
    : >empty.rules
    kelvin check app.txt empty.rules
    exits 1
    complains "empty.rules:1:1: there are no rules in it"
    kelvin check app.txt none.rules
    exits 1
    complains "cannot open 'none.rules'"
    kelvin check app.txt
    exits 1
    complains "name a profile and a file of rules"
}

@test "a profile that cannot be read is an input error, as everywhere" {
    echo 'samples >= 1' >perf.rules
    printf 'nonsense\001\002' >bad
    kelvin check bad perf.rules
    exits 5
}

@test "changes against another profile" {
    profile 4000 hot 6 warm 3 cold 1 >before.txt
    profile 4000 hot 1 warm 3 cold 6 >after.txt
    printf 'diff self cold <= +50%%\ndiff self cold <= +60 points\ndiff total main -1..+1%%\n' >diff.rules
    kelvin check after.txt diff.rules --against before.txt
    exits 3
    has "line 1 failed"
    has "400 ms (10.0%) before, 2.4 s (60.0%) now"
    has "2 passed, 1 failed"
    has "one run per side"
    kelvin check after.txt diff.rules
    exits 1
    [ "$(grep -c 'compares with another profile' <<<"$stderr")" -eq 3 ] && [[ $stderr == *--against* ]] || fail "$stderr"
}

@test "the same share of a run that takes four times as long is four times the cost, and fails" {
    profile 4000 hot 6 warm 3 cold 1 >before.txt
    profile 16000 hot 6 warm 3 cold 1 >after.txt
    echo 'diff self hot <= +10%' >diff.rules
    kelvin check after.txt diff.rules --against before.txt
    exits 3
    has "2.4 s (60.0%) before, 9.6 s (60.0%) now"
    # What two runs of one program may differ by decides nothing: all of it twice as slow.
    profile 8000 hot 6 warm 3 cold 1 >after.txt
    kelvin check after.txt diff.rules --against before.txt
    exits 4
    has "widened to"
    # Nor may a machine twice as fast hide what grew by half next to the rest.
    profile 2000 hot 9 warm 1 cold 1 >after.txt
    echo 'diff self hot <= +5%' >hidden.rules
    kelvin check after.txt hidden.rules --against before.txt
    exits 4
    profile 4600 hot 6 warm 3 cold 1 >after.txt
    echo 'diff self hot <= +30%' >diff.rules
    kelvin check after.txt diff.rules --against before.txt
    exits 0
}

@test "check and diff have one interval for one change" {
    profile 400 hot 6 warm 3 cold 1 >before.txt
    profile 440 hot 5 warm 3 cold 2 >after.txt
    printf 'diff self %s <= +5%%\n' hot warm cold >diff.rules
    kelvin check after.txt diff.rules --against before.txt --width 200
    local checked=$output name interval
    kelvin diff before.txt after.txt --width 200
    for name in hot warm cold; do
        interval=$(sed -n "s/.*diff self $name <= +5% .*(\(.* to .*%\))$/\1/p" <<<"$checked")
        [ -n "$interval" ] || fail "$checked"
        sed -n '/, self$/,/, total$/p' <<<"$output" | grep -F -- " $interval " | grep -q "$name$" || fail "$name: $interval $output"
    done
    [[ $checked == *"widened to"*"for run-to-run variation"* ]] || fail "$checked"
}

@test "a recording is not compared with itself, which would keep every rule on changes" {
    [ -s app.txt ]
    echo 'diff self hot <= +20%' >change.rules
    ln -s app.txt base.txt
    kelvin check app.txt change.rules --against base.txt
    exits 1
    complains "'app.txt' and 'base.txt' are the same recording"
    kelvin check app.txt change.rules --against base.txt --force
    has "compared anyway: 'app.txt' and 'base.txt' are the same recording"
}

@test "unlike profiles are refused, and with --force said to be unlike" {
    sed s/cpu-clock/cycles/ app.txt >cycles.txt
    echo 'diff self cold <= +50%' >diff.rules
    kelvin check app.txt diff.rules --against cycles.txt
    exits 1
    complains "cannot be compared" "--force"
    kelvin check app.txt diff.rules --against cycles.txt --force
    has "compared anyway: the event differs"
}

@test "code that cannot be read is no verdict" {
    echo 'simd hot packed >= 80%' >simd.rules
    kelvin check app.txt simd.rules
    exits 4
    has "its code cannot be read"
}

@test "JSON has numbers, JUnit is well-formed, both name every rule" {
    printf 'self cold <= 5%%\nself cold <= 10%%\npresent "a <b> & \\"c\\""\nsamples >= 5\n' >perf.rules
    kelvin check app.txt perf.rules --format json
    exits 3
    echo "$output" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert (d["verdict"], d["passed"], d["failed"], d["inconclusive"]) == ("failed", 1, 2, 1), d
r = d["results"][0]
assert r["verdict"] == "failed" and r["line"] == 1 and r["unit"] == "share", r
assert abs(r["value"] - 0.1) < 0.001 and r["interval"]["low"] < 0.1 < r["interval"]["high"], r' || fail "$output"
    kelvin check app.txt perf.rules -o check.xml
    exits 3
    [ -x "$(command -v xmllint)" ] || skip "no xmllint here"
    xmllint --noout check.xml || fail "$(cat check.xml)"
    [ "$(xmllint --xpath 'count(//testcase)' check.xml)" = 4 ]
    [ "$(xmllint --xpath 'string(/testsuites/@failures)' check.xml)" = 2 ]
    [ "$(xmllint --xpath 'count(//failure)' check.xml)" = 2 ]
    [ "$(xmllint --xpath 'count(//skipped)' check.xml)" = 1 ]
    [ "$(xmllint --xpath 'string(//testcase[3]/@name)' check.xml)" = 'present "a <b> & \"c\""' ]
}

@test "markdown can be pasted; names cannot reach into terminal or markdown" {
    sed 's/hot/e\x1b[31m|vil/' app.txt >evil.txt
    printf 'absent vil\nself cold <= 5%%\n' >perf.rules
    kelvin check evil.txt perf.rules
    [[ $output != *$'\033'* ]] || fail "an escape in: $output"
    kelvin check app.txt perf.rules --format md
    exits 3
    has '# Check of app.txt by perf.rules: failed'
    has '| FAILED | 2 | self cold \<= 5% |'
}

@test "growth: a table, exponents with intervals, rules about them" {
    profile 400 linear 10 >a.txt
    profile 40 square 10 >>a.txt
    profile 800 linear 10 >b.txt
    profile 160 square 10 >>b.txt
    profile 1600 linear 10 >c.txt
    profile 640 square 10 >>c.txt
    kelvin check --sizes 100,200,400 a.txt b.txt c.txt --value samples
    exits 0
    [[ $output =~ 2\.00\ +2\.18\ +1\.09 ]] || fail "$output"
    [[ $output =~ 28\.6%\ +16\.00\ +2\.00\ .*square ]] || fail "$output"
    # 40 samples at the smallest size know the exponent to a quarter, however straight the line is
    printf 'growth self square 1.7..2.3\ngrowth self square 1.9..2.1\ngrowth linear <= 1.1\ngrowth square <= 1.2\ngrowth total <= 3\n' >grow.rules
    kelvin check --sizes 100,200,400 a.txt b.txt c.txt grow.rules --value samples --format json
    exits 3
    echo "$output" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert [r["verdict"] for r in d["results"]] == ["passed", "inconclusive", "passed", "failed", "passed"], d["results"]
assert d["growth"]["sizes"] == [100, 200, 400]
assert d["growth"]["unit"] == "nanoseconds"
assert d["growth"]["whole"]["costs"] == [1e6 * n for n in (440, 960, 2240)]' || fail "$output"
    echo 'samples >= 2240' >largest.rules
    kelvin check --sizes 200,400,100 b.txt c.txt a.txt largest.rules
    exits 0
    has "Check of c.txt"
    kelvin check --sizes 100,400 a.txt c.txt grow.rules
    exits 4
    has "a third is needed"
    profile 900 once 10 >>c.txt
    kelvin check --sizes 100,200,400 a.txt b.txt c.txt --value samples
    [[ $output =~ %\ +-\ +-\ +-\ .*once ]] || fail "a ratio of one size: $output"
    kelvin check a.txt grow.rules
    exits 1
    [[ $stderr == *"name profiles of several sizes: --sizes N,N"* ]] || fail "$stderr"
}

@test "growth is that of nanoseconds: recordings of unlike rates give the same exponent" {
    profile 400 linear 10 >a.txt
    profile 80 linear 10 | sed 's/ 1000000 cpu-clock/ 10000000 cpu-clock/' >b.txt # twice as much at a tenth of the rate
    profile 1600 linear 10 >c.txt
    kelvin check --sizes 100,200,400 a.txt b.txt c.txt --format json
    exits 0
    [ "$(jq '.growth.whole.exponent * 1000 | round' <<<"$output")" = 1000 ] || fail "$output"
    kelvin check --sizes 100,200,400 a.txt b.txt c.txt --value samples
    exits 0
    has "Total cost ~ size^1.00 (1.00 to 1.00), closest to O(n) (off by x1.00)."
    sed 's/ cpu-clock:/ cycles:/' b.txt >other.txt
    kelvin check --sizes 100,200,400 a.txt other.txt c.txt
    exits 1
    complains "these profiles cannot be compared" "the event differs: 'cpu-clock' and 'cycles'"
}

@test "wrong sizes are told" {
    kelvin check --sizes 100,200 app.txt
    exits 1
    complains "2 sizes"
    kelvin check --sizes 100,x app.txt app.txt
    exits 1
    complains "'x' is not a size"
    kelvin check --sizes 100,100 app.txt app.txt
    exits 1
    complains "two different sizes"
    kelvin check --sizes 100,200 app.txt app.txt --format junit
    exits 1
    complains "a file of rules"
    kelvin check --sizes 100,200 app.txt app.txt
    exits 1
    complains "'app.txt' and 'app.txt' are the same recording"
}

@test "same profile, same rules, same bytes" {
    printf 'self cold <= 5%%\nsamples >= 5\n' >perf.rules
    for f in text md json junit; do
        kelvin check app.txt perf.rules --format $f -o one
        kelvin check app.txt perf.rules --format $f -o two
        cmp one two || fail "$f differs"
    done
}

@test "a report points to the command for scopes; commands about functions do not" {
    local in=$ROOT/tests/golden/views/input/scopes2.kelvin
    echo 'samples >= 1' >some.rules
    kelvin check "$in" some.rules --against "${in/scopes2/scopes}" --force
    exits 0
    [ -z "$stderr" ] || fail "$stderr"
    for how in fold simd "annotate matmul"; do
        # shellcheck disable=SC2086
        kelvin $how "$in"
        [[ $stderr != *"kelvin scopes"* ]] || fail "$how: $stderr"
    done
    kelvin report "$in"
    exits 0
    [ "$stderr" = "kelvin: 'kelvin scopes' shows the scopes in the input" ] || fail "$stderr"
}

@test "the rules that --help shows are lines of their own, none longer than a terminal is wide" {
    kelvin check --help
    exits 0
    has $'\n  growth matmul <= 1.2                 # its exponent over --sizes\n  peak <= 200 MiB'
    ! grep -E '^  [a-z].{78}' <<<"${output%%Options:*}" || fail "too long for a terminal"
}

@test "a C++ name stands for its overloads, and parameters where names have none are told" {
    printf 'main;mix(int) 60\nmain;mix(long) 40\n' >shown.folded
    printf 'main;mix 100\n' >bare.folded
    printf 'present mix\npresent mix(long)\n' >there.rules
    kelvin check shown.folded there.rules
    exits 0
    echo 'absent mix' >gone.rules
    kelvin check shown.folded gone.rules
    exits 3
    echo 'self mix(long) <= 50%' >one.rules
    kelvin check bare.folded one.rules
    exits 1
    [[ $stderr == *"one.rules:1:6: no function 'mix(long)' in the profile, where names have no parameters: 'mix' is all its overloads"* ]] ||
        fail "$stderr"
}
