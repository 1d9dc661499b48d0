#include "source/perfdata_queue.h"

/*
 * Records come and go nearly in the order of the file, so they share blocks, each of which is used
 * again when all its records are gone. One that is large gets a block of its own.
 */
struct queue_block {
    size_t n_records, used, size;
    char bytes[];
};

struct queued_record {
    struct queue_block *block;
    uint64_t offset;
    size_t n;
    uint32_t type;
    uint16_t misc;
    char body[];
};

enum {
    BLOCK_BYTES = 64 << 10,
    SHARED_BYTES = 4 << 10, /* records up to this size share blocks */
    BLOCKS_BYTES = 2 * PERFDATA_QUEUE_BYTES,
    /* What a record takes besides, so that many small ones count for what they are. */
    OVERHEAD_BYTES = sizeof(struct queued_record) + sizeof(struct queued) + 8,
};

/* --- memory --- */

static struct queue_block *block_new(struct perfdata_queue *q, size_t size)
{
    struct queue_block *b = mem_realloc(NULL, sizeof *b + size);
    *b = (struct queue_block){.size = size};
    q->block_bytes += sizeof *b + size;
    return b;
}

static void block_free(struct perfdata_queue *q, struct queue_block *b)
{
    if (!b)
        return;
    q->block_bytes -= sizeof *b + b->size;
    free(b);
}

/* A block whose last record is gone. */
static void block_empty(struct perfdata_queue *q, struct queue_block *b)
{
    b->used = 0;
    if (b == q->block)
        return;
    if (b->size != BLOCK_BYTES || q->spare)
        block_free(q, b);
    else
        q->spare = b;
}

/* A block with room for BYTES. */
static struct queue_block *block_for(struct perfdata_queue *q, size_t bytes)
{
    if (bytes > SHARED_BYTES)
        return block_new(q, bytes);
    if (q->block && q->block->size - q->block->used >= bytes)
        return q->block;
    q->block = q->spare ? q->spare : block_new(q, BLOCK_BYTES);
    q->spare = NULL;
    return q->block;
}

static struct queued_record *record_new(struct perfdata_queue *q, size_t body_bytes)
{
    size_t bytes = (sizeof(struct queued_record) + body_bytes + 7) & ~(size_t)7;
    struct queue_block *b = block_for(q, bytes);
    struct queued_record *r = (struct queued_record *)(b->bytes + b->used);
    b->used += bytes;
    b->n_records++;
    r->block = b;
    r->n = body_bytes;
    q->bytes += OVERHEAD_BYTES + body_bytes;
    return r;
}

static void record_drop(struct perfdata_queue *q, struct queued_record *r)
{
    q->bytes -= OVERHEAD_BYTES + r->n;
    if (--r->block->n_records == 0)
        block_empty(q, r->block);
}

void perfdata_queue_done(struct perfdata_queue *q)
{
    for (size_t i = q->n_dropped; i < q->list.n; i++)
        record_drop(q, q->list.at[i].record);
    block_free(q, q->block);
    block_free(q, q->spare);
    vec_done(&q->list);
    vec_done(&q->other);
    vec_done(&q->runs);
}

/* --- adding --- */

/* The record without what was set aside for the stack and not used: still a record of its kind. */
static void copy_without_slack(char *to, struct text body, const struct perfdata_sample *s)
{
    uint64_t size = (s->stack.n + 7) & ~(uint64_t)7;
    size_t behind = s->stack_at + s->stack_room, n = s->stack_at + size;
    memcpy(to, body.at, n);
    memcpy(to + s->stack_at - 8, &size, 8);
    memcpy(to + n, body.at + behind, body.n - behind);
}

void perfdata_queue_add(struct perfdata_queue *q, uint64_t time, const struct perfdata_record *r,
                        const struct perfdata_sample *s)
{
    bool slack = s && s->stack.n + 8 <= s->stack_room && s->stack.n;
    size_t spared = slack ? s->stack_room - ((s->stack.n + 7) & ~(size_t)7) : 0;
    struct queued_record *copy = record_new(q, r->body.n - spared);
    copy->offset = r->offset;
    copy->type = r->type;
    copy->misc = r->misc;
    if (slack)
        copy_without_slack(copy->body, r->body, s);
    else if (r->body.n)
        memcpy(copy->body, r->body.at, r->body.n);
    *vec_push(&q->list) = (struct queued){time, copy};
    q->newest = time > q->newest ? time : q->newest;
}

