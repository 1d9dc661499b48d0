/*
 * waitstream.h - waits and states of threads in the model: two streams, and what their columns
 * mean.
 *
 *     waits          a row for each time that a thread left its CPU: when, for how long, with the
 *                    stack at that moment. Columns: how many waits it stands for, nanoseconds
 *                    blocked, nanoseconds runnable (could have run and had no CPU).
 *     thread-states  rows for each thread that together cover all of its life within the recording:
 *                    nanoseconds running, runnable, blocked, and not known. They come from switch
 *                    records alone, so they hold where no stack could be seen.
 *
 * Nobody else looks at the names of these streams and columns.
 */
#pragma once
#include "model/streamkind.h"

#define WAITSTREAM_EVENT "waits"

enum wait_column { WAIT_COUNT, WAIT_BLOCKED, WAIT_RUNNABLE, WAIT_COLUMNS };

enum thread_state {
    THREAD_RUNNING,
    THREAD_RUNNABLE, /* could run and has no CPU */
    THREAD_BLOCKED,  /* waits for something else than a CPU */
    THREAD_UNKNOWN,  /* records were lost, or it was not watched yet */
    THREAD_STATES,
};

struct waitstream {
    int waits, states; /* streams of the profile; -1 = none */
    int wait_column[WAIT_COLUMNS], state_column[THREAD_STATES];
};

/* Add both streams to P. False where it has too many. */
bool waitstream_add(struct profile *p, struct waitstream *ret);

/* Those of P; false where it has no waits. */
bool waitstream_find(const struct profile *p, struct waitstream *ret);

/* "running", "runnable", "blocked", "unknown". */
const char *thread_state_name(enum thread_state s);

/* Attributes of waits of which only a part was seen: they lasted at least so long. */
enum wait_part { WAIT_WHOLE, WAIT_NO_START, WAIT_NO_END, WAIT_PARTS };

struct attrs_id waitstream_part(struct profile *p, enum wait_part part);

/* Whether a row of the stream of waits has such an attribute. */
enum wait_part waitstream_part_of(const struct profile *p, const struct stream *s, size_t row);

/* The stack of waits of which none was recorded; that of threads which have never run. */
struct stack_id waitstream_no_stack(struct profile *p);
struct stack_id waitstream_birth(struct profile *p);
bool waitstream_is_no_stack(const struct profile *p, struct stack_id stack);
