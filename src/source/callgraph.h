/*
 * callgraph.h - what a counting tool knows: what each source line cost, and what each call cost
 * together with all that it led to. No whole stacks.
 *
 * Equal rows are added up while reading. callpaths_emit() then turns the graph into stacks, and
 * uses up the graph's costs in doing so.
 */
#pragma once
#include "base/idmap.h"
#include "base/vec.h"
#include "model/profile.h"

/* Told apart by module, file and name; all are strings of the profile. */
struct callgraph_function {
    struct str_id module, file, name;
};

/* A line of a function; its file is another one where code was inlined from there. */
struct callgraph_place {
    uint32_t function;
    struct str_id file;
    uint32_t line; /* 0 = not known */
};

/* The cost of calls of a function from a place, callees included. */
struct callgraph_arc {
    struct callgraph_place at;
    uint32_t callee;
};

struct callgraph {
    size_t n_events; /* costs of a cell or arc; set before anything is added */
    VEC(struct callgraph_function) functions;
    VEC(struct callgraph_place) cells; /* what a place itself cost */
    VEC(struct callgraph_arc) arcs;
    VEC(int64_t) cell_costs, arc_costs; /* n_events for each, none negative */
    struct idmap function_map, cell_map, arc_map;
};

void callgraph_done(struct callgraph *g);

uint32_t callgraph_function(struct callgraph *g, const struct callgraph_function *key);

/* Add n_events costs. Fail when a sum does not fit 64 bits. */
int callgraph_add_cell(struct callgraph *g, const struct callgraph_place *at, const int64_t *costs,
                       struct err *err);
int callgraph_add_arc(struct callgraph *g, const struct callgraph_arc *arc, const int64_t *costs,
                      struct err *err);

static inline int64_t *callgraph_cell_costs(const struct callgraph *g, size_t cell)
{
    return g->cell_costs.at + cell * g->n_events;
}

static inline int64_t *callgraph_arc_costs(const struct callgraph *g, size_t arc)
{
    return g->arc_costs.at + arc * g->n_events;
}
