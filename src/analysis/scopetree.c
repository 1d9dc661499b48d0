#include "analysis/scopetree.h"

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "model/streamkind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int scopetree_stream(const struct profile *p)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (stream_kind_of(p, p->streams.at[i]) == STREAM_SCOPES &&
            p->streams.at[i]->obtained == BY_TRACE && p->streams.at[i]->rows.duration_ns)
            return (int)i;
    return -1;
}

bool scopetree_find(const struct profile *p, struct value_ref *ret)
{
    int stream = scopetree_stream(p);
    const struct stream *s = stream < 0 ? NULL : profile_stream(p, stream);
    for (int i = 0; s && i < s->n_types; i++)
        if (profile_is_ns(p, &s->types[i])) {
            *ret = (struct value_ref){stream, i};
            return true;
        }
    return false;
}

/* --- sums --- */

struct scope_span {
    uint64_t ns, self_ns;
    struct scope_slowest where;
};

static void sum_add(struct scope_sum *s, const struct scope_span *span)
{
    double from_mean = (double)span->ns - s->mean_ns;
    s->calls++;
    s->self_ns += span->self_ns;
    s->total_ns += span->ns;
    s->blocks.blocks += span->where.blocks.blocks;
    s->blocks.bytes += span->where.blocks.bytes;
    s->mean_ns += from_mean / (double)s->calls;
    s->square_ns += from_mean * ((double)span->ns - s->mean_ns);
    if (s->calls == 1 || span->ns < s->min_ns)
        s->min_ns = span->ns;
    if (s->calls == 1 || span->ns > s->max_ns) {
        s->max_ns = span->ns;
        s->slowest = span->where;
    }
    histogram_add(&s->times, span->ns, 1);
}

