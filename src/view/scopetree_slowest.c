#include "base/units.h"
#include "view/scopetree_inner.h"

#include <math.h>

struct slowest_span {
    struct text scope, thread;
    uint64_t duration_ns;
    double x_median;   /* NaN: the median is 0 */
    double at_seconds; /* from the first span; NaN = not known */
    struct attrs_id attrs;
};

static struct slowest_span slowest_span_get(const struct scopetree *t, const struct scope_node *n)
{
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

static void slowest_add_row(struct document *d, const struct profile *p,
                            const struct slowest_span *s)
{
    char n[UNITS_MAX];
    autofree char *attrs = attrs_text(p, s->attrs);
    document_cell(d, text_of(units_scaled(n, (double)s->duration_ns, UNIT_TIME)), 0);
    autofree char *x_median = mem_printf("%.1f", s->x_median);
    document_cell(d, text_of(isnan(s->x_median) ? "-" : x_median), 0);
    autofree char *at = mem_printf("%.3f s", s->at_seconds);
    document_cell(d, text_of(isnan(s->at_seconds) ? "-" : at), 0);
    document_cell(d, s->thread, 0);
    document_cell(d, text_of(attrs), 0);
    document_cell(d, s->scope, 0);
}

void scopetree_add_slowest(struct document *d, const struct scopetree_view *v)
{
    static const struct document_column columns[] = {{"duration", .right = true},
                                                     {"x median", .right = true},
                                                     {"at", .right = true},
                                                     {"thread"},
                                                     {"attributes"},
                                                     {"scope", .wide = true}};
    const struct scopetree *t = v->tree;
    document_heading(d, "Slowest spans");
    document_table(d, columns, 6);
    for (size_t i = 0; i < t->flat.n && i < v->top; i++) {
        struct slowest_span s = slowest_span_get(t, &t->flat.at[i]);
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

void scopetree_put_slowest(struct json *j, const struct scopetree *t)
{
    json_key(j, "slowest");
    json_open(j, '[');
    for (size_t i = 0; i < t->flat.n; i++) {
        struct slowest_span s = slowest_span_get(t, &t->flat.at[i]);
        json_open(j, '{');
        json_key(j, "scope");
        json_text(j, s.scope);
        json_put_uint(j, "duration_ns", s.duration_ns);
        json_put_number(j, "x_median", s.x_median);
        json_put_number(j, "at_seconds", s.at_seconds);
        json_key(j, "thread");
        json_text(j, s.thread);
        slowest_put_attrs(j, t->selection->profile, s.attrs);
        json_close(j, '}');
    }
    json_close(j, ']');
}
