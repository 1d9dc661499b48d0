/* test_lanes.c - the page's timeline: states of threads by time, what blocked them, marks. */
#include "model/waitstream.h"
#include "page/core.h"
#include "wire/recording.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support.h"

enum { MS = 1000000 };

static void lanes_row(struct profile *p, int stream, struct row r, int64_t a, int64_t b, int64_t c)
{
    struct err err;
    int64_t values[STREAM_MAX_TYPES] = {a, b, c, 0};
    r.has_time = true;
    r.values = values;
    assert_int_equal(profile_add_row(p, stream, &r, &err), 0);
}

/*
 * A thread that lives for 100 ms: runs 20, waits 40 for a lock and 10 for a CPU, runs 10, is
 * preempted for 20. Three page faults, two of them at once; one moment of the program's own.
 */
static struct profile *lanes_profile(void)
{
    struct profile *p = profile_new();
    struct waitstream w;
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    p->default_value = (struct value_ref){0, 0};
    assert_true(waitstream_add(p, &w));
    struct frame_id lock = profile_add_named_frame(p, text_of("pthread_mutex_lock"), FRAME_USER);
    struct frame_id futex = profile_add_named_frame(p, text_of("futex_wait"), FRAME_KERNEL);
    struct stack_id at = stacks_push(&p->stacks, (struct stack_id){0}, lock);
    struct stack_id waits = stacks_push(&p->stacks, at, futex);
    struct thread_id t =
        profile_add_thread(p, &(struct thread_key){profile_add_str(p, text_of("t")), 10, 11});
    uint64_t start = 5000 * (uint64_t)MS;
    struct row state = {.thread = t, .time_ns = start, .duration_ns = 100 * MS};
    struct row wait = {
        .stack = waits, .thread = t, .time_ns = start + 20 * MS, .duration_ns = 50 * MS};
    struct row preempted = {.thread = t, .time_ns = start + 80 * MS, .duration_ns = 20 * MS};
    lanes_row(p, w.states, state, 30 * MS, 30 * MS, 40 * MS);
    lanes_row(p, w.waits, wait, 1, 40 * MS, 10 * MS);
    lanes_row(p, w.waits, preempted, 1, 0, 20 * MS);
    lanes_row(p, 0, (struct row){.thread = t, .time_ns = start + 15 * MS}, 1, 10 * MS, 0);
    int faults = profile_add_stream(p, "page-faults", BY_SOFTWARE_CLOCK);
    profile_add_value(p, faults, "samples", "count");
    for (int i = 0; i < 3; i++)
        lanes_row(p, faults,
                  (struct row){.thread = t, .time_ns = start + (uint64_t)(i ? 71 : 5) * MS}, 1, 0,
                  0);
    int moments = stream_kind_add(p, STREAM_MOMENTS, BY_TRACE);
    profile_add_value(p, moments, "samples", "count");
    struct frame_id named = profile_add_named_frame(p, text_of("flush"), FRAME_USER);
    struct stack_id flush = stacks_push(&p->stacks, (struct stack_id){0}, named);
    lanes_row(p, moments, (struct row){.stack = flush, .thread = t, .time_ns = start + 33 * MS}, 1,
              0, 0);
    return p;
}

static json_t *lanes_ask(struct profile *p, const char *question)
{
    struct err err;
    char *file, *text;
    size_t n, length;
    FILE *out = open_memstream(&file, &n);
    assert_int_equal(recording_write(out, p, true, &err), 0);
    fclose(out);
    struct core *c = core_new();
    assert_int_equal(core_load(c, 0, (struct text){file, n}, &err), 0);
    out = open_memstream(&text, &length);
    core_ask(c, text_of(question), out);
    fclose(out);
    json_t *answer = json_loads(text, 0, NULL);
    assert_non_null(answer);
    core_free(c);
    free(file);
    free(text);
    return answer;
}

static int bin_of(const json_t *lane, const char *key, size_t i)
{
    return (int)json_number_value(json_array_get(json_object_get(lane, key), i)) / MS;
}

/* Bins of 10 ms. States are sums over all of it: only the waits show when what was. */
static void states_are_where_they_were(void **state)
{
    (void)state;
    static const int running[] = {10, 10, 0, 0, 0, 0, 0, 10, 0, 0};
    static const int blocked[] = {0, 0, 10, 10, 10, 10, 0, 0, 0, 0};
    static const int runnable[] = {0, 0, 0, 0, 0, 0, 10, 0, 10, 10};
    struct profile *p = lanes_profile();
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *lane = json_array_get(json_object_get(answer, "states"), 0);
    json_t *reasons = json_object_get(lane, "reasons");
    assert_int_equal(json_object_size(reasons), 1);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(bin_of(lane, "running", i), running[i]);
        assert_int_equal(bin_of(lane, "blocked", i), blocked[i]);
        assert_int_equal(bin_of(lane, "runnable", i), runnable[i]);
        assert_int_equal(bin_of(reasons, "lock", i), blocked[i]);
    }
    json_decref(answer);
    profile_free(p);
}

