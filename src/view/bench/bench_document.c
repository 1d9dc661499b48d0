/* bench_document.c - the words and tables of a benchmark report. */
#include "base/buf.h"
#include "model/meta_words.h"
#include "stats/modes.h"
#include "view/bench/bench_inner.h"

#include <math.h>

/* --- what was measured --- */

static const struct document_column columns_results[] = {
    {"benchmark", .wide = true}, {"median", .right = true},   {"\xc2\xb1", .right = true},
    {"mean", .right = true},     {"sd", .right = true},       {"min", .right = true},
    {"runs", .right = true},     {"outliers", .right = true}, {"throughput", .right = true},
};

enum { N_RESULTS = sizeof columns_results / sizeof *columns_results };

static bool has_throughput(const struct series_set *set)
{
    for (size_t i = 0; i < set->series.n; i++)
        if (set->series.at[i].items > 0 || set->series.at[i].bytes > 0 ||
            set->series.at[i].flops > 0)
            return true;
    return false;
}

static void cell_outliers(struct document *d, const struct repeats_summary *s)
{
    char text[BENCH_VALUE_MAX];
    size_t severe = s->severe_low + s->severe_high, all = severe + s->mild_low + s->mild_high;
    snprintf(text, sizeof text, severe ? "%zu (%zu)" : "%zu", all, severe);
    benchdoc_cell(d, text);
}

/* "1.2 ms !" where it is a large part of the mean. */
static void cell_sd(struct document *d, const struct repeats_summary *s, enum measure m)
{
    char text[BENCH_VALUE_MAX], marked[BENCH_VALUE_MAX + 4];
    bool bad = repeats_scatter(s) > REPEATS_SCATTER_LIMIT;
    snprintf(marked, sizeof marked, "%s%s", bench_value(text, m, s->n > 1 ? s->sd : NAN),
             bad ? " !" : "");
    benchdoc_cell(d, marked);
}

/* Throughput is the last column, left out where nobody has it. */
static void benchdoc_add_result(struct document *d, const struct series *series, enum measure m,
                                bool throughput)
{
    char text[BENCH_VALUE_MAX];
    struct bench_summary b;
    benchdoc_cell(d, series->name);
    if (!bench_summarize(&b, series, m)) {
        for (int i = 1; i < N_RESULTS - !throughput; i++)
            benchdoc_cell(d, "-");
        return;
    }
    const struct repeats_summary *s = &b.s;
    benchdoc_cell(d, bench_value(text, m, s->median));
    benchdoc_cell(d, bench_half(text, s->median, &s->median_interval));
    benchdoc_cell(d, bench_value(text, m, s->mean));
    cell_sd(d, s, m);
    benchdoc_cell(d, bench_value(text, m, s->min));
    benchdoc_cell(d, units_count(text, s->n));
    cell_outliers(d, s);
    if (throughput)
        benchdoc_cell(d, *bench_throughput(text, series, s->median) ? text : "-");
    bench_summary_done(&b);
}

static size_t fewest_runs(const struct series_set *set)
{
    size_t n = SIZE_MAX;
    for (size_t i = 0; i < set->series.n; i++)
        n = set->series.at[i].runs.n < n ? set->series.at[i].runs.n : n;
    return n;
}

static bool any_scatters(const struct bench_report *r)
{
    bool any = false;
    for (size_t i = 0; i < r->now->series.n; i++) {
        struct bench_summary b;
        if (!bench_summarize(&b, &r->now->series.at[i], r->measure))
            continue;
        any |= repeats_scatter(&b.s) > REPEATS_SCATTER_LIMIT;
        bench_summary_done(&b);
    }
    return any;
}

/* Rounds that do not lie on a line were disturbed, or an iteration is not like the others. */
static void add_fit(struct document *d, const struct series *series, enum measure measure)
{
    double by_cpu = measure == MEASURE_CPU ? bench_median(series, MEASURE_CPU_R2) : NAN;
    double r2 = isfinite(by_cpu) ? by_cpu : bench_median(series, MEASURE_R2);
    if (r2 < REPEATS_R2_LIMIT)
        document_text(d,
                      "Careful: the rounds of %s do not lie on a line (R2 %.3f): other processes "
                      "disturbed them, or the iterations differ.",
                      series->name, r2);
}

