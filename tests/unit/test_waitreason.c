/* What a thread waits for, by the functions on its stack. */
#include "analysis/waitreason.h"

#include "base/mem.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

/* Functions innermost first, those of the kernel before "|", separated by blanks. */
static enum wait_reason reason_of(const char *stack)
{
    struct waitreason_frame frames[64];
    size_t n = 0;
    bool kernel = true;
    for (struct text rest = text_of(stack); rest.n;) {
        struct text name = text_cut(&rest, ' ');
        if (text_is(name, "|"))
            kernel = false;
        else if (text_is(name, "?"))
            frames[n++] = (struct waitreason_frame){{"", 0}, kernel};
        else
            frames[n++] = (struct waitreason_frame){name, kernel};
    }
    return waitreason_of(frames, n);
}

static void assert_reason(const char *stack, enum wait_reason want)
{
    enum wait_reason is = reason_of(stack);
    if (is != want)
        fail_msg("%s: %s, not %s", stack, waitreason_name(is), waitreason_name(want));
}

static void system_calls_tell_the_reason(void **state)
{
    (void)state;
    assert_reason("schedule do_nanosleep hrtimer_nanosleep common_nsleep "
                  "__x64_sys_clock_nanosleep do_syscall_64 | clock_nanosleep main",
                  WAIT_SLEEP);
    assert_reason("schedule schedule_hrtimeout_range ep_poll do_epoll_wait __x64_sys_epoll_wait | "
                  "epoll_wait main",
                  WAIT_POLL);
    assert_reason("schedule poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll | poll",
                  WAIT_POLL);
    assert_reason("schedule do_select core_sys_select __x64_sys_pselect6 | select", WAIT_POLL);
    assert_reason("schedule do_wait kernel_wait4 __do_sys_wait4 | wait4", WAIT_CHILD);
    assert_reason(
        "schedule schedule_timeout __wait_for_common wait_for_completion_state kernel_clone "
        "__x64_sys_vfork | vfork",
        WAIT_CHILD);
    assert_reason("schedule sigsuspend __x64_sys_rt_sigsuspend | sigsuspend", WAIT_SIGNAL);
    assert_reason("schedule do_sigtimedwait __arm64_sys_rt_sigtimedwait | sigwait", WAIT_SIGNAL);
}

/* The kernel hides its names from root of a container. */
static void without_names_of_the_kernel_the_call_tells_the_reason(void **state)
{
    (void)state;
    assert_reason("? ? | clock_nanosleep usleep main", WAIT_SLEEP);
    assert_reason("? ? | __nanosleep main", WAIT_SLEEP);
    assert_reason("? | epoll_wait loop main", WAIT_POLL);
    assert_reason("? | fdatasync [db+0x10] main", WAIT_SYNC);
    assert_reason("? | __lll_lock_wait pthread_mutex_lock main", WAIT_LOCK);
    assert_reason("? | pthread_cond_wait main", WAIT_CONDITION);
    assert_reason("? | read main", WAIT_UNKNOWN);
    assert_reason("? | poll_the_sensors main", WAIT_UNKNOWN);
    assert_reason("? | syscall my_lock main", WAIT_UNKNOWN);
    /* Without a frame of the kernel it is where a sample was, not a wait. */
    assert_reason("| clock_nanosleep usleep main", WAIT_UNKNOWN);
    assert_reason("schedule some_new_wait ? | nanosleep main", WAIT_OTHER);
}

static void reading_is_told_by_what_is_read(void **state)
{
    (void)state;
    assert_reason("schedule anon_pipe_read vfs_read ksys_read __x64_sys_read | read", WAIT_PIPE);
    assert_reason("schedule pipe_wait_writable pipe_write vfs_write ksys_write | write", WAIT_PIPE);
    assert_reason("schedule schedule_timeout unix_stream_read_generic unix_stream_recvmsg "
                  "sock_recvmsg sock_read_iter vfs_read ksys_read | read",
                  WAIT_SOCKET);
    assert_reason("schedule wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg inet_recvmsg | "
                  "recv",
                  WAIT_SOCKET);
    assert_reason("schedule inet_csk_accept inet_accept do_accept __sys_accept4 | accept",
                  WAIT_SOCKET);
    assert_reason("schedule wait_woken n_tty_read iterate_tty_read vfs_read | read", WAIT_TERMINAL);
    assert_reason("schedule io_schedule folio_wait_bit_common filemap_read ext4_file_read_iter "
                  "vfs_read | read",
                  WAIT_FILE);
    assert_reason("schedule io_schedule blkdev_direct_IO blkdev_read_iter vfs_read | pread64",
                  WAIT_FILE);
}

/* On the way down there are functions of files, sockets and locks, too. */
static void the_function_that_says_most_counts(void **state)
{
    (void)state;
    assert_reason("schedule io_schedule folio_wait_bit_common folio_wait_writeback "
                  "__filemap_fdatawait_range ext4_sync_file do_fsync __x64_sys_fsync | fsync",
                  WAIT_SYNC);
    assert_reason("schedule io_schedule folio_wait_bit folio_wait_writeback "
                  "file_write_and_wait_range ext4_fsync_nojournal ext4_sync_file "
                  "ext4_buffered_write_iter vfs_write __x64_sys_pwrite64 | pwrite main",
                  WAIT_SYNC);
    assert_reason("schedule jbd2_log_wait_commit ext4_sync_file vfs_fsync_range "
                  "ext4_buffered_write_iter vfs_write | write",
                  WAIT_SYNC);
    assert_reason("schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
                  "handle_mm_fault do_user_addr_fault exc_page_fault asm_exc_page_fault | parse",
                  WAIT_PAGE_FAULT);
    assert_reason("schedule io_schedule filemap_fault handle_mm_fault exc_page_fault "
                  "_copy_to_iter unix_stream_recvmsg sock_recvmsg | recv",
                  WAIT_PAGE_FAULT);
    assert_reason("schedule rwsem_down_write_slowpath down_write vm_mmap_pgoff ksys_mmap_pgoff | "
                  "mmap",
                  WAIT_KERNEL_LOCK);
    assert_reason("schedule schedule_preempt_disabled __mutex_lock.constprop.0 pipe_write | write",
                  WAIT_KERNEL_LOCK);
    assert_reason("schedule ptrace_stop get_signal do_nanosleep | nanosleep", WAIT_STOPPED);
}

