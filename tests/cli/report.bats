# What a profile tells: text, markdown, JSON and HTML; callers; what cannot be answered is said.
load ../lib/helpers

make_profile() {
    cat >app.folded <<'EOF'
main;parse;malloc;_int_malloc 250
main;parse;read_line 150
main;walk;walk;walk;visit 300
main;write out 300
EOF
}

has() { [[ $output == *"$1"* ]] || fail "no '$1' in: $output"; }
has_not() { [[ $output != *"$1"* ]] || fail "'$1' in: $output"; }

@test "the report lists functions, paths and insights" {
    make_profile
    kelvin report app.folded --width 200
    exits 0
    has "Report on app.folded"
    has "The top 4 of 4 functions account for 100.0%"
    has "allocation: 25.0%"
    has "100% of that comes from parse"
    has "Hot paths"
    has "30.0%"
}

@test "a recursive function is never above its true share" {
    make_profile
    kelvin report app.folded --format json
    exits 0
    echo "$output" | python3 -c '
import json, sys
rows = {r["name"]: r for r in json.load(sys.stdin)["by_total"]}
assert rows["walk"]["total"]["share"] == 0.3, rows["walk"]
assert rows["walk"]["total_weight"] == 300, rows["walk"]
assert rows["main"]["total"]["share"] == 1' || fail "wrong shares"
}

@test "few samples are said to be few" {
    printf 'main;a 3\nmain;b 2\n' >few.folded
    kelvin report few.folded
    exits 0
    has "shares are rough"
}

@test "samples with times have intervals" {
    {
        for i in $(seq 1 40); do
            printf 'app 1/1 %d.%03d: 1000000 cpu-clock:\n\t1 a (/bin/app)\n\t2 main (/bin/app)\n\n' 1 "$((i * 2))"
            printf 'app 1/1 %d.%03d: 1000000 cpu-clock:\n\t3 b (/bin/app)\n\t2 main (/bin/app)\n\n' 1 "$((i * 2 + 1))"
        done
    } >s.txt
    kelvin report s.txt
    exits 0
    has "50.0% ±1"
    has "95% interval"
    has "few-samples: only 80 samples"
    kelvin report s.txt --by module
    exits 0
    has "100.0%"
    has "app"
    kelvin report s.txt --by thread
    exits 0
    has "app 1/1"
}

@test "callers and callees of a function" {
    make_profile
    kelvin report app.folded --callers malloc
    exits 0
    has "Self 0.0%. Total 25.0%."
    has "100.0%     25.0%  parse"
    has "100.0%     25.0%  _int_malloc"
    has_not "Hot paths"
}

@test "callers and hot paths have intervals where the number of samples is known" {
    for i in $(seq 1 100); do
        printf 'app 1/1 1.%03d: 1000000 cpu-clock:\n\t1 leaf (/bin/app)\n\t%d %s (/bin/app)\n\t9 main (/bin/app)\n\n' \
            "$i" $((i % 4 ? 2 : 3)) "$((i % 4 ? 1 : 2))_caller"
    done >s.txt
    kelvin report s.txt --callers leaf
    exits 0
    [[ $output =~ 75.0%\ +75.0%\ ±8.4\ +75\ ms\ +1_caller ]] || fail "$output"
    [[ $output =~ 25.0%\ +25.0%\ ±8.4\ +25\ ms\ +2_caller ]] || fail "$output"
    kelvin report s.txt
    [[ $output =~ 75.0%\ +±8.4\ +75\ ms\ +1_caller ]] || fail "$output"
    kelvin report s.txt --callers leaf --format json
    [[ $output == *'"name":"1_caller","total":{"share":0.75,"low":0.65'* ]] || fail "$output"
}

@test "the same name in several files is one function, and the row says in how many" {
    for i in $(seq 1 40); do
        printf 'app 1/1 1.%03d: 1000000 cpu-clock:\n\t1 init (/lib/lib%s.so)\n\t9 main (/bin/app)\n\n' \
            "$i" "$((i % 3))"
    done >s.txt
    kelvin report s.txt
    exits 0
    [[ $output =~ 100.0%\ \(91.2-100.0\)\ +40\ ms\ +100.0%\ \(91.2-100.0\)\ +40\ ms\ +40\ +init\ +lib1.so\ \+2 ]] || fail "$output"
    kelvin report s.txt --format json
    [[ $output == *'"modules":["lib1.so","lib2.so","lib0.so"]'* ]] || fail "$output"
}

