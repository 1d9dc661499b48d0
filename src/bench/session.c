/* session.c - blocks, turns, time; see session.h. */
#include "bench/session.h"
#include "base/clock.h"
#include "bench/session_inner.h"

#include <math.h>

void session_note(struct session *s, char *note)
{
    for (size_t i = 0; i < s->notes.n; i++)
        if (strcmp(s->notes.at[i], note) == 0) {
            free(note);
            return;
        }
    *vec_push(&s->notes) = note;
}

void session_done(struct session *s)
{
    for (size_t i = 0; i < s->origins.n; i++)
        free(s->origins.at[i].benchmark);
    for (size_t i = 0; i < s->notes.n; i++)
        free(s->notes.at[i]);
    vec_done(&s->origins);
    vec_done(&s->notes);
    vec_done(&s->comparisons);
    vec_done(&s->pairs);
    buf_done(&s->said);
    series_set_done(&s->set);
    for (size_t i = 0; s->groups && i < s->plan->groups.n; i++)
        order_done(&s->groups[i].order);
    free(s->groups);
    starter_run_done(&s->run);
    starter_close(s->starter);
}

/* --- what is left to do --- */

static double budget_s(const struct session *s, size_t g)
{
    return s->opts.time_s * (double)s->plan->groups.at[g].items.n;
}

static size_t most_blocks(const struct session *s)
{
    long most = s->opts.runs ? s->opts.runs : s->opts.max_runs;
    return most > 0 ? (size_t)most : SIZE_MAX;
}

static bool out_of_time(const struct session *s, size_t g)
{
    const struct session_group *group = &s->groups[g];
    if (group->blocks >= most_blocks(s))
        return true;
    if (s->opts.runs > 0 || group->blocks < session_least(s, g))
        return false;
    return group->spent_s >= budget_s(s, g);
}

/* How far a group is, as a share. */
static double share_done(const struct session *s, size_t g)
{
    const struct session_group *group = &s->groups[g];
    if (group->done)
        return 1;
    if (s->opts.runs > 0)
        return (double)group->blocks / (double)s->opts.runs;
    double by_time = group->spent_s / fmax(budget_s(s, g), 1e-9);
    double by_blocks = (double)group->blocks / (double)session_least(s, g);
    return fmin(fmin(by_time, by_blocks), 1);
}

static void tell_progress(struct session *s, size_t item)
{
    if (!s->opts.progress || clock_monotonic_s() - s->told_s < 0.1)
        return;
    s->told_s = clock_monotonic_s();
    struct session_progress p = {.blocks = s->blocks,
                                 .name = s->plan->items.at[item].name,
                                 .middle = NAN,
                                 .half = NAN,
                                 .ratio = NAN,
                                 .measure = s->opts.measure};
    double elapsed_s = clock_monotonic_s() - s->started_s;
    for (size_t g = 0; g < s->plan->groups.n; g++)
        p.done += share_done(s, g) / (double)s->plan->groups.n;
    p.left_s = p.done > 0 ? elapsed_s * (1 - p.done) / p.done : 0;
    for (size_t i = 0; i < s->pairs.n && isnan(p.ratio); i++)
        if (!s->pairs.at[i].final) {
            p.ratio = s->pairs.at[i].c.paired.ratio;
            p.low = s->pairs.at[i].c.paired.interval.low;
            p.high = s->pairs.at[i].c.paired.interval.high;
        }
    session_middle(s, item, &p);
    s->opts.progress(s->opts.progress_to, &p);
}

/* --- blocks --- */

static int run_block(struct session *s, size_t g, struct err *err)
{
    const struct plan_group *members = &s->plan->groups.at[g];
    struct session_group *group = &s->groups[g];
    autofree size_t *order = mem_calloc(members->items.n, sizeof *order);
    size_t pad_bytes = s->opts.exact ? 0 : order_random(&s->rng, STARTER_PAD_MAX);
    double before_s = clock_monotonic_s();
    order_next(&group->order, order);
    for (size_t i = 0; i < members->items.n && !s->stopped; i++) {
        size_t item = members->items.at[order[i]];
        tell_progress(s, item);
        if (session_measure(s, item, pad_bytes, (long)group->blocks, err) != 0)
            return -1;
    }
    group->spent_s += clock_monotonic_s() - before_s;
    if (s->stopped)
        return 0;
    group->blocks++;
    if (group->blocks > s->blocks)
        s->blocks = group->blocks;
    return 0;
}

static int session_take_turn(struct session *s, size_t g, struct err *err)
{
    if (s->groups[g].done || s->stopped)
        return 0;
    if (run_block(s, g, err) != 0)
        return -1;
    if (s->stopped || !out_of_time(s, g)) {
        session_judge(s, g);
        return 0;
    }
    session_judge_last(s, g);
    s->groups[g].done = true;
    return 0;
}

