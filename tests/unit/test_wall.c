/* Running and waiting in one stream, and how parallel threads were. */
#include "analysis/extract.h"
#include "analysis/parallel.h"
#include "analysis/selection.h"
#include "analysis/walljoin.h"
#include "model/waitstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct waiting {
    struct profile *p;
    struct waitstream w;
    struct thread_id a, b;
    struct stack_id work, lock;
};

static void add_states(struct waiting *x, struct thread_id t, int64_t running, int64_t blocked,
                       int64_t runnable)
{
    int64_t values[THREAD_STATES] = {
        [THREAD_RUNNING] = running, [THREAD_RUNNABLE] = runnable, [THREAD_BLOCKED] = blocked};
    struct err err;
    struct row row = {.thread = t,
                      .has_time = true,
                      .time_ns = 1000,
                      .duration_ns = (uint64_t)(running + blocked + runnable),
                      .values = values};
    assert_int_equal(profile_add_row(x->p, x->w.states, &row, &err), 0);
}

static void add_wait(struct waiting *x, struct thread_id t, uint64_t at, int64_t ns, bool runnable)
{
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 1};
    struct err err;
    values[runnable ? WAIT_RUNNABLE : WAIT_BLOCKED] = ns;
    struct row row = {.stack = x->lock,
                      .thread = t,
                      .has_time = true,
                      .time_ns = at,
                      .duration_ns = (uint64_t)ns,
                      .values = values};
    assert_int_equal(profile_add_row(x->p, x->w.waits, &row, &err), 0);
}

static void add_sample(struct waiting *x, struct thread_id t, uint64_t at, int64_t ns)
{
    int64_t values[] = {1, ns};
    struct err err;
    struct row row = {
        .stack = x->work, .thread = t, .has_time = true, .time_ns = at, .values = values};
    assert_int_equal(profile_add_row(x->p, 0, &row, &err), 0);
}

/*
 * From 1000 to 2000, thread A runs, with two samples. B waits for a lock for 600, has no CPU for
 * 100, and runs for 300 without a sample.
 */
static struct waiting two_threads(void)
{
    struct waiting x = {.p = profile_new()};
    struct profile *p = x.p;
    profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, 0, "cpu", UNIT_TIME);
    p->default_value = (struct value_ref){0, 0};
    assert_true(waitstream_add(p, &x.w));
    struct frame_id main_frame = profile_add_named_frame(p, text_of("main"), FRAME_USER);
    struct frame_id work = profile_add_named_frame(p, text_of("work"), FRAME_USER);
    struct frame_id lock = profile_add_named_frame(p, text_of("pthread_mutex_lock"), FRAME_USER);
    struct frame_id kernel = profile_add_named_frame(p, text_of("futex_wait"), FRAME_KERNEL);
    struct stack_id root = stacks_push(&p->stacks, (struct stack_id){0}, main_frame);
    x.work = stacks_push(&p->stacks, root, work);
    x.lock = stacks_push(&p->stacks, stacks_push(&p->stacks, root, lock), kernel);
    x.a = profile_add_thread(p, &(struct thread_key){profile_add_str(p, text_of("a")), 10, 10});
    x.b = profile_add_thread(p, &(struct thread_key){profile_add_str(p, text_of("b")), 10, 11});
    add_states(&x, x.a, 1000, 0, 0);
    add_states(&x, x.b, 300, 600, 100);
    add_wait(&x, x.b, 1000, 600, false);
    add_wait(&x, x.b, 1600, 100, true);
    add_sample(&x, x.a, 1100, 400);
    add_sample(&x, x.a, 1900, 400);
    return x;
}

static int64_t wall_of(const struct profile *p, const char *thread, const char *leaf)
{
    struct value_ref v;
    struct err err;
    int64_t sum = 0;
    assert_int_equal(profile_pick_value(p, NULL, WALL_VALUE, &v, &err), 0);
    const struct rows *r = &profile_stream(p, v.stream)->rows;
    for (size_t i = 0; i < r->n; i++) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[r->stack[i].i].frame);
        struct text name = profile_function_name(p, profile_lines(p, f)->function);
        if (text_is(profile_str(p, p->threads.at[r->thread[i].i].name), thread) &&
            (!leaf || text_is(name, leaf)))
            sum += r->value[v.type][i];
    }
    return sum;
}

/* What is selected of a column in a range of time. */
static int64_t total_in(const struct profile *p, const char *column, const char *time)
{
    struct selection_opts opts = {.time = time};
    struct value_ref v;
    struct selection s;
    struct err err;
    assert_int_equal(profile_pick_value(p, NULL, column, &v, &err), 0);
    assert_int_equal(selection_build(&s, p, v, &opts, &err), 0);
    int64_t sum = 0, total = s.total;
    for (size_t i = 0; i < s.n_rows; i++)
        sum += selection_values(&s)[selection_row(&s, i)];
    struct selection same = selection_of_type(&s, s.type);
    assert_int_equal(same.total, total);
    selection_done(&s);
    assert_int_equal(sum, total);
    return total;
}

