/*
 * perf script text: what goes into the profile besides the names that `kelvin fold` prints.
 */
#include "base/buf.h"
#include "source/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct profile *read_text(struct text text, struct import_opts opts)
{
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p = NULL;
    opts.format = "perfscript";
    reader_open_memory(&in, text.at, text.n);
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    import_done(&im);
    reader_close(&in);
    return p;
}

static struct profile *read_str(const char *text, struct import_opts opts)
{
    return read_text(text_of(text), opts);
}

static struct text frame_name(const struct profile *p, uint32_t frame, size_t line)
{
    const struct frame *f = &p->frames.at[frame];
    return profile_function_name(p, profile_lines(p, f)[line].function);
}

static const char two_threads[] = "a b 10/11 [000] 1.000000002:      5 cycles:u: \n"
                                  "\t    7f0000000001 f+0x1 (/x)\n"
                                  "\t    7f0000000009 main+0x9 (/x)\n\n"
                                  "a b 12 [000] 3.5:     7 cycles:u: \n"
                                  "\t    7f0000000002 f+0x2 (/x)\n"
                                  "\t    7f0000000009 main+0x9 (/x)\n\n";

static void threads_have_their_ids(void **state)
{
    (void)state;
    struct profile *p = read_str(two_threads, (struct import_opts){0});
    assert_int_equal(p->threads.n, 3);
    assert_string_equal(profile_str(p, p->threads.at[1].name).at, "a b");
    assert_int_equal(profile_pid(p, &p->threads.at[1]), 10);
    assert_int_equal(p->threads.at[1].tid, 11);
    assert_int_equal(profile_pid(p, &p->threads.at[2]), THREAD_NO_ID);
    assert_int_equal(p->threads.at[2].tid, 12);
    profile_free(p);
    p = read_str("a 3 U 12 4.5:     7 cycles:u: \n\t    7f01 f (/x)\n\n", (struct import_opts){0});
    assert_string_equal(profile_str(p, p->threads.at[1].name).at, "a 3 U"); /* no -F +misc */
    assert_int_equal(p->threads.at[1].tid, 12);
    profile_free(p);
}

/* What -F +srccode prints below a frame may look like a comm and a thread, and end no stack. */
static void source_code_is_no_sample(void **state)
{
    (void)state;
    struct profile *p = read_str("a 1 1.1:     5 cycles:u: \n\t    7f01 f+0x1 (/x)\n      count 7\n"
                                 "\t    7f09 main+0x9 (/x)\n\n",
                                 (struct import_opts){0});
    assert_int_equal(profile_stream(p, 0)->types[0].total, 1);
    assert_int_equal(stacks_depth(&p->stacks, profile_stream(p, 0)->rows.stack[0]), 2);
    profile_free(p);
    p = read_str("a 1 1.1:     5 cycles:u: \n\t    7f01 f (/x)\n  :0\n\n",
                 (struct import_opts){.strict = true}); /* no place is known: that is no flaw */
    assert_int_equal(profile_stream(p, 0)->types[0].total, 1);
    profile_free(p);
}

static void an_event_has_samples_and_weight(void **state)
{
    (void)state;
    struct profile *p = read_str(two_threads, (struct import_opts){0});
    assert_int_equal(p->streams.n, 1);
    const struct stream *s = profile_stream(p, 0);
    assert_int_equal(s->n_types, 2);
    assert_string_equal(profile_str(p, s->event).at, "cycles:u");
    assert_string_equal(profile_str(p, s->types[0].name).at, "samples");
    assert_int_equal(s->types[0].role, ROLE_SAMPLES);
    assert_string_equal(profile_str(p, s->types[1].name).at, "cycles");
    assert_int_equal(s->types[1].role, ROLE_FLOW);
    assert_int_equal(p->default_value.stream, 0);
    assert_int_equal(p->default_value.type, 1);
    assert_int_equal(s->types[0].total, 2);
    assert_int_equal(s->types[1].total, 12);
    assert_int_equal(s->obtained, BY_HARDWARE);
    assert_false(s->lost_known);
    profile_free(p);
}

