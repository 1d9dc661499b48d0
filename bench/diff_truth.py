#!/usr/bin/env python3
"""Is what `kelvin diff` calls proven true? Programs that are the same, and one with a known change.

    python3 bench/diff_truth.py          # all: half an hour, most of it recording
    python3 bench/diff_truth.py aa       # 200 pairs of 1 s recordings of one program, and 5 against 5
    python3 bench/diff_truth.py ab       # each of eight functions made 10 % slower in a 5 s program

Recordings are kept in build/bench/truth and made only where they are missing. RATE sets how many
samples are taken a second (999).
"""
import json
import os
import subprocess
import sys
from collections import Counter

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.path.join(os.environ.get("BENCH_DATA", "build/bench"), "truth")
RATE = os.environ.get("RATE", "999")
PAIRS, SIDE, PARTS, PERCENT = 200, 5, 8, 10
NAMES = ["mix_bits", "multiply_matrices", "walk_list", "count_words", "update_table", "sift_numbers",
         "divide_numbers", "hash_text"]


def program():
    path = os.path.join(DATA, "diff_work")
    if not os.path.exists(path):
        os.makedirs(DATA, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-o", path, "bench/diff_work.c"], check=True)
    return path


def recording(name, *args):
    """A recording made once; its path."""
    path = os.path.join(DATA, name + ".kelvin")
    if not os.path.exists(path):
        subprocess.run([KELVIN, "record", "-q", "-F", RATE, "-o", path, "--", program(), *args], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def diff(before, after):
    command = [KELVIN, "diff", "--format", "json", "--before", *before, "--after", *after]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def tested(result, what):
    return [f[what] for f in result["functions"] if f[what]["p"] is not None]


class Tally:
    """What was called in many comparisons of the same with the same."""

    def __init__(self, title):
        self.title, self.n = title, 0
        self.tests, self.low, self.called = Counter(), Counter(), Counter()
        self.verdicts = Counter()

    def add(self, result):
        self.n += 1
        self.verdicts[result["verdict"]] += 1
        for what in ("self", "total"):
            values = tested(result, what)
            self.tests[what] += len(values)
            self.low[what] += sum(v["p"] <= 0.05 for v in values)
            self.called[what] += sum(v["proven"] for v in values)

    def print(self):
        print("\n%s: %d comparisons" % (self.title, self.n))
        for what in ("self", "total"):
            n = max(self.tests[what], 1)
            print("  %-5s %5d tests, p <= 0.05 in %.1f %%, called in %.2f %%"
                  % (what, self.tests[what], 100 * self.low[what] / n, 100 * self.called[what] / n))
        print("  verdicts: " + ", ".join("%s %d" % v for v in sorted(self.verdicts.items())),
              flush=True)


def same_with_same():
    runs = [recording("aa-%03d" % i, "170") for i in range(2 * PAIRS)]
    pairs = Tally("the same program, one run a side, 1 s each")
    for i in range(0, len(runs), 2):
        pairs.add(diff([runs[i]], [runs[i + 1]]))
    pairs.print()
    sides = Tally("the same program, %d runs a side, 1 s each" % SIDE)
    for i in range(0, len(runs), 2 * SIDE):
        deal = runs[i:i + 2 * SIDE]
        sides.add(diff(deal[::2], deal[1::2]))
    sides.print()


def called(result, what):
    return [f["name"] for f in result["functions"] if f[what]["proven"]]


def tell_change(title, results):
    """Results are (part, result); a part's callers hold it, so only self is expected to be alone."""
    found = sum(NAMES[part] in called(r, "self") for part, r in results)
    others = sum(len(set(called(r, "self")) - {NAMES[part]}) for part, r in results)
    others_tested = sum(len(tested(r, "self")) - 1 for _, r in results)
    verdicts = Counter(r["verdict"] for _, r in results)
    print("\n%s: found in %d of %d, other functions called %d times in %d tests"
          % (title, found, len(results), others, others_tested))
    print("  verdicts: " + ", ".join("%s %d" % v for v in sorted(verdicts.items())), flush=True)


def one_made_slower():
    sides, pairs = [], []
    for part in range(PARTS):
        before, after = [], []
        for i in range(SIDE):
            before.append(recording("ab-%d-before-%d" % (part, i), "850"))
            after.append(recording("ab-%d-after-%d" % (part, i), "850", str(part), str(PERCENT)))
        sides.append((part, diff(before, after)))
        pairs += [(part, diff([b], [a])) for b, a in zip(before, after)]
        print("  %-18s %s" % (NAMES[part], ", ".join(called(sides[-1][1], "self")) or "nothing"))
    tell_change("a function made %d %% slower, %d runs of 5 s a side, %s Hz" % (PERCENT, SIDE, RATE), sides)
    tell_change("the same, one run a side", pairs)


def main():
    steps = {"aa": same_with_same, "ab": one_made_slower}
    for name in sys.argv[1:] or steps:
        steps[name]()


main()
