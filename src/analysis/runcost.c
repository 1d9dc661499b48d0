/* runcost.c - CPU time or total of a run; see runcost.h. */
#include "analysis/runcost.h"

#include "analysis/quality.h"
#include "base/calc.h"

#include <math.h>

/* --- scope --- */

static bool has_kernel_frames(const struct profile *p)
{
    for (size_t i = 0; i < p->frames.n; i++)
        if (p->frames.at[i].kind == FRAME_KERNEL)
            return true;
    return false;
}

/* Behind the last colon of "cycles:u": only 'u' or only 'k' hides the other. */
static bool event_says(const char *event, char who, char other)
{
    const char *colon = event ? strrchr(event, ':') : NULL;
    return colon && strchr(colon, who) && !strchr(colon, other) &&
           strspn(colon + 1, "ukhpPGHISDW") == strlen(colon + 1);
}

/* Whether "--user-only" is among the options of a recording; the command's own come behind "--". */
static bool asked_for_user_only(const struct meta *m)
{
    const char *options = meta_find(m, META_OPTIONS);
    struct text rest = text_of(options ? options : "");
    while (rest.n) {
        struct text word = text_cut(&rest, ' ');
        if (text_is(word, "--"))
            return false;
        if (text_is(word, "--user-only"))
            return true;
    }
    return false;
}

/*
 * A recording that could not see the kernel says so; of other inputs kernel code shows that it was
 * seen, and its absence shows nothing.
 */
const char *runcost_scope(const struct selection *s)
{
    const struct profile *p = s->profile;
    const char *event = profile_str(p, s->stream->event).at;
    const char *hidden = meta_find(&p->meta, META_KERNEL_HIDDEN);
    if ((hidden && strcmp(hidden, "yes") == 0) || asked_for_user_only(&p->meta) ||
        event_says(event, 'u', 'k'))
        return "without the kernel";
    if (event_says(event, 'k', 'u'))
        return "only the kernel";
    return hidden || has_kernel_frames(p) ? "with the kernel" : NULL;
}

/* --- cost --- */

static double total_of(const struct selection *s)
{
    return (double)s->total / calc_ten_to(selection_value(s)->decimals);
}

/* The CPU time of the process, or that part of it which the selected rows are. */
static double by_process(const struct selection *s)
{
    uint64_t ns;
    const char *scope = runcost_scope(s);
    double column = (double)selection_value(s)->total;
    if (!meta_find_u64(&s->profile->meta, META_CPU_TIME_NS, &ns) || !(column > 0) ||
        (scope && strcmp(scope, "with the kernel") != 0))
        return 0;
    return (double)ns / 1e9 * ((double)s->total / column);
}

static double by_column(const struct selection *s)
{
    if (selection_value(s)->dimension == DIM_TIME)
        return total_of(s) / 1e9;
    for (int i = 0; i < s->stream->n_types; i++) {
        struct selection time = selection_of_type(s, i);
        if (s->stream->types[i].dimension == DIM_TIME && time.total > 0)
            return total_of(&time) / 1e9;
    }
    bool samples = selection_value(s)->role == ROLE_SAMPLES;
    return samples && s->stream->rate_hz > 0 ? total_of(s) / s->stream->rate_hz : 0;
}

struct runcost runcost_of(const struct selection *s)
{
    enum quantity q = selection_quantity(s);
    bool cpu = q == QUANTITY_CPU_TIME || q == QUANTITY_UNKNOWN;
    double seconds = cpu ? by_process(s) : 0;
    if (cpu && !(seconds > 0) && q == QUANTITY_CPU_TIME)
        seconds = by_column(s) * quality_cpu_scale(s); /* as in a report */
    if (seconds > 0)
        return (struct runcost){RUNCOST_CPU, seconds};
    bool cycles =
        cpu && s->stream->obtained == BY_HARDWARE && selection_value(s)->role != ROLE_SAMPLES;
    if ((!cpu || cycles) && s->total > 0)
        return (struct runcost){RUNCOST_AMOUNT, total_of(s)};
    return (struct runcost){RUNCOST_UNKNOWN, 0};
}
