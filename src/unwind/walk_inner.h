/*
 * walk_inner.h - a walk on its way, shared by the steps that have a rule and those that have none.
 */
#pragma once
#include "unwind/space_inner.h"
#include "unwind/walk.h"

/* The registers that are followed from frame to frame. */
struct live {
    uint64_t pc, sp, fp, extra;
};

struct walk {
    struct unwind_space *space;
    const struct unwind_stack *stack;
    const uint64_t *others; /* as they were at the start */
    uint64_t *pcs;          /* the frames so far; NULL while a guess is checked */
    size_t n;               /* how many */
    struct live at;
    bool exact;     /* pc is where the thread was, not a return address */
    bool in_chain;  /* the last step was by frame pointer */
    bool elsewhere; /* a signal came in on a stack that was not copied */
    bool guessed;   /* a step rests on a guess that was checked, not on a rule */
};

enum { STEP_ON = -1 }; /* of a step; else it is an enum unwind_end */
enum { WORD = 8 };

/* An address further above the copy than this is not the rest of the stack but nonsense. */
#define STACK_MAX_BYTES (UINT64_C(1) << 30)

static inline bool walk_read(const struct walk *w, uint64_t address, uint64_t *ret)
{
    uint64_t i = address - w->stack->start;
    if (i > w->stack->n || w->stack->n - i < WORD)
        return false;
    memcpy(ret, w->stack->bytes + i, WORD);
    return true;
}

/* Pages that were never touched lie no further above the copy: as large as a stack usually is. */
enum { ABSENT_MAX_BYTES = 8 << 20, ABSENT_PAGE_BYTES = 4096 };

/* Why ADDRESS could not be read. */
static inline int walk_unreadable(const struct walk *w, uint64_t address)
{
    uint64_t end = w->stack->start + w->stack->n;
    if (address - w->stack->start >= STACK_MAX_BYTES)
        return UNWIND_NO_SENSE;
    if (!w->stack->ends)
        return UNWIND_STACK_CUT;
    return end % ABSENT_PAGE_BYTES == 0 && address - end < ABSENT_MAX_BYTES ? UNWIND_ABSENT
                                                                            : UNWIND_NO_SENSE;
}

/* What is looked up for where we are: a return address may be the first byte of the next function.
 */
static inline uint64_t walk_rule_pc(const struct walk *w)
{
    return w->exact ? w->at.pc : w->at.pc - 1;
}

/* One step by ROW. */
int walk_step(struct walk *w, const struct unwind_row *row);

/* One step where there is no rule (walk_guess.c). */
int walk_guess(struct walk *w);

/* Whether a return address is 0 or in no mapping: *RET_END then says what that means. */
static inline bool walk_ends(const struct walk *w, const struct unwind_row *row, int *ret_end)
{
    if (w->exact || (w->at.pc != 0 && row->cfa != CFA_NO_MAP))
        return false;
    *ret_end = w->at.pc == 0 ? UNWIND_WHOLE : UNWIND_NO_MAP;
    return true;
}
