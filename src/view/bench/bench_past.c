/* bench_past.c - what earlier sessions measured, in a benchmark report, and whether a gate can
 * hold. */
#include "view/bench/bench_inner.h"

#include <math.h>
#include <time.h>

/* The narrowest gate that is set for a benchmark; NAN = none. */
static double gate_of(const struct bench_report *r, const char *name)
{
    for (size_t i = 0; i < r->n_comparisons; i++)
        if (strcmp(r->comparisons[i].after->name, name) == 0)
            return r->comparisons[i].limit;
    return NAN;
}

/* Whether sessions differ so much by themselves that a verdict from two of them may be chance. */
static bool may_be_chance(const struct bench_report *r, const char *name, double sd)
{
    for (size_t i = 0; i < r->n_comparisons; i++) {
        const struct comparison *c = &r->comparisons[i];
        bool verdict = c->paired.verdict == VERDICT_FASTER || c->paired.verdict == VERDICT_SLOWER;
        if (c->apart && verdict && strcmp(c->after->name, name) == 0)
            return fabs(log(c->paired.ratio)) < STATS_Z95 * M_SQRT2 * sd;
    }
    return false;
}

static const struct document_column columns_past[] = {
    {"benchmark", .wide = true}, {"sessions", .right = true},    {"at this level", .right = true},
    {"sd", .right = true},       {"last change", .right = true}, {"on"},
};

/* Where the level changed last: the day, and the commit if it is known. */
static void cell_when(struct document *d, const struct past_run *run)
{
    char text[64];
    time_t seconds = (time_t)run->time_s;
    struct tm tm;
    size_t n = gmtime_r(&seconds, &tm) ? strftime(text, sizeof text, "%Y-%m-%d", &tm) : 0;
    snprintf(text + n, sizeof text - n, "%s%.12s", *run->commit ? ", commit " : "", run->commit);
    benchdoc_cell(d, text);
}

static void add_past(struct document *d, const struct past *p)
{
    char text[BENCH_VALUE_MAX];
    size_t n, last = 0;
    double sd = bench_between_sd(p, &n);
    for (size_t i = 0; i < p->n_runs; i++)
        last = p->runs[i].change_point ? i : last;
    benchdoc_cell(d, p->name);
    benchdoc_cell(d, units_count(text, p->n_runs));
    benchdoc_cell(d, units_count(text, n));
    snprintf(text, sizeof text, "%.2f%%", 100 * sd);
    benchdoc_cell(d, isnan(sd) ? "?" : text);
    if (last == 0) {
        benchdoc_cell(d, "-");
        benchdoc_cell(d, "-");
        return;
    }
    double ratio = bench_past_step(p, last);
    document_cell(d, text_of(bench_change(text, ratio)), ratio > 1 ? 1 : 0);
    cell_when(d, &p->runs[last]);
}

static void add_past_hints(struct document *d, const struct bench_report *r, const struct past *p)
{
    size_t n;
    double sd = bench_between_sd(p, &n), gate = gate_of(r, p->name);
    if (2 * sd > gate)
        document_text(d,
                      "Careful: sessions of %s differ by %.2f%%, too much for a gate of %g%%, "
                      "which will break by chance: compare side by side with the older program "
                      "instead.",
                      p->name, 100 * sd, 100 * gate);
    if (may_be_chance(r, p->name, sd))
        document_text(d,
                      "Careful: sessions of %s differ by %.2f%% by themselves, so its verdict may "
                      "be chance: compare side by side with the older program instead.",
                      p->name, 100 * sd);
}

void bench_add_pasts(struct document *d, const struct bench_report *r, bool figures)
{
    if (!r->n_pasts)
        return;
    document_heading(d, "Over time");
    document_table(d, columns_past, 6);
    for (size_t i = 0; i < r->n_pasts; i++)
        add_past(d, &r->pasts[i]);
    document_text(d, "Medians of sessions on this host. sd: spread between sessions since the last "
                     "level shift; unknown with fewer than three.");
    for (size_t i = 0; i < r->n_pasts; i++)
        add_past_hints(d, r, &r->pasts[i]);
    if (figures)
        document_figure(d);
}
