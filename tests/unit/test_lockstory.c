/* Which locks a program waited for, from rows that are known. */
#include "analysis/lockstory.h"
#include "model/waitstream.h"
#include "record/locks_inner.h"
#include "symbol/dataname.h"

#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

/* A profile with the streams of locks, and nothing in them. */
struct made {
    struct profile *p;
    struct locks l;
    struct thread_id threads[4];
};

static void made_init(struct made *m)
{
    *m = (struct made){.p = profile_new()};
    m->l.opts.profile = m->p;
    locks_add_streams(&m->l);
    for (int i = 0; i < 4; i++)
        m->threads[i] = profile_add_thread(
            m->p, &(struct thread_key){profile_add_str(m->p, text_of("worker")), 7, 100 + i});
}

static struct attrs_id made_attr(struct made *m, struct attrs_id to, const char *key,
                                 const char *value)
{
    struct attr a = {.key = profile_add_str(m->p, text_of(key)),
                     .text = profile_add_str(m->p, text_of(value))};
    return attrs_add(&m->p->attrs, to, &a);
}

/* A stack of one caller and FUNCTION. */
static struct stack_id made_stack(struct made *m, const char *function)
{
    struct stack_id outer = stacks_push(&m->p->stacks, (struct stack_id){0},
                                        profile_add_named_frame(m->p, text_of("main"), FRAME_USER));
    return stacks_push(&m->p->stacks, outer,
                       profile_add_named_frame(m->p, text_of(function), FRAME_USER));
}

struct made_wait {
    const char *lock, *kind, *function;
    int thread;
    uint64_t at_ns, ns;
    bool holder, open;
};

static void made_add_wait(struct made *m, const struct made_wait *w)
{
    struct err err;
    int64_t values[2] = {1, (int64_t)w->ns};
    struct attrs_id set = made_attr(m, (struct attrs_id){0}, "lock", w->lock);
    if (w->open)
        set = made_attr(m, set, "ended", "no");
    struct row row = {.stack = made_stack(m, w->function),
                      .thread = m->threads[w->thread],
                      .attrs = made_attr(m, set, "kind", w->kind),
                      .has_time = true,
                      .time_ns = w->at_ns,
                      .duration_ns = w->ns,
                      .values = values};
    int stream = w->holder ? m->l.holders : m->l.waits;
    assert_int_equal(profile_add_row(m->p, stream, &row, &err), 0);
}

static void made_add_order_of(struct made *m, int thread, const char *held, const char *lock)
{
    struct err err;
    int64_t one[] = {1};
    struct attrs_id set = made_attr(m, (struct attrs_id){0}, "lock", lock);
    struct row row = {.stack = made_stack(m, "take both"),
                      .thread = m->threads[thread],
                      .attrs = made_attr(m, set, "held", held),
                      .has_time = true,
                      .time_ns = 1,
                      .values = one};
    assert_int_equal(profile_add_row(m->p, m->l.orders, &row, &err), 0);
}

/* Of another thread for each lock that is held. */
static void made_add_order(struct made *m, const char *held, const char *lock)
{
    made_add_order_of(m, held[0] % 4, held, lock);
}

static const struct finding *insight_find(const struct lockstory *s, const char *title)
{
    for (size_t i = 0; i < s->insights.at.n; i++)
        if (strcmp(s->insights.at.at[i].title, title) == 0)
            return &s->insights.at.at[i];
    return NULL;
}

/* --- sums --- */

