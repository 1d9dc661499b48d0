"""Which lines of the code does each test run? For tools/mutate.py.

The files in question are compiled without optimisation and with a call at the start of every basic block (reached.c),
and linked with the rest of the library into two programs: all unit tests in one, and kelvin. Every test leaves a file
of bytes, one per place that ran; the line table says which lines lie between a block's place and the next. A fault in a
line that a test does not run cannot be noticed by that test, so it need not be asked.
"""
import bisect
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess


def text_hash(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]


def executable_start(program):
    """The address that the bytes of reached.c count from."""
    symbols = subprocess.run(["nm", str(program)], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"^([0-9a-f]+) . __executable_start$", symbols, re.M)[1], 16)


def line_table(program, sources):
    """(address, file, line) of the code that comes from SOURCES, by address."""
    names = collections.defaultdict(list)
    for source in sources:
        names[pathlib.Path(source).name].append(source)
    dump = subprocess.run(["objdump", "--dwarf=decodedline", str(program)], capture_output=True, text=True).stdout
    rows, file = [], None
    for line in dump.splitlines():
        heading = re.match(r"^(?:\./)?(\S+\.[ch]):(?:\[\+\+\])?$", line)
        if heading:
            known = [s for s in names.get(pathlib.Path(heading[1]).name, []) if s.endswith(heading[1])]
            file = known[0] if len(known) == 1 else None
            continue
        found = re.match(r"^(\S+)\s+(\d+)\s+0x([0-9a-f]+)", line) if file else None
        if found and file.endswith("/" + found[1]):
            rows.append((int(found[3], 16), file, int(found[2])))
    return sorted(set(rows))


def call_places(program):
    """Where blocks begin: the return addresses of the calls into reached.c."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(program)], capture_output=True, text=True).stdout
    places, after = [], False
    for line in code.splitlines():
        found = re.match(r"^\s+([0-9a-f]+):", line)
        if not found:
            continue
        if after:
            places.append(int(found[1], 16))
        after = "<__sanitizer_cov_trace_pc>" in line and "call" in line
    return places


class Blocks:
    """The basic blocks of one program: offset of each, and the lines in it."""

    def __init__(self, program, sources):
        start = executable_start(program)
        places, table = call_places(program), line_table(program, sources)
        addresses = [row[0] for row in table]
        self.lines = {}  # offset: [(file, line)]
        for place, following in zip(places, [*places[1:], 1 << 62]):
            first, last = bisect.bisect_right(addresses, place - 1) - 1, bisect.bisect_left(addresses, following - 5)
            self.lines[place - start] = sorted({row[1:] for row in table[max(first, 0): last]})

    def read(self, path):
        """What ran, by the bytes that a test left: {file: set of lines}."""
        ran = collections.defaultdict(set)
        path = pathlib.Path(path)
        bytes_ = path.read_bytes() if path.exists() else b""
        at = bytes_.find(1)
        while at >= 0:
            for file, line in self.lines.get(at, ()):
                ran[file].add(line)
            at = bytes_.find(1, at + 1)
        return ran

    def all(self):
        """Every line that has code."""
        lines = collections.defaultdict(set)
        for pairs in self.lines.values():
            for file, line in pairs:
                lines[file].add(line)
        return lines

# What a test is taken to cost that was not traced.
UNKNOWN_S = 30


class Reached:
    """What every test ran, kept in a file between calls: {test: {stamp, seconds, files: {file: [text hash, lines]}}}.

    Where a file's text is another now, a test that ran any line of it counts as running all."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        kept = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.tests, self.lines = kept.get("tests", {}), kept.get("lines", {})
        self.now = {}

    def add(self, test, stamp, seconds, ran):
        self.tests[test] = {"stamp": stamp, "seconds": seconds,
                            "files": {f: [self.hash(f), sorted(lines)] for f, lines in ran.items()}}

    def hash(self, file):
        if file not in self.now:
            self.now[file] = text_hash(file) if os.path.exists(file) else ""
        return self.now[file]

    def keep(self):
        half = self.path.with_suffix(".new")
        half.write_text(json.dumps({"tests": self.tests, "lines": self.lines}))
        half.rename(self.path)

    def is_known(self, test, stamp):
        return self.tests.get(test, {}).get("stamp") == stamp

    def place(self, file, line):
        """The line with code that LINE belongs to: itself or the next one above in its function; None outside of functions."""
        known = self.lines.get(file)
        if not known or known[0] != self.hash(file):
            return None
        text = pathlib.Path(file).read_text().splitlines()
        while line > 0 and line not in known[1]:
            line -= 1
            if text[line - 1].startswith("}") or re.match(r"^\w.*[;{]$", text[line - 1]):
                return None
        return line or None

    def runs(self, test, file, line):
        """Whether TEST runs a line as place() has it."""
        entry = self.tests.get(test, {}).get("files", {}).get(file)
        if not entry:
            return False
        return line is None or entry[0] != self.hash(file) or line in entry[1]

    def seconds(self, test):
        return self.tests[test]["seconds"] if test in self.tests else UNKNOWN_S

    def never(self):
        """Lines with code that no test runs: {file: sorted lines}."""
        missed = {}
        for file, (stamp, lines) in self.lines.items():
            if stamp != self.hash(file):
                continue
            left = [n for n in lines if not any(self.runs(t, file, n) for t in self.tests)]
            if left:
                missed[file] = left
        return missed
