#include "view/facts.h"

/* --- of the stream --- */

static bool add_kind(struct buf *b, const struct selection *s)
{
    buf_str(b, obtained_name(s->stream->obtained));
    return s->stream->obtained != OBTAINED_UNKNOWN;
}

static bool facts_add_event(struct buf *b, const struct selection *s)
{
    struct text event = selection_event(s);
    buf_add(b, event.at, event.n);
    return event.n > 0;
}

static bool facts_add_samples(struct buf *b, const struct selection *s)
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

static bool add_guessed(struct buf *b, const struct selection *s)
{
    buf_printf(b, "%llu", (unsigned long long)s->stream->guessed);
    return s->stream->guessed > 0;
}

static const struct {
    const char *key, *title;
    bool (*add)(struct buf *b, const struct selection *s);
} of_stream[] = {
    {FACT_KIND, "kind", add_kind},
    {FACT_EVENT, "event", facts_add_event},
    {FACT_SAMPLES, "samples", facts_add_samples},
    {FACT_LOST, "samples lost", add_lost},
    {FACT_RATE_HZ, "rate asked for, Hz", add_rate},
    {FACT_RATE_ACHIEVED_HZ, "rate achieved, Hz", add_rate_achieved},
    {FACT_THROTTLED, "times throttled", add_throttled},
    {FACT_UNFINISHED, "unfinished stacks", add_unfinished},
    {FACT_GUESSED, "guessed stacks", add_guessed},
};

/* --- of either --- */

bool facts_add(struct buf *b, const struct selection *s, const char *key)
{
    size_t n = b->n;
    bool known = false, found = false;
    for (size_t i = 0; i < sizeof of_stream / sizeof *of_stream && !found; i++) {
        found = strcmp(of_stream[i].key, key) == 0;
        known = found && of_stream[i].add(b, s);
    }
    if (!found)
        known = meta_words_value(b, &s->profile->meta, key);
    b->n = known ? b->n : n;
    return known;
}

const char *facts_title(const char *key)
{
    for (size_t i = 0; i < sizeof of_stream / sizeof *of_stream; i++)
        if (strcmp(of_stream[i].key, key) == 0)
            return of_stream[i].title;
    return meta_words_title(key);
}
