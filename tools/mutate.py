#!/usr/bin/env python3
"""Break the code in small ways, one at a time, and see whether a test notices.

Usage: tools/mutate.py [-n N] [--seed S] [--jobs J] [--unit-only] [--files GLOB] [--list]

Mutants flip a comparison, swap && and ||, add one to a whole number, or drop a statement, in the
rooms analysis, stats, bench, unwind and model. Which ones is decided by the seed alone. Each is
compiled to an object of its own in a scratch folder, linked with the unit tests that use that file
and, if these pass, with kelvin itself for the golden files and the command-line tests of its room.
The first test that fails kills it. A mutant that gives the same machine code is no mutant; one
that does not compile is not counted either.

Needs what `make all unit targets` builds; `make mutants` does that first.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOMS = ["analysis", "stats", "bench", "unwind", "model"]
# Command-line tests that lead through a room.
CLI = {
    "analysis": ["quality", "report", "check", "diff", "flame", "annotate", "kelvin"],
    "stats": ["bench", "baseline", "history", "report", "diff"],
    "bench": ["bench", "baseline"],
    "unwind": ["kelvin"],
    "model": ["kelvin", "house", "report", "pprof", "baseline"],
}

Mutant = collections.namedtuple("Mutant", "kind file line start end old new")

# --- finding ---


def mask(text):
    """TEXT with comments, strings and preprocessor lines blanked, at the same places."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*'

    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])

    return re.sub(pattern, blank, text, flags=re.S | re.M)


COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
OPERATOR = re.compile(r"->|<<=?|>>=?|<=|>=|==|!=|&&|\|\||[<>]")
NUMBER = re.compile(r"(?<![\w.])(?:0|[1-9]\d*)(?![\w.])")
# A line that is one whole statement; what declares, jumps or returns is not dropped, nor what only
# gives something back: a leak shows in the instrumented build, which is not run here.
STATEMENT = re.compile(r"^[ \t]+((?:\+\+|--|\*|\()?[A-Za-z_][^;{}]*;)[ \t]*$", re.M)
NO_STATEMENT = re.compile(
    r"(?:return|break|continue|goto|case|default|if|else|for|while|do|switch|typedef|static|const|"
    r"struct|enum|union|extern|autofree|autobuf|autoclose|autofclose|VEC|va_list)\b|"
    r"(?:free|close|fclose|munmap|va_end|(?:\w+_)?(?:done|free|close|end))\(|"
    r"[A-Za-z_]\w*(?:\s+\**|\s*\*+\s+|\s+\*+)[A-Za-z_]\w*\s*[=;,\[(]")


def find(path):
    text = path.read_text()
    code = mask(text)
    file = str(path)

    def mutant(kind, start, end, new):
        return Mutant(kind, file, text.count("\n", 0, start) + 1, start, end, text[start:end], new)

    for m in OPERATOR.finditer(code):
        if m[0] in COMPARE:
            yield mutant("comparison", m.start(), m.end(), COMPARE[m[0]])
        elif m[0] in LOGIC:
            yield mutant("logic", m.start(), m.end(), LOGIC[m[0]])
    for m in NUMBER.finditer(code):
        if len(m[0]) < 10:
            yield mutant("constant", m.start(), m.end(), str(int(m[0]) + 1))
    for m in STATEMENT.finditer(code):
        words = m[1]
        before = code[: m.start()].rstrip()
        whole = before[-1:] in "{};:)" or before.endswith("else")
        if whole and words.count("(") == words.count(")") and not NO_STATEMENT.match(words):
            yield mutant("statement", m.start(1), m.end(1), ";")


def choose(files, seed):
    """All mutants in random order, the kinds in turns: else constants would be most of them."""
    rng = random.Random(seed)
    kinds = collections.defaultdict(list)
    for path in files:
        for m in find(path):
            kinds[m.kind].append(m)
    for name in sorted(kinds):
        rng.shuffle(kinds[name])
    queue = []
    while any(kinds.values()):
        queue.extend(kinds[name].pop() for name in sorted(kinds) if kinds[name])
    return queue


# --- building ---


