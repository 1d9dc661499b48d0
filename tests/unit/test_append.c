/* Profiles appended to one another: nothing of either is lost, and equal things meet. */
#include "model/append.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_both_are_there_once),
        cmocka_unit_test(processes_stay_apart_and_losses_add_up),
        cmocka_unit_test(another_event_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
