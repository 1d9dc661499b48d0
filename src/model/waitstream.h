/*
 * waitstream.h - waits and states of threads in the model: three streams, and what their columns
 * mean.
 *
 *     waits          a row for each time that a thread left its CPU: when, for how long, with the
 *                    stack at that moment. Columns: how many waits it stands for, nanoseconds
 *                    blocked, nanoseconds runnable (could have run and had no CPU).
 *     thread-states  rows for each thread that together cover all of its life within the recording:
 *                    nanoseconds running, runnable, blocked, and not known. They come from switch
 *                    records alone, so they hold where no stack could be seen.
 *     wakeups        who ended the waits, summed up now and then. A stack is that of the thread
 *                    that waited, then a frame with the waker's name, then the waker's own
 *                    functions; from the name on the frames are FRAME_WAKER. Columns: how often,
 *                    and the nanoseconds that the waits had lasted until then. There is none where
 *                    wakers could not be seen.
 *
 * Where switches come too fast for a stack each, rows of a part WAIT_SUMMED stand for many waits:
 * their number and time are counted, the stacks are shared out like those of the waits around them.
 *
 * No other code looks at the names of these streams and columns.
 */
#pragma once
#include "model/streamkind.h"

#define WAITSTREAM_EVENT "waits"

enum wait_column { WAIT_COUNT, WAIT_BLOCKED, WAIT_RUNNABLE, WAIT_COLUMNS };

enum wake_column { WAKE_COUNT, WAKE_WAITED, WAKE_COLUMNS };

enum thread_state {
    THREAD_RUNNING,
    THREAD_RUNNABLE, /* could run and has no CPU */
    THREAD_BLOCKED,  /* waits for something else than a CPU */
    THREAD_UNKNOWN,  /* records were lost, or it was not watched yet */
    THREAD_STATES,
};

struct waitstream {
    int waits, states, wakes; /* streams of the profile; -1 = none */
    int wait_column[WAIT_COLUMNS], state_column[THREAD_STATES], wake_column[WAKE_COLUMNS];
};

/* Add the first two streams to P. False where it has too many. */
bool waitstream_add(struct profile *p, struct waitstream *ret);

/* And the third. */
bool waitstream_add_wakes(struct profile *p, struct waitstream *ret);

/* Those of P; false where it has no waits. */
bool waitstream_find(const struct profile *p, struct waitstream *ret);

/* "running", "runnable", "blocked", "unknown". */
const char *thread_state_name(enum thread_state s);

/*
 * Attributes of waits of which only a part was seen: they lasted at least so long. And of rows that
 * stand for several, whose stacks are shared out, and of waits whose stack is that of the last
 * CPU sample of the thread.
 */
enum wait_part { WAIT_WHOLE, WAIT_NO_START, WAIT_NO_END, WAIT_SUMMED, WAIT_NEAR, WAIT_PARTS };

struct attrs_id waitstream_part(struct profile *p, enum wait_part part);

/* Whether a row of the stream of waits has such an attribute. */
enum wait_part waitstream_part_of(const struct profile *p, const struct stream *s, size_t row);

/* The stack of waits of which none was recorded; that of threads which have never run. */
struct stack_id waitstream_no_stack(struct profile *p);
struct stack_id waitstream_birth(struct profile *p);
bool waitstream_is_no_stack(const struct profile *p, struct stack_id stack);

/* The name of the frame behind which the waker's functions are: "[woken by NAME]". */
struct frame_id waitstream_waker(struct profile *p, struct text name);

/*
 * The NAME in such a frame of a stack, and the stack of the thread that waited; "" where the stack
 * has none.
 */
struct text waitstream_waker_of(const struct profile *p, struct stack_id stack,
                                struct stack_id *ret_waiter);