/* Waits that were only counted have no times: what is running is known as a sum alone. */
static void what_has_no_times_is_spread(void **state)
{
    struct profile *p = lanes_profile();
    struct waitstream w;
    struct row many = {.thread = {1}, .time_ns = 5000 * (uint64_t)MS, .duration_ns = 2 * MS};
    (void)state;
    assert_true(waitstream_find(p, &w));
    many.thread = p->streams.at[w.states]->rows.thread[0];
    many.stack = p->streams.at[w.waits]->rows.stack[0];
    many.attrs = waitstream_part(p, WAIT_SUMMED);
    lanes_row(p, w.waits, many, 9, 0, 0);
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *lane = json_array_get(json_object_get(answer, "states"), 0);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(bin_of(lane, "running", i), 3);
        assert_int_equal(bin_of(lane, "runnable", i), 3);
        assert_int_equal(bin_of(lane, "blocked", i), 4);
        assert_int_equal(bin_of(json_object_get(lane, "reasons"), "lock", i), 4);
    }
    json_decref(answer);
    profile_free(p);
}

/* It has the name of its program first, its own, and for a moment another. */
static void a_thread_has_the_name_under_which_it_worked(void **state)
{
    struct profile *p = profile_new();
    const char *const names[] = {"program", "worker", "worker", "worker", "helper"};
    (void)state;
    support_value(p, "cpu-clock", "samples", "count");
    for (size_t i = 0; i < 5; i++) {
        struct thread_key key = {profile_add_str(p, text_of(names[i])), 10, 11};
        lanes_row(p, 0, (struct row){.thread = profile_add_thread(p, &key), .time_ns = i * MS}, 1,
                  0, 0);
    }
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *lanes = json_object_get(answer, "lanes"), *lane = json_array_get(lanes, 0);
    assert_int_equal(json_array_size(lanes), 1);
    assert_string_equal(json_string_value(json_object_get(lane, "name")), "worker");
    assert_int_equal(json_integer_value(json_object_get(lane, "total")), 5);
    assert_int_equal(json_integer_value(json_object_get(lane, "samples")), 5);
    json_decref(answer);
    profile_free(p);
}

/* A row may stand for many events; what is beyond the part that is looked at is not in it. */
static void marks_count_events_of_what_is_seen(void **state)
{
    struct profile *p = lanes_profile();
    int stream = 0;
    (void)state;
    for (size_t i = 0; i < p->streams.n; i++)
        if (strcmp(profile_str(p, p->streams.at[i]->event).at, "page-faults") == 0)
            stream = (int)i;
    struct row many = {.thread = p->streams.at[0]->rows.thread[0], .time_ns = 5025 * (uint64_t)MS};
    lanes_row(p, stream, many, 7, 0, 0);
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *mark = json_array_get(json_object_get(answer, "marks"), 0);
    char *at = json_dumps(json_object_get(mark, "at"), JSON_COMPACT);
    assert_string_equal(at, "[[0,1],[2,7],[7,2]]");
    free(at);
    json_decref(answer);
    answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10,\"from_s\":0.03,\"to_s\":0.04}");
    assert_int_equal(json_array_size(json_object_get(answer, "moments")), 1);
    json_decref(answer);
    static const char *const others[] = {"{\"ask\":\"lanes\",\"bins\":10,\"to_s\":0.03}",
                                         "{\"ask\":\"lanes\",\"bins\":10,\"from_s\":0.04}"};
    for (size_t i = 0; i < 2; i++) {
        answer = lanes_ask(p, others[i]);
        assert_int_equal(json_array_size(json_object_get(answer, "moments")), 0);
        json_decref(answer);
    }
    profile_free(p);
}

/* A second thread, of another process: 50 ms, of which it waits 30 at a pipe. */
static struct profile *two_threads(void)
{
    struct profile *p = lanes_profile();
    struct waitstream w;
    assert_true(waitstream_find(p, &w));
    struct frame_id call = profile_add_named_frame(p, text_of("read"), FRAME_USER);
    struct frame_id pipe = profile_add_named_frame(p, text_of("pipe_read"), FRAME_KERNEL);
    struct stack_id at = stacks_push(&p->stacks, (struct stack_id){0}, call);
    struct thread_id t =
        profile_add_thread(p, &(struct thread_key){profile_add_str(p, text_of("u")), 20, 21});
    uint64_t start = 5000 * (uint64_t)MS;
    struct row state = {.thread = t, .time_ns = start, .duration_ns = 50 * MS};
    struct row wait = {.stack = stacks_push(&p->stacks, at, pipe),
                       .thread = t,
                       .time_ns = start + 10 * MS,
                       .duration_ns = 30 * MS};
    lanes_row(p, w.states, state, 20 * MS, 0, 30 * MS);
    lanes_row(p, w.waits, wait, 1, 30 * MS, 0);
    return p;
}

static void each_wait_has_its_own_reason(void **state)
{
    struct profile *p = two_threads();
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}"), *lane;
    size_t i;
    (void)state;
    assert_int_equal(json_array_size(json_object_get(answer, "states")), 2);
    json_array_foreach(json_object_get(answer, "states"), i, lane)
    {
        bool second = json_integer_value(json_object_get(lane, "tid")) == 21;
        json_t *reasons = json_object_get(lane, "reasons");
        assert_int_equal(json_object_size(reasons), 1);
        assert_int_equal(bin_of(reasons, second ? "pipe" : "lock", 3), 10);
    }
    json_decref(answer);
    profile_free(p);
}

