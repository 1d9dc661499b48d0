#!/usr/bin/env python3
"""The heap: kelvin next to heaptrack on the same programs, in turns, as ratios to the bare program.

Wall time is what a user waits for; CPU time is that of the program alone, and of the program with
its recorder. On a busy machine only CPU time says much. OLD=FOLDER compares with an older build as well; ONLY=TOOL,TOOL leaves others out.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.environ.get("BENCH_DATA", "build/bench")
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
OLD = os.environ.get("OLD")
WORK = os.path.join(DATA, "heap_work")
CPUTIME = os.path.join(DATA, "cputime")
CPUTIME_FILE = os.path.join(DATA, "cputime.txt")
RECORDING = os.path.join(DATA, "heap.kelvin")
SQL = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<%d) "
       "SELECT count(DISTINCT x %% 1000), sum(length(hex(x))) FROM c;")

PROGRAMS = {
    "sqlite3, SQL": ["sqlite3", ":memory:", SQL % 1200000],
    "C, call depth 15, blocks are used": [WORK, "use", "100000"],
    "C, call depth 15, only allocates": [WORK, "deep", "600000"],
    "C++ churn": [WORK, "churn", "40000"],
    "four threads that only allocate": [WORK, "threads", "2000000"],
}
TOOLS = {
    "none": [],
    "kelvin": [KELVIN, "record", "-q", "-F", "99", "--heap", "-o", RECORDING, "--"],
    "kelvin sampled": [KELVIN, "record", "-q", "-F", "99", "--heap=sampled", "-o",
                       os.path.join(DATA, "heap-sampled.kelvin"), "--"],
    "heaptrack": ["heaptrack", "-o", os.path.join(DATA, "heaptrack"), CPUTIME, CPUTIME_FILE],
}
if OLD:
    TOOLS["kelvin old"] = [os.path.join(OLD, "kelvin")] + TOOLS["kelvin"][1:]


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def program_cpu(tool, all_cpu):
    """CPU seconds of the program alone."""
    if tool == "none":
        return all_cpu
    if tool == "heaptrack":
        with open(CPUTIME_FILE, encoding="ascii") as f:
            return float(f.read())
    path = TOOLS[tool][TOOLS[tool].index("-o") + 1]
    out = subprocess.run([KELVIN, "info", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    lines = [line.split() for line in out.splitlines()]
    return next(int(w[1]) / 1e9 for w in lines if w and w[0] == "cpu_time_ns")


def run(tool, command):
    before, start = cpu(), time.monotonic()
    subprocess.run(TOOLS[tool] + command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    wall, used = time.monotonic() - start, cpu() - before
    return {"wall": wall, "cpu": used, "program": program_cpu(tool, used)}


def main():
    os.makedirs(DATA, exist_ok=True)
    subprocess.run(["gcc", "-O2", "-static", "-o", CPUTIME, "bench/cputime.c"], check=True)
    subprocess.run(["g++", "-O2", "-g", "-pthread", "-o", WORK, "bench/heap_work.cc"], check=True)
    only = os.environ.get("ONLY", "").split(",")
    tools = [t for t in TOOLS if t != "heaptrack" or shutil.which("heaptrack")]
    tools = [t for t in tools if t == "none" or only == [""] or t in only]
    for name, command in PROGRAMS.items():
        if not shutil.which(command[0]):
            print("%s: not here" % command[0])
            continue
        runs = {t: [] for t in tools}
        for _ in range(ROUNDS):
            for t in tools:
                runs[t].append(run(t, command))
        print(name)
        for t in tools[1:]:
            print("  %-15s" % t, end="")
            for key in ("wall", "program", "cpu"):
                ratio = statistics.median(a[key] / b[key] for a, b in zip(runs[t], runs["none"]))
                print("  %s %5.2f" % (key, ratio), end="")
            print()
        if "heaptrack" in tools and "kelvin" in tools:
            packed = os.path.join(DATA, "heaptrack.zst")
            if os.path.exists(packed):
                raw = subprocess.run(["zstd", "-dc", packed], stdout=subprocess.PIPE,
                                     check=False).stdout
                print("  on disk: kelvin %d bytes, heaptrack %d, unpacked %d" % (
                    os.path.getsize(RECORDING), os.path.getsize(packed), len(raw)))


if __name__ == "__main__":
    main()
