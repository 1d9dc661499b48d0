#!/usr/bin/env bats
# Spans to a collector: bodies as OpenTelemetry's own package reads them, and collectors that are slow, gone or talk nonsense.
# shellcheck disable=SC2154,SC2016  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target
INCLUDE=$BATS_TEST_DIRNAME/../../include

setup_file() {
    build_targets
}

collect() { # ANSWER...
    mkdir bodies
    python3 "$BATS_TEST_DIRNAME/../lib/collector.py" bodies "$@" 3>&- &
    collector=$!
    wait_until 20 test -e bodies/port
    url=http://127.0.0.1:$(cat bodies/port)
}

teardown() {
    [ -z "${collector:-}" ] || kill "$collector" || true
    remove_open_folders
}

need_decoder() {
    local packages=$BATS_TEST_DIRNAME/../browser/node_modules
    command -v node >/dev/null || skip "needs node ('make check-all' installs it)"
    [ -d "$packages/@opentelemetry/otlp-transformer" ] || skip "needs @opentelemetry/otlp-transformer ('make check-all' fetches it)"
}

decode() { # FILE...
    node "$BATS_TEST_DIRNAME/../lib/otlp-decode.cjs" "$BATS_TEST_DIRNAME/../browser/node_modules" "$@"
}

@test "while it runs: OpenTelemetry reads every span, with parents that are there and around them" {
    need_decoder
    collect
    kelvin record --otlp "$url" -o r.kelvin -- "$TARGET/scopes" 500 4
    exits 0
    [[ $stderr == *"otlp: 4,500 spans sent to $url, 0 not: "* ]] || fail "$stderr"
    grep -q ' /v1/traces$' bodies/times
    decode bodies/*.pb >spans
    jq -es '(map({(.span): .}) | add) as $by
        | length == 4500 and ($by | length) == 4500
        and ([.[] | select(.parent != "") | $by[.parent] as $p
            | $p.trace == .trace and $p.start <= .start and $p.end >= .end] | length == 4000 and all)
        and ([.[] | select(.name == "matmul") | $by[.parent].name == "layer"] | all)
        and ([.[] | select(.name == "layer") | $by[.parent].name == "token"] | all)
        and ([.[] | select(.parent == "") | .name] | unique) == ["token"]
        and ([.[] | .trace] | unique | length) == 500
        and ([.[] | select(.name == "layer") | .attributes.index] | unique) == [0, 1, 2, 3]
        and ([.[] | .service] | unique) == ["scopes"]' spans
    # The times are those of the wall clock.
    local now start
    now=$(date +%s) start=$(head -1 spans | jq -r .start)
    [ $((now - start / 1000000000)) -lt 600 ]
    [ $((now - start / 1000000000)) -ge 0 ]
}

@test "afterwards: protobuf, JSON and what is sent to an address are the same spans" {
    need_decoder
    collect
    kelvin record -q -o r.kelvin -- "$TARGET/scopes" 400 4
    exits 0
    kelvin convert r.kelvin -o r.otlp.pb
    exits 0
    kelvin convert r.kelvin -o r.otlp.json
    exits 0
    kelvin convert r.kelvin -o "$url"
    exits 0
    [[ $stderr == *"3600 spans sent to $url"* ]]
    decode r.otlp.pb >pb
    decode bodies/*.pb >sent
    cmp pb sent
    # In JSON ids are hex, which the package takes for base64: jq reads them.
    jq -c '.resourceSpans[].scopeSpans[].spans[] | [.traceId, .spanId, .parentSpanId // "", .name, .startTimeUnixNano, .endTimeUnixNano]' \
        r.otlp.json >json
    jq -c '[.trace, .span, .parent, .name, .start, .end]' pb | cmp - json
    [ "$(wc -l <pb)" = 3600 ]
}

@test "odd names are text in protobuf as well" {
    need_decoder
    kelvin record -q -o r.kelvin -- "$TARGET/scopes" odd
    kelvin convert r.kelvin -o r.otlp.pb
    exits 0
    decode r.otlp.pb >spans
    jq -es 'any(.[]; .name == "request") and any(.[]; .name == "forking")' spans
}

@test "503, then 429 with Retry-After: sent again, not before then, and nothing twice" {
    collect 503 429:2 200
    kelvin convert "$(small)" -o "$url"
    exits 0
    [ "$(find bodies -name '*.pb' | wc -l)" = 3 ]
    cmp bodies/0001.503.pb bodies/0003.200.pb
    [ "$(awk 'NR == 2 { from = $1 } NR == 3 { print ($1 - from >= 1.9) }' bodies/times)" = 1 ]
}

# A recording of 25 spans.
small() {
    "$KELVIN" record -q -o small.kelvin -- "$TARGET/scopes" 5 2
    echo small.kelvin
}

@test "400 is for good: one try, said" {
    collect 400
    kelvin convert "$(small)" -o "$url"
    exits 1
    complains "the collector answered 400" "0 of 25 spans were sent before"
    [ "$(find bodies -name '*.pb' | wc -l)" = 1 ]
}

@test "spans that the collector did not take are counted, and not sent again" {
    collect partial:7
    kelvin convert "$(small)" -o "$url"
    exits 1
    complains "the collector did not take 7 of 25 spans: full"
    [ "$(find bodies -name '*.pb' | wc -l)" = 1 ]
}

@test "a collector that is gone: the program runs as ever, the recording is whole, the loss is told" {
    kelvin record --otlp http://127.0.0.1:1 -o r.kelvin -- "$TARGET/scopes" 500 4
    exits 0
    [[ $stderr == *"otlp: 0 spans sent to http://127.0.0.1:1, 4,500 not: "*"cannot connect to 127.0.0.1 port 1"* ]] || fail "$stderr"
    [ "$("$KELVIN" scopes --format json r.kelvin | jq .spans)" = 4500 ]
}

@test "a collector that hangs, closes or talks nonsense does not hold the recording up for long" {
    local answer
    for answer in hang close nonsense; do
        rm -rf bodies
        collect $answer
        timeout "$(patience 30)" "$KELVIN" record --otlp "$url" -o r.kelvin -- "$TARGET/scopes" 100 4 2>err
        grep -q 'otlp: 0 spans sent to .*, 900 not' err || fail "$answer: $(cat err)"
        kill "$collector"
        collector=
    done
}

@test "more spans than a slow collector takes: the queue is bounded, all are accounted for" {
    collect slow:0.2
    kelvin record --otlp "$url" -o r.kelvin -- "$TARGET/scopes" 20000 4
    exits 0
    local sent not
    sent=$(sed -n 's/.*otlp: \([0-9,]*\) spans sent.*/\1/p' <<<"$stderr" | tr -d ,)
    not=$(sed -n 's/.*, \([0-9,]*\) not: .*/\1/p' <<<"$stderr" | tr -d ,)
    [ $((sent + not)) = "$("$KELVIN" scopes --format json r.kelvin | jq .spans)" ]
    [ "$not" -gt 0 ]
}

