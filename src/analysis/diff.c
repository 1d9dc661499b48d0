#include "analysis/diff.h"
#include "analysis/canon.h"
#include "analysis/difftest.h"
#include "analysis/label.h"

#include <math.h>

/* One run, laid over the common tree. */
struct lay {
    const struct profile *p;
    int type;
    uint32_t *node_of_stack;
    double *self, *total;         /* by node: share of the run */
    double *fun_self, *fun_total; /* by name */
    double n;                     /* samples, unlike weights allowed for; NAN = not known */
    uint32_t *order;              /* rows in time order; NULL where there is no time */
    size_t n_order;
};

struct builder {
    struct diff *d;
    const struct diff_opts *o;
    struct lay *lays;
    VEC(uint32_t) parent, name; /* of nodes; [0] = root */
    struct idmap node_map;
    bool *outermost; /* by node: no caller further out has the same name */
};

/* --- the common tree --- */

static uint32_t push_node(struct builder *b, uint32_t parent, uint32_t name)
{
    uint32_t hash = hash_pair(parent, name);
    for_each_match (&b->node_map, hash, id)
        if (b->parent.at[id] == parent && b->name.at[id] == name)
            return id;
    uint32_t id = (uint32_t)b->parent.n;
    *vec_push(&b->parent) = parent;
    *vec_push(&b->name) = name;
    idmap_add(&b->node_map, hash, id);
    return id;
}

struct namer {
    struct labels labels;
    VEC(uint32_t) name_of_label; /* + 1; 0 = not asked for yet */
};

static uint32_t name_of(struct builder *b, struct namer *n, uint32_t label)
{
    while (n->name_of_label.n <= label)
        *vec_push(&n->name_of_label) = 0;
    uint32_t *name = &n->name_of_label.at[label];
    if (!*name) {
        autobuf struct buf canon = {0};
        canon_add(&canon, labels_text(&n->labels, label));
        *name = intern_add(&b->d->names, buf_text(&canon)) + 1;
    }
    return *name - 1;
}

static void lay_stacks(struct builder *b, struct lay *lay)
{
    const struct stacks *s = &lay->p->stacks;
    struct namer namer = {0};
    labels_init(&namer.labels, lay->p, &(struct label_opts){.merge_kinds = true});
    lay->node_of_stack = mem_calloc(s->nodes.n, sizeof *lay->node_of_stack);
    for (size_t i = 1; i < s->nodes.n; i++) {
        struct frame_id frame = s->nodes.at[i].frame;
        size_t n = labels_count(profile_frame(lay->p, frame));
        uint32_t node = lay->node_of_stack[s->nodes.at[i].parent.i];
        for (size_t k = 0; k < n; k++) {
            uint32_t label = labels_of_frame(&namer.labels, lay->p, frame, k);
            node = push_node(b, node, name_of(b, &namer, label));
        }
        lay->node_of_stack[i] = node;
    }
    labels_done(&namer.labels);
    vec_done(&namer.name_of_label);
}

/* Walk the tree depth first to see which nodes are the outermost of their name. */
static void find_outermost(struct builder *b)
{
    size_t n = b->parent.n;
    uint32_t *child = mem_calloc(n, sizeof *child), *next = mem_calloc(n, sizeof *next);
    uint32_t *met = mem_calloc(b->d->names.strings.n, sizeof *met);
    b->outermost = mem_calloc(n, sizeof *b->outermost);
    for (size_t i = n; i-- > 1;) {
        next[i] = child[b->parent.at[i]];
        child[b->parent.at[i]] = (uint32_t)i;
    }
    for (uint32_t at = 0;;) {
        uint32_t below = child[at];
        if (below) {
            child[at] = next[below];
            b->outermost[below] = met[b->name.at[below]]++ == 0;
            at = below;
        } else if (at) {
            met[b->name.at[at]]--;
            at = b->parent.at[at];
        } else {
            break;
        }
    }
    free(child);
    free(next);
    free(met);
}

/* --- shares --- */

