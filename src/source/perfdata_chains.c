#include "source/perfdata_chains.h"
#include "base/idmap.h"

enum { PLACES = 1 << 17 };

void perfdata_chains_init(struct perfdata_chains *c)
{
    c->places = mem_table(PLACES * sizeof *c->places);
}

void perfdata_chains_done(struct perfdata_chains *c)
{
    mem_table_free(c->places, PLACES * sizeof *c->places);
    c->places = NULL;
}

XXH128_hash_t perfdata_chain_hash(struct text bytes, uint64_t what)
{
    return XXH3_128bits_withSeed(bytes.at, bytes.n, what ^ hash_seeds[0]);
}

static uint64_t with_space(XXH128_hash_t hash, uint32_t space)
{
    return hash.low64 ^ space * 0x9e3779b97f4a7c15u;
}

void perfdata_chains_expect(const struct perfdata_chains *c, XXH128_hash_t hash, uint32_t space)
{
    __builtin_prefetch(&c->places[with_space(hash, space) % PLACES], 1);
}

struct perfdata_chain *perfdata_chains_look(struct perfdata_chains *c, XXH128_hash_t hash,
                                            uint32_t space)
{
    hash.low64 = with_space(hash, space);
    struct perfdata_chain *at = &c->places[hash.low64 % PLACES];
    if (at->hash.low64 != hash.low64 || at->hash.high64 != hash.high64)
        *at = (struct perfdata_chain){.hash = hash};
    return at;
}
