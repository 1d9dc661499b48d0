/* order.c - balanced random orders. */
#include "bench/order.h"
#include "base/mem.h"

/* splitmix64: any seed will do. */
static uint64_t order_next_random(uint64_t *rng)
{
    uint64_t x = *rng += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

size_t order_random(uint64_t *rng, size_t n)
{
    return (size_t)((__uint128_t)order_next_random(rng) * n >> 64);
}

static void order_shuffle(size_t *at, size_t n, uint64_t *rng)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = order_random(rng, i), t = at[k];
        at[k] = at[i - 1];
        at[i - 1] = t;
    }
}

void order_init(struct order *o, size_t n, uint64_t *rng)
{
    *o = (struct order){.rng = rng, .n = n, .at = n};
    o->base = mem_calloc(n + 1, sizeof *o->base);
    o->shift = mem_calloc(n + 1, sizeof *o->shift);
    for (size_t i = 0; i < n; i++)
        o->base[i] = o->shift[i] = i;
}

void order_done(struct order *o)
{
    free(o->base);
    free(o->shift);
}

void order_next(struct order *o, size_t *ret)
{
    if (o->at == o->n) {
        order_shuffle(o->base, o->n, o->rng);
        order_shuffle(o->shift, o->n, o->rng);
        o->at = 0;
    }
    for (size_t i = 0; i < o->n; i++)
        ret[i] = o->base[(i + o->shift[o->at]) % o->n];
    o->at++;
}
