/*
 * pprof_header.h - what a pprof file says about itself: sample types, times, comments.
 *
 * Gathered as numbers while the file streams by; the strings they stand for come last.
 */
#pragma once
#include "source/pprof_tables.h"

struct pprof_value_type {
    uint64_t name, unit; /* strings */
};

struct pprof_header {
    struct pprof_tables *tables;
    VEC(struct pprof_value_type) types;
    VEC(uint64_t) comments; /* strings */
    struct pprof_value_type period_type;
    uint64_t number[16]; /* the fields of Profile that are plain numbers, by their field number */
    bool ours;           /* written by view/export/pprof.c: known once applied */
};

void pprof_header_done(struct pprof_header *h);

/* Make the profile's sample types and metadata. */
int pprof_header_apply(struct pprof_header *h, struct err *err);

/* META_KIND where it is certain; looks at the frames, so call it when they are made. */
void pprof_header_set_kind(struct pprof_header *h);