/* Groups in a new random order each round, so that none is always measured at the same pace. */
static int run_blocks(struct session *s, struct err *err)
{
    struct order turns;
    size_t n = s->plan->groups.n, left = n;
    autofree size_t *at = mem_calloc(n, sizeof *at);
    int rc = 0;
    order_init(&turns, n, &s->rng);
    while (left > 0 && !s->stopped && rc == 0) {
        order_next(&turns, at);
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = session_take_turn(s, at[i], err);
        left = 0;
        for (size_t i = 0; i < n; i++)
            left += !s->groups[i].done;
    }
    for (size_t g = 0; g < n; g++)
        if (!s->groups[g].done)
            session_judge_last(s, g);
    order_done(&turns);
    return rc;
}

/* --- before and after --- */

static int do_once(struct session *s, size_t (*which)(const struct plan_item *), const char *what,
                   struct err *err)
{
    autofree bool *did = mem_calloc(s->plan->commands.n + 1, sizeof *did);
    for (size_t i = 0; i < s->plan->items.n && !s->stopped; i++) {
        size_t command = which(&s->plan->items.at[i]);
        if (command == PLAN_NONE || did[command])
            continue;
        did[command] = true;
        if (session_do(s, command, what, err) != 0)
            return -1;
    }
    return 0;
}

static size_t setup_of(const struct plan_item *i)
{
    return i->setup;
}

static size_t cleanup_of(const struct plan_item *i)
{
    return i->cleanup;
}

static int warm_up(struct session *s, struct err *err)
{
    for (long k = 0; k < s->opts.warmup; k++)
        for (size_t i = 0; i < s->plan->items.n && !s->stopped; i++) {
            tell_progress(s, i);
            if (session_measure(s, i, 0, -1, err) != 0)
                return -1;
        }
    return 0;
}

/* Cleanup takes place after a failure too; of two failures the first is reported. */
static int run_all(struct session *s, struct err *err)
{
    struct err ignored;
    int rc = do_once(s, setup_of, "setup", err);
    if (rc == 0)
        rc = warm_up(s, err);
    s->started_s = clock_monotonic_s();
    if (rc == 0)
        rc = run_blocks(s, err);
    s->seconds = clock_monotonic_s() - s->started_s;
    if (rc == 0 && !s->stopped)
        session_doubt(s);
    bool stopped = s->stopped;
    enum trouble_help help = s->help;
    s->stopped = false;
    int after = do_once(s, cleanup_of, "cleanup", rc == 0 ? err : &ignored);
    s->stopped |= stopped;
    s->help = rc == 0 ? s->help : help;
    return rc == 0 ? after : rc;
}

/* --- in the end --- */

static size_t session_place_of(const struct session *s, size_t series)
{
    size_t place = 0, item = s->origins.at[series].item;
    for (size_t i = 0; i < s->origins.n; i++)
        place += s->origins.at[i].item < item || (s->origins.at[i].item == item && i < series);
    return place;
}

static int by_after(const void *a, const void *b)
{
    const struct session_pair *x = a, *y = b;
    return (x->after > y->after) - (x->after < y->after);
}

/* Runs were in random order; what is reported is in the order of the command line. */
static void put_in_order(struct session *s)
{
    size_t n = s->set.series.n;
    struct series *series = mem_calloc(n + 1, sizeof *series);
    struct session_origin *origins = mem_calloc(n + 1, sizeof *origins);
    autofree size_t *place = mem_calloc(n + 1, sizeof *place);
    for (size_t i = 0; i < n; i++) {
        place[i] = session_place_of(s, i);
        series[place[i]] = s->set.series.at[i];
        origins[place[i]] = s->origins.at[i];
    }
    for (size_t i = 0; i < s->pairs.n; i++) {
        s->pairs.at[i].before = place[s->pairs.at[i].before];
        s->pairs.at[i].after = place[s->pairs.at[i].after];
    }
    free(s->set.series.at);
    free(s->origins.at);
    s->set.series.at = series;
    s->origins.at = origins;
    s->set.series.cap = s->origins.cap = n + 1;
    if (s->pairs.n > 1)
        qsort(s->pairs.at, s->pairs.n, sizeof *s->pairs.at, by_after);
    session_conclude(s);
}

int session_run(struct session *s, const struct plan *p, const struct session_opts *o,
                const struct starter_opts *start, struct err *err)
{
    struct starter_opts with = *start;
    *s = (struct session){.plan = p, .opts = *o, .rng = o->seed};
    s->groups = mem_calloc(p->groups.n + 1, sizeof *s->groups);
    for (size_t g = 0; g < p->groups.n; g++)
        order_init(&s->groups[g].order, p->groups.at[g].items.n, &s->rng);
    autofree char *const **commands = mem_calloc(p->commands.n + 1, sizeof *commands);
    for (size_t i = 0; i < p->commands.n; i++)
        commands[i] = p->commands.at[i].at.at;
    with.commands = commands;
    with.n_commands = p->commands.n;
    if (starter_open(&s->starter, &with, err) != 0)
        return -1;
    int rc = run_all(s, err);
    starter_close(s->starter);
    s->starter = NULL;
    put_in_order(s);
    if (rc == 0)
        session_judge_aa(s);
    return rc;
}
