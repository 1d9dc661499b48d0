/* run_metrics.c - the numbers that a workload gives itself, from each of its runs; see metric.h. */
#include "suite/run_metrics.h"
#include "base/publish.h"
#include "base/utf8.h"
#include "suite/judge.h"

#include <math.h>

/* "chat metric tps". Names of workloads have no blanks. Free it. */
static char *metric_series_name(const struct suite_result *w, const struct metric *m)
{
    return mem_printf("%s metric %s", w->workload.name, m->name);
}

static double *add_run(struct series *s, uint32_t block)
{
    struct series_run *run = vec_push(&s->runs);
    run->block = block;
    for (int i = 0; i < MEASURES; i++)
        run->value[i] = NAN;
    return &run->value[MEASURE_METRIC];
}

static struct series *add_metric_series(struct series_set *to, const struct suite_result *w,
                                        const struct metric *m)
{
    autofree char *name = metric_series_name(w, m);
    struct series *s = series_add(to, name);
    free(s->command);
    s->command = mem_strdup(w->workload.line);
    s->more_is_better = m->more_is_better;
    return s;
}

void run_metrics_open(struct run_metrics *t, const struct suite *s, struct suite_result *w)
{
    *t = (struct run_metrics){.suite = s, .result = w};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < w->workload.metrics.at.n; i++)
            add_metric_series(&t->of[k], w, &w->workload.metrics.at.at[i]);
    clock_gettime(CLOCK_REALTIME_COARSE, &t->since);
}

static double metrics_take_one(struct metric *m, struct text said, struct timespec since)
{
    size_t n = 0;
    double value = m->pattern ? metric_in_output(m, said, &n) : metric_in_file(m, since);
    m->most_matches = n > m->most_matches ? n : m->most_matches;
    m->was_long |= said.n >= RUN_METRICS_KEPT;
    return value;
}

/* ITEM 1 is the program of today where two take turns. */
static void metrics_take(void *to, size_t item, uint32_t block, struct text said)
{
    struct run_metrics *t = to;
    struct metrics *all = &t->result->workload.metrics;
    for (size_t i = 0; i < all->at.n && item < 2; i++) {
        struct metric *m = &all->at.at[i];
        double *value = m->items > 0 ? NULL : add_run(&t->of[item].series.at[i], block);
        if (value)
            *value = metrics_take_one(m, said, t->since);
    }
    buf_done(&t->said); /* the last one is kept: where two take turns, that of either */
    buf_add(&t->said, said.at, said.n);
    clock_gettime(CLOCK_REALTIME_COARSE, &t->since);
}

/* Items follow from the times, on which the session has decided. */
static bool metrics_decided(void *from, int look)
{
    const struct run_metrics *t = from;
    const struct metrics *all = &t->result->workload.metrics;
    bool decided = true;
    for (size_t i = 0; i < all->at.n; i++) {
        struct comparison c = {.before = &t->of[0].series.at[i], .after = &t->of[1].series.at[i]};
        decided &=
            all->at.at[i].items > 0 || judge_metric_decided(t->suite, &all->at.at[i], &c, look);
    }
    return decided;
}

void run_metrics_ask(struct run_metrics *t, struct session_opts *with, struct starter_opts *start)
{
    if (!t->result->workload.metrics.at.n)
        return;
    with->output = metrics_take;
    with->output_to = t;
    with->decided = with->gate_decides ? metrics_decided : NULL;
    with->decided_to = t;
    start->output = STARTER_PIPE;
    start->kept_bytes = RUN_METRICS_KEPT;
}

/* So many items in the wall time of each run. */
static void count_items(struct series *to, const struct series *bench, const struct metric *m)
{
    for (size_t i = 0; bench && m->items > 0 && i < bench->runs.n; i++) {
        double ns = bench->runs.at[i].value[MEASURE_TIME];
        *add_run(to, bench->runs.at[i].block) = ns > 0 ? m->items / (ns / 1e9) : NAN;
    }
}

void run_metrics_give(struct run_metrics *t, struct series_set *to, size_t item)
{
    const struct workload *w = &t->result->workload;
    for (size_t i = 0; i < t->of[item].series.n; i++) {
        struct series *from = &t->of[item].series.at[i];
        count_items(from, series_find(to, w->name), &w->metrics.at.at[i]);
        *vec_push(&to->series) = *from;
    }
    t->of[item].series.n = 0;
}

/* Control characters of others reach no page: lines stay lines. */
static int metrics_write_output(const struct run_metrics *t, const struct folder *folder,
                                struct err *err)
{
    autofree char *name = mem_printf("%s.output.txt", t->result->workload.name);
    autofree char *path = folder_file(folder, name);
    struct text rest = buf_text(&t->said);
    struct publish file;
    if (publish_open(&file, path, err) != 0)
        return -1;
    while (rest.n) {
        autobuf struct buf line = {0};
        utf8_plain(&line, text_cut(&rest, '\n'));
        fprintf(file.out, "%s\n", buf_cstr(&line));
    }
    return publish_commit(&file, err);
}

int run_metrics_keep_output(const struct run_metrics *t, const struct folder *folder,
                            struct err *err)
{
    return t->said.n ? metrics_write_output(t, folder, err) : 0;
}

void run_metrics_close(struct run_metrics *t)
{
    for (int k = 0; k < 2; k++)
        series_set_done(&t->of[k]);
    buf_done(&t->said);
}

static size_t count_missing(const struct series *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->runs.n; i++)
        n += isnan(s->runs.at[i].value[MEASURE_METRIC]);
    return n;
}

void run_metrics_find(const struct suite *s, struct suite_result *w)
{
    for (size_t i = 0; i < w->workload.metrics.at.n; i++) {
        const struct metric *m = &w->workload.metrics.at.at[i];
        autofree char *name = metric_series_name(w, m);
        const struct series *found = series_find(&s->series, name);
        struct suite_metric *to = vec_push(&w->metrics);
        *to = (struct suite_metric){.metric = m, .runs = found};
        to->missing = found ? count_missing(found) : 0;
        to->absent = !found || to->missing == found->runs.n;
    }
}
