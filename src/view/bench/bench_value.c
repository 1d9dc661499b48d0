/* bench_value.c - numbers of benchmarks as people read them. */
#include "base/mem.h"
#include "model/meta_words.h"
#include "view/bench/bench_inner.h"

#include <math.h>

bool bench_summarize(struct bench_summary *ret, const struct series *series, enum measure m)
{
    *ret = (struct bench_summary){.values = mem_calloc(series->runs.n + 1, sizeof(double))};
    size_t n = series_values(series, m, ret->values);
    if (n) {
        repeats_summarize(&ret->s, ret->values, n);
        return true;
    }
    bench_summary_done(ret);
    return false;
}

void bench_summary_done(struct bench_summary *b)
{
    free(b->values);
    b->values = NULL;
}

double bench_median(const struct series *series, enum measure m)
{
    autofree double *values = mem_calloc(series->runs.n + 1, sizeof *values);
    size_t n = series_values(series, m, values);
    repeats_sort(values, n);
    return n ? repeats_quantile(values, n, 0.5) : NAN;
}

/* --- values --- */

struct step {
    double from;
    const char *unit;
};

static const struct step steps_ns[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}, {0}};
static const struct step steps_bytes[] = {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"},
                                          {0x1p10, "KiB"}, {1, "B"},        {0}};
static const struct step steps_count[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"},
                                          {1e3, "k"},  {1, ""},    {0}};

/* Four digits. 999.96 would become "1000", which is still right in its unit. */
static char *bench_value_scaled(char *to, double v, const struct step *steps, const char *per)
{
    while (steps[1].unit && fabs(v) < steps->from)
        steps++;
    double in_unit = v / steps->from;
    int digits = fabs(in_unit) >= 100 ? 1 : fabs(in_unit) >= 10 ? 2 : 3;
    if (fabs(in_unit) < 1)
        snprintf(to, BENCH_VALUE_MAX, "%.3g %s%s", in_unit, steps->unit, per);
    else
        snprintf(to, BENCH_VALUE_MAX, "%.*f %s%s", digits, in_unit, steps->unit, per);
    return to;
}

char *bench_tick(char *to, enum measure m, double v)
{
    const struct step *steps = measure_infos[m].unit == MEASURE_NS      ? steps_ns
                               : measure_infos[m].unit == MEASURE_BYTES ? steps_bytes
                                                                        : steps_count;
    while (steps[1].unit && fabs(v) < steps->from)
        steps++;
    snprintf(to, BENCH_VALUE_MAX, "%.5g %s", v / steps->from, steps->unit);
    return to;
}

static char *count(char *to, double v)
{
    if (v >= 0 && v < 1e15 && (v >= 1000 || v == floor(v)))
        return units_count(to, (uint64_t)(v + 0.5));
    snprintf(to, BENCH_VALUE_MAX, "%.4g", v);
    return to;
}

char *bench_value(char *to, enum measure m, double v)
{
    if (isnan(v))
        return strcpy(to, "-");
    switch (measure_infos[m].unit) {
    case MEASURE_NS:
        return bench_value_scaled(to, v, steps_ns, "");
    case MEASURE_BYTES:
        return bench_value_scaled(to, v, steps_bytes, "");
    case MEASURE_COUNT:
        break;
    }
    return count(to, v);
}

char *bench_half(char *to, double value, const struct interval *i)
{
    double half = (i->high - i->low) / 2;
    if (!isfinite(half) || !(fabs(value) > 0))
        return strcpy(to, "?");
    double percent = 100 * half / fabs(value);
    snprintf(to, BENCH_VALUE_MAX, percent < 9.995 ? "%.2f%%" : "%.0f%%", percent);
    return to;
}

char *bench_change(char *to, double ratio)
{
    if (!isfinite(ratio))
        return strcpy(to, "?");
    snprintf(to, BENCH_VALUE_MAX, fabs(ratio - 1) < 1 ? "%+.1f%%" : "%+.0f%%", units_change(ratio));
    return to;
}

char *bench_throughput(char *to, const struct series *s, double time_ns)
{
    if (!(time_ns > 0) || !(s->bytes > 0 || s->items > 0 || s->flops > 0))
        return strcpy(to, "");
    if (s->flops > 0)
        return bench_value_scaled(to, s->flops * 1e9 / time_ns, steps_count, "FLOP/s");
    return s->bytes > 0 ? bench_value_scaled(to, s->bytes * 1e9 / time_ns, steps_bytes, "/s")
                        : bench_value_scaled(to, s->items * 1e9 / time_ns, steps_count, "/s");
}

/* --- names --- */

char *bench_comparison_name(const struct comparison *c)
{
    if (strcmp(c->before->name, c->after->name) == 0)
        return mem_strdup(c->after->name);
    return mem_printf("%s vs %s", c->after->name, c->before->name);
}

char *bench_title(const struct bench_report *r)
{
    if (r->before_name && r->now_name)
        return mem_printf("Benchmarks: %s against %s", r->now_name, r->before_name);
    if (r->before_name)
        return mem_printf("Benchmarks against %s", r->before_name);
    const struct series *first = r->now->series.at;
    if (r->now->series.n == 1)
        return mem_printf("Benchmark: %s", first[0].name);
    if (r->now->series.n == 2 && r->n_comparisons)
        return mem_printf("%s and %s compared", first[0].name, first[1].name);
    return r->now_name && strcmp(r->now_name, "now") != 0
               ? mem_printf("Benchmarks: %s", r->now_name)
               : mem_strdup("Benchmarks");
}

/* --- the past --- */

double bench_between_sd(const struct past *p, size_t *ret_n)
{
    size_t first = 0, n = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < p->n_runs; i++)
        if (p->runs[i].change_point)
            first = i;
    for (size_t i = first; i < p->n_runs; i++) {
        if (!(p->runs[i].median > 0))
            continue;
        double v = log(p->runs[i].median);
        n++;
        double step = v - sum; /* here SUM is the mean so far (Welford) */
        sum += step / (double)n;
        squares += step * (v - sum);
    }
    *ret_n = n;
    return n >= 3 ? sqrt(squares / (double)(n - 1)) : NAN;
}

/* The median of the runs from number FROM up to the next change. */
static double level(const struct past *p, size_t from)
{
    autofree double *values = mem_calloc(p->n_runs, sizeof *values);
    size_t n = 0;
    for (size_t i = from; i < p->n_runs && (i == from || !p->runs[i].change_point); i++)
        values[n++] = p->runs[i].median;
    repeats_sort(values, n);
    return repeats_quantile(values, n, 0.5);
}

double bench_past_step(const struct past *p, size_t at)
{
    size_t before = at - 1;
    while (before > 0 && !p->runs[before].change_point)
        before--;
    return level(p, at) / level(p, before);
}

/* --- facts --- */

char *bench_fact(const struct series_set *set, const char *key)
{
    autobuf struct buf value = {0};
    return mem_strdup(meta_words_value(&value, &set->meta, key) ? buf_cstr(&value) : "not known");
}
