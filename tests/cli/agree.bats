#!/usr/bin/env bats
# Text for people and JSON for programs come from the same figures: whatever a view shows is in its JSON.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

agree="$BATS_TEST_DIRNAME/../lib/figures-agree.py"
examples="$BATS_TEST_DIRNAME/../../examples"
golden="$BATS_TEST_DIRNAME/../golden"

# What VIEW prints as text is in its JSON. METHOD is a pattern of words that are no figures of it.
agrees() { # METHOD JSON-OPTION VIEW...
    local method=$1 json=$2
    shift 2
    "$KELVIN" "$@" >text 2>/dev/null || [ $? -gt 2 ]
    # shellcheck disable=SC2086  # one or two words
    "$KELVIN" "$@" $json >json 2>/dev/null || [ $? -gt 2 ]
    python3 "$agree" text json "$method" >missing || fail "$(cat missing)"
}

@test "every figure of info is in its JSON: samples, two events, heap profiles" {
    local file
    for file in "$examples/clang.perf.txt.gz" "$golden/kelvin/slices.kelvin" "$golden/perf.data/events.data" "$golden/perf.data/flaws.data"; do
        agrees "nothing" --json info "$file"
    done
}

@test "every figure of a report is in its JSON: functions, paths, modules, threads" {
    agrees "95% interval" "--format json" report "$examples/clang.perf.txt.gz"
    # The share that was lost is made of two figures that are there.
    agrees "95% interval|[0-9]+% of the samples were lost" "--format json" report "$golden/kelvin/slices.kelvin"
    agrees "95% interval" "--format json" report "$examples/clang.perf.txt.gz" --by module
}

@test "every figure of a function's callers and callees is in the JSON" {
    agrees "95% interval" "--format json" report "$examples/clang.perf.txt.gz" --callers cc1_main
    agrees "95% interval" "--format json" report "$examples/clang.perf.txt.gz" --callers do_lookup_x
}

@test "a path's share in the report's JSON is its own and not its caller's" {
    "$KELVIN" report "$examples/clang.perf.txt.gz" --format json >json
    jq -e '[.paths[] | (.total.share - .part) | fabs] | max < 0.002' json || fail "a share differs from its part"
    jq -e '.paths | length > 50' json
}

@test "every figure of a comparison and of a check is in its JSON" {
    printf "main;work 900\nmain;rest 100\n" >a.txt
    printf "main;work 700\nmain;rest 300\n" >b.txt
    agrees "95 % interval" "--format json" diff a.txt b.txt
    printf 'samples >= 200\ntotal main 50..100%%\nself memcpy <= 10%%\n' >r.rules
    agrees "nothing" "--format json" check "$examples/clang.perf.txt.gz" r.rules
}

@test "every figure of a comparison of baselines is in its JSON" {
    local set
    for set in a b; do
        kelvin bench --store s.db --runs 8 --save $set true 'sh -c :'
    done
    # The factor is the ratio of two medians that are both there.
    agrees '80% power|^  (true|sh -c :) +[0-9.]+\* .*|^  (true|sh -c :) .*\*.*' "--format json" bench --store s.db --compare a b
}
