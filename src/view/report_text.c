/* report_text.c - the words and tables of a report, and their printing. */
#include "base/units.h"
#include "view/caption.h"
#include "view/document.h"
#include "view/flame.h"
#include "view/report.h"

#include <math.h>
#include <time.h>

/* Below this many samples nothing is said about a row's place among others. */
enum { FEW_FOR_ORDER = 10, CHAIN_SHOWN = 4 };

static void cell_share(struct document *d, const struct flat_share *s)
{
    autobuf struct buf b = {0};
    insight_share(&b, s);
    document_cell(d, buf_text(&b), s->share);
}

static void cell_value(struct document *d, const struct report *r, int64_t value)
{
    autobuf struct buf b = {0};
    caption_value(&b, r->profile, r->type, value);
    document_cell(d, buf_text(&b), 0);
}

static void cell_count(struct document *d, const struct flat *f, int64_t n)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(f->count_type >= 0 ? units_count(s, (uint64_t)n) : "-"), 0);
}

/* --- how it was recorded --- */

static void add_time(struct document *d, const char *title, uint64_t since_1970_ns)
{
    char s[64];
    time_t seconds = (time_t)(since_1970_ns / 1000000000u);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || !strftime(s, sizeof s, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return;
    document_cell(d, text_of(title), 0);
    document_cell(d, text_of(s), 0);
}

static void add_duration(struct document *d, const char *title, uint64_t ns)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(title), 0);
    document_cell(d, text_of(units_scaled(s, (double)ns, "nanoseconds")), 0);
}

static const struct {
    const char *key, *title;
} meta_shown[] = {
    {META_COMMAND, "command"},
    {META_EXIT_STATUS, "exit status"},
    {META_TIME_NS, "recorded"},
    {META_DURATION_NS, "duration"},
    {META_CPU_TIME_NS, "CPU time"},
    {META_ENGINE, "engine"},
    {META_ENGINE_NOTE, "limits"},
    {META_RATE_HZ, "rate asked, Hz"},
    {META_RATE_ACHIEVED_HZ, "rate achieved, Hz"},
    {META_THROTTLED, "times throttled"},
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
};

static void add_provenance(struct document *d, const struct report *r)
{
    static const struct document_column columns[] = {{"what"}, {"value", .wide = true}};
    const struct meta *m = &r->profile->meta;
    document_heading(d, "Recorded");
    document_table(d, columns, 2);
    for (size_t i = 0; i < sizeof meta_shown / sizeof *meta_shown; i++) {
        const char *key = meta_shown[i].key, *value = meta_find(m, key);
        size_t n = strlen(key);
        uint64_t ns;
        if (!value)
            continue;
        if (strcmp(key, META_TIME_NS) == 0 && meta_find_u64(m, key, &ns)) {
            add_time(d, meta_shown[i].title, ns);
        } else if (n > 3 && strcmp(key + n - 3, "_ns") == 0 && meta_find_u64(m, key, &ns)) {
            add_duration(d, meta_shown[i].title, ns);
        } else {
            document_cell(d, text_of(meta_shown[i].title), 0);
            document_cell(d, text_of(value), 0);
        }
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
    caption_warnings(&b, r->profile, r->type);
    struct text rest = buf_text(&b);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(d, "Careful: %.*s.", TEXT_ARG(line));
    }
}

static void add_head(struct document *d, const struct report *r)
{
    autobuf struct buf b = {0};
    caption_build(&b, r->profile, r->type);
    document_text(d, "%s", buf_cstr(&b));
    add_warnings(d, r);
}