/* OUTERMOST: of its name, else its time is in that of one around it. */
static void sum_merge(struct scope_sum *to, const struct scope_sum *from, bool outermost)
{
    double n = (double)to->calls, m = (double)from->calls, apart = from->mean_ns - to->mean_ns;
    if (!from->calls)
        return;
    if (!to->calls || from->min_ns < to->min_ns)
        to->min_ns = from->min_ns;
    if (!to->calls || from->max_ns > to->max_ns ||
        (from->max_ns == to->max_ns && from->slowest.time_ns < to->slowest.time_ns)) {
        to->max_ns = from->max_ns;
        to->slowest = from->slowest;
    }
    to->calls += from->calls;
    to->self_ns += from->self_ns;
    to->total_ns += outermost ? from->total_ns : 0;
    to->blocks.blocks += outermost ? from->blocks.blocks : 0;
    to->blocks.bytes += outermost ? from->blocks.bytes : 0;
    to->mean_ns += apart * m / (n + m);
    to->square_ns += from->square_ns + apart * apart * n * m / (n + m);
    histogram_merge(&to->times, &from->times);
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

/* 1 - 0.9 is a little less than a tenth. */
bool scope_sum_has_quantile(const struct scope_sum *s, double q)
{
    return (double)s->calls * (1 - q) > 1 - 1e-9;
}

/* --- names --- */

struct str_id scopetree_name(const struct profile *p, struct stack_id stack)
{
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    const struct line *lines = profile_lines(p, f);
    return lines ? p->functions.at[lines[0].function.i].name : (struct str_id){0};
}

/* --- building --- */

/* Spans of a value of the attribute: first by stack, and by name when all names are known. */
struct scope_group {
    uint32_t of; /* a stack or a name */
    struct attr attr;
};

struct scope_groups {
    struct idmap map;
    VEC(struct scope_group) keys;
};

struct scope_index {
    struct scopeblocks blocks;
    bool by_thread;
    char *by_text;               /* NULL = nothing asked for */
    struct str_id by;            /* 0 = not met yet */
    VEC(uint32_t) node_of_stack; /* + 1; 0 = none yet */
    VEC(uint32_t) stack_of_node;
    VEC(uint32_t) chain;    /* scratch */
    uint32_t *flat_of_name; /* + 1 */
    struct scope_groups stack_groups, groups;
    scope_nodes by_stack; /* sums of the first */
};

/* The node of a stack; those around it are made first. */
static uint32_t node_make(struct scopetree *t, const struct profile *p, struct stack_id stack)
{
    struct scope_index *x = t->index;
    const struct stack_node *nodes = p->stacks.nodes.at;
    x->chain.n = 0;
    for (; stack.i && !x->node_of_stack.at[stack.i]; stack = nodes[stack.i].parent)
        *vec_push(&x->chain) = stack.i;
    uint32_t node = x->node_of_stack.at[stack.i];
    while (x->chain.n) {
        uint32_t at = x->chain.at[--x->chain.n];
        struct scope_node new = {.parent = node,
                                 .depth = node ? t->tree.at[node - 1].depth + 1 : 0,
                                 .id = (uint32_t)t->tree.n};
        *vec_push(&t->tree) = new;
        *vec_push(&x->stack_of_node) = at;
        node = x->node_of_stack.at[at] = (uint32_t)t->tree.n;
    }
    return node;
}

static bool same_value(const struct attr *a, const struct attr *b)
{
    return a->is_number == b->is_number &&
           (a->is_number ? a->number == b->number : a->text.i == b->text.i);
}

static uint32_t group_hash(uint32_t of, const struct attr *a)
{
    uint64_t value = a->is_number ? (uint64_t)a->number : a->text.i;
    return hash_pair(of, (uint32_t)(value ^ value >> 32) + a->is_number);
}

/* + 1; 0 = none */
static uint32_t group_find(const struct scope_groups *g, uint32_t of, const struct attr *a)
{
    for_each_match (&g->map, group_hash(of, a), i)
        if (g->keys.at[i].of == of && same_value(&g->keys.at[i].attr, a))
            return i + 1;
    return 0;
}

static struct scope_node *group_get(struct scope_groups *g, scope_nodes *nodes, uint32_t of,
                                    const struct attr *a)
{
    uint32_t i = group_find(g, of, a);
    if (i)
        return &nodes->at[i - 1];
    i = (uint32_t)g->keys.n;
    *vec_push(&g->keys) = (struct scope_group){of, *a};
    *vec_push(nodes) = (struct scope_node){.attr = *a, .id = i};
    idmap_add(&g->map, group_hash(of, a), i);
    return &nodes->at[i];
}

/* The value of the attribute that was asked for; false where the row has none. */
static bool group_attr(const struct scopetree *t, const struct selection *s, size_t row,
                       struct attr *ret)
{
    const struct rows *rows = &s->stream->rows;
    struct str_id by = t->index->by;
    if (t->index->by_thread) {
        *ret = (struct attr){.text = s->profile->threads.at[rows->thread[row].i].name};
        return true;
    }
    const struct attr *a =
        by.i && rows->attrs ? attrs_find(&s->profile->attrs, rows->attrs[row], by) : NULL;
    *ret = a ? *a : (struct attr){0};
    return a != NULL;
}

static void add_span_row(struct scopetree *t, const struct selection *s, size_t row,
                         const struct scope_blocks *blocks)
{
    struct scope_index *x = t->index;
    const struct rows *rows = &s->stream->rows;
    struct stack_id stack = rows->stack[row];
    uint64_t start_ns = rows->time_ns ? rows->time_ns[row] : 0;
    struct scope_span span = {.ns = rows->duration_ns[row],
                              .self_ns = (uint64_t)selection_values(s)[row],
                              .where = {start_ns, rows->thread[row],
                                        rows->attrs ? rows->attrs[row] : (struct attrs_id){0},
                                        blocks ? blocks[row] : (struct scope_blocks){0}}};
    struct attr a;
    uint32_t node = x->node_of_stack.at[stack.i];
    if (!node && !(node = node_make(t, s->profile, stack)))
        return;
    t->spans++;
    if (t->spans == 1 || start_ns < t->start_ns)
        t->start_ns = start_ns;
    if (start_ns + span.ns > t->end_ns)
        t->end_ns = start_ns + span.ns;
    sum_add(&t->tree.at[node - 1].sum, &span);
    if (x->by_text && group_attr(t, s, row, &a))
        sum_add(&group_get(&x->stack_groups, &x->by_stack, stack.i, &a)->sum, &span);
}

/* --- names --- */

static bool outermost(const struct profile *p, struct stack_id stack)
{
    struct str_id name = scopetree_name(p, stack);
    struct stack_id at = p->stacks.nodes.at[stack.i].parent;
    while (at.i && scopetree_name(p, at).i != name.i)
        at = p->stacks.nodes.at[at.i].parent;
    return !at.i;
}

static struct scope_sum *flat_get(struct scopetree *t, struct str_id name)
{
    uint32_t *known = &t->index->flat_of_name[name.i];
    if (!*known) {
        struct scope_node new = {.name = name, .id = (uint32_t)t->flat.n};
        *vec_push(&t->flat) = new;
        *known = (uint32_t)t->flat.n;
    }
    return &t->flat.at[*known - 1].sum;
}

static void name_nodes(struct scopetree *t, const struct profile *p)
{
    for (size_t i = 0; i < t->tree.n; i++) {
        struct stack_id stack = {t->index->stack_of_node.at[i]};
        struct scope_node *node = &t->tree.at[i];
        node->name = scopetree_name(p, stack);
        if (node->sum.calls)
            sum_merge(flat_get(t, node->name), &node->sum, outermost(p, stack));
    }
}

static void name_groups(struct scopetree *t, const struct profile *p)
{
    struct scope_index *x = t->index;
    for (size_t i = 0; i < x->by_stack.n; i++) {
        struct stack_id stack = {x->stack_groups.keys.at[i].of};
        struct str_id name = scopetree_name(p, stack);
        struct scope_node *g =
            group_get(&x->groups, &t->groups, name.i, &x->stack_groups.keys.at[i].attr);
        g->name = name;
        sum_merge(&g->sum, &x->by_stack.at[i].sum, outermost(p, stack));
    }
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

static struct str_id find_key(const struct profile *p, const char *by)
{
    for (size_t i = 1; by && i < p->attrs.nodes.n; i++)
        if (text_is(profile_str(p, p->attrs.nodes.at[i].attr.key), by))
            return p->attrs.nodes.at[i].attr.key;
    return (struct str_id){0};
}

/* "no scope has an attribute 'x'; there are: index, size". */
static int no_such_attribute(const struct profile *p, const char *asked, struct err *err)
{
    autobuf struct buf known = {0};
    struct str_id seen[8] = {{0}};
    size_t n = 0;
    for (size_t i = 1; i < p->attrs.nodes.n && n < sizeof seen / sizeof *seen; i++) {
        struct str_id key = p->attrs.nodes.at[i].attr.key;
        size_t k = 0;
        while (k < n && seen[k].i != key.i)
            k++;
        if (k < n)
            continue;
        seen[n++] = key;
        buf_printf(&known, "%s%.40s", known.n ? ", " : "", profile_str(p, key).at);
    }
    return err_set(err, EXIT_ERROR, "no scope has an attribute '%s'%s%s", asked,
                   n ? "; there are: " : ", nor any other", buf_cstr(&known));
}

void scopetree_begin(struct scopetree *t, const char *by)
{
    *t = (struct scopetree){.index = mem_new(struct scope_index)};
    *t->index = (struct scope_index){.by_text = by ? mem_strdup(by) : NULL,
                                     .by_thread = by && strcmp(by, "thread") == 0};
}

void scopetree_add(struct scopetree *t, const struct selection *s)
{
    struct scope_index *x = t->index;
    if (!x->by.i)
        x->by = find_key(s->profile, x->by_text);
    while (x->node_of_stack.n < s->profile->stacks.nodes.n)
        *vec_push(&x->node_of_stack) = 0;
    const struct scope_blocks *blocks = scopeblocks_add(&x->blocks, s->profile, s->stream);
    t->has_blocks |= blocks != NULL;
    for (size_t i = 0; s->stream->rows.duration_ns && i < s->n_rows; i++)
        add_span_row(t, s, selection_row(s, i), blocks);
}

int scopetree_end(struct scopetree *t, const struct selection *s, struct err *err)
{
    struct scope_index *x = t->index;
    struct profile *names = (struct profile *)(uintptr_t)s->profile; /* qsort_r() takes no const */
    t->selection = s;
    if (x->by_text && !x->by_thread && !find_key(s->profile, x->by_text).i)
        return no_such_attribute(s->profile, x->by_text, err);
    x->flat_of_name = mem_calloc(s->profile->strings.strings.n, sizeof *x->flat_of_name);
    name_nodes(t, s->profile);
    name_groups(t, s->profile);
    order_tree(t);
    if (t->flat.n)
        qsort_r(t->flat.at, t->flat.n, sizeof *t->flat.at, compare_nodes, names);
    if (t->groups.n)
        qsort_r(t->groups.at, t->groups.n, sizeof *t->groups.at, compare_groups, names);
    if (x->by_text && !t->groups.n)
        return err_set(err, EXIT_ERROR, "no scope that is selected has an attribute '%s'",
                       x->by_text);
    return 0;
}

int scopetree_build(struct scopetree *t, const struct selection *s, const char *by, struct err *err)
{
    scopetree_begin(t, by);
    t->selection = s;
    if (!s->stream->rows.duration_ns)
        return err_set(err, EXIT_ERROR, "nothing here has a duration");
    scopetree_add(t, s);
    return scopetree_end(t, s, err);
}

struct scope_ids scopetree_ids(const struct scopetree *t, size_t row)
{
    const struct selection *s = t->selection;
    struct stack_id stack = s->stream->rows.stack[row];
    struct str_id name = scopetree_name(s->profile, stack);
    struct attr a;
    bool grouped = t->index->by_text && group_attr(t, s, row, &a);
    if (!t->index->node_of_stack.at[stack.i])
        return (struct scope_ids){0};
    return (struct scope_ids){.tree = t->index->node_of_stack.at[stack.i],
                              .flat = t->index->flat_of_name[name.i],
                              .group = grouped ? group_find(&t->index->groups, name.i, &a) : 0};
}

static void nodes_done(scope_nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        histogram_done(&nodes->at[i].sum.times);
    vec_done(nodes);
}

static void groups_done(struct scope_groups *g)
{
    idmap_done(&g->map);
    vec_done(&g->keys);
}

static void index_free(struct scope_index *x)
{
    if (!x)
        return;
    scopeblocks_done(&x->blocks);
    free(x->by_text);
    free(x->flat_of_name);
    vec_done(&x->node_of_stack);
    vec_done(&x->stack_of_node);
    vec_done(&x->chain);
    groups_done(&x->stack_groups);
    groups_done(&x->groups);
    nodes_done(&x->by_stack);
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
