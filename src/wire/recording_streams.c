/*
 * recording_streams.c - streams, their rows, and counters as chunks.
 *
 *     STRM  default stream + 1, default type, number of streams; for each:
 *           event obtained rate achieved lost+1 throttled guessed   rates in 1/1000 Hz; lost 0:
 *                                                                   not known
 *           unfinished+1, for each: why n                           0: not known
 *           number of types, for each: name unit dimension role decimals
 *
 * A stream is described anew whenever one of these changes; a type whose decimals grew has its old
 * values rescaled. Streams and types never go away.
 */
#include "wire/recording_inner.h"

#include <xxhash.h>

static void put_stream(struct buf *b, const struct stream *s)
{
    buf_varint(b, s->event.i);
    buf_varint(b, s->obtained);
    buf_varint(b, (uint64_t)(s->rate_hz * 1000 + 0.5));
    buf_varint(b, (uint64_t)(s->rate_achieved_hz * 1000 + 0.5));
    buf_varint(b, s->lost_known ? s->lost + 1 : 0);
    buf_varint(b, s->throttled);
    buf_varint(b, s->guessed);
    buf_varint(b, s->unfinished_known ? (uint64_t)s->n_unfinished + 1 : 0);
    for (int i = 0; s->unfinished_known && i < s->n_unfinished; i++) {
        buf_varint(b, s->unfinished[i].why.i);
        buf_varint(b, s->unfinished[i].n);
    }
    buf_varint(b, (uint64_t)s->n_types);
    for (int i = 0; i < s->n_types; i++) {
        const struct value_type *t = &s->types[i];
        buf_varint(b, t->name.i);
        buf_varint(b, t->unit.i);
        buf_varint(b, t->dimension);
        buf_varint(b, t->role);
        buf_varint(b, (uint64_t)t->decimals);
    }
}

static int append_streams(struct recording_writer *w, const struct profile *p,
                          struct recording_mark *mark, struct err *err)
{
    buf_varint(&w->raw, (uint64_t)(p->default_value.stream + 1));
    buf_varint(&w->raw, (uint64_t)p->default_value.type);
    buf_varint(&w->raw, p->streams.n);
    for (size_t i = 0; i < p->streams.n; i++)
        put_stream(&w->raw, p->streams.at[i]);
    uint64_t hash = XXH3_64bits(w->raw.at, w->raw.n);
    if (hash == mark->streams) {
        w->raw.n = 0;
        return 0;
    }
    mark->streams = hash;
    return recording_write_chunk(w, "STRM", err);
}

static void put_rows(struct buf *b, const struct stream *s, size_t stream, size_t from, size_t to)
{
    const struct rows *r = &s->rows;
    unsigned flags = (r->time_ns ? ROWS_TIME : 0u) | (r->duration_ns ? ROWS_DURATION : 0u) |
                     (r->attrs ? ROWS_ATTRS : 0u);
    buf_varint(b, stream);
    buf_varint(b, to - from);
    buf_varint(b, (uint64_t)s->n_types);
    buf_varint(b, flags);
    column_write(b, i, from, to, r->stack[i].i);
    column_write(b, i, from, to, r->thread[i].i);
    if (r->time_ns)
        column_write(b, i, from, to, r->time_ns[i]);
    if (r->duration_ns)
        column_write(b, i, from, to, r->duration_ns[i]);
    if (r->attrs)
        column_write(b, i, from, to, r->attrs[i].i);
    for (int t = 0; t < s->n_types; t++)
        column_write(b, i, from, to, r->value[t][i]);
}

/* Rows that were forgotten were written before: those in memory start behind them. */
static int recording_streams_append_rows(struct recording_writer *w, const struct profile *p,
                                         size_t stream, size_t *at, struct err *err)
{
    const struct stream *s = p->streams.at[stream];
    size_t first = s->rows.forgotten, end = first + s->rows.n;
    while (*at < end) {
        size_t to = recording_upto(*at, end);
        put_rows(&w->raw, s, stream, *at - first, to - first);
        if (recording_write_chunk(w, "ROWS", err) != 0)
            return -1;
        *at = to;
    }
    return 0;
}

static int append_counters(struct recording_writer *w, const struct profile *p,
                           struct recording_mark *mark, struct err *err)
{
    const struct counter *c = p->counters.at;
    size_t from = mark->counters, to = p->counters.n;
    if (from == to)
        return 0;
    buf_varint(&w->raw, to - from);
    column_write(&w->raw, i, from, to, c[i].name.i);
    column_write(&w->raw, i, from, to, c[i].unit.i);
    column_write(&w->raw, i, from, to, c[i].dimension);
    column_write(&w->raw, i, from, to, c[i].process.i);
    mark->counters = to;
    return recording_write_chunk(w, "CNTR", err);
}

static int append_points(struct recording_writer *w, const struct counter *c, size_t counter,
                         size_t *at, struct err *err)
{
    while (*at < c->points.n) {
        size_t to = recording_upto(*at, c->points.n);
        buf_varint(&w->raw, counter);
        buf_varint(&w->raw, to - *at);
        column_write(&w->raw, i, *at, to, c->points.at[i].time_ns);
        column_write(&w->raw, i, *at, to, c->points.at[i].value);
        if (recording_write_chunk(w, "PNTS", err) != 0)
            return -1;
        *at = to;
    }
    return 0;
}

int recording_append_streams(struct recording_writer *w, const struct profile *p,
                             struct recording_mark *mark, struct err *err)
{
    while (mark->stream_row.n < p->streams.n)
        *vec_push(&mark->stream_row) = 0;
    while (mark->counter_point.n < p->counters.n)
        *vec_push(&mark->counter_point) = 0;
    if (append_streams(w, p, mark, err) != 0)
        return -1;
    for (size_t i = 0; i < p->streams.n; i++)
        if (recording_streams_append_rows(w, p, i, &mark->stream_row.at[i], err) != 0)
            return -1;
    if (append_counters(w, p, mark, err) != 0)
        return -1;
    for (size_t i = 0; i < p->counters.n; i++)
        if (append_points(w, &p->counters.at[i], i, &mark->counter_point.at[i], err) != 0)
            return -1;
    return 0;
}

void recording_put_totals(struct buf *b, const struct profile *p)
{
    buf_varint(b, p->streams.n);
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct stream *s = p->streams.at[i];
        buf_varint(b, s->rows.forgotten + s->rows.n);
        buf_varint(b, (uint64_t)s->n_types);
        for (int t = 0; t < s->n_types; t++)
            buf_varint(b, (uint64_t)s->types[t].total);
    }
    buf_varint(b, p->counters.n);
    for (size_t i = 0; i < p->counters.n; i++)
        buf_varint(b, p->counters.at[i].points.n);
}