static void times_are_kept_unless_merged(void **state)
{
    (void)state;
    struct profile *p = read_str(two_threads, (struct import_opts){0});
    assert_int_equal(profile_stream(p, 0)->rows.time_ns[0], 1000000002);
    assert_int_equal(profile_stream(p, 0)->rows.time_ns[1], 3500000000);
    assert_int_equal(profile_stream(p, 0)->rows.stack[0].i, profile_stream(p, 0)->rows.stack[1].i);
    profile_free(p);
    p = read_str(two_threads, (struct import_opts){.merge = true});
    assert_null(profile_stream(p, 0)->rows.time_ns);
    profile_free(p);
}

static void addresses_tell_frames_apart_only_if_wanted(void **state)
{
    (void)state;
    struct profile *p = read_str(two_threads, (struct import_opts){.merge = true});
    assert_int_equal(p->frames.n, 2);
    assert_int_equal(p->frames.at[0].pc, 0);
    profile_free(p);
    p = read_str(two_threads, (struct import_opts){.addresses = true});
    assert_int_equal(p->frames.n, 3);
    assert_int_equal(p->frames.at[0].pc, 0x7f0000000001);
    profile_free(p);
}

static void bare_frames_keep_their_address(void **state)
{
    (void)state;
    static const char text[] = "a 1 1.5: 1 cycles: \n"
                               "\t    7f0000000001 [unknown] (/x)\n"
                               "\t    7f0000000002 [unknown] (/x)\n"
                               "\t    7f0000000003 f (/x)\n\n";
    struct profile *p = read_str(text, (struct import_opts){.merge = true});
    assert_int_equal(p->frames.n, 2);
    profile_free(p);
    p = read_str(text, (struct import_opts){.merge = true, .bare_addresses = true});
    assert_int_equal(p->frames.n, 3);
    assert_int_equal(p->frames.at[1].pc, 0x7f0000000002);
    assert_int_equal(p->frames.at[1].n_lines, 0);
    assert_int_equal(p->frames.at[2].pc, 0);
    profile_free(p);
    /* Text does not say where files were mapped: nothing could name them. */
    p = read_str(text, (struct import_opts){.bare_addresses = true, .names_only = true});
    assert_int_equal(p->frames.n, 2);
    profile_free(p);
}

static void an_inline_chain_is_one_frame(void **state)
{
    (void)state;
    struct profile *p = read_str("a 1 1.5: 1 cycles: \n"
                                 "\t    7f0000000001 outer->inner+0x1 (/x)\n"
                                 "  x.c:42\n\n",
                                 (struct import_opts){.merge = true});
    const struct frame *f =
        profile_frame(p, p->stacks.nodes.at[profile_stream(p, 0)->rows.stack[0].i].frame);
    uint32_t id = (uint32_t)(f - p->frames.at);
    assert_int_equal(f->n_lines, 2);
    assert_string_equal(frame_name(p, id, 0).at, "outer");
    assert_string_equal(frame_name(p, id, 1).at, "inner");
    const struct line *inner = &profile_lines(p, f)[1];
    assert_int_equal(inner->line, 42);
    assert_string_equal(profile_str(p, p->functions.at[inner->function.i].file).at, "x.c");
    profile_free(p);
}

static void kinds_come_from_modules(void **state)
{
    (void)state;
    struct profile *p = read_str("a 1 1.5: 1 cycles: \n"
                                 "\t               1 a ([kernel.kallsyms])\n"
                                 "\t               1 b (/boot/vmlinux)\n"
                                 "\t               1 c (/tmp/perf-12.map)\n"
                                 "\t               1 d ([unknown])\n"
                                 "\t               1 e (/tmp/perf-x.map)\n"
                                 "\t               1 f (/usr/lib/debug/boot/vmlinux-6.1.0-13)\n"
                                 "\t               1 g (/opt/x/.debug/jit/jitted-12-3.so)\n"
                                 "\t               1 h (/opt/x/vmlinux-tools/app)\n"
                                 "\t               1 i (/lib/modules/6.1/net/e1000.ko.xz)\n"
                                 "\t               1 j (/opt/a.koala/b.kosmos)\n\n",
                                 (struct import_opts){.merge = true});
    static const int kinds[] = {FRAME_KERNEL, FRAME_KERNEL, FRAME_JIT,  FRAME_USER,   FRAME_USER,
                                FRAME_KERNEL, FRAME_JIT,    FRAME_USER, FRAME_KERNEL, FRAME_USER};
    for (int i = 0; i < 10; i++)
        assert_int_equal(p->frames.at[i].kind, kinds[i]);
    assert_int_equal(p->frames.at[3].mapping.i, 0);
    profile_free(p);
}

