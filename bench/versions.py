#!/usr/bin/env python3
"""Two builds of kelvin beside each other: did reading, drawing and comparing become slower or larger?

Usage: python3 bench/versions.py OLD NEW [ROUNDS]     two kelvin programs

The two take turns on the same inputs, and the least CPU time of each counts: on a busy machine wall time says more about the
others. Where valgrind is installed, instructions are counted too, which no other program disturbs. Each reads recordings that it
wrote itself. Data goes to build/bench.
"""
import os
import re
import resource
import shutil
import subprocess
import sys

from formats import DATA, data
from understand import sqlite

OLD, NEW = sys.argv[1:3]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 11


def cpu_seconds(command):
    """CPU time of one run of COMMAND, output thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit("bench: %s: %s" % (" ".join(command), done.stderr.decode()))
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def instructions(command):
    """Millions of instructions of one run of COMMAND."""
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"] + command,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return int(re.search(rb"I +refs: +([0-9,]+)", done.stderr).group(1).replace(b",", b"")) / 1e6


def perfdata(name, seconds, *options):
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", path + ".part", *options, sqlite(), str(seconds)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.rename(path + ".part", path)
    return path


def recording(kelvin, name, source):
    """SOURCE as a recording of this kelvin's own format."""
    path = os.path.join(DATA, name)
    subprocess.run([kelvin, "convert", "--to", "kelvin", "-o", path, source], check=True, stderr=subprocess.DEVNULL)
    return path


def rows():
    """Title, and the arguments for the old and the new program."""
    text = data("perf-script-60.txt", "python3", "tools/make-perf-script.py", "60")
    folded = data("stacks-200k.folded", "python3", "tools/make-folded.py", "200000")
    pprof = data("samples-200k.pb", "python3", "tools/make-pprof.py", "200000")
    chains = perfdata("chains.perf", 10, "-F", "5000", "-g")
    dwarf = perfdata("dwarf.perf", 4, "-F", "999", "--call-graph", "dwarf,16384")
    old, new = recording(OLD, "old.kelvin", chains), recording(NEW, "new.kelvin", chains)
    print("a recording of the same samples: %d bytes before, %d now" % (os.path.getsize(old), os.path.getsize(new)))
    for title, *arguments in (("fold, perf script text", "fold", text), ("flame, folded stacks", "flame", folded),
                              ("info, pprof", "info", pprof), ("fold, perf.data with chains", "fold", chains),
                              ("fold, perf.data with copies of stacks", "fold", dwarf)):
        yield title, arguments, arguments
    for command in ("report", "flame", "fold"):
        yield command + ", recording", [command, old], [command, new]
    yield "diff, two recordings", ["diff", old, old], ["diff", new, new]


def main():
    for title, old, new in rows():
        times = [(cpu_seconds([OLD] + old), cpu_seconds([NEW] + new)) for _ in range(ROUNDS)]
        before, now = (min(column) for column in zip(*times))
        line = "  %-40s %7.3f s before, %7.3f s now: %.2f" % (title, before, now, now / before)
        if shutil.which("valgrind"):
            before, now = instructions([OLD] + old), instructions([NEW] + new)
            line += "   %7.1f, %7.1f M instructions: %.2f" % (before, now, now / before)
        print(line, flush=True)


main()
