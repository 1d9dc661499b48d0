/* diff.c - costs and their tests; the verdict is in diff_judge.c. */
#include "analysis/diff_inner.h"
#include "base/calc.h"

#include <math.h>

double diff_share_of(const struct diff_builder *b, size_t run, enum diff_column c, size_t index)
{
    const struct overlay_run *r = &b->lay.runs[run];
    const double *columns[] = {r->self, r->total, r->fun_self, r->fun_total};
    return columns[c][index];
}

double diff_mean_of(const struct diff_builder *b, enum diff_column c, size_t index, bool after)
{
    size_t first = after ? b->o->n_before : 0, end = after ? b->o->n_runs : b->o->n_before;
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += diff_share_of(b, i, c, index);
    return sum / (double)(end - first);
}

/* In the unit of the whole. */
static double mean_cost(const struct diff_builder *b, enum diff_column c, size_t index, bool after)
{
    size_t first = after ? b->o->n_before : 0, end = after ? b->o->n_runs : b->o->n_before;
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += diff_share_of(b, i, c, index) * b->whole[i];
    return sum / (double)(end - first);
}

/* --- what is tested --- */

/* A test is a value to fill, and where its shares are. */
struct test {
    struct diff_value *v;
    enum diff_column c;
    size_t index;
    uint32_t name;
};

typedef VEC(struct test) tests;

static double diff_cost_of(const struct diff_builder *b, size_t run, enum diff_column c,
                           size_t index)
{
    return diff_share_of(b, run, c, index) * (b->whole ? b->whole[run] : 1);
}

/* Up to the rounding of sums. All of a program's memory in one place may be twice as much. */
static bool all_alike(const struct diff_builder *b, enum diff_column c, size_t index)
{
    double first = diff_cost_of(b, 0, c, index);
    for (size_t i = 1; i < b->o->n_runs; i++)
        if (fabs(diff_cost_of(b, i, c, index) - first) > 1e-12 * (b->whole ? b->whole[0] : 1))
            return false;
    return true;
}

/* What is on nearly every stack says nothing of itself, only of the whole: the verdict does that.
 */
#define NEARLY_ALL 0.98

static struct diff_value value_of(const struct diff_builder *b, enum diff_column c, size_t index)
{
    struct diff_value v = {
        .before = diff_mean_of(b, c, index, false),
        .after = diff_mean_of(b, c, index, true),
        .before_cost = NAN,
        .after_cost = NAN,
        .low = NAN,
        .high = NAN,
        .cost_low = NAN,
        .cost_high = NAN,
        .p = NAN,
        .q = NAN,
        .detectable = NAN,
    };
    v.cost = v.after / v.before / b->d->typical;
    if (b->whole) {
        v.before_cost = mean_cost(b, c, index, false);
        v.after_cost = mean_cost(b, c, index, true);
        v.cost = v.after_cost / v.before_cost;
    }
    return v;
}

static void add_test(const struct diff_builder *b, tests *list, const struct test *t)
{
    double mean = (t->v->before + t->v->after) / 2;
    bool self = t->c == FUN_SELF || t->c == NODE_SELF;
    bool matters = mean >= b->o->min_share && (self || mean < NEARLY_ALL);
    bool scatters = !b->d->by_runs || !all_alike(b, t->c, t->index);
    if (b->d->has_samples && matters && scatters && !b->uneven[t->name] && !b->aside[t->name])
        *vec_push(list) = *t;
}

/*
 * How much a test counts: more the more time it is about, as a dozen small functions must not hide
 * a change of the one that is half of the program. By its square root, nor must that one hide a
 * change of theirs; but one run per side says too little about the small ones.
 */
static double weight_of(const struct diff_builder *b, const struct test *t)
{
    double sum = t->v->before + t->v->after;
    return b->d->by_runs ? sqrt(sum) : sum;
}

/* --- one run per side --- */

/* The effective number of samples of functions, by name and side, which their paths share. */
struct worths {
    struct overlay_worth *of[2];
};

/* More functions than that are not tested: a stack of a hundred thousand would take hours. */
enum { MOST_TESTED = 2000 };

static double mean_total(const struct diff_builder *b, uint32_t name)
{
    return (diff_mean_of(b, FUN_TOTAL, name, false) + diff_mean_of(b, FUN_TOTAL, name, true)) / 2;
}