/* "Careful: 30% of the runs of x take about 1.9 ms, the others about 1.2 ms" */
static void add_modes(struct document *d, const struct series *series, enum measure m)
{
    char low[BENCH_VALUE_MAX], high[BENCH_VALUE_MAX];
    autofree double *values = mem_calloc(series->runs.n + 1, sizeof *values);
    struct modes modes;
    if (!modes_find(&modes, values, series_values(series, m, values)))
        return;
    document_text(d,
                  "Careful: the runs of %s fall into two groups, %.0f%% at about %s and %.0f%% at "
                  "about %s%s. A median stands for one of them only.",
                  series->name, 100 * modes.share[0], bench_value(low, m, modes.median[0]),
                  100 * modes.share[1], bench_value(high, m, modes.median[1]),
                  modes.changes == 1 ? ", one after the other" : "");
}

static void add_results(struct document *d, const struct bench_report *r)
{
    bool throughput = r->measure == MEASURE_TIME && has_throughput(r->now);
    document_heading(d, "Results");
    document_table(d, columns_results, N_RESULTS - !throughput);
    for (size_t i = 0; i < r->now->series.n; i++)
        benchdoc_add_result(d, &r->now->series.at[i], r->measure, throughput);
    document_text(
        d,
        "Statistics of %s per run. \xc2\xb1 is the half-width of the median's 95%% interval. "
        "Outliers: beyond 1.5 x IQR (severe: 3 x, in brackets); counted, not removed.",
        measure_infos[r->measure].title);
    if (fewest_runs(r->now) < 6)
        document_text(d, "With fewer than 6 runs the median has no 95%% interval: '?'.");
    if (any_scatters(r))
        document_text(d, "! marks a standard deviation of more than %.0f%% of the mean.",
                      100 * REPEATS_SCATTER_LIMIT);
    for (size_t i = 0; i < r->now->series.n; i++) {
        add_modes(d, &r->now->series.at[i], r->measure);
        add_fit(d, &r->now->series.at[i], r->measure);
    }
}

/* --- what else was used --- */

static const enum measure resources[] = {
    MEASURE_CPU,          MEASURE_USER,         MEASURE_SYSTEM,        MEASURE_PEAK_RSS,
    MEASURE_MINOR_FAULTS, MEASURE_MAJOR_FAULTS, MEASURE_SWITCHES_FREE, MEASURE_SWITCHES_FORCED,
    MEASURE_INSTRUCTIONS,
};
static const struct document_column columns_resources[] = {
    {"benchmark", .wide = true},     {"CPU", .right = true},         {"user", .right = true},
    {"system", .right = true},       {"peak memory", .right = true}, {"faults", .right = true},
    {"from disk", .right = true},    {"waits", .right = true},       {"preempted", .right = true},
    {"instructions", .right = true},
};

enum { N_RESOURCES = sizeof resources / sizeof *resources };

/* Beside what the results are about. */
static bool has_resources(const struct series_set *set, enum measure judged)
{
    for (size_t i = 0; i < set->series.n; i++)
        for (int k = 0; k < N_RESOURCES; k++)
            if (resources[k] != judged && !isnan(bench_median(&set->series.at[i], resources[k])))
                return true;
    return false;
}

/* The kernel looks which of them it is at its ticks, of 4 ms on most machines: too few of these. */
static bool is_guess(const struct series *s, enum measure m)
{
    return (m == MEASURE_USER || m == MEASURE_SYSTEM) && bench_median(s, MEASURE_CPU) < 40e6;
}

/* Of any of them; what is not counted anywhere gets no column. */
static bool bench_is_known(const struct series_set *set, enum measure m)
{
    for (size_t i = 0; i < set->series.n; i++)
        if (!isnan(bench_median(&set->series.at[i], m)) && !is_guess(&set->series.at[i], m))
            return true;
    return false;
}

static void add_resources(struct document *d, const struct bench_report *r)
{
    char text[BENCH_VALUE_MAX];
    bool guessed = false;
    if (!has_resources(r->now, r->measure))
        return;
    document_heading(d, "Resources, medians");
    document_table(d, columns_resources, N_RESOURCES + 1);
    for (size_t i = 0; i < r->now->series.n; i++) {
        const struct series *s = &r->now->series.at[i];
        benchdoc_cell(d, s->name);
        for (int k = 0; k < N_RESOURCES; k++) {
            bool guess = is_guess(s, resources[k]);
            double value = guess ? NAN : bench_median(s, resources[k]);
            benchdoc_cell(d, bench_is_known(r->now, resources[k])
                                 ? bench_value(text, resources[k], value)
                                 : "");
            guessed |= guess;
        }
    }
    document_drop_empty(d);
    if (guessed)
        document_text(d,
                      "Runs with less than 40 ms of CPU time do not show how it divides into user "
                      "and system.");
}

