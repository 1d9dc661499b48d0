#include "symbol/inlined.h"

#include "base/buf.h"
#include "symbol/dies.h"
#include "symbol/enclosing.h"

#include <dwarf.h>

/* Of a function of a class the name is in its declaration, to which the attribute leads. */
static const char *inlined_text(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static bool was_inlined(Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    Dwarf_Word how;
    return dwarf_attr(die, DW_AT_inline, &attr) && dwarf_formudata(&attr, &how) == 0 &&
           (how == DW_INL_inlined || how == DW_INL_declared_inlined);
}

/* A function that is local to its file has no linkage name, but may be in a namespace. */
struct inlined_unit {
    struct enclosing around;
    bool is_built;
    struct buf name;
};

static const char *name_in_scope(struct inlined_unit *u, Dwarf_Die *die)
{
    const char *symbol = inlined_text(die, DW_AT_linkage_name), *name;
    Dwarf_Die declared = *die, other;
    Dwarf_Attribute attr;
    if (symbol || !(name = inlined_text(die, DW_AT_name)))
        return symbol;
    if (dwarf_formref_die(dwarf_attr(die, DW_AT_specification, &attr), &other))
        declared = other;
    if (!u->is_built)
        enclosing_build(&u->around, die->cu);
    u->is_built = true;
    u->name.n = 0;
    enclosing_prefix(&u->around, &declared, &u->name);
    buf_add(&u->name, name, strnlen(name, ENCLOSING_NAME_MAX));
    return buf_cstr(&u->name);
}

static bool unit_any(Dwarf *dw, Dwarf_Die *unit, bool (*is)(const char *, void *), void *context)
{
    struct dies walk;
    struct die_at at;
    struct inlined_unit u = {0};
    bool found = false;
    if (dies_init(&walk, unit) != 0)
        return false;
    while (!found && dies_next(&walk, &at)) {
        Dwarf_Die die;
        if (at.tag != DW_TAG_subprogram)
            continue;
        dies_skip_children(&walk);
        if (at.has_pc || !dwarf_offdie(dw, at.offset, &die) || !was_inlined(&die))
            continue;
        const char *name = name_in_scope(&u, &die);
        found = name && is(name, context);
    }
    if (u.is_built)
        enclosing_done(&u.around);
    buf_done(&u.name);
    dies_done(&walk);
    return found;
}

bool inlined_any(Dwarf *dw, bool (*is)(const char *symbol, void *context), void *context)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (dwarf_get_units(dw, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (unit_any(dw, &die, is, context))
            return true;
    return false;
}
