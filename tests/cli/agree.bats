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
    agrees "95% interval" "--format json" diff a.txt b.txt
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

@test "every figure of a heap is in its JSON: exact, and as files of other tools know it" {
    local file
    for file in "$golden/views/input/shelves.kelvin" "$golden/heaptrack/app.zst" "$golden/heaptrack/flaws.txt" \
        "$golden/massif/app.out" "$golden/dhat/app.json" "$golden/leaksanitizer/app.txt"; do
        agrees "nothing" "--format json" heap "$file"
    done
}

# Not by their presence alone: another number that happens to be there could stand in for them.
@test "shares, means and growth in the heap's JSON are those of the values beside them" {
    "$KELVIN" heap "$golden/views/input/shelves.kelvin" --format json >json
    jq -e '. as $all | .places | length > 3 and all(
        (.peak_share - .peak / $all.peak | fabs) < 1e-9 and
        (.leaked_share - .leaked / $all.leaked | fabs) < 1e-9 and
        (.allocated_share - .allocated / $all.allocated | fabs) < 1e-9 and
        (.allocations_share - .allocations / $all.allocations | fabs) < 1e-9 and
        (.temporary_share - .temporary / .allocations | fabs) < 1e-9 and
        (.mean_bytes - .allocated / .allocations | fabs) < 1 and
        .growth == .live_near_the_end - .live_at_half_time)' json || fail "$(cat json)"
    jq -e '(.temporary_share - .temporary / .allocations | fabs) < 1e-9 and
        (.allocations_per_second - .allocations / .seconds | fabs) < 1 and
        ([.sizes[].share] | add - 1 | fabs) < 1e-9' json || fail "$(cat json)"
}

@test "every figure of what code is made of is in its JSON" {
    [ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
    cat >mix.c <<'SOURCE'
void scale(float *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 1.5f + 2; }
double horner(const double *c, int n, double x) { double s = 0; for (int i = 0; i < n; i++) s = s * x + c[i]; return s; }
int count(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] > 3; return s; }
SOURCE
    gcc -shared -fPIC -nostdlib -O3 mix.c -o mix.so
    agrees "nothing" "--format json" simd mix.so
    agrees "nothing" "--format json" simd mix.so --top 1
    jq -e '.n_functions == 3 and .n_not_listed == 2 and ([.isa_share[]] | add - 1 | fabs) < 1e-9' json
    "$KELVIN" simd mix.so --format json >json
    jq -e '[.functions[] | select(.name == "count") | .fp_math.packed_share] == [null]' json || fail "$(cat json)"
}
