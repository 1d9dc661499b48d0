/*
 * cpuprofile.c - V8's .cpuprofile, as Node.js, Deno and Chrome save it.
 *
 *     {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": "a.js", "lineNumber": 0},
 *                 "hitCount": 3, "children": [2, 5]}, ...],
 *      "startTime": us, "endTime": us, "samples": [node ids], "timeDeltas": [us]}
 *
 * Some writers give every node its "parent" instead of "children". Older V8 nests the nodes
 * under "head", counts lines from 1, has the times in seconds and "timestamps" of samples in
 * microseconds. Order in the file is free, so columns are kept and put together at the end.
 *
 * timeDeltas[i] is the time before sample i; what a sample stands for is the time until the next
 * one, the last one until endTime. That is wall-clock time: "(idle)" and "(program)" are in it.
 */
#include "base/jsonread.h"
#include "source/import.h"
#include "source/sources.h"

enum { DEPTH_MAX = 100000 };

#define NO_NODE UINT32_MAX

struct node {
    int64_t id, hits;
    int64_t parent_id; /* where the node itself says so */
    bool has_parent;
    uint32_t parent; /* index, NO_NODE for roots */
    struct frame_id frame;
    bool is_root; /* called "(root)": not shown */
    enum { NEW, OPEN, DONE, BAD } state;
    uint32_t depth;
    struct stack_id stack;
};

struct edge {
    uint32_t parent;
    int64_t child_id;
};

struct cpuprofile {
    struct import *im;
    struct jsonread j;
    VEC(struct node) nodes;
    struct idmap by_id;
    VEC(struct edge) edges;
    VEC(int64_t) samples, deltas_us, stamps_us;
    int64_t start_us, end_us;
    bool nested; /* the older form */
};

/* --- reading --- */

struct place {
    struct str_id name, url;
    int64_t line; /* from 1; less = not known */
};

static void place_member(struct cpuprofile *c, struct text key, struct place *ret, int first_line)
{
    struct profile *p = c->im->profile;
    if (text_is(key, "functionName"))
        ret->name = profile_add_str(p, json_get_text(&c->j));
    else if (text_is(key, "url"))
        ret->url = profile_add_str(p, json_get_text(&c->j));
    else if (text_is(key, "lineNumber"))
        ret->line = (int64_t)((uint64_t)json_get_int(&c->j) + (first_line == 0));
    else
        json_skip(&c->j);
}

static void read_call_frame(struct cpuprofile *c, struct place *ret)
{
    struct text key;
    if (!json_enter(&c->j, JSON_OBJECT))
        return;
    while (json_member(&c->j, &key))
        place_member(c, key, ret, 0);
}

struct open_node {
    uint32_t index;
    struct place place;
};

typedef VEC(struct open_node) open_nodes;

static void open_node(struct cpuprofile *c, open_nodes *path)
{
    uint32_t index = (uint32_t)c->nodes.n;
    uint32_t parent = path->n ? path->at[path->n - 1].index : NO_NODE;
    if (!json_enter(&c->j, JSON_OBJECT))
        return;
    *vec_push(&c->nodes) = (struct node){.id = INT64_MIN, .parent = parent};
    *vec_push(path) = (struct open_node){.index = index};
}

static void close_node(struct cpuprofile *c, const struct open_node *o)
{
    struct profile *p = c->im->profile;
    struct node *n = &c->nodes.at[o->index];
    struct text name = profile_str(p, o->place.name);
    int64_t line = o->place.line;
    struct function f = {
        .name = name.n ? o->place.name : profile_add_str(p, text_of("(anonymous)")),
        .file = o->place.url,
        .line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
    };
    struct line l = {.function = profile_add_function(p, &f)};
    n->frame = profile_add_frame(p, &(struct frame_key){.lines = &l, .n_lines = 1});
    n->is_root = text_is(name, "(root)");
}

