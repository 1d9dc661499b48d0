/*
 * streamkind.h - which of the streams that Kelvin itself defines a stream is.
 *
 * Heap, scopes, locks and waits are streams with agreed names, which sources and engines add and
 * files carry. No code outside the model looks at such a name: analysis and views ask for the kind.
 */
#pragma once
#include "model/profile.h"

enum stream_kind {
    STREAM_OTHER,
    STREAM_HEAP, /* its columns: heapstream.h */
    STREAM_HEAP_SIZES,
    STREAM_HEAP_LIFETIMES,
    STREAM_SCOPES,  /* a row for each span */
    STREAM_MOMENTS, /* what happened at one, in a program with scopes */
    STREAM_LOCKS,   /* a row for each wait */
    STREAM_LOCK_HOLDERS,
    STREAM_LOCK_ORDER,
    STREAM_LOCK_HOLDS,
    STREAM_LOCK_CREATED,
    STREAM_WAITS, /* this and the next two: waitstream.h */
    STREAM_THREAD_STATES,
    STREAM_WAKEUPS,
    STREAM_WALL, /* running and waiting together */
    STREAM_KINDS,
};

/* The event of such a stream; "" for STREAM_OTHER. */
const char *stream_kind_event(enum stream_kind kind);

/* What belongs to another stream and is shown by the command for that: nobody asks for it alone. */
bool stream_kind_is_detail(enum stream_kind kind);

enum stream_kind stream_kind_of(const struct profile *p, const struct stream *s);

/* The first stream of a kind, or -1. */
int stream_kind_find(const struct profile *p, enum stream_kind kind);

/* Add a stream; -1 where P has too many. */
int stream_kind_add(struct profile *p, enum stream_kind kind, enum obtained obtained);
