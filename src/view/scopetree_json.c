/*
 * scopetree_json.c - how long a program's scopes took, for programs: JSON and CSV. Nanoseconds.
 */
#include "base/csv.h"
#include "base/json.h"
#include "model/meta.h"
#include "view/counters.h"
#include "view/scopetree_inner.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    double q;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}};

enum { QUANTILES = sizeof quantiles / sizeof *quantiles };

static void put_quantiles(struct json *j, const struct scope_sum *s)
{
    for (int i = 0; i < QUANTILES; i++) {
        uint64_t low, high;
        scope_sum_interval_ns(s, quantiles[i].q, &low, &high);
        json_key(j, quantiles[i].name);
        json_open(j, '{');
        json_put_uint(j, "ns", scope_sum_quantile_ns(s, quantiles[i].q));
        json_put_uint(j, "low", low);
        json_put_uint(j, "high", high);
        json_close(j, '}');
    }
}

static void put_scope(struct json *j, const struct profile *p, const struct scope_node *n)
{
    const struct scope_sum *s = &n->sum;
    json_key(j, "scope");
    json_text(j, profile_str(p, n->name));
    json_put_uint(j, "calls", s->calls);
    json_put_uint(j, "total_ns", s->total_ns);
    json_put_uint(j, "self_ns", s->self_ns);
    json_put_uint(j, "min_ns", s->min_ns);
    json_put_number(j, "mean_ns", s->mean_ns);
    json_put_number(j, "sd_ns", scope_sum_sd_ns(s));
    json_put_uint(j, "max_ns", s->max_ns);
    put_quantiles(j, s);
}

/* Scopes in the order of the table; "parent" is an index in it, or null. */
static void put_tree(struct json *j, const struct scopetree *t)
{
    json_key(j, "tree");
    json_open(j, '[');
    for (size_t i = 0; i < t->tree.n; i++) {
        const struct scope_node *n = &t->tree.at[i];
        json_open(j, '{');
        json_key(j, "parent");
        if (n->parent)
            json_uint(j, n->parent - 1);
        else
            json_null(j);
        put_scope(j, t->selection->profile, n);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_list(struct json *j, const char *key, const struct scopetree *t,
                     const scope_nodes *list)
{
    const struct profile *p = t->selection->profile;
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < list->n; i++) {
        const struct attr *a = &list->at[i].attr;
        json_open(j, '{');
        put_scope(j, p, &list->at[i]);
        if (a->key.i) {
            json_key(j, "value");
            if (a->is_number)
                json_int(j, a->number);
            else
                json_text(j, profile_str(p, a->text));
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

void scopetree_print_json(FILE *out, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct stream *s = t->selection->stream;
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "kind", "scopes");
    json_put_uint(&j, "spans", t->spans);
    json_put_number(&j, "lost", s->lost_known ? (double)s->lost : NAN);
    json_put_str(&j, "note", meta_find(&t->selection->profile->meta, META_SCOPES_NOTE));
    json_put_str(&j, "selected", t->selection->words);
    json_put_uint(&j, "duration_ns", t->end_ns - t->start_ns);
    put_tree(&j, t);
    put_list(&j, "flat", t, &t->flat);
    json_put_str(&j, "by", v->by);
    put_list(&j, "groups", t, &t->groups);
    scopetree_put_slowest(&j, t);
    counters_json(&j, t->selection->profile, scopetree_seconds(t));
    json_close(&j, '}');
    putc('\n', out);
}

/* --- CSV --- */

static void csv_row(FILE *out, const char *table, const struct profile *p,
                    const struct scope_node *n)
{
    const struct scope_sum *s = &n->sum;
    autofree char *attr = n->attr.key.i ? scopetree_attr(p, &n->attr) : mem_strdup("");
    fprintf(out, "%s,%u,", table, n->depth);
    csv_quoted(out, profile_str(p, n->name));
    putc(',', out);
    csv_quoted(out, text_of(attr));
    fprintf(out, ",%llu,%llu,%llu,%llu,%.1f,%.1f", (unsigned long long)s->calls,
            (unsigned long long)s->total_ns, (unsigned long long)s->self_ns,
            (unsigned long long)s->min_ns, s->mean_ns, scope_sum_sd_ns(s));
    for (int i = 0; i < QUANTILES; i++)
        fprintf(out, ",%llu", (unsigned long long)scope_sum_quantile_ns(s, quantiles[i].q));
    fprintf(out, ",%llu\n", (unsigned long long)s->max_ns);
}

void scopetree_print_csv(FILE *out, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    fputs("table,depth,scope,attribute,calls,total_ns,self_ns,min_ns,mean_ns,sd_ns,p50_ns,p90_ns,"
          "p99_ns,p99_9_ns,max_ns\n",
          out);
    for (size_t i = 0; i < t->tree.n; i++)
        csv_row(out, "tree", p, &t->tree.at[i]);
    for (size_t i = 0; i < t->flat.n; i++)
        csv_row(out, "flat", p, &t->flat.at[i]);
    for (size_t i = 0; i < t->groups.n; i++)
        csv_row(out, "by", p, &t->groups.at[i]);
}
