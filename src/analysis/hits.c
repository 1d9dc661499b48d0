#include "analysis/hits.h"

enum { NO_INSN = UINT32_MAX };

/* By frame its instruction in the listing. Free it. Code that is inlined into a hidden function is
 * at addresses of that function, and so not to be seen there either. */
static uint32_t *find_insns(const struct selection *s, const struct listing *l,
                            bool (*is_of)(const void *, struct mapping_id), const void *ctx)
{
    const struct profile *p = s->profile;
    uint32_t *insn_of = mem_calloc(p->frames.n + 1, sizeof *insn_of);
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        bool seen = f->pc && is_of(ctx, f->mapping) && !selection_hides(s, (struct frame_id){i}, 0);
        size_t at = seen ? listing_find(l, f->pc) : SIZE_MAX;
        insn_of[i] = at == SIZE_MAX ? NO_INSN : (uint32_t)at;
    }
    return insn_of;
}

/* LAST_SEEN has for each instruction the stack it was met on last, so that none counts twice. */
static void add_stack(struct hits *h, const struct profile *p, struct stack_id stack,
                      const uint32_t *insn_of, uint32_t *last_seen)
{
    for (struct stack_id at = stack; at.i; at = p->stacks.nodes.at[at.i].parent) {
        uint32_t insn = insn_of[p->stacks.nodes.at[at.i].frame.i];
        if (insn == NO_INSN || last_seen[insn] == stack.i)
            continue;
        last_seen[insn] = stack.i;
        *vec_push(&h->insns) = insn;
    }
}

static void heat_leaf(struct listing *l, const struct selection *s, struct stack_id stack,
                      const uint32_t *insn_of, int64_t value)
{
    struct stack_id leaf = selection_visible(s, stack);
    uint32_t insn = leaf.i ? insn_of[s->profile->stacks.nodes.at[leaf.i].frame.i] : NO_INSN;
    if (insn == NO_INSN)
        return;
    l->insns.at[insn].self += value;
    l->self += value;
}

static void add_totals(struct listing *l, const struct hits *h)
{
    for (size_t i = 0; i < h->stacks.n; i++)
        for (size_t k = 0; k < h->stacks.at[i].n; k++)
            l->insns.at[h->insns.at[h->stacks.at[i].first + k]].total += h->stacks.at[i].value;
}

void hits_build(struct hits *h, const struct selection *s, struct listing *l,
                bool (*is_of)(const void *ctx, struct mapping_id mapping), const void *ctx)
{
    const struct profile *p = s->profile;
    const int64_t *value = selection_values(s), *count = selection_counts(s);
    size_t n = p->stacks.nodes.n;
    *h = (struct hits){0};
    autofree int64_t *sum = mem_calloc(n + 1, sizeof *sum);
    autofree int64_t *samples = mem_calloc(n + 1, sizeof *samples);
    autofree uint32_t *insn_of = find_insns(s, l, is_of, ctx);
    autofree uint32_t *last_seen = mem_calloc(l->insns.n + 1, sizeof *last_seen);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        sum[s->stream->rows.stack[row].i] += value[row];
        samples[s->stream->rows.stack[row].i] += count ? count[row] : 0;
    }
    for (uint32_t i = 1; i < n; i++) {
        size_t first = h->insns.n;
        if (sum[i])
            add_stack(h, p, (struct stack_id){i}, insn_of, last_seen);
        if (h->insns.n == first)
            continue;
        *vec_push(&h->stacks) = (struct hits_stack){first, h->insns.n - first, sum[i]};
        h->total += sum[i];
        h->n_samples += samples[i];
        heat_leaf(l, s, (struct stack_id){i}, insn_of, sum[i]);
    }
    add_totals(l, h);
}

void hits_done(struct hits *h)
{
    vec_done(&h->insns);
    vec_done(&h->stacks);
}
