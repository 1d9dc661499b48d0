#include "analysis/scopequantile.h"

#include "base/calc.h"
#include "base/mem.h"

#include <math.h>

/* What may lie beyond an end of a 95% interval. */
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
    return ceil(calc_log(BEYOND) / calc_log(fmax(q, 1 - q)));
}

/* --- how many spans count as independent --- */

/* Whether each span took at most LIMIT, in the order of the stream: sums of PER in a row. */
struct scope_hits {
    uint64_t limit_ns;
    size_t calls, per, n_sums;
    size_t at, fill; /* the sum that grows, and how many are in it */
    uint8_t *sums;   /* N_SUMS and one for what is left behind the last */
};

static void hits_init(struct scope_hits *h, const struct scope_sum *sum, double q)
{
    *h = (struct scope_hits){.limit_ns = scope_sum_quantile_ns(sum, q), .calls = sum->calls};
    h->per = stats_samples_per_sum(h->calls);
    h->n_sums = h->calls / h->per;
    h->sums = mem_calloc(h->n_sums + 1, 1);
}

/* No division: this is done for every span and quantile. */
static void hits_add(struct scope_hits *h, uint64_t ns)
{
    h->sums[h->at] += ns <= h->limit_ns;
    if (++h->fill == h->per && h->at < h->n_sums) {
        h->fill = 0;
        h->at++;
    }
}

static double hits_effective(const struct scope_hits *h)
{
    struct stats_series s = {.sums = h->sums, .n = h->n_sums, .per = h->per};
    if (!s.n)
        return 0;
    return stats_effective_n_of_sums(&s) * (double)h->calls / (double)(s.n * s.per);
}

/* --- intervals --- */

static struct scope_quantile quantile_of_hits(const struct scope_sum *sum,
                                              const struct scope_hits *h, double q,
                                              uint64_t lost_spans)
{
    double kept = (double)sum->calls, lost = (double)lost_spans, all = kept + lost;
    struct scope_quantile r = {.ns = (double)h->limit_ns, .interval = {0, INFINITY}};
    if (!sum->calls)
        return r;
    r.n_effective = hits_effective(h);
    double half = STATS_Z95 * sqrt(q * (1 - q) / r.n_effective);
    double low = (q * all - lost) / kept - half, high = q * all / kept + half;
    bool low_known = calc_pow(1 - q, r.n_effective) <= BEYOND && q * all > lost;
    bool high_known = calc_pow(q, r.n_effective) <= BEYOND && q * all / kept < 1;
    if (low_known)
        r.interval.low = (double)scope_sum_quantile_ns(sum, fmax(low, 0));
    if (high_known)
        r.interval.high = (double)scope_sum_quantile_ns(sum, fmin(high, 1));
    return r;
}

struct scope_quantile scope_quantile_of(const struct scopetree *t, size_t flat, double q)
{
    const struct selection *s = t->selection;
    const struct scope_node *scope = &t->flat.at[flat];
    struct scope_hits hits;
    hits_init(&hits, &scope->sum, q);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        if (scopetree_ids(t, row).flat == scope->id + 1)
            hits_add(&hits, s->stream->rows.duration_ns[row]);
    }
    struct scope_quantile r = quantile_of_hits(&scope->sum, &hits, q, s->stream->lost);
    free(hits.sums);
    return r;
}

/* --- of all scopes --- */

struct scope_quantiles {
    const struct scopetree *t;
    double q[SCOPE_QUANTILES_MAX];
    int n;
    struct scope_hits *tree, *flat, *groups; /* by id, N of each */
};

static struct scope_hits *hits_of_table(const struct scope_quantiles *s, const scope_nodes *table)
{
    struct scope_hits *hits = mem_calloc(table->n * (size_t)s->n + 1, sizeof *hits);
    for (size_t i = 0; i < table->n; i++)
        for (int k = 0; k < s->n; k++)
            hits_init(&hits[table->at[i].id * (size_t)s->n + (size_t)k], &table->at[i].sum,
                      s->q[k]);
    return hits;
}

/* ID is + 1; 0 = no node. */
static void hits_add_all(const struct scope_quantiles *s, struct scope_hits *hits, uint32_t id,
                         uint64_t ns)
{
    for (int k = 0; id && k < s->n; k++)
        hits_add(&hits[(id - 1) * (size_t)s->n + (size_t)k], ns);
}

