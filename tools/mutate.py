#!/usr/bin/env python3
"""Break the code in small ways, one at a time, and see whether a test notices.

Usage: tools/mutate.py [-n N] [--seed S] [--jobs J] [--unit-only] [--no-bats] [--no-sanitized] [--files GLOB] [--again] [--log FILE] [--list]

Mutants flip a comparison, swap && and ||, add one to a whole number, or drop a statement, in the
rooms analysis, stats, bench, unwind and model. Which ones is decided by the seed alone. Each is
compiled to an object of its own in a scratch folder, linked with the unit tests that use that file
and, if these pass, with kelvin itself for the golden files and the command-line tests of its room.
The first test that fails kills it; a failing command-line test must fail again with the mutant and
pass without it, as a busy machine makes some fail too. A mutant that gives the same machine code is
no mutant; one that does not compile is not counted either.

The likely and quick tests come first: the file's own, the golden files, other unit tests. Survivors of
these are compiled once more with AddressSanitizer and UndefinedBehaviorSanitizer and meet the same tests,
as `make check` runs both builds: one element too many is read in silence without them. At last comes bats,
with the plain build. Every result goes to a log at once, and a second call continues from there: results hold for one
text of the mutated file.
With --again the survivors in the log are tried once more, for tests that were written since.

tests/mutants/equivalent lists mutants that change nothing that a caller or user could see, each with
its reason. They are printed and counted apart.

Needs what `make all unit targets` builds, in B and with SANITIZE=1 in B/sanitize; `make mutants` does that first.
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
# Command-line tests that lead through a file, those that are most likely to notice first. Fewer than
# there are, for time: a mutant that only others would notice counts as a survivor.
CLI = [
    (r"analysis/(calltree|treeshare|label|overlay)", ["flame"]),
    (r"analysis/(diff|difftest|runcost|runshares|canon)", ["diff"]),
    (r"analysis/(check|rules|scaling)", ["check"]),
    (r"analysis/(extract|heat|hits)", ["annotate"]),
    (r"analysis/(quality|sequence)", ["quality"]),
    (r"analysis/selection", ["select"]),
    (r"analysis/", ["report", "select"]),
    (r"stats/(changepoint|trend)", ["history"]),
    (r"stats/growth", ["check"]),
    (r"stats/", ["report", "baseline"]),
    (r"bench/(baseline|gates|verdict|outcome)", ["baseline"]),
    (r"bench/", ["bench"]),
    (r"unwind/", ["kelvin"]),
    (r"model/(comparison|series)", ["baseline"]),
    (r"model/", ["report", "pprof"]),
]
# Unit tests of other files that are asked, for time; like CLI.
MOST_OTHERS = 12
EQUIVALENT = "tests/mutants/equivalent"
# Who is asked, in this order; "quick" is the plain build's unit tests and golden files.
STAGES = ["quick", "sanitized", "bats"]
# As in tools/run-tests.sh: leaks are errors too.
SANITIZER_ENV = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1"}

# Groups of processes that are under way. A mutant may run for ever: none may outlive this program.
running = set()


def end_group(group):
    running.discard(group)
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def start(command, env, output):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL,
                               env={**os.environ, **env}, text=True, start_new_session=True)
    running.add(process.pid)
    return process


def stop(*_):
    for group in list(running):
        end_group(group)
    os._exit(130)


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
# Of two values that are known to differ < and <= say the same.
DIFFER = re.compile(r"if \(([^()&|]+) != ([^()&|]+)\)\s*return \1 [<>] \2 \?")
OPERATOR = re.compile(r"->|<<=?|>>=?|<=|>=|==|!=|&&|\|\||[<>]")
NUMBER = re.compile(r"(?<![\w.])(?:0|[1-9]\d*)(?![\w.])")
# A line that is one whole statement; what declares, jumps or returns is not dropped, nor what only
# gives something back: a leak shows in the instrumented build alone.
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

    differ = [range(m.end(1), m.end()) for m in DIFFER.finditer(code)]
    for m in OPERATOR.finditer(code):
        if m[0] in "<>" and any(m.start() in span for span in differ):
            continue
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
    """One build, made once, that serves all mutants."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        scratch.mkdir(exist_ok=True)
        self.libs = shlex.split(os.environ["LIBS"])
        self.test_libs = shlex.split(os.environ["TEST_LIBS"])
        flags = shlex.split((self.build / ".flags").read_text())
        self.cc = [f for f in flags if f != "-g"] + ["-w"]
        self.linker = ["-fuse-ld=mold"] if shutil.which("mold") else []
        self.lib = self.build / "libkelvin.a"
        self.lib_stamp = hashlib.sha256(self.lib.read_bytes()).digest()
        self.kept = self.build / "mutants" / "tests"  # for the next call
        self.kept.mkdir(parents=True, exist_ok=True)
        self.front = sorted(map(str, [*(self.build / "src/cmd").glob("*.o"), self.build / "src/main.o"]))
        self.tests = {}  # name: (object, names of archive members, seconds)
        self.whole = {}  # source: what it compiles to without a mutant
        self.passing = {}  # name: whether a test passes without a mutant, where that was asked
        self.lock = threading.Lock()
        self.locks = {}  # name: held while a test is compiled

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
        text = pathlib.Path(source).read_bytes()
        stamp = hashlib.sha256(self.lib_stamp + text).hexdigest()[:16]
        target, notes = self.kept / f"{name}-{stamp}.o", self.kept / f"{name}-{stamp}.json"
        if notes.exists():
            members, took_s = json.loads(notes.read_text())
            self.tests[name] = target, set(members), took_s
            self.passing[name] = True
            return
        program, linkmap = self.scratch / name, self.scratch / (name + ".map")
        if not self.compile(source, target):
            sys.exit(f"mutate: {source} does not compile")
        self.link(program, [target], self.test_libs, [f"-Wl,-Map,{linkmap}"])
        members = set(re.findall(r"libkelvin\.a\((\S+?)\.o\)", linkmap.read_text()))
        linkmap.unlink()
        before_s = time.monotonic()
        if self.run([str(program)], 300) != 0:
            sys.exit(f"mutate: {name} fails without a mutant in {self.build}")
        program.unlink()
        took_s = time.monotonic() - before_s
        self.tests[name] = target, members, took_s
        self.passing[name] = True
        notes.write_text(json.dumps([sorted(members), took_s]))

    def take_tests(self, other):
        """The tests of another build of the same sources; each is compiled when it is first asked."""
        for name, (target, members, took_s) in other.tests.items():
            self.tests[name] = self.kept / target.name, members, 5 * took_s

    def object_of(self, name):
        target = self.tests[name][0]
        with self.lock:
            lock = self.locks.setdefault(name, threading.Lock())
        with lock:
            if not target.exists():
                half = self.scratch / target.name
                if not self.compile(f"tests/unit/{name}.c", half):
                    raise RuntimeError(f"{name} does not compile in {self.build}")
                shutil.move(half, target)
        return target

    def passes(self, name):
        """Whether a test passes without a mutant: one that was not prepared is asked once."""
        with self.lock:
            if name not in self.passing:
                self.passing[name] = self.run([str(self.build / "tests/unit" / name)], 600) == 0
            return self.passing[name]

    def link(self, program, objects, libs, more=()):
        subprocess.run([*self.cc, *self.linker, *more, "-o", str(program), *map(str, objects), str(self.lib), *libs,
                        *self.libs], check=True, capture_output=True)

    @staticmethod
    def run(command, limit_s, env=None):
        """The exit code; a test that does not end in time has noticed too."""
        process = start(command, {**SANITIZER_ENV, **(env or {})}, subprocess.DEVNULL)
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return "time"
        finally:
            end_group(process.pid)
            process.wait()


