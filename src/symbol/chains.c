#include "symbol/chains.h"

#include "symbol/dies.h"
#include "symbol/lookup.h"

#include <dwarf.h>

/* Functions inlined into each other, blocks among them, past this depth are not looked at. */
enum { DEPTH_LIMIT = 1000 };

/* What the walk is doing: the link that entries at each depth are inside of. */
struct walk {
    struct chains *c;
    struct dies dies;
    Dwarf *dw;
    uint64_t *budget;
    bool nested_functions; /* the language defines functions inside functions */
    VEC(uint32_t) link_at; /* by depth */
};

static bool spend(struct walk *w)
{
    return *w->budget > 0 && (*w->budget)--;
}

/*
 * Give the addresses of DIE's ranges that are inside of link OUTER to link INNER; with INNER 0
 * only check whether there are any. Where ranges of neighbours overlap the first one keeps them.
 */
static bool claim(struct walk *w, Dwarf_Die *die, uint32_t outer, uint32_t inner)
{
    struct chains *c = w->c;
    Dwarf_Addr base, start, end;
    bool any = false;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && spend(w))
        for (size_t i = lookup_lower_bound(c->pcs, c->n, start); i < c->n && c->pcs[i] < end; i++) {
            if (!spend(w))
                return any;
            if (c->innermost[i] != outer)
                continue;
            if (!inner)
                return true;
            c->innermost[i] = inner;
            any = true;
        }
    return any;
}

static bool enter_function(struct walk *w, const struct die_at *at, uint32_t outer)
{
    Dwarf_Die die;
    if (!at->has_pc || !dwarf_offdie(w->dw, at->offset, &die))
        return false;
    /* A function defined inside another is not part of it: its stack frame is its own. */
    uint32_t parent = at->tag == DW_TAG_subprogram ? 0 : outer;
    uint32_t link = (uint32_t)w->c->links.n;
    *vec_push(&w->c->links) = (struct chain_link){die, parent};
    if (claim(w, &die, parent, link))
        return true;
    w->c->links.n--;
    return false;
}

/* A block without addresses of its own may still hold inlined functions. */
static bool enter_block(struct walk *w, const struct die_at *at, uint32_t outer)
{
    Dwarf_Die die;
    if (!at->has_pc)
        return true;
    return dwarf_offdie(w->dw, at->offset, &die) && claim(w, &die, outer, 0);
}

/* Whether to go into an entry; RET_LINK is what its children are inside of. */
static bool chains_enter(struct walk *w, const struct die_at *at, uint32_t outer,
                         uint32_t *ret_link)
{
    *ret_link = outer;
    switch (at->tag) {
    case DW_TAG_compile_unit:
    case DW_TAG_partial_unit:
    case DW_TAG_skeleton_unit:
        return at->depth == 0;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type: /* in Rust these have functions too */
        return !outer;
    case DW_TAG_subprogram:
        if (!enter_function(w, at, outer))
            return w->nested_functions;
        *ret_link = (uint32_t)w->c->links.n - 1;
        return true;
    case DW_TAG_inlined_subroutine:
        if (!outer || !enter_function(w, at, outer))
            return false;
        *ret_link = (uint32_t)w->c->links.n - 1;
        return true;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return outer && enter_block(w, at, outer);
    default:
        return false;
    }
}

static void walk_unit(struct walk *w)
{
    struct die_at at;
    while (*w->budget > 0 && dies_next(&w->dies, &at)) {
        uint32_t outer = at.depth ? w->link_at.at[at.depth - 1] : 0, link = 0;
        if (!at.children && at.tag != DW_TAG_subprogram && at.tag != DW_TAG_inlined_subroutine)
            continue;
        if (at.depth >= DEPTH_LIMIT || !chains_enter(w, &at, outer, &link)) {
            dies_skip_children(&w->dies);
            continue;
        }
        if (!at.children)
            continue;
        w->link_at.n = at.depth;
        *vec_push(&w->link_at) = link;
    }
}

static bool nests_functions(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_Ada83:
    case DW_LANG_Ada95:
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
    case DW_LANG_Pascal83:
    case DW_LANG_Modula2:
    case DW_LANG_D:
        return true;
    default:
        return false;
    }
}

void chains_build(struct chains *c, Dwarf_Die *unit, const uint64_t *pcs, size_t n,
                  uint64_t *budget)
{
    *c = (struct chains){.pcs = pcs, .n = n};
    c->innermost = mem_calloc(n, sizeof *c->innermost);
    *vec_push(&c->links) = (struct chain_link){0};
    struct walk w = {.c = c, .dw = dwarf_cu_getdwarf(unit->cu), .budget = budget};
    w.nested_functions = nests_functions(unit);
    if (dies_init(&w.dies, unit) == 0)
        walk_unit(&w);
    dies_done(&w.dies);
    vec_done(&w.link_at);
}

void chains_done(struct chains *c)
{
    free(c->innermost);
    vec_done(&c->links);
}
