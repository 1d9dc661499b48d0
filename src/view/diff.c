/* diff.c - the words and tables of a comparison, and their printing. */
#include "view/diff.h"
#include "analysis/difftest.h"
#include "base/shortname.h"
#include "base/units.h"
#include "model/meta_words.h"
#include "view/document.h"
#include "view/facts.h"

#include <math.h>

const char *diff_presence(const struct diff_value *total)
{
    return total->before <= 0 ? "not seen before" : total->after <= 0 ? "not seen after" : "";
}

/* What few samples do not show may be there all the same. And what is not seen at all may only not
 * have been called: samples never show that a function is gone. */
static const char *sure_presence(const struct diff_entry *e)
{
    bool tested = !isnan(e->total.p) || !isnan(e->self.p);
    return tested && !e->total.proven && !e->self.proven ? "" : diff_presence(&e->total);
}

void diff_cost(struct buf *b, const struct diff_entry *e, const struct diff_value *v)
{
    bool both_none = v->before <= 0 && v->after <= 0; /* of self time, where it calls others only */
    if (!both_none && v->before <= 0)
        buf_str(b, "from 0");
    else if (!both_none && *sure_presence(e))
        buf_str(b, "to 0");
    else if (both_none || isnan(v->p)) /* of too few samples, or of nearly all */
        buf_str(b, "-");
    else if (v->cost >= 3)
        buf_printf(b, "x%.3g", v->cost);
    else
        buf_printf(b, "%+.1f%%", units_change(v->cost));
}

static const char *runs_word(size_t n)
{
    return n == 1 ? "run" : "runs";
}

void diff_basis(struct buf *b, const struct diff *d)
{
    if (!d->by_runs) {
        buf_str(b, d->no_samples    ? "one run per side, without samples: not tested"
                   : d->has_samples ? "one run per side: intervals cover sampling error, not "
                                      "run-to-run variation"
                   : d->exact       ? "one run per side, exact counts: not tested"
                              : "one run per side, number of samples not recorded: not tested");
        return;
    }
    bool either = d->least_p <= DIFFTEST_DEALS_ENOUGH;
    buf_printf(b,
               "%zu %s before, %zu %s after: Student's t on the logarithms of the runs' costs, "
               "%s a permutation test (%ssmallest p in reach %.2g)%s",
               d->n_before, runs_word(d->n_before), d->n_after, runs_word(d->n_after),
               either ? "or" : "confirmed by", either ? "" : "p at most 0.05, ", d->least_p,
               either ? ", whichever is surer; they share the level" : "");
    if (diff_has_few_runs(d))
        buf_str(b, ", too few to prove anything: record four per side");
}

/* --- lists --- */

/* One of the lists: which entries, which of their values, which way they moved. */
struct list {
    const char *title;
    bool paths, total, grew;
};

static const struct list lists[] = {
    {"Grew, self", false, false, true},    {"Shrank, self", false, false, false},
    {"Grew, total", false, true, true},    {"Shrank, total", false, true, false},
    {"Paths that grew", true, true, true}, {"Paths that shrank", true, true, false},
};

static const struct diff_value *value_of(const struct list *l, const struct diff_entry *e)
{
    return l->total ? &e->total : &e->self;
}

/* In the unit of the whole, or in shares where there is none. */
static double amount_moved(const struct diff_value *v)
{
    return isnan(v->before_cost) ? v->after - v->before : v->after_cost - v->before_cost;
}

static int by_amount(const void *a, const void *b, void *context)
{
    const struct list *l = context;
    const struct diff_entry *x = *(const struct diff_entry *const *)a;
    const struct diff_entry *y = *(const struct diff_entry *const *)b;
    double p = fabs(amount_moved(value_of(l, x))), q = fabs(amount_moved(value_of(l, y)));
    bool proven = value_of(l, x)->proven, other = value_of(l, y)->proven;
    if (proven != other)
        return proven ? -1 : 1;
    return p > q ? -1 : p < q ? 1 : x < y ? -1 : x > y;
}

struct picked {
    VEC(const struct diff_entry *) at;
};

