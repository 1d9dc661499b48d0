#include "code/listing.h"

#include "base/search.h"

void listing_add(struct listing *l, uint64_t start, struct text code)
{
    const uint8_t *bytes = (const uint8_t *)code.at;
    for (size_t at = 0; at < code.n;) {
        struct x86 x = x86_decode(bytes + at, code.n - at);
        *vec_push(&l->insns) = (struct listing_insn){.pc = start + at, .x = x, .bytes = bytes + at};
        at += x.length;
    }
}

size_t listing_find(const struct listing *l, uint64_t pc)
{
    const struct listing_insn *i = search_last(&l->insns, pc, pc);
    if (!i || pc - i->pc >= i->x.length)
        return SIZE_MAX;
    return (size_t)(i - l->insns.at);
}

void listing_heat(struct listing *l, uint64_t pc, int64_t self)
{
    size_t i = listing_find(l, pc);
    if (i == SIZE_MAX)
        return;
    l->insns.at[i].self += self;
    l->self += self;
}

static bool ends_block(const struct x86 *x)
{
    return x->flow == X86_BRANCH || x->flow == X86_JUMP || x->flow == X86_AWAY;
}

static size_t target_of(const struct listing *l, size_t i)
{
    const struct listing_insn *n = &l->insns.at[i];
    bool known = n->x.flow == X86_BRANCH || n->x.flow == X86_JUMP;
    return known ? listing_find(l, n->pc + (uint64_t)n->x.target) : SIZE_MAX;
}

static void mark_starts(const struct listing *l, bool *starts)
{
    starts[0] = true;
    for (size_t i = 0; i < l->insns.n; i++) {
        const struct listing_insn *n = &l->insns.at[i];
        size_t target = target_of(l, i);
        if (target != SIZE_MAX)
            starts[target] = true;
        if (ends_block(&n->x) || (i + 1 < l->insns.n && n[1].pc != n->pc + n->x.length))
            starts[i + 1] = true;
    }
}

static bool has_call(const struct listing *l, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++)
        if (l->insns.at[i].x.flow == X86_CALL)
            return true;
    return false;
}

/* Blocks from the target of a branch back to the branch are a loop, or nearly always. */
static void mark_loops(struct listing *l, bool with_calls)
{
    autofree int *opened = mem_calloc(l->blocks.n + 1, sizeof *opened);
    for (size_t i = 0; i < l->insns.n; i++) {
        size_t target = target_of(l, i);
        if (target == SIZE_MAX || target > i || (!with_calls && has_call(l, target, i)))
            continue;
        opened[l->insns.at[target].block]++;
        opened[l->insns.at[i].block + 1]--;
    }
    int depth = 0;
    for (size_t i = 0; i < l->blocks.n; i++) {
        depth += opened[i];
        *(with_calls ? &l->blocks.at[i].of_loop : &l->blocks.at[i].in_loop) = depth > 0;
    }
}

static bool is_return(const struct listing_insn *n)
{
    size_t at = n->bytes[0] == 0xf2 || n->bytes[0] == 0xf3; /* repz ret, bnd ret */
    return n->x.length > at && (n->bytes[at] == 0xc3 || n->bytes[at] == 0xc2);
}

/*
 * Which blocks return, or lead only to such that do: a compiler may put the end of a function in
 * the midst of its loops. Each block is looked at once for each way into it, as a listing may be
 * all of a large stripped file. Ways out of block I are the edges 2 * I and 2 * I + 1.
 */
struct leaving {
    uint32_t *first; /* of a block: an edge that leads to it, + 1; 0 = none */
    uint32_t *next;  /* of an edge: another to the same block, + 1 */
    uint8_t *open;   /* of a block: ways out that are not known to leave */
    VEC(uint32_t) known;
};

static void lead_to(struct leaving *v, size_t edge, size_t block)
{
    v->next[edge] = v->first[block];
    v->first[block] = (uint32_t)edge + 1;
    v->open[edge / 2]++;
}

static void add_ways_out(const struct listing *l, struct leaving *v, size_t i)
{
    size_t last = l->blocks.at[i].first + l->blocks.at[i].n - 1, target = target_of(l, last);
    const struct listing_insn *n = &l->insns.at[last];
    bool goes_on = n->x.flow != X86_AWAY && n->x.flow != X86_JUMP;
    if (goes_on && i + 1 < l->blocks.n)
        lead_to(v, 2 * i, i + 1);
    else if (goes_on || (n->x.flow == X86_AWAY && !is_return(n)))
        v->open[i]++;
    if (target != SIZE_MAX) /* else a jump leaves: the call of another function in its place */
        lead_to(v, 2 * i + 1, l->insns.at[target].block);
    if (!v->open[i])
        *vec_push(&v->known) = (uint32_t)i;
}

/* A block that leaves is in no loop, wherever it lies. */
static void unmark_leaving(struct listing *l)
{
    autofree uint32_t *first = mem_calloc(l->blocks.n + 1, sizeof *first);
    autofree uint32_t *next = mem_calloc(2 * l->blocks.n + 1, sizeof *next);
    autofree uint8_t *open = mem_calloc(l->blocks.n + 1, sizeof *open);
    struct leaving v = {.first = first, .next = next, .open = open};
    for (size_t i = 0; i < l->blocks.n; i++)
        add_ways_out(l, &v, i);
    while (v.known.n) {
        struct listing_block *b = &l->blocks.at[v.known.at[--v.known.n]];
        b->of_loop = b->in_loop = false;
        for (uint32_t e = first[b - l->blocks.at]; e; e = next[e - 1])
            if (--open[(e - 1) / 2] == 0)
                *vec_push(&v.known) = (e - 1) / 2;
    }
    vec_done(&v.known);
}

void listing_cut(struct listing *l)
{
    autofree bool *starts = mem_calloc(l->insns.n + 1, sizeof *starts);
    mark_starts(l, starts);
    for (size_t i = 0; i < l->insns.n; i++) {
        if (starts[i])
            *vec_push(&l->blocks) = (struct listing_block){.first = i};
        struct listing_block *b = &l->blocks.at[l->blocks.n - 1];
        b->n++;
        b->self += l->insns.at[i].self;
        b->most = l->insns.at[i].total > b->most ? l->insns.at[i].total : b->most;
        l->insns.at[i].block = (uint32_t)(l->blocks.n - 1);
        b->loop |= target_of(l, i) == b->first;
    }
    mark_loops(l, false);
    mark_loops(l, true);
    unmark_leaving(l);
}

void listing_done(struct listing *l)
{
    vec_done(&l->insns);
    vec_done(&l->blocks);
}

static int hottest_first(const void *a, const void *b, void *listing)
{
    const struct listing *l = listing;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t m = l->blocks.at[x].self, n = l->blocks.at[y].self;
    if (m != n)
        return m > n ? -1 : 1;
    return x < y ? -1 : x > y;
}

uint32_t *listing_order(const struct listing *l)
{
    uint32_t *order = mem_calloc(l->blocks.n + 1, sizeof *order);
    for (size_t i = 0; i < l->blocks.n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, l->blocks.n, sizeof *order, hottest_first, (void *)l);
    return order;
}
