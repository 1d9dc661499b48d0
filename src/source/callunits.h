/*
 * callunits.h - the circles of a call graph.
 *
 * A unit is a function, or all functions that can call each other in a circle. Units call each
 * other without circles, and a callee's number is always smaller than its callers'.
 */
#pragma once
#include "source/callgraph.h"

struct callunits {
    size_t n;
    uint32_t *of_function;
    uint32_t *members,
        *member_at;             /* functions of unit u: members[member_at[u] .. member_at[u+1]) */
    uint32_t *arcs, *arc_at;    /* arcs that leave unit u, the same way */
    uint32_t *cells, *cell_at;  /* lines of unit u */
    uint32_t *inner, *inner_at; /* arcs that stay within unit u, by caller: function f */
};

#define CALLUNITS_NONE UINT32_MAX

/* Free with callunits_done(). */
void callunits_build(struct callunits *u, const struct callgraph *g);
void callunits_done(struct callunits *u);
