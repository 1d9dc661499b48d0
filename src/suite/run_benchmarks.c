/* run_benchmarks.c - see run_benchmarks.h. */
#include "suite/run_benchmarks.h"
#include "base/path.h"
#include "suite/run_inner.h"

#include <math.h>

/* "kernels benchmark dot/n=64": as baselines know it. Free it. */
static char *stored_name(const struct suite_result *w, const char *benchmark)
{
    return mem_printf("%s benchmark %s", w->workload.name, benchmark);
}

static void copy_runs(struct series *to, const struct series *from)
{
    for (size_t i = 0; i < from->runs.n; i++)
        *vec_push(&to->runs) = from->runs.at[i];
    free(to->command);
    to->command = mem_strdup(from->command);
    to->items = from->items;
    to->bytes = from->bytes;
    to->flops = from->flops;
}

/* For a baseline that is saved now. */
static void keep_series(struct run *r, const struct suite_result *w)
{
    const struct series_set *set = &w->benchmarks->outcome.session.set;
    for (size_t i = 0; i < set->series.n; i++) {
        autofree char *name = stored_name(w, set->series.at[i].name);
        if (!series_find(&r->suite.series, name))
            copy_runs(series_add(&r->suite.series, name), &set->series.at[i]);
    }
}

/* What the baseline has of these benchmarks, and the names of those that are gone. */
static void find_stored(const struct run *r, struct suite_result *w)
{
    autofree char *prefix = stored_name(w, "");
    const struct series_set *now = &w->benchmarks->outcome.session.set;
    for (size_t i = 0; i < r->suite.before.series.n; i++) {
        const struct series *s = &r->suite.before.series.at[i];
        if (!text_starts(text_of(s->name), prefix))
            continue;
        const char *name = s->name + strlen(prefix);
        copy_runs(series_add(&w->benchmarks->before, name), s);
        if (!series_find(now, name))
            *vec_push(&w->benchmarks->gone) = mem_strdup(name);
    }
}

static void say_benchmarks(const struct run *r, const struct suite_result *w)
{
    size_t n = w->benchmarks->outcome.session.set.series.n;
    run_say(r, "%s: %zu benchmark%s", w->workload.name, n, n == 1 ? "" : "s");
}

/* After the session. */
static void benchmarks_conclude(struct run *r, struct suite_result *w)
{
    struct suite_benchmarks *b = w->benchmarks;
    outcome_build(&b->outcome);
    if (r->suite.against)
        find_stored(r, w);
    if (r->suite.against && !b->outcome.is_beside)
        outcome_compare(&b->outcome, &b->before);
    keep_series(r, w);
    say_benchmarks(r, w);
}

static struct suite_benchmarks *benchmarks_new(const struct run *r, const struct suite_result *w)
{
    struct suite_benchmarks *b = mem_calloc(1, sizeof *b);
    double limit = suite_max_regression(&r->suite, w) * 100;
    snprintf(b->limit, sizeof b->limit, "%g%%", limit);
    b->gates = (struct opt_list){.at = {b->limit}, .n = 1};
    b->filter = mem_printf("warmup_ms=20 measure_ms=50 samples=20%s%s",
                           *w->workload.filter ? " filter=" : "", w->workload.filter);
    return b;
}

static struct session_opts benchmarks_opts(const struct run *r, const struct suite_result *w,
                                           bool beside)
{
    bool decide = beside && w->workload.decide_s > 0;
    bool no_cpu = path_kind(w->workload.results) == PATH_FOLDER; /* Criterion's */
    return (struct session_opts){
        .runs = decide ? 0 : w->workload.runs,
        .time_s = w->workload.decide_s,
        .precision = 0.01,
        .band = PAIRED_BAND,
        .risk = PAIRED_RISK,
        .seed = 1,
        .results = *w->workload.results ? w->workload.results : NULL,
        .filter = *w->workload.filter ? w->workload.filter : NULL,
        .measure = fingerprint_is_busy(&r->suite.host) && !no_cpu ? MEASURE_CPU : MEASURE_TIME,
        .gates = r->suite.against ? &w->benchmarks->gates : NULL,
        .busy = fingerprint_is_busy(&r->suite.host),
        .gate_decides = decide};
}

