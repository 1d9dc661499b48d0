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

static const struct document_column columns_paths[] = {
    {"total", .right = true}, {"", .right = true}, {"self", .right = true}, {"path", .wide = true}};

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

/* An arrow tells that a row is called by the one above it, not beside it. */
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
    cell_part(d, t->self[node], t->total[0]);
    add_indent(&b, indent, !first);
    buf_add(&b, name.at, name.n);
    document_cell(d, buf_text(&b), 0);
}

static void add_gap_row(struct document *d, size_t n, size_t indent)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < 3; i++)
        document_cell(d, text_of(""), 0);
    add_indent(&b, indent, true);
    buf_printf(&b, "... %zu frames", n);
    document_cell(d, buf_text(&b), 0);
}

/* A run of frames that each call only the next; what is between its ends is counted. */
static uint32_t add_chain(struct document *d, const struct paths *p, uint32_t node, size_t indent)
{
    const struct calltree *t = p->tree;
    size_t n = 1;
    uint32_t last = node;
    for (uint32_t next; (next = only_child(t, last)); n++)
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
    document_tree(d, columns_paths, 4);
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
    document_text(d, "Calls below %.3g%% of the total are left out.", 100 * r->paths_least);
}

/* --- one function --- */

/* Who calls the function, or what it calls: sums by row, and for each stack whose it is. */
struct calls {
    const char *title, *rest_name;
    const int64_t *values;
    const uint32_t *of_stack;
    int64_t rest; /* with no row: called by nothing, or spent in itself */
};

static void add_call(struct document *d, const struct report *r, const struct calls *c,
                     int64_t whole, uint32_t row)
{
    const struct flat *f = r->functions;
    bool nobody = row == FLAT_NOBODY;
    struct flat_share s = flat_share_of_calls(f, c->of_stack, row);
    cell_part(d, nobody ? c->rest : c->values[row], whole);
    report_cell_share(d, &s);
    document_cell(d, nobody ? text_of(c->rest_name) : flat_name(f, row), 0);
}

static void add_calls(struct document *d, const struct report *r, const struct calls *c)
{
    static const struct document_column columns[] = {
        {"of it", .right = true}, {"of all", .right = true}, {"name", .wide = true}};
    size_t n;
    autofree uint32_t *rows = report_rank(r->functions, c->values, &n);
    int64_t whole = c->rest;
    for (size_t i = 0; i < n; i++)
        whole += c->values[rows[i]];
    document_heading(d, c->title);
    document_table(d, columns, 3);
    bool rest = c->rest > 0;
    for (size_t i = 0; i < r->opts.top && (rest || i < n); i++) {
        if (rest && (i == n || c->rest >= c->values[rows[i]])) {
            add_call(d, r, c, whole, FLAT_NOBODY);
            rest = false;
        }
        if (i < n)
            add_call(d, r, c, whole, rows[i]);
    }
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
    insight_share(&s, &self);
    insight_share(&t, &total);
    document_heading(d, flat_name(f, row).at);
    document_text(d, "%s is spent in it, %s in it and in what it calls.", buf_cstr(&s),
                  buf_cstr(&t));
    struct flat_calls c = flat_calls_of_set(f, r->of_callers);
    add_calls(d, r,
              &(struct calls){"Called by", "(nothing: it is the first on its stack)", c.callers,
                              c.caller_of, c.from_nothing});
    add_calls(d, r, &(struct calls){"Spent in", "(itself)", c.callees, c.callee_of, c.self});
    flat_calls_done(&c);
    document_text(d,
                  "Of nested calls the outermost tells the caller and the innermost the callee.");
}
