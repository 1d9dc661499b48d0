#include "source/callgraph.h"

void callgraph_done(struct callgraph *g)
{
    vec_done(&g->functions);
    vec_done(&g->cells);
    vec_done(&g->arcs);
    vec_done(&g->cell_costs);
    vec_done(&g->arc_costs);
    idmap_done(&g->function_map);
    idmap_done(&g->cell_map);
    idmap_done(&g->arc_map);
}

uint32_t callgraph_function(struct callgraph *g, const struct callgraph_function *key)
{
    uint32_t hash = hash_pair(hash_pair(key->module.i, key->file.i), key->name.i);
    for_each_match (&g->function_map, hash, id) {
        const struct callgraph_function *f = &g->functions.at[id];
        if (f->module.i == key->module.i && f->file.i == key->file.i && f->name.i == key->name.i)
            return id;
    }
    uint32_t id = (uint32_t)g->functions.n;
    *vec_push(&g->functions) = *key;
    idmap_add(&g->function_map, hash, id);
    return id;
}

static bool same_place(const struct callgraph_place *a, const struct callgraph_place *b)
{
    return a->function == b->function && a->file.i == b->file.i && a->line == b->line;
}

static uint32_t hash_place(const struct callgraph_place *at)
{
    return hash_pair(hash_pair(at->function, at->file.i), at->line);
}

static int add_costs(int64_t *sums, const int64_t *costs, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(sums[i], costs[i], &sums[i]))
            return err_set(err, EXIT_INPUT, "the sum of the costs of a line does not fit 64 bits");
    return 0;
}

static uint32_t find_cell(const struct callgraph *g, uint32_t hash,
                          const struct callgraph_place *at)
{
    for_each_match (&g->cell_map, hash, id) {
        if (same_place(&g->cells.at[id], at))
            return id;
    }
    return IDMAP_NONE;
}

int callgraph_add_cell(struct callgraph *g, const struct callgraph_place *at, const int64_t *costs,
                       struct err *err)
{
    uint32_t hash = hash_place(at), id = find_cell(g, hash, at);
    if (id == IDMAP_NONE) {
        id = (uint32_t)g->cells.n;
        *vec_push(&g->cells) = *at;
        for (size_t i = 0; i < g->n_events; i++)
            *vec_push(&g->cell_costs) = 0;
        idmap_add(&g->cell_map, hash, id);
    }
    return add_costs(callgraph_cell_costs(g, id), costs, g->n_events, err);
}

static uint32_t find_arc(const struct callgraph *g, uint32_t hash, const struct callgraph_arc *arc)
{
    for_each_match (&g->arc_map, hash, id) {
        const struct callgraph_arc *a = &g->arcs.at[id];
        if (a->callee == arc->callee && same_place(&a->at, &arc->at))
            return id;
    }
    return IDMAP_NONE;
}

int callgraph_add_arc(struct callgraph *g, const struct callgraph_arc *arc, const int64_t *costs,
                      struct err *err)
{
    uint32_t hash = hash_pair(hash_place(&arc->at), arc->callee), id = find_arc(g, hash, arc);
    if (id == IDMAP_NONE) {
        id = (uint32_t)g->arcs.n;
        *vec_push(&g->arcs) = *arc;
        for (size_t i = 0; i < g->n_events; i++)
            *vec_push(&g->arc_costs) = 0;
        idmap_add(&g->arc_map, hash, id);
    }
    return add_costs(callgraph_arc_costs(g, id), costs, g->n_events, err);
}
