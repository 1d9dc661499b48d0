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

static void add_types(struct buf *b, const struct profile *p)
{
    for (int i = 0; i < p->n_types; i++)
        buf_printf(b, "%s%.*s/%.*s/%.*s/%d", i ? " " : "",
                   TEXT_ARG(profile_str(p, p->types[i].event)),
                   TEXT_ARG(profile_str(p, p->types[i].name)),
                   TEXT_ARG(profile_str(p, p->types[i].unit)), p->types[i].count_type);
    buf_printf(b, " default %d\n", p->default_type);
}

/* Types, then one line a sample: "thread pid/tid: stack value value @time". */
static const char *dump(struct buf *b, const struct profile *p)
{
    b->n = 0;
    add_types(b, p);
    for (size_t i = 0; i < p->samples.n; i++) {
        const struct thread *t = &p->threads.at[p->samples.thread[i].i];
        buf_printf(b, "%.*s %d/%d: ", TEXT_ARG(profile_str(p, t->name)), t->pid, t->tid);
        add_stack(b, p, p->samples.stack[i]);
        for (int k = 0; k < p->n_types; k++) {
            char s[UNITS_MAX];
            buf_printf(b, " %s", units_decimal(s, p->samples.value[k][i], p->types[k].decimals));
        }
        if (p->samples.time_ns)
            buf_printf(b, " @%llu", (unsigned long long)p->samples.time_ns[i]);
        buf_byte(b, '\n');
    }
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
             "/samples/count/-1 /time/nanoseconds/0 default -1\n"
             "t -1/-1: a;b 1 10000000 @0\n"
             "t -1/-1: a 1 300000000 @10000000\n"
             "t -1/-1:  1 1 @310000000\n");
}

static void other_units_have_no_clock(void **state)
{
    (void)state;
    reads_as(ONE(SAMPLED("none", "[[0,1],[2]]", "[2.5,1]")), "/weight/count/-1 default -1\n"
                                                             "t -1/-1: a;b 2.5\n"
                                                             "t -1/-1: c 1\n");
    reads_as(ONE(SAMPLED("bytes", "[[0]]", "[4096]")), "/bytes/bytes/-1 default -1\n"
                                                       "t -1/-1: a 4096\n");
}

static void every_time_unit_is_scaled_exactly(void **state)
{
    (void)state;
    reads_as(
        ONE(SAMPLED("nanoseconds", "[[0]]", "[1.5]") "," SAMPLED(
            "microseconds", "[[0]]", "[1.0000005]") "," SAMPLED("milliseconds", "[[0]]", "[0.1]")),
        "/samples/count/-1 /time/nanoseconds/0 default -1\n"
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
             "/duration/nanoseconds/-1 default -1\n"
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
             "/samples/count/-1 /time/nanoseconds/0 /bytes/bytes/-1 default 2\n"
             "t -1/-1: a 1 1000000000 0 @0\n"
             "t -1/-1: a 0 0 7 @0\n");
}