/* BEFORE is NULL where the command runs alone. */
static int run_lines(struct run *r, struct suite_result *w, char *before, struct err *err)
{
    static const struct opt_list none;
    struct suite_benchmarks *b = w->benchmarks;
    char *lines[] = {before ? before : w->workload.line, w->workload.line};
    struct session_opts with = benchmarks_opts(r, w, before != NULL);
    struct starter_opts start = {.env = w->workload.env.at.at,
                                 .input = *w->workload.input ? w->workload.input : NULL,
                                 .timeout_s = w->workload.timeout_s,
                                 .stop_fd = r->opts.stop_fd,
                                 .ask = b->filter};
    /* As the session names them: both have the same line, but for the program. */
    char *names[] = {(char *)"the baseline's", (char *)w->workload.name};
    struct opt_list named = {.at = {names[0], names[1]}, .n = 2};
    struct plan_opts plan = {.lines = lines,
                             .n_lines = before ? 2 : 1,
                             .names = before ? &named : &none,
                             .list = &none,
                             .range = &none,
                             .shell = w->workload.shell};
    b->lines[0] = lines[0];
    b->lines[1] = lines[1];
    plan.lines = b->lines;
    int rc = plan_build(&b->plan, &plan, err);
    if (rc == 0)
        rc = session_run(&b->outcome.session, &b->plan, &with, &start, err);
    r->away_s += b->outcome.session.programs_s;
    b->outcome.is_beside = rc == 0 && before;
    return rc;
}

/* Whether any value is one of a benchmark, not of a whole command. */
static bool has_benchmarks(const struct suite_benchmarks *b)
{
    const struct session *s = &b->outcome.session;
    bool any = false;
    for (size_t i = 0; i < s->origins.n; i++)
        any |= *s->origins.at[i].benchmark != '\0';
    return any;
}

static void start_again(struct run *r, struct suite_result *w)
{
    suite_benchmarks_free(w->benchmarks);
    w->benchmarks = benchmarks_new(r, w);
}

/* A program that ended badly, or that says of what it tests that it is wrong, is no matter of what
 * could be had: the workload failed. Where its words are of wrong usage, nothing was to be had. */
static void fail_if_ended_badly(struct suite_result *w, const struct err *err)
{
    const struct session *s = &w->benchmarks->outcome.session;
    autofree char *command = mem_printf("'%.100s' ", w->workload.line);
    bool about = text_starts(text_of(err->text), command); /* "it ended with ..." is said of it */
    bool badly = s->run.end == STARTER_SIGNALLED || s->run.end == STARTER_TIMED_OUT ||
                 (s->run.end == STARTER_EXITED &&
                  (s->run.status == EXIT_FAILS || (about && s->run.status != 0)));
    if (!badly)
        return;
    autofree char *why =
        about ? mem_strdup(err->text + strlen(command)) : mem_printf("reported: %s", err->text);
    autofree char *said = mem_strndup(s->said.at ? s->said.at : "", s->said.n);
    suite_fail(w, why, said);
}

int run_benchmarks(struct run *r, struct suite_result *w, struct err *err)
{
    struct err why;
    w->benchmarks = benchmarks_new(r, w);
    int rc = w->line_before ? run_lines(r, w, w->line_before, &why) : -1;
    bool alone = !w->line_before;
    if (rc != 0 && w->line_before && w->benchmarks->outcome.session.item == 0) {
        alone = true;
        run_say(r, "%s: the baseline's program does not run any more: %s", w->workload.name,
                why.text);
        start_again(r, w);
    }
    if (alone)
        rc = run_lines(r, w, NULL, &why);
    if (run_go_on(r, err) != 0)
        return -1;
    if (rc == 0 && !has_benchmarks(w->benchmarks))
        rc = err_set(
            &why, EXIT_ERROR,
            "the command is not a program of kelvin_bench.h, or has no such benchmark (those of "
            "other libraries need 'results')");
    if (rc == 0) {
        benchmarks_conclude(r, w);
        return 0;
    }
    fail_if_ended_badly(w, &why);
    suite_absent(w, COLLECT_BENCHMARKS, why.text);
    suite_benchmarks_free(w->benchmarks);
    w->benchmarks = NULL;
    return 0;
}
