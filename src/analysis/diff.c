/* diff.c - costs and their tests; the verdict is in diff_judge.c. */
#include "analysis/diff.h"

#include "analysis/diff_inner.h"
#include "analysis/difftest.h"

#include <math.h>

struct builder {
    struct diff *d;
    const struct diff_opts *o;
    struct overlay lay;
    struct difftest_typical *typical; /* of each run, from the mean of all */
    struct difftest_typical change;   /* from before to after */
    double *cpu_s;                    /* of each run; NULL where not known */
    VEC(uint32_t) say;                /* functions that tell what is typical */
};

/* Per-run shares of one thing: a column of every run at an index. */
enum column { NODE_SELF, NODE_TOTAL, FUN_SELF, FUN_TOTAL };

static double share_of(const struct builder *b, size_t run, enum column c, size_t index)
{
    const struct overlay_run *r = &b->lay.runs[run];
    const double *columns[] = {r->self, r->total, r->fun_self, r->fun_total};
    return columns[c][index];
}

static double mean_of(const struct builder *b, enum column c, size_t index, bool after)
{
    size_t first = after ? b->o->n_before : 0, end = after ? b->o->n_runs : b->o->n_before;
    double sum = 0;
    for (size_t i = first; i < end; i++)
        sum += share_of(b, i, c, index);
    return sum / (double)(end - first);
}

/* --- CPU time --- */

/* That of a run says nothing about its page faults, nor about a part of the run. */
static bool find_cpu_of(const struct selection *run, double *ret)
{
    uint64_t ns;
    const struct value_type *t = selection_value(run);
    enum quantity m = selection_quantity(run);
    if (m != QUANTITY_CPU_TIME && m != QUANTITY_UNKNOWN)
        return false;
    if (!run->rows && meta_find_u64(&run->profile->meta, META_CPU_TIME_NS, &ns))
        *ret = (double)ns / 1e9;
    else if (t->dimension == DIM_TIME)
        *ret = (double)run->total / pow(10, t->decimals) / 1e9;
    return *ret > 0;
}

static void find_cpu(struct builder *b)
{
    b->cpu_s = mem_calloc(b->o->n_runs, sizeof *b->cpu_s);
    for (size_t i = 0; i < b->o->n_runs; i++)
        if (!find_cpu_of(b->o->runs[i], &b->cpu_s[i])) {
            free(b->cpu_s);
            b->cpu_s = NULL;
            return;
        }
}

/* --- the typical function --- */

/* Smaller functions are too noisy to tell what is typical. */
#define TYPICAL_SHARE 0.005

/* How sure the log of a share is, from N samples; weights are as good with a made-up N. */
static double log_variance(double share, double n)
{
    return (1 - share + 1e-9) / (share * (n > 0 ? n : 1000));
}

typedef VEC(struct difftest_change) changes;

/* Which functions have a say must not depend on which side is which. */
static bool has_say(const struct builder *b, size_t name)
{
    double mean = (mean_of(b, FUN_SELF, name, false) + mean_of(b, FUN_SELF, name, true)) / 2;
    if (mean < TYPICAL_SHARE)
        return false;
    for (size_t i = 0; i < b->o->n_runs; i++)
        if (share_of(b, i, FUN_SELF, name) <= 0)
            return false;
    return true;
}

static struct difftest_typical typical_of_run(const struct builder *b, size_t run)
{
    changes list = {0};
    for (size_t i = 0; i < b->say.n; i++) {
        double share = share_of(b, run, FUN_SELF, b->say.at[i]), mean = 0;
        for (size_t k = 0; k < b->o->n_runs; k++)
            mean += share_of(b, k, FUN_SELF, b->say.at[i]) / (double)b->o->n_runs;
        double n = b->lay.runs[run].time.n_samples;
        *vec_push(&list) = (struct difftest_change){log(share / mean), log_variance(mean, n)};
    }
    struct difftest_typical t = difftest_typical(list.at, list.n);
    vec_done(&list);
    return t;
}

static struct difftest_typical typical_of_pair(const struct builder *b)
{
    changes list = {0};
    for (size_t i = 0; i < b->say.n; i++) {
        double before = share_of(b, 0, FUN_SELF, b->say.at[i]);
        double after = share_of(b, 1, FUN_SELF, b->say.at[i]);
        *vec_push(&list) = (struct difftest_change){
            log(after / before), log_variance(before, b->lay.runs[0].time.n_samples) +
                                     log_variance(after, b->lay.runs[1].time.n_samples)};
    }
    struct difftest_typical t = difftest_typical(list.at, list.n);
    vec_done(&list);
    return t;
}

static void find_typical(struct builder *b)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    b->typical = mem_calloc(n, sizeof *b->typical);
    for (uint32_t i = 0; i < b->lay.names.strings.n; i++)
        if (has_say(b, i))
            *vec_push(&b->say) = i;
    if (!b->d->by_runs) {
        b->change = typical_of_pair(b);
    } else {
        for (size_t i = 0; i < n; i++) {
            b->typical[i] = typical_of_run(b, i);
            double part = i < nb ? -1.0 / (double)nb : 1.0 / (double)(n - nb);
            b->change.log += part * b->typical[i].log;
        }
    }
    b->d->typical = exp(b->change.log);
}

