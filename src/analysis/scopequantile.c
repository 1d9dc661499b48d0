#include "analysis/scopequantile.h"

#include "base/mem.h"

#include <math.h>

/* What may lie beyond an end of a 95 % interval. */
#define BEYOND 0.025

int scope_find(const struct scopetree *t, struct text name)
{
    for (size_t i = 0; i < t->flat.n; i++) {
        struct text is = profile_str(t->selection->profile, t->flat.at[i].name);
        if (is.n == name.n && memcmp(is.at, name.at, name.n) == 0)
            return (int)i;
    }
    return -1;
}

/* Of N spans all are below the quantile with a chance of Q^N. */
double scope_quantile_least(double q)
{
    return ceil(log(BEYOND) / log(fmax(q, 1 - q)));
}

/* Whether each span of the scope took at most LIMIT, in the order of the stream. */
static double spans_effective(const struct scopetree *t, const struct scope_node *scope,
                              uint64_t limit_ns)
{
    const struct selection *s = t->selection;
    const struct rows *rows = &s->stream->rows;
    autofree uint8_t *hits = mem_calloc(scope->sum.calls + 1, 1);
    size_t n = 0;
    for (size_t i = 0; i < s->n_rows && n < scope->sum.calls; i++) {
        size_t row = selection_row(s, i);
        if (scopetree_name(s->profile, rows->stack[row]).i == scope->name.i)
            hits[n++] = rows->duration_ns[row] <= limit_ns;
    }
    return stats_effective_n(hits, n);
}

struct scope_quantile scope_quantile_of(const struct scopetree *t, size_t flat, double q)
{
    const struct scope_node *scope = &t->flat.at[flat];
    const struct scope_sum *sum = &scope->sum;
    double kept = (double)sum->calls, lost = (double)t->selection->stream->lost, all = kept + lost;
    uint64_t ns = scope_sum_quantile_ns(sum, q);
    struct scope_quantile r = {.ns = (double)ns, .n_effective = spans_effective(t, scope, ns)};
    double half = STATS_Z95 * sqrt(q * (1 - q) / r.n_effective);
    double low = (q * all - lost) / kept - half, high = q * all / kept + half;
    bool low_known = pow(1 - q, r.n_effective) <= BEYOND && q * all > lost;
    bool high_known = pow(q, r.n_effective) <= BEYOND && q * all / kept < 1;
    r.interval.low = low_known ? (double)scope_sum_quantile_ns(sum, fmax(low, 0)) : 0;
    r.interval.high = high_known ? (double)scope_sum_quantile_ns(sum, fmin(high, 1)) : INFINITY;
    return r;
}
