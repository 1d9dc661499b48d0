/* sequence.c - samples in time order; see sequence.h. */
#include "analysis/sequence.h"

#include "stats/stats.h"

/* A heap profile's objects are counted, not sampled: no interval comes from them. */
static int samples_type(const struct profile *p, int type)
{
    int counts = profile_count_type(p, type);
    bool ok = counts >= 0 && text_is(profile_str(p, p->types[counts].name), "samples") &&
              p->types[counts].decimals == 0;
    return ok ? counts : -1;
}

static int by_time(const void *a, const void *b, void *times)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t *t = times;
    return t[x] != t[y] ? (t[x] > t[y]) - (t[x] < t[y]) : (x > y) - (x < y);
}

static void sort_by_time(struct sequence *t, uint64_t *times)
{
    for (size_t i = 1; i < t->n; i++) {
        if (times[t->order[i]] < times[t->order[i - 1]]) {
            qsort_r(t->order, t->n, sizeof *t->order, by_time, times);
            return;
        }
    }
}

static void find_order(struct sequence *t, const struct samples *s)
{
    if (!s->time_ns || t->count_type < 0)
        return;
    const int64_t *count = s->value[t->count_type];
    t->order = mem_calloc(s->n + 1, sizeof *t->order);
    for (size_t i = 0; i < s->n; i++) {
        if (count[i] > 1) { /* many samples at one time: no series */
            sequence_done(t);
            return;
        }
        if (count[i] == 1)
            t->order[t->n++] = (uint32_t)i;
    }
    sort_by_time(t, s->time_ns);
}

/* Samples of unlike weight tell less than their number. */
static void count_samples(struct sequence *t, const struct samples *s, int type)
{
    if (t->count_type < 0)
        return;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < s->n; i++) {
        double v = (double)s->value[type][i], n = (double)s->value[t->count_type][i];
        sum += v;
        squares += n > 0 ? v * v / n : 0;
    }
    t->n_samples = stats_weighted_n(sum, squares);
}

struct sequence sequence_build(const struct profile *p, int type)
{
    struct sequence t = {.count_type = samples_type(p, type)};
    find_order(&t, &p->samples);
    count_samples(&t, &p->samples, type);
    return t;
}

void sequence_done(struct sequence *t)
{
    free(t->order);
    t->order = NULL;
    t->n = 0;
}
