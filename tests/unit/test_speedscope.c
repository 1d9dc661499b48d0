/*
 * speedscope in and out: what each part of a file means, what is refused and how, and that our
 * own exports come back the same.
 */
#include "base/buf.h"
#include "base/units.h"
#include "source/import.h"
#include "view/export/export.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- a profile as lines of text --- */

static void add_stack(struct buf *b, const struct profile *p, struct stack_id id)
{
    struct stack_id path[64];
    size_t n = 0;
    for (; id.i; id = p->stacks.nodes.at[id.i].parent)
        path[n++] = id;
    while (n-- > 0) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[path[n].i].frame);
        for (size_t i = 0; i < f->n_lines; i++) {
            const struct line *l = &profile_lines(p, f)[i];
            struct text file = profile_str(p, p->functions.at[l->function.i].file);
            buf_printf(b, "%.*s", TEXT_ARG(profile_function_name(p, l->function)));
            if (file.n)
                buf_printf(b, "(%.*s:%u:%u)", TEXT_ARG(file), l->line, l->column);
            buf_str(b, i + 1 < f->n_lines || n ? ";" : "");
        }
        if (f->kind)
            buf_printf(b, "<%d>", f->kind);
    }
}

static void add_stream(struct buf *b, const struct profile *p, const struct stream *s)
{
    buf_printf(b, "%.*s:", TEXT_ARG(profile_str(p, s->event)));
    for (int i = 0; i < s->n_types; i++)
        buf_printf(b, " %.*s/%.*s", TEXT_ARG(profile_str(p, s->types[i].name)),
                   TEXT_ARG(profile_str(p, s->types[i].unit)));
    buf_printf(b, " by %s\n", obtained_name(s->obtained));
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct thread *t = &p->threads.at[s->rows.thread[i].i];
        buf_printf(b, "%.*s %d/%d: ", TEXT_ARG(profile_str(p, t->name)), profile_pid(p, t), t->tid);
        add_stack(b, p, s->rows.stack[i]);
        for (int k = 0; k < s->n_types; k++) {
            char number[UNITS_MAX];
            buf_printf(b, " %s", units_decimal(number, s->rows.value[k][i], s->types[k].decimals));
        }
        if (s->rows.time_ns)
            buf_printf(b, " @%llu", (unsigned long long)s->rows.time_ns[i]);
        buf_byte(b, '\n');
    }
}

/* The default, if any; streams, and one line a row: "thread pid/tid: stack value value @time". */
static const char *dump(struct buf *b, const struct profile *p)
{
    b->n = 0;
    if (p->default_value.stream >= 0)
        buf_printf(b, "default %d %d\n", p->default_value.stream, p->default_value.type);
    for (size_t i = 0; i < p->streams.n; i++)
        add_stream(b, p, p->streams.at[i]);
    return buf_cstr(b);
}

static struct profile *load(const char *doc, size_t n, const struct import_opts *opts,
                            struct err *err, char *first_skip)
{
    struct reader in;
    struct import im;
    struct profile *p = NULL;
    reader_open_memory(&in, doc, n);
    int rc = import_reader(&im, &in, "test", opts, &p, err);
    if (first_skip)
        memcpy(first_skip, im.first_skip, sizeof im.first_skip);
    import_done(&im);
    reader_close(&in);
    return rc == 0 ? p : NULL;
}

static void reads_as(const char *doc, const char *want)
{
    struct err err;
    autobuf struct buf b = {0};
    struct profile *p = load(doc, strlen(doc), &(struct import_opts){0}, &err, NULL);
    if (!p)
        fail_msg("%s", err.text);
    assert_string_equal(dump(&b, p), want);
    profile_free(p);
}

#define SCHEMA "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
#define FRAMES "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]}"
#define ONE(profile) SCHEMA FRAMES ",\"profiles\":[" profile "]}"
#define SAMPLED(unit, samples, weights)                                                           \
    "{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"" unit "\",\"startValue\":0,\"endValue\":9," \
    "\"samples\":" samples ",\"weights\":" weights "}"
#define EVENTED(end, events)                                                           \
    "{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"milliseconds\",\"startValue\":0," \
    "\"endValue\":" end ",\"events\":[" events "]}"
#define EVENT(type, frame, at) "{\"type\":\"" type "\",\"frame\":" frame ",\"at\":" at "}"

