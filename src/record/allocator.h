/*
 * allocator.h - the functions by which a running process allocates and frees, as places in its
 * files: for probes.
 *
 * The allocator is malloc of the program itself (static programs, allocators that are linked in),
 * else that of a library other than libc (jemalloc, tcmalloc, mimalloc), else libc's. Functions of
 * that one file are probed: what calls them from elsewhere (operator new of libstdc++) is seen by
 * them.
 *
 * In glibc some of them call others: realloc of nothing and aligned_alloc of 16 bytes or less go on
 * to malloc. Such calls are left to malloc, so that nothing counts twice.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "unwind/objfile.h"

/* Arguments are numbered from 1; 0 = there is none. */
struct allocator_function {
    const char *name;
    uint8_t size, times; /* bytes are SIZE, or SIZE * TIMES; no SIZE: it does not allocate */
    uint8_t align;
    uint8_t freed;  /* the block that it frees */
    uint8_t result; /* where the new block's address is put; 0 = it is returned */
};

struct allocator_place {
    const struct allocator_function *function;
    uint64_t offset; /* in the file */
};

enum { ALLOCATOR_PLACES = 32 };

struct allocator {
    char *path; /* of the file, as this process can open it whatever became of its name */
    char *name; /* as the process calls it */
    bool glibc; /* some functions call others */
    struct allocator_place places[ALLOCATOR_PLACES];
    size_t n;
};

/* Of process PID. Fails with the reason, and what would help. */
int allocator_find(struct allocator *a, int pid, struct err *err);
void allocator_done(struct allocator *a);

/* The functions of one file; a->n is 0 when it has no malloc. */
void allocator_read(struct allocator *a, const struct objfile *o);
