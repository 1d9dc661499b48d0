#include "base/idmap.h"

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