class Bench:
    """What was built once and serves all mutants."""

    def __init__(self, args, scratch):
        self.args, self.scratch = args, scratch
        self.build = pathlib.Path(os.environ.get("B", "build"))
        self.libs = shlex.split(os.environ["LIBS"])
        self.test_libs = shlex.split(os.environ["TEST_LIBS"])
        flags = shlex.split((self.build / ".flags").read_text())
        self.cc = [f for f in flags if f != "-g"] + ["-w"]
        self.lib = self.build / "libkelvin.a"
        self.front = sorted(map(str, [*(self.build / "src/cmd").glob("*.o"), self.build / "src/main.o"]))
        self.tests = {}  # name: (object, names of archive members, seconds)

    def compile(self, source, target):
        done = subprocess.run([*self.cc, "-c", "-o", str(target), str(source)],
                              capture_output=True, text=True)
        return done.returncode == 0

    def prepare_test(self, source):
        """Compile a test once, and note which files of the library it uses and how long it takes."""
        name = pathlib.Path(source).stem
        target = self.scratch / (name + ".o")
        program, linkmap = self.scratch / name, self.scratch / (name + ".map")
        if not self.compile(source, target):
            sys.exit(f"mutate: {source} does not compile")
        self.link(program, [target], self.test_libs, [f"-Wl,-Map,{linkmap}"])
        members = set(re.findall(r"libkelvin\.a\((\S+?)\.o\)", linkmap.read_text()))
        linkmap.unlink()
        start = time.monotonic()
        if self.run([str(program)], 300) != 0:
            sys.exit(f"mutate: {name} fails without a mutant")
        program.unlink()
        self.tests[name] = (target, members, time.monotonic() - start)

    def link(self, program, objects, libs, more=()):
        subprocess.run([*self.cc, *more, "-o", str(program), *map(str, objects), str(self.lib), *libs,
                        *self.libs], check=True, capture_output=True)

    @staticmethod
    def run(command, limit_s, env=None):
        """The exit code; a test that does not end in time has noticed too."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})},
                                   start_new_session=True)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return "time"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def same_code(a, b):
    """Whether two objects are the same but for debug information."""
    images = []
    for path in (a, b):
        image = pathlib.Path(str(path) + ".code")
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.comment", str(path), str(image)],
                       check=True)
        images.append(image.read_bytes())
        image.unlink()
    return images[0] == images[1]


# --- judging ---


def judge_unit(bench, folder, mutated, stem):
    users = [n for n, (_, members, _) in bench.tests.items() if stem in members]
    # The file's own test first, then the quick ones.
    users.sort(key=lambda n: (n != "test_" + stem, bench.tests[n][2]))
    for name in users:
        test, _, took_s = bench.tests[name]
        program = folder / name
        bench.link(program, [test, mutated], bench.test_libs)
        code = bench.run([str(program)], 20 + 10 * took_s)
        program.unlink()
        if code != 0:
            return name + (" (time)" if code == "time" else "")
    return None


def judge_program(bench, folder, mutated, room):
    kelvin = folder / "kelvin"
    bench.link(kelvin, [*bench.front, mutated], [])
    for name in ("libkelvin-agent.so", "libkelvin_bench.a", "tests"):
        (folder / name).symlink_to((bench.build / name).resolve())
    env = {"KELVIN": str(kelvin)}
    if bench.run(["sh", "-c", "! tools/golden.sh | grep -q '^not ok'"], 300, env) != 0:
        return "golden"
    for name in CLI[room]:
        if bench.run(["bats", f"tests/cli/{name}.bats"], 900, env) != 0:
            return name + ".bats"
    return None


def judge(bench, number, m):
    """("killed", by whom), or ("survived", ""), "equal" or "stillborn"."""
    source = pathlib.Path(m.file)
    text = source.read_text()
    folder = bench.scratch / f"mutant-{number}"
    folder.mkdir()
    try:
        broken, mutated, whole = folder / source.name, folder / "mutated.o", folder / "whole.o"
        broken.write_text(text[: m.start] + m.new + text[m.end:])
        if not bench.compile(broken, mutated):
            return "stillborn", ""
        bench.compile(source, whole)
        if same_code(mutated, whole):
            return "equal", ""
        by = judge_unit(bench, folder, mutated, source.stem)
        if not by and not bench.args.unit_only:
            by = judge_program(bench, folder, mutated, source.parts[1])
        return ("killed", by) if by else ("survived", "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(m, verdict, by):
    old = " ".join(m.old.split())
    new = "(dropped)" if m.kind == "statement" else m.new
    print(f"{verdict.upper() if verdict == 'survived' else verdict:9} {m.file}:{m.line}: {old} -> {new}"
          + (f"  by {by}" if by else ""), flush=True)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=200, help="mutants that compile and differ (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--unit-only", action="store_true", help="no golden files, no bats")
    parser.add_argument("--files", help="only files that match, such as 'src/bench/ver*.c'")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    return parser.parse_args()


def run_all(bench, queue, n):
    """Judge from the front of the queue until N count. The order decides, not who is done first."""
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(bench.args.jobs) as pool:
        at = 0
        while at < len(queue) and counts["killed"] + counts["survived"] < n:
            wave = queue[at: at + min(bench.args.jobs * 2, n - counts["killed"] - counts["survived"])]
            results = pool.map(lambda job: judge(bench, *job), enumerate(wave, at))
            for m, (verdict, by) in zip(wave, results):
                counts[verdict] += 1
                if verdict in ("killed", "survived"):
                    show(m, verdict, by)
            at += len(wave)
    return counts


def main():
    args = parse_args()
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    files = sorted(p for room in ROOMS for p in pathlib.Path("src", room).rglob("*.c"))
    if args.files:
        files = [p for p in files if p.match(args.files)]
    queue = choose(files, args.seed)
    if args.list:
        for m in queue[: args.n]:
            show(m, "mutant", "")
        return 0
    with tempfile.TemporaryDirectory(prefix="kelvin-mutants-") as scratch:
        bench = Bench(args, pathlib.Path(scratch))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(bench.prepare_test, sorted(glob.glob("tests/unit/test_*.c"))))
        counts = run_all(bench, queue, args.n)
    done = counts["killed"] + counts["survived"]
    print(f"{done} mutants: {counts['killed']} killed, {counts['survived']} survived; "
          f"not counted: {counts['equal']} with equal code, {counts['stillborn']} that do not compile")
    print(f"kill rate {100 * counts['killed'] / done if done else 0:.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
