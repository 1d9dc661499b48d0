/*
 * modules.h - which modules of a profile have names, and which have addresses only.
 *
 * A function that has a name in one profile and only a place in the other looks like one that
 * came or went. Code that compares profiles asks here first: a module that is named on one side
 * only cannot be compared by function.
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

/*
 * Whether most of a module has names. Even a stripped one has a few: those that it exports, should
 * one of them be on a stack.
 */
static inline bool module_is_named(const struct module_names *m)
{
    return 2 * m->named > m->frames;
}

/* Whether a module has frames and not one name. */
static inline bool module_is_bare(const struct module_names *m)
{
    return m->frames > 0 && m->named == 0;
}
