/*
 * perfdata_apply.h - what the records of a perf.data file, in the order of time, make of a profile.
 */
#pragma once
#include "process/process.h"
#include "source/import.h"
#include "source/perfdata_chains.h"
#include "source/perfdata_streams.h"

/* The thread of the last sample, as long as nothing else happened since. */
struct perfdata_who {
    bool known;
    uint32_t pid, tid, space;
    struct thread_id thread; /* 0 until asked for */
};

struct perfdata_apply {
    struct import *im;
    struct perfdata_events *events;
    struct processes *processes;
    struct perfdata_streams streams;
    uint64_t deferred;
    bool unwound;               /* some stack was */
    uint64_t first_ns, last_ns; /* of samples; 0 = none has a time */
    struct perfdata_who who;
    struct perfdata_chains chains;
    VEC(uint64_t) kernel, user; /* pcs of the sample at hand */
};

void perfdata_apply_init(struct perfdata_apply *a, struct import *im, struct perfdata_events *es);
void perfdata_apply_done(struct perfdata_apply *a);

/* At most so many records at once: what they need is then in the cache when it is their turn. */
enum { PERFDATA_APPLY_MAX = 16 };

/* Records of kinds that we have no use for are left out. Fails only under --strict. */
int perfdata_apply(struct perfdata_apply *a, const struct perfdata_record *records, size_t n,
                   struct err *err);

/* When all is read, names of events too: finish the streams. */
int perfdata_apply_finish(struct perfdata_apply *a, struct err *err);
