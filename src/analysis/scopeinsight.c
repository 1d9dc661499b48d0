/*
 * How to add one: write a function that says something only where the numbers carry it, and name it
 * in scopeinsights_find().
 */
#include "analysis/scopeinsight.h"

#include "base/buf.h"
#include "base/units.h"
#include "model/waitstream.h"

#include <math.h>

/* A scope of which less than this share of the time was spent is not worth a sentence. */
#define WORTH 0.05

struct scope_looking {
    struct scopeinsights *to;
    const struct scopetree *t;
    const struct scopecpu *cpu;
    bool has_waits;
    double whole_ns; /* self times of all scopes: what threads spent in scopes */
};

static void scope_say(struct scope_looking *l, const char *title, struct buf *text,
                      const char *advice)
{
    findings_add(&l->to->found, &l->to->arena, title, text, advice);
}

static struct text name_of_scope(const struct scope_looking *l, const struct scope_node *n)
{
    return profile_str(l->t->selection->profile, n->name);
}

/* --- the way that most time takes --- */

/* From the longest scope down, as long as one inside has most of the time of the one around it. */
static void say_hot_path(struct scope_looking *l)
{
    const scope_nodes *tree = &l->t->tree;
    struct buf b = {0};
    char n[2][UNITS_MAX];
    size_t at = 0, steps = 0;
    if (!tree->n || !tree->at[0].sum.total_ns)
        return;
    buf_printf(&b, "%.*s", TEXT_ARG(name_of_scope(l, &tree->at[0])));
    /* The longest of those inside comes right after the one around them. */
    while (at + 1 < tree->n && tree->at[at + 1].parent == at + 1 &&
           tree->at[at + 1].sum.total_ns * 2 > tree->at[at].sum.total_ns) {
        at++;
        steps++;
        buf_printf(&b, " > %.*s", TEXT_ARG(name_of_scope(l, &tree->at[at])));
    }
    const struct scope_sum *s = &tree->at[at].sum;
    double share = (double)s->total_ns / (double)tree->at[0].sum.total_ns;
    buf_printf(&b, ": %s, %.0f%% of %.*s, in %s",
               units_scaled(n[0], (double)s->total_ns, SCALED_NS), 100 * share,
               TEXT_ARG(name_of_scope(l, &tree->at[0])), units_count(n[1], s->calls));
    buf_printf(&b, " call%s.", s->calls == 1 ? "" : "s");
    if (steps)
        scope_say(l, "Hot path", &b, "");
    else
        buf_done(&b);
}

/* --- tails --- */

/* "It was on a CPU for 3% of that time, and waited for a lock for 96%." */
static void tell_spent(struct buf *b, const struct scope_looking *l, const struct scope_sum *s)
{
    struct scope_spent spent = scopecpu_spent(l->cpu, l->t->selection->profile, s);
    double ns = (double)s->max_ns;
    if (spent.has_waits && (double)spent.blocked_ns > 0.2 * ns)
        buf_printf(b, " It was blocked for %.0f%% of that, most of it %s.",
                   100 * (double)spent.blocked_ns / ns, waitreason_about(spent.reason));
    else if (spent.has_waits && (double)spent.runnable_ns > 0.2 * ns)
        buf_printf(b, " It was runnable without a CPU for %.0f%% of that.",
                   100 * (double)spent.runnable_ns / ns);
    if (l->t->has_blocks) {
        double mean = (double)s->blocks.blocks / (double)s->calls;
        double here = (double)s->slowest.blocks.blocks;
        if (here > 10 && here > 2 * mean)
            buf_printf(b, " It allocated %.0f blocks; the mean is %.1f.", here, mean);
    }
}

static void say_tail(struct scope_looking *l, const struct scope_node *n)
{
    enum { CALLS_LEAST = 1000, FACTOR = 10 };
    const struct scope_sum *s = &n->sum;
    double p50 = (double)scope_sum_quantile_ns(s, 0.5),
           p99 = (double)scope_sum_quantile_ns(s, 0.99);
    struct buf b = {0};
    char text[3][UNITS_MAX];
    if (s->calls < CALLS_LEAST || p50 <= 0 || p99 < FACTOR * p50)
        return;
    buf_printf(&b, "%.*s: 1 call in 100 takes %s or longer, %.0f times the median (%s). ",
               TEXT_ARG(name_of_scope(l, n)), units_scaled(text[0], p99, SCALED_NS), p99 / p50,
               units_scaled(text[1], p50, SCALED_NS));
    buf_printf(&b, "The slowest took %s.", units_scaled(text[2], (double)s->max_ns, SCALED_NS));
    tell_spent(&b, l, s);
    scope_say(l, "Long tail", &b, "");
}

