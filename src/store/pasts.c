/* pasts.c - past medians as a line with change points; see pasts.h. */
#include "store/pasts.h"
#include "base/clock.h"
#include "stats/changepoint.h"
#include "stats/repeats.h"

#include <math.h>
#include <stdio.h>

enum { PAST_MOST = 300 }; /* sessions: more cannot be told apart in a chart */

static void past_add_run(struct past *p, const struct store_point *from)
{
    struct past_run *run = &p->runs[p->n_runs++];
    *run = (struct past_run){
        .time_s = from->time_s, .median = from->median, .interval = {from->low, from->high}};
    snprintf(run->commit, sizeof run->commit, "%.12s", from->commit);
    snprintf(run->baseline, sizeof run->baseline, "%.39s", from->baseline);
}

/* What was measured just now is the end of the line. */
static struct store_point point_now(const struct series_set *now, const struct series *s,
                                    enum measure m)
{
    const char *commit = meta_find(&now->meta, META_COMMIT);
    struct store_point p = {.time_s = (int64_t)(clock_wall_ns() / CLOCK_SECOND_NS),
                            .baseline = "now"};
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    repeats_sort(values, n);
    struct interval in = repeats_median_interval(values, n, 0.05);
    p.median = n ? repeats_quantile(values, n, 0.5) : NAN;
    p.low = in.low;
    p.high = in.high;
    snprintf(p.commit, sizeof p.commit, "%s", commit ? commit : "");
    return p;
}

static void mark_changes(struct past *p)
{
    autofree double *values = mem_calloc(p->n_runs, sizeof *values);
    autofree struct changepoint *points = NULL;
    for (size_t i = 0; i < p->n_runs; i++)
        values[i] = p->runs[i].median;
    size_t n = changepoint_find(values, p->n_runs, &CHANGEPOINT_DEFAULTS, &points);
    for (size_t i = 0; i < n; i++)
        p->runs[points[i].at].change_point = true;
}

/* POINTS and perhaps what was measured just now. */
static void add_past(struct pasts *to, const struct series *series,
                     const struct store_point *points, size_t n, const struct store_point *last)
{
    struct past p = {.name = series->name, .runs = mem_calloc(n + 1, sizeof *p.runs)};
    for (size_t k = n > PAST_MOST ? n - PAST_MOST : 0; k < n; k++)
        if (!isnan(points[k].median))
            past_add_run(&p, &points[k]);
    if (last && !isnan(last->median))
        past_add_run(&p, last);
    if (p.n_runs < 2) {
        free(p.runs);
        return;
    }
    mark_changes(&p);
    *vec_push(to) = p;
}

int pasts_read(struct pasts *to, struct store *s, const struct series_set *set, enum measure m,
               bool fresh, struct err *err)
{
    const char *host = meta_find(&set->meta, META_HOST);
    for (size_t i = 0; i < set->series.n; i++) {
        autofree struct store_point *points = NULL;
        const struct series *series = &set->series.at[i];
        size_t n;
        if (store_series_past(s, series->name, m, host ? host : "", &points, &n, err) != 0)
            return -1;
        struct store_point last = point_now(set, series, m);
        add_past(to, series, points, n, fresh ? &last : NULL);
    }
    return 0;
}

void pasts_done(struct pasts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].runs);
    vec_done(p);
}
