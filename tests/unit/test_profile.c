/*
 * The model: equal things once, sums that cannot overflow, choosing a column.
 */
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

static int add(struct profile *p, uint32_t stack, int64_t value, struct err *err)
{
    struct sample s = {.stack = {stack}, .values = &value};
    return profile_add_sample(p, &s, err);
}

static void sums_never_overflow(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = profile_new();
    profile_add_type(p, "", "counts", "");
    assert_int_equal(add(p, 0, INT64_MAX, &err), 0);
    assert_int_equal(add(p, 0, 1, &err), -1);
    assert_int_equal(err.code, EXIT_INPUT);
    assert_int_equal(p->samples.n, 1);
    assert_true(p->types[0].total == INT64_MAX);
    profile_free(p);
}

static void merging_adds_equal_stacks(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = profile_new();
    p->merge_samples = true;
    profile_add_type(p, "", "counts", "");
    for (int i = 0; i < 1000; i++)
        add(p, (uint32_t)i % 3, 2, &err);
    assert_int_equal(p->samples.n, 3);
    assert_int_equal(p->samples.value[0][0], 668);
    profile_free(p);
}

static void fractions_rescale_what_is_there(void **state)
{
    (void)state;
    struct err err;
    int64_t v;
    struct profile *p = profile_new();
    profile_add_type(p, "", "counts", "");
    add(p, 0, 3, &err);
    assert_int_equal(profile_scale_value(p, 0, 125, 2, &v, &err), 0);
    add(p, 0, v, &err);
    assert_int_equal(p->types[0].decimals, 2);
    assert_int_equal(p->types[0].total, 425);
    assert_int_equal(p->samples.value[0][0], 300);
    assert_int_equal(profile_scale_value(p, 0, 2, 0, &v, &err), 0);
    assert_int_equal(v, 200);
    assert_int_equal(profile_scale_value(p, 0, INT64_MAX, 0, &v, &err), -1);
    profile_free(p);
}

static void late_types_start_at_zero(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = profile_new();
    profile_add_type(p, "", "a", "");
    for (int i = 0; i < 100; i++)
        add(p, 0, 1, &err);
    profile_add_type(p, "", "b", "");
    int64_t values[] = {1, 5};
    struct sample s = {.values = values};
    for (int i = 0; i < 100; i++)
        profile_add_sample(p, &s, &err);
    assert_int_equal(p->samples.value[1][99], 0);
    assert_int_equal(p->samples.value[1][100], 5);
    profile_free(p);
}

static void types_are_chosen_by_event_and_value(void **state)
{
    (void)state;
    struct err err;
    int type;
    struct profile *p = profile_new();
    profile_add_type(p, "cycles", "samples", "count");
    profile_add_type(p, "cycles", "cycles", "count");
    profile_add_type(p, "faults", "samples", "count");
    assert_int_equal(profile_pick_type(p, NULL, NULL, &type, &err), 0);
    assert_int_equal(type, 1); /* the weight of the first event */
    assert_int_equal(profile_pick_type(p, "faults", NULL, &type, &err), 0);
    assert_int_equal(type, 2);
    assert_int_equal(profile_pick_type(p, NULL, "samples", &type, &err), 0);
    assert_int_equal(type, 0);
    assert_int_equal(profile_pick_type(p, "cycles", "weight", &type, &err), 0);
    assert_int_equal(type, 1);
    assert_int_equal(profile_pick_type(p, "nothing", NULL, &type, &err), -1);
    assert_non_null(strstr(err.text, "faults"));
    assert_int_equal(profile_count_events(p), 2);
    profile_free(p);
}

static void events_know_what_they_are(void **state)
{
    (void)state;
    assert_string_equal(meta_kind_of_event(text_of("cpu-clock:u")), META_KIND_SOFTWARE);
    assert_string_equal(meta_kind_of_event(text_of("cycles:ppp")), META_KIND_HARDWARE);
    assert_string_equal(meta_kind_of_event(text_of("page-faults")), META_KIND_EVENT);
    assert_null(meta_kind_of_event(text_of("something-new")));
    assert_string_equal(meta_unit_of_event(text_of("task-clock")), "nanoseconds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_things_have_one_id),
        cmocka_unit_test(reserved_frames_stay_apart),
        cmocka_unit_test(stacks_share_their_callers),
        cmocka_unit_test(many_stacks_are_found_again),
        cmocka_unit_test(sums_never_overflow),
        cmocka_unit_test(merging_adds_equal_stacks),
        cmocka_unit_test(fractions_rescale_what_is_there),
        cmocka_unit_test(late_types_start_at_zero),
        cmocka_unit_test(types_are_chosen_by_event_and_value),
        cmocka_unit_test(events_know_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
