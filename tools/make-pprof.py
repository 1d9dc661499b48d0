#!/usr/bin/env python3
"""Write an unpacked pprof profile of N samples for measurements: same arguments, same bytes.

Usage: make-pprof.py [N] > out.pb

As in a file that a Go program writes, every sample is a distinct stack, samples come before the
tables they refer to, and the strings are last. Stacks are walks through a made-up call graph, 12
to 44 frames deep; one location in eight has an inlined function.
"""
import random
import sys

FUNCTIONS = 20_000
LOCATIONS = 60_000


def varint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


SMALL = [varint(i) for i in range(max(FUNCTIONS, LOCATIONS) + 100)]


def number(field, v):
    return varint(field << 3) + varint(v)


def block(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def samples(rng, count, write):
    """Walks of which each shares its callers with the one before, as neighbours in a tree do."""
    callees = [[rng.randrange(1, LOCATIONS + 1) for _ in range(4)] for _ in range(LOCATIONS + 1)]
    path, seen = [1], set()
    head, done = varint(1 << 3 | 2), 0
    pick = rng.random
    while done < count:
        del path[max(1, len(path) - int(1 + pick() * 9)):]
        for _ in range(max(1, int(12 + pick() * 25) - len(path))):
            path.append(callees[path[-1]][int(pick() ** 2 * 4)])
        key = hash(tuple(path))
        if key in seen:
            continue
        seen.add(key)
        done += 1
        ids = b"".join([SMALL[i] for i in reversed(path)])
        hits = 1 + int(pick() ** 8 * 50)
        values = SMALL[hits] + varint(hits * 10_000_000)
        body = head + varint(len(ids)) + ids + b"\x12" + SMALL[len(values)] + values
        write(b"\x12" + varint(len(body)) + body)


def locations(rng, write):
    for i in range(1, LOCATIONS + 1):
        body = number(1, i) + number(2, 1) + number(3, 0x400000 + i * 37)
        for _ in range(2 if i % 8 == 0 else 1):
            line = number(1, rng.randrange(1, FUNCTIONS + 1)) + number(2, rng.randrange(1, 3000))
            body += block(4, line)
        write(block(4, body))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = random.Random(11)
    write = sys.stdout.buffer.write
    strings = ["", "samples", "count", "cpu", "nanoseconds", "/usr/bin/made-up", "0123456789abcdef"]
    write(block(1, number(1, 1) + number(2, 2)) + block(1, number(1, 3) + number(2, 4)))
    write(block(11, number(1, 3) + number(2, 4)) + number(12, 10_000_000))
    samples(rng, count, write)
    write(block(3, number(1, 1) + number(2, 0x400000) + number(3, 0x800000) + number(5, 5) + number(6, 6)))
    locations(rng, write)
    for i in range(1, FUNCTIONS + 1):
        strings += ["package/path%d.(*Type%d).method_%d" % (i % 97, i % 1013, i), "src/path%d/file%d.go" % (i % 97, i)]
        write(block(5, number(1, i) + number(2, len(strings) - 2) + number(4, len(strings) - 1) + number(5, i % 3000 + 1)))
    for s in strings:
        write(block(6, s.encode()))


main()