def code_of(path):
    image = pathlib.Path(str(path) + ".code")
    subprocess.run(["objcopy", "--strip-debug", "--remove-section=.comment", str(path), str(image)],
                   check=True)
    return image.read_bytes()


# --- judging ---


def judge_unit(bench, folder, mutated, names):
    for name in names:
        took_s = bench.tests[name][2]
        program = folder / name
        bench.link(program, [bench.object_of(name), mutated], bench.test_libs)
        code = bench.run([str(program)], 60 + 10 * took_s)
        program.unlink()
        if code != 0 and bench.passes(name):
            return name + (" (time)" if code == "time" else "")
    return None


def users_of(bench, source):
    """The unit tests that link the file: those of its name, family or room first, then the quick ones."""
    users = [n for n, (_, members, _) in bench.tests.items() if source.stem in members]
    names = ["test_" + source.stem, "test_" + source.stem.split("_")[0], "test_" + source.parts[1]]
    own = [n for n in users if n.startswith(tuple(names))]
    own.sort(key=lambda n: (n != names[0], not n.startswith(names[1]), bench.tests[n][2]))
    others = sorted(set(users) - set(own), key=lambda n: bench.tests[n][2])
    return own, others[:MOST_OTHERS]


def first_failure(path, env, limit_s, only=None):
    """Run a bats file up to its first failing test: the test's name, or None."""
    command = ["bats", "--tap", *(["--filter", "^" + re.escape(only) + "$"] if only else []), str(path)]
    process = start(command, env, subprocess.PIPE)
    watch = threading.Timer(limit_s, end_group, [process.pid])
    watch.start()
    failed = ended = None
    for line in process.stdout:
        ended = re.match(r"(?:not )?ok \d+ (.*?)(?: # skip.*)?$", line)
        if line.startswith("not ok"):
            failed = ended[1]
            break
    watch.cancel()
    end_group(process.pid)
    process.stdout.close()
    process.wait()
    return failed


