/* Rows by process, thread, state, reason and label; a list and a tree of such groups. */
#include "analysis/calltree.h"
#include "analysis/flat.h"
#include "model/waitstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct attrs_id one_label(struct profile *p, const char *key, const char *text)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)),
                     .text = profile_add_str(p, text_of(text))};
    return attrs_add(&p->attrs, (struct attrs_id){0}, &a);
}

static void add_sample(struct profile *p, int32_t pid, int32_t tid, const char *name,
                       struct attrs_id attrs)
{
    struct thread_key key = {profile_add_str(p, text_of(name)), pid, tid};
    int64_t one = 1;
    struct err err;
    struct frame_id f = profile_add_named_frame(p, text_of("work"), FRAME_USER);
    struct row row = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, f),
                      .thread = profile_add_thread(p, &key),
                      .attrs = attrs,
                      .values = &one};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

/* Two processes of one program in one cgroup, one kernel thread without. */
static struct profile *three(void)
{
    struct profile *p = profile_new();
    struct process web = {.executable = profile_add_str(p, text_of("/usr/bin/web"))};
    web.attrs = one_label(p, "cgroup", "/web.service");
    profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, VALUE_SAMPLES, UNIT_COUNT);
    web.pid = 10;
    profile_add_process(p, &web);
    web.pid = 11;
    profile_add_process(p, &web);
    profile_add_process(p, &(struct process){.pid = 12});
    add_sample(p, 10, 10, "main", (struct attrs_id){0});
    add_sample(p, 10, 13, "pool", (struct attrs_id){0});
    add_sample(p, 11, 11, "main", one_label(p, "cgroup", "/own"));
    add_sample(p, 12, 12, "kworker", (struct attrs_id){0});
    return p;
}

static void expect_groups(const struct profile *p, const char *key, const char *const *want)
{
    struct grouping g;
    struct err err;
    const struct stream *s = profile_stream(p, 0);
    assert_int_equal(grouping_build(&g, p, (struct value_ref){0, 0}, key, &err), 0);
    for (size_t i = 0; i < s->rows.n; i++) {
        autofree char *title = grouping_title(&g, g.of_row[i], key);
        assert_string_equal(title, want[i]);
    }
    grouping_done(&g);
}

static void test_rows_have_groups(void **state)
{
    struct profile *p = three();
    (void)state;
    expect_groups(p, "process", (const char *const[]){"web", "web", "web", "kworker"});
    expect_groups(p, "pid", (const char *const[]){"web-10", "web-10", "web-11", "kworker-12"});
    expect_groups(p, "thread", (const char *const[]){"main", "pool", "main", "kworker"});
    expect_groups(p, "tid", (const char *const[]){"main-10", "pool-13", "main-11", "kworker-12"});
    expect_groups(p, "state", (const char *const[]){"running", "running", "running", "running"});
    expect_groups(p, "cgroup",
                  (const char *const[]){"/web.service", "/web.service", "/own", "[no cgroup]"});
    profile_free(p);
}

static void test_an_unknown_label_is_refused_with_those_there_are(void **state)
{
    struct profile *p = three();
    struct grouping g;
    struct err err;
    (void)state;
    assert_int_equal(grouping_build(&g, p, (struct value_ref){0, 0}, "pod", &err), -1);
    assert_non_null(strstr(err.text, "'pod'"));
    assert_non_null(strstr(err.text, "process"));
    const char *key = strstr(err.text, "cgroup"); /* of two values: named once */
    assert_non_null(key);
    assert_null(strstr(key + 1, "cgroup"));
    grouping_done(&g);
    profile_free(p);
}

static void test_a_list_sums_groups(void **state)
{
    struct profile *p = three();
    struct grouping g;
    struct err err;
    uint32_t top[4];
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    (void)state;
    assert_int_equal(grouping_build(&g, p, s.value, "process", &err), 0);
    struct flat *f = flat_build_groups(&s, &g, "process");
    assert_int_equal(flat_top(f, FLAT_SELF, 4, top), 2);
    assert_true(text_is(flat_name(f, top[0]), "web"));
    assert_int_equal(f->rows.at[top[0]].self, 3);
    assert_true(flat_share_of_row(f, top[0], FLAT_SELF).share == 0.75);
    flat_free(f);
    grouping_done(&g);
    profile_free(p);
}

