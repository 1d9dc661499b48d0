/* diff_json.c - a comparison for programs. */
#include "base/json.h"
#include "view/diff.h"
#include "view/facts.h"

#include <math.h>

static void json_value(struct json *j, const char *key, const struct diff_value *v)
{
    json_key(j, key);
    json_open(j, '{');
    json_put_number(j, "before", v->before);
    json_put_number(j, "after", v->after);
    json_put_number(j, "difference", v->after - v->before);
    json_put_number(j, "low", v->low);
    json_put_number(j, "high", v->high);
    json_put_number(j, "before_cost", v->before_cost);
    json_put_number(j, "after_cost", v->after_cost);
    json_put_number(j, "cost", v->cost);
    json_put_number(j, "cost_low", v->cost_low);
    json_put_number(j, "cost_high", v->cost_high);
    json_put_number(j, "p", v->p);
    json_put_number(j, "p_adjusted", v->q);
    json_put_number(j, "detectable", v->detectable);
    json_key(j, "proven");
    json_bool(j, v->proven);
    json_close(j, '}');
}

static void json_entries(struct json *j, const struct diff *d, bool paths)
{
    const struct diff_entry *at = paths ? d->paths.at : d->functions.at;
    size_t n = paths ? d->paths.n : d->functions.n;
    json_key(j, paths ? "paths" : "functions");
    json_open(j, '[');
    for (size_t i = paths ? 1 : 0; i < n; i++) {
        const struct diff_entry *e = &at[i];
        if (paths && (e->total.before + e->total.after) / 2 < d->min_share)
            continue;
        json_open(j, '{');
        if (paths) { /* shown by their callers: whole paths would grow as the square of the depth */
            json_key(j, "id");
            json_uint(j, i);
            json_key(j, "caller");
            json_uint(j, e->parent);
        }
        json_key(j, "name");
        json_text(j, diff_name(d, e));
        if (e->unnamed) {
            json_key(j, "not_compared");
            json_bool(j, true);
        }
        if (e->interrupt) {
            json_key(j, "interrupt");
            json_bool(j, true);
        }
        if (e->renamed) {
            json_key(j, "possibly_renamed");
            json_text(j, intern_get(&d->names, e->renamed - 1));
        }
        json_value(j, "self", &e->self);
        json_value(j, "total", &e->total);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* Before the metadata: what is known of the stream that was compared. */
static const char *const of_stream[] = {FACT_KIND, FACT_EVENT,   FACT_SAMPLES,
                                        FACT_LOST, FACT_RATE_HZ, FACT_RATE_ACHIEVED_HZ};

/* Where each run comes from: all that is known of it. */
static void json_runs(struct json *j, const char *key, const struct selection *const *runs,
                      size_t n)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        const struct meta *m = &runs[i]->profile->meta;
        json_open(j, '{');
        for (size_t k = 0; k < sizeof of_stream / sizeof *of_stream; k++) {
            autobuf struct buf fact = {0};
            if (!facts_add(&fact, runs[i], of_stream[k]))
                continue;
            json_key(j, of_stream[k]);
            json_text(j, buf_text(&fact));
        }
        for (size_t k = 0; k < m->entries.n; k++) {
            json_key(j, m->entries.at[k].key);
            json_str(j, m->entries.at[k].value);
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void json_head(struct json *j, const struct diff *d, const struct diff_view *v)
{
    autobuf struct buf basis = {0};
    diff_basis(&basis, d);
    json_key(j, "verdict");
    json_str(j, diff_verdict_names[d->verdict]);
    json_key(j, "why");
    json_str(j, d->why);
    json_key(j, "basis");
    json_text(j, buf_text(&basis));
    json_key(j, "forced");
    json_str(j, v->unlike);
    if (v->arguments && *v->arguments) {
        json_key(j, "arguments");
        json_str(j, v->arguments);
    }
    if (v->runs[0]->words) {
        json_key(j, "selected");
        json_str(j, v->runs[0]->words);
    }
    json_key(j, "runs_before");
    json_uint(j, d->n_before);
    json_key(j, "runs_after");
    json_uint(j, d->n_after);
    json_key(j, "same_program");
    json_bool(j, d->same);
}

void diff_print_json(FILE *out, const struct diff *d, const struct diff_view *v)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_head(&j, d, v);
    json_put_number(&j, "smallest_p", d->by_runs ? d->least_p : NAN);
    json_put_number(&j, "min_share", d->min_share);
    json_put_number(&j, "band", d->band);
    json_put_number(&j, "pair_factor", d->by_runs ? NAN : diff_pair_factor(d));
    json_put_number(&j, "pair_factor_all", d->by_runs ? NAN : PAIR_ALL);
    json_put_number(&j, "pair_part", d->by_runs ? NAN : diff_pair_part(d));
    json_put_number(&j, "rest_low", d->by_runs ? NAN : d->rest.low);
    json_put_number(&j, "rest_high", d->by_runs ? NAN : d->rest.high);
    json_key(&j, "scale");
    json_str(&j, d->scale == DIFF_BY_CPU      ? "seconds"
                 : d->scale == DIFF_BY_AMOUNT ? "total"
                                              : "typical");
    json_put_number(&j, "typical", d->typical);
    json_put_number(&j, "common_before", d->common[0]);
    json_put_number(&j, "common_after", d->common[1]);
    json_put_number(&j, "interrupts_before", d->interrupts[0]);
    json_put_number(&j, "interrupts_after", d->interrupts[1]);
    json_key(&j, "unnamed");
    json_text(&j, buf_text(&d->unnamed));
    if (d->has_cpu)
        json_value(&j, "cpu_seconds", &d->cpu_s);
    json_runs(&j, "before", v->runs, d->n_before);
    json_runs(&j, "after", v->runs + d->n_before, d->n_after);
    json_entries(&j, d, false);
    json_entries(&j, d, true);
    json_close(&j, '}');
    putc('\n', out);
}
