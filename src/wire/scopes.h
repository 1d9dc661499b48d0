/*
 * scopes.h - what agents report about a program's scopes: records of the rings of task
 * CHANNEL_SCOPES.
 *
 * A name under the name around it is a path, which has a number in its ring from 1 on. Numbers are
 * given by the thread that writes, before they are used; 0 is the root. See channel.h for the
 * header of a record; `own` is its third field. Times are ticks.
 *
 *     PATH         own path     parent | bytes << 32, bytes of the name
 *     PATH_AT      own path     parent, address                  of a function
 *     SPAN         own path     start, duration                  when the scope ends: 24 bytes
 *     SPAN_WITH    own path     the same, of a scope with attributes
 *     ATTRS        own path     start; for each: key | kind << 32 | bytes << 40, value or bytes
 *     COUNT        own path     time, how much more
 *     GAUGE        own path     time, value
 *     EVENT        own path     time
 *     BEGIN        own path     time, id                         of a span that may cross threads
 *     END          own 0        time, id
 *     HEAP         own path     blocks, bytes                    allocated in the span that follows
 *                                                                and in the scopes inside of it
 *
 * ATTRS come when the scope begins, and more of them while it is open: their start is the one of
 * the SPAN_WITH that follows when it ends. Keys are paths below the root. Those of a trace that
 * spans several programs are texts in hex with these keys.
 */
#pragma once
#include "wire/channel.h"

enum scopes_kind {
    SCOPES_PATH = 1,
    SCOPES_SPAN,
    SCOPES_SPAN_WITH,
    SCOPES_ATTRS,
    SCOPES_COUNT,
    SCOPES_GAUGE,
    SCOPES_EVENT,
    SCOPES_BEGIN,
    SCOPES_END,
    SCOPES_PATH_AT,
    SCOPES_MAPS,
    SCOPES_HEAP,
};

/* Of W3C's trace context: of the span, the one that called it from another program, its own. */
#define SCOPES_TRACE_ID "trace_id"
#define SCOPES_PARENT_ID "parent_span_id"
#define SCOPES_SPAN_ID "span_id"

/* Kinds of an attribute's value, as in kelvin.h. */
enum { SCOPES_INTEGER = 1, SCOPES_REAL, SCOPES_TEXT };

/* Task CHANNEL_SCOPES in the list of channel.params. The second half counts what went wrong. */
enum {
    SCOPES_PARAM_TICKS,      /* 1: times are ticks of the processor's counter, else nanoseconds */
    SCOPES_PARAM_ABANDONED,  /* scopes that never ended: longjmp, or open when the thread ended */
    SCOPES_PARAM_UNBALANCED, /* ends of what this thread did not begin */
    SCOPES_PARAM_DEEP,       /* scopes nested too deeply */
    SCOPES_PARAM_NAMELESS,   /* scopes that share a name, because the thread had too many */
    SCOPES_PARAM_LEAST,      /* functions that took fewer ticks are not reported */
    SCOPES_PARAM_REENTERED,  /* scopes of a signal handler that interrupted the agent */
};

#define SCOPES_AGENT_FILE "libkelvin-scopes.so"

enum {
    SCOPES_DEPTH_MAX = 128,
    SCOPES_PATHS_MAX = 4096, /* of a thread */
    SCOPES_NAME_MAX = 512,   /* bytes; what is longer is cut */
    SCOPES_ATTRS_MAX = 4,
    SCOPES_TEXT_MAX = 256, /* bytes of an attribute's text */
    SCOPES_OWN_DEPTH = 16, /* in `own`, from this bit on: how deep a scope of SCOPES_MORE is */
};

/* Rings of a channel for scopes, and how large: what a thread reports in a few milliseconds. */
enum { SCOPES_RINGS = 4096, SCOPES_RING_BYTES = 4 << 20 };

/*
 * A program that records itself starts a recorder with this variable: "CHANNEL SOCKET", files that
 * it inherits. The recorder writes a byte to the socket when it listens, the program one when it
 * ends; the recorder closes it when the recording is whole.
 */
#define SCOPES_SELF_ENV "KELVIN_SELF"

/* Functions of programs built with -finstrument-functions: "all", or "only" and places in hex. */
#define SCOPES_FUNCTIONS_ENV "KELVIN_FUNCTIONS"

/* Scopes of a thread that has too many paths: the last number, which stands at the root. */
#define SCOPES_MORE "[more scopes]"
