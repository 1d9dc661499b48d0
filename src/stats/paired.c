/* paired.c - verdicts from runs made side by side; see paired.h. */
#include "stats/paired.h"
#include "base/calc.h"
#include "base/mem.h"
#include "stats/repeats.h"

#include <math.h>
#include <string.h>

const char *const verdict_names[] = {
    [VERDICT_INCONCLUSIVE] = "inconclusive",
    [VERDICT_SAME] = "same",
    [VERDICT_FASTER] = "faster",
    [VERDICT_SLOWER] = "slower",
};

static const struct interval nothing_known = {0, INFINITY};

/* --- from interval to verdict --- */

static bool within_band(const struct interval *i, double band)
{
    return i->low >= 1 / (1 + band) && i->high <= 1 + band;
}

/* LIMIT: how far from 1 the nearer end of the interval must be. */
static enum verdict paired_judge(const struct paired *p, double band, double limit)
{
    if (!(p->interval.high < INFINITY))
        return VERDICT_INCONCLUSIVE;
    if (within_band(&p->interval, band))
        return VERDICT_SAME;
    if (p->interval.low > 1 + limit && p->ratio > 1 + band)
        return VERDICT_SLOWER;
    if (p->interval.high < 1 / (1 + limit) && p->ratio < 1 / (1 + band))
        return VERDICT_FASTER;
    return VERDICT_INCONCLUSIVE;
}

const char *const gate_names[] = {
    [GATE_NONE] = "",
    [GATE_HOLDS] = "holds",
    [GATE_UNDECIDED] = "undecided",
    [GATE_BROKEN] = "broken",
};

enum gate paired_gate(const struct paired *p, double limit, double band)
{
    double most = 1 + fmax(limit, band);
    if (isnan(limit))
        return GATE_NONE;
    if (p->interval.high <= most)
        return GATE_HOLDS;
    return p->interval.low > most ? GATE_BROKEN : GATE_UNDECIDED;
}

