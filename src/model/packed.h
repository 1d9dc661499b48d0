/*
 * packed.h - source files that a profile carries along, for whoever does not have them.
 *
 * They are named as functions name their files. There are few, and each has its place once.
 */
#pragma once
#include "model/profile.h"

enum {
    PACKED_MAX_FILES = 4096,
    PACKED_MAX_BYTES = 4 << 20, /* of one */
    PACKED_MAX_ALL = 32 << 20,  /* of all together */
};

/* TEXT is copied. False, and nothing is added, past a limit and for a file that is there. */
bool packed_add(struct profile *p, struct text path, struct text text, bool newer);

/* The file of that path, or NULL. */
const struct packed_file *packed_find(const struct profile *p, struct text path);

/* All of FROM that TO does not have. */
void packed_append(struct profile *to, const struct profile *from);

void packed_forget(struct profile *p);
