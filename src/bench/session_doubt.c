/* session_doubt.c - what is too short to be measured, and what could be measured in another way. */
#include "base/units.h"
#include "bench/session_inner.h"
#include "stats/repeats.h"

#include <math.h>

enum { STARTS = 15 };

/* What it takes to start a process that does nothing; NAN when that cannot be found out. */
static double start_ns(struct session *s)
{
    double v[STARTS];
    struct err ignored;
    for (int i = 0; i < STARTS; i++) {
        if (starter_run(s->starter, s->plan->nothing, 0, &s->run, &ignored) != 0 ||
            s->run.end != STARTER_EXITED || s->run.status != 0)
            return NAN;
        v[i] = s->run.value[MEASURE_TIME];
    }
    repeats_sort(v, STARTS);
    return v[0];
}

/* The fastest run: on a busy machine the median says more about the others. NAN if there is none.
 */
static double fastest_ns(const struct session *s, const struct series *series)
{
    autofree double *v = mem_calloc(series->runs.n + 1, sizeof *v);
    size_t n = series_values(series, s->opts.measure, v);
    double least = NAN;
    for (size_t i = 0; i < n; i++)
        least = i && least < v[i] ? least : v[i];
    return least;
}

/* Commands shorter than this are held against the cost of starting one. */
static const double short_ns = 5e6;

static void doubt_command(struct session *s, const struct series *series, double *start)
{
    double fastest = fastest_ns(s, series);
    char one[UNITS_MAX], nothing[UNITS_MAX];
    if (!(fastest < short_ns) || !s->opts.unseen) /* a file keeps the last output it was given */
        return;
    if (*start == 0)
        *start = start_ns(s);
    if (fastest < 2 * *start)
        session_note(s,
                     mem_printf("'%s' takes %s at best, and starting a process that does nothing "
                                "%s: its own work is too short to measure",
                                series->name, units_scaled(one, fastest, SCALED_NS),
                                units_scaled(nothing, *start, SCALED_NS)));
}

static void doubt_benchmark(struct session *s, size_t number)
{
    const struct series *series = &s->set.series.at[number];
    double half, middle = session_median(s, series, &half);
    if (!(middle > 0) || 2 * s->origins.at[number].empty_runs > series->runs.n)
        session_note(s, mem_printf("benchmark '%s' takes no longer than an empty loop: the "
                                   "compiler may have removed its work (KELVIN_KEEP its result, "
                                   "KELVIN_HIDE its input)",
                                   series->name));
}

static void doubt_ties(struct session *s, const struct session_pair *pair)
{
    const struct comparison *c = &pair->c;
    if (c->paired.ties * 10 > c->paired.n && !s->opts.exact)
        session_note(s, mem_printf("in %zu of %zu blocks '%s' and '%s' took exactly as long: the "
                                   "clock is too coarse for them",
                                   c->paired.ties, c->paired.n, s->set.series.at[pair->before].name,
                                   s->set.series.at[pair->after].name));
}

/*
 * Where others take the CPU now and then, wall times scatter and CPU times hardly do. That is not
 * what was asked for, so it makes no verdict; but the user should know that there is one to be had.
 */
static void second_opinion(struct session *s, const struct session_pair *pair)
{
    if (s->opts.measure != MEASURE_TIME || pair->c.paired.verdict != VERDICT_INCONCLUSIVE)
        return;
    struct paired p = session_by_cpu(s, pair).paired;
    if (p.verdict != VERDICT_INCONCLUSIVE)
        session_note(s, mem_printf("by CPU time, which does not see waiting, '%s' is %s: %+.1f%% "
                                   "(%+.1f to %+.1f%%); a comparison of CPU times judges by that",
                                   s->set.series.at[pair->after].name, verdict_names[p.verdict],
                                   (p.ratio - 1) * 100, (p.interval.low - 1) * 100,
                                   (p.interval.high - 1) * 100));
}

void session_doubt(struct session *s)
{
    double start = 0;
    for (size_t i = 0; i < s->set.series.n && s->opts.measure == MEASURE_TIME; i++) {
        if (*s->origins.at[i].benchmark)
            doubt_benchmark(s, i);
        else if (!s->plan->items.at[s->origins.at[i].item].aa)
            doubt_command(s, &s->set.series.at[i], &start);
    }
    for (size_t i = 0; i < s->pairs.n; i++) {
        doubt_ties(s, &s->pairs.at[i]);
        second_opinion(s, &s->pairs.at[i]);
    }
}
