/* insight_data.c - rules about the recording's worth, and about waiting. */
#include "analysis/insight_inner.h"
#include "base/units.h"

#include <math.h>

INSIGHT_TEST(insight_test_few)
{
    (void)self;
    const struct quality *q = in->quality;
    if (!q->has_samples || q->samples >= QUALITY_FEW_SAMPLES)
        return false;
    struct interval i = stats_wilson(0.1, (double)q->samples, STATS_Z95);
    buf_printf(&ret->evidence,
               "only %lld sample%s: what shows as 10%% may be anything from %.0f%% to %.0f%%",
               (long long)q->samples, q->samples == 1 ? "" : "s", 100 * i.low, 100 * i.high);
    return true;
}

/* Of the whole stream: what a part of it lost is not known. */
static double samples_of_stream(const struct stream *s)
{
    int counts = stream_samples(s);
    return counts >= 0 ? (double)s->types[counts].total : 0;
}

INSIGHT_TEST(insight_test_lost)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    double share = (double)s->lost / ((double)s->lost + samples);
    char n[UNITS_MAX];
    if (!s->lost_known || s->lost == 0 || samples <= 0 || share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% of the samples were lost (%s)", 100 * share,
               units_count(n, s->lost));
    return true;
}

INSIGHT_TEST(insight_test_unfinished)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    if (!s->unfinished_known || samples <= 0)
        return false;
    double share = (double)stream_unfinished(s) / samples;
    if (share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% of the stacks do not reach the program's start",
               100 * share);
    return true;
}

/* --- code without names --- */

static bool has_no_name(const struct flat *f, uint32_t row)
{
    return text_starts(flat_name(f, row), "[") && text_ends(flat_name(f, row), "]");
}

/* By total: what an unnamed function calls has a name, but nobody can tell how it got there. */
INSIGHT_TEST(insight_test_unnamed)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        in_set[i] = has_no_name(f, i);
        if (in_set[i] && (best == UINT32_MAX || f->rows.at[i].total > f->rows.at[best].total))
            best = i;
    }
    struct flat_share total = flat_share_of_set(f, in_set, FLAT_TOTAL);
    struct flat_share own = flat_share_of_set(f, in_set, FLAT_SELF);
    if (best == UINT32_MAX || insight_surely(f, &total) < self->least)
        return false;
    insight_share(&ret->evidence, &total);
    buf_str(&ret->evidence, " goes to functions without a name and what they call (self ");
    insight_share(&ret->evidence, &own);
    buf_str(&ret->evidence, ")");
    struct text module = profile_module_name(f->profile, f->rows.at[best].mapping);
    if (module.n)
        buf_printf(&ret->evidence, ", mostly in %.*s", TEXT_ARG(module));
    return true;
}

/* --- waiting --- */

/* CPU time of the run: as the kernel counted it, else as much as was sampled and nothing lost. */
static uint64_t cpu_time_ns(const struct insight_input *in)
{
    const struct selection *s = in->functions->selection;
    const struct value_type *t = selection_value(s);
    uint64_t ns;
    if (meta_find_u64(&s->profile->meta, META_CPU_TIME_NS, &ns))
        return ns;
    bool sampled = selection_quantity(s) == QUANTITY_CPU_TIME && t->dimension == DIM_TIME;
    bool known = sampled && s->stream->lost_known && !s->stream->lost && t->total > 0 &&
                 text_is(profile_str(s->profile, t->unit), "nanoseconds") && !t->decimals;
    return known ? (uint64_t)t->total : 0;
}

/* What others took: a program that had to queue for a CPU did not wait for anything of its own. */
static uint64_t queued_ns(const struct insight_input *in)
{
    uint64_t ns;
    return meta_find_u64(&in->functions->profile->meta, META_QUEUED_NS, &ns) ? ns : 0;
}

double insight_waited(const struct insight_input *in)
{
    const struct selection *s = in->functions->selection;
    uint64_t wall_ns, cpu_ns = s->rows ? 0 : cpu_time_ns(in); /* rows: a part of the run */
    if (!cpu_ns || !meta_find_u64(&s->profile->meta, META_DURATION_NS, &wall_ns) || !wall_ns)
        return NAN;
    return 1 - (double)(cpu_ns + queued_ns(in)) / (double)wall_ns;
}

bool insight_waits(const struct insight_input *in)
{
    enum quantity q = selection_quantity(in->functions->selection);
    return (q == QUANTITY_CPU_TIME || q == QUANTITY_UNKNOWN) &&
           insight_waited(in) >= INSIGHT_WAITS; /* false where it is not known */
}

INSIGHT_TEST(insight_test_waiting)
{
    (void)self;
    uint64_t wall_ns;
    char wall[UNITS_MAX], cpu[UNITS_MAX];
    double waited = insight_waited(in);
    if (!insight_waits(in))
        return false;
    meta_find_u64(&in->functions->profile->meta, META_DURATION_NS, &wall_ns);
    buf_printf(&ret->evidence, "%s wall, %s CPU: off-CPU for %.0f%% of the run",
               units_scaled(wall, (double)wall_ns, UNIT_TIME),
               units_scaled(cpu, (double)cpu_time_ns(in), UNIT_TIME), 100 * waited);
    if (queued_ns(in))
        buf_str(&ret->evidence, ", not counting the wait for a CPU");
    return true;
}

INSIGHT_TEST(insight_test_busy)
{
    char queued[UNITS_MAX], wall[UNITS_MAX];
    uint64_t wall_ns, ns = in->functions->selection->rows ? 0 : queued_ns(in);
    if (!ns || !meta_find_u64(&in->functions->profile->meta, META_DURATION_NS, &wall_ns) ||
        (double)ns < self->least * (double)wall_ns)
        return false;
    buf_printf(&ret->evidence, "the program had to wait %s of its %s for a CPU",
               units_scaled(queued, (double)ns, UNIT_TIME),
               units_scaled(wall, (double)wall_ns, UNIT_TIME));
    return true;
}

INSIGHT_TEST(insight_test_empty)
{
    if (in->quality->empty_share < self->least)
        return false;
    buf_printf(&ret->evidence, "%.1f%% was sampled without any stack",
               100 * in->quality->empty_share);
    return true;
}
