/* run_bench.c - the phase of a run that measures whole runs of its workloads. */
#include "bench/count.h"
#include "bench/session.h"
#include "suite/run_benchmarks.h"
#include "suite/run_inner.h"
#include "suite/run_metrics.h"
#include "suite/run_sanitize.h"
#include "suite/run_variants.h"

/* Move series number I of a session into SET, under NAME. */
static const struct series *take_series(struct series_set *set, struct session *from, size_t i,
                                        const char *name)
{
    if (i >= from->set.series.n || !from->set.series.at[i].runs.n)
        return NULL;
    struct series *to = series_add(set, name), *old = &from->set.series.at[i];
    free(to->command);
    to->command = old->command;
    to->runs.at = old->runs.at;
    to->runs.n = old->runs.n;
    to->runs.cap = old->runs.cap;
    old->command = NULL;
    memset(&old->runs, 0, sizeof old->runs);
    return to;
}

struct bench_job {
    enum collect what;
    struct session_opts with;
    struct starter_opts start;
    struct plan_opts plan;
};

static const struct opt_list none;

static struct bench_job bench_job(const struct run *r, const struct suite_result *w,
                                  enum collect what)
{
    return (struct bench_job){
        .what = what,
        .with = {.warmup = 1,
                 .runs = w->workload.runs,
                 .precision = 0.01,
                 .band = PAIRED_BAND,
                 .risk = PAIRED_RISK,
                 .seed = 1,
                 .gates = &none},
        .start = {.env = w->workload.env.at.at,
                  .input = *w->workload.input ? w->workload.input : NULL,
                  .timeout_s = w->workload.timeout_s,
                  .stop_fd = r->opts.stop_fd,
                  .fixed_layout = w->workload.fixed_layout},
        .plan = {.names = &none, .list = &none, .range = &none},
    };
}

/* Instructions repeat almost exactly: three runs will do. */
static int want_instructions(struct bench_job *j, struct err *err)
{
    enum count_by by;
    const unsigned set = COUNTED(MEASURE_INSTRUCTIONS);
    if (count_find(set, &by, err) != 0)
        return -1;
    j->with.warmup = 0;
    j->with.runs = 3;
    j->with.measure = MEASURE_INSTRUCTIONS;
    j->with.exact = true;
    j->with.count_valgrind = by == COUNT_BY_VALGRIND ? set : 0;
    j->start.fixed_layout = true;
    j->start.count = by == COUNT_BY_CPU ? set : 0;
    j->plan.wrap = by == COUNT_BY_VALGRIND ? count_valgrind_words(set) : NULL;
    j->start.ask = by == COUNT_BY_VALGRIND ? "measure_ms=50" : NULL; /* valgrind answers there */
    return 0;
}

static void bench_failed(struct suite_result *w, enum collect what, const struct session *s,
                         const struct err *err)
{
    autofree char *said = mem_strndup(s->said.at ? s->said.at : "", s->said.n);
    autofree char *command = mem_printf("'%.100s' ", w->workload.line);
    bool about = text_starts(text_of(err->text), command); /* "it ended with ..." is said of it */
    const struct starter_run *last = &s->run;
    bool failed = last->end == STARTER_SIGNALLED || last->end == STARTER_TIMED_OUT ||
                  (last->end == STARTER_EXITED && last->status != 0);
    if (s->said.n || (what == COLLECT_BENCH && failed))
        suite_fail(w, err->text + (about ? strlen(command) : 0), said);
    suite_absent(w, what, err->text);
}

/*
 * The two programs take turns until the gate is decided or the time is over; runs whose number is
 * fixed would leave it open every time on a restless machine. All workloads share the risk.
 */
static void want_decision(struct bench_job *j, const struct run *r, const struct suite_result *w,
                          const struct opt_list *gates)
{
    if (!(w->workload.decide_s > 0))
        return;
    j->with.runs = 0;
    j->with.time_s = w->workload.decide_s;
    j->with.risk = PAIRED_RISK / (double)suite_comparisons(&r->suite);
    j->with.gates = gates;
    j->with.gate_decides = true;
}

/* What the runs gave: W's own, and where two took turns the baseline's. */
static int take_metrics(struct run *r, const struct bench_job *j, struct run_metrics *from,
                        struct err *err)
{
    if (j->what != COLLECT_BENCH)
        return 0;
    if (j->plan.n_lines > 1)
        run_metrics_give(from, &r->suite.beside, 0);
    run_metrics_give(from, &r->suite.series, j->plan.n_lines - 1);
    return run_metrics_keep_output(from, &r->suite.folder, err);
}

/* Run the lines of J in turns; the last is W's own, one before it the baseline's. */
static int bench_lines(struct run *r, struct suite_result *w, struct bench_job *j, struct err *err)
{
    struct plan plan = {0};
    struct session session = {0};
    struct run_metrics metrics;
    run_metrics_open(&metrics, &r->suite, w);
    if (j->what == COLLECT_BENCH)
        run_metrics_ask(&metrics, &j->with, &j->start);
    autofree char *name =
        mem_printf(j->what == COLLECT_BENCH ? "%s" : "%s instructions", w->workload.name);
    int rc = plan_build(&plan, &j->plan, err);
    if (rc == 0)
        rc = session_run(&session, &plan, &j->with, &j->start, err);
    r->away_s += session.programs_s;
    if (rc == 0 && j->plan.n_lines > 1) {
        take_series(&r->suite.beside, &session, 0, name);
        w->looks = j->with.gate_decides ? session.looks : 0;
        w->look = session.look;
    }
    if (rc != 0 && session.item == j->plan.n_lines - 1)
        bench_failed(w, j->what, &session, err);
    else if (rc == 0 && !take_series(&r->suite.series, &session, j->plan.n_lines - 1, name))
        suite_absent(w, j->what, "nothing was measured");
    else if (rc == 0)
        rc = take_metrics(r, j, &metrics, err);
    run_metrics_close(&metrics);
    session_done(&session);
    plan_done(&plan);
    return rc;
}