/*
 * What moved by less than 0.05% of the whole is not shown, nor are paths that prove nothing, nor
 * where tests are made what was not tested: it has too few samples, or nearly all of them. Grown is
 * what costs more, even if its share fell.
 */
static bool belongs(const struct diff *d, const struct list *l, const struct diff_entry *e)
{
    const struct diff_value *v = value_of(l, e);
    double moved = amount_moved(v), whole = isnan(v->before_cost) ? 1 : d->whole.before;
    bool grew = v->proven ? v->cost > 1 : moved > 0;
    if (grew != l->grew || e->renamed || e->unnamed || e->interrupt ||
        (fabs(moved) < 0.0005 * whole && !v->proven))
        return false;
    if (d->has_samples && isnan(v->p))
        return false;
    return !l->paths || v->proven;
}

static struct picked pick(const struct diff *d, const struct list *l, size_t top)
{
    struct picked p = {0};
    const struct diff_entry *at = l->paths ? d->paths.at : d->functions.at;
    size_t n = l->paths ? d->paths.n : d->functions.n;
    for (size_t i = l->paths ? 1 : 0; i < n; i++)
        if (belongs(d, l, &at[i]))
            *vec_push(&p.at) = &at[i];
    if (p.at.n)
        qsort_r(p.at.at, p.at.n, sizeof *p.at.at, by_amount, (void *)l);
    p.at.n = p.at.n < top ? p.at.n : top;
    return p;
}

enum { PATH_NAME = 48 }; /* a name takes no more room: its callers are to be seen beside it */

/* "main > parse > scan": at most the last five, as the end is what differs. */
static void add_path(struct buf *b, const struct diff *d, const struct diff_entry *e)
{
    struct text parts[5];
    int n = 0;
    while (e != d->paths.at && n < 5) {
        parts[n++] = diff_name(d, e);
        e = &d->paths.at[e->parent];
    }
    buf_str(b, e != d->paths.at ? ".. > " : "");
    while (n-- > 0) {
        shortname_add(b, parts[n], PATH_NAME);
        buf_str(b, n ? " > " : "");
    }
}

/* --- rows --- */

/* "+12.1 to +15.0%", of the cost; "x2.12 to x5.04" beside a factor. */
static void cell_interval(struct document *doc, const struct diff_value *v)
{
    char s[UNITS_MAX] = "-";
    double low = units_change(v->cost_low), high = units_change(v->cost_high);
    if (v->before > 0 && !isnan(v->p) && isfinite(high) && v->cost >= 3)
        snprintf(s, sizeof s, "x%.3g to x%.3g", v->cost_low, v->cost_high);
    else if (!isnan(v->p) && isfinite(high) && high < 1000)
        snprintf(s, sizeof s, "%+.1f to %+.1f%%", low, high);
    document_cell(doc, text_of(s), 0);
}

/* What it cost, or its share where costs are not known. */
static void cell_cost(struct document *doc, const struct diff *d, double cost, double share)
{
    char s[UNITS_MAX];
    if (d->scale == DIFF_BY_TYPICAL)
        snprintf(s, sizeof s, "%.2f%%", share * 100);
    else if (d->has_cpu)
        snprintf(s, sizeof s, "%.4f s", cost);
    else if (d->unit == SCALED_BYTES || d->unit == SCALED_NS)
        units_scaled(s, cost, d->unit);
    else
        snprintf(s, sizeof s, "%.6g", cost);
    document_cell(doc, text_of(s), 0);
}

static void cell_p(struct document *doc, const struct diff_value *v)
{
    char s[UNITS_MAX] = "-";
    if (!isnan(v->p))
        snprintf(s, sizeof s, v->q < 0.0001 ? "<0.0001" : "%.4f", v->q);
    document_cell(doc, text_of(s), 0);
}

