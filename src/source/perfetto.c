/*
 * perfetto.c - spans of Perfetto's traces, a protobuf: its SDK, Chrome, Android.
 *
 *     Trace             1 packet, again and again
 *     TracePacket       6 clock_snapshot, 8 timestamp, 10 sequence, 11 track_event,
 *                       12 interned_data, 13 sequence_flags, 58 timestamp_clock,
 *                       59 defaults {58 timestamp_clock, 11 {11 track}}, 60 track_descriptor
 *     TrackDescriptor   1 uuid, 2 name, 3 process {1 pid, 6 name}, 4 thread {1 pid, 2 tid, 5 name},
 *                       5 parent, 8 counter {4 unit_multiplier, 5 is_incremental}, 10 static_name
 *     TrackEvent        4 annotation, 9 type (1 begin, 2 end, 3 instant, 4 counter), 10 name_iid,
 *                       11 track, 23 name, 30 counter_value, 44 double_counter_value
 *     DebugAnnotation   1 name_iid, 10 name, 2 bool, 3 uint, 4 int, 5 double, 6 text
 *     InternedData      2 event names, 3 names of annotations; each {1 iid, 2 name}
 *     ClockSnapshot     1 clock {1 id, 2 timestamp, 3 is_incremental, 4 unit_multiplier_ns}
 *
 * Writers ("sequences") intern names and have clocks of their own, whose times may be differences
 * to the one before. Everything else in a trace (the kernel's events, heap profiles) is left out
 * and counted.
 */
#include "base/protofield.h"
#include "source/import.h"
#include "source/sources.h"
#include "source/spanlanes.h"

enum { STATE_CLEARED = 1 };
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum {
    PACKET_MAX = 64 << 20,
    CLOCK_KERNEL = 3,
    CLOCK_BOOT = 6,
    CLOCK_OWN_FIRST = 64,
    CLOCK_OWN_END = 128
};

/* A clock of a sequence. */
struct pf_clock {
    uint64_t value, multiplier; /* of its last time; nanoseconds of one */
    uint64_t at, at_ns;         /* the same moment on it and on the trace's clock */
    bool known, incremental;
};

struct pf_sequence {
    uint64_t id, clock, track;
    struct pf_clock clocks[CLOCK_OWN_END - CLOCK_OWN_FIRST];
    VEC(struct pf_name) names, keys;
};

struct pf_name {
    uint64_t iid;
    struct str_id name;
};

struct pf_track {
    uint64_t uuid, parent;
    struct str_id name;
    int64_t pid, tid; /* -1 = none of its own */
    struct str_id process_name;
    bool is_thread, is_counter, is_sum;
    int64_t multiplier, sum;
};

struct pf {
    struct import *im;
    struct spanlanes lanes;
    VEC(struct pf_sequence *) sequences;
    VEC(struct pf_track) tracks;
    struct idmap track_map;
    uint64_t others, ends; /* packets of other kinds; ends without a beginning */
};

/* --- sequences and names --- */

static struct pf_sequence *pf_sequence(struct pf *t, uint64_t id)
{
    for (size_t i = t->sequences.n; i-- > 0;)
        if (t->sequences.at[i]->id == id)
            return t->sequences.at[i];
    struct pf_sequence *new = mem_new(struct pf_sequence);
    *new = (struct pf_sequence){.id = id};
    *vec_push(&t->sequences) = new;
    return new;
}

static struct str_id pf_find_name(const struct pf_name *at, size_t n, uint64_t iid)
{
    if (iid && iid <= n &&
        at[iid - 1].iid == iid) /* numbers are mostly given one after the other */
        return at[iid - 1].name;
    for (size_t i = n; i-- > 0;)
        if (at[i].iid == iid)
            return at[i].name;
    return (struct str_id){0};
}

static struct pf_name pf_read_name(struct pf *t, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    struct pf_name name = {0};
    while (protofield_next(&c, &f)) {
        if (f.number == 1 && f.wire == PROTO_VARINT)
            name.iid = f.value;
        else if (f.number == 2 && f.wire == PROTO_BYTES)
            name.name = profile_add_str(t->im->profile, f.bytes);
    }
    return name;
}

