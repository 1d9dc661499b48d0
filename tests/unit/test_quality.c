/*
 * How good a profile is: depths and names are weighted by what the rows stand for.
 */
#include "analysis/quality.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static struct profile *new_profile(void)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", VALUE_SAMPLES, UNIT_COUNT);
    return p;
}

static struct frame_id named(struct profile *p, const char *name)
{
    return profile_add_named_frame(p, text_of(name), FRAME_USER);
}

/* A frame that is OUTER with INNER inlined into it. */
static struct frame_id inlined(struct profile *p, const char *outer, const char *inner)
{
    struct function fo = {.name = profile_add_str(p, text_of(outer))};
    struct function fi = {.name = profile_add_str(p, text_of(inner))};
    struct line lines[] = {{profile_add_function(p, &fo), 1, 0},
                           {profile_add_function(p, &fi), 2, 0}};
    return profile_add_frame(p, &(struct frame_key){.pc = 64, .lines = lines, .n_lines = 2});
}

/* CHAIN is leaf first. */
static void took(struct profile *p, const struct frame_id *chain, size_t n, int64_t samples,
                 uint64_t time_ns)
{
    struct err err;
    struct row row = {.stack = stacks_intern(&p->stacks, chain, n),
                      .has_time = time_ns != 0,
                      .time_ns = time_ns,
                      .values = &samples};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

static void nothing_sampled_is_no_depth_and_nothing_unnamed(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_true(q.mean_depth == 0 && q.unnamed_share == 0 && q.empty_share == 0);
    assert_true(q.max_depth == 0 && q.distinct_stacks == 0 && !q.has_time);
    struct frame_id main = named(p, "main");
    took(p, &main, 1, 0, 0); /* a row that stands for nothing */
    q = quality_of(SUPPORT_ALL(p, 0));
    assert_true(q.mean_depth == 0 && q.max_depth == 0 && q.distinct_stacks == 0);
    profile_free(p);
}

static void depths_are_weighted_by_samples(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id chain[] = {named(p, "f"), named(p, "main")};
    took(p, chain + 1, 1, 3, 0);
    took(p, chain, 2, 1, 0);
    took(p, chain, 2, 1, 0); /* the same stack again */
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_float_equal(q.mean_depth, (3 * 1 + 2 * 2) / 5.0, 1e-12);
    assert_int_equal(q.max_depth, 2);
    assert_int_equal(q.distinct_stacks, 2);
    assert_true(q.unnamed_share == 0 && q.empty_share == 0);
    profile_free(p);
}

static void inlined_functions_are_frames_too(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id chain[] = {inlined(p, "f", "g"), named(p, "main")};
    took(p, chain, 2, 4, 0);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_int_equal(q.max_depth, 3);
    assert_float_equal(q.mean_depth, 3, 1e-12);
    profile_free(p);
}

static void hidden_functions_are_not_counted(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct selection s;
    struct err err;
    struct frame_id chain[] = {inlined(p, "f", "g"), named(p, "main")};
    took(p, chain, 2, 4, 0);
    const char *hide[] = {"^g$", NULL};
    struct selection_opts opts = {.hide = hide};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &opts, &err), 0);
    struct quality q = quality_of(&s);
    assert_int_equal(q.max_depth, 2);
    assert_float_equal(q.mean_depth, 2, 1e-12);
    selection_done(&s);
    profile_free(p);
}

/* An address alone has no name, nor has what is only called after its place. */
static void frames_without_a_name_are_a_share_of_frames(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id bare = profile_add_frame(p, &(struct frame_key){.pc = 4096});
    struct frame_id place = named(p, "[libx.so+0x40]"), main = named(p, "main");
    struct frame_id chain[] = {bare, place, main, main};
    took(p, chain, 4, 1, 0);
    took(p, &main, 1, 6, 0);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_float_equal(q.unnamed_share, 2 / 10.0, 1e-12);
    assert_float_equal(q.mean_depth, 10 / 7.0, 1e-12);
    profile_free(p);
}

static void samples_without_a_stack_are_a_share_of_samples(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id main = named(p, "main");
    took(p, &main, 1, 6, 0);
    took(p, &main, 0, 2, 0);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_float_equal(q.empty_share, 2 / 8.0, 1e-12);
    assert_float_equal(q.mean_depth, 6 / 8.0, 1e-12);
    profile_free(p);
}

static void the_first_and_last_time_are_known_in_any_order(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id main = named(p, "main");
    static const uint64_t times[] = {70, 20, 90, 50};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        took(p, &main, 1, 1, times[i]);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    assert_true(q.has_time);
    assert_int_equal(q.first_ns, 20);
    assert_int_equal(q.last_ns, 90);
    profile_free(p);
}

