/* report_text.c - the words and tables of a report, and their printing. */
#include "base/units.h"
#include "view/caption.h"
#include "view/document.h"
#include "view/facts.h"
#include "view/flame.h"
#include "view/report_inner.h"

/* Below this many samples nothing is said about a row's place among others. */
enum { FEW_FOR_ORDER = 10 };

void report_cell_share(struct document *d, const struct flat_share *s)
{
    autobuf struct buf b = {0};
    insight_share(&b, s);
    document_cell(d, buf_text(&b), s->share);
}

static void cell_value(struct document *d, const struct report *r, int64_t value)
{
    autobuf struct buf b = {0};
    caption_value(&b, r->profile, selection_value(r->selection), value);
    document_cell(d, buf_text(&b), 0);
}

static void cell_count(struct document *d, const struct flat *f, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(f->count_type >= 0 ? units_count(s, (uint64_t)n) : "-"), 0);
}

/* --- how it was recorded --- */

static const struct fact shown[] = {
    {META_COMMAND, "command"},
    {META_EXIT_STATUS, "exit status"},
    {META_TIME_NS, "recorded"},
    {META_DURATION_NS, "duration"},
    {META_CPU_TIME_NS, "CPU time"},
    {META_ENGINE, "engine"},
    {META_ENGINE_NOTE, "limits"},
    {FACT_RATE_HZ, "rate asked, Hz"},
    {FACT_RATE_ACHIEVED_HZ, "rate achieved, Hz"},
    {FACT_THROTTLED, "times throttled"},
    {META_COMMIT, "commit"},
    {META_BRANCH, "branch"},
    {META_DIRTY, "changed since commit"},
    {META_HOST, "host"},
    {META_CPU, "CPU"},
    {META_CPUS, "CPUs"},
    {META_MEMORY, "memory"},
    {META_OS, "system"},
    {META_KERNEL, "kernel"},
    {META_VIRTUAL, "virtual machine"},
    {META_CONTAINER, "container"},
    {META_GOVERNOR, "frequency governor"},
    {META_TURBO, "turbo"},
    {META_SMT, "SMT"},
    {META_LOAD, "load at start"},
    {META_TOOL, "written by"},
    {META_COMMENT, "remark"},
};

static void add_provenance(struct document *d, const struct report *r)
{
    static const struct document_column columns[] = {{"what"}, {"value", .wide = true}};
    document_heading(d, "Recorded");
    document_table(d, columns, 2);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        autobuf struct buf fact = {0};
        if (!facts_add(&fact, r->selection, shown[i].key))
            continue;
        document_cell(d, text_of(shown[i].title), 0);
        document_cell(d, buf_text(&fact), 0);
    }
    if (!d->blocks.at[d->blocks.n - 1].cells.n) {
        d->blocks.n -= 1; /* an empty table tells nothing */
        document_text(d, "The input does not say where and how it was recorded.");
    }
}

/* --- what it is, how sure --- */

static void add_warnings(struct document *d, const struct report *r)
{
    autobuf struct buf b = {0};
    caption_warnings(&b, r->selection);
    struct text rest = buf_text(&b);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(d, "Careful: %.*s.", TEXT_ARG(line));
    }
}

static void add_head(struct document *d, const struct report *r)
{
    autobuf struct buf b = {0}, others = {0};
    caption_build(&b, r->selection);
    document_text(d, "%s", buf_cstr(&b));
    caption_others(&others, r->selection);
    if (others.n)
        document_text(d, "Value %s.", buf_cstr(&others));
    add_warnings(d, r);
}

static void add_certainty(struct document *d, const struct flat *f)
{
    if (obtained_exactly(f->selection->stream->obtained))
        document_text(d, "These are exact counts, not samples: shares have no sampling error. "
                         "Counts are not time.");
    else if (!(f->time.n_samples > 0))
        document_text(
            d, "The input does not say how many samples it holds: how sure the shares are is "
               "not known.");
    else if (f->time.order)
        document_text(
            d, "\xc2\xb1 is half of a 95%% interval; it allows for samples in a row being alike.");
    else
        document_text(d,
                      "\xc2\xb1 is half of a 95%% interval; the input has no times, so samples are "
                      "taken as independent, and it may be too narrow.");
}

static void add_insights(struct document *d, const struct report *r)
{
    document_heading(d, "Insights");
    for (size_t i = 0; i < r->insights.at.n; i++) {
        const struct insight *in = &r->insights.at.at[i];
        document_item(d, in->rule->id, in->evidence, in->rule->advice);
    }
    if (!r->insights.at.n)
        document_text(d, "No rule found anything that stands out.");
}

