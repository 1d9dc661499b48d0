/*
 * perfdata_queue.h - records put into the order of time.
 *
 * perf writes what each CPU's ring holds, ring after ring, and then a mark: "round finished". No
 * record still to come can be older than the newest record before the last mark but one. So two
 * rounds are kept at most, and no more than PERFDATA_QUEUE_BYTES: of a longer round the older half
 * is handed out as if it were over.
 *
 *     perfdata_queue_add(q, ...);
 *     perfdata_queue_round(q);
 *     while ((n = perfdata_queue_take(q, SOME, records)))
 *         ...
 */
#pragma once
#include "source/perfdata_event.h"

enum { PERFDATA_QUEUE_BYTES = 48 << 20 };

struct queued_record; /* with its bytes */
struct queue_block;   /* memory of many records */

struct queued {
    uint64_t time;
    struct queued_record *record;
};

struct perfdata_queue {
    VEC(struct queued) list;            /* sorted up to n_ready while records are handed out */
    VEC(struct queued) other;           /* where the list is merged to */
    VEC(size_t) runs;                   /* where parts of the list that are in order start */
    size_t n_ready, n_taken, n_dropped; /* taken, and not even in use any more */
    size_t bytes, block_bytes;          /* of all records in it; of all memory for them */
    struct queue_block *block, *spare;  /* that is being filled; an empty one */
    uint64_t newest, limit;
};

void perfdata_queue_done(struct perfdata_queue *q); /* zeroed is fine */

/* Keep a copy of R; of a stack in it (by S, may be NULL) only the bytes that were copied. */
void perfdata_queue_add(struct perfdata_queue *q, uint64_t time, const struct perfdata_record *r,
                        const struct perfdata_sample *s);

/* A round is finished: what no later record can precede is ready. */
void perfdata_queue_round(struct perfdata_queue *q);

/* Whether so much is kept that some must go, which is then ready. */
bool perfdata_queue_is_full(struct perfdata_queue *q);

/* All that is left is ready. */
void perfdata_queue_finish(struct perfdata_queue *q);

/* The oldest records that are ready, at most N, good until the next call. Returns how many. */
size_t perfdata_queue_take(struct perfdata_queue *q, size_t n, struct perfdata_record *ret);