/* --- what is tested --- */

/* A test is a value to fill, and where its shares are. */
struct test {
    struct diff_value *v;
    enum column c;
    size_t index;
    uint32_t name;
};

typedef VEC(struct test) tests;

/* Up to the rounding of sums. */
static bool all_alike(const struct builder *b, enum column c, size_t index)
{
    for (size_t i = 1; i < b->o->n_runs; i++)
        if (fabs(share_of(b, i, c, index) - share_of(b, 0, c, index)) > 1e-12)
            return false;
    return true;
}

/* What is on nearly every stack says nothing of itself, only of the whole: the verdict does that.
 */
#define NEARLY_ALL 0.98

static struct diff_value value_of(const struct builder *b, enum column c, size_t index)
{
    struct diff_value v = {
        .before = mean_of(b, c, index, false),
        .after = mean_of(b, c, index, true),
        .low = NAN,
        .high = NAN,
        .cost_low = NAN,
        .cost_high = NAN,
        .p = NAN,
        .q = NAN,
    };
    v.cost = v.after / v.before / b->d->typical;
    return v;
}

static void add_test(const struct builder *b, tests *list, const struct test *t)
{
    double mean = (t->v->before + t->v->after) / 2;
    bool self = t->c == FUN_SELF || t->c == NODE_SELF;
    bool matters = mean >= b->o->min_share && (self || mean < NEARLY_ALL);
    bool scatters = !b->d->by_runs || !all_alike(b, t->c, t->index);
    if (b->d->has_samples && matters && scatters)
        *vec_push(list) = *t;
}

/* --- one run a side --- */

/* The effective number of samples of functions, by name and side, which their paths share. */
struct worths {
    struct overlay_worth *of[2];
};

/* More functions than that are not tested: a stack of a hundred thousand would take hours. */
enum { MOST_TESTED = 2000 };

static double mean_total(const struct builder *b, uint32_t name)
{
    return (mean_of(b, FUN_TOTAL, name, false) + mean_of(b, FUN_TOTAL, name, true)) / 2;
}

static int by_total(const void *x, const void *y, void *builder)
{
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    double p = mean_total(builder, i), q = mean_total(builder, k);
    return p > q ? -1 : p < q ? 1 : (i > k) - (i < k);
}

typedef VEC(uint32_t) names_list;

/* Functions that may be tested, or of which a path may. */
static names_list find_large(struct builder *b)
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

static struct worths find_worths(struct builder *b)
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

/* Half a sample more a side keeps the log of nothing finite. */
static void set_pair_cost(struct diff_value *v, const double *n, struct difftest_typical typical)
{
    double x = v->before * n[0] + 0.5, y = v->after * n[1] + 0.5;
    double middle = log(y / n[1]) - log(x / n[0]) - typical.log;
    double variance =
        fmax(0, 1 / x - 1 / (n[0] + 1)) + fmax(0, 1 / y - 1 / (n[1] + 1)) + typical.variance;
    v->cost_low = exp(middle - STATS_Z95 * sqrt(variance));
    v->cost_high = exp(middle + STATS_Z95 * sqrt(variance));
}

static void test_pair(const struct builder *b, const struct worths *w, const struct test *t)
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
    set_pair_cost(t->v, n, b->change);
}

/* --- several runs a side --- */

/*
 * The logs of a test's costs in all runs, and how much they would vary from sampling alone. Next to
 * the typical function a cost is free of what slows all code alike; the CPU time of a function that
 * does nothing but compute is steadier still when others wait for memory.
 */
static double fill_row(const struct builder *b, const struct test *t, double *ret, double *ret_cpu)
{
    double noise = 0, mean = (t->v->before + t->v->after) / 2;
    for (size_t i = 0; i < b->o->n_runs; i++) {
        double n = b->lay.runs[i].time.n_samples, half = n > 0 ? 0.5 / n : 0.0005;
        double share = log(share_of(b, i, t->c, t->index) + half);
        ret[i] = share - b->typical[i].log;
        ret_cpu[i] = b->cpu_s ? share + log(b->cpu_s[i]) : 0;
        noise += n > 0 ? log_variance(mean, n) / (double)b->o->n_runs : 0;
    }
    return noise;
}

static void set_runs_intervals(const struct builder *b, const struct test *t, const double *logs)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    autofree double *shares = mem_calloc(n, sizeof *shares);
    for (size_t i = 0; i < n; i++)
        shares[i] = share_of(b, i, t->c, t->index);
    struct interval points = difftest_runs_interval(shares, nb, n);
    struct interval cost = difftest_runs_interval(logs, nb, n);
    t->v->low = points.low;
    t->v->high = points.high;
    t->v->cost_low = exp(cost.low);
    t->v->cost_high = exp(cost.high);
}

