/* judge.c - verdicts on workloads; see judge.h. */
#include "suite/judge.h"
#include "bench/verdict.h"

#include <math.h>

/* --- against the baseline --- */

const struct series *judge_before(const struct suite *s, struct suite_result *r,
                                  const struct series *now, bool force)
{
    const struct series *before = series_find(&s->beside, now->name);
    if (before)
        return before;
    before = series_find(&s->before, now->name);
    if (!before || force || strcmp(before->command, now->command) == 0)
        return before;
    if (!r->unlike)
        r->unlike = mem_printf("the baseline ran '%s'", before->command);
    return NULL;
}

static size_t count_values(const struct series *s, enum measure m)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    return series_values(s, m, values);
}

static bool has_least_runs(const struct comparison *c)
{
    return count_values(c->before, c->measure) >= JUDGE_LEAST_RUNS &&
           count_values(c->after, c->measure) >= JUDGE_LEAST_RUNS;
}

/* "time", "cpu", "instructions": what check.gates calls it. */
static bool is_gated(const struct suite *s, enum measure m)
{
    return conf_has(&s->conf, "", "check.gates", measure_infos[m].name);
}

/* Of what is better the more there is, 5% less is a cost of 5.3% more; see verdict_values(). */
static double cost_limit(const struct metric *m)
{
    return m->more_is_better && m->limit < 1 ? 1 / (1 - m->limit) - 1 : m->limit;
}

bool judge_metric_decided(const struct suite *s, const struct metric *m, struct comparison *c,
                          int look)
{
    struct verdict_opts opts = {.band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .comparisons = suite_comparisons(s),
                                .look = look};
    c->measure = MEASURE_METRIC;
    c->limit = cost_limit(m);
    verdict_compare(c, &opts);
    return c->gate != GATE_UNDECIDED || !c->paired.n;
}

/* C has its series and its measure. */
static void compare_series(const struct suite *s, const struct suite_result *r,
                           struct comparison *c)
{
    struct verdict_opts opts = {.band = PAIRED_BAND,
                                .risk = PAIRED_RISK,
                                .comparisons = suite_comparisons(s),
                                .look = PAIRED_ONLY_LOOK,
                                .busy = fingerprint_is_busy(&s->host)};
    c->apart = !series_find(&s->beside, c->after->name);
    if (c->measure != MEASURE_METRIC)
        c->limit = is_gated(s, c->measure) ? suite_max_regression(s, r) : NAN;
    if (r->looks && (c->after == r->bench || c->measure == MEASURE_METRIC) && !c->apart)
        opts.look = r->look;
    verdict_compare(c, &opts);
}

/* A few recordings leave CPU time open, which is no matter where something else was compared. */
static void drop_few(struct suite_result *r)
{
    const struct comparison *c = &r->compared[BY_CPU];
    bool other = r->has_compared[BY_TIME] || r->has_compared[BY_INSTRUCTIONS];
    if (r->has_compared[BY_CPU] && other && c->gate == GATE_UNDECIDED && !has_least_runs(c))
        r->has_compared[BY_CPU] = false;
}

static void compare_metrics(const struct suite *s, struct suite_result *r, bool force)
{
    for (size_t i = 0; i < r->metrics.n; i++) {
        struct suite_metric *m = &r->metrics.at[i];
        const struct series *before = m->absent ? NULL : judge_before(s, r, m->runs, force);
        m->compared = (struct comparison){before, m->runs, MEASURE_METRIC};
        m->compared.limit = cost_limit(m->metric);
        m->has_compared = before != NULL;
        if (before)
            compare_series(s, r, &m->compared);
    }
}

void judge_compare(const struct suite *s, struct suite_result *r, bool force)
{
    static const enum measure measures[] = {MEASURE_TIME, MEASURE_CPU, MEASURE_INSTRUCTIONS};
    autofree char *recorded = mem_printf("%s recorded", r->workload.name);
    for (int i = 0; i < COMPARISONS; i++) {
        const struct series *now = i == BY_INSTRUCTIONS ? r->instructions : r->bench;
        if (i == BY_CPU && !now)
            now = series_find(&s->series, recorded); /* of the recordings */
        const struct series *before = now ? judge_before(s, r, now, force) : NULL;
        r->compared[i] = (struct comparison){before, now, measures[i]};
        r->has_compared[i] = before != NULL;
        if (before)
            compare_series(s, r, &r->compared[i]);
    }
    drop_few(r);
    compare_metrics(s, r, force);
}

/* --- findings --- */

/*
 * Whether more was found than check.max-findings allows. What may be absent and is leaves that in
 * doubt only where the suite itself names a number.
 */
