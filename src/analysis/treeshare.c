#include "analysis/treeshare.h"

#include "analysis/drawn.h"
#include "analysis/sequence.h"

#include <math.h>

/*
 * Samples are sorted by the node they stand at, nodes numbered so that all below one follow it.
 * Then the samples of a node are a run of the list, and the work is the sum of the runs:
 *
 *     node      0  1  2  3        2 is below 1
 *     first     0  2  5  6  9     samples of 1 and below: [2, 6), of 1 itself: [2, 5)
 */
struct treesamples {
    struct sequence time;
    size_t per;       /* samples in each sum of the series */
    uint32_t *number; /* of a node, those below it following */
    uint32_t *size;   /* nodes at and below it */
    uint32_t *first;  /* by number: its first sample */
    uint32_t *sum_of; /* which sum a sample is in; samples sorted by the number of their node */
    uint8_t *sums;
    size_t n_sums;
    double *own, *below; /* by node: variances, where blocks were drawn by size (drawn.h) */
};

static void number_nodes(struct treesamples *w, const struct calltree *t)
{
    w->number = mem_calloc(t->n, sizeof *w->number);
    w->size = mem_calloc(t->n, sizeof *w->size);
    for (size_t i = t->n; i-- > 0;) {
        w->size[i]++;
        if (i)
            w->size[t->parent[i]] += w->size[i];
    }
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t next = w->number[i] + 1;
        for_each_child (t, i, child) {
            w->number[child] = next;
            next += w->size[child];
        }
    }
}

/* By row of the stream: the number of its node. */
static uint32_t *numbers_of_rows(const struct treesamples *w, const struct calltree *t,
                                 const struct selection *s)
{
    uint32_t *number = mem_array(s->stream->rows.n + 1, sizeof *number);
    for (size_t i = 0; i < s->n_rows; i++)
        number[selection_row(s, i)] = w->number[t->node_of_row[i]];
    return number;
}

static void sort_samples(struct treesamples *w, const struct calltree *t, const struct selection *s)
{
    autofree uint32_t *number = numbers_of_rows(w, t, s);
    autofree uint32_t *at = mem_calloc(t->n + 1, sizeof *at);
    w->first = mem_calloc(t->n + 1, sizeof *w->first);
    w->sum_of = mem_array(w->time.n + 1, sizeof *w->sum_of);
    for (size_t i = 0; i < w->time.n; i++)
        w->first[number[w->time.order[i]] + 1]++;
    for (size_t i = 0; i < t->n; i++)
        w->first[i + 1] += w->first[i];
    memcpy(at, w->first, (t->n + 1) * sizeof *at);
    for (size_t sum = 0, i = 0; i < w->time.n; sum++)
        for (size_t end = i + w->per; i < end && i < w->time.n; i++)
            w->sum_of[at[number[w->time.order[i]]]++] = (uint32_t)sum;
}

/* The last samples may be too few for a sum; there is room for one more. */
static size_t count_hits(struct treesamples *w, uint32_t from, uint32_t to)
{
    memset(w->sums, 0, w->n_sums + 1);
    for (uint32_t i = from; i < to; i++)
        w->sums[w->sum_of[i]]++;
    return to - from - w->sums[w->n_sums];
}

/* The sums that the samples of a run are in, sorted. A run is made of few that are sorted. */
static size_t list_hits(const struct treesamples *w, uint32_t from, uint32_t to, uint32_t *hits)
{
    size_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t sum = w->sum_of[i];
        size_t k = n;
        if (sum >= w->n_sums)
            continue;
        for (; k && hits[k - 1] > sum; k--)
            hits[k] = hits[k - 1];
        hits[k] = sum;
        n++;
    }
    return n;
}

