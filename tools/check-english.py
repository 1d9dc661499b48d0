#!/usr/bin/env python3
"""Words that users should not have to read twice, in texts of the program and in what describes it.

Looks at string literals of src/ and lib/ (adjacent ones are one text) and at README.md, CHANGES and doc/*.md. Prints FILE:LINE,
the words and what to write instead; exit code 1 if there are any.
"""
import glob
import re
import sys

# What is found, and what is better. Phrases first, so that the better advice is printed.
WORDS = [
    (r"cannot be told", "is inconclusive"),
    (r"\b[Tt]ells?\b|\btold\b", "show, print, say, report"),
    (r"\b[Ww]hoever\b", "name the subject"),
    (r"\b[Mm]ends?\b", "fix"),
    (r"\bheeds?\b", "respects"),
    (r"\boverrul", "override"),
    (r"\b(one|runs?|values?|samples?|object|stack|rule) a (line|side|run|second|stack|rule)\b", "per"),
    (r"\bby force\b", "anyway (--force)"),
    (r"\bto the one before\b", "ratio"),
    (r"\bmiddle half\b", "IQR"),
    (r"([0-9]|%[-+.0-9*]*(zu|[dfgsu])) %(%|[^-+#.*0-9a-zA-Z]|$)", "5%, without a space"),
]
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = re.compile(LITERAL + r"(?:\s*" + LITERAL + r")*")
PART = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def blank(match):
    """A comment without its letters; line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group(0))


def texts_of_code(source):
    """Each text of a C file with its line. A string that has // in it is no comment."""
    without = re.sub(LITERAL + "|" + COMMENT.pattern, lambda m: m.group(0) if m.group(0)[0] == '"' else blank(m), source, flags=re.S)
    for match in TEXT.finditer(without):
        yield without.count("\n", 0, match.start()) + 1, "".join(PART.findall(match.group(0)))


def texts_of(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if path.endswith((".c", ".h")):
        yield from texts_of_code(source)
    else:
        yield from enumerate(source.split("\n"), 1)


def main():
    paths = [p for pattern in ("src/**/*.[ch]", "lib/**/*.[ch]", "doc/*.md") for p in glob.glob(pattern, recursive=True)]
    found = 0
    for path in sorted(paths) + ["README.md", "CHANGES"]:
        for line, text in texts_of(path):
            for words, better in WORDS:
                match = re.search(words, text)
                if match:
                    print(f"{path}:{line}: '{match.group(0)}': {better}")
                    found += 1
                    break
    return 1 if found else 0


sys.exit(main())