/* How many deviations from the middle of a bell curve leave TAIL outside, at one end. */
static double normal_quantile(double tail)
{
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (calc_erfc(middle / M_SQRT2) / 2 > tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The interval's half width is z errors; a change is found in 4 of 5 cases if it is 0.84 more. */
static double detectable(const struct interval *i, double miss)
{
    if (!(i->high < INFINITY) || !(i->low > 0))
        return INFINITY;
    double half = (calc_log(i->high) - calc_log(i->low)) / 2;
    return calc_exp(half * (1 + 0.8416 / normal_quantile(miss / 2))) - 1;
}

static void paired_finish(struct paired *p, const struct paired_opts *opts, double limit)
{
    p->detectable = detectable(&p->interval, p->miss);
    p->verdict = paired_judge(p, opts->band, limit);
}

static double share_of_risk(const struct paired_opts *opts)
{
    return opts->risk / (opts->comparisons > 1 ? (double)opts->comparisons : 1);
}

/* --- side by side --- */

/* Looks at 14, 21, 32, 47... blocks: with fewer than 13 so small a risk proves nothing. */
size_t paired_look_at(int look, size_t most)
{
    if (look >= PAIRED_LOOKS)
        return most;
    size_t at = (size_t)(14 * calc_pow(1.5, look) + 0.5);
    return at < most ? at : most;
}

/*
 * Looks hang together: who crosses the line at one of them likely does at the next. Dividing
 * the risk by their number would be too careful by almost a half, so each gets 1.5 times
 * as much; test_paired.c works out exactly that the sum is then still below the risk.
 */
#define SHARE_OF_LOOK (1.5 / PAIRED_LOOKS)

static double risk_of_look(const struct paired_opts *opts, int look)
{
    double left = look == PAIRED_ONLY_LOOK  ? 1
                  : look < PAIRED_LAST_LOOK ? SHARE_OF_LOOK
                                            : 1 - SHARE_OF_LOOK * (look - PAIRED_LAST_LOOK);
    return share_of_risk(opts) * fmax(left, SHARE_OF_LOOK);
}

/* The plan is over and the risk spent. */
static bool is_beyond_plan(int look)
{
    return (look < PAIRED_LAST_LOOK ? look : look - PAIRED_LAST_LOOK) >= PAIRED_LOOKS;
}

static size_t log_ratios(const double *before, const double *after, size_t n, double *ret,
                         size_t *ret_ties)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (before[i] > 0 && after[i] > 0) {
            *ret_ties += before[i] == after[i];
            ret[used++] = calc_log(after[i] / before[i]);
        }
    return used;
}

void paired_compare(struct paired *p, const double *before, const double *after, size_t n,
                    const struct paired_opts *opts, int look)
{
    *p = (struct paired){.ratio = NAN, .interval = nothing_known, .miss = risk_of_look(opts, look)};
    autofree double *ratios = mem_calloc(n + 1, sizeof *ratios);
    p->n = log_ratios(before, after, n, ratios, &p->ties);
    if (p->n > 0) {
        repeats_sort(ratios, p->n);
        struct interval i = repeats_median_interval(ratios, p->n, p->miss);
        p->ratio = calc_exp(repeats_quantile(ratios, p->n, 0.5));
        p->interval = (struct interval){calc_exp(i.low), calc_exp(i.high)};
    }
    if (is_beyond_plan(look)) /* say what is seen, decide nothing */
        p->interval = nothing_known;
    paired_finish(p, opts, 0);
}

/* --- apart --- */

enum { PIECES = 12 };

/* Medians of the logarithms of up to PIECES pieces; returns how many. */
static size_t cut_up(const double *values, size_t n, double *ret)
{
    autofree double *piece = mem_calloc(n + 1, sizeof *piece);
    size_t pieces = n < PIECES ? n : PIECES, used = 0;
    for (size_t i = 0; i < pieces; i++) {
        size_t m = 0;
        for (size_t k = i * n / pieces; k < (i + 1) * n / pieces; k++)
            if (values[k] > 0)
                piece[m++] = calc_log(values[k]);
        repeats_sort(piece, m);
        if (m > 0)
            ret[used++] = repeats_quantile(piece, m, 0.5);
    }
    return used;
}

/*
 * In how many of all orders of M and N things the rank sum is U above its least: the coefficients
 * of the product of (1 - q^(n+i)) / (1 - q^i) for i = 1..m.
 */
static void rank_sums(double *ways, size_t m, size_t n)
{
    size_t degree = m * n;
    ways[0] = 1;
    for (size_t i = 1; i <= m; i++) {
        for (size_t u = degree; u >= n + i; u--)
            ways[u] -= ways[u - n - i];
        for (size_t u = i; u <= degree; u++)
            ways[u] += ways[u - i];
    }
}

/* How many of the sorted differences may be cut off at each end. */
static size_t rank_cut(size_t m, size_t n, double tail)
{
    double ways[PIECES * PIECES + 1] = {0}, all = 0, sum = 0;
    size_t k = 0;
    rank_sums(ways, m, n);
    for (size_t u = 0; u <= m * n; u++)
        all += ways[u];
    for (; k < m * n / 2 && (sum += ways[k]) <= tail * all; k++)
        ;
    return k;
}

void paired_compare_apart(struct paired *p, const double *before, size_t n_before,
                          const double *after, size_t n_after, const struct paired_opts *opts)
{
    double a[PIECES], b[PIECES], off[PIECES * PIECES];
    size_t m = cut_up(before, n_before, a), n = cut_up(after, n_after, b), all = 0;
    *p = (struct paired){.n = n_before < n_after ? n_before : n_after,
                         .ratio = NAN,
                         .interval = nothing_known,
                         .miss = share_of_risk(opts)};
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < n; k++)
            off[all++] = b[k] - a[i];
    if (all > 0) {
        repeats_sort(off, all);
        p->ratio = calc_exp(repeats_quantile(off, all, 0.5));
        size_t cut = rank_cut(m, n, p->miss / 2);
        if (cut > 0)
            p->interval = (struct interval){calc_exp(off[cut - 1]), calc_exp(off[all - cut])};
    }
    paired_finish(p, opts, opts->band);
}

/* --- counts --- */

static struct interval extremes(const double *values, size_t n)
{
    struct interval i = {INFINITY, 0};
    for (size_t k = 0; k < n; k++) {
        i.low = fmin(i.low, values[k]);
        i.high = fmax(i.high, values[k]);
    }
    return i;
}

/* Better than this counts are not promised to repeat. */
#define COUNTS_REPEAT 1e-4

void paired_compare_counts(struct paired *p, const double *before, const double *after, size_t n,
                           const struct paired_opts *opts)
{
    struct interval a = extremes(before, n), b = extremes(after, n);
    *p = (struct paired){.n = n, .ratio = NAN, .interval = nothing_known};
    if (n > 0 && a.low > 0 && b.low > 0) {
        p->ratio = repeats_median(after, n) / repeats_median(before, n);
        p->interval = (struct interval){b.low / a.high, b.high / a.low};
        p->detectable = fmax(sqrt(p->interval.high / p->interval.low) - 1, COUNTS_REPEAT);
    }
    p->verdict = paired_judge(p, opts->band, 0);
}
