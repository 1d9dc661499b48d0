/*
 * perfsample.h - one sample of the kernel, as events of perfattr.h ask for it.
 */
#pragma once
#include "record/engine.h"

#include <linux/perf_event.h>

enum { PERFSAMPLE_PCS_MAX = 256 };

struct perfsample {
    struct engine_sample s;
    const uint8_t *raw; /* what a tracepoint says; NULL = not asked for */
    size_t n_raw;
    uint64_t age_ns; /* what its thread has counted so far; 0 = not asked for */
    bool further;    /* of a clock of perfbirths.h */
};

/* The event that a sample is of, by the kernel's number. */
uint64_t perfsample_id(const struct perf_event_header *h);

/*
 * Read H, of an event opened as ATTR. The kernel's call chain goes to PCS, PERFSAMPLE_PCS_MAX of
 * them; all else stays where it is. Which event it is of, the caller knows.
 */
void perfsample_read(struct perfsample *ret, const struct perf_event_header *h,
                     const struct perf_event_attr *attr, uint64_t *pcs);
