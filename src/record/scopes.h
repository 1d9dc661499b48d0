/*
 * scopes.h - scopes, counters and events that a program reports by include/kelvin.h.
 *
 * A program that uses the header finds the recorder's rings by a variable of its environment and
 * loads an agent (lib/scopes.c); all others take no notice. Spans become rows with a duration of a
 * stream "scopes", whose stacks are the scopes around them; streams and counters are made when the
 * first of their kind comes.
 *
 * A program that runs is asked to make rings of its own (door.h); one that records itself has made
 * them and hands them over (wire/scopes.h, SCOPES_SELF_ENV).
 *
 *     scopes.c       rings of all threads, in any order
 *     scopes_own.c   rings that the program made
 *     scopes_take.c  what a record does
 *     ticks.c        the processor's counter, held against the clock
 *
 * A span is one record of 24 bytes, written when it ends. The scopes around it are known by then:
 * a name below another is a path, to which the thread gave a number when the scope began. So
 * nothing is kept here until the outer scopes end. Scopes inside come before the one around them,
 * which is how self times are worked out. Records that find no room in a ring are lost and
 * counted; a program never waits. Counters and gauges get a point every 10 ms at most.
 */
#pragma once
#include "process/process.h"
#include "record/scopelive.h"
#include "record/spansend.h"

struct scopes;

struct scopes_opts {
    struct profile *profile;
    struct processes *processes; /* for names of threads */
    struct scopelive *live;      /* sums that are kept; NULL = none */
    const char *functions;       /* as SCOPES_FUNCTIONS_ENV; NULL = not asked for */
    uint64_t least_ns;           /* shorter functions are left out */
    struct spansend *send;       /* to a collector; NULL = to none */
    int pid;                     /* of a program that runs; 0 = a command that is forked later */
    const char *self;            /* the value of SCOPES_SELF_ENV; NULL = nobody's */
    bool heap;                   /* is recorded as well: paths are kept for scopes_labels() */
    bool blocks;                 /* and all of it: spans know what was allocated in them */
};

struct scopes_facts {
    uint64_t threads; /* that reported something */
    uint64_t spans, events, counts;
    uint64_t functions;  /* that are scopes because all were asked for, by thread and caller */
    uint64_t lost;       /* records that found no room */
    uint64_t ringless;   /* threads that found no ring */
    uint64_t abandoned;  /* scopes that never ended */
    uint64_t unbalanced; /* ends without a beginning */
    uint64_t deep;       /* scopes nested too deeply */
    uint64_t nameless;   /* scopes under SCOPES_MORE */
    uint64_t reentered;  /* scopes of signal handlers that came at a bad moment */
    uint64_t forgotten;  /* spans across threads: too many were open */
    uint64_t uncounted;  /* counts and values of more names than are kept */
    uint64_t bad;        /* records that make no sense */
};

/*
 * Before the command is forked. NULL where the agent is not installed, or where the program that
 * runs has no scopes.
 */
int scopes_open(const struct scopes_opts *o, struct scopes **ret, struct err *err);

/* Why a program that runs reported nothing, a sentence; NULL where it could have. */
const char *scopes_why_none(const struct scopes *s);

/* Of a program that records itself: readable when it ends by exit(), or closes it. -1 = none. */
int scopes_self_fd(const struct scopes *s);
bool scopes_self_ends(const struct scopes *s);
void scopes_attach(struct scopes *s); /* the command is forked, or the process attached to */

/* Take what came. True when there is more. */
bool scopes_poll(struct scopes *s);

/* How long to wait for the next look, at most. */
int scopes_poll_ms(const struct scopes *s);

/* Spans that wait in memory to be written. */
size_t scopes_waiting(const struct scopes *s);

/* Whether any program used scopes: from then on ids of the profile are kept here. */
bool scopes_are_used(const struct scopes *s);

/* Go on in another profile; only where none was used yet. */
void scopes_move(struct scopes *s, struct profile *p);

/* Say in the profile what was lost. */
void scopes_describe(struct scopes *s);

/* Records from now on are for another file. */
void scopes_start_over(struct scopes *s);

/* A counter or gauge as it is now; false past the last. */
struct scopes_number {
    struct str_id name;
    int32_t pid;
    bool is_gauge;
    int64_t value;
};
bool scopes_number(const struct scopes *s, size_t i, struct scopes_number *ret);

/* A thread that has scopes and lives; false past the last. */
struct scopes_thread_now {
    int32_t pid, tid;
    const char *name;
    uint64_t start_ns; /* of its ring: numbers of threads are used again */
    uint32_t open;     /* scopes that it is in */
};
bool scopes_thread_now(const struct scopes *s, size_t i, struct scopes_thread_now *ret);

/* A path of a thread's ring. */
struct scopes_place {
    int32_t pid, tid;
    uint32_t path;
};

/*
 * The scopes of a path as labels SCOPE_KEY, the innermost last, whether the thread lives or not.
 * If the path is not known yet, the thread's records are taken first.
 */
struct attrs_id scopes_labels(struct scopes *s, const struct scopes_place *place);

void scopes_stop(struct scopes *s);
const struct scopes_facts *scopes_facts(struct scopes *s);
uint64_t scopes_lost(const struct scopes *s); /* records, in all files together */
void scopes_close(struct scopes *s);          /* NULL is fine */
