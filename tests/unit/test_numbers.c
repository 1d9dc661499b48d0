/*
 * test_numbers.c - the statistics on fixed inputs, number by number.
 *
 * Other tests show that intervals cover and that risks are kept, which takes many draws and leaves
 * room for small errors. Here every number must be the one that was there when those tests held: a
 * change that moves one is seen, and must be meant. To write the expected lines anew, call the test
 * with a word behind it.
 */
#include "base/buf.h"
#include "stats/changepoint.h"
#include "stats/growth.h"
#include "stats/histogram.h"
#include "stats/modes.h"
#include "stats/paired.h"
#include "stats/repeats.h"
#include "stats/stats.h"
#include "stats/tails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "numbers_expected.h"
#include "support_numbers.h"

/* --- inputs --- */

enum { MOST = 240 };

/* 100 and a scatter of some per cent, by a generator of its own; every seventh value is there
 * twice. */
static void noise(double *v, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        v[i] = 100 + (double)(seed >> 54) / 100;
        if (i % 7 == 6)
            v[i] = v[i - 1];
    }
}

static void scale(double *v, size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        v[i] *= factor;
}

static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 21, 50, 101, MOST};

#define for_each_size(n) \
    for (size_t k_ = 0, n = 0; k_ < sizeof sizes / sizeof *sizes && (n = sizes[k_], true); k_++)

/* --- lines --- */

static void add_paired(struct buf *b, const char *what, size_t n, const struct paired *p)
{
    buf_printf(
        b,
        "%s %zu: n %zu ties %zu ratio %.6g in %.6g..%.6g miss %.6g sees %.6g %s, gate %d %d %d\n",
        what, n, p->n, p->ties, p->ratio, p->interval.low, p->interval.high, p->miss, p->detectable,
        verdict_names[p->verdict], paired_gate(p, 0.02, 0.01), paired_gate(p, 0.05, 0.01),
        paired_gate(p, 0.005, 0.01));
}

static void numbers_of_paired(struct buf *b)
{
    static const double factors[] = {1, 1.001, 1.03, 0.97};
    double before[MOST], after[MOST];
    struct paired p;
    for_each_size(n)
    {
        for (size_t f = 0; f < 4; f++) {
            noise(before, n, n + 1);
            noise(after, n, n + 77);
            scale(after, n, factors[f]);
            struct paired_opts o = {PAIRED_BAND, PAIRED_RISK, f};
            paired_compare(&p, before, after, n, &o, f % 2 ? PAIRED_ONLY_LOOK : (int)f);
            add_paired(b, "blocks", n, &p);
            paired_compare_apart(&p, before, n, after, n - n / 3, &o);
            add_paired(b, "apart", n, &p);
            for (size_t i = 0; i < n; i++) {
                before[i] = 100000 + (double)(i % 3);
                after[i] = before[i] * factors[f];
            }
            paired_compare_counts(&p, before, after, n, &o);
            add_paired(b, "counts", n, &p);
        }
    }
    for (int look = -1; look <= PAIRED_LOOKS + 1; look++)
        buf_printf(b, "look %d at %zu %zu %zu\n", look, paired_look_at(look, 5),
                   paired_look_at(look, 60), paired_look_at(look, 100000));
}

