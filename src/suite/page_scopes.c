/*
 * page_scopes.c - the scopes of a workload, on its page and in its receipt.
 */
#include "base/json.h"
#include "base/units.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/document.h"

#include <math.h>

static const struct document_column scope_columns[] = {
    {"scope", .wide = true}, {"calls", .right = true}, {"total", .right = true},
    {"p50", .right = true},  {"95%", .right = true},   {"p99", .right = true},
    {"95%", .right = true},  {"max", .right = true}};

static void page_scopes_ns(struct document *d, double ns)
{
    char s[UNITS_MAX];
    document_cell(d, text_of(units_scaled(s, ns, SCALED_NS)), 0);
}

/* An end that so few spans do not bound stays open. */
static void page_scopes_quantile(struct document *d, const struct scope_quantile *q)
{
    char low[UNITS_MAX], high[UNITS_MAX];
    page_scopes_ns(d, q->ns);
    units_scaled(low, q->interval.low, SCALED_NS);
    if (isfinite(q->interval.high))
        units_scaled(high, q->interval.high, SCALED_NS);
    autofree char *range = isfinite(q->interval.high) ? mem_printf("%s to %s", low, high)
                           : q->interval.low > 0      ? mem_printf("at least %s", low)
                                                      : mem_strdup("-");
    document_cell(d, text_of(range), 0);
}

static void page_scopes_row(struct document *d, const struct suite_scope *s)
{
    char n[UNITS_MAX];
    document_cell(d, text_of(s->name), 0);
    document_cell(d, text_of(units_count(n, s->calls)), 0);
    page_scopes_ns(d, (double)s->total_ns);
    page_scopes_quantile(d, &s->p50);
    page_scopes_quantile(d, &s->p99);
    page_scopes_ns(d, (double)s->max_ns);
}

void page_scopes(struct document *d, const struct suite_result *r)
{
    char n[UNITS_MAX];
    if (!r->scopes.n)
        return;
    document_heading(d, "Scopes");
    if (r->scopes_lost)
        document_text(d, "%s lost: counts and totals are too low.",
                      units_many(n, r->scopes_lost, "record was", "records were"));
    document_table(d, scope_columns, sizeof scope_columns / sizeof *scope_columns);
    for (size_t i = 0; i < r->scopes.n; i++)
        page_scopes_row(d, &r->scopes.at[i]);
    document_text(
        d,
        "Wall time of the program's own scopes in the first recording. 'kelvin scopes %s' "
        "has all of them.",
        r->recordings.at[0].file);
}

static void receipt_quantile(struct json *j, const char *key, const struct scope_quantile *q)
{
    json_key(j, key);
    json_open(j, '{');
    json_put_number(j, "ns", q->ns);
    json_put_number(j, "low", q->interval.low);
    json_put_number(j, "high", q->interval.high);
    json_close(j, '}');
}

void receipt_scopes(struct json *j, const struct suite_result *r)
{
    if (!r->scopes.n)
        return;
    json_put_uint(j, "scopes_lost", r->scopes_lost);
    json_key(j, "scopes");
    json_open(j, '[');
    for (size_t i = 0; i < r->scopes.n; i++) {
        const struct suite_scope *s = &r->scopes.at[i];
        json_open(j, '{');
        json_key(j, "scope");
        json_str(j, s->name);
        json_put_uint(j, "calls", s->calls);
        json_put_uint(j, "total_ns", s->total_ns);
        json_put_uint(j, "max_ns", s->max_ns);
        receipt_quantile(j, "p50", &s->p50);
        receipt_quantile(j, "p99", &s->p99);
        json_close(j, '}');
    }
    json_close(j, ']');
}
