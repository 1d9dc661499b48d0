#!/usr/bin/env python3
"""Write small perf.data files for tests and fuzzing, one for each thing that they can hold.

Usage: make-perfdata.py FOLDER

Made from nothing, so that they tell of no machine. The program in them, /nowhere/app, does not
exist: frames keep their addresses. The compressed ones need the program zstd.
"""
import pathlib
import struct
import subprocess
import sys

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD = (1 << i for i in range(9))
STREAM_ID, RAW, BRANCH_STACK, REGS_USER, STACK_USER = (1 << i for i in range(9, 14))
IDENTIFIER = 1 << 16
FREQ, SAMPLE_ID_ALL = 1 << 10, 1 << 18
KERNEL, USER = (1 << 64) - 128, (1 << 64) - 512
MMAP, LOST, COMM, EXIT, THROTTLE, FORK, SAMPLE, MMAP2, LOST_SAMPLES = 1, 2, 3, 4, 5, 7, 9, 10, 13
ATTR, ROUND, AUXTRACE, UPDATE, FEATURE, COMPRESSED, COMPRESSED2 = 64, 68, 71, 78, 80, 81, 83
BP, SP, PC = 6, 7, 8  # perf's numbers of registers
BASIC = IP | TID | TIME | CPU | PERIOD | CALLCHAIN
DWARF = BASIC | REGS_USER | STACK_USER