static void lost_samples_are_added_up(void **state)
{
    (void)state;
    struct profile *p = read_str("a 1 1.5: PERF_RECORD_LOST lost 12\n"
                                 "a 1 1.6: 1 cycles: \n\t               1 f (/x)\n\n"
                                 "a 1 1.7: PERF_RECORD_LOST lost 30\n",
                                 (struct import_opts){.merge = true});
    assert_true(profile_stream(p, 0)->lost_known);
    assert_int_equal(profile_stream(p, 0)->lost, 42);
    profile_free(p);
}

/* The same line stands for another frame where the thread is one of Java's. */
static void known_lines_are_known_per_language(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    for (int i = 0; i < 12; i++)
        buf_printf(&b, "%s 1 1.5: 1 cycles: \n\t    7f0000000001 La/b;c (/x)\n\n",
                   i % 2 ? "java" : "node");
    struct profile *p = read_text(buf_text(&b), (struct import_opts){.merge = true});
    assert_int_equal(p->frames.n, 2);
    assert_string_equal(frame_name(p, 0, 0).at, "La/b:c");
    assert_string_equal(frame_name(p, 1, 0).at, "a/b:c");
    assert_int_equal(profile_stream(p, 0)->rows.value[0][0], 6);
    assert_int_equal(profile_stream(p, 0)->rows.value[0][1], 6);
    profile_free(p);
}

enum { MANY = 30000 };

