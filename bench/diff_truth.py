#!/usr/bin/env python3
"""Is what `kelvin diff` calls proven true? Programs that are the same, and one with a known change.

    python3 bench/diff_truth.py          # all: half an hour, most of it recording
    python3 bench/diff_truth.py aa       # 200 pairs of 1 s recordings of one program, and 5 against 5
    python3 bench/diff_truth.py ab       # each of eight functions made 10 % slower in a 5 s program
    python3 bench/diff_truth.py real     # 300 times 5 against 5 of three real programs with themselves
    python3 bench/diff_truth.py apart    # five runs in a row of these programs against the next five
    python3 bench/diff_truth.py share    # a function of 5 to 95 % of a program made 10 % slower, 100 times
    python3 bench/diff_truth.py plain    # 8 % more, 10 against 10 runs, beside a plain permutation test with Benjamini-Hochberg
    python3 bench/diff_truth.py uneven   # real programs with themselves: 2 against 5, 3 against 4, 2 against 7 ... 4 against 4
    python3 bench/diff_truth.py pairs    # one run per side: seven real programs with copies of themselves, and known changes

Recordings are kept in build/bench/truth and made only where they are missing. RATE sets how many
samples are taken a second (999), SIDE how many runs a side has (5). "real" and "share" draw their runs at random, with a fixed seed, from a pool of
recordings made in turn: POOL a program (40), and SHARE_POOL (12) a side and share of SHARES. "record" makes these recordings and stops.

One run per side of one build with the same arguments proves nothing by rule, so "pairs" compares copies in two folders, which
kelvin cannot know to be the same: PAIR_POOL (20) runs of each, in turn, and PAIRS (200) comparisons a program. Then the eight functions
of diff_work made 25, 50, 100, 200 and 400 % slower, PAIR_CHANGED (4) runs of each against the runs of the same program unchanged.
"""
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
from collections import Counter

KELVIN = os.environ.get("KELVIN", "build/kelvin")
DATA = os.path.join(os.environ.get("BENCH_DATA", "build/bench"), "truth")
RATE = os.environ.get("RATE", "999")
PAIRS, SIDE, PARTS, PERCENT = int(os.environ.get("PAIRS", "200")), int(os.environ.get("SIDE", "5")), 8, 10
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


# --- real programs, and one function of a known share ---

POOL = int(os.environ.get("POOL", "40"))
SHARES = [int(s) for s in os.environ.get("SHARES", "5 10 20 35 50 65 80 90 95").split()]
SHARE_POOL, BAND = int(os.environ.get("SHARE_POOL", "12")), 0.02


def sample_text():
    """A few megabytes of text that are the same each time."""
    path = os.path.join(DATA, "text")
    if not os.path.exists(path):
        os.makedirs(DATA, exist_ok=True)
        words = random.Random(1)
        with open(path, "w") as out:
            for _ in range(150000):
                out.write("%d %s\n" % (words.randrange(10**6), "abcdefgh"[words.randrange(8):] * words.randrange(4)))
    return path


def real_programs():
    text = sample_text()
    query = ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 250000) "
             "select count(*), sum(length(hex(i * 7919))) from n group by i % 97;")
    return {"bzip2": ["bzip2", "-9", "-c", text], "sort": ["sort", "-n", text],
            "sqlite3": ["sqlite3", ":memory:", query]}


