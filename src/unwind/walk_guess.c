/*
 * walk_guess.c - steps where no unwind rule is known: code without .eh_frame, and JIT code.
 *
 * In the order of trust: the code itself says where its return address is; frame pointers; a leaf
 * that has pushed nothing; at last a search of the stack. A step is only ever taken to what
 * follows a call instruction, or to JIT code, whose bytes are not at hand.
 */
#include "unwind/epilogue.h"
#include "unwind/walk_inner.h"

enum {
    SEARCH_WORDS =
        256, /* frames of code without rules are small: musl's largest common one is 1 KB */
    TRIES_MAX = 16,
    TRY_STEPS_MAX = 512,
};

enum from { FROM_NOTHING, FROM_JIT, FROM_KERNEL, FROM_CALL };

/* What may return to ADDRESS. A function's first byte is on many a stack, but as a pointer. */
static enum from returns_from(struct walk *w, uint64_t address)
{
    uint8_t cfa = address ? space_rule(w->space, address - 1)->cfa : CFA_NO_MAP;
    if (cfa == CFA_NO_MAP)
        return FROM_NOTHING;
    if (space_before(w->space, address) == BEFORE_CALL)
        return FROM_CALL;
    if (cfa == CFA_SIGNAL || cfa & CFA_PLANTED_TRAMPOLINE)
        return FROM_KERNEL;
    return space_is_anonymous(w->space, address - 1) ? FROM_JIT : FROM_NOTHING;
}

static bool is_code(struct walk *w, uint64_t address)
{
    return address && space_rule(w->space, address - 1)->cfa != CFA_NO_MAP;
}

/* A system call may be a function's last instruction: then the address after it is in no function.
 */
static bool is_after_last_syscall(struct walk *w, struct unwind_row *ret)
{
    if (!w->exact || !w->at.pc)
        return false;
    *ret = *space_rule(w->space, w->at.pc - 1);
    ret->cfa &= CFA_KIND;
    return ret->cfa != CFA_GAP && ret->cfa != CFA_NO_MAP &&
           space_before(w->space, w->at.pc) == BEFORE_SYSCALL;
}

/* Whether ROW leads to a return address; *RET_END says why that could not be read. */
static bool fits(struct walk *w, const struct unwind_row *row, int *ret_end)
{
    uint64_t cfa = (row->cfa == CFA_FP ? w->at.fp : w->at.sp) + (uint64_t)(row->cfa_offset * WORD);
    uint64_t pc;
    if (row->cfa != CFA_SP && row->cfa != CFA_FP)
        return false;
    if (walk_read(w, cfa - WORD, &pc))
        return returns_from(w, pc) != FROM_NOTHING;
    if (row->cfa == CFA_SP)
        *ret_end = walk_unreadable(w, cfa - WORD);
    return false;
}

/* A frame of the usual form: the caller's frame pointer, then the return address. */
static int by_frame_pointer(struct walk *w)
{
    const struct arch *arch = w->space->arch;
    uint64_t fp = w->at.fp, next_fp, pc;
    if (fp == 0 && w->in_chain)
        return UNWIND_WHOLE; /* the ABI's mark of the outermost frame */
    if (fp < w->at.sp || fp % WORD)
        return UNWIND_NO_RULE;
    if (!walk_read(w, fp, &next_fp) || !walk_read(w, fp + WORD, &pc))
        return w->in_chain ? walk_unreadable(w, fp) : UNWIND_NO_RULE;
    pc &= arch->pc_mask;
    bool outermost = next_fp == 0 && is_code(w, pc); /* Go plants the caller of a goroutine */
    if (pc && !outermost && returns_from(w, pc) == FROM_NOTHING)
        return w->in_chain ? UNWIND_NO_MAP : UNWIND_NO_RULE;
    w->guessed |= !outermost && arch->ra_on_stack && !space_is_anonymous(w->space, w->at.pc);
    w->at = (struct live){.pc = pc, .sp = fp + 2 * WORD, .fp = next_fp};
    w->exact = false;
    w->in_chain = true;
    return STEP_ON;
}

/*
 * The code says that nothing called it. So does code that takes a number of arguments off the stack
 * that only it knows, as V8's builtins do: that has a frame of the usual form on the same stack.
 */
static int by_end(struct walk *w, const struct unwind_row *bottom)
{
    struct walk before = *w;
    if (by_frame_pointer(w) == STEP_ON)
        return STEP_ON;
    *w = before;
    return walk_step(w, bottom);
}

