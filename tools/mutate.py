#!/usr/bin/env python3
"""Break the code in small ways, one at a time, and see whether a test notices.

Usage: tools/mutate.py [-n N] [--seed S] [--jobs J] [--unit-only] [--no-bats] [--no-sanitized] [--files GLOB] [--again] [--log FILE]
                       [--list] [--never] [--faults]

Mutants flip a comparison, swap && and ||, add one to a whole number, or drop a statement, in the
rooms analysis, stats, bench, unwind and model. Which ones is decided by the seed alone. Each is
compiled to an object of its own in a scratch folder and linked once with all unit tests, which are one
program here, and, if those pass, with kelvin itself for the golden files and command-line tests.
The first test that fails kills it; it must fail again with the mutant and pass without it, as a busy machine
makes some fail too. A mutant that gives the same machine code is no mutant; one that does not
compile is not counted either. A test that takes ten times its CPU time and 20 s more has noticed; such mutants are counted apart as well.

Only tests that run the mutated line are asked (tools/reached.py finds out which do), but for those of the file's
own name, which always are. The likely and quick ones come first: the file's own, other quick unit tests, the golden files,
slow unit tests. Survivors of these are compiled once more with AddressSanitizer and UndefinedBehaviorSanitizer and meet the same
tests, as `make check` runs both builds: one element too many is read in silence without them. At last comes bats,
with the plain build, for at most MOST_BATS_S of tests. Every result goes to a log at once, and a second call continues from there:
results hold for one text of the mutated file.
With --again the survivors in the log are tried once more, for tests that were written since. --never prints the lines that no test runs.

tests/mutants/equivalent lists mutants that change nothing that a caller or user could see, each with
its reason. They are printed and counted apart.

tests/mutants/faults lists faults of any room that were thought of, each with the test that must notice it; --faults tries those, and
fails where one passes unnoticed.

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

import reached

ROOMS = ["analysis", "stats", "bench", "unwind", "model"]
# Command-line tests that are most likely to notice.
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
# How many seconds of command-line tests are asked about one mutant; a mutant that only others would notice counts as a survivor.
MOST_BATS_S = 40
# Command-line tests that are about other programs, or about the repository.
NOT_ASKED = ["benchlib", "flame-browser", "house", "run-tests"]
EQUIVALENT = "tests/mutants/equivalent"
FAULTS = "tests/mutants/faults"
# Who is asked, in this order; "quick" is the plain build's unit tests and golden files.
STAGES = ["quick", "sanitized", "bats"]
# As in tools/run-tests.sh: leaks are errors too.
SANITIZER_ENV = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1"}

# Groups of processes that are under way. A mutant may run for ever: none may outlive this program.
running = set()
# Folders to remove when it is told to stop.
scratches = []


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
    for folder in scratches:
        shutil.rmtree(folder, ignore_errors=True)
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
        self.lib = scratch / "libkelvin.a"
        subprocess.run(["objcopy", "--strip-debug", str(build / "libkelvin.a"), str(self.lib)], check=True)
        self.front = sorted(map(str, [*(self.build / "src/cmd").glob("*.o"), self.build / "src/main.o"]))
        self.whole = {}  # source: what it compiles to without a mutant
        self.passing = {}  # name: whether a test passes without a mutant, where that was asked
        self.lock = threading.Lock()

    def compile(self, source, target, *more):
        done = subprocess.run([*self.cc, *more, "-c", "-o", str(target), str(source)],
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

    def passes(self, tests, name):
        """Whether a test passes without a mutant."""
        with self.lock:
            if name not in self.passing:
                folder = self.scratch / "whole"
                if not folder.exists():
                    folder.mkdir()
                    self.link_tests(folder, tests, [])
                self.passing[name] = self.run_test(folder, tests, name) == 0
            return self.passing[name]

    def link(self, program, objects, libs, more=()):
        done = subprocess.run([*self.cc, *self.linker, *more, "-o", str(program), *map(str, objects), str(self.lib), *libs,
                               *self.libs], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program.name} does not link: " + done.stderr[-1000:])

    def link_tests(self, folder, tests, objects, more=()):
        """All unit tests as one program, which is the one by whose name it is called."""
        self.link(folder / "tests.all", [*tests.objects(), *objects], self.test_libs, more)
        for name in tests.names:
            (folder / name).symlink_to("tests.all")

    def link_program(self, folder, objects, more=()):
        kelvin = folder / "kelvin"
        self.link(kelvin, [*self.front, *objects], [], more)
        for path in [*self.build.glob("libkelvin-*.so"), self.build / "libkelvin_bench.a", self.build / "tests"]:
            if not (folder / path.name).exists():
                (folder / path.name).symlink_to(path.resolve())
        return kelvin

    def run_test(self, folder, tests, name, env=None):
        return self.run([str(folder / name)], 20 + 10 * tests.reached.seconds(name), env)

    @staticmethod
    def run(command, cpu_s, env=None):
        """The exit code; a test that takes far too long has noticed too. CPU time counts, as the machine may be busy."""
        limits = ["prlimit", f"--cpu={int(cpu_s) + 1}", "--"]
        process = start([*limits, *command], {**SANITIZER_ENV, **(env or {})}, subprocess.DEVNULL)
        try:
            code = process.wait(120 + 10 * cpu_s)
            return "time" if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
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


class Tests:
    """The tests, as objects that are compiled once, and which lines each runs."""

    def __init__(self, bench, files):
        self.bench, self.files = bench, [str(f) for f in files]
        self.kept = bench.build / "mutants" / "tests"  # for the next call
        self.kept.mkdir(parents=True, exist_ok=True)
        self.names = sorted({pathlib.Path(p).stem for p in glob.glob("tests/unit/test_*.c")} - {"test_benchlib"})  # of its own library
        headers = sorted(map(str, [*pathlib.Path("src").rglob("*.h"), *pathlib.Path("tests/unit").glob("*.h")]))
        self.headers = hashlib.sha256("".join(map(reached.text_hash, headers)).encode()).hexdigest()
        self.stamps = {}  # of the texts as they were at the start: somebody may go on writing
        self.reached = reached.Reached(bench.build / "mutants" / "reached.json")

    def stamp(self, path):
        if path not in self.stamps:
            self.stamps[path] = hashlib.sha256((self.headers + reached.text_hash(path)).encode()).hexdigest()[:16]
        return self.stamps[path]

    def object_of(self, name):
        return self.kept / f"{name}-{self.stamp(f'tests/unit/{name}.c')}.o"

    def objects(self):
        return [self.kept / "main.o", *map(self.object_of, self.names)]

    def compile(self, name):
        """A test's object, with main() named after it; no time is spent on optimising."""
        target = self.object_of(name)
        if not target.exists():
            half = self.bench.scratch / target.name
            if not self.bench.compile(f"tests/unit/{name}.c", half, "-O0"):
                sys.exit(f"mutate: {name} does not compile")
            subprocess.run(["objcopy", f"--redefine-sym=main=main_of_{name}", str(half)], check=True)
            for old in self.kept.glob(f"{name}-*"):
                old.unlink()
            shutil.move(half, target)

    def compile_all(self, pool):
        list(pool.map(self.compile, self.names))
        main = self.bench.scratch / "main.c"
        main.write_text("#include <string.h>\n" + "".join(f"int main_of_{n}(int, char **);\n" for n in self.names)
                        + "int main(int argc, char **argv)\n{\n"
                        + "\tconst char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];\n"
                        + "".join(f'\tif (!strcmp(name, "{n}"))\n\t\treturn main_of_{n}(argc, argv);\n' for n in self.names)
                        + "\treturn 127;\n}\n")
        self.bench.compile(main, self.kept / "main.o")

    # --- which lines they run ---

    def trace(self, pool, with_bats):
        """Find out what every test runs, where that is not known for its text."""
        unit = [n for n in self.names if not self.reached.is_known(n, self.stamp(f"tests/unit/{n}.c"))]
        bats = [p for p in cli_files() if not self.reached.is_known(p, reached.text_hash(p))] if with_bats else []
        golden = golden_stamp()
        if not unit and not bats and self.reached.is_known("golden", golden):
            return
        folder = self.bench.scratch / "reached"
        folder.mkdir()
        sources = sorted(str(p) for room in ROOMS for p in pathlib.Path("src", room).rglob("*.c"))
        objects = list(pool.map(lambda s: self.compile_traced(folder, s), sources))
        if unit:
            self.trace_unit(pool, folder, objects, sources, unit)
        self.trace_program(folder, objects, sources, golden, bats)

    def compile_traced(self, folder, source):
        target = folder / (source.replace("/", "-") + ".o")
        if source == "tools/reached.c":
            self.bench.compile(source, target)
        elif not self.bench.compile(source, target, "-O0", "-g", "-fsanitize-coverage=trace-pc"):
            sys.exit(f"mutate: {source} does not compile")
        return target

    def trace_unit(self, pool, folder, objects, sources, names):
        self.bench.link_tests(folder, self, [*objects, self.compile_traced(folder, "tools/reached.c")])
        blocks = reached.Blocks(folder / "tests.all", sources)
        self.reached.lines = {f: [self.reached.hash(f), sorted(lines)] for f, lines in blocks.all().items()}

        def one(name):
            took_s = cpu_of([str(folder / name)], {"KELVIN_REACHED": str(folder / (name + ".ran"))})
            return name, took_s

        for name, took_s in pool.map(one, names):
            ran = folder / (name + ".ran")
            self.reached.add(name, self.stamp(f"tests/unit/{name}.c"), took_s, blocks.read(ran))
            ran.unlink(missing_ok=True)
        self.reached.keep()

    def trace_program(self, folder, objects, sources, golden, bats):
        kelvin = self.bench.link_program(folder, [*objects, self.compile_traced(folder, "tools/reached.c")])
        blocks = reached.Blocks(kelvin, sources)
        ran = folder / "golden.ran"
        took_s = cpu_of(["tools/golden.sh"], {"KELVIN": str(kelvin), "KELVIN_REACHED": str(ran)})
        self.reached.add("golden", golden, took_s, blocks.read(ran))
        self.reached.keep()
        kelvin.rename(folder / "kelvin-traced")
        kelvin.write_text("#!/bin/sh\nKELVIN_REACHED=" + str(folder / "bats.") + "$BATS_TEST_NUMBER "
                          + "exec " + str(folder / "kelvin-traced") + ' "$@"\n')
        kelvin.chmod(0o755)
        for path in bats:
            self.trace_bats(folder, blocks, path, kelvin)

    def trace_bats(self, folder, blocks, path, kelvin):
        for old in [t for t in self.reached.tests if t.startswith(path)]:
            del self.reached.tests[old]
        command = ["bats", "--tap", "--timing", path]
        process = start(command, {"KELVIN": str(kelvin), "LC_ALL": "C.UTF-8"}, subprocess.PIPE)
        text = process.communicate()[0]
        end_group(process.pid)
        everything = collections.defaultdict(set)
        for number, name, ms in re.findall(r"^(?:not )?ok (\d+) (.*) in (\d+)ms", text, re.M):
            ran = folder / f"bats.{number}"
            files = blocks.read(ran)
            ran.unlink(missing_ok=True)
            self.reached.add(f"{path} {name}", "", int(ms) / 1000, files)
            for file, lines in files.items():
                everything[file] |= lines
        self.reached.add(path, reached.text_hash(path), 0, everything)
        self.reached.keep()

    # --- which are asked ---

    def units_for(self, m):
        """Unit tests of the file's name, family or room, and others that run the line; the quick ones first."""
        stem, room = pathlib.Path(m.file).stem, pathlib.Path(m.file).parts[1]
        place = self.place_of(m)
        names = ["test_" + stem, "test_" + stem.split("_")[0], "test_" + room]
        running = [n for n in self.names if self.reached.runs(n, m.file, place)]
        own = [n for n in self.names if n == names[0] or n.startswith(names[1]) and self.reached.runs(n, m.file, None)]
        asked = sorted({*own, *running}, key=lambda n: (not n.startswith(tuple(names)), self.reached.seconds(n)))
        first = [n for n in asked if n in own or self.reached.seconds(n) < 1]
        return first, [n for n in asked if n not in first]

    def place_of(self, m):
        line = pathlib.Path(m.file).read_text().splitlines()[m.line - 1].strip()
        return None if line.startswith(("case ", "default")) else self.reached.place(m.file, m.line)

    def bats_for(self, m):
        """{file: names} of command-line tests that run the line, for at most MOST_BATS_S of time: those of likely files first."""
        place = self.place_of(m)
        likely = next(names for pattern, names in CLI if re.match("src/" + pattern, m.file))
        rank = {f"tests/cli/{name}.bats": i for i, name in enumerate(likely)}
        found = [t.split(" ", 1) for t in self.reached.tests
                 if t.startswith("tests/cli/") and " " in t and self.reached.runs(t, m.file, place)]
        found.sort(key=lambda t: (rank.get(t[0], 99), self.reached.seconds(" ".join(t))))
        left_s, chosen = MOST_BATS_S, collections.defaultdict(list)
        for path, name in found:
            left_s -= self.reached.seconds(f"{path} {name}") + (0 if path in chosen else 0.5)
            if left_s < 0:
                break
            chosen[path].append(name)
        return chosen


