/* session_run.c - one run: its values, or what is wrong with it. */
#include "base/clock.h"
#include "bench/count.h"
#include "bench/foreign.h"
#include "bench/program.h"
#include "bench/session_inner.h"

#include <math.h>

/* --- where values go --- */

static size_t find_series(const struct session *s, size_t item, const char *benchmark)
{
    for (size_t i = 0; i < s->origins.n; i++)
        if (s->origins.at[i].item == item && strcmp(s->origins.at[i].benchmark, benchmark) == 0)
            return i;
    return PLAN_NONE;
}

/* A program alone: the name of the benchmark, which is what baselines know. */
static char *session_name_of(const struct session *s, const struct plan_item *item,
                             const char *benchmark)
{
    if (!*benchmark)
        return mem_strdup(item->name);
    if (s->plan->items.n == 1)
        return mem_strdup(benchmark);
    return mem_printf("%s: %s", item->name, benchmark);
}

static size_t add_series(struct session *s, size_t number, const char *benchmark)
{
    const struct plan_item *item = &s->plan->items.at[number];
    size_t sweep = plan_sweep(s->plan), found = find_series(s, number, benchmark);
    if (found != PLAN_NONE)
        return found;
    autofree char *name = session_name_of(s, item, benchmark);
    while (series_find(&s->set, name)) { /* "a: b" may also be the name of another command */
        char *longer = mem_printf("%s'", name);
        free(name);
        name = longer;
    }
    struct series *series = series_add(&s->set, name);
    free(series->command);
    series->command = mem_strdup(item->line);
    if (sweep != PLAN_NONE) {
        free(series->parameter);
        series->parameter = mem_strdup(s->plan->parameters.at[sweep].name);
        series->size = s->plan->parameters.at[sweep].number[item->value[sweep]];
    }
    *vec_push(&s->origins) = (struct session_origin){number, mem_strdup(benchmark), 0};
    return s->set.series.n - 1;
}

static void add_values(struct session *s, size_t series, long block, const double *value)
{
    struct series_run *run = vec_push(&s->set.series.at[series].runs);
    run->block = (uint32_t)block;
    memcpy(run->value, value, sizeof run->value);
}

static void add_results(struct session *s, size_t item, long block, const struct program_answer *a)
{
    for (size_t i = 0; i < a->results.n; i++) {
        const struct program_result *r = &a->results.at[i];
        double value[MEASURES];
        for (int m = 0; m < MEASURES; m++)
            value[m] = NAN;
        value[MEASURE_TIME] = r->ns;
        value[MEASURE_CPU] = r->cpu_ns;
        value[MEASURE_R2] = r->r2;
        value[MEASURE_CPU_R2] = r->cpu_r2;
        size_t at = add_series(s, item, r->name);
        struct series *series = &s->set.series.at[at];
        series->items = r->items;
        series->bytes = r->bytes;
        series->flops = r->flops;
        if (*r->parameter && !*series->parameter) {
            free(series->parameter);
            series->parameter = mem_strdup(r->parameter);
            series->size = r->size;
        }
        s->origins.at[at].empty_runs += r->is_empty;
        add_values(s, at, block, value);
    }
}

/* --- what came of it --- */

static int session_fail(struct session *s, size_t command, const struct trouble *t, struct err *err)
{
    buf_done(&s->said);
    buf_add(&s->said, s->run.said.at, s->run.said.n);
    return trouble_say(t, &s->run, s->plan->commands.at[command].at.at, &s->help, err);
}

/* Of a benchmark program: its own words are better than "exit code 3". */
static int program_failed(const struct session *s, const struct program_answer *a, struct err *err)
{
    if (s->run.end != STARTER_EXITED || a->failures.n == 0)
        return 0;
    return err_set(err, s->run.status == EXIT_FAILS ? EXIT_FAILS : EXIT_ERROR, "%s",
                   a->failures.at[0]);
}

static int session_check_run(struct session *s, size_t number, long block,
                             const struct program_answer *a, struct err *err)
{
    const struct plan_item *item = &s->plan->items.at[number];
    struct trouble t = {item->line, "", block, s->opts.ignore_failure, s->opts.unseen};
    if (s->run.end == STARTER_STOPPED) {
        s->stopped = true;
        return 0;
    }
    if (program_failed(s, a, err) != 0)
        return -1;
    if (s->run.end == STARTER_EXITED && s->run.status == 0)
        return 0;
    if (!s->opts.ignore_failure || s->run.end == STARTER_NOT_RUN || s->run.end == STARTER_TIMED_OUT)
        return session_fail(s, item->command, &t, err);
    s->failed_runs += block >= 0;
    return 0;
}

