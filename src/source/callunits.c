/* callunits.c - Tarjan's strongly connected components, without recursion. */
#include "source/callunits.h"

/*
 * Group N things by KEY[i] < N_KEYS (or CALLUNITS_NONE: left out): those of key k come to stand in
 * RET_LIST from RET_AT[k] to RET_AT[k + 1], in their old order.
 */
static void group(const uint32_t *key, size_t n, size_t n_keys, uint32_t **ret_list,
                  uint32_t **ret_at)
{
    uint32_t *list = mem_calloc(n + 1, sizeof *list), *at = mem_calloc(n_keys + 2, sizeof *at);
    for (size_t i = 0; i < n; i++)
        if (key[i] != CALLUNITS_NONE)
            at[key[i] + 2]++;
    for (size_t k = 2; k < n_keys + 2; k++)
        at[k] += at[k - 1];
    for (size_t i = 0; i < n; i++)
        if (key[i] != CALLUNITS_NONE)
            list[at[key[i] + 1]++] = (uint32_t)i;
    *ret_list = list;
    *ret_at = at;
}

struct walk {
    const struct callgraph *g;
    uint32_t *out, *out_at;   /* arcs by caller */
    uint32_t *next;           /* of each function: the arc to look at next */
    uint32_t *index, *low;    /* 0 = not visited */
    uint32_t *unit;           /* CALLUNITS_NONE while open */
    VEC(uint32_t) path, open; /* functions being walked; visited but without a unit */
    uint32_t visited, n_units;
};

static void callunits_enter(struct walk *w, uint32_t f)
{
    w->index[f] = w->low[f] = ++w->visited;
    w->next[f] = w->out_at[f];
    *vec_push(&w->path) = f;
    *vec_push(&w->open) = f;
}

static void callunits_leave(struct walk *w, uint32_t f)
{
    w->path.n--;
    if (w->path.n) {
        uint32_t caller = w->path.at[w->path.n - 1];
        w->low[caller] = w->low[f] < w->low[caller] ? w->low[f] : w->low[caller];
    }
    if (w->low[f] != w->index[f])
        return;
    uint32_t member;
    do {
        member = w->open.at[--w->open.n];
        w->unit[member] = w->n_units;
    } while (member != f);
    w->n_units++;
}

static void callunits_step(struct walk *w)
{
    uint32_t f = w->path.at[w->path.n - 1];
    if (w->next[f] == w->out_at[f + 1]) {
        callunits_leave(w, f);
        return;
    }
    uint32_t callee = w->g->arcs.at[w->out[w->next[f]++]].callee;
    if (!w->index[callee])
        callunits_enter(w, callee);
    else if (w->unit[callee] == CALLUNITS_NONE && w->index[callee] < w->low[f])
        w->low[f] = w->index[callee];
}

/* The unit of every function; returns how many there are. */
static uint32_t find_units(struct callunits *u, const struct callgraph *g)
{
    size_t n = g->functions.n;
    struct walk w = {.g = g, .unit = u->of_function};
    autofree uint32_t *caller = mem_calloc(g->arcs.n + 1, sizeof *caller);
    for (size_t i = 0; i < g->arcs.n; i++)
        caller[i] = g->arcs.at[i].at.function;
    group(caller, g->arcs.n, n, &w.out, &w.out_at);
    w.next = mem_calloc(n + 1, sizeof *w.next);
    w.index = mem_calloc(n + 1, sizeof *w.index);
    w.low = mem_calloc(n + 1, sizeof *w.low);
    for (uint32_t f = 0; f < n; f++)
        w.unit[f] = CALLUNITS_NONE;
    for (uint32_t f = 0; f < n; f++) {
        if (!w.index[f])
            callunits_enter(&w, f);
        while (w.path.n)
            callunits_step(&w);
    }
    vec_done(&w.path);
    vec_done(&w.open);
    free(w.out);
    free(w.out_at);
    free(w.next);
    free(w.index);
    free(w.low);
    return w.n_units;
}

static void group_arcs(struct callunits *u, const struct callgraph *g)
{
    autofree uint32_t *outer = mem_calloc(g->arcs.n + 1, sizeof *outer);
    autofree uint32_t *inner = mem_calloc(g->arcs.n + 1, sizeof *inner);
    for (size_t i = 0; i < g->arcs.n; i++) {
        const struct callgraph_arc *a = &g->arcs.at[i];
        uint32_t from = u->of_function[a->at.function];
        bool inside = from == u->of_function[a->callee];
        outer[i] = inside ? CALLUNITS_NONE : from;
        inner[i] = inside ? a->at.function : CALLUNITS_NONE;
    }
    group(outer, g->arcs.n, u->n, &u->arcs, &u->arc_at);
    group(inner, g->arcs.n, g->functions.n, &u->inner, &u->inner_at);
}

void callunits_build(struct callunits *u, const struct callgraph *g)
{
    *u = (struct callunits){0};
    u->of_function = mem_calloc(g->functions.n + 1, sizeof *u->of_function);
    u->n = find_units(u, g);
    group(u->of_function, g->functions.n, u->n, &u->members, &u->member_at);
    group_arcs(u, g);
    autofree uint32_t *of_cell = mem_calloc(g->cells.n + 1, sizeof *of_cell);
    for (size_t i = 0; i < g->cells.n; i++)
        of_cell[i] = u->of_function[g->cells.at[i].function];
    group(of_cell, g->cells.n, u->n, &u->cells, &u->cell_at);
}

void callunits_done(struct callunits *u)
{
    free(u->of_function);
    free(u->members);
    free(u->member_at);
    free(u->arcs);
    free(u->arc_at);
    free(u->cells);
    free(u->cell_at);
    free(u->inner);
    free(u->inner_at);
}
