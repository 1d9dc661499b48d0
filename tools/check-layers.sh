#!/bin/bash
# Every #include between rooms must be allowed by the table in DESIGN.md, only cmd may name an
# option of the command line in a sentence, and only model decides by the name of an event, a column
# or a unit what it means. Prints what is not so; with --tap as a test for each
# room. A room is a folder of src/ with all that is below it; lib/ and lib/bench/ are rooms of
# their own.
set -euo pipefail
cd "$(dirname "$0")/.." || exit
shopt -s nullglob

# "room|may include" rows of the table, one room a line.
table() {
    awk -F'|' '
        $2 ~ /^ *room *$/ { on = 1; next }
        !on || $2 ~ /^-+$/ { next }
        !/^\|/ { on = 0; next }
        { n = split($2, rooms, /[ ,]+/); for (i = 1; i <= n; i++) if (rooms[i] != "") print rooms[i] "|" $3 }
    ' DESIGN.md
}

# Lines "file:line: room may not include room" for one ROOM that MAY include a list of rooms.
offences() { # ROOM MAY FILE...
    local room=$1 may=" ${2//,/ } $1 "
    shift 2
    [[ $may == *" all "* ]] && return
    awk -v room="$room" -v may="$may" '
        match($0, /^ *# *include "[a-z0-9]+\//) {
            to = substr($0, RSTART, RLENGTH - 1)
            sub(/.*"/, "", to)
            if (!index(may, " " to " ")) print FILENAME ":" FNR ": " room " may not include " to
        }' /dev/null "$@"
}

# "--store|--top|...": the options of all commands, from their tables.
own_options() {
    sed -nE 's/^ *\{(0|.[^"]*), "([a-z][a-z-]+)", OPT_.*/--\2/p' src/cmd/*.[ch] | sort -u | paste -sd'|'
}
options=$(own_options)
[ -n "$options" ] || { echo "check-layers: no option found in the tables of src/cmd" >&2; exit 1; }

# Lines of files with a text that names one of them. A text that is nothing but an option is a word
# for another program, or one that was read; where a whole command line is printed to be copied, the
# line says so in a comment. Benchmarks of lib/bench/ have options of their own.
names_options() { # ROOM FILE...
    local room=$1
    shift
    [[ $room == cmd || $room == lib/bench ]] && return
    awk -v options="$options" -v room="$room" '
        /^ *(\/\*|\*|\/\/)/ || /\/\* command line \*\// { next }
        {
            line = $0
            sub(/\/\*.*/, "", line)
            while (match(line, /"([^"\\]|\\.)*"/)) {
                text = substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, RSTART + RLENGTH)
                if (text ~ "(^|[^a-z0-9-])(" options ")([^a-z-]|$)" && text !~ /^(--[a-z-]+=?|sudo .*)$/)
                    print FILENAME ":" FNR ": " room " names an option: " text
            }
        }' "$@"
}

# Functions of the C library that differ in the last bit, where the page must show the terminal's digits (base/calc.h).
inexact() { # ROOM FILE...
    case $1 in stats | analysis) ;; *) return 0 ;; esac
    shift
    grep -nHE '(^|[^A-Za-z0-9_>.])(log|log2|log10|log1p|exp|exp2|expm1|pow|lgamma|lgamma_r|tgamma|erf|erfc|hypot|cbrt|sin|cos|tan|atan|fma)\(' "$@" |
        grep -vE '^[^:]*:[0-9]+: *(/?\*|\*)' | sed 's/$/   (use base\/calc.h)/' || true
}

# Lines that ask whether an event, a column or a unit has a certain name. Sources compare the words of
# their format, before these become columns, and a column that a user asked for is found by its name in
# model (profile_pick_value); nobody else does either.
compares_names() { # ROOM FILE...
    local room=$1
    shift
    [[ $room == model ]] && return
    awk -v room="$room" '
        /^ *(\/\*|\*|\/\/)/ { next }
        function of_data(text) {
            return text ~ /profile_str\([^"]*(->|\.)(event|unit)\)/ || text ~ /profile_str\([^"]*(types\[[^]]*\]\.|profile_value\([^)]*\)->|selection_value\([^)]*\)->)name\)/ ||
                   text ~ /selection_event\(/
        }
        function is_word(text) { return text ~ /, *("|[a-z_]+(\[|->|\.)|UNIT_|VALUE_|WALL_VALUE)/ }
        /profile_find_(stream|column)\(/ || /profile_pick_value\([^,]*, *"/ ||
        /profile_pick_value\([^,]*, *[^,]*, *"/ || /str(case)?cmp\(.*(UNIT_[A-Z]+|VALUE_SAMPLES)/ ||
        /strcmp\(([a-z_]*(->|\.))*unit, *"/ ||
        /(text_is|text_is_one_of|text_starts|strcmp)\(/ && of_data($0) && is_word($0) {
            if (room == "source" && !/"/ && !/UNIT_|VALUE_/) next
            sub(/^ */, "")
            print FILENAME ":" FNR ": " room " decides by a name what a stream or column means: " $0
        }' /dev/null "$@"
}

declare -A allowed
while IFS='|' read -r room may; do
    allowed[$room]=$may
done < <(table)

n=0 bad=0
for folder in src/*/ lib/ lib/*/; do
    room=${folder#src/} room=${room%/}
    n=$((n + 1))
    if [ -z "${allowed[$room]+x}" ]; then
        found="$folder: DESIGN.md's table of rooms does not name it"
    else
        mapfile -t files < <(find "$folder" -name '*.[ch]' -not -path 'lib/bench/*' | sort)
        [ "$folder" = lib/bench/ ] && files=(lib/bench/*.[ch])
        found=$(offences "$room" "${allowed[$room]}" "${files[@]}" && names_options "$room" "${files[@]}" &&
            compares_names "$room" "${files[@]}" && inexact "$room" "${files[@]}")
    fi
    if [ -n "$found" ]; then
        bad=1
        [ "${1:-}" = --tap ] && echo "not ok $n layers of $room" && found="# ${found//$'\n'/$'\n# '}"
        echo "$found"
    elif [ "${1:-}" = --tap ]; then
        echo "ok $n layers of $room"
    fi
done
[ "${1:-}" = --tap ] && echo "1..$n"
exit $bad