/* --- waiting --- */

/*
 * Of the time without scopes inside. Samples say it where there would be many if it ran: 50 at
 * least. Spans that cross threads have no self time, and nobody knows who ran for them.
 */
static void say_waits(struct scope_looking *l, const struct scope_node *n, size_t flat)
{
    enum { EXPECTED_LEAST = 50 };
    double self_ns = (double)n->sum.self_ns;
    if (!l->cpu || self_ns < WORTH * l->whole_ns)
        return;
    const struct scope_cpu *cpu = scopecpu_get(l->cpu, flat);
    double each_ns = scopecpu_total_ns(l->cpu) / (double)scopecpu_samples(l->cpu);
    if (!(self_ns / each_ns >= EXPECTED_LEAST) || !(cpu->self_cpu_ns < 0.2 * self_ns))
        return;
    struct buf b = {0};
    char text[UNITS_MAX];
    buf_printf(
        &b,
        "%.*s was on a CPU for %.1f%% of its self time, %s. The rest of the time it waited, or "
        "had no CPU.",
        TEXT_ARG(name_of_scope(l, n)), 100 * cpu->self_cpu_ns / self_ns,
        units_scaled(text, self_ns, SCALED_NS));
    scope_say(l, "Off-CPU", &b,
              l->has_waits ? "" : "Record with waits as well to see what it waited for.");
}

/* --- memory --- */

static void say_blocks(struct scope_looking *l)
{
    const struct scope_node *most = NULL;
    uint64_t all = 0;
    for (size_t i = 0; i < l->t->tree.n; i++)
        all += l->t->tree.at[i].parent ? 0 : l->t->tree.at[i].sum.blocks.blocks;
    /* The innermost scope that still has most of them. */
    for (size_t i = 0; i < l->t->tree.n; i++) {
        const struct scope_node *n = &l->t->tree.at[i];
        if (n->sum.blocks.blocks * 2 > all && n->sum.calls > 1 && (!most || n->depth > most->depth))
            most = n;
    }
    if (!most || most->sum.blocks.blocks < most->sum.calls)
        return;
    double calls = (double)most->sum.calls;
    struct buf b = {0};
    char text[UNITS_MAX];
    buf_printf(&b,
               "%.*s allocates %.1f blocks (%s) per call: %.0f%% of all that are allocated in "
               "scopes.",
               TEXT_ARG(name_of_scope(l, most)), (double)most->sum.blocks.blocks / calls,
               units_scaled(text, (double)most->sum.blocks.bytes / calls, SCALED_BYTES),
               100 * (double)most->sum.blocks.blocks / (double)all);
    scope_say(l, "Allocations", &b,
              "A report or flame graph of the heap in this scope shows the call stacks.");
}

/* --- scopes that are too short --- */

static void say_short(struct scope_looking *l, const struct scope_node *n)
{
    enum { SHORT_NS = 500, CALLS_LEAST = 100000 };
    struct buf b = {0};
    char text[2][UNITS_MAX];
    if (n->sum.calls < CALLS_LEAST || n->sum.mean_ns > SHORT_NS)
        return;
    buf_printf(&b,
               "%.*s takes %s on average, in %s calls. Recording a span costs some tens of "
               "nanoseconds, which count as time of any scope around it.",
               TEXT_ARG(name_of_scope(l, n)), units_scaled(text[0], n->sum.mean_ns, SCALED_NS),
               units_count(text[1], n->sum.calls));
    scope_say(l, "Short scopes", &b, "Put the scope around a longer piece of work.");
}

/* --- all of them --- */

void scopeinsights_find(struct scopeinsights *ret, const struct scopetree *t,
                        const struct scopecpu *cpu)
{
    struct scope_looking l = {.to = ret, .t = t, .cpu = cpu};
    struct waitstream ignored;
    *ret = (struct scopeinsights){0};
    l.has_waits = waitstream_find(t->selection->profile, &ignored);
    for (size_t i = 0; i < t->flat.n; i++)
        l.whole_ns += (double)t->flat.at[i].sum.self_ns;
    say_hot_path(&l);
    for (size_t i = 0; i < t->flat.n; i++) {
        const struct scope_node *n = &t->flat.at[i];
        if ((double)n->sum.total_ns < WORTH * l.whole_ns)
            continue;
        say_tail(&l, n);
        say_waits(&l, n, i);
        say_short(&l, n);
    }
    if (t->has_blocks)
        say_blocks(&l);
}

void scopeinsights_done(struct scopeinsights *s)
{
    vec_done(&s->found.at);
    arena_done(&s->arena);
}
