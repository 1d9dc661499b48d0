/*
 * finding.h - what stands out in a heap, in locks or in scopes: a title, the evidence, and what to
 * do about it. (Those of a profile's functions know their samples, too: insight.h.)
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

struct finding {
    const char *title, *text, *advice; /* advice: "" = none */
};

struct findings {
    VEC(struct finding) at; /* what matters most first */
};

/* TITLE and ADVICE must outlive S. TEXT is copied into ARENA and then freed. */
static inline void findings_add(struct findings *s, struct arena *arena, const char *title,
                                struct buf *text, const char *advice)
{
    *vec_push(&s->at) = (struct finding){title, arena_text(arena, buf_text(text)).at, advice};
    buf_done(text);
}