@test "addresses that make no sense are refused before the command runs" {
    local address
    for address in "ftp://x" "http://" "http://:4318" "http://h:0" "http://h:99999" "http://h x" "127.0.0.1:4318"; do
        kelvin record --otlp "$address" -o r.kelvin -- touch ran
        exits 125
        complains "is not http://HOST"
        [ ! -e ran ]
    done
    kelvin record --otlp https://example.org -o r.kelvin -- touch ran
    exits 125
    complains "no TLS"
    kelvin convert "$(small)" --to pprof -o http://127.0.0.1:1
    exits 1
    complains "only OTLP can be sent to an address"
}

@test "traceparent: a trace comes in, goes on to another program, and both say the same" {
    need_decoder
    cat >trace.c <<'END'
#include <kelvin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void serve(const char *in)
{
    char out[KELVIN_TRACEPARENT], again[KELVIN_TRACEPARENT];
    KELVIN_SCOPE("serve");
    if (in && !kelvin_trace_take(in) && getenv("KELVIN_SCOPES")) _exit(1);
    KELVIN_SCOPE("call", "n", 1);
    if (kelvin_trace_give(out) != 1 && getenv("KELVIN_SCOPES")) _exit(2);
    kelvin_trace_give(again);
    if (strcmp(out, again)) _exit(3);
    if (getenv("KELVIN_SCOPES") && strlen(out) != 55) _exit(4);
    if (!getenv("KELVIN_SCOPES") && *out) _exit(5);
    printf("%s\n", out);
    fflush(stdout);
    if (in) return;
    if (fork() == 0) { execl("/proc/self/exe", "trace", out, (char *)NULL); }
    wait(NULL);
}
int main(int argc, char **argv)
{
    char none[KELVIN_TRACEPARENT];
    if (kelvin_trace_give(none) || *none) return 6; /* no scope is open */
    {
        KELVIN_SCOPE("outer");
        const char *const bad[] = {"", "00", "zz-", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x"};
        for (int i = 0; i < 8; i++)
            if (kelvin_trace_take(bad[i])) return 7;
    }
    serve(argc > 1 ? argv[1] : NULL);
    return 0;
}
END
    cc -Wall -Wextra -Werror -std=gnu11 -I"$INCLUDE" trace.c -o trace
    cc -Wall -Wextra -Werror -std=gnu11 -DKELVIN_OFF -I"$INCLUDE" -c trace.c -o off.o
    ./trace >/dev/null
    collect
    kelvin record --otlp "$url" -o r.kelvin -- ./trace
    exits 0
    printf '%s\n' "$output" >given
    kelvin convert r.kelvin -o r.otlp.pb
    decode r.otlp.pb >after
    decode bodies/*.pb >live
    local spans
    for spans in after live; do
        # The two calls have the ids that were given; the second program's span is below the first's call, in its trace.
        jq -es --rawfile given given '($given | split("\n")) as $g
            | [.[] | select(.name == "call")] as $calls | [.[] | select(.name == "serve")] as $serves
            | ($calls | map("00-\(.trace)-\(.span)-01") | sort) == ($g[0:2] | sort)
            and ([$serves[] | .trace] | unique | length) == 1
            and ([$serves[] | select(.parent != "")] | length) == 1
            and ($serves[] | select(.parent != "") | .parent) == ($g[0] | split("-")[2])
            and ([.[] | select(.name == "outer") | .trace] | inside([$serves[].trace]) | not)
            and ([.[] | .attributes | keys[]] | index("trace_id")) == null' $spans || fail "$spans: $(cat $spans) $(cat given)"
    done
}
