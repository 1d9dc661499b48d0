/* check_events.c - rules about misses of caches and branches, and about expected hotspots. */
#include "analysis/check_inner.h"
#include "analysis/eventrates.h"
#include "analysis/misses.h"

#include <math.h>

/* --- misses --- */

/* One figure, of a function alone or of all. */
struct event_figure {
    double value;
    double instructions;
    struct interval interval;
    bool exact, known;
};

static double simulated_figure(const struct misses_counts *c, enum rule_kind kind)
{
    int64_t n = kind == RULE_CACHE_MISSES ? c->ll_misses
                : kind == RULE_L1_MISSES  ? c->d1_misses
                                          : c->branch_misses;
    return (double)n;
}

static bool simulates(const struct misses *m, enum rule_kind kind)
{
    return kind == RULE_CACHE_MISSES ? m->has_ll
           : kind == RULE_L1_MISSES  ? m->has_data
                                     : m->has_branches;
}

/* IN_SET is NULL for all of it. */
static struct event_figure figure_simulated(const struct flat *list, const bool *in_set,
                                            const struct rule *rule)
{
    struct misses m = misses_build(list);
    struct event_figure f = {.exact = true, .known = simulates(&m, rule->kind)};
    for (size_t i = 0; i < m.rows.n && in_set; i++) {
        if (!in_set[m.rows.at[i].row])
            continue;
        f.value += simulated_figure(&m.rows.at[i].counts, rule->kind);
        f.instructions += (double)m.rows.at[i].counts.instructions;
    }
    if (!in_set) {
        f.value = simulated_figure(&m.whole, rule->kind);
        f.instructions = (double)m.whole.instructions;
    }
    f.interval = (struct interval){f.value, f.value};
    misses_done(&m);
    return f;
}

static enum eventrate rate_of_rule(enum rule_kind kind)
{
    return kind == RULE_CACHE_MISSES ? RATE_CACHE_MISSES
           : kind == RULE_L1_MISSES  ? RATE_L1_MISSES
                                     : RATE_BRANCH_MISSES;
}

static struct eventrate_sum sum_of_set(const struct eventrates *r, const struct flat *list,
                                       const bool *in_set)
{
    struct eventrate_sum all = {0};
    for (uint32_t i = 0; i < list->rows.n; i++)
        for (int e = 0; in_set[i] && e < COUNTED_FIGURES; e++) {
            all.value[e] += r->rows[i].value[e];
            all.squares[e] += r->rows[i].squares[e];
            all.samples[e] += r->rows[i].samples[e];
        }
    return all;
}

/* What a counter's samples stand for; of few samples nothing is known. */
static struct event_figure figure_counted(const struct flat *list, const bool *in_set,
                                          const struct rule *rule)
{
    struct eventrates r = eventrates_build(list, (struct str_id){0});
    enum eventrate rate = rate_of_rule(rule->kind);
    enum counted event = eventrate_event(rate);
    bool per = rule->range.unit == RULE_PER_1000;
    struct eventrate_sum s = in_set ? sum_of_set(&r, list, in_set) : r.whole;
    struct event_figure f = {.value = s.value[event], .known = r.has_event[event]};
    double n = (double)s.samples[event], half = n > 0 ? STATS_Z95 / sqrt(n) : INFINITY;
    f.interval = (struct interval){f.value * fmax(0, 1 - half), f.value * (1 + half)};
    if (per) {
        struct eventrate_value v = eventrate_of(&s, rate);
        f.known = r.has[rate] && isfinite(v.value);
        f.value = v.value;
        f.interval = v.interval;
    }
    eventrates_done(&r);
    return f;
}

/* -1 after noting an error. */
static int figure_of(struct check_job *job, const struct rule *rule, const struct selection *s,
                     struct event_figure *ret)
{
    struct err err;
    struct flat *list = flat_build(s, FLAT_FUNCTION);
    autofree bool *in_set = rule->function ? check_find(list, rule->function, &err) : NULL;
    int rc = 0;
    /* Before a change a function may not have been there yet. */
    if (rule->function && !in_set && !rule->change)
        rc = check_fail(job, rule, err.text);
    else if (rule->function && !in_set)
        *ret = (struct event_figure){.exact = check_is_exact(s), .known = true};
    else if (check_is_exact(s))
        *ret = figure_simulated(list, in_set, rule);
    else
        *ret = figure_counted(list, in_set, rule);
    flat_free(list);
    return rc;
}

