/* sweep.c - medians over sizes; see sweep.h. */
#include "bench/sweep.h"
#include "stats/repeats.h"

#include <math.h>

void sweeps_done(struct sweeps *w)
{
    for (size_t i = 0; i < w->at.n; i++) {
        free(w->at.at[i].name);
        free(w->at.at[i].parameter);
        vec_done(&w->at.at[i].points);
    }
    vec_done(&w->at);
}

/* The median of a series, and its standard error: from a bootstrap. */
static struct growth_point sweep_point(const struct series *s, enum measure m, double size)
{
    struct growth_point p = {size, NAN, 0};
    autofree double *v = mem_calloc(s->runs.n + 1, sizeof *v);
    size_t n = series_values(s, m, v);
    if (n == 0)
        return p;
    struct interval i = repeats_bootstrap_median(v, n, REPEATS_RESAMPLES, 0.05);
    p.cost = repeats_median(v, n);
    if (p.cost > 0 && isfinite(i.high - i.low))
        p.error = (i.high - i.low) / (2 * STATS_Z95) / p.cost;
    return p;
}

static void add_point(struct sweeps *w, const char *name, const char *parameter,
                      struct growth_point p)
{
    size_t i = 0;
    while (i < w->at.n &&
           (strcmp(w->at.at[i].name, name) != 0 || strcmp(w->at.at[i].parameter, parameter) != 0))
        i++;
    if (i == w->at.n)
        *vec_push(&w->at) =
            (struct sweep){.name = mem_strdup(name), .parameter = mem_strdup(parameter)};
    *vec_push(&w->at.at[i].points) = p;
}

/* "sum/n=1000" without the part that differs: "sum". */
static char *without_size(const char *name, const char *parameter)
{
    autofree char *mark = mem_printf("/%s=", parameter);
    const char *from = strstr(name, mark);
    if (!from)
        return mem_strdup(name);
    const char *to = strchrnul(from + 1, '/');
    return mem_printf("%.*s%s", (int)(from - name), name, to);
}

static void add_benchmark(struct sweeps *w, const struct session *s, size_t i)
{
    const struct series *series = &s->set.series.at[i];
    if (!*s->origins.at[i].benchmark || isnan(series->size))
        return;
    autofree char *name = without_size(series->name, series->parameter);
    add_point(w, name, series->parameter, sweep_point(series, s->opts.measure, series->size));
}

static void sweep_add_command(struct sweeps *w, const struct session *s, size_t i)
{
    const struct plan_item *item = &s->plan->items.at[s->origins.at[i].item];
    for (size_t k = 0; k < s->plan->parameters.n && !item->aa; k++) {
        const struct plan_parameter *p = &s->plan->parameters.at[k];
        if (!p->numbers || p->values.at.n < 3)
            continue;
        autofree char *line = plan_fill(s->plan, item, s->plan->lines[item->line_number], k);
        autofree char *name = mem_printf("%s%s%s", line, *s->origins.at[i].benchmark ? ": " : "",
                                         s->origins.at[i].benchmark);
        add_point(w, name, p->name,
                  sweep_point(&s->set.series.at[i], s->opts.measure, p->number[item->value[k]]));
    }
}

static int by_size(const void *a, const void *b)
{
    const struct growth_point *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

void sweeps_build(struct sweeps *w, const struct session *s)
{
    *w = (struct sweeps){0};
    for (size_t i = 0; i < s->set.series.n; i++) {
        add_benchmark(w, s, i);
        sweep_add_command(w, s, i);
    }
    size_t kept = 0;
    for (size_t i = 0; i < w->at.n; i++) {
        struct sweep *one = &w->at.at[i];
        qsort(one->points.at, one->points.n, sizeof *one->points.at, by_size);
        bool fits = one->points.n >= 3 && growth_fit(&one->growth, one->points.at, one->points.n);
        if (fits) {
            w->at.at[kept++] = *one;
            continue;
        }
        free(one->name);
        free(one->parameter);
        vec_done(&one->points);
    }
    w->at.n = kept;
}
