/*
 * bench_table.c - several sets side by side, after critcmp.
 *
 * A cell has the factor to the best of its row ("1.00" is the best), the median and the throughput.
 * It is a list of what was measured, not a verdict: no test is made.
 */
#include "base/buf.h"
#include "view/bench/bench_inner.h"

#include <math.h>

struct row {
    const char *name;
    double median[BENCH_TABLE_SETS]; /* NAN = not in that set */
    const struct series *series[BENCH_TABLE_SETS];
    double best, worst;
    size_t n; /* sets that have it */
};

static struct row make_row(const struct bench_table *t, const char *name, enum measure m)
{
    struct row r = {.name = name, .best = INFINITY, .worst = 0};
    for (size_t i = 0; i < t->n_sets; i++) {
        r.series[i] = series_find(t->sets[i], name);
        r.median[i] = r.series[i] ? bench_median(r.series[i], m) : NAN;
        if (!isnan(r.median[i])) {
            r.n++;
            r.best = fmin(r.best, r.median[i]);
            r.worst = fmax(r.worst, r.median[i]);
        }
    }
    return r;
}

static void cell_factor(struct document *d, const struct row *r, size_t i)
{
    char text[BENCH_VALUE_MAX];
    bool best = r->median[i] <= r->best;
    if (!(r->best > 0) || r->n < 2)
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%.2f%s", r->median[i] / r->best, best ? "*" : " ");
    document_cell(d, text_of(text), 0);
}

static void add_cells(struct document *d, const struct row *r, size_t i, enum measure m)
{
    char value[BENCH_VALUE_MAX], speed[BENCH_VALUE_MAX], text[2 * BENCH_VALUE_MAX + 4];
    if (isnan(r->median[i])) {
        document_cell(d, text_of("-"), 0);
        document_cell(d, text_of("-"), 0);
        return;
    }
    cell_factor(d, r, i);
    bench_value(value, m, r->median[i]);
    bench_throughput(speed, r->series[i], m == MEASURE_TIME ? r->median[i] : 0);
    snprintf(text, sizeof text, "%s%s%s", value, *speed ? ", " : "", speed);
    document_cell(d, text_of(text), 0);
}

static bool is_shown(const struct bench_table *t, const struct row *r)
{
    return isfinite(r->best) && !(t->threshold > 0 && r->worst < r->best * (1 + t->threshold));
}

/* Whether a set before number SET has the benchmark too: then its row is there already. */
static bool is_known(const struct bench_table *t, size_t set, const char *name)
{
    for (size_t i = 0; i < set; i++)
        if (series_find(t->sets[i], name))
            return true;
    return false;
}

/* Benchmarks in the order of the first set, then what only later ones have. Returns those hidden.
 */
static size_t bench_table_add_rows(struct document *d, const struct bench_table *t, enum measure m)
{
    size_t hidden = 0;
    for (size_t set = 0; set < t->n_sets; set++)
        for (size_t i = 0; i < t->sets[set]->series.n; i++) {
            const char *name = t->sets[set]->series.at[i].name;
            if (is_known(t, set, name))
                continue;
            struct row r = make_row(t, name, m);
            if (!is_shown(t, &r)) {
                hidden++;
                continue;
            }
            document_cell(d, text_of(name), 0);
            for (size_t c = 0; c < t->n_sets; c++)
                add_cells(d, &r, c, m);
        }
    return hidden;
}

void bench_table_add(struct document *d, const struct bench_table *t, enum measure m)
{
    struct document_column *columns = arena_get(&d->arena, (1 + 2 * t->n_sets) * sizeof *columns);
    columns[0] = (struct document_column){"benchmark", .wide = true};
    for (size_t i = 0; i < t->n_sets; i++) {
        columns[1 + 2 * i] = (struct document_column){"factor", .right = true};
        columns[2 + 2 * i] = (struct document_column){t->names[i]};
    }
    document_heading(d, "Baselines");
    document_table(d, columns, 1 + 2 * t->n_sets);
    size_t hidden = bench_table_add_rows(d, t, m);
    document_text(
        d,
        "Medians of the %s. Factors are relative to the best of the row, which has a star. "
        "The sets were not measured side by side: small factors prove nothing.",
        measure_infos[m].title);
    if (hidden)
        document_text(d, "%zu that differ by less than %g%%, or have no %s, are not shown.", hidden,
                      100 * t->threshold, measure_infos[m].title);
}
