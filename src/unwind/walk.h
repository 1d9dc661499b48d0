/*
 * walk.h - from the registers and a copy of the stack to the chain of callers.
 *
 * Rules come from the tables. Where a file has none for an address (musl, hand-written assembly)
 * they are read from its code; JIT code is tried by frame pointer. Every step without a rule must
 * lead to a place that follows a call. Where nothing else helps the stack is searched for such a
 * place from which rules lead to the bottom: a stack found that way is UNWIND_GUESSED.
 *
 * A step is a lookup and two or three reads in the copy of the stack, without an allocation; rules
 * that were used last are found by address in a small table. Hand-written leaves (OpenSSL) keep
 * their stack's address in any register, so the others are asked for too, and used for the first
 * two frames only.
 *
 * A walk is whole where it meets a bottom: an undefined or zero return address, the entry point,
 * the function that starts a thread, a return address that is a function's first byte though no
 * call ends before it (coroutines), or a change to the thread's own stack in Go (gostacks.h). A
 * handler on a stack of its own ends with what it interrupted (UNWIND_ELSEWHERE), as the stack
 * below was not copied. A guess is counted and never called certain: such a stack is not
 * [unfinished], but not whole either.
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

/*
 * Whose registers MASK is about, as e_machine. perf knows 24 general registers of x86-64 and 33 of
 * AArch64, where sp and pc are the last two.
 */
uint16_t unwind_machine_of_mask(uint64_t mask);

/* The same from the third argument of a signal handler. Safe in one. */
void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret);

struct unwind_stack {
    uint64_t start; /* address of bytes[0]: the stack pointer */
    const uint8_t *bytes;
    size_t n;
    bool ends; /* there was no more in memory to copy. False where that is not known */
};

/* Why a walk ended. */
enum unwind_end {
    UNWIND_WHOLE,     /* reached the bottom: _start, clone, or a return address of 0 */
    UNWIND_STACK_CUT, /* the copy of the stack ends before the stack does */
    UNWIND_NO_MAP,    /* an address outside every mapping */
    UNWIND_NO_RULE,   /* no rule and no usable frame pointer */
    UNWIND_NO_SENSE,  /* the CFA did not grow, or a rule that cannot be followed */
    UNWIND_DEEP,      /* more frames than asked for */
    UNWIND_GUESSED,   /* reached the bottom, but over a step that no rule confirms */
    UNWIND_ELSEWHERE, /* goes on in a stack that was not copied: below a signal's own stack */
    UNWIND_ABSENT,    /* needs what comes after a copy that stopped where memory did */
    UNWIND_ENDS,
};

/* A word for people: "whole", "stack copy too small"... */
const char *unwind_end_name(enum unwind_end end);

/* Whether the frames go down to the bottom: surely (UNWIND_WHOLE) or by a guess. */
static inline bool unwind_end_is_bottom(enum unwind_end end)
{
    return end == UNWIND_WHOLE || end == UNWIND_GUESSED;
}

/*
 * Fill PCS with up to MAX addresses, innermost first. The first is regs->pc, the others are
 * return addresses as found: one past the call, so look up the byte before. To make that hold
 * for all, the address where a signal came in is given plus one, and so is the first byte of a
 * function that was put on the stack by hand (signal trampolines, bottoms of coroutines). Returns
 * how many; an address outside every mapping is not among them unless it is the first. About 10 ns
 * a frame once tables are hot.
 */
size_t unwind_walk(struct unwind_space *s, const struct unwind_regs *regs,
                   const struct unwind_stack *stack, uint64_t *pcs, size_t max,
                   enum unwind_end *ret_end);
