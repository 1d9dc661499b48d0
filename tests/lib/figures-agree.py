#!/usr/bin/env python3
"""Is every figure that a view prints for people in what it prints for programs?

    figures-agree.py TEXT JSON [WORDS...]

A figure agrees with a number of the JSON that gives it when it is scaled to its unit and rounded to the digits that are
shown. Figures in texts of the JSON count as they stand: evidence, names. WORDS are patterns of what is no figure of the view:
method, advice. Prints the figures that are missing, each with its line; exits with 1 if there are any.
"""
import json
import re
import sys

UNITS = {
    "": [1, 100],  # a bare number in a column may be a percentage
    "%": [100, 1],
    "ns": [1, 1e9], "us": [1e-3, 1e6], "ms": [1e-6, 1e3], "s": [1e-9, 1],  # of nanoseconds, or of seconds
    "B": [1], "KiB": [2 ** -10], "MiB": [2 ** -20], "GiB": [2 ** -30],
    "k": [1e-3], "M": [1e-6], "G": [1e-9], "x": [1],
}
FIGURE = re.compile(r"(?<![\w.])[-+]?(\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?: ?(%|ns|us|ms|s|B|KiB|MiB|GiB|k|M|G|x)(?![\w]))?(?!\w)")


in_words = set()  # figures that are in texts of the JSON, as they stand there


def numbers(value):
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield abs(value)
    elif isinstance(value, str):
        for m in FIGURE.finditer(value):
            in_words.add((m[1], m[2]))
            yield float(m[1].replace(",", ""))
    else:
        yield len(value)  # a list's length is a count
        if isinstance(value, dict) and None not in (value.get("low"), value.get("high")):
            yield (value["high"] - value["low"]) / 2  # what stands behind the sign for plus or minus
        for k, v in (value.items() if isinstance(value, dict) else enumerate(value)):
            if isinstance(k, str):
                yield from numbers(k)
            yield from numbers(v)


def agrees(shown, unit, known):
    plain = shown.replace(",", "")
    x = float(plain)
    digits = len(plain.split(".")[1].split("e")[0]) if "." in plain else 0
    step = 0.5 * 10.0 ** -digits
    if "e" in plain:
        step *= 10.0 ** int(plain.split("e")[1])
    if any(abs(v * scale - x) <= step * 1.0001 for scale in UNITS[unit or ""] for v in known):
        return True
    return unit in ("%", None) and any(abs(100 * abs(v - 1) - x) <= step * 1.0001 for v in known)  # a ratio as a change


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    known = sorted(set(numbers(json.load(open(sys.argv[2], encoding="utf-8")))))
    skipped = [re.compile(w) for w in sys.argv[3:]]
    missing = n = 0
    for line in text.splitlines():
        for s in skipped:
            line = s.sub("", line)
        for m in FIGURE.finditer(line):
            n += 1
            if (m[1], m[2]) not in in_words and not agrees(m[1], m[2], known):
                missing += 1
                print(f"'{m[0].strip()}' is not in the JSON: {line.strip()}")
    print(f"{n} figures, {missing} missing")
    return 1 if missing or not n else 0


sys.exit(main())