static struct check_value value_of_figure(const struct event_figure *f, const struct rule *rule)
{
    struct check_value v = {.value = f->value, .interval = f->interval, .exact = f->exact};
    if (!f->known)
        v = (struct check_value){
            .value = NAN,
            .doubt = "these events were neither counted nor simulated, or too few samples have "
                     "them"};
    else if (rule->range.unit == RULE_PER_1000 && f->exact)
        v.value = f->instructions > 0 ? 1000 * f->value / f->instructions : 0;
    return v;
}

static double part_of_before(double before, double now)
{
    return before > 0 ? (now - before) / before : now > 0 ? INFINITY : 0;
}

static struct check_value change_of_figures(const struct event_figure *old,
                                            const struct event_figure *now)
{
    struct check_value v = {.value = part_of_before(old->value, now->value),
                            .exact = old->exact && now->exact};
    v.interval = (struct interval){part_of_before(old->interval.high, now->interval.low),
                                   part_of_before(old->interval.low, now->interval.high)};
    if (!old->known || !now->known)
        v = (struct check_value){.value = NAN, .doubt = "one of the two sides has no such counts"};
    return v;
}

/* What was simulated for each row of LIST. Free it. */
static double *simulated_values(const struct flat *list, enum rule_kind kind)
{
    double *values = mem_calloc(list->rows.n + 1, sizeof *values);
    struct misses m = misses_build(list);
    for (size_t i = 0; i < m.rows.n; i++)
        values[m.rows.at[i].row] = simulated_figure(&m.rows.at[i].counts, kind);
    misses_done(&m);
    return values;
}

/* Who misses more than before. */
static const char *events_grown_by(struct check_job *job, const struct rule *rule,
                                   const struct selection *before, const struct selection *now)
{
    struct flat *old = flat_build(before, FLAT_FUNCTION), *list = flat_build(now, FLAT_FUNCTION);
    autofree double *was = simulated_values(old, rule->kind);
    autofree double *is = simulated_values(list, rule->kind);
    const char *name = check_most_grown(job, old, was, list, is);
    flat_free(old);
    flat_free(list);
    return name;
}

int check_events(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    const struct check_input *in = job->in;
    const struct selection *s = in->counts ? in->counts : in->selection;
    const struct selection *before = in->counts ? in->counts_before : in->before;
    struct event_figure now = {0}, old = {0};
    struct check_value v = {.value = NAN, .doubt = "the baseline has no such counts"};
    if (figure_of(job, rule, s, &now) != 0)
        return -1;
    if (!rule->change)
        v = value_of_figure(&now, rule);
    else if (before && figure_of(job, rule, before, &old) != 0)
        return -1;
    else if (before)
        v = change_of_figures(&old, &now);
    check_decide(job, &v, rule_bounds(rule), ret);
    const char *how = s->stream->obtained == BY_SIMULATION ? "simulated" : "counted by the CPU";
    ret->why = v.doubt        ? ret->why
               : rule->change ? check_text(job, "from %.0f to %.0f, %s: %s", old.value, now.value,
                                           how, ret->why)
                              : check_text(job, "%s: %s", how, ret->why);
    bool grew = rule->change && !rule->function && v.exact && ret->verdict == CHECK_FAILS &&
                now.value > old.value;
    const char *by = grew ? events_grown_by(job, rule, before, s) : NULL;
    if (by)
        ret->why = check_text(job, "%s; most of the growth is by %s", ret->why, by);
    return 0;
}

/* --- hotspots --- */

static enum rule_tier tier_of(double share)
{
    enum rule_tier t = TIER_PRIMARY;
    while (t < TIERS && share < rule_tier_range(t).low)
        t++;
    return t < TIERS ? t : TIER_NONE;
}

/* "a secondary hotspot"; twice as fast it would give back half of its own share. */
int check_hotspot(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    struct err err;
    autofree bool *in_set = check_find(job->list, rule->function, &err);
    if (!in_set)
        return check_fail(job, rule, err.text);
    struct flat_share s = flat_share_of_set(job->list, in_set, FLAT_SELF);
    struct check_value v = {.value = s.share, .interval = s.interval};
    v.exact = check_is_exact(job->in->selection);
    if (!v.exact && !(s.n_effective > 0))
        v.doubt = CHECK_NO_SAMPLES;
    check_decide(job, &v, rule_bounds(rule), ret);
    enum rule_tier is = tier_of(s.share);
    double half = s.share / 2;
    ret->why = check_text(job, "%s%s; twice as fast it would save %.1f%% (speedup %.2f): %s",
                          is == TIER_NONE ? "no hotspot" : rule_tier_names[is],
                          is == TIER_NONE ? "" : " hotspot", 100 * half, 1 / (1 - half), ret->why);
    return 0;
}
