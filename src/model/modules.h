/*
 * modules.h - which modules of a profile have names, and which have addresses only.
 *
 * A function that has a name in one profile and only a place in the other looks like one that
 * came or went. Whoever compares profiles asks here first: a module that is named on one side only
 * cannot be compared by function.
 */
#pragma once
#include "model/profile.h"

struct module_names {
    struct str_id path;
    size_t frames; /* of this module, with an address or a name */
    size_t named;  /* of those; a place such as "[libx.so+0x5e30]" is no name */
};

struct modules {
    VEC(struct module_names) list; /* by path, in the order of the profile's strings */
};

void modules_build(struct modules *m, const struct profile *p);
void modules_done(struct modules *m);

/* The module of that path, or NULL. P is the profile that M was built from. */
const struct module_names *modules_find(const struct modules *m, const struct profile *p,
                                        struct text path);

/* Whether a module has frames and not one name. */
static inline bool module_is_bare(const struct module_names *m)
{
    return m->frames > 0 && m->named == 0;
}
