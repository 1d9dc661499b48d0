#!/usr/bin/env bats
# The engine `perf` and `kelvin record` itself, on programs that know where their time goes.
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

as_nobody() { # COMMAND...
    [ "$(id -u)" = 0 ] || skip "needs root, to become somebody else"
    chmod 777 .
    run_as_nobody "$@"
}

# Long enough at the depth that is hardest, for narrow limits; else for the shape.
seconds() { # DEPTH
    [ "$1" -ge 200 ] && echo 2 || echo 0.7
}

# Each part has its share within four standard deviations, and 99 % of the stacks are whole.
splits_right() { # FILE SIXTY THIRTY TEN
    "$KELVIN" fold "$1" | awk -v a="$2" -v b="$3" -v c="$4" '
        function check(name, got, want) {
            sigma = 100 * sqrt(want / 100 * (1 - want / 100) / n)
            if (got < want - 4 * sigma || got > want + 4 * sigma) {
                printf "%s has %.2f%%, not %d%% (+- %.2f)\n", name, got, want, 4 * sigma
                bad = 1
            }
        }
        { all += $NF }
        /\[unfinished\]/ { cut += $NF }
        index($0, a) { na += $NF }
        index($0, b) { nb += $NF }
        index($0, c) { nc += $NF }
        END {
            n = na + nb + nc
            if (n < 200) { print n + 0 " samples only"; exit 1 }
            check(a, 100 * na / n, 60); check(b, 100 * nb / n, 30); check(c, 100 * nc / n, 10)
            if (cut > all / 100) { printf "%d of %d stacks are unfinished\n", cut, all; bad = 1 }
            exit bad
        }' >&2 || fail "$("$KELVIN" info "$1" 2>&1 | grep -iE 'unfinished|stack|ring|lost')"
}

# The kernel then takes its files away from /proc, without sleep while a last thread of it does the same: who goes first never
# lets that thread, and is stopped only after 0.95 s, which were part of the recording.
@test "who ends is waited for by a recorder that does not go first" {
    [ "$(id -u)" = 0 ] || skip "needs root, to go first"
    cat >reap.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    FILE *f = fopen("reaped", "a");
    fprintf(f, "%d\n", sched_getscheduler(0));
    fclose(f);
    return ((pid_t(*)(pid_t, int *, int, struct rusage *))dlsym(RTLD_NEXT, "wait4"))(pid, status, options, usage);
}
int sched_setscheduler(pid_t pid, int policy, const struct sched_param *to)
{
    FILE *f = policy != SCHED_OTHER ? fopen("urgent", "w") : NULL;
    if (f)
        fclose(f);
    return ((int (*)(pid_t, int, const struct sched_param *))dlsym(RTLD_NEXT, "sched_setscheduler"))(pid, policy, to);
}
C
    cc -shared -fPIC -o reap.so reap.c -ldl
    LD_PRELOAD=$PWD/reap.so kelvin record -o r.kelvin -- "$TARGET/split" 0.2
    exits 0
    [ -e urgent ] || skip "it never goes first here"
    [ -s reaped ] || fail "nobody was waited for"
    [ "$(sort -u reaped)" = 0 ] || fail "policies of the recorder when it waited: $(cat reaped)"
}

# The kernel reports none of its maps: the first samples come before they are read. It says that the program has ended, too: after
# two seconds there were no more samples.
@test "root sees the functions of a program that becomes another user" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make a setuid program"
    cp "$TARGET/split" app
    chown 65534 app
    chmod 4755 app
    kelvin record -q --engine perf -o x.kelvin -- ./app 3
    exits 0
    run awk '{ all += $NF } /;main;/ { named += $NF } END { print named + 0 " of " all + 0; exit !(all < 40 || named > 0.8 * all) }' <("$KELVIN" fold x.kelvin)
    [ "$status" = 0 ] || fail "$output have main on their stacks"
    [ "$(info x.kelvin clocks)" = "of CPUs" ] || skip "clocks of CPUs cannot be had here"
    [ "$(info x.kelvin sampled_ns)" -gt $(($(info x.kelvin cpu_time_ns) * 8 / 10)) ] ||
        fail "samples of $(info x.kelvin sampled_ns) ns, CPU time $(info x.kelvin cpu_time_ns) ns"
}

@test "C without frame pointers: true shares and whole stacks at depth 5, 50 and 200" {
    for depth in 5 50 200; do
        kelvin record -o c.kelvin -- "$TARGET/split" "$(seconds $depth)" $depth
        exits 0
        splits_right c.kelvin part_sixty part_thirty part_ten
        [ "$(info c.kelvin lost)" = 0 ]
    done
}

