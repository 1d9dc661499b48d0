#include "unwind/walk.h"
#include "unwind/walk_inner.h"

#include <elf.h>

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[UNWIND_ENDS] = {
        [UNWIND_WHOLE] = "whole",
        [UNWIND_STACK_CUT] = "stack copy too small",
        [UNWIND_NO_MAP] = "address in no mapping",
        [UNWIND_NO_RULE] = "no unwind rule and no frame pointer",
        [UNWIND_NO_SENSE] =
            "unwind rule leads out of the stack (a wrong rule, or the program changed stacks)",
        [UNWIND_DEEP] = "too deep",
        [UNWIND_GUESSED] = "over a step that no unwind rule confirms",
        [UNWIND_ELSEWHERE] =
            "goes on in a stack that was not copied (signal handler on its own stack)",
        [UNWIND_ABSENT] = "a page of the stack was not in memory",
    };
    return (unsigned)end < UNWIND_ENDS ? names[end] : "unknown";
}

/* --- registers --- */

static uint64_t walk_masked(uint64_t mask, const uint64_t *values, unsigned reg)
{
    uint64_t bit = UINT64_C(1) << reg;
    return mask & bit ? values[__builtin_popcountll(mask & (bit - 1))] : 0;
}

uint16_t unwind_machine_of_mask(uint64_t mask)
{
    const struct arch_regs *n = &arch_aarch64.perf;
    uint64_t both = UINT64_C(1) << n->sp | UINT64_C(1) << n->pc;
    return (mask & both) == both ? EM_AARCH64 : EM_X86_64;
}

bool unwind_regs_from_mask(uint16_t machine, uint64_t mask, const uint64_t *values,
                           struct unwind_regs *ret)
{
    const struct arch *arch = machine ? arch_find(machine) : arch_host();
    if (!arch)
        return false;
    const struct arch_regs *n = &arch->perf;
    *ret = (struct unwind_regs){.pc = walk_masked(mask, values, n->pc),
                                .sp = walk_masked(mask, values, n->sp),
                                .fp = walk_masked(mask, values, n->fp),
                                .extra = walk_masked(mask, values, n->extra)};
    for (int i = 0; i < ARCH_OTHERS && arch->perf_others; i++)
        ret->others[i] = walk_masked(mask, values, arch->perf_others[i]);
    return mask >> n->pc & 1 && mask >> n->sp & 1;
}

void unwind_regs_from_perf(const uint64_t *values, struct unwind_regs *ret)
{
    unwind_regs_from_mask(0, unwind_perf_regs_mask, values, ret);
}

/* --- one step --- */

/* What the kernel puts on the stack for a signal: registers, AVX-512 and AMX ones too. */
enum { SIGNAL_FRAME_MAX_BYTES = 32 << 10 };

/* The value of a register that ROW says is saved: SAVED and AT_FP are its flags. */
static inline bool restore(const struct walk *w, unsigned saved, unsigned at_fp, uint64_t place,
                           uint64_t *reg)
{
    if (saved && place < w->at.sp)
        return true; /* an epilogue that popped it: it has the caller's value again */
    if (saved)
        return walk_read(w, place, reg);
    if (at_fp)
        *reg = 0; /* lost */
    return true;
}

/* Go to the caller whose stack begins at CFA. */
static inline int walk_to_caller(struct walk *w, const struct unwind_row *row, uint64_t cfa)
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
        return walk_unreadable(w, fp_at);
    if (!restore(w, row->flags & ROW_EXTRA_SAVED, row->flags & ROW_EXTRA_AT_FP, extra_at,
                 &next.extra))
        return walk_unreadable(w, extra_at);
    if (!arch->ra_on_stack)
        next.pc = next.extra;
    else if (!walk_read(w, cfa - WORD, &next.pc))
        return walk_unreadable(w, cfa - WORD);
    next.pc &= arch->pc_mask;
    w->at = next;
    w->exact = w->in_chain = false;
    return STEP_ON;
}

/* Somewhere that a call could have come from: code that we have a rule for. */
static bool is_call_site(struct walk *w, uint64_t return_address)
{
    uint8_t cfa = return_address ? space_rule(w->space, return_address - 1)->cfa : CFA_NO_MAP;
    return !(cfa & ~CFA_KIND) && cfa != CFA_NO_MAP && cfa != CFA_GAP && cfa != CFA_UNKNOWN;
}

/* The CFA lies in memory. */
static int by_deref(struct walk *w, const struct unwind_row *row, uint64_t base)
{
    uint64_t place = base + (uint64_t)(row->cfa_offset * WORD), cfa;
    if (!walk_read(w, place, &cfa))
        return walk_unreadable(w, place);
    return walk_to_caller(w, row, cfa + (uint64_t)(row->flags >> ROW_NUMBER_SHIFT) * WORD);
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
    if (w->n > 2 || !walk_read(w, cfa - WORD, &pc) || !is_call_site(w, pc))
        return UNWIND_NO_SENSE;
    return walk_to_caller(w, &rule, cfa);
}

