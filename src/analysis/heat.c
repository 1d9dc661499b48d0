#include "analysis/heat.h"

static int by_place(const void *a, const void *b)
{
    const struct heat_spot *x = a, *y = b;
    if (x->mapping.i != y->mapping.i)
        return x->mapping.i < y->mapping.i ? -1 : 1;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void heat_merge(struct heat *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->spots.n; i++) {
        if (n && by_place(&h->spots.at[n - 1], &h->spots.at[i]) == 0)
            h->spots.at[n - 1].self += h->spots.at[i].self;
        else
            h->spots.at[n++] = h->spots.at[i];
    }
    h->spots.n = n;
}

/* For each mapping the first one of the same file: processes may have it at several places. */
static uint32_t *first_of_file(const struct profile *p)
{
    struct idmap map = {0};
    uint32_t *first = mem_calloc(p->mappings.n + 1, sizeof *first);
    for (uint32_t i = 0; i < p->mappings.n; i++) {
        const struct mapping *m = &p->mappings.at[i];
        uint32_t hash = hash_pair(m->path.i, m->build_id.i);
        first[i] = i;
        for_each_match (&map, hash, k) {
            const struct mapping *other = &p->mappings.at[k];
            if (other->path.i == m->path.i && other->build_id.i == m->build_id.i)
                first[i] = k;
        }
        if (first[i] == i)
            idmap_add(&map, hash, i);
    }
    idmap_done(&map);
    return first;
}

void heat_build(struct heat *h, const struct selection *s)
{
    const struct profile *p = s->profile;
    const int64_t *value = selection_values(s);
    *h = (struct heat){.total = s->total};
    autofree int64_t *by_frame = mem_calloc(p->frames.n + 1, sizeof *by_frame);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        struct stack_id stack = selection_visible(s, s->stream->rows.stack[row]);
        if (stack.i)
            by_frame[p->stacks.nodes.at[stack.i].frame.i] += value[row];
        else
            h->no_address += value[row];
    }
    autofree uint32_t *first = first_of_file(p);
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        if (by_frame[i] && f->pc && f->kind != FRAME_KERNEL && f->kind != FRAME_JIT)
            *vec_push(&h->spots) = (struct heat_spot){{first[f->mapping.i]}, f->pc, by_frame[i]};
        else
            h->no_address += by_frame[i];
    }
    if (h->spots.n)
        qsort(h->spots.at, h->spots.n, sizeof *h->spots.at, by_place);
    heat_merge(h);
}

void heat_done(struct heat *h)
{
    vec_done(&h->spots);
}
