"""How many 95 % intervals of one recording hold the share that many recordings agree on.

Records each of twelve real programs RUNS times. For every function of 2 % or more, the interval from
each recording is held against the mean share of the others; the width that recordings differ by is
printed beside the width that one recording claims.

Usage: bench/coverage_programs.py [RUNS [PROGRAM...]]; KELVIN names the program to measure.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

KELVIN = os.path.abspath(os.environ.get("KELVIN", "build/kelvin"))
LEAST = 0.02

PROGRAMS = {
    "gzip": "gzip -9c numbers",
    "bzip2": "bzip2 -kc numbers",
    "xz": "xz -1kc numbers",
    "sort": "sort -R numbers",
    "sha256sum": "sha256sum numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers",
    "awk": "awk '{ n[$1 % 1000] += length($1) } END { for (k in n) s += n[k]; print s }' numbers",
    "grep": "grep -cE '([0-9])([0-9]).*\\2\\1' numbers",
    "sed": "sed -E 's/([0-9])1/one\\1/g' numbers",
    "python3": "python3 -c 'd = {}\nfor i in range(700000): d[i % 999] = d.get(i % 999, 0) + i'",
    "perl": "perl -e 'for (1..900000) { $h{$_ % 999} .= \"x\" if $_ % 7 } print scalar keys %h'",
    "sqlite3": "sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i+1 from n where i<400000)"
               " select sum(length(hex(i))) from n'",
    "gcc": "gcc -O2 -c -x c source.c -o /dev/null",
}


def make_inputs(folder):
    """What the programs read."""
    with open(os.path.join(folder, "numbers"), "w", encoding="ascii") as out:
        out.writelines("%d\n" % (i * 7919 % 1000003) for i in range(700000))
    with open(os.path.join(folder, "source.c"), "w", encoding="ascii") as out:
        for i in range(900):
            out.write("int f%d(int *a, int n) { int s = %d; for (int i = 0; i < n; i++)"
                      " s += a[i] * %d; return s; }\n" % (i, i, i + 3))


def shares_of(folder, command):
    """Record COMMAND once: the self share and interval of each function, by name."""
    recording = os.path.join(folder, "r.kelvin")
    subprocess.run([KELVIN, "record", "-q", "-o", recording, "--", "sh", "-c", "exec " + command],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = json.loads(subprocess.run([KELVIN, "report", "--format", "json", "--top", "40", recording],
                                       check=True, stdout=subprocess.PIPE).stdout)
    if report["samples"] < 100:
        raise RuntimeError("only %d samples" % report["samples"])
    return {row["name"]: row["self"] for row in report["by_self"]}


def measure(name, folder, runs):
    """Print how many intervals hold; returns (held, all)."""
    found = [shares_of(folder, PROGRAMS[name]) for _ in range(runs)]
    names = {n for f in found for n, s in f.items() if s["share"] >= LEAST}
    held = count = 0
    ratios = []
    for function in names:
        shares = [f.get(function, {"share": 0.0})["share"] for f in found]
        if statistics.mean(shares) < LEAST:
            continue
        halves = []
        for i, one in enumerate(found):
            if function not in one or one[function].get("low") is None:
                continue
            truth = (sum(shares) - shares[i]) / (runs - 1)
            # The mean of the others has an error of its own.
            wider = (1 + 1 / (runs - 1)) ** 0.5
            share = one[function]["share"]
            held += (share - wider * (share - one[function]["low"]) <= truth
                     <= share + wider * (one[function]["high"] - share))
            halves.append((one[function]["high"] - one[function]["low"]) / 2)
            count += 1
        spread = 1.96 * statistics.stdev(shares)
        if halves and spread > 0:
            ratios.append(statistics.mean(halves) / spread)
    print("%-10s %3d of %3d hold (%5.1f %%), claimed width / width between recordings: %.2f"
          % (name, held, count, 100 * held / max(count, 1), statistics.median(ratios or [0])), flush=True)
    return held, count


def main():
    """All programs that are installed, or those that are named."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    held = count = 0
    with tempfile.TemporaryDirectory() as folder:
        make_inputs(folder)
        for name in sys.argv[2:] or PROGRAMS:
            if not shutil.which(name):
                print("%-10s is not installed" % name)
                continue
            try:
                one = measure(name, folder, runs)
            except RuntimeError as err:
                print("%-10s %s" % (name, err))
                continue
            held, count = held + one[0], count + one[1]
    print("all        %3d of %3d hold (%.1f %%)" % (held, count, 100 * held / max(count, 1)))


if __name__ == "__main__":
    main()