static void sum_shares(struct builder *b, struct lay *lay)
{
    size_t n = b->parent.n, n_names = b->d->names.strings.n;
    const int64_t *value = lay->p->samples.value[lay->type];
    double whole = (double)lay->p->types[lay->type].total;
    lay->self = mem_calloc(n, sizeof(double));
    lay->total = mem_calloc(n, sizeof(double));
    lay->fun_self = mem_calloc(n_names, sizeof(double));
    lay->fun_total = mem_calloc(n_names, sizeof(double));
    for (size_t row = 0; row < lay->p->samples.n; row++)
        lay->self[lay->node_of_stack[lay->p->samples.stack[row].i]] += (double)value[row];
    for (size_t i = n; i-- > 0;) {
        lay->self[i] = whole > 0 ? lay->self[i] / whole : 0;
        lay->total[i] += lay->self[i];
        if (i)
            lay->total[b->parent.at[i]] += lay->total[i];
    }
    for (size_t i = 1; i < n; i++) {
        lay->fun_self[b->name.at[i]] += lay->self[i];
        lay->fun_total[b->name.at[i]] += b->outermost[i] ? lay->total[i] : 0;
    }
}

/* --- how many samples that is worth --- */

static int by_time(const void *a, const void *b, void *context)
{
    const uint64_t *time_ns = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t x = time_ns[i], y = time_ns[k];
    return x < y ? -1 : x > y ? 1 : i < k ? -1 : i > k;
}

static void order_rows(struct lay *lay)
{
    const struct samples *s = &lay->p->samples;
    bool sorted = true;
    if (!s->time_ns)
        return;
    lay->order = mem_calloc(s->n + 1, sizeof *lay->order);
    for (size_t row = 0; row < s->n; row++) {
        if (!s->value[lay->type][row])
            continue;
        size_t last = lay->n_order ? lay->order[lay->n_order - 1] : row;
        sorted &= s->time_ns[last] <= s->time_ns[row];
        lay->order[lay->n_order++] = (uint32_t)row;
    }
    if (!sorted)
        qsort_r(lay->order, lay->n_order, sizeof *lay->order, by_time, s->time_ns);
}

/* Samples of unlike weight count by Kish's rule, where each is a row of its own. */
static void count_samples(struct lay *lay)
{
    const struct profile *p = lay->p;
    int counts = profile_count_type(p, lay->type);
    lay->n = counts >= 0 ? (double)p->types[counts].total : NAN;
    double sum = 0, squares = 0;
    for (size_t row = 0; counts >= 0 && row < p->samples.n; row++) {
        double w = (double)p->samples.value[lay->type][row];
        if (p->samples.value[counts][row] > 1)
            return;
        sum += w;
        squares += w * w;
    }
    if (counts >= 0)
        lay->n = stats_weighted_n(sum, squares);
}

/* By how much NAME's samples are worth less than independent ones: a factor of 1 or below. */
static double worth_of(const struct builder *b, const struct lay *lay, uint32_t name, bool self)
{
    if (!lay->order || lay->n_order < STATS_MIN_SERIES)
        return 1;
    size_t n = b->parent.n;
    uint8_t *mark = mem_calloc(n, 1), *hits = mem_calloc(lay->n_order, 1);
    for (size_t i = 1; i < n; i++)
        mark[i] = b->name.at[i] == name || (!self && mark[b->parent.at[i]]);
    for (size_t i = 0; i < lay->n_order; i++)
        hits[i] = mark[lay->node_of_stack[lay->p->samples.stack[lay->order[i]].i]];
    double worth = stats_effective_n(hits, lay->n_order) / (double)lay->n_order;
    free(mark);
    free(hits);
    return worth;
}

/* --- tests --- */

/* What a value is made of: one number a run, and for one run a side how many samples. */
struct seen {
    double *values;
    double n_effective[2];
};

static bool all_alike(const double *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0])
            return false;
    return true;
}

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

static bool worth_testing(const struct builder *b, const double *v)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    double mean = (mean_of(v, nb) + mean_of(v + nb, n - nb)) / 2;
    return mean >= b->o->min_share && !all_alike(v, n);
}

static struct diff_value test_value(const struct builder *b, const struct seen *s)
{
    size_t nb = b->o->n_before, n = b->o->n_runs;
    struct diff_value v = {.before = mean_of(s->values, nb),
                           .after = mean_of(s->values + nb, n - nb),
                           .low = NAN,
                           .high = NAN,
                           .p = NAN,
                           .q = NAN};
    if (!worth_testing(b, s->values))
        return v;
    struct difftest t = b->d->by_runs
                            ? difftest_runs(s->values, nb, n)
                            : difftest_pair((struct difftest_share){v.before, s->n_effective[0]},
                                            (struct difftest_share){v.after, s->n_effective[1]});
    v.p = v.q = t.p;
    v.low = isnan(t.p) ? NAN : t.low;
    v.high = isnan(t.p) ? NAN : t.high;
    return v;
}

