#include "analysis/waitreason.h"

static const struct {
    const char *name, *about;
} reason_words[WAIT_REASONS] = {
    [WAIT_UNKNOWN] = {"unknown", "no kernel stack, or no names for it"},
    [WAIT_LOCK] = {"lock", "mutex or reader-writer lock"},
    [WAIT_CONDITION] = {"condition", "condition, semaphore, barrier or future"},
    [WAIT_JOIN] = {"join", "another thread's end"},
    [WAIT_FUTEX] = {"futex", "futex of no known lock or condition"},
    [WAIT_POLL] = {"poll", "epoll, poll, select, eventfd, io_uring"},
    [WAIT_SLEEP] = {"sleep", "nanosleep and its relatives, timerfd"},
    [WAIT_PIPE] = {"pipe", "reading or writing a pipe"},
    [WAIT_SOCKET] = {"socket", "read, write, accept or connect"},
    [WAIT_TERMINAL] = {"terminal", "reading or writing a terminal"},
    [WAIT_FILE] = {"file", "file systems and disks"},
    [WAIT_SYNC] = {"fsync", "fsync and its relatives, writes with O_SYNC"},
    [WAIT_PAGE_FAULT] = {"page fault", "memory to be read or allocated first"},
    [WAIT_FILE_LOCK] = {"file lock", "flock, lockf, fcntl"},
    [WAIT_MESSAGE] = {"message", "message queue, or semaphores of System V"},
    [WAIT_CHILD] = {"child", "wait, waitpid, vfork"},
    [WAIT_SIGNAL] = {"signal", "sigwait, sigsuspend, pause"},
    [WAIT_KERNEL_LOCK] = {"kernel lock", "a lock inside the kernel"},
    [WAIT_STOPPED] = {"stopped", "by a signal, a debugger or the freezer"},
    [WAIT_RECORDER] = {"recorder", "kelvin's library, for the recorder"},
    [WAIT_OTHER] = {"other", "something else in the kernel"},
};

const char *waitreason_name(enum wait_reason r)
{
    return reason_words[r].name;
}

const char *waitreason_about(enum wait_reason r)
{
    return reason_words[r].about;
}

/* --- the table --- */

/*
 * What a function of the kernel says about a wait, and how much that is worth. A name that ends in
 * '*' stands for all that begin so; "sys_read" for the entry of that system call on every machine.
 */
enum worth { VAGUE = 1, PLAIN, DEEP, SURE };

