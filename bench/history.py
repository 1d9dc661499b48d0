#!/usr/bin/env python3
"""How long `kelvin history` takes when there are many runs.

    bench/history.py KELVIN [RUNS] [OTHER-KELVIN]

Lets kelvin make a store with one run of one workload, fills it up with copies whose figures scatter by 2 % and rise by a
tenth half-way, each with 40 functions, and prints the user time of `kelvin history`, the best of five. Then the same for
a store with 40 metrics in each run. Two programs are measured in turns.
"""
import os, random, resource, sqlite3, subprocess, sys, tempfile, time

CONF = """[workload small]
command = sh -c "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
collect = bench
runs = 2
"""


def fill(path, runs, metrics):
    """Copy the newest run of the store until there are RUNS, oldest first, a minute apart; with 40 METRICS or functions."""
    db = sqlite3.connect(path)
    _, now, _, branch, dirty, host, workload, outcome = db.execute(
        "select * from runs order by id desc limit 1").fetchone()
    db.executemany("insert or ignore into names(name) values (?)", [(f"function_{i}",) for i in range(40)])
    names = [row[0] for row in db.execute("select id from names where name like 'function_%'")]
    draw = random.Random(1)
    for i in range(runs - 1):
        level = 1.0 if i < runs // 2 else 1.1
        run = db.execute("insert into runs values (NULL,?,?,?,?,?,?,?)",
                         (now - 60 * (runs - i), f"{i:040x}", branch, dirty, host, workload, outcome)).lastrowid
        for metric, value in (("cpu", 1e9), ("time", 1.2e9), ("peak_rss", 3e7), ("instructions", 5e9), ("samples", 1000)):
            value *= level * draw.gauss(1, 0.02)
            db.execute("insert into metrics values (?,?,?,?,?)", (run, metric, value, value * 0.99, value * 1.01))
        if metrics:
            values = [100 * level * draw.gauss(1, 0.02) for _ in range(40)]
            db.executemany("insert into metrics values (?,?,?,?,?)",
                           [(run, f"metric_higher m{j:02}", v, v * 0.99, v * 1.01) for j, v in enumerate(values)])
            continue
        db.executemany("insert into shares values (?,?,?,?)",
                       [(run, name, draw.gauss(0.02, 0.001), 0.03) for name in names])
    db.commit()


def user_seconds(argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    start = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, time.monotonic() - start


def measure(kelvins, runs, metrics):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("kelvin.conf", "w", encoding="utf-8") as conf:
            conf.write(CONF)
        subprocess.run([kelvins[0], "run", "-q"], check=True)
        fill(".kelvin/history.db", runs, metrics)
        print(f"{runs} runs with 40 {'metrics' if metrics else 'functions'} each, "
              f"{os.path.getsize('.kelvin/history.db') >> 20} MiB, load {os.getloadavg()[0]:.1f}")
        for args in (["history"], ["history", "--format", "csv", "--last", str(runs)],
                     ["history", "--last", str(runs)], ["history", "--last", str(runs), "-o", "history.html"]):
            times = [[user_seconds([kelvin, *args]) for kelvin in kelvins] for _ in range(5 if len(args) < 4 else 2)]
            best = [min(column) for column in zip(*times)]
            print(f"kelvin {' '.join(args)}: " + "; ".join(f"{user:.2f} s user, {wall:.2f} s wall" for user, wall in best))
        os.chdir("/")


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    kelvins = [os.path.abspath(path) for path in sys.argv[1:2] + sys.argv[3:4]]
    for metrics in False, True:
        measure(kelvins, runs, metrics)


if __name__ == "__main__":
    main()