def cli_files():
    return [p for p in sorted(glob.glob("tests/cli/*.bats")) if pathlib.Path(p).stem not in NOT_ASKED]


def golden_stamp():
    texts = [reached.text_hash(p) for p in sorted(glob.glob("tests/golden/**/*", recursive=True)) if os.path.isfile(p)]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def cpu_of(command, env):
    """Run it; seconds of CPU time."""
    process = start(command, env, subprocess.DEVNULL)
    usage = os.wait4(process.pid, 0)[2]
    end_group(process.pid)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


# --- judging ---


def judge_unit(bench, tests, folder, names):
    for name in names:
        code = bench.run_test(folder, tests, name)
        if code != 0 and bench.passes(tests, name) and (code == "time" or bench.run_test(folder, tests, name) != 0):
            return name + (" (time)" if code == "time" else "")
    return None


def first_failure(path, env, limit_s, only=None):
    """Run a bats file, or those of its tests that ONLY names, up to the first failing one: its name, or None."""
    chosen = "^(" + "|".join(map(re.escape, only)) + ")$" if only else ""
    command = ["bats", "--tap", *(["--filter", chosen] if only else []), str(path)]
    process = start(command, {**env, "LC_ALL": "C.UTF-8"}, subprocess.PIPE)
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


def golden_passes(bench, kelvin):
    return bench.run(["sh", "-c", "! tools/golden.sh | grep -q '^not ok'"], 120, {"KELVIN": str(kelvin)}) == 0