static void numbers_of_repeats(struct buf *b)
{
    double v[MOST], counts[MOST];
    struct repeats_summary s;
    struct slope slope;
    for_each_size(n)
    {
        noise(v, n, 5 * n + 3);
        for (size_t i = 0; i < n; i++)
            v[i] *= i % 11 == 5 ? 1.2 : i % 13 == 8 ? 2 : i % 17 == 9 ? 0.9 : i % 19 == 3 ? 0.5 : 1;
        repeats_summarize(&s, v, n);
        buf_printf(
            b,
            "summary %zu: mean %.6g sd %.6g median %.6g min %.6g max %.6g q %.6g %.6g mad %.6g\n",
            s.n, s.mean, s.sd, s.median, s.min, s.max, s.q1, s.q3, s.mad);
        buf_printf(b, "  outliers %zu %zu %zu %zu mean in %.6g..%.6g median in %.6g..%.6g\n",
                   s.mild_low, s.mild_high, s.severe_low, s.severe_high, s.mean_interval.low,
                   s.mean_interval.high, s.median_interval.low, s.median_interval.high);
        struct interval i = repeats_bootstrap_mean(v, n, 200, 0.1);
        struct interval j = repeats_bootstrap_median(v, n, 200, 0.1);
        buf_printf(b, "  bootstrap %.6g..%.6g, %.6g..%.6g\n", i.low, i.high, j.low, j.high);
        repeats_sort(v, n);
        for (double q = 0; n && q <= 1; q += 0.125)
            buf_printf(b, " %.6g", repeats_quantile(v, n, q));
        i = repeats_median_interval(v, n, 0.05);
        j = repeats_median_interval(v, n, 0.005);
        buf_printf(b, "  ranks %.6g..%.6g, %.6g..%.6g\n", i.low, i.high, j.low, j.high);
        for (size_t k = 0; k < n; k++) {
            counts[k] = (double)(k + 1);
            v[k] *= counts[k];
        }
        repeats_slope(&slope, counts, v, n);
        buf_printf(b, "  slope %.6g r2 %.6g in %.6g..%.6g\n", slope.slope, slope.r2,
                   slope.interval.low, slope.interval.high);
    }
    struct interval none = repeats_bootstrap_mean(v, 5, 0, 0.1),
                    no = repeats_bootstrap_median(v, 5, 0, 0.1);
    buf_printf(b, "no resamples %g..%g, %g..%g\n", none.low, none.high, no.low, no.high);
}

static void numbers_of_stats(struct buf *b)
{
    static const double shares[] = {0, 0.001, 0.2, 0.5, 0.999, 1};
    for (size_t i = 0; i < 6; i++)
        for (double n = 0; n < 2000; n = n * 7 + 1) {
            struct interval w = stats_wilson(shares[i], n, STATS_Z95);
            buf_printf(b, "wilson %g of %g: %.6g..%.6g\n", shares[i], n, w.low, w.high);
        }
    for (double n = 0.5; n < 3000; n *= 2.7)
        buf_printf(b, "dof %g: t95 %.6g p %.6g %.6g %.6g, choose %.6g %.6g, weighted %.6g\n", n,
                   stats_t95(n), stats_t_p(0, n), stats_t_p(1.3, n), stats_t_p(-4, n),
                   stats_log_choose(n, n / 3), stats_log_choose(n, n), stats_weighted_n(n, n * 2));
    buf_printf(b, "weighted %.6g %.6g\n", stats_weighted_n(0, 0), stats_weighted_n(3, 0));
    static uint8_t hits[5000];
    for (size_t n = 0; n <= 5000; n = n ? n * 3 + (n % 2) : 7)
        for (size_t run = 1; run < 200; run = run * 5 + 1) {
            for (size_t i = 0; i < n; i++)
                hits[i] = i / run % 3 == 1;
            double comes_and_goes = stats_effective_n(hits, n);
            for (size_t i = 0; i < n; i++)
                hits[i] = i >= n / 2 && i < n / 2 + run;
            double once = stats_effective_n(hits, n);
            for (size_t i = 0; i < n; i++)
                hits[i] = i + run >= n;
            buf_printf(b,
                       "effective %zu runs of %zu: %.6g, once %.6g, at the end %.6g, per sum %zu\n",
                       n, run, comes_and_goes, once, stats_effective_n(hits, n),
                       stats_samples_per_sum(n * 1000));
        }
}

static void add_changes(struct buf *b, const char *what, const double *v, size_t n,
                        const struct changepoint_opts *o)
{
    struct changepoint *at = NULL;
    size_t found = changepoint_find(v, n, o, &at);
    buf_printf(b, "%s %zu:", what, n);
    for (size_t i = 0; i < found; i++)
        buf_printf(b, " at %zu %.6g -> %.6g p %.6g%s", at[i].at, at[i].before, at[i].after, at[i].p,
                   at[i].likely ? " likely" : "");
    buf_str(b, "\n");
    free(at);
}

