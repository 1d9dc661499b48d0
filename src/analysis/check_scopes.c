/* check_scopes.c - rules about scopes and counters of the program: quantiles, calls, rates. */
#include "analysis/check_inner.h"
#include "analysis/scopequantile.h"
#include "base/units.h"
#include "model/meta.h"

#include <math.h>

#define LOST_COUNTS "records of the program were lost, and counts may have been among them"

void check_scopes_done(struct check_job *job)
{
    if (job->has_scopes)
        scopetree_done(&job->scopes);
    selection_done(&job->all_scopes);
}

static int no_scopes(struct check_job *job, const struct rule *rule)
{
    autobuf struct buf b = {0};
    size_t n = 0;
    check_list_rates(job, &b, &n);
    if (rule->kind != RULE_RATE || !n)
        return check_fail(job, rule,
                          "there are no scopes in the profile: put KELVIN_SCOPE(\"name\") of "
                          "kelvin.h into the program");
    return check_fail(job, rule,
                      check_text(job,
                                 "there is no rate of '%s', and no scopes are in the profile; "
                                 "there are: %s",
                                 rule->function, buf_cstr(&b)));
}

/* Sum the spans up, the first time that a rule is about them. */
static int sum_scopes(struct check_job *job, const struct rule *rule)
{
    const struct selection *s = job->in->scopes;
    struct value_ref ref;
    struct err err;
    if (job->has_scopes)
        return 0;
    if (!s && !scopetree_find(job->in->selection->profile, &ref))
        return no_scopes(job, rule);
    if (!s) {
        job->all_scopes = selection_all(job->in->selection->profile, ref);
        s = &job->all_scopes;
    }
    job->has_scopes = true;
    return scopetree_build(&job->scopes, s, NULL, &err) == 0 ? 0 : check_fail(job, rule, err.text);
}

/* --- counters --- */

/* What counters of that name, one for each process, came to; false where there is none. */
static bool counter_sum(const struct profile *p, const char *name, double *ret)
{
    bool found = false;
    *ret = 0;
    for (size_t i = 0; i < p->counters.n; i++) {
        const struct counter *c = &p->counters.at[i];
        if (!text_is(profile_str(p, c->name), name) || !profile_counts(p, c))
            continue;
        found = true;
        *ret += c->points.n ? (double)c->points.at[c->points.n - 1].value : 0;
    }
    return found;
}

/* How often something happened: a counter, else the calls of a scope. */
static bool count_of(const struct check_job *job, const char *name, double *ret)
{
    if (counter_sum(job->in->selection->profile, name, ret))
        return true;
    int flat = scope_find(&job->scopes, text_of(name));
    if (flat >= 0)
        *ret = (double)job->scopes.flat.at[flat].sum.calls;
    return flat >= 0;
}

/* Whether the program itself counts what RULE is about. */
static bool counts_itself(struct check_job *job, const struct rule *rule)
{
    const struct selection *s = job->in->selection;
    struct value_ref ref;
    double count;
    bool scoped = s && (job->in->scopes || scopetree_find(s->profile, &ref));
    return scoped && sum_scopes(job, rule) == 0 && count_of(job, rule->function, &count);
}

/* --- what there is --- */

static int no_such_scope(struct check_job *job, const struct rule *rule, const char *name)
{
    const struct profile *p = job->in->selection->profile;
    bool counters = rule->kind == RULE_RATE || name == rule->times;
    autobuf struct buf b = {0};
    buf_printf(&b, "there is no %s '%s'; there are: ", counters ? "counter or scope" : "scope",
               name);
    size_t n = 0;
    for (size_t i = 0; i < job->scopes.flat.n && n < 8; i++)
        buf_printf(&b, "%s%.*s", n++ ? ", " : "",
                   TEXT_ARG(profile_str(p, job->scopes.flat.at[i].name)));
    for (size_t i = 0; counters && i < p->counters.n && n < 12; i++)
        if (profile_counts(p, &p->counters.at[i]))
            buf_printf(&b, "%s%.*s", n++ ? ", " : "",
                       TEXT_ARG(profile_str(p, p->counters.at[i].name)));
    if (rule->kind == RULE_RATE)
        check_list_rates(job, &b, &n);
    return check_fail(job, rule, buf_cstr(&b));
}

/* --- values --- */

static struct check_value value_of_quantile(struct check_job *job, const struct rule *rule,
                                            size_t flat)
{
    struct scope_quantile q = scope_quantile_of(&job->scopes, flat, rule->quantile);
    struct check_value v = {.value = q.ns, .interval = q.interval, .noun = "spans"};
    double least = scope_quantile_least(rule->quantile);
    char n[UNITS_MAX];
    if (!job->scopes.selection->stream->lost && q.n_effective < least)
        v.remedy =
            check_text(job,
                       "p%g takes at least %.0f independent spans; the %s here count "
                       "as %.0f",
                       100 * rule->quantile, least,
                       units_count(n, job->scopes.flat.at[flat].sum.calls), floor(q.n_effective));
    return v;
}

