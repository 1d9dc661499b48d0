/*
 * The model: equal things once, sums that cannot overflow, choosing a column.
 */
#include "model/modules.h"
#include "model/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct frame_id named(struct profile *p, const char *name)
{
    return profile_add_named_frame(p, text_of(name), FRAME_USER);
}

static void equal_things_have_one_id(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    assert_int_equal(named(p, "f").i, named(p, "f").i);
    assert_int_not_equal(named(p, "f").i, named(p, "g").i);
    assert_int_not_equal(named(p, "f").i, profile_add_named_frame(p, text_of("f"), FRAME_KERNEL).i);
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/x")), .start = 4096};
    assert_int_equal(profile_add_mapping(p, &m).i, profile_add_mapping(p, &m).i);
    m.offset = 1;
    assert_int_equal(profile_add_mapping(p, &m).i, 2);
    profile_free(p);
}

/* Shares are exact only where each event has a sample: a fixed period of one, and none lost. */
static void events_that_each_have_a_sample_are_known(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int i = profile_add_stream(p, "sched:sched_switch", BY_TRACE);
    profile_add_value(p, i, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, i, "sched:sched_switch", UNIT_COUNT);
    struct stream *s = profile_stream(p, i);
    s->types[0].total = s->types[1].total = 127;
    s->lost_known = true;
    assert_true(stream_has_every_event(s));
    s->obtained = BY_SOFTWARE_EVENT;
    assert_true(stream_has_every_event(s));
    s->types[1].total = 128;
    assert_false(stream_has_every_event(s));
    s->types[1].total = 127;
    s->rate_hz = 4000; /* by frequency: the last sample may stand for more than it says */
    assert_false(stream_has_every_event(s));
    s->rate_hz = 0;
    s->lost = 1;
    assert_false(stream_has_every_event(s));
    s->lost = 0;
    s->obtained = BY_HARDWARE;
    assert_false(stream_has_every_event(s));
    profile_free(p);
}

static void reserved_frames_stay_apart(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct frame_id a = profile_reserve_frame(p), b = profile_reserve_frame(p);
    struct frame_key key = {.pc = 7};
    profile_set_frame(p, a, &key);
    profile_set_frame(p, b, &key);
    assert_int_not_equal(a.i, b.i);
    assert_int_equal(profile_frame(p, b)->pc, 7);
    profile_free(p);
}

static void stacks_share_their_callers(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct frame_id f[] = {named(p, "main"), named(p, "a"), named(p, "b")};
    struct frame_id leaf_first[] = {f[2], f[1], f[0]};
    struct stack_id whole = stacks_intern(&p->stacks, f, 3);
    assert_int_equal(whole.i, stacks_intern_leaf_first(&p->stacks, leaf_first, 3).i);
    assert_int_equal(p->stacks.nodes.n, 4);
    assert_int_equal(stacks_depth(&p->stacks, whole), 3);
    assert_int_equal(stacks_intern(&p->stacks, f, 2).i, p->stacks.nodes.at[whole.i].parent.i);
    assert_int_equal(stacks_intern(&p->stacks, f, 0).i, 0);
    profile_free(p);
}

/* Past the first sizes of the table, against a walk by single steps. */
static void many_stacks_are_found_again(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct frame_id f[12];
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        struct stack_id step = {0};
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525 + 1013904223;
            f[i].i = seed >> 29;
        }
        struct stack_id whole = stacks_intern(&p->stacks, f, 12);
        for (int i = 0; i < 12; i++)
            step = stacks_push(&p->stacks, step, f[i]);
        assert_int_equal(whole.i, step.i);
    }
    for (size_t i = 1; i < p->stacks.nodes.n; i++)
        assert_true(p->stacks.nodes.at[i].parent.i < i);
    profile_free(p);
}

/* A profile with one stream and one column. */
static struct profile *counts(void)
{
    struct profile *p = profile_new();
    profile_add_stream(p, "", OBTAINED_UNKNOWN);
    profile_add_value(p, 0, "counts", "");
    return p;
}

static int add(struct profile *p, uint32_t stack, int64_t value, struct err *err)
{
    struct row r = {.stack = {stack}, .values = &value};
    return profile_add_row(p, 0, &r, err);
}

