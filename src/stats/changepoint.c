/*
 * changepoint.c - where the level of a series changed.
 */
#include "stats/changepoint.h"
#include "base/vec.h"
#include "stats/repeats.h"
#include "stats/stats.h"

#include <math.h>

struct cut {
    size_t at;
    double q; /* energy distance of the sides, weighted by their lengths */
};

/*
 * The weighted energy distance of the first A values and the B after them, from the sums of
 * distances across and within.
 */
static double energy(double across, double within_a, double within_b, double a, double b)
{
    double e = 2 * across / (a * b);
    e -= 2 * within_a / (a * (a - 1)) + 2 * within_b / (b * (b - 1));
    return e * a * b / (a + b);
}

/* Sum of the distances of X to the N values. */
static double changepoint_reach(double x, const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(x - v[i]);
    return sum;
}

/* The best place to cut N values in two. Each step moves one value from right to left. */
static struct cut best_cut(const double *v, size_t n)
{
    struct cut best = {0, -INFINITY};
    double across = 0, left = 0, right = 0;
    for (size_t i = 0; i < n; i++)
        right += changepoint_reach(v[i], v, i);
    for (size_t a = 1; a <= n - CHANGEPOINT_LEAST; a++) {
        double to_left = changepoint_reach(v[a - 1], v, a - 1),
               to_right = changepoint_reach(v[a - 1], v + a, n - a);
        left += to_left;
        right -= to_right;
        across += to_right - to_left;
        if (a < CHANGEPOINT_LEAST)
            continue;
        double q = energy(across, left, right, (double)a, (double)(n - a));
        if (q > best.q)
            best = (struct cut){a, q};
    }
    return best;
}

static double energy_at(const double *v, size_t a, size_t n)
{
    double across = 0, left = 0, right = 0;
    for (size_t i = 0; i < a; i++) {
        left += changepoint_reach(v[i], v, i);
        across += changepoint_reach(v[i], v + a, n - a);
    }
    for (size_t i = a; i < n; i++)
        right += changepoint_reach(v[i], v + a, i - a);
    return energy(across, left, right, (double)a, (double)(n - a));
}

static uint64_t changepoint_draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void changepoint_shuffle(double *v, size_t n, uint64_t *state)
{
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = changepoint_draw(state) % (i + 1);
        double x = v[i];
        v[i] = v[j];
        v[j] = x;
    }
}

/* --- chance --- */

/* Orders of up to so many values are all tried: 40,320. */
enum { EXACT_MAX = 8 };

/* The same cut of equal sets has the same energy but for rounding. */
static bool is_as_good(double q, double than)
{
    return q >= than - 1e-9 * fabs(than);
}

/* Energy of W cut where C is, or (C.at = 0) at its own best place. */
static double energy_like(const double *w, size_t n, struct cut c)
{
    return c.at ? energy_at(w, c.at, n) : best_cut(w, n).q;
}

/* Heap's algorithm: each order of N values differs from the one before by one exchange. */
static bool next_order(double *w, size_t n, size_t *count)
{
    size_t i = 0;
    while (i < n && count[i] >= i)
        count[i++] = 0;
    if (i == n)
        return false;
    size_t j = i % 2 ? count[i] : 0;
    double x = w[i];
    w[i] = w[j];
    w[j] = x;
    count[i]++;
    return true;
}

/* Of all orders, how many can be cut as well. */
static double chance_exact(double *w, size_t n, struct cut c)
{
    size_t count[EXACT_MAX] = {0}, as_good = 0, all = 0;
    do {
        as_good += is_as_good(energy_like(w, n, c), c.q);
        all++;
    } while (next_order(w, n, count));
    return (double)as_good / (double)all;
}

static double weakest(const struct changepoint_opts *o)
{
    return o->likely > o->level ? o->likely : o->level;
}

/*
 * How often shuffled values could be cut as well as Q, at AT or (AT = 0) at their own best place.
 * Stops as soon as no level can be met any more.
 */
static double chance(const double *v, size_t n, struct cut c, const struct changepoint_opts *o)
{
    autofree double *w = mem_calloc(n, sizeof *w);
    uint64_t state = 0x9e3779b97f4a7c15;
    size_t as_good = 0, tried = 0;
    memcpy(w, v, n * sizeof *w);
    if (n <= EXACT_MAX)
        return chance_exact(w, n, c);
    while (tried < o->shuffles) {
        changepoint_shuffle(w, n, &state);
        tried++;
        as_good += is_as_good(energy_like(w, n, c), c.q);
        if ((double)(as_good + 1) > weakest(o) * (double)(o->shuffles + 1))
            break;
    }
    return (double)(as_good + 1) / (double)(tried + 1);
}

/* --- cutting --- */

struct found_cut {
    size_t at;
    double p; /* of the cut */
};

struct points {
    VEC(struct found_cut) at;
};

