/* diff_unlike.c - profiles that should not be compared, and why. */
#include "analysis/diff.h"
#include "analysis/runcost.h"

static void diff_unlike_tell(struct buf *b, const char *what, const char *x, const char *y)
{
    if (x && y && strcmp(x, y) != 0)
        buf_printf(b, "%s differs: '%s' and '%s'\n", what, x, y);
}

static const char *diff_unlike_kind_of(const struct selection *s)
{
    enum obtained o = s->stream->obtained;
    return o == OBTAINED_UNKNOWN ? NULL : obtained_name(o);
}

static void compare_rates(const struct selection *x, const struct selection *y, struct buf *b)
{
    double a = x->stream->rate_hz, c = y->stream->rate_hz;
    if (a > 0 && c > 0 && a != c)
        buf_printf(b, "the sampling rate differs: '%.10g' and '%.10g'\n", a, c);
}

static void compare_values(const struct selection *x, const struct selection *y, struct buf *b)
{
    const struct value_type *s = selection_value(x), *t = selection_value(y);
    struct text e1 = selection_event(x), e2 = selection_event(y);
    if (e1.n && e2.n)
        diff_unlike_tell(b, "the event", e1.at, e2.at);
    diff_unlike_tell(b, "the value", profile_str(x->profile, s->name).at,
                     profile_str(y->profile, t->name).at);
    diff_unlike_tell(b, "the unit", profile_str(x->profile, s->unit).at,
                     profile_str(y->profile, t->unit).at);
    diff_unlike_tell(b, "the kind of samples", diff_unlike_kind_of(x), diff_unlike_kind_of(y));
    compare_rates(x, y, b);
}

/* --- all of it --- */

static const struct {
    const char *key, *what;
} alike[] = {
    {META_ENGINE, "the engine"},
    {META_HOST, "the host"},
    {META_CPU, "the CPU"},
    {META_ARCH, "the architecture"},
};

void diff_unlike(const struct diff_opts *o, struct buf *b)
{
    const struct selection *first = o->runs[0];
    for (size_t i = 1; i < o->n_runs && !b->n; i++) {
        const struct selection *run = o->runs[i];
        diff_programs(first->profile, run->profile, b);
        compare_values(first, run, b);
        for (size_t k = 0; k < sizeof alike / sizeof *alike; k++)
            diff_unlike_tell(b, alike[k].what, meta_find(&first->profile->meta, alike[k].key),
                             meta_find(&run->profile->meta, alike[k].key));
        diff_unlike_tell(b, "the scope", runcost_scope(first), runcost_scope(run));
    }
}
