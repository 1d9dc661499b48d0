#!/usr/bin/env python3
"""Compare Kelvin's stacks of a perf.data file with those that perf script prints.

Usage: perfdata-compare.py KELVIN FILE SHARE

Sample by sample, by time and thread, file and address of every frame. Prints what differs first and
fails when fewer than SHARE percent are the same. Where the copy of a stack ends, perf prints a frame
at ffffffffffffffff and Kelvin "[unfinished]": that is the same.
"""
import json
import re
import subprocess
import sys

END = ("end", 0)


def base(path):
    return path.rsplit("/", 1)[-1]


def perf_samples(path):
    fields = "tid,time,ip,sym,dso"
    out = subprocess.run(["perf", "script", "--ns", "--no-inline", "-F", fields, "-i", path],
                         capture_output=True, text=True, errors="replace", check=True).stdout
    for block in re.split(r"\n\s*\n", out.strip("\n")):
        lines = block.split("\n")
        head = re.match(r"\s*(\d+)\s+(\d+)\.(\d{9}):", lines[0])
        frames = [re.match(r"\s+([0-9a-f]+) .*\((.*)\)$", line) for line in lines[1:]]
        stack = [(base(m[2]), int(m[1], 16)) for m in frames if m]
        stack = [END if pc == 2 ** 64 - 1 else (dso, pc) for dso, pc in stack]
        yield (int(head[2] + head[3]), int(head[1])), stack


def kelvin_samples(kelvin, path):
    out = subprocess.run([kelvin, "convert", path, "--to", "json"], capture_output=True, check=True)
    p = json.loads(out.stdout)
    frames, maps = p["frames"], p["mappings"]

    def place(i):
        """A frame as perf has it: file and offset in it."""
        m = frames["mapping"][i]
        if frames["name"][i] == "[unfinished]":
            return END
        start, offset = int(maps["start"][m], 16), int(maps["offset"][m], 16)
        return base(maps["path"][m]), int(frames["pc"][i], 16) - start + offset

    for stack, thread, time in zip(*(p["streams"][0]["rows"][k] for k in ("stack", "thread", "time_ns"))):
        chain = []
        while stack:
            chain.append(place(p["stacks"]["frame"][stack]))
            stack = p["stacks"]["parent"][stack]
        yield (int(time), p["threads"]["tid"][thread]), chain


def same(ours, theirs):
    """A caller's address is that of the call here, and one past it there."""
    known = ("[unknown]", "")
    return len(ours) == len(theirs) and all(
        (a[0] == b[0] or b[0] in known or a[0] in known) and 0 <= b[1] - a[1] <= 1
        for a, b in zip(ours, theirs))


def main():
    kelvin, path, share = sys.argv[1], sys.argv[2], float(sys.argv[3])
    ours = dict(kelvin_samples(kelvin, path))
    total = right = 0
    first = None
    for key, stack in perf_samples(path):
        total += 1
        if same(ours.get(key, []), stack):
            right += 1
        elif not first:
            first = f"time, thread: {key}\nkelvin {ours.get(key)}\nperf   {stack}"
    print(f"{right} of {total} stacks are the same")
    if not total or 100 * right < share * total:
        sys.exit(f"fewer than {share}%; the first that differs:\n{first}")


if __name__ == "__main__":
    main()
