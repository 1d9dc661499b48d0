#!/usr/bin/env python3
"""Break the code in small ways, one at a time, and see whether a test notices.

Usage: tools/mutate.py [-n N] [--seed S] [--jobs J] [--unit-only] [--files GLOB] [--log FILE] [--list]

Mutants flip a comparison, swap && and ||, add one to a whole number, or drop a statement, in the
rooms analysis, stats, bench, unwind and model. Which ones is decided by the seed alone. Each is
compiled to an object of its own in a scratch folder, linked with the unit tests that use that file
and, if these pass, with kelvin itself for the golden files and the command-line tests of its room.
The first test that fails kills it; a failing command-line test must fail again with the mutant and
pass without it, as a busy machine makes some fail too. A mutant that gives the same machine code is
no mutant; one that does not compile is not counted either.

All mutants meet the quick tests first, then those that are left the slow ones. Every result goes to
a log at once, and a second call continues from there: results hold for one text of the mutated file.
With --again the survivors in the log are tried once more, for tests that were written since.

tests/mutants/equivalent lists mutants that change nothing that a caller or user could see, each with
its reason. They are printed and counted apart.

Needs what `make all unit targets` builds; `make mutants` does that first.
"""
import argparse
import collections
import concurrent.futures
import glob
import hashlib
import json
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
import threading
import time

