# A disk without room, at every command that writes: the old file stays, nothing half-written is left, and the message says why.
# shellcheck disable=SC2154  # run sets output, status, stderr
load ../lib/helpers

# The disk is a file system of this test's own, in a namespace of its own: gone with the last process in it.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unshare -m sh -c 'mkdir -p disk && mount -t tmpfs -o size=64k none disk' 2>/dev/null ||
        skip "a file system of its own cannot be mounted"
    python3 -c 'for i in range(3000): print(f"main;work{i % 97};part{i} {i + 1}")' >p.folded
    sed 's/7 /9 /' p.folded >q.folded
    printf 'total work1 <= 99%%\n' >rules
    "$KELVIN" bench -q --runs 3 --save main --store history.db true >/dev/null
}

# Run COMMAND in a folder that is called disk and has ROOM bytes left; what is in FILE there before must be there afterwards.
# Prints the command's standard error and exit code.
on_full_disk() { # ROOM FILE COMMAND...
    # shellcheck disable=SC2016  # for the inner shell
    run --separate-stderr unshare -m bash -c '
        room=$1 file=$2
        shift 2
        mount -t tmpfs -o size=64k none disk || exit 99
        [ "$file" = - ] || echo before >"disk/$file"
        head -c $((16 * 4096 - 4096 - room / 4096 * 4096)) /dev/zero >disk/filler 2>/dev/null
        "$@"
        code=$?
        [ "$file" = - ] || [ "$(cat "disk/$file")" = before ] || echo "CHANGED: $(head -c 60 "disk/$file" | tr -d "\0")"
        find disk -mindepth 1 ! -name filler ! -name "$file" -printf "LEFT: %P\n"
        exit $code' - "$@"
}

refused() { # WHAT
    [ "$status" != 0 ] || fail "$1: exit code 0" "$output" "$stderr"
    [ "$status" -lt 124 ] || [ "$status" = 125 ] || fail "$1: exit code $status" "$stderr"
    [[ $output != *CHANGED:* ]] || fail "$1: $output" "$stderr"
    [[ $output != *LEFT:* ]] || fail "$1: $output" "$stderr"
    [[ $stderr == *"No space left on device"* || $stderr == *"disk is full"* ]] || fail "$1: $stderr"
    [[ $stderr == *"unchanged"* || $stderr == *"nothing was changed"* || $stderr == *"as it was"* ]] || fail "$1: $stderr"
}

@test "a full disk leaves the old file as it was, whatever writes" {
    local how
    for how in "report p.folded -o disk/x.html" "report p.folded --format json -o disk/x.json" "report p.folded -o disk/x.md" \
        "flame p.folded -o disk/x.svg" "fold p.folded -o disk/x.folded" "diff p.folded q.folded --force -o disk/x.html" \
        "diff p.folded q.folded --force --format json -o disk/x.json" "view p.folded -o disk/x.html" \
        "check p.folded rules --format junit -o disk/x.xml" "check p.folded rules -o disk/x.json" \
        "bench -q --runs 3 true -o disk/x.html" "bench -q --runs 3 true -o disk/x.csv" \
        "bench --store history.db --export main -o disk/x.json" "init --force -o disk/x.conf"; do
        # shellcheck disable=SC2086
        on_full_disk 0 "${how##*/}" "$KELVIN" $how
        refused "$how"
    done
}

@test "a disk that fills up in the middle of a file leaves the old one as it was" {
    local how
    for how in "report p.folded -o disk/x.html" "flame p.folded -o disk/x.svg" "fold p.folded -o disk/x.folded" \
        "view p.folded -o disk/x.html" "convert p.folded --to json -o disk/x" "convert p.folded --to firefox -o disk/x"; do
        # shellcheck disable=SC2086
        on_full_disk 8192 "${how##*/}" "$KELVIN" $how
        refused "$how"
    done
}

@test "a limit on file sizes leaves the old file as it was, whatever writes" {
    local how
    for how in "report p.folded -o x.html" "report p.folded --format json -o x.json" "flame p.folded -o x.svg" "fold p.folded -o x" \
        "view p.folded -o x.html" "convert p.folded -o x.pb.gz" "convert p.folded --to firefox -o x" \
        "diff p.folded q.folded --force -o x.svg" "init --force -o x.conf"; do
        echo before >"${how##*-o }"
        # shellcheck disable=SC2086
        run --separate-stderr bash -c 'ulimit -f 1; exec "$@"' - "$KELVIN" $how
        exits 1
        [[ $stderr == *"cannot write '${how##*-o }'; what was there before is unchanged: File too large"* ]] || fail "$how: $stderr"
        [ "$(cat "${how##*-o }")" = before ] || fail "$how changed it"
        no_litter .
    done
}

@test "a full disk leaves the old file as it was in every format" {
    local format from spans=$ROOT/tests/golden/views/input/scopes.kelvin
    for format in $("$KELVIN" help formats | sed -n '/^Written/,/^$/s/^  \([a-z0-9-]*\) .*/\1/p'); do
        case $format in
        chrometrace | perfetto | otlp*) from=$spans ;;
        *) from=p.folded ;;
        esac
        on_full_disk 0 x "$KELVIN" convert "$from" --to "$format" -o disk/x
        refused "$format"
    done
}

@test "a full disk leaves the store of baselines as it was" {
    for room in 0 8192 16384; do
        # shellcheck disable=SC2016
        on_full_disk $room - bash -c 'cp history.db disk/history.db || exit 98
            "$0" bench -q --runs 3 --store disk/history.db --save other "true ${1}" 2>&1 >/dev/null; echo "code $?"
            "$0" bench --store disk/history.db --baselines' "$KELVIN" "$(printf 'x%.0s' {1..3000})"
        [ "$status" != 98 ] || continue
        [[ $output == *main* ]] || fail "$room: $output" "$stderr"
        [[ $output == *"code 0"* || $output == *"disk is full"* || $output == *"No space left"* ]] || fail "$room: $output" "$stderr"
    done
}
