/*
 * trend.c - a number over time.
 */
#include "stats/trend.h"
#include "base/buf.h"
#include "base/units.h"

#include <math.h>

/* Shares of small functions wander by large factors; below half a point nobody cares. */
#define LEAST_POINTS 0.005

void trend_done(struct trend *t)
{
    free(t->title);
    free(t->changes);
    vec_done(&t->points);
}

/* Whether the values differ enough for any change to matter. */
static bool moves(const struct trend *t)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < t->points.n; i++) {
        low = fmin(low, t->points.at[i].value);
        high = fmax(high, t->points.at[i].value);
    }
    return high - low >= LEAST_POINTS;
}

void trend_find_changes(struct trend *t)
{
    autofree double *values = mem_calloc(t->points.n, sizeof *values);
    struct changepoint_opts opts = CHANGEPOINT_DEFAULTS;
    for (size_t i = 0; i < t->points.n; i++)
        values[i] = t->points.at[i].value;
    free(t->changes);
    t->changes = NULL;
    t->n_changes = 0;
    if (t->unit == TREND_SHARE && !moves(t))
        return;
    if (t->unit == TREND_SHARE)
        opts.least = LEAST_POINTS;
    t->n_changes = changepoint_find(values, t->points.n, &opts, &t->changes);
}

char *trend_value(const struct trend *t, double value, char *to)
{
    static const enum scaled kinds[] = {
        [TREND_NS] = SCALED_NS, [TREND_BYTES] = SCALED_BYTES, [TREND_COUNT] = SCALED_COUNT};
    if (isnan(value))
        return strcpy(to, "-");
    if (t->unit == TREND_SHARE)
        snprintf(to, UNITS_MAX, "%.1f%%", 100 * value);
    else if (t->unit == TREND_PLAIN)
        units_number(to, value);
    else
        units_scaled(to, value, kinds[t->unit]);
    return to;
}

/* "3f9a1c2d04", with a mark where files differed from the commit. */
static void say_commit(const struct trend_point *p, struct buf *b)
{
    if (*p->commit)
        buf_printf(b, "%.10s%s", p->commit, p->dirty ? " with changes" : "");
    else
        buf_str(b, "of no known commit");
}

void trend_say(const struct trend *t, size_t i, struct buf *b)
{
    const struct changepoint *c = &t->changes[i];
    char from[UNITS_MAX], to[UNITS_MAX];
    bool more = c->after > c->before, worse = more != t->more_is_better;
    buf_printf(b, "%s%s by ", c->likely ? "likely " : "", more ? "rose" : "fell");
    if (t->unit == TREND_SHARE)
        buf_printf(b, "%.1f points", 100 * fabs(c->after - c->before));
    else
        buf_printf(b, "%.1f%%", 100 * fabs(c->after / c->before - 1));
    buf_printf(b, " from %s to %s; ", trend_value(t, c->before, from),
               trend_value(t, c->after, to));
    buf_str(b, worse ? "first bad commit " : "first good commit ");
    say_commit(&t->points.at[c->at], b);
    buf_str(b, worse ? ", last good " : ", last bad ");
    say_commit(&t->points.at[c->at - 1], b);
    buf_printf(b, c->likely ? " (p %.3f; more runs would prove it)" : " (p %.3f)", c->p);
}