static const struct value_ref first_value = {0, 0};

static void sums_never_overflow(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = counts();
    assert_int_equal(add(p, 0, INT64_MAX, &err), 0);
    assert_int_equal(add(p, 0, 1, &err), -1);
    assert_int_equal(err.code, EXIT_INPUT);
    assert_int_equal(profile_stream(p, 0)->rows.n, 1);
    assert_true(profile_value(p, first_value)->total == INT64_MAX);
    profile_free(p);
}

static void merging_adds_equal_stacks(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = counts();
    p->merge_rows = true;
    for (int i = 0; i < 1000; i++)
        add(p, (uint32_t)i % 3, 2, &err);
    assert_int_equal(profile_stream(p, 0)->rows.n, 3);
    assert_int_equal(profile_stream(p, 0)->rows.value[0][0], 668);
    profile_free(p);
}

/* Rows of other attributes, threads or streams are other rows. */
static void merging_keeps_apart_what_differs(void **state)
{
    (void)state;
    struct err err;
    int64_t one = 1;
    struct profile *p = counts();
    p->merge_rows = true;
    int second = profile_add_stream(p, "page-faults", BY_SOFTWARE_EVENT);
    profile_add_value(p, second, "faults", "count");
    struct attr a = {.key = profile_add_str(p, text_of("user")), .is_number = true, .number = 7};
    struct attrs_id seven = attrs_add(&p->attrs, (struct attrs_id){0}, &a);
    struct row r = {.stack = {1}, .values = &one, .has_time = true, .time_ns = 5};
    struct row with_attrs = r, of_thread = r;
    with_attrs.attrs = seven;
    of_thread.thread.i = 1;
    for (int i = 0; i < 10; i++) {
        profile_add_row(p, 0, &r, &err);
        profile_add_row(p, 0, &with_attrs, &err);
        profile_add_row(p, 0, &of_thread, &err);
        profile_add_row(p, second, &r, &err);
    }
    assert_int_equal(profile_stream(p, 0)->rows.n, 3);
    assert_int_equal(profile_stream(p, second)->rows.n, 1);
    assert_int_equal(profile_stream(p, 0)->rows.attrs[1].i, seven.i);
    assert_int_equal(profile_stream(p, 0)->rows.attrs[0].i, 0);
    assert_null(profile_stream(p, 0)->rows.time_ns); /* a sum has no time */
    assert_int_equal(profile_count_rows(p), 4);
    profile_free(p);
}

static void fractions_rescale_what_is_there(void **state)
{
    (void)state;
    struct err err;
    int64_t v;
    struct profile *p = counts();
    add(p, 0, 3, &err);
    assert_int_equal(profile_scale_value(p, first_value, 125, 2, &v, &err), 0);
    add(p, 0, v, &err);
    assert_int_equal(profile_value(p, first_value)->decimals, 2);
    assert_int_equal(profile_value(p, first_value)->total, 425);
    assert_int_equal(profile_stream(p, 0)->rows.value[0][0], 300);
    assert_int_equal(profile_scale_value(p, first_value, 2, 0, &v, &err), 0);
    assert_int_equal(v, 200);
    assert_int_equal(profile_scale_value(p, first_value, INT64_MAX, 0, &v, &err), -1);
    profile_free(p);
}

static void late_columns_start_at_zero(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = counts();
    for (int i = 0; i < 100; i++)
        add(p, 0, 1, &err);
    profile_add_value(p, 0, "b", "");
    int64_t values[] = {1, 5};
    struct row late = {.values = values, .has_time = true, .time_ns = 9, .duration_ns = 3};
    for (int i = 0; i < 100; i++)
        profile_add_row(p, 0, &late, &err);
    const struct rows *rows = &profile_stream(p, 0)->rows;
    assert_int_equal(rows->value[1][99], 0);
    assert_int_equal(rows->value[1][100], 5);
    assert_true(rows->time_ns[99] == 0 && rows->time_ns[199] == 9);
    assert_true(rows->duration_ns[99] == 0 && rows->duration_ns[199] == 3);
    profile_free(p);
}

