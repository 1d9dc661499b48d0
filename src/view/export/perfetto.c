/*
 * perfetto.c - spans, counters and events as Perfetto's own trace, a protobuf: for its page and its
 * trace processor. source/perfetto.c reads it back and names the fields.
 *
 * Each process, thread and counter is a track with a number of its own, and so is each span that
 * crosses threads. A span is two packets, its beginning and its end. The ends of a thread's spans
 * are written in the order of time, inner ones first, as who reads them keeps a stack of them.
 */
#include "base/protoput.h"
#include "base/utf8.h"
#include "model/streamkind.h"
#include "view/export/spans.h"

#include <stdlib.h>

enum {
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60,
    SEQUENCE = 1, /* all packets are of one writer */
    STATE_CLEARED = 1,
};
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };

/* Tracks: numbers of processes, threads, counters and spans, told apart by what they begin with. */
enum { TRACK_PROCESS = 1, TRACK_THREAD, TRACK_COUNTER, TRACK_SPAN };

static uint64_t track(unsigned kind, size_t i)
{
    return (uint64_t)kind << 56 | (uint64_t)(i + 1);
}

struct perfetto {
    FILE *out;
    const struct profile *p;
    const struct stream *spans;
    bool begun;
};

/* A span of a thread, and those that are open around it. */
struct perfetto_item {
    uint64_t thread, start_ns, end_ns;
    uint32_t row;
};

static void put_packet(struct perfetto *t, struct buf *packet)
{
    autobuf struct buf all = {0};
    protoput_number(packet, PACKET_SEQUENCE, SEQUENCE);
    if (!t->begun)
        protoput_number(packet, PACKET_FLAGS, STATE_CLEARED);
    t->begun = true;
    protoput_message(&all, 1, packet);
    fwrite(all.at, 1, all.n, t->out);
}

static void put_perfetto_text(struct buf *b, uint32_t number, struct text text)
{
    autobuf struct buf valid = {0};
    utf8_valid(&valid, text);
    protoput_message(b, number, &valid);
}

/* --- tracks --- */

static void put_track(struct perfetto *t, struct buf *descriptor)
{
    autobuf struct buf packet = {0};
    protoput_message(&packet, PACKET_TRACK, descriptor);
    put_packet(t, &packet);
}

static void put_process_track(struct perfetto *t, uint32_t i)
{
    const struct process *process = &t->p->processes.at[i];
    autobuf struct buf track_of = {0}, own = {0};
    protoput_number(&track_of, 1, track(TRACK_PROCESS, i));
    protoput_number(&own, 1, (uint64_t)process->pid);
    put_perfetto_text(&own, 6, profile_str(t->p, process->executable));
    protoput_message(&track_of, 3, &own);
    put_track(t, &track_of);
}

static void put_thread_track(struct perfetto *t, uint32_t i)
{
    const struct thread *thread = &t->p->threads.at[i];
    autobuf struct buf track_of = {0}, own = {0};
    protoput_number(&track_of, 1, track(TRACK_THREAD, i));
    protoput_number(&track_of, 5, track(TRACK_PROCESS, thread->process.i));
    protoput_number(&own, 1, (uint64_t)profile_pid(t->p, thread));
    protoput_number(&own, 2, (uint64_t)thread->tid);
    put_perfetto_text(&own, 5, profile_str(t->p, thread->name));
    protoput_message(&track_of, 4, &own);
    put_track(t, &track_of);
}

static void put_counter_track(struct perfetto *t, size_t i)
{
    const struct counter *c = &t->p->counters.at[i];
    autobuf struct buf track_of = {0}, own = {0};
    protoput_number(&track_of, 1, track(TRACK_COUNTER, i));
    put_perfetto_text(&track_of, 2, profile_str(t->p, c->name));
    if (c->process.i)
        protoput_number(&track_of, 5, track(TRACK_PROCESS, c->process.i));
    protoput_message(&track_of, 8, &own);
    put_track(t, &track_of);
}

static void put_span_track(struct perfetto *t, size_t row)
{
    uint32_t process = t->p->threads.at[t->spans->rows.thread[row].i].process.i;
    autobuf struct buf track_of = {0};
    protoput_number(&track_of, 1, track(TRACK_SPAN, row));
    put_perfetto_text(&track_of, 2, export_span_name(t->p, t->spans, row));
    protoput_number(&track_of, 5, track(TRACK_PROCESS, process));
    put_track(t, &track_of);
}

static void put_tracks(struct perfetto *t)
{
    for (uint32_t i = 0; i < t->p->processes.n; i++)
        put_process_track(t, i);
    for (uint32_t i = 0; i < t->p->threads.n; i++)
        put_thread_track(t, i);
    for (size_t i = 0; i < t->p->counters.n; i++)
        put_counter_track(t, i);
}

/* --- events --- */

static void put_event(struct perfetto *t, uint64_t time_ns, const struct buf *event)
{
    autobuf struct buf packet = {0};
    protoput_present(&packet, PACKET_TIME, time_ns);
    protoput_message(&packet, PACKET_EVENT, event);
    put_packet(t, &packet);
}

