#!/usr/bin/env bats
# Runs over time: a store that kelvin made, filled with runs whose figures are known.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# One real run, then RUNS runs before it, a day apart; from number BAD on they take a tenth longer, all of it in 'slow'.
fill() { # RUNS BAD
    printf '[workload small]\ncommand = true\ncollect = bench\nruns = 2\n' >kelvin.conf
    kelvin run -q
    exits 0
    python3 - "$1" "$2" <<'PY'
import random, sqlite3, sys
runs, bad = map(int, sys.argv[1:])
db = sqlite3.connect(".kelvin/history.db")
id, now, _, branch, dirty, host, workload, outcome = db.execute("select * from runs").fetchone()
db.execute("delete from runs")
db.execute("delete from metrics")
db.executemany("insert into names values (?,?)", [(1, "steady"), (2, "slow")])
draw = random.Random(1)
def add(i, host, outcome):
    factor = (1.1 if i >= bad else 1) * draw.gauss(1, 0.01)
    run = db.execute("insert into runs values (NULL,?,?,?,0,?,?,?)",
                     (1700000000 + i * 86400, f"{i:04d}" + "c" * 36, "main", host, workload, outcome)).lastrowid
    for name, value in (("cpu", 1e9 * factor), ("instructions", 5e9), ("samples", 1000)):
        db.execute("insert into metrics values (?,?,?,NULL,NULL)", (run, name, value))
    slow = 0.2 if i < bad else 0.3
    db.executemany("insert into shares values (?,?,?,?)", [(run, 1, 0.8, 0.9), (run, 2, slow, slow)])
for i in range(runs):
    add(i, host, "ok")
add(runs, "another-machine", "ok")
add(runs + 1, host, "failed")
db.execute("update metrics set value = 9e12 where name = 'cpu' and run_id = (select max(id) from runs)")
db.commit()
PY
}

@test "the commit at which a level changed is named, and the function with it" {
    fill 30 20
    kelvin history
    exits 0
    grep -q 'small: CPU time.*rose by .*first bad commit 0020cccccc, last good 0019cccccc' <<<"$(tr '\n' ' ' <<<"$output" | tr -s ' ')" ||
        fail "not found: $output"
    grep -q 'self time of slow.*rose by 10.0 points' <<<"$(tr '\n' ' ' <<<"$output" | tr -s ' ')" || fail "no function: $output"
    ! grep -q 'instructions: rose\|instructions: fell' <<<"$output" || fail "a change of what is constant: $output"
    ! grep -q 'self time of steady' <<<"$output" || fail "a function that did not change: $output"
    kelvin history --functions
    grep -q 'self time of steady' <<<"$output" || fail "not all functions: $output"
}

@test "a step that few runs cannot prove is called likely" {
    fill 8 4
    sqlite() { python3 -c 'import sqlite3, sys; d = sqlite3.connect(".kelvin/history.db"); d.execute(sys.argv[1]); d.commit()' "$1"; }
    sqlite "update metrics set value = value * 1.4 where name = 'cpu' and run_id in (select run_id from shares where name_id = 2 and self > 0.25)"
    kelvin history
    exits 0
    grep -q 'small: CPU time.*likely rose by 5[0-9].*first bad commit 0004cccccc.*more runs would prove it' \
        <<<"$(tr '\n' ' ' <<<"$output" | tr -s ' ')" || fail "$output"
    kelvin history --format json
    python3 -c 'import json, sys
change, = next(t for t in json.loads(sys.argv[1])["trends"] if t["title"] == "small: CPU time")["changes"]
assert change["certainty"] == "likely" and change["run"] == 4, change' "$output" || fail "JSON: $output"
}

@test "a history too short for a change says so" {
    fill 5 99
    kelvin history
    exits 0
    [[ $output == *"Too few runs to find a level shift"* && $output != *"looks like chance"* ]] || fail "$output"
}

@test "a history without a change says so" {
    fill 30 99
    kelvin history
    exits 0
    [[ $output == *"No level shift: the variation looks like chance."* ]] || fail "$output"
}

@test "other machines are hidden, unless asked for" {
    fill 6 99
    kelvin history
    [[ $output != *another-machine* ]] || fail "shown: $output"
    kelvin history --all-hosts
    exits 0
    [[ $output == *another-machine* ]] || fail "not shown: $output"
    kelvin history --host another-machine --format csv
    exits 0
    [ "$(wc -l <<<"$output")" -eq 2 ] || fail "not one run: $output"
    kelvin history --host nobody
    exits 5
    complains "no such runs" "'nobody'"
}

