/* hashtable.h - numbers to numbers: open addressing, a power of two of places, never full. */
#pragma once
#include <stdint.h>
#include <stdlib.h>

struct hashtable {
    uint64_t *keys, *values; /* key 0 = free */
    size_t places, n;
};

static inline size_t hashtable_place(const struct hashtable *t, uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(h >> 32) & (t->places - 1);
    while (t->keys[at] && t->keys[at] != key)
        at = (at + 1) & (t->places - 1);
    return at;
}

static inline void hashtable_init(struct hashtable *t, size_t places)
{
    *t = (struct hashtable){calloc(places, sizeof(uint64_t)), calloc(places, sizeof(uint64_t)),
                            places, 0};
}

static inline void hashtable_done(struct hashtable *t)
{
    free(t->keys);
    free(t->values);
}

__attribute__((noinline)) static uint64_t hashtable_find(const struct hashtable *t, uint64_t key)
{
    return t->values[hashtable_place(t, key)];
}

static void hashtable_put(struct hashtable *t, uint64_t key, uint64_t value);

static void hashtable_grow(struct hashtable *t)
{
    struct hashtable larger;
    hashtable_init(&larger, 2 * t->places);
    for (size_t i = 0; i < t->places; i++)
        if (t->keys[i])
            hashtable_put(&larger, t->keys[i], t->values[i]);
    hashtable_done(t);
    *t = larger;
}

__attribute__((noinline)) static void hashtable_put(struct hashtable *t, uint64_t key,
                                                    uint64_t value)
{
    if (2 * t->n >= t->places)
        hashtable_grow(t);
    size_t at = hashtable_place(t, key);
    t->n += !t->keys[at];
    t->keys[at] = key;
    t->values[at] = value;
}
