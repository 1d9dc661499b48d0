#include "model/heap_live.h"

#include "base/idmap.h"

enum { FIRST_PLACES = 1024 };

#define LOW_48 ((UINT64_C(1) << 48) - 1)

struct heap_place {
    uint64_t address; /* and the upper 16 bits of the size above; 0 = free */
    uint64_t ticks;
    uint32_t size_low, site;
};

void heap_live_done(struct heap_live *l)
{
    mem_table_free(l->places, (l->mask + 1) * sizeof *l->places);
    *l = (struct heap_live){0};
}

static inline size_t home_of(const struct heap_live *l, uint64_t address)
{
    uint64_t x = ((address >> 3) ^ hash_seeds[0]) * (hash_seeds[1] | 1);
    return (size_t)(x >> 20) & l->mask;
}

static inline uint64_t heap_live_address_of(const struct heap_place *p)
{
    return p->address & LOW_48;
}

/* The place of ADDRESS, or the free one where it would be. */
static inline size_t find_place(const struct heap_live *l, uint64_t address)
{
    size_t i = home_of(l, address);
    while (l->places[i].address && heap_live_address_of(&l->places[i]) != address)
        i = (i + 1) & l->mask;
    return i;
}

static struct heap_block heap_live_unpack(const struct heap_place *p)
{
    return (struct heap_block){.address = heap_live_address_of(p),
                               .size_bytes = p->address >> 48 << 32 | p->size_low,
                               .ticks = p->ticks,
                               .site = p->site};
}

static void grow(struct heap_live *l)
{
    struct heap_live old = *l;
    size_t n = old.places ? 2 * (old.mask + 1) : FIRST_PLACES;
    l->places = mem_table(n * sizeof *l->places);
    l->mask = n - 1;
    for (size_t i = 0; old.places && i <= old.mask; i++)
        if (old.places[i].address)
            l->places[find_place(l, heap_live_address_of(&old.places[i]))] = old.places[i];
    if (old.places)
        mem_table_free(old.places, (old.mask + 1) * sizeof *old.places);
}

bool heap_live_add(struct heap_live *l, const struct heap_block *b, struct heap_block *ret_old)
{
    if (!l->places || l->n >= (l->mask + 1) / 5 * 4)
        grow(l);
    struct heap_place *p = &l->places[find_place(l, b->address & LOW_48)];
    bool new = !p->address;
    if (new)
        l->n++;
    else
        *ret_old = heap_live_unpack(p);
    *p = (struct heap_place){
        .address = (b->address & LOW_48) | b->size_bytes >> 32 << 48,
        .ticks = b->ticks,
        .size_low = (uint32_t)b->size_bytes,
        .site = b->site,
    };
    return new;
}

/* What was pushed on by the one that leaves moves up, so that no search stops early. */
static void close_gap(struct heap_live *l, size_t gap)
{
    for (size_t i = (gap + 1) & l->mask; l->places[i].address; i = (i + 1) & l->mask) {
        size_t home = home_of(l, heap_live_address_of(&l->places[i]));
        if (((i - home) & l->mask) < ((i - gap) & l->mask))
            continue;
        l->places[gap] = l->places[i];
        gap = i;
    }
    l->places[gap].address = 0;
}

bool heap_live_take(struct heap_live *l, uint64_t address, struct heap_block *ret)
{
    if (!l->n || !(address & LOW_48))
        return false;
    size_t i = find_place(l, address & LOW_48);
    if (!l->places[i].address)
        return false;
    *ret = heap_live_unpack(&l->places[i]);
    close_gap(l, i);
    l->n--;
    return true;
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
