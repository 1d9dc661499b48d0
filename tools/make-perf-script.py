#!/usr/bin/env python3
"""Write perf script text of a given size, as a benchmark's input.

    tools/make-perf-script.py MEGABYTES [--seed N] > big.txt

The same arguments give the same bytes. The text is shaped like a recording of a few services:
threads with comms, some with spaces; call chains of C, C++ and Rust functions over a kernel part in
a fifth of the samples; half of the chains have at most three frames, a few have forty. As in a
real program a return address belongs to a call site, of which every pair of caller and callee
has one to three, in a process's own address space; the innermost address is anywhere in its function.
"""
import argparse
import random
import sys

KERNEL = """entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_read vfs_read new_sync_read
ext4_file_read_iter generic_file_read_iter filemap_read copy_page_to_iter copyout
__x64_sys_futex do_futex futex_wait schedule __schedule finish_task_switch.isra.0 pick_next_task_fair
sock_sendmsg tcp_sendmsg tcp_sendmsg_locked tcp_push __tcp_transmit_skb ip_queue_xmit __ip_queue_xmit
ip_finish_output2 __dev_queue_xmit dev_hard_start_xmit asm_exc_page_fault exc_page_fault
do_user_addr_fault handle_mm_fault __handle_mm_fault do_anonymous_page clear_page_erms
__alloc_pages get_page_from_freelist rmqueue_bulk kmem_cache_alloc __slab_alloc
asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt irq_exit_rcu __softirqentry_text_start""".split()

NOUNS = """buffer cache table index token parser reader writer stream packet session request response
block page row column filter join hash tree node list queue task worker frame image codec entry
cursor record field header body chunk arena pool""".split()
VERBS = """init open read write parse find insert remove update merge split flush encode decode
hash compare sort scan visit walk push pop apply resolve load store copy release acquire poll""".split()
SPACES = ["store", "net", "util", "query", "exec", "io", "format", "detail"]

MODULES = [
    "/usr/lib64/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
    "/opt/orders",
    "/opt/orders",
    "/usr/bin/gateway",
    "/usr/bin/searchd",
]


def c_name(r):
    return f"{r.choice(NOUNS)}_{r.choice(VERBS)}" + r.choice(["", "_one", "_locked", ".part.0", ""])


def cpp_name(r):
    cls = r.choice(NOUNS).title() + r.choice(["", "Impl", "Base", "Set"])
    args = r.choice(["", "int", "char const*, unsigned long", "std::string const&",
                     "std::vector<int, std::allocator<int> >&"])
    space = r.choice(SPACES) + r.choice(["::", "::", "::(anonymous namespace)::"])
    return f"{space}{cls}::{r.choice(VERBS)}({args})" + r.choice(["", " const"])


def rust_name(r):
    kind = r.choice(NOUNS).title()
    return r.choice([
        f"{r.choice(SPACES)}::{r.choice(NOUNS)}::{kind}::{r.choice(VERBS)}",
        f"<{r.choice(SPACES)}::{kind} as core::iter::traits::iterator::Iterator>::next",
        f"core::ops::function::FnOnce::call_once{{{{vtable.shim}}}}",
    ])


class Function:
    def __init__(self, name, module, start, size):
        self.name, self.module, self.start, self.size = name, module, start, size

    def line(self, offset, slide):
        if self.name is None:
            return f"\t{self.start + slide + offset:16x} [unknown] ({self.module})\n"
        return f"\t{self.start + slide + offset:16x} {self.name}+0x{offset:x} ({self.module})\n"


def make_functions(r):
    kernel, user, at = [], [], 0xFFFFFFFF81000000
    for name in KERNEL:
        kernel.append(Function(name, "[kernel.kallsyms]", at, r.randrange(64, 2048)))
        at += 4096
    names = set()
    while len(names) < 400:
        names.add(r.choice([c_name, c_name, c_name, cpp_name, rust_name])(r))
    for i, name in enumerate(sorted(names)):
        shown = None if i % 40 == 0 else name
        user.append(Function(shown, r.choice(MODULES), 0x400000 + i * 8192, r.randrange(32, 4096)))
    return kernel, user


class Process:
    """One program: which function calls which, and from where."""

    def __init__(self, r, kernel, user, pid, comms):
        self.r, self.kernel, self.user, self.pid = r, kernel, user, pid
        self.slide = r.randrange(1 << 20) << 12 | 0x550000000000
        self.threads = [(r.choice(comms), pid + i) for i in range(r.randrange(1, 8))]
        self.callees = {}
        self.lines = {}

    def callee(self, caller):
        """A function has a few callees, and one that it calls most."""
        if caller not in self.callees:
            self.callees[caller] = self.r.sample(self.user, 4)
        return self.callees[caller][min(int(self.r.expovariate(1.8)), 3)]

    def return_line(self, caller, callee, slide):
        """One of the few places where CALLER calls CALLEE."""
        key = caller, callee, self.r.randrange(3)
        if key not in self.lines:
            self.lines[key] = caller.line(self.r.randrange(caller.size), slide)
        return self.lines[key]

    def chain(self):
        """The lines of a call chain, innermost first."""
        depth = min(40, 1 + int(self.r.expovariate(0.6)))
        path = [self.user[self.pid % len(self.user)]]
        for _ in range(depth - 1):
            path.append(self.callee(path[-1]))
        inside = []
        if self.r.random() < 0.2:
            start = self.r.choice([0, 10, 17, 27])
            inside = self.kernel[start:start + self.r.randrange(2, 6)]
        lines = [self.return_line(a, b, self.slide) for a, b in zip(path, path[1:] + inside[:1])]
        lines += [self.return_line(a, b, 0) for a, b in zip(inside, inside[1:])]
        leaf = inside[-1] if inside else path[-1]
        lines.append(leaf.line(self.r.randrange(leaf.size), 0 if inside else self.slide))
        return "".join(reversed(lines))


def write_text(out, size_bytes, seed):
    r = random.Random(seed)
    kernel, user = make_functions(r)
    comms = ["orders", "search-index", "gateway", "tokio-runtime-w", "V8 WorkerThread", "kworker/u8:2"]
    processes = [Process(r, kernel, user, 1000 + 97 * i, comms) for i in range(6)]
    out.write("# ========\n# hostname : bench\n# os release : 6.1.0\n# perf version : 6.1.90\n"
              "# arch : x86_64\n# cmdline : /usr/bin/perf record -F 999 -a -g -- sleep 600 \n"
              "# ========\n#\n")
    written, time_us = 0, 86400 * 10**6
    while written < size_bytes:
        p = r.choice(processes)
        comm, tid = r.choice(p.threads)
        time_us += r.randrange(20, 900)
        text = (f"{comm} {p.pid:5}/{tid:<5} [{r.randrange(8):03}] {time_us // 10**6}.{time_us % 10**6:06}: "
                f"{r.randrange(900000, 1100000):10} cycles:P: \n{p.chain()}\n")
        out.write(text)
        written += len(text)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("megabytes", type=float)
    args.add_argument("--seed", type=int, default=1)
    opts = args.parse_args()
    try:
        write_text(sys.stdout, int(opts.megabytes * 10**6), opts.seed)
    except BrokenPipeError:
        sys.stderr.close()


main()
