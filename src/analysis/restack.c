#include "analysis/restack.h"

#include "analysis/label.h"

struct restack {
    struct profile profile; /* the original's tables, but for those below */
    VEC(struct frame) frames;
    VEC(struct stack_node) nodes;
    VEC(struct stream *) streams;
    struct stream stream;
    struct trie trie;
    uint32_t *unit_of_line;    /* frame id + 1 of a function by itself; 0 = none yet */
    uint32_t *unit_of_mapping; /* the same of a collapsed module */
};

/* --- making one --- */

static struct restack *restack_new(const struct profile *p, int stream)
{
    struct restack *r = mem_new(struct restack);
    const struct stream *old = profile_stream(p, stream);
    r->profile = *p;
    vec_reserve(&r->frames, p->frames.n + 1);
    memcpy(r->frames.at, p->frames.at, p->frames.n * sizeof *p->frames.at);
    r->frames.n = p->frames.n;
    r->stream = *old;
    r->stream.rows.stack = mem_calloc(old->rows.n + 1, sizeof *r->stream.rows.stack);
    for (size_t i = 0; i < p->streams.n; i++)
        *vec_push(&r->streams) = p->streams.at[i];
    r->streams.at[stream] = &r->stream;
    r->unit_of_line = mem_calloc(p->lines.n + 1, sizeof *r->unit_of_line);
    r->unit_of_mapping = mem_calloc(p->mappings.n + 1, sizeof *r->unit_of_mapping);
    trie_init(&r->trie);
    return r;
}

/* New stacks stand behind the old ones, whose ids other streams still use. */
static void restack_finish(struct restack *r, const struct profile *p, const uint32_t *node_of)
{
    uint32_t old = (uint32_t)p->stacks.nodes.n - 1;
    const struct rows *from = &p->streams.at[0]->rows;
    for (size_t i = 0; i < p->streams.n; i++)
        if (r->streams.at[i] == &r->stream)
            from = &p->streams.at[i]->rows;
    for (size_t i = 0; i < from->n; i++) {
        uint32_t at = node_of[from->stack[i].i];
        r->stream.rows.stack[i].i = at ? at + old : 0;
    }
    vec_reserve(&r->nodes, p->stacks.nodes.n + r->trie.nodes.n);
    memcpy(r->nodes.at, p->stacks.nodes.at, p->stacks.nodes.n * sizeof *r->nodes.at);
    r->nodes.n = p->stacks.nodes.n;
    for (size_t i = 1; i < r->trie.nodes.n; i++) {
        struct trie_node n = r->trie.nodes.at[i];
        n.parent += n.parent ? old : 0;
        r->nodes.at[r->nodes.n++].node = n;
    }
    trie_done(&r->trie);
    r->profile.stacks.nodes.at = r->nodes.at;
    r->profile.stacks.nodes.n = r->nodes.n;
    r->profile.frames.at = r->frames.at;
    r->profile.frames.n = r->frames.n;
    r->profile.streams.at = r->streams.at;
    r->profile.streams.n = r->streams.n;
}

void restack_free(struct restack *r)
{
    if (!r)
        return;
    vec_done(&r->frames);
    vec_done(&r->nodes);
    vec_done(&r->streams);
    free(r->stream.rows.stack);
    free(r->unit_of_line);
    free(r->unit_of_mapping);
    free(r);
}

bool restack_is_module(const struct restack *r, struct mapping_id mapping)
{
    return r && r->unit_of_mapping[mapping.i];
}

const struct profile *restack_profile(const struct restack *r)
{
    return &r->profile;
}

static uint32_t restack_add_frame(struct restack *r, uint32_t *known, const struct frame *frame)
{
    if (!*known) {
        *vec_push(&r->frames) = *frame;
        *known = (uint32_t)r->frames.n;
    }
    return *known - 1;
}