static int by_total(const void *x, const void *y, void *builder)
{
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    double p = mean_total(builder, i), q = mean_total(builder, k);
    return p > q ? -1 : p < q ? 1 : (i > k) - (i < k);
}

typedef VEC(uint32_t) names_list;

/* Functions that may be tested, or of which a path may. */
static names_list find_large(struct diff_builder *b)
{
    names_list names = {0};
    for (uint32_t i = 0; i < b->lay.names.strings.n; i++)
        if (mean_total(b, i) >= b->o->min_share)
            *vec_push(&names) = i;
    if (names.n > MOST_TESTED) {
        qsort_r(names.at, names.n, sizeof *names.at, by_total, b);
        names.n = MOST_TESTED;
    }
    return names;
}

static struct worths find_worths(struct diff_builder *b)
{
    struct worths w = {0};
    if (b->d->by_runs)
        return w;
    names_list names = find_large(b);
    autofree struct overlay_worth *some = mem_calloc(names.n + 1, sizeof *some);
    for (size_t side = 0; side < 2; side++) {
        w.of[side] = mem_calloc(b->lay.names.strings.n, sizeof *w.of[side]);
        overlay_worths(&b->lay, side, names.at, names.n, some);
        for (size_t i = 0; i < names.n; i++)
            w.of[side][names.at[i]] = some[i];
    }
    vec_done(&names);
    return w;
}

static void test_pair(const struct diff_builder *b, const struct worths *w, const struct test *t)
{
    bool self = t->c == FUN_SELF || t->c == NODE_SELF;
    const struct overlay_worth *x = &w->of[0][t->name], *y = &w->of[1][t->name];
    const double n[2] = {self ? x->self : x->total, self ? y->self : y->total};
    struct difftest_share before = {t->v->before, n[0]}, after = {t->v->after, n[1]};
    t->v->p = t->v->q = difftest_pair_p(before, after, b->change);
    if (isnan(t->v->p))
        return;
    struct difftest shares = difftest_pair(before, after);
    t->v->low = shares.low;
    t->v->high = shares.high;
    struct interval ratio = difftest_pair_ratio(before, after, b->change);
    t->v->cost_low = ratio.low;
    t->v->cost_high = ratio.high;
}

/* --- several runs per side --- */

/* The logs of a test's costs in all runs, and how much they would vary from sampling alone. */
static double fill_row(const struct diff_builder *b, const struct test *t, double *ret)
{
    double noise = 0, mean = (t->v->before + t->v->after) / 2;
    for (size_t i = 0; i < b->o->n_runs; i++) {
        double n = b->lay.runs[i].time.n_samples, half = n > 0 ? 0.5 / n : 0.0005;
        ret[i] = calc_log(diff_share_of(b, i, t->c, t->index) + half) - b->typical[i].log;
        noise += n > 0 ? diff_log_variance(mean, n) / (double)b->o->n_runs : 0;
    }
    return noise;
}

static void set_runs_intervals(const struct diff_builder *b, const struct test *t,
                               const struct difftest_effect *e)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    autofree double *shares = mem_calloc(n, sizeof *shares);
    for (size_t i = 0; i < n; i++)
        shares[i] = diff_share_of(b, i, t->c, t->index);
    struct interval points = difftest_runs_interval(shares, nb, n);
    struct interval cost = difftest_effect_interval(e);
    bool few = nb < 2 || n - nb < 2;
    t->v->low = points.low;
    t->v->high = points.high;
    t->v->cost_low = t->v->after > 0 && !few ? calc_exp(cost.low) : 0;
    t->v->cost_high = few ? INFINITY : calc_exp(cost.high);
}

/* What a test of this weight would prove if it were the only one to prove anything. */
static void set_detectable(const struct diff_builder *b, const struct test *t, double weights,
                           const struct difftest_effect *e)
{
    double level = DIFF_LEVEL * weight_of(b, t) / weights;
    t->v->detectable = calc_exp(difftest_detectable(e, level, calc_log1p(b->d->band))) - 1;
}

