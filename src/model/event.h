/*
 * event.h - what is known about an event by its name, as perf and its relatives write it.
 */
#pragma once
#include "base/text.h"
#include "model/value.h"

/* How the rows of a stream were obtained. A software clock is never called a hardware counter. */
enum obtained {
    OBTAINED_UNKNOWN,
    BY_SOFTWARE_CLOCK,
    BY_HARDWARE,
    BY_TIMER, /* of the program's CPU time, inside of it */
    BY_SOFTWARE_EVENT,
    BY_TRACE,
    BY_EXACT_COUNT,
    BY_SIMULATION,
    OBTAINED_WAYS,
};

/* "software clock", "hardware counter"...; "not recorded" for OBTAINED_UNKNOWN. */
const char *obtained_name(enum obtained o);

/* The way of that name, or OBTAINED_UNKNOWN. */
enum obtained obtained_find(struct text name);

/* Whether values were counted one by one, by a simulator or a tracer, not estimated from samples.
 */
static inline bool obtained_exactly(enum obtained o)
{
    return o == BY_EXACT_COUNT || o == BY_SIMULATION;
}

/* How a perf event is obtained ("cycles:u", "cpu-clock"); OBTAINED_UNKNOWN when in doubt. */
enum obtained event_obtained(struct text event);

/* What a perf event's period measures: DIM_TIME for the clocks, else DIM_COUNT. */
enum dimension event_dimension(struct text event);
