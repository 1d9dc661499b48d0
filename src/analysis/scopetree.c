#include "analysis/scopetree.h"

#include "base/idmap.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int scopetree_stream(const struct profile *p)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (text_is(profile_str(p, p->streams.at[i]->event), "scopes") &&
            p->streams.at[i]->obtained == BY_TRACE && p->streams.at[i]->rows.duration_ns)
            return (int)i;
    return -1;
}

/* --- sums --- */

struct scope_span {
    uint64_t ns, self_ns;
    uint32_t row;
    bool outermost; /* of its name */
};

static void sum_add(struct scope_sum *s, const struct scope_span *span, bool all)
{
    double from_mean = (double)span->ns - s->mean_ns;
    s->calls++;
    s->self_ns += span->self_ns;
    s->total_ns += all || span->outermost ? span->ns : 0;
    s->mean_ns += from_mean / (double)s->calls;
    s->square_ns += from_mean * ((double)span->ns - s->mean_ns);
    if (s->calls == 1 || span->ns < s->min_ns)
        s->min_ns = span->ns;
    if (s->calls == 1 || span->ns > s->max_ns) {
        s->max_ns = span->ns;
        s->slowest = span->row;
    }
    histogram_add(&s->times, span->ns, 1);
}

double scope_sum_sd_ns(const struct scope_sum *s)
{
    return s->calls > 1 ? sqrt(s->square_ns / (double)(s->calls - 1)) : 0;
}

/* What is known exactly bounds what a class of the histogram says. */
static uint64_t bounded(const struct scope_sum *s, uint64_t ns)
{
    return ns < s->min_ns ? s->min_ns : ns > s->max_ns ? s->max_ns : ns;
}

uint64_t scope_sum_quantile_ns(const struct scope_sum *s, double q)
{
    return bounded(s, histogram_quantile(&s->times, q));
}

/* --- names --- */

struct str_id scopetree_name(const struct profile *p, struct stack_id stack)
{
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    const struct line *lines = profile_lines(p, f);
    return lines ? p->functions.at[lines[0].function.i].name : (struct str_id){0};
}

/* --- building --- */

struct scope_group {
    struct str_id name;
    struct attr attr;
};

struct scope_index {
    struct str_id by;        /* 0 = nothing asked for */
    uint32_t *node_of_stack; /* + 1; 0 = none yet */
    uint32_t *flat_of_name;  /* + 1 */
    struct idmap groups;
    VEC(struct scope_group) group_keys;
};

struct scope_job {
    struct scopetree *t;
    const struct profile *p;
    struct scope_index *index;
    uint8_t *is_outermost; /* by stack: 0 not known, 1 yes, 2 no */
    VEC(uint32_t) chain;
};

/* The node of a stack; those around it are made first. */
static uint32_t node_get(struct scope_job *job, struct stack_id stack)
{
    const struct stack_node *nodes = job->p->stacks.nodes.at;
    scope_nodes *tree = &job->t->tree;
    job->chain.n = 0;
    for (; stack.i && !job->index->node_of_stack[stack.i]; stack = nodes[stack.i].parent)
        *vec_push(&job->chain) = stack.i;
    uint32_t node = job->index->node_of_stack[stack.i];
    while (job->chain.n) {
        struct stack_id at = {job->chain.at[--job->chain.n]};
        struct scope_node new = {.name = scopetree_name(job->p, at),
                                 .parent = node,
                                 .depth = node ? tree->at[node - 1].depth + 1 : 0,
                                 .id = (uint32_t)tree->n};
        *vec_push(tree) = new;
        node = job->index->node_of_stack[at.i] = (uint32_t)tree->n;
    }
    return node;
}

static bool outermost(struct scope_job *job, struct stack_id stack)
{
    uint8_t *known = &job->is_outermost[stack.i];
    if (!*known) {
        struct str_id name = scopetree_name(job->p, stack);
        struct stack_id at = job->p->stacks.nodes.at[stack.i].parent;
        while (at.i && scopetree_name(job->p, at).i != name.i)
            at = job->p->stacks.nodes.at[at.i].parent;
        *known = at.i ? 2 : 1;
    }
    return *known == 1;
}

static struct scope_sum *flat_get(struct scope_job *job, struct str_id name)
{
    uint32_t *known = &job->index->flat_of_name[name.i];
    if (!*known) {
        struct scope_node new = {.name = name, .id = (uint32_t)job->t->flat.n};
        *vec_push(&job->t->flat) = new;
        *known = (uint32_t)job->t->flat.n;
    }
    return &job->t->flat.at[*known - 1].sum;
}