def judge_golden(bench, kelvin):
    passes = ["sh", "-c", "! tools/golden.sh | grep -q '^not ok'"]
    return "golden" if bench.run(passes, 120, {"KELVIN": str(kelvin)}) != 0 else None


def judge_program(bench, kelvin, source):
    broken, whole = {"KELVIN": str(kelvin)}, {"KELVIN": str((bench.build / "kelvin").resolve())}
    for name in next(names for pattern, names in CLI if re.match("src/" + pattern, source)):
        path = f"tests/cli/{name}.bats"
        failed = first_failure(path, broken, 1200)
        if failed and first_failure(path, broken, 600, failed) and not first_failure(path, whole, 600, failed):
            return f"{name}.bats: {failed}"
    return None


def link_program(bench, folder, mutated):
    kelvin = folder / "kelvin"
    bench.link(kelvin, [*bench.front, mutated], [])
    for name in ("libkelvin-agent.so", "libkelvin-heap.so", "libkelvin-locks.so", "libkelvin_bench.a", "tests"):
        (folder / name).symlink_to((bench.build / name).resolve())
    return kelvin


def judge_by_library(bench, folder, mutated, source, programs):
    """Ask the unit tests and golden files of one build; without PROGRAMS the former alone."""
    own, others = users_of(bench, source)
    return (judge_unit(bench, folder, mutated, own)
            or programs and judge_golden(bench, link_program(bench, folder, mutated))
            or judge_unit(bench, folder, mutated, others))


