#!/usr/bin/env python3
"""Words that nobody should have to read twice, in texts of the program, in what describes it and in comments.

Looks at string literals of src/ and lib/ (adjacent ones are one text), at README.md, CHANGES and doc/*.md, and for fewer words at
comments (for a few more with --comments). Prints FILE:LINE, the words and what to write instead; exit code 1 if there are any.
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
# The same in comments.
COMMENT_WORDS = [
    (r"\b[Mm]end(s|ed)?\b", "fix"),
    (r"\bheeds?\b", "respects"),
    (r"\boverrul", "override"),
    (r"\b([Oo]ne|[Rr]uns?|[Vv]alues?|[Ss]amples?|[Bb]ytes|[Rr]ows) a (line|side|run|second|sample|block|row|chunk)\b", "per"),
]
# The same, with --comments only: people write these without thinking, and a wrong word in a comment must not stop a build.
COMMENT_HABITS = [
    (r"(?<!unless )(?<!is )\b[Tt]old\b(?! (apart|otherwise|from|about)\b)|\bis told\b(?! (apart|from|to)\b)", "reported, shown, given"),
    (r"(?<!cannot )(?<!can )(?<!could )\b[Tt]ells?\b(?! .{0,40}\b(apart|from|about|whether|which)\b)", "say, show, report"),
    (r"(^/\*|\.) Whoever\b", "name the subject"),
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


def comments_of_code(source):
    """Each comment of a C file with its line, as one line."""
    for match in re.finditer(LITERAL + "|" + COMMENT.pattern, source, re.S):
        if match.group(0)[0] != '"':
            yield source.count("\n", 0, match.start()) + 1, re.sub(r"\s*\n\s*\*?\s*", " ", match.group(0))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def find_words(path, texts, words):
    """How many texts have one of the words in them."""
    found = 0
    for line, text in texts:
        hits = ((re.search(word, text), better) for word, better in words)
        for match, better in hits:
            if match:
                print(f"{path}:{line}: '{match.group(0)}': {better}")
                found += 1
                break
    return found


def texts_of(path):
    source = read(path)
    if path.endswith((".c", ".h")):
        yield from texts_of_code(source)
    else:
        yield from enumerate(source.split("\n"), 1)


def main():
    code = [p for pattern in ("src/**/*.[ch]", "lib/**/*.[ch]") for p in glob.glob(pattern, recursive=True)]
    pages = glob.glob("doc/*.md") + ["README.md", "CHANGES"]
    found = sum(find_words(path, texts_of(path), WORDS) for path in sorted(code) + pages)
    words = COMMENT_WORDS + (COMMENT_HABITS if "--comments" in sys.argv[1:] else [])
    found += sum(find_words(path, comments_of_code(read(path)), words) for path in sorted(code + glob.glob("include/*.h")))
    return 1 if found else 0


sys.exit(main())
