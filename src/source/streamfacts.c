#include "source/streamfacts.h"

static double streamfacts_number_of(struct text value)
{
    int64_t v;
    int decimals;
    if (!text_decimal(value, &v, &decimals))
        return 0;
    double d = (double)v;
    while (decimals-- > 0)
        d /= 10;
    return d;
}

static void set_end(struct profile *p, int stream, struct text why, uint64_t n)
{
    autofree char *text = mem_strndup(why.at, why.n);
    profile_set_unfinished(p, stream, text, n);
}

void streamfacts_set(struct profile *p, int stream, struct text key, struct text value)
{
    struct stream *s = profile_stream(p, stream);
    static const char ends[] = "unfinished:";
    uint64_t n = 0;
    bool whole = text_u64(value, 10, &n);
    if (text_is(key, "event"))
        s->event = profile_add_str(p, value);
    else if (text_is(key, "obtained"))
        s->obtained = obtained_find(value);
    else if (text_is(key, "rate_hz"))
        s->rate_hz = streamfacts_number_of(value);
    else if (text_is(key, "rate_achieved_hz"))
        s->rate_achieved_hz = streamfacts_number_of(value);
    else if (text_is(key, "lost")) {
        s->lost = n;
        s->lost_known = whole;
    } else if (text_is(key, "throttled"))
        s->throttled = n;
    else if (text_is(key, "unfinished"))
        s->unfinished_known = true;
    else if (whole && text_starts(key, ends))
        set_end(p, stream, (struct text){key.at + sizeof ends - 1, key.n - sizeof ends + 1}, n);
}