class Judge:
    """Both builds, and which stages are asked."""

    def __init__(self, args, scratch):
        build = pathlib.Path(os.environ.get("B", "build"))
        self.args, self.scratch = args, scratch
        self.plain = Bench(build, scratch / "plain")
        self.sanitized = None if args.no_sanitized else Bench(build / "sanitize", scratch / "sanitized")
        skipped = {"bats": args.no_bats or args.unit_only, "sanitized": args.no_sanitized}
        self.stages = [s for s in STAGES if not skipped.get(s)]

    def prepare(self, pool):
        list(pool.map(self.plain.prepare_test, sorted(glob.glob("tests/unit/test_*.c"))))
        if self.sanitized:
            self.sanitized.take_tests(self.plain)

    def ask(self, stage, folder, broken, mutated, source):
        """By whom a mutant is noticed in a stage, or None."""
        if stage == "quick":
            return judge_by_library(self.plain, folder, mutated, source, not self.args.unit_only)
        if stage == "bats":
            if not (folder / "kelvin").exists():
                link_program(self.plain, folder, mutated)
            return judge_program(self.plain, folder / "kelvin", str(source))
        inner = folder / "sanitized"
        inner.mkdir()
        if not self.sanitized.compile(broken, inner / "mutated.o"):
            return None
        by = judge_by_library(self.sanitized, inner, inner / "mutated.o", source, not self.args.unit_only)
        return by and by + ", sanitized"

    def judge(self, number, m, asked):
        """A verdict and a word on it: ("killed", by whom), ("survived", ""), ("left", by what stages), ("equal", ""), ("stillborn", "").
        Stages in ASKED have left it before."""
        source = pathlib.Path(m.file)
        text = source.read_text()
        folder = self.scratch / f"mutant-{number}"
        folder.mkdir()
        try:
            broken, mutated = folder / source.name, folder / "mutated.o"
            broken.write_text(text[: m.start] + m.new + text[m.end:])
            if not self.plain.compile(broken, mutated):
                return "stillborn", ""
            if self.plain.same_code(source, mutated):
                return "equal", ""
            for stage in self.stages:
                by = stage not in asked and self.ask(stage, folder, broken, mutated, source)
                if by:
                    return "killed", by
            done = [s for s in STAGES if s in asked or s in self.stages]
            return ("survived", "") if done == STAGES else ("left", " ".join(done))
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
                self.results[entry["key"]] = entry["verdict"], entry["by"]

    @staticmethod
    def key(m):
        text = hashlib.sha256(pathlib.Path(m.file).read_bytes()).hexdigest()[:16]
        return f"{m.file} {text} {m.start} {m.kind}"

    def add(self, m, verdict, by):
        entry = {"key": self.key(m), "verdict": verdict, "by": by}
        with self.lock, self.path.open("a") as out:
            self.results[entry["key"]] = verdict, by
            out.write(json.dumps(entry) + "\n")

    def find(self, m):
        return self.results.get(self.key(m), (None, ""))


# Mutants of a form that cannot matter, with the mutated part between « and ».
ALWAYS_EQUIVALENT = [
    (r"mem_(?:calloc|table|alloc|realloc)\([^;]*\+ «1»", "asks for more room than is needed"),
    (r"\bchar \w+\[«\d+»\]", "a text with more room than is needed"),
    (r"mem_calloc\(«1», ", "room for two where one is used"),
    (r"(?:vec|buf)_reserve\([^;]*«\d", "more room ahead of time"),
    (r"\? -«1» : (?:1|\S+ [<>] \S+);", "only the sign counts"),
    (r"return (\S+) «<» (\S+) \? -1 : \1 > \2;", "equal ones keep their order: the C library's sort is stable"),
    (r"fd = -«1»", "no descriptor either way"),
    (r"made\(INSN_(?:PLAIN|NOP|STOP|SYSCALL), «0»", "such an instruction has no register that is asked for"),
]


def marked_line(m):
    """The mutated line, with the mutated part between « and »."""
    text = pathlib.Path(m.file).read_text()
    return (text[text.rfind("\n", 0, m.start) + 1: m.start] + "«" + text[m.start: m.end] + "»"
            + text[m.end: text.find("\n", m.end)])


def reason_of(m, listed):
    """Why nobody could see the difference, or None."""
    for pattern, reason in ALWAYS_EQUIVALENT:
        if re.search(pattern, marked_line(m)):
            return reason
    for place in places_of(m):
        if (place, change_of(m)) in listed:
            return listed[place, change_of(m)]
    return None


def read_equivalent():
    """The list: FILE: LINE OF CODE | OLD -> NEW | REASON. One line or two, found by their text."""
    listed = {}
    path = pathlib.Path(EQUIVALENT)
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.strip() and not line.startswith("#"):
            place, change, reason = line.rsplit(" | ", 2)
            listed[place.strip(), change.strip()] = reason.strip()
    return listed