static void bench_one(struct run *r, struct suite_result *w, enum collect what)
{
    struct bench_job j = bench_job(r, w, what);
    struct words cpus = conf_words(&r->suite.conf, "", "determinism.cpus");
    struct err err;
    char *before = what == COLLECT_BENCH ? w->line_before : NULL;
    autofree char *list = run_join_cpus(&cpus);
    const char *pinned[] = {"taskset", "-c", list, NULL};
    char *lines[] = {before, w->workload.line};
    j.plan.lines = before ? lines : lines + 1;
    j.plan.n_lines = before ? 2 : 1;
    j.plan.wrap = cpus.at.n ? pinned : NULL;
    j.plan.shell = w->workload.shell;
    words_done(&cpus);
    if (what == COLLECT_INSTRUCTIONS && want_instructions(&j, &err) != 0) {
        suite_absent(w, what, err.text);
        return;
    }
    struct bench_job alone = j;
    autofree char *limit = mem_printf("%g%%", 100 * suite_max_regression(&r->suite, w));
    struct opt_list gates = {.at = {limit}, .n = 1};
    if (before)
        want_decision(&j, r, w, &gates);
    if (bench_lines(r, w, &j, &err) == 0 || !before || w->absent[what])
        return;
    run_say(r, "%s: the baseline's program does not run any more: %s", w->workload.name, err.text);
    alone.plan.lines = lines + 1;
    alone.plan.n_lines = 1;
    bench_lines(r, w, &alone, &err);
}

/* Series move when the set grows: they are looked up when all are there. */
static void find_series(struct suite *s)
{
    for (size_t i = 0; i < s->results.n; i++) {
        struct suite_result *w = &s->results.at[i];
        autofree char *counted = mem_printf("%s instructions", w->workload.name);
        w->bench = series_find(&s->series, w->workload.name);
        run_metrics_find(s, w);
        w->instructions = series_find(&s->series, counted);
        if (!w->instructions) {
            autofree char *simulated = mem_printf("%s simulated", w->workload.name);
            w->instructions = series_find(&s->series, simulated);
        }
    }
}

static int bench_benchmarks(struct run *r, struct suite_result *w, struct err *err)
{
    if (run_benchmarks(r, w, err) != 0)
        return -1;
    if (w->absent[COLLECT_BENCHMARKS])
        run_say(r, "%s: no benchmarks: %s", w->workload.name, w->absent[COLLECT_BENCHMARKS]);
    return 0;
}

static int bench_workload(struct run *r, struct suite_result *w, struct err *err)
{
    static const enum collect timed[] = {COLLECT_BENCH, COLLECT_INSTRUCTIONS};
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
        if (!w->workload.collect[timed[i]])
            continue;
        run_say(r, "%s: %s", w->workload.name,
                timed[i] == COLLECT_BENCH ? "timed runs" : collect_names[timed[i]]);
        bench_one(r, w, timed[i]);
        if (run_go_on(r, err) != 0)
            return -1;
        if (w->absent[timed[i]])
            run_say(r, "%s: no %s: %s", w->workload.name, collect_names[timed[i]],
                    w->absent[timed[i]]);
    }
    if (w->workload.collect[COLLECT_BENCHMARKS] && bench_benchmarks(r, w, err) != 0)
        return -1;
    if (w->workload.collect[COLLECT_BENCH] && r->suite.n_variants && run_variants(r, w, err) != 0)
        return -1;
    return run_grind(r, w, err) == 0 ? run_sanitize(r, w, err) : -1;
}

static void mark_absent(struct suite_result *w)
{
    for (int i = 0; i < COLLECTS; i++)
        if (w->workload.collect[i])
            suite_absent(w, (enum collect)i, "the workload failed");
}

static void say_metric(const struct run *r, const struct suite_result *w,
                       const struct suite_metric *m)
{
    autobuf struct buf b = {0};
    suite_say_metric_doubt(&b, m);
    if (m->absent)
        run_say(r, "%s: no metric %s: %s", w->workload.name, m->metric->name,
                suite_why_no_metric(m));
    else if (b.n)
        run_say(r, "%s: %s", w->workload.name, buf_cstr(&b));
}

static void say_metrics(const struct run *r)
{
    for (size_t i = 0; i < r->suite.results.n; i++) {
        const struct suite_result *w = &r->suite.results.at[i];
        for (size_t k = 0; k < w->metrics.n && !w->failure; k++)
            say_metric(r, w, &w->metrics.at[k]);
    }
}

int run_bench(struct run *r, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->suite.results.n && rc == 0; i++) {
        struct suite_result *w = &r->suite.results.at[i];
        if (w->failure)
            mark_absent(w);
        else
            rc = bench_workload(r, w, err);
    }
    find_series(&r->suite);
    say_metrics(r);
    return rc;
}