/* --- reading --- */

static void sampled_times_are_samples_with_a_clock(void **state)
{
    (void)state;
    reads_as(ONE(SAMPLED("seconds", "[[0,1],[0],[]]", "[0.01,0.30000000000000004,1e-9]")),
             ": samples/count time/nanoseconds by not recorded\n"
             "t -1/-1: a;b 1 10000000 @0\n"
             "t -1/-1: a 1 300000000 @10000000\n"
             "t -1/-1:  1 1 @310000000\n");
}

static void other_units_have_no_clock(void **state)
{
    (void)state;
    reads_as(ONE(SAMPLED("none", "[[0,1],[2]]", "[2.5,1]")), ": weight/count by not recorded\n"
                                                             "t -1/-1: a;b 2.5\n"
                                                             "t -1/-1: c 1\n");
    reads_as(ONE(SAMPLED("bytes", "[[0]]", "[4096]")), ": bytes/bytes by not recorded\n"
                                                       "t -1/-1: a 4096\n");
}

static void every_time_unit_is_scaled_exactly(void **state)
{
    (void)state;
    reads_as(
        ONE(SAMPLED("nanoseconds", "[[0]]", "[1.5]") "," SAMPLED(
            "microseconds", "[[0]]", "[1.0000005]") "," SAMPLED("milliseconds", "[[0]]", "[0.1]")),
        ": samples/count time/nanoseconds by not recorded\n"
        "t -1/-1: a 1 1.5 @0\n"
        "t -1/-1: a 1 1000.001 @0\n"
        "t -1/-1: a 1 100000 @0\n");
}

static void events_become_self_time(void **state)
{
    (void)state;
    reads_as(ONE(EVENTED(
                 "10",
                 EVENT("O", "0", "1") "," EVENT("O", "1", "2.5") "," EVENT("C", "1", "4") "," EVENT(
                     "C", "0", "4.25") "," EVENT("O", "2", "6") "," EVENT("C", "2", "7"))),
             ": duration/nanoseconds by trace\n"
             "t -1/-1: a 1500000 @1000000\n"
             "t -1/-1: a;b 1500000 @2500000\n"
             "t -1/-1: a 250000 @4000000\n"
             "t -1/-1: c 1000000 @6000000\n");
}

static void units_are_not_mixed(void **state)
{
    (void)state;
    reads_as(SCHEMA FRAMES ",\"activeProfileIndex\":1,\"profiles\":[" SAMPLED(
                 "seconds", "[[0]]", "[1]") "," SAMPLED("bytes", "[[0]]", "[7]") "]}",
             "default 1 0\n"
             ": samples/count time/nanoseconds by not recorded\n"
             "t -1/-1: a 1 1000000000 @0\n"
             ": bytes/bytes by not recorded\n"
             "t -1/-1: a 7\n");
}

static void frames_may_come_last(void **state)
{
    (void)state;
    reads_as("{\"profiles\":[{\"weights\":[1,2],\"samples\":[[2,0],[1]],\"unit\":\"none\","
             "\"name\":\"\",\"type\":\"sampled\"}],\"shared\":{\"frames\":[{\"name\":\"a\","
             "\"file\":\"x.c\",\"line\":3,\"col\":4},{\"name\":\"b\",\"line\":null},"
             "{\"name\":\"c\"}]}}",
             ": weight/count by not recorded\n"
             " -1/-1: c;a(x.c:3:4) 1\n"
             " -1/-1: b 2\n");
}

static void names_go_to_meta(void **state)
{
    (void)state;
    struct err err;
    const char doc[] = SCHEMA "\"name\":\"run 7\",\"exporter\":\"py-spy@1\"," FRAMES
                              ",\"profiles\":[" SAMPLED("none", "[[0]]", "[1]") "]}";
    struct profile *p = load(doc, strlen(doc), &(struct import_opts){0}, &err, NULL);
    assert_non_null(p);
    assert_string_equal(meta_find(&p->meta, "name"), "run 7");
    assert_string_equal(meta_find(&p->meta, META_TOOL), "py-spy@1");
    assert_int_equal(profile_stream(p, 0)->obtained, OBTAINED_UNKNOWN);
    profile_free(p);
}

/* --- flaws --- */

