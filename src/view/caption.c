#include "view/caption.h"

#include "analysis/quality.h"
#include "base/calc.h"
#include "base/units.h"
#include "model/streamkind.h"

#include <math.h>

static bool is_scaled(const struct value_type *t)
{
    return t->dimension == DIM_TIME || t->dimension == DIM_BYTES;
}

/* "1 sample", but "2 samples": names of columns are plurals already. */
static void add_word(struct buf *b, struct text word, bool one)
{
    if (one && word.n > 1 && text_ends(word, "s"))
        word.n--;
    buf_byte(b, ' ');
    buf_add(b, word.at, word.n);
}

void caption_value(struct buf *b, const struct profile *p, const struct value_type *t,
                   int64_t value)
{
    struct text unit = profile_str(p, t->unit), name = profile_str(p, t->name);
    char s[UNITS_MAX];
    if (is_scaled(t)) {
        double scaled = (double)value / calc_ten_to(t->decimals);
        buf_str(b, units_scaled(s, scaled, dimension_scaled(t->dimension)));
        return;
    }
    buf_str(b, units_decimal_count(s, value, t->decimals));
    bool countable = t->dimension == DIM_COUNT;
    if (countable ? name.n : unit.n)
        add_word(b, countable ? name : unit, value == 1 && t->decimals == 0);
}

const struct value_type *caption_samples(const struct selection *s)
{
    return s->count_type >= 0 ? &s->stream->types[s->count_type] : NULL;
}

static void caption_separate(struct buf *b)
{
    buf_str(b, CAPTION_SEPARATOR);
}

static bool is_exact(const struct selection *s)
{
    return obtained_exactly(s->stream->obtained);
}

static void add_kind(struct buf *b, const struct selection *s)
{
    if (s->stream->obtained == BY_SIMULATION)
        buf_str(b, "exact count by ");
    if (s->stream->obtained == OBTAINED_UNKNOWN)
        buf_str(b, "kind ");
    buf_str(b, obtained_name(s->stream->obtained));
}

static bool is_wall(const struct selection *s)
{
    return stream_kind_of(s->profile, s->stream) == STREAM_WALL;
}

static void caption_add_samples(struct buf *b, const struct selection *s)
{
    const struct value_type *samples = caption_samples(s);
    if (is_wall(s)) {
        buf_str(b, "running by samples, waiting by switches");
        caption_separate(b);
    } else if (samples) {
        caption_value(b, s->profile, samples, s->n_samples);
        if (s->count_type != s->type)
            caption_separate(b);
    } else if (!is_exact(s)) {
        buf_str(b, "samples not recorded");
        caption_separate(b);
    }
    if (s->count_type != s->type)
        caption_value(b, s->profile, selection_value(s), s->total);
}

static void add_lost(struct buf *b, const struct stream *s)
{
    char n[UNITS_MAX];
    buf_str(b, "lost: ");
    buf_str(b, s->lost_known ? units_count(n, s->lost) : "not recorded");
}

/* Only where it is clearly less than all of it. */
static void caption_add_sampled(struct buf *b, const struct selection *s)
{
    double share = quality_sampled_share(s);
    if (share < 1)
        buf_printf(b, "sampled %.0f%% of the CPU time" CAPTION_SEPARATOR, 100 * share);
}

static void caption_add_source(struct buf *b, const struct profile *p)
{
    const char *source = meta_find(&p->meta, META_SOURCE);
    const char *format = meta_find(&p->meta, META_FORMAT);
    if (source)
        buf_str(b, source);
    if (format)
        buf_printf(b, source ? " (%s)" : "%s", format);
    if (source || format)
        caption_separate(b);
}

void caption_build(struct buf *b, const struct selection *s)
{
    struct text event = selection_event(s);
    add_kind(b, s);
    caption_separate(b);
    if (event.n)
        buf_printf(b, "event %.*s", TEXT_ARG(event));
    else
        buf_str(b, "event not recorded");
    caption_separate(b);
    caption_add_samples(b, s);
    caption_separate(b);
    if (!is_exact(s) && !is_wall(s)) {
        add_lost(b, s->stream);
        caption_separate(b);
        caption_add_sampled(b, s);
    }
    if (s->words)
        buf_printf(b, "selected: %s" CAPTION_SEPARATOR, s->words);
    caption_add_source(b, s->profile);
    buf_str(b, "kelvin " KELVIN_VERSION);
}

/* --- warnings --- */

/*
 * A number of whole counts that are not known to be samples still bounds them from above: each
 * sample counts one or more.
 */
static void warn_few(struct buf *b, const struct selection *s)
{
    const struct value_type *samples = caption_samples(s);
    const struct value_type *t = samples ? samples : selection_value(s);
    int64_t n = samples ? s->n_samples : s->total;
    if ((!samples && is_exact(s)) || stream_has_every_event(s->stream))
        return;
    if (t->decimals || is_scaled(t) || n >= QUALITY_FEW_SAMPLES)
        return;
    if (!n) {
        buf_str(b, "no samples: nothing is known about what ran\n");
        return;
    }
    buf_str(b, "only ");
    caption_value(b, s->profile, t, n);
    buf_str(b, ": shares are rough\n");
}

