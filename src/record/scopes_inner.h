/*
 * scopes_inner.h - rings.c's records become rows: what scopes.c and scopes_take.c share.
 */
#pragma once
#include "base/idmap.h"
#include "record/door.h"
#include "record/preload.h"
#include "record/rings.h"
#include "record/scopes.h"
#include "record/ticks.h"
#include "wire/scopes.h"

/* A name below another, as one thread numbers it. */
struct scopes_path {
    struct stack_id stack;
    struct str_id name;
    uint32_t depth;   /* 0 = not reported */
    uint32_t counter; /* in scopes.counters, + 1; 0 = none yet */
};

/* What was allocated. */
struct scopes_blocks {
    uint64_t blocks, bytes;
};

/* The facts about a depth while the scope there is open. */
struct scopes_level {
    uint64_t children_ticks;
    uint64_t attrs_start; /* of the scope whose attributes these are; 0 = none */
    struct attrs_id attrs;
    uint64_t span_id;              /* of the scope that is open, for a collector; 0 = none yet */
    struct scopes_blocks told;     /* of the span that comes next */
    struct scopes_blocks children; /* of spans here, since the one around them began */
};

struct scopes_ring {
    uint64_t start_ns;
    int32_t pid, tid;
    struct thread_id thread;
    bool scanned;                  /* the maps of its process were read, for addresses */
    VEC(struct scopes_path) paths; /* [0] = the root */
    struct scopes_level levels[SCOPES_DEPTH_MAX + 2];
};

/* A span that crosses threads: one of its two ends. */
struct scopes_half {
    uint64_t id, ticks;
    struct stack_id stack;
    struct str_id name;
    struct thread_id thread;
    uint8_t state; /* 0 free, 1 begun, 2 ended before it was begun */
};

struct scopes_value {
    int64_t value;
    uint64_t ticks;
};

/* A counter or gauge: what it is now, and what the profile says. */
struct scopes_counter {
    struct str_id name;
    struct process_id process;
    bool is_gauge, changed;
    uint64_t ticks; /* of a gauge's last value */
    int64_t value;
    int index; /* in the profile */
    bool ranged;
    struct scopes_value low, high; /* of a gauge since the last point; RANGED: there is one */
};

/* A path that may be asked for after its thread has ended. */
struct scopes_kept {
    struct scopes_place place;
    struct attrs_id labels;
};

enum { SCOPES_HALVES = 1 << 16, SCOPES_COUNTERS_MAX = 1024 };

struct scopes {
    struct scopes_opts opts;
    struct scopes_facts facts;
    struct rings rings;
    struct ticks ticks;
    struct doors doors;      /* of a program that runs */
    enum door_answer answer; /* DOOR_SILENT while there are no rings yet */
    int self_fd;             /* to a program that records itself; -1 = none */
    struct preload preload;  /* for functions */
    char *env_before;
    bool env_set, stopped, seen;
    int stream, events; /* of the profile; -1 = none yet */
    uint64_t last_points_ns, lost_before;
    uint64_t n_ids; /* of spans, for a collector */
    VEC(struct scopes_ring *) by_ring;
    VEC(struct scopes_counter) counters;
    struct idmap places; /* of kept, by thread and path */
    VEC(struct scopes_kept) kept;
    struct scopes_half *halves; /* SCOPES_HALVES, by id, linear probing over a few */
};

/* Of scopes_own.c. No door in the program: *ret_none. */
int scopes_find_own(struct scopes *s, const char *library, bool *ret_none, struct err *err);
void scopes_await_own(struct scopes *s); /* has a door been opened? */
void scopes_leave_own(struct scopes *s);

/* Take one record of a ring. */
void scopes_take(struct scopes *s, struct scopes_ring *ring, const struct record *rec);

/* A path of a ring is known from now on, as PATH says: scopes_labels.c. */
void scopes_keep(struct scopes *s, const struct scopes_place *place, const struct scopes_path *path,
                 uint32_t parent, bool has_name);

/* Spans across threads of which only one end came. */
uint64_t scopes_half_open(const struct scopes *s, bool begun);

/* Write the values of counters that have changed. */
void scopes_write_points(struct scopes *s, uint64_t now_ns);
