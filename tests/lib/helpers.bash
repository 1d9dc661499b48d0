# helpers.bash - what the command-line tests share. In a .bats file: `load ../lib/helpers`.
#
# $KELVIN is the program under test; KELVIN_SANITIZED=1 tells that it is the slow, checked build.
# Every test runs in a folder of its own, which is gone afterwards.

# shellcheck disable=SC2154  # run sets output, status, lines, stderr
KELVIN=${KELVIN:-$BATS_TEST_DIRNAME/../../build/kelvin}
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# Run kelvin; then $output is its standard output, $stderr the rest, $status the exit code.
kelvin() {
    run --separate-stderr "$KELVIN" "$@"
}

# Say what is wrong, and fail. Long texts are cut: somebody has to read this.
fail() {
    printf '%.500s\n' "$@" >&2
    return 1
}

# The exit code is CODE.
exits() { # CODE
    [ "$status" -eq "$1" ] || fail "exit code $status, not $1" "stdout: $output" "stderr: $stderr"
}

# Standard error is one sentence, "kelvin: ...", that has every WORD in it.
complains() { # WORD...
    local word
    [ "$(wc -l <<<"$stderr")" -eq 1 ] || fail "not one line on standard error: '$stderr'"
    [[ $stderr == "kelvin: "* ]] || fail "does not start with 'kelvin: ': '$stderr'"
    for word in "$@"; do
        [[ $stderr == *"$word"* ]] || fail "no '$word' in: $stderr"
    done
}

# Standard output is TEXT.
prints() { # TEXT
    [ "$output" = "$1" ] || fail "printed: $output" "expected: $1" "stderr: $stderr"
}

# FILE does not exist, and nothing of ours lies about beside it.
no_file() { # FILE
    [ ! -e "$1" ] || fail "$1 was written"
    no_litter "$(dirname "$1")"
}

no_litter() { # FOLDER
    local left
    left=$(find "$1" -name '.kelvin*')
    [ -z "$left" ] || fail "left behind: $left"
}
