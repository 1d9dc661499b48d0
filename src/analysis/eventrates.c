/* eventrates.c - counters by function; see eventrates.h. */
#include "analysis/eventrates.h"

#include "base/calc.h"

#include <math.h>

const char *const eventrate_names[EVENTRATES] = {"ipc", "cache_mpki", "l1_mpki", "branch_mpki"};
const char *const eventrate_titles[EVENTRATES] = {"instructions/cycle", "cache misses/1000",
                                                  "L1 misses/1000", "branch misses/1000"};

static const struct rate_parts {
    enum counted above, below;
    double times;
} rate_parts[EVENTRATES] = {
    [RATE_IPC] = {COUNTED_INSTRUCTIONS, COUNTED_CYCLES, 1},
    [RATE_CACHE_MISSES] = {COUNTED_CACHE_MISSES, COUNTED_INSTRUCTIONS, 1000},
    [RATE_L1_MISSES] = {COUNTED_L1_MISSES, COUNTED_INSTRUCTIONS, 1000},
    [RATE_BRANCH_MISSES] = {COUNTED_BRANCH_MISSES, COUNTED_INSTRUCTIONS, 1000},
};

enum counted eventrate_event(enum eventrate rate)
{
    return rate_parts[rate].above;
}

static void eventrate_add(struct eventrate_sum *s, enum counted what, double value, int64_t samples)
{
    s->value[what] += value;
    s->squares[what] += value * value / (samples > 1 ? (double)samples : 1); /* merged rows */
    s->samples[what] += samples > 0 ? (uint64_t)samples : 0;
}

/* The column of what the samples stand for: the first that does not count samples. */
static int weight_column(const struct stream *s)
{
    int count = stream_samples(s);
    for (int i = 0; i < s->n_types; i++)
        if (i != count)
            return i;
    return -1;
}

static bool is_core(const struct profile *p, const struct attr_node *n)
{
    return !n->attr.is_number && text_is(profile_str(p, n->attr.key), CORE_KEY);
}

size_t eventrates_cores(const struct profile *p, struct str_id ret[EVENTRATE_CORES])
{
    size_t n = 0;
    for (size_t k = 1; k < p->attrs.nodes.n && n < EVENTRATE_CORES; k++) {
        const struct attr_node *node = &p->attrs.nodes.at[k];
        bool seen = !is_core(p, node);
        for (size_t o = 0; !seen && o < n; o++)
            seen = ret[o].i == node->attr.text.i;
        if (!seen)
            ret[n++] = node->attr.text;
    }
    return n;
}

/* Whether row I was counted on that kind of core. */
static bool eventrates_takes(const struct profile *p, const struct stream *s, size_t i,
                             struct str_id core)
{
    for (uint32_t at = s->rows.attrs ? s->rows.attrs[i].i : 0; core.i && at;
         at = p->attrs.nodes.at[at].parent.i) {
        const struct attr_node *n = &p->attrs.nodes.at[at];
        if (is_core(p, n))
            return n->attr.text.i == core.i;
    }
    return core.i == 0;
}

static void sum_stream(struct eventrates *r, const struct flat *f, const struct stream *s,
                       enum counted what, struct str_id core)
{
    int weight = weight_column(s), count = stream_samples(s);
    if (weight < 0 || count < 0)
        return;
    r->has_event[what] |= core.i == 0;
    double scale = calc_ten_to(s->types[weight].decimals);
    for (size_t i = 0; i < s->rows.n; i++) {
        if (!eventrates_takes(f->profile, s, i, core))
            continue;
        r->has_event[what] = true;
        struct stack_id stack = selection_visible(f->selection, s->rows.stack[i]);
        uint32_t row =
            stack.i ? flat_leaf_of(f, f->profile->stacks.nodes.at[stack.i].frame) : FLAT_NOBODY;
        double value = (double)s->rows.value[weight][i] / scale;
        eventrate_add(&r->whole, what, value, s->rows.value[count][i]);
        if (row != FLAT_NOBODY)
            eventrate_add(&r->rows[row], what, value, s->rows.value[count][i]);
    }
}

struct eventrates eventrates_build(const struct flat *f, struct str_id core)
{
    struct eventrates r = {.rows = mem_calloc(f->rows.n + 1, sizeof *r.rows)};
    const struct profile *p = f->profile;
    for (int i = 0; !f->selection->rows && i < (int)p->streams.n; i++) {
        const struct stream *s = profile_stream(p, i);
        enum counted what = counted_of(p, s);
        if (what != COUNTED_OTHER)
            sum_stream(&r, f, s, what, core);
    }
    for (int i = 0; i < EVENTRATES; i++)
        r.has[i] = r.has_event[rate_parts[i].above] && r.has_event[rate_parts[i].below];
    return r;
}

void eventrates_done(struct eventrates *r)
{
    free(r->rows);
    r->rows = NULL;
}

bool eventrates_any(const struct eventrates *r)
{
    bool any = false;
    for (int i = 0; i < EVENTRATES; i++)
        any |= r->has[i];
    return any;
}

/* Of the logarithm of an estimated sum. */
static double log_variance(const struct eventrate_sum *s, enum counted what)
{
    return s->squares[what] / (s->value[what] * s->value[what]);
}

struct eventrate_value eventrate_of(const struct eventrate_sum *s, enum eventrate rate)
{
    const struct rate_parts *part = &rate_parts[rate];
    struct eventrate_value v = {NAN, {-INFINITY, INFINITY}};
    if (s->samples[part->above] < EVENTRATE_FEW || s->samples[part->below] < EVENTRATE_FEW ||
        !(s->value[part->below] > 0) || !(s->value[part->above] > 0))
        return v;
    v.value = part->times * s->value[part->above] / s->value[part->below];
    double reach =
        calc_exp(STATS_Z95 * sqrt(log_variance(s, part->above) + log_variance(s, part->below)));
    v.interval = (struct interval){v.value / reach, v.value * reach};
    return v;
}
