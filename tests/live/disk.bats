#!/usr/bin/env bats
# Recordings in shared folders and on disks that fill up, with whatever engine works here.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record -- true
}

# How many samples are in FILE, 0 where it does not open.
samples_in() { # FILE
    "$KELVIN" info --json "$1" 2>/dev/null | python3 -c 'import json, sys
text = sys.stdin.read()
print(json.loads(text)["quality"]["samples"] if text else 0)'
}

# Wherever the file limit strikes, in the samples, in the last flush or among the names: what the message says is true.
try_limits() { # SECONDS OPTION...
    local seconds=$1
    shift
    "$KELVIN" record -q "$@" -o whole.kelvin -- "$TARGET/split" "$seconds"
    "$KELVIN" record -q -o x.kelvin -- "$TARGET/split" 0.1
    cp x.kelvin before
    local size limit told there some=0
    size=$(stat -c %s whole.kelvin)
    for ((limit = 1; limit * 1024 < size; limit++)); do
        # shellcheck disable=SC2016  # for the inner shell
        run --separate-stderr bash -c 'ulimit -f "$1"; shift; exec "$@"' - "$limit" "$KELVIN" record "$@" -o x.kelvin -- \
            "$TARGET/split" "$seconds"
        [ "$status" = 0 ] && break # this run was the shorter one
        exits 125
        [[ $stderr == *"File too large"* ]] || fail "$stderr"
        cmp x.kelvin before || fail "the old recording changed"
        if [[ $stderr == *"none of"*"could be saved"* ]]; then
            no_file x.kelvin.part
            continue
        fi
        told=$(sed -n "s/^kelvin: \([0-9,]*\) of .* are in 'x.kelvin.part'.*/\1/p" <<<"$stderr" | tr -d ,)
        there=$(samples_in x.kelvin.part)
        [ "${told:-none}" = "$there" ] || fail "limit $limit: told $told, there are $there" "$stderr"
        some=1
    done
    [ "$some" = 1 ] || fail "no limit left a part: $stderr"
}

@test "a file limit anywhere in a recording loses nothing that was written, and the message is true" {
    try_limits 1
}

@test "so it is where waits are recorded beside the samples" {
    need_record --waits -- true
    try_limits 0.3 --waits
}

@test "a file limit that leaves no room for shared memory is named" {
    local kind
    for kind in --heap --locks "--engine timer"; do
        # shellcheck disable=SC2086
        run --separate-stderr bash -c 'ulimit -f 8; exec "$@"' - "$KELVIN" record $kind -o x.kelvin -- "$TARGET/split" 0.1
        exits 125
        complains "limit on file sizes" "ulimit -f"
    done
}

@test "what lies at FILE.part is not touched, and Ctrl-C is not needed to get past a pipe" {
    echo precious >victim
    ln -s victim x.kelvin.part
    kelvin record -o x.kelvin -- "$TARGET/split" 0.1
    exits 125
    complains "x.kelvin.part" "symbolic link"
    [ "$(cat victim)" = precious ]
    rm x.kelvin.part
    mkfifo x.kelvin.part
    run --separate-stderr timeout "$(patience 60)" "$KELVIN" record -o x.kelvin -- "$TARGET/split" 0.1
    exits 125
    complains "x.kelvin.part" "not a regular file"
    rm x.kelvin.part
    mkfifo x.kelvin
    run --separate-stderr timeout "$(patience 60)" "$KELVIN" record -o x.kelvin -- "$TARGET/split" 0.1
    exits 125
    complains "not a regular file"
}

@test "another user's part and another user's link in a shared folder are refused" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make files of others"
    mkdir -m 1777 shared
    echo precious >victim
    touch shared/x.kelvin.part
    ln -s ../victim shared/y.kelvin
    chown -h 65534 shared/x.kelvin.part shared/y.kelvin
    kelvin record -o shared/x.kelvin -- "$TARGET/split" 0.1
    exits 125
    complains "another user"
    kelvin record -o shared/y.kelvin -- "$TARGET/split" 0.1
    exits 125
    complains "another user"
    "$KELVIN" record -q -o good.kelvin -- "$TARGET/split" 0.1
    kelvin flame good.kelvin -o shared/y.kelvin
    exits 1
    complains "another user"
    [ "$(cat victim)" = precious ]
}

@test "a new recording is private, a replaced one keeps its mode, and a link is written through" {
    umask 0
    mkdir far
    ln -s far/x.kelvin x.kelvin
    "$KELVIN" record -q -o x.kelvin -- "$TARGET/split" 0.1
    [ -L x.kelvin ]
    [ "$(stat -c %a far/x.kelvin)" = 600 ]
    chmod 644 far/x.kelvin
    "$KELVIN" record -q -o x.kelvin -- "$TARGET/split" 0.1
    [ "$(stat -c %a far/x.kelvin)" = 644 ]
    [ -f far/x.kelvin.old ]
}