/* The K-th function of a frame as a frame by itself. One without lines is that already. */
static uint32_t restack_unit(struct restack *r, const struct profile *p, struct frame_id id,
                             size_t k)
{
    struct frame f = p->frames.at[id.i];
    if (!f.n_lines)
        return id.i;
    uint32_t *known = &r->unit_of_line[f.first_line + k];
    if (k && f.kind == FRAME_USER)
        f.kind = FRAME_INLINED;
    f.first_line += (uint32_t)k;
    f.n_lines = 1;
    return restack_add_frame(r, known, &f);
}

static uint32_t restack_module(struct restack *r, struct mapping_id mapping, uint8_t kind)
{
    struct frame f = {.mapping = mapping, .kind = kind};
    return restack_add_frame(r, &r->unit_of_mapping[mapping.i], &f);
}

/* --- collapsing --- */

struct collapsing {
    struct restack *r;
    const struct profile *p;
    const struct labels *labels;
    const uint32_t *modules;
    const uint8_t *recursion;
    VEC(uint32_t) label; /* by new node: of a function that is collapsed, else LABEL_NONE */
    VEC(uint32_t)
    nearest; /* by new node: the nearest with such a label, itself included; 0 = none */
};

static uint32_t collapse_push(struct collapsing *c, uint32_t parent, uint32_t frame, uint32_t label)
{
    uint32_t node = trie_push(&c->r->trie, parent, frame);
    if (node == c->label.n) {
        *vec_push(&c->label) = label;
        *vec_push(&c->nearest) = label != LABEL_NONE ? node : c->nearest.at[parent];
    }
    return node;
}

/* Where LABEL is on the way to NODE; 0 = nowhere. Each is there once at most. */
static uint32_t collapse_find(const struct collapsing *c, uint32_t node, uint32_t label)
{
    uint32_t at = c->nearest.at[node];
    while (at && c->label.at[at] != label)
        at = c->nearest.at[c->r->trie.nodes.at[at].parent];
    return at;
}

static uint32_t collapse_function(struct collapsing *c, uint32_t node, struct frame_id id, size_t k)
{
    const struct frame *f = profile_frame(c->p, id);
    if (c->modules && c->modules[f->mapping.i] && (f->mapping.i || f->kind == FRAME_KERNEL)) {
        struct mapping_id module = {c->modules[f->mapping.i] - 1};
        uint32_t frame = restack_module(c->r, module, f->kind);
        bool same = node && c->r->trie.nodes.at[node].key == frame;
        return same ? node : collapse_push(c, node, frame, LABEL_NONE);
    }
    uint32_t label = c->recursion ? labels_get(c->labels, c->p, id, k) : LABEL_NONE;
    if (label != LABEL_NONE && !c->recursion[label])
        label = LABEL_NONE;
    uint32_t found = label == LABEL_NONE ? 0 : collapse_find(c, node, label);
    return found ? found : collapse_push(c, node, restack_unit(c->r, c->p, id, k), label);
}

struct restack *restack_collapse(const struct profile *p, int stream, const struct labels *labels,
                                 const uint32_t *modules, const uint8_t *recursion)
{
    struct collapsing c = {
        .r = restack_new(p, stream),
        .p = p,
        .labels = labels,
        .modules = modules,
        .recursion = recursion,
    };
    autofree uint32_t *node_of = mem_calloc(p->stacks.nodes.n + 1, sizeof *node_of);
    *vec_push(&c.label) = LABEL_NONE;
    *vec_push(&c.nearest) = 0;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node n = p->stacks.nodes.at[i];
        uint32_t node = node_of[n.parent.i];
        for (size_t k = 0; k < labels_count(profile_frame(p, n.frame)); k++)
            node = collapse_function(&c, node, n.frame, k);
        node_of[i] = node;
    }
    restack_finish(c.r, p, node_of);
    vec_done(&c.label);
    vec_done(&c.nearest);
    return c.r;
}

/* --- what is below a path --- */