/* vfork: the child shares the stack, so its return address waits in a register. */
static int by_ra_register(struct walk *w, const struct unwind_row *row)
{
    uint64_t pc = w->others[row->flags >> ROW_NUMBER_SHIFT];
    uint64_t sp = w->at.sp + (uint64_t)(row->cfa_offset * WORD);
    if (w->n > 1 || !is_call_site(w, pc))
        return UNWIND_NO_SENSE;
    w->at.pc = pc;
    w->at.sp = sp;
    w->exact = w->in_chain = false;
    return STEP_ON;
}

/* The frame at hand is the first byte of a function, and not what follows a call. */
static void tell_start(struct walk *w)
{
    if (w->pcs && !w->exact)
        w->pcs[w->n - 1]++;
}

/* The kernel puts a signal's frame below what it interrupts, or on a stack of its own. */
static int by_signal(struct walk *w)
{
    const struct arch_regs *at = &w->space->arch->signal;
    uint64_t sp = w->at.sp, first;
    struct live next;
    if (!walk_read(w, sp + at->pc, &next.pc) || !walk_read(w, sp + at->sp, &next.sp) ||
        !walk_read(w, sp + at->fp, &next.fp) || !walk_read(w, sp + at->extra, &next.extra))
        return walk_unreadable(w, sp + at->pc);
    tell_start(w);
    w->elsewhere |= next.sp - sp > SIGNAL_FRAME_MAX_BYTES && !walk_read(w, next.sp, &first);
    w->at = next;
    w->exact = true;
    w->in_chain = false;
    return STEP_ON;
}

/* The byte after the one that was looked up may be a function's first: see CFA_PLANTED. */
static int by_planted(struct walk *w, const struct unwind_row *row)
{
    struct unwind_row rest = *row;
    rest.cfa &= CFA_KIND;
    if (w->exact)
        return walk_step(w, &rest);
    if (!(row->cfa & CFA_PLANTED))
        return by_signal(w);
    tell_start(w);
    return UNWIND_WHOLE;
}

__attribute__((always_inline)) static inline int step(struct walk *w, const struct unwind_row *row)
{
    uint64_t offset = (uint64_t)(row->cfa_offset * WORD);
    switch (row->cfa) {
    case CFA_SP:
        return walk_to_caller(w, row, w->at.sp + offset);
    case CFA_FP:
        return walk_to_caller(w, row, w->at.fp + offset);
    case CFA_EXTRA:
        return walk_to_caller(w, row, w->at.extra + offset);
    case CFA_OTHER:
        return by_other(w, row);
    case CFA_SP_DEREF:
        return by_deref(w, row, w->at.sp);
    case CFA_FP_DEREF:
        return by_deref(w, row, w->at.fp);
    case CFA_PLT: {
        bool pushed = walk_rule_pc(w) % 16 >= (uint64_t)row->cfa_offset;
        return walk_to_caller(w, row, w->at.sp + (pushed ? 2 * WORD : WORD));
    }
    case CFA_SIGNAL:
        return by_signal(w);
    case CFA_BOTTOM:
        return UNWIND_WHOLE;
    case CFA_RA_OTHER:
        return by_ra_register(w, row);
    case CFA_GAP:
    case CFA_NO_MAP:
        return walk_guess(w);
    default:
        return row->cfa & ~CFA_KIND ? by_planted(w, row) : UNWIND_NO_SENSE;
    }
}

int walk_step(struct walk *w, const struct unwind_row *row)
{
    return step(w, row);
}

/* Whether the very first rule led nowhere. One rule for a whole interpreter is not exact
 * everywhere. */
static bool is_misled(const struct walk *w, int end)
{
    return w->n == 1 && end == UNWIND_NO_MAP;
}

/* Begin again, without the rule. */
static int without_rule(struct walk *w, const struct unwind_regs *regs)
{
    w->at = (struct live){regs->pc, regs->sp, regs->fp, regs->extra};
    w->exact = true;
    w->guessed = true;
    w->in_chain = w->elsewhere = false;
    return walk_guess(w);
}

static enum unwind_end end_of(const struct walk *w, int end)
{
    if (end == UNWIND_WHOLE)
        return w->guessed ? UNWIND_GUESSED : UNWIND_WHOLE;
    if (end == STEP_ON)
        return UNWIND_DEEP;
    return w->elsewhere ? UNWIND_ELSEWHERE : (enum unwind_end)end;
}

size_t unwind_walk(struct unwind_space *s, const struct unwind_regs *regs,
                   const struct unwind_stack *stack, uint64_t *pcs, size_t max,
                   enum unwind_end *ret_end)
{
    struct walk w = {.space = s,
                     .stack = stack,
                     .others = regs->others,
                     .pcs = pcs,
                     .at = {regs->pc, regs->sp, regs->fp, regs->extra},
                     .exact = true};
    int end = STEP_ON;
    while (w.n < max && end == STEP_ON) {
        const struct unwind_row *row = space_rule(s, walk_rule_pc(&w));
        if (walk_ends(&w, row, &end)) {
            if (!is_misled(&w, end) || w.guessed)
                break;
            end = without_rule(&w, regs);
            continue;
        }
        pcs[w.n] = w.at.pc + (w.n > 0 && w.exact);
        w.n++;
        end = step(&w, row);
    }
    *ret_end = end_of(&w, end);
    return w.n;
}
