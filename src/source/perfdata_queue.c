#include "source/perfdata_queue.h"

struct queued_record {
    size_t bytes;
    struct perfdata_record head; /* its body is what follows */
    char body[];
};

/* What malloc takes besides, so that many small records count for what they are. */
enum { OVERHEAD_BYTES = sizeof(struct queued_record) + sizeof(struct queued) + 16 };

static void drop(struct perfdata_queue *q, struct queued *e)
{
    if (!e->record)
        return;
    q->bytes -= e->record->bytes;
    free(e->record);
    e->record = NULL;
}

void perfdata_queue_done(struct perfdata_queue *q)
{
    for (size_t i = 0; i < q->list.n; i++)
        drop(q, &q->list.at[i]);
    vec_done(&q->list);
}

/* The record without what was set aside for the stack and not used: still a record of its kind. */
static size_t copy_without_slack(char *to, struct text body, const struct perfdata_sample *s)
{
    uint64_t size = (s->stack.n + 7) & ~(uint64_t)7;
    size = size && size < s->stack_room ? size : s->stack_room;
    size_t behind = s->stack_at + s->stack_room, n = s->stack_at + size;
    memcpy(to, body.at, n);
    memcpy(to + s->stack_at - 8, &size, 8);
    memcpy(to + n, body.at + behind, body.n - behind);
    return n + body.n - behind;
}

void perfdata_queue_add(struct perfdata_queue *q, uint64_t time, const struct perfdata_record *r,
                        const struct perfdata_sample *s)
{
    bool slack = s && s->stack.n + 8 <= s->stack_room && s->stack.n;
    size_t spared = slack ? s->stack_room - ((s->stack.n + 7) & ~(size_t)7) : 0;
    size_t bytes = OVERHEAD_BYTES + r->body.n - spared;
    struct queued_record *copy = mem_realloc(NULL, sizeof *copy + r->body.n - spared);
    copy->bytes = bytes;
    copy->head = *r;
    if (slack)
        copy->head.body.n = copy_without_slack(copy->body, r->body, s);
    else if (r->body.n)
        memcpy(copy->body, r->body.at, r->body.n);
    copy->head.body.at = copy->body;
    *vec_push(&q->list) = (struct queued){time, q->last_serial++, copy};
    q->bytes += bytes;
    q->newest = time > q->newest ? time : q->newest;
}

static int compare(const void *a, const void *b)
{
    const struct queued *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->serial < y->serial ? -1 : x->serial > y->serial;
}

static void sort(struct perfdata_queue *q)
{
    if (q->list.n)
        qsort(q->list.at, q->list.n, sizeof *q->list.at, compare);
}

void perfdata_queue_round(struct perfdata_queue *q)
{
    sort(q);
    while (q->n_ready < q->list.n && q->list.at[q->n_ready].time <= q->limit)
        q->n_ready++;
    q->limit = q->newest;
}

bool perfdata_queue_is_full(struct perfdata_queue *q)
{
    if (q->bytes <= PERFDATA_QUEUE_BYTES)
        return false;
    sort(q);
    for (size_t going = 0; q->n_ready < q->list.n && going < PERFDATA_QUEUE_BYTES / 2; q->n_ready++)
        going += q->list.at[q->n_ready].record->bytes;
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
    q->n_taken = q->n_ready = 0;
}

bool perfdata_queue_next(struct perfdata_queue *q, struct perfdata_record *ret)
{
    if (q->n_taken)
        drop(q, &q->list.at[q->n_taken - 1]);
    if (q->n_taken == q->n_ready) {
        compact(q);
        return false;
    }
    *ret = q->list.at[q->n_taken++].record->head;
    return true;
}
