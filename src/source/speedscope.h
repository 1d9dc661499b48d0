/*
 * speedscope.h - what the two halves of the speedscope importer share.
 *
 *     { "shared":   { "frames": [ {"name", "file", "line", "col"}, ... ] },
 *       "profiles": [ {"type": "sampled", "name", "unit", "startValue", "endValue",
 *                      "samples": [[frame, ...root to leaf], ...], "weights": [...]},
 *                     {"type": "evented", ..., "events": [{"type": "O" or "C", "frame", "at"}]} ],
 *       "name", "exporter", "activeProfileIndex" }
 *
 * Profiles of one unit family (time, bytes, none) are one stream, evented ones another. Frames may
 * come after the profiles that use them. Kelvin's own additions to its exports, which it reads
 * back, are in objects called "kelvin"; see doc/formats.md.
 */
#pragma once
#include "base/jsonread.h"
#include "source/import.h"

/* A frame that was used before it was described. */
struct early_frame {
    uint32_t index; /* in shared.frames */
    struct frame_id id;
    uint64_t offset; /* of its first use */
};

struct speedscope {
    struct import *im;
    struct jsonread j;
    bool has_frames, has_profiles;
    VEC(struct frame_id) frames;
    VEC(struct early_frame) early;
    struct idmap early_map;
    int streams[DIMENSIONS][2]; /* of sampled and evented profiles; -1 until needed */
    int64_t active;             /* activeProfileIndex, or -1 */
    VEC(struct value_ref) value_of_profile;
    bool is_own; /* written by us, with types and threads of its own */
    VEC(struct value_ref) own_types;
    VEC(struct thread_id) own_threads;
    /* the rows of the last profile, which the next one may join */
    int group_stream;
    size_t group_row, group_n;
};

/* The frame of an index in shared.frames, described or not. Sets the reader's error. */
struct frame_id speedscope_frame(struct speedscope *s, int64_t index);

/* Read the next element of "profiles" and add its samples. */
void speedscope_profile(struct speedscope *s);