/* More lines than are remembered, with pcs that say little: the symbol and module decide. */
static void many_lines_come_again(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    for (int i = 0; i < 4 * MANY; i++)
        buf_printf(&b, "a 1 1.5: 2 cycles: \n\t%16x f%d+0x%x (/x)\n\t%16x main (/x)\n\n",
                   i % MANY / 3, i % MANY, i, 7);
    struct profile *p = read_text(buf_text(&b), (struct import_opts){.merge = true});
    assert_int_equal(p->frames.n, MANY + 1);
    assert_int_equal(profile_stream(p, 0)->rows.n, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(profile_stream(p, 0)->rows.value[1][i], 8);
    profile_free(p);
}

/* --- several events --- */

static const char two_events[] =
    "# event : name = cycles:u, , id = { 1, 2 }, type = 0, { sample_period, sample_freq } = 99, "
    "sample_type = IP, disabled = 1, freq = 1\n"
    "# event : name = page-faults, , id = { 3 }, type = 1, { sample_period, sample_freq } = 1\n"
    "a 1 1.1:     1 page-faults: \n\t    7f0000000001 f (/x)\n\n"
    "a 1 1.2:   500 cycles:u: \n\t    7f0000000001 f (/x)\n\n"
    "a 1 1.3:     1 sched:sched_switch: prev_comm=a\n\t    7f0000000001 f (/x)\n\n"
    "a 1 1.4:   700 cycles:u: \n\t    7f0000000001 f (/x)\n\n";

static const struct stream *stream_named(const struct profile *p, const char *event)
{
    for (size_t i = 0; i < p->streams.n; i++)
        if (text_is(profile_str(p, p->streams.at[i]->event), event))
            return p->streams.at[i];
    fail_msg("no stream of %s", event);
    return NULL;
}

/* The same stack and thread in all of them: what is known about one must not lead to another. */
static void each_event_has_rows_of_its_own(void **state)
{
    (void)state;
    for (int merge = 0; merge < 2; merge++) {
        struct profile *p = read_str(two_events, (struct import_opts){.merge = merge});
        assert_int_equal(p->streams.n, 3);
        const struct stream *cycles = stream_named(p, "cycles:u");
        const struct stream *faults = stream_named(p, "page-faults");
        const struct stream *trace = stream_named(p, "sched:sched_switch");
        assert_int_equal(cycles->rows.n, merge ? 1 : 2);
        assert_int_equal(cycles->types[1].total, 1200);
        assert_int_equal(faults->rows.n, 1);
        assert_int_equal(faults->types[0].total, 1);
        assert_int_equal(cycles->obtained, BY_HARDWARE);
        assert_int_equal(faults->obtained, BY_SOFTWARE_EVENT);
        assert_int_equal(trace->obtained, BY_TRACE);
        assert_string_equal(profile_str(p, trace->types[1].name).at, "sched:sched_switch");
        profile_free(p);
    }
}

static void the_first_event_of_the_recording_is_shown_first(void **state)
{
    (void)state;
    struct profile *p = read_str(two_events, (struct import_opts){.merge = true});
    const struct stream *shown = profile_stream(p, p->default_value.stream);
    assert_string_equal(profile_str(p, shown->event).at, "cycles:u");
    assert_int_equal(p->default_value.type, 1);
    assert_true(shown->rate_hz == 99);
    assert_true(stream_named(p, "page-faults")->rate_hz == 0);
    profile_free(p);
}

static void cores_of_a_hybrid_cpu_are_summed(void **state)
{
    (void)state;
    struct profile *p = read_str("a 1 1.1:   100 cpu_core/cycles/P: \n\t    7f01 f (/x)\n\n"
                                 "a 1 1.2:    10 cpu_atom/cycles/: \n\t    7f01 f (/x)\n\n"
                                 "a 1 1.3:     1 cpu_atom/cycles/u: \n\t    7f01 f (/x)\n\n",
                                 (struct import_opts){.merge = true});
    assert_int_equal(p->streams.n, 2);
    assert_int_equal(stream_named(p, "cycles")->types[1].total, 110);
    assert_int_equal(stream_named(p, "cycles")->rows.n, 1);
    assert_int_equal(stream_named(p, "cycles")->obtained, BY_HARDWARE);
    assert_string_equal(profile_str(p, stream_named(p, "cycles")->types[1].name).at, "cycles");
    assert_int_equal(stream_named(p, "cycles:u")->types[1].total, 1);
    profile_free(p);
}

static int64_t samples_in(const char *text)
{
    struct profile *p = read_str(text, (struct import_opts){0});
    int64_t n = profile_stream(p, 0)->types[0].total;
    profile_free(p);
    return n;
}

#define FIRST "a 1 1.1:     5 cycles:u: \n\t    7f01 f (/x)\n\n"

static void the_last_sample_counts_if_its_last_line_is_whole(void **state)
{
    (void)state;
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f (/x)\n"), 2);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f (/x)"), 2);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f (/x)\r\n"), 2);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f (/x"), 1);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f(int)"), 1);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n\t    7f01 f (/x (deleted)"), 1);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cycles:u: \n"), 1);
    assert_int_equal(samples_in(FIRST "a 1 1.2:     5 cyc"), 1);
    /* An indented header has no chain to wait for. */
    assert_int_equal(samples_in(FIRST "     a 1 1.2:     5 cycles:u:  7f01 f (/x)\n"), 2);
    assert_int_equal(samples_in(FIRST "     a 1 1.2:     5 cycles:u: \n"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_their_ids),
        cmocka_unit_test(source_code_is_no_sample),
        cmocka_unit_test(an_event_has_samples_and_weight),
        cmocka_unit_test(times_are_kept_unless_merged),
        cmocka_unit_test(addresses_tell_frames_apart_only_if_wanted),
        cmocka_unit_test(bare_frames_keep_their_address),
        cmocka_unit_test(an_inline_chain_is_one_frame),
        cmocka_unit_test(kinds_come_from_modules),
        cmocka_unit_test(lost_samples_are_added_up),
        cmocka_unit_test(known_lines_are_known_per_language),
        cmocka_unit_test(many_lines_come_again),
        cmocka_unit_test(each_event_has_rows_of_its_own),
        cmocka_unit_test(the_first_event_of_the_recording_is_shown_first),
        cmocka_unit_test(cores_of_a_hybrid_cpu_are_summed),
        cmocka_unit_test(the_last_sample_counts_if_its_last_line_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