static void waits_are_summed_by_lock_and_place(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 0, 1000, 10});
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 1, 1005, 30});
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "g", 1, 2000, 20});
    made_add_wait(&m, &(struct made_wait){"b", "condition", "f", 2, 500, 1000});
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "h", 3, 1000, 10, true});
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    assert_int_equal(s.waits, 4);
    assert_int_equal(s.wait_ns, 1060);
    assert_int_equal(s.locks.n, 2);
    const struct lockstory_lock *b = &s.locks.at[0], *a = &s.locks.at[1];
    assert_true(a->excludes && !b->excludes);
    assert_int_equal(a->waits, 3);
    assert_int_equal(a->wait_ns, 60);
    assert_int_equal(a->longest_ns, 30);
    assert_int_equal(a->waited_ns, 55); /* 1000 to 1035, 2000 to 2020 */
    assert_int_equal(a->threads.n, 2);
    assert_int_equal(a->waiters.n, 2);
    assert_int_equal(a->waiters.at[0].wait_ns, 40);
    assert_int_equal(a->waiters.at[0].threads.n, 2);
    assert_int_equal(a->holders.n, 1);
    assert_int_equal(a->held_known, 1);
    lockstory_done(&s);
    profile_free(m.p);
}

/* Two calls in one function, or one more wrapper, make no second row. */
static void places_that_look_alike_are_one(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 0, 1000, 10});
    struct stack_id guard =
        stacks_push(&m.p->stacks, made_stack(&m, "f"),
                    profile_add_named_frame(m.p, text_of("std::mutex::lock"), FRAME_USER));
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "g", 1, 1020, 15});
    int64_t values[2] = {1, 30};
    struct rows *rows = &profile_stream(m.p, m.l.waits)->rows;
    struct row row = {.stack = guard,
                      .thread = m.threads[1],
                      .attrs = rows->attrs[0],
                      .has_time = true,
                      .time_ns = 1005,
                      .duration_ns = 30,
                      .values = values};
    assert_int_equal(profile_add_row(m.p, m.l.waits, &row, &err), 0);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    const lockstory_places *waiters = &s.locks.at[0].waiters;
    assert_int_equal(waiters->n, 2);
    assert_int_equal(waiters->at[0].waits, 2);
    assert_int_equal(waiters->at[0].wait_ns, 40);
    assert_int_equal(waiters->at[0].longest_ns, 30);
    assert_int_equal(waiters->at[0].threads.n, 2);
    assert_int_equal(waiters->at[1].wait_ns, 15);
    lockstory_done(&s);
    profile_free(m.p);
}

/* The same of those that held the lock. */
static void holders_that_look_alike_are_one(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 0, 1000, 10});
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "h", 1, 1000, 10, true});
    int64_t values[2] = {1, 30};
    struct row row = {.stack = stacks_push(
                          &m.p->stacks, made_stack(&m, "h"),
                          profile_add_named_frame(m.p, text_of("std::mutex::unlock"), FRAME_USER)),
                      .thread = m.threads[2],
                      .attrs = profile_stream(m.p, m.l.holders)->rows.attrs[0],
                      .has_time = true,
                      .time_ns = 1010,
                      .duration_ns = 30,
                      .values = values};
    assert_int_equal(profile_add_row(m.p, m.l.holders, &row, &err), 0);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    const lockstory_places *holders = &s.locks.at[0].holders;
    assert_int_equal(holders->n, 1);
    assert_int_equal(holders->at[0].wait_ns, 40);
    assert_int_equal(holders->at[0].threads.n, 2);
    lockstory_done(&s);
    profile_free(m.p);
}

/* Equal waits: in the order in which locks were seen first, then kinds. */
static void locks_waited_for_as_long_have_an_order(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "c"}, *const kinds[] = {"mutex", "mutex",
                                                                               "mutex",
                                                                               "semaphore"};
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    for (size_t i = 0; i < 4; i++) /* so that the names are known in this order */
        made_add_wait(&m, &(struct made_wait){names[i], kinds[i], "f", 0, 10 * i, 5});
    for (size_t i = 4; i-- > 0;)
        made_add_wait(&m, &(struct made_wait){names[i], kinds[i], "f", 0, 1000 - 10 * i, 5});
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    assert_int_equal(s.locks.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(profile_str(m.p, s.locks.at[i].name).at, names[i]);
        assert_string_equal(profile_str(m.p, s.locks.at[i].kind).at, kinds[i]);
    }
    lockstory_done(&s);
    profile_free(m.p);
}

