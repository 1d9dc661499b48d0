#include "view/scopediff.h"

#include "base/json.h"
#include "base/units.h"
#include "view/document.h"

#include <math.h>

static const char *const quantile_names[] = {"p50", "p90", "p99"};

/* --- the verdict --- */

static size_t count_verdicts(const struct scopediff *d, enum scope_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < d->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            n += d->rows.at[i].at[k].verdict == verdict && !isnan(d->rows.at[i].at[k].p);
    return n;
}

static void scopediff_add_verdict(struct document *d, const struct scopediff *s)
{
    size_t slower = count_verdicts(s, SCOPE_SLOWER), faster = count_verdicts(s, SCOPE_FASTER);
    size_t same = count_verdicts(s, SCOPE_SAME);
    if (!s->n_tested)
        document_text(d, "No verdict: %s.",
                      scopediff_has_runs(s) ? "no scope has enough spans in every run"
                                            : "there are too few runs");
    else
        document_text(
            d, "%s: of %zu percentiles %zu slower, %zu faster, %zu the same, %zu not proven.",
            slower && faster ? "Slower and faster"
            : slower         ? "Slower"
            : faster         ? "Faster"
                             : "No change proven",
            s->n_tested, slower, faster, same, s->n_tested - slower - faster - same);
}

/* --- tables --- */

static void cell_time(struct document *d, double ns)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(isnan(ns) ? "-" : units_scaled(s, ns, SCALED_NS)), 0);
}

static void cell_calls(struct document *d, double calls)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(units_count(s, (uint64_t)(calls + 0.5))), 0);
}

/* "+12.3%", or "x3.10" where that reads better. */
static void put_change(char *s, size_t n, double change)
{
    if (isinf(change))
        snprintf(s, n, "any");
    else if (change >= 1)
        snprintf(s, n, "x%.2f", 1 + change);
    else
        snprintf(s, n, "%+.1f%%", units_change(1 + change));
}

static void cells_of_change(struct document *d, const struct scope_change *c)
{
    char is[40], low[40], high[40], both[84];
    put_change(is, sizeof is, c->change);
    put_change(low, sizeof low, c->interval.low);
    put_change(high, sizeof high, c->interval.high);
    snprintf(both, sizeof both, "%s to %s", c->interval.low <= -1 ? "-100%" : low, high);
    bool none = isnan(c->change), open = c->interval.low <= -1 && isinf(c->interval.high);
    document_cell(d, text_of(none ? "-" : is), 0);
    document_cell(d, text_of(none || open ? "-" : both), 0);
    snprintf(is, sizeof is, c->p < 0.001 ? "<0.001" : "%.3f", c->p);
    document_cell(d, text_of(isnan(c->p) ? "-" : is), 0);
    document_cell(d, text_of(none ? "-" : scope_verdict_names[c->verdict]), 0);
}

static void add_quantiles(struct document *d, const struct scopediff *s)
{
    static const struct document_column columns[] = {
        {"before", .right = true},
        {"after", .right = true},
        {"change", .right = true},
        {"95% interval", .right = true},
        {"p", .right = true, .spare = 1},
        {"verdict"},
        {"", .right = true},
        {"scope", .wide = true},
    };
    document_heading(d, "Percentiles");
    document_table(d, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->rows.n; i++)
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++) {
            const struct scope_change *c = &s->rows.at[i].at[k];
            if (isnan(c->before_ns) && isnan(c->after_ns))
                continue;
            cell_time(d, c->before_ns);
            cell_time(d, c->after_ns);
            cells_of_change(d, c);
            document_cell(d, text_of(quantile_names[k]), 0);
            document_cell(d, s->rows.at[i].name, 0);
        }
}

static void scopediff_add_calls(struct document *d, const struct scopediff *s)
{
    static const struct document_column columns[] = {
        {"calls before", .right = true}, {"after", .right = true}, {"total before", .right = true},
        {"after", .right = true},        {"scope", .wide = true},
    };
    document_heading(d, scopediff_is_pair(s) ? "Calls and total time"
                                             : "Calls and total time, mean per run");
    document_table(d, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct scopediff_row *r = &s->rows.at[i];
        cell_calls(d, r->before.calls);
        cell_calls(d, r->after.calls);
        cell_time(d, r->before.calls > 0 ? r->before.total_ns : NAN);
        cell_time(d, r->after.calls > 0 ? r->after.total_ns : NAN);
        document_cell(d, r->name, 0);
    }
    if (s->n_left_out)
        document_text(d, "More scopes, not compared: %zu.", s->n_left_out);
}

/* --- the method --- */