/* As effective_n() of flat_share.c, from a run of the sorted samples. */
static double effective_samples(struct treesamples *w, uint32_t from, uint32_t to)
{
    enum { FEW = 96 }; /* most frames of a drawing: as many as are sorted in no time */
    uint32_t hits[FEW];
    if (!w->time.n || from == to) /* most nodes have nothing of their own: no series to look at */
        return w->time.n_samples;
    struct stats_series series = {.n = w->n_sums, .per = w->per};
    if (to - from <= FEW) {
        series.hits = hits;
        series.n_hits = list_hits(w, from, to, hits);
    } else {
        series.sums = w->sums;
        series.n_hits = count_hits(w, from, to);
    }
    return stats_effective_n_of_sums(&series) * w->time.n_samples / (double)(w->n_sums * w->per);
}

/* Variances of each node itself, and with all below it. */
static void find_node_variances(struct treesamples *w, const struct calltree *t,
                                const struct selection *s)
{
    const int64_t *value = selection_values(s), *count = selection_counts(s);
    w->own = mem_calloc(t->n, sizeof *w->own);
    w->below = mem_calloc(t->n, sizeof *w->below);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        w->own[t->node_of_row[i]] +=
            drawn_variance(w->time.drawn, (double)value[row], (double)count[row]);
    }
    for (size_t i = t->n; i-- > 0;) {
        w->below[i] += w->own[i];
        if (i)
            w->below[t->parent[i]] += w->below[i];
    }
}

static struct interval interval_of_drawn(const struct treesamples *w, const struct calltree *t,
                                         int64_t value, double variance)
{
    double whole = (double)t->total[0], share = fmin((double)value / whole, 1);
    double n = drawn_effective_n(w->time.drawn, whole, share, variance, w->below[0] - variance);
    return stats_wilson(share, n, STATS_Z95);
}

static struct interval interval_of_run(struct treesamples *w, double share, uint32_t from,
                                       uint32_t to)
{
    return stats_wilson(share > 1 ? 1 : share, effective_samples(w, from, to), STATS_Z95);
}

static void fill_share(struct treesamples *w, const struct calltree *t, uint32_t node,
                       struct treeshare *all)
{
    double whole = (double)t->total[0];
    uint32_t number = w->number[node], end = number + w->size[node];
    uint32_t from = w->time.n ? w->first[number] : 0, past = w->time.n ? w->first[number + 1] : 0;
    struct treeshare *r = &all[node], *above = &all[t->parent[node]];
    bool as_above = node && above->known && t->total[node] == t->total[t->parent[node]];
    r->known = true;
    if (w->time.drawn) {
        r->total = interval_of_drawn(w, t, t->total[node], w->below[node]);
        r->self = interval_of_drawn(w, t, t->self[node], w->own[node]);
        return;
    }
    r->total = as_above ? above->total
                        : interval_of_run(w, (double)t->total[node] / whole, from,
                                          w->time.n ? w->first[end] : 0);
    r->self = t->self[node] == t->total[node]
                  ? r->total
                  : interval_of_run(w, (double)t->self[node] / whole, from, past);
}

/* Work on all nodes is bounded: where there are many and long series, only large ones get it. */
#define TREESHARE_WORK 3e7
#define TREESHARE_LEAST 0.002

struct treeshare *treeshare_build(const struct calltree *t, const struct selection *s, double least)
{
    struct treeshare *shares = mem_calloc(t->n, sizeof *shares);
    struct treesamples w = {.time = sequence_build(s)};
    if (w.time.n) {
        w.per = stats_samples_per_sum(w.time.n);
        w.n_sums = w.time.n / w.per;
        w.sums = mem_calloc(w.n_sums + 1, 1);
    }
    number_nodes(&w, t);
    if (w.time.n)
        sort_samples(&w, t, s);
    if (w.time.drawn)
        find_node_variances(&w, t, s);
    if ((double)t->n * (double)w.n_sums > TREESHARE_WORK)
        least = fmax(least, TREESHARE_LEAST);
    for (uint32_t i = 0; i < t->n && w.time.n_samples > 0 && t->total[0] > 0; i++)
        if ((double)t->total[i] >= least * (double)t->total[0])
            fill_share(&w, t, i, shares);
    sequence_done(&w.time);
    free(w.number);
    free(w.size);
    free(w.first);
    free(w.sum_of);
    free(w.sums);
    free(w.own);
    free(w.below);
    return shares;
}
