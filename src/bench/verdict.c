/* verdict.c - from two series to a verdict, a gate and a sentence; see verdict.h. */
#include "bench/verdict.h"
#include "base/calc.h"
#include "bench/gates.h"
#include "stats/repeats.h"

#include <math.h>

/* --- comparing --- */

/* Values of blocks in which both ran. Runs are in the order of blocks. */
static void pair_by_block(struct verdict_values *v, const struct comparison *c)
{
    const struct series *a = c->before, *b = c->after;
    for (size_t i = 0, k = 0; i < a->runs.n && k < b->runs.n;) {
        uint32_t x = a->runs.at[i].block, y = b->runs.at[k].block;
        if (x == y && !isnan(a->runs.at[i].value[c->measure]) &&
            !isnan(b->runs.at[k].value[c->measure])) {
            v->before[v->n_before++] = a->runs.at[i].value[c->measure];
            v->after[v->n_after++] = b->runs.at[k].value[c->measure];
        }
        i += x <= y;
        k += y <= x;
    }
}

/* Of what is better the more there is, less is as bad as more of the others: what one costs. */
static void invert(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = 1 / values[i];
}

static bool all_positive(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(values[i] > 0))
            return false;
    return true;
}

/* How far it is from one percent better to the next: the middle of the baseline, or where that is
 * 0, the smallest value that is not. */
static double unit_of_score(const struct verdict_values *v, double middle)
{
    double least = INFINITY;
    if (middle != 0)
        return fabs(middle);
    for (size_t i = 0; i < v->n_before + v->n_after; i++) {
        double it = fabs(i < v->n_before ? v->before[i] : v->after[i - v->n_before]);
        least = it > 0 ? fmin(least, it) : least;
    }
    return isfinite(least) ? least : 1;
}

/* X where that is not near 0 or below; else what is left of it above 0, in the same order. */
static double above_zero(double x)
{
    const double least = 1e-4;
    return x >= least ? x : least * least / (2 * least - x);
}

/*
 * A score may be 0 or negative, where a ratio means nothing. Then what counts is how far it is from
 * the middle of the baseline: -4 -> -3 becomes 1 -> 1.25, and 0 -> 5 at least 1 -> 2. Verdicts rest
 * on the order of values, which stays.
 */
static void scores_to_ratios(struct verdict_values *v)
{
    if (!v->n_before ||
        (all_positive(v->before, v->n_before) && all_positive(v->after, v->n_after)))
        return;
    double middle = repeats_median(v->before, v->n_before), unit = unit_of_score(v, middle);
    for (size_t i = 0; i < v->n_before; i++)
        v->before[i] = above_zero(1 + (v->before[i] - middle) / unit);
    for (size_t i = 0; i < v->n_after; i++)
        v->after[i] = above_zero(1 + (v->after[i] - middle) / unit);
}

struct verdict_values verdict_values(const struct comparison *c)
{
    struct verdict_values v = {mem_calloc(c->before->runs.n + 1, sizeof(double)),
                               mem_calloc(c->after->runs.n + 1, sizeof(double)), 0, 0};
    if (!c->apart) {
        pair_by_block(&v, c);
    } else {
        v.n_before = series_values(c->before, c->measure, v.before);
        v.n_after = series_values(c->after, c->measure, v.after);
    }
    if (c->measure == MEASURE_METRIC)
        scores_to_ratios(&v);
    if (c->after->more_is_better) {
        invert(v.before, v.n_before);
        invert(v.after, v.n_after);
    }
    return v;
}

void verdict_values_done(struct verdict_values *v)
{
    free(v->before);
    free(v->after);
}

static bool is_count(const struct comparison *c)
{
    return c->measure >= MEASURE_INSTRUCTIONS && c->measure <= MEASURE_ALLOCATIONS &&
           c->measure != MEASURE_CYCLES;
}

/* Wall time side by side needs a few blocks: something else may run beside one side of a block. */
enum { GROSS_BLOCKS = 3 };

/*
 * Too few runs for an interval, but each takes more than twice as much as allowed: that is no
 * chance. Runs apart show that by CPU time only; the wall time of another hour is that of its load,
 * too. On a busy machine (BUSY) one or two runs must take more than five times as much: where pages
 * and caches are short, CPU time of one program was seen to differ by a factor of 2.6.
 */
