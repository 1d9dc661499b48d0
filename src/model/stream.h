/*
 * stream.h - one event of one source: how it was obtained, what its columns mean, and its rows.
 *
 * Kind, loss, rate and unfinished stacks belong to the stream, not to the file: a recording of CPU
 * time and page faults has two streams, each with its own label in every view. A stream has one
 * column of values for each of its types; rows may have a time, a duration and attributes.
 *
 * A sampled event has two columns: how often the recorder looked ("samples") and what that stands
 * for ("cpu", in nanoseconds). Every view says which of the two a number is, and none adds up the
 * values of different events.
 */
#pragma once
#include "model/attrs.h"
#include "model/event.h"
#include "model/stacks.h"

struct thread_id {
    uint32_t i; /* 0 = not known */
};

enum {
    STREAM_MAX_TYPES = 64, /* columns of a stream */
    STREAM_MAX_ENDS = 16,  /* reasons for which stacks do not reach the bottom */
};

/* All columns but stack and thread may be missing (NULL) until a row has something there. */
struct rows {
    size_t n, cap;
    size_t forgotten; /* rows before these, which were written and given back */
    struct stack_id *stack;
    struct thread_id *thread;
    uint64_t *time_ns;     /* CLOCK_MONOTONIC, or whatever clock the input has */
    uint64_t *duration_ns; /* of waits and scopes */
    struct attrs_id *attrs;
    int64_t *value[STREAM_MAX_TYPES];
};

/* The number of rows whose stack ends too early, for one reason. */
struct unfinished {
    struct str_id why;
    uint64_t n;
};

struct stream {
    struct str_id event; /* "" where the input knows of no events */
    enum obtained obtained;
    double rate_hz;          /* asked for, a second of CPU time; 0 = not known */
    double rate_achieved_hz; /* 0 = not known */
    bool lost_known;
    uint64_t lost, throttled; /* samples; times that the kernel held sampling back */
    bool unfinished_known;
    uint64_t guessed; /* rows whose stack reaches the bottom over a step that no rule confirms */
    struct unfinished unfinished[STREAM_MAX_ENDS];
    int n_unfinished;

    int n_types;
    struct value_type types[STREAM_MAX_TYPES];
    struct rows rows;
    struct idmap row_map; /* where rows are merged */
};

/* The column that counts samples, or -1 where they are not recorded or nothing was sampled. */
int stream_samples(const struct stream *s);

/*
 * Whether each event has a sample of its own, as of a tracepoint with a period of one: shares are
 * then exact for this run.
 */
bool stream_has_every_event(const struct stream *s);

/* Rows whose stack does not reach the bottom, all reasons together. */
uint64_t stream_unfinished(const struct stream *s);

/* Forget the rows and what was added up of them; the columns stay. */
void stream_clear(struct stream *s);

/* Whether any row has one. */
static inline bool stream_has_time(const struct stream *s)
{
    return s->rows.time_ns && s->rows.n;
}