static void node_member(struct cpuprofile *c, struct text key, struct open_node *o)
{
    struct node *n = &c->nodes.at[o->index];
    if (text_is(key, "id"))
        n->id = json_get_int(&c->j);
    else if (text_is(key, "hitCount"))
        n->hits = json_get_int(&c->j);
    else if (text_is(key, "callFrame"))
        read_call_frame(c, &o->place);
    else if (text_is(key, "parent") && json_peek(&c->j) == JSON_NUMBER) {
        n->parent_id = json_get_int(&c->j);
        n->has_parent = true;
    } else
        place_member(c, key, &o->place, 1);
}

/* One node and, in the older form, all that is nested in it: a walk without recursion. */
static void read_node(struct cpuprofile *c, open_nodes *path)
{
    bool in_children = false;
    struct text key;
    open_node(c, path);
    while (path->n) {
        struct open_node *top = &path->at[path->n - 1];
        if (in_children) {
            if (!json_element(&c->j))
                in_children = false;
            else if (json_peek(&c->j) == JSON_NUMBER)
                *vec_push(&c->edges) = (struct edge){top->index, json_get_int(&c->j)};
            else {
                open_node(c, path);
                in_children = false;
            }
        } else if (json_member(&c->j, &key)) {
            in_children = text_is(key, "children") && json_peek(&c->j) == JSON_ARRAY;
            if (in_children)
                json_enter(&c->j, JSON_ARRAY);
            else
                node_member(c, key, top);
        } else {
            close_node(c, &path->at[--path->n]);
            in_children = path->n > 0;
        }
    }
}

static void read_nodes(struct cpuprofile *c, bool nested)
{
    open_nodes path = {0};
    c->nested |= nested;
    if (nested)
        read_node(c, &path);
    else if (json_enter(&c->j, JSON_ARRAY))
        while (json_element(&c->j))
            read_node(c, &path);
    vec_done(&path);
}

#define read_ints(c, list)                               \
    do {                                                 \
        if (json_enter(&(c)->j, JSON_ARRAY))             \
            while (json_element(&(c)->j))                \
                *vec_push(list) = json_get_int(&(c)->j); \
    } while (0)

static void top_member(struct cpuprofile *c, struct text key)
{
    if (text_is(key, "nodes"))
        read_nodes(c, false);
    else if (text_is(key, "head"))
        read_nodes(c, true);
    else if (text_is(key, "samples"))
        read_ints(c, &c->samples);
    else if (text_is(key, "timeDeltas"))
        read_ints(c, &c->deltas_us);
    else if (text_is(key, "timestamps"))
        read_ints(c, &c->stamps_us);
    else if (text_is(key, "startTime"))
        c->start_us = json_get_int(&c->j);
    else if (text_is(key, "endTime"))
        c->end_us = json_get_int(&c->j);
    else
        json_skip(&c->j);
}

/* --- putting together --- */

static uint32_t find_node(const struct cpuprofile *c, int64_t id)
{
    for_each_match (&c->by_id, hash_u64(id), i)
        if (c->nodes.at[i].id == id)
            return i;
    return NO_NODE;
}

static int flaw(struct cpuprofile *c, struct err *err, const char *what, int64_t id)
{
    return import_skip_byte(c->im, reader_offset(c->im->in), err, what, (long long)id);
}

static int index_nodes(struct cpuprofile *c, struct err *err)
{
    for (uint32_t i = 0; i < c->nodes.n; i++) {
        int64_t id = c->nodes.at[i].id;
        if (id == INT64_MIN)
            continue;
        if (find_node(c, id) == NO_NODE)
            idmap_add(&c->by_id, hash_u64(id), i);
        else if (flaw(c, err, "two nodes have the id %lld", id) != 0)
            return -1;
    }
    return 0;
}

