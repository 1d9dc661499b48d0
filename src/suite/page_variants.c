/* page_variants.c - the builds of a workload's program beside each other, on its page and in its
 * receipt. */
#include "base/json.h"
#include "base/units.h"
#include "stats/repeats.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/document.h"

#include <math.h>

static const struct document_column variant_columns[] = {{"build"},
                                                         {"median", .right = true},
                                                         {"95% interval", .right = true},
                                                         {"scatter", .right = true},
                                                         {"runs", .right = true},
                                                         {"against the suite's own build"},
                                                         {"environment of the build"},
                                                         {"instructions", .wide = true}};

static const struct comparison *find_comparison(const struct suite_variants *v,
                                                const struct series *s)
{
    const struct comparisons *all = &v->outcome.session.comparisons;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].after == s)
            return &all->at[i];
    return NULL;
}

/* A program is as fast as itself, whatever the runs of both say. */
static const char same_program[] = "the same program";

static void variant_verdict(struct document *d, const struct comparison *c, bool same)
{
    char text[120] = "-";
    if (same)
        snprintf(text, sizeof text, "%s", same_program);
    else if (c && isfinite(c->paired.interval.high))
        snprintf(text, sizeof text, "%s, %+.1f%% (%+.1f to %+.1f)", comparison_word(c),
                 units_change(c->paired.ratio), units_change(c->paired.interval.low),
                 units_change(c->paired.interval.high));
    else if (c)
        snprintf(text, sizeof text, "too few runs");
    document_cell(d, text_of(text), 0);
}

static void environment_cell(struct document *d, const struct suite *s, const char *variant)
{
    bool own = strcmp(variant, SUITE_OWN_BUILD) == 0;
    struct words set =
        own ? conf_words(&s->conf, "", "build.env") : conf_words(&s->conf, variant, "variant.env");
    autobuf struct buf b = {0};
    suite_say_environment(&b, s, &set);
    words_done(&set);
    document_cell(d, b.n ? buf_text(&b) : text_of("-"), 0);
}

static void variant_row(struct document *d, const struct suite *s, const struct suite_variants *v,
                        size_t i)
{
    const struct series *series = &v->outcome.session.set.series.at[i];
    autofree double *values = mem_calloc(series->runs.n + 1, sizeof *values);
    size_t n = series_values(series, v->outcome.session.opts.measure, values);
    struct repeats_summary sum;
    char low[UNITS_MAX], high[UNITS_MAX], range[2 * UNITS_MAX + 8] = "too few runs";
    repeats_summarize(&sum, values, n);
    document_cell(d, text_of(v->names.at[i]), 0);
    document_cell(d, text_of(units_scaled(low, sum.median, SCALED_NS)), 0);
    if (isfinite(sum.median_interval.low))
        snprintf(range, sizeof range, "%s to %s",
                 units_scaled(low, sum.median_interval.low, SCALED_NS),
                 units_scaled(high, sum.median_interval.high, SCALED_NS));
    document_cell(d, text_of(range), 0);
    page_scatter_cell(d, &sum);
    document_cell(d, text_of(units_count(low, n)), 0);
    variant_verdict(d, find_comparison(v, series), v->same.at[i]);
    environment_cell(d, s, v->names.at[i]);
    document_cell(d, text_of(v->code.at[i] ? v->code.at[i] : "-"), 0);
}

void page_variants(struct document *d, const struct suite *s, const struct suite_result *r)
{
    const struct suite_variants *v = r->variants;
    if (!v || !v->ran)
        return;
    document_heading(d, "Variants");
    document_table(d, variant_columns, sizeof variant_columns / sizeof *variant_columns);
    for (size_t i = 0; i < v->outcome.session.set.series.n; i++)
        variant_row(d, s, v, i);
    document_text(d, "%s of whole runs. %s.",
                  v->outcome.session.opts.measure == MEASURE_CPU
                      ? "CPU time, as the machine was busy,"
                      : "Wall time",
                  v->outcome.design);
}

void receipt_variants(struct json *j, const struct suite_result *r)
{
    const struct suite_variants *v = r->variants;
    if (!v)
        return;
    json_key(j, "variants_absent");
    json_open(j, '[');
    for (size_t i = 0; i < v->absent.n; i++)
        json_str(j, v->absent.at[i]);
    json_close(j, ']');
    if (!v->ran)
        return;
    json_key(j, "variants");
    json_open(j, '{');
    for (size_t i = 0; i < v->outcome.session.set.series.n; i++) {
        const struct series *s = &v->outcome.session.set.series.at[i];
        const struct comparison *c = find_comparison(v, s);
        json_key(j, v->names.at[i]);
        json_open(j, '{');
        receipt_series(j, "runs", s);
        json_put_bool(j, "same_program", v->same.at[i]);
        receipt_compared(j, "against", c && !v->same.at[i], c);
        json_close(j, '}');
    }
    json_close(j, '}');
}
