/* bench_short.c - what came of it in plain sentences, at the very end. */
#include "base/units.h"
#include "view/bench/bench_inner.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { SENTENCES_MAX = 10 };

/* "'new' ran 1.98 times as fast as 'old'" */
static void say_faster(struct buf *b, const struct comparison *c)
{
    bool slower = c->paired.verdict == VERDICT_SLOWER;
    const char *winner = slower ? c->before->name : c->after->name;
    const char *loser = slower ? c->after->name : c->before->name;
    double factor = slower ? c->paired.ratio : 1 / c->paired.ratio;
    bool large = factor >= 1.095, past = comparison_is_with_baseline(c);
    if (past)
        buf_printf(b, "'%s' ran", c->after->name);
    else
        buf_printf(b, "'%s' ran", winner);
    if (past && slower)
        buf_printf(b, " %.1f%% slower than in the baseline", 100 * (factor - 1));
    else if (large)
        buf_printf(b, " %.2f times as fast as", factor);
    else
        buf_printf(b, " %.1f%% faster than", 100 * (factor - 1));
    if (!past)
        buf_printf(b, " '%s'", loser);
    else if (!slower)
        buf_str(b, " in the baseline");
}

static void say_pair(struct buf *b, const struct comparison *c)
{
    bool decided = c->paired.verdict == VERDICT_FASTER || c->paired.verdict == VERDICT_SLOWER;
    if (isnan(c->paired.ratio))
        buf_printf(b, "'%s' cannot be compared: nothing was measured", c->after->name);
    else if (decided && c->measure == MEASURE_TIME && c->paired.ratio > 0)
        say_faster(b, c);
    else
        comparison_say(b, c, &(struct comparison_words){.more = "more runs would decide it"});
}

static void say_alone(struct buf *b, const struct series *s, enum measure measure)
{
    char shown[UNITS_MAX];
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, measure, values);
    struct repeats_summary sum;
    if (!n)
        return;
    repeats_summarize(&sum, values, n);
    enum scaled kind = measure_scaled(measure);
    buf_printf(b, "'%s' takes %s%s%s, the median of %zu %s", s->name,
               units_scaled(shown, sum.median, kind),
               measure == MEASURE_TIME ? ""
               : kind == SCALED_COUNT  ? " "
                                       : " of ",
               measure == MEASURE_TIME ? "" : measure_infos[measure].title, n,
               n == 1 ? "run" : "runs");
}

void bench_add_short(struct document *d, const struct bench_report *r)
{
    if (r->table || (!r->n_comparisons && r->now->series.n != 1))
        return;
    document_heading(d, "In short");
    for (size_t i = 0; i < r->n_comparisons && i < SENTENCES_MAX; i++) {
        autobuf struct buf b = {0};
        say_pair(&b, &r->comparisons[i]);
        const char *s = buf_cstr(&b);
        document_text(d, "%c%s.", toupper((unsigned char)*s), s + 1);
    }
    if (r->n_comparisons)
        return;
    autobuf struct buf b = {0};
    say_alone(&b, &r->now->series.at[0], r->measure);
    document_text(d, "%s.", b.n ? buf_cstr(&b) : "Nothing was measured");
}