static const struct reason_rule {
    const char *name;
    enum wait_reason reason;
    enum worth worth;
} kernel_rules[] = {
    {"ptrace_stop", WAIT_STOPPED, SURE},
    {"do_signal_stop", WAIT_STOPPED, SURE},
    {"do_jobctl_trap", WAIT_STOPPED, SURE},
    {"do_freezer_trap", WAIT_STOPPED, SURE},
    {"__refrigerator", WAIT_STOPPED, SURE},
    {"futex_lock_pi*", WAIT_LOCK, SURE},
    {"futex_wait*", WAIT_FUTEX, SURE},
    {"__futex_wait*", WAIT_FUTEX, SURE},
    {"futex_do_wait", WAIT_FUTEX, SURE},
    {"sys_futex*", WAIT_FUTEX, PLAIN},

    {"__mutex_lock*", WAIT_KERNEL_LOCK, SURE},
    {"rwsem_down_*", WAIT_KERNEL_LOCK, SURE},
    {"__down", WAIT_KERNEL_LOCK, SURE},
    {"__down_*", WAIT_KERNEL_LOCK, SURE},
    {"percpu_rwsem_wait", WAIT_KERNEL_LOCK, SURE},
    /* less than futex_lock_pi: a lock that lends its priority waits in these, too */
    {"rt_mutex_slowlock*", WAIT_KERNEL_LOCK, DEEP},
    {"__rt_mutex_slowlock*", WAIT_KERNEL_LOCK, DEEP},

    {"exc_page_fault", WAIT_PAGE_FAULT, DEEP},
    {"asm_exc_page_fault", WAIT_PAGE_FAULT, DEEP},
    {"do_user_addr_fault", WAIT_PAGE_FAULT, DEEP},
    {"do_page_fault", WAIT_PAGE_FAULT, DEEP},
    {"do_translation_fault", WAIT_PAGE_FAULT, DEEP},
    {"do_mem_abort", WAIT_PAGE_FAULT, DEEP},
    {"handle_mm_fault", WAIT_PAGE_FAULT, DEEP},

    {"sys_fsync", WAIT_SYNC, DEEP},
    {"sys_fdatasync", WAIT_SYNC, DEEP},
    {"sys_sync", WAIT_SYNC, DEEP},
    {"sys_syncfs", WAIT_SYNC, DEEP},
    {"sys_msync", WAIT_SYNC, DEEP},
    {"sys_sync_file_range", WAIT_SYNC, DEEP},
    {"do_fsync", WAIT_SYNC, DEEP},
    {"vfs_fsync_range", WAIT_SYNC, DEEP},
    /* write() to a file opened with O_SYNC or O_DSYNC */
    {"generic_write_sync", WAIT_SYNC, DEEP},
    {"generic_file_fsync", WAIT_SYNC, DEEP},
    {"ext4_sync_file", WAIT_SYNC, DEEP},
    {"xfs_file_fsync", WAIT_SYNC, DEEP},
    {"btrfs_sync_file", WAIT_SYNC, DEEP},
    {"f2fs_sync_file", WAIT_SYNC, DEEP},
    {"fuse_fsync", WAIT_SYNC, DEEP},
    {"nfs_file_fsync", WAIT_SYNC, DEEP},
    {"blkdev_fsync", WAIT_SYNC, DEEP},

    {"do_nanosleep", WAIT_SLEEP, PLAIN},
    {"hrtimer_nanosleep", WAIT_SLEEP, PLAIN},
    {"sys_nanosleep", WAIT_SLEEP, PLAIN},
    {"sys_clock_nanosleep", WAIT_SLEEP, PLAIN},

    {"ep_poll", WAIT_POLL, PLAIN},
    {"do_epoll_*", WAIT_POLL, PLAIN},
    {"sys_epoll_*", WAIT_POLL, PLAIN},
    {"do_poll*", WAIT_POLL, PLAIN},
    {"do_sys_poll", WAIT_POLL, PLAIN},
    {"do_select", WAIT_POLL, PLAIN},
    {"core_sys_select", WAIT_POLL, PLAIN},
    {"poll_schedule_timeout", WAIT_POLL, PLAIN},
    {"eventfd_read", WAIT_POLL, PLAIN},
    {"eventfd_write", WAIT_POLL, PLAIN},
    {"timerfd_read*", WAIT_SLEEP, PLAIN},
    {"inotify_read", WAIT_POLL, PLAIN},
    {"fanotify_read", WAIT_POLL, PLAIN},
    {"io_cqring_wait", WAIT_POLL, PLAIN},
    {"sys_io_uring_enter", WAIT_POLL, VAGUE},
    {"do_io_getevents", WAIT_POLL, PLAIN},

    {"do_wait", WAIT_CHILD, PLAIN},
    {"kernel_wait4", WAIT_CHILD, PLAIN},
    {"kernel_waitid", WAIT_CHILD, PLAIN},
    {"sys_wait4", WAIT_CHILD, PLAIN},
    {"sys_waitid", WAIT_CHILD, PLAIN},
    {"wait_for_vfork_done", WAIT_CHILD, PLAIN},
    {"sys_vfork", WAIT_CHILD, VAGUE},
    {"kernel_clone", WAIT_CHILD, VAGUE}, /* posix_spawn() */

    {"do_sigtimedwait", WAIT_SIGNAL, PLAIN},
    {"sigsuspend", WAIT_SIGNAL, PLAIN},
    {"signalfd_read*", WAIT_SIGNAL, PLAIN},
    {"sys_pause", WAIT_SIGNAL, PLAIN},
    {"sys_rt_sigsuspend", WAIT_SIGNAL, PLAIN},
    {"sys_rt_sigtimedwait", WAIT_SIGNAL, PLAIN},

    {"sys_flock", WAIT_FILE_LOCK, PLAIN},
    {"locks_lock_inode_wait", WAIT_FILE_LOCK, PLAIN},
    {"fcntl_setlk*", WAIT_FILE_LOCK, PLAIN},

    {"do_msgrcv", WAIT_MESSAGE, PLAIN},
    {"do_msgsnd", WAIT_MESSAGE, PLAIN},
    {"do_semtimedop", WAIT_MESSAGE, PLAIN},
    {"__do_semtimedop", WAIT_MESSAGE, PLAIN},
    {"do_mq_timed*", WAIT_MESSAGE, PLAIN},
    {"wq_sleep", WAIT_MESSAGE, PLAIN},

    {"pipe_read", WAIT_PIPE, PLAIN},
    {"pipe_write", WAIT_PIPE, PLAIN},
    {"anon_pipe_read", WAIT_PIPE, PLAIN},
    {"anon_pipe_write", WAIT_PIPE, PLAIN},
    {"fifo_pipe_read", WAIT_PIPE, PLAIN},
    {"fifo_pipe_write", WAIT_PIPE, PLAIN},
    {"fifo_open", WAIT_PIPE, PLAIN},

    {"unix_*", WAIT_SOCKET, PLAIN},
    {"tcp_*", WAIT_SOCKET, PLAIN},
    {"udp_*", WAIT_SOCKET, PLAIN},
    {"inet_*", WAIT_SOCKET, PLAIN},
    {"sock_*", WAIT_SOCKET, PLAIN},
    {"sk_wait_data", WAIT_SOCKET, PLAIN},
    {"sk_stream_wait_*", WAIT_SOCKET, PLAIN},
    {"__skb_wait_for_more_packets", WAIT_SOCKET, PLAIN},
    {"netlink_*", WAIT_SOCKET, PLAIN},
    {"vsock_*", WAIT_SOCKET, PLAIN},
    {"sys_accept*", WAIT_SOCKET, VAGUE},
    {"sys_connect", WAIT_SOCKET, VAGUE},
    {"sys_recv*", WAIT_SOCKET, VAGUE},
    {"sys_send*", WAIT_SOCKET, VAGUE},

    {"n_tty_*", WAIT_TERMINAL, PLAIN},
    {"tty_read", WAIT_TERMINAL, PLAIN},
    {"tty_write", WAIT_TERMINAL, PLAIN},

    {"io_schedule*", WAIT_FILE, VAGUE},
    {"folio_wait_*", WAIT_FILE, VAGUE},
    {"wait_on_page_bit*", WAIT_FILE, VAGUE},
    {"submit_bio_wait", WAIT_FILE, VAGUE},
    {"balance_dirty_pages*", WAIT_FILE, VAGUE},
    {"filemap_*", WAIT_FILE, VAGUE},
    {"generic_file_*", WAIT_FILE, VAGUE},
    {"blkdev_*", WAIT_FILE, VAGUE},
    {"__iomap_*", WAIT_FILE, VAGUE},
    {"iomap_*", WAIT_FILE, VAGUE},
    {"ext4_*", WAIT_FILE, VAGUE},
    {"xfs_*", WAIT_FILE, VAGUE},
    {"btrfs_*", WAIT_FILE, VAGUE},
    {"f2fs_*", WAIT_FILE, VAGUE},
    {"jbd2_*", WAIT_FILE, VAGUE},
    {"fuse_*", WAIT_FILE, VAGUE},
    {"request_wait_answer", WAIT_FILE, VAGUE},
    {"nfs_*", WAIT_FILE, VAGUE},
    {"nfs4_*", WAIT_FILE, VAGUE},
    {"rpc_*", WAIT_FILE, VAGUE},
};

