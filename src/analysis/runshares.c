#include "analysis/runshares.h"

#include <math.h>

struct flat_share runshares_mean(const double *shares, size_t n, double samples)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += shares[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (shares[i] - mean) * (shares[i] - mean);
    double error = sqrt(squares / (double)(n - 1) / (double)n);
    double half = stats_t95((double)(n - 1)) * error;
    struct flat_share s = {.share = mean, .n_effective = samples > 0 ? samples : (double)n};
    struct interval least = {mean, mean};
    if (samples > 0)
        least = stats_wilson(mean, samples, STATS_Z95);
    s.interval = (struct interval){fmax(0, fmin(mean - half, least.low)),
                                   fmin(1, fmax(mean + half, least.high))};
    return s;
}

static void runshares_add_name(struct runshares *r, uint32_t name, double samples)
{
    size_t n = r->overlay.n_runs;
    autofree double *self = mem_calloc(n, sizeof *self);
    autofree double *total = mem_calloc(n, sizeof *total);
    struct runshare row = {.name = name};
    for (size_t i = 0; i < n; i++) {
        self[i] = r->overlay.runs[i].fun_self[name];
        total[i] = r->overlay.runs[i].fun_total[name];
        row.n_seen += total[i] > 0;
    }
    if (!row.n_seen || !intern_get(&r->overlay.names, name).n)
        return;
    row.self = runshares_mean(self, n, samples);
    row.total = runshares_mean(total, n, samples);
    *vec_push(&r->rows) = row;
}

static int by_self(const void *a, const void *b)
{
    const struct runshare *x = a, *y = b;
    if (x->self.share != y->self.share)
        return x->self.share > y->self.share ? -1 : 1;
    if (x->total.share != y->total.share)
        return x->total.share > y->total.share ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

struct runshares *runshares_build(const struct selection *const *runs, size_t n_runs)
{
    struct runshares *r = mem_new(struct runshares);
    double samples = 0;
    overlay_build(&r->overlay, runs, n_runs, OVERLAY_FUNCTION);
    for (size_t i = 0; i < n_runs; i++)
        samples += (double)runs[i]->n_samples;
    for (uint32_t name = 0; name < r->overlay.names.strings.n; name++)
        runshares_add_name(r, name, samples);
    if (r->rows.n)
        qsort(r->rows.at, r->rows.n, sizeof *r->rows.at, by_self);
    return r;
}

void runshares_free(struct runshares *r)
{
    if (!r)
        return;
    overlay_done(&r->overlay);
    vec_done(&r->rows);
    free(r);
}