static void refuses(const char *doc, const char *want)
{
    struct err err = {0};
    struct profile *p =
        load(doc, strlen(doc), &(struct import_opts){.format = "speedscope"}, &err, NULL);
    profile_free(p);
    if (p || !strstr(err.text, want) || err.code != EXIT_INPUT)
        fail_msg("wanted '%s', got '%s' (code %d)", want, err.text, err.code);
}

static void flaws_are_refused_with_their_byte(void **state)
{
    (void)state;
    refuses(ONE(SAMPLED("none", "[[3]]", "[1]")), "byte 221: frame index 3 is out of range");
    refuses(ONE(SAMPLED("none", "[[-1]]", "[1]")), "frame index -1 is out of range");
    refuses("{\"profiles\":[" SAMPLED("none", "[[4000000000]]", "[1]") "]," FRAMES "}",
            "byte 106: frame index 4000000000 is out of range: there are 3 frames");
    refuses("{\"profiles\":[" SAMPLED("none", "[[0]]", "[1]") "]}", "there are 0 frames");
    refuses(ONE(SAMPLED("none", "[[0]]", "[-1]")), "a weight is negative");
    refuses(ONE(SAMPLED("none", "[[0]]", "[\"x\"]")), "a weight is not a number");
    refuses(ONE(SAMPLED("none", "[[0],[1]]", "[1]")), "2 samples but 1 weights");
    refuses(ONE(SAMPLED("parsecs", "[[0]]", "[1]")), "the unit 'parsecs' is not known");
    refuses(ONE("{\"type\":\"sampled\",\"unit\":\"none\",\"samples\":[]}"), "without \"samples\"");
    refuses(ONE("{\"type\":\"evented\",\"unit\":\"none\"}"), "without \"events\"");
    refuses(ONE("{\"unit\":\"none\"}"), "a profile without \"type\"");
    refuses(ONE("{\"type\":\"sampled\"}"), "a profile without \"unit\"");
    refuses(ONE("{\"type\":\"graph\"}"), "a profile of type 'graph'");
    refuses(SCHEMA FRAMES "}", "no list of \"profiles\"");
    refuses(SCHEMA FRAMES "," FRAMES "}", "a second list of frames");
    refuses("{\"shared\":{\"frames\":[{\"file\":\"x\"}]}}", "frame 0 has no name");
    refuses(ONE(EVENTED("9", EVENT("O", "0", "2") "," EVENT("C", "0", "1"))),
            "\"at\" goes back in time");
    refuses(ONE(EVENTED("9", EVENT("O", "0", "1") "," EVENT("C", "1", "2"))),
            "frame 1 is closed while frame 0 is the last one open");
    refuses(ONE(EVENTED("9", EVENT("X", "0", "1"))), "an event needs");
    refuses(ONE(EVENTED("9", "{\"type\":\"O\",\"frame\":0}")), "an event needs");
    refuses(ONE(SAMPLED("seconds", "[[0],[0]]", "[9e9,9e9]")), "does not fit 64 bits");
    refuses(ONE(SAMPLED("seconds", "[[0]]", "[1e18]")), "does not fit 64 bits");
    refuses(SCHEMA FRAMES ",\"profiles\":[", "cut off");
}

static void odd_closes_are_skipped_and_told(void **state)
{
    (void)state;
    const char doc[] = ONE(EVENTED("9", EVENT("C", "0", "1") "," EVENT("O", "1", "2")));
    struct err err;
    char skip[200];
    autobuf struct buf b = {0};
    struct profile *p = load(doc, strlen(doc), &(struct import_opts){0}, &err, skip);
    assert_non_null(p);
    assert_string_equal(dump(&b, p), ": duration/nanoseconds by trace\n"
                                     "t -1/-1: b 7000000 @2000000\n");
    assert_non_null(strstr(skip, "a frame is closed while none is open"));
    profile_free(p);
    p = load(doc, strlen(doc), &(struct import_opts){.strict = true}, &err, NULL);
    assert_null(p);
    assert_int_equal(err.code, EXIT_FAILS);
}

/* --- there and back --- */

static struct frame_id frame(struct profile *p, const char *name, const char *inlined)
{
    struct function f = {.name = profile_add_str(p, text_of(name)),
                         .file = profile_add_str(p, text_of("x.c")),
                         .line = 12};
    struct function g = {.name = profile_add_str(p, text_of(inlined ? inlined : ""))};
    struct line lines[] = {{profile_add_function(p, &f), 12, 0}, {profile_add_function(p, &g), 7}};
    struct frame_key key = {.lines = lines, .n_lines = inlined ? 2 : 1};
    return profile_add_frame(p, &key);
}

