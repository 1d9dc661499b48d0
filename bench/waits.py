#!/usr/bin/env python3
"""Waits as `kelvin record --waits` sees them, against the program's own clock and `perf sched timehist` of the same run.

    python3 bench/waits.py KELVIN TARGET [ROUNDS]

TARGET is tests/target/waits as built; it also says how much CPU time it used from the start of each wait to its end, which is the
way into the kernel and out of it. The rest it was off its CPU, and so it is by kelvin: blocked, then runnable until it ran. Then the cost of many switches: CPU time of a ping-pong over pipes alone, under kelvin and
under `perf record -e sched:sched_switch -g`, in random order, and the bytes that each writes. An idle virtual CPU that has to get up
costs more than a switch, so the two threads share one CPU first, and then have two that others keep busy at the lowest priority.
Needs root and perf.
"""
import contextlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

KINDS = {"sleep": "sleep", "lock": "lock", "condition": "condition", "pipe": "pipe", "socket": "socket", "poll": "poll",
         "child": "child", "sync": "fsync"}
WAIT_US = os.environ.get("WAIT_US", "5000")
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


def ms(ns):
    return f"{int(ns) / 1e6:8.2f} ms"


def stolen_ms():
    """Time that the host took from all CPUs: a thread's own clock leaves it out, and it looks as if it waited."""
    with open("/proc/stat", encoding="ascii") as f:
        return 1000 // os.sysconf("SC_CLK_TCK") * int(f.readline().split()[8])


def compare(kelvin, target, kind, reason):
    stolen = stolen_ms()
    own = output_of("perf", "sched", "record", "-q", "-B", "-o", "sched.data", "--", kelvin, "record", "-q", "--waits", "-o",
                    "w.kelvin", "--", target, kind, "50", WAIT_US)
    stolen = stolen_ms() - stolen
    _, own_ns, tid, own_cpu_ns = own.splitlines()[0].split()
    off_ns = int(own_ns) - int(own_cpu_ns)
    report = json.loads(output_of(kelvin, "report", "--waits", "--format", "json", "w.kelvin"))
    thread = next(t for t in report["threads"] if t["tid"] == int(tid))
    seen_ns = thread["blocked_by_reason_ns"].get(reason, 0)
    after_ns = thread["runnable_after_ns"].get(reason, 0)
    perf_ns = blocked_by_perf_ns("sched.data", tid)
    states_ns = sum(thread[state + "_ns"] for state in ("running", "runnable", "blocked", "unknown"))
    print(f"{kind:10} own {ms(own_ns)}, off its CPU {ms(off_ns)}   kelvin {reason} {ms(seen_ns)} and {ms(after_ns)} to the CPU "
          f"({100 * (seen_ns + after_ns) / off_ns - 100:+.2f} %; blocked to own {100 * seen_ns / int(own_ns) - 100:+.2f} %)   "
          f"blocked in all: kelvin {ms(thread['blocked_ns'])}, perf {ms(perf_ns)}   "
          f"states less wall time of the thread {states_ns - thread['wall_ns']} ns; {stolen} ms stolen", flush=True)


def cpu_s(*command):
    """CPU time of what sh ran, whoever records it."""
    last = output_of(*command).splitlines()[-1]
    return sum(60 * int(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", last))


def median_interval(values):
    """The median, and the order statistics that hold it with 95 %."""
    values = sorted(values)
    n, covered, k = len(values), 1.0, 0
    while k < n // 2 and covered - 2 * math.comb(n, k) / 2 ** n >= 0.95:
        covered -= 2 * math.comb(n, k) / 2 ** n
        k += 1
    low = max(k - 1, 0)
    return statistics.median(values), values[low], values[n - 1 - low]


@contextlib.contextmanager
def spinners():
    """Something to do for each CPU that has nothing else."""
    started = [subprocess.Popen(("nice", "-n", "19", "taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"))
               for cpu in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for spinner in started:
            spinner.kill()
            spinner.wait()


def cost(kelvin, target, rounds, where):
    trips = 20000
    work = (*TIMES, *where, target, "pipe", str(trips), "0")
    ways = {
        "alone": work,
        "kelvin record": (kelvin, "record", "-q", "-o", "c.kelvin", "--", *work),
        "kelvin record --waits": (kelvin, "record", "-q", "--waits", "-o", "w.kelvin", "--", *work),
        "perf record -e sched:sched_switch -g": ("perf", "record", "-q", "-B", "-e", "sched:sched_switch", "-g", "-o", "p.data", *work),
    }
    took = {way: [] for way in ways}
    for _ in range(rounds):
        for way in random.sample(list(ways), len(ways)):
            took[way].append(cpu_s(*ways[way]))
    for way, seconds in took.items():
        more = median_interval(s / alone for s, alone in zip(seconds, took["alone"]))
        print(f"{way:38} {1e6 * statistics.median(seconds) / (2 * trips):6.2f} us of CPU time per switch, "
              f"x{more[0]:.2f} ({more[1]:.2f} to {more[2]:.2f})")
    lost = json.loads(output_of(kelvin, "report", "--waits", "--format", "json", "w.kelvin"))["lost"]
    print(f"bytes: kelvin {os.path.getsize('w.kelvin')}, perf {os.path.getsize('p.data')}; kelvin lost {lost} records")


def main():
    kelvin, target = (os.path.abspath(p) for p in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind, reason in KINDS.items():
            compare(kelvin, target, kind, reason)
        if rounds:
            print("two threads on one CPU")
            cost(kelvin, target, rounds, ("taskset", "-c", "1"))
            print("two CPUs that do not idle")
            with spinners():
                cost(kelvin, target, rounds, ())
        os.chdir("/")


if __name__ == "__main__":
    main()
