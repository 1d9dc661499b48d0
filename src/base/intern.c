#include "base/intern.h"

#include <xxhash.h>

static uint32_t intern_hash_text(struct text t)
{
    return (uint32_t)XXH3_64bits_withSeed(t.at, t.n, hash_seeds[0]);
}

void intern_init(struct intern *in)
{
    *in = (struct intern){0};
    intern_add(in, text_of(""));
}

void intern_done(struct intern *in)
{
    vec_done(&in->strings);
    idmap_done(&in->map);
    arena_done(&in->arena);
}

static uint32_t intern_find_hashed(const struct intern *in, struct text t, uint32_t hash)
{
    for_each_match (&in->map, hash, id) {
        struct text s = in->strings.at[id];
        if (s.n == t.n && (!t.n || memcmp(s.at, t.at, t.n) == 0))
            return id;
    }
    return IDMAP_NONE;
}

uint32_t intern_find(const struct intern *in, struct text t)
{
    return intern_find_hashed(in, t, intern_hash_text(t));
}

uint32_t intern_add(struct intern *in, struct text t)
{
    uint32_t hash = intern_hash_text(t);
    uint32_t id = intern_find_hashed(in, t, hash);
    if (id != IDMAP_NONE)
        return id;
    id = (uint32_t)in->strings.n;
    *vec_push(&in->strings) = arena_text(&in->arena, t);
    idmap_add(&in->map, hash, id);
    return id;
}
