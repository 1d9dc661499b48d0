#!/usr/bin/env python3
"""How often the intervals on samples of a heap contain what was allocated: RUNS recordings of programs whose allocations
are known from one exact recording. Prints, by function, how many of the intervals of its share hold, and how far the
estimates of bytes are off on average. A function that was not seen has the interval of a share of 0.
"""
import json
import math
import os
import subprocess
import sys

KELVIN = os.environ.get("KELVIN", "build/kelvin")
TARGET = os.path.join(os.path.dirname(KELVIN), "tests", "target")
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
FILE = os.path.join(os.environ.get("BENCH_DATA", "build/bench"), "heap-coverage.kelvin")
PROGRAMS = {
    "C++ containers, a sample in 16 KiB": ([os.path.join(TARGET, "heap_cxx"), "100"], 16384),
    "C, with one block of 10 MiB, a sample in 64 KiB": ([os.path.join(TARGET, "heap"), "plain", "20000"], 65536),
}


def shares(how, command):
    subprocess.run([KELVIN, "record", "-q", "-F", "1", "--heap=" + how, "-o", FILE, "--"] + command, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = subprocess.run([KELVIN, "report", FILE, "--event", "heap", "--value", "allocated", "--format", "json", "--top", "30"],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    report = json.loads(out)
    none = next(f["self"] for f in report["by_total"] if f["name"] == "main" and not f["self"]["share"])
    return report["whole"], {f["name"]: f["total"] for f in report["by_total"]}, none


def main():
    os.makedirs(os.path.dirname(FILE), exist_ok=True)
    for name, (command, mean_bytes) in PROGRAMS.items():
        whole, truth, _ = shares("exact", command)
        known = {f: t["share"] for f, t in truth.items() if f.startswith("part_") and t["share"] < 0.999}
        held, wholes = {f: 0 for f in known}, []
        for _ in range(RUNS):
            estimate, seen, none = shares("sampled:%d" % mean_bytes, command)
            wholes.append(estimate / whole)
            for f, share in known.items():
                at = seen.get(f, none)
                held[f] += at["low"] <= share <= at["high"]
        mean = sum(wholes) / RUNS
        sd = math.sqrt(sum((w - mean) ** 2 for w in wholes) / (RUNS - 1))
        print("%s: bytes estimated / true %.4f +- %.4f" % (name, mean, 2 * sd / math.sqrt(RUNS)))
        for f, share in sorted(known.items(), key=lambda x: -x[1]):
            print("  %-14s %5.1f %% of the bytes: %d of %d intervals hold" % (f, share * 100, held[f], RUNS))


if __name__ == "__main__":
    main()
