/* scaling.c - costs of functions and scopes over sizes; see scaling.h. */
#include "analysis/scaling.h"

#include "analysis/canon.h"
#include "analysis/runcost.h"
#include "analysis/scopequantile.h"

#include <math.h>

/* Shares below this are not worth a row of the table. */
#define LEAST_SHARE 0.005

static int by_size(const void *a, const void *b)
{
    double x = ((const struct scaling_run *)a)->size, y = ((const struct scaling_run *)b)->size;
    return (x > y) - (x < y);
}

static double *new_costs(struct scaling *s)
{
    double *cost = arena_get(&s->arena, s->n * sizeof *cost);
    memset(cost, 0, s->n * sizeof *cost);
    return cost;
}

/* What run I is divided by. */
static double items_of(const struct scaling *s, size_t i)
{
    return s->per_item ? s->runs[i].items : 1;
}

/* ERRORS, one per run, are those of growth_point; NULL = none is known. */
static void fit(const struct scaling *s, struct scaling_cost *c, const double *errors)
{
    autofree struct growth_point *points = mem_calloc(s->n, sizeof *points);
    for (size_t i = 0; i < s->n; i++)
        points[i] = (struct growth_point){s->runs[i].size, c->cost[i], errors ? errors[i] : 0};
    c->fits = growth_fit(&c->growth, points, s->n);
}

/* --- what runs cost --- */

/* What all runs have in common; RUNCOST_UNKNOWN where they do not. */
static enum runcost_kind kind_of_runs(const struct scaling_run *runs, size_t n)
{
    enum runcost_kind kind = runcost_of(runs[0].selection).kind;
    for (size_t i = 1; i < n; i++)
        if (runcost_of(runs[i].selection).kind != kind)
            return RUNCOST_UNKNOWN;
    return kind;
}

/* In whole units: a value of 15 with one decimal is 1.5. */
static double total_of(const struct selection *s)
{
    double value = (double)s->total;
    for (int i = 0; i < selection_value(s)->decimals; i++)
        value /= 10;
    return value;
}

static void set_wholes(struct scaling *s)
{
    bool cpu = kind_of_runs(s->runs, s->n) == RUNCOST_CPU;
    const struct selection *last = scaling_largest(s)->selection;
    const struct value_type *value = selection_value(last);
    s->dimension = cpu ? DIM_TIME : value->dimension;
    s->unit = cpu ? text_of(UNIT_TIME) : profile_str(last->profile, value->unit);
    s->whole.cost = new_costs(s);
    s->per_item = true;
    for (size_t i = 0; i < s->n; i++)
        s->per_item &= s->runs[i].items > 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct selection *run = s->runs[i].selection;
        s->whole.cost[i] = (cpu ? runcost_of(run).value * 1e9 : total_of(run)) / items_of(s, i);
    }
}

void scaling_unlike(const struct scaling_run *runs, size_t n, struct buf *b)
{
    const struct selection *first = runs[0].selection;
    enum runcost_kind kind = kind_of_runs(runs, n);
    for (size_t i = 1; i < n && !b->n; i++) {
        const struct selection *run = runs[i].selection;
        struct text x = selection_event(first), y = selection_event(run);
        double a = first->stream->rate_hz, c = run->stream->rate_hz;
        if (kind != RUNCOST_CPU && x.n && y.n && strcmp(x.at, y.at) != 0)
            buf_printf(b, "the event differs: '%s' and '%s'", x.at, y.at);
        else if (runcost_of(run).kind != runcost_of(first).kind ||
                 selection_quantity(run) != selection_quantity(first))
            buf_str(b, "the runs do not measure the same thing");
        else if (kind == RUNCOST_UNKNOWN && a != c)
            buf_printf(b, "the sampling rate differs: '%.10g' and '%.10g'", a, c);
    }
}

/* --- functions --- */

/* From sampling alone: of 15 samples in each of three runs no exponent is known to a hundredth. */
static double sampling_error(const struct flat_share *s)
{
    return s->share > 0 && s->n_effective > 0
               ? sqrt(fmax(0, 1 - s->share) / (s->share * s->n_effective))
               : 0;
}

struct scaling_cost scaling_of(struct scaling *s, struct text name, enum flat_what what)
{
    struct scaling_cost c = {.cost = new_costs(s)};
    autofree double *errors = mem_calloc(s->n, sizeof *errors);
    for (size_t i = 0; i < s->n; i++) {
        const struct flat *f = s->lists[i];
        autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
        if (!flat_find_canonical(f, name, in_set))
            continue;
        struct flat_share share = flat_share_of_set(f, in_set, what);
        c.cost[i] = share.share * s->whole.cost[i];
        errors[i] = sampling_error(&share);
    }
    fit(s, &c, errors);
    return c;
}