def record(path, command):
    if not os.path.exists(path):
        subprocess.run([KELVIN, "record", "-q", "-F", RATE, "-o", path, "--", *command], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def real_pool():
    """Recordings by program, made in turn."""
    pool = {name: [] for name in real_programs()}
    for i in range(POOL):
        for name, command in real_programs().items():
            pool[name].append(record(os.path.join(DATA, "real-%s-%03d.kelvin" % (name, i)), command))
    return pool


def share_program():
    path = os.path.join(DATA, "diff_share")
    if not os.path.exists(path):
        os.makedirs(DATA, exist_ok=True)
        subprocess.run(["gcc", "-O2", "-o", path, "bench/diff_share.c"], check=True)
    return path


def share_pool():
    pool = {share: ([], []) for share in SHARES}
    for i in range(SHARE_POOL):
        for share in SHARES:
            for side, percent in enumerate(("0", "10")):
                path = os.path.join(DATA, "share-%d-%d-%02d.kelvin" % (share, side, i))
                pool[share][side].append(record(path, [share_program(), "700", str(share), percent]))
    return pool


def anything(result):
    """Names of what is called, and the verdict where it is one."""
    names = [f["name"] for f in result["functions"] if f["self"]["proven"] or f["total"]["proven"]]
    return names + [v for v in [result["verdict"]] if v in ("improved", "regressed")]


def real_with_itself():
    draw, every, n, pairs, pairs_wrong = random.Random(2), Counter(), 0, 0, 0
    for name, runs in real_pool().items():
        wrong, verdicts = 0, Counter()
        for _ in range(100):
            chosen = draw.sample(runs, 2 * SIDE)
            result = diff(chosen[:SIDE], chosen[SIDE:])
            verdicts[result["verdict"]] += 1
            if anything(result):
                wrong += 1
                print("  %s: %s" % (name, ", ".join(anything(result))))
        n += wrong
        every += verdicts
        print("  %-8s something called in %d of 100; %s" % (name, wrong, dict(verdicts)), flush=True)
        neighbours = [diff([x], [y]) for x, y in zip(runs, runs[1:])]
        pairs += len(neighbours)
        pairs_wrong += sum(bool(anything(r)) for r in neighbours)
    print("one run per side: something called in %d of %d" % (pairs_wrong, pairs))
    print("real programs with themselves: something called in %d of 300; %s" % (n, dict(every)))


def real_apart():
    """Five runs in a row against the five that follow: what people do."""
    wrong, n, verdicts = 0, 0, Counter()
    for name, runs in real_pool().items():
        for i in range(len(runs) - 2 * SIDE + 1):
            result = diff(runs[i:i + SIDE], runs[i + SIDE:i + 2 * SIDE])
            n += 1
            wrong += bool(anything(result))
            verdicts[result["verdict"]] += 1
    print("real programs with themselves, not in turn: something called in %d of %d; %s" % (wrong, n, dict(verdicts)))


def allows(value):
    """Whether an interval this wide around a change of 10 % would be beyond the band: such a change is proven about
    half of the time where that is just so."""
    low = value["cost_low"] / value["cost"] if value["cost_low"] else 0
    return 1.1 * low > 1 + BAND


def detects(value):
    """Whether kelvin itself says that it would prove a change of 10 % in nine of ten comparisons like this one."""
    return value.get("detectable") is not None and value["detectable"] <= 0.1


T_95, T_99 = 2.306, 3.355  # Student's, of 5 against 5 runs


def chance(value):
    """How often the lower end of an interval this wide is beyond the band, where 10 % is true: what could be had at best if
    the interval alone decided, at 5 %, and at 1 %, for this function without any others."""
    if not value["cost_low"]:
        return 0.0, 0.0
    half = math.log(value["cost"] / value["cost_low"])
    room = math.log(1.1) - math.log(1 + BAND)
    normal = statistics.NormalDist()
    return [normal.cdf((room - half * t / T_95) / (half / T_95)) for t in (T_95, T_99)]


def share_made_slower():
    best = [0.0, 0.0]
    draw, sums, draws = random.Random(3), Counter(), int(os.environ.get("DRAWS", 100 // len(SHARES) + 1))
    for share, (before, after) in share_pool().items():
        here = Counter()
        for _ in range(draws):
            result = diff(draw.sample(before, SIDE), draw.sample(after, SIDE))
            value = next(f["self"] for f in result["functions"] if f["name"] == "target")
            hit = value["proven"] and value["cost"] > 1
            here.update(n=1, named=hit, allowed=allows(value), allowed_named=allows(value) and hit,
                        detectable=detects(value), detectable_named=detects(value) and hit)
            if allows(value):
                best = [sum(pair) for pair in zip(best, chance(value))]
            wrong = [f["name"] for f in result["functions"] if f["self"]["proven"] and f["name"] != "target"]
            here["others"] += bool(wrong) or result["verdict"] == "improved"
            if wrong:
                print("    " + ", ".join(wrong))
        sums += here
        print("  share %2d %%: named in %d of %d; %d of %d that kelvin calls detectable; %d of %d that the interval allows"
              % (share, here["named"], here["n"], here["detectable_named"], here["detectable"], here["allowed_named"],
                 here["allowed"]), flush=True)
    print("one function 10 %% slower: named as grown in %d of %d, in %d of the %d where kelvin calls 10 %% detectable, in "
          "%d of the %d that the interval allows; another one called in %d"
          % (sums["named"], sums["n"], sums["detectable_named"], sums["detectable"], sums["allowed_named"],
             sums["allowed"], sums["others"]))
    print("where the interval allows it, its lower end alone would be beyond the band in %.1f at 5 %%, %.1f at 1 %%" % tuple(best))


# --- beside a plain test ---

PLAIN_SIDE, PLAIN_POOL, PLAIN_DRAWS, PLAIN_DEALS = 10, 14, 20, 20000


def seconds_by_function(path):
    """What `kelvin report` says of one recording: self seconds of each function."""
    command = [KELVIN, "report", "--top", "10000", "--format", "json", path]
    result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return {row["name"]: row["self_time_ns"] / 1e9 for row in result["by_self"]}


def plain_p(values, side):
    """Two-sided, of the difference of means, over random deals."""
    deal = random.Random(5)
    total, n = sum(values), len(values)

    def apart(of_first):
        return abs(of_first / side - (total - of_first) / (n - side))
    seen = apart(sum(values[:side])) * (1 - 1e-9)
    return (1 + sum(apart(sum(deal.sample(values, side))) >= seen for _ in range(PLAIN_DEALS))) / (1 + PLAIN_DEALS)


def plain_test(runs, side):
    """p of each function of 0.5 % and more, adjusted by Benjamini-Hochberg."""
    every = {name for run in runs for name in run}
    whole = sum(sum(run.values()) for run in runs)
    large = [n for n in every if sum(run.get(n, 0) for run in runs) >= 0.005 * whole]
    p = {n: plain_p([run.get(n, 0) for run in runs], side) for n in large}
    least, adjusted = 1, {}
    for rank, name in reversed(list(enumerate(sorted(p, key=p.get), 1))):
        least = adjusted[name] = min(least, p[name] * len(p) / rank)
    return adjusted


def plain_pool(share):
    pool = ([], [])
    for i in range(PLAIN_POOL):
        for side, percent in enumerate(("0", "8")):
            path = os.path.join(DATA, "plain-%s-%d-%d-%02d.kelvin" % (RATE, share, side, i))
            pool[side].append(record(path, [share_program(), "700", str(share), percent]))
    return pool


def beside_plain_test():
    for share in [int(s) for s in os.environ.get("SHARES", "20 35 50").split()]:
        pool, draw, here, both = plain_pool(share), random.Random(6), Counter(), []
        seconds = {path: seconds_by_function(path) for side in pool for path in side}
        for _ in range(PLAIN_DRAWS):
            before, after = (draw.sample(side, PLAIN_SIDE) for side in pool)
            values = {f["name"]: f["self"] for f in diff(before, after)["functions"]}
            plain = plain_test([seconds[path] for path in before + after], PLAIN_SIDE)
            mine, theirs = values["target"]["p_adjusted"], plain["target"]
            both.append((mine, theirs))
            here.update(named=values["target"]["proven"], not_above=mine <= theirs * 1.0001, plain_05=theirs <= 0.05,
                        plain_01=theirs <= 0.01, mine_05=mine <= 0.05, mine_01=mine <= 0.01,
                        others=any(v["proven"] for n, v in values.items() if n != "target"),
                        plain_others=any(p <= 0.01 for n, p in plain.items() if n != "target"))
        print("  share %d %%, %s Hz: named in %d of %d (another one in %d); p <= 0.01: kelvin %d, plain %d (another one in %d); "
              "p <= 0.05: %d, %d; kelvin's p is not above in %d; medians %.2g, %.2g"
              % (share, RATE, here["named"], PLAIN_DRAWS, here["others"], here["mine_01"], here["plain_01"], here["plain_others"],
                 here["mine_05"], here["plain_05"], here["not_above"], *(statistics.median(p) for p in zip(*both))), flush=True)


def uneven_sides():
    draw = random.Random(7)
    for sizes in ((2, 5), (2, 7), (3, 4), (3, 5), (4, 4)):
        wrong, n = Counter(), 0
        for name, runs in real_pool().items():
            for i in range(100):
                chosen = draw.sample(runs, sum(sizes))
                before, after = chosen[:sizes[i % 2]], chosen[sizes[i % 2]:]
                n, found = n + 1, anything(diff(before, after))
                wrong[name] += bool(found)
                if found:
                    print("    %s: %s" % (name, ", ".join(found)))
        print("  %d against %d: something called in %d of %d" % (*sizes, sum(wrong.values()), n), flush=True)


# --- one run per side ---

PAIR_POOL, PAIR_CHANGED = int(os.environ.get("PAIR_POOL", "20")), int(os.environ.get("PAIR_CHANGED", "4"))
GROWTHS = (25, 50, 100, 200, 400)
GARBAGE = ("let kept = []; for (let i = 0; i < 600000; i++) { kept[i % 20000] = {i, text: 'n' + i, list: [i, i + 1]}; }"
           " console.log(kept.length)")


def pair_programs():
    """Real programs of one and of several threads."""
    text = sample_text()
    counts = "{ n[$1 % 1000] += length($2) } END { for (k in n) s += n[k]; print s }"
    pearls = "for (1 .. 900000) { $h{$_ % 999} .= 'x' if $_ % 7 } print scalar keys %h"
    return {**real_programs(), "gawk": ["gawk", counts, text, text, text], "perl": ["perl", "-e", pearls],
            "xz": ["xz", "-T2", "-2", "--block-size=500KiB", "-c", text], "node": ["node", "-e", GARBAGE]}


def copied(command, side):
    """The command with its program copied to a folder of this side."""
    path = os.path.join(DATA, side, command[0])
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.realpath(shutil.which(command[0])), path)
    return [os.path.abspath(path), *command[1:]]


def pair_pool():
    """By program: recordings of its two copies, made in turn; the change is 0."""
    pool = {name: ([], []) for name in pair_programs()}
    for i in range(PAIR_POOL):
        for name, command in pair_programs().items():
            for side, where in enumerate(("before", "after")):
                path = os.path.join(DATA, "pair-%s-%d-%02d.kelvin" % (name, side, i))
                pool[name][side].append(record(path, copied(command, where)))
    return pool


def changed_pool():
    """Recordings of diff_work: unchanged, unchanged with other arguments, and by (function, percent)."""
    pool = {}
    for i in range(PAIR_CHANGED):
        for part in range(PARTS):
            more = [(part, percent) for percent in GROWTHS]
            for key, args in [("plain", []), ("other", ["0", "0"])] + [(k, [str(k[0]), str(k[1])]) for k in more]:
                label = key if isinstance(key, str) else "%d-%d" % key
                path = os.path.join(DATA, "pair-work-%s-%d-%d.kelvin" % (label, part, i))
                pool.setdefault(key, []).append(record(path, [program(), "170", *args]))
    return pool


def contradicts(result):
    """A verdict that says the opposite of the CPU time."""
    cpu = result["cpu_seconds"]
    if result["verdict"] not in ("improved", "regressed") or not cpu["cost"]:
        return False
    return (cpu["cost"] > 1) != (result["verdict"] == "regressed")


def tell_pairs(title, results):
    wrong = [anything(r) for r in results if anything(r)]
    verdicts = Counter(r["verdict"] for r in results)
    against = sum(contradicts(r) for r in results)
    print("  %-8s something called in %d of %d; %s%s"
          % (title, len(wrong), len(results), dict(verdicts), "; %d contradict the CPU time" % against if against else ""))
    for names in wrong[:5]:
        print("    " + ", ".join(names[:6]), flush=True)
    return Counter(n=len(results), called=len(wrong), judged=sum(verdicts[v] for v in ("improved", "regressed")),
                   against=against)


def pairs_of(before, after, n, draw):
    every = [(x, y) for x in before for y in after]
    return [diff([x], [y]) for x, y in draw.sample(every, min(n, len(every)))]


def one_a_side():
    draw, sums = random.Random(4), Counter()
    for name, (before, after) in pair_pool().items():
        sums += tell_pairs(name, pairs_of(before, after, PAIRS, draw))
    work = changed_pool()
    sums += tell_pairs("made", pairs_of(work["plain"], work["other"], PAIRS, draw))
    print("one run per side, nothing changed: something called in %d of %d (%.2f %%), a verdict in %d, %d contradict the CPU time"
          % (sums["called"], sums["n"], 100 * sums["called"] / sums["n"], sums["judged"], sums["against"]))
    for percent in GROWTHS:
        here = Counter()
        for part in range(PARTS):
            results = pairs_of(work["plain"], work[part, percent], PAIRS // PARTS, draw)
            target = [next((f["self"] for f in r["functions"] if f["name"] == NAMES[part]), None) for r in results]
            named = sum(bool(v and v["proven"] and v["cost"] > 1) for v in target)
            others = [set(called(r, "self")) - {NAMES[part]} for r in results]
            here.update(n=len(results), named=named, others=sum(bool(o) for o in others),
                        against=sum(contradicts(r) for r in results), **Counter(r["verdict"] for r in results))
            share = statistics.mean(v["before"] for v in target if v)
            print("    +%d %% of %-18s (%.0f %%): named in %d of %d%s" % (percent, NAMES[part], 100 * share, named, len(results),
                  "; others: %s" % dict(Counter(n for o in others for n in o)) if any(others) else ""))
        print("  +%d %%: named as grown in %d of %d, another one in %d; %d contradict the CPU time; verdicts: %s"
              % (percent, here["named"], here["n"], here["others"], here["against"],
                 ", ".join("%s %d" % (v, here[v]) for v in ("improved", "regressed", "unchanged", "inconclusive"))), flush=True)


def record_all():
    real_pool()
    share_pool()


def main():
    steps = {"aa": same_with_same, "ab": one_made_slower, "real": real_with_itself, "apart": real_apart,
             "share": share_made_slower, "plain": beside_plain_test, "uneven": uneven_sides, "pairs": one_a_side}
    for name in sys.argv[1:] or steps:
        {**steps, "record": record_all, "record-pairs": lambda: (pair_pool(), changed_pool())}[name]()


main()
