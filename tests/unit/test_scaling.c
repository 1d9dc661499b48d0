/*
 * What runs of several sizes cost, and which of them do not compare.
 */
#include "analysis/runcost.h"
#include "analysis/scaling.h"
#include "base/units.h"
#include "model/streamkind.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

enum { RUNS = 2 };

/* One row of VALUE; CPU_NS 0 = the CPU time of the process is not known. */
static struct profile *one_row(const char *event, const char *unit, int64_t value, uint64_t cpu_ns)
{
    struct profile *p = profile_new();
    struct err err;
    const char *name = strcmp(unit, "count") == 0 ? "samples" : event;
    assert_int_equal(support_value(p, event, name, unit), 0);
    struct frame_id f = profile_add_named_frame(p, text_of("main"), FRAME_USER);
    struct row row = {.stack = stacks_intern(&p->stacks, &f, 1), .values = &value};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
    if (cpu_ns)
        meta_set_u64(&p->meta, META_CPU_TIME_NS, cpu_ns);
    return p;
}

/* --- cost --- */

static void cpu_time_is_that_of_the_process(void **state)
{
    static const int64_t samples[] = {1, 2, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct profile *p = one_row("cpu-clock", "count", samples[i], 5000000);
        struct runcost c = runcost_of(SUPPORT_ALL(p, 0));
        assert_int_equal(c.kind, RUNCOST_CPU);
        assert_float_equal(c.value, 0.005, 1e-12);
        profile_free(p);
    }
}

static void without_it_the_sampling_rate_tells(void **state)
{
    struct profile *p = one_row("cpu-clock", "count", 500, 0);
    (void)state;
    profile_stream(p, 0)->rate_hz = 1000;
    struct runcost c = runcost_of(SUPPORT_ALL(p, 0));
    assert_int_equal(c.kind, RUNCOST_CPU);
    assert_float_equal(c.value, 0.5, 1e-12);
    profile_stream(p, 0)->rate_hz = 0;
    assert_int_equal(runcost_of(SUPPORT_ALL(p, 0)).kind, RUNCOST_UNKNOWN);
    profile_free(p);
}

/* --- runs that do not compare --- */

static void assert_unlike(struct profile *one, struct profile *two, const char *words)
{
    struct scaling_run runs[RUNS] = {{SUPPORT_ALL(one, 0), 1}, {SUPPORT_ALL(two, 0), 2}};
    autobuf struct buf b = {0};
    scaling_unlike(runs, RUNS, &b);
    assert_string_equal(buf_cstr(&b), words);
    profile_free(one);
    profile_free(two);
}

static void seconds_compare_whatever_the_event(void **state)
{
    (void)state;
    assert_unlike(one_row("cpu-clock", "count", 9, 1000), one_row("task-clock", "count", 9, 2000),
                  "");
    assert_unlike(one_row("cpu-clock", "count", 9, 1000), one_row("cpu-clock", "count", 9, 2000),
                  "");
}

static void counts_of_unlike_events_do_not(void **state)
{
    (void)state;
    assert_unlike(one_row("page-faults", "count", 9, 0), one_row("page-faults", "count", 5, 0), "");
    assert_unlike(one_row("page-faults", "count", 9, 0), one_row("cache-misses", "count", 9, 0),
                  "the event differs: 'page-faults' and 'cache-misses'");
}

/* --- order --- */

static void runs_of_one_size_keep_their_order(void **state)
{
    static const double sizes[] = {4, 2, 4, 2, 4};
    static const size_t want[] = {1, 3, 0, 2, 4};
    enum { N = 5 };
    struct profile *p[N];
    struct selection all[N];
    struct scaling_run runs[N];
    struct scaling s;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        p[i] = one_row("cpu-clock", "count", 100, 1000000 * (i + 1));
        all[i] = selection_all(p[i], (struct value_ref){0, 0});
        runs[i] = (struct scaling_run){&all[i], sizes[i]};
    }
    scaling_build(&s, runs, N, 1);
    for (size_t i = 0; i < N; i++)
        assert_ptr_equal(s.runs[i].selection, &all[want[i]]);
    scaling_done(&s);
    for (size_t i = 0; i < N; i++)
        profile_free(p[i]);
}

