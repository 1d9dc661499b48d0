/*
 * support_recording.h - a profile with something in every corner, written and read back. Include it
 * after cmocka.h.
 */
#pragma once
#include "model/packed.h"
#include "wire/recording.h"

struct bytes {
    char *at;
    size_t n;
};

/* --- making profiles --- */

static inline struct str_id str(struct profile *p, const char *s)
{
    return profile_add_str(p, text_of(s));
}

static inline struct frame_id address_frame(struct profile *p, struct mapping_id m, uint64_t pc)
{
    return profile_add_frame(p, &(struct frame_key){.pc = pc, .mapping = m});
}

static inline void describe(struct profile *p, struct frame_id id, const char *outer,
                            const char *inner)
{
    struct function fo = {.name = str(p, outer), .system_name = str(p, "_Z5outer"), .line = 3};
    struct function fi = {.name = str(p, inner), .file = str(p, "/src/x.c"), .line = 4000000000u};
    struct line lines[] = {{profile_add_function(p, &fo), 10, 2},
                           {profile_add_function(p, &fi), 20, 0}};
    struct frame_key key = {p->frames.at[id.i].pc, p->frames.at[id.i].mapping, FRAME_JIT, lines, 2};
    profile_set_frame(p, id, &key);
}

static inline void add_row(struct profile *p, int stream, struct row r)
{
    static const int64_t base[] = {1, 1001001, 0, 77};
    const struct stream *s = profile_stream(p, stream);
    int64_t values[STREAM_MAX_TYPES] = {0};
    struct err err;
    for (int i = 0; i < s->n_types && i < 4; i++)
        values[i] = base[i] * (int64_t)(s->rows.n % 3 + 1);
    r.values = values;
    assert_int_equal(profile_add_row(p, stream, &r, &err), 0);
}

static inline void must_append(struct recording_writer *w, struct profile *p,
                               struct recording_mark *mark)
{
    struct err err;
    if (w)
        assert_int_equal(recording_append(w, p, mark, &err), 0);
}

static inline struct attrs_id attributes(struct profile *p, int64_t number)
{
    struct attr text = {.key = str(p, "user"), .text = str(p, "x")};
    struct attr size = {
        .key = str(p, "size"), .is_number = true, .number = number, .unit = str(p, "bytes")};
    return attrs_add(&p->attrs, attrs_add(&p->attrs, (struct attrs_id){0}, &text), &size);
}

/*
 * A profile with something in every corner, built in steps. With W each step is appended, so that
 * a recorder's life is played: names, decimals, columns, times, ends of processes and meta come or
 * change later.
 */
static inline struct profile *rich(struct recording_writer *w, struct recording_mark *mark)
{
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/lib/x.so"), str(p, "0abc"), 0xffffffff80000000, ~0ull, 4096};
    struct mapping_id map = profile_add_mapping(p, &m);
    struct process_id process = profile_add_process(
        p, &(struct process){.pid = 100, .executable = str(p, "/bin/x"), .start_ns = 7});
    struct thread_id threads[] = {
        {0},
        profile_add_thread(p, &(struct thread_key){str(p, "main"), 100, 101}),
        profile_add_thread(p, &(struct thread_key){str(p, "main"), THREAD_NO_ID, INT32_MIN})};
    struct frame_id reserved = profile_reserve_frame(p), never = profile_reserve_frame(p);
    struct frame_id a = address_frame(p, map, 0xffffffff80001234);
    struct frame_id b = profile_add_named_frame(p, (struct text){"na\0me\xff", 6}, FRAME_KERNEL);
    struct frame_id chain[] = {reserved, b, a, a, never};
    must_append(w, p, mark);
    int cpu = profile_add_stream(p, "cpu-clock", BY_TIMER);
    profile_add_value(p, cpu, "samples", "count");
    profile_add_value(p, cpu, "cpu", "nanoseconds");
    must_append(w, p, mark);
    add_row(p, cpu, (struct row){.thread = threads[1]});
    add_row(p, cpu, (struct row){.stack = stacks_intern(&p->stacks, chain, 3)});
    p->clock = (struct clock_pair){5, 1700000000000000000};
    must_append(w, p, mark);
    add_row(p, cpu,
            (struct row){stacks_intern(&p->stacks, chain + 1, 4), threads[2],
                         attributes(p, INT64_MIN), true, ~0ull, 17});
    int heap = profile_add_stream(p, "alloc", BY_EXACT_COUNT);
    profile_add_value(p, heap, "alloc_space", "bytes");
    add_row(p, heap, (struct row){.stack = stacks_intern(&p->stacks, chain, 3)});
    profile_stream(p, cpu)->lost_known = true;
    must_append(w, p, mark);
    int64_t value;
    struct err err;
    assert_int_equal(profile_scale_value(p, (struct value_ref){cpu, 1}, 5, 3, &value, &err), 0);
    describe(p, reserved, "outer", "inner");
    profile_add_value(p, heap, "inuse_space", "bytes");
    profile_stream(p, cpu)->lost = 22;
    profile_stream(p, cpu)->guessed = 4;
    profile_stream(p, cpu)->rate_hz = 999;
    profile_set_unfinished(p, cpu, "stack cut", 3);
    meta_set_str(&p->meta, META_HOST, "");
    p->default_value = (struct value_ref){cpu, 1};
    p->processes.at[process.i].end_ns = ~0ull;
    int rss = profile_add_counter(p, "rss", "bytes", process);
    profile_add_point(p, rss, 5, -1);
    must_append(w, p, mark);
    add_row(p, cpu,
            (struct row){.stack = stacks_intern(&p->stacks, chain, 5),
                         .thread = threads[1],
                         .has_time = true,
                         .time_ns = 5});
    add_row(p, heap, (struct row){.attrs = attributes(p, 3)});
    profile_add_point(p, rss, 5, INT64_MAX);
    profile_add_counter(p, "queue", "", (struct process_id){0});
    describe(p, a, "late", "");
    must_append(w, p, mark);
    assert_true(packed_add(p, text_of("/src/x.c"), text_of("int main(void)\n{\n}\n"), true));
    must_append(w, p, mark);
    assert_true(packed_add(p, text_of("/bin/x"), (struct text){"", 0}, false));
    must_append(w, p, mark);
    return p;
}