/* Wall time is of the threads that are selected; of a function's waits there is none. */
static void wall_time_is_of_the_threads_that_are_selected(void **state)
{
    static const struct {
        const char *members;
        int wall_ms, waits; /* 0 = not known */
    } asked[] = {{"", 150, 3},
                 {",\"thread\":[\"11\"]", 100, 2},
                 {",\"thread\":[\"u\"]", 50, 1},
                 {",\"process\":[\"20\"]", 50, 1},
                 {",\"focus\":[\"^read$\"]", 0, 1},
                 {",\"ignore\":[\"^read$\"]", 0, 2}};
    struct profile *p = two_threads();
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        autofree char *question = mem_printf("{\"ask\":\"waits\"%s}", asked[i].members);
        json_t *answer = lanes_ask(p, question), *waits = json_object_get(answer, "waits");
        json_t *wall = json_object_get(waits, "wall_ns");
        if ((int)(json_number_value(wall) / MS + 0.5) != asked[i].wall_ms ||
            (!asked[i].wall_ms && wall) ||
            json_integer_value(json_object_get(waits, "waits")) != asked[i].waits) {
            char *said = json_dumps(waits, 0);
            fail_msg("%s: %s", question, said);
        }
        json_decref(answer);
    }
    profile_free(p);
}

static void events_are_marks_unless_they_are_looked_at(void **state)
{
    (void)state;
    struct profile *p = lanes_profile();
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *marks = json_object_get(answer, "marks"), *mark = json_array_get(marks, 0);
    assert_int_equal(json_array_size(marks), 1);
    assert_string_equal(json_string_value(json_object_get(mark, "event")), "page-faults");
    assert_int_equal(json_integer_value(json_object_get(mark, "tid")), 11);
    char *at = json_dumps(json_object_get(mark, "at"), JSON_COMPACT);
    assert_string_equal(at, "[[0,1],[7,2]]");
    free(at);
    json_t *moment = json_array_get(json_object_get(answer, "moments"), 0);
    assert_string_equal(json_string_value(json_array_get(moment, 2)), "flush");
    assert_int_equal((int)(1000 * json_number_value(json_array_get(moment, 1)) + 0.5), 33);
    json_decref(answer);
    answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10,\"event\":\"page-faults\"}");
    assert_int_equal(json_array_size(json_object_get(answer, "marks")), 0);
    json_decref(answer);
    answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10,\"brief\":true}");
    assert_null(json_object_get(answer, "marks"));
    assert_null(json_object_get(answer, "states"));
    json_decref(answer);
    profile_free(p);
}

/* 10 ms of CPU time that end at 15 ms. */
static void a_sample_stands_for_the_time_before_it(void **state)
{
    struct profile *p = lanes_profile();
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *lane = json_array_get(json_object_get(answer, "lanes"), 0);
    (void)state;
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(bin_of(lane, "bins", i), i < 2 ? 5 : 0);
    json_decref(answer);
    profile_free(p);
}

/* A page draws some thousand points: of more, the highest and the last must be among them. */
static void a_counter_keeps_its_peak_and_its_end(void **state)
{
    struct profile *p = lanes_profile();
    int id = profile_add_counter(p, "live", UNIT_BYTES, (struct process_id){0});
    size_t n = 0;
    double highest = 0;
    json_t *point;
    (void)state;
    for (int i = 0; i < 30001; i++)
        profile_add_point(p, id, 5000 * (uint64_t)MS + (uint64_t)i * 3000,
                          i == 12346 ? 999999 : i % 100);
    json_t *answer = lanes_ask(p, "{\"ask\":\"lanes\",\"bins\":10}");
    json_t *points =
        json_object_get(json_array_get(json_object_get(answer, "counters"), 0), "points");
    json_array_foreach(points, n, point) highest =
        fmax(highest, json_number_value(json_array_get(point, 1)));
    assert_true(n > 500 && n <= 2000);
    assert_int_equal((int)highest, 999999);
    assert_true(json_is_true(
        json_object_get(json_array_get(json_object_get(answer, "counters"), 0), "bytes")));
    point = json_array_get(points, n - 1);
    assert_int_equal((int)(1e6 * json_number_value(json_array_get(point, 0)) + 0.5), 90000);
    json_decref(answer);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_where_they_were),
        cmocka_unit_test(what_has_no_times_is_spread),
        cmocka_unit_test(a_thread_has_the_name_under_which_it_worked),
        cmocka_unit_test(marks_count_events_of_what_is_seen),
        cmocka_unit_test(each_wait_has_its_own_reason),
        cmocka_unit_test(wall_time_is_of_the_threads_that_are_selected),
        cmocka_unit_test(events_are_marks_unless_they_are_looked_at),
        cmocka_unit_test(a_sample_stands_for_the_time_before_it),
        cmocka_unit_test(a_counter_keeps_its_peak_and_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