static void mutexes_taken_back_after_a_condition_are_counted(void **state)
{
    (void)state;
    static const char *const names[] = {"main", "pthread_cond_wait", "__pthread_mutex_cond_lock"};
    struct made m;
    struct lockstory s;
    struct waitstream w;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"c", "condition", "f", 0, 1000, 500});
    assert_true(waitstream_add(m.p, &w));
    struct frame_id frames[4] = {
        [3] = profile_add_named_frame(m.p, text_of("futex_wait"), FRAME_KERNEL)};
    for (int i = 0; i < 3; i++)
        frames[i] = profile_add_named_frame(m.p, text_of(names[i]), FRAME_USER);
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 1, [WAIT_BLOCKED] = 70};
    struct row row = {.stack = stacks_intern(&m.p->stacks, frames, 4),
                      .thread = m.threads[0],
                      .has_time = true,
                      .time_ns = 1400,
                      .duration_ns = 70,
                      .values = values};
    assert_int_equal(profile_add_row(m.p, w.waits, &row, &err), 0);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    assert_int_equal(s.retaken, 1);
    assert_int_equal(s.retaken_ns, 70);
    assert_int_equal(s.futex_waits, 0);
    assert_int_equal(s.locks_total.n, 0);
    assert_int_equal(s.signals_total.wait_ns, 500);
    lockstory_done(&s);
    profile_free(m.p);
}

/* A wait that the kernel saw below pthread_mutex_lock(), which passed our library. */
static void made_add_blocked(struct made *m, const struct waitstream *w, uint64_t at_ns)
{
    struct err err;
    struct mapping library = {.path = profile_add_str(m->p, text_of("/lib/libkelvin-locks.so"))};
    struct function ours = {.name = profile_add_str(m->p, text_of("pthread_mutex_lock"))};
    struct line line = {.function = profile_add_function(m->p, &ours)};
    struct frame_key ours_key = {.pc = 7,
                                 .mapping = profile_add_mapping(m->p, &library),
                                 .kind = FRAME_USER,
                                 .lines = &line,
                                 .n_lines = 1};
    struct frame_id frames[3] = {
        profile_add_named_frame(m->p, text_of("main"), FRAME_USER),
        profile_add_frame(m->p, &ours_key),
        profile_add_named_frame(m->p, text_of("futex_wait"), FRAME_KERNEL)};
    int64_t values[WAIT_COLUMNS] = {[WAIT_COUNT] = 1, [WAIT_BLOCKED] = 30};
    struct row row = {.stack = stacks_intern(&m->p->stacks, frames, 3),
                      .thread = m->threads[0],
                      .has_time = true,
                      .time_ns = at_ns,
                      .duration_ns = 30,
                      .values = values};
    assert_int_equal(profile_add_row(m->p, w->waits, &row, &err), 0);
}

static void a_lock_for_reading_and_writing_is_one_lock(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"a", "rwlock, read", "f", 0, 1000, 500});
    made_add_wait(&m, &(struct made_wait){"a", "rwlock, write", "f", 0, 2000, 500});
    made_add_wait(&m, &(struct made_wait){"b", "mutex", "f", 0, 3000, 500});
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    assert_int_equal(s.locks.n, 3);
    assert_int_equal(s.locks_total.n, 2);
    assert_int_equal(s.locks_total.waits, 3);
    lockstory_done(&s);
    profile_free(m.p);
}

static void one_call_that_waits_three_times_was_woken_in_vain_twice(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct waitstream w;
    struct err err;
    made_init(&m);
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 0, 1000, 500});
    assert_true(waitstream_add(m.p, &w));
    for (uint64_t i = 0; i < 3; i++)
        made_add_blocked(&m, &w, 1000 + 100 * i);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    assert_int_equal(s.locks_total.waits, 1);
    assert_int_equal(s.blocked_waits, 3);
    assert_int_equal(lockstory_woken_in_vain(&s), 2);
    s.locks_total.waits = 4; /* some got it before they left their CPU */
    assert_int_equal(lockstory_woken_in_vain(&s), 0);
    lockstory_done(&s);
    profile_free(m.p);
}

