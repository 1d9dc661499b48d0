/*
 * pprof_tables.h - the tables of a pprof file that samples refer to, by ids of the file's choice.
 *
 * The tables may come in any order and the strings come last as a rule, so records are kept as
 * numbers until the end of the file; pprof_frame() then makes a frame of a location when a
 * sample first asks for it. Entries without a reference never get into the profile.
 */
#pragma once
#include "source/import.h"

/* Ids as the file has them; the index of an id is that of its record in a table. */
struct pprof_ids {
    VEC(uint64_t) at;
    struct idmap map; /* used only when the ids are not 1, 2, 3... */
    bool sparse;
};

struct pprof_mapping {
    uint64_t place, start, limit, offset; /* place: byte in the file, for messages */
    uint32_t path, build_id;              /* in the string table */
    uint32_t made;                        /* mapping id + 1 */
    uint8_t kind;                         /* enum frame_kind of the code in it */
};

struct pprof_function {
    uint64_t place;
    uint32_t name, system_name, file, line;
    uint32_t made; /* function id + 1 */
};

struct pprof_line {
    uint64_t function; /* id; 0 = not known */
    uint32_t line, column;
};

struct pprof_location {
    uint64_t place, address, mapping; /* mapping id; 0 = not known */
    uint32_t first_line, n_lines;     /* innermost function first */
    uint8_t kind_plus_1;              /* as our own exporter writes it, or 0 */
};

struct pprof_tables {
    struct import *im;
    VEC(uint32_t) strings; /* ids in the profile's strings */
    struct pprof_ids mapping_ids, function_ids, location_ids;
    VEC(struct pprof_mapping) mappings;
    VEC(struct pprof_function) functions;
    VEC(struct pprof_location) locations;
    VEC(uint32_t) frames; /* of each location: frame id + 1; apart, as every sample looks here */
    VEC(struct pprof_line) lines;
    VEC(struct line) scratch;
};

/* Our own exporter's field of a Location: enum frame_kind + 1. Others leave it out. */
enum { PPROF_LOCATION_KIND = 1000 };

void pprof_tables_done(struct pprof_tables *t);

/* One record each; PLACE is where its MESSAGE starts. Flaws are counted as the import's skips. */
int pprof_add_string(struct pprof_tables *t, struct text s, uint64_t place, struct err *err);
int pprof_add_mapping(struct pprof_tables *t, struct text message, uint64_t place, struct err *err);
int pprof_add_function(struct pprof_tables *t, struct text message, uint64_t place,
                       struct err *err);
int pprof_add_location(struct pprof_tables *t, struct text message, uint64_t place,
                       struct err *err);

/* --- once all is read --- */

/* String I, "" when there is none; ret_ok (may be NULL) says. */
struct str_id pprof_string(const struct pprof_tables *t, uint64_t i, bool *ret_ok);
struct text pprof_text(const struct pprof_tables *t, uint64_t i);

/* Index of an id, or IDMAP_NONE. */
uint32_t pprof_ids_find_sparse(const struct pprof_ids *ids, uint64_t id);

static inline uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
    if (ids->sparse)
        return pprof_ids_find_sparse(ids, id);
    return id - 1 < ids->at.n ? (uint32_t)(id - 1) : IDMAP_NONE;
}

int pprof_make_frame(struct pprof_tables *t, uint32_t index, struct err *err);

/* The frame of the location at INDEX. Fails only under --strict. */
static inline int pprof_frame(struct pprof_tables *t, uint32_t index, struct frame_id *ret,
                              struct err *err)
{
    if (!t->frames.at[index] && pprof_make_frame(t, index, err) != 0)
        return -1;
    *ret = (struct frame_id){t->frames.at[index] - 1};
    return 0;
}
