#!/bin/bash
# Fuzz every format, and every fuzz_NAME.c, for FUZZ_SECONDS each under ASan and UBSan. Prints TAP.
#
# Inputs that broke something stay in $B/sanitize/fuzz/FORMAT.found/; run `fuzz_FORMAT FILE` on
# one to see it again. FUZZ_SEED=N makes the inputs the same each time; without it they are random.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
dir=${B:-build}/sanitize/fuzz
seconds=${FUZZ_SECONDS:-60}

sources() {
    "${B:-build}/sanitize/kelvin" help formats | sed -n '/^Read/,/^$/s/^  \([a-z0-9.]*\) .*/\1/p'
}

# What has a program of its own.
others() {
    find tests/fuzz -name 'fuzz_*.c' ! -name fuzz_import.c | sed 's/.*fuzz_\(.*\)\.c/\1/' | sort
}

# Seconds after which an input counts as a hang: more of them the busier the machine.
hang() {
    awk -v cpus="$(nproc)" '{ n = $1 / cpus; print int(10 * (n > 1 ? 2 * n : 2)) }' /proc/loadavg
}

# The seeds of a format: its own, and what the golden tests read.
seeds() {
    mkdir -p "$dir/$1.corpus"
    find "tests/fuzz/seeds/$1" "tests/golden/$1" -type f -size -64k ! -name '*.expected' \
        ! -name '*.args' 2>/dev/null | while read -r f; do
        case $f in
        *.gz) gzip -dc "$f" 2>/dev/null ;;
        *.zst) zstd -dcq "$f" 2>/dev/null ;;
        *) cat "$f" ;;
        esac >"$dir/$1.corpus/seed-$(basename "$f")"
    done
}

fuzz() {
    [ -f "tests/fuzz/fuzz_$1.c" ] || ln -sf fuzz_import "$dir/fuzz_$1"
    mkdir -p "$dir/$1.found"
    seeds "$1"
    "$dir/fuzz_$1" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -timeout="$(hang)" -seed="${FUZZ_SEED:-0}" \
        -artifact_prefix="$dir/$1.found/" -print_final_stats=1 "$dir/$1.corpus" >"$dir/$1.log" 2>&1
}

if [ "${1:-}" = --one ]; then
    if fuzz "$2"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$2.log")
        echo "ok fuzz $2, $runs runs in $seconds s"
    else
        printf 'not ok fuzz %s\n%s\n' "$2" "$(tail -n 40 "$dir/$2.log" | sed 's/^/# /')"
    fi
    exit
fi
echo "1..$({ sources; others; } | wc -l)"
{ sources; others; } | xargs -P "$(nproc)" -n 1 tools/fuzz.sh --one