/* --- what was counted --- */

static const enum measure counts[] = {MEASURE_INSTRUCTIONS, MEASURE_CYCLES, MEASURE_CACHE_MISSES,
                                      MEASURE_BRANCH_MISSES};
static const struct document_column columns_counts[] = {
    {"benchmark", .wide = true},      {"instructions", .right = true}, {"cycles", .right = true},
    {"per cycle", .right = true},     {"cache misses", .right = true}, {"per 1000", .right = true},
    {"branch misses", .right = true}, {"per 1000", .right = true},
};

/* Instructions alone have their column among the resources. */
static bool has_counts(const struct series_set *set)
{
    for (size_t i = 0; i < set->series.n; i++)
        for (int k = 1; k < 4; k++)
            if (!isnan(bench_median(&set->series.at[i], counts[k])))
                return true;
    return false;
}

static void cell_ratio(struct document *d, double above, double below)
{
    char text[BENCH_VALUE_MAX] = "-";
    if (isfinite(above) && below > 0)
        snprintf(text, sizeof text, "%.3g", above / below);
    benchdoc_cell(d, text);
}

static void add_counts(struct document *d, const struct bench_report *r)
{
    char text[BENCH_VALUE_MAX];
    if (!has_counts(r->now))
        return;
    document_heading(d, "Counts, medians");
    document_table(d, columns_counts, sizeof columns_counts / sizeof *columns_counts);
    for (size_t i = 0; i < r->now->series.n; i++) {
        const struct series *s = &r->now->series.at[i];
        double n[4];
        for (int k = 0; k < 4; k++)
            n[k] = bench_median(s, counts[k]);
        benchdoc_cell(d, s->name);
        benchdoc_cell(d, bench_value(text, counts[0], n[0]));
        benchdoc_cell(d, bench_value(text, counts[1], n[1]));
        cell_ratio(d, n[0], n[1]);
        benchdoc_cell(d, bench_value(text, counts[2], n[2]));
        cell_ratio(d, 1000 * n[2], n[0]);
        benchdoc_cell(d, bench_value(text, counts[3], n[3]));
        cell_ratio(d, 1000 * n[3], n[0]);
    }
    document_text(d, "Misses per 1000 instructions.");
}

/* --- comparisons --- */

static const struct document_column columns_comparisons[] = {
    {"benchmark", .wide = true},
    {"before", .right = true},
    {"after", .right = true},
    {"change", .right = true},
    {"interval", .right = true},
    {"verdict"},
    {"gate"},
};

static void cell_interval(struct document *d, const struct interval *i)
{
    char low[BENCH_VALUE_MAX], high[BENCH_VALUE_MAX], text[2 * BENCH_VALUE_MAX + 8];
    bool known = i->low > 0 && isfinite(i->high);
    snprintf(text, sizeof text, "%s .. %s", bench_change(low, i->low), bench_change(high, i->high));
    benchdoc_cell(d, known ? text : "not known");
}

static void cell_gate(struct document *d, const struct comparison *c)
{
    char text[BENCH_VALUE_MAX];
    if (c->gate == GATE_NONE) {
        benchdoc_cell(d, "-");
        return;
    }
    static const char *const words[] = {[GATE_NONE] = "",
                                        [GATE_HOLDS] = "passed",
                                        [GATE_UNDECIDED] = "inconclusive",
                                        [GATE_BROKEN] = "failed"};
    snprintf(text, sizeof text, "%g%% %s", 100 * c->limit, words[c->gate]);
    document_cell(d, text_of(text), c->gate == GATE_BROKEN ? 1 : 0);
}

