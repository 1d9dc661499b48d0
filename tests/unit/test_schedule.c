/* test_schedule.c - all ways to take turns: none twice, none left out, and words for them. */
#include "../../lib/bench/schedule.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* THREADS that come to POINTS each and then end: returns who ran, "1122" for two of two. */
static void play(struct schedule *s, unsigned threads, unsigned points, char *ret)
{
    unsigned left[SCHEDULE_THREADS], now = 0;
    for (unsigned i = 1; i <= threads; i++)
        left[i] = points;
    schedule_begin(s);
    while (true) {
        uint8_t list[SCHEDULE_THREADS];
        size_t n = 0;
        if (now && left[now])
            list[n++] = (uint8_t)now;
        for (unsigned i = 1; i <= threads; i++)
            if (left[i] && i != now)
                list[n++] = (uint8_t)i;
        if (!n)
            break;
        now = n == 1 ? list[0] : schedule_choose(s, list, n, !now || !left[now]);
        left[now]--;
        *ret++ = (char)('0' + now);
    }
    *ret = '\0';
}

static size_t count_all(unsigned threads, unsigned points, unsigned bound)
{
    struct schedule s = {.bound = bound};
    char seen[2000][32];
    size_t n = 0;
    do {
        assert_true(n < 2000);
        play(&s, threads, points, seen[n]);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(seen[i], seen[n]);
        n++;
    } while (schedule_next(&s));
    schedule_done(&s);
    return n;
}

static void every_order_comes_once(void **state)
{
    (void)state;
    assert_int_equal(count_all(2, 2, 100), 6);    /* 4! / (2! 2!) */
    assert_int_equal(count_all(2, 5, 100), 252);  /* 10! / (5! 5!) */
    assert_int_equal(count_all(3, 3, 100), 1680); /* 9! / (3! 3! 3!) */
    assert_int_equal(count_all(4, 1, 100), 24);
}

static void the_bound_is_on_preemptions_only(void **state)
{
    (void)state;
    assert_int_equal(count_all(3, 3, 0), 6); /* who begins, and who follows: no preemption */
    assert_int_equal(count_all(2, 2, 1), 4); /* 1122 2211 1221 2112, and not 1212, which has two */
    assert_int_equal(count_all(2, 2, 2), 6);
}

static void a_printed_schedule_is_run_again(void **state)
{
    (void)state;
    struct schedule s = {.bound = 9}, again;
    struct err err;
    char first[32], second[32];
    for (int i = 0; i < 100; i++) {
        play(&s, 3, 3, first);
        autobuf struct buf word = {0};
        schedule_print(&s, &word);
        assert_int_equal(schedule_read(&again, buf_cstr(&word), &err), 0);
        play(&again, 3, 3, second);
        assert_string_equal(first, second);
        assert_false(again.unlike);
        schedule_done(&again);
        assert_true(schedule_next(&s));
    }
    schedule_done(&s);
}

static void any_bytes_are_a_schedule_or_an_error(void **state)
{
    (void)state;
    static const char signs[] = "0123456789x..x\n-+ ";
    srand(1);
    for (int i = 0; i < 20000; i++) {
        char word[12], played[64];
        struct schedule s;
        struct err err;
        size_t n = (size_t)rand() % (sizeof word - 1);
        for (size_t k = 0; k < n; k++)
            word[k] = signs[(size_t)rand() % (sizeof signs - 1)];
        word[n] = '\0';
        if (schedule_read(&s, word, &err) == 0)
            play(&s, 3, 3, played);
        assert_true(s.wanted.n <= SCHEDULE_CHOICES_MAX);
        schedule_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_comes_once),
        cmocka_unit_test(the_bound_is_on_preemptions_only),
        cmocka_unit_test(a_printed_schedule_is_run_again),
        cmocka_unit_test(any_bytes_are_a_schedule_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
