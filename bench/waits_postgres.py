#!/usr/bin/env python3
"""Waits of PostgreSQL under row locks, as kelvin, `perf sched timehist` and a bpftrace offcputime see them in one run.

    python3 bench/waits_postgres.py KELVIN [SECONDS]

Four clients of pgbench update one row of a table over and over (scale 1, with commits to disk). The server runs under `kelvin record
--waits`; perf records the scheduler's events of the machine, and bpftrace sums by process how long each was off its CPU. For processes that
all three saw from start to end (the backends of the clients) the sums are compared. The server counts and times its own flushes
of the log (pg_stat_wal), which are kelvin's wall time in fdatasync. Needs root, perf, bpftrace, and Debian's packages postgresql and postgresql-contrib.
"""
import glob
import json
import os
import pwd
import subprocess
import sys
import tempfile
import time
from collections import defaultdict

BIN = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
# bcc's offcputime as a tracepoint: from the moment a thread leaves its CPU until it is on one again. State 0 = it could have run on.
OFFCPU = """
tracepoint:sched:sched_switch {
    if (args->prev_pid) { @left[args->prev_pid] = nsecs; @state[args->prev_pid] = args->prev_state & 255; }
    $left = @left[args->next_pid];
    if ($left) { @off[args->next_pid, @state[args->next_pid] != 0] = sum(nsecs - $left); delete(@left[args->next_pid]); }
}
END { clear(@left); clear(@state); }
"""


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def as_postgres(*command):
    return ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups", *command)


def offcpu_by_bpftrace(path):
    """[pid] = [left runnable, left blocked], both until it ran again."""
    off = defaultdict(lambda: [0, 0])
    with open(path, encoding="ascii") as f:
        for line in f:
            if line.startswith("@off["):
                key, ns = line[5:].split("]:")
                pid, blocked = key.split(",")
                off[int(pid)][int(blocked)] += int(ns)
    return off


def times_by_perf(data):
    """[tid] = [off its CPU, of that from the wake to the CPU, running], nanoseconds."""
    times = defaultdict(lambda: [0.0, 0.0, 0.0])
    for line in output_of("perf", "sched", "timehist", "-i", data).splitlines():
        words = line.split()
        if len(words) < 6 or not words[0][0].isdigit() or "/" not in line and "[" not in line:
            continue
        tid = int(line.split("[")[2].split("]")[0].split("/")[0]) if line.count("[") > 1 else 0
        for i, ms in enumerate(words[-3:]):
            times[tid][i] += float(ms) * 1e6
    return times


def wall_below(kelvin, function, tid):
    """Running by samples, waiting by switches."""
    folded = output_of(kelvin, "fold", "--value", "wall", "--thread", str(tid), "pg.kelvin").splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in folded if f";{function};" in line)


def ms(ns):
    return f"{ns / 1e6:,.1f}"


def more(a, b):
    return f"{100 * a / b - 100:+.2f} %" if b else "-"


def run_server(kelvin, folder, seconds):
    data = folder + "/data"
    subprocess.run(as_postgres(BIN + "/initdb", "-D", data, "-A", "trust"), check=True, stdout=subprocess.DEVNULL)
    with open(data + "/postgresql.conf", "a", encoding="ascii") as f:
        f.write(f"listen_addresses=''\nunix_socket_directories='{folder}'\ntrack_wal_io_timing=on\n")
    with open("offcpu.txt", "w", encoding="ascii") as off:
        bpf = subprocess.Popen(("bpftrace", "-q", "-e", OFFCPU), stdout=off)
    perf = subprocess.Popen(("perf", "record", "-q", "-B", "-a", "-m", "4096", "-o", "sched.data", "-e", "sched:sched_switch", "-e",
                             "sched:sched_wakeup", "-e", "sched:sched_wakeup_new", "-e", "sched:sched_migrate_task"))
    time.sleep(3)
    server = subprocess.Popen((kelvin, "record", "--waits", "-q", "-o", "pg.kelvin", "--",
                               *as_postgres(BIN + "/postgres", "-D", data)), stderr=subprocess.DEVNULL)
    client = ("-h", folder, "-U", "postgres", "postgres")
    while subprocess.run((BIN + "/pg_isready", "-q", "-h", folder), check=False).returncode:
        time.sleep(0.1)
    output_of(BIN + "/pgbench", "-q", "-i", "-s", "1", *client)
    output_of(BIN + "/psql", "-c", "select pg_stat_reset_shared('wal')", *client[:4], "-d", "postgres")
    bench = output_of(BIN + "/pgbench", "-c", "4", "-M", "prepared", "-T", str(seconds), *client)
    time.sleep(1.5)  # counts of backends that ended
    syncs = output_of(BIN + "/psql", "-At", "-F", " ", "-c", "select wal_sync, wal_sync_time from pg_stat_wal", *client[:4], "-d",
                      "postgres").split()
    subprocess.run(as_postgres(BIN + "/pg_ctl", "-D", data, "-m", "fast", "stop"), check=True, stdout=subprocess.DEVNULL)
    server.wait()
    bpf.send_signal(2)
    perf.send_signal(2)
    bpf.wait()
    perf.wait()
    return bench, int(syncs[0]), float(syncs[1]) * 1e6


def main():
    kelvin = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        os.chmod(folder, 0o755)
        bench, syncs, sync_ns = run_server(kelvin, folder, seconds)
        report = json.loads(output_of(kelvin, "report", "--waits", "--format", "json", "pg.kelvin"))
        perf, bpf = times_by_perf("sched.data"), offcpu_by_bpftrace("offcpu.txt")
        print(next(line for line in bench.splitlines() if line.startswith("number of transactions actually")))
        print(f"kelvin lost {report['lost']}, {report['waits']} waits, {report['summed']} of them without a stack of their own")
        rows = [t for t in report["threads"] if t["wall_ns"] > 0.8e9 * seconds and t["waits"] > 20 * seconds][:4]
        print("tid | off its CPU: kelvin | timehist | bpftrace | kelvin to timehist, to bpftrace | running: kelvin | timehist")
        for t in rows:
            off, (perf_off, _, perf_run), bpf_off = t["blocked_ns"] + t["runnable_ns"], perf[t["tid"]], sum(bpf[t["tid"]])
            print(f"{t['tid']} | {ms(off)} | {ms(perf_off)} | {ms(bpf_off)} | {more(off, perf_off)}, {more(off, bpf_off)} | "
                  f"{ms(t['running_ns'])} | {ms(perf_run)}")
        fsync_ns = sum(wall_below(kelvin, "fdatasync", t["tid"]) for t in rows)
        print(f"the server counts {syncs} flushes, {ms(sync_ns)} ms; wall time of the backends in fdatasync by kelvin {ms(fsync_ns)} ms "
              f"({more(fsync_ns, sync_ns)})")
        print(output_of(kelvin, "report", "--waits", "pg.kelvin"))
        if os.environ.get("KEEP"):
            subprocess.run(("cp", "pg.kelvin", "sched.data", "offcpu.txt", os.environ["KEEP"]), check=True)


main()
