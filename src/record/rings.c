#include "record/rings.h"

#include "base/mem.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Out of the way of programs that count on the number of their first file. */
enum { FIRST_FD = 210 };

/* Every so many looks it is asked whether the threads of silent rings still live. */
enum { LOOKS_PER_ROLL_CALL = 8 };

/* Of a program's own rings. */
enum { ADOPT_RINGS_MAX = 1 << 16 };

/* Copied at once, where there is so much. */
enum { COPY_BYTES = 4096 };

/* --- making it --- */

int shared_fail(struct err *err)
{
    if (errno == EFBIG) /* RLIMIT_FSIZE holds for files in memory, too */
        return err_set(err, EXIT_ERROR,
                       "cannot make memory to share with the command: the limit on file sizes is "
                       "too low; raise it with 'ulimit -f unlimited'");
    return err_set_errno(err, errno, "cannot make memory to share with the command");
}

/* RLIMIT_AS holds for addresses that nothing is kept at, too. */
int shared_map_fail(uint64_t size_bytes, struct err *err)
{
    char size[UNITS_MAX];
    struct rlimit most = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_AS, &most);
    if (errno != ENOMEM || most.rlim_cur == RLIM_INFINITY)
        return err_set_errno(err, errno, "cannot map memory to share with the command");
    return err_set(err, EXIT_ERROR,
                   "cannot map memory to share with the command: it takes %s of addresses, and the "
                   "limit is too low; raise it with 'ulimit -v unlimited'",
                   units_scaled(size, (double)size_bytes, SCALED_BYTES));
}

/* A file in memory that keeps its size, whoever holds it. */
int shared_open(struct shared *m, const char *name, uint64_t size_bytes, struct err *err)
{
    struct stat st;
    autoclose int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *m = (struct shared){.fd = -1};
    if (fd < 0 || ftruncate(fd, (off_t)size_bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        fstat(fd, &st) != 0)
        return shared_fail(err);
    void *at = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED)
        return shared_map_fail(size_bytes, err);
    m->at = at;
    m->size_bytes = size_bytes;
    m->inode = st.st_ino;
    m->fd = fcntl(fd, F_DUPFD, FIRST_FD);
    if (m->fd < 0)
        m->fd = fcntl(fd, F_DUPFD, 3);
    return m->fd >= 0 ? 0 : err_set_errno(err, errno, "cannot keep a file open");
}

void shared_close(struct shared *m)
{
    if (m->at)
        munmap(m->at, m->size_bytes);
    if (m->fd >= 0 && m->size_bytes)
        close(m->fd);
    *m = (struct shared){.fd = -1};
}

