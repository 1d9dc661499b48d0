#include "symbol/dwarf.h"

#include "base/buf.h"
#include "symbol/chains.h"
#include "symbol/enclosing.h"
#include "symbol/linetable.h"

#include <dwarf.h>

/* Steps over ranges in one file; honest ones of a gigabyte need a few million. */
enum { BUDGET = 100 * 1000 * 1000 };

/* What a function's entry says of it. */
struct known_function {
    const void *entry; /* address of the entry's bytes, which is the same for every inlined copy */
    struct str_id name, system_name, file;
    uint32_t line;
};

struct asked {
    uint32_t unit; /* index + 1 of the unit that holds it; 0 = none */
    uint32_t i;    /* in the lookup */
};

/* A unit that holds an address. */
struct holder {
    Dwarf_CU *cu;
};

struct dwarf {
    struct lookup *l;
    Dwarf *dw;
    bool no_inlines;
    uint64_t budget;
    VEC(struct holder) units;
    struct asked *asked; /* one for each address */
    VEC(struct known_function) functions;
    struct idmap function_map;
    VEC(struct enclosing) enclosing; /* of the units that needed them */
    VEC(struct linetable) tables;    /* of the units met */
    Dwarf_CU *split_cu, *skeleton_cu;
    struct buf path; /* scratch */
};

/* --- which unit holds which address --- */

/* Give the addresses in the ranges of UNIT to it. */
static void claim_unit(struct dwarf *d, struct cover *c, Dwarf_CU *unit, Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;
    bool any = false;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && d->budget && d->budget--) {
        for (size_t i = cover_first(c, start, end); i < c->n; i = cover_take(c, i, end)) {
            d->asked[i].unit = (uint32_t)d->units.n + 1;
            any = true;
        }
    }
    if (any)
        *vec_push(&d->units) = (struct holder){unit};
}

/*
 * From the units themselves, not from .debug_aranges: clang and rustc write none, and libdw
 * has to look at every unit's entry to use them.
 */
static void find_units(struct dwarf *d)
{
    struct cover c;
    cover_init(&c, d->l->pcs, d->l->n);
    Dwarf_CU *unit = NULL;
    uint8_t type = 0;
    Dwarf_Die die;
    while (dwarf_get_units(d->dw, unit, &unit, NULL, &type, &die, NULL) == 0)
        if (type == DW_UT_compile || type == DW_UT_skeleton)
            claim_unit(d, &c, unit, &die);
    cover_done(&c);
}

