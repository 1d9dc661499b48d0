#!/usr/bin/env python3
"""What a scope of kelvin.h costs: off, on, in many threads, in a flood, on disk, and to read again.

Usage: scopes.py [SECONDS]    of the flood at 10 million spans a second (default: 2; `make bench` has no more time)
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

KELVIN = os.path.abspath(os.environ.get("KELVIN", "build/kelvin"))
HERE = os.path.dirname(os.path.abspath(__file__))


def run(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def record(folder, *command):
    return run(folder, KELVIN, "record", "-q", "--engine", "none", "-o", "r.kelvin", "--", *command)


def cost(folder):
    bare, off = map(float, run(folder, "./scopes").split())
    print(f"not recorded: {off:.2f} ns, {off / bare:.2f} of two readings ({bare:.1f} ns)")
    bare, on = map(float, record(folder, "./scopes").split())
    told = json.loads(run(folder, KELVIN, "scopes", "--format", "json", "r.kelvin"))
    print(f"recorded: {on:.1f} ns, {on / bare:.2f} of two readings ({bare:.1f} ns); {told['spans']:,} spans kept, "
          f"{told['lost']:,} lost")


def threads(folder):
    pairs = [(float(record(folder, "./scopes", "threads", "1")), float(record(folder, "./scopes", "threads", "8")))
             for _ in range(3)]
    one, eight = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    print(f"eight threads: {eight:.1f} ns of CPU time per scope, {eight / one:.2f} of one thread ({one:.1f} ns)")


def flood(folder, seconds):
    told, took = record(folder, "./scopes", "flood", "1e7", str(seconds)).split()
    size = os.path.getsize(os.path.join(folder, "r.kelvin"))
    start, before = time.time(), os.times()
    text = run(folder, KELVIN, "scopes", "r.kelvin")
    read, after = time.time() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    kept = int(re.search(r"([\d,]+) spans of", text)[1].replace(",", ""))
    lost = re.search(r"([\d,]+) records were lost", text)
    lost = int(lost[1].replace(",", "")) if lost else 0
    print(f"flood: {int(told):,} spans in {float(took):.1f} s; {kept:,} kept and {lost:,} lost, "
          f"{int(told) - kept - lost} neither; {size / kept:.1f} bytes per span on disk")
    print(f"kelvin scopes on {kept:,} spans: {read:.2f} s, {cpu:.2f} s of CPU time, "
          f"{kept / cpu / 1e6:.0f} million spans per second of it")


def slowdown(folder):
    pieces = "100000"
    pairs = [(float(run(folder, "./scopes", "work", pieces)), float(record(folder, "./scopes", "work", pieces)))
             for _ in range(7)]
    ratios = sorted(on / off for off, on in pairs)
    rate = int(pieces) / statistics.median(off for off, _ in pairs)
    print(f"a program with {rate:,.0f} spans a second of CPU time: {statistics.median(ratios):.4f} of its CPU time "
          f"without a recorder (7 pairs, {ratios[0]:.4f} to {ratios[-1]:.4f})")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        run(folder, "cc", "-O2", "-pthread", os.path.join(HERE, "scopes.c"), "-o", "scopes")
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
        cost(folder)
        threads(folder)
        slowdown(folder)
        flood(folder, seconds)


main()
