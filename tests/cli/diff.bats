#!/usr/bin/env bats
# What changed between profiles: proven or not, refused where unlike, the same in every format.

# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# A perf script with A samples in f and B in g, dealt out evenly in time.
script() { # A B [SUFFIX [EVENT]]
    awk -v a="$1" -v b="$2" -v suffix="${3-}" -v event="${4-cpu-clock}" 'BEGIN {
        n = a + b
        for (i = 0; i < n; i++) {
            f = int((i + 1) * a / n) > int(i * a / n)
            printf "app 1 %d.%06d: 1000000 %s:\n", i / 1000, i % 1000 * 1000, event
            printf "\t1000 %s (/bin/app)\n\t2000 main (/bin/app)\n\n", f ? "f" suffix : "g"
        }
    }'
}

@test "a large change is proven, the verdict says what it rests on" {
    script 400 600 >before
    script 600 400 >after
    kelvin diff before after
    exits 0
    [[ $output == "Verdict: regressed: shares only: "* ]]
    [[ $output == *"sampling error only"* ]]
    [[ $output =~ \*\ *\+20\.00\ .*40\.00\ *60\.00\ .*\ f ]]
    [[ $output =~ \*\ *-20\.00\ .*\ g ]]
}

@test "a small change is shown and not proven" {
    script 400 600 >before
    script 410 590 >after
    kelvin diff before after
    exits 0
    [[ $output == "Verdict: inconclusive: "* ]]
    [[ $output =~ \+1\.00\ .*\ f ]]
    ! grep -q '^\*' <<<"$output"
}

@test "what compilers append to names makes no difference" {
    script 400 600 >before
    script 400 600 .isra.0 >after
    kelvin diff before after --format json
    exits 0
    [[ $output != *isra* ]]
    [ "$(jq '.functions | length' <<<"$output")" = 3 ]
}

@test "new and vanished functions are told" {
    script 400 600 >before
    script 400 600 _two >after
    kelvin diff before after
    exits 0
    [[ $output == *"f_two (new)"* && $output == *"f (gone)"* ]]
}

@test "several runs a side are tested by their scatter, and the smallest p is said" {
    local i
    for i in 1 2 3 4 5; do
        script $((400 + i)) 600 >before$i
        script $((500 + i)) 600 >after$i
    done
    kelvin diff --before before1 before2 before3 before4 before5 --after after{1..5} --format json
    exits 0
    [ "$(jq '.functions[] | select(.name == "f") | .self.proven' <<<"$output")" = true ]
    [[ $(jq .smallest_p <<<"$output") == 0.0079* ]]
    kelvin diff --before before1 before2 before3 --after after1 after2 after3
    exits 0
    [[ $output == *"too few to prove anything"* ]]
    ! grep -q '^\*' <<<"$output"
}

@test "unlike profiles are refused, with --force the output says so" {
    script 400 600 >before
    script 400 600 "" cycles >after
    kelvin diff before after
    exits 1
    [[ $stderr == *"do not compare"*"cpu-clock"*"cycles"*"--force"* ]]
    kelvin diff before after --force
    exits 0
    [[ $output == *"compared by force: "*"cpu-clock"* ]]
    kelvin diff before after --force -o out.svg
    exits 0
    grep -q 'compared by force: ' out.svg
}

@test "the drawing is well-formed, red and blue where proven, and the same each time" {
    script 400 600 >before
    script 600 400 >after
    kelvin diff before after -o out.svg
    exits 0
    xmllint --noout out.svg
    grep -q 'class="kc[0-9]*"><title>f (total 40.00% to 60.00%, +20.00 points' out.svg
    grep -q 'class="kh[0-9]*"><title>g (total 60.00% to 40.00%, -20.00 points' out.svg
    kelvin diff before after -o again.svg
    cmp out.svg again.svg
    kelvin diff before before -o same.svg
    ! grep -q 'class="k[ch][0-9]*"><title>' same.svg
}

@test "markdown has a table that can be pasted" {
    script 400 600 >before
    script 600 400 >after
    kelvin diff before after --format md
    exits 0
    [[ $output == *'| **+20.00** |'*'| 40.00 % | 60.00 % |'*'`f` |'* ]]
}

@test "counts that are not known to be samples are compared but not tested" {
    printf 'main;f 4\nmain;g 6\n' >before.folded
    printf 'main;f 6\nmain;g 4\n' >after.folded
    kelvin diff before.folded after.folded
    exits 0
    [[ $output == "Verdict: inconclusive: the number of samples is not recorded"* ]]
}

@test "wrong sides are told" {
    script 4 6 >one
    kelvin diff one
    exits 1
    [[ $stderr == *"two profiles"* ]]
    kelvin diff --before one
    exits 1
    [[ $stderr == *"no profile for after"* ]]
    kelvin diff one missing
    exits 1
}
