/* session_judge.c - looks at the blocks so far: verdicts, gates, precision. */
#include "bench/gates.h"
#include "bench/session_inner.h"
#include "bench/verdict.h"
#include "stats/repeats.h"

#include <math.h>

/* --- who is compared with whom --- */

static bool is_aa(const struct session *s, size_t series)
{
    return s->plan->items.at[s->origins.at[series].item].aa;
}

static size_t group_of(const struct session *s, size_t series)
{
    return s->plan->items.at[s->origins.at[series].item].group;
}

/* The series of the group's first member that SERIES is held against; PLAN_NONE = it is that. */
static size_t reference_of(const struct session *s, size_t series)
{
    size_t first = s->plan->groups.at[group_of(s, series)].items.at[0];
    const struct session_origin *o = &s->origins.at[series];
    if (o->item == first)
        return PLAN_NONE;
    for (size_t i = 0; i < s->origins.n; i++)
        if (s->origins.at[i].item == first && strcmp(s->origins.at[i].benchmark, o->benchmark) == 0)
            return i;
    return PLAN_NONE;
}

/* More members than the reference, A/A not counted. */
static bool session_compares(const struct session *s, size_t g)
{
    size_t n = 0;
    const struct plan_group *group = &s->plan->groups.at[g];
    for (size_t i = 0; i < group->items.n; i++)
        n += !s->plan->items.at[group->items.at[i]].aa;
    return n > 1;
}

static size_t count_comparisons(const struct session *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->origins.n; i++)
        n += !is_aa(s, i) && reference_of(s, i) != PLAN_NONE;
    return n;
}

static struct session_pair *get_pair(struct session *s, size_t before, size_t after)
{
    for (size_t i = 0; i < s->pairs.n; i++)
        if (s->pairs.at[i].after == after)
            return &s->pairs.at[i];
    struct session_pair *p = vec_push(&s->pairs);
    *p = (struct session_pair){.before = before, .after = after};
    p->c.limit =
        gates_find(s->opts.gates, s->set.series.at[after].name, s->origins.at[after].benchmark);
    p->c.measure = s->opts.measure;
    return p;
}

/* --- looking --- */

static void point_to_series(const struct session *s, struct session_pair *p)
{
    p->c.before = &s->set.series.at[p->before];
    p->c.after = &s->set.series.at[p->after];
}

static struct verdict_opts look_opts(const struct session *s, int look)
{
    return (struct verdict_opts){s->opts.band, s->opts.risk, count_comparisons(s), look, false};
}

/* CPU time often decides in seconds what the wall clock of a busy machine leaves open. */
static bool cpu_decides(const struct session *s, const struct session_pair *pair, int look)
{
    struct verdict_opts o = look_opts(s, look);
    struct comparison c = {.before = pair->c.before,
                           .after = pair->c.after,
                           .measure = MEASURE_CPU,
                           .limit = pair->c.limit};
    verdict_compare(&c, &o);
    return c.gate == GATE_HOLDS || c.gate == GATE_BROKEN;
}

static void look_at_pair(const struct session *s, struct session_pair *p, int look)
{
    struct verdict_opts o = look_opts(s, look);
    point_to_series(s, p);
    verdict_compare(&p->c, &o);
    if (s->opts.gate_decides)
        p->final = p->c.gate != GATE_UNDECIDED || cpu_decides(s, p, look);
    else
        p->final = p->c.paired.verdict != VERDICT_INCONCLUSIVE && p->c.gate != GATE_UNDECIDED;
}

struct comparison session_by_cpu(const struct session *s, const struct session_pair *pair)
{
    struct verdict_opts o = look_opts(s, 0);
    struct session_pair p = {.before = pair->before, .after = pair->after};
    p.c = (struct comparison){.measure = MEASURE_CPU, .limit = NAN};
    point_to_series(s, &p);
    verdict_compare(&p.c, &o);
    return p.c;
}

void session_conclude(struct session *s)
{
    for (size_t i = 0; i < s->pairs.n; i++) {
        point_to_series(s, &s->pairs.at[i]);
        *vec_push(&s->comparisons) = s->pairs.at[i].c;
    }
}

/* Returns whether all is decided. */
static bool look_at_group(struct session *s, size_t g, int look)
{
    bool all = true;
    for (size_t i = 0; i < s->set.series.n; i++) {
        size_t before = reference_of(s, i);
        if (group_of(s, i) != g || is_aa(s, i) || before == PLAN_NONE)
            continue;
        struct session_pair *p = get_pair(s, before, i);
        if (!p->final)
            look_at_pair(s, p, look);
        all &= p->final;
    }
    s->look = look;
    s->groups[g].looked_at = s->groups[g].blocks;
    s->groups[g].looks++;
    if ((size_t)s->groups[g].looks > s->looks)
        s->looks = (size_t)s->groups[g].looks;
    return all && (!s->opts.decided || s->opts.decided(s->opts.decided_to, look));
}