/* --- writing and reading back --- */

struct sink {
    struct bytes bytes;
    FILE *out;
    struct recording_writer w;
    struct recording_mark mark;
};

static inline void sink_open(struct sink *s)
{
    struct err err;
    *s = (struct sink){0};
    s->out = open_memstream(&s->bytes.at, &s->bytes.n);
    assert_int_equal(recording_writer_init(&s->w, s->out, &err), 0);
}

static inline struct bytes sink_close(struct sink *s, const struct profile *p)
{
    struct err err;
    assert_int_equal(recording_end(&s->w, p, &err), 0);
    recording_mark_done(&s->mark);
    recording_writer_done(&s->w);
    fclose(s->out);
    return s->bytes;
}

static inline struct bytes write_whole(struct profile *p)
{
    struct sink s;
    sink_open(&s);
    must_append(&s.w, p, &s.mark);
    return sink_close(&s, p);
}

static inline struct profile *read_bytes(const void *bytes, size_t n, struct recording_state *ret)
{
    struct reader in;
    struct err err;
    struct profile *p = profile_new();
    reader_open_memory(&in, bytes, n);
    int rc = recording_read(&in, p, ret, &err);
    reader_close(&in);
    if (rc == 0)
        return p;
    assert_int_equal(err.code, EXIT_INPUT);
    profile_free(p);
    return NULL;
}

static inline void same_text(struct text a, struct text b)
{
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.at, b.at, a.n);
}

static inline void same_frames(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->frames.n, b->frames.n);
    for (size_t i = 0; i < a->frames.n; i++) {
        const struct frame *x = &a->frames.at[i], *y = &b->frames.at[i];
        assert_true(x->pc == y->pc && x->mapping.i == y->mapping.i && x->kind == y->kind);
        assert_int_equal(x->n_lines, y->n_lines);
        if (x->n_lines)
            assert_memory_equal(profile_lines(a, x), profile_lines(b, y),
                                x->n_lines * sizeof(struct line));
    }
}

static inline void same_facts(const struct stream *a, const struct stream *b)
{
    assert_true(a->event.i == b->event.i && a->obtained == b->obtained);
    assert_true(a->rate_hz == b->rate_hz && a->rate_achieved_hz == b->rate_achieved_hz);
    assert_true(a->lost_known == b->lost_known && a->lost == b->lost);
    assert_true(a->throttled == b->throttled && a->guessed == b->guessed &&
                a->unfinished_known == b->unfinished_known);
    assert_int_equal(a->n_unfinished, b->n_unfinished);
    assert_memory_equal(a->unfinished, b->unfinished, sizeof a->unfinished);
    assert_int_equal(a->n_types, b->n_types);
    for (int i = 0; i < a->n_types; i++) {
        const struct value_type *x = &a->types[i], *y = &b->types[i];
        assert_true(x->name.i == y->name.i && x->unit.i == y->unit.i);
        assert_true(x->dimension == y->dimension && x->role == y->role);
        assert_true(x->decimals == y->decimals && x->total == y->total);
    }
}

/* All rows of A, which B may have more of. */
static inline void same_rows(const struct stream *a, const struct stream *b)
{
    const struct rows *x = &a->rows, *y = &b->rows;
    assert_true(x->n <= y->n);
    for (size_t i = 0; i < x->n; i++) {
        assert_int_equal(x->stack[i].i, y->stack[i].i);
        assert_int_equal(x->thread[i].i, y->thread[i].i);
        assert_true(!x->time_ns || x->time_ns[i] == y->time_ns[i]);
        assert_true(!x->duration_ns || x->duration_ns[i] == y->duration_ns[i]);
        assert_true(!x->attrs || x->attrs[i].i == y->attrs[i].i);
    }
}

