/*
 * arch.h - all that the unwinder knows about a processor.
 *
 * Besides pc, sp and fp one more register is followed, the "extra" one: the link register where
 * there is one; on x86-64 rbx, from which ld.so's lazy binding finds its stack again.
 *
 * One file for each processor has its register numbers and the layout of its signal frame.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct unwind_regs;

/* A number for each register that is followed. */
struct arch_regs {
    uint16_t pc, sp, fp, extra;
};

enum { ARCH_OTHERS = 16 };

struct arch {
    uint16_t machine;        /* ELF's e_machine */
    bool ra_on_stack;        /* a call pushes the return address: it is at CFA - 8; else: extra */
    uint64_t pc_mask;        /* what is left of a return address without its signature */
    struct arch_regs dwarf;  /* numbers in unwind rules; pc is the return address's column */
    struct arch_regs perf;   /* numbers in perf's mask of user registers */
    struct arch_regs signal; /* byte offsets from sp in a signal frame, at its return address */
    uint16_t ucontext;       /* byte offset of the ucontext in the same frame */
    /* General registers by DWARF number, for rules of hand-written leaves; NULL for none. */
    const uint8_t *perf_others;    /* ARCH_OTHERS numbers in perf's mask */
    const uint16_t *signal_others; /* ARCH_OTHERS byte offsets, as in signal */
};

extern const struct arch arch_x86_64, arch_aarch64;

/* By ELF's e_machine; NULL for those we do not know. */
const struct arch *arch_find(uint16_t machine);

/* The one this program was built for. */
const struct arch *arch_host(void);
