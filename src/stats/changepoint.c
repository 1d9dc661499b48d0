/*
 * changepoint.c - where the level of a series changed.
 */
#include "stats/changepoint.h"
#include "base/calc.h"
#include "base/vec.h"
#include "stats/repeats.h"
#include "stats/stats.h"

#include <math.h>

struct cut {
    size_t at;
    double q; /* energy distance of the sides, weighted by their lengths */
};

/* Sum of the distances of X to the N values; four sums at once, as one would wait for itself. */
static double changepoint_reach(double x, const double *v, size_t n)
{
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += fabs(x - v[i + k]);
    for (; i < n; i++)
        sum[0] += fabs(x - v[i]);
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/*
 * The time of a shuffle is spent in sums of distances: four values at once, where the processor
 * can. Each lane adds up a value of its own in the order of the series, so the sums do not depend
 * on it.
 */
typedef double lanes __attribute__((vector_size(32)));
typedef int64_t lanes_bits __attribute__((vector_size(32)));
enum { LANES = 4, TILE = 2 * LANES };

#if defined(__x86_64__) && !defined(__clang__)
#define EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define EACH_PROCESSOR
#endif

#define DISTANCE(a, b) \
    ((lanes)((lanes_bits)((a) - (b)) & (lanes_bits){MAGNITUDE, MAGNITUDE, MAGNITUDE, MAGNITUDE}))
#define MAGNITUDE INT64_MAX
#define WHERE(x, condition) ((lanes)((lanes_bits)(x) & (lanes_bits)(condition)))
#define SAME(x) ((lanes){(x), (x), (x), (x)})

/*
 * The sums of the distances of each value of the tile at FROM to all before it, to RET[FROM]: both
 * arrays have whole tiles, and values beyond the last are any numbers. Four variables, not an
 * array: that stays in memory, and the sums wait for it.
 */
EACH_PROCESSOR static void changepoint_reach_tile(const double *v, size_t from, double *ret)
{
    const double *tile = v + from;
    const lanes_bits behind = {0, 1, 2, 3};
    lanes t0, t1, s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    memcpy(&t0, tile, sizeof t0);
    memcpy(&t1, tile + LANES, sizeof t1);
    for (size_t i = 0; i < from; i += 2) {
        s0 += DISTANCE(t0, SAME(v[i]));
        s1 += DISTANCE(t1, SAME(v[i]));
        s2 += DISTANCE(t0, SAME(v[i + 1]));
        s3 += DISTANCE(t1, SAME(v[i + 1]));
    }
    for (size_t i = 0; i < LANES - 1; i++) /* and of the tile itself: only lanes behind I count */
        s0 += WHERE(DISTANCE(t0, SAME(tile[i])), behind > (int64_t)i);
    for (size_t i = 0; i < LANES; i++) {
        s1 += DISTANCE(t1, SAME(tile[i]));
        s3 += WHERE(DISTANCE(t1, SAME(tile[LANES + i])), behind > (int64_t)i);
    }
    s0 += s2;
    s1 += s3;
    memcpy(ret + from, &s0, sizeof s0);
    memcpy(ret + from + LANES, &s1, sizeof s1);
}

/*
 * Values in some order. The distance of each to all others, and the sum over all pairs, are the
 * same in every order: so thousands of shuffles need only the distances to what stands before.
 */
struct bag {
    double *v, *all; /* all: from each value to all others, moved along with it */
    double *back;    /* room for the sums of distances to what stands before */
    double *weigh;   /* of a cut after A values: what stands left of it, [2A], and right, [2A+1] */
    double pairs;
    size_t n;
};

static struct bag bag_of(const double *v, size_t n)
{
    size_t room = (n + TILE - 1) / TILE * TILE;
    double *at = mem_calloc(5 * room + 2, sizeof *at);
    struct bag b = {at, at + room, at + 2 * room, at + 3 * room, 0, n};
    memcpy(b.v, v, n * sizeof *v);
    for (size_t i = 0; i < n; i++) {
        b.all[i] = changepoint_reach(v[i], v, n);
        b.pairs += b.all[i] / 2;
    }
    for (size_t a = 2; a + 1 < n; a++) {
        b.weigh[2 * a] = (double)(n - a) / (double)(a - 1);
        b.weigh[2 * a + 1] = (double)a / (double)(n - a - 1);
    }
    return b;
}

static void bag_done(struct bag *b)
{
    free(b->v);
}

/* The weighted energy distance of the first A values and those after them, from the sums of
 * distances across and within. */
static double bag_energy(const struct bag *b, size_t a, double across, double left, double right)
{
    return 2 * (across - left * b->weigh[2 * a] - right * b->weigh[2 * a + 1]) / (double)b->n;
}

static void bag_swap(struct bag *b, size_t i, size_t j)
{
    double v = b->v[i], all = b->all[i];
    b->v[i] = b->v[j];
    b->all[i] = b->all[j];
    b->v[j] = v;
    b->all[j] = all;
}

/* The best place to cut B in two, or the first that is as good as ENOUGH. Each step moves one value
 * from right to left. */
static struct cut best_cut(const struct bag *b, double enough)
{
    struct cut best = {0, -INFINITY};
    double across = 0, left = 0, right = b->pairs;
    for (size_t a = 1; a <= b->n - CHANGEPOINT_LEAST; a++) {
        if (a % TILE == 1)
            changepoint_reach_tile(b->v, a - 1, b->back);
        double to_left = b->back[a - 1], to_right = b->all[a - 1] - to_left;
        left += to_left;
        right -= to_right;
        across += to_right - to_left;
        if (a < CHANGEPOINT_LEAST)
            continue;
        double q = bag_energy(b, a, across, left, right);
        if (q > best.q)
            best = (struct cut){a, q};
        if (q >= enough)
            break;
    }
    return best;
}

static double energy_at(const struct bag *b, size_t a)
{
    double across = 0, left = 0;
    for (size_t i = 0; i < a; i++) {
        if (i % TILE == 0)
            changepoint_reach_tile(b->v, i, b->back);
        left += b->back[i];
        across += b->all[i];
    }
    across -= 2 * left;
    return bag_energy(b, a, across, left, b->pairs - left - across);
}

static uint64_t changepoint_draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Draw the first N values of B by chance. */
static void bag_shuffle(struct bag *b, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        bag_swap(b, i, i + ((changepoint_draw(state) >> 32) * (b->n - i) >> 32));
}

/* --- chance --- */

/* Orders of up to so many values are all tried: 40,320. */
enum { EXACT_MAX = 8 };

/* The same cut of equal sets has the same energy but for rounding. */
static double as_good_as(double q)
{
    return q - 1e-9 * fabs(q);
}

/* Whether B can be cut as well as C where C is, or (C.at = 0) anywhere. */
static bool is_as_good(const struct bag *b, struct cut c)
{
    double enough = as_good_as(c.q);
    return (c.at ? energy_at(b, c.at) : best_cut(b, enough).q) >= enough;
}

/* Heap's algorithm: each order differs from the one before by one exchange. */
static bool next_order(struct bag *b, size_t *count)
{
    size_t i = 0;
    while (i < b->n && count[i] >= i)
        count[i++] = 0;
    if (i == b->n)
        return false;
    bag_swap(b, i, i % 2 ? count[i] : 0);
    count[i]++;
    return true;
}

/* Of all orders, how many can be cut as well. */
static double chance_exact(struct bag *b, struct cut c)
{
    size_t count[EXACT_MAX] = {0}, as_good = 0, all = 0;
    do {
        as_good += is_as_good(b, c);
        all++;
    } while (next_order(b, count));
    return (double)as_good / (double)all;
}

/*
 * When to stop: once those so far are 100,000 times as likely where three times the level is the
 * truth as at the level. A chance at the level ever gets there in fewer than 1 of 100,000 series,
 * however often one looks (Wald's test, Ville's inequality).
 */
struct patience {
    double as_good, worse; /* what one such shuffle adds to the logarithm of that ratio */
    double most;           /* so many as good fail the level, whatever comes */
};

static struct patience patience_of(double level, size_t shuffles)
{
    double other = fmin(3 * level, 0.9);
    return (struct patience){calc_log(other / level), calc_log((1 - other) / (1 - level)),
                             level * (double)(shuffles + 1) - 1};
}

static bool is_hopeless(const struct patience *p, size_t as_good, size_t tried)
{
    const double enough = 11.512925464970229; /* log 100,000 */
    double n = (double)as_good;
    return n > p->most || n * p->as_good + (double)(tried - as_good) * p->worse > enough;
}

/* How often shuffled values could be cut as well as C.q, at C.at or (0) at their own best place. */
static double chance_shuffled(struct bag *b, struct cut c, double level, size_t shuffles)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    struct patience patience = patience_of(level, shuffles);
    size_t as_good = 0, tried = 0, drawn = c.at ? c.at : b->n - CHANGEPOINT_LEAST;
    while (tried < shuffles && !is_hopeless(&patience, as_good, tried)) {
        bag_shuffle(b, drawn, &state);
        tried++;
        as_good += is_as_good(b, c);
    }
    return (double)(as_good + 1) / (double)(tried + 1);
}

