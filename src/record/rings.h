/*
 * rings.h - the recorder's end of a channel (wire/channel.h): makes it, reads the rings of all
 * threads, gives rings of dead threads back.
 *
 *     rings_look()        see how far each thread has written
 *     ring_peek/take()    the records of one ring, oldest first; the caller chooses the order
 *     rings_release()     hand the room back, wake who waits for it
 *
 * What is in the memory is checked here as far as records go: lengths, kinds of padding, bounds. An
 * invalid ring is closed and counted. Records are copied, many at once, before anybody
 * looks at them, so that they stay as they were checked. The code that takes a record must check
 * its content.
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"
#include "wire/channel.h"

struct ring_reader {
    uint32_t index, task;
    int32_t pid, tid;
    char comm[CHANNEL_NAME_BYTES];
    uint64_t start_ns;
    struct ring *ring;
    const uint8_t *data;
    uint64_t size, tail, head;
    bool closed;                 /* the thread is gone or has left the ring */
    const struct record *peeked; /* the record at the tail, in the copy; NULL = not looked at yet */
    uint64_t *copy;              /* of what lies at and behind the tail */
    uint64_t room_bytes;         /* of the copy */
    uint64_t copy_start, copy_end; /* what the copy has, in bytes since the beginning */
};

/* Memory that keeps its size, whoever holds it, in a file for children to inherit. */
struct shared {
    int fd; /* -1 = none */
    uint64_t inode, size_bytes;
    void *at;
};

int shared_open(struct shared *m, const char *name, uint64_t size_bytes, struct err *err);
void shared_close(struct shared *m);

/* How much of it was ever touched. */
int64_t shared_used_bytes(const struct shared *m);

/* What errno says of memory that could not be had. Always returns -1. */
int shared_fail(struct err *err);
int shared_map_fail(uint64_t size_bytes, struct err *err);

struct rings {
    struct shared memory;
    struct channel *channel;
    uint32_t n_rings, ring_bytes;     /* copies: the memory may be scribbled on */
    VEC(struct ring_reader) readers;  /* rings in use */
    VEC(uint32_t) reader_of_ring;     /* + 1; 0 = none */
    uint64_t lost, waits, bad, looks; /* of rings that were given back; rings that made no sense */
    uint64_t open;                    /* scopes, the same */
};

struct rings_opts {
    uint32_t n_rings, ring_bytes; /* ring_bytes: a power of two, of whole pages */
    uint32_t tasks;
};

int rings_open(struct rings *r, const struct rings_opts *o, struct err *err);

/* Rings that a program made: FD is given away. */
int rings_adopt(struct rings *r, int fd, struct err *err);
void rings_close(struct rings *r);

/* Free the memory of rings that will not be read, while programs still have them mapped. */
void rings_empty(struct rings *r);

/* The value of CHANNEL_ENV. Free it. */
char *rings_address(const struct rings *r);

/* True when there is something to take. */
bool rings_look(struct rings *r);

/* Look for the record at the tail: r->peeked. */
const struct record *ring_read(struct ring_reader *r);

/*
 * The oldest record of a ring that was not taken, or NULL. Good until it is taken. Nearly always it
 * is whole in the copy: what is copied reaches neither over the head nor over the end.
 */
static inline const struct record *ring_peek(struct ring_reader *r)
{
    if (r->peeked)
        return r->peeked;
    if (r->tail < r->copy_end) {
        const struct record *rec =
            (const struct record *)(r->copy + (r->tail - r->copy_start) / sizeof *r->copy);
        if (rec->kind && rec->words && rec->words * UINT64_C(8) <= r->copy_end - r->tail)
            return r->peeked = rec;
    }
    return ring_read(r);
}

static inline void ring_take(struct ring_reader *r)
{
    const struct record *rec = ring_peek(r);
    r->tail += rec ? (uint64_t)rec->words * 8 : 0;
    r->peeked = NULL;
}

/* Hand back the room of what was taken from one ring, while there is more to take. */
void ring_give(struct ring_reader *r);

void rings_release(struct rings *r);
void rings_wake(struct rings *r); /* something else changed that agents wait for */

/* A process runs another program: rings of the one before have no owner, although their thread
 * lives. */
void rings_close_older(struct rings *r, int pid, uint64_t start_ns);

/* No run counts so far: what a count is that the program wrote over. */
#define RINGS_DAMAGED (UINT64_C(1) << 40)

/* Records that found no room, and times that a thread waited for it, until now. */
uint64_t rings_lost(const struct rings *r);
uint64_t rings_waits(const struct rings *r);

/* Scopes that were open in threads that have ended. */
uint64_t rings_cut_off(const struct rings *r);