static int link_nodes(struct cpuprofile *c, struct err *err)
{
    for (size_t i = 0; i < c->edges.n; i++) {
        const struct edge *e = &c->edges.at[i];
        uint32_t child = find_node(c, e->child_id);
        if (child != NO_NODE && c->nodes.at[child].parent == NO_NODE)
            c->nodes.at[child].parent = e->parent;
        else if (flaw(c, err,
                      child == NO_NODE ? "no node has the id %lld, which is a child"
                                       : "node %lld is the child of two nodes",
                      e->child_id) != 0)
            return -1;
    }
    for (size_t i = 0; i < c->nodes.n; i++) {
        struct node *n = &c->nodes.at[i];
        if (!n->has_parent || n->parent != NO_NODE)
            continue;
        n->parent = find_node(c, n->parent_id);
        if (n->parent == NO_NODE &&
            flaw(c, err, "no node has the id %lld, which is a parent", n->parent_id) != 0)
            return -1;
    }
    return 0;
}

/* Give node I its stack, after those of its callers. A cycle makes all of its nodes bad. */
static void place_node(struct cpuprofile *c, uint32_t i)
{
    VEC(uint32_t) path = {0};
    while (i != NO_NODE && c->nodes.at[i].state == NEW) {
        c->nodes.at[i].state = OPEN;
        *vec_push(&path) = i;
        i = c->nodes.at[i].parent;
    }
    struct node above = {.state = DONE};
    if (i != NO_NODE)
        above = c->nodes.at[i];
    while (path.n) {
        struct node *n = &c->nodes.at[path.at[--path.n]];
        n->depth = above.depth + 1;
        n->state = above.state == DONE && n->depth <= DEPTH_MAX ? DONE : BAD;
        n->stack = above.stack;
        if (n->state == DONE && !n->is_root)
            n->stack = stacks_push(&c->im->profile->stacks, above.stack, n->frame);
        above = *n;
    }
    vec_done(&path);
}

static int cpuprofile_add_row(struct cpuprofile *c, struct node *n, struct row *row,
                              struct err *err)
{
    if (n->state == BAD)
        return flaw(c, err, "node %lld calls itself in a circle, or is over 100,000 deep", n->id);
    row->stack = n->stack;
    if (!row->stack.i) /* seen in "(root)" itself */
        row->stack = stacks_push(&c->im->profile->stacks, row->stack, n->frame);
    return profile_add_row(c->im->profile, 0, row, err);
}

static int add_hits(struct cpuprofile *c, struct err *err)
{
    for (size_t i = 0; i < c->nodes.n; i++) {
        struct node *n = &c->nodes.at[i];
        struct row row = {.values = &n->hits};
        if (n->hits > 0 && cpuprofile_add_row(c, n, &row, err) != 0)
            return -1;
        if (n->hits < 0 && flaw(c, err, "node %lld has a negative hitCount", n->id) != 0)
            return -1;
    }
    return 0;
}

/* Times of the samples in microseconds since the start; never backwards. */
static bool make_times(struct cpuprofile *c)
{
    int64_t now = 0;
    if (!c->deltas_us.n)
        for (size_t i = 0; i < c->stamps_us.n; i++)
            if (__builtin_sub_overflow(c->stamps_us.at[i], i ? c->stamps_us.at[i - 1] : c->start_us,
                                       vec_push(&c->deltas_us)))
                return false;
    for (size_t i = 0; i < c->deltas_us.n; i++) {
        int64_t delta = c->deltas_us.at[i];
        if (__builtin_add_overflow(now, delta > 0 ? delta : 0, &now) || now > INT64_MAX / 1000)
            return false;
        c->deltas_us.at[i] = now;
    }
    return c->deltas_us.n > 0;
}

/* When the last sample stops: the end of the recording where that is known. */
static int64_t end_of(const struct cpuprofile *c)
{
    int64_t last = c->deltas_us.at[c->deltas_us.n - 1], length;
    if (__builtin_sub_overflow(c->end_us, c->start_us, &length) || length > INT64_MAX / 1000)
        return last;
    return length > last ? length : last;
}