/* Per-run shares of one thing: column C of every run at INDEX. */
enum column { NODE_SELF, NODE_TOTAL, FUN_SELF, FUN_TOTAL };

static void gather(const struct builder *b, enum column c, size_t index, double *ret)
{
    for (size_t i = 0; i < b->o->n_runs; i++) {
        const struct lay *l = &b->lays[i];
        const double *columns[] = {l->self, l->total, l->fun_self, l->fun_total};
        ret[i] = columns[c][index];
    }
}

/* The effective number of samples of a function, which its paths share. */
struct worth {
    double self[2], total[2];
};

static void find_worth(const struct builder *b, uint32_t name, struct worth *ret)
{
    for (int side = 0; side < 2; side++) {
        const struct lay *lay = &b->lays[side];
        ret->self[side] = lay->n * worth_of(b, lay, name, true);
        ret->total[side] = lay->n * worth_of(b, lay, name, false);
    }
}

static struct diff_value value_of(const struct builder *b, enum column c, size_t index,
                                  const double *n_effective)
{
    double *values = mem_calloc(b->o->n_runs, sizeof *values);
    struct seen seen = {.values = values, .n_effective = {n_effective[0], n_effective[1]}};
    gather(b, c, index, values);
    struct diff_value v = test_value(b, &seen);
    free(values);
    return v;
}

static bool needs_worth(const struct builder *b, size_t name)
{
    if (b->d->by_runs)
        return false;
    double values[2];
    gather(b, FUN_TOTAL, name, values);
    return (values[0] + values[1]) / 2 >= b->o->min_share;
}

static bool is_seen(const struct diff_entry *e)
{
    return e->total.before > 0 || e->total.after > 0;
}

static void test_all(struct builder *b)
{
    struct diff *d = b->d;
    size_t n_names = d->names.strings.n;
    struct worth *worths = mem_calloc(n_names, sizeof *worths);
    for (size_t i = 0; i < n_names; i++) {
        if (needs_worth(b, i))
            find_worth(b, (uint32_t)i, &worths[i]);
        struct diff_entry e = {
            .name = (uint32_t)i,
            .self = value_of(b, FUN_SELF, i, worths[i].self),
            .total = value_of(b, FUN_TOTAL, i, worths[i].total),
        };
        if (is_seen(&e))
            *vec_push(&d->functions) = e;
    }
    for (size_t i = 0; i < b->parent.n; i++)
        *vec_push(&d->paths) = (struct diff_entry){
            .name = b->name.at[i],
            .parent = b->parent.at[i],
            .self = value_of(b, NODE_SELF, i, worths[b->name.at[i]].self),
            .total = value_of(b, NODE_TOTAL, i, worths[b->name.at[i]].total),
        };
    free(worths);
}

/* One family of tests each for self and total. */
static void adjust(struct diff_entry *at, size_t n, size_t field)
{
    double *p = mem_calloc(n + 1, sizeof *p);
    for (size_t i = 0; i < n; i++)
        p[i] = ((struct diff_value *)((char *)&at[i] + field))->p;
    difftest_adjust(p, n);
    for (size_t i = 0; i < n; i++) {
        struct diff_value *v = (struct diff_value *)((char *)&at[i] + field);
        v->q = p[i];
        v->proven = p[i] <= DIFF_LEVEL;
    }
    free(p);
}

static void adjust_all(struct diff *d)
{
    adjust(d->functions.at, d->functions.n, offsetof(struct diff_entry, self));
    adjust(d->functions.at, d->functions.n, offsetof(struct diff_entry, total));
    adjust(d->paths.at, d->paths.n, offsetof(struct diff_entry, self));
    adjust(d->paths.at, d->paths.n, offsetof(struct diff_entry, total));
    for (size_t i = 0; i < d->functions.n; i++)
        d->n_tested += !isnan(d->functions.at[i].self.p) || !isnan(d->functions.at[i].total.p);
}