/* --- lists --- */

/* The weight is left out where it is the number of samples. */
static const struct document_column columns_list[2][2][5] = {
    [FLAT_SELF] =
        {{{"self", .right = true}, {"samples", .right = true}, {"name", .wide = true}, {"module"}},
         {{"self", .right = true},
          {"samples", .right = true},
          {"weight", .right = true},
          {"name", .wide = true},
          {"module"}}},
    [FLAT_TOTAL] =
        {{{"total", .right = true}, {"samples", .right = true}, {"name", .wide = true}, {"module"}},
         {{"total", .right = true},
          {"samples", .right = true},
          {"weight", .right = true},
          {"name", .wide = true},
          {"module"}}},
};

/* "libx.so +1" where another file has a function of the same name. */
static void cell_module(struct document *d, const struct report *r, uint32_t row)
{
    enum { MOST = 100 };
    struct mapping_id files[MOST];
    autobuf struct buf b = {0};
    size_t n = report_modules(r->functions, row, MOST, files);
    struct text module = profile_module_name(r->profile, files[0]);
    bool kernel = r->functions->rows.at[row].kernel;
    module = module.n ? module : text_of(kernel ? "[kernel]" : "-");
    buf_add(&b, module.at, module.n);
    if (n > 1)
        buf_printf(&b, " +%zu%s", n - 1, n == MOST ? " or more" : "");
    document_cell(d, buf_text(&b), 0);
}

static void tell_few(struct document *d, size_t few)
{
    if (few == 1)
        document_text(d, "The last row rests on fewer than %d samples: too few for a claim.",
                      FEW_FOR_ORDER);
    else if (few)
        document_text(
            d,
            "The last %zu rows rest on fewer than %d samples each: too few for a claim about "
            "them or their order.",
            few, FEW_FOR_ORDER);
}

/* On nearly all stacks and doing nothing itself: main and what is around it. */
static bool is_frame_work(const struct flat *f, uint32_t row)
{
    const struct flat_row *r = &f->rows.at[row];
    double whole = (double)f->whole;
    return (double)r->total >= 0.98 * whole && (double)r->self < 0.01 * whole;
}

/* Take rows that tell nothing out of the list. Returns how many are left. */
static size_t drop_frame_work(const struct flat *f, uint32_t *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_frame_work(f, rows[i]))
            rows[kept++] = rows[i];
    return kept;
}

static void add_row(struct document *d, const struct report *r, enum flat_what what, uint32_t row,
                    size_t *few)
{
    const struct flat *f = r->functions;
    const struct flat_row *at = &f->rows.at[row];
    struct flat_share s = flat_share_of_row(f, row, what);
    int64_t count = what == FLAT_SELF ? at->self_count : at->total_count;
    report_cell_share(d, &s);
    cell_count(d, f, count);
    if (f->count_type != f->type)
        cell_value(d, r, what == FLAT_SELF ? at->self : at->total);
    document_cell(d, flat_name(f, row), 0);
    cell_module(d, r, row);
    *few += f->count_type >= 0 && count < FEW_FOR_ORDER;
}

static void add_list(struct document *d, const struct report *r, enum flat_what what)
{
    enum { FRAME_WORK = 64 }; /* a few more, for those that are taken out */
    const struct flat *f = r->functions;
    size_t top = r->opts.top, few = 0;
    autofree uint32_t *rows = mem_calloc(top + FRAME_WORK, sizeof *rows);
    size_t all = flat_top(f, what, top + FRAME_WORK, rows);
    size_t n = what == FLAT_TOTAL ? drop_frame_work(f, rows, all) : all;
    bool weighs = f->count_type != f->type;
    document_table(d, columns_list[what][weighs], 4 + weighs);
    for (size_t i = 0; i < n && i < top; i++)
        add_row(d, r, what, rows[i], &few);
    tell_few(d, few);
    if (all - n == 1)
        document_text(d, "One more is on nearly all stacks and does next to nothing itself.");
    else if (all > n)
        document_text(d, "%zu more are on nearly all stacks and do next to nothing themselves.",
                      all - n);
}

/* "The top 5 functions hold 97.5%" */
static void add_concentration(struct document *d, const struct flat *f)
{
    uint32_t rows[5];
    autofree bool *in_set = mem_calloc(f->rows.n + 1, sizeof *in_set);
    size_t n = flat_top(f, FLAT_SELF, 5, rows), some = 0;
    for (size_t i = 0; i < f->rows.n; i++)
        some += f->rows.at[i].self > 0;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        in_set[rows[i]] = true;
    struct flat_share s = flat_share_of_set(f, in_set, FLAT_SELF);
    autobuf struct buf b = {0};
    insight_share(&b, &s);
    document_text(d, "The top %zu functions hold %s, of %zu that were seen running.", n,
                  buf_cstr(&b), some);
}

