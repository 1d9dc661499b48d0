#!/usr/bin/env bats
# Speedscope and plain JSON: out, back, and in speedscope itself.
load ../lib/helpers

GOLDEN=$ROOT/tests/golden/speedscope

need_speedscope() {
    command -v node >/dev/null || skip "needs node"
    [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "needs Chromium (Debian package chromium)"
    [ -d "$ROOT/tests/browser/node_modules/speedscope" ] ||
        skip "needs speedscope and playwright-core ('npm ci' in tests/browser)"
}

@test "speedscope itself opens an export and shows its profiles and functions" {
    need_speedscope
    kelvin convert "$GOLDEN/sampled.speedscope.json" -o out.speedscope.json
    exits 0
    run node "$ROOT/tests/browser/speedscope.mjs" out.speedscope.json
    prints 'sampled.speedscope.json - speedscope
1 | worker 1 - samples | 4
2 | worker 1 - time | 50.00ms
3 | worker 2 - samples | 2
4 | worker 2 - time | 1.50ms
20.00ms (40%) | 20.00ms (40%) | read(fd)
40.00ms (80%) | 20.00ms (40%) | handle "request" <fast>
10.00ms (20%) | 10.00ms (20%) | résumé 😀
50.00ms (100%) | 0.00ns (<0.01%) | main'
}

@test "speedscope there and back gives the same bytes, also by a pipe" {
    "$KELVIN" convert "$GOLDEN/sampled.speedscope.json" -o once.speedscope.json
    "$KELVIN" convert - --to speedscope <once.speedscope.json >twice.json
    cmp once.speedscope.json twice.json
}

@test "a profile comes back from speedscope with all its events and values" {
    printf '%s\n' 'app 10/11 1.000001: 250000 cycles:u:' '  5560 work (/bin/app)' \
        '  5570 main (/bin/app)' '' 'app 10/12 1.000002: 7 page-faults:' '  7f00 [unknown] (libc.so)' \
        '  5570 main (/bin/app)' '' >in.txt
    "$KELVIN" convert in.txt -o out.speedscope.json
    local event
    for event in cycles:u page-faults; do
        "$KELVIN" fold in.txt --event $event --tid >want
        "$KELVIN" fold out.speedscope.json --event $event --tid >got
        [ -s want ] && diff want got
    done
}

@test "a speedscope file that is cut off or wrong is refused with the byte" {
    head -c 600 "$GOLDEN/sampled.speedscope.json" >cut.json
    kelvin convert cut.json -o out.svg --to folded
    exits 5
    complains "byte 600" "cut off"
    no_file out.svg
    sed 's/\[0, 3\]/[0, 99]/' "$GOLDEN/sampled.speedscope.json" >wrong.json
    kelvin fold wrong.json
    exits 5
    complains "byte " "frame index 99 is out of range: there are 5 frames"
}

@test "a JSON bomb ends at once" {
    { printf '{"x":'; head -c 100000000 /dev/zero | tr '\0' '['; } >bomb.json
    run --separate-stderr timeout 20 "$KELVIN" fold --from speedscope bomb.json
    exits 5
    complains "nested deeper than 512"
}

@test "plain JSON is for jq: self time of each function" {
    command -v jq >/dev/null || skip "needs jq"
    "$KELVIN" convert "$GOLDEN/sampled.speedscope.json" --to json >all.json
    run jq -r '. as $p
        | .streams[0].rows | [.stack, .values[1]] | transpose
        | group_by($p.stacks.frame[.[0]])[]
        | "\($p.frames.name[$p.stacks.frame[.[0][0]]]) \(map(.[1]) | add)"' all.json
    prints 'handle "request" <fast> 20500000
read(fd) 20000000
résumé 😀 11000000'
    "$KELVIN" convert "$GOLDEN/sampled.speedscope.json" --value samples --to json >one.json
    [ "$(jq -c '.streams[0] | [.values[].name, .rows.values]' one.json)" = '["samples",[[1,1,1,1,1,1]]]' ]
}
