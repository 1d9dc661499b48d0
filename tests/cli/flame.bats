#!/usr/bin/env bats
# The flame graph: one SVG that is complete as a picture, the same for the same stacks.
load ../lib/helpers

make_profile() {
    cat >in.folded <<'END'
main;parse;read_token 420
main;parse;read_token;vfs_read_[k] 100
main;eval<int, std::less<> >::run;call & "x" 300
main;jit_stub_[j] 120
main;inlined_[i] 80
END
}

# FILE is well-formed XML.
well_formed() { # FILE
    xmllint --noout "$1"
}

has() { # FILE TEXT
    grep -qF -- "$2" "$1" || fail "not in $1: $2"
}

differ() { # FILE FILE
    ! cmp -s "$1" "$2" || fail "$1 and $2 are the same"
}

has_not() { # FILE TEXT
    ! grep -qF -- "$2" "$1" || fail "in $1: $2"
}

@test "flame: a frame has its name, value and share as text" {
    make_profile
    kelvin flame in.folded -o out.svg
    exits 0
    well_formed out.svg
    has out.svg '<title>parse (520 counts, 50.98%)</title>'
    has out.svg '<title>all (1,020 counts, 100.00%)</title>'
    has out.svg '<title>vfs_read (100 counts, 9.80%, kernel)</title>'
    has out.svg '>read_token</text>'
    no_litter .
}

@test "flame: the caption tells the source and what is not known" {
    make_profile
    kelvin flame in.folded -o out.svg
    has out.svg 'kind not recorded · event not recorded · samples not recorded · 1,020 counts'
    has out.svg 'lost: not recorded · in.folded (folded) · kelvin '
    has_not out.svg '1,020 samples'
}

@test "flame: shuffled lines give the same bytes" {
    make_profile
    for i in $(seq 300); do echo "main;f$((i % 17));g$((i % 91)) $i"; done >>in.folded
    "$KELVIN" flame in.folded -o a.svg
    for seed in 1 2 3; do
        cp in.folded keep
        shuf --random-source=<(yes $seed) keep >in.folded
        differ keep in.folded
        "$KELVIN" flame in.folded -o b.svg
        cmp a.svg b.svg
    done
}

@test "flame: few samples are warned of in words, 200 are not" {
    echo 'main;f 57' >few.folded
    echo 'main;f 200' >enough.folded
    "$KELVIN" flame few.folded -o few.svg
    "$KELVIN" flame enough.folded -o enough.svg
    has few.svg 'only 57 counts: shares are rough'
    has_not enough.svg 'shares are rough'
}

@test "flame: hostile names stay text" {
    printf 'main;</title><script>alert(1)</script>;]]>;a"b&c\001\377;\303\244 900\n' >in.folded
    kelvin flame in.folded --title '<b>&"' --subtitle ']]>' --notes '--><x>' --font '"><y' -o out.svg
    exits 0
    well_formed out.svg
    has_not out.svg '<script>alert'
    has out.svg '&lt;script&gt;alert(1)'
    has out.svg 'a&quot;b&amp;c��'
    has out.svg '<desc>--&gt;&lt;x&gt;</desc>'
    [ "$(xmllint --xpath 'count(//*[local-name()="script"])' out.svg)" -eq 1 ]
}

@test "flame: a stack 10,000 deep is drawn to its end" {
    { printf 'f0'; for i in $(seq 9999); do printf ';f%d' "$i"; done; echo ' 1000'; } >in.folded
    kelvin flame in.folded -o out.svg
    exits 0
    well_formed out.svg
    has out.svg '<title>f9999 (1,000 counts, 100.00%)</title>'
    [ "$(grep -c '<title>' out.svg)" -eq 10001 ]
}

@test "flame: narrow frames are left out, and that is told" {
    printf 'main;wide 9999\nmain;narrow 1\n' >in.folded
    kelvin flame in.folded --min-width 1 -o out.svg
    has_not out.svg 'narrow (1'
    has out.svg 'frames under 1 px not drawn'
    kelvin flame in.folded --minwidth 0 -o out.svg
    has out.svg '<title>narrow (1 count, 0.01%)</title>'
    has_not out.svg 'not drawn'
    kelvin flame in.folded --min-width 0.1% -o out.svg
    has out.svg 'frames under 0.1% not drawn'
    kelvin flame in.folded --min-width wide -o out.svg
    exits 1
    complains --min-width wide
}

