/* report_json.c - a report for programs. Shares are from 0 to 1. */
#include "base/json.h"
#include "view/facts.h"
#include "view/report_inner.h"

void report_put_share(struct json *j, const char *key, const struct flat_share *s)
{
    json_key(j, key);
    json_open(j, '{');
    json_key(j, "share");
    json_double(j, s->share);
    if (s->n_effective > 0) {
        json_key(j, "low");
        json_double(j, s->interval.low);
        json_key(j, "high");
        json_double(j, s->interval.high);
        json_key(j, "effective_samples");
        json_double(j, s->n_effective);
    }
    json_close(j, '}');
}

static void put_amount(struct json *j, const struct flat *f, const char *key, int64_t value,
                       int64_t count)
{
    const struct value_type *t = selection_value(f->selection);
    char name[64];
    snprintf(name, sizeof name, "%s_weight", key);
    json_key(j, name);
    json_decimal(j, value, t->decimals);
    snprintf(name, sizeof name, "%s_samples", key);
    json_key(j, name);
    if (f->count_type >= 0)
        json_int(j, count);
    else
        json_null(j);
}

/* Several where files have functions of the same name. */
static void put_modules(struct json *j, const struct flat *f, uint32_t row)
{
    enum { MOST = 100 };
    struct mapping_id files[MOST];
    size_t n = report_modules(f, row, MOST, files);
    json_key(j, "modules");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        json_text(j, profile_module_name(f->profile, files[i]));
    json_close(j, ']');
}

static void put_time(struct json *j, const struct report *r, const char *key, double share)
{
    if (r->time_ns > 0)
        json_put_number(j, key, report_time_ns(r, share));
}

void report_put_row(struct json *j, const struct report *r, const struct flat *f, uint32_t i,
                    const struct flat_pair *share)
{
    const struct flat_row *row = &f->rows.at[i];
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, flat_name(f, i));
    json_key(j, "module");
    json_text(j, profile_module_name(f->profile, row->mapping));
    if (!f->row_of_place)
        put_modules(j, f, i);
    json_key(j, "kernel");
    json_bool(j, row->kernel);
    report_put_share(j, "self", &share->self);
    put_amount(j, f, "self", row->self, row->self_count);
    put_time(j, r, "self_time_ns", share->self.share);
    report_put_share(j, "total", &share->total);
    put_amount(j, f, "total", row->total, row->total_count);
    put_time(j, r, "total_time_ns", share->total.share);
    json_close(j, '}');
}

static void put_list(struct json *j, const struct report *r, const char *key, const struct flat *f,
                     enum flat_what what)
{
    size_t top = r->opts.top;
    autofree uint32_t *rows = mem_calloc(top + 1, sizeof *rows);
    size_t n = flat_top(f, what, top, rows);
    autofree struct flat_pair *shares = mem_calloc(n + 1, sizeof *shares);
    flat_shares_of_rows(f, rows, n, shares);
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++)
        report_put_row(j, r, f, rows[i], &shares[i]);
    json_close(j, ']');
}