static void frames_may_come_last(void **state)
{
    (void)state;
    reads_as("{\"profiles\":[{\"weights\":[1,2],\"samples\":[[2,0],[1]],\"unit\":\"none\","
             "\"name\":\"\",\"type\":\"sampled\"}],\"shared\":{\"frames\":[{\"name\":\"a\","
             "\"file\":\"x.c\",\"line\":3,\"col\":4},{\"name\":\"b\",\"line\":null},"
             "{\"name\":\"c\"}]}}",
             "/weight/count/-1 default -1\n"
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
    assert_null(meta_find(&p->meta, META_KIND));
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
    assert_string_equal(dump(&b, p), "/duration/nanoseconds/-1 default -1\n"
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
                         .file = profile_add_str(p, text_of("x.c"))};
    struct function g = {.name = profile_add_str(p, text_of(inlined ? inlined : ""))};
    struct line lines[] = {{profile_add_function(p, &f), 12, 3}, {profile_add_function(p, &g), 7}};
    struct frame_key key = {.lines = lines, .n_lines = inlined ? 2 : 1};
    return profile_add_frame(p, &key);
}

static void sample(struct profile *p, struct stack_id stack, int tid, const int64_t *values)
{
    struct err err;
    struct thread t = {.name = profile_add_str(p, text_of("work er")), .pid = 10, .tid = tid};
    struct sample s = {.stack = stack, .values = values, .has_time = true};
    s.thread = profile_add_thread(p, &t);
    s.time_ns = 1000000007 * (p->samples.n + 1);
    assert_int_equal(profile_add_sample(p, &s, &err), 0);
}

/* Two events of two types each, two threads, inlined and kernel frames, fractions. */
static struct profile *make_profile(void)
{
    struct profile *p = profile_new();
    for (int i = 0; i < 4; i++)
        profile_add_type(p, i < 2 ? "cycles:u" : "faults", i % 2 ? "weight" : "samples",
                         i == 1 ? "nanoseconds" : "count");
    p->types[1].count_type = 0;
    p->types[3].count_type = 2;
    p->types[1].decimals = 2;
    p->default_type = 3;
    meta_set_str(&p->meta, META_KIND, META_KIND_HARDWARE);
    meta_set_str(&p->meta, META_FORMAT, "made");
    meta_set_str(&p->meta, META_SOURCE, "made \"up\"");
    struct stack_id root = stacks_push(&p->stacks, (struct stack_id){0}, frame(p, "main", NULL));
    struct frame_id k = profile_add_named_frame(p, text_of("sys;call"), FRAME_KERNEL);
    struct stack_id leaf = stacks_push(&p->stacks, root, k);
    sample(p, leaf, 1, (int64_t[]){1, 150, 0, 0});
    sample(p, root, 1, (int64_t[]){1, 0, 0, 0});
    sample(p, leaf, 2, (int64_t[]){1, 1, 0, 0});
    sample(p, leaf, 1, (int64_t[]){0, 0, 1, 99});
    return p;
}

static void export(const struct exporter *e, const struct profile *p, int type, struct buf *b)
{
    struct err err;
    char *at;
    size_t n;
    FILE *f = open_memstream(&at, &n);
    assert_int_equal(e->write(f, p, &(struct export_opts){.type = type}, &err), 0);
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
    export(&exporter_speedscope, p, -1, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    if (!q)
        fail_msg("%s", err.text);
    assert_string_equal(dump(&after, q), dump(&before, p));
    for (size_t i = 0; i < p->meta.entries.n; i++)
        assert_string_equal(meta_find(&q->meta, p->meta.entries.at[i].key),
                            p->meta.entries.at[i].value);
    export(&exporter_speedscope, q, -1, &again);
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
    profile_add_type(p, "", "samples", "count");
    struct frame_id f = frame(p, "outer", "inner");
    struct sample s = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, f),
                       .values = (int64_t[]){3}};
    profile_add_sample(p, &s, &err);
    export(&exporter_speedscope, p, -1, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    assert_non_null(q);
    assert_string_equal(dump(&b, q), "/samples/count/-1 default -1\n"
                                     " -1/-1: outer(x.c:12:3);inner<3> 3\n");
    profile_free(p);
    profile_free(q);
}

static void one_type_can_be_chosen(void **state)
{
    (void)state;
    struct err err;
    autobuf struct buf doc = {0}, b = {0};
    struct profile *p = make_profile();
    export(&exporter_speedscope, p, 3, &doc);
    struct profile *q = load(doc.at, doc.n, &(struct import_opts){0}, &err, NULL);
    assert_non_null(q);
    assert_string_equal(dump(&b, q), "faults/weight/count/-1 default -1\n"
                                     "work er 10/1: main(x.c:12:3);sys;call<1> 99 @4000000028\n");
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
    refuses(OWN("[{\"count_type\":5}]", "[{}]", "{}"), "counted by none");
    refuses(OWN("[{\"decimals\":77}]", "[{}]", "{}"), "makes no sense");
    refuses(OWN("[{}]", "[{}]", "{\"type\":0,\"thread\":0,\"time_ns\":[1,2]}"), "2 times");
    reads_as(OWN("[{\"name\":\"x\"}]", "[{}]", "{\"type\":0,\"thread\":0,\"joins\":true}"),
             "/x//-1 default -1\n -1/-1: a 1\n");
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
        cmocka_unit_test(one_type_can_be_chosen),
        cmocka_unit_test(rubbish_in_our_own_members_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
