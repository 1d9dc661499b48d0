#!/usr/bin/env python3
"""Recording: kelvin next to perf, on the same programs in the same run."""
import json
import math
import os
import random
import resource
import subprocess
import sys
import time

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.environ.get("BENCH_DATA", "build/bench")
FLAMEGRAPH = os.environ.get("FLAMEGRAPH", "")
TARGET = os.path.join(os.path.dirname(KELVIN), "tests/target")


def sh(*command, **more):
    more.setdefault("stdout", subprocess.DEVNULL)
    more.setdefault("stderr", subprocess.DEVNULL)
    return subprocess.run(command, check=True, **more)


def timed(*command):
    """Wall seconds of a command, and the CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    sh(*command)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def info(path):
    out = sh(KELVIN, "info", "--json", path, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def sqlite():
    """SQLite from an npm package that ships its source, built as people build it."""
    program = os.path.join(DATA, "sqlite_work")
    if os.path.exists(program):
        return program
    folder = os.path.join(DATA, "sqlite")
    os.makedirs(folder, exist_ok=True)
    print("building SQLite ...", flush=True)
    sh("npm", "pack", "better-sqlite3", cwd=folder)
    sh("sh", "-c", "tar xzf better-sqlite3-*.tgz --strip-components=3 package/deps/sqlite3", cwd=folder)
    sh("gcc", "-O2", "-g", "-I", folder, "-o", program, "bench/sqlite_work.c",
       os.path.join(folder, "sqlite3.c"), "-lpthread", "-ldl", "-lm")
    return program


def bench_finish():
    """From the program's exit to a finished, named file."""
    program, out = sqlite(), os.path.join(DATA, "sqlite.kelvin")
    ended = float(sh(KELVIN, "record", "-q", "-o", out, "--", program, "10",
                     stdout=subprocess.PIPE).stdout)
    finish = time.monotonic() - ended
    facts = info(out)
    print("\nfrom exit to a named file, sqlite3 -O2 -g, inlines included")
    print("  kelvin record           %7.2f s for %d samples" % (finish, facts["quality"]["samples"]))
    data = os.path.join(DATA, "sqlite.perf")
    sh("perf", "record", "-F", "999", "-e", "cpu-clock", "--call-graph", "dwarf,16384", "-o", data,
       program, "2")
    limit = 120
    for name, command in (("perf script, 1/5 of it", ["perf", "script", "-i", data]),
                          ("perf script --no-inline", ["perf", "script", "--no-inline", "-i", data])):
        start = time.monotonic()
        try:
            sh(*command, timeout=limit)
            print("  %-23s %7.2f s" % (name, time.monotonic() - start), flush=True)
        except subprocess.TimeoutExpired:
            print("  %-23s  over %d s" % (name, limit), flush=True)


def interval(values):
    """Median and the order statistics that hold it with 95 % confidence."""
    values, n, tail, k = sorted(values), len(values), 0.0, 0
    while k < n // 2 and tail + math.comb(n, k) / 2 ** n <= 0.025:
        tail += math.comb(n, k) / 2 ** n
        k += 1
    return values[n // 2], values[max(k - 1, 0)], values[n - max(k, 1)]


def bench_slowdown(rounds=15):
    """A fixed amount of work alone, under kelvin and under perf, interleaved."""
    work = [os.path.join(TARGET, "fixed"), "60"]
    ways = {
        "alone": work,
        "kelvin": [KELVIN, "record", "-q", "--min-samples", "0", "-o",
                   os.path.join(DATA, "slow.kelvin"), "--"] + work,
        "perf fp": ["perf", "record", "-F", "999", "-e", "cpu-clock", "-g", "-o",
                    os.path.join(DATA, "slow.perf")] + work,
    }
    inside = {name: [] for name in ways}
    rng = random.Random(1)
    for _ in range(rounds):
        order = list(ways)
        rng.shuffle(order)
        for name in order:
            out = sh(*ways[name], stdout=subprocess.PIPE).stdout
            inside[name].append(float(out.split()[0]))
    print("\nslow-down of a CPU-bound program at 999 Hz, by its own clock, %d rounds" % rounds)
    for name in ("kelvin", "perf fp"):
        ratios = [a / b for a, b in zip(inside[name], inside["alone"])]
        print("  %-10s %.4f (%.4f to %.4f)" % ((name,) + interval(ratios)), flush=True)


def bench_cost():
    """The recorder's own CPU time and bytes for each further sample."""
    split = os.path.join(TARGET, "split")
    sizes = {}
    print("\nthe recorder itself, a busy program at 999 Hz")
    for seconds in (3, 13):
        out = os.path.join(DATA, "cost-%d.kelvin" % seconds)
        sh(KELVIN, "record", "-q", "-o", out, "--", split, str(seconds), "20")
        facts = info(out)
        sizes[seconds] = (os.path.getsize(out), facts["quality"]["samples"])
        own = int(facts["meta"]["recorder_cpu_ns"]) / int(facts["meta"]["duration_ns"])
        print("  %2d s run: %5d samples, %6d bytes, recorder's CPU %.2f%% of a core"
              % (seconds, sizes[seconds][1], sizes[seconds][0], 100 * own), flush=True)
    more = sizes[13][0] - sizes[3][0], sizes[13][1] - sizes[3][1]
    print("  each further sample: %.1f bytes" % (more[0] / more[1]))
    data = os.path.join(DATA, "cost.perf")
    wall, cpu = timed("perf", "record", "-F", "999", "-e", "cpu-clock", "-g", "-o", data, split, "3", "20")
    print("  perf record -g, 3 s run: %.2f%% of a core, %d bytes"
          % (100 * (cpu - 3) / wall, os.path.getsize(data)), flush=True)


def bench_threads():
    """Four busy threads: nothing may be lost."""
    out = os.path.join(DATA, "threads.kelvin")
    sh(KELVIN, "record", "-q", "-o", out, "--", os.path.join(TARGET, "split"), "5", "50", "4")
    stream = info(out)["streams"][0]
    print("\nfour busy threads, 5 s each at 999 Hz: %s samples, %s lost, %s unfinished"
          % (stream["rows"], stream["lost"], stream["unfinished"]), flush=True)


def bench_perfdata():
    """perf.data with dwarf stacks to folded stacks."""
    data = os.path.join(DATA, "split.perf")
    sh("perf", "record", "-F", "999", "-e", "cpu-clock", "--call-graph", "dwarf,8192", "-o", data,
       os.path.join(TARGET, "split"), "4", "20", "4")
    best = min(timed(KELVIN, "fold", data)[0] for _ in range(5))
    print("\nperf.data with dwarf stacks to folded, %.0f MB" % (os.path.getsize(data) / 1e6))
    print("  kelvin fold             %7.3f s" % best)
    chain = "perf script --no-inline -i '%s'" % data
    collapse = os.path.join(FLAMEGRAPH, "stackcollapse-perf.pl")
    if FLAMEGRAPH and os.path.exists(collapse):
        chain += " | perl '%s'" % collapse
    peer = min(timed("sh", "-c", chain)[0] for _ in range(3))
    print("  perf script --no-inline %7.3f s: kelvin is %.1fx" % (peer, peer / best), flush=True)


def main():
    os.makedirs(DATA, exist_ok=True)
    for name in sys.argv[1:] or ["finish", "slowdown", "cost", "threads", "perfdata"]:
        globals()["bench_" + name]()


main()
