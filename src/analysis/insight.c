/* insight.c - the rules; see insight.h. */
#include "analysis/insight.h"

#include "analysis/insight_names.h"
#include "base/units.h"
#include "base/utf8.h"

/* As many digits behind the point as the interval is worth. */
static int digits(const struct flat_share *s)
{
    return s->n_effective > 0 && s->interval.high - s->interval.low < 0.001 ? 2 : 1;
}

void insight_half(struct buf *b, const struct flat_share *s)
{
    if (s->n_effective > 0)
        buf_printf(b, "\xc2\xb1%.*f", digits(s), 50 * (s->interval.high - s->interval.low));
}

void insight_share(struct buf *b, const struct flat_share *s)
{
    buf_printf(b, "%.*f%%%s", digits(s), 100 * s->share, s->n_effective > 0 ? " " : "");
    insight_half(b, s);
}

/*
 * Where the true share is. Whole counts that are not known to be samples still bound their number
 * from above, as each sample counts one or more: what would be chance with that many is chance.
 */
static struct interval bounds(const struct flat *f, const struct flat_share *s)
{
    const struct value_type *t = selection_value(f->selection);
    if (s->n_effective > 0)
        return s->interval;
    if (t->decimals || t->dimension != DIM_COUNT)
        return (struct interval){s->share, s->share};
    return stats_wilson(s->share, (double)f->whole, STATS_Z95);
}

/* The share that can be counted on. */
static double surely(const struct flat *f, const struct flat_share *s)
{
    return bounds(f, s).low;
}

/* A name that fits into a sentence. */
static void add_short(struct buf *b, struct text name)
{
    enum { MOST = 60 };
    bool cut = utf8_count(name) > MOST;
    name = cut ? utf8_head(name, MOST - 3) : name;
    buf_add(b, name.at, name.n);
    buf_str(b, cut ? "..." : "");
}

static void add_name(struct buf *b, const struct flat *f, uint32_t row)
{
    add_short(b, flat_name(f, row));
}

/* --- functions known by name --- */

static uint32_t greatest(const int64_t *values, size_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        best = values[i] > values[best] ? i : best;
    return best;
}

/* "; most in malloc", the member with the largest self. */
static void add_member(struct buf *b, const struct flat *f, const bool *in_set)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (in_set[i] && (best == UINT32_MAX || f->rows.at[i].self > f->rows.at[best].self))
            best = i;
    if (best == UINT32_MAX || !f->rows.at[best].self)
        return;
    buf_str(b, ", most in ");
    add_name(b, f, best);
}

/* "; called most by parse (71% of it)", where one caller stands out. */
static void add_callers(struct buf *b, const struct flat *f, const bool *in_set)
{
    struct flat_calls c = flat_calls_of_set(f, in_set);
    uint32_t best = f->rows.n ? greatest(c.callers, f->rows.n) : 0;
    int64_t sum = c.from_nothing;
    for (size_t i = 0; i < f->rows.n; i++)
        sum += c.callers[i];
    if (f->rows.n && c.callers[best] > 0 && c.callers[best] >= sum / 5) {
        buf_str(b, "; called most by ");
        add_name(b, f, best);
        buf_printf(b, " (%.0f%% of it)", 100.0 * (double)c.callers[best] / (double)sum);
    }
    flat_calls_done(&c);
}

static bool test_names(const struct insight_input *in, const struct insight_rule *self,
                       struct buf *evidence)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (uint32_t i = 0; i < f->rows.n; i++)
        in_set[i] = names_match(self->names, flat_name(f, i), f->rows.at[i].kernel);
    struct flat_share s = flat_share_of_set(f, in_set, self->count);
    if (surely(f, &s) < self->least)
        return false;
    insight_share(evidence, &s);
    buf_printf(evidence, " is %s", self->what);
    add_member(evidence, f, in_set);
    add_callers(evidence, f, in_set);
    return true;
}

static bool test_kernel(const struct insight_input *in, const struct insight_rule *self,
                        struct buf *evidence)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    for (size_t i = 0; i < f->rows.n; i++)
        in_set[i] = f->rows.at[i].kernel;
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_SELF);
    if (surely(f, &s) < self->least)
        return false;
    insight_share(evidence, &s);
    buf_str(evidence, " is spent in the kernel");
    add_member(evidence, f, in_set);
    add_callers(evidence, f, in_set);
    return true;
}

/* --- the shape --- */

static bool test_dominating(const struct insight_input *in, const struct insight_rule *self,
                            struct buf *evidence)
{
    uint32_t row;
    const struct flat *f = in->functions;
    if (!flat_top(f, FLAT_SELF, 1, &row))
        return false;
    struct flat_share s = flat_share_of_row(f, row, FLAT_SELF);
    if (surely(f, &s) < self->least)
        return false;
    add_name(evidence, f, row);
    buf_str(evidence, " alone accounts for ");
    insight_share(evidence, &s);
    return true;
}

