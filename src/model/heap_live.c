#include "model/heap_live.h"

enum { FIRST_PLACES = 1024 };

void heap_live_done(struct heap_live *l)
{
    mem_table_free(l->places, (l->mask + 1) * sizeof *l->places);
    *l = (struct heap_live){0};
}

void heap_live_grow(struct heap_live *l)
{
    struct heap_live old = *l;
    size_t n = old.places ? 2 * (old.mask + 1) : FIRST_PLACES;
    l->places = mem_table(n * sizeof *l->places);
    l->mask = n - 1;
    for (size_t i = 0; old.places && i <= old.mask; i++)
        if (old.places[i].address)
            l->places[heap_live_find(l, heap_live_address_of(&old.places[i]))] = old.places[i];
    if (old.places)
        mem_table_free(old.places, (old.mask + 1) * sizeof *old.places);
}

bool heap_live_next(const struct heap_live *l, size_t *at, struct heap_block *ret)
{
    for (; l->places && *at <= l->mask; ++*at) {
        if (!l->places[*at].address)
            continue;
        *ret = heap_live_unpack(&l->places[(*at)++]);
        return true;
    }
    return false;
}