@test "flame: title, subtitle, width, heights, font and id are the user's" {
    make_profile
    kelvin flame in.folded --title Mine --subtitle 'second line' --width 800 --height 20 \
        --fonttype Courier --fontsize 11 --id left -o out.svg
    exits 0
    well_formed out.svg
    has out.svg '>Mine</text>'
    has out.svg '>second line</text>'
    has out.svg 'id="left" width="800"'
    has out.svg 'font-family="Courier" font-size="11"'
    has out.svg 'height="19"/>'
    has out.svg '#left .kg text{'
}

@test "flame: count name and factor change what is shown, not the drawing" {
    make_profile
    kelvin flame in.folded --countname bytes -o out.svg
    has out.svg '<title>parse (520 bytes, 50.98%)</title>'
    kelvin flame in.folded --countname ms --factor 0.25 -o out.svg
    has out.svg '<title>parse (130 ms, 50.98%)</title>'
}

@test "flame: inverted, reverse and flame chart change the shape" {
    printf 'main;a;x 500\nmain;b 100\nmain;a;x 400\n' >in.folded
    "$KELVIN" flame in.folded -o up.svg
    "$KELVIN" flame in.folded --inverted -o down.svg
    has up.svg 'translate(0 -17)'
    has_not down.svg 'translate(0 -17)'
    has down.svg 'Icicle graph'
    "$KELVIN" flame in.folded --reverse -o reverse.svg
    has reverse.svg '<title>x (900 counts, 90.00%)</title>'
    [ "$(grep -c '<title>main' reverse.svg)" -eq 2 ]
    "$KELVIN" flame in.folded --flamechart -o chart.svg
    has chart.svg '<title>x (500 counts, 50.00%)</title>'
    has chart.svg '<title>x (400 counts, 40.00%)</title>'
    for f in up down reverse chart; do well_formed $f.svg; done
}

@test "flame: every palette and theme draws, and an unknown one is refused" {
    make_profile
    for p in hot mem io java js wakeup chain red orange yellow green aqua blue purple; do
        "$KELVIN" flame in.folded --colors $p -o $p.svg
        well_formed $p.svg
    done
    differ hot.svg blue.svg
    has java.svg '>Java</text>'
    "$KELVIN" flame in.folded --theme dark -o dark.svg
    "$KELVIN" flame in.folded --theme light -o light.svg
    has hot.svg 'prefers-color-scheme:dark'
    has_not dark.svg 'prefers-color-scheme'
    has dark.svg 'color-scheme:dark'
    has_not light.svg 'color-scheme:dark'
    kelvin flame in.folded --colors pink -o pink.svg
    exits 1
    complains pink
    no_file pink.svg
}

@test "flame: two counts a line are drawn as after, and the drawing says so" {
    printf 'main;a 100 300\nmain;b 400 100\n' >in.folded
    "$KELVIN" flame in.folded -o out.svg
    has out.svg 'shown: after; also in the input: before'
    has out.svg '<title>a (300 after, 75.00%)</title>'
    "$KELVIN" flame in.folded --value before -o out.svg
    has out.svg 'shown: before; also in the input: after'
    has out.svg '<title>a (100 before, 20.00%)</title>'
}

@test "flame: different drawings have different ids, and no request leaves them" {
    make_profile
    echo 'main;other 300' >other.folded
    "$KELVIN" flame in.folded -o a.svg
    "$KELVIN" flame other.folded -o b.svg
    [ "$(xmllint --xpath 'string(/*/@id)' a.svg)" != "$(xmllint --xpath 'string(/*/@id)' b.svg)" ]
    [ "$(xmllint --xpath 'count(//@id)' a.svg)" -eq 1 ]
    run ! grep -E 'href|src=|@import|url\(' a.svg
}

@test "flame: a still picture has no script" {
    make_profile
    "$KELVIN" flame in.folded --no-script -o out.svg
    has_not out.svg '<script'
    well_formed out.svg
}

@test "flame: bad input leaves the old file alone" {
    echo 'old' >out.svg
    : >empty.folded
    kelvin flame empty.folded -o out.svg
    exits 5
    [ "$(cat out.svg)" = old ]
    no_litter .
}
