#!/usr/bin/env python3
# scribble_rings.py SEED SECONDS - write nonsense into every file of memory that the recorder shares with us (src/wire/channel.h).
#
# A child does it, so that agents in this process, which allocates, locks and opens scopes meanwhile, go on in their way.
import mmap
import os
import random
import re
import struct
import sys
import threading
import time

NUMBERS = [0, 1, 2, 3, 7, 8, 64, 4095, 4096, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**47, 2**62, 2**63, 2**64 - 1]


def shared_files():
    """Of the recorder, by the names that it gave its agents."""
    pids = {os.environ[name].split()[0] for name in os.environ if name.startswith("KELVIN_") and re.match(r"\d+ \d+ \d+", os.environ[name])}
    for pid in pids:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            try:
                if "memfd:" in os.readlink(path):
                    yield open(path, "r+b", buffering=0)
            except OSError:
                pass


def maps():
    for file in shared_files():
        size = os.fstat(file.fileno()).st_size
        try:
            yield mmap.mmap(file.fileno(), size)
        except (OSError, ValueError):
            pass


def scribble(rng, seconds):
    files = list(maps())
    print(len(files), flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end and files:
        at = rng.choice(files)
        top = min(len(at), rng.choice([4096, 65536, 1 << 20, len(at)]))
        for _ in range(50):
            number = rng.choice(NUMBERS + [rng.getrandbits(64), rng.getrandbits(20), rng.getrandbits(8) | rng.getrandbits(4) << 16])
            struct.pack_into("<Q", at, rng.randrange(top // 8) * 8, number % 2**64)
        time.sleep(0.0005)


rng = random.Random(int(sys.argv[1]))
child = os.fork()
if child == 0:
    scribble(rng, float(sys.argv[2]))
    os._exit(0)
lock = threading.Lock()
end = time.monotonic() + float(sys.argv[2])


def work():
    while time.monotonic() < end:
        with lock:
            bytes(rng.randrange(5000))


threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
os.waitpid(child, 0)