@test "C++ with templates and exceptions: true shares and whole stacks at depth 5, 50 and 200" {
    for depth in 5 50 200; do
        kelvin record -o cpp.kelvin -- "$TARGET/split_cpp" "$(seconds $depth)" $depth
        exits 0
        splits_right cpp.kelvin 'part<60>' 'part<30>' 'part<10>'
    done
}

@test "Rust: true shares and whole stacks at depth 5, 50 and 200" {
    [ -x "$TARGET/split_rust" ] || skip "no rustc"
    for depth in 5 50 200; do
        kelvin record -o rs.kelvin -- "$TARGET/split_rust" "$(seconds $depth)" $depth
        exits 0
        splits_right rs.kelvin part_sixty part_thirty part_ten
    done
}

@test "four busy threads: none lost, each its own thread" {
    kelvin record -o t.kelvin -- "$TARGET/split" 1 20 4
    exits 0
    splits_right t.kelvin part_sixty part_thirty part_ten
    [ "$(info t.kelvin lost)" = 0 ]
    [ "$("$KELVIN" fold --tid t.kelvin | cut -d';' -f1 | sort -u | wc -l)" = 4 ]
}

@test "an unprivileged user gets the same shape, and is told that the kernel is hidden" {
    local folder
    folder=$(open_folder "$TARGET/split")
    as_nobody "$folder/kelvin" record -o u.kelvin -- "$folder/split" 2 200
    exits 0
    splits_right u.kelvin part_sixty part_thirty part_ten
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ] || [ "$(info u.kelvin kernel_hidden)" = yes ]
}

@test "a running process is sampled with all its threads, and goes on" {
    "$TARGET/split" 30 20 3 >/dev/null &
    local pid=$!
    wait_until 10 has_threads $pid 3
    kelvin record -p $pid -d 2 -o p.kelvin
    kill -0 $pid
    kill $pid
    exits 0
    splits_right p.kelvin part_sixty part_thirty part_ten
    [ "$("$KELVIN" fold --tid p.kelvin | cut -d';' -f1 | sort -u | wc -l)" = 3 ]
}

@test "a running process that set its own title is named without the room behind it" {
    cat >titled.c <<'END'
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    memset(argv[0], 0, (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]));
    strcpy(argv[0], "titled job");
    return (int)sleep(60);
}
END
    cc -o titled titled.c
    ./titled a line of arguments that the title is written over &
    local pid=$!
    wait_until 10 grep -q "^titled job" /proc/$pid/cmdline
    kelvin record -q --min-samples 0 -p $pid -d 0.2 -o p.kelvin
    kill $pid
    exits 0
    [ "$(info p.kelvin command)" = "'titled job'" ] || fail "$(info p.kelvin command)"
}

@test "a command whose time is over is ended, and that is no failure" {
    kelvin record -q --min-samples 0 -d 0.5 -o d.kelvin -- sleep 300
    exits 0
    [ -s d.kelvin ] || fail "no recording"
    kelvin record -q --min-samples 0 -d 0.5 -o d.kelvin -- sh -c 'trap "exit 7" TERM; while :; do sleep 0.05; done'
    exits 7
}

@test "what a shell forks and execs is followed" {
    kelvin record -o s.kelvin -- sh -c "'$TARGET/split' 1 5; exec '$TARGET/split' 1 5"
    exits 0
    splits_right s.kelvin part_sixty part_thirty part_ten
    [ "$("$KELVIN" fold --pid s.kelvin | grep part_sixty | cut -d';' -f1 | sort -u | wc -l)" = 2 ]
}

@test "a program that is deleted while it runs keeps its names" {
    cp "$TARGET/split" gone
    kelvin record -o g.kelvin -- sh -c './gone 1 5 & until [ "$(readlink /proc/$!/exe)" = "$PWD/gone" ]; do sleep 0.05; done; rm gone; wait'
    exits 0
    splits_right g.kelvin part_sixty part_thirty part_ten
}

@test "a recorder that is killed leaves all but the last second" {
    "$KELVIN" record -o k.kelvin -- "$TARGET/split" 30 5 >/dev/null 2>&1 &
    local recorder=$! command
    wait_until 10 pgrep -x -P $recorder split >/dev/null
    command=$(pgrep -x -P $recorder split)
    wait_until 30 has_run "$command" 2
    kill -9 $recorder
    kill "$command"
    [ ! -e k.kelvin ]
    local span_ns
    span_ns=$("$KELVIN" info --json k.kelvin.part 2>/dev/null | grep -o '"span_ns":[0-9]*' | cut -d: -f2)
    [ "$span_ns" -ge 700000000 ] || fail "only $span_ns ns are left of 2 s"
    [ "$(info k.kelvin.part kind)" != "not recorded" ]
}

