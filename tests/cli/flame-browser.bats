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

in_browser() { # CASE FILE
    need_browser
    node "$ROOT/tests/browser/flame.mjs" "$1" "$PWD/$2"
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

@test "flame in a browser: the theme follows the system" {
    draw out.svg && in_browser dark out.svg
}

@test "flame in a browser: an image needs no script" {
    draw out.svg && echo '<!doctype html><img src="out.svg">' >page.html
    in_browser image page.html
}

@test "flame in a browser: two graphs on one page do not meddle" {
    draw a.svg && draw b.svg --inverted --theme dark
    { echo '<!doctype html><meta charset="utf-8"><body>'; cat a.svg b.svg; } >page.html
    in_browser pair page.html
}

@test "flame in a browser: a stack 10,000 deep opens at its root and can be searched" {
    { printf 'f0'; for i in $(seq 9999); do printf ';f%d' "$i"; done; echo ' 1000'; } >deep.folded
    "$KELVIN" flame deep.folded -o deep.svg
    in_browser deep deep.svg
}