static bool is_gross(const struct comparison *c, const struct verdict_values *v, bool busy)
{
    bool few = v->n_before < GROSS_BLOCKS || v->n_after < GROSS_BLOCKS;
    double times = busy && few ? 5 : 2, low = INFINITY, high = 0;
    double most = times * (1 + fmax(c->limit, c->band));
    if (!v->n_before || !v->n_after || isnan(c->limit) || is_count(c))
        return false;
    if (c->measure != MEASURE_CPU && (c->apart || v->n_after < GROSS_BLOCKS))
        return false;
    for (size_t i = 0; i < v->n_before; i++)
        high = fmax(high, v->before[i]);
    for (size_t i = 0; i < v->n_after; i++)
        low = fmin(low, v->after[i]);
    return high > 0 && low > most * high;
}

static void compare_values(struct comparison *c, const struct verdict_values *v,
                           const struct verdict_opts *o)
{
    struct paired_opts with = {o->band, o->risk, o->comparisons};
    size_t fewer = v->n_before < v->n_after ? v->n_before : v->n_after;
    if (is_count(c))
        paired_compare_counts(&c->paired, v->before, v->after, fewer, &with);
    else if (c->apart)
        paired_compare_apart(&c->paired, v->before, v->n_before, v->after, v->n_after, &with);
    else
        paired_compare(&c->paired, v->before, v->after, fewer, &with, o->look);
}

/* CPU time of the same two sessions. False where that was not measured, or too rarely. */
static bool compare_cpu(struct comparison *cpu, const struct comparison *c,
                        const struct verdict_opts *o)
{
    *cpu = *c;
    cpu->measure = MEASURE_CPU;
    struct verdict_values values = verdict_values(cpu);
    compare_values(cpu, &values, o);
    cpu->gate = paired_gate(&cpu->paired, c->limit, o->band);
    verdict_values_done(&values);
    return isfinite(cpu->paired.interval.high);
}

/* Next to other work CPU time of the same code grows by a few percent while wall time grows
 * fivefold: so much of the change of wall time must be in it, in logarithms. */
#define CPU_PART 0.5

/* Whether CPU time changed the same way as wall time, and enough. */
static bool cpu_follows(const struct comparison *cpu, const struct comparison *c)
{
    double wall_log = fabs(calc_log(c->paired.ratio)), cpu_log = fabs(calc_log(cpu->paired.ratio));
    return cpu->paired.verdict == c->paired.verdict && cpu_log >= CPU_PART * wall_log &&
           (c->gate != GATE_BROKEN || cpu->paired.ratio > 1 + c->limit);
}

/* Whether runs took longer than they were on a CPU: they are of one thread, or nearly so. */
static bool is_serial(const struct series *s)
{
    double cpu = 0, wall = 0;
    for (size_t i = 0; i < s->runs.n; i++) {
        cpu += s->runs.at[i].value[MEASURE_CPU];
        wall += s->runs.at[i].value[MEASURE_TIME];
    }
    return cpu <= 1.1 * wall;
}

/*
 * Whatever else ran in one of two sessions is part of its wall time and hardly of its CPU time. So
 * wall time of another session counts only where CPU time, if it was measured, changed as well; and
 * where a slower program looks fast beside a baseline from a busy hour, its gate does not hold.
 */
static void ask_cpu_time(struct comparison *c, const struct verdict_opts *o)
{
    enum verdict v = c->paired.verdict;
    struct comparison cpu;
    c->unconfirmed = false;
    if (!c->apart || c->measure != MEASURE_TIME || !compare_cpu(&cpu, c, o))
        return;
    bool hidden = c->gate == GATE_HOLDS && cpu.gate == GATE_BROKEN && is_serial(c->after);
    c->unconfirmed =
        hidden || ((v == VERDICT_SLOWER || v == VERDICT_FASTER) && !cpu_follows(&cpu, c));
    if (c->unconfirmed)
        c->paired.verdict = VERDICT_INCONCLUSIVE;
    if (hidden || (c->unconfirmed && c->gate == GATE_BROKEN))
        c->gate = GATE_UNDECIDED;
}

/* Where the median itself moved so far, all runs of one side are slow ones of both. */
static bool median_tells_all(const struct paired *p)
{
    return p->ratio >= TAILS_SLOW || p->ratio <= 1 / TAILS_SLOW;
}

/* "Same" is a claim: it takes less to withhold it than to say that something changed. */
#define TAILS_DOUBT 0.05

/*
 * So many standard errors of the mean withhold "holds", which is a claim as well; and so many ask
 * for more runs where there may be more. One slow run makes 1, two make more than the latter.
 */
