/*
 * What sanitizers found, and where.
 */
#include "suite/sanlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define ASAN "ERROR: AddressSanitizer: "
#define TSAN "WARNING: ThreadSanitizer: "
#define UBSAN ": runtime error: "

static void is_read_as(const char *mark, const char *log, const char *expected)
{
    struct sanlog_opts o = {.mark = mark, .root = "/src/app", .most = 2};
    autobuf struct buf b = {0};
    sanlog_read(text_of(log), &o, &b);
    assert_string_equal(buf_cstr(&b), expected);
}

static void the_innermost_frame_of_the_project_is_named(void **state)
{
    (void)state;
    is_read_as(ASAN,
               "==9==" ASAN "heap-buffer-overflow on address 0x60 at pc 0x55 bp 0x7f sp 0x7f\n"
               "WRITE of size 30 at 0x60 thread T0\n"
               "    #0 0x7f in __interceptor_memcpy ../../src/libsanitizer/x.inc:827\n"
               "    #1 0x56 in std::copy(int*, int*) /usr/include/c++/12/bits/algo.h:7\n"
               "    #2 0x55 in app::copy_all(char*, unsigned long) /src/app/lib/a.cc:9:5\n"
               "    #3 0x55 in main /src/app/a.cc:18:22\n"
               "\n"
               "allocated by thread T0 here:\n"
               "    #0 0x7f in __interceptor_malloc (/src/app/x+0xa4) (BuildId: 42f8)\n"
               "    #1 0x55 in other /src/app/lib/b.cc:16\n"
               "SUMMARY: AddressSanitizer: heap-buffer-overflow\n"
               "    #0 0x55 in late /src/app/c.cc:1\n",
               "heap-buffer-overflow in app::copy_all(char*, unsigned long) (lib/a.cc:9): "
               "WRITE of size 30\n");
}

static void without_a_frame_of_the_project_the_nearest_is_named(void **state)
{
    (void)state;
    is_read_as(ASAN,
               "==9==" ASAN "attempting double-free on 0x60 in thread T0:\n"
               "    #0 0x7f in __interceptor_free ../../src/libsanitizer/x.cpp:52\n"
               "    #1 0x55 in drop /opt/other/d.c:3\n"
               "    #2 0x7f in __libc_start_main csu/../csu/libc-start.c:360:3\n",
               "attempting double-free in drop (d.c:3)\n");
    is_read_as(ASAN,
               "==9==" ASAN "SEGV on unknown address 0x00 (pc 0x55 bp 0x7f sp 0x7f T0)\n"
               "    #0 0x55 in strdup (/src/app/x+0x8ea) (BuildId: 42f8)\n"
               "    #1 0x7f  ([stack]+0x20767)\n",
               "SEGV in strdup\n");
    /* A frame of which nothing at all is known has nothing before that word. */
    is_read_as(ASAN,
               "==9==" ASAN "SEGV on unknown address 0x00 (pc 0x55 bp 0x7f sp 0x7f T0)\n"
               "    #0 <null>\n"
               "    #1 0x55 in strdup <null>\n",
               "SEGV in strdup\n");
    is_read_as(ASAN,
               "==9==" ASAN "stack-overflow on address 0x60 (pc 0x1)\n"
               "SUMMARY: AddressSanitizer: stack-overflow\n"
               "    #0 0x55 in late /src/app/c.cc:1\n",
               "stack-overflow\n");
    is_read_as(ASAN,
               "==9==" ASAN "SEGV on unknown address 0x00\n"
               "    #0 0x55 in other /src/app2/d.c:3\n"
               "    #1 0x55 in own /src/app/a.c:4\n",
               "SEGV in own (a.c:4)\n"); /* a folder whose name only begins like the project's */
}

