#!/usr/bin/env python3
"""Write the profiles beside this file: a small shop, before and after changes. Same bytes each time.

perf's text has times, threads, lines and inlined frames; folded stacks are runs of before and after.

The .kelvin files are recordings of tests/target/{locks,waits,scopes}: 'record --locks --waits -- ./locks convoy', 'record --locks --
./locks kinds' and 'inversion', 'record -F 4000 -- ./scopes 12 6' and '12 7', 'record --waits -- ./waits KIND 20 3000'. shelves.kelvin has
a heap, and its paths and host were replaced byte for byte. The others were made in a copy of tests/target and include below /usr/src/app, with stripped agents, so that no machine's own paths are in them.
"""
import gzip
import pathlib
import re

HERE = pathlib.Path(__file__).parent
SHOP, LIBC, KERNEL = "/opt/nowhere/shop", "/opt/nowhere/libc.so.6", "[kernel.kallsyms]"
# name: (address, module, line)
CODE = {
    "main": (0x401100, SHOP, "shop.c:10"), "serve": (0x401200, SHOP, "shop.c:40"),
    "parse": (0x401300, SHOP, "parse.c:7"), "walk": (0x401400, SHOP, "tree.c:21"),
    "sort_items": (0x401500, SHOP, "sort.c:3"), "compare": (0x401580, SHOP, "sort.c:19"),
    "render": (0x401600, SHOP, "html.c:77"), "checksum": (0x401700, SHOP, "sum.c:5"),
    "std::map<int, item>::find(int const&)": (0x401800, SHOP, "map.h:99"),
    "malloc": (0x20100, LIBC, ""), "free": (0x20200, LIBC, ""), "__memcpy_avx_unaligned": (0x20300, LIBC, ""),
    "pthread_mutex_lock": (0x20400, LIBC, ""), "start_thread": (0x20500, LIBC, ""),
    "do_syscall_64": (0xffffffff81000100, KERNEL, ""), "copy_user_generic": (0xffffffff81000200, KERNEL, ""),
    "vfs_read": (0xffffffff81000300, KERNEL, ""),
}
# (weight, thread, frames from the outermost)
PATHS = [
    (30, 0, ["main", "serve", "parse", "__memcpy_avx_unaligned"]),
    (12, 0, ["main", "serve", "parse", "malloc"]),
    (9, 0, ["main", "serve", "parse", "free"]),
    (20, 0, ["main", "serve", "walk", "walk", "walk", "compare"]),
    (11, 0, ["main", "serve", "walk", "walk"]),
    (25, 1, ["start_thread", "render", "checksum"]),
    (8, 1, ["start_thread", "render", "malloc"]),
    (14, 1, ["start_thread", "render", "pthread_mutex_lock"]),
    (6, 2, ["start_thread", "sort_items", "compare"]),
    (16, 2, ["start_thread", "sort_items", "std::map<int, item>::find(int const&)"]),
    (7, 0, ["main", "serve", "vfs_read", "do_syscall_64", "copy_user_generic"]),
    (1, 2, ["start_thread", "sort_items", "free"]),
]
THREADS = ["shop", "painter", "sorter"]


class Dice:
    def __init__(self, seed):
        self.state = seed

    def roll(self, n):
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return (self.state >> 8) % n


def pick(dice, paths):
    at = dice.roll(sum(weight for weight, *_ in paths))
    for weight, thread, frames in paths:
        at -= weight
        if at < 0:
            return thread, frames


def show_frame(name, shift):
    address, module, line = CODE[name]
    text = f"\t{address + shift:16x} {name}+0x{shift:x} ({module})\n"
    return text + (f"  {line}\n" if line else "")


def perf_script(n, seed, slow_start=0):
    """In phases, so that neighbours are alike: parsing, then walking, then parsing again."""
    dice, out = Dice(seed), ["# cmdline : /usr/bin/perf record -F 99 -g -- ./shop --secret\n"
                             "# event : name = cpu-clock, { sample_period, sample_freq } = 99, freq = 1\n#\n"]
    for i in range(n):
        phase = [p for p in PATHS if p[1] or "parse" in p[2]] if i // 25 % 2 else PATHS
        thread, frames = pick(dice, phase)
        period = 10101010 if i != slow_start else 30303030
        out.append(f"{THREADS[thread]} 100/{100 + thread} [00{thread % 2}] {50 + i * 0.0101 + thread * 0.0002:.6f}: "
                   f"{period:10} cpu-clock: \n")
        out.extend(show_frame(f, 16 * (dice.roll(3) + 1)) for f in reversed(frames))
        out.append("\n")
    return "".join(out)


def folded(seed, scale, n=4000):
    dice, counts = Dice(seed), {}
    paths = [(weight * scale.get(frames[-1], 10), thread, frames) for weight, thread, frames in PATHS]
    for _ in range(n):
        thread, frames = pick(dice, paths)
        line = ";".join([THREADS[thread], *frames])
        counts[line] = counts.get(line, 0) + 1
    return "".join(f"{line} {n}\n" for line, n in sorted(counts.items()))


def growing(size):
    """compare grows with the square of the size, checksum with it, malloc hardly."""
    return (f"main;sort_items;compare {size * size // 10 + 70}\nmain;render;checksum {7 * size + size % 3}\n"
            f"main;parse;malloc {500 + size // 9 - size % 7}\n")


def main():
    (HERE / "shop.txt").write_text(perf_script(300, 1))
    (HERE / "later.txt.gz").write_bytes(gzip.compress(perf_script(280, 2, 5).encode(), mtime=0))
    stripped = re.sub(r"\S+\+0x\w+ \(" + re.escape(LIBC), "[unknown] (" + LIBC, perf_script(280, 2, 5))
    (HERE / "stripped.txt.gz").write_bytes(gzip.compress(stripped.encode(), mtime=0))
    PATHS.append((30, 0, ["main", "serve", "parse", "malloc"]))
    changed = perf_script(330, 3).replace(" sort_items+", " sort_all+").replace(" parse+", " read_page+")
    del PATHS[-1]
    (HERE / "changed.txt.gz").write_bytes(gzip.compress(changed.encode(), mtime=0))
    for i in range(1, 6):
        (HERE / f"before{i}.folded").write_text(folded(10 + i, {}))
        (HERE / f"after{i}.folded").write_text(folded(20 + i, {"malloc": 17, "free": 4, "checksum": 11}))
    text = (HERE / "before2.folded").read_text().replace("sort_items", "sort_all").replace("parse", "read_page")
    (HERE / "renamed.folded").write_text(text)
    for size in (100, 200, 400):
        (HERE / f"size{size}.folded").write_text(growing(size))


if __name__ == "__main__":
    main()