/* A place that two windows found counts as in the one that knows it better. */
static void add_point(struct points *p, struct found_cut c)
{
    size_t i = p->at.n;
    for (size_t k = 0; k < p->at.n; k++)
        if (p->at.at[k].at == c.at) {
            p->at.at[k].p = fmin(p->at.at[k].p, c.p);
            return;
        }
    vec_push(&p->at);
    for (; i > 0 && p->at.at[i - 1].at > c.at; i--)
        p->at.at[i] = p->at.at[i - 1];
    p->at.at[i] = c;
}

struct stretch {
    size_t from, to;
};

/* Cut FROM..TO again and again, as long as there is proof. */
static void divide(const double *v, struct stretch whole, const struct changepoint_opts *o,
                   struct points *ret)
{
    VEC(struct stretch) left = {0};
    *vec_push(&left) = whole;
    while (left.n) {
        struct stretch s = left.at[--left.n];
        size_t n = s.to - s.from;
        if (n < 2 * CHANGEPOINT_LEAST)
            continue;
        struct cut c = best_cut(v + s.from, n);
        double p = c.q > 0 ? chance(v + s.from, n, (struct cut){0, c.q}, o) : 1;
        if (p > weakest(o))
            continue;
        add_point(ret, (struct found_cut){s.from + c.at, p});
        *vec_push(&left) = (struct stretch){s.from, s.from + c.at};
        *vec_push(&left) = (struct stretch){s.from + c.at, s.to};
    }
    vec_done(&left);
}

/* At most a window to each side: what came long before says nothing of this change. */
static struct stretch around(const struct points *p, size_t i, size_t n)
{
    size_t at = p->at.at[i].at;
    size_t from = i ? p->at.at[i - 1].at : 0, to = i + 1 < p->at.n ? p->at.at[i + 1].at : n;
    if (at - from > CHANGEPOINT_WINDOW)
        from = at - CHANGEPOINT_WINDOW;
    if (to - at > CHANGEPOINT_WINDOW)
        to = at + CHANGEPOINT_WINDOW;
    return (struct stretch){from, to};
}

static struct interval range_of(const double *v, size_t n)
{
    struct interval r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++)
        r = (struct interval){fmin(r.low, v[i]), fmax(r.high, v[i])};
    return r;
}

/* The sides lie further apart than either is wide, and by 5 % or more of the level. */
static bool is_clear(const double *v, size_t a, size_t n)
{
    struct interval x = range_of(v, a), y = range_of(v + a, n - a);
    double gap = fmax(y.low - x.high, x.low - y.high);
    double width = fmax(x.high - x.low, y.high - y.low);
    return gap > width && gap >= 0.05 * fabs(repeats_median(v, a));
}

static struct changepoint changepoint_judge(const double *v, const struct points *p, size_t i,
                                            size_t n, const struct changepoint_opts *o)
{
    struct stretch s = around(p, i, n);
    size_t at = p->at.at[i].at, a = at - s.from, b = s.to - at;
    struct changepoint c = {at, repeats_median(v + s.from, a), repeats_median(v + at, b), 1, false};
    if (a < 2 || b < 2 || fabs(c.after - c.before) < o->min_change * fabs(c.before))
        return c;
    double q = energy_at(v + s.from, a, a + b);
    c.p = fmax(p->at.at[i].p, chance(v + s.from, a + b, (struct cut){a, q}, o));
    c.likely = c.p > o->level && c.p <= o->likely && is_clear(v + s.from, a, a + b);
    return c;
}

static bool holds(const struct changepoint *c, const struct changepoint_opts *o)
{
    return c->p <= o->level || c->likely;
}

/* Drop the weakest point until all hold against their neighbours. */
static size_t changepoint_settle(const double *v, struct points *p, size_t n,
                                 const struct changepoint_opts *o, struct changepoint *ret)
{
    while (p->at.n) {
        size_t worst = 0;
        for (size_t i = 0; i < p->at.n; i++) {
            ret[i] = changepoint_judge(v, p, i, n, o);
            bool held = holds(&ret[worst], o);
            if (held == holds(&ret[i], o) ? ret[i].p > ret[worst].p : held)
                worst = i;
        }
        if (holds(&ret[worst], o))
            break;
        memmove(&p->at.at[worst], &p->at.at[worst + 1], (p->at.n - worst - 1) * sizeof *p->at.at);
        p->at.n--;
    }
    return p->at.n;
}

size_t changepoint_find(const double *values, size_t n, const struct changepoint_opts *opts,
                        struct changepoint **ret)
{
    struct points p = {0};
    size_t from = 0;
    do {
        size_t to = n - from > CHANGEPOINT_WINDOW ? from + CHANGEPOINT_WINDOW : n;
        divide(values, (struct stretch){from, to}, opts, &p);
        from += CHANGEPOINT_WINDOW / 2;
    } while (from + CHANGEPOINT_WINDOW / 2 < n);
    *ret = mem_calloc(p.at.n + 1, sizeof **ret);
    size_t found = changepoint_settle(values, &p, n, opts, *ret);
    vec_done(&p.at);
    return found;
}
