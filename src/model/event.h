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
    BY_BYTES, /* a sample every so many bytes that are allocated, at random */
    OBTAINED_WAYS,
};

/* "software clock", "hardware counter"...; "not recorded" for OBTAINED_UNKNOWN. */
const char *obtained_name(enum obtained o);

/* The way of that name, or OBTAINED_UNKNOWN. */
enum obtained obtained_find(struct text name);

/* Whether something happens, and has a sample: no time that passes. */
static inline bool obtained_is_event(enum obtained o)
{
    return o == BY_TRACE || o == BY_SOFTWARE_EVENT;
}

/* Whether values were counted one by one, by a simulator or a tracer, not estimated from samples.
 */
static inline bool obtained_exactly(enum obtained o)
{
    return o == BY_EXACT_COUNT || o == BY_SIMULATION;
}

/* "cycles:u" is "cycles", "cpu/event=0x3c/pp" is "cpu/event=0x3c/"; tracepoints stay whole. */
struct text event_bare_name(struct text event);

/* Whether EVENT is a tracepoint or probe: "sched:sched_switch". */
bool event_is_tracepoint(struct text event);

enum { EVENT_NAME_MAX = 256 };

/*
 * Hybrid CPUs count an event on each kind of core apart: "cpu_core/cycles/Pu" and
 * "cpu_atom/cycles/u" are both "cycles:u", and their sum is meant. False for all other events.
 */
bool event_of_all_cores(struct text event, char ret[EVENT_NAME_MAX]);

/* The kind of core of such an event: "cpu_atom". */
struct text event_core(struct text event);

/*
 * How an event of perf or of a simulator is obtained ("cycles:u", "cpu-clock", "Ir");
 * OBTAINED_UNKNOWN when in doubt.
 */
enum obtained event_obtained(struct text event);

/* What a perf event's period measures: DIM_TIME for the clocks, else DIM_COUNT. */
enum dimension event_dimension(struct text event);
