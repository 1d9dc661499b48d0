#include "model/streamkind.h"

#include "model/waitstream.h"

static const char *const kind_events[STREAM_KINDS] = {
    [STREAM_OTHER] = "",
    [STREAM_HEAP] = "heap",
    [STREAM_HEAP_SIZES] = "heap-sizes",
    [STREAM_HEAP_LIFETIMES] = "heap-lifetimes",
    [STREAM_SCOPES] = "scopes",
    [STREAM_MOMENTS] = "events",
    [STREAM_LOCKS] = "locks",
    [STREAM_LOCK_HOLDERS] = "lock-holders",
    [STREAM_LOCK_ORDER] = "lock-order",
    [STREAM_LOCK_HOLDS] = "lock-holds",
    [STREAM_LOCK_CREATED] = "lock-created",
    [STREAM_WAITS] = WAITSTREAM_EVENT,
    [STREAM_THREAD_STATES] = "thread-states",
    [STREAM_WAKEUPS] = "wakeups",
    [STREAM_WALL] = "wall",
};

const char *stream_kind_event(enum stream_kind kind)
{
    return kind_events[kind];
}

bool stream_kind_is_detail(enum stream_kind kind)
{
    return kind == STREAM_HEAP_SIZES || kind == STREAM_HEAP_LIFETIMES ||
           kind == STREAM_LOCK_HOLDERS || kind == STREAM_LOCK_ORDER || kind == STREAM_LOCK_HOLDS ||
           kind == STREAM_LOCK_CREATED || kind == STREAM_THREAD_STATES;
}

enum stream_kind stream_kind_of(const struct profile *p, const struct stream *s)
{
    struct text event = profile_str(p, s->event);
    for (int i = STREAM_OTHER + 1; i < STREAM_KINDS; i++)
        if (text_is(event, kind_events[i]))
            return (enum stream_kind)i;
    return STREAM_OTHER;
}

int stream_kind_find(const struct profile *p, enum stream_kind kind)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (stream_kind_of(p, p->streams.at[i]) == kind)
            return (int)i;
    return -1;
}

int stream_kind_add(struct profile *p, enum stream_kind kind, enum obtained obtained)
{
    return profile_add_stream(p, kind_events[kind], obtained);
}