static void pf_read_interned(struct pf *t, struct pf_sequence *s, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    while (protofield_next(&c, &f)) {
        if (f.wire != PROTO_BYTES)
            continue;
        if (f.number == 2)
            *vec_push(&s->names) = pf_read_name(t, f.bytes);
        else if (f.number == 3)
            *vec_push(&s->keys) = pf_read_name(t, f.bytes);
    }
}

/* --- clocks --- */

struct pf_reading {
    uint64_t id, timestamp, incremental, multiplier;
};

static void pf_read_snapshot(struct pf_sequence *s, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    struct pf_reading all[32];
    uint64_t boot_ns = 0;
    size_t n = 0;
    while (protofield_next(&c, &f)) {
        uint64_t v[5] = {0};
        if (f.number != 1 || f.wire != PROTO_BYTES || n == 32 || !protofield_numbers(f.bytes, v, 4))
            continue;
        all[n++] = (struct pf_reading){v[1], v[2], v[3], v[4]};
        bool of_the_kernel = v[1] == CLOCK_BOOT || v[1] == CLOCK_KERNEL;
        if (of_the_kernel && (!boot_ns || v[1] == CLOCK_BOOT))
            boot_ns = v[2];
    }
    for (size_t i = 0; i < n; i++) {
        if (all[i].id < CLOCK_OWN_FIRST || all[i].id >= CLOCK_OWN_END)
            continue;
        uint64_t multiplier = all[i].multiplier ? all[i].multiplier : 1;
        s->clocks[all[i].id - CLOCK_OWN_FIRST] =
            (struct pf_clock){.value = all[i].timestamp,
                              .multiplier = multiplier,
                              .at = all[i].timestamp,
                              .at_ns = boot_ns,
                              .known = true,
                              .incremental = all[i].incremental};
    }
}

/* A time of a packet in nanoseconds of the trace's clock. */
static uint64_t pf_time(struct pf_sequence *s, uint64_t clock, uint64_t timestamp)
{
    if (clock < CLOCK_OWN_FIRST || clock >= CLOCK_OWN_END)
        return timestamp;
    struct pf_clock *c = &s->clocks[clock - CLOCK_OWN_FIRST];
    if (!c->known)
        return timestamp;
    c->value = c->incremental ? c->value + timestamp : timestamp;
    return c->at_ns + (c->value - c->at) * c->multiplier;
}

/* --- tracks --- */

static struct pf_track *pf_track(struct pf *t, uint64_t uuid)
{
    uint32_t hash = hash_pair((uint32_t)uuid, (uint32_t)(uuid >> 32));
    for_each_match (&t->track_map, hash, i)
        if (t->tracks.at[i].uuid == uuid)
            return &t->tracks.at[i];
    idmap_add(&t->track_map, hash, (uint32_t)t->tracks.n);
    struct pf_track *new = vec_push(&t->tracks);
    *new = (struct pf_track){.uuid = uuid, .pid = -1, .tid = -1, .multiplier = 1};
    return new;
}

/* Numbers up to 5, and the text that is field TEXT. */
static void pf_read_owner(struct pf *t, struct text message, uint32_t text, int64_t *ret_pid,
                          int64_t *ret_tid, struct str_id *ret_name)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    while (protofield_next(&c, &f)) {
        bool small = f.wire == PROTO_VARINT && f.value <= INT32_MAX;
        if (f.number == 1 && small)
            *ret_pid = (int64_t)f.value;
        else if (f.number == 2 && small && ret_tid)
            *ret_tid = (int64_t)f.value;
        else if (f.number == text && f.wire == PROTO_BYTES)
            *ret_name = profile_add_str(t->im->profile, f.bytes);
    }
}

static void pf_read_counter(struct pf_track *k, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    k->is_counter = true;
    while (protofield_next(&c, &f)) {
        if (f.number == 4 && f.wire == PROTO_VARINT && f.value)
            k->multiplier = (int64_t)f.value;
        else if (f.number == 5 && f.wire == PROTO_VARINT)
            k->is_sum = f.value;
    }
}