static void test_a_tree_begins_with_groups(void **state)
{
    struct profile *p = three();
    struct grouping g;
    struct err err;
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    (void)state;
    assert_int_equal(grouping_build(&g, p, s.value, "cgroup", &err), 0);
    struct calltree_opts o = {.group = GROUP_LABEL, .by = &g, .by_key = "cgroup"};
    struct calltree *t = calltree_build(&s, &o);
    size_t n = 0;
    for_each_child (t, 0, child) {
        static const char *const want[] = {"/own", "/web.service", "[no cgroup]"};
        assert_true(text_is(labels_text(&t->labels, t->label[child]), want[n]));
        assert_int_equal(t->total[child], n == 1 ? 2 : 1);
        n++;
    }
    assert_int_equal(n, 3);
    calltree_free(t);
    grouping_done(&g);
    profile_free(p);
}

static void test_conditions_know_processes_and_threads(void **state)
{
    struct profile *p = three();
    struct selection s;
    struct err err;
    struct selection_opts web = {.where = (const char *const[]){"process=web", NULL}};
    struct selection_opts pool = {.where = (const char *const[]){"thread=~^p", NULL}};
    struct selection_opts none = {.where = (const char *const[]){"process=wep", NULL}};
    (void)state;
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &web, &err), 0);
    assert_int_equal(s.n_rows, 3);
    selection_done(&s);
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &pool, &err), 0);
    assert_int_equal(s.n_rows, 1);
    selection_done(&s);
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &none, &err), -1);
    assert_non_null(strstr(err.text, "did you mean 'web'"));
    selection_done(&s);
    profile_free(p);
}

static void expect_states(const struct profile *p, struct value_ref value, const char *key,
                          const char *const want[3])
{
    struct grouping g;
    struct err err;
    assert_int_equal(grouping_build(&g, p, value, key, &err), 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(text_is(intern_get(&g.names, g.of_row[i]), want[i]));
    grouping_done(&g);
}

/* Of a wait that was both, each value counts to what it is; what it waited for is on its stack. */
static void test_waits_have_states_and_reasons(void **state)
{
    struct profile *p = profile_new();
    struct waitstream w;
    struct err err;
    (void)state;
    assert_true(waitstream_add(p, &w));
    struct frame_id poll = profile_add_named_frame(p, text_of("do_epoll_wait"), FRAME_KERNEL);
    struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0}, poll);
    static const int64_t values[3][WAIT_COLUMNS] = {{1, 100, 0}, {1, 0, 100}, {1, 100, 900}};
    for (int i = 0; i < 3; i++) {
        struct row row = {.stack = stack, .values = values[i]};
        assert_int_equal(profile_add_row(p, w.waits, &row, &err), 0);
    }
    struct value_ref blocked = {w.waits, w.wait_column[WAIT_BLOCKED]};
    struct value_ref runnable = {w.waits, w.wait_column[WAIT_RUNNABLE]};
    struct value_ref count = {w.waits, w.wait_column[WAIT_COUNT]};
    static const char *const either[] = {"blocked", "runnable", "blocked"};
    expect_states(p, blocked, "state", either);
    expect_states(p, count, "state", either);
    expect_states(p, runnable, "state", (const char *[]){"blocked", "runnable", "runnable"});
    expect_states(p, blocked, "reason", (const char *[]){"poll", "runnable", "poll"});
    expect_states(p, runnable, "reason", (const char *[]){"poll", "runnable", "runnable"});
    struct selection_opts in_poll = {.where = (const char *const[]){"reason=poll", NULL}};
    struct selection s;
    assert_int_equal(selection_build(&s, p, blocked, &in_poll, &err), 0);
    assert_int_equal(s.total, 200);
    selection_done(&s);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_have_groups),
        cmocka_unit_test(test_an_unknown_label_is_refused_with_those_there_are),
        cmocka_unit_test(test_a_list_sums_groups),
        cmocka_unit_test(test_a_tree_begins_with_groups),
        cmocka_unit_test(test_conditions_know_processes_and_threads),
        cmocka_unit_test(test_waits_have_states_and_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
