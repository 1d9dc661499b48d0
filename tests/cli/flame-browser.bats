#!/usr/bin/env bats
# The flame graph where scripts run: zoom, search, keyboard, address, as an image, two on a page.
load ../lib/helpers

draw() { # FILE OPTION...
    cat >in.folded <<'END'
main;parse;read_token 420
main;parse;read_token;vfs_read_[k] 100
main;eval;call;parse 200
main;Sort 300
END
    local out=$1
    shift
    "$KELVIN" flame in.folded "$@" -o "$out"
}

in_browser() { # CASE FILE ARG...
    need_browser
    node "$ROOT/tests/browser/flame.mjs" "$1" "$PWD/$2" "${@:3}"
}

@test "flame in a browser: click zooms, reset undoes it" {
    draw out.svg && in_browser zoom out.svg
}

@test "flame in a browser: search tells the matched share without counting twice" {
    draw out.svg && in_browser search out.svg
}

@test "flame in a browser: zoom and search are kept in the address" {
    draw out.svg && in_browser address out.svg
}

@test "flame in a browser: the keyboard walks, zooms, resets and helps" {
    draw out.svg && in_browser keyboard out.svg
}

@test "flame in a browser: pointing at a frame shows its numbers" {
    draw out.svg && in_browser hover out.svg
}

@test "flame in a browser: text fits at every width" {
    draw out.svg --title 'A heading that is a good deal longer than a narrow window is wide' &&
        in_browser narrow out.svg
}

@test "flame in a browser: the drawing is as wide as the window" {
    draw out.svg && in_browser wide out.svg
}

@test "flame in a browser: Back undoes a zoom, Forward does it again" {
    draw out.svg && in_browser back out.svg
}

@test "flame in a browser: flames, inverted and folded chains are views of the same samples" {
    draw out.svg && in_browser views out.svg
}

@test "flame in a browser: direct recursion can be merged" {
    printf 'main;f;f;f 600\nmain;f;g;f 400\n' >in.folded
    "$KELVIN" flame in.folded -o out.svg
    in_browser recursion out.svg
}

# A function with most of its time in frames too narrow to draw, which the tables count.
@test "flame in a browser: a search finds the total of the tables, narrow frames included" {
    for i in $(seq 3000); do echo "main;caller$i;thin;leaf$((i % 7)) 1"; done >in.folded
    echo 'main;wide 27000' >>in.folded
    "$KELVIN" flame in.folded --min-width 1 -o out.svg
    run ! grep -q '<title>thin' out.svg
    "$KELVIN" report in.folded --format json >report.json
    share=$(jq -r '.by_total[] | select(.name == "thin") | .total.share' report.json)
    in_browser tables out.svg '^thin$' "$(printf '%.2f%%' "$(awk "BEGIN { print $share * 100 }")")"
}

@test "flame in a browser: a search says between which shares, where too much was left out" {
    { seq -f 'main;caller%.0f;thin 1' 30000; echo 'main;thin 3000'; } >in.folded
    "$KELVIN" flame in.folded -o out.svg
    in_browser range out.svg '^9\.09% to 100\.00% matched'
}

@test "flame in a browser: pointing at a frame of a recording shows a card at the pointer" {
    need_browser
    cat >busy.c <<'END'
static volatile double sink;
__attribute__((noinline)) void burn(void)
{
    for (int i = 0; i < 300000000; i++)
        sink += i;
}
int main(void)
{
    burn();
    return 0;
}
END
    cc -g -O1 busy.c -o busy
    "$KELVIN" record --min-samples 20 -o busy.kelvin -- ./busy >/dev/null 2>&1 || skip "cannot record here"
    "$KELVIN" flame busy.kelvin -o out.svg
    in_browser card out.svg 'burn (' 'total\s+\d+\.\d\d% [±(]\d' 'self\s+\d+\.\d\d% [±(]\d' \
        '\d m?s\s' 'samples' 'busy · .*busy\.c:2'
}

@test "flame in a browser: the axis of a chart follows the zoom, and so do all threads" {
    local ms
    for ms in $(seq 0 10 290) $(seq 700 10 990); do
        printf 'app 7/7 [000] 1.%03d000: 10000000 cpu-clock:\n\t1000 a (/app)\n\t2000 main (/app)\n\n' "$ms"
        [ "$ms" -lt 200 ] ||
            printf 'worker 7/8 [001] 1.%03d500: 10000000 cpu-clock:\n\t3000 b (/app)\n\n' "$ms"
    done >in.perf
    "$KELVIN" flame in.perf --flame-chart -o chart.svg
    in_browser chart chart.svg
}

# Two samples right after each other: what came second is too narrow to draw, and the tables count it.
@test "flame in a browser: a search in a chart finds the total of the tables" {
    local i
    for i in $(seq 100 400); do
        printf 'app 7/7 [000] 1.%03d000: 10000000 cpu-clock:\n\t1000 a (/app)\n\t2000 main (/app)\n\n' "$i"
        printf 'app 7/7 [000] 1.%03d001: 10000000 cpu-clock:\n\t3000 thin (/app)\n\t2000 main (/app)\n\n' "$i"
    done >in.perf
    "$KELVIN" flame in.perf --flame-chart -o chart.svg
    run ! grep -q '<title>thin' chart.svg
    in_browser tables chart.svg '^thin$' '50.00%'
}

@test "flame in a browser: a difference has no views that it has no numbers for" {
    draw out.svg
    sed 's/300/400/' in.folded >after.folded
    "$KELVIN" diff in.folded after.folded --format svg -o diff.svg || [ $? -le 4 ]
    in_browser difference diff.svg
}

@test "flame in a browser: the theme follows the system" {
    draw out.svg && in_browser dark out.svg
}

@test "flame in a browser: an image needs no script" {
    draw out.svg && echo '<!doctype html><img src="out.svg">' >page.html
    in_browser image page.html
}

@test "flame in a browser: two graphs on one page do not meddle" {
    draw a.svg && draw b.svg --flames --theme dark
    { echo '<!doctype html><meta charset="utf-8"><body>'; cat a.svg b.svg; } >page.html
    in_browser pair page.html
}

@test "flame in a browser: a stack 10,000 deep opens at its root and can be searched" {
    { printf 'f0'; for i in $(seq 9999); do printf ';f%d' "$i"; done; echo ' 1000'; } >deep.folded
    "$KELVIN" flame deep.folded -o deep.svg
    in_browser deep deep.svg
    "$KELVIN" flame deep.folded --flames -o up.svg
    in_browser deep up.svg flames
}