static void test_runs(const struct builder *b, const struct test *at, size_t m)
{
    size_t n = b->o->n_runs;
    autofree double *values = mem_calloc(m * n + 1, sizeof *values);
    autofree double *cpu = mem_calloc(m * n + 1, sizeof *cpu);
    autofree double *noise = mem_calloc(m + 1, sizeof *noise);
    autofree double *p = mem_calloc(m + 1, sizeof *p), *fine = mem_calloc(m + 1, sizeof *fine);
    for (size_t i = 0; i < m; i++) {
        noise[i] = fill_row(b, &at[i], values + i * n, cpu + i * n);
        set_runs_intervals(b, &at[i], values + i * n);
    }
    struct difftest_family f = {.values = values,
                                .noise = noise,
                                .others = b->cpu_s ? cpu : NULL,
                                .m = m,
                                .n = n,
                                .n_before = b->o->n_before};
    difftest_runs(&f, p, fine);
    for (size_t i = 0; i < m; i++) {
        at[i].v->p = p[i];
        at[i].v->q = fine[i];
    }
}

/* --- all tests --- */

/* What was put in q is adjusted for the number of tests. */
static void adjust(const tests *list)
{
    autofree double *q = mem_calloc(list->n + 1, sizeof *q);
    for (size_t i = 0; i < list->n; i++)
        q[i] = list->at[i].v->q;
    difftest_adjust(q, list->n);
    for (size_t i = 0; i < list->n; i++) {
        struct diff_value *v = list->at[i].v;
        v->q = q[i];
        v->proven = v->p <= DIFF_LEVEL && v->q <= DIFF_LEVEL;
    }
}

static void run_tests(const struct builder *b, const tests *list, const struct worths *w)
{
    if (b->d->by_runs)
        test_runs(b, list->at, list->n);
    else
        for (size_t i = 0; i < list->n; i++)
            test_pair(b, w, &list->at[i]);
    adjust(list);
}

static void compare_functions(struct builder *b, const struct worths *w)
{
    struct diff *d = b->d;
    tests list = {0};
    for (uint32_t i = 0; i < b->lay.names.strings.n; i++) {
        struct diff_entry e = {
            .name = i, .self = value_of(b, FUN_SELF, i), .total = value_of(b, FUN_TOTAL, i)};
        if (e.total.before > 0 || e.total.after > 0)
            *vec_push(&d->functions) = e;
    }
    for (size_t i = 0; i < d->functions.n; i++) {
        struct diff_entry *e = &d->functions.at[i];
        size_t n = list.n;
        add_test(b, &list, &(struct test){&e->self, FUN_SELF, e->name, e->name});
        add_test(b, &list, &(struct test){&e->total, FUN_TOTAL, e->name, e->name});
        d->n_tested += list.n > n;
    }
    run_tests(b, &list, w);
    vec_done(&list);
}

static void compare_paths(struct builder *b, const struct worths *w)
{
    struct diff *d = b->d;
    tests list = {0};
    for (size_t i = 0; i < b->lay.parent.n; i++)
        *vec_push(&d->paths) = (struct diff_entry){.name = b->lay.name.at[i],
                                                   .parent = b->lay.parent.at[i],
                                                   .self = value_of(b, NODE_SELF, i),
                                                   .total = value_of(b, NODE_TOTAL, i)};
    for (size_t i = 1; i < d->paths.n; i++) {
        struct diff_entry *e = &d->paths.at[i];
        add_test(b, &list, &(struct test){&e->self, NODE_SELF, i, e->name});
        add_test(b, &list, &(struct test){&e->total, NODE_TOTAL, i, e->name});
    }
    run_tests(b, &list, w);
    vec_done(&list);
}

/* --- the whole --- */

static bool samples_known(const struct builder *b)
{
    for (size_t i = 0; i < b->o->n_runs; i++)
        if (!(b->lay.runs[i].time.n_samples > 0))
            return false;
    return true;
}

struct diff *diff_build(const struct diff_opts *o)
{
    struct diff *d = mem_new(struct diff);
    struct builder b = {.d = d, .o = o};
    overlay_build(&b.lay, o->runs, o->n_runs);
    d->n_before = o->n_before;
    d->n_after = o->n_runs - o->n_before;
    d->by_runs = o->n_runs > 2;
    d->has_samples = d->by_runs || samples_known(&b);
    d->least_p = d->by_runs ? difftest_least_p(o->n_before, o->n_runs) : 0;
    d->min_share = o->min_share;
    d->noun = quantity_noun(selection_quantity(o->runs[0]));
    find_cpu(&b);
    find_typical(&b);
    struct worths w = find_worths(&b);
    compare_functions(&b, &w);
    compare_paths(&b, &w);
    free(w.of[0]);
    free(w.of[1]);
    d->names = b.lay.names;
    b.lay.names = (struct intern){0};
    diff_judge(d, o, b.cpu_s);
    overlay_done(&b.lay);
    free(b.typical);
    free(b.cpu_s);
    vec_done(&b.say);
    return d;
}

void diff_free(struct diff *d)
{
    if (!d)
        return;
    intern_done(&d->names);
    vec_done(&d->functions);
    vec_done(&d->paths);
    free(d);
}
