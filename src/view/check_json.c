/* check_json.c - rules and growth for programs. */
#include "base/json.h"
#include "view/caption.h"
#include "view/check.h"

#include <math.h>

/* What is not known, or has no bound, is null. */
static void check_json_number(struct json *j, const char *key, double v)
{
    json_key(j, key);
    json_double(j, v);
}

static void interval(struct json *j, struct interval i, bool known)
{
    json_key(j, "interval");
    json_open(j, '{');
    check_json_number(j, "low", known ? i.low : NAN);
    check_json_number(j, "high", known ? i.high : NAN);
    json_close(j, '}');
}

static const char *const unit_names[RULE_UNITS] = {
    [RULE_NONE] = "",
    [RULE_SHARE] = "share",
    [RULE_SCATTERED] = "relative",
    [RULE_COUNT] = "count",
    [RULE_RELATIVE] = "relative",
    [RULE_POINTS] = "share",
    [RULE_EXPONENT] = "exponent",
    [RULE_BITS] = "bits",
    [RULE_BYTES] = "bytes",
    [RULE_BLOCKS] = "count",
    [RULE_PER_OP] = "count",
    [RULE_TIME] = "ns",
    [RULE_SPANS] = "count",
    [RULE_PER_SECOND] = "per second",
    [RULE_FIT] = "",
    [RULE_GFLOPS] = "GFLOP/s",
    [RULE_NUMBER] = "",
    [RULE_EVENTS] = "count",
    [RULE_PER_1000] = "per 1000",
};

static void result(struct json *j, const struct check_result *r)
{
    bool known = r->unit != RULE_NONE && !isnan(r->value);
    json_open(j, '{');
    json_key(j, "line");
    json_uint(j, r->rule->line);
    json_key(j, "rule");
    json_str(j, r->rule->text);
    json_key(j, "verdict");
    json_str(j, check_verdict_names[r->verdict]);
    json_key(j, "expected");
    json_str(j, r->expected);
    json_key(j, "observed");
    json_str(j, r->observed);
    json_key(j, "unit");
    json_str(j, unit_names[r->unit]);
    check_json_number(j, "value", known ? r->value : NAN);
    interval(j, r->interval, known);
    json_key(j, "why");
    json_str(j, r->why);
    json_close(j, '}');
}

static void rules(struct json *j, const struct check_view *v)
{
    json_key(j, "rules");
    json_str(j, v->rules_name);
    json_key(j, "verdict");
    json_str(j, check_verdict_names[v->check->verdict]);
    for (int i = 0; i < CHECK_VERDICTS; i++) {
        json_key(j, check_verdict_names[i]);
        json_uint(j, v->check->n[i]);
    }
    json_key(j, "results");
    json_open(j, '[');
    for (size_t i = 0; i < v->check->results.n; i++)
        result(j, &v->check->results.at[i]);
    json_close(j, ']');
}

static void cost(struct json *j, const char *key, const struct scaling *s,
                 const struct scaling_cost *c)
{
    json_key(j, key);
    json_open(j, '{');
    json_key(j, "costs");
    json_open(j, '[');
    for (size_t i = 0; i < s->n; i++)
        json_double(j, c->cost[i]);
    json_close(j, ']');
    check_json_number(j, "exponent", c->fits ? c->growth.exponent : NAN);
    interval(j, c->growth.interval, c->fits);
    check_json_number(j, "r2", c->fits ? c->growth.r2 : NAN);
    json_key(j, "shape");
    json_str(j, c->fits ? growth_shape_names[c->growth.shape] : "");
    check_json_number(j, "shape_error", c->fits ? c->growth.shape_error : NAN);
    json_close(j, '}');
}

static void function(struct json *j, const struct scaling *s, const struct scaling_function *f)
{
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, f->name);
    check_json_number(j, "self_share", f->at_end.share);
    cost(j, "self", s, &f->self);
    cost(j, "total", s, &f->total);
    json_close(j, '}');
}

static void json_put_scope(struct json *j, const struct scaling *s, const struct scaling_scope *f)
{
    json_open(j, '{');
    json_key(j, "name");
    json_text(j, f->name);
    cost(j, "self", s, &f->self);
    cost(j, "total", s, &f->total);
    json_close(j, '}');
}

static void growth(struct json *j, const struct scaling *s)
{
    json_key(j, "growth");
    json_open(j, '{');
    json_key(j, "unit");
    json_text(j, s->unit);
    json_key(j, "sizes");
    json_open(j, '[');
    for (size_t i = 0; i < s->n; i++)
        json_double(j, s->runs[i].size);
    json_close(j, ']');
    if (s->per_item) {
        json_key(j, "items");
        json_open(j, '[');
        for (size_t i = 0; i < s->n; i++)
            json_double(j, s->runs[i].items);
        json_close(j, ']');
    }
    cost(j, "whole", s, &s->whole);
    json_key(j, "functions");
    json_open(j, '[');
    for (size_t i = 0; i < s->functions.n; i++)
        function(j, s, &s->functions.at[i]);
    json_close(j, ']');
    json_key(j, "scopes");
    json_open(j, '[');
    for (size_t i = 0; i < s->scopes.n; i++)
        json_put_scope(j, s, &s->scopes.at[i]);
    json_close(j, ']');
    json_close(j, '}');
}

void check_print_json(FILE *out, const struct check_view *v)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    autobuf struct buf caption = {0};
    caption_build(&caption, v->selection);
    json_put_str(&j, "recorded", buf_cstr(&caption));
    json_key(&j, "subject");
    json_str(&j, v->subject);
    if (v->against) {
        json_key(&j, "against");
        json_str(&j, v->against);
    }
    if (*v->unlike) {
        json_key(&j, "unlike");
        json_str(&j, v->unlike);
    }
    if (v->check)
        rules(&j, v);
    if (v->scaling)
        growth(&j, v->scaling);
    json_close(&j, '}');
    putc('\n', out);
}