static const struct document_column columns_by[] = {
    {"self", .right = true},
    {"total", .right = true},
    {"samples", .right = true},
    {"name", .wide = true, .tail = true},
};
static const struct document_column columns_thread[] = {
    {"share", .right = true},
    {"samples", .right = true},
    {"thread", .wide = true},
};

/* Modules, threads or lines that were seen running. */
static void add_by(struct document *d, const struct flat *f, size_t top)
{
    bool threads = f->row_of_thread != NULL;
    autofree uint32_t *rows = mem_calloc(top + 1, sizeof *rows);
    size_t n = flat_top(f, FLAT_SELF, top, rows);
    document_table(d, threads ? columns_thread : columns_by, threads ? 3 : 4);
    for (size_t i = 0; i < n; i++) {
        const struct flat_row *row = &f->rows.at[rows[i]];
        struct flat_share self = flat_share_of_row(f, rows[i], FLAT_SELF);
        report_cell_share(d, &self);
        if (!threads) {
            struct flat_share total = flat_share_of_row(f, rows[i], FLAT_TOTAL);
            report_cell_share(d, &total);
        }
        cell_count(d, f, row->self_count);
        document_cell(d, flat_name(f, rows[i]), 0);
    }
    size_t all = 0;
    for (size_t i = 0; i < f->rows.n; i++)
        all += f->rows.at[i].self > 0;
    if (all > n)
        document_text(d, "%zu more are not shown.", all - n);
}

/* --- all of it --- */

static const char *by_title(enum flat_by by)
{
    static const char *const titles[] = {
        [FLAT_FUNCTION] = "Functions",
        [FLAT_MODULE] = "Modules",
        [FLAT_THREAD] = "Threads",
        [FLAT_LINE] = "Source lines",
    };
    return titles[by];
}

void report_add(struct document *d, const struct report *r, bool figure)
{
    enum { SHORT_LIST = 8 };
    size_t top = r->opts.top < SHORT_LIST ? r->opts.top : SHORT_LIST;
    add_insights(d, r);
    if (figure)
        document_figure(d);
    document_heading(d, "Hot functions, without what they call");
    add_concentration(d, r->functions);
    add_list(d, r, FLAT_SELF);
    document_heading(d, "Hot functions, with what they call");
    add_list(d, r, FLAT_TOTAL);
    add_certainty(d, r->functions);
    report_add_paths(d, r);
    report_add_misses(d, r);
    document_heading(d, by_title(FLAT_MODULE));
    add_by(d, r->modules, top);
    if (r->profile->threads.n > 2) {
        document_heading(d, by_title(FLAT_THREAD));
        add_by(d, r->threads, top);
    }
}

static void build_document(struct document *d, const struct report *r, bool figure)
{
    add_head(d, r);
    if (r->opts.callers)
        report_add_function(d, r);
    if (r->by) {
        document_heading(d, by_title(r->opts.by));
        add_by(d, r->by, r->opts.top);
    }
    if (r->opts.callers || r->by)
        add_certainty(d, r->functions);
    else {
        report_add(d, r, figure);
        add_provenance(d, r);
    }
}

void report_print_text(FILE *out, const struct report *r, int width, bool colour)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, false);
    struct document head = {0};
    document_text(&head, "%s", title);
    document_print_text(out, &head, width, colour);
    document_print_text(out, &d, width, colour);
    document_done(&head);
    document_done(&d);
}

void report_print_markdown(FILE *out, const struct report *r)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, false);
    document_print_markdown(out, &d, title);
    document_done(&d);
}

static void draw(FILE *out, const void *ctx, size_t i)
{
    const struct report *r = ctx;
    (void)i;
    struct calltree_opts o = {.group = GROUP_COMM, .min_share = 0.002};
    struct calltree *t = calltree_build(r->selection, &o);
    flame_print_selection(out, r->selection, t,
                          &(struct flame_opts){.title = "Flame graph, root on top",
                                               .inverted = true,
                                               .hidden = "frames under 0.2% not drawn",
                                               .width_px = 1190});
    calltree_free(t);
}

void report_print_html(FILE *out, const struct report *r)
{
    struct document d = {0};
    autofree char *title = report_title(r);
    build_document(&d, r, true);
    document_print_html(out, &d, title, &(struct document_figures){draw, r});
    document_done(&d);
}