static void rows_made_at_once_have_zeros_where_others_have_more(void **state)
{
    struct profile *p = profile_new();
    (void)state;
    int stream = profile_add_stream(p, "cycles", OBTAINED_UNKNOWN);
    profile_add_value(p, stream, "samples", "count");
    const struct rows *r = &p->streams.at[stream]->rows;
    assert_int_equal(profile_make_rows(p, stream, 2, (struct row_extras){0}), 0);
    assert_null(r->time_ns);
    assert_int_equal(profile_make_rows(p, stream, 50, (struct row_extras){.time = true}), 2);
    assert_int_equal(r->n, 52);
    assert_true(r->cap > r->n);
    assert_int_equal(r->time_ns[0], 0);
    for (size_t i = 2; i < r->n; i++)
        r->time_ns[i] = 7;
    r->time_ns[r->n] = 7; /* where there is room, what was there before */
    assert_int_equal(profile_make_rows(p, stream, 1, (struct row_extras){.attrs = true}), 52);
    assert_int_equal(r->time_ns[52], 0);
    assert_int_equal(r->time_ns[51], 7);
    assert_non_null(r->attrs);
    assert_null(r->duration_ns);
    profile_free(p);
}

/* A stream holds its own columns only, and rows that were given back are still counted. */
static void forgotten_rows_stay_counted(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = counts();
    for (int i = 0; i < 100; i++)
        add(p, 0, 1, &err);
    profile_forget_rows(p);
    assert_int_equal(profile_stream(p, 0)->rows.n, 0);
    add(p, 0, 1, &err);
    assert_int_equal(profile_stream(p, 0)->rows.n, 1);
    assert_int_equal(profile_count_rows(p), 101);
    assert_int_equal(profile_value(p, first_value)->total, 101);
    profile_free(p);
}

static void is_picked(const struct profile *p, const char *event, const char *value, int stream,
                      int type)
{
    struct err err;
    struct value_ref ref;
    assert_int_equal(profile_pick_value(p, event, value, &ref, &err), 0);
    assert_int_equal(ref.stream, stream);
    assert_int_equal(ref.type, type);
}

static void columns_are_chosen_by_event_and_value(void **state)
{
    (void)state;
    struct err err;
    struct value_ref ref;
    struct profile *p = profile_new();
    int cycles = profile_add_stream(p, "cycles", BY_HARDWARE);
    profile_add_value(p, cycles, "samples", "count");
    profile_add_value(p, cycles, "cycles", "count");
    int faults = profile_add_stream(p, "faults", BY_SOFTWARE_EVENT);
    profile_add_value(p, faults, "samples", "count");
    profile_add_value(p, faults, "D1mr", "count");
    is_picked(p, NULL, NULL, 0, 1); /* the weight of the first event */
    is_picked(p, "faults", NULL, 1, 1);
    is_picked(p, "faults", "samples", 1, 0);
    is_picked(p, NULL, "samples", 0, 0);
    is_picked(p, "cycles", "weight", 0, 1);
    is_picked(p, NULL, "D1mr", 1, 1);
    is_picked(p, "D1mr", NULL, 1, 1); /* no stream is called so, but a column is */
    assert_int_equal(profile_pick_value(p, "nothing", NULL, &ref, &err), -1);
    assert_non_null(strstr(err.text, "no event 'nothing' in this profile; it has: cycles, faults"));
    assert_int_equal(profile_pick_value(p, "cycles", "nothing", &ref, &err), -1);
    assert_string_equal(err.text, "no value 'nothing' in this profile; it has: samples, cycles");
    assert_int_equal(profile_pick_value(p, NULL, "nothing", &ref, &err), -1);
    assert_non_null(strstr(err.text, "it has: samples, cycles, D1mr"));
    p->default_value = (struct value_ref){1, 0};
    is_picked(p, NULL, NULL, 1, 0);
    is_picked(p, NULL, "weight", 1, 1); /* of the stream that is shown first */
    profile_free(p);
}

