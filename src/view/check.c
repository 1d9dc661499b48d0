/* check.c - rules and growth for people; see check.h. */
#include "view/check.h"

#include "base/buf.h"
#include "base/units.h"
#include "view/caption.h"

#include <math.h>

static void check_cell(struct document *d, const char *text)
{
    document_cell(d, text_of(text), 0);
}

/* --- rules --- */

static const struct document_column columns_rules[] = {
    {"verdict"}, {"line", .right = true}, {"rule", .wide = true}, {"observed"}};

/* Failures stand out, also without colour. */
static const char *const shown[] = {"passed", "FAILED", "inconclusive", "not applicable"};

static void add_table(struct document *d, const struct check *c)
{
    document_table(d, columns_rules, 4);
    for (size_t i = 0; i < c->results.n; i++) {
        const struct check_result *r = &c->results.at[i];
        char line[UNITS_MAX];
        snprintf(line, sizeof line, "%u", r->rule->line);
        document_cell(d, text_of(shown[r->verdict]), r->verdict == CHECK_FAILS ? 1 : 0);
        check_cell(d, line);
        check_cell(d, r->rule->text);
        check_cell(d, r->observed);
    }
}

static void add_evidence(struct document *d, const struct check *c, enum check_verdict verdict)
{
    for (size_t i = 0; i < c->results.n; i++) {
        const struct check_result *r = &c->results.at[i];
        if (r->verdict != verdict)
            continue;
        char title[64];
        snprintf(title, sizeof title, "line %u %s", r->rule->line,
                 verdict == CHECK_FAILS ? "failed" : "is inconclusive");
        document_item(d, title, r->rule->text, r->why);
    }
}

static bool has_changes(const struct check *c)
{
    for (size_t i = 0; i < c->results.n; i++)
        if (c->results.at[i].rule->kind == RULE_DIFF_TOTAL ||
            c->results.at[i].rule->kind == RULE_DIFF_SELF)
            return true;
    return false;
}

void check_add_rules(struct document *d, const struct check_view *v)
{
    const struct check *c = v->check;
    document_heading(d, "Rules");
    add_table(d, c);
    add_evidence(d, c, CHECK_FAILS);
    add_evidence(d, c, CHECK_INCONCLUSIVE);
    document_text(d, "%zu passed, %zu failed, %zu inconclusive.", c->n[CHECK_HOLDS],
                  c->n[CHECK_FAILS], c->n[CHECK_INCONCLUSIVE]);
    if (has_changes(c) && v->against)
        document_text(
            d,
            "Changes are relative to %s, one run per side: the intervals shown cover sampling "
            "error, not run-to-run variation.",
            v->against);
}

/* --- growth --- */

static const struct document_column columns_sizes[] = {
    {"size", .right = true},          {"samples", .right = true},
    {"cost", .right = true},          {"size \xc3\x97", .right = true},
    {"cost \xc3\x97", .right = true}, {"cost \xc3\x97 / size \xc3\x97", .right = true},
};
static const struct document_column columns_growth[] = {
    {"self", .right = true},         {"cost \xc3\x97", .right = true},
    {"exponent", .right = true},     {"95% interval", .right = true},
    {"with callees", .right = true}, {"95% interval", .right = true},
    {"function", .wide = true},
};

static const struct document_column columns_scopes[] = {
    {"total", .right = true},    {"cost \xc3\x97", .right = true},
    {"exponent", .right = true}, {"95% interval", .right = true},
    {"self", .right = true},     {"95% interval", .right = true},
    {"scope", .wide = true},
};

static void cell_factor(struct document *d, double factor)
{
    char s[UNITS_MAX];
    snprintf(s, sizeof s, "%.2f", factor);
    check_cell(d, s);
}

/* What was met at one size only has no ratio. */
static void cell_ratio(struct document *d, struct scaling_ratio r)
{
    if (r.size > 1)
        cell_factor(d, r.cost);
    else
        check_cell(d, "-");
}

static void cell_cost(struct document *d, const struct scaling *s, double cost)
{
    char text[UNITS_MAX];
    check_cell(d, units_scaled(text, cost, dimension_scaled(s->dimension)));
}

static void cell_samples(struct document *d, const struct flat *f)
{
    char s[UNITS_MAX];
    bool known = f->count_type >= 0;
    check_cell(d, known ? units_count(s, (uint64_t)f->selection->n_samples) : "-");
}

static void add_sizes(struct document *d, const struct scaling *s)
{
    document_table(d, columns_sizes, 6);
    for (size_t i = 0; i < s->n; i++) {
        char size[UNITS_MAX];
        snprintf(size, sizeof size, "%.10g", s->runs[i].size);
        check_cell(d, size);
        cell_samples(d, s->lists[i]);
        cell_cost(d, s, s->whole.cost[i]);
        if (i == 0) {
            check_cell(d, "");
            check_cell(d, "");
            check_cell(d, "");
            continue;
        }
        double size_ratio = s->runs[i].size / s->runs[i - 1].size;
        double cost_ratio = s->whole.cost[i] / s->whole.cost[i - 1];
        cell_factor(d, size_ratio);
        cell_factor(d, cost_ratio);
        cell_factor(d, cost_ratio / size_ratio);
    }
}