/* --- CPU time and verdict --- */

static bool cpu_seconds(const struct diff_run *run, double *ret)
{
    uint64_t ns;
    const struct sample_type *t = &run->p->types[run->type];
    if (meta_find_u64(&run->p->meta, META_CPU_TIME_NS, &ns))
        return *ret = (double)ns / 1e9, true;
    *ret = (double)t->total / pow(10, t->decimals) / 1e9;
    return text_is(profile_str(run->p, t->unit), "nanoseconds");
}

static void compare_cpu(struct builder *b)
{
    struct diff *d = b->d;
    size_t nb = b->o->n_before, n = b->o->n_runs;
    double *s = mem_calloc(n, sizeof *s);
    d->has_cpu = true;
    for (size_t i = 0; i < n; i++)
        d->has_cpu &= cpu_seconds(&b->o->runs[i], &s[i]);
    struct difftest t = {NAN, NAN, NAN};
    if (d->by_runs)
        t = difftest_runs(s, nb, n);
    d->cpu_s = (struct diff_value){
        mean_of(s, nb), mean_of(s + nb, n - nb), t.low, t.high, t.p, t.p, t.p <= DIFF_LEVEL};
    free(s);
}

const char *const diff_verdict_names[] = {"improved", "regressed", "unchanged", "inconclusive"};

static void __attribute__((format(printf, 3, 4)))
judge(struct diff *d, enum diff_verdict v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->why, sizeof d->why, fmt, args);
    va_end(args);
    d->verdict = v;
}

/* Closer than this is as good as equal: of the CPU time, and in shares of a function. */
#define SAME_CPU 0.02
#define SAME_SHARE 0.01

static void judge_cpu(struct diff *d)
{
    const struct diff_value *c = &d->cpu_s;
    double whole = c->before > 0 ? c->before : 1;
    double percent = (c->after - c->before) / whole * 100;
    if (c->proven)
        judge(d, percent < 0 ? DIFF_IMPROVED : DIFF_REGRESSED,
              "CPU time of a run changed by %+.1f %% (p = %.3g)", percent, c->p);
    else if (c->low >= -SAME_CPU * whole && c->high <= SAME_CPU * whole)
        judge(d, DIFF_UNCHANGED, "CPU time of a run is the same within %g %%", SAME_CPU * 100);
    else if (d->least_p > DIFF_LEVEL)
        judge(d, DIFF_INCONCLUSIVE, "so few runs cannot prove anything: p is at least %.3g",
              d->least_p);
    else
        judge(d, DIFF_INCONCLUSIVE,
              "CPU time of a run changed by %+.1f %%, which may be chance (p = %.3g)", percent,
              c->p);
}

/*
 * By which factor a share changed; a tenth of a point is added against division by nothing. Of
 * two that changed alike, one each way, the one that grew counts: better a needless alarm.
 */
static double factor_of(const struct diff_value *v)
{
    double l = log((v->after + 0.001) / (v->before + 0.001));
    return l > 0 ? l + 0.01 : -l;
}

/* As shares add up to 100 %, the function with the largest factor moved, the rest made room. */
static const struct diff_entry *find_mover(const struct diff *d)
{
    const struct diff_entry *best = NULL;
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *e = &d->functions.at[i];
        if (e->self.proven && (!best || factor_of(&e->self) > factor_of(&best->self)))
            best = e;
    }
    return best;
}

static bool is_same(const struct diff_value *v)
{
    return isnan(v->p) || (v->low >= -SAME_SHARE && v->high <= SAME_SHARE);
}

static void judge_shares(struct diff *d)
{
    const struct diff_entry *mover = find_mover(d);
    bool same = d->n_tested > 0;
    for (size_t i = 0; i < d->functions.n; i++)
        same &= is_same(&d->functions.at[i].self) && is_same(&d->functions.at[i].total);
    if (!d->has_samples)
        judge(d, DIFF_INCONCLUSIVE, "the number of samples is not recorded: nothing to test with");
    else if (mover)
        judge(d, diff_points(&mover->self) > 0 ? DIFF_REGRESSED : DIFF_IMPROVED,
              "shares only: '%.*s' went from %.2f %% to %.2f %% of the time; not whether the whole "
              "became slower or faster",
              (int)(diff_name(d, mover).n < 100 ? diff_name(d, mover).n : 100),
              diff_name(d, mover).at, mover->self.before * 100, mover->self.after * 100);
    else if (same)
        judge(d, DIFF_UNCHANGED, "every share is the same within %g points", SAME_SHARE * 100);
    else
        judge(d, DIFF_INCONCLUSIVE,
              "no share changed by more than chance would, and the samples "
              "are too few to call them equal");
}