/* More than one in a hundred lost shifts shares visibly. */
static void warn_lost(struct buf *b, const struct selection *s)
{
    const struct value_type *samples = caption_samples(s);
    double lost = (double)s->stream->lost;
    if (!samples || !s->stream->lost_known || lost == 0)
        return;
    double share = 100 * lost / (lost + (double)samples->total);
    if (share >= 1)
        buf_printf(b, "%.3g%% of the samples were lost: shares may be shifted\n", share);
}

static void warn_sampled(struct buf *b, const struct selection *s)
{
    double share = quality_sampled_share(s);
    if (share < 1)
        buf_printf(b,
                   "samples stand for %.0f%% of the CPU time only: %s may have more than is "
                   "shown\n",
                   100 * share, quality_missed(s->profile));
}

/* Few guesses change no caller's share. */
#define GUESSED_TOLD 0.05

static void warn_guessed(struct buf *b, const struct selection *s)
{
    const struct value_type *samples = caption_samples(s);
    double share =
        samples && samples->total ? (double)s->stream->guessed / (double)samples->total : 0;
    if (share >= GUESSED_TOLD)
        buf_printf(b,
                   "%.0f%% of the stacks were guessed over a step that no unwind rule confirms: "
                   "their callers may be wrong, self time is not affected\n",
                   100 * fmin(share, 1));
}

/* Shares are of the time in the program's own code alone, however much the kernel did for it. */
static void warn_hidden_kernel(struct buf *b, const struct selection *s)
{
    const struct meta *m = &s->profile->meta;
    const char *hidden = meta_find(m, META_KERNEL_HIDDEN);
    uint64_t cpu_ns, seen_ns;
    if (!hidden || strcmp(hidden, "yes") != 0 || selection_quantity(s) == QUANTITY_MEMORY)
        return;
    buf_str(b, "no right to sample the kernel (kernel.perf_event_paranoid): ");
    if (quantity_is_time(selection_quantity(s)) && meta_find_u64(m, META_CPU_TIME_NS, &cpu_ns) &&
        meta_find_u64(m, META_SAMPLED_OF_NS, &seen_ns) && seen_ns < cpu_ns)
        buf_printf(b, "about %.0f%% of the CPU time is spent there and not shown\n",
                   100 * (double)(cpu_ns - seen_ns) / (double)cpu_ns);
    else
        buf_str(b, "what happens there is not shown\n");
}

void caption_warnings(struct buf *b, const struct selection *s)
{
    const char *cut = meta_find(&s->profile->meta, META_CUT);
    if (cut)
        buf_printf(b, "the input is incomplete: %s\n", cut);
    warn_few(b, s);
    warn_lost(b, s);
    warn_sampled(b, s);
    warn_guessed(b, s);
    warn_hidden_kernel(b, s);
}

/* --- what else there is --- */

enum { OTHERS_SHOWN = 12 };

static void add_other(struct buf *b, size_t *n, struct text name)
{
    if ((*n)++ < OTHERS_SHOWN)
        buf_printf(b, "%s%.*s", *n > 1 ? ", " : "", TEXT_ARG(name));
}

/* A stream is called after its event, or after the column that is shown of it. */
static struct text name_of_stream(const struct profile *p, const struct stream *s)
{
    int samples = stream_samples(s), type = samples == 0 && s->n_types > 1 ? 1 : 0;
    return profile_str(p, s->event.i ? s->event : s->types[type].name);
}

/* Columns of the same stream are a choice where each has a meaning of its own. */
static void caption_add_columns(struct buf *b, const struct selection *s, size_t *n)
{
    for (int i = 0; i < s->stream->n_types; i++)
        if (i != s->type && s->type != s->count_type && i != s->count_type)
            add_other(b, n, profile_str(s->profile, s->stream->types[i].name));
}

void caption_others(struct buf *b, const struct selection *s)
{
    autobuf struct buf others = {0};
    const struct profile *p = s->profile;
    size_t n = 0;
    caption_add_columns(&others, s, &n);
    bool by_column = n > 0;
    for (size_t i = 0; i < p->streams.n; i++)
        if (p->streams.at[i] != s->stream &&
            !stream_kind_is_detail(stream_kind_of(p, p->streams.at[i])))
            add_other(&others, &n, name_of_stream(p, p->streams.at[i]));
    if (!n)
        return;
    struct text shown =
        by_column ? profile_str(p, selection_value(s)->name) : name_of_stream(p, s->stream);
    buf_printf(b, "shown: %.*s; also in the input: %s", TEXT_ARG(shown), buf_cstr(&others));
    if (n > OTHERS_SHOWN)
        buf_printf(b, " and %zu more", n - OTHERS_SHOWN);
}
