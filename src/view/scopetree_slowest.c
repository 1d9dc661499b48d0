#include "base/units.h"
#include "view/scopetree_inner.h"

#include <math.h>

struct slowest_span {
    struct text scope, thread;
    uint64_t duration_ns;
    double x_median;   /* NaN: the median is 0 */
    double at_seconds; /* from the first span; NaN = not known */
    struct attrs_id attrs;
    bool has_blocks, has_cpu;
    struct scope_blocks blocks;
    double mean_blocks; /* of all spans of the scope */
    struct scope_spent spent;
};

static struct slowest_span slowest_span_get(const struct scopetree_view *v,
                                            const struct scope_node *n)
{
    const struct scopetree *t = v->tree;
    const struct profile *p = t->selection->profile;
    const struct scope_slowest *slowest = &n->sum.slowest;
    uint64_t median = scope_sum_quantile_ns(&n->sum, 0.5);
    return (struct slowest_span){
        .scope = profile_str(p, n->name),
        .thread = profile_str(p, p->threads.at[slowest->thread.i].name),
        .duration_ns = n->sum.max_ns,
        .x_median = median ? (double)n->sum.max_ns / (double)median : NAN,
        .at_seconds = slowest->time_ns ? (double)(slowest->time_ns - t->start_ns) / 1e9 : NAN,
        .attrs = slowest->attrs,
        .has_blocks = t->has_blocks,
        .has_cpu = v->cpu != NULL,
        .blocks = slowest->blocks,
        .mean_blocks = (double)n->sum.blocks.blocks / (double)n->sum.calls,
        .spent = scopecpu_spent(v->cpu, p, &n->sum),
    };
}

/* "index=3, kind=odd", the first given first. */
static char *attrs_text(const struct profile *p, struct attrs_id set)
{
    char *all = mem_strdup("");
    for (; set.i; set = p->attrs.nodes.at[set.i].parent) {
        autofree char *one = scopetree_attr(p, &p->attrs.nodes.at[set.i].attr);
        autofree char *rest = all;
        all = mem_printf("%s%s%s", one, *rest ? ", " : "", rest);
    }
    return all;
}

/* "97% lock" */
static char *waited_text(const struct slowest_span *s)
{
    double ns = s->duration_ns ? (double)s->duration_ns : 1;
    double blocked = 100 * (double)s->spent.blocked_ns / ns;
    if (!s->spent.known || !s->spent.has_waits)
        return mem_strdup("");
    if (!s->spent.reason_ns)
        return mem_printf("%.0f%%", blocked);
    return mem_printf("%.0f%% %s", blocked, waitreason_name(s->spent.reason));
}

/* What was different: on a CPU, waiting, allocating. */
static void slowest_add_spent(struct document *d, const struct slowest_span *s)
{
    char n[2][UNITS_MAX];
    autofree char *blocks =
        mem_printf("%s (%.1f)", units_count(n[0], s->blocks.blocks), s->mean_blocks);
    autofree char *waited = waited_text(s);
    bool sampled = s->has_cpu && s->spent.known;
    document_cell(d, text_of(sampled ? units_count(n[1], s->spent.samples) : ""), 0);
    document_cell(d, text_of(waited), 0);
    document_cell(d, text_of(s->has_blocks ? blocks : ""), 0);
}

static void slowest_add_row(struct document *d, const struct profile *p,
                            const struct slowest_span *s)
{
    char n[UNITS_MAX];
    autofree char *attrs = attrs_text(p, s->attrs);
    document_cell(d, text_of(units_scaled(n, (double)s->duration_ns, SCALED_NS)), 0);
    autofree char *x_median = mem_printf("%.1f", s->x_median);
    document_cell(d, text_of(isnan(s->x_median) ? "-" : x_median), 0);
    const char *at = isnan(s->at_seconds) ? "-" : units_seconds(n, s->at_seconds);
    document_cell(d, text_of(at), 0);
    slowest_add_spent(d, s);
    document_cell(d, s->thread, 0);
    document_cell(d, text_of(attrs), 0);
    document_cell(d, s->scope, 0);
}

void scopetree_add_slowest(struct document *d, const struct scopetree_view *v)
{
    static const struct document_column columns[] = {{"duration", .right = true},
                                                     {"x median", .right = true},
                                                     {"at", .right = true},
                                                     {"samples", .right = true, .spare = 2},
                                                     {"blocked", .right = true, .spare = 1},
                                                     {"allocs (mean)", .right = true, .spare = 3},
                                                     {"thread"},
                                                     {"attributes"},
                                                     {"scope", .wide = true}};
    const struct scopetree *t = v->tree;
    document_heading(d, "Slowest spans");
    document_table(d, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < t->flat.n && i < v->top; i++) {
        struct slowest_span s = slowest_span_get(v, &t->flat.at[i]);
        slowest_add_row(d, t->selection->profile, &s);
    }
    document_drop_empty(d);
}

static void slowest_put_attrs(struct json *j, const struct profile *p, struct attrs_id set)
{
    json_key(j, "attributes");
    json_open(j, '{');
    for (; set.i; set = p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &p->attrs.nodes.at[set.i].attr;
        autofree char *key = mem_printf("%.*s", TEXT_ARG(profile_str(p, a->key)));
        json_key(j, key);
        if (a->is_number)
            json_int(j, a->number);
        else
            json_text(j, profile_str(p, a->text));
    }
    json_close(j, '}');
}

static void slowest_put_spent(struct json *j, const struct slowest_span *s)
{
    if (s->has_blocks) {
        json_put_uint(j, "allocations", s->blocks.blocks);
        json_put_uint(j, "allocated_bytes", s->blocks.bytes);
        json_put_number(j, "mean_allocations", s->mean_blocks);
    }
    if (s->has_cpu && s->spent.known) {
        json_put_uint(j, "samples", s->spent.samples);
        json_put_number(j, "cpu_ns", s->spent.cpu_ns);
    }
    if (!s->spent.known || !s->spent.has_waits)
        return;
    json_put_uint(j, "blocked_ns", s->spent.blocked_ns);
    json_put_uint(j, "runnable_ns", s->spent.runnable_ns);
    json_put_str(j, "blocked_reason", s->spent.reason_ns ? waitreason_name(s->spent.reason) : NULL);
}

void scopetree_put_slowest(struct json *j, const struct scopetree_view *v)
{
    const struct scopetree *t = v->tree;
    json_key(j, "slowest");
    json_open(j, '[');
    for (size_t i = 0; i < t->flat.n; i++) {
        struct slowest_span s = slowest_span_get(v, &t->flat.at[i]);
        json_open(j, '{');
        json_key(j, "scope");
        json_text(j, s.scope);
        json_put_uint(j, "duration_ns", s.duration_ns);
        json_put_number(j, "x_median", s.x_median);
        json_put_number(j, "at_seconds", s.at_seconds);
        json_key(j, "thread");
        json_text(j, s.thread);
        slowest_put_attrs(j, t->selection->profile, s.attrs);
        slowest_put_spent(j, &s);
        json_close(j, '}');
    }
    json_close(j, ']');
}
