#include "view/caption.h"

#include "analysis/quality.h"
#include "base/units.h"

#include <math.h>

static bool is_scaled_unit(struct text unit)
{
    return text_is(unit, "nanoseconds") || text_is(unit, "bytes");
}

/* "1 sample", but "2 samples": names of columns are plurals already. */
static void add_word(struct buf *b, struct text word, bool one)
{
    if (one && word.n > 1 && text_ends(word, "s"))
        word.n--;
    buf_byte(b, ' ');
    buf_add(b, word.at, word.n);
}

void caption_value(struct buf *b, const struct profile *p, int type, int64_t value)
{
    const struct sample_type *t = &p->types[type];
    struct text unit = profile_str(p, t->unit), name = profile_str(p, t->name);
    char s[UNITS_MAX];
    if (is_scaled_unit(unit)) {
        buf_str(b, units_scaled(s, (double)value / pow(10, t->decimals), unit.at));
        return;
    }
    buf_str(b, units_decimal_count(s, value, t->decimals));
    bool countable = unit.n == 0 || text_is(unit, "count");
    if (countable ? name.n : unit.n)
        add_word(b, countable ? name : unit, value == 1 && t->decimals == 0);
}

static void separate(struct buf *b)
{
    buf_str(b, CAPTION_SEPARATOR);
}

static void add_kind(struct buf *b, const struct profile *p, struct text event)
{
    const char *kind = meta_find(&p->meta, META_KIND);
    if (event.n && meta_kind_of_event(event))
        kind = meta_kind_of_event(event);
    if (kind && strcmp(kind, META_KIND_SIMULATED) == 0)
        buf_str(b, "exact count by ");
    buf_str(b, kind ? kind : "kind not recorded");
}

static void add_samples(struct buf *b, const struct profile *p, int type)
{
    int counts = profile_count_type(p, type);
    if (counts >= 0) {
        caption_value(b, p, counts, p->types[counts].total);
        if (counts != type)
            separate(b);
    } else if (!quality_is_exact(p)) {
        buf_str(b, "samples not recorded");
        separate(b);
    }
    if (counts != type)
        caption_value(b, p, type, p->types[type].total);
}

static void add_lost(struct buf *b, const struct profile *p)
{
    uint64_t lost;
    char s[UNITS_MAX];
    buf_str(b, "lost: ");
    if (meta_find_u64(&p->meta, META_LOST, &lost))
        buf_str(b, units_count(s, lost));
    else
        buf_str(b, "not recorded");
}

static void add_source(struct buf *b, const struct profile *p)
{
    const char *source = meta_find(&p->meta, META_SOURCE);
    const char *format = meta_find(&p->meta, META_FORMAT);
    if (source)
        buf_str(b, source);
    if (format)
        buf_printf(b, source ? " (%s)" : "%s", format);
    if (source || format)
        separate(b);
}

void caption_build(struct buf *b, const struct profile *p, int type)
{
    struct text event = profile_str(p, p->types[type].event);
    add_kind(b, p, event);
    separate(b);
    if (event.n)
        buf_printf(b, "event %.*s", TEXT_ARG(event));
    else
        buf_str(b, "event not recorded");
    separate(b);
    add_samples(b, p, type);
    separate(b);
    if (!quality_is_exact(p)) {
        add_lost(b, p);
        separate(b);
    }
    add_source(b, p);
    buf_str(b, "kelvin " KELVIN_VERSION);
}

/*
 * A number of whole counts that are not known to be samples still bounds them from above: each
 * sample counts one or more.
 */
static void warn_few(struct buf *b, const struct profile *p, int type)
{
    int counts = profile_count_type(p, type);
    if (counts < 0 && quality_is_exact(p))
        return;
    if (counts < 0)
        counts = type;
    const struct sample_type *t = &p->types[counts];
    if (t->decimals || is_scaled_unit(profile_str(p, t->unit)) || t->total >= QUALITY_FEW_SAMPLES)
        return;
    buf_str(b, "only ");
    caption_value(b, p, counts, t->total);
    buf_str(b, ": shares are rough\n");
}

/* More than one in a hundred lost shifts shares visibly. */
static void warn_lost(struct buf *b, const struct profile *p, int type)
{
    uint64_t lost;
    int counts = profile_count_type(p, type);
    if (counts < 0 || !meta_find_u64(&p->meta, META_LOST, &lost) || lost == 0)
        return;
    double share = 100 * (double)lost / ((double)lost + (double)p->types[counts].total);
    if (share >= 1)
        buf_printf(b, "%.3g%% of the samples were lost: shares may be shifted\n", share);
}

void caption_warnings(struct buf *b, const struct profile *p, int type)
{
    const char *cut = meta_find(&p->meta, META_CUT);
    if (cut)
        buf_printf(b, "the input is incomplete: %s\n", cut);
    warn_few(b, p, type);
    warn_lost(b, p, type);
}