static void who_locks_for_others_is_not_named(void **state)
{
    (void)state;
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    struct stack_id guard =
        stacks_push(&m.p->stacks, made_stack(&m, "app::pop"),
                    profile_add_named_frame(m.p, text_of("std::mutex::lock"), FRAME_USER));
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    autofree char *path = lockstory_path(&s, guard, 5);
    autofree char *none = lockstory_path(&s, (struct stack_id){0}, 5);
    autofree char *one = lockstory_path(&s, guard, 1);
    struct stack_id alone =
        stacks_push(&m.p->stacks, (struct stack_id){0},
                    profile_add_named_frame(m.p, text_of("std::mutex::lock"), FRAME_USER));
    autofree char *wrapper = lockstory_path(&s, alone, 5);
    assert_string_equal(path, "app::pop < main");
    assert_string_equal(one, "app::pop");
    assert_string_equal(wrapper, "std::mutex::lock"); /* there is nobody else to name */
    assert_string_equal(none, "[unknown]");
    lockstory_done(&s);
    profile_free(m.p);
}

static void a_profile_without_locks_is_refused(void **state)
{
    (void)state;
    struct lockstory s;
    struct err err;
    struct profile *p = profile_new();
    assert_int_equal(lockstory_build(&s, p, &err), -1);
    assert_int_equal(err.hint, HINT_RECORD_LOCKS);
    lockstory_done(&s);
    profile_free(p);
}

/* --- insights --- */

/* Three of four threads wait all the time. */
static void add_convoy(struct made *m, const char *kind, int waits, uint64_t unit_ns)
{
    for (int i = 0; i < waits; i++)
        made_add_wait(m, &(struct made_wait){"hot", kind, "f", i % 3,
                                             1000 + 10 * (uint64_t)i * unit_ns, 25 * unit_ns});
}

static bool has_convoy_of(const char *kind, int waits, uint64_t unit_ns)
{
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    add_convoy(&m, kind, waits, unit_ns);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    const struct finding *i = insight_find(&s, "lock convoy");
    assert_true(!i || strstr(i->text, "3 threads queued for hot during 100%"));
    bool found = i != NULL;
    lockstory_done(&s);
    profile_free(m.p);
    return found;
}

static bool has_convoy(const char *kind, int waits)
{
    return has_convoy_of(kind, waits, 1);
}

static void a_convoy_needs_many_waits_for_a_lock_that_excludes(void **state)
{
    (void)state;
    assert_true(has_convoy("mutex", 30));
    assert_true(has_convoy("rwlock, write", 30));
    assert_false(has_convoy("mutex", 10));
    assert_false(has_convoy("condition", 30));
    assert_true(has_convoy_of("mutex", 6, 400000)); /* six waits of 10 ms */
    assert_false(has_convoy_of("mutex", 6, 399999));
    assert_false(has_convoy_of("condition", 6, 400000));
}

static size_t count_cycles(const char *const (*orders)[2], size_t n)
{
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    for (size_t i = 0; i < n; i++)
        made_add_order(&m, orders[i][0], orders[i][1]);
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    size_t cycles = s.cycles.n;
    assert_true(!cycles == !insight_find(&s, "lock-order inversion"));
    lockstory_done(&s);
    profile_free(m.p);
    return cycles;
}

static void locks_taken_in_a_circle_are_an_inversion(void **state)
{
    (void)state;
    const char *const none[][2] = {{"a", "b"}, {"b", "c"}, {"a", "c"}, {"d", "c"}};
    const char *const two[][2] = {{"a", "b"}, {"c", "d"}, {"b", "a"}};
    const char *const three[][2] = {{"a", "b"}, {"b", "c"}, {"x", "a"}, {"c", "a"}};
    assert_int_equal(count_cycles(none, 4), 0);
    assert_int_equal(count_cycles(two, 3), 1);
    assert_int_equal(count_cycles(three, 4), 1);
}