static void sample(struct profile *p, int stream, struct stack_id stack, int tid,
                   const int64_t *values)
{
    struct err err;
    struct thread_key t = {.name = profile_add_str(p, text_of("work er")), .pid = 10, .tid = tid};
    struct row row = {.stack = stack, .values = values, .has_time = true};
    row.thread = profile_add_thread(p, &t);
    row.time_ns = 1000000007 * (profile_count_rows(p) + 1);
    assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
}

/* Two streams of two columns each, two threads, inlined and kernel frames, fractions. */
static struct profile *make_profile(void)
{
    struct profile *p = profile_new();
    profile_add_stream(p, "cycles:u", BY_HARDWARE);
    profile_add_stream(p, "faults", BY_SOFTWARE_EVENT);
    for (int i = 0; i < 2; i++) {
        profile_add_value(p, i, "samples", "count");
        profile_add_value(p, i, "weight", i ? "count" : "nanoseconds");
    }
    profile_stream(p, 0)->types[1].decimals = 2;
    profile_stream(p, 0)->rate_hz = 999;
    profile_stream(p, 1)->lost_known = true;
    profile_stream(p, 1)->lost = 12;
    profile_set_unfinished(p, 1, "no rule", 4);
    p->default_value = (struct value_ref){1, 1};
    p->clock = (struct clock_pair){55, 1700000000000000000};
    meta_set_str(&p->meta, META_FORMAT, "made");
    meta_set_str(&p->meta, META_SOURCE, "made \"up\"");
    struct stack_id root = stacks_push(&p->stacks, (struct stack_id){0}, frame(p, "main", NULL));
    struct frame_id k = profile_add_named_frame(p, text_of("sys;call"), FRAME_KERNEL);
    struct stack_id leaf = stacks_push(&p->stacks, root, k);
    sample(p, 0, leaf, 1, (int64_t[]){1, 150});
    sample(p, 0, root, 1, (int64_t[]){1, 0});
    sample(p, 0, leaf, 2, (int64_t[]){1, 1});
    sample(p, 1, leaf, 1, (int64_t[]){1, 99});
    return p;
}

/* All of a profile, or one column of it. */
static void export(const struct profile *p, const struct value_ref *one, struct buf *b)
{
    struct err err;
    char *at;
    size_t n;
    FILE *f = open_memstream(&at, &n);
    struct selection s = selection_all(p, one ? *one : (struct value_ref){0, 0});
    struct export_opts opts = {.all = !one};
    assert_int_equal(exporter_speedscope.write(f, &s, &opts, &err), 0);
    fclose(f);
    b->n = 0;
    buf_add(b, at, n);
    free(at);
}

static void our_exports_come_back_the_same(void **state)
{
    (void)state;
    struct err err;
    autobuf struct buf doc = {0}, again = {0}, before = {0}, after = {0};
    struct profile *p = make_profile();
    export(p, NULL, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    if (!q)
        fail_msg("%s", err.text);
    assert_string_equal(dump(&after, q), dump(&before, p));
    for (size_t i = 0; i < p->meta.entries.n; i++)
        assert_string_equal(meta_find(&q->meta, p->meta.entries.at[i].key),
                            p->meta.entries.at[i].value);
    assert_int_equal(q->clock.wall_ns, p->clock.wall_ns);
    assert_true(profile_stream(q, 0)->rate_hz == 999 && !profile_stream(q, 0)->lost_known);
    assert_int_equal(profile_stream(q, 1)->lost, 12);
    assert_int_equal(stream_unfinished(profile_stream(q, 1)), 4);
    export(q, NULL, &again);
    assert_string_equal(buf_cstr(&again), buf_cstr(&doc));
    profile_free(p);
    profile_free(q);
}

static void inlined_functions_are_frames_of_their_own(void **state)
{
    (void)state;
    struct err err;
    autobuf struct buf doc = {0}, b = {0};
    struct profile *p = profile_new();
    profile_add_value(p, profile_add_stream(p, "", OBTAINED_UNKNOWN), "samples", "count");
    struct frame_id f = frame(p, "outer", "inner");
    struct row row = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, f),
                      .values = (int64_t[]){3}};
    profile_add_row(p, 0, &row, &err);
    export(p, NULL, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    assert_non_null(q);
    assert_string_equal(dump(&b, q), ": samples/count by not recorded\n"
                                     " -1/-1: outer(x.c:12:0);inner<3> 3\n");
    profile_free(p);
    profile_free(q);
}

