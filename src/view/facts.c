#include "view/facts.h"

#include "base/units.h"

#include <time.h>

/* --- of the stream --- */

static bool add_kind(struct buf *b, const struct selection *s)
{
    buf_str(b, obtained_name(s->stream->obtained));
    return s->stream->obtained != OBTAINED_UNKNOWN;
}

static bool add_event(struct buf *b, const struct selection *s)
{
    struct text event = selection_event(s);
    buf_add(b, event.at, event.n);
    return event.n > 0;
}

static bool add_samples(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%lld", (long long)s->n_samples);
    return s->count_type >= 0;
}

static bool add_lost(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%llu", (unsigned long long)s->stream->lost);
    return s->stream->lost_known;
}

static bool add_rate(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%.10g", s->stream->rate_hz);
    return s->stream->rate_hz > 0;
}

static bool add_rate_achieved(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%.0f", s->stream->rate_achieved_hz);
    return s->stream->rate_achieved_hz > 0;
}

static bool add_throttled(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%llu", (unsigned long long)s->stream->throttled);
    return s->stream->throttled > 0;
}

/* "12 (no unwind rules 8, stack cut 4)" */
static bool add_unfinished(struct buf *b, const struct selection *s)
{
    const struct stream *stream = s->stream;
    buf_printf(b, "%llu", (unsigned long long)stream_unfinished(stream));
    for (int i = 0; i < stream->n_unfinished; i++)
        buf_printf(b, "%s%.*s %llu", i ? ", " : " (",
                   TEXT_ARG(profile_str(s->profile, stream->unfinished[i].why)),
                   (unsigned long long)stream->unfinished[i].n);
    buf_str(b, stream->n_unfinished ? ")" : "");
    return stream->unfinished_known;
}

static const struct {
    const char *key;
    bool (*add)(struct buf *b, const struct selection *s);
} of_stream[] = {
    {FACT_KIND, add_kind},           {FACT_EVENT, add_event},
    {FACT_SAMPLES, add_samples},     {FACT_LOST, add_lost},
    {FACT_RATE_HZ, add_rate},        {FACT_RATE_ACHIEVED_HZ, add_rate_achieved},
    {FACT_THROTTLED, add_throttled}, {FACT_UNFINISHED, add_unfinished},
};

/* --- of the file --- */

static bool add_date(struct buf *b, uint64_t since_1970_ns)
{
    char s[64];
    time_t seconds = (time_t)(since_1970_ns / 1000000000u);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || !strftime(s, sizeof s, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return false;
    buf_str(b, s);
    return true;
}

static bool add_meta(struct buf *b, const struct meta *m, const char *key)
{
    char s[UNITS_MAX];
    const char *value = meta_find(m, key);
    uint64_t ns;
    if (!value)
        return false;
    if (strcmp(key, META_TIME_NS) == 0 && meta_find_u64(m, key, &ns))
        return add_date(b, ns);
    bool is_duration = text_ends(text_of(key), "_ns") && meta_find_u64(m, key, &ns);
    buf_str(b, is_duration ? units_scaled(s, (double)ns, UNIT_TIME) : value);
    return true;
}

bool facts_add(struct buf *b, const struct selection *s, const char *key)
{
    size_t n = b->n;
    bool known = false, found = false;
    for (size_t i = 0; i < sizeof of_stream / sizeof *of_stream && !found; i++) {
        found = strcmp(of_stream[i].key, key) == 0;
        known = found && of_stream[i].add(b, s);
    }
    if (!found)
        known = add_meta(b, &s->profile->meta, key);
    b->n = known ? b->n : n;
    return known;
}