#define MEAN_DOUBT 1.645
#define MEAN_LOOK_AGAIN 1.2

/* Whether the mean says that more is taken than the gate allows, though the median does not. */
static bool mean_breaks(const struct comparison *c, int look)
{
    bool last = look < 0 || look >= PAIRED_LOOKS - 1;
    bool more = c->tails.slow_after > c->tails.slow_before && c->tails.p <= TAILS_DOUBT;
    return c->tails.mean_ratio > 1 + fmax(c->limit, c->band) &&
           (more || c->tails.mean_z >= (last ? MEAN_DOUBT : MEAN_LOOK_AGAIN));
}

/*
 * The median does not see slow runs. Where they come more often on one side and the mean follows,
 * the sides are not the same, and a gate that the mean passes does not hold.
 */
static void look_at_tails(struct comparison *c, const struct verdict_values *v, int look)
{
    c->has_tails = c->mean_broke = false;
    if (c->apart || is_count(c) || measure_infos[c->measure].unit != MEASURE_NS ||
        median_tells_all(&c->paired))
        return;
    c->tails = tails_compare(v->before, v->n_before, v->after, v->n_after);
    double mean = c->tails.mean_ratio;
    bool differ = mean > 1 + c->band || mean < 1 / (1 + c->band);
    double level = c->paired.verdict == VERDICT_SAME ? TAILS_DOUBT : c->paired.miss;
    c->mean_broke = c->gate == GATE_HOLDS && mean_breaks(c, look);
    c->has_tails = (c->tails.p <= level && differ) || c->mean_broke;
    if (!c->has_tails)
        return;
    if (c->paired.verdict == VERDICT_SAME)
        c->paired.verdict = VERDICT_INCONCLUSIVE;
    if (c->mean_broke)
        c->gate = GATE_UNDECIDED;
}

/* Whether it rests on wall time of which no CPU time is known. */
static bool is_wall_alone(const struct comparison *c)
{
    for (size_t i = 0; i < c->after->runs.n && c->measure == MEASURE_TIME; i++)
        if (isfinite(c->after->runs.at[i].value[MEASURE_CPU]))
            return false;
    return c->measure == MEASURE_TIME;
}

void verdict_compare(struct comparison *c, const struct verdict_opts *o)
{
    struct verdict_values v = verdict_values(c);
    compare_values(c, &v, o);
    c->band = o->band;
    c->gate = paired_gate(&c->paired, c->limit, o->band);
    look_at_tails(c, &v, o->look);
    ask_cpu_time(c, o);
    if (o->busy && c->apart && !is_count(c) && (c->gate == GATE_BROKEN || is_wall_alone(c)))
        c->gate = c->gate == GATE_NONE ? GATE_NONE : GATE_UNDECIDED;
    if (c->gate == GATE_UNDECIDED && !isfinite(c->paired.interval.high) &&
        is_gross(c, &v, o->busy)) {
        c->paired.verdict = VERDICT_SLOWER;
        c->gate = GATE_BROKEN;
    }
    verdict_values_done(&v);
}

void verdict_compare_sets(struct comparisons *to, const struct series_set *before,
                          const struct series_set *now, const struct verdict_rules *rules)
{
    struct verdict_opts opts = {.band = rules->band, .risk = rules->risk, .busy = rules->busy};
    for (size_t i = 0; i < now->series.n; i++)
        opts.comparisons += series_find(before, now->series.at[i].name) != NULL;
    for (size_t i = 0; i < now->series.n; i++) {
        const struct series *after = &now->series.at[i];
        const struct series *old = series_find(before, after->name);
        if (!old)
            continue;
        struct comparison *c = vec_push(to);
        *c = (struct comparison){.before = old,
                                 .after = after,
                                 .measure = rules->measure,
                                 .apart = true,
                                 .limit = gates_find(rules->gates, after->name, after->name)};
        verdict_compare(c, &opts);
    }
}

/* --- gates --- */

enum gate verdict_worst(const struct comparison *c, size_t n)
{
    enum gate worst = GATE_NONE;
    for (size_t i = 0; i < n; i++)
        worst = c[i].gate > worst ? c[i].gate : worst;
    return worst;
}

int verdict_code(enum gate gate)
{
    return gate == GATE_BROKEN ? EXIT_FAILS : gate == GATE_UNDECIDED ? EXIT_INCONCLUSIVE : EXIT_OK;
}
