# For bats tests of the heap: recordings against what a program counted itself.
# shellcheck shell=bash disable=SC2034,SC2154  # TARGET is the tests'; kelvin sets output, status, stderr

TARGET=${KELVIN%/*}/tests/target

# Record the heap of a command; its own output is $output.
record() { # COMMAND...
    kelvin record --heap -o r.kelvin -- "$@"
    exits 0
}

# For setup_file: record a command once for several tests, as NAME.
share() { # NAME COMMAND...
    local name=$1
    shift
    cd "$BATS_FILE_TMPDIR" || return
    "$KELVIN" record --heap -o "$name.kelvin" -- "$@" >"$name.out" 2>"$name.err"
}

# What was recorded as NAME, as if this test had done it.
shared() { # NAME
    cp "$BATS_FILE_TMPDIR/$1.kelvin" r.kelvin
    output=$(cat "$BATS_FILE_TMPDIR/$1.out")
    stderr=$(cat "$BATS_FILE_TMPDIR/$1.err")
}

# The sum of a column over the stacks that match PATTERN.
sum() { # VALUE [PATTERN]
    "$KELVIN" fold --value "$1" r.kelvin 2>/dev/null |
        awk -v re="${2:-.}" '$0 ~ re { n += $NF } END { printf "%.0f", n }'
}

# What the program counted itself.
told() { # WORD
    awk -v key="$1" '$1 == key { print $2 }' <<<"$output"
}

# All that the program counted is what was recorded, from its own functions.
agrees() {
    local value
    for value in allocations allocated frees freed leaked; do
        [ -n "$(told $value)" ] || fail "the program did not say $value: $output"
        [ "$(sum $value 'part_|;plain')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_|;plain'), the program counted $(told $value)"
    done
}

# Of the C++ program, by function.
cxx_agrees() {
    local value
    for value in allocations allocated freed; do
        [ "$(sum $value 'part_(vector|map|aligned)')" = "$(told $value)" ] ||
            fail "$value: $(sum $value 'part_(vector|map|aligned)'), the program counted $(told $value)"
    done
    [ "$(sum leaked 'part_(vector|map|aligned)')" = 0 ]
    [ "$(sum allocations 'part_thrown;.*allocate_exception')" = 50 ] # a static program's unwinder sorts its rules once
}

# What stands out in r.kelvin, by title.
insights() {
    "$KELVIN" heap --format json r.kelvin 2>/dev/null | jq -r '.insights[] | .title + ": " + .text'
}
