/*
 * hotcode.h - the functions of a binary, or those that ran in a profile, with their vector
 * instructions counted.
 */
#pragma once
#include "analysis/selection.h"
#include "base/err.h"
#include "base/vec.h"
#include "code/simd.h"

struct code;

struct hotcode_opts {
    bool force;   /* read files that have changed since the profile */
    double least; /* leave out functions below this share of the profile */
    /* Where the file PATH with BUILD_ID is now, to be freed; NULL = where it was. */
    char *(*find)(const void *where, const char *path, struct text build_id);
    const void *where;
};

struct hotcode {
    VEC(struct simd_row) rows; /* most vector instructions first; of a profile hottest first */
    struct simd_mix all;
    int64_t total;            /* of the profile's values */
    int64_t elsewhere;        /* of that, in code that could not be read */
    bool has_addresses;       /* the profile has any */
    VEC(char *) notes;        /* files that could not be read, a sentence each */
    VEC(struct code *) codes; /* open files, which the rows point into */
};

/* All functions of the ELF file at PATH. Call hotcode_done() in any case. */
int hotcode_read_binary(struct hotcode *h, const char *path, struct err *err);

/* The functions that ran. Code that cannot be read is in `elsewhere` and `notes`. */
void hotcode_read_profile(struct hotcode *h, const struct selection *s,
                          const struct hotcode_opts *opts);

void hotcode_done(struct hotcode *h);