/* By what the code does up to its ret. UNWIND_NO_RULE where that does not fit the stack. */
static int by_code(struct walk *w)
{
    struct unwind_row rows[EPILOGUE_ROWS];
    int end = UNWIND_NO_RULE;
    space_code_rows(w->space, w->at.pc, rows);
    if (rows[0].cfa == CFA_SIGNAL)
        return walk_step(w, &rows[0]);
    if (rows[0].cfa == CFA_BOTTOM && !w->exact)
        return by_end(w, &rows[0]);
    bool first = fits(w, &rows[0], &end), second = fits(w, &rows[1], &end);
    if (first != second)
        return walk_step(w, &rows[second]);
    return end;
}

/* A function that has pushed nothing, stopped anywhere in it: the return address comes first. */
static int by_leaf(struct walk *w)
{
    uint64_t pc = w->at.extra;
    bool on_stack = w->space->arch->ra_on_stack;
    if (!w->exact || (on_stack && !walk_read(w, w->at.sp, &pc)))
        return UNWIND_NO_RULE;
    pc &= w->space->arch->pc_mask;
    if (returns_from(w, pc) != FROM_CALL)
        return UNWIND_NO_RULE;
    w->guessed |= on_stack;
    w->at.pc = pc;
    w->at.sp += on_stack ? WORD : 0;
    w->exact = w->in_chain = false;
    return STEP_ON;
}

/* --- search --- */

/* Whether rules lead from W to the bottom. */
static bool reaches_bottom(struct walk w)
{
    int end = STEP_ON;
    for (int i = 0; i < TRY_STEPS_MAX && end == STEP_ON; i++) {
        const struct unwind_row *row = space_rule(w.space, walk_rule_pc(&w));
        if (walk_ends(&w, row, &end))
            break;
        w.n++;
        end = walk_step(&w, row);
    }
    return end == UNWIND_WHOLE;
}

/* Functions that save the frame pointer do so first: it then lies below the return address. */
static uint64_t likely_fp(const struct walk *w, uint64_t place)
{
    uint64_t saved;
    if (walk_read(w, place - WORD, &saved) && saved > place &&
        saved - w->stack->start < w->stack->n)
        return saved;
    return w->at.fp > place ? w->at.fp : 0;
}

/*
 * A function that does not return, called by what the kernel starts programs and threads with: the
 * C library's own, which calls main. That is no guess.
 */
static bool is_first_function(struct walk *w, const struct walk *caller)
{
    struct unwind_row code[EPILOGUE_ROWS], above[EPILOGUE_ROWS];
    space_code_rows(w->space, w->at.pc, code);
    space_code_rows(w->space, caller->at.pc, above);
    return code[0].cfa == CFA_UNKNOWN && code[0].flags == EPILOGUE_NEVER &&
           (space_rule(w->space, caller->at.pc - 1)->cfa == CFA_BOTTOM ||
            above[0].cfa == CFA_BOTTOM);
}

/* The nearest word that follows a call and from where the rest of the walk fits. */
static int by_search(struct walk *w)
{
    uint64_t pc;
    int tries = 0;
    if (!w->pcs) /* a guess is being checked: none on top of it */
        return UNWIND_NO_RULE;
    for (uint64_t i = 0; i < SEARCH_WORDS && tries < TRIES_MAX; i++) {
        uint64_t place = w->at.sp + i * WORD;
        if (!walk_read(w, place, &pc))
            break;
        if (pc < 4096 || returns_from(w, pc) != FROM_CALL)
            continue;
        struct walk next = *w;
        next.at = (struct live){pc, place + WORD, likely_fp(w, place), w->at.extra};
        next.exact = next.in_chain = false;
        next.pcs = NULL;
        tries++;
        if (!reaches_bottom(next))
            continue;
        next.guessed |= tries > 1 || !is_first_function(w, &next);
        next.pcs = w->pcs;
        *w = next;
        return STEP_ON;
    }
    return UNWIND_NO_RULE;
}

/*
 * Code in a file without a rule is hand-written assembly or a library without rules, which uses
 * the frame pointer as it likes; code without a file was made by a JIT compiler, and most of those
 * keep frame pointers.
 */
int walk_guess(struct walk *w)
{
    struct unwind_row row;
    if (is_after_last_syscall(w, &row))
        return walk_step(w, &row);
    bool jit = space_is_anonymous(w->space, w->at.pc);
    int end = jit ? by_frame_pointer(w) : by_code(w);
    if (end == UNWIND_NO_RULE)
        end = by_leaf(w);
    if (end == UNWIND_NO_RULE && !jit)
        end = by_frame_pointer(w);
    return end == UNWIND_NO_RULE && w->at.sp % WORD == 0 ? by_search(w) : end;
}
