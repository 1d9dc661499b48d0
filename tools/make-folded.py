#!/usr/bin/env python3
"""Write N distinct folded stacks for measurements: the same lines for the same arguments.

Stacks are random walks through a made-up call graph whose callees are chosen unevenly, as in a
real program: most lines share their callers with many others, and no two lines are equal.
"""
import random
import sys

WORDS = ("parse read write token block frame node list tree hash index cache page buffer queue "
         "thread lock event stream socket request reply header body field value type scope "
         "symbol table map set vector string number float matrix kernel filter encode decode "
         "compress expand copy move merge split sort find insert remove update flush commit").split()


def names(rng, count):
    """Function names of the lengths that C++ and C programs have."""
    seen = set()
    while len(seen) < count:
        parts = rng.choices(WORDS, k=rng.randint(2, 4))
        if rng.random() < 0.6:
            name = "%s::%s::%s" % (parts[0], parts[1], "_".join(parts[1:]))
            if rng.random() < 0.3:
                name += "<%s, %s>" % (parts[0], parts[-1])
        else:
            name = "_".join(parts)
        seen.add(name if rng.random() < 0.5 else "%s%d" % (name, rng.randint(0, 99)))
    return sorted(seen)


def main():
    lines = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = random.Random(7)
    functions = names(rng, 4000)
    callees = [[int(rng.random() ** 2 * 4000) for _ in range(8)] for _ in functions]
    seen = set()
    out = sys.stdout
    while len(seen) < lines:
        at, path = 0, ["main"]
        for _ in range(min(60, int(rng.gauss(17, 5)) if rng.random() < 0.97 else 45)):
            at = callees[at][int(rng.random() ** 2 * 8)]
            path.append(functions[at])
        stack = ";".join(path)
        key = hash(stack)
        if key not in seen:
            seen.add(key)
            out.write("%s %d\n" % (stack, int(rng.paretovariate(1.2))))


main()
