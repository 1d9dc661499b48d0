#!/bin/bash
# Draw the example profile and say where it is and what to try next.
set -euo pipefail
cd "$(dirname "$0")/.." || exit
B=${B:-build}
example=examples/clang.perf.txt.gz

"$B/kelvin" flame "$example" --title "clang compiling two files of Kelvin" -o "$B/demo.svg"
cat <<END

A flame graph of clang at work is in

    $(realpath "$B")/demo.svg

Open it in a browser: click to zoom, '/' to search, '?' for more. Then try:

    $B/kelvin info $example
    $B/kelvin convert $example -o clang.pb.gz        for go tool pprof
    $B/kelvin flame YOUR-PROFILE -o out.svg          any format of '$B/kelvin help formats'
    $B/kelvin record -- YOUR-PROGRAM                   then draw it: $B/kelvin flame YOUR-PROGRAM.kelvin -o out.svg
END