static void opposite_orders_of_one_thread_are_none(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct made m;
        struct lockstory s;
        struct err err;
        made_init(&m);
        made_add_order_of(&m, 1, "a", "b");
        made_add_order_of(&m, 1, "b", "a");
        if (i) /* another thread does one of them, too: one inversion */
            made_add_order_of(&m, 2, i == 1 ? "a" : "b", i == 1 ? "b" : "a");
        assert_int_equal(lockstory_build(&s, m.p, &err), 0);
        assert_int_equal(s.cycles.n, i > 0);
        lockstory_done(&s);
        profile_free(m.p);
    }
}

/* Whether two locks that are taken crosswise are a deadlock, if threads still wait for these. */
static bool is_stuck(bool first, bool second)
{
    struct made m;
    struct lockstory s;
    struct err err;
    made_init(&m);
    made_add_order(&m, "a", "b");
    made_add_order(&m, "b", "a");
    made_add_wait(&m, &(struct made_wait){"a", "mutex", "f", 0, 1000, 20, .open = first});
    made_add_wait(&m, &(struct made_wait){"b", "mutex", "g", 1, 1000, 10, .open = second});
    assert_int_equal(lockstory_build(&s, m.p, &err), 0);
    bool deadlock = insight_find(&s, "deadlock") != NULL;
    assert_int_equal(s.cycles.n, 1);
    assert_true(!deadlock == (insight_find(&s, "lock-order inversion") != NULL));
    lockstory_done(&s);
    profile_free(m.p);
    return deadlock;
}

static void a_circle_in_which_every_lock_is_still_waited_for_is_a_deadlock(void **state)
{
    (void)state;
    assert_true(is_stuck(true, true));
    assert_false(is_stuck(true, false));
    assert_false(is_stuck(false, true));
    assert_false(is_stuck(false, false));
}

/* --- names --- */

int dataname_of_this_test[4] = {1};

static void variables_have_the_names_of_their_symbols(void **state)
{
    (void)state;
    struct datanames d = {0};
    struct processes *ps;
    struct unwind_code code, own = {0};
    struct profile *p = profile_new();
    struct err err;
    uintptr_t at = (uintptr_t)&dataname_of_this_test;
    ps = processes_new(p);
    assert_int_equal(processes_scan(ps, getpid(), &err), 0);
    for (size_t i = 0; processes_code(ps, getpid(), i, &code); i++)
        if (code.start <= at && code.start >= own.start)
            own = code;
    autofree char *name = datanames_find(&d, "/proc/self/exe", (struct text){0}, at - own.bias);
    autofree char *inside =
        datanames_find(&d, "/proc/self/exe", (struct text){0}, at + 8 - own.bias);
    assert_string_equal(name, "dataname_of_this_test");
    assert_string_equal(inside, "dataname_of_this_test+8");
    assert_null(datanames_find(&d, "/proc/self/exe", (struct text){0}, 1));
    assert_null(datanames_find(&d, "/nowhere", (struct text){0}, at - own.bias));
    datanames_done(&d);
    processes_free(ps);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_are_summed_by_lock_and_place),
        cmocka_unit_test(places_that_look_alike_are_one),
        cmocka_unit_test(holders_that_look_alike_are_one),
        cmocka_unit_test(a_circle_in_which_every_lock_is_still_waited_for_is_a_deadlock),
        cmocka_unit_test(locks_waited_for_as_long_have_an_order),
        cmocka_unit_test(mutexes_taken_back_after_a_condition_are_counted),
        cmocka_unit_test(a_lock_for_reading_and_writing_is_one_lock),
        cmocka_unit_test(one_call_that_waits_three_times_was_woken_in_vain_twice),
        cmocka_unit_test(who_locks_for_others_is_not_named),
        cmocka_unit_test(a_profile_without_locks_is_refused),
        cmocka_unit_test(a_convoy_needs_many_waits_for_a_lock_that_excludes),
        cmocka_unit_test(locks_taken_in_a_circle_are_an_inversion),
        cmocka_unit_test(opposite_orders_of_one_thread_are_none),
        cmocka_unit_test(variables_have_the_names_of_their_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
