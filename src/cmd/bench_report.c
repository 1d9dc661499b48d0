/*
 * bench_report.c - what `kelvin bench` tells in the end.
 */
#include "base/publish.h"
#include "bench/count.h"
#include "bench/gates.h"
#include "cmd/bench.h"
#include "host/fingerprint.h"
#include "host/provenance.h"

#include <math.h>

static void add_comparisons(struct bench_outcome *b)
{
    const struct session *s = &b->session;
    for (size_t i = 0; i < s->comparisons.n; i++) {
        const struct session_comparison *c = &s->comparisons.at[i];
        *vec_push(&b->comparisons) = (struct bench_comparison){
            .before = &s->set.series.at[c->before],
            .after = &s->set.series.at[c->after],
            .measure = s->opts.measure,
            .paired = c->paired,
            .max_regression = c->limit,
            .broken = !isnan(c->limit) && c->gate == GATE_BROKEN,
            .undecided = !isnan(c->limit) && c->gate == GATE_UNDECIDED,
            .band = s->opts.paired.band,
        };
    }
}

static void add_growths(struct bench_outcome *b)
{
    sweeps_build(&b->sweeps, &b->session);
    for (size_t i = 0; i < b->sweeps.at.n; i++) {
        const struct sweep *w = &b->sweeps.at.at[i];
        *vec_push(&b->growths) = (struct bench_growth){
            .name = w->name,
            .parameter = w->parameter,
            .measure = b->session.opts.measure,
            .growth = w->growth,
            .points = w->points.at,
            .n_points = w->points.n,
        };
    }
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void describe_blocks(struct buf *to, const struct session *s)
{
    size_t members = s->plan->groups.n ? s->plan->groups.at[0].items.n : 0;
    if (members > 1)
        buf_printf(to, "%zu block%s of %zu runs in balanced random order%s", s->blocks,
                   plural(s->blocks), members,
                   s->opts.exact ? "" : ", environment padded at random in each");
    else
        buf_printf(to, "%zu run%s%s", s->blocks, plural(s->blocks),
                   s->plan->groups.n > 1 ? " of each at most" : "");
}

/* How it was measured, in one sentence. */
static char *describe(const struct session *s)
{
    autobuf struct buf b = {0};
    describe_blocks(&b, s);
    if (s->comparisons.n > 0 && !s->opts.exact)
        buf_printf(&b, "; %zu look%s and %zu comparison%s share a risk of %g %%", s->looks,
                   plural(s->looks), s->comparisons.n, plural(s->comparisons.n),
                   s->opts.paired.risk * 100);
    if (s->opts.exact)
        buf_printf(&b, "; %s",
                   count_words(s->opts.count_valgrind ? COUNT_BY_VALGRIND : COUNT_BY_CPU));
    if (s->aa_tries > 0)
        buf_printf(&b,
                   "; the first command against itself, %d blocks at a risk of 5 %% each time: "
                   "%zu false alarm%s in %zu",
                   SESSION_AA_BLOCKS, s->aa_alarms, plural(s->aa_alarms), s->aa_tries);
    buf_printf(&b, "; %.1f s", s->seconds);
    return mem_strdup(buf_cstr(&b));
}

static void add_meta(struct series_set *set)
{
    struct fingerprint f;
    struct provenance p;
    fingerprint_read(&f, "");
    fingerprint_put(&f, &set->meta);
    provenance_read(&p);
    provenance_put(&p, &set->meta);
}

/* What was compared with itself is no result. */
static void drop_aa(struct session *s)
{
    while (s->set.series.n > 0 && s->plan->items.at[s->origins.at[s->set.series.n - 1].item].aa) {
        struct series *last = &s->set.series.at[--s->set.series.n];
        free(last->name);
        free(last->command);
        free(last->parameter);
        vec_done(&last->runs);
    }
}

void bench_outcome_build(struct bench_outcome *b)
{
    struct session *s = &b->session;
    add_meta(&s->set);
    add_growths(b);
    drop_aa(s);
    add_comparisons(b);
    b->design = describe(s);
    b->report = (struct bench_report){
        .now = &s->set,
        .now_name = "now",
        .measure = s->opts.measure,
        .comparisons = b->comparisons.at,
        .n_comparisons = b->comparisons.n,
        .growths = b->growths.at,
        .n_growths = b->growths.n,
        .design = b->design,
        .false_alarm_rate = s->aa_tries ? (double)s->aa_alarms / (double)s->aa_tries : NAN,
        .false_alarms = s->aa_alarms,
        .false_alarm_tries = s->aa_tries,
    };
}

void bench_outcome_done(struct bench_outcome *b)
{
    vec_done(&b->comparisons);
    vec_done(&b->growths);
    free(b->design);
    sweeps_done(&b->sweeps);
    session_done(&b->session);
}

static void print(FILE *out, const struct cmd_bench_opts *o, const struct bench_report *r)
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
    print(file.out, o, r);
    return publish_commit(&file, err);
}