static void events_know_what_they_are(void **state)
{
    (void)state;
    assert_int_equal(event_obtained(text_of("cpu-clock:u")), BY_SOFTWARE_CLOCK);
    assert_int_equal(event_obtained(text_of("cycles:ppp")), BY_HARDWARE);
    assert_int_equal(event_obtained(text_of("page-faults")), BY_SOFTWARE_EVENT);
    assert_int_equal(event_obtained(text_of("something-new")), OBTAINED_UNKNOWN);
    assert_int_equal(event_dimension(text_of("task-clock")), DIM_TIME);
    assert_int_equal(event_dimension(text_of("cycles")), DIM_COUNT);
    for (enum obtained o = OBTAINED_UNKNOWN + 1; o < OBTAINED_WAYS; o++)
        assert_int_equal(obtained_find(text_of(obtained_name(o))), o);
    assert_true(obtained_exactly(BY_SIMULATION) && obtained_exactly(BY_EXACT_COUNT));
    assert_false(obtained_exactly(BY_HARDWARE) || obtained_exactly(OBTAINED_UNKNOWN));
}

static void columns_know_what_they_mean(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int s = profile_add_stream(p, "", OBTAINED_UNKNOWN);
    profile_add_value(p, s, "alloc_objects", "count");
    profile_add_value(p, s, "inuse_space", "bytes");
    profile_add_value(p, s, "cpu", "nanoseconds");
    profile_add_value(p, s, "watt", "watt");
    const struct value_type *t = profile_stream(p, s)->types;
    assert_int_equal(stream_samples(profile_stream(p, s)), -1); /* objects are not samples */
    assert_true(t[0].dimension == DIM_COUNT && t[0].role == ROLE_FLOW);
    assert_true(t[1].dimension == DIM_BYTES && t[1].role == ROLE_LEVEL);
    assert_true(t[2].dimension == DIM_TIME && t[2].role == ROLE_FLOW);
    assert_true(t[3].dimension == DIM_OTHER);
    profile_add_value(p, s, "samples", "count");
    assert_int_equal(stream_samples(profile_stream(p, s)), 4);
    profile_free(p);
}

static void equal_attributes_have_one_id(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct str_id user = profile_add_str(p, text_of("user")), x = profile_add_str(p, text_of("x")),
                  size = profile_add_str(p, text_of("size")),
                  bytes = profile_add_str(p, text_of("bytes"));
    struct attr text = {.key = user, .text = x};
    struct attr number = {.key = size, .is_number = true, .number = -5, .unit = bytes};
    struct attr other = number;
    other.number = 5;
    struct attrs_id none = {0}, one = attrs_add(&p->attrs, none, &text);
    struct attrs_id two = attrs_add(&p->attrs, one, &number);
    assert_int_equal(attrs_add(&p->attrs, none, &text).i, one.i);
    assert_int_equal(attrs_add(&p->attrs, one, &number).i, two.i);
    assert_int_not_equal(attrs_add(&p->attrs, one, &other).i, two.i);
    assert_int_equal(attrs_find(&p->attrs, two, size)->number, -5);
    assert_int_equal(attrs_find(&p->attrs, two, user)->text.i, x.i);
    assert_null(attrs_find(&p->attrs, one, size));
    profile_free(p);
}

/* A pid that is used again is another process; its threads are others too. */
static void a_pid_used_again_is_another_process(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct thread_key key = {.pid = 77, .tid = 78};
    struct thread_id before = profile_add_thread(p, &key);
    assert_int_equal(profile_add_thread(p, &key).i, before.i);
    struct process_id again = profile_add_process(p, &(struct process){.pid = 77, .start_ns = 9});
    assert_int_equal(profile_find_process(p, 77).i, again.i);
    struct thread_id after = profile_add_thread(p, &key);
    assert_int_not_equal(after.i, before.i);
    assert_int_equal(profile_pid(p, &p->threads.at[before.i]), 77);
    assert_int_equal(profile_pid(p, &p->threads.at[after.i]), 77);
    assert_int_equal(profile_find_process(p, 78).i, 0);
    assert_int_equal(profile_pid(p, &p->threads.at[0]), THREAD_NO_ID);
    profile_free(p);
}