/* The bar or colour of what is proven: full at a fifth of the whole. */
static void diff_add_row(struct document *doc, const struct diff *d, const struct list *l,
                         const struct diff_entry *e)
{
    autobuf struct buf name = {0}, cost = {0};
    char points[UNITS_MAX];
    const struct diff_value *v = value_of(l, e);
    double whole = isnan(v->before_cost) ? 1 : d->whole.before;
    buf_str(&cost, v->proven ? "* " : "");
    diff_cost(&cost, e, v);
    document_cell(doc, buf_text(&cost),
                  v->proven ? fmax(0.05, fabs(amount_moved(v)) / whole * 5) : 0);
    cell_interval(doc, v);
    cell_cost(doc, d, v->before_cost, v->before);
    cell_cost(doc, d, v->after_cost, v->after);
    snprintf(points, sizeof points, "%+.2f", round(diff_points(v) * 100) / 100 + 0.0);
    document_cell(doc, text_of(points), 0);
    cell_p(doc, v);
    if (l->paths)
        add_path(&name, d, e);
    else
        buf_printf(&name, "%.*s", TEXT_ARG(diff_name(d, e)));
    if (*sure_presence(e))
        buf_printf(&name, " (%s)", sure_presence(e));
    document_cell(doc, buf_text(&name), 0);
}

#define COLUMNS(NAME, TAIL)                                                                    \
    {                                                                                          \
        {"change", .right = true}, {"95% interval", .right = true}, {"before", .right = true}, \
            {"after", .right = true}, {"points", .right = true}, {"p", .right = true},         \
            {NAME, .wide = true, .tail = TAIL},                                                \
    }

static const struct document_column function_columns[] = COLUMNS("function", false);
static const struct document_column line_columns[] = COLUMNS("line", false);
static const struct document_column place_columns[] = COLUMNS("place", false);
static const struct document_column path_columns[] = COLUMNS("path", true);
enum { N_COLUMNS = sizeof function_columns / sizeof *function_columns };

static const struct document_column *diff_columns_of(const struct diff *d)
{
    return d->by == OVERLAY_LINE    ? line_columns
           : d->by == OVERLAY_PLACE ? place_columns
                                    : function_columns;
}

static void add_list(struct document *doc, const struct diff *d, const struct list *l, size_t top)
{
    struct picked p = pick(d, l, top);
    if (p.at.n) {
        document_heading(doc, l->title);
        document_table(doc, l->paths ? path_columns : diff_columns_of(d), N_COLUMNS);
    }
    for (size_t i = 0; i < p.at.n; i++)
        diff_add_row(doc, d, l, p.at.at[i]);
    vec_done(&p.at);
}

/* --- renamed --- */

static void add_renamed(struct document *doc, const struct diff *d)
{
    static const struct document_column columns[] = {{"before", .right = true},
                                                     {"after", .right = true},
                                                     {"was", .wide = true},
                                                     {"now", .wide = true}};
    bool any = false;
    for (size_t i = 0; i < d->functions.n; i++) {
        const struct diff_entry *gone = &d->functions.at[i], *came = d->functions.at;
        if (!gone->renamed || gone->total.after > 0)
            continue;
        while (came->name != gone->renamed - 1)
            came++;
        if (!any) {
            document_heading(doc, "Possibly renamed");
            document_text(
                doc,
                "Similar callers, callees and cost under another name; not counted as a change.");
            document_table(doc, columns, 4);
        }
        any = true;
        cell_cost(doc, d, gone->total.before_cost, gone->total.before);
        cell_cost(doc, d, came->total.after_cost, came->total.after);
        document_cell(doc, diff_name(d, gone), 0);
        document_cell(doc, diff_name(d, came), 0);
    }
}

/* --- above the lists --- */

static void add_scale(struct document *doc, const struct diff *d)
{
    if (d->scale == DIFF_BY_CPU)
        document_text(doc,
                      "Costs are seconds of CPU time per run: a %s's share times the CPU time of "
                      "the run. \"points\" is the change of the share.",
                      d->each);
    else if (d->scale == DIFF_BY_AMOUNT)
        document_text(doc,
                      "Costs are a %s's share times the total of the run. \"points\" is the change "
                      "of the share.",
                      d->each);
    else if (d->n_tested)
        document_text(doc,
                      "The CPU time of these runs is not known, only shares, which must add to "
                      "100%% and so move together. \"change\" corrects for that: it compares each "
                      "%s with the typical one, whose share changed by %+.1f%%. p and * refer "
                      "to that.",
                      d->each, (d->typical - 1) * 100);
}