def judge_golden(bench, kelvin):
    with bench.lock:
        if "golden" not in bench.passing:
            bench.passing["golden"] = golden_passes(bench, (bench.build / "kelvin").resolve())
    return "golden" if bench.passing["golden"] and not golden_passes(bench, kelvin) else None


def judge_bats(bench, kelvin, chosen):
    broken, whole = {"KELVIN": str(kelvin)}, {"KELVIN": str((bench.build / "kelvin").resolve())}
    for path, names in chosen.items():
        failed = first_failure(path, broken, 1200, names)
        if failed and first_failure(path, broken, 600, [failed]) and not first_failure(path, whole, 600, [failed]):
            return f"{pathlib.Path(path).name}: {failed}"
    return None


class Judge:
    """Both builds, and which stages are asked."""

    def __init__(self, args, scratch, files):
        build = pathlib.Path(os.environ.get("B", "build"))
        self.args, self.scratch = args, scratch
        self.plain = Bench(build, scratch / "plain")
        self.tests = Tests(self.plain, files)
        self.sanitized = None if args.no_sanitized else Bench(build / "sanitize", scratch / "sanitized")
        skipped = {"bats": args.no_bats or args.unit_only, "sanitized": args.no_sanitized}
        self.stages = [s for s in STAGES if not skipped.get(s)]

    def ask(self, stage, folder, broken, m):
        """By whom a mutant is noticed in a stage, or None."""
        if stage == "quick":
            return self.ask_library(self.plain, folder, broken, m)
        if stage == "bats":
            chosen = self.tests.bats_for(m)
            if chosen and not (folder / "kelvin").exists():
                self.plain.link_program(folder, [folder / "mutated.o"])
            return judge_bats(self.plain, folder / "kelvin", chosen)
        inner = folder / "sanitized"
        inner.mkdir()
        by = self.ask_library(self.sanitized, inner, broken, m)
        return by and by + ", sanitized"

    def ask_library(self, bench, folder, broken, m):
        """Ask the unit tests and golden files of one build."""
        mutated = folder / "mutated.o"
        quick, slow = self.tests.units_for(m)
        golden = not self.args.unit_only and self.tests.reached.runs("golden", m.file, self.tests.place_of(m))
        if not (quick or slow or golden) or not mutated.exists() and not bench.compile(broken, mutated):
            return None
        if quick or slow:
            bench.link_tests(folder, self.tests, [mutated])
        return (judge_unit(bench, self.tests, folder, quick)
                or golden and judge_golden(bench, bench.link_program(folder, [mutated]))
                or judge_unit(bench, self.tests, folder, slow))

    def is_same(self, source, broken, folder):
        """Whether the mutant gives the machine code that the source gives, optimised."""
        return self.plain.compile(broken, folder / "optimised.o") and self.plain.same_code(source, folder / "optimised.o")

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
            if not self.plain.compile(broken, mutated, "-O0"):  # quick: most are noticed
                return "stillborn", ""
            for stage in self.stages:
                by = stage not in asked and self.ask(stage, folder, broken, m)
                if by:
                    return "killed", by
                if stage == "quick" and self.is_same(source, broken, folder):
                    return "equal", ""
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
    (r"([\w.>()-]+) «[<>]=?» ([\w.>()-]+) \? (?:\1 : \2|\2 : \1)[;,)]", "the larger or smaller of two: of equal ones either will do"),
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