static void add_comparison(struct document *d, const struct comparison *c)
{
    char text[BENCH_VALUE_MAX];
    autofree char *name = bench_comparison_name(c);
    enum verdict v = c->paired.verdict;
    benchdoc_cell(d, name);
    benchdoc_cell(d, bench_value(text, c->measure, bench_median(c->before, c->measure)));
    benchdoc_cell(d, bench_value(text, c->measure, bench_median(c->after, c->measure)));
    benchdoc_cell(d, bench_change(text, c->paired.ratio));
    cell_interval(d, &c->paired.interval);
    bool differs = v == VERDICT_FASTER || v == VERDICT_SLOWER;
    document_cell(d, text_of(differs ? comparison_word(c) : verdict_names[v]),
                  v == VERDICT_SLOWER ? 1 : 0);
    cell_gate(d, c);
}

/* From so much on a reader sees that "change" is not what the two medians beside it give. */
#define SEEN_APART 0.01

static bool is_seen_apart(const struct comparison *c)
{
    double medians = bench_median(c->after, c->measure) / bench_median(c->before, c->measure);
    if (c->after->more_is_better)
        medians = 1 / medians;
    return !c->apart && fabs(c->paired.ratio - medians) > SEEN_APART;
}

static void add_how_changes_are_found(struct document *d, const struct bench_report *r)
{
    for (size_t i = 0; i < r->n_comparisons; i++)
        if (is_seen_apart(&r->comparisons[i])) {
            document_text(d, "A change is the median of the ratios within blocks, which leaves out "
                             "what slows both sides; the ratio of the two medians does not.");
            return;
        }
}

/* --- the gate's own truth --- */

static const struct document_column columns_truth[] = {
    {"benchmark", .wide = true},   {"runs", .right = true},     {"design"},
    {"ties", .right = true},       {"interval", .right = true}, {"band", .right = true},
    {"detectable", .right = true},
};

/* Of counts: from the smallest ratio of two runs to the largest, and no probability. */
static bool has_range(const struct comparison *c)
{
    return c->paired.n && !(c->paired.miss > 0);
}

static void add_truth(struct document *d, const struct comparison *c)
{
    char text[BENCH_VALUE_MAX];
    autofree char *name = bench_comparison_name(c);
    const struct paired *p = &c->paired;
    benchdoc_cell(d, name);
    benchdoc_cell(d, units_count(text, p->n));
    benchdoc_cell(d, c->apart ? "two sessions" : "side by side");
    benchdoc_cell(d, units_count(text, p->ties));
    snprintf(text, sizeof text, "%.4g%%", 100 * (1 - p->miss));
    benchdoc_cell(d, has_range(c) ? "range" : text);
    snprintf(text, sizeof text, "\xc2\xb1%.3g%%", 100 * c->band);
    benchdoc_cell(d, text);
    snprintf(text, sizeof text, p->detectable < 1 ? "%.1f%%" : "%.0f%%", 100 * p->detectable);
    bool known = p->detectable > 0 && isfinite(p->detectable);
    benchdoc_cell(d, has_range(c) ? "-" : known ? text : "nothing");
}

static void add_hints(struct document *d, const struct comparison *c)
{
    autofree char *name = bench_comparison_name(c);
    const struct paired *p = &c->paired;
    if (p->n && p->ties * 2 > p->n)
        document_text(d,
                      "Careful: in %zu of %zu blocks both sides of %s took equally long: the clock "
                      "is too coarse for it.",
                      p->ties, p->n, name);
    if (c->has_tails)
        document_text(d,
                      "Careful: slow runs come %s often in %s: %.0f%% take more than %g times the "
                      "median, %.0f%% before. The mean changed by %+.1f%%, which the median does "
                      "not show.",
                      c->tails.slow_after > c->tails.slow_before ? "more" : "less", name,
                      100 * c->tails.slow_after, TAILS_SLOW, 100 * c->tails.slow_before,
                      100 * (c->tails.mean_ratio - 1));
    if (c->same_work)
        document_text(d, "Careful: %s is %s with the same number of instructions: %s.", name,
                      verdict_names[p->verdict], COMPARISON_SAME_WORK);
    if (c->unconfirmed)
        document_text(d,
                      "Careful: in %s the wall time differs and the CPU time does not match: "
                      "other processes or waiting may be the cause. Run both side by side.",
                      name);
    if (c->gate == GATE_UNDECIDED && !(p->detectable <= c->limit))
        document_text(d,
                      "Careful: these runs would most likely not show a change of %g%% in %s: "
                      "its gate needs more runs.",
                      100 * c->limit, name);
}

