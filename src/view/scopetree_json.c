/*
 * scopetree_json.c - how long a program's scopes took, for programs: JSON and CSV. Nanoseconds.
 */
#include "analysis/scopequantile.h"
#include "base/csv.h"
#include "base/json.h"
#include "model/meta.h"
#include "view/counters.h"
#include "view/scopetree_inner.h"

#include <math.h>
#include <string.h>

static const char *const quantile_names[] = {"p50", "p90", "p99", "p99_9"};
static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};

enum { QUANTILES = sizeof quantiles / sizeof *quantiles };

/* A table of scopes, and how far their quantiles are known. */
struct scopes_table {
    const struct scopetree *tree;
    const struct scope_quantiles *known;
    const struct profile *p;
    const scope_nodes *nodes;
};

/* An end that so few spans do not bound: 0 or null. */
static void put_quantiles(struct json *j, const struct scopes_table *t, const struct scope_node *n)
{
    for (int i = 0; i < QUANTILES; i++) {
        struct scope_quantile q = scope_quantiles_get(t->known, t->nodes, n, i);
        json_key(j, quantile_names[i]);
        json_open(j, '{');
        json_put_uint(j, "ns", scope_sum_quantile_ns(&n->sum, quantiles[i]));
        json_put_uint(j, "low", (uint64_t)q.interval.low);
        json_put_number(j, "high", q.interval.high);
        json_close(j, '}');
    }
}

static void put_scope(struct json *j, const struct scopes_table *t, const struct scope_node *n)
{
    const struct scope_sum *s = &n->sum;
    json_key(j, "scope");
    json_text(j, profile_str(t->p, n->name));
    json_put_uint(j, "calls", s->calls);
    json_put_uint(j, "total_ns", s->total_ns);
    json_put_uint(j, "self_ns", s->self_ns);
    json_put_uint(j, "min_ns", s->min_ns);
    json_put_number(j, "mean_ns", s->mean_ns);
    json_put_number(j, "sd_ns", scope_sum_sd_ns(s));
    json_put_uint(j, "max_ns", s->max_ns);
    if (t->tree->has_blocks) {
        json_put_uint(j, "allocations", s->blocks.blocks);
        json_put_uint(j, "allocated_bytes", s->blocks.bytes);
    }
    put_quantiles(j, t, n);
}

/* Scopes in the order of the table; "parent" is an index in it, or null. */
static void put_tree(struct json *j, const struct scopes_table *t)
{
    json_key(j, "tree");
    json_open(j, '[');
    for (size_t i = 0; i < t->nodes->n; i++) {
        const struct scope_node *n = &t->nodes->at[i];
        json_open(j, '{');
        json_key(j, "parent");
        if (n->parent)
            json_uint(j, n->parent - 1);
        else
            json_null(j);
        put_scope(j, t, n);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void put_list(struct json *j, const char *key, const struct scopes_table *t)
{
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; i < t->nodes->n; i++) {
        const struct attr *a = &t->nodes->at[i].attr;
        json_open(j, '{');
        put_scope(j, t, &t->nodes->at[i]);
        if (t->nodes == &t->tree->groups) {
            json_key(j, "value");
            if (a->is_number)
                json_int(j, a->number);
            else
                json_text(j, profile_str(t->p, a->text));
        }
        json_close(j, '}');
    }
    json_close(j, ']');
}

void scopetree_print_json(FILE *out, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    const struct stream *s = t->selection->stream;
    const struct profile *p = t->selection->profile;
    struct scope_quantiles *known = scope_quantiles_new(t, quantiles, QUANTILES);
    struct json j = {.out = out};
    uint64_t off_ns;
    json_open(&j, '{');
    json_put_str(&j, "kind", "scopes");
    json_put_uint(&j, "spans", t->spans);
    json_put_number(&j, "lost", s->lost_known ? (double)s->lost : NAN);
    json_put_str(&j, "note", meta_find(&p->meta, META_SCOPES_NOTE));
    bool is_off = meta_find_u64(&p->meta, META_SCOPES_OFF_NS, &off_ns);
    json_put_number(&j, "clock_off_ns", is_off ? (double)off_ns : NAN);
    json_put_str(&j, "selected", t->selection->words);
    json_put_uint(&j, "duration_ns", t->end_ns - t->start_ns);
    put_tree(&j, &(struct scopes_table){t, known, p, &t->tree});
    put_list(&j, "flat", &(struct scopes_table){t, known, p, &t->flat});
    json_put_str(&j, "by", v->by);
    put_list(&j, "groups", &(struct scopes_table){t, known, p, &t->groups});
    scopetree_put_slowest(&j, v);
    scopetree_put_cpu(&j, v);
    scopetree_put_insights(&j, v);
    counters_json(&j, p, scopetree_rate_seconds(t));
    json_close(&j, '}');
    putc('\n', out);
    scope_quantiles_free(known);
}

/* --- CSV --- */

static void csv_row(FILE *out, const char *table, const struct scopetree *t,
                    const struct scope_node *n)
{
    const struct profile *p = t->selection->profile;
    const struct scope_sum *s = &n->sum;
    bool grouped = strcmp(table, "by") == 0;
    autofree char *attr = grouped ? scopetree_attr(p, &n->attr) : mem_strdup("");
    fprintf(out, "%s,%u,", table, n->depth);
    csv_quoted(out, profile_str(p, n->name));
    putc(',', out);
    csv_quoted(out, text_of(attr));
    fprintf(out, ",%llu,%llu,%llu,%llu,%.1f,%.1f", (unsigned long long)s->calls,
            (unsigned long long)s->total_ns, (unsigned long long)s->self_ns,
            (unsigned long long)s->min_ns, s->mean_ns, scope_sum_sd_ns(s));
    for (int i = 0; i < QUANTILES; i++)
        fprintf(out, ",%llu", (unsigned long long)scope_sum_quantile_ns(s, quantiles[i]));
    fprintf(out, ",%llu", (unsigned long long)s->max_ns);
    if (t->has_blocks)
        fprintf(out, ",%llu,%llu\n", (unsigned long long)s->blocks.blocks,
                (unsigned long long)s->blocks.bytes);
    else
        fputs(",,\n", out);
}

void scopetree_print_csv(FILE *out, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    fputs("table,depth,scope,attribute,calls,total_ns,self_ns,min_ns,mean_ns,sd_ns,p50_ns,p90_ns,"
          "p99_ns,p99_9_ns,max_ns,allocations,allocated_bytes\n",
          out);
    for (size_t i = 0; i < t->tree.n; i++)
        csv_row(out, "tree", t, &t->tree.at[i]);
    for (size_t i = 0; i < t->flat.n; i++)
        csv_row(out, "flat", t, &t->flat.at[i]);
    for (size_t i = 0; i < t->groups.n; i++)
        csv_row(out, "by", t, &t->groups.at[i]);
}
