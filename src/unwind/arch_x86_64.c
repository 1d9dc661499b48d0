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

/* rax rdx rcx rbx rsi rdi rbp rsp r8 .. r15 */
static const uint8_t perf_others[ARCH_OTHERS] = {0,  3,  2,  1,  4,  5,  6,  7,
                                                 16, 17, 18, 19, 20, 21, 22, 23};
static const uint16_t signal_others[ARCH_OTHERS] = {144, 136, 152, 128, 112, 104, 120, 160,
                                                    40,  48,  56,  64,  72,  80,  88,  96};

const struct arch arch_x86_64 = {
    .machine = EM_X86_64,
    .ra_on_stack = true,
    .pc_mask = UINT64_MAX,
    .dwarf = {.pc = 16, .sp = 7, .fp = 6, .extra = 3},
    .perf = {.pc = 8, .sp = 7, .fp = 6, .extra = 1},
    .signal = {.pc = 168, .sp = 160, .fp = 120, .extra = 128},
    .ucontext = 0,
    .perf_others = perf_others,
    .signal_others = signal_others,
};