/* Functions of programs and their libraries around a futex; a part of a name is enough. */
static const struct {
    const char *part;
    enum wait_reason reason;
} futex_rules[] = {
    {"lll_lock_wait", WAIT_LOCK},
    {"pthread_mutex", WAIT_LOCK},
    {"pthread_rwlock", WAIT_LOCK},
    {"mtx_lock", WAIT_LOCK},
    {"mtx_timedlock", WAIT_LOCK},
    {"Mutex", WAIT_LOCK},
    {"RwLock", WAIT_LOCK},
    {"mutex::lock", WAIT_LOCK},
    {"pthread_cond", WAIT_CONDITION},
    {"cnd_wait", WAIT_CONDITION},
    {"cnd_timedwait", WAIT_CONDITION},
    {"sem_wait", WAIT_CONDITION},
    {"sem_timedwait", WAIT_CONDITION},
    {"sem_clockwait", WAIT_CONDITION},
    {"pthread_barrier", WAIT_CONDITION},
    {"pthread_join", WAIT_JOIN},
    {"pthread_clockjoin", WAIT_JOIN},
    {"pthread_timedjoin", WAIT_JOIN},
    {"thrd_join", WAIT_JOIN},
    {"Condvar", WAIT_CONDITION},
    {"condition_variable", WAIT_CONDITION},
    {"thread::park", WAIT_CONDITION},
    {"thread_parking", WAIT_CONDITION},
    {"atomic_futex_unsigned", WAIT_CONDITION}, /* std::future of GNU's library */
};

