/*
 * The Firefox Profiler's format out and in: what comes back is what went out, inlined functions
 * are one frame again, and the columns are what the profiler expects.
 */
#include "base/buf.h"
#include "base/units.h"
#include "source/import.h"
#include "view/export/export.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* --- a profile to write --- */

static struct str_id str(struct profile *p, const char *s)
{
    return profile_add_str(p, text_of(s));
}

static struct line line(struct profile *p, const char *name, const char *file, uint32_t n)
{
    struct function f = {.name = str(p, name), .file = str(p, file), .line = n ? n - 1 : 0};
    return (struct line){.function = profile_add_function(p, &f), .line = n, .column = n ? 3 : 0};
}

static struct stack_id rich_stack(struct profile *p, bool in_kernel)
{
    struct mapping app = {.path = str(p, "/usr/bin/app"), .build_id = str(p, "00aabb")};
    struct mapping kernel = {.path = str(p, "[kernel.kallsyms]")};
    struct line lines[] = {line(p, "main", "app.c", 12), line(p, "twice", "util.h", 7),
                           line(p, "once <é>", "util.h", 3)};
    struct line entry = line(p, "do_nap", "", 0);
    struct frame_key keys[] = {
        {.pc = 0x1234, .mapping = profile_add_mapping(p, &app), .lines = lines, .n_lines = 3},
        {.pc = 0x55, .mapping = profile_add_mapping(p, &app)},
        {.pc = 0x99,
         .mapping = profile_add_mapping(p, &kernel),
         .kind = FRAME_KERNEL,
         .lines = &entry,
         .n_lines = 1},
    };
    struct stack_id id = {0};
    for (int i = 0; i < (in_kernel ? 3 : 2); i++)
        id = stacks_push(&p->stacks, id, profile_add_frame(p, &keys[i]));
    return id;
}

static void add(struct profile *p, struct stack_id stack, int32_t tid, uint64_t time_ns,
                const int64_t *values)
{
    struct err err;
    struct thread_key t = {str(p, tid == 7 ? "app" : "worker"), 7, tid};
    struct row row = {.stack = stack,
                      .thread = profile_add_thread(p, &t),
                      .has_time = time_ns != 0,
                      .time_ns = time_ns,
                      .values = values};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

static void add_stream(struct profile *p, const char *event, const char *name, const char *unit)
{
    profile_add_stream(p, event, OBTAINED_UNKNOWN);
    profile_add_value(p, 0, name, unit);
}

static struct profile *rich_profile(void)
{
    struct profile *p = profile_new();
    add_stream(p, "cpu-clock", "samples", "count");
    profile_add_value(p, 0, "cpu", "nanoseconds");
    profile_stream(p, 0)->obtained = BY_SOFTWARE_CLOCK;
    profile_stream(p, 0)->rate_hz = 999;
    profile_stream(p, 0)->lost_known = true;
    profile_set_unfinished(p, 0, "stack copy too small", 2);
    p->default_value = (struct value_ref){0, 0};
    p->clock = (struct clock_pair){1000000, 1700000000000000000};
    add(p, rich_stack(p, false), 7, 1000001, (int64_t[]){1, 999999});
    add(p, rich_stack(p, true), 7, 2500000, (int64_t[]){2, 0});
    add(p, rich_stack(p, false), 8, 1700000, (int64_t[]){1, 4000000000});
    meta_set_str(&p->meta, META_FORMAT, "made");
    meta_set_str(&p->meta, META_SOURCE, "by hand");
    return p;
}

/* --- a profile as lines of text --- */

static void add_frame(struct buf *b, const struct profile *p, const struct frame *f)
{
    const struct mapping *m = &p->mappings.at[f->mapping.i];
    buf_printf(b, " <%llx %s %s %d", (unsigned long long)f->pc, profile_str(p, m->path).at,
               profile_str(p, m->build_id).at, f->kind);
    for (size_t i = 0; i < f->n_lines; i++) {
        const struct line *l = &profile_lines(p, f)[i];
        const struct function *fn = &p->functions.at[l->function.i];
        buf_printf(b, " %s@%s:%u:%u:%u", profile_str(p, fn->name).at, profile_str(p, fn->file).at,
                   fn->line, l->line, l->column);
    }
    buf_str(b, ">");
}

static void dump_stream(struct buf *b, const struct profile *p, const struct stream *s)
{
    buf_printf(
        b, "stream %s by %s rate %g lost %d %llu unfinished %d %llu:", profile_str(p, s->event).at,
        obtained_name(s->obtained), s->rate_hz, s->lost_known, (unsigned long long)s->lost,
        s->unfinished_known, (unsigned long long)stream_unfinished(s));
    for (int i = 0; i < s->n_types; i++)
        buf_printf(b, " %s/%s", profile_str(p, s->types[i].name).at,
                   profile_str(p, s->types[i].unit).at);
    buf_byte(b, '\n');
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct thread *t = &p->threads.at[s->rows.thread[i].i];
        buf_printf(b, "%s %d/%d", profile_str(p, t->name).at, profile_pid(p, t), t->tid);
        for (struct stack_id at = s->rows.stack[i]; at.i; at = p->stacks.nodes.at[at.i].parent)
            add_frame(b, p, profile_frame(p, p->stacks.nodes.at[at.i].frame));
        for (int k = 0; k < s->n_types; k++) {
            char number[UNITS_MAX];
            buf_printf(b, " %s", units_decimal(number, s->rows.value[k][i], s->types[k].decimals));
        }
        if (s->rows.time_ns)
            buf_printf(b, " @%llu", (unsigned long long)s->rows.time_ns[i]);
        buf_byte(b, '\n');
    }
}

