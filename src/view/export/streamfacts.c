#include "view/export/streamfacts.h"

struct facts {
    streamfacts_put *put;
    void *context;
};

static void put_count(const struct facts *f, const char *key, uint64_t n)
{
    char s[24];
    snprintf(s, sizeof s, "%llu", (unsigned long long)n);
    f->put(f->context, key, s);
}

/* Thousandths are as exact as a rate can be asked for. */
static void put_rate(const struct facts *f, const char *key, double hz)
{
    char s[48];
    if (!(hz > 0 && hz < 1e15))
        return;
    int n = snprintf(s, sizeof s, "%.9f", hz);
    while (n && s[n - 1] == '0')
        n--;
    s[n && s[n - 1] == '.' ? n - 1 : n] = '\0';
    f->put(f->context, key, s);
}

static void put_unfinished(const struct facts *f, const struct profile *p, const struct stream *s)
{
    if (s->unfinished_known)
        f->put(f->context, "unfinished", "");
    for (int i = 0; i < s->n_unfinished; i++) {
        autofree char *key = mem_printf("unfinished:%s", profile_str(p, s->unfinished[i].why).at);
        put_count(f, key, s->unfinished[i].n);
    }
}

void streamfacts_each(const struct profile *p, const struct stream *s, streamfacts_put *put,
                      void *context)
{
    struct facts f = {put, context};
    if (s->event.i)
        put(context, "event", profile_str(p, s->event).at);
    if (s->obtained != OBTAINED_UNKNOWN)
        put(context, "obtained", obtained_name(s->obtained));
    put_rate(&f, "rate_hz", s->rate_hz);
    put_rate(&f, "rate_achieved_hz", s->rate_achieved_hz);
    if (s->lost_known)
        put_count(&f, "lost", s->lost);
    if (s->throttled)
        put_count(&f, "throttled", s->throttled);
    put_unfinished(&f, p, s);
}

void streamfacts_put_json(void *json, const char *key, const char *value)
{
    json_put_str(json, key, value);
}

void streamfacts_put_clock(struct json *j, const struct profile *p)
{
    if (!p->clock.monotonic_ns && !p->clock.wall_ns)
        return;
    json_key(j, "clock");
    json_open(j, '[');
    json_uint(j, p->clock.monotonic_ns);
    json_uint(j, p->clock.wall_ns);
    json_close(j, ']');
}