def change_of(m):
    return " ".join(m.old.split()) + " -> " + ("(dropped)" if m.kind == "statement" else m.new)


def places_of(m):
    """The mutated line, and with the one before it, where that text is there once in its file; and with a mark."""
    text = pathlib.Path(m.file).read_text()
    lines = [" ".join(line.split()) for line in text.splitlines()]
    two = " ".join(lines[m.line - 2: m.line])
    if lines.count(lines[m.line - 1]) == 1:
        yield f"{m.file}: {lines[m.line - 1]}"
        yield f"{m.file}: {' '.join(marked_line(m).split())}"
    if sum(" ".join(pair) == two for pair in zip(lines, lines[1:])) == 1:
        yield f"{m.file}: {two}"


def show(m, verdict, by):
    print(f"{verdict.upper() if verdict in ('survived', 'left') else verdict:10} {m.file}:{m.line}: {change_of(m)}"
          + (f"  by {by}" if by and verdict == "killed" else ""), flush=True)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=200, help="mutants that compile and differ (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--unit-only", action="store_true", help="no golden files, no bats")
    parser.add_argument("--no-bats", action="store_true", help="no bats; a later call without this goes on with it")
    parser.add_argument("--no-sanitized", action="store_true", help="the plain build only; a later call goes on likewise")
    parser.add_argument("--files", help="only files that match, such as 'src/bench/ver*.c'")
    parser.add_argument("--log", help="where results are kept (build/mutants/SEED.log)")
    parser.add_argument("--again", action="store_true", help="try the survivors in the log once more")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    return parser.parse_args()


def stages_asked(verdict, by):
    """Who has left a mutant already, by its entry in the log."""
    return set((by or "quick").split()) if verdict == "left" else set(STAGES) if verdict == "survived" else set()


def judge_all(judge, log, queue, n, listed):
    """The first N of the queue that count. The order decides, not who is done first."""
    chosen, at, counts = [], 0, collections.Counter()

    def one(job):
        number, m = job
        verdict, by = log.find(m)
        if verdict != "killed" and reason_of(m, listed):
            return "equivalent", ""
        asked = set() if judge.args.again else stages_asked(verdict, by)
        if verdict is None or (verdict in ("survived", "left") and not asked.issuperset(judge.stages)):
            verdict, by = judge.judge(number, m, asked)
            log.add(m, verdict, by)
        return verdict, by

    with concurrent.futures.ThreadPoolExecutor(judge.args.jobs) as pool:
        while at < len(queue) and len(chosen) < n:
            wave = queue[at: at + n - len(chosen)]
            for m, (verdict, by) in zip(wave, pool.map(one, enumerate(wave, at))):
                if verdict in ("killed", "survived", "left", "equivalent"):
                    chosen.append(m)
                    show(m, verdict, by)
                else:
                    counts[verdict] += 1
            at += len(wave)
    return chosen, counts


def sum_up(log, chosen, counts, listed):
    for m in chosen:
        verdict = log.find(m)[0]
        reason = reason_of(m, listed)
        if verdict != "killed" and reason:
            verdict = "equivalent"
            show(m, verdict, "")
            print(f"{'':10} {reason}")
        counts[verdict] += 1
    done = counts["killed"] + counts["survived"] + counts["left"]
    print(f"{len(chosen)} mutants: {counts['killed']} killed, {counts['survived']} survived, "
          f"{counts['left']} left by the tests that were asked, {counts['equivalent']} equivalent; not counted: {counts['equal']} with equal code, "
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
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    listed = read_equivalent()
    with tempfile.TemporaryDirectory(prefix="kelvin-mutants-") as scratch:
        judge = Judge(args, pathlib.Path(scratch))
        log = Log(args.log or judge.plain.build / "mutants" / f"{args.seed}.log")
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            judge.prepare(pool)
        chosen, counts = judge_all(judge, log, queue, args.n, listed)
    sum_up(log, chosen, counts, listed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
