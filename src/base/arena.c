#include "base/arena.h"

enum { BLOCK_BYTES = 64 << 10 };

struct arena_block {
    struct arena_block *before;
    _Alignas(16) char bytes[];
};

static char *arena_take(struct arena *a, size_t n)
{
    if (n > (size_t)(a->end - a->at)) {
        size_t size = n > BLOCK_BYTES / 4 ? n : BLOCK_BYTES;
        struct arena_block *b = mem_realloc(NULL, sizeof *b + size);
        b->before = a->last;
        a->last = b;
        if (size == n)
            return b->bytes; /* a large piece has its own block; go on filling the old one */
        a->at = b->bytes;
        a->end = b->bytes + size;
    }
    char *p = a->at;
    a->at += n;
    return p;
}

void *arena_get(struct arena *a, size_t n)
{
    size_t pad = -(uintptr_t)a->at & 7;
    if ((size_t)(a->end - a->at) < pad)
        a->at = a->end = NULL;
    else if (pad) /* nothing may be added to the NULL of an empty arena, not even 0 */
        a->at += pad;
    return arena_take(a, n);
}

struct text arena_text(struct arena *a, struct text t)
{
    char *p = arena_take(a, t.n + 1);
    if (t.n)
        memcpy(p, t.at, t.n);
    p[t.n] = '\0';
    return (struct text){p, t.n};
}

void arena_done(struct arena *a)
{
    while (a->last) {
        struct arena_block *b = a->last;
        a->last = b->before;
        free(b);
    }
    *a = (struct arena){0};
}
