#!/usr/bin/env python3
"""List static functions that have the same name in several files.

    tools/list-same-names.py [LEAST] [FOLDER...]

A name that is in LEAST (default 3) or more files of src/ and lib/ cannot be found with grep, and a flame
graph of Kelvin does not tell which one it shows. With folders, only names in files below them.
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
for name, paths in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
    if len(paths) >= least and (not folders or any(p.startswith(folders) for p in paths)):
        print(f"{len(paths):3} {name}: {' '.join(sorted(paths))}")
