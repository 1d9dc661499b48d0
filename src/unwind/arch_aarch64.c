/*
 * arch_aarch64.c - numbers from AADWARF64 and the kernel's struct rt_sigframe.
 *
 * When a handler returns, sp is at the siginfo; the ucontext follows it, and the registers start
 * 184 bytes into that (after flags, link, stack, 128 bytes of mask, padding, fault address):
 *
 *     0         128        312        544   552   560  568
 *     | siginfo | ucontext | x0 ..    | x29 | x30 | sp | pc |
 *
 * With pointer authentication the upper bits of a saved return address are its signature.
 */
#include "unwind/arch.h"

#include <elf.h>

const struct arch arch_aarch64 = {
    .machine = EM_AARCH64,
    .ra_on_stack = false,
    .pc_mask = (UINT64_C(1) << 48) - 1,
    .dwarf = {.pc = 30, .sp = 31, .fp = 29, .extra = 30},
    .perf = {.pc = 32, .sp = 31, .fp = 29, .extra = 30},
    .signal = {.pc = 568, .sp = 560, .fp = 544, .extra = 552},
    .ucontext = 128,
};