static void of_many_processes_the_newest_with_a_pid_is_found(void **state)
{
    enum { PIDS = 3000, TIMES = 3 };
    (void)state;
    struct profile *p = profile_new();
    for (int time = 0; time < TIMES; time++)
        for (int pid = 1; pid <= PIDS; pid++)
            profile_add_process(p, &(struct process){.pid = pid, .start_ns = (uint64_t)time});
    for (int pid = 1; pid <= PIDS; pid++) {
        struct process_id found = profile_find_process(p, pid);
        assert_int_equal(p->processes.at[found.i].pid, pid);
        assert_int_equal(p->processes.at[found.i].start_ns, TIMES - 1);
    }
    profile_free(p);
}

static void reasons_of_unfinished_stacks_are_summed(void **state)
{
    (void)state;
    struct profile *p = counts();
    assert_false(profile_stream(p, 0)->unfinished_known);
    profile_set_unfinished(p, 0, "no rule", 0);
    assert_true(profile_stream(p, 0)->unfinished_known);
    assert_int_equal(stream_unfinished(profile_stream(p, 0)), 0);
    profile_set_unfinished(p, 0, "no rule", 3);
    profile_set_unfinished(p, 0, "cut", 4);
    profile_set_unfinished(p, 0, "no rule", 5);
    assert_int_equal(stream_unfinished(profile_stream(p, 0)), 9);
    assert_int_equal(profile_stream(p, 0)->n_unfinished, 2);
    profile_free(p);
}

static void frames_differ_by_every_part_of_their_lines(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct line base = {.line = 3, .column = 4}, others[] = {base, base};
    others[0].line = 5;
    others[1].column = 5;
    struct frame_key key = {.pc = 16, .lines = &base, .n_lines = 1};
    struct frame_id first = profile_add_frame(p, &key);
    assert_int_equal(profile_add_frame(p, &key).i, first.i);
    for (size_t i = 0; i < 2; i++) {
        struct frame_key other = {.pc = 16, .lines = &others[i], .n_lines = 1};
        assert_int_not_equal(profile_add_frame(p, &other).i, first.i);
    }
    key.n_lines = 0;
    assert_int_not_equal(profile_add_frame(p, &key).i, first.i);
    profile_free(p);
}

static void the_mappings_of_a_file_are_one_module(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct str_id path = profile_add_str(p, text_of("/lib/x.so"));
    for (uint64_t i = 0; i < 3; i++) {
        struct mapping m = {.path = path, .start = 4096 * (i + 1), .end = 4096 * (i + 2)};
        struct frame_key key = {.mapping = profile_add_mapping(p, &m), .pc = m.start + 8};
        profile_add_frame(p, &key);
    }
    struct modules all;
    modules_build(&all, p);
    const struct module_names *m = modules_find(&all, p, text_of("/lib/x.so"));
    assert_non_null(m);
    assert_int_equal(m->frames, 3);
    assert_int_equal(m->named, 0);
    assert_true(module_is_bare(m));
    assert_null(modules_find(&all, p, text_of("/lib/y.so")));
    modules_done(&all);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_things_have_one_id),
        cmocka_unit_test(frames_differ_by_every_part_of_their_lines),
        cmocka_unit_test(the_mappings_of_a_file_are_one_module),
        cmocka_unit_test(events_that_each_have_a_sample_are_known),
        cmocka_unit_test(reserved_frames_stay_apart),
        cmocka_unit_test(stacks_share_their_callers),
        cmocka_unit_test(many_stacks_are_found_again),
        cmocka_unit_test(sums_never_overflow),
        cmocka_unit_test(merging_adds_equal_stacks),
        cmocka_unit_test(merging_keeps_apart_what_differs),
        cmocka_unit_test(fractions_rescale_what_is_there),
        cmocka_unit_test(late_columns_start_at_zero),
        cmocka_unit_test(rows_made_at_once_have_zeros_where_others_have_more),
        cmocka_unit_test(forgotten_rows_stay_counted),
        cmocka_unit_test(columns_are_chosen_by_event_and_value),
        cmocka_unit_test(events_know_what_they_are),
        cmocka_unit_test(columns_know_what_they_mean),
        cmocka_unit_test(equal_attributes_have_one_id),
        cmocka_unit_test(a_pid_used_again_is_another_process),
        cmocka_unit_test(of_many_processes_the_newest_with_a_pid_is_found),
        cmocka_unit_test(reasons_of_unfinished_stacks_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
