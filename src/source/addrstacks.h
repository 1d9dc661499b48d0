/*
 * addrstacks.h - stacks of bare addresses, followed by the list of mappings.
 *
 * gperftools, tcmalloc and jemalloc write stacks as run-time addresses and end with the lines of
 * /proc/self/maps. So stacks are kept as they come and become frames at the end.
 */
#pragma once
#include "source/import.h"

enum { ADDRSTACKS_VALUES = 4, ADDRSTACKS_DEPTH_MAX = 100000 };

struct addrstack {
    size_t first; /* in pcs, innermost first */
    uint32_t n;
    int64_t values[ADDRSTACKS_VALUES];
};

struct addrmap {
    uint64_t start, end;
    struct mapping_id mapping;
    bool jit, allocator; /* made at run time; the library whose profile it is */
};

struct addrname {
    uint64_t pc;
    struct str_id name;
};

struct addrframe {
    uint64_t pc;
    struct frame_id frame;
};

struct addrstacks {
    struct import *im;
    bool heap;              /* the allocator's own innermost frames say nothing: leave them out */
    bool names_from_caller; /* the file names frames from the one that called the allocator on */
    VEC(uint64_t) pcs;
    VEC(struct addrstack) stacks;
    VEC(struct addrmap) maps;
    VEC(struct addrname) names;
    VEC(struct addrframe) frames; /* what addresses have become */
    struct idmap by_pc;           /* pc -> frames: a name may be long, and be met a million times */
};

void addrstacks_done(struct addrstacks *a);

/* Start a stack; its addresses follow. The values are for the caller to fill. */
struct addrstack *addrstacks_add(struct addrstacks *a);

/* Add an address to the last stack. A caller's address is the one after the call: pass 1 less. */
void addrstacks_push(struct addrstacks *a, uint64_t pc);

/* The function at PC, where the file itself says so; inlined functions joined by "--". */
void addrstacks_name(struct addrstacks *a, uint64_t pc, struct text name);

/* Read lines of maps until the input ends. Other lines are passed over. */
void addrstacks_read_maps(struct addrstacks *a);

/* Make rows of STREAM, which has N columns: values[i] goes to column i. */
int addrstacks_build(struct addrstacks *a, int stream, struct err *err);