static void pf_read_track(struct pf *t, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    struct pf_track k = {.pid = -1, .tid = -1, .multiplier = 1};
    while (protofield_next(&c, &f)) {
        if (f.number == 1 && f.wire != PROTO_BYTES)
            k.uuid = f.value;
        else if (f.number == 5 && f.wire != PROTO_BYTES)
            k.parent = f.value;
        else if (f.wire != PROTO_BYTES)
            continue;
        else if (f.number == 2 || f.number == 10)
            k.name = profile_add_str(t->im->profile, f.bytes);
        else if (f.number == 3)
            pf_read_owner(t, f.bytes, 6, &k.pid, NULL, &k.process_name);
        else if (f.number == 4) {
            k.is_thread = true;
            pf_read_owner(t, f.bytes, 5, &k.pid, &k.tid, &k.name);
        } else if (f.number == 8)
            pf_read_counter(&k, f.bytes);
    }
    *pf_track(t, k.uuid) = k;
}

/* The process that a track belongs to: its own or that of one further up. */
static int64_t pf_pid(struct pf *t, const struct pf_track *k)
{
    enum { UP_MAX = 32 };
    for (int i = 0; i < UP_MAX && k->pid < 0 && k->parent; i++)
        k = pf_track(t, k->parent);
    return k->pid;
}

static uint32_t pf_lane(struct pf *t, uint64_t uuid)
{
    uint32_t lane = spanlanes_lane(&t->lanes, uuid, 0);
    struct pf_track k = *pf_track(t, uuid);
    int64_t pid = pf_pid(t, &k);
    struct span_lane *l = &t->lanes.lanes.at[lane];
    l->pid = pid;
    l->tid = k.tid;
    l->name = k.name;
    l->process_name = k.process_name;
    return lane;
}

/* --- events --- */

struct pf_event {
    uint64_t type, track, time_ns;
    struct str_id name;
    int64_t value;
    bool has_value;
    struct attrs_id attrs;
};

static void pf_read_annotation(struct pf *t, const struct pf_sequence *s, struct pf_event *e,
                               struct text message)
{
    struct profile *p = t->im->profile;
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    struct attr a = {0};
    bool has = false;
    while (protofield_next(&c, &f)) {
        char real[32];
        double x;
        if (f.number == 1 && f.wire == PROTO_VARINT)
            a.key = pf_find_name(s->keys.at, s->keys.n, f.value);
        else if (f.number == 10 && f.wire == PROTO_BYTES)
            a.key = profile_add_str(p, f.bytes);
        else if (f.number >= 2 && f.number <= 4 && f.wire == PROTO_VARINT) {
            has = a.is_number = true;
            a.number = (int64_t)f.value;
        } else if (f.number == 5 && f.wire == PROTO_FIXED64) {
            memcpy(&x, &f.value, sizeof x);
            snprintf(real, sizeof real, "%.6g", x);
            has = true;
            a.text = profile_add_str(p, text_of(real));
        } else if (f.number == 6 && f.wire == PROTO_BYTES) {
            has = true;
            a.text = profile_add_str(p, f.bytes);
        }
    }
    if (has && a.key.i)
        e->attrs = attrs_add(&p->attrs, e->attrs, &a);
}

static void pf_read_event(struct pf *t, const struct pf_sequence *s, struct pf_event *e,
                          struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    double x;
    int n_annotations = 0;
    while (protofield_next(&c, &f)) {
        if (f.number == 9 && f.wire == PROTO_VARINT)
            e->type = f.value;
        else if (f.number == 10 && f.wire == PROTO_VARINT)
            e->name = pf_find_name(s->names.at, s->names.n, f.value);
        else if (f.number == 11 && f.wire != PROTO_BYTES)
            e->track = f.value;
        else if (f.number == 23 && f.wire == PROTO_BYTES)
            e->name = profile_add_str(t->im->profile, f.bytes);
        else if (f.number == 30 && f.wire == PROTO_VARINT) {
            e->has_value = true;
            e->value = (int64_t)f.value;
        } else if (f.number == 44 && f.wire == PROTO_FIXED64) {
            memcpy(&x, &f.value, sizeof x);
            e->has_value = x > -9e18 && x < 9e18;
            e->value = e->has_value ? (int64_t)x : 0;
        } else if (f.number == 4 && f.wire == PROTO_BYTES && !t->im->opts.merge &&
                   n_annotations++ < 16)
            pf_read_annotation(t, s, e, f.bytes);
    }
}