static void report_json_put_insights(struct json *j, const struct insights *s)
{
    json_key(j, "insights");
    json_open(j, '[');
    for (size_t i = 0; i < s->at.n; i++) {
        json_open(j, '{');
        json_key(j, "id");
        json_str(j, s->at.at[i].rule->id);
        json_key(j, "about");
        json_str(j, s->at.at[i].rule->about_data ? "recording" : "program");
        json_key(j, "evidence");
        json_str(j, s->at.at[i].evidence);
        json_key(j, "advice");
        json_str(j, s->at.at[i].advice);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/*
 * The share of a path takes a pass over all stacks. A callee that takes all of its caller's time
 * has the caller's share, so a deep stack is not as many passes as it has frames.
 */
static void put_paths(struct json *j, const struct report *r)
{
    const struct calltree *t = r->paths;
    autofree struct flat_share *shares = mem_calloc(t->n, sizeof *shares);
    json_key(j, "paths"); /* parent: index in this list, -1 = none */
    json_open(j, '[');
    for (size_t i = 1; i < t->n; i++) {
        json_open(j, '{');
        json_key(j, "parent");
        json_int(j, (int64_t)t->parent[i] - 1);
        json_key(j, "name");
        json_text(j, labels_text(&t->labels, t->label[i]));
        uint32_t above = t->parent[i];
        bool same = above && t->total[above] == t->total[i];
        shares[i] = same ? shares[above] : report_share_of_path(r, (uint32_t)i);
        report_put_share(j, "total", &shares[i]);
        json_put_number(j, "part", report_part_of_path(r, t->total[i]));
        put_time(j, r, "time_ns", report_part_of_path(r, t->total[i]));
        json_put_number(j, "self", report_part_of_path(r, t->self[i]));
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_call(struct json *j, const struct report *r, const struct report_calls *c,
                     uint32_t row)
{
    struct flat_share s = flat_share_of_calls(r->functions, c->of_stack, row);
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, report_call_name(r, c, row));
    report_put_share(j, "total", &s);
    json_put_number(j, "part", report_call_part(c, row));
    put_time(j, r, "time_ns", s.share);
    json_close(j, '}');
}

static void put_calls(struct json *j, const struct report *r, const struct report_calls *c)
{
    json_key(j, c->key);
    json_open(j, '[');
    for (size_t i = 0; i < c->n; i++)
        put_call(j, r, c, c->rows[i]);
    json_close(j, ']');
}

void report_put_function(struct json *j, const struct report *r)
{
    const struct flat *f = r->functions;
    uint32_t row = 0;
    while (!r->of_callers[row])
        row++;
    struct flat_share self = flat_share_of_set(f, r->of_callers, FLAT_SELF);
    struct flat_share total = flat_share_of_set(f, r->of_callers, FLAT_TOTAL);
    struct report_calls callers, callees;
    report_calls_build(&callers, &callees, r);
    json_key(j, "function");
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, flat_name(f, row));
    report_put_share(j, "self", &self);
    put_time(j, r, "self_time_ns", self.share);
    report_put_share(j, "total", &total);
    put_time(j, r, "total_time_ns", total.share);
    put_calls(j, r, &callers);
    put_calls(j, r, &callees);
    json_close(j, '}');
    report_calls_done(&callers, &callees);
}

/* How the stream that is shown was obtained; null where that is not known. */
static void put_facts(struct json *j, const struct selection *s)
{
    static const char *const keys[] = {FACT_KIND, FACT_RATE_HZ, FACT_LOST, FACT_UNFINISHED};
    json_key(j, "stream");
    json_open(j, '{');
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        autobuf struct buf b = {0};
        bool known = facts_add(&b, s, keys[i]);
        json_put_str(j, keys[i], known ? buf_cstr(&b) : NULL);
    }
    json_close(j, '}');
}

static void put_head(struct json *j, const struct report *r)
{
    const struct profile *p = r->profile;
    json_key(j, "meta");
    json_open(j, '{');
    for (size_t i = 0; i < p->meta.entries.n; i++) {
        json_key(j, p->meta.entries.at[i].key);
        json_str(j, p->meta.entries.at[i].value);
    }
    json_close(j, '}');
    const struct value_type *t = selection_value(r->selection);
    json_key(j, "event");
    json_text(j, selection_event(r->selection));
    json_key(j, "value");
    json_text(j, profile_str(p, t->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, t->unit));
    json_put_str(j, "selected", r->selection->words);
    put_facts(j, r->selection);
    json_key(j, "whole");
    json_decimal(j, r->functions->whole, t->decimals);
    json_key(j, "samples");
    if (r->quality.has_samples)
        json_int(j, r->quality.samples);
    else
        json_null(j);
}

static void put_whole(struct json *j, const struct report *r)
{
    if (r->runs)
        report_put_runs(j, r);
    report_json_put_insights(j, &r->insights);
    if (!r->opts.outline) {
        report_put_functions(j, r);
        put_list(j, r, "by_self", r->functions, FLAT_SELF);
        put_list(j, r, "by_total", r->functions, FLAT_TOTAL);
    }
    put_list(j, r, "modules", r->modules, FLAT_SELF);
    put_list(j, r, "threads", r->threads, FLAT_SELF);
    if (r->processes)
        put_list(j, r, "processes", r->processes, FLAT_SELF);
    if (r->opts.outline)
        return;
    put_paths(j, r);
    report_put_counters(j, r);
    report_put_misses(j, r);
}

void report_print_json(FILE *out, const struct report *r)
{
    static const char *const keys[] = {"functions", "modules", "threads", "lines", "files"};
    struct json j = {.out = out};
    json_open(&j, '{');
    put_head(&j, r);
    if (r->of_callers)
        report_put_function(&j, r);
    if (r->by)
        put_list(&j, r, r->opts.by == FLAT_LABEL ? "groups" : keys[r->opts.by], r->by, FLAT_SELF);
    if (r->modules)
        put_whole(&j, r);
    json_close(&j, '}');
    putc('\n', out);
}