static void add_alarms(struct document *d, const struct bench_report *r)
{
    if (isnan(r->false_alarm_rate) || !r->false_alarm_tries)
        return;
    struct interval i = stats_wilson(r->false_alarm_rate, (double)r->false_alarm_tries, STATS_Z95);
    document_text(d,
                  "Against itself: %zu of %zu comparisons gave a verdict, so false alarms are "
                  "%.1f%% here (95%% interval %.1f%% to %.1f%%).",
                  r->false_alarms, r->false_alarm_tries, 100 * r->false_alarm_rate, 100 * i.low,
                  100 * i.high);
}

static void add_comparisons(struct document *d, const struct bench_report *r)
{
    if (!r->n_comparisons)
        return;
    document_heading(d, "Comparison");
    document_table(d, columns_comparisons, 7);
    for (size_t i = 0; i < r->n_comparisons; i++)
        add_comparison(d, &r->comparisons[i]);
    add_how_changes_are_found(d, r);
    document_heading(d, "How far to trust the verdicts");
    document_table(d, columns_truth, 7);
    for (size_t i = 0; i < r->n_comparisons; i++)
        add_truth(d, &r->comparisons[i]);
    bool ranges = true;
    for (size_t i = 0; i < r->n_comparisons; i++)
        ranges &= has_range(&r->comparisons[i]);
    if (ranges)
        document_text(d, "The interval goes from the smallest to the largest change between two "
                         "runs. A change within the band counts as none.");
    else
        document_text(
            d, "The interval contains the true change with the probability shown, corrected for "
               "all comparisons made at once. A change within the band counts as none. "
               "Detectable: the smallest change these runs would detect with 80%% power.");
    add_alarms(d, r);
    for (size_t i = 0; i < r->n_comparisons; i++)
        add_hints(d, &r->comparisons[i]);
}

/* --- what is only on one side --- */

static void add_only(struct document *d, const struct series_set *in,
                     const struct series_set *not_in, const char *what)
{
    autobuf struct buf b = {0};
    size_t n = 0;
    for (size_t i = 0; i < in->series.n; i++)
        if (!series_find(not_in, in->series.at[i].name))
            buf_printf(&b, "%s%s", n++ ? ", " : "", in->series.at[i].name);
    if (n)
        document_text(d, "%s: %s.", what, buf_cstr(&b));
}

static void add_missing(struct document *d, const struct bench_report *r)
{
    if (!r->before)
        return;
    add_only(d, r->before, r->now, "In the baseline, but not measured now");
    add_only(d, r->now, r->before, "New: not in the baseline");
}

/* --- growth --- */

static const struct document_column columns_growth[] = {
    {"size", .right = true},
    {"median", .right = true},
    {"ratio", .right = true},
    {"per unit", .right = true},
};

static void add_growth(struct document *d, const struct bench_growth *g)
{
    char text[BENCH_VALUE_MAX];
    const struct growth *f = &g->growth;
    double half = (f->interval.high - f->interval.low) / 2;
    if (isfinite(half) && f->interval.low <= 0 && f->interval.high >= 0)
        document_text(d,
                      "%s: no growth is shown over these sizes: %s^%.2f \xc2\xb1%.2f includes a "
                      "constant cost.",
                      g->name, g->parameter, f->exponent, half);
    else if (isfinite(half))
        document_text(d, "%s: cost grows as %s^%.2f \xc2\xb1%.2f; best fit: O(%s).", g->name,
                      g->parameter, f->exponent, half,
                      f->shape == GROWTH_1 ? "1" : growth_shape_names[f->shape]);
    else
        document_text(d, "%s: cost grows as %s^%.2f; add a third size to get an interval.", g->name,
                      g->parameter, f->exponent);
    document_table(d, columns_growth, 4);
    for (size_t i = 0; i < g->n_points; i++) {
        const struct growth_point *p = &g->points[i];
        snprintf(text, sizeof text, "%.10g", p->size);
        benchdoc_cell(d, text);
        benchdoc_cell(d, bench_value(text, g->measure, p->cost));
        snprintf(text, sizeof text, "x%.3g", i ? p->cost / g->points[i - 1].cost : 1);
        benchdoc_cell(d, i ? text : "-");
        benchdoc_cell(d, bench_value(text, g->measure, p->cost / p->size));
    }
}

static void add_growths(struct document *d, const struct bench_report *r, bool figures)
{
    if (r->n_growths)
        document_heading(d, "Growth");
    for (size_t i = 0; i < r->n_growths; i++)
        add_growth(d, &r->growths[i]);
    if (figures && r->n_growths)
        document_figure(d);
}