enum { FLAT_TOP_ROWS = 20 };

static bool test_flat(const struct insight_input *in, const struct insight_rule *self,
                      struct buf *evidence)
{
    (void)self;
    const struct flat *f = in->functions;
    uint32_t rows[FLAT_TOP_ROWS];
    if (flat_top(f, FLAT_SELF, FLAT_TOP_ROWS, rows) < FLAT_TOP_ROWS || f->whole <= 0)
        return false;
    int64_t sum = 0;
    for (size_t i = 0; i < FLAT_TOP_ROWS; i++)
        sum += f->rows.at[rows[i]].self;
    double top = (double)sum / (double)f->whole;
    struct flat_share s = flat_share_of_row(f, rows[0], FLAT_SELF);
    if (top > 0.5 || bounds(f, &s).high > 0.1)
        return false;
    buf_printf(evidence, "the top %d functions hold only %.0f%%, the first of them ", FLAT_TOP_ROWS,
               100 * top);
    insight_share(evidence, &s);
    return true;
}

enum { DEEP_NESTING = 50 };

static bool test_recursion(const struct insight_input *in, const struct insight_rule *self,
                           struct buf *evidence)
{
    const struct flat *f = in->functions;
    const struct flat_row *deepest = NULL;
    for (size_t i = 0; i < f->rows.n; i++) {
        const struct flat_row *r = &f->rows.at[i];
        bool matters = (double)r->total >= self->least * (double)f->whole;
        if (matters && r->nested >= DEEP_NESTING && (!deepest || r->nested > deepest->nested))
            deepest = r;
    }
    if (!deepest)
        return false;
    add_name(evidence, f, (uint32_t)(deepest - f->rows.at));
    buf_printf(evidence, " is up to %u times on one stack", deepest->nested);
    return true;
}

/* --- the code --- */

/* What was spent at the addresses of one function, whatever was inlined there. */
static struct flat_share share_of_code(const struct flat *f, const struct simd_row *c)
{
    const struct profile *p = f->profile;
    const struct mapping *file = &p->mappings.at[c->mapping.i];
    autofree bool *marked = mem_calloc(p->stacks.nodes.n, sizeof *marked);
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_id at = selection_visible(f->selection, (struct stack_id){(uint32_t)i});
        if (!at.i)
            continue;
        const struct frame *frame = profile_frame(p, p->stacks.nodes.at[at.i].frame);
        const struct mapping *m = &p->mappings.at[frame->mapping.i];
        marked[i] = frame->kind != FRAME_KERNEL && frame->pc - c->start < c->size_bytes &&
                    m->path.i == file->path.i && m->build_id.i == file->build_id.i;
    }
    return flat_share_of_stacks(f, marked);
}

static bool test_scalar(const struct insight_input *in, const struct insight_rule *self,
                        struct buf *evidence)
{
    char what[32];
    size_t n = 0;
    bool time = quantity_is_time(selection_quantity(in->functions->selection));
    for (size_t i = 0; i < in->n_code; i++) {
        const struct simd_row *c = &in->code[i];
        if (!simd_is_candidate(&c->hot))
            continue;
        struct flat_share s = share_of_code(in->functions, c);
        if (surely(in->functions, &s) < self->least)
            continue;
        buf_str(evidence, n++    ? ", "
                          : time ? "time is spent in loops of "
                                 : "much goes to loops of ");
        add_short(evidence, text_of(c->name));
        buf_str(evidence, " (");
        insight_share(evidence, &s);
        buf_printf(evidence, ", %s)", simd_describe(&c->hot, what));
    }
    buf_str(evidence, n ? " that compute one number at a time" : "");
    return n > 0;
}

/* --- the recording --- */

static bool test_few(const struct insight_input *in, const struct insight_rule *self,
                     struct buf *evidence)
{
    (void)self;
    const struct quality *q = in->quality;
    if (!q->has_samples || q->samples >= QUALITY_FEW_SAMPLES)
        return false;
    struct interval i = stats_wilson(0.1, (double)q->samples, STATS_Z95);
    buf_printf(evidence,
               "only %lld samples: what shows as 10%% may be anything from %.0f%% to %.0f%%",
               (long long)q->samples, 100 * i.low, 100 * i.high);
    return true;
}

/* Of the whole stream: what a part of it lost is not known. */
static double samples_of_stream(const struct stream *s)
{
    int counts = stream_samples(s);
    return counts >= 0 ? (double)s->types[counts].total : 0;
}