def words(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def halves(*values):
    return struct.pack(f"<{len(values)}I", *values)


def text(s):
    b = s.encode() + b"\0"
    return b + bytes(-len(b) % 8)


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


class Event:
    """An event, and the words about time and event that its records carry."""

    def __init__(self, sample_type, kind=1, config=0, ident=0, regs=0, freq=999):
        self.type, self.ident, self.regs = sample_type, ident, regs
        self.attr = struct.pack("<IIQQQQQIIQQQQII", kind, 128, config, freq, sample_type, 0,
                                (FREQ if freq else 0) | SAMPLE_ID_ALL, 0, 0, 0, 0, 0, regs, 8192, 0)
        self.attr += bytes(128 - len(self.attr))

    def about(self, pid, tid, time):
        out = halves(pid, tid) if self.type & TID else b""
        out += words(time) if self.type & TIME else b""
        out += words(self.ident) if self.type & ID else b""
        out += halves(0, 0) if self.type & CPU else b""
        return out + (words(self.ident) if self.type & IDENTIFIER else b"")

    def other(self, kind, body, pid, time, misc=0):
        return record(kind, body + self.about(pid, pid, time), misc)

    def comm(self, pid, name, time, is_exec=False):
        return self.other(COMM, halves(pid, pid) + text(name), pid, time, 1 << 13 if is_exec else 0)

    def mmap(self, pid, start, size, offset, path, time):
        body = halves(pid, pid) + words(start, size, offset) + text(path)
        return self.other(MMAP, body, pid, time, 2)

    def mmap2(self, pid, start, size, offset, path, time, build_id=None):
        who = bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0") if build_id else bytes(24)
        body = halves(pid, pid) + words(start, size, offset) + who + halves(5, 2) + text(path)
        return self.other(MMAP2, body, pid, time, 2 | (1 << 14 if build_id else 0))

    def task(self, kind, pid, parent, tid, parent_tid, time):
        body = halves(pid, parent, tid, parent_tid) + words(time)
        return self.other(kind, body, pid, time)

    def sample(self, pid, tid, time, chain, period=1000, mode=2, regs=None, stack=b"", room=0):
        out = words(self.ident) if self.type & IDENTIFIER else b""
        first = [pc for pc in chain if pc < 2 ** 64 - 4096] or [regs[-1] if regs else 0]
        out += words(first[0]) if self.type & IP else b""
        out += halves(pid, tid) if self.type & TID else b""
        out += words(time) if self.type & TIME else b""
        out += words(self.ident) if self.type & ID else b""
        out += halves(1, 0) if self.type & CPU else b""
        out += words(period) if self.type & PERIOD else b""
        out += words(len(chain), *chain) if self.type & CALLCHAIN else b""
        if self.type & RAW:
            out += halves(12) + b"raw payload."
        if self.type & BRANCH_STACK:
            out += words(1, 0x1010, 0x1020, 0)
        if self.type & REGS_USER:
            out += words(2, *regs) if regs else words(0)
        if self.type & STACK_USER:
            room = max(room, len(stack))
            out += words(room) + (stack.ljust(room, b"\xee") + words(len(stack)) if room else b"")
        return record(SAMPLE, out, mode)


def string(s):
    b = s.encode() + b"\0"
    b += bytes(-len(b) % 64)
    return halves(len(b)) + b


def features(events, names):
    ids = [halves(1) + string(n) + words(e.ident) for e, n in zip(events, names)]
    described = halves(len(events), 128) + b"".join(e.attr + i for e, i in zip(events, ids))
    paths = ["/nowhere/app", "[kernel.kallsyms]"]  # a kernel that nobody runs
    built = [halves(42) + bytes(range(20)) + bytes([20, 0, 0, 0]) + text(p) for p in paths]
    command = ["perf", "record", "./app"]
    return {
        2: b"".join(record(0, b, 2 | 1 << 15) for b in built),
        3: string("nobody"),
        4: string("6.1.0"),
        5: string("6.1.187"),
        6: string("x86_64"),
        7: halves(4, 2),
        8: string("A CPU"),
        10: words(1 << 20),
        11: halves(len(command)) + b"".join(map(string, command)),
        12: described,
    }


def file(events, data, parts=None, size=None):
    """The layout of files: ids, attrs, data, table of parts, parts."""
    ids = b"".join(words(e.ident) for e in events)
    attrs = b"".join(e.attr + words(104 + 8 * i, 8) for i, e in enumerate(events))
    start = 104 + len(ids) + len(attrs)
    parts = parts or {}
    flags = [sum(1 << (p % 64) for p in parts if p // 64 == i) for i in range(4)]
    head = b"PERFILE2" + words(104, 144, 104 + len(ids), len(attrs), start,
                               len(data) if size is None else size, 0, 0, *flags)
    at = start + len(data) + 16 * len(parts)
    table = behind = b""
    for p in sorted(parts):
        table += words(at + len(behind), len(parts[p]))
        behind += parts[p]
    return head + ids + attrs + data + table + behind


def pipe(events, data, parts):
    out = b"PERFILE2" + words(16)
    out += b"".join(record(ATTR, e.attr + words(e.ident)) for e in events)
    out += b"".join(record(FEATURE, words(p) + parts[p]) for p in sorted(parts))
    return out + data


def start(e, pid=42, name="app"):
    return (e.comm(pid, name, 0) + e.mmap2(pid, 0x400000, 0x10000, 0x1000, "/nowhere/app", 0) +
            e.mmap2(pid, 0x7f0000000000, 0x1000, 0, "//anon", 0))


def chains(e, times):
    kernel = [KERNEL, 0xffffffff81000010, 0xffffffff81000020, USER, 0x401010, 0x402020]
    user = [USER, 0x401018, 0x402020, 0x403030]
    return [e.sample(42, 42, t, kernel if t % 2 else user, mode=1 if t % 2 else 2) for t in times]


def unwindable(e, time):
    """Frame pointers in code that no file has rules for: | fp | return | ... on the stack."""
    sp = 0x7ffc00001000
    stack = words(sp + 16, 0x7f0000000200, 0, 0x7f0000000300, 0, 0)
    return e.sample(42, 42, time, [], regs=(sp, sp, 0x7f0000000100), stack=stack, room=4096)


def unwindable_arm(e, time):
    """The same on AArch64, from fp, lr, sp and pc."""
    sp = 0x7ffc00001000
    stack = words(sp + 16, 0x7f0000000200, 0, 0x7f0000000300, 0, 0)
    return e.sample(42, 42, time, [], regs=(sp, 0x7f0000000180, sp, 0x7f0000000100), stack=stack, room=4096)


def zstd(data):
    done = subprocess.run(["zstd", "-qc", "-"], input=data, stdout=subprocess.PIPE, check=True)
    return done.stdout


def build():
    fp = Event(BASIC)
    dwarf = Event(DWARF, regs=1 << BP | 1 << SP | 1 << PC)
    many = BASIC | IDENTIFIER
    two = [Event(many, ident=11), Event(many, config=2, ident=12, freq=0)]
    odd = Event(BASIC | RAW | BRANCH_STACK, kind=2, config=77, freq=0)
    done = record(ROUND, b"")
    parts = features([fp], ["cpu-clock:u"])
    data = start(fp) + b"".join(chains(fp, range(10, 20))) + done
    files = {"chains.data": file([fp], data, parts), "pipe.data": pipe([fp], data, parts)}
    calm = start(fp) + b"".join(chains(fp, range(10, 20, 2))) + done
    files["killed.data"] = file([fp], calm + chains(fp, [30])[0][:-9], {}, size=0)
    files["dwarf.data"] = file([dwarf], start(dwarf) + unwindable(dwarf, 5) + done,
                               features([dwarf], ["cpu-clock"]))
    arm = Event(DWARF, regs=15 << 29)
    files["dwarf-aarch64.data"] = file([arm], start(arm) + unwindable_arm(arm, 5) + done,
                                       {**features([arm], ["cpu-clock"]), 6: string("aarch64")})

    # One ring after the other: what the second tells came before the first one's samples.
    mixed = start(fp) + b"".join([
        fp.sample(43, 43, 120, [USER, 0x500100]), fp.sample(42, 42, 130, [USER, 0x401010]),
        fp.task(EXIT, 43, 42, 43, 42, 140),
        fp.task(FORK, 43, 42, 43, 42, 100), fp.comm(43, "child", 105, True),
        fp.mmap2(43, 0x500000, 0x1000, 0, "/nowhere/child", 110, bytes(range(16)))]) + done
    mixed += fp.other(LOST, words(0, 3), 42, 150) + fp.other(LOST_SAMPLES, words(4), 42, 151)
    mixed += fp.other(THROTTLE, words(152, 0, 0), 42, 152)
    mixed += record(AUXTRACE, words(16, 0, 0, 0, 0)) + b"?" * 16 + done
    files["order.data"] = file([fp], mixed, parts)

    names = features(two, ["cpu-clock", "page-faults:u"])
    both = start(two[0]) + two[0].sample(42, 42, 7, [USER, 0x401010], 1001)
    both += two[1].sample(42, 42, 8, [USER, 0x402020], 1) + done
    files["events.data"] = file(two, both, names)
    switch = record(UPDATE, words(2, 0) + text("sched:sched_switch")) + start(odd)
    files["tracepoint.data"] = pipe([odd], switch + odd.sample(42, 42, 9, [USER, 0x401010]), {})

    stranger = Event(many, ident=99)
    flaws = start(two[0]) + stranger.sample(42, 42, 5, [USER, 0x401010])
    flaws += record(SAMPLE, words(11, 0x401010) + halves(42, 42) + words(6), 2)  # cut short
    flaws += record(MMAP2, halves(42, 42) + words(1 << 63, 1 << 63, 0), 2)
    flaws += two[0].sample(42, 42, 7, [USER, 0x401010], 1001)
    flaws += record(200, b"kind unknown") + bytes(16)  # no size: the end
    files["flaws.data"] = file(two, flaws, names)

    packed = zstd(data)
    half = len(packed) // 2
    pieces = record(COMPRESSED, packed[:half]) + record(COMPRESSED, packed[half:])
    files["packed.data"] = file([fp], pieces, parts)
    padded = words(len(packed)) + packed + bytes(-len(packed) % 8)
    files["packed2.data"] = file([fp], record(COMPRESSED2, padded), parts)
    return files


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in build().items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
