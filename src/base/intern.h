/*
 * intern.h - every distinct string once, known by a small number.
 *
 * Number 0 is always the empty string. Strings may hold any bytes and are NUL-terminated for
 * convenience. Pointers stay good until intern_done().
 */
#pragma once
#include "base/arena.h"
#include "base/idmap.h"
#include "base/text.h"
#include "base/vec.h"

struct intern {
    VEC(struct text) strings;
    struct idmap map;
    struct arena arena;
};

void intern_init(struct intern *in);
void intern_done(struct intern *in);

/* The number of T, added if new. */
uint32_t intern_add(struct intern *in, struct text t);

/* The number of T, or IDMAP_NONE. */
uint32_t intern_find(const struct intern *in, struct text t);

static inline struct text intern_get(const struct intern *in, uint32_t id)
{
    return in->strings.at[id];
}
