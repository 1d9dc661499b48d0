#include "symbol/enclosing.h"

#include "symbol/demangle.h"
#include "symbol/dies.h"

#include <dwarf.h>

enum { DEPTH_MAX = 64 }; /* of names in a name */

static bool is_scope(unsigned tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_subprogram;
}

/* Scopes that are still open while walking. */
struct open_scope {
    uint32_t scope; /* index + 1 */
    unsigned depth;
};

void enclosing_build(struct enclosing *s, Dwarf_CU *cu)
{
    Dwarf_Die unit;
    struct dies d = {0};
    struct die_at at;
    VEC(struct open_scope) open = {0};
    *s = (struct enclosing){.cu = cu};
    bool ready =
        dwarf_cu_die(cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) && dies_init(&d, &unit) == 0;
    while (ready && dies_next(&d, &at)) {
        while (open.n && open.at[open.n - 1].depth >= at.depth)
            s->at.at[open.at[--open.n].scope - 1].end = at.offset;
        if (!at.children || !is_scope(at.tag))
            continue;
        uint32_t outer = open.n ? open.at[open.n - 1].scope : 0;
        *vec_push(&s->at) = (struct enclosing_entry){at.offset, UINT64_MAX, outer};
        *vec_push(&open) = (struct open_scope){(uint32_t)s->at.n, at.depth};
    }
    vec_done(&open);
    dies_done(&d);
}

void enclosing_done(struct enclosing *s)
{
    vec_done(&s->at);
}

/* The innermost scope around OFFSET, index + 1; the entry at OFFSET is not around itself. */
static uint32_t enclosing_find(const struct enclosing *s, Dwarf_Off offset)
{
    size_t low = 0, high = s->at.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at.at[mid].start < offset)
            low = mid + 1;
        else
            high = mid;
    }
    uint32_t i = (uint32_t)low;
    while (i && s->at.at[i - 1].end <= offset)
        i = s->at.at[i - 1].outer;
    return i;
}

/* Append a scope's name. True if it is the whole name, with all that is around it. */
static bool enclosing_add_name(struct buf *ret, Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    const char *symbol = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
    if (dwarf_tag(die) == DW_TAG_subprogram && symbol && demangle(symbol, ret))
        return true;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
    if (name)
        buf_add(ret, name, strnlen(name, ENCLOSING_NAME_MAX));
    else
        buf_str(ret, dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}");
    return false;
}

void enclosing_prefix(const struct enclosing *s, Dwarf_Die *die, struct buf *ret)
{
    Dwarf_Die around[DEPTH_MAX];
    size_t n = 0;
    Dwarf *dw = dwarf_cu_getdwarf(s->cu);
    autobuf struct buf names = {0};
    for (uint32_t i = enclosing_find(s, dwarf_dieoffset(die)); i && n < DEPTH_MAX;
         i = s->at.at[i - 1].outer)
        if (dwarf_offdie(dw, s->at.at[i - 1].start, &around[n]))
            n++;
    for (size_t i = n; i-- > 0 && names.n < ENCLOSING_NAME_MAX;) {
        size_t before = names.n;
        bool whole = enclosing_add_name(&names, &around[i]);
        if (whole) { /* what came before is part of it */
            memmove(names.at, names.at + before, names.n - before);
            names.n -= before;
        }
        buf_str(&names, "::");
    }
    buf_add(ret, names.at, names.n);
}
