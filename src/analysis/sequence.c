/* sequence.c - samples in time order; see sequence.h. */
#include "analysis/sequence.h"

#include "analysis/drawn.h"
#include "stats/stats.h"

static int sequence_by_time(const void *a, const void *b, void *times)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t *t = times;
    return t[x] != t[y] ? (t[x] > t[y]) - (t[x] < t[y]) : (x > y) - (x < y);
}

static void sort_by_time(struct sequence *t, uint64_t *times)
{
    for (size_t i = 1; i < t->n; i++) {
        if (times[t->order[i]] < times[t->order[i - 1]]) {
            qsort_r(t->order, t->n, sizeof *t->order, sequence_by_time, times);
            return;
        }
    }
}

static void find_order(struct sequence *t, const struct selection *s)
{
    const struct rows *rows = &s->stream->rows;
    if (!rows->time_ns || t->count_type < 0)
        return;
    const int64_t *count = rows->value[t->count_type];
    t->order = mem_array(s->n_rows + 1, sizeof *t->order);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        if (count[row] > 1) { /* many samples at one time: no series */
            sequence_done(t);
            return;
        }
        if (count[row] == 1)
            t->order[t->n++] = (uint32_t)row;
    }
    sort_by_time(t, rows->time_ns);
}

/* Samples of unlike weight carry less information than their number. */
static void count_samples(struct sequence *t, const struct selection *s)
{
    if (t->count_type < 0)
        return;
    const int64_t *value = selection_values(s), *count = s->stream->rows.value[t->count_type];
    double sum = 0, squares = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        double v = (double)value[row], n = (double)count[row];
        sum += v;
        squares += n > 0 ? v * v / n : 0;
    }
    t->n_samples = stats_weighted_n(sum, squares);
}

struct sequence sequence_build(const struct selection *s)
{
    bool whole = s->count_type >= 0 && s->stream->types[s->count_type].decimals == 0;
    struct sequence t = {.count_type = whole ? s->count_type : -1};
    t.drawn = whole ? drawn_mean(s) : 0;
    if (!t.drawn)
        find_order(&t, s);
    count_samples(&t, s);
    return t;
}

void sequence_done(struct sequence *t)
{
    free(t->order);
    t->order = NULL;
    t->n = 0;
}
