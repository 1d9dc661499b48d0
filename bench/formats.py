#!/usr/bin/env python3
"""Reading and drawing: kelvin next to the scripts and programs people use for it today."""
import math
import os
import shutil
import subprocess
import sys

from measure import Run, compare, run_once

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.environ.get("BENCH_DATA", "build/bench")
FLAMEGRAPH = os.environ.get("FLAMEGRAPH", "")


def data(name, *command):
    """A file made once by a command."""
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        os.makedirs(DATA, exist_ok=True)
        print("making %s ..." % path, flush=True)
        with open(path + ".part", "wb") as out:
            subprocess.run(command, stdout=out, check=True)
        os.rename(path + ".part", path)
    return path


def script(name):
    path = os.path.join(FLAMEGRAPH, name)
    return ["perl", path] if FLAMEGRAPH and os.path.exists(path) else None


def report(title, runs, size_mb):
    """A table: time, speed, memory, and how kelvin compares."""
    print("\n%s (%.0f MB)" % (title, size_mb))
    print("  %-26s %9s %9s %9s %10s %10s" % ("", "seconds", "MB/s", "peak MB", "kelvin is", "memory"))
    kelvin = runs["kelvin"]
    for name, run in runs.items():
        ratio, memory = "", ""
        if run is not kelvin:
            ratio = "%.1fx" % (run.best / kelvin.best)
            memory = "1/%.1f" % (run.peak_mb / kelvin.peak_mb)
        print("  %-26s %9.3f %9.0f %9.1f %10s %10s"
              % (name, run.best, size_mb / run.best, run.peak_mb, ratio, memory), flush=True)


def megabytes(path):
    return os.path.getsize(path) / 1e6


def bench_fold():
    path = data("perf-script.txt", "python3", "tools/make-perf-script.py", "260")
    commands = {"kelvin": ([KELVIN, "fold", path], 7)}
    if script("stackcollapse-perf.pl"):
        commands["stackcollapse-perf.pl"] = (script("stackcollapse-perf.pl") + [path], 1)
    if shutil.which("inferno-collapse-perf"):
        commands["inferno-collapse-perf"] = (["inferno-collapse-perf", path], 5)
    report("kelvin fold, perf script text", compare(commands, 7), megabytes(path))


def bench_flame():
    path = data("stacks.folded", "python3", "tools/make-folded.py", "1000000")
    commands = {"kelvin": ([KELVIN, "flame", path], 7)}
    if script("flamegraph.pl"):
        commands["flamegraph.pl"] = (script("flamegraph.pl") + [path], 1)
    if shutil.which("inferno-flamegraph"):
        commands["inferno-flamegraph"] = (["inferno-flamegraph", path], 3)
    report("kelvin flame, 1M distinct folded lines", compare(commands, 7), megabytes(path))


def bench_pprof():
    path = data("samples.pb", "python3", "tools/make-pprof.py", "1000000")
    runs = compare({"kelvin": ([KELVIN, "info", path], 5)}, 5)
    report("kelvin info, pprof with 1M samples", runs, megabytes(path))
    print("  memory is %.1f times the unpacked size" % (runs["kelvin"].peak_mb / megabytes(path)))


def slope(points):
    """Of a line through log(x), log(y) by least squares."""
    xs = [math.log(x) for x, _ in points]
    ys = [math.log(y) for _, y in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)


def samples_in(path):
    """Number of samples: each ends with an empty line."""
    return int(subprocess.run(["grep", "-c", "^$", path], stdout=subprocess.PIPE,
                              check=True).stdout)


def bench_growth():
    """kelvin fold on 10^4 to 10^7 samples, from a pipe."""
    print("\nkelvin fold, growth of cost with the number of samples")
    big = data("perf-script.txt", "python3", "tools/make-perf-script.py", "260")
    small = {n: data("perf-script-%d.txt" % n, "python3", "tools/make-perf-script.py", str(n)) for n in (2, 24)}
    points = []
    for path, copies, rounds in ((small[2], 1, 9), (small[24], 1, 7), (big, 1, 5), (big, 8, 3)):
        run = Run()
        for _ in range(rounds):
            cat = subprocess.Popen(["cat"] + [path] * copies, stdout=subprocess.PIPE)
            run_once([KELVIN, "fold", "-"], run, stdin=cat.stdout)
            cat.stdout.close()
            cat.wait()
        samples = samples_in(path) * copies
        points.append((samples, run.best))
        print("  %9d samples %9.3f s %9.1f MB" % (samples, run.best, run.peak_mb), flush=True)
    print("  cost grows as n^%.2f (the first figure has the program's start in it)" % slope(points))


def main():
    wanted = sys.argv[1:] or ["fold", "flame", "pprof", "growth"]
    if not FLAMEGRAPH:
        print("bench: FLAMEGRAPH is not set to a folder with the Perl scripts: kelvin alone")
    for name in wanted:
        globals()["bench_" + name]()


if __name__ == "__main__":
    main()
