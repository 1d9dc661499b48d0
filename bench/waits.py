#!/usr/bin/env python3
"""Waits as `kelvin record --waits` sees them, against the program's own clock and `perf sched timehist` of the same run.

    python3 bench/waits.py KELVIN TARGET [ROUNDS]

TARGET is tests/target/waits as built. Then the cost of many switches: CPU time of a ping-pong over pipes alone, under kelvin and
under `perf record -e sched:sched_switch -g`, in turns, and the bytes that each writes. Needs root and perf.
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

KINDS = {"sleep": "sleep", "lock": "lock", "condition": "condition", "pipe": "pipe", "socket": "socket", "poll": "poll",
         "child": "child", "sync": "fsync"}
TIMES = 'sh', '-c', '"$@"; times', 'sh'


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def blocked_by_perf_ns(data, tid):
    """What timehist calls wait time, without the delay after the wake, of slices that do not begin with a preemption."""
    total = 0.0
    before = ""
    for line in output_of("perf", "sched", "timehist", "-i", data, "--tid", str(tid), "--state").splitlines():
        words = line.split()
        if len(words) < 7 or not words[0][0].isdigit() or words[2].startswith("kelvin"):
            continue
        wait_ms, state = float(words[-4]) - float(words[-3]), words[-1]
        if before and before != "R":
            total += wait_ms
        before = state
    return total * 1e6


def compare(kelvin, target, kind, reason):
    own = output_of("perf", "sched", "record", "-q", "-o", "sched.data", "--", kelvin, "record", "-q", "--waits", "-o",
                    "w.kelvin", "--", target, kind, "50", "5000")
    _, own_ns, tid = own.split()[:3]
    report = json.loads(output_of(kelvin, "report", "--waits", "--format", "json", "w.kelvin"))
    thread = next(t for t in report["threads"] if t["tid"] == int(tid))
    seen_ns = thread["blocked_by_reason_ns"].get(reason, 0)
    perf_ns = blocked_by_perf_ns("sched.data", tid)
    print(f"{kind:10} own {int(own_ns) / 1e6:8.2f} ms   kelvin {reason} {seen_ns / 1e6:8.2f} ms "
          f"({100 * seen_ns / int(own_ns) - 100:+.2f} %)   blocked in all: kelvin {thread['blocked_ns'] / 1e6:8.2f} ms, "
          f"perf {perf_ns / 1e6:8.2f} ms", flush=True)


def cpu_s(*command):
    """CPU time of what sh ran, whoever records it."""
    last = output_of(*command).splitlines()[-1]
    return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", last))


def cost(kelvin, target, rounds):
    trips = 20000
    work = (*TIMES, target, "pipe", str(trips), "0")
    ways = {
        "alone": work,
        "kelvin record": (kelvin, "record", "-q", "-o", "c.kelvin", "--", *work),
        "kelvin record --waits": (kelvin, "record", "-q", "--waits", "-o", "w.kelvin", "--", *work),
        "perf record -e sched:sched_switch -g": ("perf", "record", "-q", "-e", "sched:sched_switch", "-g", "-o", "p.data", *work),
    }
    took = {way: [] for way in ways}
    for _ in range(rounds):
        for way in random.sample(list(ways), len(ways)):
            took[way].append(cpu_s(*ways[way]))
    for way, seconds in took.items():
        print(f"{way:38} {1e6 * statistics.median(seconds) / (2 * trips):6.2f} us of CPU time per switch")
    lost = json.loads(output_of(kelvin, "report", "--waits", "--format", "json", "w.kelvin"))["lost"]
    print(f"bytes: kelvin {os.path.getsize('w.kelvin')}, perf {os.path.getsize('p.data')}; kelvin lost {lost} records")


def main():
    kelvin, target = (os.path.abspath(p) for p in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind, reason in KINDS.items():
            compare(kelvin, target, kind, reason)
        cost(kelvin, target, rounds)
        os.chdir("/")


if __name__ == "__main__":
    main()
