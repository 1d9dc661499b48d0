#!/usr/bin/env python3
"""What `kelvin record --locks` costs: locks that are free, and one that threads wait for, in turns with the bare program.

    python3 bench/locks.py [ROUNDS]

A program whose threads wait for one lock is chaotic: who gets it next decides how much it does. So it runs for a third of a second,
many times in random order, and the ratios of runs next to each other have a median with an interval. Locks are held for a
quarter of a microsecond, 5 and 100 microseconds.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from waits import median_interval

KELVIN = os.environ.get("KELVIN", "build/kelvin")
HERE = os.path.dirname(os.path.abspath(__file__))
HELD = 100, 2000, 40000


def run(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def numbers(text):
    return tuple(map(float, text.split()))


def contend(folder, kelvin, sides, held, rounds):
    got = {side: [] for side in sides}
    for _ in range(rounds):
        for side in random.sample(list(sides), len(sides)):
            got[side].append(numbers(run(folder, *sides[side], "./work", "contend", str(held))))
    told = json.loads(run(folder, kelvin, "locks", "--format", "json", "locks.kelvin"))
    each = 1e6 / statistics.median(wall for wall, cpu in got["bare"])
    print(f"contended, {each:.2f} us per lock; {told['waits']:,} waits kept of one run, {told['lost']:,} lost")
    for side, base in (("locks", "bare"), ("locks", "sampled"), ("sampled", "bare")):
        for i, what in enumerate(("wall", "CPU")):
            ratios = median_interval(b[i] / a[i] for a, b in zip(got[side], got[base]))
            print(f"    {what:4} time per lock, {side} to {base}: x{ratios[0]:.3f} ({ratios[1]:.3f} to {ratios[2]:.3f})", flush=True)


def main():
    kelvin = os.path.abspath(KELVIN)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "cc", "-O2", "-pthread", os.path.join(HERE, "locks_work.c"), "-o", "work")
        record = (kelvin, "record", "--user-only", "-q")
        sides = {"bare": (), "sampled": (*record, "-o", "r.kelvin", "--"), "locks": (*record, "-o", "locks.kelvin", "--locks", "--")}
        pairs = {side: [numbers(run(folder, *before, "./work", "pair")) for _ in range(7)] for side, before in sides.items()}
        for i, what in enumerate(("a lock and its unlock", "two, one inside the other")):
            bare, locks = (min(p[i] for p in pairs[side]) for side in ("bare", "locks"))
            print(f"free, {what}: {bare:.1f} ns bare, {locks:.1f} ns with --locks: {locks - bare:.1f} ns more, x{locks / bare:.2f}")
        for held in HELD:
            contend(folder, kelvin, sides, held, rounds)


main()
