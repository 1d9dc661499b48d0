/* scaling.c - costs of functions over sizes; see scaling.h. */
#include "analysis/scaling.h"

#include "analysis/canon.h"

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

static void fit(const struct scaling *s, struct scaling_cost *c)
{
    autofree struct growth_point *points = mem_calloc(s->n, sizeof *points);
    for (size_t i = 0; i < s->n; i++)
        points[i] = (struct growth_point){s->runs[i].size, c->cost[i]};
    c->fits = growth_fit(&c->growth, points, s->n);
}

/* In whole units: a value of 15 with one decimal is 1.5. */
static double whole_of(const struct flat *f)
{
    double value = (double)f->whole;
    for (int i = 0; i < selection_value(f->selection)->decimals; i++)
        value /= 10;
    return value;
}

struct scaling_cost scaling_of(struct scaling *s, struct text name, enum flat_what what)
{
    struct scaling_cost c = {.cost = new_costs(s)};
    for (size_t i = 0; i < s->n; i++) {
        const struct flat *f = s->lists[i];
        autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
        if (flat_find_canonical(f, name, in_set))
            c.cost[i] = flat_share_of_set(f, in_set, what).share * whole_of(f);
    }
    fit(s, &c);
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

static void add_functions(struct scaling *s, size_t top)
{
    const struct flat *last = s->lists[s->n - 1];
    autofree uint32_t *rows = mem_calloc(last->rows.n + 1, sizeof *rows);
    size_t n = flat_top(last, FLAT_SELF, last->rows.n, rows);
    for (size_t i = 0; i < n && s->functions.n < top; i++)
        add_function(s, rows[i]);
}

void scaling_build(struct scaling *s, const struct scaling_run *runs, size_t n, size_t top)
{
    *s = (struct scaling){.n = n};
    s->runs = mem_calloc(n, sizeof *s->runs);
    s->lists = mem_calloc(n, sizeof *s->lists);
    memcpy(s->runs, runs, n * sizeof *runs);
    qsort(s->runs, n, sizeof *s->runs, by_size);
    s->whole.cost = new_costs(s);
    for (size_t i = 0; i < n; i++) {
        s->lists[i] = flat_build(s->runs[i].selection, FLAT_FUNCTION);
        s->whole.cost[i] = whole_of(s->lists[i]);
    }
    s->value = selection_value(scaling_largest(s)->selection);
    fit(s, &s->whole);
    add_functions(s, top);
}

void scaling_done(struct scaling *s)
{
    for (size_t i = 0; i < s->n; i++)
        flat_free(s->lists[i]);
    free(s->lists);
    free(s->runs);
    vec_done(&s->functions);
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
