/*
 * dies.h - a fast walk over the entries (DIEs) of one unit of debug information.
 *
 * Of a hundred megabytes only the entries for code matter. libdw's walk decodes every attribute
 * of every entry; this one knows from the abbreviations how many bytes to step over, and
 * leaves the entries that matter to libdw. It only moves forward, so no file can make it loop.
 */
#pragma once
#include "base/vec.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

/* How to step over the attributes of one abbreviation. */
struct dies_shape {
    uint32_t first_step, n_steps;
    uint32_t sibling_at; /* bytes to DW_AT_sibling, a 4-byte reference; UINT32_MAX = none */
    uint16_t tag;
    bool known, children, has_pc;
};

struct dies_step {
    uint32_t fixed_bytes; /* to step over first */
    uint32_t form;        /* then a form of variable size; 0 = none */
};

struct dies {
    const uint8_t *section, *unit, *at, *end; /* start of section and unit, place, end of unit */
    VEC(struct dies_shape) shapes;            /* by abbreviation code */
    VEC(struct dies_step) steps;
    unsigned version, address_bytes, offset_bytes;
    unsigned depth;
    const uint8_t *sibling; /* of the last entry, or NULL */
    bool last_has_children, over;
};

struct die_at {
    Dwarf_Off offset; /* for dwarf_offdie() */
    unsigned tag, depth;
    bool children, has_pc; /* has_pc: low_pc or ranges among the attributes */
};

/* Start before the first entry of UNIT, which is a unit's own entry. -1 if it cannot be read. */
int dies_init(struct dies *d, Dwarf_Die *unit);
void dies_done(struct dies *d);

/* The next entry: children follow their parent. False at the end, or if the data are invalid.
 */
bool dies_next(struct dies *d, struct die_at *ret);

/* Step over the children of the entry just read. */
void dies_skip_children(struct dies *d);
