/*
 * arch_x86_64.c - numbers from the System V ABI and the kernel's struct rt_sigframe.
 *
 * When a handler returns, its return address is popped and sp is at the ucontext:
 *
 *     0       8      16      40                120   128        160   168
 *     | flags | link | stack | r8..r15 rdi rsi | rbp | rbx .. | rsp | rip |
 */
#include "unwind/arch.h"

#include <elf.h>

const struct arch arch_x86_64 = {
    .machine = EM_X86_64,
    .ra_on_stack = true,
    .pc_mask = UINT64_MAX,
    .dwarf = {.pc = 16, .sp = 7, .fp = 6, .extra = 3},
    .perf = {.pc = 8, .sp = 7, .fp = 6, .extra = 1},
    .signal = {.pc = 168, .sp = 160, .fp = 120, .extra = 128},
    .ucontext = 0,
};