static struct check_value value_of_mean(const struct scopetree *t, size_t flat)
{
    struct scope_mean m = scope_mean_of(t, flat);
    struct check_value v = {.value = m.ns, .interval = m.interval, .noun = "spans"};
    if (t->selection->stream->lost)
        v.doubt = "records of the program were lost, and how long those spans took is not known";
    return v;
}

/* Lost spans may have been of any scope. */
static struct check_value value_of_count(const struct scope_sum *s, bool longest, uint64_t lost)
{
    double is = (double)(longest ? s->max_ns : s->calls);
    return (struct check_value){
        .value = is,
        .exact = !lost,
        .interval = {is, longest && lost ? INFINITY : is + (double)lost},
        .remedy = "records of the program were lost: see 'kelvin scopes'",
    };
}

static struct check_value value_of_rate(const struct check_job *job, double count, bool lost)
{
    double seconds = (double)(job->scopes.end_ns - job->scopes.start_ns) / 1e9;
    struct check_value v = {.value = count / seconds, .exact = true};
    if (lost)
        v.doubt = LOST_COUNTS;
    else if (!(seconds > 0))
        v.doubt = "no span shows the time over which to count";
    return v;
}

/* A short program was run again and again into one recording: counts are of all these runs. */
static const char *doubt_of_pool(struct check_job *job)
{
    uint64_t runs = 0;
    if (!meta_find_u64(&job->in->selection->profile->meta, META_POOLED_RUNS, &runs) || runs < 2)
        return NULL;
    return check_text(job,
                      "the recording holds %llu runs of a short program, and how often "
                      "something happened in each is not known; a longer run, or pool-time = 0 in "
                      "a suite, makes it one",
                      (unsigned long long)runs);
}

/* --- verdicts --- */

/* A counter or scope of the program, else what the suite counts per run. */
static int check_rate(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    const struct check_runs *runs = check_find_rate(job, rule->function),
                            *items = check_find_items(job, rule->function);
    double count;
    if (runs || (items && !counts_itself(job, rule)))
        return check_run_rate(job, rule, runs ? runs : items, ret);
    if (sum_scopes(job, rule) != 0)
        return -1;
    if (!count_of(job, rule->function, &count))
        return no_such_scope(job, rule, rule->function);
    struct check_value v = value_of_rate(job, count, job->scopes.selection->stream->lost > 0);
    v.doubt = v.doubt ? v.doubt : doubt_of_pool(job);
    check_decide(job, &v, rule_bounds(rule), ret);
    return 0;
}

/* "exactly 4,800 calls, which is 24 * 200": what the rule's numbers come to. */
static int multiply_bounds(struct check_job *job, const struct rule *rule, struct interval *bounds,
                           struct check_result *ret)
{
    autobuf struct buf b = {0};
    double count;
    if (!rule->times)
        return 0;
    if (!count_of(job, rule->times, &count))
        return no_such_scope(job, rule, rule->times);
    *bounds = (struct interval){isinf(bounds->low) ? bounds->low : bounds->low * count,
                                isinf(bounds->high) ? bounds->high : bounds->high * count};
    check_range(&b, *bounds, RULE_SPANS);
    ret->expected = check_text(job, "%s (%s: %.0f)", buf_cstr(&b), rule->times, count);
    return 0;
}

int check_scopes(struct check_job *job, const struct rule *rule, struct check_result *ret)
{
    if (rule->kind == RULE_RATE)
        return check_rate(job, rule, ret);
    if (sum_scopes(job, rule) != 0)
        return -1;
    struct interval bounds = rule_bounds(rule);
    uint64_t lost = job->scopes.selection->stream->lost;
    int flat = scope_find(&job->scopes, text_of(rule->function));
    if (flat < 0)
        return no_such_scope(job, rule, rule->function);
    const struct scope_sum *sum = &job->scopes.flat.at[flat].sum;
    struct check_value v = rule->kind == RULE_QUANTILE ? value_of_quantile(job, rule, (size_t)flat)
                           : rule->kind == RULE_MEAN
                               ? value_of_mean(&job->scopes, (size_t)flat)
                               : value_of_count(sum, rule->kind == RULE_MAX, lost);
    if (multiply_bounds(job, rule, &bounds, ret) != 0)
        return -1;
    if (rule->kind == RULE_CALLS)
        v.doubt = rule->times && lost ? LOST_COUNTS : doubt_of_pool(job);
    check_decide(job, &v, bounds, ret);
    return 0;
}
