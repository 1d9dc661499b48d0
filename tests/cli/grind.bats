# Counts of callgrind and cachegrind: exact, labelled as simulated, held against their own tools.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

has() { [[ $output == *"$1"* ]] || fail "no '$1' in: $output"; }
has_not() { [[ $output != *"$1"* ]] || fail "'$1' in: $output"; }

@test "counts of a simulator are called exact, and nothing is said of samples" {
    for view in report info; do
        kelvin $view "$ROOT/tests/golden/callgrind/graph.out"
        exits 0
        has "exact count"
        has_not "samples not recorded"
        has_not "how sure"
        has_not "rough"
    done
    kelvin flame "$ROOT/tests/golden/callgrind/graph.out"
    exits 0
    has "exact count by simulation"
    has_not "samples not recorded"
    has_not "rough"
}

@test "a line of inlined code keeps its own file" {
    kelvin report "$ROOT/tests/golden/callgrind/graph.out" --by line --format json
    exits 0
    echo "$output" | python3 -c '
import json, sys
rows = {r["name"]: r["self_weight"] for r in json.load(sys.stdin)["lines"]}
assert rows["inlined.h:5"] == 100 and rows["main.c:10"] == 120 and rows["main.c:12"] == 20, rows' || fail "wrong lines"
}

@test "an event that follows from others is worked out" {
    kelvin fold "$ROOT/tests/golden/callgrind/graph.out" --event sum
    exits 0
    has "main;left;leaf 600"
}

@test "counts that do not sum up are told, and refused with --strict" {
    sed 's/^40 600 60/40 500 60/' "$ROOT/tests/golden/callgrind/graph.out" >bad.out
    kelvin fold bad.out
    exits 0
    [[ $stderr == *"sum up to 900, but the file says 1000"* ]] || fail "$stderr"
    kelvin fold bad.out --strict
    exits 3
}

@test "rates of misses are labelled as simulated, and flagged" {
    kelvin report "$ROOT/tests/golden/cachegrind/two.out" --width 120
    exits 0
    has "Caches and branches, simulated"
    [[ $output == *"8.75% !"*hash* ]] || fail "hash is not flagged: $output"
    kelvin report "$ROOT/tests/golden/callgrind/graph.out"
    has_not "Caches and branches"
}

@test "rules on simulated misses say in JSON what they count" {
    printf 'cache-misses <= 8\nl1-misses hash <= 500 per 1000\n' >misses.rules
    kelvin check "$ROOT/tests/golden/cachegrind/two.out" misses.rules --format json
    exits 0
    [ "$(jq -r '[.results[].unit] | join(", ")' <<<"$output")" = "count, per 1000" ] || fail "$output"
}

@test "damage in the header is an error that says where" {
    printf 'positions: line\nfn=a\n1 2\n' >a.out
    kelvin fold --from callgrind a.out
    exits 5
    complains "line 3" "events:"
    printf 'events: Ir Ir\nfn=a\n1 2 3\n' >a.out
    kelvin fold --from callgrind a.out
    exits 5
    complains "twice"
}

@test "a graph with more paths than can be kept has exact self costs in bounded time" {
    python3 - >deep.out <<'EOF'
# 40 levels of 3 functions that all call all of the next level: 3^40 paths.
print("positions: line\nevents: Ir")
for level in range(40):
    for i in range(3):
        print(f"fn=f{level}_{i}\n1 {1 + i}")
        below = (40 - level - 1) * 6
        if level < 39:
            for k in range(3):
                print(f"cfn=f{level + 1}_{k}\ncalls=1 1\n2 {below // 3 + 1000 * (40 - level)}")
EOF
    run --separate-stderr timeout "$(patience 60)" "$KELVIN" report deep.out --format json --top 1000
    exits 0
    [[ $stderr == *"more paths than are kept"* ]] || fail "$stderr"
    echo "$output" | python3 -c '
import json, sys
rows = {r["name"]: r["self_weight"] for r in json.load(sys.stdin)["by_self"]}
assert len(rows) == 120 and all(rows[f"f{l}_{i}"] == 1 + i for l in range(40) for i in range(3)), rows' ||
        fail "self costs changed"
}

