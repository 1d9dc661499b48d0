/*
 * diff_scale.c - what costs are measured in: CPU time or another total of the run, or next to the
 * typical function.
 */
#include "analysis/diff_inner.h"
#include "base/calc.h"

#include <math.h>

/* --- wholes --- */

static bool find_whole(struct diff_builder *b)
{
    enum runcost_kind kind = RUNCOST_UNKNOWN;
    autofree double *whole = mem_calloc(b->o->n_runs, sizeof *whole);
    for (size_t i = 0; i < b->o->n_runs; i++) {
        struct runcost c = runcost_of(b->o->runs[i]);
        if (c.kind == RUNCOST_UNKNOWN || (i && c.kind != kind))
            return false;
        kind = c.kind;
        whole[i] = c.value;
    }
    b->d->scale = kind == RUNCOST_CPU ? DIFF_BY_CPU : DIFF_BY_AMOUNT;
    b->whole = whole;
    whole = NULL;
    return true;
}

/* --- the typical function --- */

/* Smaller functions are too noisy to show what is typical; a larger one is the program. */
#define TYPICAL_SHARE 0.005
#define MAJORITY 0.5

/* Which functions have a say must not depend on which side is which. */
static bool has_say(const struct diff_builder *b, uint32_t name)
{
    double before = diff_mean_of(b, FUN_SELF, name, false);
    double after = diff_mean_of(b, FUN_SELF, name, true), mean = (before + after) / 2;
    if (mean < TYPICAL_SHARE || before > MAJORITY || after > MAJORITY || b->aside[name] ||
        (b->uneven && b->uneven[name]) || (!b->d->by_runs && b->kernel[name]))
        return false;
    for (size_t i = 0; i < b->o->n_runs; i++)
        if (diff_share_of(b, i, FUN_SELF, name) <= 0)
            return false;
    return true;
}

double diff_log_variance(double share, double n)
{
    return (1 - share + 1e-9) / (share * (n > 0 ? n : 1000));
}

typedef VEC(struct difftest_change) changes;
typedef VEC(uint32_t) names_list;

static double mean_of_all(const struct diff_builder *b, uint32_t name)
{
    double mean = 0;
    for (size_t k = 0; k < b->o->n_runs; k++)
        mean += diff_share_of(b, k, FUN_SELF, name) / (double)b->o->n_runs;
    return mean;
}

static struct difftest_typical typical_of_run(const struct diff_builder *b, const names_list *say,
                                              size_t run)
{
    changes list = {0};
    for (size_t i = 0; i < say->n; i++) {
        double share = diff_share_of(b, run, FUN_SELF, say->at[i]);
        double mean = mean_of_all(b, say->at[i]), n = b->lay.runs[run].time.n_samples;
        *vec_push(&list) =
            (struct difftest_change){calc_log(share / mean), diff_log_variance(mean, n), mean};
    }
    struct difftest_typical t = difftest_typical(list.at, list.n);
    vec_done(&list);
    return t;
}

static struct difftest_typical typical_of_pair(const struct diff_builder *b, const names_list *say)
{
    changes list = {0};
    for (size_t i = 0; i < say->n; i++) {
        double before = diff_share_of(b, 0, FUN_SELF, say->at[i]);
        double after = diff_share_of(b, 1, FUN_SELF, say->at[i]);
        double variance = diff_log_variance(before, b->lay.runs[0].time.n_samples) +
                          diff_log_variance(after, b->lay.runs[1].time.n_samples);
        *vec_push(&list) =
            (struct difftest_change){calc_log(after / before), variance, (before + after) / 2};
    }
    struct difftest_typical t = difftest_typical(list.at, list.n);
    vec_done(&list);
    return t;
}

static names_list find_say(const struct diff_builder *b)
{
    names_list say = {0};
    for (uint32_t i = 0; i < b->lay.names.strings.n; i++)
        if (has_say(b, i))
            *vec_push(&say) = i;
    return say;
}

/* --- both --- */

static void scale_by_typical(struct diff_builder *b, const names_list *say)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    b->d->scale = DIFF_BY_TYPICAL;
    if (!b->d->by_runs) {
        b->change = typical_of_pair(b, say);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        b->typical[i] = typical_of_run(b, say, i);
        b->change.log += (i < nb ? -1.0 / (double)nb : 1.0 / (double)(n - nb)) * b->typical[i].log;
    }
}

/* A share is worth less the more the run cost. */
static void scale_by_whole(struct diff_builder *b, const names_list *say)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    double sides[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        b->typical[i].log = -calc_log(b->whole[i]);
        sides[i >= nb] += b->whole[i] / (double)(i < nb ? nb : n - nb);
    }
    b->change.log = calc_log(sides[0] / sides[1]);
    if (!b->d->by_runs && say->n >= 3) {
        b->rest = typical_of_pair(b, say);
        b->rest.log -= b->change.log;
        b->d->has_rest = true;
        double error = STATS_Z95 * sqrt(b->rest.variance);
        b->d->rest =
            (struct interval){calc_exp(b->rest.log - error), calc_exp(b->rest.log + error)};
    }
}

void diff_find_scale(struct diff_builder *b)
{
    names_list say = find_say(b);
    b->typical = mem_calloc(b->o->n_runs, sizeof *b->typical);
    if (find_whole(b))
        scale_by_whole(b, &say);
    else
        scale_by_typical(b, &say);
    if (!b->d->has_rest)
        b->d->rest = (struct interval){NAN, NAN};
    b->d->has_cpu = b->d->scale == DIFF_BY_CPU;
    b->d->typical = calc_exp(b->change.log);
    vec_done(&say);
}

/*
 * One run per side does not show how much runs differ. On shared machines functions that wait for
 * memory cost a tenth to a third more in one run than in the next, and a neighbour on the same core
 * or a slower clock makes all code up to twice as slow, the rest of the program as well.
 */

struct pairchance diff_pairchance(const struct diff *d)
{
    return (struct pairchance){d->same, d->has_rest, diff_pair_factor(d), d->rest};
}

bool diff_pair_is_far(const struct diff_builder *b, const struct diff_value *v)
{
    struct pairchance chance = diff_pairchance(b->d);
    struct interval left =
        pairchance_take_off(&chance, (struct interval){v->cost_low, v->cost_high});
    return left.low > 1 || left.high < 1;
}
