/*
 * scopes.h - the inside of the agent for scopes, the library behind include/kelvin.h.
 *
 *     scopes.c         what kelvin.h calls
 *     scopes_thread.c  a ring and a table of names for each thread
 *     scopes_self.c    rings of our own: a recorder comes while the program runs, or is started
 *     scopes_functions.c  functions of programs built with -finstrument-functions
 *     scopes_trace.c   traces that span several programs
 *
 * It is loaded by the program itself: a constructor in kelvin.h calls dlopen where the environment
 * has KELVIN_SCOPES. So programs without the header take no notice, nothing is preloaded, and the
 * linker's rules for weak symbols do not matter. Nothing here blocks: what finds no room is
 * counted.
 *
 * Scopes that lie below the stack pointer when another begins were left by longjmp and are dropped;
 * so is what is inside a scope that ends. Memory of threads is wiped by the kernel when a process
 * forks: a child takes a ring of its own. Texts of attributes are reported when a scope begins, as
 * they may be gone at its end.
 */
#pragma once
#define KELVIN_OFF /* the library itself has no scopes */
#include "../include/kelvin.h"
#include "channel.h"
#include "inscope.h"
#include "proc.h"
#include "wire/counter.h"
#include "wire/scopes.h"

#define SCOPES_LIKELY(x) __builtin_expect(!!(x), 1)
#define SCOPES_EXPORT __attribute__((visibility("default")))

enum { SCOPES_TABLE = 2 * SCOPES_PATHS_MAX };

/* A name under a path, and the path of both. */
struct scopes_name {
    uint64_t name; /* id of a site, or a hash with the highest bit set; 0 = free */
    uint32_t parent, path;
};

/* The trace of a scope that is open, and those around which it is. */
struct scopes_trace {
    uint32_t depth; /* 0 = none */
    uint64_t scope; /* its start */
    char id[33];
};

/* In has_attrs of a scope that is open. */
enum { SCOPES_HAS_ATTRS = 1, SCOPES_IS_FUNCTION = 2 };

struct scopes_thread {
    struct ring_writer writer;
    uint32_t depth;                  /* scopes that are open */
    uint32_t n_paths;                /* the last path that was given a number */
    uint32_t epoch;                  /* of scopes_epoch; 0 = wiped by a fork */
    uint32_t n_spans;                /* of those that cross threads */
    const struct inscope_heap *heap; /* what this thread has allocated; NULL = not known */
    bool told_maps;
    volatile bool busy;                             /* with the table of names */
    struct inscope_open open[SCOPES_DEPTH_MAX + 1]; /* [0] = the root */
    struct scopes_name names[SCOPES_TABLE];
    struct scopes_trace trace;
    struct {
        uint32_t depth;
        uint64_t start, id;
    } given;                                   /* the id of the last scope that asked for one */
    uint32_t too_deep;                         /* functions that were begun and have no place */
    uintptr_t functions[SCOPES_DEPTH_MAX + 1]; /* that are open */
    uint64_t seed;                             /* of ids; 0 = none yet */
    uint64_t pushed[SCOPES_DEPTH_MAX + 1];     /* when: of scopes that lie nowhere on the stack */
};

/* The state of this thread, or NULL. */
extern __thread struct scopes_thread *scopes_mine;
extern bool scopes_has_ticks;

/* From 1 on; changes when there are other rings. Scopes that began before then are not reported. */
extern uint32_t scopes_epoch;

extern const struct kelvin_hooks scopes_hooks;

/* There are rings: threads may begin. */
void scopes_begin_now(void);

/* The program ends by exit(). */
void scopes_main_over(void);

/* Begin with this thread; NULL when there is no ring for it. */
struct scopes_thread *scopes_thread_open(void);

/* The path of NAME below PARENT, made if there is none; 0 = it could not be reported: counted. */
uint32_t scopes_path_make(struct scopes_thread *t, uint32_t parent, uint64_t name,
                          const char *text);

/* Attributes of a scope that is open, one call's or more. False: they could not be reported. */
bool scopes_tell_attrs(struct scopes_thread *t, const struct kelvin_scope *s, int n,
                       const struct kelvin_attr *attrs);

/* Report what was allocated in the scope at DEPTH, before its span. */
void scopes_tell_heap(struct scopes_thread *t, uint32_t depth);

/* Of scopes_trace.c: see kelvin_hooks. */
int scopes_trace_take(const char *traceparent);
int scopes_trace_give(char *ret_traceparent);

/* The same of a function. */
uint32_t scopes_path_at(struct scopes_thread *t, uint32_t parent, uintptr_t function);

/* The scope at DEPTH, which was pushed or is a function, has ended. */
void scopes_tell_pushed(struct scopes_thread *t, uint32_t depth, uint64_t end);
void scopes_functions_start(void);

/* One of SCOPES_PARAM_* happened N times. */
void scopes_trouble(int param, uint64_t n);

static inline uint64_t scopes_ticks(void)
{
    return SCOPES_LIKELY(scopes_has_ticks) ? counter_read() : proc_now_ns();
}

static inline struct scopes_thread *scopes_thread_get(void)
{
    struct scopes_thread *t = scopes_mine;
    return SCOPES_LIKELY(t && t->epoch == scopes_epoch) ? t : scopes_thread_open();
}

/* In a scope: the path, and under which rings. Epochs come back after 65,536 recorders. */
static inline uint32_t scopes_pack(const struct scopes_thread *t, uint32_t path)
{
    return path | t->epoch << 16;
}

static inline bool scopes_is_of_now(const struct kelvin_scope *s)
{
    return (uint16_t)(s->path >> 16) == (uint16_t)scopes_epoch;
}

/* The thread is in so many scopes: for who looks on. The line is written for each span anyway. */
static inline void scopes_show_depth(struct scopes_thread *t)
{
    atomic_store_explicit(&t->writer.ring->open, t->depth, memory_order_relaxed);
}

/* There was no room for a record. */
static inline void scopes_lose(struct scopes_thread *t)
{
    ring_abandon(&t->writer);
    atomic_fetch_add_explicit(&t->writer.ring->lost, 1, memory_order_relaxed);
}

/* A scope begins: what was allocated up to now is not its own. */
static inline void scopes_note_heap(struct scopes_thread *t, struct inscope_open *o)
{
    if (t->heap) {
        o->blocks = t->heap->blocks;
        o->bytes = t->heap->bytes;
    }
}

/* It ends. */
static inline void scopes_end_heap(struct scopes_thread *t, uint32_t depth)
{
    if (t->heap && t->heap->blocks != t->open[depth].blocks)
        scopes_tell_heap(t, depth);
}

/* What a record says of the scope at DEPTH: all that share SCOPES_MORE say how deep they are. */
static inline uint32_t scopes_own(uint32_t path, uint32_t depth)
{
    return SCOPES_LIKELY(path != SCOPES_PATHS_MAX) ? path : path | depth << SCOPES_OWN_DEPTH;
}

static inline uint32_t scopes_slot(uint32_t parent, uint64_t name)
{
    uint64_t x = (name ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(x >> 40) & (SCOPES_TABLE - 1);
}

static inline uint32_t scopes_path(struct scopes_thread *t, uint32_t parent, uint64_t name,
                                   const char *text)
{
    const struct scopes_name *n = &t->names[scopes_slot(parent, name)];
    if (SCOPES_LIKELY(n->name == name && n->parent == parent))
        return n->path;
    return scopes_path_make(t, parent, name, text);
}
