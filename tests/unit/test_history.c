/* test_history.c - runs come back as they were written, in order, filtered and pruned. */
#include "store/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/stat.h>

#include <cmocka.h>

struct place {
    char folder[64], path[128];
    struct store *store;
};

static int set_up(void **state)
{
    struct place *p = mem_new(struct place);
    struct err err;
    strcpy(p->folder, "/tmp/kelvin-history-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->path, sizeof p->path, "%s/history.db", p->folder);
    assert_int_equal(store_open(&p->store, p->path, STORE_WRITE, &err), 0);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    store_close(p->store);
    unlink(p->path);
    rmdir(p->folder);
    free(p);
    return 0;
}

static void add(struct place *p, int64_t time_s, const char *workload, const char *host, double cpu)
{
    struct history_run r = {.time_s = time_s, .outcome = "ok", .branch = "main", .dirty = true};
    struct err err;
    snprintf(r.commit, sizeof r.commit, "c%lld", (long long)time_s);
    snprintf(r.workload, sizeof r.workload, "%s", workload);
    snprintf(r.host, sizeof r.host, "%s", host);
    history_add_metric(&r, "cpu", cpu, cpu - 1, NAN);
    history_add_function(&r, text_of("hot"), 0.5, 0.75);
    if (time_s % 2)
        history_add_function(&r, text_of("cold"), 0.001, 0.002);
    assert_int_equal(history_add(p->store, &r, &err), 0);
    history_run_done(&r);
}

static struct history_runs list(struct place *p, const struct history_filter *f)
{
    struct history_runs runs;
    struct err err;
    assert_int_equal(history_list(p->store, f, &runs, &err), 0);
    return runs;
}

static void run_comes_back_as_written(void **state)
{
    struct place *p = *state;
    add(p, 100, "small", "box", 5);
    struct history_runs runs = list(p, &(struct history_filter){0});
    assert_int_equal(runs.at.n, 1);
    assert_string_equal(runs.at.at[0].commit, "c100");
    assert_string_equal(runs.at.at[0].branch, "main");
    assert_string_equal(runs.at.at[0].outcome, "ok");
    assert_true(runs.at.at[0].dirty);
    assert_true(history_metric(&runs.at.at[0], "cpu") == 5);
    assert_true(runs.at.at[0].metrics.at[0].low == 4);
    assert_true(isnan(runs.at.at[0].metrics.at[0].high));
    assert_true(isnan(history_metric(&runs.at.at[0], "none")));
    history_runs_done(&runs);
}

static void filter_takes_the_newest_in_order(void **state)
{
    struct place *p = *state;
    for (int i = 1; i <= 9; i++)
        add(p, i, i % 3 ? "small" : "large", i < 8 ? "box" : "other", i);
    struct history_runs runs =
        list(p, &(struct history_filter){.workload = "small", .host = "box", .last = 3});
    assert_int_equal(runs.at.n, 3);
    assert_int_equal(runs.at.at[0].time_s, 4);
    assert_int_equal(runs.at.at[2].time_s, 7);
    assert_true(history_metric(&runs.at.at[2], "cpu") == 7);
    history_runs_done(&runs);
    runs = list(p, &(struct history_filter){.commit = "c8"});
    assert_int_equal(runs.at.n, 1);
    history_runs_done(&runs);
}

static void functions_below_the_least_share_are_left_out(void **state)
{
    struct place *p = *state;
    struct history_functions f;
    struct err err;
    for (int i = 1; i <= 4; i++)
        add(p, i, "small", "box", i);
    assert_int_equal(history_functions(p->store, &(struct history_filter){0}, 0.01, &f, &err), 0);
    assert_int_equal(f.at.n, 1);
    assert_string_equal(f.at.at[0].name, "hot");
    assert_int_equal(f.at.at[0].at.n, 4);
    assert_true(f.at.at[0].at.at[3].total == 0.75);
    history_functions_done(&f);
    assert_int_equal(history_functions(p->store, &(struct history_filter){0}, 0, &f, &err), 0);
    assert_int_equal(f.at.n, 2);
    assert_string_equal(f.at.at[0].name, "cold");
    assert_int_equal(f.at.at[0].at.n, 2);
    history_functions_done(&f);
}

/* Runs of another store are added later than newer ones: their ids are not in the order of time. */
static void runs_added_out_of_order_have_their_own_figures(void **state)
{
    struct place *p = *state;
    struct history_functions f;
    struct err err;
    for (int i = 5; i >= 1; i--)
        add(p, i, "small", "box", i);
    struct history_runs runs = list(p, &(struct history_filter){.last = 4});
    assert_int_equal(runs.at.n, 4);
    for (size_t i = 0; i < runs.at.n; i++)
        assert_true(history_metric(&runs.at.at[i], "cpu") == (double)runs.at.at[i].time_s);
    history_runs_done(&runs);
    assert_int_equal(history_functions(p->store, &(struct history_filter){.last = 4}, 0, &f, &err),
                     0);
    assert_int_equal(f.at.n, 2);
    assert_int_equal(f.at.at[1].at.n, 4);
    for (size_t i = 1; i < 4; i++)
        assert_true(f.at.at[1].at.at[i - 1].run_id < f.at.at[1].at.at[i].run_id);
    history_functions_done(&f);
}

static void pruning_keeps_the_newest_of_each_workload(void **state)
{
    struct place *p = *state;
    size_t n;
    struct err err;
    for (int i = 1; i <= 6; i++)
        add(p, i, i % 2 ? "small" : "large", "box", i);
    assert_int_equal(history_prune(p->store, 1, &n, &err), 0);
    assert_int_equal(n, 4);
    struct history_runs runs = list(p, &(struct history_filter){0});
    assert_int_equal(runs.at.n, 2);
    assert_int_equal(runs.at.at[0].time_s, 5);
    assert_int_equal(runs.at.at[1].time_s, 6);
    assert_int_equal(runs.at.at[1].metrics.n, 1);
    history_runs_done(&runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(run_comes_back_as_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filter_takes_the_newest_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(functions_below_the_least_share_are_left_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(runs_added_out_of_order_have_their_own_figures, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pruning_keeps_the_newest_of_each_workload, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
