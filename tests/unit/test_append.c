/* Profiles appended to one another: nothing of either is lost, and equal things meet. */
#include "model/append.h"
#include "model/packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/calltree.h"
#include "support.h"
#include "view/export/export.h"

static char *fold(const struct profile *p)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    struct err err;
    struct export_opts opts = {0};
    assert_int_equal(exporter_folded.write(out, SUPPORT_ALL(p, 0), &opts, &err), 0);
    fclose(out);
    return text;
}

static void stacks_of_both_are_there_once(void **state)
{
    struct err err;
    (void)state;
    struct profile *a = support_folded("main;read 3\nmain;parse;malloc 2\n");
    struct profile *b = support_folded("other;x 1\nmain;parse;malloc 5\nmain;parse 7\n");
    size_t frames = a->frames.n;
    assert_int_equal(profile_append(a, b, &err), 0);
    profile_free(b); /* nothing of it may be needed */
    autofree char *text = fold(a);
    assert_string_equal(text, "main;parse 7\nmain;parse;malloc 7\nmain;read 3\nother;x 1\n");
    assert_int_equal(a->frames.n, frames + 2);
    assert_int_equal(a->streams.at[0]->types[0].total, 18);
    profile_free(a);
}

static struct profile *make_run(int32_t pid, uint64_t lost, double achieved_hz)
{
    struct profile *p = profile_new();
    struct err err;
    int64_t value = 1;
    struct process process = {.pid = pid, .executable = profile_add_str(p, text_of("/app"))};
    struct process_id id = profile_add_process(p, &process);
    struct thread t = {.process = id, .name = profile_add_str(p, text_of("app")), .tid = pid};
    support_value(p, "cpu-clock", "samples", "count");
    struct stream *s = profile_stream(p, 0);
    s->lost_known = s->unfinished_known = true;
    s->lost = lost;
    s->guessed = 1;
    s->rate_achieved_hz = achieved_hz;
    profile_set_unfinished(p, 0, "no memory", lost + 1);
    struct row row = {.thread = profile_add_thread_of(p, &t),
                      .has_time = true,
                      .time_ns = (uint64_t)pid * 100,
                      .values = &value};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    return p;
}

static void source_files_of_both_are_there_once(void **state)
{
    struct err err;
    (void)state;
    struct profile *a = support_folded("main 3\n"), *b = support_folded("main 1\n");
    assert_true(packed_add(a, text_of("/a.c"), text_of("one"), false));
    assert_false(packed_add(a, text_of("/a.c"), text_of("two"), false));
    assert_false(packed_add(a, text_of(""), text_of("two"), false));
    assert_true(packed_add(b, text_of("/a.c"), text_of("two"), false));
    assert_true(packed_add(b, text_of("/b.c"), text_of("three"), true));
    assert_int_equal(profile_append(a, b, &err), 0);
    profile_free(b);
    assert_int_equal(a->packed.n, 2);
    assert_string_equal(packed_find(a, text_of("/a.c"))->text.at, "one");
    assert_true(packed_find(a, text_of("/b.c"))->newer);
    assert_null(packed_find(a, text_of("/b")));
    profile_free(a);
}

static void source_files_have_limits(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    size_t n = PACKED_MAX_BYTES;
    autofree char *large = mem_calloc(n + 1, 1);
    assert_false(packed_add(p, text_of("/large.c"), (struct text){large, n + 1}, false));
    for (size_t i = 0; i < PACKED_MAX_ALL / PACKED_MAX_BYTES; i++) {
        char name[20];
        snprintf(name, sizeof name, "/%zu.c", i);
        assert_true(packed_add(p, text_of(name), (struct text){large, n}, false));
    }
    assert_false(packed_add(p, text_of("/more.c"), text_of("x"), false));
    profile_free(p);
}