static void add_band(struct document *doc, const struct diff *d)
{
    if (d->same)
        document_text(doc,
                      "Proven (*): nothing, as one run per side of the same program can differ by "
                      "anything that happens on the machine. Record at least four per side to "
                      "compare its inputs or settings.");
    else if (!d->by_runs)
        document_text(
            doc,
            "Proven (*): the interval lies beyond a factor of %g%s. Two runs of the same program "
            "hardly ever differ by as much. One run per side proves nothing about functions of the "
            "kernel, which depend on the state of the machine. Four runs per side prove smaller "
            "changes.",
            diff_pair_factor(d),
            d->has_rest
                ? ", by itself and relative to the rest of the program, or beyond 3 by itself"
                : "");
    else
        document_text(
            doc,
            "Proven (*): the adjusted p%s is at most %g, and the interval lies beyond the "
            "%g%% that %s.",
            d->least_p <= DIFFTEST_DEALS_ENOUGH ? "" : " of Student's t", DIFF_LEVEL, d->band * 100,
            d->band > d->no_change ? "a busy machine can change from one side to the other"
                                   : "count as no change");
    if (d->apart)
        document_text(
            doc,
            "The sides were not recorded in turn%s, so a change of the machine would look "
            "like one of the program. Record before and after alternately.",
            d->busy ? ", and on a busy machine" : "");
}

static void add_unnamed(struct document *doc, const struct diff *d)
{
    struct text rest = buf_text(&d->unnamed);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(doc, "%.*s: its functions are not compared. Give the program of that side.",
                      TEXT_ARG(line));
    }
}

/* Shares below this are not worth a line. */
#define FEW_INTERRUPTS 0.0005

static void add_interrupts(struct document *doc, const struct diff *d)
{
    autobuf struct buf b = {0};
    const double *at = d->interrupts;
    if (fmax(at[0], at[1]) < FEW_INTERRUPTS || d->by == OVERLAY_PLACE)
        return;
    if (d->scale == DIFF_BY_TYPICAL)
        buf_printf(&b, "%.2f%% of the %s before, %.2f%% after", at[0] * 100, d->noun, at[1] * 100);
    else
        diff_add_costs(&b, d, at[0] * d->whole.before, at[1] * d->whole.after);
    document_text(doc,
                  "Interrupts (devices, timers, the scheduler's tick): %s. They also serve other "
                  "processes, so their functions are neither tested nor listed.",
                  buf_cstr(&b));
}

static void add_others(struct document *doc, const struct diff *d)
{
    if (diff_is_of_others(d))
        document_text(doc,
                      "Of the %s, %.1f%% before and %.1f%% after is in %ss that both sides "
                      "have: they may be different programs.",
                      d->noun, d->common[0] * 100, d->common[1] * 100, d->each);
}

static void add_unlike(struct document *doc, const char *unlike)
{
    struct text rest = text_of(unlike);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(doc, "Compared anyway: %.*s.", TEXT_ARG(line));
    }
}

/* Other work is no change of the program. */
static void add_other_arguments(struct document *doc, const struct diff_view *v)
{
    if (v->arguments && *v->arguments)
        document_text(doc, "Careful: %s. The two sides may have done different work.",
                      v->arguments);
}

/* The clock of a thread stops before the kernel takes its process down, that of a CPU does not. */
static void add_clocks(struct document *doc, const struct diff *d, const struct diff_view *v)
{
    const char *first = meta_find(&v->runs[0]->profile->meta, META_CLOCKS);
    for (size_t i = 1; first && i < d->n_before + d->n_after; i++) {
        const char *other = meta_find(&v->runs[i]->profile->meta, META_CLOCKS);
        if (!other || strcmp(first, other) == 0)
            continue;
        document_text(
            doc,
            "Careful: some runs were sampled by clocks %s, some by clocks %s: only clocks "
            "of CPUs see the end of a process (do_exit, exit_mmap) and all of short ones.",
            first, other);
        return;
    }
}

