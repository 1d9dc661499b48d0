/*
 * meta.h - what is known about how a profile was made: an ordered list of keys and texts.
 *
 * Keys are free; the ones that views understand are named here. A key that is absent is not
 * known, which is not the same as zero.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

/* How the samples were obtained; see META_KIND_* */
#define META_KIND "kind"
#define META_FORMAT "format"   /* the input's format: "folded", "pprof"... */
#define META_SOURCE "source"   /* the input's file name, without folders */
#define META_LOST "lost"       /* samples the recorder lost, a count */
#define META_RATE_HZ "rate_hz" /* samples a second that were asked for */
#define META_DURATION_NS "duration_ns"
#define META_TIME_NS "time_ns" /* start, since 1970 */
#define META_COMMAND "command"
#define META_HOST "host"
#define META_OS "os"
#define META_ARCH "arch"
#define META_CPU "cpu"
#define META_TOOL "tool" /* what wrote the input, with its version */
#define META_COMMENT "comment"
#define META_CUT "cut" /* present when the input was cut off; says where */

/* Values of META_KIND: a software clock is never called a hardware counter. */
#define META_KIND_SOFTWARE "software clock"
#define META_KIND_HARDWARE "hardware counter"
#define META_KIND_TIMER "in-process timer"
#define META_KIND_EVENT "software event"
#define META_KIND_TRACE "trace"
#define META_KIND_EXACT "exact count"
#define META_KIND_SIMULATED "simulation"

struct meta_entry {
    char *key, *value;
};

struct meta {
    VEC(struct meta_entry) entries;
};

void meta_done(struct meta *m);

/* Set or replace. */
void meta_set(struct meta *m, const char *key, struct text value);
void meta_set_str(struct meta *m, const char *key, const char *value);
void meta_set_u64(struct meta *m, const char *key, uint64_t value);

/* NULL where not known. */
const char *meta_find(const struct meta *m, const char *key);
bool meta_find_u64(const struct meta *m, const char *key, uint64_t *ret);

/* The META_KIND of a perf event by its name ("cycles:u", "cpu-clock"), or NULL when in doubt. */
const char *meta_kind_of_event(struct text event);

/* The unit of a perf event's period: "nanoseconds" for the clocks, else "count". */
const char *meta_unit_of_event(struct text event);