static enum gate findings_gate(const struct suite *s, const struct suite_result *r)
{
    struct conf_value most = conf_find(&s->conf, "", "check.max-findings");
    bool unknown = false;
    for (int i = COLLECT_MEMCHECK; i <= COLLECT_TSAN; i++)
        unknown |= r->absent[i] != NULL;
    if ((double)suite_count_findings(r) > strtod(most.text, NULL))
        return GATE_BROKEN;
    return unknown && strcmp(most.origin, "default") != 0 ? GATE_UNDECIDED : GATE_HOLDS;
}

/* --- the verdict --- */

const char *judge_rules_path(const struct suite *s, const struct suite_result *r)
{
    const char *own = conf_text(&s->conf, r->workload.name, "workload.rules");
    return *own ? own : conf_text(&s->conf, "", "check.rules");
}

/*
 * What recordings that were made in turns say: CPU time that is proven to be above the limit breaks
 * it; one that is proven to have grown leaves it open. Recordings of another time say nothing.
 */
static enum gate recordings_gate(const struct suite *s, const struct suite_result *r)
{
    const struct diff *d = r->diff;
    double limit = suite_max_regression(s, r);
    if (!d || !r->before_beside || !is_gated(s, MEASURE_CPU))
        return GATE_NONE;
    if (d->has_cpu && d->cpu_s.proven && d->cpu_s.low > limit * d->cpu_s.before)
        return GATE_BROKEN;
    return d->verdict == DIFF_REGRESSED ? GATE_UNDECIDED : GATE_NONE;
}

static enum gate benchmarks_gate(const struct suite_result *r)
{
    const struct outcome *o = r->benchmarks ? &r->benchmarks->outcome : NULL;
    return o ? verdict_worst(o->against.at, o->against.n) : GATE_NONE;
}

static bool has_regressed(const struct suite *s, const struct suite_result *r)
{
    bool broken = recordings_gate(s, r) == GATE_BROKEN || suite_metrics_gate(r, GATE_BROKEN) ||
                  benchmarks_gate(r) == GATE_BROKEN;
    for (int i = 0; i < COMPARISONS; i++)
        broken |= r->has_compared[i] && r->compared[i].gate == GATE_BROKEN;
    return broken;
}

/* Also what could not be compared, and rules without a recording to hold them against. */
static bool is_in_doubt(const struct suite *s, const struct suite_result *r)
{
    bool compared = false, holds = false;
    for (int i = 0; i < COMPARISONS; i++) {
        compared |= r->has_compared[i];
        holds |= r->has_compared[i] && r->compared[i].gate == GATE_HOLDS;
    }
    if (recordings_gate(s, r) == GATE_UNDECIDED && !holds)
        return true;
    if (suite_undecided(r) || suite_metrics_gate(r, GATE_UNDECIDED) ||
        benchmarks_gate(r) == GATE_UNDECIDED || (r->unlike && !compared))
        return true;
    /* A benchmark that got another name may be the one that got slower. */
    if (r->benchmarks && r->benchmarks->gone.n)
        return true;
    return r->has_check ? r->check.verdict == CHECK_INCONCLUSIVE : *judge_rules_path(s, r) != '\0';
}

/* Something was asked for, is not optional, and could not be had: there is less than a result. */
static bool is_incomplete(const struct suite_result *r)
{
    bool lacks = false;
    for (int i = 0; i < COLLECTS; i++)
        lacks |= r->absent[i] && !r->workload.optional[i];
    lacks |= r->variants && r->variants->absent.n;
    for (size_t i = 0; i < r->metrics.n; i++)
        lacks |= r->metrics.at[i].absent && !r->workload.optional[COLLECT_BENCH];
    return lacks;
}

void judge_result(const struct suite *s, struct suite_result *r)
{
    enum gate findings = findings_gate(s, r);
    if (r->outcome == SUITE_FAILED)
        return;
    r->too_many_findings = findings == GATE_BROKEN;
    if (has_regressed(s, r))
        r->outcome = SUITE_REGRESSED;
    else if (r->has_check && r->check.verdict == CHECK_FAILS)
        r->outcome = SUITE_RULES;
    else if (r->too_many_findings)
        r->outcome = SUITE_FINDINGS;
    else if (is_incomplete(r))
        r->outcome = SUITE_INCOMPLETE;
    else if (is_in_doubt(s, r) || findings == GATE_UNDECIDED)
        r->outcome = SUITE_INCONCLUSIVE;
}

int judge_code(enum suite_outcome o)
{
    switch (o) {
    case SUITE_OK:
        return EXIT_OK;
    case SUITE_FAILED:
        return EXIT_ERROR;
    case SUITE_REGRESSED:
    case SUITE_RULES:
    case SUITE_FINDINGS:
        return EXIT_FAILS;
    case SUITE_INCOMPLETE:
    case SUITE_INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    }
    return EXIT_ERROR;
}
