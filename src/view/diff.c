/* diff.c - the words and tables of a comparison, and their printing. */
#include "view/diff.h"
#include "base/units.h"
#include "view/document.h"
#include "view/facts.h"

#include <math.h>
#include <time.h>

const char *diff_presence(const struct diff_value *total)
{
    return total->before <= 0 ? "new" : total->after <= 0 ? "gone" : "";
}

void diff_cost(struct buf *b, const struct diff_value *v)
{
    const char *presence = diff_presence(v);
    if (*presence && (v->before > 0 || v->after > 0))
        buf_str(b, presence);
    else if (isnan(v->p)) /* of too few samples, or of nearly all */
        buf_str(b, "-");
    else if (v->cost >= 3)
        buf_printf(b, "x%.3g", v->cost);
    else
        buf_printf(b, "%+.1f%%", (v->cost - 1) * 100);
}

static const char *runs_word(size_t n)
{
    return n == 1 ? "run" : "runs";
}

void diff_basis(struct buf *b, const struct diff *d)
{
    if (!d->by_runs) {
        buf_str(b, d->has_samples ? "one run a side: sampling error only; how much runs differ by "
                                    "themselves is not known"
                                  : "one run a side, number of samples not recorded: not tested");
        return;
    }
    buf_printf(b,
               "%zu %s before, %zu %s after: permutation test on the runs' shares, smallest p "
               "in reach %.2g",
               d->n_before, runs_word(d->n_before), d->n_after, runs_word(d->n_after), d->least_p);
    if (d->least_p > DIFF_LEVEL)
        buf_str(b, ", too few to prove anything: four a side are the least");
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

static int by_points(const void *a, const void *b, void *context)
{
    const struct list *l = context;
    const struct diff_entry *x = *(const struct diff_entry *const *)a;
    const struct diff_entry *y = *(const struct diff_entry *const *)b;
    double p = fabs(diff_points(value_of(l, x))), q = fabs(diff_points(value_of(l, y)));
    bool proven = value_of(l, x)->proven, other = value_of(l, y)->proven;
    if (proven != other)
        return proven ? -1 : 1;
    return p > q ? -1 : p < q ? 1 : x < y ? -1 : x > y;
}

struct picked {
    VEC(const struct diff_entry *) at;
};

/*
 * Less than a twentieth of a point is not shown, nor are paths that prove nothing. A cost that is
 * proven to have grown is among those that grew, even if its share fell.
 */
static bool belongs(const struct list *l, const struct diff_entry *e)
{
    const struct diff_value *v = value_of(l, e);
    double points = diff_points(v);
    bool grew = v->proven ? v->cost > 1 : points > 0;
    if (grew != l->grew || (fabs(points) < 0.05 && !v->proven))
        return false;
    return !l->paths || v->proven;
}

static struct picked pick(const struct diff *d, const struct list *l, size_t top)
{
    struct picked p = {0};
    const struct diff_entry *at = l->paths ? d->paths.at : d->functions.at;
    size_t n = l->paths ? d->paths.n : d->functions.n;
    for (size_t i = l->paths ? 1 : 0; i < n; i++)
        if (belongs(l, &at[i]))
            *vec_push(&p.at) = &at[i];
    if (p.at.n)
        qsort_r(p.at.at, p.at.n, sizeof *p.at.at, by_points, (void *)l);
    p.at.n = p.at.n < top ? p.at.n : top;
    return p;
}

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
    while (n-- > 0)
        buf_printf(b, "%.*s%s", TEXT_ARG(parts[n]), n ? " > " : "");
}

/* --- rows --- */

static void cell_f(struct document *doc, const char *fmt, double x)
{
    char s[UNITS_MAX];
    snprintf(s, sizeof s, fmt, x);
    document_cell(doc, text_of(s), 0);
}

static void cell_interval(struct document *doc, const struct diff_value *v)
{
    char s[UNITS_MAX] = "-";
    if (!isnan(v->p) && isfinite(v->low))
        snprintf(s, sizeof s, "%+.2f to %+.2f", v->low * 100, v->high * 100);
    document_cell(doc, text_of(s), 0);
}

