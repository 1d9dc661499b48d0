/*
 * callpaths.h - from a call graph to stacks.
 *
 * A graph knows what h() cost when g() called it, and what g() cost when f() called it, but not
 * what h() cost under g() under f(). As everybody who draws such graphs does, we take it that a
 * callee does not care who called its caller: what flows into a function is dealt out to its
 * lines and calls in proportion. All dealing is in whole numbers, and rows and columns add up:
 *
 *     - the cost of every line is exactly the graph's,
 *     - so is the cost of every call, and the total of every function, where nothing is recursive
 *       and all paths fit the limits,
 *     - only whole paths are estimates.
 *
 * Functions that call each other in a circle are entered once: the rest of the circle hangs below
 * the function through which it was entered, by the shortest way.
 *
 * The largest flows are followed first, until CALLPATHS_STEPS are used up. The rest is followed
 * with few paths for each function. If there are too many small flows, their innermost callers
 * are dropped, so that some become one. Costs of lines stay exact, and totals of functions near
 * the root; others lose a little.
 */
#pragma once
#include "source/callgraph.h"

struct callpaths_opts {
    int stream;              /* of the profile; it has a column for each event of the graph */
    struct thread_id thread; /* of all rows */
    bool addresses;          /* keep the addresses of functions without a name */
};

/* Lines and calls that are dealt to, once for every path to them. */
enum { CALLPATHS_STEPS = 1 << 18 };

/*
 * Rows for all that G cost, whose costs are used up.
 * RET_CUT is the largest share of any event in flows whose callers were forgotten in part.
 */
int callpaths_emit(struct callgraph *g, struct profile *p, const struct callpaths_opts *opts,
                   bool *ret_cut, struct err *err);