static bool same_value(const struct attr *a, const struct attr *b)
{
    return a->is_number == b->is_number &&
           (a->is_number ? a->number == b->number : a->text.i == b->text.i);
}

static uint32_t group_hash(struct str_id name, const struct attr *a)
{
    uint64_t value = a->is_number ? (uint64_t)a->number : a->text.i;
    return hash_pair(name.i, (uint32_t)(value ^ value >> 32) + a->is_number);
}

/* + 1; 0 = none */
static uint32_t group_find(const struct scope_index *x, struct str_id name, const struct attr *a)
{
    for_each_match (&x->groups, group_hash(name, a), i) {
        const struct scope_group *g = &x->group_keys.at[i];
        if (g->name.i == name.i && same_value(&g->attr, a))
            return i + 1;
    }
    return 0;
}

static struct scope_sum *group_get(struct scope_job *job, struct str_id name, const struct attr *a)
{
    struct scope_index *x = job->index;
    uint32_t i = group_find(x, name, a);
    if (i)
        return &job->t->groups.at[i - 1].sum;
    i = (uint32_t)x->group_keys.n;
    *vec_push(&x->group_keys) = (struct scope_group){name, *a};
    *vec_push(&job->t->groups) = (struct scope_node){.name = name, .attr = *a, .id = i};
    idmap_add(&x->groups, group_hash(name, a), i);
    return &job->t->groups.at[i].sum;
}

/* The value of the attribute that was asked for, or NULL. */
static const struct attr *group_attr(const struct scopetree *t, size_t row)
{
    const struct rows *rows = &t->selection->stream->rows;
    struct str_id by = t->index->by;
    return by.i && rows->attrs ? attrs_find(&t->selection->profile->attrs, rows->attrs[row], by)
                               : NULL;
}

static void add_row_spans(struct scope_job *job, size_t row)
{
    const struct selection *s = job->t->selection;
    const struct rows *rows = &s->stream->rows;
    struct stack_id stack = rows->stack[row];
    uint64_t start_ns = rows->time_ns ? rows->time_ns[row] : 0;
    struct scope_span span = {.ns = rows->duration_ns[row],
                              .self_ns = (uint64_t)selection_values(s)[row],
                              .row = (uint32_t)row,
                              .outermost = outermost(job, stack)};
    uint32_t node = node_get(job, stack);
    struct str_id name = scopetree_name(job->p, stack);
    if (!node)
        return;
    job->t->spans++;
    if (job->t->spans == 1 || start_ns < job->t->start_ns)
        job->t->start_ns = start_ns;
    if (start_ns + span.ns > job->t->end_ns)
        job->t->end_ns = start_ns + span.ns;
    sum_add(&job->t->tree.at[node - 1].sum, &span, true);
    sum_add(flat_get(job, name), &span, false);
    const struct attr *a = group_attr(job->t, row);
    if (a)
        sum_add(group_get(job, name, a), &span, false);
}

/* --- order --- */

static int compare_texts(struct text a, struct text b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int by = n ? memcmp(a.at, b.at, n) : 0;
    return by ? by : a.n < b.n ? -1 : a.n > b.n;
}

static int scopetree_by_total(const struct scope_node *a, const struct scope_node *b)
{
    if (a->sum.total_ns != b->sum.total_ns)
        return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
    return 0;
}

static int compare_nodes(const void *a, const void *b, void *profile)
{
    const struct scope_node *x = a, *y = b;
    const struct profile *p = profile;
    int by = scopetree_by_total(x, y);
    return by ? by : compare_texts(profile_str(p, x->name), profile_str(p, y->name));
}

/* By name, then by value: numbers before texts. */
static int compare_groups(const void *a, const void *b, void *profile)
{
    const struct scope_node *x = a, *y = b;
    const struct profile *p = profile;
    int by = compare_texts(profile_str(p, x->name), profile_str(p, y->name));
    if (by)
        return by;
    if (x->attr.is_number != y->attr.is_number)
        return x->attr.is_number ? -1 : 1;
    if (x->attr.is_number)
        return x->attr.number < y->attr.number ? -1 : x->attr.number > y->attr.number;
    return compare_texts(profile_str(p, x->attr.text), profile_str(p, y->attr.text));
}