/* Less than all of the CPU time, by more than chance and more than 5%. */
static void what_was_not_sampled_is_told_where_it_is_clear(void **state)
{
    (void)state;
    assert_true(quality_sampled(0, 100, 100) == 1); /* not known */
    assert_true(quality_sampled(50, 0, 100) == 1);
    assert_true(quality_sampled(50, 100, 0) == 1);
    assert_true(quality_sampled(96, 100, 1000000) == 1);
    assert_float_equal(quality_sampled(94, 100, 1000000), 0.94, 1e-12);
    assert_true(quality_sampled(80, 100, 100) == 1); /* 0.8 * 1.3 */
    assert_float_equal(quality_sampled(76, 100, 100), 0.76, 1e-12);
}

/* A table of functions must not have more CPU time than the program. */
static void times_add_up_to_the_cpu_time_that_the_kernel_counted(void **state)
{
    static const struct {
        uint64_t sampled_ns, of_ns;
        double scale;
    } cases[] = {{1944, 1849, 1849.0 / 1944}, {894, 922, 922.0 / 894}, {0, 922, 1}, {400, 922, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = support_folded("main;f 100000\n");
        if (cases[i].sampled_ns)
            meta_set_u64(&p->meta, META_SAMPLED_NS, cases[i].sampled_ns);
        meta_set_u64(&p->meta, META_SAMPLED_OF_NS, cases[i].of_ns);
        p->streams.at[0]->types[0].role = ROLE_SAMPLES;
        assert_float_equal(quality_cpu_scale(SUPPORT_ALL(p, 0)), cases[i].scale, 1e-9);
        profile_free(p);
    }
}

/* Of a second of CPU time OF_MS could be sampled. */
static void assert_missed(const char *hidden, uint64_t of_ms, uint64_t n_ended, const char *wanted)
{
    struct profile *p = new_profile();
    struct thread_key key = {.pid = 1, .tid = 1};
    profile_add_thread(p, &key);
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, hidden);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 1000000000);
    meta_set_u64(&p->meta, META_SAMPLED_OF_NS, of_ms * 1000000);
    if (n_ended)
        meta_set_u64(&p->meta, META_THREADS_ENDED, n_ended);
    assert_string_equal(quality_missed(p), wanted);
    profile_free(p);
}

static void what_was_missed_depends_on_what_could_be_seen(void **state)
{
    (void)state;
    assert_missed("no", 1000, 0, "kernel code with interrupts off");
    assert_missed("no", 1000, 1, "kernel code with interrupts off");
    assert_missed("no", 1000, 900,
                  "short-lived processes and threads or kernel code with interrupts off");
    assert_missed("yes", 800, 900, "short-lived processes and threads");
    assert_missed("yes", 1000, 900, "the hidden kernel or short-lived processes and threads");
    assert_missed("yes", 1000, 1, "the hidden kernel");
    assert_missed("yes", 800, 0, "the hidden kernel");
}

static void time_of_the_program_is_not_made_longer_by_that_of_a_hidden_kernel(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    struct frame_id main = named(p, "main");
    took(p, &main, 1, 1000, 0);
    meta_set_u64(&p->meta, META_CPU_TIME_NS, 1000000000);
    meta_set_u64(&p->meta, META_SAMPLED_OF_NS, 1000000000);
    meta_set_u64(&p->meta, META_SAMPLED_NS, 960000000);
    assert_true(quality_cpu_scale(SUPPORT_ALL(p, 0)) > 1);
    meta_set_str(&p->meta, META_KERNEL_HIDDEN, "yes");
    assert_true(quality_cpu_scale(SUPPORT_ALL(p, 0)) == 1);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_sampled_is_no_depth_and_nothing_unnamed),
        cmocka_unit_test(times_add_up_to_the_cpu_time_that_the_kernel_counted),
        cmocka_unit_test(depths_are_weighted_by_samples),
        cmocka_unit_test(inlined_functions_are_frames_too),
        cmocka_unit_test(hidden_functions_are_not_counted),
        cmocka_unit_test(frames_without_a_name_are_a_share_of_frames),
        cmocka_unit_test(samples_without_a_stack_are_a_share_of_samples),
        cmocka_unit_test(the_first_and_last_time_are_known_in_any_order),
        cmocka_unit_test(what_was_not_sampled_is_told_where_it_is_clear),
        cmocka_unit_test(what_was_missed_depends_on_what_could_be_seen),
        cmocka_unit_test(time_of_the_program_is_not_made_longer_by_that_of_a_hidden_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