/* --- alone --- */

double session_median(const struct session *s, const struct series *series, double *ret_half)
{
    autofree double *v = mem_calloc(series->runs.n + 1, sizeof *v);
    size_t n = series_values(series, s->opts.measure, v);
    *ret_half = NAN;
    if (n == 0)
        return NAN;
    repeats_sort(v, n);
    struct interval in = repeats_median_interval(v, n, 0.05);
    *ret_half = (in.high - in.low) / 2;
    return repeats_quantile(v, n, 0.5);
}

/* Is the median of every series of G known as well as was asked for? */
static bool precise(const struct session *s, size_t g)
{
    for (size_t i = 0; i < s->set.series.n; i++) {
        double half, middle;
        if (group_of(s, i) != g)
            continue;
        middle = session_median(s, &s->set.series.at[i], &half);
        if (!isnan(middle) && !(half <= s->opts.precision * middle))
            return false;
    }
    return true;
}

void session_middle(const struct session *s, size_t item, struct session_progress *p)
{
    for (size_t i = 0; i < s->origins.n; i++)
        if (s->origins.at[i].item == item) {
            p->middle = session_median(s, &s->set.series.at[i], &p->half);
            return;
        }
}

size_t session_least(const struct session *s, size_t g)
{
    long least = s->opts.min_runs;
    if (least > 0)
        return (size_t)least;
    if (s->opts.exact)
        return 3;
    return session_compares(s, g) ? paired_look_at(0, SIZE_MAX) : 10;
}

/* --- when --- */

static bool time_to_look(const struct session *s, size_t g)
{
    const struct session_group *group = &s->groups[g];
    if (s->opts.runs > 0 || group->blocks < session_least(s, g))
        return false;
    if (s->opts.exact)
        return true;
    if (session_compares(s, g))
        return group->looks < PAIRED_LOOKS &&
               group->blocks >= paired_look_at(group->looks, SIZE_MAX);
    return group->blocks * 10 >= group->looked_at * 11; /* each look sorts all values */
}

void session_judge(struct session *s, size_t g)
{
    struct session_group *group = &s->groups[g];
    if (!time_to_look(s, g))
        return;
    bool compares = session_compares(s, g);
    bool decided = look_at_group(s, g, group->looks);
    group->done = compares ? decided : s->opts.exact || precise(s, g);
    if (compares && s->opts.exact)
        group->done = true;
    if (compares && group->looks >= PAIRED_LOOKS)
        group->done = true; /* the risk is spent */
}

void session_judge_last(struct session *s, size_t g)
{
    struct session_group *group = &s->groups[g];
    bool only = s->opts.runs > 0 && group->looks == 0;
    if (!session_compares(s, g) || (group->looks > 0 && group->looked_at == group->blocks))
        return;
    int look = s->stopped ? group->looks : PAIRED_LAST_LOOK + group->looks; /* who stops has seen */
    if (group->looks < PAIRED_LOOKS)
        look_at_group(s, g, only ? PAIRED_ONLY_LOOK : look);
}

/* --- A/A --- */

/* Does the interval of a few blocks from FIRST on, at 5%, leave out 1? */
static bool alarms(const struct verdict_values *v, size_t first)
{
    double ratio[SESSION_AA_BLOCKS];
    for (size_t i = 0; i < SESSION_AA_BLOCKS; i++)
        ratio[i] = v->after[first + i] / v->before[first + i];
    repeats_sort(ratio, SESSION_AA_BLOCKS);
    struct interval in = repeats_median_interval(ratio, SESSION_AA_BLOCKS, 0.05);
    return in.low > 1 || in.high < 1;
}

void session_judge_aa(struct session *s)
{
    for (size_t i = 0; i < s->set.series.n; i++) {
        size_t before = reference_of(s, i);
        if (!is_aa(s, i) || before == PLAN_NONE)
            continue;
        struct comparison c = {&s->set.series.at[before], &s->set.series.at[i], s->opts.measure};
        struct verdict_values v = verdict_values(&c);
        for (size_t k = 0; k + SESSION_AA_BLOCKS <= v.n_before; k += SESSION_AA_BLOCKS) {
            s->aa_tries++;
            s->aa_alarms += alarms(&v, k);
        }
        verdict_values_done(&v);
    }
}