static void test_runs(const struct diff_builder *b, const struct test *at, size_t m)
{
    size_t n = b->o->n_runs;
    double weights = 0;
    autofree double *values = mem_calloc(m * n + 1, sizeof *values);
    autofree double *noise = mem_calloc(m + 1, sizeof *noise);
    autofree double *common = mem_calloc(n, sizeof *common);
    autofree struct difftest_effect *effects = mem_calloc(m + 1, sizeof *effects);
    for (size_t i = 0; i < m; i++) {
        noise[i] = fill_row(b, &at[i], values + i * n);
        weights += weight_of(b, &at[i]);
    }
    for (size_t i = 0; i < n && b->whole; i++)
        common[i] = calc_log(b->whole[i]);
    struct difftest_family f = {.values = values,
                                .noise = noise,
                                .common = common,
                                .m = m,
                                .n = n,
                                .n_before = b->o->n_before};
    difftest_runs(&f, effects);
    for (size_t i = 0; i < m; i++) {
        at[i].v->p = effects[i].p;
        at[i].v->q = effects[i].fine;
        set_runs_intervals(b, &at[i], &effects[i]);
        set_detectable(b, &at[i], weights, &effects[i]);
    }
}

/* Deals have to agree with Student, who assumes more; so few runs have no smaller p. */
#define DEALS_LEVEL 0.05

/* Whether the interval of a cost is outside of the band. */
static bool diff_beyond_band(const struct diff *d, const struct diff_value *v)
{
    return v->cost_low > 1 + d->band || v->cost_high < 1 - d->band;
}

/* Test the wholes of several runs. */
static void diff_test_whole(struct diff_builder *b)
{
    size_t n = b->o->n_runs, nb = b->o->n_before;
    struct diff_value *v = &b->d->whole;
    double noise = 0;
    autofree double *logs = mem_calloc(n, sizeof *logs);
    *v = (struct diff_value){.low = NAN, .high = NAN, .cost_low = NAN, .cost_high = NAN};
    v->p = v->q = v->detectable = NAN;
    for (size_t i = 0; i < n; i++) {
        logs[i] = calc_log(b->whole[i]);
        *(i < nb ? &v->before : &v->after) += b->whole[i] / (double)(i < nb ? nb : n - nb);
    }
    v->before_cost = v->before;
    v->after_cost = v->after;
    v->cost = v->after / v->before;
    if (!b->d->by_runs)
        return;
    struct interval amounts = difftest_runs_interval(b->whole, nb, n);
    struct difftest_family f = {.values = logs, .noise = &noise, .m = 1, .n = n, .n_before = nb};
    struct difftest_effect e;
    difftest_runs(&f, &e);
    struct interval cost = e.by_deals ? e.dealt : difftest_runs_interval(logs, nb, n);
    v->low = amounts.low, v->high = amounts.high;
    v->cost_low = calc_exp(cost.low), v->cost_high = calc_exp(cost.high);
    v->p = e.p, v->q = e.fine;
    v->detectable = calc_exp(difftest_detectable(&e, DIFF_WHOLE_LEVEL, calc_log1p(b->d->band))) - 1;
    v->proven = v->p <= DEALS_LEVEL && v->q <= DIFF_WHOLE_LEVEL && diff_beyond_band(b->d, v) &&
                !diff_has_few_runs(b->d);
}

/* --- all tests --- */

/*
 * What the kernel does in one run depends on the machine: files that are cached, free memory, other
 * programs (seen: 0.5 s more of copying in the second run of one program). So one run per side
 * proves nothing of it.
 */
static bool may_be_proven(const struct diff_builder *b, uint32_t name)
{
    return b->d->by_runs || (!b->d->same && !b->kernel[name]);
}

static bool is_proven(const struct diff_builder *b, const struct diff_value *v)
{
    if (!(v->q <= DIFF_LEVEL) || diff_has_few_runs(b->d))
        return false;
    return b->d->by_runs ? v->p <= DEALS_LEVEL && diff_beyond_band(b->d, v)
                         : diff_pair_is_far(b, v);
}

/* What was put in q is adjusted for the number of tests. */
static void adjust(const struct diff_builder *b, const tests *list)
{
    autofree double *q = mem_calloc(list->n + 1, sizeof *q);
    autofree double *weight = mem_calloc(list->n + 1, sizeof *weight);
    for (size_t i = 0; i < list->n; i++) {
        q[i] = list->at[i].v->q;
        weight[i] = weight_of(b, &list->at[i]);
    }
    difftest_adjust_weighted(q, weight, list->n);
    for (size_t i = 0; i < list->n; i++) {
        struct diff_value *v = list->at[i].v;
        v->q = q[i];
        v->proven = may_be_proven(b, list->at[i].name) && is_proven(b, v);
    }
}

