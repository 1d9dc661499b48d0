#!/usr/bin/env bats
# What `kelvin record` says when there is little to say.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

TARGET=${KELVIN%/*}/tests/target

setup_file() {
    build_targets
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_record --engine perf -- true
}

@test "who attaches to an idle process is told that kelvin waits, and how to see waiting" {
    sleep 300 &
    local pid=$!
    kelvin record -p $pid -d 8 -o x.kelvin
    kill $pid
    exits 0
    [ "$(grep -c "process $pid has used no CPU time so far" <<<"$stderr")" = 1 ] || fail "$stderr"
    [[ $stderr == *"record --waits -p $pid"* ]] || fail "$stderr"
    "$TARGET/split" 300 >/dev/null &
    pid=$!
    kelvin record -p $pid -d 4 -o x.kelvin
    kill $pid
    [[ $stderr != *"no CPU time"* ]] || fail "$stderr"
}

@test "programs that the kernel hides: the true reason" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make a setuid program"
    chmod 777 .
    cp "$TARGET/split" app
    as_nobody() {
        run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$KELVIN" record -o x.kelvin -- ./app 0.3
    }
    as_nobody
    [[ $stderr != *hides* ]] || fail "$stderr"
    chmod 4755 app
    as_nobody
    [[ $stderr == *"setuid"*"kernel hides it"* ]] || fail "$stderr"
    chmod 711 app
    as_nobody
    [[ $stderr == *"may be run but not read"*"kernel hides it"* ]] || fail "$stderr"
}

# In a PID namespace there are no clocks of CPUs, and those of threads end with the old user.
@test "a program that becomes another user in a container: the true reason, and no advice about the rate" {
    is_real_root || skip "needs root, to make a setuid program of somebody else"
    unshare --pid --fork --mount-proc true 2>/dev/null || skip "no PID namespace can be made"
    cp "$TARGET/split" app
    chown 65534 app
    chmod 4755 app
    run --separate-stderr unshare --pid --fork --mount-proc "$KELVIN" record --engine perf -o x.kelvin -- ./app 0.3
    [[ $stderr == *"no samples: ./app"*"setuid"*"run kelvin as that user, or as root outside of containers"* ]] || fail "$stderr"
    [[ $stderr != *" -F"* ]] || fail "$stderr"
    kelvin report x.kelvin
    [[ $stderr == *"setuid"*"outside of containers"* ]] || fail "$stderr"
}

@test "an interpreter's own functions: how to see them" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    kelvin record -o x.kelvin -- python3 -c 'sum(range(10**6))'
    [[ $stderr == *"python3 -X perf"* ]] || fail "$stderr"
    kelvin record -o x.kelvin -- python3 -X perf -c 'sum(range(10**6))'
    [[ $stderr != *"to see the functions of"* ]] || fail "$stderr"
    kelvin record -o x.kelvin -- "$TARGET/split" 0.1
    [[ $stderr != *"to see the functions of"* ]] || fail "$stderr"
}

@test "on a terminal nothing comes between the lines of the program" {
    command -v script >/dev/null || skip "script is not installed"
    script -qec "'$KELVIN' record -o x.kelvin -- sh -c 'for i in 1 2 3 4; do echo line \$i; sleep 1; done'" /dev/null >seen
    [ "$(head -n 4 seen | tr -d '\r')" = "$(printf 'line %d\n' 1 2 3 4)" ] || fail "$(cat -v seen)"
}

@test "on a terminal kelvin's words begin a line of their own, whatever the program printed last" {
    command -v script >/dev/null || skip "script is not installed"
    for last in 'half a line' x ''; do
        TERM=xterm script -qec "stty cols 60; '$KELVIN' record -o x.kelvin -- printf '$last'" /dev/null >seen
        # What a terminal of 60 columns shows: blanks lead into the next line, unless they began one.
        python3 - >shown <<'EOF'
lines, line, at = [], [" "] * 60, 0
for c in open("seen", "rb").read().decode().replace("\x1b[K", "\x05"):
    if c == "\r":
        at = 0
    elif c == "\x05":
        line[at:] = [" "] * (60 - at)
    else:
        if c == "\n" or at == 60:
            lines.append("".join(line).rstrip())
            line, at = [" "] * 60, 0 if c != "\n" else at
        if c != "\n":
            line[at] = c
            at += 1
print("\n".join(lines))
EOF
        [ -z "$last" ] || [ "$(head -n 1 shown)" = "$last" ] || fail "'$last': $(cat -v seen)"
        [ "$(grep -n -m 1 ^kelvin: shown | cut -d: -f1)" = $((${#last} > 0 ? 2 : 1)) ] || fail "'$last': $(cat shown)"
    done
}

@test "on a terminal the words about an idle process have a line of their own" {
    command -v script >/dev/null || skip "script is not installed"
    sleep 300 &
    local pid=$!
    script -qec "'$KELVIN' record -p $pid -d 6 -o x.kelvin" /dev/null >seen
    kill $pid
    # a terminal shows what follows the last erasure of the line
    grep -a "has used no CPU time" seen | tr -d '\r' | sed 's/.*\x1b\[K//' >line
    [[ $(<line) == "kelvin: process $pid has used no CPU time"* ]] || fail "$(cat -v seen)"
}

# Only kelvin gets the signal, and only while it blocks signals but has not started the command.
@test "Ctrl-C before the command has started ends it too" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    cat >early.py <<'EOF'
import os, signal, subprocess, sys

def blocks_int(pid):
    with open(f"/proc/{pid}/status") as status:
        blocked = [line for line in status if line.startswith("SigBlk")]
    return int(blocked[0].split()[1], 16) & 1 << signal.SIGINT - 1

def record():
    p = subprocess.Popen([sys.argv[1], "record", "-q", "-o", "x.kelvin", "--", "sleep", "2"])
    while p.poll() is None and not blocks_int(p.pid):
        pass
    if p.poll() is None:
        os.kill(p.pid, signal.SIGINT)
    return p.wait()

codes = []
while 130 not in codes and len(codes) < 20:
    codes.append(record())
print(codes)
sys.exit(130 not in codes)
EOF
    run python3 early.py "$KELVIN"
    [ "$status" = 0 ] || fail "$output"
}

@test "a process that never ran has no samples: each command says so, and no other reason" {
    sleep 60 &
    local idle=$!
    "$KELVIN" record -q --waits -p "$idle" -d 0.5 -o waits.kelvin
    "$KELVIN" record -q -p "$idle" -d 0.5 -o none.kelvin
    kill "$idle"
    kelvin report none.kelvin
    exits 5
    complains "no samples in it: the program used hardly any CPU time"
    kelvin report waits.kelvin
    exits 0
    [[ $output == *"There are no samples, so there are no shares."* && $output != *"only 0"* ]] || fail "$output"
    kelvin diff waits.kelvin waits.kelvin
    [[ $output == *"there are no samples on one side"* ]] || fail "$output"
    kelvin simd waits.kelvin
    exits 5
    complains "there are no samples"
}

@test "record and report agree on a function that is inlined in one place" {
    cat >inl.c <<'C'
static long s;
static inline __attribute__((always_inline)) void hot_again(long n) { for (volatile long i = 0; i < n; i++) s += i; }
__attribute__((noinline)) void outer(void) { hot_again(60000000); }
void (*volatile again)(long) = hot_again;
int main(void) { outer(); again(60000000); return 0; }
C
    gcc -O2 -g -o inl inl.c
    kelvin record -- ./inl
    exits 0
    [ "$(grep -c '%  hot_again$' <<<"$stderr")" = 1 ] || fail "$stderr"
}
