#!/usr/bin/env python3
"""Understanding: kelvin next to perf's own reports, on the same perf.data files of a million samples.

    python3 bench/understand.py          # all
    python3 bench/understand.py diff     # one of them

The samples are of SQLite (see bench/record.py), 20,000 a second of CPU time.
"""
import os
import shutil
import subprocess
import sys

from measure import compare

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.environ.get("BENCH_DATA", "build/bench")
SECONDS = os.environ.get("UNDERSTAND_SECONDS", "52")


def run(*command, **more):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def sqlite():
    """SQLite from an npm package that ships its source, built as people build it."""
    program = os.path.join(DATA, "sqlite_work")
    if os.path.exists(program):
        return program
    folder = os.path.join(DATA, "sqlite")
    os.makedirs(folder, exist_ok=True)
    run("npm", "pack", "better-sqlite3", cwd=folder)
    run("sh", "-c", "tar xzf better-sqlite3-*.tgz --strip-components=3 package/deps/sqlite3", cwd=folder)
    run("gcc", "-O2", "-g", "-I", folder, "-o", program, "bench/sqlite_work.c",
        os.path.join(folder, "sqlite3.c"), "-lpthread", "-ldl", "-lm")
    return program


def perfdata(name):
    """A recording by perf, made once."""
    path = os.path.join(DATA, name + ".perf")
    if not os.path.exists(path):
        print("recording %s ..." % path, flush=True)
        run("perf", "record", "-F", "20000", "-e", "cpu-clock", "-g", "-o", path + ".part", sqlite(), SECONDS)
        os.rename(path + ".part", path)
    return path


def kelvin_file(perf):
    """The same as a .kelvin recording."""
    path = perf[:-len(".perf")] + ".kelvin"
    if not os.path.exists(path):
        run(KELVIN, "convert", "--to", "kelvin", "-o", path, perf)
    return path


def diff_rows():
    before, after = perfdata("million-before"), perfdata("million-after")
    yield ("diff, two perf.data", [KELVIN, "diff", before, after], ["perf", "diff", before, after])
    yield ("diff, the same as .kelvin", [KELVIN, "diff", kelvin_file(before), kelvin_file(after)],
           ["perf", "diff", before, after])


def report_rows():
    perf = perfdata("million-before")
    peer = ["perf", "report", "--stdio", "--children", "-g", "graph", "-i", perf]
    yield ("report, perf.data", [KELVIN, "report", perf], peer)
    yield ("report, the same as .kelvin", [KELVIN, "report", kelvin_file(perf)], peer)


def annotate_rows():
    perf = perfdata("million-before")
    peer = ["perf", "annotate", "--stdio", "-i", perf, "sqlite3VdbeExec"]
    yield ("annotate, perf.data", [KELVIN, "annotate", perf, "sqlite3VdbeExec"], peer)
    yield ("annotate, the same as .kelvin", [KELVIN, "annotate", kelvin_file(perf), "sqlite3VdbeExec"], peer)


def code_bytes(path):
    """Size of the code in an ELF file."""
    out = subprocess.run(["size", "-A", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    return sum(int(line.split()[1]) for line in out.splitlines() if line.startswith(".text"))


def simd_rows():
    """A large library that is there, and SQLite."""
    libraries = ["/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libc.so.6"]
    for path in [next(p for p in libraries if os.path.exists(p)), sqlite()]:
        title = "simd, %.1f MB of code" % (code_bytes(path) / 1e6)
        yield (title, [KELVIN, "simd", path], ["objdump", "-d", path])


# What is measured: a name, and what yields (title, kelvin's command, the peer's command).
ROWS = {
    "diff": diff_rows,
    "report": report_rows,
    "annotate": annotate_rows,
    "simd": simd_rows,
}


def measure(title, command, peer):
    commands = {"kelvin": (command, 5)}
    if shutil.which(peer[0]):
        commands["peer"] = (peer, 2)
    runs = compare(commands, 5)
    line = "%-28s kelvin %6.2f s %5.0f MB" % (title, runs["kelvin"].best, runs["kelvin"].peak_mb)
    if "peer" in runs:
        line += "   %s %6.2f s %5.0f MB: %.1fx" % (" ".join(peer[:2]), runs["peer"].best, runs["peer"].peak_mb,
                                                  runs["peer"].best / runs["kelvin"].best)
    print(line, flush=True)


def main():
    os.makedirs(DATA, exist_ok=True)
    for name in sys.argv[1:] or ROWS:
        for row in ROWS[name]():
            measure(*row)


if __name__ == "__main__":
    main()