# --- faults that were thought of ---


def place_fault(file, code):
    """Where a line, or two together, of a file's code begin and end."""
    text = pathlib.Path(file).read_text()
    pattern = r"\s+".join(map(re.escape, code.split()))
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        sys.exit(f"mutate: {FAULTS}: there {len(found)} times in {file}: {code}")
    return text, found[0].start(), found[0].end()


def read_faults():
    """The list: FILE: LINE OF CODE | OLD -> NEW | TEST | FAULT."""
    for line in pathlib.Path(FAULTS).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            place, change, test, fault = line.rsplit(" | ", 3)
            file, code = place.split(": ", 1)
            old, new = change.split(" -> ")
            text, start_at, end_at = place_fault(file, code)
            if text.count(old, start_at, end_at) != 1:
                sys.exit(f"mutate: {FAULTS}: not once in its line: {old}")
            at = text.index(old, start_at)
            yield Mutant("fault", file, text.count("\n", 0, at) + 1, at, at + len(old), old, new), test, fault


def notices(judge, folder, m, test):
    """Whether TEST passes without the fault and fails with it."""
    bench, tests, source = judge.plain, judge.tests, pathlib.Path(m.file)
    text = source.read_text()
    (folder / source.name).write_text(text[: m.start] + m.new + text[m.end:])
    if not bench.compile(folder / source.name, folder / "mutated.o", "-O0"):
        sys.exit(f"mutate: {m.file}:{m.line} does not compile with {m.new}")
    if test.startswith("test_"):
        bench.link_tests(folder, tests, [folder / "mutated.o"])
        return bench.passes(tests, test) and bench.run_test(folder, tests, test) != 0
    kelvin = bench.link_program(folder, [folder / "mutated.o"])
    if test == "golden":
        return judge_golden(bench, kelvin) is not None
    path, _, name = test.partition(": ")
    return judge_bats(bench, kelvin, {f"tests/cli/{path}": [name] if name else None}) is not None