static void run_tests(const struct diff_builder *b, const tests *list, const struct worths *w)
{
    if (b->d->by_runs)
        test_runs(b, list->at, list->n);
    else
        for (size_t i = 0; i < list->n; i++)
            test_pair(b, w, &list->at[i]);
    adjust(b, list);
}

/* Of what calls nothing, total is self: one test, not two. */
static bool is_leaf(const struct diff_entry *e)
{
    return fabs(e->total.before - e->self.before) < 1e-12 &&
           fabs(e->total.after - e->self.after) < 1e-12;
}

static void copy_leaves(struct diff_entry *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_leaf(&at[i]))
            at[i].total = at[i].self;
}

/*
 * The parts that a program is made of, and the sums of parts: two families, as dozens of callers of
 * everything would drown a change of one part. One family where there is one run per side: that
 * is little to be sure by.
 */
struct families {
    tests self, total;
};

static size_t families_add(const struct diff_builder *b, struct families *f, struct diff_entry *e,
                           const struct test *self, const struct test *total)
{
    size_t n = f->self.n + f->total.n;
    add_test(b, &f->self, self);
    if (!is_leaf(e))
        add_test(b, b->d->by_runs ? &f->total : &f->self, total);
    return f->self.n + f->total.n - n;
}

static void families_test(struct families *f, const struct diff_builder *b, const struct worths *w)
{
    run_tests(b, &f->self, w);
    run_tests(b, &f->total, w);
    vec_done(&f->self);
    vec_done(&f->total);
}

static void compare_functions(struct diff_builder *b, const struct worths *w)
{
    struct diff *d = b->d;
    struct families f = {0};
    for (uint32_t i = 0; i < b->lay.names.strings.n; i++) {
        struct diff_entry e = {.name = i,
                               .unnamed = b->uneven[i],
                               .interrupt = b->aside[i],
                               .self = value_of(b, FUN_SELF, i),
                               .total = value_of(b, FUN_TOTAL, i)};
        if (e.total.before > 0 || e.total.after > 0)
            *vec_push(&d->functions) = e;
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        struct diff_entry *e = &d->functions.at[i];
        struct test self = {&e->self, FUN_SELF, e->name, e->name};
        struct test total = {&e->total, FUN_TOTAL, e->name, e->name};
        d->n_tested += families_add(b, &f, e, &self, &total) > 0;
    }
    families_test(&f, b, w);
    copy_leaves(d->functions.at, d->functions.n);
}

static void compare_paths(struct diff_builder *b, const struct worths *w)
{
    struct diff *d = b->d;
    struct families f = {0};
    for (size_t i = 0; i < b->lay.parent.n; i++)
        *vec_push(&d->paths) = (struct diff_entry){.name = b->lay.name.at[i],
                                                   .unnamed = b->uneven[b->lay.name.at[i]],
                                                   .parent = b->lay.parent.at[i],
                                                   .self = value_of(b, NODE_SELF, i),
                                                   .total = value_of(b, NODE_TOTAL, i)};
    for (size_t i = 1; i < d->paths.n; i++) {
        struct diff_entry *e = &d->paths.at[i];
        struct test self = {&e->self, NODE_SELF, i, e->name};
        struct test total = {&e->total, NODE_TOTAL, i, e->name};
        families_add(b, &f, e, &self, &total);
    }
    families_test(&f, b, w);
    copy_leaves(d->paths.at, d->paths.n);
}

/*
 * A total grows because something in it does. Where no function's own cost is proven to have
 * changed, the totals of one pair only show that the work was dealt out to threads or paths in
 * another way, which runs of one program do.
 */
static void take_back_totals(struct diff *d)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (d->functions.at[i].self.proven)
            return;
    for (size_t i = 0; i < d->functions.n; i++)
        d->functions.at[i].total.proven = false;
    for (size_t i = 0; i < d->paths.n; i++)
        d->paths.at[i].self.proven = d->paths.at[i].total.proven = false;
}

/* --- the whole --- */

static bool samples_known(const struct diff_builder *b)
{
    for (size_t i = 0; i < b->o->n_runs; i++)
        if (!(b->lay.runs[i].time.n_samples > 0))
            return false;
    return true;
}

