#!/usr/bin/env bats
# Traces of spans: Chrome's JSON and Perfetto's protobuf, read and written.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

ALL=$BATS_TEST_DIRNAME/../golden/chrometrace/all.json

# All that `kelvin scopes` knows of the spans of a file.
spans() { # FILE
    "$KELVIN" scopes --format json --by index "$1" 2>/dev/null |
        jq -S '{spans, tree: [.tree[] | del(.p50, .p90, .p99, .p99_9)], groups: [.groups[] | {scope, value, calls, total_ns}],
            slowest: [.slowest[] | {scope, duration_ns, attributes}] | sort_by(.scope), counters: [.counters[] | {name, last, min, max}]}'
}

@test "a Chrome trace is spans: durations, self times, attributes, counters, moments" {
    kelvin scopes "$ALL" --format json
    exits 0
    [ "$(jq -r '[.tree[] | "\(.scope) \(.calls) \(.total_ns) \(.self_ns)"] | join(",")' <<<"$output")" = \
        "download 2 150000 150000,request 1 100500 10000,answer 1 60500 60500,parse 1 30000 30000,run 1 90000 90000" ] ||
        [ "$(jq -r '[.tree[] | "\(.scope) \(.calls) \(.total_ns) \(.self_ns)"] | join(",")' <<<"$output")" = \
            "download 2 150000 0,request 1 100500 10000,answer 1 60500 60500,parse 1 30000 30000,run 1 90000 90000" ]
    [ "$(jq -c '.slowest[] | select(.scope == "request") | .attributes | to_entries | sort_by(.key) | map("\(.key)=\(.value)")' <<<"$output")" = \
        '["index=3","kind=get","share=0.25"]' ]
    [ "$(jq -c '.slowest[] | select(.scope == "run") | .attributes | to_entries | sort_by(.key) | map("\(.key)=\(.value)")' <<<"$output")" = \
        '["n=-2","result=1"]' ]
    [ "$(jq -c '.counters[] | [.name, .last, .min, .max]' <<<"$output")" = '["queue",2,2,4]' ]
    [ "$("$KELVIN" fold --event events "$ALL" 2>/dev/null)" = "worker;tick 1" ]
}

@test "there and back: Chrome's JSON and Perfetto's protobuf hold the same spans" {
    local first
    first=$(spans "$ALL")
    [ -n "$first" ]
    kelvin convert "$ALL" -o a.kelvin
    exits 0
    [ "$(spans a.kelvin)" = "$first" ]
    kelvin convert a.kelvin -o a.trace.json
    exits 0
    [ "$(spans a.trace.json)" = "$first" ] || fail "$(diff <(spans a.trace.json) <(echo "$first"))"
    kelvin convert a.kelvin -o a.pftrace
    exits 0
    # A span that crosses threads has a track of its own there, so its self time is its own.
    [ "$(spans a.pftrace | jq -c '[.tree[] | {scope, calls, total_ns, min_ns, max_ns}]')" = \
        "$(jq -c '[.tree[] | {scope, calls, total_ns, min_ns, max_ns}]' <<<"$first")" ]
    [ "$(spans a.pftrace | jq -c '.counters, .groups, .slowest')" = "$(jq -c '.counters, .groups, .slowest' <<<"$first")" ]
    [ "$("$KELVIN" fold --event events a.pftrace 2>/dev/null)" = "worker;tick 1" ]
    kelvin convert a.pftrace -o b.pftrace
    [ "$(spans b.pftrace)" = "$(spans a.pftrace)" ]
}

@test "the Chrome trace that is written has what the format asks for" {
    kelvin convert "$ALL" -o a.kelvin
    kelvin convert a.kelvin -o a.trace.json
    jq -e '.traceEvents | (map(select(.ph == "X")) | length == 4 and all(.ts >= 0 and .dur >= 0 and (.pid | type) == "number" and (.tid | type) == "number" and (.name | type) == "string"))
        and (map(select(.ph == "b")) | length == 2 and all(.id and .cat))
        and ([.[] | select(.ph == "b") | .id] | sort) == ([.[] | select(.ph == "e") | .id] | sort)
        and (map(select(.ph == "C")) | length == 2 and all(.args | length > 0))
        and (map(select(.ph == "i")) | length == 1 and all(.s == "t"))
        and ([.[] | select(.ph == "M" and .name == "thread_name") | .args.name] | sort) == ["main", "worker"]
        and ([.[].ph] | unique) == ["C", "M", "X", "b", "e", "i"]' a.trace.json
}

@test "a Perfetto trace that was cut gives what came before; damage is said" {
    kelvin convert "$ALL" -o a.pftrace
    local whole n
    whole=$(spans a.pftrace | jq .spans)
    head -c -20 a.pftrace >cut.pftrace
    kelvin scopes cut.pftrace
    exits 0
    [[ $stderr == *"the file ends in the middle of a packet"* ]]
    n=$(spans cut.pftrace | jq .spans)
    [ "$n" -le "$whole" ]
    [ "$n" -ge 1 ]
    { cat a.pftrace; printf 'what is this?'; } >odd.pftrace
    kelvin scopes odd.pftrace
    exits 1
    [[ $stderr == *"no packet at byte $(stat -c %s a.pftrace)"* ]] || fail "$stderr"
}

@test "Chromium's own traces: Perfetto's protobuf and JSON, of the same page" {
    need_browser
    cp "$ROOT/tests/browser/trace.mjs" .
    ln -s "$ROOT/tests/browser/node_modules" node_modules
    timeout "$(patience 60)" node trace.mjs
    local format
    for format in proto json; do
        kelvin scopes "chromium.$format" --format json
        exits 0
        [ "$(jq '.spans > 1000 and .duration_ns < 600e9 and ([.flat[].scope] | index("v8.run") // index("RunTask") // index("ThreadControllerImpl::RunTask")) != null' <<<"$output")" = true ]
    done
    # The same tasks of the same kinds, though not as many of each: two runs.
    "$KELVIN" scopes chromium.proto --format json 2>/dev/null | jq -r '.flat[].scope' | sort >proto
    "$KELVIN" scopes chromium.json --format json 2>/dev/null | jq -r '.flat[].scope' | sort >json
    [ "$(comm -12 proto json | wc -l)" -ge $(($(wc -l <json) / 2)) ]
}
