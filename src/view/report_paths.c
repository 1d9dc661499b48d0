/* report_paths.c - hot paths, callers and callees. */
#include "base/units.h"
#include "view/report_inner.h"

static void cell_part(struct document *d, int64_t part, int64_t whole)
{
    char s[UNITS_MAX];
    double share = whole > 0 ? (double)part / (double)whole : 0;
    snprintf(s, sizeof s, "%.1f%%", 100 * share);
    document_cell(d, text_of(part ? s : ""), 0);
}

/* --- hot paths --- */

double report_part_of_path(const struct report *r, int64_t value)
{
    int64_t whole = r->paths->total[0];
    return whole > 0 ? (double)value / (double)whole : 0;
}

static const struct document_column columns_paths[] = {{"total", .right = true},
                                                       {"", .right = true},
                                                       {"time", .right = true},
                                                       {"self", .right = true},
                                                       {"path", .wide = true}};

/* Frames of a chain that are shown, half of them at its start, half at its end. */
enum { CHAIN_SHOWN = 4 };

struct paths {
    const struct report *report;
    const struct calltree *tree;
};

static uint32_t only_child(const struct calltree *t, uint32_t node)
{
    return t->child_end[node] - t->child_at[node] == 1 ? t->list[t->child_at[node]] : 0;
}

/* An arrow shows that a row is called by the one above it, not beside it. */
static void add_indent(struct buf *b, size_t indent, bool called)
{
    for (size_t i = 0; i < (indent < 30 ? indent : 30); i++)
        buf_str(b, "  ");
    buf_str(b, called ? "\xe2\x86\x92 " : "");
}

static void add_path_row(struct document *d, const struct paths *p, uint32_t node, size_t indent,
                         bool first)
{
    autobuf struct buf b = {0};
    const struct calltree *t = p->tree;
    struct text name = labels_text(&t->labels, t->label[node]);
    cell_part(d, t->total[node], t->total[0]);
    if (first) {
        struct flat_share s = report_share_of_path(p->report, node);
        insight_half(&b, &s);
    }
    document_cell(d, buf_text(&b), 0);
    b.n = 0;
    report_cell_time(d, p->report, report_part_of_path(p->report, t->total[node]));
    cell_part(d, t->self[node], t->total[0]);
    add_indent(&b, indent, !first);
    buf_add(&b, name.at, name.n);
    document_cell(d, buf_text(&b), 0);
}

static void add_gap_row(struct document *d, size_t n, size_t indent)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < 4; i++)
        document_cell(d, text_of(""), 0);
    add_indent(&b, indent, true);
    buf_printf(&b, "... %zu frames", n);
    document_cell(d, buf_text(&b), 0);
}

/* A chain that begins with 91% and ends with less than 89% would hide where the rest went. */
#define CHAIN_LOSS 0.02

/* The next frame of the chain that begins at FIRST, 0 at its end: no more may be lost on the way.
 */
static uint32_t next_in_chain(const struct calltree *t, uint32_t first, uint32_t node)
{
    uint32_t next = only_child(t, node);
    double lost = (double)t->total[first] - (double)t->total[next];
    return next && lost < CHAIN_LOSS * (double)t->total[0] ? next : 0;
}

/*
 * A run of frames that each call only the next and keep the share; what is between its ends is
 * counted. The frame where self time or small calls take a share is the last, so it is shown.
 */
