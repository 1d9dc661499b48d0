/* Stacks of a table of waits as lines of text. */
#include "view/waitpath.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

/* A row of functions, innermost first, parted by blanks. */
static void add_path(struct waitpaths *w, const char *functions)
{
    waitpath_names *names = vec_push(&w->rows);
    struct text left = text_of(functions);
    *names = (waitpath_names){0};
    while (left.n)
        *vec_push(names) = text_cut(&left, ' ');
}

static void says(const struct waitpaths *w, size_t row, const char *inward, const char *outward)
{
    autobuf struct buf in = {0}, out = {0};
    waitpaths_inward(w, row, &in);
    waitpaths_outward(w, row, 2, &out);
    assert_string_equal(buf_cstr(&in), inward);
    assert_string_equal(buf_cstr(&out), outward);
}

static void rows_show_where_they_part(void **state)
{
    (void)state;
    struct waitpaths w = {.brief = true};
    add_path(&w, "epoll_wait wait_set latch checkpointer main");
    add_path(&w, "epoll_wait wait_set latch writer main");
    add_path(&w, "epoll_wait wait_set latch writer main"); /* for another reason */
    add_path(&w, "epoll_wait wait_set read_client backend main");
    add_path(&w, "select server main");
    says(&w, 0, "main > checkpointer > .. > epoll_wait", ".. < checkpointer < main");
    says(&w, 1, "main > writer > .. > epoll_wait", ".. < writer < main");
    says(&w, 3, "main > backend > read_client > .. > epoll_wait", ".. < read_client < backend");
    says(&w, 4, "main > server > select", "select < server");
    w.brief = false;
    says(&w, 0, "main > checkpointer > latch > wait_set > epoll_wait", "epoll_wait < wait_set");
    waitpaths_done(&w);
}

static void a_function_without_a_name_parts_nothing(void **state)
{
    (void)state;
    struct waitpaths w = {.brief = true};
    add_path(&w, "epoll_wait wait_set lock_table [db+0x10] main");
    add_path(&w, "epoll_wait wait_set lock_table update main");
    add_path(&w, "futex [db+0x20] [db+0x30] main");
    add_path(&w, "futex [db+0x20] [db+0x40] main");
    says(&w, 0, "main > [db+0x10] > lock_table > .. > epoll_wait", ".. < lock_table < [db+0x10]");
    says(&w, 1, "main > update > .. > epoll_wait", ".. < update < main");
    says(&w, 2, "main > [db+0x30] > [db+0x20] > futex", "futex < [db+0x20]");
    waitpaths_done(&w);
}

static void rows_that_part_far_out_are_one_place(void **state)
{
    (void)state;
    struct waitpaths w = {.brief = true};
    add_path(&w, "a b c d e f g main");
    add_path(&w, "a b c d e f g other");
    add_path(&w, "");
    says(&w, 0, "main > g > f > e > d > c > b > a", "a < b");
    says(&w, 2, "[kernel]", "");
    waitpaths_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_show_where_they_part),
        cmocka_unit_test(a_function_without_a_name_parts_nothing),
        cmocka_unit_test(rows_that_part_far_out_are_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
