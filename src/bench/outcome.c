/* outcome.c - from a session to its verdicts; see outcome.h. */
#include "bench/outcome.h"
#include "bench/baseline.h"
#include "bench/count.h"
#include "bench/gates.h"
#include "bench/session_inner.h"

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void describe_blocks(struct buf *to, const struct session *s)
{
    size_t members = s->plan->groups.n ? s->plan->groups.at[0].items.n : 0;
    if (members > 1)
        buf_printf(to, "%zu interleaved block%s of %zu runs in random order", s->blocks,
                   plural(s->blocks), members);
    else
        buf_printf(to, "%zu run%s%s", s->blocks, plural(s->blocks),
                   s->plan->groups.n > 1 ? " of each at most" : "");
}

/* The least number of runs took twice the time that there was for them. */
static bool session_took_longer(const struct session *s)
{
    size_t members = s->plan->groups.n == 1 ? s->plan->groups.at[0].items.n : 0;
    return members && !s->opts.runs && s->opts.min_runs <= 0 && !s->opts.exact && !s->stopped &&
           s->blocks == session_least(s, 0) && s->seconds > 2 * s->opts.time_s * (double)members;
}

static char *describe_design(const struct session *s, size_t comparisons)
{
    autobuf struct buf b = {0};
    describe_blocks(&b, s);
    if (comparisons > 0 && !s->opts.exact)
        buf_printf(&b, "; overall false-alarm risk %g%%", s->opts.risk * 100);
    if (s->opts.exact)
        buf_printf(&b, "; %s",
                   count_words(s->opts.allocations ? COUNT_ALLOCATIONS
                               : s->opts.count_valgrind & ~COUNTED(MEASURE_INSTRUCTIONS)
                                   ? COUNT_BY_MODEL
                               : s->opts.count_valgrind ? COUNT_BY_VALGRIND
                                                        : COUNT_BY_CPU));
    if (s->aa_tries > 0)
        buf_printf(&b,
                   "; the first command against itself, %d blocks at 5%% risk each: "
                   "%zu false alarm%s in %zu tries",
                   SESSION_AA_BLOCKS, s->aa_alarms, plural(s->aa_alarms), s->aa_tries);
    buf_printf(&b, "; took %.1f s", s->seconds);
    if (session_took_longer(s))
        buf_printf(&b, ", because at least %zu runs of each are needed", s->blocks);
    return mem_strdup(buf_cstr(&b));
}

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

static bool was_measured(const struct session *s, struct text name)
{
    for (size_t i = 0; i < s->set.series.n; i++)
        if (text_is(name, s->set.series.at[i].name) || text_is(name, s->origins.at[i].benchmark))
            return true;
    return name.n == 0;
}

static void find_lost_gates(struct outcome *o)
{
    const struct session *s = &o->session;
    for (size_t i = 0; s->opts.gates && i < s->opts.gates->n && !s->stopped; i++) {
        struct text name = gates_name(s->opts.gates->at[i]);
        if (!was_measured(s, name))
            *vec_push(&o->lost) = name;
    }
}

static void name_as_alone(struct series *series, const char *benchmark, const struct plan *p)
{
    free(series->name);
    series->name = mem_strdup(*benchmark ? benchmark : p->items.at[1].name);
}

/* Series are in the order of the commands: the first N are those of the baseline's program. */
static void split_series(struct outcome *o, size_t n)
{
    struct session *s = &o->session;
    size_t rest = s->set.series.n - n;
    for (size_t i = 0; i < s->set.series.n; i++)
        name_as_alone(&s->set.series.at[i], s->origins.at[i].benchmark, s->plan);
    for (size_t i = 0; i < n; i++) {
        *vec_push(&o->beside.series) = s->set.series.at[i];
        free(s->origins.at[i].benchmark);
    }
    memmove(s->set.series.at, s->set.series.at + n, rest * sizeof *s->set.series.at);
    memmove(s->origins.at, s->origins.at + n, (s->origins.n - n) * sizeof *s->origins.at);
    s->set.series.n = rest;
    s->origins.n -= n;
}

/*
 * The first of the commands was the program of a baseline: what it gave goes to `beside`, under the
 * names that benchmarks have where a command runs alone, and what was compared with it to
 * `against`.
 */
static void split_baseline(struct outcome *o)
{
    struct session *s = &o->session;
    size_t n = 0;
    while (n < s->set.series.n && s->origins.at[n].item == 0)
        n++;
    const struct series *all = s->set.series.at;
    for (size_t i = 0; i < s->comparisons.n; i++)
        *vec_push(&o->against) = s->comparisons.at[i];
    split_series(o, n);
    for (size_t i = 0; i < o->against.n; i++) {
        struct comparison *c = &o->against.at[i];
        c->before = o->beside.series.at + (c->before - all);
        c->after = s->set.series.at + (c->after - all) - n;
    }
    s->comparisons.n = 0;
    o->has_baseline = true;
}

void outcome_build(struct outcome *o)
{
    if (o->is_beside)
        split_baseline(o);
    sweeps_build(&o->sweeps, &o->session);
    drop_aa(&o->session);
    find_lost_gates(o);
    o->design = describe_design(&o->session, o->session.comparisons.n + o->against.n);
}

void outcome_compare(struct outcome *o, const struct series_set *before)
{
    const struct session_opts *with = &o->session.opts;
    struct verdict_rules rules = {with->measure, with->band, with->risk, with->gates, with->busy};
    verdict_compare_sets(&o->against, before, &o->session.set, &rules);
    o->has_baseline = true;
}

int outcome_code(const struct outcome *o)
{
    const struct session *s = &o->session;
    enum gate among = verdict_worst(s->comparisons.at, s->comparisons.n);
    enum gate against = o->has_baseline ? baseline_gate(&o->against) : GATE_NONE;
    if (among == GATE_BROKEN)
        return EXIT_FAILS;
    if (s->stopped)
        return EXIT_STOPPED;
    if (o->lost.n > 0)
        return EXIT_ERROR;
    return verdict_code(among > against ? among : against);
}

bool outcome_is_whole(int code)
{
    return code == EXIT_OK || code == EXIT_FAILS || code == EXIT_INCONCLUSIVE;
}

void outcome_done(struct outcome *o)
{
    vec_done(&o->against);
    vec_done(&o->lost);
    series_set_done(&o->beside);
    free(o->design);
    sweeps_done(&o->sweeps);
    session_done(&o->session);
}
