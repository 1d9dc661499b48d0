#include "analysis/misses.h"

#include <stddef.h>

/* Which figure an event is part of. */
static const struct {
    const char *event;
    size_t figure; /* offset in struct misses_counts */
} table[] = {
    {"Ir", offsetof(struct misses_counts, instructions)},
    {"Dr", offsetof(struct misses_counts, accesses)},
    {"Dw", offsetof(struct misses_counts, accesses)},
    {"D1mr", offsetof(struct misses_counts, d1_misses)},
    {"D1mw", offsetof(struct misses_counts, d1_misses)},
    {"ILmr", offsetof(struct misses_counts, ll_misses)},
    {"DLmr", offsetof(struct misses_counts, ll_misses)},
    {"DLmw", offsetof(struct misses_counts, ll_misses)},
    {"Bc", offsetof(struct misses_counts, branches)},
    {"Bi", offsetof(struct misses_counts, branches)},
    {"Bcm", offsetof(struct misses_counts, branch_misses)},
    {"Bim", offsetof(struct misses_counts, branch_misses)},
    {"I1mr", offsetof(struct misses_counts, i1_misses)},
};

enum { EVENTS = sizeof table / sizeof *table };

static int find_type(const struct profile *p, const char *event)
{
    for (int i = 0; i < p->n_types; i++)
        if (text_is(profile_str(p, p->types[i].event), event))
            return i;
    return -1;
}

static void add(struct misses_counts *c, size_t figure, int64_t value)
{
    int64_t *sum = (int64_t *)((char *)c + figure);
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

/* The innermost function of a stack. */
static uint32_t leaf_row(const struct flat *f, struct stack_id stack)
{
    struct frame_id id = f->profile->stacks.nodes.at[stack.i].frame;
    return flat_row_of(f, id, flat_count(profile_frame(f->profile, id)) - 1);
}

static void sum_all(struct misses *c, const struct flat *f, const int *types,
                    struct misses_counts *by_row)
{
    const struct samples *s = &f->profile->samples;
    for (size_t i = 0; i < s->n; i++) {
        uint32_t row = s->stack[i].i ? leaf_row(f, s->stack[i]) : UINT32_MAX;
        for (size_t e = 0; e < EVENTS; e++) {
            int64_t value = types[e] >= 0 ? s->value[types[e]][i] : 0;
            add(&c->whole, table[e].figure, value);
            if (row != UINT32_MAX)
                add(&by_row[row], table[e].figure, value);
        }
    }
}

static bool is_over(const struct misses *c, const struct misses_counts *n, double rate,
                    double limit)
{
    return rate >= limit && (double)n->accesses >= MISSES_LEAST * (double)c->whole.accesses;
}

static void add_rows(struct misses *c, size_t n_rows, const struct misses_counts *by_row)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct misses_counts *n = &by_row[i];
        if (!n->instructions && !n->accesses && !n->branches)
            continue;
        *vec_push(&c->rows) = (struct misses_row){
            .row = i,
            .counts = *n,
            .d1_flag = c->has_data && is_over(c, n, misses_d1_rate(n), MISSES_D1_LIMIT),
            .ll_flag = c->has_ll && is_over(c, n, misses_ll_rate(n), MISSES_LL_LIMIT),
        };
    }
}

static int by_misses(const void *a, const void *b, void *functions)
{
    const struct misses_row *x = a, *y = b;
    const struct misses_counts *m = &x->counts, *n = &y->counts;
    int64_t keys[4][2] = {{m->d1_misses, n->d1_misses},
                          {m->ll_misses, n->ll_misses},
                          {m->branch_misses, n->branch_misses},
                          {m->instructions, n->instructions}};
    for (size_t i = 0; i < 4; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] > keys[i][1] ? -1 : 1;
    return strcmp(flat_name(functions, x->row).at, flat_name(functions, y->row).at);
}

struct misses misses_build(const struct flat *functions)
{
    struct misses c = {0};
    int types[EVENTS];
    for (size_t e = 0; e < EVENTS; e++)
        types[e] = find_type(functions->profile, table[e].event);
    c.has_data = types[1] >= 0 && types[3] >= 0;
    c.has_ll = c.has_data && types[0] >= 0 && types[6] >= 0;
    c.has_i1 = types[0] >= 0 && types[12] >= 0;
    c.has_branches = types[8] >= 0 && types[10] >= 0;
    if (!c.has_data && !c.has_branches)
        return c;
    autofree struct misses_counts *by_row = mem_calloc(functions->rows.n + 1, sizeof *by_row);
    sum_all(&c, functions, types, by_row);
    c.d1_flag = c.has_data && misses_d1_rate(&c.whole) >= MISSES_D1_LIMIT;
    c.ll_flag = c.has_ll && misses_ll_rate(&c.whole) >= MISSES_LL_LIMIT;
    add_rows(&c, functions->rows.n, by_row);
    if (c.rows.n)
        qsort_r(c.rows.at, c.rows.n, sizeof *c.rows.at, by_misses, (void *)functions);
    return c;
}

void misses_done(struct misses *c)
{
    vec_done(&c->rows);
}
