"""How many 95 % intervals hold the true share: recordings of a program that knows its own.

Usage: bench/coverage.py [RUNS [SECONDS [MEAN_PHASE_US...]]]; KELVIN names the program to measure.
"""
import json
import os
import subprocess
import sys

SHARES = {"part_sixty": 0.6, "part_thirty": 0.3, "part_ten": 0.1}
KELVIN = os.environ.get("KELVIN", "build/kelvin")
FOLDER = os.path.join(os.environ.get("B", "build"), "bench")
HERE = os.path.dirname(os.path.abspath(__file__))


def compile_work(source):
    """The program, at a path of its own in FOLDER."""
    program = os.path.join(FOLDER, os.path.basename(source)[:-2])
    subprocess.run(["gcc", "-O2", "-g", source, "-o", program, "-lm", "-lpthread"], check=True)
    return program


def intervals(command):
    """Record COMMAND; the interval of each part's share, and the number of samples."""
    recording = os.path.join(FOLDER, "coverage.kelvin")
    subprocess.run([KELVIN, "record", "-q", "--min-samples", "0", "-o", recording, "--"] + command,
                   check=True, stdout=subprocess.DEVNULL)
    report = json.loads(subprocess.run([KELVIN, "report", "--format", "json", "--top", "1000", recording],
                                       check=True, stdout=subprocess.PIPE).stdout)
    rows = {row["name"]: row["total"] for row in report["by_total"]}
    return {part: rows.get(part) for part in SHARES}, report["samples"]


def campaign(title, command_of_run, runs):
    """Print how many of RUNS intervals hold the truth, for each part."""
    held = dict.fromkeys(SHARES, 0)
    half = dict.fromkeys(SHARES, 0.0)
    total = 0
    for run in range(runs):
        found, samples = intervals(command_of_run(run))
        total += samples
        for part, truth in SHARES.items():
            if found[part] is not None:
                low, high = found[part]["low"], found[part]["high"]
                held[part] += low <= truth <= high
                half[part] += 50 * (high - low) / runs
    print("%s, %d recordings, %.0f samples each:" % (title, runs, total / runs), flush=True)
    for part, truth in SHARES.items():
        print("  %-12s %2.0f %%: %3d of %d hold it, +-%.1f on average"
              % (part, 100 * truth, held[part], runs, half[part]), flush=True)


def main():
    """Phases of three mean lengths, or those asked for."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    seconds = sys.argv[2] if len(sys.argv) > 2 else "1"
    os.makedirs(FOLDER, exist_ok=True)
    work = compile_work(os.path.join(HERE, "coverage_work.c"))
    for mean_us in sys.argv[3:] or ("300", "3000", "10000"):
        campaign("random phases of %s us" % mean_us,
                 lambda run, mean_us=mean_us: [work, seconds, mean_us, str(run + 1)], runs)


main()