/*
 * Functions of the C library that wait for one thing, where the kernel's have no names: it hides
 * them from who lacks CAP_SYSLOG, as root of a container does. read() may wait for anything.
 */
static const struct {
    const char *name;
    enum wait_reason reason;
} call_rules[] = {
    {"nanosleep", WAIT_SLEEP},     {"clock_nanosleep", WAIT_SLEEP},
    {"epoll_wait", WAIT_POLL},     {"epoll_pwait", WAIT_POLL},
    {"poll", WAIT_POLL},           {"ppoll", WAIT_POLL},
    {"select", WAIT_POLL},         {"pselect", WAIT_POLL},
    {"wait4", WAIT_CHILD},         {"waitpid", WAIT_CHILD},
    {"waitid", WAIT_CHILD},        {"vfork", WAIT_CHILD},
    {"fsync", WAIT_SYNC},          {"fdatasync", WAIT_SYNC},
    {"msync", WAIT_SYNC},          {"syncfs", WAIT_SYNC},
    {"accept", WAIT_SOCKET},       {"accept4", WAIT_SOCKET},
    {"connect", WAIT_SOCKET},      {"recv", WAIT_SOCKET},
    {"recvfrom", WAIT_SOCKET},     {"recvmsg", WAIT_SOCKET},
    {"send", WAIT_SOCKET},         {"sendto", WAIT_SOCKET},
    {"sendmsg", WAIT_SOCKET},      {"flock", WAIT_FILE_LOCK},
    {"sigwait", WAIT_SIGNAL},      {"sigwaitinfo", WAIT_SIGNAL},
    {"sigtimedwait", WAIT_SIGNAL}, {"sigsuspend", WAIT_SIGNAL},
    {"pause", WAIT_SIGNAL},        {"msgrcv", WAIT_MESSAGE},
    {"msgsnd", WAIT_MESSAGE},      {"semtimedop", WAIT_MESSAGE},
};

/* --- reading it --- */

/* Functions that compilers cut in parts have the part behind a point. */
static struct text without_part(struct text name)
{
    const char *point = name.n ? memchr(name.at, '.', name.n) : NULL;
    return (struct text){name.at, point ? (size_t)(point - name.at) : name.n};
}

/* "__x64_sys_read" is "sys_read", as are its like on other machines. */
static struct text bare_call(struct text name)
{
    static const char *const fronts[] = {"__x64_",  "__arm64_", "__ia32_compat_",
                                         "__ia32_", "__se_",    "__do_"};
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
        size_t n = strlen(fronts[i]);
        struct text rest = {name.at + n, name.n - n};
        if (text_starts(name, fronts[i]) && text_starts(rest, "sys_"))
            return rest;
    }
    return name;
}