static bool run_failed(const struct selection *run)
{
    static const char *const fine[] = {"0", "signal 2", "signal 15", NULL};
    const char *status = meta_find(&run->profile->meta, META_EXIT_STATUS);
    return status && !text_is_one_of(text_of(status), fine);
}

/* What a command did before it failed is not its work. */
static void add_failed(struct document *doc, const struct diff *d, const struct diff_view *v)
{
    size_t n[2] = {0}, of[2] = {d->n_before, d->n_after};
    for (size_t i = 0; i < of[0] + of[1]; i++)
        n[i >= of[0]] += run_failed(v->runs[i]);
    for (int side = 0; side < 2; side++)
        if (n[side])
            document_text(
                doc,
                "Careful: the command was ended by a signal, or had an exit code other than 0, in "
                "%zu of %zu run%s %s.",
                n[side], of[side], of[side] == 1 ? "" : "s", side ? "after" : "before");
}

static int by_self_of_both(const void *a, const void *b)
{
    const struct diff_value *x = &(*(const struct diff_entry *const *)a)->self;
    const struct diff_value *y = &(*(const struct diff_entry *const *)b)->self;
    double p = x->before + x->after, q = y->before + y->after;
    return p > q ? -1 : p < q ? 1 : x < y ? -1 : x > y;
}

/* A change of more than tenfold is no answer to "how small". */
#define TOO_LARGE 10

/* "8.1%", "12%", "160%" */
static void diff_add_growth(struct buf *b, double growth)
{
    buf_printf(b, "%.*f%%", growth < 0.0995, growth * 100);
}

/* ", f 8.1%, g 12%": what could have been seen of the functions with the largest shares. */
static void add_detectable_functions(struct buf *b, const struct diff *d)
{
    enum { SHOWN = 3 };
    VEC(const struct diff_entry *) tested = {0};
    for (size_t i = 0; i < d->functions.n; i++)
        if (d->functions.at[i].self.detectable <= TOO_LARGE)
            *vec_push(&tested) = &d->functions.at[i];
    if (tested.n)
        qsort(tested.at, tested.n, sizeof *tested.at, by_self_of_both);
    for (size_t i = 0; i < tested.n && i < SHOWN; i++) {
        struct text name = diff_name(d, tested.at[i]);
        buf_printf(b, "%s'%.*s' ", b->n ? ", " : "", name.n < 60 ? (int)name.n : 60, name.at);
        diff_add_growth(b, tested.at[i]->self.detectable);
    }
    vec_done(&tested);
}

/* So that nobody takes "not proven" for "not there". */
static void add_detectable(struct document *doc, const struct diff *d)
{
    autobuf struct buf b = {0};
    if (!d->by_runs || diff_has_few_runs(d))
        return;
    if (d->whole.detectable <= TOO_LARGE && d->scale != DIFF_BY_TYPICAL) {
        buf_str(&b, d->has_cpu ? "CPU time " : "total ");
        diff_add_growth(&b, d->whole.detectable);
    }
    add_detectable_functions(&b, d);
    if (b.n)
        document_text(doc, "Detectable growth (proven in nine of ten comparisons like this): %s.",
                      buf_cstr(&b));
}

static void diff_add_head(struct document *doc, const struct diff *d, const struct diff_view *v)
{
    autobuf struct buf basis = {0};
    diff_basis(&basis, d);
    add_unlike(doc, v->unlike);
    add_other_arguments(doc, v);
    if (v->runs[0]->words)
        document_text(doc, "Selected on both sides: %s.", v->runs[0]->words);
    add_unnamed(doc, d);
    add_others(doc, d);
    add_clocks(doc, d, v);
    add_failed(doc, d, v);
    document_text(doc, "Basis: %s.", buf_cstr(&basis));
    add_scale(doc, d);
    document_text(doc,
                  "Tested: %zu %s%s with a share of %g%% or more; p is adjusted for that "
                  "number (Benjamini-Hochberg, weighted by %s).",
                  d->n_tested, d->each, d->n_tested == 1 ? "" : "s", d->min_share * 100,
                  d->by_runs ? "the square root of the share, self and total separately" : "share");
    add_band(doc, d);
    add_interrupts(doc, d);
    add_detectable(doc, d);
}

