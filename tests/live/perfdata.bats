#!/usr/bin/env bats
# perf's own recordings: the same stacks as perf script has, from every layout.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    command -v perf >/dev/null || skip "perf is not installed"
    perf record -q -e cpu-clock -o probe.data true 2>why || skip "perf record: $(tail -n 1 why)"
    command -v python3 >/dev/null || skip "python3 is not installed"
}

record() { # OPTION... -- COMMAND...
    perf record -q -F 999 -e cpu-clock -o perf.data "$@" >/dev/null 2>&1
}

# At least 98 % of the stacks are those of perf script, frame by frame.
agrees() {
    run python3 "$ROOT/tests/lib/perfdata-compare.py" "$KELVIN" perf.data 98
    [ "$status" -eq 0 ] || fail "$output"
}

food() { # what xz takes about a second for
    head -c 3000000 /dev/urandom >food
}

xz_or_skip() {
    command -v xz >/dev/null || skip "xz is not installed"
    food
}

@test "xz by frame pointers: as perf script has it" {
    xz_or_skip
    record -g -- xz -kc food
    agrees
}

@test "xz with dwarf stacks: as perf script has it" {
    xz_or_skip
    record --call-graph dwarf,16384 -- xz -kc -T2 food
    agrees
}

@test "xz with dwarf stacks, compressed by perf: as perf script has it" {
    xz_or_skip
    record -z --call-graph dwarf,16384 -- xz -kc food || skip "this perf cannot compress"
    agrees
}

@test "python with dwarf stacks: as perf script has it" {
    local python=/usr/bin/python3
    [ -x "$python" ] || skip "no $python"
    record --call-graph dwarf,16384 -- "$python" -c '
import json, re
d = {str(i): [j / 7 for j in range(10)] for i in range(30000)}
s = json.dumps(d); json.loads(s); print(len(re.findall(r"\d\.\d+", s)), sorted(s)[0])'
    agrees
}

# A program with templates, recursion and exceptions, and the compiler that makes it.
write_cpp() {
    cat >app.cpp <<'CPP'
#include <algorithm>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>
struct node { std::string name; std::vector<node> kids; };
static int grow(node &n, int depth)
{
    int sum = 1;
    n.name = std::to_string(depth * 7919);
    for (int i = 0; depth && i < 5; i++) {
        n.kids.emplace_back();
        sum += grow(n.kids.back(), depth - 1);
    }
    return sum;
}
int main()
{
    std::map<std::string, int> seen;
    node root;
    unsigned x = 1;
    int found = grow(root, 7);
    for (int i = 0; i < 300000; i++)
        seen[std::to_string((x = x * 1103515245 + 12345) % 50000)]++;
    std::regex re("(1|2)+3.*");
    for (auto &e : seen)
        found += std::regex_match(e.first, re);
    for (int i = 0; i < 20000; i++)
        try { throw std::runtime_error("x"); } catch (std::exception &) { found++; }
    return found == 0;
}
CPP
    command -v g++ >/dev/null || skip "g++ is not installed"
}

@test "C++ with dwarf stacks: as perf script has it" {
    write_cpp
    g++ -O2 -o app app.cpp
    record --call-graph dwarf,16384 -- ./app
    agrees
}

@test "gcc's cc1plus with dwarf stacks: as perf script has it" {
    write_cpp
    record --call-graph dwarf,32768 -- "$(g++ -print-prog-name=cc1plus)" -quiet -O1 app.cpp -o app.s \
        -I/usr/include/x86_64-linux-gnu -imultiarch x86_64-linux-gnu -D_GNU_SOURCE
    agrees
}

@test "a program that changed since is told" {
    write_cpp
    g++ -O1 -o app app.cpp
    record --call-graph dwarf,16384 -- ./app
    kelvin fold perf.data
    [[ $stderr != *"changed since"* ]] || fail "$stderr"
    g++ -O2 -DOTHER -o app app.cpp
    kelvin fold perf.data
    exits 0
    [[ $stderr == *"app has changed since the recording"* ]] || fail "$stderr"
}

@test "perf's pipe gives what its file gives" {
    xz_or_skip
    perf record -q -F 999 -e cpu-clock -g -o - xz -kc food 2>/dev/null >pipe.data
    kelvin info - <pipe.data
    exits 0
    [[ $output == *"software clock"* && $output == *"samples per second asked for 999"* ]] || fail "$output"
    [[ $output != *"
cut "* ]] || fail "$output"
    kelvin fold --value samples pipe.data
    exits 0
    [[ $output == *xz\;* ]] || fail "$output"
}

@test "two events stay apart" {
    perf record -q -e cpu-clock,page-faults -c 1000000 -g -o perf.data -- ls -R /usr/share/doc >/dev/null 2>&1
    kelvin info perf.data
    exits 0
    [[ $output == *"cpu-clock"*"nanoseconds"* && $output == *"page-faults"*"count"* ]] || fail "$output"
}

@test "perf record killed by SIGKILL: its samples are kept and labelled" {
    sh -c 'while :; do :; done' &
    local busy=$!
    perf record -q -F 999 -e cpu-clock --call-graph dwarf,16384 -m 16 -o perf.data -p $busy 2>/dev/null &
    local perf=$!
    wait_until 30 has_bytes perf.data 6000000 # of 300 samples with 16 KB of stack each
    kill -9 $perf $busy
    wait $perf $busy || true
    [ "$(od -An -tu8 -j48 -N8 perf.data)" -eq 0 ] || skip "perf had finished"
    kelvin fold --value samples perf.data
    exits 0
    [[ $stderr == *"perf record was killed"* ]] || fail "$stderr"
    [ "$(awk '{ n += $NF } END { print n }' <<<"$output")" -gt 200 ] || fail "$output"
    kelvin fold --strict perf.data
    exits 3
}
