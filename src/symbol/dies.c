#include "symbol/dies.h"

#include "symbol/elffile.h"

#include <dwarf.h>
#include <libelf.h>

enum {
    CODE_MAX = 1 << 16, /* compilers number abbreviations from 1 */
    DEPTH_MAX = 1 << 20,
};

/* --- numbers in the data; at the end they read as 0 and stop the walk --- */

static uint64_t take_uint(struct dies *d, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(d->end - d->at) < bytes) {
        d->over = true;
        return 0;
    }
    memcpy(&v, d->at, bytes); /* little-endian, as are the machines we read files of */
    d->at += bytes;
    return v;
}

static uint64_t take_leb(struct dies *d)
{
    uint64_t v = 0;
    for (unsigned shift = 0; d->at < d->end; shift += 7) {
        uint8_t byte = *d->at++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    d->over = true;
    return 0;
}

static void dies_skip(struct dies *d, uint64_t bytes)
{
    if ((uint64_t)(d->end - d->at) < bytes)
        d->over = true;
    else
        d->at += bytes;
}

static void step_string(struct dies *d)
{
    const uint8_t *nul = memchr(d->at, 0, (size_t)(d->end - d->at));
    if (nul)
        d->at = nul + 1;
    else
        d->over = true;
}

/* --- forms --- */

/* Bytes of a form, or -1 where that is for the data to say. */
static int fixed_bytes(const struct dies *d, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return (int)d->address_bytes;
    case DW_FORM_ref_addr:
        return (int)(d->version <= 2 ? d->address_bytes : d->offset_bytes);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return (int)d->offset_bytes;
    default:
        return -1;
    }
}

static void step_form(struct dies *d, unsigned form)
{
    switch (form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        take_leb(d);
        return;
    case DW_FORM_string:
        step_string(d);
        return;
    case DW_FORM_block1:
        dies_skip(d, take_uint(d, 1));
        return;
    case DW_FORM_block2:
        dies_skip(d, take_uint(d, 2));
        return;
    case DW_FORM_block4:
        dies_skip(d, take_uint(d, 4));
        return;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        dies_skip(d, take_leb(d));
        return;
    default:
        d->over = true; /* a form we do not know: no way to know where the next one starts */
    }
}

/* The form itself is in the data. */
static void step_indirect(struct dies *d)
{
    unsigned form = (unsigned)take_leb(d);
    int bytes = fixed_bytes(d, form);
    if (bytes >= 0)
        dies_skip(d, (uint64_t)bytes);
    else
        step_form(d, form);
}

/* --- abbreviations --- */

struct shape_builder {
    struct dies_shape shape;
    uint32_t fixed_bytes; /* since the last step */
};

static void add_step(struct dies *d, struct shape_builder *b, uint32_t form)
{
    *vec_push(&d->steps) = (struct dies_step){b->fixed_bytes, form};
    b->shape.n_steps++;
    b->fixed_bytes = 0;
}

static void add_attribute(struct dies *d, struct shape_builder *b, unsigned name, unsigned form)
{
    if (name == DW_AT_low_pc || name == DW_AT_ranges)
        b->shape.has_pc = true;
    if (name == DW_AT_sibling && form == DW_FORM_ref4 && !b->shape.n_steps)
        b->shape.sibling_at = b->fixed_bytes;
    int bytes = fixed_bytes(d, form);
    if (bytes >= 0)
        b->fixed_bytes += (uint32_t)bytes;
    else
        add_step(d, b, form);
}

/*
 * One abbreviation: code, tag, children u8, then pairs of attribute and form up to a pair of
 * zeros; the form for constants has its value behind it. Returns false at the end of the table.
 * Read here because libdw 0.188 miscounts attributes and searches them from the start each time.
 */
static bool take_shape(struct dies *d, struct dies *table)
{
    uint64_t code = take_leb(table);
    if (!code || code >= CODE_MAX)
        return false;
    struct shape_builder b = {.shape = {.first_step = (uint32_t)d->steps.n, .known = true}};
    b.shape.sibling_at = UINT32_MAX;
    b.shape.tag = (uint16_t)take_leb(table);
    b.shape.children = take_uint(table, 1) != 0;
    while (!table->over) {
        unsigned name = (unsigned)take_leb(table), form = (unsigned)take_leb(table);
        if (!name && !form)
            break;
        if (form == DW_FORM_implicit_const)
            take_leb(table);
        add_attribute(d, &b, name, form);
    }
    if (b.fixed_bytes)
        add_step(d, &b, 0);
    while (d->shapes.n <= code)
        *vec_push(&d->shapes) = (struct dies_shape){0};
    if (!d->shapes.at[code].known)
        d->shapes.at[code] = b.shape;
    return !table->over;
}

/* --- the unit's bytes --- */

struct section_names {
    const char *entries, *abbreviations;
};

static Elf_Data *data_of(Elf *elf, const char *name)
{
    Elf_Scn *scn = elffile_named_section(elf, name);
    return scn ? elf_getdata(scn, NULL) : NULL;
}

