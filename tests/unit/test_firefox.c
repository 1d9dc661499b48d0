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
    struct thread t = {str(p, tid == 7 ? "app" : "worker"), 7, tid};
    struct sample s = {stack, profile_add_thread(p, &t), time_ns != 0, time_ns, values};
    assert_int_equal(profile_add_sample(p, &s, &err), 0);
}

static struct profile *rich_profile(void)
{
    struct profile *p = profile_new();
    profile_add_type(p, "cpu-clock", "samples", "count");
    profile_add_type(p, "cpu-clock", "cpu", "nanoseconds");
    p->types[1].count_type = 0;
    p->default_type = 0;
    add(p, rich_stack(p, false), 7, 1000001, (int64_t[]){1, 999999});
    add(p, rich_stack(p, true), 7, 2500000, (int64_t[]){2, 0});
    add(p, rich_stack(p, false), 8, 1700000, (int64_t[]){1, 4000000000});
    meta_set_str(&p->meta, META_RATE_HZ, "999");
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

static const char *dump(struct buf *b, const struct profile *p)
{
    b->n = 0;
    for (int i = 0; i < p->n_types; i++)
        buf_printf(b, "%s/%s/%s/%d ", profile_str(p, p->types[i].event).at,
                   profile_str(p, p->types[i].name).at, profile_str(p, p->types[i].unit).at,
                   p->types[i].count_type);
    buf_printf(b, "default %d\n", p->default_type);
    for (size_t i = 0; i < p->meta.entries.n; i++)
        buf_printf(b, "%s=%s\n", p->meta.entries.at[i].key, p->meta.entries.at[i].value);
    for (size_t i = 0; i < p->samples.n; i++) {
        const struct thread *t = &p->threads.at[p->samples.thread[i].i];
        buf_printf(b, "%s %d/%d", profile_str(p, t->name).at, t->pid, t->tid);
        for (struct stack_id s = p->samples.stack[i]; s.i; s = p->stacks.nodes.at[s.i].parent)
            add_frame(b, p, profile_frame(p, p->stacks.nodes.at[s.i].frame));
        for (int k = 0; k < p->n_types; k++) {
            char number[UNITS_MAX];
            buf_printf(b, " %s",
                       units_decimal(number, p->samples.value[k][i], p->types[k].decimals));
        }
        if (p->samples.time_ns)
            buf_printf(b, " @%llu", (unsigned long long)p->samples.time_ns[i]);
        buf_byte(b, '\n');
    }
    return buf_cstr(b);
}

/* --- out and in --- */

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
    assert_int_equal(exporter_firefox.write(f, p, &(struct export_opts){.type = type}, &err), 0);
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
    profile_add_type(p, "", "counts", "");
    p->types[0].decimals = 1;
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
        profile_add_type(p, "", "alloc", units[i]);
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
    assert_int_equal(back->n_types, 1);
    assert_int_equal(back->types[0].total, p->types[1].total);
    assert_true(text_is(profile_str(back, back->types[0].name), "cpu"));
    profile_free(back);
    profile_free(p);
}

static void samples_are_written_in_order_of_time(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    profile_add_type(p, "", "samples", "count");
    for (uint64_t i = 3; i; i--)
        add(p, rich_stack(p, i == 2), 7, i * 1000, (int64_t[]){(int64_t)i});
    struct profile *back = there_and_back(p, -1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(back->samples.time_ns[i], (i + 1) * 1000);
        assert_int_equal(back->samples.value[0][i], i + 1);
    }
    profile_free(back);
    profile_free(p);
}

/* --- reading only --- */

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
    for (struct stack_id s = p->samples.stack[0]; s.i; s = p->stacks.nodes.at[s.i].parent)
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
        cmocka_unit_test(a_deep_chain_of_inlined_frames_stays_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