static void cell_p(struct document *doc, const struct diff_value *v)
{
    char s[UNITS_MAX] = "-";
    if (!isnan(v->p))
        snprintf(s, sizeof s, v->q < 0.0001 ? "<0.0001" : "%.4f", v->q);
    document_cell(doc, text_of(s), 0);
}

/* The bar or colour of what is proven: full at twenty points. */
static void add_row(struct document *doc, const struct diff *d, const struct list *l,
                    const struct diff_entry *e)
{
    autobuf struct buf name = {0}, cost = {0};
    char points[UNITS_MAX];
    const struct diff_value *v = value_of(l, e);
    snprintf(points, sizeof points, "%s%+.2f", v->proven ? "* " : "", diff_points(v));
    document_cell(doc, text_of(points), v->proven ? fmax(0.05, fabs(diff_points(v)) / 20) : 0);
    cell_interval(doc, v);
    cell_f(doc, "%.2f", v->before * 100);
    cell_f(doc, "%.2f", v->after * 100);
    diff_cost(&cost, v);
    document_cell(doc, buf_text(&cost), 0);
    cell_p(doc, v);
    if (l->paths)
        add_path(&name, d, e);
    else
        buf_printf(&name, "%.*s", TEXT_ARG(diff_name(d, e)));
    if (*diff_presence(&e->total))
        buf_printf(&name, " (%s)", diff_presence(&e->total));
    document_cell(doc, buf_text(&name), 0);
}

#define COLUMNS(NAME, TAIL)                                                                       \
    {                                                                                             \
        {"points", .right = true}, {"95 % interval", .right = true}, {"before %", .right = true}, \
            {"after %", .right = true}, {"cost", .right = true}, {"p", .right = true},            \
            {NAME, .wide = true, .tail = TAIL},                                                   \
    }

static const struct document_column function_columns[] = COLUMNS("function", false);
static const struct document_column path_columns[] = COLUMNS("path", true);
enum { N_COLUMNS = sizeof function_columns / sizeof *function_columns };

static void add_list(struct document *doc, const struct diff *d, const struct list *l, size_t top)
{
    struct picked p = pick(d, l, top);
    if (p.at.n) {
        document_heading(doc, l->title);
        document_table(doc, l->paths ? path_columns : function_columns, N_COLUMNS);
    }
    for (size_t i = 0; i < p.at.n; i++)
        add_row(doc, d, l, p.at.at[i]);
    vec_done(&p.at);
}

/* --- above the lists --- */

static void add_cpu(struct document *doc, const struct diff *d)
{
    const struct diff_value *c = &d->cpu_s;
    char tested[UNITS_MAX] = "one run a side, not tested";
    if (!d->has_cpu)
        return;
    if (!isnan(c->p))
        snprintf(tested, sizeof tested, "p = %.4f", c->p);
    document_text(doc, "CPU time: %.3f s before, %.3f s after (%+.1f %%; %s).", c->before, c->after,
                  (c->cost - 1) * 100, tested);
}

/* What all costs are measured against, and its CPU time where that is known. */
static void add_typical(struct document *doc, const struct diff *d)
{
    char cpu[UNITS_MAX] = "";
    if (!d->n_tested)
        return;
    if (d->has_cpu)
        snprintf(cpu, sizeof cpu, ", its CPU time by %+.1f %%",
                 (d->typical * d->cpu_s.cost - 1) * 100);
    document_text(doc,
                  "A share also moves when others do. The cost column is the share next to that of "
                  "the typical function (which changed by %+.1f %%%s), and p and * are about it.",
                  (d->typical - 1) * 100, cpu);
}

static void add_unlike(struct document *doc, const char *unlike)
{
    struct text rest = text_of(unlike);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(doc, "Unlike profiles, compared by force: %.*s.", TEXT_ARG(line));
    }
}