static void a_race_has_two_places(void **state)
{
    (void)state;
    is_read_as(TSAN,
               TSAN "data race (pid=18586)\n"
                    "  Read of size 4 at 0x55 by main thread:\n"
                    "    #0 main /src/app/a.c:20 (app+0x13b2)\n"
                    "\n"
                    "  Previous write of size 4 at 0x55 by thread T1:\n"
                    "    #0 run /src/app/b.c:6:35 (app+0x1279) (BuildId: 0ec8)\n"
                    "\n"
                    "  Thread T1 (tid=18589, finished) created by main thread at:\n"
                    "    #0 pthread_create <null> (app+0x513bd) (BuildId: 0ec8)\n"
                    "    #1 start /src/app/a.c:19 (app+0x13a3)\n"
                    "SUMMARY: ThreadSanitizer: data race /src/app/a.c:20 in main\n" TSAN
                    "lock-order-inversion (potential deadlock) (pid=1)\n"
                    "  Mutex M1 acquired here while holding mutex M0 in main thread:\n"
                    "    #0 pthread_mutex_lock <null> (app+0x6e) (BuildId: 0ec8)\n"
                    "    #1 main /src/app/a.c:24:30 (app+0xd0)\n"
                    "  Mutex M0 acquired here while holding mutex M1 in main thread:\n"
                    "    #0 pthread_mutex_lock <null> (app+0x6e) (BuildId: 0ec8)\n"
                    "    #1 main /src/app/a.c:24:30 (app+0xd0)\n",
               "data race in main (a.c:20) and run (b.c:6)\n"
               "lock-order-inversion (potential deadlock) in main (a.c:24)\n");
}

static void undefined_behaviour_has_its_place_before_it(void **state)
{
    (void)state;
    is_read_as(UBSAN,
               "lib/a.c:21:50" UBSAN "signed integer overflow: 1 + 2147483647 cannot\n"
               "    #0 0x55 in sum /src/app/lib/a.c:21\n"
               "/src/app/b.c:3:1" UBSAN "load of null pointer of type 'int'\n"
               "c.c:3:1" UBSAN "not shown\n",
               "signed integer overflow in sum (lib/a.c:21): 1 + 2147483647 cannot\n"
               "load of null pointer of type 'int' at b.c:3\n"
               "and 1 more\n");
}

static void other_lines_are_no_findings(void **state)
{
    (void)state;
    is_read_as(ASAN, "", "");
    is_read_as(ASAN, "all is well\n    #0 0x55 in main /src/app/a.c:1\nSUMMARY: none\n", "");
}

/* CPU seconds for a frame behind which N modules stand, and then N frames of further stacks. */
static double sanlog_cost(size_t n)
{
    struct sanlog_opts o = {.mark = ASAN, .root = "/src/app", .most = 2};
    autobuf struct buf log = {0}, b = {0};
    buf_str(&log, "==9==" ASAN "heap-use-after-free on address 0x60\n    #0 0x55 in f");
    for (size_t i = 0; i < n; i++)
        buf_str(&log, " (+0x)");
    buf_str(&log, "\n");
    for (size_t i = 0; i < n; i++)
        buf_str(&log, "freed ");
    buf_str(&log, "\n");
    for (size_t i = 0; i < n; i++)
        buf_str(&log, "#0 g\n");
    clock_t start = clock();
    sanlog_read(buf_text(&log), &o, &b);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    assert_string_equal(buf_cstr(&b), "heap-use-after-free in f\n");
    return seconds;
}

static void a_long_log_takes_no_more_than_its_length(void **state)
{
    (void)state;
    double small = sanlog_cost(20000), large = sanlog_cost(80000);
    assert_true(large < 8 * small + 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_innermost_frame_of_the_project_is_named),
        cmocka_unit_test(without_a_frame_of_the_project_the_nearest_is_named),
        cmocka_unit_test(a_race_has_two_places),
        cmocka_unit_test(undefined_behaviour_has_its_place_before_it),
        cmocka_unit_test(other_lines_are_no_findings),
        cmocka_unit_test(a_long_log_takes_no_more_than_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
