/*
 * walk.h - from the registers and a copy of the stack to the chain of callers.
 *
 * Rules come from the tables; where a file has no rule for an address (JIT code, hand-written
 * assembly) the frame pointer is tried, with every step checked against the stack's bounds.
 */
#pragma once
#include "unwind/space.h"

struct unwind_regs {
    uint64_t pc, sp, fp, lr; /* lr: aarch64 only */
};

/* Which of perf's user registers to ask for, and how to take them from a sample. x86-64 here. */
extern const uint64_t unwind_perf_regs_mask;
void unwind_regs_from_perf(const uint64_t *values, struct unwind_regs *ret);

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
 * Fill PCS with up to MAX addresses, innermost first; return addresses are as found (one past
 * the call: look up the byte before). Returns how many. About 50 ns a frame once tables are hot.
 */
size_t unwind_walk(struct unwind_space *s, const struct unwind_regs *regs,
                   const struct unwind_stack *stack, uint64_t *pcs, size_t max,
                   enum unwind_end *ret_end);