int64_t shared_used_bytes(const struct shared *m)
{
    struct stat st;
    return m->at && fstat(m->fd, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

int rings_open(struct rings *r, const struct rings_opts *o, struct err *err)
{
    uint64_t size_bytes = channel_size(o->n_rings, o->ring_bytes);
    *r = (struct rings){.n_rings = o->n_rings, .ring_bytes = o->ring_bytes};
    if (shared_open(&r->memory, "kelvin-channel", size_bytes, err) != 0)
        return -1;
    r->channel = r->memory.at;
    r->channel->size_bytes = size_bytes;
    r->channel->n_rings = o->n_rings;
    r->channel->ring_bytes = o->ring_bytes;
    r->channel->recorder_pid = getpid();
    r->channel->tasks = o->tasks;
    r->channel->magic = CHANNEL_MAGIC;
    for (uint32_t i = 0; i < o->n_rings; i++)
        *vec_push(&r->reader_of_ring) = 0;
    return 0;
}

/* Of a size that nobody can change, or to look would be to die. */
static int shared_adopt(struct shared *m, int fd, struct err *err)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    struct stat st;
    *m = (struct shared){.fd = fd};
    if (fstat(fd, &st) != 0 || (fcntl(fd, F_GET_SEALS) & seals) != seals ||
        st.st_size < CHANNEL_PAGE)
        return err_set(err, EXIT_ERROR, "the program's rings are damaged");
    m->size_bytes = (uint64_t)st.st_size;
    m->inode = st.st_ino;
    void *at = mmap(NULL, m->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED)
        return err_set_errno(err, errno, "cannot map the program's rings");
    m->at = at;
    return 0;
}

int rings_adopt(struct rings *r, int fd, struct err *err)
{
    *r = (struct rings){.memory.fd = -1};
    if (shared_adopt(&r->memory, fd, err) != 0)
        return -1;
    struct channel *c = r->memory.at;
    r->n_rings = c->n_rings;
    r->ring_bytes = c->ring_bytes;
    if (c->magic != CHANNEL_MAGIC || !r->n_rings || r->n_rings > ADOPT_RINGS_MAX ||
        r->ring_bytes < CHANNEL_PAGE || (r->ring_bytes & (r->ring_bytes - 1)) ||
        channel_size(r->n_rings, r->ring_bytes) != r->memory.size_bytes)
        return err_set(err, EXIT_ERROR, "the program's rings are damaged");
    r->channel = c;
    c->recorder_pid = getpid();
    for (uint32_t i = 0; i < r->n_rings; i++)
        *vec_push(&r->reader_of_ring) = 0;
    return 0;
}

void rings_empty(struct rings *r)
{
    uint64_t start = channel_rings_end(r->n_rings);
    if (r->channel)
        fallocate(r->memory.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start,
                  (off_t)(r->memory.size_bytes - start));
}

void rings_close(struct rings *r)
{
    if (r->channel)
        r->channel->stop = 1;
    shared_close(&r->memory);
    for (size_t i = 0; i < r->readers.n; i++)
        free(r->readers.at[i].copy);
    vec_done(&r->readers);
    vec_done(&r->reader_of_ring);
    *r = (struct rings){.memory.fd = -1};
}

char *rings_address(const struct rings *r)
{
    return mem_printf("%d %d %llu", getpid(), r->memory.fd, (unsigned long long)r->memory.inode);
}

/* --- reading --- */

static void begin_reading(struct rings *r, uint32_t i)
{
    struct ring *ring = channel_ring(r->channel, i);
    struct ring_reader *new = vec_push(&r->readers);
    *new = (struct ring_reader){
        .index = i,
        .task = ring->task,
        .pid = ring->pid,
        .tid = ring->tid,
        .start_ns = ring->start_ns,
        .ring = ring,
        .data = channel_data(r->channel, r->n_rings, r->ring_bytes, i),
        .size = r->ring_bytes,
        .tail = atomic_load(&ring->tail) & ~UINT64_C(7),
    };
    new->head = new->tail;
    memcpy(new->comm, ring->comm, sizeof new->comm);
    new->comm[sizeof new->comm - 1] = '\0';
    r->reader_of_ring.at[i] = (uint32_t)r->readers.n;
}

static void find_new(struct rings *r)
{
    uint32_t end = atomic_load(&r->channel->next_ring);
    end = end < r->n_rings ? end : r->n_rings;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t state =
            atomic_load_explicit(&channel_ring(r->channel, i)->state, memory_order_acquire);
        if (!r->reader_of_ring.at[i] && (state == RING_LIVE || state == RING_CLOSED))
            begin_reading(r, i);
    }
}

static bool is_dead(const struct ring_reader *rr)
{
    return syscall(SYS_tgkill, rr->pid, rr->tid, 0) != 0 && errno == ESRCH;
}

/* A head that is behind the tail, or further ahead than there is room, is somebody's scribble. */
static void ring_reader_look(struct rings *r, struct ring_reader *rr, bool roll_call)
{
    rr->closed = atomic_load_explicit(&rr->ring->state, memory_order_acquire) == RING_CLOSED ||
                 (roll_call && is_dead(rr));
    uint64_t head = atomic_load_explicit(&rr->ring->head, memory_order_acquire);
    if (head - rr->tail > rr->size || head % 8) {
        r->bad++;
        rr->closed = true;
        head = rr->tail;
    }
    rr->head = head;
    rr->peeked = NULL;
}

bool rings_look(struct rings *r)
{
    bool any = false, roll_call = ++r->looks % LOOKS_PER_ROLL_CALL == 0;
    find_new(r);
    for (size_t i = 0; i < r->readers.n; i++) {
        struct ring_reader *rr = &r->readers.at[i];
        ring_reader_look(r, rr, roll_call);
        any |= rr->head != rr->tail;
    }
    return any;
}

/* Copy what lies at the tail: N bytes at least, which must be there. */
static void copy_records(struct ring_reader *rr, uint64_t n)
{
    uint64_t at = rr->tail & (rr->size - 1), to_end = rr->size - at, left = rr->head - rr->tail;
    n = n > COPY_BYTES ? n : COPY_BYTES;
    n = n < to_end ? n : to_end;
    n = n < left ? n : left;
    if (rr->room_bytes < n) {
        free(rr->copy);
        rr->room_bytes = n > COPY_BYTES ? n : COPY_BYTES;
        rr->copy = mem_realloc(NULL, rr->room_bytes);
    }
    memcpy(rr->copy, rr->data + at, n);
    rr->copy_start = rr->tail;
    rr->copy_end = rr->tail + n;
}

static inline const struct record *copied_record(const struct ring_reader *rr)
{
    return (const struct record *)(rr->copy + (rr->tail - rr->copy_start) / 8);
}