def try_faults(judge, scratch):
    """The exit code."""
    silent = 0
    for number, (m, test, fault) in enumerate(read_faults()):
        folder = scratch / f"fault-{number}"
        folder.mkdir()
        noticed = notices(judge, folder, m, test)
        shutil.rmtree(folder)
        silent += not noticed
        print(f"{'noticed' if noticed else 'UNNOTICED':10} {fault}: {m.file}:{m.line}, {test}", flush=True)
    print(f"{number + 1} faults, {silent} unnoticed")
    return 1 if silent else 0


def show(m, verdict, by):
    print(f"{verdict.upper() if verdict in ('survived', 'left') else verdict:10} {m.file}:{m.line}: {change_of(m)}"
          + (f"  by {by}" if by and verdict == "killed" else ""), flush=True)


def show_never(known, files):
    for file, lines in sorted(known.never().items()):
        if pathlib.Path(file) in files:
            text = pathlib.Path(file).read_text().splitlines()
            for n in lines:
                print(f"{file}:{n}: {text[n - 1].strip()}")


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
    parser.add_argument("--never", action="store_true", help="print the lines that no test runs, break nothing")
    parser.add_argument("--faults", action="store_true", help=f"try the faults of {FAULTS} instead")
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
    timeouts = sum(log.find(m)[1].endswith(("(time)", "(time), sanitized")) for m in chosen)
    print(f"{len(chosen)} mutants: {counts['killed']} killed ({timeouts} of them by running for too long), {counts['survived']} survived, "
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
        for m in [m for m, _, _ in read_faults()] if args.faults else queue[: args.n]:
            show(m, "mutant", "")
        return 0
    os.nice(5)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    listed = read_equivalent()
    with tempfile.TemporaryDirectory(prefix="kelvin-mutants-") as scratch:
        scratches.append(scratch)
        judge = Judge(args, pathlib.Path(scratch), files)
        log = Log(args.log or judge.plain.build / "mutants" / f"{args.seed}.log")
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            judge.tests.compile_all(pool)
            if args.faults:
                return try_faults(judge, pathlib.Path(scratch))
            judge.tests.trace(pool, "bats" in judge.stages)
        if args.never:
            show_never(judge.tests.reached, files)
            return 0
        chosen, counts = judge_all(judge, log, queue, args.n, listed)
    sum_up(log, chosen, counts, listed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
