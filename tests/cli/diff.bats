#!/usr/bin/env bats
# What changed between profiles: proven or not, refused where unlike, the same in every format.

# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# A perf script with A samples in f and B in g0 to g3, dealt out evenly in time.
script() { # A B [SUFFIX [EVENT [LEAF]]]
    awk -v a="$1" -v b="$2" -v suffix="${3-}" -v event="${4-cpu-clock}" -v leaf="${5-}" 'BEGIN {
        n = a + b
        for (i = 0; i < n; i++) {
            f = int((i + 1) * a / n) > int(i * a / n)
            printf "app 1 %d.%06d: 1000000 %s:\n", i / 1000, i % 1000 * 1000, event
            if (leaf != "" && i % 10 == 0)
                printf "\tffffffff81000000 %s ([kernel.kallsyms])\n", leaf
            printf "\t1000 %s (/bin/app)\n\t2000 main (/bin/app)\n\n", f ? "f" suffix : "g" n_g++ % 4
        }
    }'
}

@test "a function that costs twice as much is proven, and only it" {
    script 400 600 >before
    script 800 600 >after
    kelvin diff before after
    exits 0
    [[ $output == "  Verdict: regressed: CPU 1.000 s -> 1.400 s (+40.0%); 'f' 0.400 s -> 0.800 s (+100.0%)."* ]]
    [[ $output == *"intervals cover sampling error, not run-to-run variation"* ]]
    [[ $output =~ \*\ *\+100\.0%\ .*0\.4000\ s\ *0\.8000\ s\ *\+17\.14\ .*\ f ]]
    [[ $output != *"Shrank"* ]] # the shares of the others fell, not what they cost
    [ "$(grep -c '^ *\* ' <<<"$output")" = 3 ] # self, total, and its path
    kelvin diff after before
    exits 0
    [[ $output == "  Verdict: improved: CPU 1.400 s -> 1.000 s (-28.6%); 'f' 0.800 s -> 0.400 s (-50.0%)."* ]]
}