struct descent {
    struct restack *r;
    const struct selection *s;
    struct labels labels;
    const uint32_t *path; /* labels; LABEL_NONE where there is no such function */
    uint32_t n;
    uint32_t *at;   /* by old stack: how far on the path it is; n = below it; n + 1 = elsewhere */
    uint32_t *last; /* by old stack: label of the last function that is seen */
    uint32_t *node; /* by old stack: the new one, below the path */
};

/* What std::thread runs first has no name where libstdc++ has no debug symbols. */
bool restack_is_start(struct text name)
{
    static const char *const all[] = {"_start",
                                      "__libc_start_main",
                                      "__libc_start_call_main",
                                      "clone",
                                      "clone3",
                                      "__clone",
                                      "__clone3",
                                      "start_thread",
                                      "execute_native_thread_routine"};
    static const char *const begins[] = {"[libstdc++.so", "std::thread::_State_impl<",
                                         "std::thread::_Invoker<", "std::__invoke",
                                         /* collapsed, or without names */
                                         "[libc.so", "[libc-", "[libpthread", "[ld-musl"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (text_is(name, all[i]))
            return true;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text_starts(name, begins[i]))
            return true;
    return false;
}

static void restack_descend(struct descent *d, uint32_t stack, struct frame_id frame, size_t k)
{
    uint32_t label = labels_get(&d->labels, d->s->profile, frame, k);
    bool merged = d->s->merge_recursion && label == d->last[stack];
    if (d->at[stack] == d->n)
        d->node[stack] =
            trie_push(&d->r->trie, d->node[stack], restack_unit(d->r, d->s->profile, frame, k));
    if (d->at[stack] >= d->n || merged || selection_hides(d->s, frame, k))
        return;
    d->last[stack] = label;
    if (label != d->path[d->at[stack]]) {
        if (d->at[stack] == 0 && restack_is_start(labels_text(&d->labels, label)))
            return;
        d->at[stack] = d->n + 1;
        return;
    }
    if (++d->at[stack] == d->n)
        d->node[stack] = trie_push(&d->r->trie, 0, restack_unit(d->r, d->s->profile, frame, k));
}

static void descend_all(struct descent *d)
{
    const struct profile *p = d->s->profile;
    d->last[0] = LABEL_NONE;
    for (uint32_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node n = p->stacks.nodes.at[i];
        d->at[i] = d->at[n.parent.i];
        d->last[i] = d->last[n.parent.i];
        d->node[i] = d->node[n.parent.i];
        for (size_t k = 0; k < labels_count(profile_frame(p, n.frame)); k++)
            restack_descend(d, i, n.frame, k);
    }
}

static uint32_t label_of_text(const struct labels *l, struct text name)
{
    for (uint32_t i = 0; i < l->at.n; i++)
        if (text_is(name, labels_text(l, i).at))
            return i;
    return LABEL_NONE;
}

struct restack *restack_subtree(const struct selection *s, const struct restack_path *path,
                                uint8_t *out)
{
    const struct profile *p = s->profile;
    size_t stacks = p->stacks.nodes.n, found = 0;
    autofree uint32_t *labels = mem_calloc(path->n + 1, sizeof *labels);
    autofree uint32_t *at = mem_calloc(stacks, sizeof *at),
                      *last = mem_calloc(stacks, sizeof *last);
    autofree uint32_t *node = mem_calloc(stacks, sizeof *node);
    struct descent d = {
        .s = s, .path = labels, .n = (uint32_t)path->n, .at = at, .last = last, .node = node};
    labels_build(&d.labels, p, &(struct label_opts){.merge_kinds = true});
    for (size_t i = 0; i < path->n; i++)
        labels[i] = label_of_text(&d.labels, path->at[i]);
    d.r = restack_new(p, s->value.stream);
    descend_all(&d);
    for (size_t i = 0; i < s->stream->rows.n; i++) {
        bool in = at[s->stream->rows.stack[i].i] == d.n;
        out[i] |= !in;
        found += in;
    }
    restack_finish(d.r, p, node);
    labels_done(&d.labels);
    if (found)
        return d.r;
    restack_free(d.r);
    return NULL;
}
