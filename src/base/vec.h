/*
 * vec.h - a growing array of any type.
 *
 *     VEC(struct line) lines = {0};
 *     *vec_push(&lines) = (struct line){...};
 *     lines.at[i], lines.n
 *     vec_done(&lines);
 */
#pragma once
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }

/* Room for N more elements. */
#define vec_reserve(v, more)     \
    ((v)->n + (more) <= (v)->cap \
         ? (void)0               \
         : vec_grow((void **)&(v)->at, &(v)->cap, (v)->n + (more), sizeof *(v)->at))

/* A pointer to a new last element, not initialised. */
#define vec_push(v) (vec_reserve(v, 1), &(v)->at[(v)->n++])

#define vec_done(v) (free((v)->at), memset((v), 0, sizeof *(v)), (void)0)

/* Grows by half, at least to NEED elements: less slack than doubling in tables of millions. */
void vec_grow(void **at, size_t *cap, size_t need, size_t elem_bytes);
