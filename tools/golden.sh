#!/bin/bash
# tests/golden/FORMAT/NAME.EXT must fold to what NAME.EXT.expected holds. Prints TAP.
#
# --rewrite makes what comes out now the expected result: look at the difference before a commit.
# NAME.EXT.args, where there is one, holds further options for `kelvin fold`.
#
# tests/golden/views/NAME.cmd holds command lines for kelvin, IN/ stands for tests/golden/views/input/:
# what they print, with each exit code, must be what NAME.cmd.expected holds.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
kelvin=${KELVIN:-${B:-build}/kelvin}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

inputs() {
    find tests/golden -type f ! -name '*.expected' ! -name '*.args' ! -name '.*' ! -name '*.md' ! -path '*/views/input/*' |
        LC_ALL=C sort
}

# Of a flame graph its numbers and titles, not its style and script.
drawn() {
    if [ "$1" = flame ]; then
        grep -oE '<metadata>.*|<title>[^<]*|^kelvin: .*' | sed 's/&quot;/"/g'
    else
        cat
    fi
}

# The version is not what these are about.
views() {
    local words code version
    version=$("$kelvin" --version | head -n 1)
    while read -ra words; do
        echo "\$ kelvin ${words[*]}"
        NO_COLOR=1 "$kelvin" "${words[@]//IN\//tests\/golden\/views\/input\/}" </dev/null 2>&1 | drawn "${words[0]}"
        code=${PIPESTATUS[0]}
        [ "$code" = 0 ] || echo "(exit code $code)"
        echo
    done <"$1" | sed "s/$version/kelvin VERSION/" >"$tmp/out"
    : >"$tmp/err"
}

fold() {
    local args=()
    if [[ $1 = *.cmd ]]; then
        views "$1"
        return
    fi
    [ -f "$1.args" ] && read -ra args <"$1.args"
    "$kelvin" fold "$1" "${args[@]}" >"$tmp/out" 2>"$tmp/err"
}

if [ "${1:-}" = --rewrite ]; then
    inputs | while read -r input; do
        if fold "$input"; then
            cp "$tmp/out" "$input.expected"
        else
            echo "golden: $input: $(cat "$tmp/err")" >&2
        fi
    done
    git status --short tests/golden
    exit
fi

n=0
while read -r input; do
    n=$((n + 1))
    if [ ! -f "$input.expected" ]; then
        echo "not ok $n $input"
        echo "# there is no $input.expected: run 'make golden' and look at it"
    elif fold "$input" && cmp -s "$tmp/out" "$input.expected"; then
        echo "ok $n $input"
    else
        echo "not ok $n $input"
        { cat "$tmp/err"; diff -u "$input.expected" "$tmp/out" | head -n 40; } | sed 's/^/# /'
    fi
done < <(inputs)
echo "1..$n"