static void pf_add_value(struct pf *t, const struct pf_event *e)
{
    struct pf_track *k = pf_track(t, e->track);
    int64_t value, sum;
    if (!e->has_value || __builtin_mul_overflow(e->value, k->multiplier, &value) ||
        __builtin_add_overflow(k->sum, value, &sum))
        return;
    k->sum = k->is_sum ? sum : value;
    struct str_id name = k->name.i ? k->name : e->name;
    value = k->sum;
    int64_t pid = pf_pid(t, k);
    spanlanes_add_point(&t->lanes, profile_str(t->im->profile, name), pid, e->time_ns, value);
}

static void pf_add_event(struct pf *t, const struct pf_event *e)
{
    struct profile *p = t->im->profile;
    if (e->type < SLICE_BEGIN || e->type > COUNTER) {
        t->others++;
        return;
    }
    if (e->type == COUNTER) {
        pf_add_value(t, e);
        return;
    }
    uint32_t lane = pf_lane(t, e->track);
    struct text name = profile_str(p, e->name);
    struct frame_id frame =
        profile_add_named_frame(p, name.n ? name : text_of("(no name)"), FRAME_USER);
    struct span_begun b = {e->time_ns, frame, e->attrs};
    if (e->type == SLICE_BEGIN)
        spanlanes_begin(&t->lanes, lane, &b);
    else if (e->type == INSTANT)
        spanlanes_add_moment(&t->lanes, lane, frame, e->time_ns);
    else if (!spanlanes_end(&t->lanes, lane, e->time_ns, e->attrs))
        t->ends++;
}

/* --- packets --- */

static void pf_read_defaults(struct pf_sequence *s, struct text message)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    while (protofield_next(&c, &f)) {
        uint64_t v[12] = {0};
        if (f.number == 58 && f.wire == PROTO_VARINT)
            s->clock = f.value;
        else if (f.number == 11 && f.wire == PROTO_BYTES) {
            struct cursor d = cursor_of(f.bytes.at, f.bytes.n);
            struct protofield g = {0};
            while (protofield_next(&d, &g))
                if (g.number < 12 && g.wire != PROTO_BYTES)
                    v[g.number] = g.value;
            s->track = v[11];
        }
    }
}

/* The parts of a packet come in any order, and mean something only together. */
struct pf_packet {
    uint64_t sequence, flags, clock, timestamp;
    bool has_clock, has_time, is_other;
    struct text snapshot, event, interned, defaults, track;
};

static bool pf_parse_packet(struct text message, struct pf_packet *p)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    *p = (struct pf_packet){0};
    while (protofield_next(&c, &f)) {
        struct text *part = f.number == 6    ? &p->snapshot
                            : f.number == 11 ? &p->event
                            : f.number == 12 ? &p->interned
                            : f.number == 59 ? &p->defaults
                            : f.number == 60 ? &p->track
                                             : NULL;
        if (f.wire == PROTO_BYTES && part)
            *part = f.bytes;
        else if (f.wire == PROTO_BYTES)
            p->is_other = true;
        else if (f.number == 8) {
            p->has_time = true;
            p->timestamp = f.value;
        } else if (f.number == 10)
            p->sequence = f.value;
        else if (f.number == 13)
            p->flags = f.value;
        else if (f.number == 58) {
            p->has_clock = true;
            p->clock = f.value;
        }
    }
    return !c.bad;
}

static void pf_take_packet(struct pf *t, const struct pf_packet *p)
{
    struct pf_sequence *s = pf_sequence(t, p->sequence);
    if (p->flags & STATE_CLEARED)
        s->names.n = s->keys.n = s->clock = s->track = 0;
    if (p->defaults.n)
        pf_read_defaults(s, p->defaults);
    if (p->interned.n)
        pf_read_interned(t, s, p->interned);
    if (p->snapshot.n)
        pf_read_snapshot(s, p->snapshot);
    if (p->track.n)
        pf_read_track(t, p->track);
    uint64_t clock = p->has_clock ? p->clock : s->clock;
    uint64_t time_ns = p->has_time ? pf_time(s, clock, p->timestamp) : 0;
    if (p->event.n && p->has_time) {
        struct pf_event e = {.track = s->track, .time_ns = time_ns};
        pf_read_event(t, s, &e, p->event);
        pf_add_event(t, &e);
    } else if (p->is_other && !p->track.n && !p->snapshot.n && !p->defaults.n && !p->interned.n) {
        t->others++;
    }
}

