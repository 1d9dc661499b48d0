/*
 * perfdata_streams.h - the streams that the events of a perf.data file become.
 *
 * A stream is made with the first sample of its event; what the file calls the event may be known
 * only at its end. Events that a hybrid CPU counts on each kind of core apart become one stream,
 * whose rows have the kind of core as a label (CORE_KEY). All streams have two columns: samples,
 * and what their periods add up to.
 */
#pragma once
#include "source/import.h"
#include "source/perfdata_event.h"

enum { PERFDATA_SAMPLES, PERFDATA_WEIGHT, PERFDATA_COLUMNS };

/* The value of a counter when it was read last. */
struct perfdata_total {
    uint64_t id, value;
    uint32_t tid;
};

struct perfdata_streams {
    struct import *im;
    struct perfdata_events *events;
    VEC(struct perfdata_total) totals;
    struct idmap total_map;
};

void perfdata_streams_done(struct perfdata_streams *ss); /* zeroed is fine */

/* The stream of an event. Negative when there are too many. */
int perfdata_stream_of(struct perfdata_streams *ss, struct perfdata_event *e);

/*
 * How far a counter went since it was read last, now that it is at VALUE. Counters that threads
 * inherit run for each thread by itself; TID is 0 for others.
 */
uint64_t perfdata_streams_step(struct perfdata_streams *ss, uint64_t id, uint32_t tid,
                               uint64_t value);

/*
 * Give the streams the names that are known by now, their kind, rate and losses, and the order of
 * the file's events, of which the first is shown first.
 */
int perfdata_streams_finish(struct perfdata_streams *ss, struct err *err);
