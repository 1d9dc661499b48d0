/* insight_code.c - rules about the instructions of hot functions. */
#include "analysis/insight_inner.h"

/* Whether the leaf of a stack is an address of the function C. */
static bool runs_in(const struct flat *f, struct stack_id stack, const struct simd_row *c)
{
    const struct profile *p = f->profile;
    struct stack_id at = selection_visible(f->selection, stack);
    if (!at.i)
        return false;
    const struct mapping *file = &p->mappings.at[c->mapping.i];
    const struct frame *frame = profile_frame(p, p->stacks.nodes.at[at.i].frame);
    const struct mapping *m = &p->mappings.at[frame->mapping.i];
    return frame->kind != FRAME_KERNEL && frame->pc - c->start < c->size_bytes &&
           m->path.i == file->path.i && m->build_id.i == file->build_id.i;
}

/* Mark what was spent at the addresses of one function, whatever was inlined there. */
static void mark_code(const struct flat *f, const struct simd_row *c, bool *marked)
{
    for (uint32_t i = 1; i < f->profile->stacks.nodes.n; i++)
        marked[i] |= runs_in(f, (struct stack_id){i}, c);
}

/*
 * What the tables call the function: its symbol may be another of several names for the address,
 * and two names would be two functions to a reader.
 */
static struct text name_of_code(const struct flat *f, const struct simd_row *c)
{
    const struct profile *p = f->profile;
    for (uint32_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_id stack = {i};
        if (!runs_in(f, stack, c))
            continue;
        struct stack_id at = selection_visible(f->selection, stack);
        uint32_t row = flat_row_of(f, p->stacks.nodes.at[at.i].frame, 0);
        if (row != FLAT_NOBODY)
            return flat_name(f, row);
    }
    return text_of(c->name);
}

/* --- compiled without optimization --- */

/* From this share on it is reported before anything else. */
#define LEAST_UNOPTIMISED 0.1

bool insight_is_unoptimised(const struct insight_input *in, struct flat_share *ret_share,
                            const struct simd_row **ret_most)
{
    const struct flat *f = in->functions;
    const struct simd_row *most = NULL;
    autofree bool *marked = mem_calloc(f->profile->stacks.nodes.n, sizeof *marked);
    for (size_t i = 0; i < in->n_code; i++) {
        if (!in->code[i].unoptimised)
            continue;
        mark_code(f, &in->code[i], marked);
        most = most ? most : &in->code[i];
    }
    if (!most)
        return false;
    struct flat_share s = flat_share_of_stacks(f, marked);
    if (ret_share)
        *ret_share = s;
    if (ret_most)
        *ret_most = most;
    return insight_surely(f, &s) >= LEAST_UNOPTIMISED;
}

INSIGHT_TEST(insight_test_unoptimised)
{
    (void)self;
    struct flat_share s;
    const struct simd_row *most;
    if (!insight_is_unoptimised(in, &s, &most))
        return false;
    insight_share(&ret->evidence, &s);
    buf_str(&ret->evidence, " goes to code compiled without optimization, mostly ");
    insight_name(&ret->evidence, name_of_code(in->functions, most));
    return true;
}

/* --- loops that could use vectors --- */

INSIGHT_TEST(insight_test_scalar)
{
    char what[32];
    const struct flat *f = in->functions;
    size_t n = 0, n_stacks = f->profile->stacks.nodes.n;
    bool *all = mem_calloc(n_stacks, sizeof *all);
    for (size_t i = 0; i < in->n_code; i++) {
        const struct simd_row *c = &in->code[i];
        autofree bool *marked = mem_calloc(n_stacks, sizeof *marked);
        if (!simd_is_candidate(&c->hot) || c->unoptimised ||
            profile_is_runtime(f->profile, c->mapping)) /* nobody recompiles these for a loop */
            continue;
        mark_code(f, c, marked);
        struct flat_share s = flat_share_of_stacks(f, marked);
        if (insight_surely(f, &s) < self->least)
            continue;
        buf_str(&ret->evidence, n++ ? ", " : "loops of ");
        insight_name(&ret->evidence, name_of_code(f, c));
        buf_str(&ret->evidence, " (");
        insight_share(&ret->evidence, &s);
        buf_printf(&ret->evidence, ", %s)", simd_describe(&c->hot, what));
        mark_code(f, c, all);
    }
    buf_str(&ret->evidence, n ? " compute one number at a time" : "");
    ret->stacks = n ? all : NULL;
    if (!n)
        free(all);
    return n > 0;
}