/* --- the file --- */

/* The length of the packet that comes next; 0 = the end, or damage. */
static size_t pf_packet_start(struct pf *t, struct err *err)
{
    struct text head = reader_peek(t->im->in, 16);
    struct cursor c = cursor_of(head.at, head.n);
    if (!head.n)
        return 0;
    uint64_t tag = cursor_varint(&c), n = cursor_varint(&c);
    if (c.bad || tag != (1 << 3 | PROTO_BYTES) || n > PACKET_MAX) {
        err_set(err, EXIT_ERROR, "no packet at byte %llu",
                (unsigned long long)reader_offset(t->im->in));
        return 0;
    }
    reader_take(t->im->in, head.n - (size_t)cursor_left(&c));
    return n ? (size_t)n : SIZE_MAX;
}

/* What comes before a cut is whole. */
static int pf_read_packets(struct pf *t, struct err *err)
{
    struct pf_packet p;
    size_t n;
    err->code = 0;
    while ((n = pf_packet_start(t, err)) != 0) {
        if (n == SIZE_MAX)
            continue;
        struct text message = reader_peek(t->im->in, n);
        bool cut = message.n < n;
        message.n = cut ? message.n : n;
        if (cut) {
            import_note(t->im,
                        "the file ends in the middle of a packet: what comes before is read");
            return 0;
        }
        if (!pf_parse_packet(message, &p)) {
            if (import_skip_byte(t->im, reader_offset(t->im->in), err, "a packet is invalid") != 0)
                return -1;
        } else {
            pf_take_packet(t, &p);
        }
        reader_take(t->im->in, n);
    }
    return err->code ? -1 : 0;
}

static void pf_done(struct pf *t)
{
    for (size_t i = 0; i < t->sequences.n; i++) {
        vec_done(&t->sequences.at[i]->names);
        vec_done(&t->sequences.at[i]->keys);
        free(t->sequences.at[i]);
    }
    vec_done(&t->sequences);
    vec_done(&t->tracks);
    idmap_done(&t->track_map);
    spanlanes_done(&t->lanes);
}

static int perfetto_read(struct import *im, struct err *err)
{
    struct pf t = {.im = im, .lanes.im = im};
    int rc = pf_read_packets(&t, err);
    if (rc == 0 && t.others)
        import_note(
            im, "packets left out, as they are not spans, counters or moments of a program: %llu",
            (unsigned long long)t.others);
    if (rc == 0 && t.ends)
        import_note(im, "ends of spans that began before the trace, left out: %llu",
                    (unsigned long long)t.ends);
    if (rc == 0)
        rc = spanlanes_build(&t.lanes, err);
    pf_done(&t);
    return rc;
}

/* Two packets behind one another, with fields that packets have. */
static int perfetto_probe(struct text head, bool whole)
{
    struct cursor c = cursor_of(head.at, head.n);
    struct protofield f = {0}, g = {0};
    int packets = 0;
    while (packets < 8 && protofield_next(&c, &f)) {
        if (f.number != 1 || f.wire != PROTO_BYTES)
            return 0;
        struct cursor d = cursor_of(f.bytes.at, f.bytes.n);
        bool known = !f.bytes.n;
        while (protofield_next(&d, &g))
            known |= g.number == 8 || g.number == 10 || g.number == 6 || g.number == 60 ||
                     g.number == 36 || g.number == 33;
        if (d.bad || !known)
            return 0;
        packets++;
    }
    return packets >= 2 || (packets == 1 && whole && !c.bad) ? 95 : 0;
}

const struct source source_perfetto = {
    .name = "perfetto",
    .title = "Perfetto trace (protobuf)",
    .probe = perfetto_probe,
    .read = perfetto_read,
};