static void put_annotations(struct perfetto *t, struct buf *event, struct attrs_id set)
{
    for (; set.i; set = t->p->attrs.nodes.at[set.i].parent) {
        const struct attr *a = &t->p->attrs.nodes.at[set.i].attr;
        autobuf struct buf note = {0};
        put_perfetto_text(&note, 10, profile_str(t->p, a->key));
        if (a->is_number)
            protoput_present(&note, 4, (uint64_t)a->number);
        else
            put_perfetto_text(&note, 6, profile_str(t->p, a->text));
        protoput_message(event, 4, &note);
    }
}

static void put_begin(struct perfetto *t, size_t row, uint64_t on)
{
    const struct rows *r = &t->spans->rows;
    autobuf struct buf event = {0};
    protoput_number(&event, 9, SLICE_BEGIN);
    protoput_number(&event, 11, on);
    put_perfetto_text(&event, 23, export_span_name(t->p, t->spans, row));
    if (r->attrs)
        put_annotations(t, &event, r->attrs[row]);
    put_event(t, r->time_ns[row], &event);
}

static void put_end(struct perfetto *t, uint64_t time_ns, uint64_t on)
{
    autobuf struct buf event = {0};
    protoput_number(&event, 9, SLICE_END);
    protoput_number(&event, 11, on);
    put_event(t, time_ns, &event);
}

static int by_perfetto_order(const void *a, const void *b)
{
    const struct perfetto_item *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->row > y->row ? -1 : x->row < y->row; /* spans are written when they end */
}

typedef VEC(struct perfetto_item) perfetto_items;

/* Close what ends before UNTIL on the thread of the innermost. */
static void close_items(struct perfetto *t, perfetto_items *open, uint64_t thread,
                        uint64_t until_ns)
{
    while (open->n &&
           (open->at[open->n - 1].thread != thread || open->at[open->n - 1].end_ns <= until_ns)) {
        const struct perfetto_item *last = &open->at[--open->n];
        put_end(t, last->end_ns, last->thread);
    }
}

static void put_items(struct perfetto *t, const perfetto_items *items)
{
    perfetto_items open = {0};
    for (size_t i = 0; i < items->n; i++) {
        struct perfetto_item at = items->at[i];
        close_items(t, &open, at.thread, at.start_ns);
        if (open.n && open.at[open.n - 1].end_ns < at.end_ns)
            at.end_ns = open.at[open.n - 1].end_ns;
        put_begin(t, at.row, at.thread);
        *vec_push(&open) = at;
    }
    close_items(t, &open, 0, UINT64_MAX);
    vec_done(&open);
}

static void put_perfetto_spans(struct perfetto *t)
{
    const struct rows *r = &t->spans->rows;
    perfetto_items items = {0};
    for (size_t i = 0; i < r->n; i++) {
        uint64_t end_ns = r->time_ns[i] + r->duration_ns[i];
        if (export_span_is_async(t->p, t->spans, i)) {
            put_span_track(t, i);
            put_begin(t, i, track(TRACK_SPAN, i));
            put_end(t, end_ns, track(TRACK_SPAN, i));
        } else {
            *vec_push(&items) = (struct perfetto_item){track(TRACK_THREAD, r->thread[i].i),
                                                       r->time_ns[i], end_ns, (uint32_t)i};
        }
    }
    if (items.n)
        qsort(items.at, items.n, sizeof *items.at, by_perfetto_order);
    put_items(t, &items);
    vec_done(&items);
}

/* What happened at a moment: of a trace, without durations. */
static void put_instants(struct perfetto *t, const struct stream *s)
{
    if (s == t->spans || stream_kind_of(t->p, s) != STREAM_MOMENTS || s->rows.duration_ns ||
        !s->rows.time_ns)
        return;
    for (size_t i = 0; i < s->rows.n; i++) {
        autobuf struct buf event = {0};
        protoput_number(&event, 9, INSTANT);
        protoput_number(&event, 11, track(TRACK_THREAD, s->rows.thread[i].i));
        put_perfetto_text(&event, 23, export_span_name(t->p, s, i));
        put_event(t, s->rows.time_ns[i], &event);
    }
}

static void put_points(struct perfetto *t, size_t i)
{
    const struct counter *c = &t->p->counters.at[i];
    for (size_t k = 0; k < c->points.n; k++) {
        autobuf struct buf event = {0};
        protoput_number(&event, 9, COUNTER);
        protoput_number(&event, 11, track(TRACK_COUNTER, i));
        protoput_present(&event, 30, (uint64_t)c->points.at[k].value);
        put_event(t, c->points.at[k].time_ns, &event);
    }
}

static int write_perfetto(FILE *out, const struct selection *s, const struct export_opts *opts,
                          struct err *err)
{
    (void)opts;
    struct perfetto t = {.out = out, .p = s->profile};
    t.spans = export_spans(s, "a Perfetto trace", err);
    if (!t.spans)
        return -1;
    put_tracks(&t);
    put_perfetto_spans(&t);
    for (size_t i = 0; i < t.p->streams.n; i++)
        put_instants(&t, t.p->streams.at[i]);
    for (size_t i = 0; i < t.p->counters.n; i++)
        put_points(&t, i);
    return 0;
}

const struct exporter exporter_perfetto = {
    .name = "perfetto",
    .title = "Perfetto trace, protobuf: ui.perfetto.dev",
    .suffix = ".pftrace",
    .for_viewers = true,
    .write = write_perfetto,
};