/* The same for few values, exactly. B is in another order afterwards. */
static double chance(struct bag *b, struct cut c, double level, size_t shuffles)
{
    return b->n <= EXACT_MAX ? chance_exact(b, c) : chance_shuffled(b, c, level, shuffles);
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

/* Whether the level changes by so little at C that no neighbours could make it count. */
static bool is_too_small(const double *v, size_t n, struct cut c, const struct changepoint_opts *o)
{
    if (!(o->least > 0))
        return false;
    return fabs(repeats_median(v, c.at) - repeats_median(v + c.at, n - c.at)) < o->least / 2;
}

static struct interval range_of(const double *v, size_t n)
{
    struct interval r = {INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++)
        r = (struct interval){fmin(r.low, v[i]), fmax(r.high, v[i])};
    return r;
}

/* The sides lie further apart than either is wide, and by 5% or more of the level. */
static bool is_clear(const double *v, size_t a, size_t n)
{
    struct interval x = range_of(v, a), y = range_of(v + a, n - a);
    double gap = fmax(y.low - x.high, x.low - y.high);
    double width = fmax(x.high - x.low, y.high - y.low);
    return gap > width && gap >= 0.05 * fabs(repeats_median(v, a));
}

/*
 * How often a shuffle may be as good as a cut at AT for it to count in the end. A step can only be
 * likely where the values next to it are clear: others besides bring the sides closer.
 */
static double level_of(const double *v, size_t at, const struct changepoint_opts *o)
{
    return o->likely > o->level && is_clear(v + at - 2, 2, 4) ? o->likely : o->level;
}

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
        struct bag b = bag_of(v + s.from, n);
        struct cut c = best_cut(&b, INFINITY);
        bool counts = c.q > 0 && !is_too_small(v + s.from, n, c, o);
        double p =
            counts ? chance(&b, (struct cut){0, c.q}, level_of(v + s.from, c.at, o), o->shuffles)
                   : 1;
        bag_done(&b);
        if (p > fmax(o->level, o->likely)) /* a cut in doubt may have proven ones on its sides */
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

static struct changepoint changepoint_judge(const double *v, const struct points *p, size_t i,
                                            size_t n, const struct changepoint_opts *o)
{
    struct stretch s = around(p, i, n);
    size_t at = p->at.at[i].at, a = at - s.from, b = s.to - at;
    struct changepoint c = {at, repeats_median(v + s.from, a), repeats_median(v + at, b), 1, false};
    if (a < 2 || b < 2 || fabs(c.after - c.before) < fmax(o->least, o->min_change * fabs(c.before)))
        return c;
    struct bag bag = bag_of(v + s.from, a + b);
    c.p = fmax(p->at.at[i].p, chance(&bag, (struct cut){a, energy_at(&bag, a)},
                                     level_of(v + s.from, a, o), o->shuffles));
    bag_done(&bag);
    c.likely = c.p > o->level && c.p <= o->likely && is_clear(v + s.from, a, a + b);
    return c;
}

static bool holds(const struct changepoint *c, const struct changepoint_opts *o)
{
    return c->p <= o->level || c->likely;
}

static size_t find_worst(const struct changepoint *c, size_t n, const struct changepoint_opts *o)
{
    size_t worst = 0;
    for (size_t i = 0; i < n; i++) {
        bool held = holds(&c[worst], o);
        if (held == holds(&c[i], o) ? c[i].p > c[worst].p : held)
            worst = i;
    }
    return worst;
}

/* Drop the weakest point until all hold against their neighbours, which only then are others. */
static size_t changepoint_settle(const double *v, struct points *p, size_t n,
                                 const struct changepoint_opts *o, struct changepoint *ret)
{
    for (size_t i = 0; i < p->at.n; i++)
        ret[i] = changepoint_judge(v, p, i, n, o);
    while (p->at.n) {
        size_t worst = find_worst(ret, p->at.n, o);
        if (holds(&ret[worst], o))
            break;
        struct stretch before = worst ? around(p, worst - 1, n) : (struct stretch){0},
                       after = worst + 1 < p->at.n ? around(p, worst + 1, n) : (struct stretch){0};
        size_t behind = --p->at.n - worst;
        memmove(&p->at.at[worst], &p->at.at[worst + 1], behind * sizeof *p->at.at);
        memmove(&ret[worst], &ret[worst + 1], behind * sizeof *ret);
        if (worst > 0 && around(p, worst - 1, n).to != before.to)
            ret[worst - 1] = changepoint_judge(v, p, worst - 1, n, o);
        if (behind > 0 && around(p, worst, n).from != after.from)
            ret[worst] = changepoint_judge(v, p, worst, n, o);
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
