/*
 * attrs.h - sets of (key, value) as one trie, like stacks: labels of rows and of processes.
 *
 * A set is its parent set plus one more pair, so sets that begin alike share their beginning, and
 * equal sets that were put together in the same order have the same id. A value is text, or a
 * number with a unit.
 */
#pragma once
#include "base/idmap.h"
#include "base/vec.h"
#include "model/value.h"

struct attrs_id {
    uint32_t i; /* 0 = the empty set */
};

/* Of rows that are sums and so have no moment of their own: the scopes of the program that they
 * were in, a pair for each, the innermost last. */
#define SCOPE_KEY "scope"

/* Of rows that a hybrid CPU counted: the kind of core, as the kernel calls its unit (cpu_atom). */
#define CORE_KEY "core"

struct attr {
    struct str_id key;
    struct str_id text; /* not meaningful for a number */
    bool is_number;
    int64_t number;
    struct str_id unit; /* of a number; "" = none */
};

struct attr_node {
    struct attrs_id parent; /* always smaller than the node's own id */
    struct attr attr;       /* not meaningful in node 0 */
};

struct attrs {
    VEC(struct attr_node) nodes; /* [0] = the empty set */
    struct idmap map;
};

void attrs_init(struct attrs *a);
void attrs_done(struct attrs *a);

/* The set of PARENT and one pair more. */
struct attrs_id attrs_add(struct attrs *a, struct attrs_id parent, const struct attr *attr);

/* The pair of the set whose key is KEY, the last added first; NULL where there is none. */
const struct attr *attrs_find(const struct attrs *a, struct attrs_id id, struct str_id key);