static bool is_listed(const struct scaling *s, struct text name)
{
    for (size_t i = 0; i < s->functions.n; i++) {
        struct text other = s->functions.at[i].name;
        if (other.n == name.n && memcmp(other.at, name.at, name.n) == 0)
            return true;
    }
    return false;
}

static struct text canonical(struct scaling *s, struct text name)
{
    autobuf struct buf b = {0};
    canon_add(&b, name);
    return arena_text(&s->arena, buf_text(&b));
}

static void add_function(struct scaling *s, uint32_t row)
{
    const struct flat *last = s->lists[s->n - 1];
    struct scaling_function f = {.name = canonical(s, flat_name(last, row))};
    if (is_listed(s, f.name))
        return;
    autofree bool *in_set = mem_calloc(last->rows.n + 1, sizeof *in_set);
    flat_find_canonical(last, f.name, in_set);
    f.at_end = flat_share_of_set(last, in_set, FLAT_SELF);
    if (f.at_end.share < LEAST_SHARE)
        return;
    f.total = scaling_of(s, f.name, FLAT_TOTAL);
    f.self = scaling_of(s, f.name, FLAT_SELF);
    *vec_push(&s->functions) = f;
}

static void scaling_add_functions(struct scaling *s, size_t top)
{
    const struct flat *last = s->lists[s->n - 1];
    autofree uint32_t *rows = mem_calloc(last->rows.n + 1, sizeof *rows);
    size_t n = flat_top(last, FLAT_SELF, last->rows.n, rows);
    for (size_t i = 0; i < n && s->functions.n < top; i++)
        add_function(s, rows[i]);
}

/* --- scopes --- */

bool scaling_of_scope(struct scaling *s, struct text name, enum flat_what what,
                      struct scaling_cost *ret)
{
    struct scaling_cost c = {.cost = new_costs(s)};
    bool found = false;
    for (size_t i = 0; i < s->n; i++) {
        int row = scope_find(&s->trees[i], name);
        if (row < 0)
            continue;
        const struct scope_sum *sum = &s->trees[i].flat.at[row].sum;
        c.cost[i] = (double)(what == FLAT_SELF ? sum->self_ns : sum->total_ns) / items_of(s, i);
        found = true;
    }
    fit(s, &c, NULL);
    *ret = c;
    return found;
}

static void scaling_add_scopes(struct scaling *s, size_t top)
{
    const struct scopetree *last = &s->trees[s->n - 1];
    for (size_t i = 0; i < last->flat.n && i < top; i++) {
        const struct profile *p = last->selection->profile;
        struct scaling_scope scope = {.name = profile_str(p, last->flat.at[i].name)};
        scaling_of_scope(s, scope.name, FLAT_TOTAL, &scope.total);
        scaling_of_scope(s, scope.name, FLAT_SELF, &scope.self);
        *vec_push(&s->scopes) = scope;
    }
}

/* A run whose spans have no duration has a tree without scopes. */
static void scaling_build_trees(struct scaling *s)
{
    struct err ignored;
    s->trees = mem_calloc(s->n, sizeof *s->trees);
    for (size_t i = 0; i < s->n; i++)
        if (s->runs[i].scopes)
            scopetree_build(&s->trees[i], s->runs[i].scopes, NULL, &ignored);
}

void scaling_build(struct scaling *s, const struct scaling_run *runs, size_t n, size_t top)
{
    *s = (struct scaling){.n = n};
    s->runs = mem_calloc(n, sizeof *s->runs);
    s->lists = mem_calloc(n, sizeof *s->lists);
    memcpy(s->runs, runs, n * sizeof *runs);
    qsort(s->runs, n, sizeof *s->runs, by_size);
    set_wholes(s);
    for (size_t i = 0; i < n; i++)
        s->lists[i] = flat_build(s->runs[i].selection, FLAT_FUNCTION);
    fit(s, &s->whole, NULL);
    scaling_add_functions(s, top);
    scaling_build_trees(s);
    scaling_add_scopes(s, top);
}

void scaling_done(struct scaling *s)
{
    for (size_t i = 0; i < s->n; i++)
        flat_free(s->lists[i]);
    for (size_t i = 0; s->trees && i < s->n; i++)
        scopetree_done(&s->trees[i]);
    free(s->trees);
    free(s->lists);
    free(s->runs);
    vec_done(&s->functions);
    vec_done(&s->scopes);
    arena_done(&s->arena);
    *s = (struct scaling){0};
}

struct scaling_ratio scaling_ratio_of(const struct scaling *s, const struct scaling_cost *c)
{
    size_t first = 0, last = s->n - 1;
    while (first < last && !(c->cost[first] > 0))
        first++;
    while (last > first && !(c->cost[last] > 0))
        last--;
    if (first == last)
        return (struct scaling_ratio){1, 1};
    return (struct scaling_ratio){s->runs[last].size / s->runs[first].size,
                                  c->cost[last] / c->cost[first]};
}