static int by_unit(const void *a, const void *b)
{
    const struct asked *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* --- what a function is called --- */

static uint32_t dwarf_number_of(Dwarf_Attribute *attr)
{
    Dwarf_Word value = 0;
    return dwarf_formudata(attr, &value) == 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

static const char *text_attribute(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static struct linetable *table_of(struct dwarf *d, Dwarf_CU *cu)
{
    Dwarf_Die unit;
    for (size_t i = d->tables.n; i-- > 0;)
        if (d->tables.at[i].cu == cu)
            return &d->tables.at[i];
    struct linetable *t = vec_push(&d->tables);
    if (dwarf_cu_die(cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
        linetable_init(t, &unit);
    else
        *t = (struct linetable){.cu = cu};
    return t;
}

/* File number NUMBER of the unit CU, as a whole path; 0 where not known. */
static struct str_id dwarf_file_of(struct dwarf *d, Dwarf_CU *cu, uint32_t number)
{
    struct linetable *t = table_of(d, cu);
    /* A split unit without a table of its own uses that of the file it was split from. */
    if (!t->files.n && cu == d->split_cu)
        t = table_of(d, d->skeleton_cu);
    d->path.n = 0;
    if (!linetable_path(t, number, &d->path))
        return (struct str_id){0};
    uint32_t known = intern_find(&d->l->p->strings, buf_text(&d->path));
    if (known != IDMAP_NONE)
        return (struct str_id){known};
    struct text fits = longnames_fit(&d->l->long_names, buf_text(&d->path));
    return fits.n < d->path.n ? (struct str_id){0} : profile_add_str(d->l->p, fits);
}

/* The entry that has the name: what is inlined or defined apart refers to its declaration. */
static Dwarf_Die declaration_of(const Dwarf_Die *die)
{
    static const unsigned links[] = {DW_AT_abstract_origin, DW_AT_specification};
    Dwarf_Die at = *die, next;
    for (int steps = 0; steps < 8; steps++) {
        Dwarf_Attribute attr;
        bool moved = false;
        for (size_t i = 0; i < 2 && !moved; i++)
            moved = dwarf_formref_die(dwarf_attr(&at, links[i], &attr), &next) != NULL;
        if (!moved)
            break;
        at = next;
    }
    return at;
}

static const struct enclosing *enclosing_of(struct dwarf *d, Dwarf_CU *cu)
{
    for (size_t i = 0; i < d->enclosing.n; i++)
        if (d->enclosing.at[i].cu == cu)
            return &d->enclosing.at[i];
    struct enclosing *s = vec_push(&d->enclosing);
    enclosing_build(s, cu);
    return s;
}

static bool has_scopes(Dwarf_CU *cu)
{
    Dwarf_Die unit;
    dwarf_cu_die(cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL);
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        return true;
    default:
        return false;
    }
}

/* NAME with what is around it, for functions that have no symbol. */
static struct function describe_in_scope(struct dwarf *d, Dwarf_Die *die, const char *name)
{
    Dwarf_Die declared = declaration_of(die);
    autobuf struct buf whole = {0};
    if (has_scopes(declared.cu))
        enclosing_prefix(enclosing_of(d, declared.cu), &declared, &whole);
    if (text_ends(buf_text(&whole), "{unnamed}::") && strncmp(name, "operator()", 10) == 0) {
        whole.n -= strlen("{unnamed}::");
        buf_str(&whole, "{lambda}::");
    }
    buf_add(&whole, name, strnlen(name, ENCLOSING_NAME_MAX));
    return (struct function){.name = lookup_add_name(d->l, buf_text(&whole))};
}

static struct known_function dwarf_describe(struct dwarf *d, Dwarf_Die *die, const void *entry)
{
    struct known_function f = {.entry = entry};
    struct function shown = {0};
    Dwarf_Attribute attr;
    const char *symbol = text_attribute(die, DW_AT_linkage_name);
    const char *name = text_attribute(die, DW_AT_name);
    if (!symbol)
        symbol = text_attribute(die, DW_AT_MIPS_linkage_name);
    if (symbol)
        shown = lookup_describe(d->l, symbol);
    else if (name)
        shown = describe_in_scope(d, die, name);
    f.name = shown.name;
    f.system_name = shown.system_name;
    uint32_t file = dwarf_number_of(dwarf_attr_integrate(die, DW_AT_decl_file, &attr));
    if (file)
        f.file = dwarf_file_of(d, attr.cu, file);
    f.line = dwarf_number_of(dwarf_attr_integrate(die, DW_AT_decl_line, &attr));
    return f;
}

/*
 * All inlined copies refer to one entry. So do the bodies of a constructor or destructor, but
 * those have symbols of their own.
 */
static const void *entry_of(Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    Dwarf_Die origin;
    if (dwarf_tag(die) == DW_TAG_inlined_subroutine &&
        dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attr), &origin))
        return origin.addr;
    return die->addr;
}

static struct known_function dwarf_function_of(struct dwarf *d, Dwarf_Die *die)
{
    const void *entry = entry_of(die);
    uint32_t hash = hash_pair((uint32_t)(uintptr_t)entry, (uint32_t)((uintptr_t)entry >> 32));
    for_each_match (&d->function_map, hash, i) {
        if (d->functions.at[i].entry == entry)
            return d->functions.at[i];
    }
    idmap_add(&d->function_map, hash, (uint32_t)d->functions.n);
    struct known_function f = dwarf_describe(d, die, entry);
    *vec_push(&d->functions) = f;
    return f;
}

/* --- lines --- */

/* A place in the source. */
struct place {
    struct str_id file; /* 0 = not known */
    uint32_t line, column;
};

/* Where an inlined function was called. */
static struct place place_of_call(struct dwarf *d, Dwarf_Die *inlined)
{
    Dwarf_Attribute attr;
    struct place place = {0};
    if (dwarf_attr(inlined, DW_AT_call_file, &attr))
        place.file = dwarf_file_of(d, attr.cu, dwarf_number_of(&attr));
    place.line = dwarf_number_of(dwarf_attr(inlined, DW_AT_call_line, &attr));
    place.column = dwarf_number_of(dwarf_attr(inlined, DW_AT_call_column, &attr));
    return place;
}

/*
 * A function's file in the model is that of its lines. It is the one it was declared in except
 * where code is included or generated; then the line it starts at is in another file.
 */
static struct line make_line(struct dwarf *d, const struct known_function *known,
                             const struct place *place)
{
    struct function f = {known->name, known->system_name, known->file, known->line};
    if (place->file.i && place->file.i != known->file.i) {
        f.file = place->file;
        f.line = 0;
    }
    return (struct line){profile_add_function(d->l->p, &f), place->line, place->column};
}

/* --- one unit --- */

struct unit {
    Dwarf_CU *cu; /* the one that has the line table; functions may be in a split file */
    struct chains chains;
    struct linetable_line *lines; /* one for each address */
};

/* Fill the chain of address I of the unit, innermost function first, turn it round, keep it. */
static void name_pc(struct dwarf *d, struct unit *u, size_t i, size_t to)
{
    struct place place = {.line = u->lines[i].line, .column = u->lines[i].column};
    if (u->lines[i].known)
        place.file = dwarf_file_of(d, u->cu, u->lines[i].file);
    VEC(struct line) chain = {0};
    for (uint32_t link = u->chains.innermost[i]; link;) {
        struct chain_link *at = &u->chains.links.at[link];
        struct known_function known = dwarf_function_of(d, &at->die);
        *vec_push(&chain) = make_line(d, &known, &place);
        link = at->outer;
        if (link)
            place = place_of_call(d, &at->die);
    }
    if (!chain.n && place.file.i)
        *vec_push(&chain) = make_line(d, &(struct known_function){0}, &place);
    for (size_t a = 0, b = chain.n; a + 1 < b; a++) {
        struct line t = chain.at[a];
        chain.at[a] = chain.at[--b];
        chain.at[b] = t;
    }
    if (chain.n)
        lookup_set(d->l, to, chain.at, d->no_inlines ? 1 : chain.n);
    vec_done(&chain);
}

static void name_unit(struct dwarf *d, Dwarf_CU *cu, const struct asked *asked, size_t n)
{
    struct unit u = {.cu = cu};
    Dwarf_Die entries, split = {0};
    uint8_t type = 0;
    if (dwarf_cu_info(cu, NULL, &type, &entries, NULL, NULL, NULL, NULL) != 0)
        return;
    if (type == DW_UT_skeleton &&
        dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 && split.addr)
        entries = split;
    d->split_cu = entries.cu;
    d->skeleton_cu = cu;
    autofree uint64_t *pcs = mem_calloc(n, sizeof *pcs);
    for (size_t i = 0; i < n; i++)
        pcs[i] = d->l->pcs[asked[i].i];
    chains_build(&u.chains, &entries, pcs, n, &d->budget);
    u.lines = mem_calloc(n, sizeof *u.lines);
    linetable_find(table_of(d, cu), pcs, n, u.lines);
    for (size_t i = 0; i < n; i++)
        name_pc(d, &u, i, asked[i].i);
    free(u.lines);
    chains_done(&u.chains);
}

void dwarf_name(struct lookup *l, Dwarf *dw, bool no_inlines)
{
    struct dwarf d = {.l = l, .dw = dw, .no_inlines = no_inlines, .budget = BUDGET};
    d.asked = mem_calloc(l->n, sizeof *d.asked);
    for (size_t i = 0; i < l->n; i++)
        d.asked[i].i = (uint32_t)i;
    find_units(&d);
    qsort(d.asked, l->n, sizeof *d.asked, by_unit);
    for (size_t i = 0, next; i < l->n; i = next) {
        uint32_t unit = d.asked[i].unit;
        for (next = i + 1; next < l->n && d.asked[next].unit == unit;)
            next++;
        if (unit)
            name_unit(&d, d.units.at[unit - 1].cu, d.asked + i, next - i);
    }
    free(d.asked);
    vec_done(&d.units);
    vec_done(&d.functions);
    idmap_done(&d.function_map);
    for (size_t i = 0; i < d.enclosing.n; i++)
        enclosing_done(&d.enclosing.at[i]);
    vec_done(&d.enclosing);
    for (size_t i = 0; i < d.tables.n; i++)
        linetable_done(&d.tables.at[i]);
    vec_done(&d.tables);
    buf_done(&d.path);
}