static void a_function_is_one_frame_wherever_it_was_seen(void **state)
{
    (void)state;
    struct err err;
    autobuf struct buf doc = {0};
    struct profile *p = profile_new();
    struct function f = {.name = profile_add_str(p, text_of("hot")),
                         .file = profile_add_str(p, text_of("x.c")),
                         .line = 5};
    profile_add_value(p, profile_add_stream(p, "", OBTAINED_UNKNOWN), "samples", "count");
    for (uint32_t i = 1; i <= 65; i++) {
        struct line line = {profile_add_function(p, &f), 5 + i, i};
        struct frame_key key = {.pc = i, .lines = &line, .n_lines = 1};
        struct frame_id id = profile_add_frame(p, &key);
        struct row row = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, id),
                          .values = (int64_t[]){1}};
        assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    }
    export(p, NULL, &doc);
    struct text text = buf_text(&doc);
    const char *first = memmem(text.at, text.n, "\"hot\"", 5);
    assert_non_null(first);
    assert_null(memmem(first + 5, (size_t)(text.at + text.n - first) - 5, "\"hot\"", 5));
    assert_non_null(memmem(text.at, text.n, "\"line\":5", 8));
    profile_free(p);
}

static void one_type_can_be_chosen(void **state)
{
    (void)state;
    struct err err;
    autobuf struct buf doc = {0}, b = {0};
    struct profile *p = make_profile();
    export(p, &(struct value_ref){1, 1}, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    assert_non_null(q);
    assert_string_equal(dump(&b, q), "faults: weight/count by software event\n"
                                     "work er 10/1: main(x.c:12:0);sys;call<1> 99 @4000000028\n");
    profile_free(p);
    profile_free(q);
}

/* What we add is only a hint: rubbish in it is refused, and never trusted. */
static void rubbish_in_our_own_members_is_refused(void **state)
{
    (void)state;
#define OWN(types, threads, own)                                                           \
    "{\"kelvin\":{\"types\":" types ",\"threads\":" threads "}," FRAMES ",\"profiles\":[{" \
    "\"type\":\"sampled\",\"unit\":\"none\",\"kelvin\":" own                               \
    ",\"samples\":[[0]],\"weights\":[1]}]}"
    refuses(OWN("[{\"name\":\"x\"}]", "[{}]", "{\"type\":1,\"thread\":0}"), "type or thread");
    refuses(OWN("[{\"name\":\"x\"}]", "[{}]", "{\"type\":0,\"thread\":9}"), "type or thread");
    refuses(OWN("[{\"stream\":5}]", "[{}]", "{}"), "an invalid sample type");
    refuses(OWN("[{\"stream\":-5}]", "[{}]", "{}"), "an invalid sample type");
    refuses(OWN("[{\"decimals\":77}]", "[{}]", "{}"), "an invalid sample type");
    refuses(OWN("[{}]", "[{}]", "{\"type\":0,\"thread\":0,\"time_ns\":[1,2]}"), "2 times");
    reads_as(OWN("[{\"name\":\"x\"}]", "[{}]", "{\"type\":0,\"thread\":0,\"joins\":true}"),
             ": x/ by not recorded\n -1/-1: a 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_times_are_samples_with_a_clock),
        cmocka_unit_test(other_units_have_no_clock),
        cmocka_unit_test(every_time_unit_is_scaled_exactly),
        cmocka_unit_test(events_become_self_time),
        cmocka_unit_test(units_are_not_mixed),
        cmocka_unit_test(frames_may_come_last),
        cmocka_unit_test(names_go_to_meta),
        cmocka_unit_test(flaws_are_refused_with_their_byte),
        cmocka_unit_test(odd_closes_are_skipped_and_told),
        cmocka_unit_test(our_exports_come_back_the_same),
        cmocka_unit_test(inlined_functions_are_frames_of_their_own),
        cmocka_unit_test(a_function_is_one_frame_wherever_it_was_seen),
        cmocka_unit_test(one_type_can_be_chosen),
        cmocka_unit_test(rubbish_in_our_own_members_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