/* Twice the size and half the items: the same time is twice the cost. One run that does not say
 * spoils it for all. */
static void costs_are_per_item_where_all_runs_say_how_many(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        struct profile *p[2];
        struct selection all[2];
        struct scaling_run runs[2];
        struct scaling s;
        for (size_t i = 0; i < 2; i++) {
            p[i] = one_row("cpu-clock", "count", 100, 6000000);
            all[i] = selection_all(p[i], (struct value_ref){0, 0});
            runs[i] = (struct scaling_run){&all[i], 4 + 4 * (double)i, .items = i ? 60 : 120};
        }
        runs[1].items *= 1 - missing;
        scaling_build(&s, runs, 2, 1);
        assert_true(s.per_item == !missing);
        assert_true(s.whole.cost[0] == (missing ? 6e6 : 6e6 / 120));
        assert_true(s.whole.cost[1] == (missing ? 6e6 : 6e6 / 60));
        assert_true(fabs(s.whole.growth.exponent - (missing ? 0 : 1)) < 1e-9);
        scaling_done(&s);
        for (size_t i = 0; i < 2; i++)
            profile_free(p[i]);
    }
}

/* Three points on a line by luck: 15 samples of 1,000 in each run know no exponent to a hundredth.
 */
static void an_exponent_is_not_known_better_than_its_samples(void **state)
{
    enum { N = 3 };
    struct profile *p[N];
    struct selection all[N];
    struct scaling_run runs[N];
    struct scaling s;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        p[i] = support_folded("main;f 15\nmain;g 985\n");
        profile_stream(p[i], 0)->obtained = BY_SOFTWARE_CLOCK;
        all[i] = selection_all(p[i], (struct value_ref){0, 0});
        all[i].count_type = 0;
        all[i].n_samples = 1000;
        runs[i] = (struct scaling_run){&all[i], 1000.0 * (double)(1u << i)};
    }
    scaling_build(&s, runs, N, 5);
    struct growth g = scaling_of(&s, text_of("f"), FLAT_SELF).growth;
    assert_true(g.exponent > -0.001 && g.exponent < 0.001);
    assert_true(g.interval.low < -0.3 && g.interval.high > 0.3);
    g = scaling_of(&s, text_of("g"), FLAT_SELF).growth;
    assert_true(g.interval.low > -0.02 && g.interval.high < 0.02);
    scaling_done(&s);
    for (size_t i = 0; i < N; i++)
        profile_free(p[i]);
}

/* What was not met at a size says nothing there: the ratio is from the first size that has it to
 * the last. */
static void a_ratio_leaves_out_sizes_without_the_function(void **state)
{
    static const struct {
        double cost[4], size, ratio;
    } cases[] = {{{1, 3, 6, 9}, 8, 9},   {{0, 3, 6, 12}, 4, 4}, {{2, 3, 6, 0}, 4, 3},
                 {{0, 2, 5, 0}, 2, 2.5}, {{0, 0, 7, 0}, 1, 1},  {{0, 0, 0, 0}, 1, 1}};
    struct scaling_run runs[] = {{NULL, 1}, {NULL, 2}, {NULL, 4}, {NULL, 8}};
    struct scaling s = {.runs = runs, .n = 4};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double cost[4];
        memcpy(cost, cases[i].cost, sizeof cost);
        struct scaling_ratio r = scaling_ratio_of(&s, &(struct scaling_cost){.cost = cost});
        assert_float_equal(r.size, cases[i].size, 1e-12);
        assert_float_equal(r.cost, cases[i].ratio, 1e-12);
    }
}

/* --- scopes --- */

