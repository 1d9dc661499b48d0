/*
 * lookup.h - the addresses asked for of one module, and the names found for them.
 *
 * Addresses are sorted and each is there once, so that whoever knows a range of code (a unit, a
 * function, a symbol) finds the addresses in it by binary search and never looks at the others.
 *
 * Where ranges overlap by the million, each address is given away once (`struct cover`), or steps
 * are counted against a budget.
 */
#pragma once
#include "model/profile.h"
#include "symbol/longnames.h"

struct found {
    uint32_t first_line; /* in lookup.lines, outermost function first */
    uint16_t n_lines;    /* 0 = nothing found yet */
};

struct lookup {
    struct profile *p; /* strings and functions go here */
    const uint64_t *pcs;
    size_t n;
    struct found *found; /* one for each address */
    VEC(struct line) lines;
    struct longnames long_names;
};

/* The addresses are the caller's and must stay. */
void lookup_init(struct lookup *l, struct profile *p, const uint64_t *pcs, size_t n);
void lookup_done(struct lookup *l);

/* What stands at address I: N lines, at least one. Replaces what was found before. */
void lookup_set(struct lookup *l, size_t i, const struct line *lines, size_t n);

/*
 * A function by the name that a symbol table or compiler gives it, demangled, without what is
 * appended to copies and parts of functions ("parse.part.0" is "parse"); not added yet.
 */
struct function lookup_describe(struct lookup *l, const char *symbol);

/*
 * A name from a file as it is, but for what would act on a terminal instead of being shown:
 * control characters and marks that change the direction of writing become '?'. Of very long names
 * the front (longnames.h).
 */
struct str_id lookup_add_name(struct lookup *l, struct text name);

/* Whether address I has no name yet, though perhaps a line. */
bool lookup_wants_name(const struct lookup *l, size_t i);
size_t lookup_count_unnamed(const struct lookup *l);

/* Give address I a name from a symbol table; a line that is there already keeps its place. */
void lookup_set_name(struct lookup *l, size_t i, struct function_id function);

/* Call the function that holds address I like FUNCTION; what is inlined there stays, and lines. */
void lookup_rename(struct lookup *l, size_t i, const struct function *function);

/* Index of the first of N sorted PCS at or past PC; N where there is none. */
size_t lookup_lower_bound(const uint64_t *pcs, size_t n, uint64_t pc);

/*
 * Addresses given away range by range, each to the first range that asks: ranges that overlap, as
 * hostile files have them by the million, cost no more than those that do not.
 *
 *     for (size_t i = cover_first(&c, start, end); i < c.n; i = cover_take(&c, i, end))
 *         ... address I is ours
 */
struct cover {
    const uint64_t *pcs;
    size_t n;
    uint32_t *next; /* i where I is free, else an index nearer to the next free one */
};

void cover_init(struct cover *c, const uint64_t *pcs, size_t n);
void cover_done(struct cover *c);
size_t cover_first(struct cover *c, uint64_t start, uint64_t end); /* c->n: none */
size_t cover_take(struct cover *c, size_t i, uint64_t end);        /* the one after I */
