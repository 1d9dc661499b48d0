#include "channel.h"

#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct channel *channel;

/* Copies: the memory may be scribbled on. */
static uint32_t n_rings, ring_bytes;

/* --- finding it --- */

static bool is_sane(const struct channel *c, uint64_t size_bytes)
{
    return c->magic == CHANNEL_MAGIC && c->size_bytes == size_bytes && c->n_rings &&
           c->ring_bytes >= CHANNEL_PAGE && !(c->ring_bytes & (c->ring_bytes - 1)) &&
           channel_size(c->n_rings, c->ring_bytes) == size_bytes;
}

static void *map_fd(int fd, uint64_t inode, int rights, uint64_t *ret_bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_ino != inode || st.st_size < CHANNEL_PAGE)
        return NULL;
    *ret_bytes = (uint64_t)st.st_size;
    void *at = mmap(NULL, *ret_bytes, rights, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    madvise(at, *ret_bytes, MADV_DONTDUMP);
    return at;
}

void *channel_map(uint64_t pid, const struct channel_file *f, bool writable, uint64_t *ret_bytes)
{
    int e = errno, rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = map_fd((int)f->fd, f->inode, rights, ret_bytes);
    int other = at ? -1 : proc_open_fd_of(pid, f->fd);
    if (other >= 0) {
        at = map_fd(other, f->inode, rights, ret_bytes);
        syscall(SYS_close, other);
    }
    errno = e;
    return at;
}

/*
 * Before libc has begun there is no environment but the kernel's. That of whoever starts a setuid
 * program must not choose what memory is mapped into it: a static one has the agent linked in.
 */
bool channel_read_address(const char *env, uint64_t *ret_pid, struct channel_file *ret)
{
    char early[80], *at = environ ? secure_getenv(env) : early;
    if (!at || (at == early && !proc_read_env(env, early, sizeof early)))
        return false;
    *ret_pid = strtoul(at, &at, 10);
    ret->fd = (uint32_t)strtoul(at, &at, 10);
    ret->inode = strtoul(at, &at, 10);
    return true;
}

void channel_find_in(const char *env)
{
    struct channel_file f;
    uint64_t pid, n_bytes;
    if (channel || !channel_read_address(env, &pid, &f))
        return;
    struct channel *c = channel_map(pid, &f, true, &n_bytes);
    if (c && is_sane(c, n_bytes)) {
        n_rings = c->n_rings;
        ring_bytes = c->ring_bytes;
        channel = c;
    } else if (c) {
        munmap(c, n_bytes);
    }
}

/* --- making it --- */

/* A file larger than the process may write is a signal, not only an error. */
static bool may_be_so_large(uint64_t n_bytes)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur >= n_bytes;
}

/* Out of the way of programs that count on the number of their next file. */
static int channel_file_out_of_the_way(int fd)
{
    enum { FIRST_FD = 210 };
    int to = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    if (to < 0)
        return fd;
    syscall(SYS_close, fd);
    return to;
}

int channel_make(uint32_t n, uint32_t bytes, uint32_t task)
{
    uint64_t n_bytes = channel_size(n, bytes);
    int rights = PROT_READ | PROT_WRITE, seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int fd = may_be_so_large(n_bytes)
                 ? (int)syscall(SYS_memfd_create, "kelvin-scopes", MFD_CLOEXEC | MFD_ALLOW_SEALING)
                 : -1;
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)n_bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0)
        at = mmap(NULL, n_bytes, rights, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED) {
        if (fd >= 0)
            syscall(SYS_close, fd);
        return -1;
    }
    madvise(at, n_bytes, MADV_DONTDUMP);
    struct channel *c = at;
    c->size_bytes = n_bytes;
    c->n_rings = n_rings = n;
    c->ring_bytes = ring_bytes = bytes;
    c->tasks = task;
    c->magic = CHANNEL_MAGIC;
    __atomic_store_n(&channel, c, __ATOMIC_RELEASE);
    return channel_file_out_of_the_way(fd);
}

/* --- rings --- */

static bool channel_take(struct ring_writer *w, uint32_t i, uint32_t task,
                         const struct proc_ids *ids)
{
    struct ring *ring = channel_ring(channel, i);
    uint32_t is = RING_FREE;
    if (!atomic_compare_exchange_strong(&ring->state, &is, RING_TAKEN))
        return false;
    ring->task = task;
    ring->pid = ids->pid;
    ring->tid = ids->tid;
    ring->start_ns = proc_now_ns();
    prctl(PR_GET_NAME, ring->comm);
    atomic_store_explicit(&ring->waiting[0], 0, memory_order_relaxed);
    *w = (struct ring_writer){
        .ring = ring, .data = channel_data(channel, n_rings, ring_bytes, i), .size = ring_bytes};
    atomic_store_explicit(&ring->state, RING_LIVE, memory_order_release);
    return true;
}

/* The first that is free: so few are touched, and the recorder looks at no more than that. */
bool channel_open_ring(struct ring_writer *w, uint32_t task)
{
    int e = errno;
    bool done = false;
    struct proc_ids ids;
    bool known = proc_own_ids(channel->recorder_pid, &ids);
    for (uint32_t i = 0; i < n_rings && known && !done; i++) {
        done = channel_take(w, i, task, &ids);
        uint32_t seen = atomic_load(&channel->next_ring);
        while (done && seen < i + 1 &&
               !atomic_compare_exchange_weak(&channel->next_ring, &seen, i + 1))
            ;
    }
    if (!done)
        atomic_fetch_add(&channel->no_ring, 1);
    errno = e;
    return done;
}

void channel_close_ring(struct ring_writer *w)
{
    struct ring *ring = w->ring;
    if (!ring)
        return;
    w->ring = NULL;
    atomic_store_explicit(&ring->state, RING_CLOSED, memory_order_release);
}

void channel_forget_ring(struct ring_writer *w)
{
    *w = (struct ring_writer){0};
}

/* --- a full ring --- */

/* A recorder in another pid namespace cannot be asked whether it lives: while a thread waits for
 * it, it must do something. */
static bool is_silent(uint32_t wake)
{
    enum { SILENT_S = 10 };
    static _Atomic uint64_t heard_ns, asked_ns;
    static _Atomic uint32_t heard;
    const uint64_t second_ns = 1000000000;
    uint64_t now_ns = proc_now_ns();
    if (atomic_exchange(&heard, wake) != wake || now_ns - atomic_load(&asked_ns) > second_ns)
        atomic_store(&heard_ns, now_ns);
    atomic_store(&asked_ns, now_ns);
    return now_ns - atomic_load(&heard_ns) > SILENT_S * second_ns;
}

bool channel_wait(struct ring_writer *w)
{
    struct timespec ten_ms = {0, 10000000};
    int e = errno;
    uint32_t seen = atomic_load(&channel->wake);
    atomic_fetch_add_explicit(&w->ring->waits, 1, memory_order_relaxed);
    if (atomic_load(&w->ring->tail) == w->tail && !atomic_load(&channel->stop)) {
        syscall(SYS_futex, &channel->wake, FUTEX_WAIT, seen, &ten_ms, NULL, 0);
        if (proc_is_gone(channel->recorder_pid) || (proc_is_apart() && is_silent(seen)))
            atomic_store(&channel->stop, 1);
    }
    errno = e;
    return !atomic_load(&channel->stop);
}
