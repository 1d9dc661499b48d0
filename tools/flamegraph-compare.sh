#!/bin/sh
# Compare `kelvin fold` with stackcollapse-perf.pl on FlameGraph's own test inputs.
#
#     tools/flamegraph-compare.sh FLAMEGRAPH-CHECKOUT [KELVIN]
#
# Every input with each of the six options; an answer is right when it has the same lines as the
# script as it is today, in any order. Prints "78 of 78" and exits with 0, or shows what differs.
# Skipped, with the reason, where there is no checkout or no perl.
set -u
checkout=${1:-}
kelvin=${2:-build/kelvin}
export LC_ALL=C

if [ ! -f "$checkout/stackcollapse-perf.pl" ]; then
    echo "skipped: no FlameGraph checkout in '$checkout'"
    exit 0
fi
if ! command -v perl > /dev/null; then
    echo "skipped: perl is not installed"
    exit 0
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
same=0
all=0
for input in "$checkout"/test/*.txt; do
    for option in pid tid kernel jit all addrs; do
        all=$((all + 1))
        perl "$checkout/stackcollapse-perf.pl" --$option "$input" 2> /dev/null |
            sort > "$work/theirs"
        "$kelvin" fold "$input" --$option 2> "$work/errors" | sort > "$work/ours"
        if [ -s "$work/theirs" ] && cmp -s "$work/theirs" "$work/ours"; then
            same=$((same + 1))
            continue
        fi
        echo "differs: $(basename "$input") --$option"
        diff "$work/theirs" "$work/ours" | head -n 4 | cut -c 1-300
        head -n 2 "$work/errors"
    done
done
echo "$same of $all"
[ "$all" -gt 0 ] && [ "$same" -eq "$all" ]