@test "a hot frame in the middle of a chain is shown, with its self time" {
    {
        printf 'main;a;b;c;d;x;y;z;hottest 910\n'
        printf 'main;a;b;c;d;x;y;z;hottest;e;f;g;h;i;j;tail 50\n'
        printf 'main;a;b;c;d;x;y;z;hottest;e;f;g;h;i;j 40\n'
    } >chain.folded
    kelvin report chain.folded
    exits 0
    paths=${output#*Hot paths}
    [[ $paths =~ 100.0%\ +91.0%\ +→\ hottest ]] || fail "$paths"
    [[ $paths =~ 9.0%\ +4.0%\ +→\ j ]] || fail "$paths"
    [[ $paths == *"... "*" frames"* ]] || fail "nothing is folded: $paths"
}

@test "an unknown function: the nearest are named; an ambiguous one: all are listed" {
    make_profile
    kelvin report app.folded --callers wakl
    exits 1
    complains "did you mean: 'walk'"
    kelvin report app.folded --callers r
    exits 1
    complains "matches 3 functions"
    complains "read_line"
}

@test "colour only where asked for, and lines no wider than asked for" {
    make_profile
    kelvin report app.folded
    has_not $'\033'
    kelvin report app.folded --color always
    has $'\033['
    kelvin report app.folded --width 60
    exits 0
    while IFS= read -r line; do
        [ "${#line}" -le 60 ] || fail "too wide: $line"
    done <<<"$output"
}

@test "names cannot reach into the terminal, markdown or HTML" {
    printf 'main;evil\033[31m<script>alert(1)</script>|*x* 1000\n' >evil.folded
    kelvin report evil.folded
    exits 0
    has_not $'\033'
    kelvin report evil.folded --format html
    has_not "<script>alert"
    kelvin report evil.folded --format md
    has '\<script\>'
    has '\|\*x\*'
}

@test "the format follows the file's name; the HTML page holds the flame graph and needs nothing" {
    make_profile
    kelvin report app.folded -o r.html
    exits 0
    grep -q '<!DOCTYPE html>' r.html
    grep -q 'data-kelvin="flame"' r.html
    grep -q 'prefers-color-scheme:dark' r.html
    ! grep -Eq '(src|href)="?(https?:)?//' r.html || fail "the page needs others"
    kelvin report app.folded -o r.json
    python3 -m json.tool r.json >/dev/null || fail "not JSON"
    kelvin report app.folded -o r.md
    grep -q '^# Report on app.folded' r.md
    grep -q '^| *self' r.md
}

@test "one table has self and total, with the time that each stands for" {
    for i in $(seq 1 100); do
        printf 'app 1/1 1.%03d: 2000000 cpu-clock:\n\t1 %s (/bin/app)\n\t2 work (/bin/app)\n\t9 main (/bin/app)\n\n' \
            "$i" "$((i % 4 ? 1 : 2))_leaf"
    done >s.txt
    kelvin report s.txt --width 120
    exits 0
    [[ $output =~ 75.0%\ ±8.4\ +150\ ms\ +75.0%\ ±8.4\ +150\ ms\ +75\ +1_leaf ]] || fail "$output"
    kelvin report s.txt --top 1 --width 120
    [[ $output =~ 25.0%\ ±8.4\ +50\ ms\ +25.0%\ ±8.4\ +50\ ms\ +25\ +2_leaf ]] || fail "not there for its total: $output"
    has "Sorted by self time. The last row is here for its total time."
    has "2 pass-through functions (on nearly every stack, ~0 self) are hidden."
    kelvin report s.txt --by thread
    [[ $output =~ 100.0%\ \(96.3-100.0\)\ +200\ ms\ +100\ +app\ 1/1 ]] || fail "$output"
    printf 'main;a 3\nmain;b 2\n' >few.folded # counts are not known to be time
    kelvin report few.folded
    has_not " time  "
}

@test "several recordings: means, and intervals from how much they differ" {
    local r
    for r in 40 50 60; do
        for i in $(seq 1 100); do
            printf 'app 1/1 1.%03d: 1000000 cpu-clock:\n\t1 %s (/bin/app)\n\t9 main (/bin/app)\n\n' \
                "$i" "$([ $((i * 37 % 100)) -lt "$r" ] && echo hot || echo cold)"
        done >"$r.txt"
    done
    kelvin report 40.txt 50.txt 60.txt --width 120
    exits 0
    # 10 points between runs: 4.3 standard errors of 5.8 points, not the 5.7 of 300 samples
    [[ $output =~ 50.0%\ ±24.[0-9]\ +50\ ms\ +50.0%\ ±24.[0-9]\ +50\ ms\ +3\ of\ 3\ +hot ]] || fail "$output"
    has "covers run-to-run variation"
    kelvin report 40.txt 50.txt 60.txt --format json
    jq -e '.recordings == 3 and (.over_recordings[0].self.share - 0.5 | fabs) < 0.001' <<<"$output" || fail "$output"
    kelvin report 40.txt 60.txt --callers hot
    exits 1
    complains "one recording"
    kelvin report 40.txt 50.txt ./40.txt
    exits 1
    complains "cannot average these recordings: '40.txt' and '40.txt' are the same recording, not two runs"
    kelvin report 50.txt --width 120
    has "for this run"
}

@test "same profile, same bytes" {
    make_profile
    for f in text md json html; do
        kelvin report app.folded --format $f -o one
        kelvin report app.folded --format $f -o two
        cmp one two || fail "$f differs"
    done
}

# make_counted EVENT...: 20 samples of each event in 'hot', 100 each of cycles and as many as said of the others.
make_counted() {
    for event; do
        for i in {1..20}; do
            printf 'app 7 1.%06d: %d %s: \n\t    1000 hot+0x0 (/bin/app)\n\n' "$i" "${event#*=}" "${event%=*}"
        done
    done >counted.txt
}

@test "counters of the CPU are rates by function, and a hybrid CPU's kinds of cores are apart" {
    make_counted cycles=100 instructions=250 branch-misses=5
    kelvin report counted.txt --width 120
    exits 0
    has "Counters of the CPU"
    grep -Eq '^ +2\.50 ±[0-9.]+ +20\.0 ±[0-9.]+ +hot$' <<<"$output" || fail "$output"
    make_counted cpu_core/cycles/P=100 cpu_atom/cycles/P=100 cpu_core/instructions/P=400 cpu_atom/instructions/P=100
    kelvin report counted.txt --width 120
    exits 0
    has "Counters of the CPU: cpu_core"
    has "Counters of the CPU: cpu_atom"
    [ "$(grep -E '^ +[0-9.]+ ±[0-9.]+ +hot$' <<<"$output" | awk '{ print $1 }' | paste -sd ' ')" = "4.00 1.00" ] || fail "$output"
    kelvin report counted.txt --format json
    [ "$(jq -c '.counters | [.ipc.value, (.cores[] | [.core, .functions[0].ipc.value])]' <<<"$output")" = \
        '[2.5,["cpu_core",4],["cpu_atom",1]]' ] || fail "$output"
    kelvin report counted.txt --where core=cpu_atom --format json
    [ "$(jq .samples <<<"$output")" = 20 ] || fail "$output"
}

@test "in 80 columns long module names keep their end, and seconds stay beside the shares" {
    python3 -c "
for i in range(300):
    for name in 'one', 'two':
        print(f'app 5 {i / 1000:.6f}: 1000000 cpu-clock:')
        print(f'\t{0x1000 + i:x} {name}+0x1 (/x/lib_a_very_long_name_of_a_module_with_a_common_prefix_{name}.so)\n')
" >x.script
    kelvin report x.script --width 80
    exits 0
    sed -n '/^Functions/,/^Hot paths/p' <<<"$output" >table
    ! LC_ALL=C.UTF-8 grep -E '.{81}' table || fail "$(<table)"
    grep -Eq '^ +self +time +total +time +samples +name +module$' table || fail "$(<table)"
    grep -Eq '  one +\.\.[a-z_]*prefix_one\.so$' table || fail "$(<table)"
    grep -Eq '  two +\.\.[a-z_]*prefix_two\.so$' table || fail "$(<table)"
}

@test "in 80 columns the kernel is still called so" {
    python3 -c "
for i in range(300):
    print(f'app 5 {i / 1000:.6f}: 1000000 cpu-clock:')
    print(f'\tffffffff81001000 {\"a_long_name_\" * 4}{i % 3}+0x1 ([kernel.kallsyms])\n')
" >x.script
    for width in 70 75 80; do
        kelvin report x.script --width $width
        exits 0
        [[ $output == *"  [kernel"* ]] || fail "$output"
        ! grep -q '\.\.[a-z.]*kallsyms\]' <<<"$output" || fail "$output"
    done
}

@test "in 40 columns tables have a name and a number rather than broken lines" {
    local input=$ROOT/tests/golden/views/input table words=0
    for width in 40 47 56 65; do
        for table in "shop.txt" "shop.txt --by module" "waits-lock.kelvin --waits" "waits-busy.kelvin --waits" \
            "waits-child.kelvin --waits"; do
            # shellcheck disable=SC2086
            kelvin report $input/$table --width $width
            exits 0
            # Rows of tables begin with a number; what a host and a recording are called is no such table.
            wide=$(LC_ALL=C.UTF-8 grep -E "^ +[0-9].{$((width - 2))}" <<<"$output" | LC_ALL=C.UTF-8 grep -E "^.{$((width + 1))}" || :)
            [ -z "$wide" ] || fail "$table in $width columns:" "$wide"
            words=$((words + $(grep -cE '^ +[0-9.]+% .*[a-z]{3}' <<<"$output" || :)))
        done
    done
    [ "$words" -gt 100 ] || fail "$words rows have a share and a name"
}