static void test_of_waits_only_the_part_in_a_range_of_time_counts(void **state)
{
    struct waiting x = two_threads();
    struct err err;
    (void)state;
    assert_int_equal(total_in(x.p, "blocked", NULL), 600);
    assert_int_equal(total_in(x.p, "blocked", "0%..50%"), 500);
    assert_int_equal(total_in(x.p, "blocked", "50%..100%"), 100);
    assert_int_equal(total_in(x.p, "runnable", "0%..65%"), 50);
    assert_int_equal(total_in(x.p, "runnable", "65%.."), 50);
    assert_int_equal(total_in(x.p, "waits", "0%..50%"), 1); /* a number is not cut */
    assert_int_equal(walljoin_add(x.p, &err), 0);
    assert_int_equal(total_in(x.p, "wall", NULL), 2000);
    /* A's sample stands for 500. B ran for 300, nobody knows when. */
    assert_int_equal(total_in(x.p, "wall", "0%..50%"), 500 + 500 + 150);
    assert_int_equal(total_in(x.p, "wall", "50%.."), 500 + 100 + 100 + 150);
    assert_int_equal(total_in(x.p, "wall", "20%..30%"), 100 + 30);
    profile_free(x.p);
}

/* One wait of both kinds: blocked first, and then without a CPU. */
static void test_a_wait_for_a_wakeup_and_then_a_cpu_is_cut_where_it_woke(void **state)
{
    struct waiting x = two_threads();
    struct err err;
    (void)state;
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 1, [WAIT_BLOCKED] = 200, [WAIT_RUNNABLE] = 800};
    struct row row = {.stack = x.lock,
                      .thread = x.a,
                      .has_time = true,
                      .time_ns = 1000,
                      .duration_ns = 1000,
                      .values = values};
    assert_int_equal(profile_add_row(x.p, x.w.waits, &row, &err), 0);
    assert_int_equal(total_in(x.p, "blocked", "90%..100%"), 0);
    assert_int_equal(total_in(x.p, "runnable", "90%..100%"), 100);
    assert_int_equal(total_in(x.p, "blocked", "0%..10%"), 100 + 100);
    assert_int_equal(walljoin_add(x.p, &err), 0);
    assert_int_equal(total_in(x.p, "wall", "70%..80%"), 100 + 30);
    assert_int_equal(total_in(x.p, "wall", "0%..10%"), 100 + 100 + 500 + 30);
    profile_free(x.p);
}

static void test_rows_of_a_thread_add_up_to_its_wall_time(void **state)
{
    struct waiting x = two_threads();
    struct err err;
    (void)state;
    assert_int_equal(walljoin_add(x.p, &err), 0);
    size_t n = x.p->streams.n;
    assert_int_equal(walljoin_add(x.p, &err), 0); /* there already */
    assert_int_equal(x.p->streams.n, n);
    assert_int_equal(wall_of(x.p, "a", NULL), 1000);
    assert_int_equal(wall_of(x.p, "a", "work"), 1000);
    assert_int_equal(wall_of(x.p, "b", NULL), 1000);
    assert_int_equal(wall_of(x.p, "b", "[blocked: lock]"), 600);
    assert_int_equal(wall_of(x.p, "b", "[runnable]"), 100);
    assert_int_equal(wall_of(x.p, "b", "[running, not seen]"), 300);
    profile_free(x.p);
}

/* What is written out of a range of time is cut in all columns, whichever was asked for. */
static void test_a_part_that_is_written_out_has_all_columns_of_the_part(void **state)
{
    static const char *const columns[] = {"waits", "blocked", "runnable"};
    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct waiting x = two_threads();
        struct selection_opts opts = {.time = "55%..65%"};
        struct selection s;
        struct value_ref v;
        struct err err;
        assert_int_equal(profile_pick_value(x.p, NULL, columns[i], &v, &err), 0);
        assert_int_equal(selection_build(&s, x.p, v, &opts, &err), 0);
        struct profile *part = extract_build(&s);
        const struct value_type *types = profile_stream(part, 0)->types;
        assert_int_equal(types[x.w.wait_column[WAIT_COUNT]].total, 2);
        assert_int_equal(types[x.w.wait_column[WAIT_BLOCKED]].total, 50);
        assert_int_equal(types[x.w.wait_column[WAIT_RUNNABLE]].total, 50);
        profile_free(part);
        selection_done(&s);
        profile_free(x.p);
    }
}

