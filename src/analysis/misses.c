#include "analysis/misses.h"

#include <stddef.h>

/* Which sum a figure is part of: an offset in struct misses_counts. */
static const size_t part_of[SIMULATED_FIGURES] = {
    [SIMULATED_INSTRUCTIONS] = offsetof(struct misses_counts, instructions),
    [SIMULATED_READS] = offsetof(struct misses_counts, accesses),
    [SIMULATED_WRITES] = offsetof(struct misses_counts, accesses),
    [SIMULATED_I1_MISSES] = offsetof(struct misses_counts, i1_misses),
    [SIMULATED_D1_READ_MISSES] = offsetof(struct misses_counts, d1_misses),
    [SIMULATED_D1_WRITE_MISSES] = offsetof(struct misses_counts, d1_misses),
    [SIMULATED_LL_CODE_MISSES] = offsetof(struct misses_counts, ll_misses),
    [SIMULATED_LL_READ_MISSES] = offsetof(struct misses_counts, ll_misses),
    [SIMULATED_LL_WRITE_MISSES] = offsetof(struct misses_counts, ll_misses),
    [SIMULATED_BRANCHES] = offsetof(struct misses_counts, branches),
    [SIMULATED_JUMPS] = offsetof(struct misses_counts, branches),
    [SIMULATED_BRANCH_MISSES] = offsetof(struct misses_counts, branch_misses),
    [SIMULATED_JUMP_MISSES] = offsetof(struct misses_counts, branch_misses),
};

static void misses_add_count(struct misses_counts *c, size_t figure, int64_t value)
{
    int64_t *sum = (int64_t *)((char *)c + figure);
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

/* The innermost function of a stack; FLAT_NOBODY where there is none to be seen. */
static uint32_t leaf_row(const struct flat *f, struct stack_id stack)
{
    stack = selection_visible(f->selection, stack);
    return stack.i ? flat_leaf_of(f, f->profile->stacks.nodes.at[stack.i].frame) : FLAT_NOBODY;
}

static void sum_all(struct misses *c, const struct flat *f, const int *types,
                    struct misses_counts *by_row)
{
    const struct rows *rows = &f->selection->stream->rows;
    for (size_t i = 0; i < f->selection->n_rows; i++) {
        size_t at = selection_row(f->selection, i);
        uint32_t row = leaf_row(f, rows->stack[at]);
        for (int e = SIMULATED_OTHER + 1; e < SIMULATED_FIGURES; e++) {
            int64_t value = types[e] >= 0 ? rows->value[types[e]][at] : 0;
            misses_add_count(&c->whole, part_of[e], value);
            if (row != FLAT_NOBODY)
                misses_add_count(&by_row[row], part_of[e], value);
        }
    }
}

static bool is_over(const struct misses *c, const struct misses_counts *n, double rate,
                    double limit)
{
    return rate >= limit && (double)n->accesses >= MISSES_LEAST * (double)c->whole.accesses;
}

static void misses_add_rows(struct misses *c, size_t n_rows, const struct misses_counts *by_row)
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
    int types[SIMULATED_FIGURES];
    for (int e = 0; e < SIMULATED_FIGURES; e++)
        types[e] =
            simulated_find(functions->profile, functions->selection->stream, (enum simulated)e);
    bool has_ir = types[SIMULATED_INSTRUCTIONS] >= 0;
    c.has_data = types[SIMULATED_READS] >= 0 && types[SIMULATED_D1_READ_MISSES] >= 0;
    c.has_ll = c.has_data && has_ir && types[SIMULATED_LL_READ_MISSES] >= 0;
    c.has_i1 = has_ir && types[SIMULATED_I1_MISSES] >= 0;
    c.has_branches = types[SIMULATED_BRANCHES] >= 0 && types[SIMULATED_BRANCH_MISSES] >= 0;
    if (!c.has_data && !c.has_branches)
        return c;
    autofree struct misses_counts *by_row = mem_calloc(functions->rows.n + 1, sizeof *by_row);
    sum_all(&c, functions, types, by_row);
    c.d1_flag = c.has_data && misses_d1_rate(&c.whole) >= MISSES_D1_LIMIT;
    c.ll_flag = c.has_ll && misses_ll_rate(&c.whole) >= MISSES_LL_LIMIT;
    misses_add_rows(&c, functions->rows.n, by_row);
    if (c.rows.n)
        qsort_r(c.rows.at, c.rows.n, sizeof *c.rows.at, by_misses, (void *)functions);
    return c;
}

void misses_done(struct misses *c)
{
    vec_done(&c->rows);
}
