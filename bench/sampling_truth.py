"""How many 95 % intervals hold the true share: threads that know their own CPU time.

Usage: bench/sampling_truth.py [RUNS [SECONDS [WAY...]]], WAY one of started, attached, timer; KELVIN
names the program to measure. Exits with 1 if too few intervals hold to be chance.

Threads are on a CPU for 0.1 to 100 % of the time, 1 to 200 of them, in loops of 0.5 to 3 ms. For
each way to record (engine perf, started and attached; timer) each share of a group of threads and of
a part of the loop is held against its interval, and so is that of each thread. As these programs
know what they used, a busy machine does not matter.
"""
import json
import os
import signal
import subprocess
import sys
import time

KELVIN = os.environ.get("KELVIN", "build/kelvin")
FOLDER = os.path.join(os.environ.get("B", "build"), "bench")
HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(FOLDER, "sampling.kelvin")
CASES = [("500", "1x100"), ("1000", "1x100"), ("3000", "2x50"), ("1000", "1x10", "40x0.5"),
         ("500", "1x50", "1x1", "1x0.1"), ("2000", "200x0.5"), ("1000", "1x10", "200x0.1"),
         ("3000", "20x5", "1x1")]


def compile_duty():
    """The program that knows, at a path of its own in FOLDER."""
    program = os.path.join(FOLDER, "duty")
    source = os.path.join(HERE, "..", "tests", "target", "duty.c")
    subprocess.run(["gcc", "-O2", "-g", source, "-o", program, "-lpthread"], check=True)
    return program


def record_started(command, engine):
    """Record COMMAND from its start; what it printed."""
    return subprocess.run([KELVIN, "record", "-q", "--engine", engine, "--min-samples", "0", "-o", RECORDING, "--"]
                          + command, check=True, stdout=subprocess.PIPE, text=True).stdout


def record_attached(command, engine):
    """Record COMMAND, whose threads are there and wait until the recorder is ready."""
    part = RECORDING + ".part"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "DUTY_WAIT": "1"}) as duty:
        time.sleep(0.3)
        with subprocess.Popen([KELVIN, "record", "-q", "--engine", engine, "--min-samples", "0", "-o", RECORDING,
                               "-p", str(duty.pid)]) as recorder:
            while not os.path.exists(part):
                time.sleep(0.05)
            time.sleep(0.5)
            duty.send_signal(signal.SIGUSR1)
            printed = duty.communicate()[0]
            recorder.wait()
    return printed


def truth_of(printed):
    """True shares by what the report calls it: groups, the rare part, and threads by number."""
    *threads, (_, whole) = [line.split() for line in printed.splitlines()]
    whole = int(whole)
    shares = {"rare_part": sum(int(t[2]) for t in threads) / whole}
    for name in {t[0] for t in threads}:
        shares["group_" + name[1:]] = sum(int(t[1]) for t in threads if t[0] == name) / whole
    return shares, {t[3]: int(t[1]) / whole for t in threads}


def holds(row, truth, samples):
    """Whether the interval of a row of a report has TRUTH in it. What was never seen has no row."""
    if row is None:
        return truth <= 3.84 / (samples + 3.84)
    return row["total"]["low"] <= truth <= row["total"]["high"]


def check(printed):
    """(name, true share, share, held) of what is in the recording; threads seen and held."""
    report = json.loads(subprocess.run([KELVIN, "report", "--format", "json", "--top", "5000", RECORDING],
                                       check=True, stdout=subprocess.PIPE).stdout)
    shares, threads = truth_of(printed)
    functions = {row["name"]: row for row in report["by_total"]}
    by_tid = {row["name"].rpartition("/")[2]: row for row in report["threads"]}
    found = []
    for name, truth in sorted(shares.items()):
        if truth < 0.9995:
            row = functions.get(name)
            found.append((name, truth, row["total"]["share"] if row else 0, holds(row, truth, report["samples"])))
    held = [holds(by_tid.get(tid), truth, report["samples"]) for tid, truth in threads.items() if truth < 0.9995]
    return found, held, report["samples"]


def campaign(title, record, engine, runs, duty):
    """Record each case RUNS times; print each share, and return how many intervals held."""
    counts = [0, 0, 0, 0]
    for loop_us, *groups in CASES:
        command = [duty, SECONDS, loop_us] + groups
        sums = {}
        samples = 0
        for _ in range(runs):
            found, threads, n = check(record(command, engine))
            samples += n
            counts[2] += sum(threads)
            counts[3] += len(threads)
            for name, truth, share, held in found:
                s = sums.setdefault(name, [0, 0, 0, 0])
                s[0] += truth
                s[1] += share
                s[2] += held
                s[3] += 1 # not in every run: what is nearly all of a program is no test
        counts[0] += sum(s[2] for s in sums.values())
        counts[1] += sum(s[3] for s in sums.values())
        words = ", ".join("%s %.2f %% (true %.2f), %d of %d" % (name, 100 * s[1] / s[3], 100 * s[0] / s[3], s[2], s[3])
                          for name, s in sums.items())
        print("  %s, %s us, %s: %.0f samples each; %s" % (title, loop_us, " ".join(groups), samples / runs, words),
              flush=True)
    print("%s: %d of %d intervals of shares hold the truth, %d of %d of single threads" % (title, *counts), flush=True)
    held, n = counts[0], counts[1]
    return held / n >= 0.95 - 3 * (0.95 * 0.05 / n) ** 0.5


WAYS = {"started": ("perf, started", record_started, "perf"), "attached": ("perf, attached", record_attached, "perf"),
        "timer": ("timer", record_started, "timer")}


if __name__ == "__main__":
    RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    SECONDS = sys.argv[2] if len(sys.argv) > 2 else "4"
    os.makedirs(FOLDER, exist_ok=True)
    DUTY = compile_duty()
    GOOD = [campaign(*WAYS[way], RUNS, DUTY) for way in sys.argv[3:] or WAYS]
    sys.exit(not all(GOOD))
