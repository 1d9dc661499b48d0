/*
 * channel.h - memory that a recorder shares with the agents inside programs: a list of rings.
 *
 * A ring belongs to one thread and one kind of record (allocations, scopes, locks): it has a single
 * writer and a single reader, is bounded, and can be read after the writer died. Writing takes no
 * lock and no system call. The recorder trusts nothing in here: any program may scribble on it.
 *
 *     0         page                        rings_end
 *     | channel | ring 0 | ring 1 | ...     | data of ring 0 | data of ring 1 | ...
 *
 * The file is sparse: pages of rings that nobody uses take no memory.
 *
 * A record is a header of 8 bytes and a payload, in whole words, and never wraps: where it does not
 * fit before the end of the data, a record of kind 0 fills the rest.
 *
 *     0        2              4         8
 *     | u16 kind | u16 words | u32 own | payload ...      words: of the record, header included
 *
 * Writing is reserve, fill, commit. A signal handler may write in between: its record follows the
 * one that it interrupted, and nothing is handed over before that one is filled as well.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes with the layout. */
#define CHANNEL_MAGIC UINT64_C(0x326e6863766c656b) /* "kelvchn2" */

/* Where the channel is: "PID FD INODE"; see MAILBOX_ENV. */
#define CHANNEL_ENV "KELVIN_CHANNEL"

enum {
    CHANNEL_PAGE = 4096,
    CHANNEL_NAME_BYTES = 16,
    CHANNEL_RECORD_WORDS_MAX = 8192, /* of one record: 64 KB */
};

/* What agents are asked to do; bits of channel.tasks. */
enum {
    CHANNEL_HEAP = 1,
    CHANNEL_SCOPES = 2,
    CHANNEL_LOCKS = 4,
};

struct channel {
    uint64_t magic, size_bytes;
    uint32_t n_rings, ring_bytes; /* ring_bytes: of data, a power of two */
    int32_t recorder_pid;
    _Atomic uint32_t tasks;     /* CHANNEL_*; may change while programs run */
    _Atomic uint32_t stop;      /* recording is over */
    _Atomic uint32_t next_ring; /* where to look for a free one */
    _Atomic uint32_t wake;      /* counts what the recorder did; full rings wait for it to change */
    _Atomic uint64_t no_ring;   /* threads that found none */
    _Atomic uint64_t params[16]; /* of the tasks; see heap.h, scopes.h, locks.h */
};

enum ring_state { RING_FREE, RING_TAKEN, RING_LIVE, RING_CLOSED };

/* Writer and reader have cache lines of their own. */
struct ring {
    _Atomic uint32_t state; /* enum ring_state */
    uint32_t task;          /* one of CHANNEL_* */
    int32_t pid, tid;
    char comm[CHANNEL_NAME_BYTES];
    uint64_t start_ns;                  /* CLOCK_MONOTONIC, when the thread took it */
    _Alignas(64) _Atomic uint64_t head; /* bytes written since the beginning */
    _Atomic uint64_t lost;              /* records that found no room */
    _Atomic uint64_t waits;             /* times that the writer waited for room */
    _Atomic uint32_t open;              /* of scopes: how many the thread is in */
    _Atomic uint64_t waiting[3];        /* of locks: for what the thread waits; see locks.h */
    _Alignas(64) _Atomic uint64_t tail; /* bytes taken */
};

struct record {
    uint16_t kind; /* 0 = nothing, up to the end of the data */
    uint16_t words;
    uint32_t own; /* the kind's own */
    uint64_t payload[];
};

static inline uint64_t channel_rings_end(uint64_t n_rings)
{
    uint64_t n = CHANNEL_PAGE + n_rings * sizeof(struct ring);
    return (n + CHANNEL_PAGE - 1) / CHANNEL_PAGE * CHANNEL_PAGE;
}

static inline uint64_t channel_size(uint64_t n_rings, uint64_t ring_bytes)
{
    return channel_rings_end(n_rings) + n_rings * ring_bytes;
}

static inline struct ring *channel_ring(struct channel *c, uint32_t i)
{
    return (struct ring *)(void *)((char *)c + CHANNEL_PAGE) + i;
}

static inline uint8_t *channel_data(struct channel *c, uint32_t n_rings, uint32_t ring_bytes,
                                    uint32_t i)
{
    return (uint8_t *)c + channel_rings_end(n_rings) + (uint64_t)i * ring_bytes;
}

/* --- writing, by the thread that owns the ring --- */

/* The writer's side; in the memory of the program, so that nobody else changes it. */
struct ring_writer {
    struct ring *ring; /* NULL = none */
    uint8_t *data;
    uint64_t size;     /* of data, a power of two */
    uint64_t reserved; /* bytes, handed out since the beginning */
    uint64_t tail;     /* as last seen */
    uint32_t depth;    /* records that are being filled: more than one in signal handlers */
};

/* One instruction: a signal comes before or after it. No other thread has a part in this number. */
static inline bool ring_swap(uint64_t *at, uint64_t is, uint64_t becomes)
{
#if defined __x86_64__
    uint64_t was = is;
    __asm__ volatile("cmpxchgq %2, %1" : "+a"(was), "+m"(*at) : "r"(becomes) : "memory", "cc");
    return was == is;
#else
    return __atomic_compare_exchange_n(at, &is, becomes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

static inline bool ring_has_room(struct ring_writer *w, uint64_t end)
{
    if (end - w->tail <= w->size)
        return true;
    w->tail = atomic_load_explicit(&w->ring->tail, memory_order_acquire);
    return end - w->tail <= w->size;
}

/*
 * Room for a record of WORDS (header included, at most CHANNEL_RECORD_WORDS_MAX), or NULL where the
 * ring is full. Every record must be followed by ring_commit(), NULL by ring_abandon().
 */
static inline struct record *ring_reserve(struct ring_writer *w, uint16_t kind, uint16_t words)
{
    uint64_t at, pad, mask = w->size - 1, n = (uint64_t)words * 8;
    w->depth++;
    do {
        atomic_signal_fence(memory_order_seq_cst);
        at = w->reserved;
        uint64_t left = w->size - (at & mask);
        pad = left < n ? left : 0;
        if (!ring_has_room(w, at + pad + n))
            return NULL;
    } while (!ring_swap(&w->reserved, at, at + pad + n));
    if (pad)
        *(struct record *)(void *)(w->data + (at & mask)) =
            (struct record){.kind = 0, .words = (uint16_t)(pad / 8)};
    struct record *r = (struct record *)(void *)(w->data + ((at + pad) & mask));
    r->kind = kind;
    r->words = words;
    return r;
}

/*
 * Hand over all that is filled, unless a record further out is not. A handler may hand over more
 * between our check and our store: then this is repeated.
 */
static inline void ring_commit(struct ring_writer *w)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (--w->depth)
        return;
    uint64_t all;
    do {
        all = *(volatile uint64_t *)&w->reserved;
        atomic_store_explicit(&w->ring->head, all, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
    } while (all != *(volatile uint64_t *)&w->reserved);
}

/* After a NULL from ring_reserve(). */
static inline void ring_abandon(struct ring_writer *w)
{
    w->depth--;
}
