#include "view/facts.h"

#include <math.h>

/* --- of the stream --- */

/* One fact, from which both the words and the JSON are made. */
struct fact {
    bool known;
    const char *words; /* NULL: it is a number */
    double number;
};

static struct fact fact_number(double number, bool known)
{
    return (struct fact){.known = known, .number = number};
}

static struct fact fact_words(const char *words)
{
    return (struct fact){.known = words && *words, .words = words ? words : ""};
}

static struct fact get_kind(const struct selection *s)
{
    bool known = s->stream->obtained != OBTAINED_UNKNOWN;
    return fact_words(known ? obtained_name(s->stream->obtained) : NULL);
}

static struct fact get_event(const struct selection *s)
{
    return fact_words(selection_event(s).at);
}

static struct fact get_samples(const struct selection *s)
{
    return fact_number((double)s->n_samples, s->count_type >= 0);
}

static struct fact get_lost(const struct selection *s)
{
    return fact_number((double)s->stream->lost, s->stream->lost_known);
}

static struct fact get_rate(const struct selection *s)
{
    return fact_number(s->stream->rate_hz, s->stream->rate_hz > 0);
}

/* Measured, so what is behind the point means nothing. */
static struct fact get_rate_achieved(const struct selection *s)
{
    return fact_number(round(s->stream->rate_achieved_hz), s->stream->rate_achieved_hz > 0);
}

static struct fact get_throttled(const struct selection *s)
{
    return fact_number((double)s->stream->throttled, true);
}

static struct fact get_unfinished(const struct selection *s)
{
    return fact_number((double)stream_unfinished(s->stream), s->stream->unfinished_known);
}

static struct fact get_guessed(const struct selection *s)
{
    return fact_number((double)s->stream->guessed, true);
}

/* " (no unwind rules 8, stack cut 4)" */
static void add_unfinished_why(struct buf *b, const struct selection *s)
{
    const struct stream *stream = s->stream;
    for (int i = 0; i < stream->n_unfinished; i++)
        buf_printf(b, "%s%.*s %llu", i ? ", " : " (",
                   TEXT_ARG(profile_str(s->profile, stream->unfinished[i].why)),
                   (unsigned long long)stream->unfinished[i].n);
    buf_str(b, stream->n_unfinished ? ")" : "");
}

struct fact_row {
    const char *key, *title;
    struct fact (*get)(const struct selection *s);
    bool zero_is_usual; /* and not worth a line */
    void (*add_more)(struct buf *b, const struct selection *s);
};

static const struct fact_row of_stream[] = {
    {FACT_KIND, "kind", get_kind},
    {FACT_EVENT, "event", get_event},
    {FACT_SAMPLES, "samples", get_samples},
    {FACT_LOST, "samples lost", get_lost},
    {FACT_RATE_HZ, "samples per second asked for", get_rate},
    {FACT_RATE_ACHIEVED_HZ, "samples per second of CPU time", get_rate_achieved},
    {FACT_THROTTLED, "times throttled", get_throttled, .zero_is_usual = true},
    {FACT_UNFINISHED, "unfinished stacks", get_unfinished, .add_more = add_unfinished_why},
    {FACT_GUESSED, "guessed stacks", get_guessed, .zero_is_usual = true},
};

static const struct fact_row *fact_row_find(const char *key)
{
    for (size_t i = 0; i < sizeof of_stream / sizeof *of_stream; i++)
        if (strcmp(of_stream[i].key, key) == 0)
            return &of_stream[i];
    return NULL;
}

static bool fact_add(struct buf *b, const struct selection *s, const struct fact_row *row)
{
    struct fact f = row->get(s);
    if (!f.known || (row->zero_is_usual && f.number == 0))
        return false;
    if (f.words)
        buf_str(b, f.words);
    else
        buf_printf(b, f.number == round(f.number) ? "%.0f" : "%.10g", f.number);
    if (row->add_more)
        row->add_more(b, s);
    return true;
}

void facts_put(struct json *j, const struct selection *s, const char *key)
{
    struct fact f = fact_row_find(key)->get(s);
    if (!f.known || f.words)
        json_put_str(j, key, f.known ? f.words : NULL);
    else
        json_put_number(j, key, f.number);
}

/* --- of either --- */

bool facts_add(struct buf *b, const struct selection *s, const char *key)
{
    const struct fact_row *row = fact_row_find(key);
    if (row)
        return fact_add(b, s, row);
    size_t n = b->n;
    bool known = meta_words_value(b, &s->profile->meta, key);
    b->n = known ? b->n : n;
    return known;
}

const char *facts_title(const char *key)
{
    const struct fact_row *row = fact_row_find(key);
    return row ? row->title : meta_words_title(key);
}
