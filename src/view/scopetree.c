#include "view/scopetree_inner.h"

#include "base/units.h"
#include "model/meta.h"
#include "view/counters.h"

/* Scopes of which the page has a drawing. */
enum { DRAWN = 6 };

static const struct document_column scope_columns[] = {
    {"calls", .right = true},
    {"total", .right = true},
    {"self", .right = true},
    {"min", .right = true, .spare = 4},
    {"mean", .right = true, .spare = 2},
    {"sd", .right = true, .spare = 5},
    {"p50", .right = true},
    {"p90", .right = true, .spare = 1},
    {"p99", .right = true},
    {"p99.9", .right = true, .spare = 3},
    {"max", .right = true},
    {"allocs", .right = true},
    {"bytes", .right = true},
    {"scope", .wide = true},
};

enum { SCOPE_COLUMNS = sizeof scope_columns / sizeof *scope_columns };

static void cell_ns(struct document *d, double ns, double heat)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(units_scaled(s, ns, SCALED_NS)), heat);
}

bool scopetree_shows(const struct scope_sum *s, double q)
{
    return q <= 0.5 || scope_sum_has_quantile(s, q);
}

static void cell_quantile(struct document *d, const struct scope_sum *s, double q)
{
    if (!scopetree_shows(s, q))
        document_cell(d, text_of("-"), 0);
    else
        cell_ns(d, (double)scope_sum_quantile_ns(s, q), 0);
}

/* A scope of which only those inside have ended. */
static void cells_of_no_span(struct document *d, const struct scopetree *t)
{
    enum { TIMES = 10 };
    document_cell(d, text_of("0"), 0);
    for (int i = 0; i < TIMES; i++)
        document_cell(d, text_of("-"), 0);
    for (int i = 0; i < 2; i++)
        document_cell(d, text_of(t->has_blocks ? "-" : ""), 0);
}

static void cells_of_sum(struct document *d, const struct scopetree *t, const struct scope_sum *s)
{
    char n[UNITS_MAX];
    if (!s->calls) {
        cells_of_no_span(d, t);
        return;
    }
    double whole = t->end_ns > t->start_ns ? (double)(t->end_ns - t->start_ns) : 1;
    double share = (double)s->total_ns / whole;
    document_cell(d, text_of(units_count(n, s->calls)), 0);
    cell_ns(d, (double)s->total_ns, share < 1 ? share : 1);
    cell_ns(d, (double)s->self_ns, 0);
    cell_ns(d, (double)s->min_ns, 0);
    cell_ns(d, s->mean_ns, 0);
    if (s->calls > 1)
        cell_ns(d, scope_sum_sd_ns(s), 0);
    else
        document_cell(d, text_of("-"), 0);
    cell_quantile(d, s, 0.5);
    cell_quantile(d, s, 0.9);
    cell_quantile(d, s, 0.99);
    cell_quantile(d, s, 0.999);
    cell_ns(d, (double)s->max_ns, 0);
    document_cell(d, text_of(t->has_blocks ? units_count(n, s->blocks.blocks) : ""), 0);
    double bytes = (double)s->blocks.bytes;
    document_cell(d, text_of(t->has_blocks ? units_scaled(n, bytes, SCALED_BYTES) : ""), 0);
}

/* --- tables --- */

static void add_tree(struct document *d, const struct scopetree_view *v)
{
    enum { INDENT_MAX = 40 };
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    size_t shown = 0;
    document_heading(d, "Scopes");
    document_tree(d, scope_columns, SCOPE_COLUMNS);
    for (size_t i = 0; i < t->tree.n && shown < v->top; i++) {
        const struct scope_node *n = &t->tree.at[i];
        int indent = 2 * (int)(n->depth < INDENT_MAX ? n->depth : INDENT_MAX);
        autofree char *name = mem_printf("%*s%.*s", indent, "", TEXT_ARG(profile_str(p, n->name)));
        cells_of_sum(d, t, &n->sum);
        document_cell(d, text_of(name), 0);
        shown++;
    }
    document_drop_empty(d);
    if (shown < t->tree.n)
        document_text(d, "%zu more not shown.", t->tree.n - shown);
}