static int cpuprofile_add_samples(struct cpuprofile *c, struct err *err)
{
    struct profile *p = c->im->profile;
    bool timed = make_times(c);
    if (timed)
        profile_add_value(p, 0, "wall", UNIT_TIME);
    else
        import_note(c->im, "the samples have no valid times");
    const int64_t *at = c->deltas_us.at;
    for (size_t i = 0; i < c->samples.n; i++) {
        uint32_t node = find_node(c, c->samples.at[i]);
        int64_t values[2] = {1};
        struct row row = {.values = values, .has_time = timed && i < c->deltas_us.n};
        if (row.has_time) {
            int64_t end = i + 1 < c->deltas_us.n ? at[i + 1] : end_of(c);
            row.time_ns = (uint64_t)at[i] * 1000;
            values[1] = (end - at[i]) * 1000;
        }
        int rc = node != NO_NODE ? cpuprofile_add_row(c, &c->nodes.at[node], &row, err)
                                 : flaw(c, err, "no node has the id %lld, which is in samples",
                                        c->samples.at[i]);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int cpuprofile_build(struct cpuprofile *c, struct err *err)
{
    struct meta *meta = &c->im->profile->meta;
    int64_t length;
    if (c->nested) { /* seconds, and not of the samples' clock */
        c->start_us = c->stamps_us.n ? c->stamps_us.at[0] : 0;
        c->end_us = 0;
    } else if (!__builtin_sub_overflow(c->end_us, c->start_us, &length) && length > 0 &&
               length <= INT64_MAX / 1000)
        meta_set_u64(meta, META_DURATION_NS, (uint64_t)length * 1000);
    int stream = profile_add_stream(c->im->profile, "", BY_TIMER);
    profile_add_value(c->im->profile, stream, VALUE_SAMPLES, UNIT_COUNT);
    if (index_nodes(c, err) != 0 || link_nodes(c, err) != 0)
        return -1;
    for (uint32_t i = 0; i < c->nodes.n; i++)
        place_node(c, i);
    return c->samples.n ? cpuprofile_add_samples(c, err) : add_hits(c, err);
}

static int cpuprofile_read(struct import *im, struct err *err)
{
    struct cpuprofile c = {.im = im};
    struct text key;
    jsonread_init(&c.j, im->in);
    if (json_enter(&c.j, JSON_OBJECT))
        while (json_member(&c.j, &key))
            top_member(&c, key);
    json_finish(&c.j);
    int rc = json_failed(&c.j, err) ? -1 : cpuprofile_build(&c, err);
    jsonread_done(&c.j);
    vec_done(&c.nodes);
    vec_done(&c.edges);
    vec_done(&c.samples);
    vec_done(&c.deltas_us);
    vec_done(&c.stamps_us);
    idmap_done(&c.by_id);
    return rc;
}

static bool cpuprofile_has(struct text head, const char *word)
{
    return head.n && memmem(head.at, head.n, word, strlen(word));
}

static int cpuprofile_probe(struct text head, bool whole)
{
    (void)whole;
    if (!text_starts(text_trim(head), "{") ||
        cpuprofile_has(head, "\"selfSize\"")) /* of the heap */
        return 0;
    if (cpuprofile_has(head, "\"callFrame\"") && cpuprofile_has(head, "\"functionName\""))
        return cpuprofile_has(head, "\"nodes\"") ? 95 : 60;
    bool nested = cpuprofile_has(head, "\"head\"") && cpuprofile_has(head, "\"functionName\"");
    return nested                                                                        ? 90
           : cpuprofile_has(head, "\"timeDeltas\"") && cpuprofile_has(head, "\"nodes\"") ? 60
                                                                                         : 0;
}

const struct source source_cpuprofile = {
    .name = "cpuprofile",
    .title = "V8 CPU profile",
    .probe = cpuprofile_probe,
    .read = cpuprofile_read,
};
