/* A screen of `kelvin top`: what is listed in which order, and that it fits. */
#include "view/top.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static struct profile *made(void)
{
    return support_folded("main;parse;copy 500\nmain;parse 100\nmain;idle_loop 250\n"
                          "main;render;copy 100\nother;sink 50\n");
}

/* The screen, with its marked name behind a '|'. */
static char *screen_of(const struct profile *p, struct top_view v)
{
    struct buf b = {0};
    char *marked;
    struct selection s = *SUPPORT_ALL(p, 0);
    v.selection = &s;
    v.head = v.head ? v.head : "head";
    v.filter = v.filter ? v.filter : "";
    top_print(&b, &v, &marked);
    char *screen = mem_printf("%s|%s", buf_cstr(&b), marked);
    free(marked);
    buf_done(&b);
    return screen;
}

/* Whether WORDS are on the screen one after the other. */
static void assert_order(const struct profile *p, struct top_view v, const char *const *words)
{
    autofree char *screen = screen_of(p, v);
    for (const char *at = screen; *words; words++)
        if (!(at = strstr(at, *words)))
            fail_msg("no '%s' after the others in:\n%s", *words, screen);
}

#define ORDER(p, v, ...) assert_order(p, v, (const char *const[]){__VA_ARGS__, NULL})

static const struct top_view plain = {.width = 100, .height = 24};

static void functions_are_sorted_by_self_or_by_total(void **state)
{
    (void)state;
    struct profile *p = made();
    struct top_view v = plain;
    ORDER(p, v, "head\n", "self*", "total", "function\n", "60.0%", " copy\n", " idle_loop\n",
          " parse\n", " sink\n", "|copy");
    v.by_total = true;
    ORDER(p, v, "self ", "total*", " main\n", " copy\n", " parse\n", " idle_loop\n", "|main");
    v.cursor = 2;
    ORDER(p, v, "|parse");
    v.cursor = 99; /* beyond the last */
    ORDER(p, v, "|");
    profile_free(p);
}

static void callers_are_sorted_by_what_comes_from_them(void **state)
{
    (void)state;
    struct profile *p = made();
    struct top_view v = plain;
    v.callers_of = "copy";
    ORDER(p, v, "caller of copy\n", "50.0%", " parse\n", "10.0%", " render\n", "|parse");
    autofree char *screen = screen_of(p, v);
    assert_null(strstr(screen, "idle_loop"));
    profile_free(p);
}

static void a_filter_keeps_names_and_says_when_none_is_left(void **state)
{
    (void)state;
    struct profile *p = made();
    struct top_view v = plain;
    v.filter = "op";
    ORDER(p, v, "function with 'op'", " copy\n", " idle_loop\n");
    autofree char *screen = screen_of(p, v);
    assert_null(strstr(screen, " parse"));
    v.filter = "nosuch";
    ORDER(p, v, "no name matches the filter", "|");
    profile_free(p);
}

static void assert_fits(const char *screen, int width, int height)
{
    int lines = 1, columns = 0;
    for (const char *c = screen; *c && *c != '|'; c++) {
        if (*c == '\033') { /* up to the letter */
            while (*c && (*c < 'A' || (*c > 'Z' && *c < 'a') || *c > 'z'))
                c++;
            continue;
        }
        lines += *c == '\n';
        columns = *c == '\n' || *c == '\r' ? 0 : columns + 1;
        if (columns > width)
            fail_msg("more than %d columns:\n%s", width, screen);
    }
    if (lines > height)
        fail_msg("%d lines, not %d:\n%s", lines, height, screen);
}

static void every_screen_fits(void **state)
{
    static const int widths[] = {20, 27, 28, 40, 53, 54, 80, 95, 96, 200};
    (void)state;
    struct profile *p = made();
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int height = 4; height < 12; height++) {
            struct top_view v = {.width = widths[i], .height = height, .escapes = true};
            v.head = "machine, 64 CPUs: 100% busy, 123,456 samples in 10 s, 1,234 lost so far";
            autofree char *screen = screen_of(p, v);
            assert_fits(screen, widths[i], height);
        }
    profile_free(p);
}

/* A share alone leaves 13 of 20 columns for names. */
static void narrow_screens_have_names_rather_than_intervals(void **state)
{
    (void)state;
    struct profile *p = made();
    struct top_view v = {.width = 20, .height = 8};
    ORDER(p, v, "\n  self function\n", "\n 60.0% copy\n", "\n 25.0% idle_loop\n");
    v.width = 40;
    ORDER(p, v, "\n           self function\n", "\n          60.0% copy\n");
    v.by_total = true;
    ORDER(p, v, "total function\n", " main\n");
    profile_free(p);
}

static void the_keys_are_whole_or_abridged(void **state)
{
    (void)state;
    struct profile *p = made();
    for (int width = 40; width < 120; width++) {
        struct top_view v = {.width = width, .height = 8, .escapes = true};
        autofree char *screen = screen_of(p, v);
        if (!strstr(screen, "w save") == !strstr(screen, "--help"))
            fail_msg("%d columns:\n%s", width, screen);
    }
    profile_free(p);
}

/* Of every second thread the times are known: 50, 10 and 40 %. */
static bool made_times(void *arg, struct thread_id thread, double ret[TOP_TIMES])
{
    static const double part[] = {0.5, 0.1, 0.4};
    (void)arg;
    memcpy(ret, part, sizeof part);
    return thread.i % 2;
}

static struct thread_id thread_called(struct profile *p, const char *name, int tid)
{
    struct thread_key key = {.name = profile_add_str(p, text_of(name)), .pid = 7, .tid = tid};
    return profile_add_thread(p, &key);
}

static void threads_have_their_times_where_there_is_room(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct err err;
    int64_t value = 5;
    int stream = profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, stream, VALUE_SAMPLES, UNIT_COUNT);
    struct thread_id busy = thread_called(p, "busy", 7);
    thread_called(p, "late", 8);
    struct thread_id idle = thread_called(p, "idle", 9);
    struct row row = {.thread = busy, .values = &value};
    assert_int_equal(profile_add_row(p, stream, &row, &err), 0);
    struct top_view v = plain;
    v.by = TOP_THREADS;
    v.times = made_times;
    assert_true(busy.i % 2 && idle.i % 2);
    ORDER(p, v, "share   running runnable  blocked thread\n",
          "    50.0%    10.0%    40.0% busy 7/7\n|");
    v.waiting = true; /* threads without samples, where their times are known */
    ORDER(p, v, " busy 7/7\n", "    50.0%    10.0%    40.0% idle 7/9\n|");
    v.filter = "idle";
    ORDER(p, v, "blocked thread with 'idle'\n", " idle 7/9\n|idle 7/9");
    v.filter = NULL;
    v.width = 50;
    ORDER(p, v, "share thread\n", " busy 7/7\n", " idle 7/9\n|");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_sorted_by_self_or_by_total),
        cmocka_unit_test(callers_are_sorted_by_what_comes_from_them),
        cmocka_unit_test(a_filter_keeps_names_and_says_when_none_is_left),
        cmocka_unit_test(every_screen_fits),
        cmocka_unit_test(narrow_screens_have_names_rather_than_intervals),
        cmocka_unit_test(the_keys_are_whole_or_abridged),
        cmocka_unit_test(threads_have_their_times_where_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
