#!/bin/bash
# Draw the example profile, run the example suite, say where they are and what to try next.
set -euo pipefail
cd "$(dirname "$0")/.." || exit
B=${B:-build}
example=examples/clang.perf.txt.gz

"$B/kelvin" flame "$example" --title "clang compiling two files of Kelvin" -o "$B/demo.svg"
page=
"$B/kelvin" view "$example" -o "$B/demo.html" && page=$(realpath "$B/demo.html")

# In a folder of the build: a run leaves its program, its pages and its history behind.
rm -rf "$B/demo-suite"
mkdir -p "$B/demo-suite"
cp examples/suite/* "$B/demo-suite"
kelvin=$(realpath "$B/kelvin")
suite=0
(cd "$B/demo-suite" && "$kelvin" run --conf kelvin.conf) || suite=$?

cat <<END

A flame graph of clang at work is in

    $(realpath "$B")/demo.svg

Open it in a browser: click to zoom, '/' to search, '?' for more.
END
if [ -n "$page" ]; then
    cat <<END
The same profile as a page to explore is in

    $page

END
fi
if [ "$suite" -eq 0 ] || [ "$suite" -eq 4 ]; then
    cat <<END
The suite of examples/suite, built, measured, checked and published, is in

    $(realpath "$B")/demo-suite/perf/index.html

END
else
    echo "The suite of examples/suite ended with $suite: '$B/kelvin doctor' says what this machine allows."
    echo
fi
cat <<END
Then try:

    $B/kelvin info $example
    $B/kelvin convert $example -o clang.pb.gz   # for go tool pprof
    $B/kelvin flame YOUR-PROFILE -o out.svg   # any format of '$B/kelvin help formats'
    $B/kelvin record -- YOUR-PROGRAM   # then: $B/kelvin report YOUR-PROGRAM.kelvin
    $B/kelvin view YOUR-PROGRAM.kelvin   # in the browser

In a project of yours:

    $(realpath "$B/kelvin") init && $(realpath "$B/kelvin") run
END