static int keep_allocations(struct session *s, size_t item, const struct program_answer *a,
                            struct err *err)
{
    const char *line = s->plan->items.at[item].line;
    double n = s->opts.allocations(s->opts.allocations_to, false);
    if (a->greeted)
        return err_set(err, EXIT_ERROR,
                       "'%s' is a benchmark program, which decides by time how often it runs what "
                       "it measures: its number of allocations means nothing",
                       line);
    if (isnan(n))
        return err_set(err, EXIT_ERROR,
                       "no count of allocations of '%s': no library can be preloaded into it (is "
                       "it static or setuid?)",
                       line);
    for (int m = 0; m < MEASURES; m++)
        s->run.value[m] = NAN; /* with the library's own, not the command's */
    s->run.value[MEASURE_ALLOCATIONS] = n;
    return 0;
}

static int session_keep_run(struct session *s, size_t item, long block,
                            const struct program_answer *a, struct err *err)
{
    if (s->opts.count_valgrind) {
        for (int m = 0; m < MEASURES; m++)
            s->run.value[m] = NAN; /* valgrind's own, not the command's */
        count_parse(buf_text(&s->run.answer), s->opts.count_valgrind, s->run.value);
    }
    if (s->opts.exact && !s->opts.allocations && isnan(s->run.value[s->opts.measure])) {
        struct text said = buf_text(s->run.said.n ? &s->run.said : &s->run.answer);
        if (!s->opts.count_valgrind)
            said = text_of("another program, or kernel.nmi_watchdog, used the CPU's counters for a "
                           "part of the run; end that and try again");
        return err_set(err, EXIT_ERROR, "no count of %s of '%s': %.*s",
                       measure_infos[s->opts.measure].title, s->plan->items.at[item].line,
                       TEXT_ARG(said));
    }
    if (s->opts.allocations && keep_allocations(s, item, a, err) != 0)
        return -1;
    if (s->run.output_cut)
        session_note(s, mem_strdup("output beyond 64 MiB, or for which the disk had no room, was "
                                   "thrown away"));
    if (block < 0)
        return 0;
    if (s->opts.output)
        s->opts.output(s->opts.output_to, item, (uint32_t)block, buf_text(&s->run.said));
    for (size_t i = 0; block == 0 && i < a->proofs.n; i++)
        session_note(s, mem_strdup(a->proofs.at[i]));
    if (a->greeted)
        add_results(s, item, block, a);
    else
        add_values(s, add_series(s, item, ""), block, s->run.value);
    return 0;
}

static int run_timed(struct session *s, size_t command, size_t pad_bytes, struct err *err)
{
    double began_s = clock_monotonic_s();
    int rc = starter_run(s->starter, command, pad_bytes, &s->run, err);
    s->programs_s += clock_monotonic_s() - began_s;
    return rc;
}

int session_measure(struct session *s, size_t item, size_t pad_bytes, long block, struct err *err)
{
    const struct plan_item *p = &s->plan->items.at[item];
    s->item = item;
    if (p->prepare != PLAN_NONE && session_do(s, p->prepare, "prepare", err) != 0)
        return -1;
    if (s->stopped)
        return 0;
    if (s->opts.allocations)
        s->opts.allocations(s->opts.allocations_to, true);
    struct timespec since;
    clock_gettime(CLOCK_REALTIME_COARSE, &since); /* the clock of files */
    if (run_timed(s, p->command, pad_bytes, err) != 0)
        return -1;
    struct program_answer a = {0};
    if (!s->opts.count_valgrind && !s->opts.results)
        program_read(&a, buf_text(&s->run.answer));
    int rc = session_check_run(s, item, block, &a, err);
    if (rc == 0 && s->opts.results && !s->stopped)
        rc = foreign_read(&a, s->opts.results, since, err);
    if (rc == 0 && s->opts.results && s->opts.filter && !s->stopped)
        rc = foreign_filter(&a, s->opts.filter, err);
    if (rc == 0 && !s->stopped)
        rc = session_keep_run(s, item, block, &a, err);
    program_answer_done(&a);
    return rc;
}

int session_do(struct session *s, size_t command, const char *what, struct err *err)
{
    if (run_timed(s, command, 0, err) != 0)
        return -1;
    if (s->run.end == STARTER_STOPPED)
        s->stopped = true;
    if (s->stopped || (s->run.end == STARTER_EXITED && s->run.status == 0))
        return 0;
    /* The first byte of a line is a mark of the plan. */
    struct trouble t = {s->plan->command_lines.at[command] + 1, what, -1, true, s->opts.unseen};
    return session_fail(s, command, &t, err);
}
