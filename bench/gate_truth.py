#!/usr/bin/env python3
"""The truth of the gate: how often `kelvin bench` cries wolf, and how often it sees one.

Compares a program with itself (A/A) and with a copy that does 3 % or 5 % more, many times, and
counts the verdicts. Beside it what hyperfine's rule (means, their deviations) says of the very same
runs, and of runs that hyperfine made itself.

    bench/gate_truth.py --aa 200 --slow5 100 --slow3 100            # the whole campaign, hours
    bench/gate_truth.py --aa 40 --slow5 20 --slow3 20 --hyperfine 5 # a part of it
    bench/gate_truth.py --report                                    # what there is so far

Every comparison is appended to a file at once; what is there is not made again.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.environ.get("BENCH_DATA", "build/bench")
ARMS = {"aa": 1.0, "slow3": 1.03, "slow5": 1.05}


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for arm in ARMS:
        p.add_argument("--" + arm, type=int, default=0, help="comparisons of this arm")
    p.add_argument("--hyperfine", type=int, default=0, help="of these so many with hyperfine too")
    p.add_argument("--work-ms", type=float, default=25, help="time of one run (default: 25)")
    p.add_argument("--time", type=float, default=28, help="seconds for each command (default: 28)")
    p.add_argument("--measure", default="time")
    p.add_argument("--load", action="store_true", help="keep one core busy meanwhile")
    p.add_argument("--out", default=os.path.join(DATA, "gate_truth.jsonl"))
    p.add_argument("--report", action="store_true")
    return p.parse_args()


def build():
    os.makedirs(DATA, exist_ok=True)
    program = os.path.abspath(os.path.join(DATA, "spin"))
    subprocess.run(["cc", "-O2", "-o", program, "bench/spin.c"], check=True)
    return program


def fastest_ns(program, steps):
    """The least of twenty runs: what it takes when nobody disturbs."""
    out = subprocess.run([KELVIN, "bench", "-q", "--runs", "20", f"{program} {steps}",
                          "--format", "json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["benchmarks"][0]["measures"]["time"]["min"]


def calibrate(program, work_ms):
    """Steps for WORK_MS, and nanoseconds of starting a process that does none."""
    start, some = fastest_ns(program, 0), fastest_ns(program, 10_000_000)
    step = (some - start) / 10_000_000
    return round((work_ms * 1e6 - start) / step), start, step


def means_verdict(a, b):
    """hyperfine's: the ratio of means with the deviation it prints beside it."""
    ratio = statistics.mean(b) / statistics.mean(a)
    off = ratio * math.hypot(statistics.stdev(a) / statistics.mean(a),
                             statistics.stdev(b) / statistics.mean(b))
    return {"ratio": ratio, "sd": off}


def kelvin(commands, o):
    """One comparison: verdict, runs, seconds, and the means of the same runs."""
    began = time.monotonic()
    r = subprocess.run([KELVIN, "bench", "-q", "--time", str(o.time), "--measure", o.measure,
                        "--format", "json", *commands], stdout=subprocess.PIPE, check=True)
    took = time.monotonic() - began
    d = json.loads(r.stdout)
    c = d["comparisons"][0]
    a, b = (x["measures"][o.measure]["runs"] for x in d["benchmarks"][:2])
    return {"verdict": c["verdict"], "ratio": c["ratio"], "interval": c["interval"],
            "blocks": len(a), "seconds": took, "means": means_verdict(a, b)}


def hyperfine(commands, runs):
    path = os.path.join(DATA, "hyperfine.json")
    subprocess.run(["hyperfine", "-N", "--style", "none", "-w", "1", "-r", str(max(runs, 2)),
                    "--export-json", path, *commands], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as f:
        a, b = (x["times"] for x in json.load(f)["results"])
    return means_verdict(a, b)


def load_1():
    return os.getloadavg()[0]


def campaign(o):
    program = build()
    steps, start, step = calibrate(program, o.work_ms)
    done = read(o.out)
    todo = [arm for arm in ARMS
            for _ in range(max(0, getattr(o, arm) - sum(r["arm"] == arm for r in done)))]
    random.shuffle(todo)
    print(f"{len(todo)} comparisons to make, {steps} steps a run, {start / 1e6:.2f} ms of them "
          f"starting; load {load_1():.1f}", flush=True)
    left = o.hyperfine
    for i, arm in enumerate(todo):
        # Starting takes the same time in both, so the work itself must grow by more.
        more = round((ARMS[arm] - 1) * (steps + start / step))
        commands = [f"{program} {steps}", f"{program} {steps + more}"]
        row = {"arm": arm, "work_ms": o.work_ms, "measure": o.measure, "load": load_1(),
               "kept_busy": o.load, **kelvin(commands, o)}
        if left > 0:
            row["hyperfine"] = hyperfine(commands, row["blocks"])
            left -= 1
        with open(o.out, "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")
        print(f"{i + 1}/{len(todo)} {arm}: {row['verdict']} {100 * (row['ratio'] - 1):+.2f} %, "
              f"{row['blocks']} blocks, {row['seconds']:.1f} s, load {row['load']:.1f}", flush=True)


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


def told_apart(m):
    """Would a reader of hyperfine's line say that they differ?"""
    return abs(m["ratio"] - 1) > m["sd"] and abs(m["ratio"] - 1) > 0.01


def report(rows):
    for arm, factor in ARMS.items():
        mine = [r for r in rows if r["arm"] == arm]
        if not mine:
            continue
        n = len(mine)
        print(f"{arm}: {n} comparisons, true change {100 * (factor - 1):+.0f} %")
        verdicts = [r["verdict"] for r in mine]
        print("  verdicts:", ", ".join(f"{v} {verdicts.count(v)}" for v in sorted(set(verdicts))))
        wrong = sum(v in (("slower", "faster") if factor == 1 else ("faster", "same"))
                    for v in verdicts)
        print(f"  wrong: {wrong} of {n}; found: {verdicts.count('slower')} of {n}")
        held = sum(r["interval"][0] <= factor <= r["interval"][1] for r in mine)
        print(f"  interval holds the truth: {held} of {n}; blocks "
              f"{statistics.median(r['blocks'] for r in mine):.0f}, seconds median "
              f"{statistics.median(r['seconds'] for r in mine):.1f}, most "
              f"{max(r['seconds'] for r in mine):.1f}; load "
              f"{statistics.mean(r['load'] for r in mine):.1f}")
        for key, what in (("means", "the same runs"), ("hyperfine", "its own runs")):
            theirs = [r[key] for r in mine if key in r]
            if theirs:
                apart = sum(told_apart(m) for m in theirs)
                off = statistics.median(abs(m["ratio"] / factor - 1) for m in theirs)
                worst = max(abs(m["ratio"] / factor - 1) for m in theirs)
                print(f"  hyperfine's means of {what}: {apart} of {len(theirs)} told apart; off by "
                      f"{100 * off:.1f} % (median), {100 * worst:.1f} % (most)")
        off = [abs(r["ratio"] / factor - 1) for r in mine]
        print(f"  kelvin's median ratio: off by {100 * statistics.median(off):.1f} % (median), "
              f"{100 * max(off):.1f} % (most)")


def main():
    o = options()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if o.load else None
    try:
        if not o.report:
            campaign(o)
    finally:
        if busy:
            busy.kill()
    report(read(o.out))


if __name__ == "__main__":
    main()