/* A row that stands for many waits lasts for none, and their time is that of all of them. */
static void test_a_sum_of_waits_is_at_its_moment(void **state)
{
    struct waiting x = two_threads();
    struct err err;
    (void)state;
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 9, [WAIT_BLOCKED] = 90, [WAIT_RUNNABLE] = 30};
    struct row row = {
        .stack = x.lock, .thread = x.a, .has_time = true, .time_ns = 1050, .values = values};
    assert_int_equal(profile_add_row(x.p, x.w.waits, &row, &err), 0);
    assert_int_equal(walljoin_add(x.p, &err), 0);
    struct value_ref v;
    assert_int_equal(profile_pick_value(x.p, NULL, WALL_VALUE, &v, &err), 0);
    const struct rows *r = &profile_stream(x.p, v.stream)->rows;
    size_t found = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->value[v.type][i] == 90 || r->value[v.type][i] == 30) {
            assert_int_equal(r->time_ns[i], 1050);
            assert_int_equal(r->duration_ns[i], 0);
            found++;
        }
    assert_int_equal(found, 2);
    profile_free(x.p);
}

/* Its samples have the name of before: it was seen running, all the same. */
static void test_a_thread_that_takes_another_name_is_one(void **state)
{
    struct waiting x = two_threads();
    struct err err;
    (void)state;
    struct thread_key key = {profile_add_str(x.p, text_of("renamed")), 10, 10};
    add_states(&x, profile_add_thread(x.p, &key), 200, 0, 0);
    assert_int_equal(walljoin_add(x.p, &err), 0);
    assert_int_equal(wall_of(x.p, "a", "work"), 1200);
    assert_int_equal(wall_of(x.p, "renamed", NULL), 0);
    profile_free(x.p);
}

static void test_without_waits_there_is_no_wall_time(void **state)
{
    struct profile *p = profile_new();
    struct err err;
    (void)state;
    assert_int_equal(walljoin_add(p, &err), -1);
    assert_non_null(strstr(err.text, "no waits"));
    profile_free(p);
}

static void test_who_ran_alone_and_what_the_others_waited_for(void **state)
{
    struct waiting x = two_threads();
    struct parallel q;
    (void)state;
    struct selection states = selection_all(x.p, (struct value_ref){x.w.states, 0});
    parallel_build(&q, &states, NULL);
    assert_true(q.known);
    assert_int_equal(q.wall_ns, 1000);
    assert_int_equal(q.level_ns[1], 700);
    assert_int_equal(q.level_ns[2], 300);
    assert_int_equal(q.alone_ns, 700);
    assert_int_equal(q.serial_ns, 600); /* for the rest the other one was ready */
    assert_int_equal(q.starved_ns, 0);
    assert_int_equal(parallel_busy_ns(&q), 1000);
    assert_int_equal(q.threads_most, 2);
    assert_true(q.mean > 1.299 && q.mean < 1.301);
    assert_int_equal(q.others_ns[WAIT_LOCK], 600);
    assert_string_equal(q.threads[0].name, "a");
    assert_int_equal(q.threads[0].ns, 600);
    assert_int_equal(q.threads[1].ns, 0);
    assert_string_equal(q.functions[0].name, "work");
    assert_int_equal(q.functions[0].samples, 1); /* the other one is when both ran */
    assert_true(q.slice[0] > 0.99 && q.slice[0] < 1.01);
    assert_true(q.slice[PARALLEL_SLICES - 1] > 1.99);
    profile_free(x.p);
}

static void test_unknown_time_is_not_taken_for_running(void **state)
{
    struct waiting x = two_threads();
    struct parallel q;
    struct err err;
    (void)state;
    int64_t values[THREAD_STATES] = {[THREAD_UNKNOWN] = 500};
    struct row row = {
        .thread = x.b, .has_time = true, .time_ns = 2000, .duration_ns = 500, .values = values};
    assert_int_equal(profile_add_row(x.p, x.w.states, &row, &err), 0);
    struct selection states = selection_all(x.p, (struct value_ref){x.w.states, 0});
    parallel_build(&q, &states, NULL);
    assert_false(q.known);
    profile_free(x.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_waits_only_the_part_in_a_range_of_time_counts),
        cmocka_unit_test(test_a_wait_for_a_wakeup_and_then_a_cpu_is_cut_where_it_woke),
        cmocka_unit_test(test_rows_of_a_thread_add_up_to_its_wall_time),
        cmocka_unit_test(test_a_part_that_is_written_out_has_all_columns_of_the_part),
        cmocka_unit_test(test_a_sum_of_waits_is_at_its_moment),
        cmocka_unit_test(test_a_thread_that_takes_another_name_is_one),
        cmocka_unit_test(test_without_waits_there_is_no_wall_time),
        cmocka_unit_test(test_who_ran_alone_and_what_the_others_waited_for),
        cmocka_unit_test(test_unknown_time_is_not_taken_for_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