# --- held against valgrind's own tools ---

build_target() {
    command -v valgrind >/dev/null || skip "valgrind is not installed"
    [ -z "${KELVIN_SANITIZED:-}" ] || skip "once is enough: the plain build does it"
    cat >t.c <<'EOF'
#include <stdlib.h>
#define NI __attribute__((noinline))
int data[4096];
NI long leaf(int n) { long s = 0; for (int i = 0; i < n; i++) s += data[i & 4095] * i; return s; }
NI long left(int n) { return leaf(n) + leaf(n / 2); }
NI long right(int n) { return leaf(n / 3) + left(n / 4); }
NI long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { for (int i = 0; i < 4096; i++) data[i] = rand(); return left(3000) + right(2000) + fib(12) == 1; }
EOF
    cc -O1 -g -o t t.c
}

# Self and total of the functions of t.c must be what callgrind_annotate says.
agrees() { # FILE
    "$KELVIN" report "$1" --event Ir --format json --top 10000 >ours.json
    callgrind_annotate --show=Ir --threshold=100 --auto=no "$1" >self.txt
    callgrind_annotate --show=Ir --threshold=100 --auto=no --inclusive=yes "$1" >total.txt
    python3 - <<'EOF'
import json, re
ours = json.load(open("ours.json"))
def annotated(path, keep):
    rows = {}
    for line in open(path):
        m = re.match(r"\s*([\d,]+) \([^)]*\)\s+[^:]*:(\S+)", line)
        if m:
            name = re.sub(r"'\d+$", "", m[2])
            rows[name] = keep(rows.get(name, 0), int(m[1].replace(",", "")))
    return rows
self_rows = annotated("self.txt", lambda a, b: a + b)
total_rows = annotated("total.txt", max)
for name in "leaf left right main fib".split():
    mine = next(r for r in ours["by_total"] if r["name"] == name)
    assert mine["self_weight"] == self_rows[name], (name, mine, self_rows[name])
    if name != "fib":
        assert mine["total_weight"] == total_rows[name], (name, mine, total_rows[name])
named = {r["name"]: r["self_weight"] for r in ours["by_self"]}
for name in self_rows:
    if not name.startswith("0x") and "(" not in name:
        assert named.get(name, 0) == self_rows[name], (name, named.get(name), self_rows[name])
EOF
}

@test "self and total costs are callgrind_annotate's" {
    build_target
    valgrind -q --tool=callgrind --callgrind-out-file=plain.out ./t
    agrees plain.out || fail "plain"
    valgrind -q --tool=callgrind --cache-sim=yes --branch-sim=yes --dump-instr=yes --collect-jumps=yes \
        --callgrind-out-file=all.out ./t 2>/dev/null
    agrees all.out || fail "with caches, branches, instructions and jumps"
}

@test "self costs of every event are cg_annotate's" {
    build_target
    valgrind -q --tool=cachegrind --branch-sim=yes --cachegrind-out-file=cache.out ./t 2>/dev/null
    for event in Ir D1mr DLmw Bcm; do
        cg_annotate --threshold=0 --auto=no --show=$event cache.out >$event.txt
        "$KELVIN" report cache.out --event $event --format json --top 10000 2>/dev/null >$event.json
    done
    python3 - <<'EOF' || fail "other figures"
import json, re
for event in "Ir D1mr DLmw Bcm".split():
    theirs = {}
    for line in open(event + ".txt"):
        m = re.match(r"\s*([\d,]+)(?: \([^)]*\))?\s+[^:]*:(\S+)$", line)
        if m:
            theirs[m[2]] = theirs.get(m[2], 0) + int(m[1].replace(",", ""))
    ours = {r["name"]: r["self_weight"] for r in json.load(open(event + ".json"))["by_self"]}
    for name in "leaf left right main fib".split():
        assert ours.get(name, 0) == theirs[name], (event, name, ours.get(name), theirs[name])
EOF
}