static inline void same_rows_of_all(const struct profile *a, const struct profile *b)
{
    assert_true(a->streams.n <= b->streams.n);
    for (size_t i = 0; i < a->streams.n; i++)
        same_rows(a->streams.at[i], b->streams.at[i]);
}

static inline void same_streams(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->streams.n, b->streams.n);
    assert_memory_equal(&a->default_value, &b->default_value, sizeof a->default_value);
    for (size_t i = 0; i < a->streams.n; i++) {
        const struct stream *x = a->streams.at[i], *y = b->streams.at[i];
        same_facts(x, y);
        assert_int_equal(x->rows.n, y->rows.n);
        same_rows(x, y);
        assert_int_equal(!x->rows.time_ns, !y->rows.time_ns);
        assert_int_equal(!x->rows.duration_ns, !y->rows.duration_ns);
        assert_int_equal(!x->rows.attrs, !y->rows.attrs);
        for (int t = 0; t < x->n_types; t++)
            assert_memory_equal(x->rows.value[t], y->rows.value[t], x->rows.n * sizeof(int64_t));
    }
}

static inline void same_counters(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->counters.n, b->counters.n);
    for (size_t i = 0; i < a->counters.n; i++) {
        const struct counter *x = &a->counters.at[i], *y = &b->counters.at[i];
        assert_true(x->name.i == y->name.i && x->unit.i == y->unit.i &&
                    x->dimension == y->dimension && x->process.i == y->process.i);
        assert_int_equal(x->points.n, y->points.n);
        if (x->points.n)
            assert_memory_equal(x->points.at, y->points.at, x->points.n * sizeof *x->points.at);
    }
}

static inline void same_attrs(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->attrs.nodes.n, b->attrs.nodes.n);
    for (size_t i = 1; i < a->attrs.nodes.n; i++) {
        const struct attr_node *x = &a->attrs.nodes.at[i], *y = &b->attrs.nodes.at[i];
        assert_true(x->parent.i == y->parent.i && x->attr.key.i == y->attr.key.i);
        assert_true(x->attr.is_number == y->attr.is_number && x->attr.number == y->attr.number);
        assert_true(x->attr.text.i == y->attr.text.i && x->attr.unit.i == y->attr.unit.i);
    }
}

static inline void same_processes(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->processes.n, b->processes.n);
    for (size_t i = 0; i < a->processes.n; i++) {
        const struct process *x = &a->processes.at[i], *y = &b->processes.at[i];
        assert_true(x->pid == y->pid && x->parent.i == y->parent.i && x->attrs.i == y->attrs.i);
        assert_true(x->executable.i == y->executable.i && x->host.i == y->host.i);
        assert_true(x->start_ns == y->start_ns && x->end_ns == y->end_ns);
    }
}

static inline void same_meta(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->meta.entries.n, b->meta.entries.n);
    for (size_t i = 0; i < a->meta.entries.n; i++) {
        assert_string_equal(a->meta.entries.at[i].key, b->meta.entries.at[i].key);
        assert_string_equal(a->meta.entries.at[i].value, b->meta.entries.at[i].value);
    }
}

static inline void same_packed(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->packed.n, b->packed.n);
    for (size_t i = 0; i < a->packed.n; i++) {
        const struct packed_file *x = &a->packed.at[i], *y = &b->packed.at[i];
        assert_true(x->path.i == y->path.i && x->newer == y->newer);
        same_text(x->text, y->text);
    }
}

static inline void same_profile(const struct profile *a, const struct profile *b)
{
    assert_int_equal(a->strings.strings.n, b->strings.strings.n);
    for (size_t i = 0; i < a->strings.strings.n; i++)
        same_text(a->strings.strings.at[i], b->strings.strings.at[i]);
    assert_int_equal(a->mappings.n, b->mappings.n);
    assert_memory_equal(a->mappings.at, b->mappings.at, a->mappings.n * sizeof *a->mappings.at);
    assert_int_equal(a->functions.n, b->functions.n);
    assert_memory_equal(a->functions.at, b->functions.at, a->functions.n * sizeof *a->functions.at);
    assert_int_equal(a->threads.n, b->threads.n);
    assert_memory_equal(a->threads.at, b->threads.at, a->threads.n * sizeof *a->threads.at);
    assert_int_equal(a->stacks.nodes.n, b->stacks.nodes.n);
    assert_memory_equal(a->stacks.nodes.at + 1, b->stacks.nodes.at + 1,
                        (a->stacks.nodes.n - 1) * sizeof *a->stacks.nodes.at);
    same_frames(a, b);
    same_attrs(a, b);
    same_processes(a, b);
    same_streams(a, b);
    same_counters(a, b);
    same_meta(a, b);
    same_packed(a, b);
    assert_memory_equal(&a->clock, &b->clock, sizeof a->clock);
}
