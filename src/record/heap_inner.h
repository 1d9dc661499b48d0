/*
 * heap_inner.h - what heap.c and heap_take.c share.
 */
#pragma once
#include "base/buf.h"
#include "model/heap_areas.h"
#include "model/heap_live.h"
#include "model/heap_tally.h"
#include "record/heap.h"
#include "record/heap_unseen.h"
#include "record/preload.h"
#include "record/stackwalk.h"
#include "record/ticks.h"
#include "wire/heap.h"

/* A program in a process. */
struct heap_program {
    int pid;
    bool over;
    bool gone;   /* the process ended before the last look at the rings */
    bool forked; /* and no program of its own: its parent's blocks are not in `live` */
    struct heap_live live;
    struct heap_areas areas;
    int rss_counter; /* -1 = none yet */
    unsigned censuses;
};

/* A thread's ring, as far as it was taken. */
struct heap_ring {
    uint64_t start_ns; /* which thread's: rings are used again */
    int pid, tid;
    uint32_t program;    /* + 1; 0 = not known yet */
    uint32_t thread;     /* in heap.threads */
    uint64_t stamp;      /* of the last record, as written */
    uint64_t ticks;      /* of the last record: records with the same stamp are spread out */
    uint32_t same_stamp; /* records since */
    uint64_t per_record; /* ticks, as it was lately */
    uint64_t not_before; /* ticks: what is taken now was written after that */
    uint64_t taken_at;   /* ticks of the look that brought the last record */
    uint64_t seen_bytes, seen_ticks; /* the ring ended there, and then, when it was looked at */
    bool realloc_pending;
    struct heap_block pending; /* freed by a realloc that is under way */
    struct attrs_id scopes;    /* that it allocates in */
    bool locked;               /* the thread held a lock when it wrote the record at hand */
    uint64_t pointer;          /* the block of the last record */
    struct heap_near {
        uint32_t node, site_plus_1; /* 0 = not looked for yet */
    } near[HEAP_NEAR_NODES];        /* stacks that came before: wire/heap.h */
    struct heap_area unmapped;      /* last, as a whole; start 0: it was no map that is known */
};

struct heap_thread {
    int pid, tid;
    char comm[CHANNEL_NAME_BYTES];
    struct thread_id id; /* 0 = not asked for yet */
};

/* A block's stack, thread and scopes. */
struct heap_site_key {
    uint32_t node, thread;
    struct attrs_id scopes;
};

/* Sites that were asked for lately. */
enum { HEAP_LATE_SITES = 1024 };
struct heap_late_site {
    struct heap_site_key key;
    uint32_t site_plus_1; /* 0 = none */
};

struct heap {
    struct heap_opts opts;
    struct heap_facts facts;
    struct rings rings;
    struct stackwalk stacks;
    struct heap_tally tally;
    struct preload preload;
    VEC(struct heap_program) programs;
    VEC(struct heap_ring) by_ring;
    VEC(struct heap_thread) threads;
    VEC(struct heap_site_key) site_keys; /* by site */
    struct idmap sites, thread_map;
    struct heap_late_site late_sites[HEAP_LATE_SITES];
    bool stopped;
    size_t n_benchmarks;   /* that reported what they allocate */
    uint64_t n_live;       /* blocks that are followed, of all programs */
    size_t n_running;      /* programs that are not over */
    struct buf own_malloc; /* names of programs, as META_HEAP_OWN_MALLOC has them */
    struct heap_unseen unseen;
    struct ticks clock;
    uint64_t slice_ticks; /* when the slice at hand ends */
    uint64_t last_census_ns;
    uint64_t looked_at;         /* ticks: the last look at the rings */
    uint64_t vague;             /* ticks that a block's time may be off by at most */
    struct heap_probes *probes; /* of a process that ran already; NULL = agents report */
};

/* Take the record at the front of a ring; TICKS as heap_record_ticks() has it. */
void heap_take(struct heap *h, struct heap_ring *ring, const struct record *rec, uint64_t ticks);

/* Records of maps: heap_maps.c. */
void heap_take_map(struct heap *h, struct heap_ring *ring, const struct record *rec);
void heap_take_unmap(struct heap *h, struct heap_ring *ring, const struct record *rec);
void heap_take_remap(struct heap *h, struct heap_ring *ring, const struct record *rec);

/* It is TICKS now, of the thread of RING. */
void heap_take_time(struct heap *h, struct heap_ring *ring, uint64_t ticks);

/* A block came, or went: WORD is the record's, see wire/heap.h. */
void heap_take_block(struct heap *h, struct heap_ring *ring, const struct heap_block *block);
void heap_take_free(struct heap *h, struct heap_ring *ring, uint64_t word);

/* The place of a stack that is known already. */
uint32_t heap_site_of_stack(struct heap *h, const struct heap_site *site);

/* A thread by its numbers and name: in heap.threads. */
uint32_t heap_thread_get(struct heap *h, int pid, int tid, const char *comm);

/* --- heap_probe.c --- */

int heap_probes_open(struct heap *h, struct err *err);
int heap_probes_attach(struct heap *h, struct err *err);
void heap_probes_poll(struct heap *h, uint64_t until_ns);
void heap_probes_stop(struct heap *h);
void heap_probes_close(struct heap *h); /* without probes it does nothing */

/* The place of a stack; what its program holds. */
uint32_t heap_site_of(struct heap *h, struct heap_ring *ring, uint32_t node);
struct heap_program *heap_program_of(struct heap *h, struct heap_ring *ring);

/* When that record was written; 0 if it is invalid. */
uint64_t heap_record_ticks(const struct heap_ring *ring, const struct record *rec);

/* A process has ended, or runs another program. Then call heap_tally_leaked(). */
void heap_program_end(struct heap *h, struct heap_program *p);

/* End the programs of processes that have ended and whose records were all taken. */
void heap_end_gone(struct heap *h, uint64_t time_ns);