/* The sections that hold the unit and its abbreviations; libdw has unpacked them if need be. */
static int find_sections(Dwarf_Die *unit, Elf_Data **ret_entries, Elf_Data **ret_abbreviations)
{
    static const struct section_names names[] = {
        {".debug_info", ".debug_abbrev"},
        {".debug_info.dwo", ".debug_abbrev.dwo"},
        {".zdebug_info", ".zdebug_abbrev"},
    };
    Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Elf_Data *data = data_of(elf, names[i].entries);
        if (!data || !data->d_buf || (uintptr_t)unit->addr < (uintptr_t)data->d_buf ||
            (uintptr_t)unit->addr - (uintptr_t)data->d_buf >= data->d_size)
            continue;
        *ret_entries = data;
        *ret_abbreviations = data_of(elf, names[i].abbreviations);
        return *ret_abbreviations && (*ret_abbreviations)->d_buf ? 0 : -1;
    }
    return -1;
}

static void read_shapes(struct dies *d, const Elf_Data *data, Dwarf_Off offset)
{
    if (offset >= data->d_size)
        return;
    const uint8_t *bytes = data->d_buf;
    struct dies table = {.at = bytes + offset, .end = bytes + data->d_size};
    while (take_shape(d, &table))
        ;
}

int dies_init(struct dies *d, Dwarf_Die *unit)
{
    Elf_Data *data, *abbreviations;
    Dwarf_Off offset = dwarf_dieoffset(unit), start = offset - dwarf_cuoffset(unit);
    Dwarf_Off next = 0, abbreviations_at = 0;
    uint8_t address_bytes = 0, offset_bytes = 0;
    Dwarf_Half version = 0;
    *d = (struct dies){0};
    if (find_sections(unit, &data, &abbreviations) != 0 || start > offset ||
        dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), start, &next, NULL, &version,
                        &abbreviations_at, &address_bytes, &offset_bytes, NULL, NULL) != 0)
        return -1;
    d->section = data->d_buf;
    d->unit = d->section + start;
    d->at = unit->addr;
    d->end = d->section + (next > offset && next < data->d_size ? next : data->d_size);
    d->version = version;
    d->address_bytes = address_bytes;
    d->offset_bytes = offset_bytes;
    read_shapes(d, abbreviations, abbreviations_at);
    return d->at == d->section + offset ? 0 : -1;
}

void dies_done(struct dies *d)
{
    vec_done(&d->shapes);
    vec_done(&d->steps);
}

/* --- the walk --- */

static void step_attributes(struct dies *d, const struct dies_shape *shape)
{
    const struct dies_step *s = d->steps.at + shape->first_step;
    for (uint32_t i = 0; i < shape->n_steps && !d->over; i++) {
        dies_skip(d, s[i].fixed_bytes);
        if (s[i].form == DW_FORM_indirect)
            step_indirect(d);
        else if (s[i].form)
            step_form(d, s[i].form);
    }
}

static const uint8_t *sibling_of(const struct dies *d, const struct dies_shape *shape)
{
    uint32_t from_unit;
    if (shape->sibling_at == UINT32_MAX || (size_t)(d->end - d->at) < shape->sibling_at + 4ul)
        return NULL;
    memcpy(&from_unit, d->at + shape->sibling_at, sizeof from_unit);
    return from_unit < (size_t)(d->end - d->unit) ? d->unit + from_unit : NULL;
}

/* Step over ends of lists. The shape of the next entry, or NULL when the unit is over. */
static const struct dies_shape *next_shape(struct dies *d, const uint8_t **ret_start)
{
    while (d->at < d->end && !d->over) {
        *ret_start = d->at;
        uint64_t code = take_leb(d);
        if (code)
            return code < d->shapes.n && d->shapes.at[code].known ? &d->shapes.at[code] : NULL;
        if (d->depth <= 1)
            return NULL;
        d->depth--;
    }
    return NULL;
}

bool dies_next(struct dies *d, struct die_at *ret)
{
    const uint8_t *start = NULL;
    const struct dies_shape *shape = next_shape(d, &start);
    if (!shape || d->depth >= DEPTH_MAX)
        return false;
    d->sibling = sibling_of(d, shape);
    step_attributes(d, shape);
    *ret = (struct die_at){(Dwarf_Off)(start - d->section), shape->tag, d->depth, shape->children,
                           shape->has_pc};
    d->last_has_children = shape->children;
    d->depth += shape->children;
    return !d->over;
}

void dies_skip_children(struct dies *d)
{
    const uint8_t *start;
    if (!d->last_has_children)
        return;
    unsigned depth = d->depth - 1;
    d->last_has_children = false;
    if (d->sibling && d->sibling > d->at) {
        d->at = d->sibling;
        d->depth = depth;
        return;
    }
    while (d->depth > depth && d->at < d->end && !d->over) {
        const struct dies_shape *shape = NULL;
        start = d->at;
        if (*start == 0) { /* the end of a list of children */
            d->at++;
            d->depth--;
            continue;
        }
        shape = next_shape(d, &start);
        if (!shape) {
            d->over = true;
            return;
        }
        step_attributes(d, shape);
        d->depth += shape->children;
    }
}