/* Whole, in a new copy; NULL where it makes no sense, or changes while it is read. */
static const struct record *copy_whole(struct ring_reader *rr)
{
    copy_records(rr, sizeof(struct record));
    uint64_t words = copied_record(rr)->words, n = words * 8;
    if (!n || n > rr->size - (rr->tail & (rr->size - 1)) || n > rr->head - rr->tail ||
        words > CHANNEL_RECORD_WORDS_MAX)
        return NULL;
    if (n > rr->copy_end - rr->tail)
        copy_records(rr, n);
    return copied_record(rr)->words == words ? copied_record(rr) : NULL;
}

/* What is copied reaches neither over the head nor over the end: a record in it is whole. */
static inline const struct record *whole_record(struct ring_reader *rr)
{
    if (rr->tail < rr->copy_end) {
        const struct record *rec = copied_record(rr);
        if (rec->words && rec->words * UINT64_C(8) <= rr->copy_end - rr->tail)
            return rec;
    }
    return copy_whole(rr);
}

const struct record *ring_read(struct ring_reader *rr)
{
    while (!rr->peeked && rr->tail != rr->head) {
        const struct record *rec = whole_record(rr);
        if (!rec)
            rr->tail = rr->head; /* nobody knows where the next record starts */
        else if (rec->kind)
            rr->peeked = rec;
        else
            rr->tail += (uint64_t)rec->words * 8;
    }
    return rr->peeked;
}

/* --- giving back --- */

static void free_ring(struct rings *r, struct ring_reader *rr)
{
    struct ring *ring = rr->ring;
    r->lost += atomic_exchange(&ring->lost, 0);
    r->waits += atomic_exchange(&ring->waits, 0);
    r->open += atomic_exchange(&ring->open, 0);
    atomic_store(&ring->head, 0);
    atomic_store(&ring->tail, 0);
    r->reader_of_ring.at[rr->index] = 0;
    atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
}

void ring_give(struct ring_reader *rr)
{
    atomic_store_explicit(&rr->ring->tail, rr->tail, memory_order_release);
}

void rings_wake(struct rings *r)
{
    atomic_fetch_add(&r->channel->wake, 1);
    syscall(SYS_futex, &r->channel->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The last one takes its place. */
static void drop_reader(struct rings *r, size_t i)
{
    struct ring_reader *rr = &r->readers.at[i], *last = &r->readers.at[--r->readers.n];
    free_ring(r, rr);
    free(rr->copy);
    if (rr == last)
        return;
    *rr = *last;
    r->reader_of_ring.at[rr->index] = (uint32_t)i + 1;
}

void rings_release(struct rings *r)
{
    bool moved = false;
    for (size_t i = r->readers.n; i-- > 0;) {
        struct ring_reader *rr = &r->readers.at[i];
        moved |= atomic_load_explicit(&rr->ring->tail, memory_order_relaxed) != rr->tail;
        atomic_store_explicit(&rr->ring->tail, rr->tail, memory_order_release);
        bool empty = rr->tail == atomic_load_explicit(&rr->ring->head, memory_order_acquire);
        if (rr->closed && empty)
            drop_reader(r, i);
    }
    if (moved)
        rings_wake(r);
}

void rings_close_older(struct rings *r, int pid, uint64_t start_ns)
{
    for (size_t i = 0; i < r->readers.n; i++) {
        struct ring_reader *rr = &r->readers.at[i];
        if (rr->pid == pid && rr->start_ns < start_ns)
            atomic_store(&rr->ring->state, RING_CLOSED);
    }
}

/* Counts are in memory that the program can write to. */
static uint64_t add_count(uint64_t to, uint64_t n)
{
    return n < RINGS_DAMAGED - to ? to + n : RINGS_DAMAGED;
}

uint64_t rings_lost(const struct rings *r)
{
    uint64_t n = r->lost < RINGS_DAMAGED ? r->lost : RINGS_DAMAGED;
    for (size_t i = 0; i < r->readers.n; i++)
        n = add_count(n, atomic_load(&r->readers.at[i].ring->lost));
    return n;
}

uint64_t rings_waits(const struct rings *r)
{
    uint64_t n = r->waits < RINGS_DAMAGED ? r->waits : RINGS_DAMAGED;
    for (size_t i = 0; i < r->readers.n; i++)
        n = add_count(n, atomic_load(&r->readers.at[i].ring->waits));
    return n;
}

/* A process that runs another program still has the rings of the one before. */
uint64_t rings_cut_off(const struct rings *r)
{
    uint64_t n = r->open < RINGS_DAMAGED ? r->open : RINGS_DAMAGED;
    for (size_t i = 0; i < r->readers.n; i++)
        if (is_dead(&r->readers.at[i]))
            n = add_count(n, atomic_load(&r->readers.at[i].ring->open));
    return n;
}
