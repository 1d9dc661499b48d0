#!/usr/bin/env python3
"""List static functions that share a name which grep cannot tell apart, and fail if there are any.

    tools/list-same-names.py [LEAST] [FOLDER...]

A name that is in LEAST (default 3) or more files of src/ and lib/ cannot be found with grep, and a flame
graph of Kelvin does not show which one it means. Nor can a name of one word (draw, add, print) that is in two.
With folders, only names in files below them.
"""
import collections
import pathlib
import re
import sys

least = int(sys.argv[1]) if len(sys.argv) > 1 else 3
folders = tuple(sys.argv[2:])
found = collections.defaultdict(set)
pattern = re.compile(r"^static (?:inline |_Noreturn )?[a-z][\w ]*?[ *](\w+)\(", re.M)
for root in ("src", "lib"):
    for path in sorted(pathlib.Path(root).rglob("*.c")):
        for name in pattern.findall(path.read_text()):
            found[name].add(str(path))
shared = 0
for name, paths in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
    too_many = len(paths) >= least or (len(paths) >= 2 and "_" not in name)
    if too_many and (not folders or any(p.startswith(folders) for p in paths)):
        print(f"{len(paths):3} {name}: {' '.join(sorted(paths))}")
        shared += 1
sys.exit(1 if shared else 0)
