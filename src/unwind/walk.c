#include "unwind/walk.h"
#include "unwind/space_inner.h"

/* An address further above the copy than this is not the rest of the stack but nonsense. */
#define STACK_MAX_BYTES (UINT64_C(1) << 30)

enum { WORD = 8 };

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[UNWIND_ENDS] = {
        [UNWIND_WHOLE] = "whole",
        [UNWIND_STACK_CUT] = "stack copy too small",
        [UNWIND_NO_MAP] = "address in no mapping",
        [UNWIND_NO_RULE] = "no unwind rule and no frame pointer",
        [UNWIND_NO_SENSE] = "unwind rule leads nowhere",
        [UNWIND_DEEP] = "too deep",
    };
    return (unsigned)end < UNWIND_ENDS ? names[end] : "unknown";
}

/* --- registers --- */

static uint64_t masked(uint64_t mask, const uint64_t *values, unsigned reg)
{
    uint64_t bit = UINT64_C(1) << reg;
    return mask & bit ? values[__builtin_popcountll(mask & (bit - 1))] : 0;
}

bool unwind_regs_from_mask(uint16_t machine, uint64_t mask, const uint64_t *values,
                           struct unwind_regs *ret)
{
    const struct arch *arch = machine ? arch_find(machine) : arch_host();
    if (!arch)
        return false;
    const struct arch_regs *n = &arch->perf;
    *ret = (struct unwind_regs){.pc = masked(mask, values, n->pc),
                                .sp = masked(mask, values, n->sp),
                                .fp = masked(mask, values, n->fp),
                                .extra = masked(mask, values, n->extra)};
    for (int i = 0; i < ARCH_OTHERS && arch->perf_others; i++)
        ret->others[i] = masked(mask, values, arch->perf_others[i]);
    return mask >> n->pc & 1 && mask >> n->sp & 1;
}

void unwind_regs_from_perf(const uint64_t *values, struct unwind_regs *ret)
{
    unwind_regs_from_mask(0, unwind_perf_regs_mask, values, ret);
}

/* --- one step --- */

/* The registers that are followed from frame to frame. */
struct live {
    uint64_t pc, sp, fp, extra;
};

struct walk {
    struct unwind_space *space;
    const struct unwind_stack *stack;
    const uint64_t *others; /* as they were at the start */
    size_t n;               /* frames so far */
    struct live at;
    bool exact;    /* pc is where the thread was, not a return address */
    bool in_chain; /* the last step was by frame pointer */
};

enum { STEP_ON = -1 }; /* of a step; else it is an enum unwind_end */

static inline bool read_word(const struct walk *w, uint64_t address, uint64_t *ret)
{
    uint64_t i = address - w->stack->start;
    if (i > w->stack->n || w->stack->n - i < WORD)
        return false;
    memcpy(ret, w->stack->bytes + i, WORD);
    return true;
}

/* Why ADDRESS could not be read. */
static int unreadable(const struct walk *w, uint64_t address)
{
    return address - w->stack->start < STACK_MAX_BYTES ? UNWIND_STACK_CUT : UNWIND_NO_SENSE;
}

/* The value of a register that ROW says is saved: SAVED and AT_FP are its flags. */
static inline bool restore(const struct walk *w, unsigned saved, unsigned at_fp, uint64_t place,
                           uint64_t *reg)
{
    if (saved && place < w->at.sp)
        return true; /* an epilogue that popped it: it has the caller's value again */
    if (saved)
        return read_word(w, place, reg);
    if (at_fp)
        *reg = 0; /* lost */
    return true;
}