static void processes_stay_apart_and_losses_add_up(void **state)
{
    struct err err;
    (void)state;
    struct profile *a = make_run(7, 3, 1000), *b = make_run(8, 4, 500);
    assert_int_equal(profile_append(a, b, &err), 0);
    const struct stream *s = profile_stream(a, 0);
    assert_int_equal(s->rows.n, 2);
    assert_int_equal(s->rows.time_ns[1], 800);
    assert_int_equal(profile_pid(a, &a->threads.at[s->rows.thread[0].i]), 7);
    assert_int_equal(profile_pid(a, &a->threads.at[s->rows.thread[1].i]), 8);
    assert_int_equal(s->lost, 7);
    assert_int_equal(s->guessed, 2);
    assert_int_equal(stream_unfinished(s), 9);
    assert_int_equal(s->n_unfinished, 1);
    assert_true(s->rate_achieved_hz > 666 && s->rate_achieved_hz < 667); /* 2 in 3 ms */
    profile_free(a);
    profile_free(b);
}

static void another_event_is_refused(void **state)
{
    struct err err;
    (void)state;
    struct profile *a = make_run(7, 0, 0), *b = support_folded("main 1\n");
    assert_int_equal(profile_append(a, b, &err), -1);
    profile_free(a);
    profile_free(b);
}

/* --- what a program says of itself --- */

static void point(struct profile *p, int counter, uint64_t time_ns, int64_t value)
{
    profile_add_point(p, counter, time_ns, value);
}

static void counts_go_on_and_gauges_are_as_they_were(void **state)
{
    struct err err;
    (void)state;
    struct profile *a = make_run(7, 0, 0), *b = make_run(8, 0, 0);
    int tokens = profile_add_counter(a, "tokens", UNIT_COUNT, (struct process_id){1});
    point(a, tokens, 100, 10);
    point(a, tokens, 200, 30);
    int queue = profile_add_counter(b, "queue", "", (struct process_id){1});
    int again[2];
    for (int i = 0; i < 2; i++) /* of two processes */
        again[i] = profile_add_counter(b, "tokens", UNIT_COUNT, (struct process_id){1});
    point(b, queue, 900, -3);
    point(b, again[0], 300, 5);
    point(b, again[1], 150, 2);
    assert_int_equal(profile_append(a, b, &err), 0);
    assert_int_equal(a->counters.n, 3);
    const struct counter *first = &a->counters.at[0], *gauge = &a->counters.at[1],
                         *second = &a->counters.at[2];
    assert_int_equal(first->points.n, 3);
    assert_int_equal(first->points.at[2].value, 35);
    assert_int_equal(first->points.at[2].time_ns, 300);
    assert_true(text_is(profile_str(a, gauge->name), "queue"));
    assert_int_equal(gauge->points.at[0].value, -3);
    assert_int_equal(profile_pid(a, &a->threads.at[2]), 8);
    assert_int_equal(a->processes.at[gauge->process.i].pid, 8);
    assert_int_equal(second->points.at[0].value, 2);
    profile_free(a);
    profile_free(b);
}

static void scopes_that_only_a_later_run_had_are_there(void **state)
{
    struct err err;
    int64_t values[] = {1, 40};
    (void)state;
    struct profile *a = make_run(7, 0, 0), *b = make_run(8, 0, 0);
    int scopes = profile_add_stream(b, "scopes", BY_TRACE);
    profile_add_value(b, scopes, "spans", UNIT_COUNT);
    profile_add_value(b, scopes, "self", UNIT_TIME);
    struct row row = {.has_time = true, .time_ns = 5, .duration_ns = 40, .values = values};
    assert_int_equal(profile_add_row(b, scopes, &row, &err), 0);
    profile_stream(b, scopes)->lost_known = true;
    profile_stream(b, scopes)->lost = 2;
    assert_int_equal(profile_append(a, b, &err), 0);
    const struct stream *s = profile_stream(a, 1);
    assert_true(text_is(profile_str(a, s->event), "scopes"));
    assert_true(s->lost_known && s->lost == 2);
    assert_int_equal(s->rows.n, 1);
    assert_int_equal(s->rows.duration_ns[0], 40);
    assert_int_equal(s->types[1].total, 40);
    profile_free(a);
    profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_both_are_there_once),
        cmocka_unit_test(source_files_of_both_are_there_once),
        cmocka_unit_test(source_files_have_limits),
        cmocka_unit_test(processes_stay_apart_and_losses_add_up),
        cmocka_unit_test(another_event_is_refused),
        cmocka_unit_test(counts_go_on_and_gauges_are_as_they_were),
        cmocka_unit_test(scopes_that_only_a_later_run_had_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
