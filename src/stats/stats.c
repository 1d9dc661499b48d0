/* stats.c - intervals of shares; see stats.h. */
#include "stats/stats.h"
#include "base/calc.h"
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct interval stats_wilson(double share, double n_effective, double z)
{
    if (!(n_effective > 0))
        return (struct interval){0, 1};
    double zz = z * z / n_effective;
    double middle = (share + zz / 2) / (1 + zz);
    double half = z / (1 + zz) * sqrt(share * (1 - share) / n_effective + zz / (4 * n_effective));
    /* At the ends the sums cancel, but for what rounding leaves. */
    return (struct interval){share <= 0 ? 0 : fmax(0, middle - half),
                             share >= 1 ? 1 : fmin(1, middle + half)};
}

/* The regularized lower incomplete gamma function, by its series: for A up to some thousands. */
static double gamma_below(double a, double x)
{
    if (!(x > 0))
        return 0;
    double term = calc_exp(a * calc_log(x) - x - calc_lgamma(a + 1)), sum = 0;
    for (double k = 1; term > sum * 1e-15; k++) {
        sum += term;
        term *= x / (a + k);
    }
    return fmin(1, sum);
}

/* Where gamma_below(A) reaches P. */
static double gamma_quantile(double a, double p)
{
    double low = 0, high = a + 40 + 12 * sqrt(a);
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(gamma_below(a, middle) < p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* The same by Wilson and Hilferty's cube, which is as good as exact for large numbers. */
static double gamma_quantile_large(double a, double z)
{
    double root = 1 - 1 / (9 * a) + z / (3 * sqrt(a));
    return a * root * root * root;
}

struct interval stats_poisson(double n, double z)
{
    enum { LARGE = 1000 };
    double tail = calc_erfc(z / sqrt(2)) / 2;
    if (n > LARGE)
        return (struct interval){gamma_quantile_large(n, -z), gamma_quantile_large(n + 1, z)};
    return (struct interval){n > 0 ? gamma_quantile(n, tail) : 0, gamma_quantile(n + 1, 1 - tail)};
}

double stats_log_choose(double n, double k)
{
    return calc_lgamma(n + 1) - calc_lgamma(k + 1) - calc_lgamma(n - k + 1);
}

/* A window of many samples can as well be moved by several at a time: a 16th of the shortest. */
size_t stats_samples_per_sum(size_t n)
{
    double per = sqrt((double)n) / 16;
    return per < 1 ? 1 : per > UINT8_MAX ? UINT8_MAX : (size_t)per;
}

/* Eight at a time: each half of a pair of bytes adds up in 16 bits, up to 128 times 2 * 255. */
static size_t sum_of_bytes(const uint8_t *at, size_t n)
{
    const uint64_t low = 0x00ff00ff00ff00ffu;
    size_t sum = 0;
    while (n >= 8) {
        uint64_t pairs = 0, word;
        for (int i = 0; i < 128 && n >= 8; i++, at += 8, n -= 8) {
            memcpy(&word, at, 8);
            pairs += (word & low) + (word >> 8 & low);
        }
        sum += (pairs & 0xffff) + (pairs >> 16 & 0xffff) + (pairs >> 32 & 0xffff) + (pairs >> 48);
    }
    while (n--)
        sum += *at++;
    return sum;
}

/*
 * The squares of the differences of neighbouring windows of LENGTH places, at all places:
 *
 *     |<- LENGTH ->|<- LENGTH ->|
 *      i            i + LENGTH   i + 2 LENGTH
 */
static double squares_of_sums(const struct stats_series *s, size_t length)
{
    enum { EXACT = 1024 }; /* so many squares fit into an integer, which is quicker */
    size_t places = s->n - 2 * length + 1;
    const uint8_t *first = s->sums, *second = first + length, *past = second + length;
    int64_t difference =
        (int64_t)sum_of_bytes(second, length) - (int64_t)sum_of_bytes(first, length);
    double squares = 0;
    for (size_t from = 0; from < places; from += EXACT) {
        size_t last = places - from < EXACT ? places - 1 : from + EXACT - 1;
        uint64_t exact = 0;
        for (size_t i = from; i < last; i++) {
            exact += (uint64_t)(difference * difference);
            difference += past[i] - 2 * second[i] + first[i];
        }
        squares += (double)(exact + (uint64_t)(difference * difference));
        if (last + 1 < places) /* there is nothing past the last place */
            difference += past[last] - 2 * second[last] + first[last];
    }
    return squares;
}

/* The hits that come before sum END. */
static size_t hits_before(const struct stats_series *s, size_t end)
{
    size_t n = 0;
    while (n < s->n_hits && s->hits[n] < end)
        n++;
    return n;
}

/* The place at which HIT enters or leaves a window that ends REACH behind the place. */
static size_t place_of_hit(const struct stats_series *s, size_t hit, size_t reach)
{
    return hit < s->n_hits ? s->hits[hit] + 1 - reach : SIZE_MAX;
}

/* The same, from place to place at which a hit enters the second window, the first, or leaves. */
static double squares_of_hits(const struct stats_series *s, size_t length)
{
    size_t places = s->n - 2 * length + 1, place = 0;
    size_t second = hits_before(s, 2 * length), first = hits_before(s, length), gone = 0;
    size_t enters = place_of_hit(s, second, 2 * length), moves = place_of_hit(s, first, length),
           leaves = place_of_hit(s, gone, 0);
    int64_t difference = (int64_t)(second - first) - (int64_t)first;
    uint64_t squares = 0;
    for (size_t next; place < places; place = next) {
        next = enters < moves ? enters : moves;
        next = next < leaves ? next : leaves;
        next = next < places ? next : places;
        squares += (uint64_t)(difference * difference) * (next - place);
        if (next == enters) {
            difference++;
            enters = place_of_hit(s, ++second, 2 * length);
        } else if (next == moves) {
            difference -= 2;
            moves = place_of_hit(s, ++first, length);
        } else {
            difference++;
            leaves = place_of_hit(s, ++gone, 0);
        }
    }
    return (double)squares;
}

/* How much more the sums of LENGTH places in a row spread than those of independent samples. */
static double inflation(const struct stats_series *s, size_t length, double mean)
{
    double alone = mean * (1 - mean) * (double)(length * s->per);
    double squares = s->sums ? squares_of_sums(s, length) : squares_of_hits(s, length);
    return squares / (double)(s->n - 2 * length + 1) / 2 / alone;
}

/* What is in [FROM, FROM + LENGTH); *HIT is the first hit from FROM on, and moves on. */
static size_t sum_of_window(const struct stats_series *s, size_t from, size_t length, size_t *hit)
{
    size_t before = *hit;
    if (s->sums)
        return sum_of_bytes(s->sums + from, length);
    while (*hit < s->n_hits && s->hits[*hit] < from + length)
        ++*hit;
    return *hit - before;
}

/*
 * Whether the 1s come in one stretch at most: windows in a row above the mean, with none of that
 * kind before and after.
 */
static bool comes_once(const struct stats_series *s, size_t length, double mean)
{
    int changes = 0;
    bool was_above = false;
    size_t hit = 0;
    for (size_t i = 0; i + length <= s->n; i += length) {
        bool above = (double)sum_of_window(s, i, length, &hit) > mean * (double)(length * s->per);
        changes += i > 0 && above != was_above;
        was_above = above;
    }
    return changes <= 2;
}

/* The place of each of the ONES hits of a series of sums, in order. Free it. */
static uint32_t *list_places(const struct stats_series *s, size_t ones)
{
    uint32_t *hits = mem_calloc(ones + 1, sizeof *hits);
    size_t i = 0, n = 0;
    for (; s->n - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, s->sums + i, 8);
        if (!word)
            continue;
        for (size_t k = i; k < i + 8; k++)
            for (int times = s->sums[k]; times; times--)
                hits[n++] = (uint32_t)k;
    }
    for (; i < s->n; i++)
        for (int times = s->sums[i]; times; times--)
            hits[n++] = (uint32_t)i;
    return hits;
}

/*
 * Windows must be much longer than runs of alike samples, or their spread is too small; and there
 * must be some of them.
 */
static bool is_too_short(const struct stats_series *s, size_t length, double factor)
{
    enum { WINDOW_IN_RUNS = 8, MIN_WINDOWS = 8 };
    return (double)(length * s->per) < WINDOW_IN_RUNS * factor && 2 * length * MIN_WINDOWS <= s->n;
}

/* N / LENGTH windows show the spread about as well as if they were independent. */
static double series_effective_n(const struct stats_series *s, size_t ones)
{
    size_t n = s->n * s->per, length = (size_t)sqrt((double)n) / s->per;
    double mean = (double)ones / (double)n;
    double factor = inflation(s, length, mean);
    size_t longest = is_too_short(s, length, factor) && comes_once(s, length, mean) ? length : s->n;
    while (length < longest && is_too_short(s, length, factor)) {
        length *= 2;
        factor = fmax(factor, inflation(s, length, mean));
    }
    double widen = stats_t95((double)s->n / (double)length) / STATS_Z95;
    return fmin((double)n, fmax(1, (double)n / (factor * widen * widen)));
}

double stats_effective_n_of_sums(const struct stats_series *s)
{
    enum { PLACES_PER_HIT = 10 }; /* from there on, hits are fewer steps than places */
    size_t ones = s->n_hits || !s->sums ? s->n_hits : sum_of_bytes(s->sums, s->n);
    size_t n = s->n * s->per;
    if (n < STATS_MIN_SERIES || ones == 0 || ones == n)
        return (double)n;
    if (!s->sums || ones > s->n / PLACES_PER_HIT)
        return series_effective_n(s, ones);
    autofree uint32_t *hits = list_places(s, ones);
    struct stats_series few = {.n = s->n, .per = s->per, .hits = hits, .n_hits = ones};
    return series_effective_n(&few, ones);
}

double stats_effective_n(const uint8_t *hits, size_t n)
{
    size_t per = stats_samples_per_sum(n);
    struct stats_series s = {.n = n / per, .per = per};
    uint8_t *sums = mem_calloc(s.n + 1, 1);
    for (size_t i = 0; i < s.n; i++)
        for (size_t k = 0; k < per; k++)
            sums[i] += hits[i * per + k] != 0;
    s.sums = sums;
    double effective = stats_effective_n_of_sums(&s) * (double)n / (double)(s.n * per + !s.n);
    free(sums);
    return s.n ? effective : 0;
}

double stats_weighted_n(double sum, double sum_of_squares)
{
    return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

/* Up to ten from a table, interpolated over 1 / dof; from there on an expansion in 1 / dof. */
double stats_t95(double dof)
{
    static const double table[] = {0,      12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                   2.4469, 2.3646,  2.3060, 2.2622, 2.2281};
    double z = STATS_Z95, v = fmax(dof, 1);
    if (v < 10) {
        double below = floor(v), part = (1 / below - 1 / v) * below * (below + 1);
        return table[(int)below] + part * (table[(int)below + 1] - table[(int)below]);
    }
    double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * z) / (96 * v * v) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * v * v * v);
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d, c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d), c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        d = 1 + odd * d, c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d), c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return h;
}

double stats_t_p(double t, double dof)
{
    double a = dof / 2, b = 0.5, x = dof / (dof + t * t);
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    double front = calc_exp(calc_lgamma(a + b) - calc_lgamma(a) - calc_lgamma(b) + a * calc_log(x) +
                            b * calc_log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_above(double p, double dof)
{
    double low = 0, high = 1;
    while (stats_t_p(high, dof) > p && high < 1e15)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(stats_t_p(middle, dof) > p ? &low : &high) = middle;
    }
    return high;
}