@test "a small change is shown and not proven" {
    script 400 600 >before
    script 410 590 >after
    kelvin diff before after
    exits 0
    [[ $output == "  Verdict: inconclusive: "* ]]
    [[ $output =~ \+1\.00\ .*\ f ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
}

@test "one run a side gives no verdict on what runs of one program may differ by" {
    script 4000 6000 >before
    script 4400 6000 >after
    kelvin diff before after
    exits 0
    [[ $output == "  Verdict: inconclusive: CPU 10.00 s -> 10.40 s"*"between two runs of the same"*"program"* ]]
    [[ $output =~ \+10\.0%\ .*\ f ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
}

@test "many samples of the same are unchanged" {
    script 40000 60000 >before
    kelvin diff before before
    exits 0
    [[ $output == "  Verdict: unchanged: "* || $output == "  Verdict: inconclusive: "* ]]
    script 40010 60000 >after
    kelvin diff before after
    exits 0
    [[ $output == "  Verdict: unchanged: CPU 100.0 s -> 100.0 s"*"every share is the same within 1 point."* ]]
}

@test "what compilers append to names makes no difference" {
    script 400 600 >before
    script 400 600 .isra.0 >after
    kelvin diff before after --format json
    exits 0
    [[ $output != *isra* ]]
    [ "$(jq '.functions | length' <<<"$output")" = 6 ]
}

@test "functions of one side only are shown as not seen on the other, not as new or gone" {
    script 400 600 >before
    script 800 600 _two >after
    kelvin diff before after
    exits 0
    [[ $output == *"f_two (not seen before)"* && $output == *"f (not seen after)"* ]]
    [[ $output != *gone* && $output != *"is new"* && $output != *"(new)"* ]] || fail "$output"
    [[ $output == "  Verdict: regressed: CPU 1.000 s -> 1.400 s"* ]]
}

# f calls inner, which does all the work; and eight samples in a function of the kernel.
called() { # N KERNEL
    awk -v n="$1" -v kernel="$2" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "app 1 %d.%06d: 1000000 cpu-clock:\n", i / 1000, i % 1000 * 1000
            if (i % 100 == 50)
                printf "\tffffffff81000000 %s ([kernel.kallsyms])\n", kernel
            printf "\t3000 inner (/bin/app)\n\t1000 f (/bin/app)\n\t2000 main (/bin/app)\n\n"
        }
    }'
}

@test "a function that only calls others now is not gone, nor is one that had a few samples" {
    script 800 100 >before
    called 800 rare >after
    kelvin diff before after
    exits 0
    [[ $output =~ \*\ -100\.0%\ .*\ f$'\n' ]] || fail "$output"
    [[ $output != *"f (not seen after)"* && $output != *"'f' was not seen"* && $output == *"inner (not seen before)"* ]] || fail "$output"
    [[ $output != *"rare (not seen"* ]] || fail "$output"
}

@test "a function that only has another name is possibly renamed, neither new nor an improvement" {
    script 4000 6000 >before
    script 4000 6000 _two >after
    kelvin diff before after
    exits 0
    [[ $output != *"Verdict: improved"* && $output != *"Verdict: regressed"* ]]
    [[ $output == *"Possibly renamed"*" f "*"f_two"* ]]
    [[ $output != *"(not seen"* ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
    kelvin diff before after --format json
    [ "$(jq -r '.functions[] | select(.name == "f") | .possibly_renamed' <<<"$output")" = f_two ]
}

@test "a function that is most of the program and got slower is among those that grew" {
    local i
    for i in 1 2 3 4 5; do
        script $((9700 + 7 * i)) 300 >before$i
        script $((12000 + 9 * i)) $((300 + i)) >after$i
    done
    kelvin diff --before before{1..5} --after after{1..5}
    exits 0
    [[ $output == "  Verdict: regressed: CPU 10.02 s -> 12.33 s (+23.0%,"*"'f' 9.72 s -> 12.03 s (+23.7%)."* ]]
    [[ $output =~ Grew,\ self[^G]*\*\ \+23\.7%[^G]*\ f ]]
    [[ $output != *"Shrank"*" f"* && $output != *" cause"* ]]
    [[ $output == *"Detectable growth"*": CPU time "*"%, 'f' "*"%, '"*"%."* ]] || fail "$output"
    kelvin diff --before before{1..5} --after after{1..5} --format json
    jq -e '[.functions[].self | select(.p) | .detectable] | length > 1 and all(. > 0.02)' <<<"$output"
    kelvin diff before1 after1
    [[ $output != *"Detectable"* ]]
}

@test "what only a doubling would show is a plain number of percent" {
    local i
    for i in 1 2 3 4 5; do
        script 1000 $((4 + 5 * i)) >before$i
        script 1001 $((5 + 5 * i)) >after$i
    done
    kelvin diff --before before{1..5} --after after{1..5}
    exits 0
    [[ $output =~ Detectable.*\ [1-9][0-9][0-9]%[,.] ]] || fail "$output"
}

@test "runs of one program are unchanged, and a band can be given" {
    local i
    for i in 1 2 3 4 5; do
        script $((4000 + 13 * i)) $((6000 + 7 * i)) >before$i
        script $((4000 + 11 * i)) $((6000 + 9 * i)) >after$i
    done
    kelvin diff --before before{1..5} --after after{1..5}
    exits 0
    [[ $output == "  Verdict: unchanged: CPU 10.06 s -> 10.06 s (+0.0%,"*"that count as no change"* ]]
    kelvin diff --before before{1..5} --after after{1..5} --band 0.1
    exits 0
    [[ $output == "  Verdict: inconclusive: "* ]]
}

@test "the band that is given is what counts as no change, also where it is a wide one" {
    local i
    for i in 1 2 3 4 5; do
        script $((4000 + 13 * i)) $((6000 + 7 * i)) >before$i
        script $((4300 + 11 * i)) $((6500 + 9 * i)) >after$i
    done
    kelvin diff --before before{1..5} --after after{1..5} --band 20
    exits 0
    [[ $output == "  Verdict: unchanged: "* && $(tr -s ' \n' ' ' <<<"$output") == *" is within the 20% that count as no change"* ]] ||
        fail "$output"
    kelvin diff --before before{1..5} --after after{1..5} --band 5
    exits 0
    [[ $output == "  Verdict: regressed: "* ]] || fail "$output"
}

@test "a module with names on one side only makes no improvement" {
    script 4000 6000 >before
    sed 's/\t1000 f (/\t1000 [unknown] (/; s/\t2000 main/\t2000 [unknown]/; s/\t1000 g[0-9]/\t1000 [unknown]/' before >after
    kelvin diff before after
    exits 0
    [[ $output == "  Verdict: inconclusive: CPU 10.00 s -> 10.00 s (+0.0%); app has no function names after, so"* ]]
    [[ $output != *"(not seen"* ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
}

@test "several runs per side are tested by their scatter, and the smallest p is said" {
    local i
    for i in 1 2 3 4 5; do
        script $((400 + i)) 600 >before$i
        script $((500 + i)) 600 >after$i
    done
    kelvin diff --before before1 before2 before3 before4 before5 --after after{1..5} --format json
    exits 0
    [ "$(jq -c '[.functions[] | select(.self.proven) | .name]' <<<"$output")" = '["f"]' ]
    [[ $(jq .smallest_p <<<"$output") == 0.0079* ]]
    [ "$(jq -r .verdict <<<"$output")" = regressed ]
    kelvin diff --before before1 before2 before3 --after after1 after2 after3
    exits 0
    [[ $output == *"too few to prove anything"* ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
}

@test "one recording twice is not two runs, by another path, on both sides or copied" {
    local i
    for i in 1 2 3 4; do
        script $((400 + i)) 600 >before$i
        script $((500 + i)) 600 >after$i
    done
    ln -s before1 link
    mkdir folder
    kelvin diff --before before1 before2 before3 folder/../before1 --after after{1..4}
    exits 1
    [[ $stderr == *"'before1' and 'before1' are the same recording, not two runs; --force"* ]] || fail "$stderr"
    kelvin diff --before before{1..4} --after after{1..3} link
    exits 1
    [[ $stderr == *"'before1' and 'link' are the same recording"* ]] || fail "$stderr"
    kelvin diff --force --before before1 before1 before1 before1 --after after{1..4}
    exits 0
    [[ $output == *"Compared anyway: 'before1' and 'before1' are the same recording, not two runs."* ]] || fail "$output"
    kelvin diff --before before{1..4} --after after{1..4} # alike is not the same
    exits 0
    [[ $output != *"same recording"* ]] || fail "$output"
    cp "$BATS_TEST_DIRNAME/../golden/views/input/scopes.kelvin" copy.kelvin
    kelvin diff --scopes --before "$BATS_TEST_DIRNAME/../golden/views/input/scopes.kelvin" --after copy.kelvin "$BATS_TEST_DIRNAME/../golden/views/input/scopes2.kelvin"
    exits 1
    [[ $stderr == *"'scopes.kelvin' and 'copy.kelvin' are the same recording"* ]] || fail "$stderr"
}

@test "a fact that some of the runs share says how many" {
    script 400 600 >before1
    script 400 600 >before2
    script 401 600 >before3
    script 500 600 >after1
    script 500 600 >after2
    kelvin diff --before before{1..3} --after after{1,2} --width 200
    exits 0
    [[ $output =~ \ samples\ +"1000 (2 runs); 1001"\ +1100$'\n' ]] || fail "$output"
}

@test "runs that differ among themselves prove nothing" {
    local i
    for i in 1 2 3 4 5; do
        script $((300 + 60 * i)) 600 >before$i
        script $((320 + 60 * i)) 600 >after$i
    done
    kelvin diff --before before{1..5} --after after{1..5}
    exits 0
    [[ $output == "  Verdict: inconclusive: "* ]]
    if grep -q '^ *\* ' <<<"$output"; then fail "$output"; fi
}

@test "unlike profiles are refused, with --force the output says so" {
    script 400 600 >before
    script 400 600 "" cycles >after
    kelvin diff before after
    exits 1
    [[ $stderr == *"cannot be compared"*"cpu-clock"*"cycles"*"--force"* ]]
    kelvin diff before after --force
    exits 0
    [[ $output == *"Compared anyway: "*"cpu-clock"* ]]
    kelvin diff before after --force -o out.svg
    exits 0
    grep -q 'compared anyway: ' out.svg
}

@test "a profile without the kernel is not compared with one that has it" {
    script 400 600 "" cpu-clock do_syscall_64 >with
    script 400 600 "" cpu-clock:u >without
    kelvin diff with without
    exits 1
    complains "cannot be compared" cpu-clock:u --force
    kelvin diff with with
    exits 0
}

@test "the drawing is well-formed, red and blue where proven, and the same each time" {
    script 400 600 >before
    script 800 600 >after
    kelvin diff before after -o out.svg
    exits 0
    xmllint --noout out.svg
    grep -q 'class="kc[0-9]*"><title>f (total 40.00% to 57.14%, +17.14 points' out.svg
    grep -q 'class="k[a-z][0-9]*"><title>g0 (total 15.00% to 10.71%, -4.29 points.*not proven' out.svg
    kelvin diff after before -o back.svg
    grep -q 'class="kh[0-9]*"><title>f (total 57.14% to 40.00%, -17.14 points' back.svg
    kelvin diff before after -o again.svg
    cmp out.svg again.svg
    kelvin diff before before -o same.svg
    ! grep -q 'class="k[ch][0-9]*"><title>' same.svg
}

@test "a frame whose own share is proven to have grown is red, though what it calls is as it was" {
    for n in 60 500; do
        python3 - "$n" <<'PY' >"own$n"
import sys
n, t = int(sys.argv[1]), 0
for i in range(4000):
    stack = ["f", "main"] if i % 4000 < n else ["callee%d" % (i % 5), "f", "main"] if i < 2500 else ["other%d" % (i % 7), "main"]
    t += 1
    print("t 1/1 [000] %d.%06d: 1000000 cpu-clock:" % (t // 1000, t % 1000 * 1000))
    for k, name in enumerate(stack):
        print("\t%x %s+0x1 (/bin/t)" % (0x1000 + k, name))
    print()
PY
    done
    kelvin diff own60 own500 -o out.svg
    grep -q '><title>f (total [^;]*, not proven; self [^;]*)' out.svg || fail "$(grep -o '<title>f ([^<]*' out.svg)"
    ! grep -q '><title>f (total .* not proven; self .*not proven)' out.svg || fail "$(grep -o '<title>f ([^<]*' out.svg)"
    grep -q 'class="kc[0-9]*"><title>f (' out.svg || fail "$(grep -o 'class="[^"]*"><title>f ([^<]*' out.svg)"
}

@test "the HTML page holds verdict, lists, both sides' origin and the drawing, and needs nothing" {
    script 400 600 >before
    script 800 600 >after
    kelvin diff before after -o out.html
    [[ $stderr == "kelvin: "*": "* ]] || fail "no verdict: $stderr"
    exits 0
    grep -q '<h1>Difference: regressed</h1>' out.html
    grep -q '>Grew, self<' out.html
    grep -q '>Paths that grew<' out.html
    grep -q '<td>file</td><td class="n">before</td><td class="n">after</td>' out.html
    [ "$(grep -c '<svg' out.html)" = 1 ]
    ! grep -Eq '(src|href)="?(http|//)' out.html
}

@test "names cannot reach into a page or the terminal" {
    script 400 600 $'<b>\x1b[31m' >before
    script 800 600 $'<b>\x1b[31m' >after
    kelvin diff before after --format html
    exits 0
    [[ $output != *'f<b>'* && $output == *'f&lt;b&gt;'* ]]
    kelvin diff before after
    exits 0
    [[ $output != *$'\x1b'* ]]
}

@test "markdown has a table that can be pasted" {
    script 400 600 >before
    script 800 600 >after
    kelvin diff before after --format md
    exits 0
    [[ $output == *'| \* +100.0% |'*'| 0.4000 s | 0.8000 s | +17.14 |'*' f |'* ]]
}

@test "counts that are not known to be samples are compared but not tested" {
    printf 'main;f 4\nmain;g 6\n' >before.folded
    printf 'main;f 6\nmain;g 4\n' >after.folded
    kelvin diff before.folded after.folded
    exits 0
    [[ $output == "  Verdict: inconclusive: the number of samples is not recorded"* ]]
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

@test "what is no profile is told, and the output stays as it was" {
    script 4 6 >one
    head -c 5000 /dev/urandom >noise
    echo old >out.svg
    kelvin diff one noise -o out.svg
    exits 5
    complains noise
    [ "$(cat out.svg)" = old ]
    kelvin diff one one --format pdf
    exits 1
}

@test "a handful of samples proves nothing and breaks nothing" {
    script 1 0 >one
    script 0 1 >other
    kelvin diff one other --min-share 0
    exits 0
    [[ $output == "  Verdict: inconclusive: "* ]]
    kelvin diff one other -o out.svg
    exits 0
    xmllint --noout out.svg
    kelvin diff --before one one --after other other other --format json
    exits 1
    kelvin diff --force --before one one --after other other other --format json
    exits 0
    jq -e . <<<"$output" >/dev/null
}

@test "a stack of many thousand functions takes no more than its share of time" {
    awk 'BEGIN {
        for (s = 0; s < 8; s++) {
            printf "app 1 %d.000000: 1 cpu-clock:\n", s
            for (i = 0; i < 20000; i++)
                printf "\t%x f%d (/bin/app)\n", 4096 + i, i
            print ""
        }
    }' >deep
    kelvin diff deep deep --format json
    exits 0
    [ "$(jq '.paths | length' <<<"$output")" = 20000 ]
    [ "$(jq '.paths[1].caller' <<<"$output")" = 1 ]
}

@test "lines are compared by --by line, and places of a heap by --by place" {
    cat >lines.py <<'END'
import json, sys
frames = [{"name": n, "file": f"/{sys.argv[1]}/a.c", "line": l} for n, l in [("main", 1), ("work", 10), ("work", 11)]]
n = int(sys.argv[2])
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": frames},
                  "profiles": [{"type": "sampled", "name": "t", "unit": "none", "startValue": 0, "endValue": 5000,
                                "samples": [[0, 1]] * n + [[0, 2]] * (5000 - n), "weights": [1] * 5000}]}))
END
    python3 lines.py x 4000 >a.json
    python3 lines.py y 1000 >b.json
    kelvin diff a.json b.json --by line
    exits 0
    [[ $output == *"a.c:10"* && $output == *"a.c:11"* && $output == *"lines with a share of"* ]] || fail "$output"
    kelvin diff a.json b.json
    [[ $output != *"a.c:10"* ]] || fail "$output"
    kelvin diff a.json b.json --by place
    exits 1
    complains "--by place compares allocations"
}