static void numbers_of_changepoint(struct buf *b)
{
    double v[MOST];
    struct changepoint_opts o = CHANGEPOINT_DEFAULTS, sure = o, fine = o;
    o.shuffles = sure.shuffles = fine.shuffles = 199;
    sure.likely = 0;
    fine.min_change = 0;
    for (size_t n = 5; n <= 150; n = n < 12 ? n + 1 : n * 2 - 7)
        for (size_t part = 2; part <= 4; part++) {
            noise(v, n, n + part);
            scale(v + n / part, n - n / part, part == 3 ? 0.93 : 1.08);
            if (part == 4)
                scale(v + n / 2, n - n / 2, 1.2);
            add_changes(b, "changes", v, n, &o);
            add_changes(b, "proven", v, n, &sure);
            noise(v, n, 3 * n + part);
            scale(v + n / part, n - n / part, 1.004);
            add_changes(b, "small", v, n, &fine);
            add_changes(b, "left out", v, n, &o);
        }
}

static void numbers_of_others(struct buf *b)
{
    double v[MOST], w[MOST];
    struct modes m;
    for_each_size(n)
    {
        noise(v, n, n + 9);
        noise(w, n, n + 10);
        for (size_t i = 0; i < n; i++) {
            v[i] *= i % 3 == 1 ? 1.4 : 1;
            w[i] *= i % 5 == 1 ? 1.7 : 1;
        }
        bool two = modes_find(&m, v, n);
        buf_printf(b, "modes %zu:", n);
        if (two)
            buf_printf(b, " %.6g %.6g at %.6g %.6g, %zu changes", m.share[0], m.share[1],
                       m.median[0], m.median[1], m.changes);
        struct tails t = tails_compare(v, n, w, n - n / 4), u = tails_compare(w, n, v, n / 2);
        buf_printf(b, "\ntails %.6g %.6g ratio %.6g p %.6g; %.6g %.6g ratio %.6g p %.6g\n",
                   t.slow_before, t.slow_after, t.mean_ratio, t.p, u.slow_before, u.slow_after,
                   u.mean_ratio, u.p);
    }
    static const double powers[] = {0, 0.2, 1, 1.1, 2, 2.5, 3};
    for (size_t k = 0; k < 7; k++)
        for (size_t n = 1; n <= 6; n++) {
            struct growth_point at[6];
            struct growth g;
            for (size_t i = 0; i < n; i++) {
                double size = pow(2, (double)i + 3);
                at[i] = (struct growth_point){size, pow(size, powers[k]) * (i % 2 ? 1.05 : 1)};
            }
            if (!growth_fit(&g, at, n))
                buf_printf(b, "growth %g of %zu: none\n", powers[k], n);
            else
                buf_printf(b, "growth %g of %zu: %.6g in %.6g..%.6g r2 %.6g %s off %.6g\n",
                           powers[k], n, g.exponent, g.interval.low, g.interval.high, g.r2,
                           growth_shape_names[g.shape], g.shape_error);
        }
    struct histogram h = {0}, sum = {0};
    for (uint64_t x = 0, i = 0; i < 400; i++, x = x * 21 / 20 + 1)
        histogram_add(&h, x, i % 4 + 1);
    histogram_add(&h, UINT64_MAX, 1);
    histogram_merge(&sum, &h);
    histogram_merge(&sum, &h);
    for (double q = 0; q <= 1; q += 0.0625)
        buf_printf(b, "histogram %g: %llu %llu\n", q, (unsigned long long)histogram_quantile(&h, q),
                   (unsigned long long)histogram_quantile(&sum, q));
    for (uint64_t x = 1; x < 1u << 30; x = x * 5 + 2)
        buf_printf(b, "to %llu: %llu\n", (unsigned long long)x,
                   (unsigned long long)histogram_count_to(&h, x));
    histogram_done(&h);
    histogram_done(&sum);
}

static const struct numbers_part parts[] = {
    NUMBERS_PART(paired),      NUMBERS_PART(repeats), NUMBERS_PART(stats),
    NUMBERS_PART(changepoint), NUMBERS_PART(others),
};

int main(int argc, char **argv)
{
    (void)argv;
    return numbers_main(argc, "numbers", parts, sizeof parts / sizeof *parts);
}