static bool test_lost(const struct insight_input *in, const struct insight_rule *self,
                      struct buf *evidence)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    double share = (double)s->lost / ((double)s->lost + samples);
    char n[UNITS_MAX];
    if (!s->lost_known || s->lost == 0 || samples <= 0 || share < self->least)
        return false;
    buf_printf(evidence, "%.1f%% of the samples were lost (%s)", 100 * share,
               units_count(n, s->lost));
    return true;
}

static bool test_unfinished(const struct insight_input *in, const struct insight_rule *self,
                            struct buf *evidence)
{
    const struct stream *s = in->functions->selection->stream;
    double samples = samples_of_stream(s);
    if (!s->unfinished_known || samples <= 0)
        return false;
    double share = (double)stream_unfinished(s) / samples;
    if (share < self->least)
        return false;
    buf_printf(evidence, "%.1f%% of the stacks do not reach the program's start", 100 * share);
    return true;
}

/* Share of what ran that has no name. */
static bool test_unnamed(const struct insight_input *in, const struct insight_rule *self,
                         struct buf *evidence)
{
    const struct flat *f = in->functions;
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        struct text name = flat_name(f, i);
        in_set[i] = text_starts(name, "[") && text_ends(name, "]");
        if (in_set[i] && (best == UINT32_MAX || f->rows.at[i].self > f->rows.at[best].self))
            best = i;
    }
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_SELF);
    if (surely(f, &s) < self->least)
        return false;
    insight_share(evidence, &s);
    buf_str(evidence, " is in functions whose names are not known");
    struct text module = profile_module_name(f->profile, f->rows.at[best].mapping);
    if (module.n)
        buf_printf(evidence, ", the largest of them in %.*s", TEXT_ARG(module));
    return true;
}

/* Where the time of the clock on the wall went. */
static bool test_waiting(const struct insight_input *in, const struct insight_rule *self,
                         struct buf *evidence)
{
    uint64_t wall_ns, cpu_ns;
    char wall[UNITS_MAX], cpu[UNITS_MAX];
    const struct meta *m = &in->functions->profile->meta;
    if (in->functions->selection->rows) /* a part of the run */
        return false;
    if (!meta_find_u64(m, META_DURATION_NS, &wall_ns) || !wall_ns ||
        !meta_find_u64(m, META_CPU_TIME_NS, &cpu_ns))
        return false;
    double waited = 1 - (double)cpu_ns / (double)wall_ns;
    if (waited < self->least)
        return false;
    buf_printf(evidence, "it took %s and %s of CPU time: %.0f%% of the time nothing of it ran",
               units_scaled(wall, (double)wall_ns, UNIT_TIME),
               units_scaled(cpu, (double)cpu_ns, UNIT_TIME), 100 * waited);
    return true;
}

static bool test_empty(const struct insight_input *in, const struct insight_rule *self,
                       struct buf *evidence)
{
    if (in->quality->empty_share < self->least)
        return false;
    buf_printf(evidence, "%.1f%% was sampled without any stack", 100 * in->quality->empty_share);
    return true;
}

/* What quantities a rule fits. Where the input does not say, most often CPU time was sampled. */
#define ON_CPU (1u << QUANTITY_CPU_TIME | 1u << QUANTITY_UNKNOWN)
#define RUNNING (ON_CPU | 1u << QUANTITY_WORK)