static void say_items(struct document *d, const struct scaling *s)
{
    autobuf struct buf b = {0};
    char items[UNITS_MAX];
    if (!s->per_item)
        return;
    for (size_t i = 0; i < s->n; i++)
        buf_printf(&b, "%s%s",
                   i == 0         ? ""
                   : i + 1 < s->n ? ", "
                                  : " and ",
                   units_number(items, s->runs[i].items));
    document_text(d, "Costs are per item. Items per run, by size: %s.", buf_cstr(&b));
}

/* What rounds to nothing has no sign. */
static double two_decimals(double v)
{
    return fabs(v) < 0.005 ? 0 : v;
}

static void add_interval(struct buf *b, const struct scaling_cost *c)
{
    if (c->fits && isfinite(c->growth.interval.low))
        buf_printf(b, "%.2f to %.2f", two_decimals(c->growth.interval.low),
                   two_decimals(c->growth.interval.high));
}

static void cell_growth(struct document *d, const struct scaling_cost *c)
{
    autobuf struct buf b = {0};
    char s[UNITS_MAX] = "-";
    if (c->fits)
        snprintf(s, sizeof s, "%.2f", two_decimals(c->growth.exponent));
    add_interval(&b, c);
    check_cell(d, s);
    document_cell(d, b.n ? buf_text(&b) : text_of("-"), 0);
}

static void check_add_functions(struct document *d, const struct scaling *s)
{
    document_table(d, columns_growth, 7);
    for (size_t i = 0; i < s->functions.n; i++) {
        const struct scaling_function *f = &s->functions.at[i];
        char share[UNITS_MAX];
        snprintf(share, sizeof share, "%.1f%%", 100 * f->at_end.share);
        document_cell(d, text_of(share), f->at_end.share);
        cell_ratio(d, scaling_ratio_of(s, &f->self));
        cell_growth(d, &f->self);
        cell_growth(d, &f->total);
        document_cell(d, f->name, 0);
    }
}

static void check_add_scopes(struct document *d, const struct scaling *s)
{
    document_table(d, columns_scopes, 7);
    for (size_t i = 0; i < s->scopes.n; i++) {
        const struct scaling_scope *f = &s->scopes.at[i];
        char time[UNITS_MAX];
        check_cell(d, units_scaled(time, f->total.cost[s->n - 1], SCALED_NS));
        cell_ratio(d, scaling_ratio_of(s, &f->total));
        cell_growth(d, &f->total);
        cell_growth(d, &f->self);
        document_cell(d, f->name, 0);
    }
}

static void tell_whole(struct document *d, const struct scaling_cost *whole)
{
    autobuf struct buf interval = {0};
    const struct growth *g = &whole->growth;
    if (!whole->fits)
        return;
    add_interval(&interval, whole);
    document_text(d, "Total cost ~ size^%.2f (%s), closest to O(%s) (off by x%.2f).",
                  two_decimals(g->exponent),
                  interval.n ? buf_cstr(&interval) : "add a third size to get an interval",
                  g->shape == GROWTH_1 ? "1" : growth_shape_names[g->shape], g->shape_error);
}

void check_add_growth(struct document *d, const struct scaling *s)
{
    document_heading(d, "Growth");
    add_sizes(d, s);
    say_items(d, s);
    tell_whole(d, &s->whole);
    if (s->functions.n) {
        document_text(d, "Functions by self time at the largest size:");
        check_add_functions(d, s);
    }
    if (s->scopes.n) {
        document_text(d, "Scopes by total time at the largest size:");
        check_add_scopes(d, s);
    }
}

/* --- pages --- */

static void check_add_warnings(struct document *d, const char *unlike)
{
    struct text rest = text_of(unlike);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        document_text(d, "Careful, compared anyway: %.*s.", TEXT_ARG(line));
    }
}

static void check_build_document(struct document *d, const struct check_view *v)
{
    autobuf struct buf caption = {0};
    caption_build(&caption, v->selection);
    document_text(d, "%s", buf_cstr(&caption));
    check_add_warnings(d, v->unlike);
    if (v->check)
        check_add_rules(d, v);
    if (v->scaling)
        check_add_growth(d, v->scaling);
}

static char *check_title_of(const struct check_view *v)
{
    if (!v->check)
        return mem_printf("Growth up to %s", v->subject);
    return mem_printf("Check of %s by %s: %s", v->subject, v->rules_name,
                      check_verdict_names[v->check->verdict]);
}

void check_print_text(FILE *out, const struct check_view *v, int width, bool colour)
{
    struct document d = {0};
    autofree char *title = check_title_of(v);
    document_text(&d, "%s", title);
    check_build_document(&d, v);
    document_print_text(out, &d, width, colour);
    document_done(&d);
}

void check_print_markdown(FILE *out, const struct check_view *v)
{
    struct document d = {0};
    autofree char *title = check_title_of(v);
    check_build_document(&d, v);
    document_print_markdown(out, &d, title);
    document_done(&d);
}