/* --- where --- */

static const char *const keys_shown[] = {
    META_TIME_NS, META_OPTIONS,   META_METHOD, META_KEYS_COMMIT,
    META_BUILD,   META_KEYS_HOST, META_TOOL,
};

static const struct document_column columns_facts[] = {
    {"what"}, {"now", .wide = true}, {"before", .wide = true}};

static void add_system(struct document *d, const struct bench_report *r)
{
    size_t n_columns = r->before ? 3 : 2;
    document_heading(d, "System");
    document_table(d, columns_facts, n_columns);
    for (size_t i = 0; i < sizeof keys_shown / sizeof *keys_shown; i++) {
        autofree char *now = bench_fact(r->now, keys_shown[i]);
        benchdoc_cell(d, meta_words_title(keys_shown[i]));
        benchdoc_cell(d, now);
        if (r->before) {
            autofree char *before = bench_fact(r->before, keys_shown[i]);
            benchdoc_cell(d, before);
        }
    }
}

/* --- all of it --- */

/* One line for a terminal; pages have a table. */
static void add_host(struct document *d, const struct series_set *set)
{
    autofree char *cpu = bench_fact(set, META_CPU), *cpus = bench_fact(set, META_CPUS);
    autofree char *governor = bench_fact(set, META_GOVERNOR), *load = bench_fact(set, META_LOAD);
    if (set->meta.entries.n)
        document_text(d, "%s, CPUs: %s, governor: %s, load: %s.", cpu, cpus, governor, load);
}

enum { MOST_SENTENCES = 12 };

static void add_sentence(struct document *d, const struct comparison *c)
{
    autobuf struct buf b = {0};
    comparison_say(&b, c, &(struct comparison_words){.limit = "its gate"});
    if (b.n && b.at[0] >= 'a' && b.at[0] <= 'z')
        b.at[0] = (char)(b.at[0] - 'a' + 'A');
    document_text(d, "%s%s.", c->gate == GATE_BROKEN ? "Gate failed: " : "", buf_cstr(&b));
}

/* The verdict comes first, in words: broken gates, then all else; beyond a dozen, in the table. */
static void add_verdicts(struct document *d, const struct bench_report *r)
{
    size_t n = 0;
    for (int broken = 1; broken >= 0; broken--)
        for (size_t i = 0; i < r->n_comparisons; i++) {
            const struct comparison *c = &r->comparisons[i];
            if ((c->gate == GATE_BROKEN) == broken && (broken || n < MOST_SENTENCES)) {
                add_sentence(d, c);
                n++;
            }
        }
    if (n < r->n_comparisons)
        document_text(d, "More comparisons in the table: %zu.", r->n_comparisons - n);
}

static void benchdoc_add_head(struct document *d, const struct bench_report *r, bool system)
{
    add_verdicts(d, r);
    if (r->design)
        document_text(d, "%s.", r->design);
    if (!system)
        add_host(d, r->now);
    if (r->busy && measure_infos[r->measure].unit == MEASURE_NS)
        document_text(d, "Careful: %s.", r->busy);
    if (r->forced)
        document_text(d, "Careful: compared anyway although %s.", r->forced);
}

void bench_document(struct document *d, const struct bench_report *r, bool figures, bool system)
{
    benchdoc_add_head(d, r, system);
    if (r->table)
        bench_table_add(d, r->table, r->measure);
    else
        add_results(d, r);
    if (figures)
        document_figure(d);
    add_comparisons(d, r);
    add_missing(d, r);
    add_growths(d, r, figures);
    bench_add_pasts(d, r, figures);
    if (!r->table)
        add_resources(d, r);
    add_counts(d, r);
    if (system)
        add_system(d, r);
    bench_add_short(d, r);
}

void bench_print_text(FILE *out, const struct bench_report *r, int width, bool colour)
{
    struct document d = {0};
    autofree char *title = bench_title(r);
    document_text(&d, "%s", title);
    bench_document(&d, r, false, false);
    document_print_text(out, &d, width, colour);
    document_done(&d);
}

void bench_print_markdown(FILE *out, const struct bench_report *r)
{
    struct document d = {0};
    autofree char *title = bench_title(r);
    bench_document(&d, r, false, true);
    document_print_markdown(out, &d, title);
    document_done(&d);
}