/* --- the whole --- */

static void lay_all(struct builder *b)
{
    *vec_push(&b->parent) = 0;
    *vec_push(&b->name) = 0;
    b->d->has_samples = true;
    for (size_t i = 0; i < b->o->n_runs; i++) {
        struct lay *lay = &b->lays[i];
        *lay = (struct lay){.p = b->o->runs[i].p, .type = b->o->runs[i].type};
        lay_stacks(b, lay);
        count_samples(lay);
        if (!b->d->by_runs)
            order_rows(lay);
        b->d->has_samples &= b->d->by_runs || !isnan(lay->n);
    }
    find_outermost(b);
    for (size_t i = 0; i < b->o->n_runs; i++)
        sum_shares(b, &b->lays[i]);
}

static void lay_done(struct lay *l)
{
    free(l->node_of_stack);
    free(l->self);
    free(l->total);
    free(l->fun_self);
    free(l->fun_total);
    free(l->order);
}

struct diff *diff_build(const struct diff_opts *o)
{
    struct diff *d = mem_new(struct diff);
    struct builder b = {.d = d, .o = o, .lays = mem_calloc(o->n_runs, sizeof *b.lays)};
    intern_init(&d->names);
    d->n_before = o->n_before;
    d->n_after = o->n_runs - o->n_before;
    d->by_runs = o->n_runs > 2;
    d->least_p = d->by_runs ? difftest_least_p(o->n_before, o->n_runs) : 0;
    d->min_share = o->min_share;
    lay_all(&b);
    test_all(&b);
    adjust_all(d);
    compare_cpu(&b);
    if (d->by_runs && d->has_cpu)
        judge_cpu(d);
    else
        judge_shares(d);
    for (size_t i = 0; i < o->n_runs; i++)
        lay_done(&b.lays[i]);
    free(b.lays);
    free(b.outermost);
    vec_done(&b.parent);
    vec_done(&b.name);
    idmap_done(&b.node_map);
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

/* --- unlike profiles --- */

static void tell_unlike(struct buf *b, const char *what, const char *x, const char *y)
{
    if (x && y && strcmp(x, y) != 0)
        buf_printf(b, "%s differs: '%s' and '%s'\n", what, x, y);
}

static void compare_types(const struct diff_run *x, const struct diff_run *y, struct buf *b)
{
    const struct sample_type *s = &x->p->types[x->type], *t = &y->p->types[y->type];
    struct text e1 = profile_str(x->p, s->event), e2 = profile_str(y->p, t->event);
    if (e1.n && e2.n)
        tell_unlike(b, "the event", e1.at, e2.at);
    tell_unlike(b, "the value", profile_str(x->p, s->name).at, profile_str(y->p, t->name).at);
    tell_unlike(b, "the unit", profile_str(x->p, s->unit).at, profile_str(y->p, t->unit).at);
}

static const struct {
    const char *key, *what;
} alike[] = {
    {META_KIND, "the kind of samples"},
    {META_EVENT, "the recorded event"},
    {META_RATE_HZ, "the sampling rate"},
    {META_ENGINE, "the engine"},
    {META_HOST, "the host"},
    {META_CPU, "the CPU"},
    {META_ARCH, "the architecture"},
    {META_KERNEL_HIDDEN, "whether the kernel was hidden"},
};

void diff_unlike(const struct diff_opts *o, struct buf *b)
{
    const struct diff_run *first = &o->runs[0];
    for (size_t i = 1; i < o->n_runs && !b->n; i++) {
        const struct diff_run *run = &o->runs[i];
        compare_types(first, run, b);
        for (size_t k = 0; k < sizeof alike / sizeof *alike; k++)
            tell_unlike(b, alike[k].what, meta_find(&first->p->meta, alike[k].key),
                        meta_find(&run->p->meta, alike[k].key));
    }
}