static void add_certainty(struct document *d, const struct flat *f)
{
    if (!(f->time.n_samples > 0))
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

static void cell_module(struct document *d, const struct report *r, const struct flat_row *row)
{
    struct text module = profile_module_name(r->profile, row->mapping);
    document_cell(d, module.n ? module : text_of(row->kernel ? "[kernel]" : "-"), 0);
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

static void add_list(struct document *d, const struct report *r, enum flat_what what)
{
    const struct flat *f = r->functions;
    autofree uint32_t *rows = mem_calloc(r->opts.top + 1, sizeof *rows);
    size_t n = flat_top(f, what, r->opts.top, rows), few = 0;
    bool weighs = f->count_type != r->type;
    document_table(d, columns_list[what][weighs], 4 + weighs);
    for (size_t i = 0; i < n; i++) {
        const struct flat_row *row = &f->rows.at[rows[i]];
        struct flat_share s = flat_share_of_row(f, rows[i], what);
        int64_t count = what == FLAT_SELF ? row->self_count : row->total_count;
        cell_share(d, &s);
        cell_count(d, f, count);
        if (weighs)
            cell_value(d, r, what == FLAT_SELF ? row->self : row->total);
        document_cell(d, flat_name(f, rows[i]), 0);
        cell_module(d, r, row);
        few += f->count_type >= 0 && count < FEW_FOR_ORDER;
    }
    tell_few(d, few);
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
        cell_share(d, &self);
        if (!threads) {
            struct flat_share total = flat_share_of_row(f, rows[i], FLAT_TOTAL);
            cell_share(d, &total);
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

/* --- hot paths --- */

static const struct document_column columns_paths[] = {
    {"total", .right = true}, {"self", .right = true}, {"path", .wide = true}};

static uint32_t only_child(const struct calltree *t, uint32_t node)
{
    return t->child_end[node] - t->child_at[node] == 1 ? t->list[t->child_at[node]] : 0;
}

static void cell_part(struct document *d, int64_t part, int64_t whole)
{
    char s[UNITS_MAX];
    double share = whole > 0 ? (double)part / (double)whole : 0;
    snprintf(s, sizeof s, "%.1f%%", 100 * share);
    document_cell(d, text_of(part ? s : ""), 0);
}

static void add_path_row(struct document *d, const struct calltree *t, uint32_t node, size_t indent)
{
    autobuf struct buf b = {0};
    struct text name = labels_text(&t->labels, t->label[node]);
    cell_part(d, t->total[node], t->total[0]);
    cell_part(d, t->self[node], t->total[0]);
    for (size_t i = 0; i < (indent < 30 ? indent : 30); i++)
        buf_str(&b, "  ");
    buf_add(&b, name.at, name.n);
    document_cell(d, buf_text(&b), 0);
}

static void add_gap_row(struct document *d, size_t n, size_t indent)
{
    autobuf struct buf b = {0};
    document_cell(d, text_of(""), 0);
    document_cell(d, text_of(""), 0);
    for (size_t i = 0; i < (indent < 30 ? indent : 30); i++)
        buf_str(&b, "  ");
    buf_printf(&b, "... %zu frames", n);
    document_cell(d, buf_text(&b), 0);
}

/* A run of frames that each call only the next; what is between its ends is counted. */
static uint32_t add_chain(struct document *d, const struct calltree *t, uint32_t node,
                          size_t indent)
{
    size_t n = 1;
    uint32_t last = node;
    for (uint32_t next; (next = only_child(t, last)); n++)
        last = next;
    size_t hidden = n > CHAIN_SHOWN + 2 ? n - CHAIN_SHOWN : 0;
    for (size_t i = 0; i < n; i++) {
        if (hidden && i == CHAIN_SHOWN / 2)
            add_gap_row(d, hidden, indent);
        if (!hidden || i < CHAIN_SHOWN / 2 || i >= CHAIN_SHOWN / 2 + hidden)
            add_path_row(d, t, node, indent);
        node = i + 1 < n ? only_child(t, node) : node;
    }
    return last;
}

struct pending {
    uint32_t node;
    size_t indent;
};

static int by_total(const void *a, const void *b, void *tree)
{
    const struct calltree *t = tree;
    uint32_t x = ((const struct pending *)a)->node, y = ((const struct pending *)b)->node;
    if (t->total[x] != t->total[y])
        return t->total[x] < t->total[y] ? -1 : 1; /* a stack: the largest is taken first */
    return (x < y) - (x > y);
}

static void add_paths(struct document *d, const struct report *r)
{
    struct calltree *t = r->paths;
    VEC(struct pending) todo = {0};
    document_heading(d, "Hot paths");
    document_tree(d, columns_paths, 3);
    *vec_push(&todo) = (struct pending){0, 0};
    while (todo.n) {
        struct pending at = todo.at[--todo.n];
        uint32_t last = at.node ? add_chain(d, t, at.node, at.indent) : 0;
        size_t first = todo.n;
        for_each_child (t, last, child)
            *vec_push(&todo) = (struct pending){child, last ? at.indent + 1 : 0};
        if (todo.n > first)
            qsort_r(todo.at + first, todo.n - first, sizeof *todo.at, by_total, t);
    }
    vec_done(&todo);
    document_text(d, "Calls below %.3g%% of the total are left out.", 100 * r->paths_least);
}

/* --- one function --- */

static void add_calls(struct document *d, const struct report *r, const char *title,
                      const int64_t *values, struct text rest_name, int64_t rest)
{
    static const struct document_column columns[] = {
        {"of it", .right = true}, {"of all", .right = true}, {"name", .wide = true}};
    const struct flat *f = r->functions;
    int64_t whole = rest;
    for (size_t i = 0; i < f->rows.n; i++)
        whole += values[i];
    document_heading(d, title);
    document_table(d, columns, 3);
    autofree bool *done = mem_calloc(f->rows.n + 1, sizeof *done);
    for (size_t n = 0; n < r->opts.top; n++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < f->rows.n; i++)
            if (!done[i] && values[i] > 0 && (best == UINT32_MAX || values[i] > values[best]))
                best = i;
        int64_t value = best == UINT32_MAX ? 0 : values[best];
        bool take_rest = rest > 0 && rest >= value;
        if (!take_rest && best == UINT32_MAX)
            break;
        cell_part(d, take_rest ? rest : value, whole);
        cell_part(d, take_rest ? rest : value, f->whole);
        document_cell(d, take_rest ? rest_name : flat_name(f, best), 0);
        if (take_rest)
            rest = 0;
        else
            done[best] = true;
    }
}

static void add_function(struct document *d, const struct report *r)
{
    const struct flat *f = r->functions;
    uint32_t row = 0;
    while (!r->of_callers[row])
        row++;
    struct flat_share self = flat_share_of_set(f, r->of_callers, FLAT_SELF);
    struct flat_share total = flat_share_of_set(f, r->of_callers, FLAT_TOTAL);
    autobuf struct buf s = {0}, t = {0};
    insight_share(&s, &self);
    insight_share(&t, &total);
    document_heading(d, flat_name(f, row).at);
    document_text(d, "%s is spent in it, %s in it and in what it calls.", buf_cstr(&s),
                  buf_cstr(&t));
    struct flat_calls c = flat_calls_of_set(f, r->of_callers);
    add_calls(d, r, "Called by", c.callers, text_of("(nothing: it is the first on its stack)"),
              c.from_nothing);
    add_calls(d, r, "Spent in", c.callees, text_of("(itself)"), c.self);
    flat_calls_done(&c);
    document_text(d,
                  "Of nested calls the outermost tells the caller and the innermost the callee.");
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

static void add_whole(struct document *d, const struct report *r, bool figure)
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
    add_paths(d, r);
    document_heading(d, by_title(FLAT_MODULE));
    add_by(d, r->modules, top);
    if (r->profile->threads.n > 2) {
        document_heading(d, by_title(FLAT_THREAD));
        add_by(d, r->threads, top);
    }
    add_provenance(d, r);
}

static void build_document(struct document *d, const struct report *r, bool figure)
{
    add_head(d, r);
    if (r->opts.callers)
        add_function(d, r);
    if (r->by) {
        document_heading(d, by_title(r->opts.by));
        add_by(d, r->by, r->opts.top);
    }
    if (r->opts.callers || r->by)
        add_certainty(d, r->functions);
    else
        add_whole(d, r, figure);
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
    struct calltree_opts o = {.type = r->type, .group = GROUP_COMM, .min_share = 0.002};
    struct calltree *t = calltree_build(r->profile, &o);
    flame_print(out, r->profile, t, r->type,
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