static void add_head(struct document *doc, const struct diff *d, const struct diff_view *v)
{
    autobuf struct buf basis = {0};
    diff_basis(&basis, d);
    add_unlike(doc, v->unlike);
    if (v->runs[0]->words)
        document_text(doc, "Selected on both sides: %s.", v->runs[0]->words);
    add_cpu(doc, d);
    document_text(doc, "Basis: %s.", buf_cstr(&basis));
    document_text(doc,
                  "Tested: %zu functions with a share of %g %% or more; p is adjusted for that "
                  "number (Benjamini-Hochberg); * = proven at 5 %%.",
                  d->n_tested, d->min_share * 100);
    add_typical(doc, d);
}

/* --- where the runs come from --- */

static const struct fact shown[] = {
    {META_SOURCE, "file"},
    {META_COMMAND, "command"},
    {META_TIME_NS, "recorded"},
    {META_CPU_TIME_NS, "CPU time"},
    {FACT_SAMPLES, "samples"},
    {FACT_LOST, "lost"},
    {FACT_EVENT, "event"},
    {FACT_RATE_HZ, "rate, Hz"},
    {META_ENGINE, "engine"},
    {META_HOST, "host"},
    {META_CPU, "CPU"},
    {META_KERNEL, "kernel"},
    {META_LOAD, "load at start"},
    {META_COMMIT, "commit"},
    {META_BRANCH, "branch"},
    {META_DIRTY, "changed since commit"},
    {META_TOOL, "written by"},
};

/* Whether one of the N runs says the same as RUN about KEY. */
static bool is_told(const char *key, const struct selection *const *runs, size_t n,
                    const struct buf *fact)
{
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf other = {0};
        if (facts_add(&other, runs[i], key) && other.n == fact->n &&
            memcmp(other.at, fact->at, fact->n) == 0)
            return true;
    }
    return false;
}

/* What N runs say about KEY, each thing once: at most three. */
static void cell_facts(struct document *doc, const char *key, const struct selection *const *runs,
                       size_t n)
{
    autobuf struct buf all = {0};
    size_t told = 0, more = 0;
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf fact = {0};
        if (!facts_add(&fact, runs[i], key) || is_told(key, runs, i, &fact))
            continue;
        more += told == 3;
        if (told == 3)
            continue;
        buf_str(&all, told++ ? "; " : "");
        buf_add(&all, fact.at, fact.n);
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

static void add_provenance(struct document *doc, const struct diff *d, const struct diff_view *v)
{
    static const struct document_column columns[] = {
        {"what"}, {"before", .wide = true}, {"after", .wide = true}};
    document_heading(doc, "Recorded");
    document_table(doc, columns, 3);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!is_known(d, v, shown[i].key))
            continue;
        document_cell(doc, text_of(shown[i].title), 0);
        cell_facts(doc, shown[i].key, v->runs, d->n_before);
        cell_facts(doc, shown[i].key, v->runs + d->n_before, d->n_after);
    }
}

/* --- all of it --- */

static void build(struct document *doc, const struct diff *d, const struct diff_view *v,
                  bool figure)
{
    add_head(doc, d, v);
    if (figure)
        document_figure(doc);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        add_list(doc, d, &lists[i], v->top);
    add_provenance(doc, d, v);
}

void diff_print_text(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    build(&doc, d, v, false);
    document_print_text(out, &doc, v->width, v->colour);
    document_done(&doc);
}

static char *title_of(const struct diff *d)
{
    return mem_printf("Difference: %s", diff_verdict_names[d->verdict]);
}

void diff_print_markdown(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    autofree char *title = title_of(d);
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    build(&doc, d, v, false);
    document_print_markdown(out, &doc, title);
    document_done(&doc);
}

struct figure {
    const struct diff *d;
    const struct diff_view *v;
};

static void draw(FILE *out, const void *ctx, size_t i)
{
    const struct figure *f = ctx;
    (void)i;
    diff_print_svg(out, f->d, f->v);
}

void diff_print_html(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct document doc = {0};
    autofree char *title = title_of(d);
    document_text(&doc, "Verdict: %s: %s.", diff_verdict_names[d->verdict], d->why);
    build(&doc, d, v, true);
    document_print_html(out, &doc, title, &(struct document_figures){draw, &(struct figure){d, v}});
    document_done(&doc);
}