/* Go to the caller whose stack begins at CFA. */
static inline int to_caller(struct walk *w, const struct unwind_row *row, uint64_t cfa)
{
    const struct arch *arch = w->space->arch;
    struct live next = {.sp = cfa, .fp = w->at.fp, .extra = w->at.extra};
    uint64_t fp_at =
        (row->flags & ROW_FP_AT_FP ? w->at.fp : cfa) + (uint64_t)(row->fp_offset * WORD);
    uint64_t extra_at =
        (row->flags & ROW_EXTRA_AT_FP ? w->at.fp : cfa) + (uint64_t)(row->extra_offset * WORD);
    /* A leaf that has not touched its stack is where its caller is; only the first may be one. */
    bool grows = cfa > w->at.sp || (cfa == w->at.sp && w->exact && !arch->ra_on_stack);
    if (!grows || cfa % WORD)
        return UNWIND_NO_SENSE;
    if (!restore(w, row->flags & ROW_FP_SAVED, row->flags & ROW_FP_AT_FP, fp_at, &next.fp))
        return unreadable(w, fp_at);
    if (!restore(w, row->flags & ROW_EXTRA_SAVED, row->flags & ROW_EXTRA_AT_FP, extra_at,
                 &next.extra))
        return unreadable(w, extra_at);
    if (!arch->ra_on_stack)
        next.pc = next.extra;
    else if (!read_word(w, cfa - WORD, &next.pc))
        return unreadable(w, cfa - WORD);
    next.pc &= arch->pc_mask;
    w->at = next;
    w->exact = w->in_chain = false;
    return STEP_ON;
}

static bool is_code(struct walk *w, uint64_t return_address)
{
    return return_address && space_rule(w->space, return_address - 1)->cfa != CFA_NO_MAP;
}

/* Somewhere that a call could have come from: code that we have a rule for. */
static bool is_call_site(struct walk *w, uint64_t return_address)
{
    uint8_t cfa = return_address ? space_rule(w->space, return_address - 1)->cfa : CFA_NO_MAP;
    return cfa != CFA_NO_MAP && cfa != CFA_GAP && cfa != CFA_UNKNOWN;
}

/* The CFA lies in memory. */
static int by_deref(struct walk *w, const struct unwind_row *row, uint64_t base)
{
    uint64_t place = base + (uint64_t)(row->cfa_offset * WORD), cfa;
    if (!read_word(w, place, &cfa))
        return unreadable(w, place);
    return to_caller(w, row, cfa + (uint64_t)(row->flags >> ROW_NUMBER_SHIFT) * WORD);
}

/*
 * Assembly that keeps its stack's address in a register of its own. Calls do not preserve it in
 * general, but do between helpers of one piece of assembly: believed for the second frame as
 * well, if it leads to code with rules.
 */
static int by_other(struct walk *w, const struct unwind_row *row)
{
    uint64_t cfa = w->others[row->flags >> ROW_NUMBER_SHIFT] + (uint64_t)(row->cfa_offset * WORD);
    struct unwind_row rule = *row; /* the lookup below may put another in its place */
    uint64_t pc;
    if (w->n > 2 || !read_word(w, cfa - WORD, &pc) || !is_call_site(w, pc))
        return UNWIND_NO_SENSE;
    return to_caller(w, &rule, cfa);
}

static int by_signal(struct walk *w)
{
    const struct arch_regs *at = &w->space->arch->signal;
    uint64_t sp = w->at.sp;
    struct live next;
    if (!read_word(w, sp + at->pc, &next.pc) || !read_word(w, sp + at->sp, &next.sp) ||
        !read_word(w, sp + at->fp, &next.fp) || !read_word(w, sp + at->extra, &next.extra))
        return unreadable(w, sp + at->pc);
    w->at = next;
    w->exact = true;
    w->in_chain = false;
    return STEP_ON;
}

/* --- without a rule --- */

/* A frame of the usual form: the caller's frame pointer, then the return address. */
static int by_frame_pointer(struct walk *w)
{
    const struct arch *arch = w->space->arch;
    uint64_t fp = w->at.fp, next_fp, pc;
    if (fp == 0 && !w->exact)
        return UNWIND_WHOLE; /* the ABI's mark of the outermost frame */
    if (fp < w->at.sp || fp % WORD)
        return UNWIND_NO_RULE;
    if (!read_word(w, fp, &next_fp) || !read_word(w, fp + WORD, &pc))
        return w->in_chain ? unreadable(w, fp) : UNWIND_NO_RULE;
    pc &= arch->pc_mask;
    if (pc && !is_code(w, pc))
        return w->in_chain ? UNWIND_NO_MAP : UNWIND_NO_RULE;
    w->at = (struct live){.pc = pc, .sp = fp + 2 * WORD, .fp = next_fp};
    w->exact = false;
    w->in_chain = true;
    return STEP_ON;
}