static bool any_has_none(const struct diff_opts *o)
{
    for (size_t i = 0; i < o->n_runs; i++)
        if (o->runs[i]->count_type >= 0 && !o->runs[i]->n_samples)
            return true;
    return false;
}

static bool all_exact(const struct diff_opts *o)
{
    for (size_t i = 0; i < o->n_runs; i++)
        if (!obtained_exactly(o->runs[i]->stream->obtained))
            return false;
    return true;
}

/* --- when and where the runs were made --- */

/* Nine of ten pairs in one order are no turns. False where times are not known. */
static bool made_apart(const struct diff_opts *o)
{
    size_t in_order = 0, n = o->n_before * (o->n_runs - o->n_before);
    for (size_t i = 0; i < o->n_before; i++)
        for (size_t k = o->n_before; k < o->n_runs; k++) {
            uint64_t x, y;
            if (!meta_find_u64(&o->runs[i]->profile->meta, META_TIME_NS, &x) ||
                !meta_find_u64(&o->runs[k]->profile->meta, META_TIME_NS, &y))
                return false;
            in_order += x < y;
        }
    return 10 * in_order >= 9 * n || 10 * in_order <= n;
}

/* What a busy machine can change between the sides proves nothing, and is not "unchanged" either.
 */
static double band_of(const struct diff *d, const struct diff_opts *o)
{
    if (o->band > 0)
        return o->band;
    return !d->apart ? DIFF_BAND : d->busy ? DIFF_BAND_BUSY : DIFF_BAND_APART;
}

static void diff_init(struct diff_builder *b)
{
    const struct diff_opts *o = b->o;
    struct diff *d = b->d;
    d->n_before = o->n_before;
    d->n_after = o->n_runs - o->n_before;
    d->by_runs = o->n_runs > 2;
    d->apart = d->by_runs && made_apart(o);
    d->same = o->n_runs == 2 && diff_is_same_program(o);
    d->same_build = diff_is_same_build(o->runs[0], o->runs[o->n_runs - 1]);
    d->identical = o->n_runs == 2 && diff_is_same_recording(o->runs[0], o->runs[1]);
    d->busy = pairchance_was_busy(o->runs, o->n_runs);
    d->band = band_of(d, o);
    d->no_change = o->band > 0 ? o->band : fmin(d->band, DIFF_BAND_APART);
    d->has_samples = d->by_runs || samples_known(b);
    d->no_samples = any_has_none(o);
    d->least_p = d->by_runs ? difftest_least_p(o->n_before, o->n_runs) : 0;
    d->min_share = o->min_share;
    d->each = o->by == OVERLAY_LINE ? "line" : o->by == OVERLAY_PLACE ? "place" : "function";
    d->by = o->by;
    d->noun = quantity_noun(selection_quantity(o->runs[0]));
    d->unit = dimension_scaled(selection_value(o->runs[0])->dimension);
    d->exact = all_exact(o);
}

static void diff_builder_done(struct diff_builder *b)
{
    overlay_done(&b->lay);
    free(b->typical);
    free(b->whole);
    free(b->uneven);
    free(b->kernel);
    free(b->fixed);
    free(b->aside);
}

struct diff *diff_build(const struct diff_opts *o)
{
    struct diff *d = mem_new(struct diff);
    struct diff_builder b = {.d = d, .o = o};
    overlay_build(&b.lay, o->runs, o->n_runs, o->by);
    diff_init(&b);
    diff_find_uneven(&b);
    diff_find_kernel(&b);
    diff_find_interrupts(&b);
    diff_find_scale(&b);
    struct worths w = find_worths(&b);
    compare_functions(&b, &w);
    compare_paths(&b, &w);
    if (!d->by_runs)
        take_back_totals(d);
    free(w.of[0]);
    free(w.of[1]);
    if (b.whole)
        diff_test_whole(&b);
    d->cpu_s = d->has_cpu ? d->whole : (struct diff_value){0};
    if (o->by == OVERLAY_FUNCTION) {
        diff_find_fixed(&b);
        diff_find_renamed(&b);
    }
    d->names = b.lay.names;
    b.lay.names = (struct intern){0};
    diff_judge(d);
    diff_builder_done(&b);
    return d;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    intern_done(&d->names);
    vec_done(&d->functions);
    vec_done(&d->paths);
    buf_done(&d->unnamed);
    free(d);
}