static bool rule_fits(const struct reason_rule *r, struct text name)
{
    size_t n = strlen(r->name);
    if (r->name[n - 1] != '*')
        return text_is(name, r->name);
    return name.n >= n - 1 && memcmp(name.at, r->name, n - 1) == 0;
}

static const struct reason_rule *rule_of(struct text name)
{
    struct text bare = bare_call(without_part(name));
    for (size_t i = 0; i < sizeof kernel_rules / sizeof *kernel_rules; i++)
        if (rule_fits(&kernel_rules[i], bare))
            return &kernel_rules[i];
    return NULL;
}

/* Which kind of futex, by the innermost functions of the program. */
static enum wait_reason futex_kind(const struct waitreason_frame *frames, size_t n)
{
    enum { LOOK = 8 };
    for (size_t i = 0, seen = 0; i < n && seen < LOOK; i++) {
        struct text name = frames[i].name;
        if (frames[i].kernel)
            continue;
        seen++;
        for (size_t k = 0; k < sizeof futex_rules / sizeof *futex_rules; k++)
            if (name.n && memmem(name.at, name.n, futex_rules[k].part, strlen(futex_rules[k].part)))
                return futex_rules[k].reason;
    }
    return WAIT_FUTEX;
}

/* What the program called, where the kernel's functions have no names. */
static enum wait_reason reason_of_call(const struct waitreason_frame *frames, size_t n)
{
    size_t i = 0;
    while (i < n && frames[i].kernel)
        i++;
    for (size_t k = 0; i < n && k < sizeof call_rules / sizeof *call_rules; k++) {
        struct text name = frames[i].name;
        while (text_starts(name, "_"))
            name = (struct text){name.at + 1, name.n - 1};
        if (text_is(name, call_rules[k].name))
            return call_rules[k].reason;
    }
    enum wait_reason futex = futex_kind(frames, n);
    return futex == WAIT_FUTEX ? WAIT_UNKNOWN : futex;
}

enum wait_reason waitreason_of(const struct waitreason_frame *frames, size_t n)
{
    const struct reason_rule *best = NULL;
    bool named = false, kernel = false;
    for (size_t i = 0; i < n; i++) {
        kernel |= frames[i].kernel;
        if (!frames[i].kernel || !frames[i].name.n)
            continue;
        const struct reason_rule *r = rule_of(frames[i].name);
        named = true;
        if (r && (!best || r->worth > best->worth))
            best = r;
    }
    if (!best)
        return named ? WAIT_OTHER : kernel ? reason_of_call(frames, n) : WAIT_UNKNOWN;
    return best->reason == WAIT_FUTEX ? futex_kind(frames, n) : best->reason;
}

enum wait_reason waitreason_of_stack(const struct profile *p, struct stack_id stack)
{
    enum { MOST = 512 };
    struct waitreason_frame frames[MOST];
    size_t n = 0;
    bool agent = false;
    frames[0] = (struct waitreason_frame){{"", 0}, false};
    for (; stack.i && n < MOST; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        const struct line *lines = profile_lines(p, f);
        agent |= profile_is_agent(p, f->mapping);
        bool kernel = f->kind == FRAME_KERNEL;
        if (kernel && !f->n_lines)
            frames[n++] = (struct waitreason_frame){{"", 0}, true};
        for (size_t i = f->kind == FRAME_WAKER ? 0 : f->n_lines; i-- > 0 && n < MOST;) {
            struct text name = profile_function_name(p, lines[i].function);
            if (!profile_name_is_place(name))
                frames[n++] = (struct waitreason_frame){name, kernel};
            else if (kernel)
                frames[n++] = (struct waitreason_frame){{"", 0}, true};
        }
    }
    enum wait_reason reason = waitreason_of(frames, n);
    return reason == WAIT_FUTEX && agent ? WAIT_RECORDER : reason;
}
