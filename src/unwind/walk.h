/*
 * walk.h - from the registers and a copy of the stack to the chain of callers.
 *
 * Rules come from the tables; where a file has no rule for an address (JIT code, hand-written
 * assembly) the frame pointer is tried, with every step checked against the stack's bounds.
 */
#pragma once
#include "unwind/space.h"

struct unwind_regs {
    uint64_t pc, sp, fp;
    uint64_t extra; /* rbx on x86-64, lr on aarch64; 0 where it is not known */
    /* x86-64's general registers by DWARF number, for leaves in assembly; 0 where not known. */
    uint64_t others[16];
};

/*
 * Which of perf's user registers to ask for on this machine, and how to take them from a sample
 * that was recorded with this mask.
 */
extern const uint64_t unwind_perf_regs_mask;
void unwind_regs_from_perf(const uint64_t *values, struct unwind_regs *ret);

/*
 * The same from a sample with any mask of a machine (ELF's e_machine; 0: this one). VALUES has one
 * for each bit, the lowest first. False when pc or sp are not among them.
 */
bool unwind_regs_from_mask(uint16_t machine, uint64_t mask, const uint64_t *values,
                           struct unwind_regs *ret);

/* The same from the third argument of a signal handler. Safe in one. */
void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret);

struct unwind_stack {
    uint64_t start; /* address of bytes[0]: the stack pointer */
    const uint8_t *bytes;
    size_t n;
};

/* Why a walk ended. */
enum unwind_end {
    UNWIND_WHOLE,     /* reached the bottom: _start, clone, or a return address of 0 */
    UNWIND_STACK_CUT, /* the copy of the stack ends before the stack does */
    UNWIND_NO_MAP,    /* an address outside every mapping */
    UNWIND_NO_RULE,   /* no rule and no usable frame pointer */
    UNWIND_NO_SENSE,  /* the CFA did not grow, or a rule that cannot be followed */
    UNWIND_DEEP,      /* more frames than asked for */
    UNWIND_ENDS,
};

/* A word for people: "whole", "stack copy too small"... */
const char *unwind_end_name(enum unwind_end end);

/*
 * Fill PCS with up to MAX addresses, innermost first. The first is regs->pc, the others are
 * return addresses as found: one past the call, so look up the byte before. To make that hold
 * for all, the address where a signal came in is given plus one. Returns how many; an address
 * outside every mapping is not among them unless it is the first. About 10 ns a frame once
 * tables are hot.
 */
size_t unwind_walk(struct unwind_space *s, const struct unwind_regs *regs,
                   const struct unwind_stack *stack, uint64_t *pcs, size_t max,
                   enum unwind_end *ret_end);