/* A run of CALLS spans of scope "step", each of NS with OWN of it outside of the scope inside. */
static struct profile *run_with_scopes(int calls, uint64_t ns, int64_t own)
{
    struct profile *p = one_row("cpu-clock", "count", 10, 1000000);
    struct err err;
    int stream = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
    profile_add_value(p, stream, "spans", UNIT_COUNT);
    profile_add_value(p, stream, "self", UNIT_TIME);
    struct frame_id f = profile_add_named_frame(p, text_of("step"), FRAME_USER);
    for (int i = 0; i < calls; i++) {
        int64_t values[] = {1, own};
        struct row row = {.stack = stacks_intern(&p->stacks, &f, 1),
                          .has_time = true,
                          .time_ns = (uint64_t)i * 1000000,
                          .duration_ns = ns,
                          .values = values};
        assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    }
    return p;
}

static void a_scope_grows_by_the_time_of_its_spans(void **state)
{
    enum { N = 3 };
    static const double sizes[N] = {10, 20, 40};
    static const int calls[N] = {10, 20, 40};
    static const uint64_t ns[N] = {100, 200, 400};
    struct profile *p[N];
    struct selection cpu[N], spans[N];
    struct scaling_run runs[N];
    struct scaling s;
    struct scaling_cost c;
    struct value_ref self;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        p[i] = run_with_scopes(calls[i], ns[i], 50);
        assert_true(scopetree_find(p[i], &self));
        cpu[i] = selection_all(p[i], (struct value_ref){0, 0});
        spans[i] = selection_all(p[i], self);
        runs[i] = (struct scaling_run){&cpu[i], sizes[i], &spans[i]};
    }
    scaling_build(&s, runs, N, 5);
    assert_int_equal(s.scopes.n, 1);
    assert_true(text_is(s.scopes.at[0].name, "step"));
    assert_float_equal(s.scopes.at[0].total.growth.exponent, 2, 1e-9);
    assert_float_equal(s.scopes.at[0].self.growth.exponent, 1, 1e-9);
    assert_true(scaling_of_scope(&s, text_of("step"), FLAT_TOTAL, &c));
    assert_float_equal(c.cost[2], 40 * 400, 1e-9);
    assert_true(scaling_of_scope(&s, text_of("step"), FLAT_SELF, &c));
    assert_float_equal(c.cost[1], 20 * 50, 1e-9);
    assert_false(scaling_of_scope(&s, text_of("stepping"), FLAT_TOTAL, &c));
    scaling_done(&s);
    for (size_t i = 0; i < N; i++)
        profile_free(p[i]);
}

/* What no span says the time of has no growth, and its memory is given back. */
static void spans_without_durations_have_no_growth(void **state)
{
    struct profile *p[RUNS];
    struct selection all[RUNS];
    struct scaling_run runs[RUNS];
    struct scaling s;
    (void)state;
    for (size_t i = 0; i < RUNS; i++) {
        p[i] = one_row("cpu-clock", "count", 10, 1000000);
        all[i] = selection_all(p[i], (struct value_ref){0, 0});
        runs[i] = (struct scaling_run){&all[i], (double)i + 1, &all[i]};
    }
    scaling_build(&s, runs, RUNS, 5);
    assert_int_equal(s.scopes.n, 0);
    scaling_done(&s);
    for (size_t i = 0; i < RUNS; i++)
        profile_free(p[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scope_grows_by_the_time_of_its_spans),
        cmocka_unit_test(spans_without_durations_have_no_growth),
        cmocka_unit_test(cpu_time_is_that_of_the_process),
        cmocka_unit_test(without_it_the_sampling_rate_tells),
        cmocka_unit_test(seconds_compare_whatever_the_event),
        cmocka_unit_test(counts_of_unlike_events_do_not),
        cmocka_unit_test(runs_of_one_size_keep_their_order),
        cmocka_unit_test(costs_are_per_item_where_all_runs_say_how_many),
        cmocka_unit_test(an_exponent_is_not_known_better_than_its_samples),
        cmocka_unit_test(a_ratio_leaves_out_sizes_without_the_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