/* --- where the runs come from --- */

static const char *const keys_shown[] = {
    META_SOURCE, META_COMMAND, META_TIME_NS, META_CPU_TIME_NS, FACT_SAMPLES,
    FACT_LOST,   FACT_EVENT,   FACT_RATE_HZ, META_ENGINE,      META_HOST,
    META_CPU,    META_KERNEL,  META_LOAD,    META_KEYS_COMMIT, META_TOOL,
};

/* How many of the N runs say FACT about KEY. */
static size_t count_told(const char *key, const struct selection *const *runs, size_t n,
                         const struct buf *fact)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf other = {0};
        same += facts_add(&other, runs[i], key) && other.n == fact->n &&
                memcmp(other.at, fact->at, fact->n) == 0;
    }
    return same;
}

/* What N runs say about KEY, each thing once, with how many say it: at most three. */
static void cell_facts(struct document *doc, const char *key, const struct selection *const *runs,
                       size_t n)
{
    autobuf struct buf all = {0};
    size_t told = 0, more = 0;
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf fact = {0};
        if (!facts_add(&fact, runs[i], key) || count_told(key, runs, i, &fact))
            continue;
        more += told == 3;
        if (told == 3)
            continue;
        buf_str(&all, told++ ? "; " : "");
        buf_add(&all, fact.at, fact.n);
        size_t same = count_told(key, runs, n, &fact);
        if (same > 1 && same < n)
            buf_printf(&all, " (%zu runs)", same);
    }
    if (more)
        buf_printf(&all, "; %zu more", more);
    document_cell(doc, told ? buf_text(&all) : text_of("not known"), 0);
}

static bool is_known(const struct diff *d, const struct diff_view *v, const char *key)
{
    autobuf struct buf fact = {0};
    for (size_t i = 0; i < d->n_before + d->n_after; i++)
        if (facts_add(&fact, v->runs[i], key))
            return true;
    return false;
}

static void diff_add_provenance(struct document *doc, const struct diff *d,
                                const struct diff_view *v)
{
    static const struct document_column columns[] = {
        {"what"}, {"before", .wide = true}, {"after", .wide = true}};
    document_heading(doc, "Recorded");
    document_table(doc, columns, 3);
    for (size_t i = 0; i < sizeof keys_shown / sizeof *keys_shown; i++) {
        if (!is_known(d, v, keys_shown[i]))
            continue;
        document_cell(doc, text_of(facts_title(keys_shown[i])), 0);
        cell_facts(doc, keys_shown[i], v->runs, d->n_before);
        cell_facts(doc, keys_shown[i], v->runs + d->n_before, d->n_after);
    }
}

/* --- all of it --- */

static void diff_build_document(struct document *doc, const struct diff *d,
                                const struct diff_view *v, bool figure)
{
    diff_add_head(doc, d, v);
    if (figure)
        document_figure(doc);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (d->by != OVERLAY_PLACE || !(lists[i].total || lists[i].paths)) /* it has no callers */
            add_list(doc, d, &lists[i], v->top);
    add_renamed(doc, d);
    diff_add_provenance(doc, d, v);
}

void diff_print_text(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    diff_build_document(&doc, d, v, false);
    document_print_text(out, &doc, v->width, v->colour);
    document_done(&doc);
}

static char *diff_title_of(const struct diff *d)
{
    return mem_printf("Difference: %s", diff_verdict_names[d->verdict]);
}

void diff_print_markdown(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    autofree char *title = diff_title_of(d);
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    diff_build_document(&doc, d, v, false);
    document_print_markdown(out, &doc, title);
    document_done(&doc);
}

struct figure {
    const struct diff *d;
    const struct diff_view *v;
};

static void diff_draw_figure(FILE *out, const void *ctx, size_t i)
{
    const struct figure *f = ctx;
    (void)i;
    diff_print_svg(out, f->d, f->v);
}

void diff_print_html(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    autofree char *title = diff_title_of(d);
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    diff_build_document(&doc, d, v, true);
    document_print_html(out, &doc, title,
                        &(struct document_figures){diff_draw_figure, &(struct figure){d, v}});
    document_done(&doc);
}
