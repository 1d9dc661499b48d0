/*
 * scopelive.h - a program's scopes summed up by name while they are recorded, for who asks
 * meanwhile: rows go to the file and are forgotten, these sums stay.
 *
 * Names beyond SCOPELIVE_MAX share the last place, SCOPES_MORE.
 */
#pragma once
#include "model/profile.h"
#include "stats/histogram.h"

enum { SCOPELIVE_MAX = 1024, SCOPELIVE_BOUNDS = 28 };

/* 100 ns to 100 s: 1, 2, 5 of each power of ten. */
extern const uint64_t scopelive_bounds_ns[SCOPELIVE_BOUNDS];

/* The last span of a bucket: what a point of a dashboard leads to. */
struct scopelive_last {
    uint64_t duration_ns, end_ns; /* duration 0 and end 0 = none yet */
    struct attrs_id attrs;
    struct thread_id thread;
};

struct scopelive_sum {
    struct str_id name;
    uint64_t calls, total_ns, self_ns, max_ns;
    uint64_t in_bound[SCOPELIVE_BOUNDS + 1]; /* above the bound before, up to this; last: more */
    struct scopelive_last last[SCOPELIVE_BOUNDS + 1]; /* of each bucket */
    struct histogram times;
};

/* Zero-initialised: empty. */
struct scopelive {
    VEC(struct scopelive_sum) sums;
    VEC(uint32_t) of_name; /* + 1, by string; 0 = none yet */
};

void scopelive_add(struct scopelive *l, struct profile *p, struct str_id name,
                   const struct row *span);
void scopelive_done(struct scopelive *l);