ROOMS = ["analysis", "stats", "bench", "unwind", "model"]
# Command-line tests that lead through a room, those that are most likely to notice first.
CLI = {
    "analysis": ["report", "diff", "check", "flame", "quality", "annotate", "select", "names", "equal", "simd", "house"],
    "stats": ["report", "diff", "history", "check", "baseline", "bench", "equal"],
    "bench": ["baseline", "bench", "benchlib", "history"],
    "unwind": ["kelvin", "symbol", "formats"],
    "model": ["report", "diff", "select", "pprof", "baseline", "formats", "house", "equal", "kelvin"],
}
EQUIVALENT = "tests/mutants/equivalent"

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
        self.linker = ["-fuse-ld=mold"] if shutil.which("mold") else []
        self.lib = self.build / "libkelvin.a"
        self.front = sorted(map(str, [*(self.build / "src/cmd").glob("*.o"), self.build / "src/main.o"]))
        self.tests = {}  # name: (object, names of archive members, seconds)
        self.whole = {}  # source: what it compiles to without a mutant
        self.lock = threading.Lock()

    def compile(self, source, target):
        done = subprocess.run([*self.cc, "-c", "-o", str(target), str(source)],
                              capture_output=True, text=True)
        return done.returncode == 0

    def same_code(self, source, mutated):
        """Whether a mutant's object is that of the source as it is, but for debug information."""
        with self.lock:
            if source not in self.whole:
                target = self.scratch / (source.stem + ".whole.o")
                self.compile(source, target)
                self.whole[source] = code_of(target)
        return self.whole[source] == code_of(mutated)

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
        subprocess.run([*self.cc, *self.linker, *more, "-o", str(program), *map(str, objects), str(self.lib), *libs,
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


def code_of(path):
    image = pathlib.Path(str(path) + ".code")
    subprocess.run(["objcopy", "--strip-debug", "--remove-section=.comment", str(path), str(image)],
                   check=True)
    return image.read_bytes()


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


def first_failure(path, env, limit_s, only=None):
    """Run a bats file up to its first failing test: the test's name, or None."""
    command = ["bats", "--tap", *(["--filter", "^" + re.escape(only) + "$"] if only else []), str(path)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={**os.environ, **env}, text=True,
                               start_new_session=True)

    def stop():
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    watch = threading.Timer(limit_s, stop)
    watch.start()
    failed = ended = None
    for line in process.stdout:
        ended = re.match(r"(?:not )?ok \d+ (.*?)(?: # skip.*)?$", line)
        if line.startswith("not ok"):
            failed = ended[1]
            break
    watch.cancel()
    stop()
    process.stdout.close()
    process.wait()
    return failed


def judge_program(bench, folder, mutated, room):
    kelvin = folder / "kelvin"
    bench.link(kelvin, [*bench.front, mutated], [])
    for name in ("libkelvin-agent.so", "libkelvin-heap.so", "libkelvin_bench.a", "tests"):
        (folder / name).symlink_to((bench.build / name).resolve())
    broken, whole = {"KELVIN": str(kelvin)}, {"KELVIN": str((bench.build / "kelvin").resolve())}
    if bench.run(["sh", "-c", "! tools/golden.sh | grep -q '^not ok'"], 600, broken) != 0:
        return "golden"
    for name in CLI[room]:
        path = f"tests/cli/{name}.bats"
        failed = first_failure(path, broken, 1200)
        if failed and first_failure(path, broken, 600, failed) and not first_failure(path, whole, 600, failed):
            return f"{name}.bats: {failed}"
    return None


def judge(bench, number, m, slow):
    """("killed", by whom), or ("survived", ""), "equal" or "stillborn". SLOW: the program's tests."""
    source = pathlib.Path(m.file)
    text = source.read_text()
    folder = bench.scratch / f"mutant-{number}"
    folder.mkdir()
    try:
        broken, mutated = folder / source.name, folder / "mutated.o"
        broken.write_text(text[: m.start] + m.new + text[m.end:])
        if not bench.compile(broken, mutated):
            return "stillborn", ""
        if not slow and bench.same_code(source, mutated):
            return "equal", ""
        if slow:
            by = judge_program(bench, folder, mutated, source.parts[1])
        else:
            by = judge_unit(bench, folder, mutated, source.stem)
        return ("killed", by) if by else ("survived", "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Log:
    """Results by mutant, kept in a file as they come."""

    def __init__(self, path):
        self.path, self.results, self.lock = pathlib.Path(path), {}, threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                entry = json.loads(line)
                self.results[entry["key"]] = entry["verdict"], entry["by"], entry["stage"]

    @staticmethod
    def key(m):
        text = hashlib.sha256(pathlib.Path(m.file).read_bytes()).hexdigest()[:16]
        return f"{m.file} {text} {m.start} {m.kind}"

    def add(self, m, verdict, by, stage):
        entry = {"key": self.key(m), "verdict": verdict, "by": by, "stage": stage}
        with self.lock, self.path.open("a") as out:
            self.results[entry["key"]] = verdict, by, stage
            out.write(json.dumps(entry) + "\n")

    def find(self, m):
        return self.results.get(self.key(m), (None, "", ""))


def read_equivalent():
    """The list: FILE: LINE OF CODE | OLD -> NEW | REASON. Lines of code are found by their text."""
    listed = {}
    path = pathlib.Path(EQUIVALENT)
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            place, change, reason = line.rsplit(" | ", 2)
            listed[place.strip(), change.strip()] = reason.strip()
    return listed


def change_of(m):
    return " ".join(m.old.split()) + " -> " + ("(dropped)" if m.kind == "statement" else m.new)


def place_of(m):
    text = pathlib.Path(m.file).read_text()
    line = text[text.rfind("\n", 0, m.start) + 1: text.find("\n", m.start)]
    return f"{m.file}: {' '.join(line.split())}"


def show(m, verdict, by):
    print(f"{verdict.upper() if verdict == 'survived' else verdict:10} {m.file}:{m.line}: {change_of(m)}"
          + (f"  by {by}" if by else ""), flush=True)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=200, help="mutants that compile and differ (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--unit-only", action="store_true", help="no golden files, no bats")
    parser.add_argument("--files", help="only files that match, such as 'src/bench/ver*.c'")
    parser.add_argument("--log", help="where results are kept (build/mutants/SEED.log)")
    parser.add_argument("--again", action="store_true", help="try the survivors in the log once more")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    return parser.parse_args()


def judge_quick(bench, log, queue, n):
    """The first N of the queue that count, each judged by the unit tests. The order decides, not who is done first."""
    chosen, at, counts = [], 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(bench.args.jobs) as pool:
        while at < len(queue) and len(chosen) < n:
            wave = queue[at: at + min(bench.args.jobs * 4, n - len(chosen))]

            def one(job):
                number, m = job
                verdict, by, stage = log.find(m)
                if verdict is None or (verdict == "survived" and bench.args.again):
                    verdict, by = judge(bench, number, m, False)
                    log.add(m, verdict, by, "unit")
                return verdict, by

            for m, (verdict, by) in zip(wave, pool.map(one, enumerate(wave, at))):
                if verdict in ("killed", "survived"):
                    chosen.append(m)
                    show(m, verdict if verdict == "killed" else "left", by)
                else:
                    counts[verdict] += 1
            at += len(wave)
    return chosen, counts


def judge_slow(bench, log, chosen, listed):
    """The program's tests, for the mutants that the unit tests let pass."""
    def one(job):
        number, m = job
        verdict, by, stage = log.find(m)
        if stage == "unit":
            verdict, by = judge(bench, f"slow-{number}", m, True)
            log.add(m, verdict, by, "program")
        show(m, verdict, by)

    left = [m for m in chosen if log.find(m)[0] == "survived" and (place_of(m), change_of(m)) not in listed]
    with concurrent.futures.ThreadPoolExecutor(bench.args.jobs) as pool:
        list(pool.map(one, enumerate(left)))


def sum_up(log, chosen, counts, listed):
    for m in chosen:
        verdict = log.find(m)[0]
        reason = listed.get((place_of(m), change_of(m)))
        if verdict == "survived" and reason:
            verdict = "equivalent"
            show(m, verdict, "")
            print(f"{'':10} {reason}")
        counts[verdict] += 1
    done = counts["killed"] + counts["survived"]
    print(f"{len(chosen)} mutants: {counts['killed']} killed, {counts['survived']} survived, "
          f"{counts['equivalent']} equivalent; not counted: {counts['equal']} with equal code, "
          f"{counts['stillborn']} that do not compile")
    print(f"kill rate {100 * counts['killed'] / done if done else 0:.1f} % "
          f"({100 * counts['killed'] / len(chosen) if chosen else 0:.1f} % with equivalent ones)")


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
    os.nice(10)
    listed = read_equivalent()
    with tempfile.TemporaryDirectory(prefix="kelvin-mutants-") as scratch:
        bench = Bench(args, pathlib.Path(scratch))
        log = Log(args.log or bench.build / "mutants" / f"{args.seed}.log")
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(bench.prepare_test, sorted(glob.glob("tests/unit/test_*.c"))))
        chosen, counts = judge_quick(bench, log, queue, args.n)
        if not args.unit_only:
            judge_slow(bench, log, chosen, listed)
    sum_up(log, chosen, counts, listed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
