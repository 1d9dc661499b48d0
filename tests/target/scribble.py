#!/usr/bin/env python3
# scribble.py SEED SECONDS - write nonsense into the memory that the recorder shares with us (src/wire/mailbox.h).
import mmap
import os
import random
import struct
import sys
import time

LETTER = "<QQIiiiiI20Q16s"
STATES, FREE, FULL, COUNTERS = 4096, 0, 2, 64
WIDE = [0, 1, 12345, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
NARROW = [0, 1, -1, -2**31, 2**31 - 1, os.getpid()]
BODIES = [b"", os.urandom(512), b"400000-500000 r-xp 00000000 00:00 0 /\x1b[31mevil\n" * 3,
          b"0-ffffffffffffffff r-xp ffffffffffffffff 00:00 0 /bin/true\n", b"zz\n", b"7f0-1 r-xp 0 0 0 x" * 8]

rng = random.Random(int(sys.argv[1]))
fd = int(os.environ["KELVIN_AGENT"].split()[1])
box = mmap.mmap(fd, os.fstat(fd).st_size)
_, _, n_slots, slot_bytes = struct.unpack_from("<QQII", box, 0)
first = STATES + (n_slots * 8 + 4095) // 4096 * 4096

end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for slot in range(n_slots):
        if struct.unpack_from("<Q", box, STATES + 8 * slot)[0] != FREE:
            continue
        body = rng.choice(BODIES)
        when = rng.choice(WIDE + [time.monotonic_ns()] * 7)
        head = struct.pack(LETTER, when, rng.choice(WIDE), rng.choice([0, 1, 2, 3, 3, 3, 77]),
                           *[rng.choice(NARROW) for _ in range(4)],
                           rng.choice([len(body), 2**32 - 1, slot_bytes, 0]), *[rng.choice(WIDE) for _ in range(20)],
                           os.urandom(16))
        at = first + slot * slot_bytes
        box[at:at + len(head) + len(body)] = head + body
        struct.pack_into("<Q", box, STATES + 8 * slot, FULL)
    time.sleep(0.05)
