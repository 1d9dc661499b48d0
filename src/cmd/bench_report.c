/*
 * bench_report.c - what `kelvin bench` prints in the end.
 */
#include "base/publish.h"
#include "cmd/bench.h"

#include <math.h>

void bench_paper_init(struct bench_paper *p, const struct outcome *o)
{
    const struct session *s = &o->session;
    *p = (struct bench_paper){
        .report = {
            .now = &s->set,
            .now_name = "now",
            .measure = s->opts.measure,
            .design = o->design,
            .false_alarm_rate = s->aa_tries ? (double)s->aa_alarms / (double)s->aa_tries : NAN,
            .false_alarms = s->aa_alarms,
            .false_alarm_tries = s->aa_tries,
        }};
    for (size_t i = 0; i < o->sweeps.at.n; i++) {
        const struct sweep *w = &o->sweeps.at.at[i];
        *vec_push(&p->growths) = (struct bench_growth){
            .name = w->name,
            .parameter = w->parameter,
            .measure = s->opts.measure,
            .growth = w->growth,
            .points = w->points.at,
            .n_points = w->points.n,
        };
    }
    p->report.growths = p->growths.at;
    p->report.n_growths = p->growths.n;
}

void bench_paper_done(struct bench_paper *p)
{
    vec_done(&p->comparisons);
    vec_done(&p->growths);
}

static void bench_print_as(FILE *out, const struct cmd_bench_opts *o, const struct bench_report *r)
{
    const char *format = output_format(&o->output);
    if (strcmp(format, "json") == 0)
        bench_print_json(out, r);
    else if (strcmp(format, "csv") == 0)
        bench_print_csv(out, r);
    else if (strcmp(format, "md") == 0)
        bench_print_markdown(out, r);
    else if (strcmp(format, "html") == 0)
        bench_print_html(out, r);
    else
        bench_print_text(out, r, output_width(&o->output), output_in_colour(&o->output));
}

int bench_report_print(const struct bench_report *r, const struct cmd_bench_opts *o,
                       struct err *err)
{
    struct publish file;
    if (publish_open(&file, o->output.path, err) != 0)
        return -1;
    bench_print_as(file.out, o, r);
    return publish_commit(&file, err);
}

int bench_paper_print(struct bench_paper *p, const struct outcome *o,
                      const struct cmd_bench_opts *opts, struct err *err)
{
    const struct session *s = &o->session;
    for (size_t i = 0; i < s->comparisons.n; i++)
        *vec_push(&p->comparisons) = s->comparisons.at[i];
    for (size_t i = 0; i < o->against.n; i++)
        *vec_push(&p->comparisons) = o->against.at[i];
    p->report.comparisons = p->comparisons.at;
    p->report.n_comparisons = p->comparisons.n;
    if (s->set.series.n == 0) /* stopped before the first run was over */
        return 0;
    return bench_report_print(&p->report, opts, err);
}

/* --- what is said besides --- */

/*
 * Where the report went to a file, every verdict; else those that stop a build, for its log. On a
 * terminal the report has just said it.
 */
static void tell_gates(const struct comparisons *all, const struct comparison_words *words,
                       const struct cmd_bench_opts *opts)
{
    bool every = strcmp(opts->output.path, "-") != 0;
    if (output_to_terminal(&opts->output))
        return;
    for (size_t i = 0; i < all->n; i++) {
        autobuf struct buf b = {0};
        if (!every && all->at[i].gate != GATE_BROKEN && all->at[i].gate != GATE_UNDECIDED)
            continue;
        comparison_say(&b, &all->at[i], words);
        command_say("%s", buf_cstr(&b));
    }
}

/* Of the two limits, the one that ended the measurement: a number of runs that was asked for is
 * kept. */
static const char *more_of(const struct cmd_bench_opts *opts, const char *time, const char *runs)
{
    return opts->runs > 0 ? runs : time;
}

void bench_tell(const struct outcome *o, const struct cmd_bench_opts *opts)
{
    const struct session *s = &o->session;
    for (size_t i = 0; i < o->lost.n; i++)
        command_say("no benchmark is named '%.*s', as --max-regression says",
                    TEXT_ARG(o->lost.at[i]));
    if (s->stopped && s->set.series.n == 0)
        command_say("interrupted before anything was measured");
    for (size_t i = 0; i < s->notes.n; i++)
        command_say("note: %s", s->notes.at[i]);
    if (s->failed_runs)
        command_say("note: %zu run%s ended with an exit code other than 0; ignored", s->failed_runs,
                    s->failed_runs == 1 ? "" : "s");
    tell_gates(&s->comparisons,
               &(struct comparison_words){
                   .limit = "--max-regression",
                   .more = more_of(opts, "give it more --time", "give it more --runs")},
               opts);
    if (o->has_baseline && !s->stopped && !o->lost.n)
        bench_tell_baseline(&o->against, opts);
}

void bench_tell_baseline(const struct comparisons *c, const struct cmd_bench_opts *opts)
{
    tell_gates(c,
               &(struct comparison_words){
                   .limit = "--max-regression",
                   .more = more_of(opts, "give both more --time", "give both more --runs")},
               opts);
    if (c->n == 0)
        command_say("the two have no benchmark in common: if they were renamed, say so with "
                    "--rename OLD=NEW");
}
