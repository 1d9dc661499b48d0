#!/usr/bin/env python3
"""The heap: kelvin next to heaptrack on the same programs, in turns, as ratios to the bare program.

Wall time is what a user waits for; CPU time is that of the program alone, and of the program with
its recorder. On a busy machine only CPU time says much. What starting and ending a recording takes
is measured with a program that does nothing, and "run" is wall time without it. SCALE=N makes the
programs N times as long. OLD=FOLDER compares with an older build as well; ONLY=TOOL,TOOL leaves others out.
DHAT, which takes minutes, runs in the first round alone; jemalloc's profiler is compared with jemalloc.
"""
import glob
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

SCALE = int(os.environ.get("SCALE", "1"))
NOTHING = [WORK, "nothing"]
PROGRAMS = {
    "sqlite3, SQL": ["sqlite3", ":memory:", SQL % (1200000 * SCALE)],
    "C, call depth 15, blocks are used": [WORK, "use", str(100000 * SCALE)],
    "C, call depth 15, only allocates": [WORK, "deep", str(600000 * SCALE)],
    "C++ churn": [WORK, "churn", str(40000 * SCALE)],
    "four threads that only allocate": [WORK, "threads", str(2000000 * SCALE)],
}
TOOLS = {
    "none": [],
    "kelvin": [KELVIN, "record", "-q", "-F", "99", "--heap", "-o", RECORDING, "--"],
    "kelvin sampled": [KELVIN, "record", "-q", "-F", "99", "--heap=sampled", "-o",
                       os.path.join(DATA, "heap-sampled.kelvin"), "--"],
    "heaptrack": ["heaptrack", "-o", os.path.join(DATA, "heaptrack"), CPUTIME, CPUTIME_FILE],
}
JEMALLOC = glob.glob("/usr/lib/*/libjemalloc.so.2")
if shutil.which("valgrind"):
    TOOLS["DHAT"] = ["valgrind", "-q", "--tool=dhat", "--dhat-out-file=" + os.path.join(DATA, "dhat.out")]
if JEMALLOC:
    TOOLS["jemalloc"] = ["env", "LD_PRELOAD=" + JEMALLOC[0]]
    TOOLS["jemalloc's profiler"] = TOOLS["jemalloc"] + ["MALLOC_CONF=prof:true,lg_prof_sample:19,prof_final:true,prof_prefix:" +
                                                        os.path.join(DATA, "jeprof")]
BASE = {"jemalloc's profiler": "jemalloc"}
if OLD:
    TOOLS["kelvin old"] = [os.path.join(OLD, "kelvin")] + TOOLS["kelvin"][1:]


def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def program_cpu(tool, all_cpu):
    """CPU seconds of the program alone."""
    if tool in ("none", "DHAT") or "jemalloc" in tool:
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
    tools = [t for t in tools if BASE.get(t, "none") in tools]
    ends = {t: statistics.median(run(t, NOTHING)["wall"] for _ in range(ROUNDS)) for t in tools}
    print("start and end of a recording: " +
          ", ".join("%s %.0f ms" % (t, (ends[t] - ends["none"]) * 1000) for t in tools[1:]))
    for name, command in PROGRAMS.items():
        if not shutil.which(command[0]):
            print("%s: not here" % command[0])
            continue
        runs = {t: [] for t in tools}
        for i in range(ROUNDS):
            for t in tools:
                if i == 0 or t != "DHAT":
                    runs[t].append(run(t, command))
        print("%s: %.2f s" % (name, statistics.median(r["wall"] for r in runs["none"])))
        for t in tools:
            for r in runs[t]:
                r["run"] = r["wall"] - (ends[t] - ends["none"])
        for t in tools[1:]:
            base = BASE.get(t, "none")
            print("  %-20s" % t, end="")
            for key in ("wall", "run", "program", "cpu"):
                ratio = statistics.median(a[key] / b[key] for a, b in zip(runs[t], runs[base]))
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
