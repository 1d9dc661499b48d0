/* comparison.c - the one sentence about a comparison; see comparison.h. */
#include "model/comparison.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>

static const char *less_of(const struct comparison *c)
{
    return measure_infos[c->measure].unit == MEASURE_COUNT ? "fewer" : "less";
}

bool comparison_is_with_baseline(const struct comparison *c)
{
    return c->apart || strcmp(c->before->name, c->after->name) == 0;
}

const char *comparison_word(const struct comparison *c)
{
    enum verdict v = c->paired.verdict;
    if (v == VERDICT_INCONCLUSIVE && c->gate == GATE_HOLDS && !c->unconfirmed && !c->mean_broke)
        return "within the limit"; /* the gate is decided, whether or not there is a change */
    if (measure_infos[c->measure].unit == MEASURE_NS || v == VERDICT_SAME ||
        v == VERDICT_INCONCLUSIVE)
        return verdict_names[v];
    return v == VERDICT_SLOWER ? "more" : less_of(c);
}

/* "is MUCH slower", "uses MUCH more peak memory". */
static void say_change(struct buf *b, const struct comparison *c, bool more, const char *much)
{
    const char *title = measure_infos[c->measure].title;
    if (c->measure == MEASURE_TIME)
        buf_printf(b, "is %s%s", much, more ? "slower" : "faster");
    else
        buf_printf(b, "uses %s%s %s", much, more ? "more" : less_of(c), title);
}

static void say_same(struct buf *b, const struct comparison *c)
{
    bool count = measure_infos[c->measure].unit == MEASURE_COUNT;
    if (c->measure == MEASURE_TIME)
        buf_str(b, "is as fast as");
    else
        buf_printf(b, "uses as %s %s as", count ? "many" : "much", measure_infos[c->measure].title);
}

static void say_other(struct buf *b, const struct comparison *c, const struct comparison_words *w)
{
    if (w->than)
        buf_printf(b, " %s", w->than);
    else if (comparison_is_with_baseline(c))
        buf_str(b, " in the baseline");
    else
        buf_printf(b, " '%s'", c->before->name);
}

/* " (+8.0%, +7.0 to +9.0%)" */
static void say_figures(struct buf *b, const struct paired *p)
{
    if (isnan(p->ratio))
        buf_str(b, " (nothing to compare)");
    else if (!isfinite(p->interval.high))
        buf_printf(b, " (%+.1f%%, too few runs for an interval)", units_change(p->ratio));
    else
        buf_printf(b, " (%+.1f%%, %+.1f to %+.1f%%)", units_change(p->ratio),
                   units_change(p->interval.low), units_change(p->interval.high));
}

/* "; 20% of the runs are slow, 5% before, and the mean is +19.0%" */
static void say_tails(struct buf *b, const struct comparison *c)
{
    const struct tails *t = &c->tails;
    if (c->has_tails)
        buf_printf(b,
                   "; %.0f%% of its runs take more than %g times the median, %.0f%% of the others "
                   "do, and the mean is %+.1f%%",
                   100 * t->slow_after, TAILS_SLOW, 100 * t->slow_before,
                   units_change(t->mean_ratio));
}

/* Whether it would take more than a hundred times as many runs: the error falls as their root. */
static bool scatters(const struct comparison *c)
{
    double half = (c->paired.interval.high - c->paired.interval.low) / 2;
    return isfinite(half) && c->band > 0 && half > 10 * c->band;
}

/* Whether the gate is open for another reason than its interval: which is all on one side. */
static bool is_open_otherwise(const struct comparison *c)
{
    double most = 1 + fmax(c->limit, c->band);
    return c->gate == GATE_UNDECIDED &&
           (c->paired.interval.low > most || c->paired.interval.high <= most);
}

static void say_undecided(struct buf *b, const struct comparison *c,
                          const struct comparison_words *w)
{
    char much[32] = "";
    if (c->gate == GATE_UNDECIDED)
        snprintf(much, sizeof much, "more than %g%% ", 100 * c->limit);
    buf_printf(b, "not decided whether '%s' ", w->name ? w->name : c->after->name);
    say_change(b, c, *much || !(c->paired.ratio < 1), much);
    buf_str(b, " than");
    say_other(b, c, w);
    say_figures(b, &c->paired);
    say_tails(b, c);
    if (c->has_tails)
        return;
    if (c->unconfirmed)
        buf_str(b, ": CPU time does not match, so other processes or waiting may be the cause");
    else if (w->more && scatters(c) && !is_open_otherwise(c))
        buf_str(b, ": its runs differ too much; a quieter machine or longer runs would help");
    else if (w->more)
        buf_printf(b, ": %s", w->more);
}

/* Open whether it changed, and yet within what is allowed. */
static void say_allowed(struct buf *b, const struct comparison *c, const struct comparison_words *w)
{
    char much[48];
    snprintf(much, sizeof much, "at most %.1f%% ", 100 * (c->paired.interval.high - 1));
    buf_printf(b, "'%s' ", w->name ? w->name : c->after->name);
    say_change(b, c, true, much);
    if (measure_infos[c->measure].unit == MEASURE_NS)
        buf_str(b, " in the median");
    buf_str(b, " than");
    say_other(b, c, w);
    say_figures(b, &c->paired);
    say_tails(b, c);
    buf_printf(b, ": within the %g%% that %s allows", 100 * c->limit,
               w->limit ? w->limit : "its gate");
}

void comparison_say(struct buf *b, const struct comparison *c, const struct comparison_words *w)
{
    const struct paired *p = &c->paired;
    char much[32];
    snprintf(much, sizeof much, "%.1f%% ", 100 * fabs(p->ratio - 1));
    bool open = p->verdict == VERDICT_INCONCLUSIVE && c->gate != GATE_BROKEN;
    if (open && c->gate == GATE_HOLDS && p->interval.high > 1 && !c->unconfirmed) {
        say_allowed(b, c, w);
        return;
    }
    if (c->gate == GATE_UNDECIDED || open) {
        say_undecided(b, c, w);
        return;
    }
    buf_printf(b, "'%s' ", w->name ? w->name : c->after->name);
    if (p->verdict == VERDICT_SAME) {
        say_same(b, c);
    } else {
        say_change(b, c, p->ratio >= 1, much);
        buf_str(b, " than");
    }
    say_other(b, c, w);
    say_figures(b, p);
    say_tails(b, c);
    if (c->gate == GATE_BROKEN)
        buf_printf(b, ": more than the %g%% that %s allows", 100 * c->limit, w->limit);
    if (c->same_work)
        buf_str(b, "; with the same number of instructions");
}
