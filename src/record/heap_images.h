/*
 * heap_images.h - unwind rules for the agents, in shared memory that they only read: wire/heap.h.
 */
#pragma once
#include "process/process.h"
#include "record/rings.h"
#include "wire/heap.h"

/* Where the rows of a file are. */
struct heap_rows {
    const struct unwind_table *table;
    uint64_t at;
};

struct heap_images_writer {
    struct shared memory;
    uint64_t rows_end; /* bytes */
    VEC(struct heap_rows) files;
};

int heap_images_open(struct heap_images_writer *w, struct err *err);
void heap_images_close(struct heap_images_writer *w);

/* Answer a process that has told what it has mapped. */
void heap_images_answer(struct heap_images_writer *w, struct processes *ps, int pid,
                        uint64_t ticket);