int bench_outcome_print(const struct bench_outcome *b, const struct cmd_bench_opts *o,
                        struct err *err)
{
    if (b->session.set.series.n == 0) /* stopped before the first run was over */
        return 0;
    return bench_report_print(&b->report, o, err);
}

static void tell_gate(const struct bench_outcome *b, const struct session_comparison *c)
{
    const struct session *s = &b->session;
    const char *name = s->set.series.at[c->after].name, *first = s->set.series.at[c->before].name;
    const struct paired *p = &c->paired;
    if (c->gate == GATE_BROKEN)
        command_say("'%s' is %.1f%% slower than '%s' (%.1f to %.1f%%): more than the %g%% that "
                    "--max-regression allows",
                    name, (p->ratio - 1) * 100, first, (p->interval.low - 1) * 100,
                    (p->interval.high - 1) * 100, c->limit * 100);
    else
        command_say("not decided whether '%s' is more than %g%% slower than '%s': give it more "
                    "--time",
                    name, c->limit * 100, first);
}

static bool measured(const struct session *s, struct text name)
{
    for (size_t i = 0; i < s->set.series.n; i++)
        if (text_is(name, s->set.series.at[i].name) || text_is(name, s->origins.at[i].benchmark))
            return true;
    return name.n == 0;
}

/* A gate whose name is misspelt would hold for ever. */
static bool tell_lost_gates(const struct session *s, const struct opt_list *gates)
{
    bool lost = false;
    for (size_t i = 0; i < gates->n && !s->stopped; i++) {
        struct text name = gates_name(gates->at[i]);
        if (measured(s, name))
            continue;
        command_say("no benchmark is named '%.*s', as --max-regression says", TEXT_ARG(name));
        lost = true;
    }
    return lost;
}

int bench_outcome_tell(const struct bench_outcome *b, const struct cmd_bench_opts *o)
{
    const struct session *s = &b->session;
    bool broken = false, undecided = false;
    bool lost = tell_lost_gates(s, &o->max_regression);
    if (s->stopped && s->set.series.n == 0)
        command_say("interrupted before anything was measured");
    for (size_t i = 0; i < s->notes.n; i++)
        command_say("note: %s", s->notes.at[i]);
    if (s->failed_runs)
        command_say("note: %zu runs ended with an exit code other than 0, and were ignored",
                    s->failed_runs);
    for (size_t i = 0; i < s->comparisons.n; i++) {
        const struct session_comparison *c = &s->comparisons.at[i];
        if (isnan(c->limit) || c->gate == GATE_HOLDS)
            continue;
        tell_gate(b, c);
        broken |= c->gate == GATE_BROKEN;
        undecided |= c->gate == GATE_UNDECIDED;
    }
    if (broken)
        return EXIT_FAILS;
    if (s->stopped || lost)
        return s->stopped ? EXIT_STOPPED : EXIT_ERROR;
    return undecided ? EXIT_INCONCLUSIVE : EXIT_OK;
}
