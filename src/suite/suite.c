/*
 * suite.c - what came of a run.
 */
#include "suite/suite.h"

const char *const suite_phase_names[PHASES] = {
    [PHASE_HOST] = "host",       [PHASE_BUILD] = "build",     [PHASE_RECORD] = "record",
    [PHASE_BENCH] = "bench",     [PHASE_ANALYSE] = "analyse", [PHASE_CHECK] = "check",
    [PHASE_PUBLISH] = "publish",
};

const char *const suite_outcome_names[] = {
    [SUITE_OK] = "ok",
    [SUITE_FAILED] = "failed",
    [SUITE_REGRESSED] = "regressed",
    [SUITE_RULES] = "rules",
    [SUITE_INCONCLUSIVE] = "inconclusive",
};

static void result_done(struct suite_result *r)
{
    if (r->has_report)
        report_done(&r->report);
    if (r->has_cache_report)
        report_done(&r->misses_report);
    if (r->has_check)
        check_done(&r->check);
    rules_done(&r->rules);
    diff_free(r->diff);
    for (size_t i = 0; i < r->before.n; i++)
        profile_free(r->before.at[i].profile);
    for (size_t i = 0; i < r->recordings.n; i++) {
        profile_free(r->recordings.at[i].profile);
        free(r->recordings.at[i].file);
    }
    for (int i = 0; i < COLLECTS; i++)
        free(r->absent[i]);
    vec_done(&r->before);
    vec_done(&r->recordings);
    profile_free(r->cache);
    profile_free(r->before_cache);
    free(r->cache_file);
    free(r->simd_line);
    free(r->memcheck.text);
    free(r->helgrind.text);
    free(r->rules_file);
    free(r->unlike);
    free(r->culprit);
    free(r->culprit_file);
    free(r->failure);
    free(r->output);
    workload_done(&r->workload);
}

void suite_done(struct suite *s)
{
    if (s->has_scaling)
        scaling_done(&s->scaling);
    for (size_t i = 0; i < s->results.n; i++)
        result_done(&s->results.at[i]);
    for (size_t i = 0; s->dirty_files && s->dirty_files[i]; i++)
        free(s->dirty_files[i]);
    for (size_t i = 0; i < s->warnings.n; i++)
        free(s->warnings.at[i]);
    vec_done(&s->results);
    vec_done(&s->warnings);
    series_set_done(&s->series);
    series_set_done(&s->before);
    series_set_done(&s->beside);
    free(s->dirty_files);
    free(s->compiler);
    free(s->flags);
    free(s->project);
    folder_drop(&s->folder);
    conf_done(&s->conf);
}

/* A failure is worse than a regression, that worse than a broken rule, that worse than doubt. */
enum suite_outcome suite_outcome(const struct suite *s)
{
    enum suite_outcome worst = SUITE_OK;
    for (size_t i = 0; i < s->results.n; i++) {
        enum suite_outcome o = s->results.at[i].outcome;
        if (o != SUITE_OK && (worst == SUITE_OK || o < worst))
            worst = o;
    }
    return worst;
}

bool suite_undecided(const struct suite_result *r)
{
    return r->has_compared[BY_TIME] && r->compared[BY_TIME].undecided && r->has_compared[BY_CPU] &&
           r->compared[BY_CPU].undecided;
}

const char *suite_verdict(const struct bench_comparison *c)
{
    enum verdict v = c->paired.verdict;
    if (c->measure != MEASURE_INSTRUCTIONS)
        return verdict_names[v];
    return v == VERDICT_SLOWER ? "more" : v == VERDICT_FASTER ? "fewer" : verdict_names[v];
}

void suite_absent(struct suite_result *r, enum collect what, const char *text)
{
    if (!r->absent[what])
        r->absent[what] = mem_strdup(text);
}

void suite_fail(struct suite_result *r, const char *why, const char *output)
{
    r->outcome = SUITE_FAILED;
    if (r->failure)
        return;
    r->failure = mem_strdup(why);
    r->output = output && *output ? mem_strdup(output) : NULL;
}
