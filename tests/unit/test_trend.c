/* A number over time: which changes count, and how they are told. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "stats/trend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* Twelve points at BEFORE, then twelve at AFTER, a little apart. */
static struct trend step(enum trend_unit unit, double before, double after)
{
    struct trend t = {.unit = unit};
    for (int i = 0; i < 24; i++) {
        struct trend_point *p = vec_push(&t.points);
        double level = i < 12 ? before : after;
        *p = (struct trend_point){
            .value = level * (1 + 1e-4 * (i * 5 % 7)), .low = NAN, .high = NAN};
        snprintf(p->commit, sizeof p->commit, "%010d%010d", i, i);
    }
    trend_find_changes(&t);
    return t;
}

static void a_change_of_a_share_counts_from_half_a_point_on(void **state)
{
    static const struct {
        enum trend_unit unit;
        double before, after;
        size_t changes;
    } cases[] = {{TREND_SHARE, 0.10, 0.12, 1},   {TREND_SHARE, 0.12, 0.10, 1},
                 {TREND_SHARE, 0.100, 0.104, 0}, {TREND_SHARE, 0.100, 0.106, 1},
                 {TREND_NS, 0.100, 0.104, 1},    {TREND_COUNT, 1000, 1040, 1},
                 {TREND_BYTES, 5000, 5000, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trend t = step(cases[i].unit, cases[i].before, cases[i].after);
        assert_int_equal(t.n_changes, cases[i].changes);
        if (t.n_changes)
            assert_int_equal(t.changes[0].at, 12);
        trend_done(&t);
    }
}

static void values_are_written_in_their_unit(void **state)
{
    char s[UNITS_MAX];
    (void)state;
    assert_string_equal(trend_value(&(struct trend){.unit = TREND_SHARE}, 0.1234, s), "12.3%");
    assert_string_equal(trend_value(&(struct trend){.unit = TREND_NS}, 1.5e6, s), "1.5 ms");
    assert_string_equal(trend_value(&(struct trend){.unit = TREND_BYTES}, 2048, s), "2 KiB");
    assert_string_equal(trend_value(&(struct trend){.unit = TREND_NS}, NAN, s), "-");
}

static void a_change_names_the_commits_around_it(void **state)
{
    autobuf struct buf up = {0}, down = {0};
    (void)state;
    struct trend t = step(TREND_NS, 1e9, 2e9);
    trend_say(&t, 0, &up);
    assert_non_null(strstr(buf_cstr(&up), "first bad commit 0000000012"));
    assert_non_null(strstr(buf_cstr(&up), "last good 0000000011"));
    assert_non_null(strstr(buf_cstr(&up), "rose by 100"));
    trend_done(&t);
    t = step(TREND_SHARE, 0.5, 0.25);
    trend_say(&t, 0, &down);
    assert_non_null(strstr(buf_cstr(&down), "fell by 25"));
    trend_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_of_a_share_counts_from_half_a_point_on),
        cmocka_unit_test(values_are_written_in_their_unit),
        cmocka_unit_test(a_change_names_the_commits_around_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