static void a_futex_is_what_the_program_uses_it_for(void **state)
{
    (void)state;
#define FUTEX "schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex | "
    assert_reason(FUTEX "futex_wait __lll_lock_wait pthread_mutex_lock main", WAIT_LOCK);
    assert_reason(FUTEX "__pthread_rwlock_wrlock_full64 main", WAIT_LOCK);
    assert_reason(FUTEX "syscall std::sys::pal::unix::futex::futex_wait "
                        "<std::sys::sync::thread_parking::futex::Parker>::park main",
                  WAIT_CONDITION);
    assert_reason(FUTEX "syscall std::__atomic_futex_unsigned_base::_M_futex_wait_until main",
                  WAIT_CONDITION);
    assert_reason(FUTEX "std::sys::sync::mutex::futex::Mutex::lock_contended main", WAIT_LOCK);
    assert_reason(FUTEX "__futex_abstimed_wait_common64 __futex_abstimed_wait_common "
                        "pthread_cond_wait worker",
                  WAIT_CONDITION);
    assert_reason(FUTEX "__new_sem_wait_slow64 sem_wait main", WAIT_CONDITION);
    assert_reason(FUTEX "__pthread_clockjoin_ex main", WAIT_JOIN);
    assert_reason("schedule flock_lock_inode_wait locks_lock_inode_wait __do_sys_flock | flock",
                  WAIT_FILE_LOCK);
    assert_reason("schedule do_msgrcv __x64_sys_msgrcv | msgrcv", WAIT_MESSAGE);
    assert_reason("schedule timerfd_read_iter vfs_read | read", WAIT_SLEEP);
    assert_reason(FUTEX "runtime.futex runtime.futexsleep", WAIT_FUTEX);
    assert_reason(FUTEX "syscall pool_wait", WAIT_FUTEX);
    /* After a condition the lock is taken again. */
    assert_reason(FUTEX "__lll_lock_wait __pthread_mutex_cond_lock pthread_cond_wait", WAIT_LOCK);
    assert_reason("schedule rt_mutex_wait_proxy_lock futex_lock_pi do_futex | pthread_mutex_lock",
                  WAIT_LOCK);
    assert_reason(
        "rt_mutex_schedule rt_mutex_slowlock_block rt_mutex_wait_proxy_lock futex_lock_pi "
        "do_futex | __futex_lock_pi64 __pthread_mutex_lock_full",
        WAIT_LOCK);
    assert_reason("rt_mutex_schedule rt_mutex_slowlock_block __rt_mutex_lock shmem_fault "
                  "asm_exc_page_fault | main",
                  WAIT_KERNEL_LOCK);
}

static void what_is_not_known_is_called_that(void **state)
{
    (void)state;
    assert_reason("", WAIT_UNKNOWN);
    assert_reason("| pthread_mutex_lock main", WAIT_UNKNOWN);
    assert_reason("schedule some_driver_ioctl __x64_sys_ioctl | ioctl", WAIT_OTHER);
    /* Names of programs say nothing about the kernel. */
    assert_reason("schedule some_driver_ioctl | pipe_read do_nanosleep", WAIT_OTHER);
}

/* Such a frame has no function at all, or is named by its place when names were looked up. */
static void frames_of_the_kernel_without_names_are_its_own(void **state)
{
    (void)state;
    for (int named = 0; named < 3; named++) {
        struct profile *p = profile_new();
        struct frame_key bare = {.pc = 0x1000, .kind = FRAME_KERNEL};
        struct stack_id stack =
            stacks_push(&p->stacks, (struct stack_id){0},
                        profile_add_named_frame(p, text_of("clock_nanosleep"), FRAME_USER));
        if (named < 2)
            stack = stacks_push(
                &p->stacks, stack,
                named ? profile_add_named_frame(p, text_of("[kernel+0x1000]"), FRAME_KERNEL)
                      : profile_add_frame(p, &bare));
        assert_int_equal(waitreason_of_stack(p, stack), named < 2 ? WAIT_SLEEP : WAIT_UNKNOWN);
        profile_free(p);
    }
}

static void every_reason_has_words(void **state)
{
    (void)state;
    for (int i = 0; i < WAIT_REASONS; i++) {
        assert_non_null(waitreason_name((enum wait_reason)i));
        assert_non_null(waitreason_about((enum wait_reason)i));
        for (int k = 0; k < i; k++)
            assert_string_not_equal(waitreason_name((enum wait_reason)i),
                                    waitreason_name((enum wait_reason)k));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_calls_tell_the_reason),
        cmocka_unit_test(without_names_of_the_kernel_the_call_tells_the_reason),
        cmocka_unit_test(reading_is_told_by_what_is_read),
        cmocka_unit_test(the_function_that_says_most_counts),
        cmocka_unit_test(a_futex_is_what_the_program_uses_it_for),
        cmocka_unit_test(what_is_not_known_is_called_that),
        cmocka_unit_test(frames_of_the_kernel_without_names_are_its_own),
        cmocka_unit_test(every_reason_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
