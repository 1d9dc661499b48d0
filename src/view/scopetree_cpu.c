/*
 * scopetree_cpu.c - CPU samples by scope, and what stands out.
 */
#include "base/units.h"
#include "view/findings.h"
#include "view/scopetree_inner.h"

#include <math.h>

/* "matmul 81%, softmax 9%" */
static char *functions_text(const struct scope_cpu *c)
{
    char *all = mem_strdup("");
    for (int i = 0; i < SCOPECPU_FUNCTIONS && c->functions[i].samples; i++) {
        autofree char *rest = all;
        all = mem_printf("%s%s%s %.0f%%", rest, *rest ? ", " : "", c->functions[i].name,
                         100 * (double)c->functions[i].samples / (double)c->samples);
    }
    return all;
}

/* One sample in a scope of microseconds would be many times its wall time. */
enum { OF_WALL_SAMPLES = 10 };

static double of_wall(const struct scopetree_view *v, size_t i)
{
    const struct scope_cpu *c = scopecpu_get(v->cpu, i);
    uint64_t wall_ns = v->tree->flat.at[i].sum.total_ns;
    return c->samples >= OF_WALL_SAMPLES && wall_ns ? c->cpu_ns / (double)wall_ns : NAN;
}

static void cpu_add_row(struct document *d, const struct scopetree_view *v, size_t i)
{
    const struct scope_cpu *c = scopecpu_get(v->cpu, i);
    const struct scope_node *n = &v->tree->flat.at[i];
    const struct profile *p = v->tree->selection->profile;
    double share = (double)c->samples / (double)scopecpu_samples(v->cpu);
    char text[2][UNITS_MAX];
    autofree char *percent = mem_printf("%.1f%%", 100 * share);
    double part = of_wall(v, i);
    autofree char *wall = mem_printf("%.0f%%", 100 * part);
    autofree char *functions = functions_text(c);
    bool known = !isnan(c->cpu_ns) && n->sum.total_ns;
    document_cell(d, text_of(units_count(text[0], c->samples)), 0);
    document_cell(d, text_of(percent), share);
    document_cell(d, text_of(known ? units_scaled(text[1], c->cpu_ns, SCALED_NS) : ""), 0);
    document_cell(d, text_of(isnan(part) ? "" : wall), 0);
    document_cell(d, profile_str(p, n->name), 0);
    document_cell(d, text_of(functions), 0);
}

void scopetree_add_cpu(struct document *d, const struct scopetree_view *v)
{
    static const struct document_column columns[] = {{"samples", .right = true},
                                                     {"share", .right = true},
                                                     {"CPU time", .right = true},
                                                     {"of wall", .right = true, .spare = 1},
                                                     {"scope"},
                                                     {"functions that ran", .wide = true}};
    size_t shown = 0;
    if (!v->cpu || !scopecpu_samples(v->cpu))
        return;
    document_heading(d, "CPU time by scope");
    document_table(d, columns, 6);
    for (size_t i = 0; i < v->tree->flat.n && shown < v->top; i++)
        if (scopecpu_get(v->cpu, i)->samples) {
            cpu_add_row(d, v, i);
            shown++;
        }
    document_drop_empty(d);
    document_text(d, shown ? "Samples of threads that were in a scope, scopes inside included. "
                             "Spans that cross threads are left out."
                           : "No CPU sample was taken in a scope.");
}

static void put_cpu_functions(struct json *j, const struct scope_cpu *c)
{
    json_key(j, "functions");
    json_open(j, '[');
    for (int k = 0; k < SCOPECPU_FUNCTIONS && c->functions[k].samples; k++) {
        json_open(j, '{');
        json_put_str(j, "function", c->functions[k].name);
        json_put_uint(j, "samples", c->functions[k].samples);
        json_put_number(j, "share", (double)c->functions[k].samples / (double)c->samples);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void scopetree_put_cpu(struct json *j, const struct scopetree_view *v)
{
    if (!v->cpu)
        return;
    json_put_uint(j, "samples", scopecpu_samples(v->cpu));
    json_key(j, "cpu");
    json_open(j, '[');
    for (size_t i = 0; i < v->tree->flat.n; i++) {
        const struct scope_cpu *c = scopecpu_get(v->cpu, i);
        json_open(j, '{');
        json_key(j, "scope");
        json_text(j, profile_str(v->tree->selection->profile, v->tree->flat.at[i].name));
        json_put_uint(j, "samples", c->samples);
        json_put_number(j, "share", (double)c->samples / (double)scopecpu_samples(v->cpu));
        json_put_number(j, "cpu_ns", c->cpu_ns);
        json_put_number(j, "of_wall", of_wall(v, i));
        put_cpu_functions(j, c);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void scopetree_add_insights(struct document *d, const struct scopetree_view *v)
{
    struct scopeinsights found;
    scopeinsights_find(&found, v->tree, v->cpu);
    findings_show(d, &found.found);
    scopeinsights_done(&found);
}

void scopetree_put_insights(struct json *j, const struct scopetree_view *v)
{
    struct scopeinsights found;
    scopeinsights_find(&found, v->tree, v->cpu);
    findings_put(j, &found.found);
    scopeinsights_done(&found);
}
