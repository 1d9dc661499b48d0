#include "source/perfdata_chains.h"
#include "base/mem.h"

enum { PLACES = 1 << 17 };

void perfdata_chains_done(struct perfdata_chains *c)
{
    mem_table_free(c->places, PLACES * sizeof *c->places);
    c->places = NULL;
}

struct perfdata_chain *perfdata_chains_look(struct perfdata_chains *c, struct text bytes,
                                            uint64_t what)
{
    if (!c->places)
        c->places = mem_table(PLACES * sizeof *c->places);
    XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.at, bytes.n, what);
    struct perfdata_chain *at = &c->places[hash.low64 % PLACES];
    if (at->hash.low64 != hash.low64 || at->hash.high64 != hash.high64)
        *at = (struct perfdata_chain){.hash = hash};
    return at;
}