static uint32_t add_chain(struct document *d, const struct paths *p, uint32_t node, size_t indent)
{
    const struct calltree *t = p->tree;
    size_t n = 1;
    uint32_t first = node, last = node;
    for (uint32_t next; (next = next_in_chain(t, first, last)); n++)
        last = next;
    size_t hidden = n > CHAIN_SHOWN + 2 ? n - CHAIN_SHOWN : 0;
    for (size_t i = 0; i < n; i++) {
        if (hidden && i == CHAIN_SHOWN / 2)
            add_gap_row(d, hidden, indent);
        if (!hidden || i < CHAIN_SHOWN / 2 || i >= CHAIN_SHOWN / 2 + hidden)
            add_path_row(d, p, node, indent, i == 0);
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

void report_add_paths(struct document *d, const struct report *r)
{
    struct calltree *t = r->paths;
    struct paths paths = {r, t};
    VEC(struct pending) todo = {0};
    document_heading(d, "Hot paths");
    document_tree(d, columns_paths, 5);
    *vec_push(&todo) = (struct pending){0, 0};
    while (todo.n) {
        struct pending at = todo.at[--todo.n];
        uint32_t last = at.node ? add_chain(d, &paths, at.node, at.indent) : 0;
        size_t first = todo.n;
        for_each_child (t, last, child)
            *vec_push(&todo) = (struct pending){child, last ? at.indent + 1 : 0};
        if (todo.n > first)
            qsort_r(todo.at + first, todo.n - first, sizeof *todo.at, by_total, t);
    }
    vec_done(&todo);
    document_drop_empty(d);
    document_text(d, "Calls below %.3g%% of the total are left out.%s", 100 * r->paths_least,
                  r->merged_recursion ? " A function that calls itself directly is one row." : "");
}

/* --- one function --- */

struct text report_call_name(const struct report *r, const struct report_calls *c, uint32_t row)
{
    return row == FLAT_NOBODY ? text_of(c->rest_name) : flat_name(r->functions, row);
}

static int64_t call_value(const struct report_calls *c, uint32_t row)
{
    return row == FLAT_NOBODY ? c->rest : c->values[row];
}

double report_call_part(const struct report_calls *c, uint32_t row)
{
    return c->whole > 0 ? (double)call_value(c, row) / (double)c->whole : 0;
}

/* The rest has its place among the rows, before those that are no larger. */
static void rank_calls(struct report_calls *c, const struct report *r)
{
    size_t n;
    autofree uint32_t *rows = report_rank(r->functions, c->values, &n);
    bool rest = c->rest > 0;
    c->rows = mem_calloc(n + 1, sizeof *c->rows);
    c->whole = c->rest;
    for (size_t i = 0; i < n; i++) {
        c->whole += c->values[rows[i]];
        if (rest && c->rest >= c->values[rows[i]]) {
            c->rows[c->n++] = FLAT_NOBODY;
            rest = false;
        }
        c->rows[c->n++] = rows[i];
    }
    if (rest)
        c->rows[c->n++] = FLAT_NOBODY;
    c->n = c->n < r->opts.top ? c->n : r->opts.top;
}

void report_calls_build(struct report_calls *callers, struct report_calls *callees,
                        const struct report *r)
{
    struct flat_calls c = flat_calls_of_set(r->functions, r->of_callers);
    *callers = (struct report_calls){.title = "Called by",
                                     .key = "callers",
                                     .rest_name = "(none: first on its stack)",
                                     .values = c.callers,
                                     .of_stack = c.caller_of,
                                     .rest = c.from_nothing};
    *callees = (struct report_calls){.title = "Calls",
                                     .key = "callees",
                                     .rest_name = "(itself)",
                                     .values = c.callees,
                                     .of_stack = c.callee_of,
                                     .rest = c.self};
    rank_calls(callers, r);
    rank_calls(callees, r);
}

void report_calls_done(struct report_calls *callers, struct report_calls *callees)
{
    flat_calls_done(&(struct flat_calls){.callers = callers->values,
                                         .callees = callees->values,
                                         .caller_of = callers->of_stack,
                                         .callee_of = callees->of_stack});
    free(callers->rows);
    free(callees->rows);
}

static void add_calls(struct document *d, const struct report *r, const struct report_calls *c)
{
    static const struct document_column columns[] = {{"of function", .right = true},
                                                     {"of total", .right = true},
                                                     {"time", .right = true},
                                                     {"name", .wide = true}};
    document_heading(d, c->title);
    document_table(d, columns, 4);
    for (size_t i = 0; i < c->n; i++) {
        struct flat_share s = flat_share_of_calls(r->functions, c->of_stack, c->rows[i]);
        cell_part(d, call_value(c, c->rows[i]), c->whole);
        report_cell_share(d, &s);
        report_cell_time(d, r, s.share);
        document_cell(d, report_call_name(r, c, c->rows[i]), 0);
    }
    document_drop_empty(d);
}

/* "50.6% ±2.6, 1.54 s" */
static void put_share_and_time(struct buf *b, const struct report *r, const struct flat_share *s)
{
    char time[UNITS_MAX];
    double ns = report_time_ns(r, s->share);
    insight_share(b, s);
    if (ns > 0)
        buf_printf(b, ", %s", units_scaled(time, ns, SCALED_NS));
}

void report_add_function(struct document *d, const struct report *r)
{
    const struct flat *f = r->functions;
    uint32_t row = 0;
    while (!r->of_callers[row])
        row++;
    struct flat_share self = flat_share_of_set(f, r->of_callers, FLAT_SELF);
    struct flat_share total = flat_share_of_set(f, r->of_callers, FLAT_TOTAL);
    autobuf struct buf s = {0}, t = {0};
    put_share_and_time(&s, r, &self);
    put_share_and_time(&t, r, &total);
    document_heading(d, flat_name(f, row).at);
    document_text(d, "Self %s. Total %s.", buf_cstr(&s), buf_cstr(&t));
    struct report_calls callers, callees;
    report_calls_build(&callers, &callees, r);
    add_calls(d, r, &callers);
    add_calls(d, r, &callees);
    report_calls_done(&callers, &callees);
    document_text(
        d, "For recursive calls, callers are taken from the outermost frame and callees from "
           "the innermost.");
}
