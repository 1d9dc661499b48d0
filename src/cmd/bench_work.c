/*
 * bench_work.c - does what became slower do more work? The same source at another place in memory
 * can take half as long again with the same instructions, and no edit of the source fixes that.
 *
 * So the instructions of both are counted where a comparison of times is decided: by the CPU's
 * counter, or by valgrind where that does not take long.
 */
#include "bench/count.h"
#include "bench/verdict.h"
#include "cmd/bench.h"
#include "stats/repeats.h"

#include <math.h>

enum { COUNTED_MOST = 3, COUNT_RUNS = 2 };

/* Of both together, for each run: by valgrind that is a few seconds. */
static const double most_cpu_ns = 0.15e9;

/* Fewer instructions than this in a nanosecond of CPU time: others did the work, uncounted. */
static const double least_per_ns = 0.1;

static double median_cpu_ns(const struct series *s)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, MEASURE_CPU, values);
    repeats_sort(values, n);
    return n ? repeats_quantile(values, n, 0.5) : NAN;
}

/* Is it decided, and not by waiting alone? */
static bool is_worth_counting(const struct comparison *c, const struct cmd_bench_opts *o)
{
    enum verdict v = c->paired.verdict;
    struct comparison cpu = *c;
    struct verdict_opts opts = {o->band / 100, o->risk / 100, 1, PAIRED_ONLY_LOOK, false};
    enum count_by by;
    struct err ignored;
    if (c->apart || (v != VERDICT_SLOWER && v != VERDICT_FASTER) ||
        measure_infos[c->measure].unit != MEASURE_NS)
        return false;
    cpu.measure = MEASURE_CPU;
    verdict_compare(&cpu, &opts);
    if (cpu.paired.verdict != v || count_find(COUNTED(MEASURE_INSTRUCTIONS), &by, &ignored) != 0)
        return false;
    return by == COUNT_BY_CPU ||
           (!o->shell && median_cpu_ns(c->before) + median_cpu_ns(c->after) < most_cpu_ns);
}

static bool did_the_work(const struct series *counted, const struct series *timed)
{
    double n = counted->runs.n ? counted->runs.at[0].value[MEASURE_INSTRUCTIONS] : NAN;
    return n > least_per_ns * median_cpu_ns(timed);
}

/* Both commands once more, counted. */
static bool has_same_work(const struct comparison *c, const struct cmd_bench_opts *o)
{
    struct cmd_bench_opts with = *o;
    struct session session = {0};
    struct plan plan = {0};
    struct err ignored;
    char *lines[] = {c->before->command, c->after->command};
    with.count = "instructions";
    with.measure = NULL;
    with.runs = COUNT_RUNS;
    with.warmup = 0;
    with.names = (struct opt_list){.at = {"before", "after"}, .n = 2};
    with.list = with.range = with.max_regression = (struct opt_list){0};
    with.aa = false;
    with.quiet = true;
    bool same = bench_run(&session, &plan, &with, lines, 2, &ignored) == 0 &&
                session.comparisons.n == 1 &&
                session.comparisons.at[0].paired.verdict == VERDICT_SAME &&
                did_the_work(session.comparisons.at[0].before, c->before) &&
                did_the_work(session.comparisons.at[0].after, c->after);
    session_done(&session);
    plan_done(&plan);
    return same;
}

/* Of a benchmark program how often a loop goes round depends on its speed: counts mean nothing. */
static bool are_programs(const struct session *s)
{
    for (size_t i = 0; i < s->set.series.n; i++)
        if (*s->origins.at[i].benchmark)
            return true;
    return false;
}

static void count_all(struct comparisons *all, const struct cmd_bench_opts *o)
{
    size_t counted = 0;
    for (size_t i = 0; i < all->n && counted < COUNTED_MOST; i++) {
        struct comparison *c = &all->at[i];
        if (!is_worth_counting(c, o))
            continue;
        c->same_work = has_same_work(c, o);
        counted++;
    }
}

void bench_count_work(struct outcome *outcome, const struct cmd_bench_opts *o)
{
    bool changes = o->prepare || o->setup || o->cleanup; /* what a command finds is not the same */
    if (outcome->session.stopped || o->ignore_failure || changes || are_programs(&outcome->session))
        return;
    count_all(&outcome->session.comparisons, o);
    count_all(&outcome->against, o);
}