static const char *dump(struct buf *b, const struct profile *p)
{
    b->n = 0;
    buf_printf(b, "default %d %d clock %llu %llu\n", p->default_value.stream,
               p->default_value.stream < 0 ? 0 : p->default_value.type,
               (unsigned long long)p->clock.monotonic_ns, (unsigned long long)p->clock.wall_ns);
    for (size_t i = 0; i < p->meta.entries.n; i++)
        buf_printf(b, "%s=%s\n", p->meta.entries.at[i].key, p->meta.entries.at[i].value);
    for (size_t i = 0; i < p->streams.n; i++)
        dump_stream(b, p, p->streams.at[i]);
    return buf_cstr(b);
}

/* --- out and in --- */

/* All of the profile, or one column of it. */
static struct profile *there_and_back(const struct profile *p, int type)
{
    struct err err = {0};
    struct import im;
    struct reader in;
    struct profile *ret = NULL;
    char path[] = "/tmp/kelvin-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    struct selection s = selection_all(p, (struct value_ref){0, type < 0 ? 0 : type});
    struct export_opts out = {.all = type < 0};
    assert_int_equal(exporter_firefox.write(f, &s, &out, &err), 0);
    fclose(f);
    assert_int_equal(reader_open(&in, path, &err), 0);
    struct import_opts opts = {.addresses = true, .strict = true};
    if (import_reader(&im, &in, "test", &opts, &ret, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(im.format, "firefox");
    import_done(&im);
    reader_close(&in);
    unlink(path);
    return ret;
}

static void comes_back_the_same(struct profile *p)
{
    autobuf struct buf a = {0}, b = {0};
    struct profile *back = there_and_back(p, -1);
    assert_string_equal(dump(&a, p), dump(&b, back));
    profile_free(back);
    profile_free(p);
}

static void everything_the_format_holds_comes_back(void **state)
{
    (void)state;
    comes_back_the_same(rich_profile());
}

static void samples_without_time_get_none(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    add_stream(p, "", "counts", "");
    profile_stream(p, 0)->types[0].decimals = 1;
    add(p, rich_stack(p, true), 7, 0, (int64_t[]){25});
    add(p, rich_stack(p, false), 7, 0, (int64_t[]){7});
    meta_set_str(&p->meta, META_FORMAT, "folded");
    meta_set_str(&p->meta, META_SOURCE, "x");
    comes_back_the_same(p);
}

static void bytes_and_times_keep_their_unit(void **state)
{
    (void)state;
    const char *const units[] = {"bytes", "nanoseconds"};
    for (int i = 0; i < 2; i++) {
        struct profile *p = profile_new();
        add_stream(p, "", "alloc", units[i]);
        add(p, rich_stack(p, false), 7, 5, (int64_t[]){123456789});
        meta_set_str(&p->meta, META_FORMAT, "x");
        meta_set_str(&p->meta, META_SOURCE, "x");
        comes_back_the_same(p);
    }
}

static void a_chosen_type_is_the_only_one(void **state)
{
    (void)state;
    struct profile *p = rich_profile();
    struct profile *back = there_and_back(p, 1);
    const struct stream *s = profile_stream(back, 0);
    assert_int_equal(s->n_types, 1);
    assert_int_equal(s->types[0].total, profile_stream(p, 0)->types[1].total);
    assert_true(text_is(profile_str(back, s->types[0].name), "cpu"));
    profile_free(back);
    profile_free(p);
}

static void samples_are_written_in_order_of_time(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    add_stream(p, "", "samples", "count");
    for (uint64_t i = 3; i; i--)
        add(p, rich_stack(p, i == 2), 7, i * 1000, (int64_t[]){(int64_t)i});
    struct profile *back = there_and_back(p, -1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(profile_stream(back, 0)->rows.time_ns[i], (i + 1) * 1000);
        assert_int_equal(profile_stream(back, 0)->rows.value[0][i], i + 1);
    }
    profile_free(back);
    profile_free(p);
}

/* --- reading only --- */

#define TABLES                                                          \
    "\"shared\":{\"stringArray\":[\"f\"],\"funcTable\":{\"name\":[0]}," \
    "\"stackTable\":{\"frame\":[0],\"prefix\":[null]},\"frameTable\":{\"func\":[0]}}"

static void threads_that_weigh_other_things_are_other_streams(void **state)
{
    (void)state;
    static const char doc[] =
        "{\"meta\":{\"preprocessedProfileVersion\":66,\"interval\":2,\"startTime\":1000},"
        "\"threads\":["
        "{\"pid\":\"7\",\"tid\":7,\"processStartupTime\":3,\"processShutdownTime\":9,"
        "\"samples\":{\"stack\":[0,0],\"time\":[4,5],\"threadCPUDelta\":[0,30]}},"
        "{\"pid\":\"8\",\"tid\":8,\"samples\":{\"stack\":[0],\"time\":[5],"
        "\"weightType\":\"bytes\",\"weight\":[4096]}}]," TABLES "}";
    autobuf struct buf b = {0};
    struct err err = {0};
    struct import im;
    struct reader in;
    struct profile *p = NULL;
    reader_open_memory(&in, doc, sizeof doc - 1);
    if (import_reader(&im, &in, "x", &(struct import_opts){0}, &p, &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(
        dump(&b, p),
        "default 0 0 clock 0 1000000000\ntime_ns=1000000000\nformat=firefox\nsource=x\n"
        "stream  by not recorded rate 500 lost 0 0 unfinished 0 0: samples/count cpu/nanoseconds\n"
        " 7/7 <0   0 f@:0:0:0> 1 0 @4000000\n 7/7 <0   0 f@:0:0:0> 1 30 @5000000\n"
        "stream  by not recorded rate 500 lost 0 0 unfinished 0 0: samples/count bytes/bytes\n"
        " 8/8 <0   0 f@:0:0:0> 1 4096 @5000000\n");
    const struct process *seven = &p->processes.at[profile_find_process(p, 7).i];
    assert_int_equal(seven->start_ns, 3000000);
    assert_int_equal(seven->end_ns, 9000000);
    profile_free(p);
    import_done(&im);
    reader_close(&in);
}

static void a_deep_chain_of_inlined_frames_stays_small(void **state)
{
    (void)state;
    enum { N = 5000 };
    autobuf struct buf b = {0};
    buf_str(&b, "{\"meta\":{\"preprocessedProfileVersion\":66},\"shared\":{\"stringArray\":[\"f\"],"
                "\"funcTable\":{\"name\":[0]},\"stackTable\":{\"frame\":[");
    for (int i = 0; i < N; i++)
        buf_printf(&b, "%s%d", i ? "," : "", i);
    buf_str(&b, "],\"prefixOffset\":[");
    for (int i = 0; i < N; i++)
        buf_printf(&b, "%s%d", i ? "," : "", i > 0);
    buf_str(&b, "]},\"frameTable\":{\"func\":[0");
    for (int i = 1; i < N; i++)
        buf_str(&b, ",0");
    buf_str(&b, "],\"inlineDepth\":[0");
    for (int i = 1; i < N; i++)
        buf_printf(&b, ",%d", i);
    buf_printf(&b, "]}},\"threads\":[{\"samples\":{\"stack\":[%d],\"time\":[1]}}]}", N - 1);
    struct err err;
    struct import im;
    struct reader in;
    struct profile *p = NULL;
    reader_open_memory(&in, b.at, b.n);
    assert_int_equal(import_reader(&im, &in, "x", &(struct import_opts){0}, &p, &err), 0);
    assert_true(p->lines.n < 100 * N);
    size_t shown = 0;
    for (struct stack_id s = profile_stream(p, 0)->rows.stack[0]; s.i;
         s = p->stacks.nodes.at[s.i].parent)
        shown += profile_frame(p, p->stacks.nodes.at[s.i].frame)->n_lines;
    assert_int_equal(shown, N);
    profile_free(p);
    import_done(&im);
    reader_close(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_the_format_holds_comes_back),
        cmocka_unit_test(samples_without_time_get_none),
        cmocka_unit_test(bytes_and_times_keep_their_unit),
        cmocka_unit_test(a_chosen_type_is_the_only_one),
        cmocka_unit_test(samples_are_written_in_order_of_time),
        cmocka_unit_test(threads_that_weigh_other_things_are_other_streams),
        cmocka_unit_test(a_deep_chain_of_inlined_frames_stays_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
