/* insight.c - asking the rules, and the words they share; see insight.h. */
#include "analysis/insight.h"

#include "analysis/insight_inner.h"
#include "base/shortname.h"

#include <math.h>

/* As many digits behind the point as the interval is worth. */
static int insight_digits(const struct flat_share *s)
{
    return s->n_effective > 0 && s->interval.high - s->interval.low < 0.001 ? 2 : 1;
}

void insight_interval(struct buf *b, double share, struct interval i, int digits)
{
    double half = (i.high - i.low) / 2;
    if (half <= share && half <= 1 - share)
        buf_printf(b, "\xc2\xb1%.*f", digits, 100 * half);
    else
        buf_printf(b, "(%.*f-%.*f)", digits, 100 * fmax(0, i.low), digits, 100 * fmin(1, i.high));
}

void insight_half(struct buf *b, const struct flat_share *s)
{
    if (s->n_effective > 0)
        insight_interval(b, s->share, s->interval, insight_digits(s));
}

void insight_share(struct buf *b, const struct flat_share *s)
{
    buf_printf(b, "%.*f%%%s", insight_digits(s), 100 * s->share, s->n_effective > 0 ? " " : "");
    insight_half(b, s);
}

/*
 * Where the true share is. Whole counts that are not known to be samples still bound their number
 * from above, as each sample counts one or more: what would be chance with that many is chance.
 */
struct interval insight_bounds(const struct flat *f, const struct flat_share *s)
{
    const struct value_type *t = selection_value(f->selection);
    if (s->n_effective > 0)
        return s->interval;
    if (t->decimals || t->dimension != DIM_COUNT)
        return (struct interval){s->share, s->share};
    return stats_wilson(s->share, (double)f->whole, STATS_Z95);
}

/* A name that fits into a sentence. */
void insight_name(struct buf *b, struct text name)
{
    enum { MOST = 60 };
    shortname_add(b, name, MOST);
}

/* --- samples that several rules count --- */

/* A smaller part in common is not worth a word. */
#define LEAST_SHARED 0.01

static double shared_part(const struct flat *f, const bool *a, const bool *b)
{
    int64_t sum = 0;
    for (size_t i = 0; i < f->n_places; i++)
        sum += a[i] && b[i] ? f->value_of_place[i] : 0;
    return f->whole > 0 ? (double)sum / (double)f->whole : 0;
}

/* "; 8.0% of the total is also counted under allocation": shares of insights do not add up. */
static void add_shared(struct insights *s, const struct flat *f, struct insight_found *found)
{
    double whole = shared_part(f, found->stacks, found->stacks);
    for (size_t i = 0; i < s->at.n; i++) {
        const struct insight *other = &s->at.at[i];
        double part = other->stacks ? shared_part(f, other->stacks, found->stacks) : 0;
        if (part < LEAST_SHARED)
            continue;
        buf_str(&found->evidence, "; ");
        if (part > 0.99 * whole)
            buf_str(&found->evidence, "all of that");
        else
            buf_printf(&found->evidence, "%.1f%% of the total", 100 * part);
        buf_printf(&found->evidence, " is also counted under %s", other->rule->id);
    }
}

static void insight_add(struct insights *s, const struct flat *f, const struct insight_rule *r,
                        struct insight_found *found)
{
    if (found->stacks)
        add_shared(s, f, found);
    const char *advice = found->advice.n ? buf_cstr(&found->advice) : r->advice;
    *vec_push(&s->at) = (struct insight){r, mem_strdup(buf_cstr(&found->evidence)),
                                         mem_strdup(advice), found->stacks};
}

/* Three samples of which one is a page fault say nothing of the program. */
enum { LEAST_FOR_ADVICE = 30 };

struct insights insights_build(const struct insight_input *in)
{
    struct insights s = {0};
    bool too_few = in->quality->has_samples && in->quality->samples < LEAST_FOR_ADVICE;
    unsigned quantity = 1u << selection_quantity(in->functions->selection);
    for (const struct insight_rule *r = insight_rules; r->id; r++) {
        struct insight_found found = {0};
        bool fits = (!r->fits || r->fits & quantity) && (r->about_data || !too_few);
        if (fits && r->test(in, r, &found))
            insight_add(&s, in->functions, r, &found);
        else
            free(found.stacks);
        buf_done(&found.evidence);
        buf_done(&found.advice);
    }
    return s;
}

static void insight_done(struct insight *i)
{
    free(i->evidence);
    free(i->advice);
    free(i->stacks);
}

void insights_done(struct insights *s)
{
    for (size_t i = 0; i < s->at.n; i++)
        insight_done(&s->at.at[i]);
    vec_done(&s->at);
}
