#!/usr/bin/env python3
"""Scopes against the truth: percentiles next to a sorted list of all durations; programs killed at random moments; nothing lost or
invented. Usage: bench/scopes_truth.py [KILLS]"""
import json
import math
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

KELVIN = os.path.abspath(os.environ.get("KELVIN", "build/kelvin"))
HERE = os.path.dirname(os.path.abspath(__file__))

# Each step counts itself in a file that outlives the program.
COUNTS = r"""
#include <kelvin.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile double sink;
int main(void)
{
    int fd = open("count", O_RDWR);
    volatile unsigned long *count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned seed = 1;
    for (;;) {
        {
            KELVIN_SCOPE("step");
            seed = seed * 1103515245 + 12345;
            for (unsigned n = seed >> 22; n; n--)
                sink += n;
        }
        ++*count;
    }
}
"""


def scopes(path):
    return json.loads(subprocess.run([KELVIN, "scopes", "--format", "json", path], check=True, capture_output=True).stdout)


def count(folder, value=None):
    with open(os.path.join(folder, "count"), "r+b") as file:
        with mmap.mmap(file.fileno(), 4096) as memory:
            if value is not None:
                memory[:8] = struct.pack("<Q", value)
            return struct.unpack("<Q", memory[:8])[0]


def wait_for(path):
    end = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.01)
    return os.path.exists(path)


def kill_programs(folder, kills):
    """SIGKILL of a program that records itself, 0 to 300 ms after its first step."""
    environment = dict(os.environ, PATH=os.path.dirname(KELVIN) + ":" + os.environ["PATH"], KELVIN_OUTPUT="r.kelvin")
    whole, spans, lost = 0, 0, 0
    for i in range(kills):
        for name in ("r.kelvin", "r.kelvin.old"):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        count(folder, 0)
        program = subprocess.Popen(["./counts"], cwd=folder, env=environment)
        while not count(folder):
            time.sleep(0.001)
        time.sleep(random.Random(i).random() * 0.3)
        program.send_signal(signal.SIGKILL)
        program.wait()
        done = count(folder)
        if not wait_for(os.path.join(folder, "r.kelvin")):
            print(f"  kill {i}: no recording")
            continue
        told = scopes(os.path.join(folder, "r.kelvin"))
        # It may die between the end of a scope and its own count.
        right = told["spans"] + told["lost"] - done in (0, 1)
        whole += right
        spans += told["spans"]
        lost += told["lost"]
        if not right:
            print(f"  kill {i}: {told['spans']:,} spans and {told['lost']:,} lost of {done:,}")
    print(f"killed {kills} times: {whole} recordings have every span that ended ({spans:,}) or say how many were lost ({lost:,})")


def percentiles(folder):
    path = os.path.join(folder, "p.kelvin")
    subprocess.run([KELVIN, "record", "-q", "--engine", "none", "-d", "1", "-o", path, "--", "./counts"], cwd=folder, check=False)
    trace = os.path.join(folder, "p.trace.json")
    subprocess.run([KELVIN, "convert", path, "-o", trace], check=True)
    with open(trace, encoding="utf-8") as file:
        truth = sorted(round(e["dur"] * 1000) for e in json.load(file)["traceEvents"] if e["ph"] == "X")
    told = scopes(path)["flat"][0]
    worst = 0
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999)):
        exact = truth[max(0, math.ceil(q * len(truth)) - 1)]
        worst = max(worst, abs(told[name]["ns"] - exact) / exact)
    same = told["calls"] == len(truth) and told["max_ns"] == truth[-1] and told["min_ns"] == truth[0] and told["total_ns"] == sum(truth)
    print(f"percentiles of {len(truth):,} spans: off by {100 * worst:.2f} % at most; count, sum, min and max {'equal' if same else 'DIFFER'}")


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "counts.c"), "w", encoding="ascii") as file:
            file.write(COUNTS)
        with open(os.path.join(folder, "count"), "wb") as file:
            file.write(bytes(4096))
        subprocess.run(["cc", "-O2", "-I", os.path.join(HERE, "..", "include"), "counts.c", "-o", "counts"], cwd=folder, check=True)
        kill_programs(folder, kills)
        percentiles(folder)


main()