static void add_flat(struct document *d, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    if (t->flat.n == t->tree.n)
        return; /* the same again */
    document_heading(d, "By name");
    document_table(d, scope_columns, SCOPE_COLUMNS);
    for (size_t i = 0; i < t->flat.n && i < v->top; i++) {
        cells_of_sum(d, t, &t->flat.at[i].sum);
        document_cell(d, profile_str(p, t->flat.at[i].name), 0);
    }
    document_drop_empty(d);
}

char *scopetree_attr(const struct profile *p, const struct attr *a)
{
    struct text key = a->key.i ? profile_str(p, a->key) : text_of("thread");
    if (a->is_number)
        return mem_printf("%.*s=%lld", TEXT_ARG(key), (long long)a->number);
    return mem_printf("%.*s=%.*s", TEXT_ARG(key), TEXT_ARG(profile_str(p, a->text)));
}

static void add_groups(struct document *d, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    if (!v->by)
        return;
    autofree char *title = mem_printf("By %s", v->by);
    document_heading(d, title);
    document_table(d, scope_columns, SCOPE_COLUMNS);
    for (size_t i = 0; i < t->groups.n && i < v->top; i++) {
        const struct scope_node *g = &t->groups.at[i];
        autofree char *attr = scopetree_attr(p, &g->attr);
        autofree char *name = mem_printf("%.*s %s", TEXT_ARG(profile_str(p, g->name)), attr);
        cells_of_sum(d, t, &g->sum);
        document_cell(d, text_of(name), 0);
    }
    document_drop_empty(d);
}

/* --- all of it --- */

static void add_head(struct document *d, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    const struct stream *s = t->selection->stream;
    const char *note = meta_find(&p->meta, META_SCOPES_NOTE);
    char n[3][UNITS_MAX];
    document_text(d, "%s span%s of %s scope%s in %s. %s", units_count(n[0], t->spans),
                  t->spans == 1 ? "" : "s", units_count(n[1], t->flat.n), t->flat.n == 1 ? "" : "s",
                  units_seconds(n[2], scopetree_seconds(t)),
                  !s->lost_known ? "Losses are not known."
                  : s->lost      ? ""
                                 : "None lost.");
    if (s->lost)
        document_text(d,
                      "%s lost: counts and totals are too low, self times too high, and "
                      "percentiles describe the spans that were kept.",
                      units_many(n[2], s->lost, "record was", "records were"));
    if (note)
        document_text(d, "The recorder noted: %s.", note);
    if (t->selection->words)
        document_text(d, "Only: %s.", t->selection->words);
}

static void scopetree_fill(struct document *d, const struct scopetree_view *v, bool figures)
{
    add_head(d, v);
    scopetree_add_insights(d, v);
    add_tree(d, v);
    add_groups(d, v);
    add_flat(d, v);
    for (size_t i = 0; figures && i < v->tree->flat.n && i < DRAWN; i++) {
        if (i == 0)
            document_heading(d, "Latencies");
        document_figure(d);
    }
    scopetree_add_slowest(d, v);
    scopetree_add_cpu(d, v);
    counters_add(d, v->tree->selection->profile, scopetree_rate_seconds(v->tree));
    document_text(d,
                  "Total: all spans of a scope. Self: without the scopes inside. Percentiles are "
                  "accurate to 1%%; one that needs more spans than there are is left out.%s",
                  v->tree->has_blocks ? " Allocations are of the thread that was in the scope, "
                                        "scopes inside included."
                                      : "");
}

static char *title_of_scopes(const struct scopetree_view *v)
{
    const char *command = meta_find(&v->tree->selection->profile->meta, META_COMMAND);
    return mem_printf("Scopes of %s", command ? command : v->subject);
}

static void draw_latency(FILE *out, const void *view, size_t i)
{
    scopetree_draw(out, view, i);
}

void scopetree_print(FILE *out, const struct scopetree_view *v, const struct document_paper *paper)
{
    struct document d = {0};
    autofree char *title = title_of_scopes(v);
    scopetree_fill(&d, v, paper->form == DOCUMENT_AS_HTML);
    document_print(out, &d, title, paper, &(struct document_figures){draw_latency, v});
    document_done(&d);
}