static int compare_siblings(const void *a, const void *b, void *tree)
{
    const scope_nodes *nodes = tree;
    const struct scope_node *x = &nodes->at[*(const uint32_t *)a],
                            *y = &nodes->at[*(const uint32_t *)b];
    int by = scopetree_by_total(x, y);
    return by ? by : *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* A scope, then what is inside; the longest first. Parents are then right before their children. */
static void order_tree(struct scopetree *t)
{
    size_t n = t->tree.n;
    autofree uint32_t *sorted = mem_calloc(n + 1, sizeof *sorted);
    autofree uint32_t *first = mem_calloc(n + 1, sizeof *first),
                      *next = mem_calloc(n + 1, sizeof *next);
    autofree uint32_t *place = mem_calloc(n + 1, sizeof *place);
    scope_nodes ordered = {0};
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = i;
    if (n)
        qsort_r(sorted, n, sizeof *sorted, compare_siblings, &t->tree);
    for (size_t i = n; i-- > 0;) { /* lists grow at their head, so backwards */
        uint32_t node = sorted[i] + 1, parent = t->tree.at[node - 1].parent;
        next[node] = first[parent];
        first[parent] = node;
    }
    for (uint32_t at = first[0], up; at;) {
        *vec_push(&ordered) = t->tree.at[at - 1];
        place[at] = (uint32_t)ordered.n;
        ordered.at[ordered.n - 1].parent = place[t->tree.at[at - 1].parent];
        if (first[at]) {
            at = first[at];
            continue;
        }
        for (up = at; up && !next[up]; up = t->tree.at[up - 1].parent)
            ;
        at = up ? next[up] : 0;
    }
    vec_done(&t->tree);
    t->tree = ordered;
}

/* --- all of it --- */

static void find_key(struct scope_job *job, const char *by)
{
    const struct attrs *attrs = &job->p->attrs;
    for (size_t i = 1; by && i < attrs->nodes.n; i++)
        if (text_is(profile_str(job->p, attrs->nodes.at[i].attr.key), by))
            job->index->by = attrs->nodes.at[i].attr.key;
}

static void job_run(struct scope_job *job)
{
    const struct selection *s = job->t->selection;
    struct profile *names = (struct profile *)(uintptr_t)job->p; /* qsort_r() takes no const */
    for (size_t i = 0; i < s->n_rows; i++)
        add_row_spans(job, selection_row(s, i));
    order_tree(job->t);
    if (job->t->flat.n)
        qsort_r(job->t->flat.at, job->t->flat.n, sizeof *job->t->flat.at, compare_nodes, names);
    if (job->t->groups.n)
        qsort_r(job->t->groups.at, job->t->groups.n, sizeof *job->t->groups.at, compare_groups,
                names);
}

static struct scope_index *index_new(const struct profile *p)
{
    struct scope_index *x = mem_new(struct scope_index);
    *x = (struct scope_index){
        .node_of_stack = mem_calloc(p->stacks.nodes.n, sizeof *x->node_of_stack),
        .flat_of_name = mem_calloc(p->strings.strings.n, sizeof *x->flat_of_name),
    };
    return x;
}

int scopetree_build(struct scopetree *t, const struct selection *s, const char *by, struct err *err)
{
    struct scope_job job = {.t = t, .p = s->profile};
    *t = (struct scopetree){.selection = s};
    if (!s->stream->rows.duration_ns)
        return err_set(err, EXIT_ERROR, "nothing here has a duration");
    t->index = job.index = index_new(s->profile);
    find_key(&job, by);
    if (by && !job.index->by.i)
        return err_set(err, EXIT_ERROR, "no scope has an attribute '%s'", by);
    job.is_outermost = mem_calloc(job.p->stacks.nodes.n, sizeof *job.is_outermost);
    job_run(&job);
    free(job.is_outermost);
    vec_done(&job.chain);
    if (by && !t->groups.n)
        return err_set(err, EXIT_ERROR, "no scope that is selected has an attribute '%s'", by);
    return 0;
}

struct scope_ids scopetree_ids(const struct scopetree *t, size_t row)
{
    struct stack_id stack = t->selection->stream->rows.stack[row];
    struct str_id name = scopetree_name(t->selection->profile, stack);
    const struct attr *a = group_attr(t, row);
    if (!t->index->node_of_stack[stack.i])
        return (struct scope_ids){0};
    return (struct scope_ids){.tree = t->index->node_of_stack[stack.i],
                              .flat = t->index->flat_of_name[name.i],
                              .group = a ? group_find(t->index, name, a) : 0};
}

static void nodes_done(scope_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        histogram_done(&nodes->at[i].sum.times);
    vec_done(nodes);
}

static void index_free(struct scope_index *x)
{
    if (!x)
        return;
    free(x->node_of_stack);
    free(x->flat_of_name);
    idmap_done(&x->groups);
    vec_done(&x->group_keys);
    free(x);
}

void scopetree_done(struct scopetree *t)
{
    index_free(t->index);
    t->index = NULL;
    nodes_done(&t->tree);
    nodes_done(&t->flat);
    nodes_done(&t->groups);
}
