#include "base/idmap.h"

#include <string.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

/* Both with a high half that is not zero, so that no factor ever is. */
uint64_t hash_seeds[2] = {0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u};

/* The kernel gives every program 16 random bytes: no file to open, no call that could fail. */
__attribute__((constructor)) static void seed_hashes(void)
{
#ifdef __linux__
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t own[2];
    if (!random)
        return;
    memcpy(own, random, sizeof own);
    for (int i = 0; i < 2; i++)
        if (own[i] >> 32)
            hash_seeds[i] = own[i];
#endif
}

void idmap_done(struct idmap *m)
{
    mem_table_free(m->slots, ((size_t)m->mask + 1) * sizeof *m->slots);
    *m = (struct idmap){0};
}

void idmap_grow(struct idmap *m)
{
    struct idmap_slot *old = m->slots;
    uint32_t old_size = old ? m->mask + 1 : 0;
    uint32_t size = old ? old_size * 2 : 64;
    m->slots = mem_table((size_t)size * sizeof *m->slots);
    m->mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].id_plus_1)
            idmap_put(m, old[i].hash, old[i].id_plus_1 - 1);
    mem_table_free(old, (size_t)old_size * sizeof *old);
}