/* --- sorting --- */

/* Where parts that are in order start, and the end of the list. Returns how many parts. */
static size_t find_runs(struct perfdata_queue *q)
{
    q->runs.n = 0;
    *vec_push(&q->runs) = 0;
    for (size_t i = 1; i < q->list.n; i++)
        if (q->list.at[i].time < q->list.at[i - 1].time)
            *vec_push(&q->runs) = i;
    *vec_push(&q->runs) = q->list.n;
    return q->runs.n - 1;
}

/* Merge FROM[a, b) and FROM[b, c) to the same place in TO. Of equal times the first goes first. */
static void perfdata_queue_merge(struct queued *to, const struct queued *from,
                                 const size_t bounds[3])
{
    size_t i = bounds[0], j = bounds[1], at = bounds[0];
    while (i < bounds[1] && j < bounds[2])
        to[at++] = from[j].time < from[i].time ? from[j++] : from[i++];
    memcpy(to + at, from + i, (bounds[1] - i) * sizeof *to);
    memcpy(to + at + bounds[1] - i, from + j, (bounds[2] - j) * sizeof *to);
}

/* Merge each two neighbouring runs of N. Returns how many are left. */
static size_t merge_pairs(struct perfdata_queue *q, size_t n)
{
    size_t *runs = q->runs.at, left = 0;
    for (size_t i = 0; i < n; i += 2) {
        size_t end = i + 2 < n ? i + 2 : n;
        perfdata_queue_merge(q->other.at, q->list.at, (size_t[]){runs[i], runs[i + 1], runs[end]});
        runs[left++] = runs[i];
    }
    runs[left] = q->list.n;
    struct queued *merged = q->other.at;
    size_t cap = q->other.cap;
    q->other.at = q->list.at;
    q->other.cap = q->list.cap;
    q->list.at = merged;
    q->list.cap = cap;
    return left;
}

/* Each ring's records are in order, and so is what is left of the last time. */
static void sort(struct perfdata_queue *q)
{
    size_t n = q->list.n ? find_runs(q) : 0;
    if (n > 1)
        vec_reserve(&q->other, q->list.n);
    while (n > 1)
        n = merge_pairs(q, n);
}

/* --- handing out --- */

void perfdata_queue_round(struct perfdata_queue *q)
{
    sort(q);
    while (q->n_ready < q->list.n && q->list.at[q->n_ready].time <= q->limit)
        q->n_ready++;
    q->limit = q->newest;
}

bool perfdata_queue_is_full(struct perfdata_queue *q)
{
    if (q->bytes <= PERFDATA_QUEUE_BYTES && q->block_bytes <= BLOCKS_BYTES)
        return false;
    sort(q);
    for (size_t going = 0; q->n_ready < q->list.n && going < PERFDATA_QUEUE_BYTES / 2; q->n_ready++)
        going += OVERHEAD_BYTES + q->list.at[q->n_ready].record->n;
    return true;
}

void perfdata_queue_finish(struct perfdata_queue *q)
{
    sort(q);
    q->n_ready = q->list.n;
}

/* Forget what was handed out. */
static void compact(struct perfdata_queue *q)
{
    if (!q->n_taken)
        return;
    q->list.n -= q->n_taken;
    memmove(q->list.at, q->list.at + q->n_taken, q->list.n * sizeof *q->list.at);
    q->n_taken = q->n_ready = q->n_dropped = 0;
}

size_t perfdata_queue_take(struct perfdata_queue *q, size_t n, struct perfdata_record *ret)
{
    while (q->n_dropped < q->n_taken)
        record_drop(q, q->list.at[q->n_dropped++].record);
    n = n < q->n_ready - q->n_taken ? n : q->n_ready - q->n_taken;
    for (size_t i = 0; i < n; i++) {
        const struct queued_record *r = q->list.at[q->n_taken++].record;
        ret[i] = (struct perfdata_record){
            r->type, r->misc, {r->body, r->n}, r->offset, q->list.at[q->n_taken - 1].time};
    }
    if (!n)
        compact(q);
    return n;
}
