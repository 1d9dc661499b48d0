/*
 * stackwalk_images.h - unwind rules for the agents, in shared memory that they only read:
 * wire/stackwalk.h.
 */
#pragma once
#include "process/process.h"
#include "record/rings.h"
#include "wire/stackwalk.h"

/* Where the rows of a file are. */
struct stackwalk_rows {
    uint64_t file_id; /* unwind_code's */
    uint64_t at;
};

struct stackwalk_images_writer {
    struct shared memory;
    uint64_t rows_end; /* bytes */
    VEC(struct stackwalk_rows) files;
};

int stackwalk_images_open(struct stackwalk_images_writer *w, struct err *err);
void stackwalk_images_close(struct stackwalk_images_writer *w);

/* Answer a process that has reported what it has mapped. */
void stackwalk_images_answer(struct stackwalk_images_writer *w, struct processes *ps, int pid,
                             uint64_t ticket);
