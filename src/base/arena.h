/*
 * arena.h - memory that is handed out piece by piece and freed at once.
 */
#pragma once
#include "base/mem.h"
#include "base/text.h"

struct arena {
    struct arena_block *last;
    char *at, *end;
};

/* N bytes aligned to 8, not initialised. */
void *arena_get(struct arena *a, size_t n);

/* A NUL-terminated copy of T, not aligned. */
struct text arena_text(struct arena *a, struct text t);

void arena_done(struct arena *a);