/* A function that has pushed nothing, stopped anywhere in it: the return address comes first. */
static int by_leaf(struct walk *w)
{
    uint64_t pc = w->at.extra;
    bool on_stack = w->space->arch->ra_on_stack;
    if (!w->exact || (on_stack && !read_word(w, w->at.sp, &pc)))
        return UNWIND_NO_RULE;
    pc &= w->space->arch->pc_mask;
    if (!is_call_site(w, pc))
        return UNWIND_NO_RULE;
    w->at.pc = pc;
    w->at.sp += on_stack ? WORD : 0;
    w->exact = w->in_chain = false;
    return STEP_ON;
}

/*
 * Code in a file without a rule is hand-written assembly, mostly leaves that leave the caller's
 * frame pointer alone; code without a file was made by a JIT compiler that keeps frame pointers.
 */
static int by_guess(struct walk *w)
{
    bool jit = space_is_anonymous(w->space, w->at.pc);
    int end = jit ? by_frame_pointer(w) : by_leaf(w);
    if (end == UNWIND_NO_RULE)
        end = jit ? by_leaf(w) : by_frame_pointer(w);
    return end;
}

/* What is looked up for where we are: a return address may be the first byte of the next function.
 */
static inline uint64_t rule_pc(const struct walk *w)
{
    return w->exact ? w->at.pc : w->at.pc - 1;
}

static inline int step(struct walk *w, const struct unwind_row *row)
{
    uint64_t offset = (uint64_t)(row->cfa_offset * WORD);
    switch (row->cfa) {
    case CFA_SP:
        return to_caller(w, row, w->at.sp + offset);
    case CFA_FP:
        return to_caller(w, row, w->at.fp + offset);
    case CFA_EXTRA:
        return to_caller(w, row, w->at.extra + offset);
    case CFA_OTHER:
        return by_other(w, row);
    case CFA_SP_DEREF:
        return by_deref(w, row, w->at.sp);
    case CFA_FP_DEREF:
        return by_deref(w, row, w->at.fp);
    case CFA_PLT: {
        bool pushed = rule_pc(w) % 16 >= (uint64_t)row->cfa_offset;
        return to_caller(w, row, w->at.sp + (pushed ? 2 * WORD : WORD));
    }
    case CFA_SIGNAL:
        return by_signal(w);
    case CFA_BOTTOM:
        return UNWIND_WHOLE;
    case CFA_GAP:
    case CFA_NO_MAP:
        return by_guess(w);
    default:
        return UNWIND_NO_SENSE;
    }
}

size_t unwind_walk(struct unwind_space *s, const struct unwind_regs *regs,
                   const struct unwind_stack *stack, uint64_t *pcs, size_t max,
                   enum unwind_end *ret_end)
{
    struct walk w = {.space = s,
                     .stack = stack,
                     .others = regs->others,
                     .at = {regs->pc, regs->sp, regs->fp, regs->extra},
                     .exact = true};
    int end = STEP_ON;
    while (w.n < max && end == STEP_ON) {
        const struct unwind_row *row = space_rule(s, rule_pc(&w));
        if (!w.exact && (w.at.pc == 0 || row->cfa == CFA_NO_MAP)) {
            end = w.at.pc == 0 ? UNWIND_WHOLE : UNWIND_NO_MAP;
            break;
        }
        pcs[w.n] = w.at.pc + (w.n > 0 && w.exact);
        w.n++;
        end = step(&w, row);
    }
    *ret_end = end == STEP_ON ? UNWIND_DEEP : (enum unwind_end)end;
    return w.n;
}
