/*
 * pprof_header.h - what a pprof file says about itself: sample types, times, comments.
 *
 * Gathered as numbers while the file streams by; the strings they stand for come last. All sample
 * types are columns of one stream. Files that view/export/pprof.c wrote may hold several streams,
 * and say so in comments, K being a stream and N a sample type, both from 0:
 *
 *     kelvin-export=1                        this file is ours: mind the rest
 *     kelvin:KEY=VALUE                       metadata
 *     kelvin-type-N-stream=K                 left out = the types of one event are one stream
 *     kelvin-type-N-event=EVENT              of its stream; also in front of the type's name
 *     kelvin-type-N-decimals=D               also at the end of the type's unit
 *     kelvin-default=N                       the type to show first
 *     kelvin-stream-K-KEY=VALUE              see streamfacts.h
 *     kelvin-clock=MONOTONIC,WALL            the same moment on both clocks, ns
 */
#pragma once
#include "source/pprof_tables.h"

/* Sample types of a file; a stream has STREAM_MAX_TYPES at most. */
enum { PPROF_TYPES_MAX = 512 };

struct pprof_value_type {
    uint64_t name, unit;     /* strings */
    struct value_ref column; /* known once applied; stream -1 = left out */
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

/* Make the profile's streams and metadata. */
int pprof_header_apply(struct pprof_header *h, struct err *err);

/* How the stream was obtained where it is certain; looks at the frames, so call it when they are
 * made.
 */
void pprof_header_set_obtained(struct pprof_header *h);