const struct insight_rule insight_rules[] = {
    {.id = "few-samples",
     .about_data = true,
     .test = test_few,
     .advice = "Record longer, or with a higher --rate, before acting on small shares."},
    {.id = "lost-samples",
     .about_data = true,
     .test = test_lost,
     .least = 0.01,
     .advice = "Busy moments lose the most, so shares may be shifted. Lower --rate."},
    {.id = "unfinished-stacks",
     .about_data = true,
     .test = test_unfinished,
     .least = 0.02,
     .advice = "Totals of the outer functions are too small by that much. A larger --stack-bytes, "
               "or unwind tables in the program (-fasynchronous-unwind-tables), mends it."},
    {.id = "unnamed",
     .about_data = true,
     .test = test_unnamed,
     .least = 0.1,
     .advice = "Install the debug symbols of that file, or set DEBUGINFOD_URLS, and record again."},
    {.id = "no-stacks",
     .about_data = true,
     .test = test_empty,
     .least = 0.02,
     .advice = "That part is in the total but in no function."},
    {.id = "waiting",
     .about_data = true,
     .fits = ON_CPU,
     .test = test_waiting,
     .least = 0.4,
     .advice =
         "Samples of CPU time do not show waiting: for input and output, locks, timers, or for "
         "a CPU that others use (see the load at start)."},
    {.id = "dominating",
     .fits = RUNNING | 1u << QUANTITY_ELAPSED,
     .test = test_dominating,
     .least = 0.5,
     .advice = "Start there: nothing else can pay as much. 'kelvin annotate' shows its hot lines."},
    {.id = "dominating",
     .fits = 1u << QUANTITY_MEMORY,
     .test = test_dominating,
     .least = 0.5,
     .advice = "Start there: fewer, smaller or shorter-lived allocations in it save the most "
               "memory. The hot paths show who asks for them."},
    {.id = "dominating",
     .fits = 1u << QUANTITY_EVENTS,
     .test = test_dominating,
     .least = 0.5,
     .advice = "Start there: most of these events happen in it. The hot paths show what leads to "
               "them."},
    {.id = "flat-profile",
     .fits = RUNNING,
     .test = test_flat,
     .advice = "No single function is worth tuning. Look for what all paths share: the hot paths "
               "and --by module show larger units; fewer calls beat faster ones."},
    {.id = "deep-recursion",
     .fits = RUNNING,
     .test = test_recursion,
     .least = 0.05,
     .advice = "Deep stacks cost memory and cache misses and may overflow: a loop with a work list "
               "of its own is safer."},
    {.id = "scalar-loop",
     .fits = RUNNING,
     .test = test_scalar,
     .least = 0.05,
     .advice = "Where iterations do not need each other's results, vectors do 2 to 16 numbers at "
               "once: try -O3 -march=native, and -ffast-math if sums may be rounded otherwise. "
               "-fopt-info-vec-missed (gcc) or -Rpass-missed=loop-vectorize (clang) tells what is "
               "in the way."},
    {.id = "allocation",
     .fits = RUNNING,
     .test = test_names,
     .names = names_allocation,
     .what = "memory allocation and release",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice = "Reuse buffers, reserve room ahead, or give short-lived objects an arena."},
    {.id = "hashing",
     .fits = RUNNING,
     .test = test_names,
     .names = names_hashing,
     .what = "hashing and hash tables",
     .count = FLAT_SELF,
     .least = 0.08,
     .advice = "Hash once and keep the result, size tables ahead, or use a cheaper hash."},
    {.id = "locks",
     .fits = RUNNING,
     .test = test_names,
     .names = names_locks,
     .what = "taking and handing over locks",
     .count = FLAT_TOTAL,
     .least = 0.03,
     .advice = "Hold locks for less, split them, or batch the work under them. Time spent asleep "
               "on a lock is not in CPU samples: the delay may be larger."},
    {.id = "copies",
     .fits = RUNNING,
     .test = test_names,
     .names = names_copies,
     .what = "copying and filling memory",
     .count = FLAT_SELF,
     .least = 0.05,
     .advice = "Pass references, move instead of copying, and clear only what is read."},
    {.id = "page-faults",
     .fits = RUNNING,
     .test = test_names,
     .names = names_faults,
     .what = "page faults",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice =
         "Each page of fresh memory costs a fault: reuse memory rather than give it back, raise "
         "malloc's trim and mmap thresholds, or use huge pages."},
    {.id = "exceptions",
     .fits = RUNNING,
     .test = test_names,
     .names = names_exceptions,
     .what = "throwing and catching exceptions",
     .count = FLAT_TOTAL,
     .least = 0.01,
     .advice = "Return errors that are expected as values; throw only what is rare."},
    {.id = "formatting",
     .fits = RUNNING,
     .test = test_names,
     .names = names_format,
     .what = "formatting text",
     .count = FLAT_TOTAL,
     .least = 0.05,
     .advice = "Format only what is shown, and write numbers with a direct routine "
               "(std::to_chars, itoa) where it is hot."},
    {.id = "kernel",
     .fits = RUNNING,
     .test = test_kernel,
     .least = 0.2,
     .advice =
         "See in the hot paths what leads there. For system calls: bigger buffers and batches; for "
         "page faults: memory that is reused."},
    {0},
};

struct insights insights_build(const struct insight_input *in)
{
    struct insights s = {0};
    unsigned quantity = 1u << selection_quantity(in->functions->selection);
    for (const struct insight_rule *r = insight_rules; r->id; r++) {
        autobuf struct buf b = {0};
        if ((!r->fits || r->fits & quantity) && r->test(in, r, &b))
            *vec_push(&s.at) = (struct insight){r, mem_strdup(buf_cstr(&b))};
    }
    return s;
}

void insights_done(struct insights *s)
{
    for (size_t i = 0; i < s->at.n; i++)
        free(s->at.at[i].evidence);
    vec_done(&s->at);
}
