#!/usr/bin/env python3
"""What `kelvin record --locks` costs: locks that are free, and one that threads wait for, in turns with the bare program."""
import json
import os
import statistics
import subprocess
import tempfile

KELVIN = os.environ.get("KELVIN", "build/kelvin")
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 7


def run(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main():
    kelvin = os.path.abspath(KELVIN)
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "cc", "-O2", "-pthread", os.path.join(HERE, "locks_work.c"), "-o", "work")
        record = (kelvin, "record", "--user-only", "-q", "-o", "r.kelvin")
        sides = {"bare": (), "sampled": (*record, "--"), "locks": (*record, "--locks", "--")}
        pairs = {side: [] for side in sides}
        contended = {side: [] for side in sides}
        for _ in range(ROUNDS):
            for side, before in sides.items():
                pairs[side].append(tuple(map(float, run(folder, *before, "./work", "pair").split())))
                contended[side].append(float(run(folder, *before, "./work", "contend")))
        told = json.loads(run(folder, kelvin, "locks", "--format", "json", "r.kelvin"))
    for i, what in enumerate(("a lock and its unlock", "two, one inside the other")):
        bare, locks = (min(p[i] for p in pairs[side]) for side in ("bare", "locks"))
        print(f"free, {what}: {bare:.1f} ns bare, {locks:.1f} ns with --locks: {locks - bare:.1f} ns more, x{locks / bare:.2f}")
    bare, sampled, locks = (statistics.median(contended[side]) for side in sides)
    print(f"contended: CPU time x{locks / bare:.3f} with --locks, x{sampled / bare:.3f} with samples alone; "
          f"{told['waits']:,} waits kept, {told['lost']:,} lost")


main()