@test "too few samples leave the old file alone; --allow-partial labels them" {
    echo precious >few.kelvin
    kelvin record --min-samples 100000 -o few.kelvin -- "$TARGET/split" 0.3
    exits 3
    complains "fewer than --min-samples"
    [ "$(cat few.kelvin)" = precious ]
    [ ! -e few.kelvin.part ]
    kelvin record --min-samples 100000 --allow-partial -q -o few.kelvin -- "$TARGET/split" 0.3
    exits 0
    [[ $(info few.kelvin partial) == *"fewer samples than were asked for"* ]]
}

@test "a command finds signals as it would without kelvin" {
    (trap '' USR2 PIPE HUP; grep -E '^Sig(Blk|Ign)' /proc/self/status >before
     "$KELVIN" record -q --min-samples 0 -o x.kelvin -- grep -E '^Sig(Blk|Ign)' /proc/self/status >after 2>err)
    cmp before after || fail "$(cat before after err)"
}

@test "the command and what to do next are quoted for a shell" {
    local busy='n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done' said
    kelvin record --min-samples 0 -o "it's one.kelvin" -- sh -c "$busy" "it's"
    exits 0
    said=$(info "it's one.kelvin" command)
    [ "$said" = "sh -c '$busy' 'it'\\''s'" ] || fail "$said"
    local next=${stderr##*next: }
    eval "set -- $next"
    [ "$2" = report ] && [ "$3" = "it's one.kelvin" ] && [ "$#" = 3 ] || fail "$next"
    [[ $stderr != *kept* ]] || fail "$stderr"
}

@test "a recording that is replaced is said to be kept" {
    kelvin record --min-samples 0 -o x.kelvin -- true
    [[ $stderr != *x.kelvin.old* ]] || fail "$stderr"
    cp x.kelvin before
    kelvin record --min-samples 0 -o x.kelvin -- true
    exits 0
    [[ $stderr == *"the recording that was there before is kept as x.kelvin.old" ]] || fail "$stderr"
    cmp x.kelvin.old before
    ln -s x.kelvin there
    kelvin record --min-samples 0 -o there -- true
    [[ $stderr == *"is kept as ./x.kelvin.old" ]] || fail "$stderr"
    # -q is for scripts.
    kelvin record -q --min-samples 0 -o x.kelvin -- true
    [ -z "$stderr" ] || fail "$stderr"
}

@test "nohup holds for a recording too" {
    sleep 60 &
    local sleeper=$! recorder
    nohup "$KELVIN" record -q --min-samples 0 -d 60 -o x.kelvin -p "$sleeper" >out 2>err &
    recorder=$!
    wait_until 10 test -e x.kelvin.part
    ignores_hangup "$recorder" # so that nothing has to be waited for
    kill -HUP "$recorder"
    kill -0 "$recorder" || fail "$(cat err)"
    kill -TERM "$recorder"
    wait "$recorder" || true
    kill "$sleeper"
}

@test "the command's own failure is passed on, kelvin's own has other codes" {
    kelvin record -q --min-samples 0 -o x.kelvin -- sh -c 'exit 42'
    exits 42
    kelvin record -q --min-samples 0 -o x.kelvin -- sh -c 'kill -SEGV $$'
    exits 139
    run -127 --separate-stderr "$KELVIN" record -- ./nosuch
    complains "./nosuch: not found"
    touch plain
    kelvin record -- ./plain
    exits 126
    complains "chmod +x"
    kelvin record -o /nonexistent/x.kelvin -- true
    exits 125
    kelvin record -p 4194304
    exits 125
    complains "no process"
    kelvin record -e nosuch -- true
    exits 125
}

@test "the command's input and output are its own" {
    kelvin record -q --min-samples 0 -o cat.kelvin -- cat <<<"hello"
    exits 0
    prints hello
    [ -z "$stderr" ]
}

@test "Ctrl-C ends the command and keeps the recording" {
    (
        trap - INT
        exec setsid "$KELVIN" record -o int.kelvin -- "$TARGET/split" 30 5
    ) >/dev/null 2>err &
    local pid=$!
    wait_until 10 pgrep -x -P $pid split >/dev/null
    wait_until 30 has_run "$(pgrep -x -P $pid split)" 2
    kill -INT -- -$pid
    local code=0
    wait $pid || code=$?
    [ $code = 130 ] || fail "exit code $code" "$(cat err)"
    splits_right int.kelvin part_sixty part_thirty part_ten
    [ "$(info int.kelvin exit_status)" = "signal 2" ]
}

@test "a full disk is told, and what was recorded until then stays" {
    [ "$(id -u)" = 0 ] || skip "needs root, to mount a small disk"
    mkdir small
    mount -t tmpfs -o size=64k tmpfs small || skip "no right to mount"
    kelvin record -F 20000 -o small/x.kelvin -- "$TARGET/split" 2 50
    local samples
    samples=$("$KELVIN" info small/x.kelvin.part 2>/dev/null | awk '/ samples$/ { print $1; exit }')
    umount small
    exits 125
    [[ $stderr == *"No space left"* ]] || fail "$stderr"
    [ -n "$samples" ]
}

@test "a rate above the kernel's limit is lowered, and the label says so" {
    kelvin record -F 900000 -o r.kelvin -- "$TARGET/split" 0.3
    exits 0
    [[ $(info r.kelvin engine_note) == *perf_event_max_sample_rate* ]]
}

@test "samples stand for the CPU time that the command used, at any rate" {
    for rate in 99 999 4999; do
        kelvin record -F $rate --min-samples 1 -o r.kelvin -- "$TARGET/split" 0.5
        exits 0
        awk -v is="$(info r.kelvin sampled_ns)" -v of="$(info r.kelvin cpu_time_ns)" \
            'BEGIN { exit !(of > 0 && is > of / 2 && is < of * 2) }' ||
            fail "$rate Hz: $(info r.kelvin sampled_ns) ns of $(info r.kelvin cpu_time_ns)"
    done
}

# Many switches with all their records: an event's clock counts these too, 1 to 5 % more than the kernel does.
@test "samples cannot see more CPU time than the kernel counted" {
    need_record --engine perf -- true
    kelvin record --waits --min-samples 1 -o r.kelvin -- "$TARGET/duty" 0.5 20 2x50
    exits 0
    [ "$(info r.kelvin sampled_of_ns)" -le "$(info r.kelvin cpu_time_ns)" ] ||
        fail "$(info r.kelvin sampled_of_ns) of $(info r.kelvin cpu_time_ns) ns"
}

@test "a tracepoint is called one thing everywhere, and few events are no rough shares" {
    kelvin record -e sched:sched_process_exec --min-samples 1 -o t.kelvin -- sh -c '/bin/true; /bin/true; /bin/true'
    [ "$status" -eq 0 ] || skip "no tracepoints here: $stderr"
    [[ $stderr == *"trace sched:sched_process_exec"* && $stderr != *rough* ]] || fail "$stderr"
    kelvin info t.kelvin
    grep -qE '^ +sched:sched_process_exec +[0-9]+ count' <<<"$output" || fail "$output"
    [[ $output == *"one for each event: shares are exact for this run"* ]] || fail "$output"
    kelvin report t.kelvin
    [[ $output == *"trace · event sched:sched_process_exec"* ]] || fail "$output"
    [[ $output != *"are rough"* && $output != *"few-samples"* ]] || fail "$output"
}

@test "page faults are a software event, not a clock" {
    kelvin record -e page-faults --min-samples 1 -o f.kelvin -- ls -R /etc
    exits 0
    [ "$(info f.kelvin kind)" = "software event" ]
}

@test "the closing lines say what was asked for, and nothing about samples that were not" {
    kelvin record --engine none -o n.kelvin -- true
    exits 0
    [[ $stderr == *"recorded for "*"s"*"no samples were asked for"* && $stderr != *"CPU time"* && $stderr != *clock* ]] || fail "$stderr"
    kelvin record --engine timer -F 5000 -o t.kelvin -- "$TARGET/split" 0.2 5
    exits 0
    [[ $stderr == *"5000 "*"asked for, "@("at most"|about)" "*" possible here"* ]] || fail "$stderr"
}

@test "with --rotate the closing lines count the samples of all files" {
    kelvin record --rotate 1s -o r.kelvin -- "$TARGET/split" 2.5 5
    exits 0
    sum=0
    for file in r.*.kelvin; do
        sum=$((sum + $("$KELVIN" report --format json --top 1 "$file" 2>/dev/null | jq .samples)))
    done
    [[ ${stderr//,/} == "kelvin: $sum samples in "*"the last file: "* ]] || fail "$sum: $stderr"
}