# The metrics of a run are found by name, wherever they stand among those of the run.
@test "a metric that some runs lack has a line of the runs that have it" {
    fill 12 99
    python3 - <<'PY'
import sqlite3
db = sqlite3.connect(".kelvin/history.db")
for (run,) in db.execute("select id from runs where outcome = 'ok' order by id").fetchall()[:12]:
    if run % 3:
        db.execute("insert into metrics values (?, 'metric_higher tps', ?, NULL, NULL)", (run, 100 + run))
    if run % 2:
        db.execute("insert into metrics values (?, 'metric_higher also', 7, NULL, NULL)", (run,))
db.commit()
PY
    kelvin history --format json -o history.json
    exits 0
    [ "$(python3 - <<'PY'
import json, sqlite3
db = sqlite3.connect(".kelvin/history.db")
trends = {t["title"]: t for t in json.load(open("history.json"))["trends"]}
for name in "tps", "also":
    trend = [t for title, t in trends.items() if title.startswith("small: " + name)][0]
    stored = [v for (v,) in db.execute("select value from metrics join runs on id = run_id where name = ? order by time_s",
                                       ("metric_higher " + name,))]
    print([p["value"] for p in trend["points"]] == stored, len(stored) > 5, trend["unit"])
PY
)" = $'True True number\nTrue True number' ]
    kelvin history --metric tps --format csv
    exits 0
    python3 -c '
import csv, io, sys
rows = list(csv.DictReader(io.StringIO(sys.argv[1])))
assert rows and all(r["workload"] == "small" and r["figure"].startswith("tps") for r in rows), rows
assert all(float(r["value"]) > 100 and r["low"] == "" and r["dirty"] in "01" for r in rows), rows' "$output" || fail "$output"
    kelvin history --metric tps --all-hosts
    exits 1
    [[ $stderr == *"--metric is about one machine"* ]] || fail "$stderr"
}

@test "a workload that the history does not have is named, with those that it has" {
    fill 3 99
    kelvin history small smal
    exits 1
    complains "no workload 'smal' in the history" "small"
}

@test "JSON and CSV hold every run and the change" {
    fill 30 20
    kelvin history --format json
    exits 0
    python3 -c '
import json, sys
h = json.loads(sys.argv[1])
assert len(h["runs"]) == 31, len(h["runs"])
cpu = next(t for t in h["trends"] if t["title"] == "small: CPU time")
assert len(cpu["points"]) == 30, "the failed run counts"
change, = cpu["changes"]
assert change["run"] == 20 and change["commit"].startswith("0020"), change
assert 1.08 < change["after"] / change["before"] < 1.12, change' "$output" || fail "JSON"
    kelvin history --format csv
    exits 0
    python3 -c '
import csv, io, sys
rows = list(csv.DictReader(io.StringIO(sys.argv[1])))
assert len(rows) == 31 and rows[20]["commit"].startswith("0020"), len(rows)
assert 1.05e9 < float(rows[25]["cpu_ns"]) < 1.15e9 and rows[-1]["outcome"] == "failed"' "$output" || fail "CSV"
    kelvin history --format csv --commit 0007
    [ "$(wc -l <<<"$output")" -eq 2 ] || fail "not that commit alone: $output"
    kelvin history --format csv --last 5
    [ "$(wc -l <<<"$output")" -eq 6 ] || fail "not the last five: $output"
}

@test "the page is well-formed HTML with a drawing for each trend" {
    fill 30 20
    kelvin history -o history.html
    exits 0
    # Its parser is of a time before svg: it complains of unknown names, which is no fault of the page.
    ! xmllint --html --noout history.html 2>&1 | grep ' error ' | grep -v 'Tag .* invalid' || fail "not well-formed"
    [ "$(grep -c '<svg class="trend"' history.html)" -ge 3 ] || fail "drawings are missing"
    grep -q 'first bad commit 0020cccccc' history.html || fail "the change is missing"
    python3 -c '
import re, xml.dom.minidom
for svg in re.findall("<svg class=.trend.*?</svg>", open("history.html").read(), re.S):
    xml.dom.minidom.parseString(svg)' || fail "a drawing is no XML"
}

@test "pruning forgets the oldest of each machine and workload" {
    fill 30 20
    kelvin history --prune 10
    exits 0
    said="$stderr"
    [[ $said == *"deleted 21 runs"* ]] || fail "said: $said"
    kelvin history --format csv
    [ "$(wc -l <<<"$output")" -eq 11 ] || fail "not ten runs: $output"
    [[ $output == *0029ccc* && $output != *0019ccc* ]] || fail "not the newest: $output"
    kelvin history --host another-machine --format csv
    [ "$(wc -l <<<"$output")" -eq 2 ] || fail "the other machine's was forgotten"
}

@test "no history, and a damaged one, are told" {
    kelvin history
    exits 1
    complains "kelvin run" "no history"
    echo 'no database' >x.db
    kelvin history --store x.db
    [ "$status" -ne 0 ] || fail "took it"
    complains "x.db"
    [ "$(cat x.db)" = 'no database' ] || fail "it was written to"
}
