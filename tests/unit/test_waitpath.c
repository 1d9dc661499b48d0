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
    struct waitpath *path = vec_push(&w->rows);
    struct text left = text_of(functions);
    *path = (struct waitpath){0};
    while (left.n)
        *vec_push(&path->names) = text_cut(&left, ' ');
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
    struct waitpaths w = {.room = 100, .near = 9};
    add_path(&w, "epoll_wait wait_set latch checkpointer main");
    add_path(&w, "epoll_wait wait_set latch writer main");
    add_path(&w, "epoll_wait wait_set latch writer main"); /* for another reason */
    add_path(&w, "epoll_wait wait_set read_client backend main");
    add_path(&w, "select server main");
    says(&w, 0, "main > checkpointer > .. > epoll_wait", ".. < checkpointer < main");
    says(&w, 1, "main > writer > .. > epoll_wait", ".. < writer < main");
    says(&w, 3, "main > backend > read_client > .. > epoll_wait", ".. < read_client < backend");
    says(&w, 4, "main > server > select", "select < server");
    w.room = 0;
    says(&w, 0, "main > checkpointer > latch > wait_set > epoll_wait", "epoll_wait < wait_set");
    waitpaths_done(&w);
}

/* What is told apart from a row that nobody sees would leave callers out for nothing. */
static void rows_further_down_part_nothing(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 100, .near = 1};
    add_path(&w, "epoll_wait wait_set latch main");
    add_path(&w, "select server accept main");
    add_path(&w, "select server accept other");
    says(&w, 1, "main > accept > server > select", "select < server");
    w.near = 3;
    says(&w, 1, "main > .. > select", ".. < main");
    waitpaths_done(&w);
}

static void a_function_without_a_name_parts_nothing(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 100, .near = 9};
    add_path(&w, "epoll_wait wait_set lock_table [db+0x10] main");
    add_path(&w, "epoll_wait wait_set lock_table update main");
    add_path(&w, "futex [db+0x20] [db+0x30] main");
    add_path(&w, "futex [db+0x20] [db+0x40] main");
    says(&w, 0, "main > [db+0x10] > lock_table > .. > epoll_wait", ".. < lock_table < [db+0x10]");
    says(&w, 1, "main > update > .. > epoll_wait", ".. < update < main");
    says(&w, 2, "main > [db+0x30] > [db+0x20] > futex", "futex < .. < main");
    w.room = 36; /* then what has no name goes before what has one */
    add_path(&w, "fdatasync [db+0x1e84f0] [db+0x1e9f80] XLogFlush main");
    says(&w, 4, "main > XLogFlush > .. > fdatasync", "fdatasync < .. < XLogFlush");
    waitpaths_done(&w);
}

static void rows_that_part_far_out_are_one_place(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 100, .near = 9};
    add_path(&w, "a b c d e f g main");
    add_path(&w, "a b c d e f g other");
    add_path(&w, "");
    says(&w, 0, "main > g > f > e > d > c > b > a", "a < b");
    says(&w, 2, "[kernel]", "[kernel]");
    waitpaths_done(&w);
}

static void long_names_leave_the_arguments_of_templates_out(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 100, .near = 9};
    add_path(&w, "nanosleep sleep_for<std::chrono::duration<long,std::ratio<1l,1000l>>> main");
    says(&w, 0, "main > sleep_for<..> > nanosleep", "nanosleep < sleep_for<..>");
    w.room = 0;
    says(&w, 0, "main > sleep_for<std::chrono::duration<long,std::ratio<1l,1000l>>> > nanosleep",
         "nanosleep < sleep_for<std::chrono::duration<long,std::ratio<1l,1000l>>>");
    waitpaths_done(&w);
}

/* A path is cut at its start: a long name would be all that is seen of it. */
static void long_names_leave_room_for_their_callers(void **state)
{
    static const char name[] = "std::__cxx11::basic_string<char, std::char_traits<char>, "
                               "std::allocator<char> >::_M_assign";
    (void)state;
    struct waitpaths w = {.room = 100, .near = 9};
    struct waitpath *path = vec_push(&w.rows);
    *path = (struct waitpath){0};
    *vec_push(&path->names) = text_of(name);
    *vec_push(&path->names) = text_of("main");
    says(&w, 0, "main > std::string::_M_assign", "std::string::_M_assign < main");
    waitpaths_done(&w);
}