static void add_method(struct document *d, const struct scopediff *s)
{
    if (scopediff_is_pair(s) && s->same)
        document_text(d,
                      "One run per side: intervals cover chance within a run, not run-to-run "
                      "variation. Both runs are of the same program with the same arguments, so "
                      "no change counts as proven. Record at least %d per side.",
                      SCOPEDIFF_MIN_RUNS);
    else if (scopediff_is_pair(s))
        document_text(
            d,
            "One run per side: intervals cover chance within a run, not run-to-run "
            "variation. A change counts as proven beyond a factor of %g, by itself and relative to "
            "the other scopes (%d at least, none around it or inside), or beyond "
            "%g by itself, with p at most 0.01.",
            pairchance_factor(true, s->busy), SCOPEDIFF_MIN_REST, PAIR_ALL);
    else if (!scopediff_has_runs(s))
        document_text(d,
                      "%zu run%s before, %zu after: at least %d per side, or exactly one, are "
                      "needed to prove anything.",
                      s->n_before, s->n_before == 1 ? "" : "s", s->n_runs - s->n_before,
                      SCOPEDIFF_MIN_RUNS);
    else
        document_text(d,
                      "%zu runs before, %zu after: intervals show how much the runs' percentiles "
                      "differ. A change counts as proven when its interval lies beyond a factor of "
                      "%.2f, with p at most 0.01.",
                      s->n_before, s->n_runs - s->n_before, 1 + s->band);
    if (s->n_tested)
        document_text(d, "p is adjusted for %zu comparison%s.", s->n_tested,
                      s->n_tested == 1 ? "" : "s");
    document_text(
        d, "Percentiles are accurate to 1%%; one that needs more spans than there are is left "
           "out.");
}

static void scopediff_fill(struct document *d, const struct scopediff_view *v)
{
    char n[UNITS_MAX];
    scopediff_add_verdict(d, v->diff);
    for (struct text rest = text_of(v->unlike); rest.n;) {
        struct text line = text_cut(&rest, '\n');
        document_text(d, "Compared anyway: %.*s.", TEXT_ARG(line));
    }
    if (v->diff->lost)
        document_text(d, "%s lost: percentiles describe the spans that were kept.",
                      units_many(n, v->diff->lost, "record was", "records were"));
    add_quantiles(d, v->diff);
    scopediff_add_calls(d, v->diff);
    add_method(d, v->diff);
}

static char *scopediff_title(const struct scopediff_view *v)
{
    return mem_printf("Scopes: %s to %s", v->before, v->after);
}

void scopediff_print(FILE *out, const struct scopediff_view *v, const struct document_paper *paper)
{
    struct document d = {0};
    autofree char *title = scopediff_title(v);
    scopediff_fill(&d, v);
    document_print(out, &d, title, paper, NULL);
    document_done(&d);
}

/* --- JSON --- */

static void put_scope_change(struct json *j, const char *name, const struct scope_change *c)
{
    json_key(j, name);
    json_open(j, '{');
    json_put_number(j, "before_ns", c->before_ns);
    json_put_number(j, "after_ns", c->after_ns);
    json_put_number(j, "change", c->change);
    json_put_number(j, "low", c->interval.low);
    json_put_number(j, "high", c->interval.high);
    json_put_number(j, "p", c->p);
    json_key(j, "verdict");
    json_str(j, scope_verdict_names[c->verdict]);
    json_close(j, '}');
}

static void put_scope_side(struct json *j, const char *name, const struct scope_side *s)
{
    json_key(j, name);
    json_open(j, '{');
    json_put_number(j, "calls", s->calls);
    json_put_number(j, "total_ns", s->total_ns);
    json_close(j, '}');
}

void scopediff_print_json(FILE *out, const struct scopediff_view *v)
{
    const struct scopediff *d = v->diff;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_uint(&j, "runs_before", d->n_before);
    json_put_uint(&j, "runs_after", d->n_runs - d->n_before);
    json_put_number(&j, "band", d->band);
    bool pair = scopediff_is_pair(d);
    json_put_number(&j, "pair_factor", pair ? pairchance_factor(true, d->busy) : NAN);
    json_put_number(&j, "pair_factor_all", pair ? PAIR_ALL : NAN);
    json_put_bool(&j, "same_program", d->same);
    json_put_uint(&j, "lost", d->lost);
    json_put_uint(&j, "comparisons", d->n_tested);
    json_key(&j, "scopes");
    json_open(&j, '[');
    for (size_t i = 0; i < d->rows.n; i++) {
        json_open(&j, '{');
        json_key(&j, "scope");
        json_text(&j, d->rows.at[i].name);
        put_scope_side(&j, "before", &d->rows.at[i].before);
        put_scope_side(&j, "after", &d->rows.at[i].after);
        for (int k = 0; k < SCOPEDIFF_QUANTILES; k++)
            put_scope_change(&j, quantile_names[k], &d->rows.at[i].at[k]);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    fputc('\n', out);
}
