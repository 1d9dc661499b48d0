/*
 * perfdata_event.h - the events of a perf.data file, and how their records are laid out.
 *
 * The layout of a sample follows from its event's attr.sample_type; the event, from an id in the
 * sample. Other records have the same words about time and event at their end, if the attr
 * says sample_id_all:
 *
 *     sample:  | header 8 | id | ip | pid tid | time | addr | id | stream | cpu | period | ...
 *     others:  | header 8 | what it is about ... | pid tid | time | id | stream | cpu | id |
 *                                                                  each word only if asked for
 */
#pragma once
#include "base/cursor.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "model/event.h"
#include "unwind/walk.h"

#include <linux/perf_event.h>

struct perfdata_event {
    struct perf_event_attr attr;
    char *name;               /* as the file says; NULL until it does */
    char *unit;               /* that counts it on one kind of core only: "cpu_atom"; or NULL */
    int stream;               /* of the profile; -1 until a sample came */
    uint64_t lost, throttled; /* samples; times that the kernel held it back */
    uint64_t enabled_ns, running_ns; /* less where it took turns with others; 0 = not known */
    uint64_t unwound, ends[UNWIND_ENDS];
};

struct perfdata_id {
    uint64_t id;
    uint32_t event;
};

struct perfdata_events {
    VEC(struct perfdata_event) list;
    VEC(struct perfdata_id) ids;
    struct idmap by_id;
};

/* More than anybody records; tables of a hostile file end here. */
enum { PERFDATA_EVENTS_MAX = 4096 };

void perfdata_events_done(struct perfdata_events *es);

/* Add the event of a raw perf_event_attr of any version, which is as long as ATTR. */
bool perfdata_events_add(struct perfdata_events *es, struct text attr);

/* Let ID mean the event at INDEX. */
void perfdata_events_add_id(struct perfdata_events *es, uint64_t id, size_t index);

/* The event of an id, or NULL. */
struct perfdata_event *perfdata_events_find(const struct perfdata_events *es, uint64_t id);

/* What the file calls an event; NAME is copied. */
void perfdata_event_set_name(struct perfdata_event *e, struct text name);

/* Unit NUMBER of the CPU is called NAME: kept if the event is counted there only. */
void perfdata_event_set_unit(struct perfdata_event *e, uint32_t number, struct text name);

/* The kind of core that it is counted on; empty where there is but one. */
struct text perfdata_event_core(const struct perfdata_event *e);

/* The event's name, from the file or made of type and config. Free it. */
char *perfdata_event_name(const struct perfdata_event *e);

/* By what the attr says, or else by the name. */
enum obtained perfdata_event_obtained(const struct perfdata_event *e);

/* What its period measures. */
enum dimension perfdata_event_dimension(const struct perfdata_event *e);

/* One record, header included. */
struct perfdata_record {
    uint32_t type;
    uint16_t misc;
    struct text body; /* behind the header */
    uint64_t offset;  /* in the file, for messages */
    uint64_t time;    /* 0 = not known */
};

/* The event that a record is of, or NULL when its id is not known. */
struct perfdata_event *perfdata_record_event(const struct perfdata_events *es,
                                             const struct perfdata_record *r);

/* When it happened, 0 where the record does not say. Cuts the words at the end off r->body. */
uint64_t perfdata_record_time(const struct perfdata_events *es, struct perfdata_record *r);

struct perfdata_sample {
    uint64_t ip, time, period;
    uint32_t pid, tid;
    const char *chain; /* n_chain words, not aligned */
    size_t n_chain;
    const char *calls; /* n_calls times 24 bytes: from, to, flags; the CPU's own call stack (LBR) */
    size_t n_calls;
    const char *regs; /* one word for each bit of attr.sample_regs_user, not aligned; or NULL */
    uint64_t regs_abi;
    struct text stack;           /* what was copied of it */
    size_t stack_at, stack_room; /* where the copy is in the body, and how much was set aside */

    /* counters that were read, n_read times read_bytes: value first, the id behind it at id_at */
    const char *read;
    size_t n_read, read_bytes, id_at; /* id_at 0 = there are no ids */
    uint64_t enabled_ns, running_ns;  /* of them, up to now; 0 = not known */
};

/* Take a sample apart. NULL, or why it makes no sense. */
const char *perfdata_sample_parse(const struct perfdata_event *e, struct text body,
                                  struct perfdata_sample *ret);

/* A word of the file, in this machine's byte order, not aligned. */
static inline uint64_t perfdata_word(const char *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline uint32_t perfdata_half(const char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* The same, front to back; past the end they are 0 and C is bad. */
static inline uint64_t perfdata_take(struct cursor *c)
{
    if (cursor_left(c) < 8)
        return cursor_bytes(c, 8).n;
    c->at += 8;
    return perfdata_word((const char *)c->at - 8);
}

static inline uint32_t perfdata_take_half(struct cursor *c)
{
    struct text t = cursor_bytes(c, 4);
    return t.n ? perfdata_half(t.at) : 0;
}