static void what_runtimes_do_gives_way_to_the_program(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 46, .near = 9};
    add_path(&w, "syscall std::__atomic_futex_unsigned_base::_M_futex_wait_until "
                 "std::__basic_future<int>::_M_get_result fetch_rows main");
    add_path(&w, "read <std::net::TcpStream_as_std::io::Read>::read serve main");
    says(&w, 0, "main > fetch_rows > .. > syscall", "syscall < .. < fetch_rows");
    says(&w, 1, "main > serve > .. > read", "read < .. < serve");
    w.room = 80; /* what there is room for is shown */
    says(&w, 1, "main > serve > <std::net::TcpStream_as_std::io::Read>.. > read",
         "read < .. < serve");
    waitpaths_done(&w);
}

/* Rows are alike where callers are left out for want of room: the table adds them up. */
static void callers_are_left_out_whole_where_room_ends(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 48, .near = 3};
    add_path(&w, "epoll_wait set latch sleep take acquire XactLockTableWait heap_update run main");
    add_path(&w, "epoll_wait set latch sleep take acquire LockTuple heap_update run main");
    add_path(&w, "epoll_wait set latch sleep take acquire LockTuple heap_lock_tuple run main");
    says(&w, 0, ".. > XactLockTableWait > .. > epoll_wait", ".. < XactLockTableWait < heap_update");
    says(&w, 1, ".. > heap_update > LockTuple > .. > epoll_wait", ".. < LockTuple < heap_update");
    w.room = 40;
    says(&w, 1, ".. > LockTuple > .. > epoll_wait", ".. < LockTuple < heap_update");
    says(&w, 2, ".. > LockTuple > .. > epoll_wait", ".. < LockTuple < heap_lock_tuple");
    w.room = 20;
    says(&w, 0, "XactLockTa.. > .. > epoll_wait", ".. < XactLockTableWait");
    waitpaths_done(&w);
}

static void the_name_of_the_program_is_whole_and_that_of_the_library_is_cut(void **state)
{
    (void)state;
    struct waitpaths w = {.room = 26, .near = 2};
    add_path(&w, "__pthread_mutex_unlock_usercnt hold_lock main");
    add_path(&w, "__pthread_mutex_unlock_usercnt a_name_that_is_longer_than_the_room main");
    w.rows.at[0].libc_entry = w.rows.at[1].libc_entry = true;
    says(&w, 0, "hold_lock > __pthread_mu..", "__pthread_mu.. < hold_lock");
    says(&w, 1, "a_name_tha.. > __pthread_..",
         "__pthread_.. < a_name_that_is_longer_than_the_room");
    w.rows.at[0].libc_entry = false; /* a name of the program gives way to no caller */
    says(&w, 0, "hold_lock > __pthread_mutex_unlock_usercnt",
         "__pthread_mutex_unlock_usercnt < hold_lock");
    w.rows.at[0].libc_entry = true;
    w.room = 100;
    says(&w, 0, "main > hold_lock > __pthread_mutex_unlock_usercnt",
         "__pthread_mutex_unlock_usercnt < hold_lock");
    waitpaths_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_show_where_they_part),
        cmocka_unit_test(rows_further_down_part_nothing),
        cmocka_unit_test(a_function_without_a_name_parts_nothing),
        cmocka_unit_test(rows_that_part_far_out_are_one_place),
        cmocka_unit_test(long_names_leave_the_arguments_of_templates_out),
        cmocka_unit_test(long_names_leave_room_for_their_callers),
        cmocka_unit_test(what_runtimes_do_gives_way_to_the_program),
        cmocka_unit_test(callers_are_left_out_whole_where_room_ends),
        cmocka_unit_test(the_name_of_the_program_is_whole_and_that_of_the_library_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