struct scope_quantiles *scope_quantiles_new(const struct scopetree *t, const double *q, int n)
{
    struct scope_quantiles *s = mem_new(struct scope_quantiles);
    const struct selection *all = t->selection;
    s->t = t;
    for (; s->n < n && s->n < SCOPE_QUANTILES_MAX; s->n++)
        s->q[s->n] = q[s->n];
    s->tree = hits_of_table(s, &t->tree);
    s->flat = hits_of_table(s, &t->flat);
    s->groups = hits_of_table(s, &t->groups);
    for (size_t i = 0; i < all->n_rows; i++) {
        size_t row = selection_row(all, i);
        struct scope_ids ids = scopetree_ids(t, row);
        uint64_t ns = all->stream->rows.duration_ns[row];
        hits_add_all(s, s->tree, ids.tree, ns);
        hits_add_all(s, s->flat, ids.flat, ns);
        hits_add_all(s, s->groups, ids.group, ns);
    }
    return s;
}

struct scope_quantile scope_quantiles_get(const struct scope_quantiles *s, const scope_nodes *table,
                                          const struct scope_node *node, int i)
{
    const struct scope_hits *hits = table == &s->t->tree   ? s->tree
                                    : table == &s->t->flat ? s->flat
                                                           : s->groups;
    return quantile_of_hits(&node->sum, &hits[node->id * (size_t)s->n + (size_t)i], s->q[i],
                            s->t->selection->stream->lost);
}

static void hits_free(struct scope_hits *hits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(hits[i].sums);
    free(hits);
}

void scope_quantiles_free(struct scope_quantiles *s)
{
    if (!s)
        return;
    hits_free(s->tree, s->t->tree.n * (size_t)s->n);
    hits_free(s->flat, s->t->flat.n * (size_t)s->n);
    hits_free(s->groups, s->t->groups.n * (size_t)s->n);
    free(s);
}

/* --- means --- */

enum { BLOCKS = 30 };

/* Spans in a row, in blocks of the same size but for rounding; returns how many. */
static size_t means_of_blocks(const struct scopetree *t, const struct scope_node *scope,
                              double *ret_means)
{
    const struct selection *s = t->selection;
    uint64_t calls = scope->sum.calls, seen = 0, in_block[BLOCKS] = {0};
    size_t n = calls < BLOCKS ? (size_t)calls : BLOCKS;
    for (size_t i = 0; i < s->n_rows && seen < calls; i++) {
        size_t row = selection_row(s, i);
        if (scopetree_ids(t, row).flat != scope->id + 1)
            continue;
        size_t block = (size_t)((double)seen++ * (double)n / (double)calls);
        double ns = (double)s->stream->rows.duration_ns[row];
        ret_means[block] += (ns - ret_means[block]) / (double)++in_block[block];
    }
    return n;
}

/* The variance of the mean of N blocks, from neighbours: a level that shifts once is no chance. */
static double variance_of_blocks(const double *means, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i + 1 < n; i++)
        squares += (means[i + 1] - means[i]) * (means[i + 1] - means[i]);
    return squares / 2 / (double)(n - 1) / (double)n;
}

struct scope_mean scope_mean_of(const struct scopetree *t, size_t flat)
{
    const struct scope_node *scope = &t->flat.at[flat];
    const struct scope_sum *sum = &scope->sum;
    struct scope_mean r = {.ns = sum->mean_ns, .interval = {0, INFINITY}};
    double means[BLOCKS] = {0};
    size_t n = means_of_blocks(t, scope, means);
    if (n < 2)
        return r;
    /* N - 1 differences of neighbours say as much as two thirds of so many that share nothing. */
    double dof = 2.0 * (double)(n - 1) / 3;
    double alone = scope_sum_sd_ns(sum) / sqrt((double)sum->calls);
    double half = fmax(stats_t95(dof) * sqrt(variance_of_blocks(means, n)),
                       stats_t95((double)sum->calls - 1) * alone);
    r.interval = (struct interval){fmax(r.ns - half, 0), r.ns + half};
    return r;
}
