#!/usr/bin/env bats
# The doctor: what this host allows, tried for real, as root, without rights, and under seccomp.
load ../lib/helpers

# The folder of test programs, which are the same for all builds of kelvin.
targets() {
    (cd "$ROOT" && echo "$(realpath "${B:-build}")/tests/target")
}

without_perf() { # [OPTION] COMMAND...
    local filter
    filter=$(targets)/noperf
    [ -x "$filter" ] || skip "needs $filter ('make targets')"
    run --separate-stderr "$filter" "$@"
    [ "$status" -ne 125 ] || skip "no seccomp filter can be set here: $stderr"
}

# Run kelvin as somebody without rights.
as_nobody() {
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
    install -m 755 "$KELVIN" "$BATS_TEST_TMPDIR/program"
    install -m 755 "$(dirname "$KELVIN")"/libkelvin-agent.so "$BATS_TEST_TMPDIR"
    run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$BATS_TEST_TMPDIR/program" "$@"
}

# What the check NAME says in the JSON on standard output: state, why and fix.
check() { # NAME FIELD
    python3 -c '
import json, sys
name, field = sys.argv[1:]
print([c for c in json.load(sys.stdin)["checks"] if c["name"] == name][0][field])' "$@" <<<"$output"
}

field() { # FIELD
    python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" <<<"$output"
}

is() { # GOT PATTERN
    # shellcheck disable=SC2053  # a pattern is meant
    [[ $1 == $2 ]] || fail "'$1' is not '$2'" "$output"
}

@test "doctor: tells a state, a reason and what record will use" {
    kelvin doctor
    exits 0
    [ -z "$stderr" ]
    local name
    for name in "user code" "kernel code" "waits" "seccomp" "timer engine" "kernel symbols" "governor" "disk"; do
        grep -qE "^  (ok|limited|no|note) +$name +[^ ]" <<<"$output" || fail "no line '$name'" "$output"
    done
    is "${lines[-1]}" "kelvin record: records with *."
}

@test "doctor: JSON holds the same findings" {
    kelvin doctor
    local shown=$output
    kelvin doctor --json
    exits 0
    local count
    count=$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["checks"]))' <<<"$output")
    is "$(grep -cE '^  (ok|limited|no|note) ' <<<"$shown")" "$count"
    is "$(tail -n 1 <<<"$shown")" "kelvin record: $(field verdict)."
}

@test "doctor: agrees with the kernel about paranoid for a user without rights" {
    local paranoid
    paranoid=$(cat /proc/sys/kernel/perf_event_paranoid) || skip "the kernel has no perf events"
    as_nobody doctor --json
    exits 0
    if [ "$paranoid" -ge 3 ]; then
        is "$(field engine)" timer
    elif [ "$paranoid" -eq 2 ] && [ "$(check 'user code' state)" = ok ]; then
        is "$(field verdict)" "records with perf, *, user stacks only: kernel.perf_event_paranoid is 2"
        is "$(check 'kernel code' state)" limited
        is "$(check 'kernel code' fix)" "sudo sysctl kernel.perf_event_paranoid=1*"
        is "$(check 'kernel symbols' state)" limited
        is "$(check waits why)" "durations only, *: kernel.perf_event_paranoid is 2"
    fi
}

@test "doctor: seccomp is told from missing rights" {
    without_perf "$KELVIN" doctor --json
    exits 0
    is "$(field engine)" timer
    is "$(field verdict)" "records with the timer engine *: perf_event_open is blocked by seccomp"
    is "$(check seccomp state)" no
    is "$(check 'user code' why)" "perf_event_open is blocked by seccomp"
    [ "$(check seccomp fix)" != None ]
}

@test "doctor: a filter that says ENOSYS is seen too" {
    without_perf --enosys "$KELVIN" doctor --json
    exits 0
    is "$(field verdict)" "records with the timer engine *: perf_event_open is blocked by seccomp"
}

@test "doctor: exits with 1 where nothing can record" {
    without_perf --no-timers "$KELVIN" doctor
    exits 1
    is "${lines[-1]}" "kelvin record: cannot record here: *"
}

@test "doctor: a line that helps in several places is shown once" {
    without_perf "$KELVIN" doctor
    exits 0
    [[ $output == *"-> "* ]]
    is "$(grep -- '-> ' <<<"$output" | sort | uniq -d)" ""
}

@test "doctor: a folder that may not be written to" {
    mkdir closed
    cd closed
    as_nobody doctor --json
    exits 0
    is "$(check disk state)" no
    is "$(check disk fix)" "*-o FILE"
}

@test "doctor: does not tell the machine's name or the debug server's password" {
    DEBUGINFOD_URLS=https://user:hunter2@example.org kelvin doctor --json
    exits 0
    [[ $output != *hunter2* ]]
    is "$(check debuginfod state)" ok
    local host
    host=$(uname -n)
    [ "${#host}" -lt 6 ] || [[ $output != *"$host"* ]] || fail "the host name is in it"
}

@test "doctor: takes no operands" {
    kelvin doctor me
    exits 1
    complains "takes no operands" "me"
}

@test "doctor: output that cannot be written is an error" {
    run --separate-stderr bash -c '"$0" doctor >/dev/full' "$KELVIN"
    exits 1
    complains "cannot write"
}
