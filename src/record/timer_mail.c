#include "record/timer_mail.h"

#include "record/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Out of the way of programs that count on the number of their first file. */
enum { FIRST_FD = 200 };

/* Room for so many seconds of samples of all CPUs, and for programs that start all at once. */
#define ROOM_S 0.25
enum { SLOTS_MIN = 256, SLOTS_MAX = 16384 };

static uint32_t count_slots(uint64_t interval_ns)
{
    double n =
        SLOTS_MIN + 1e9 / (double)interval_ns * ROOM_S * (double)sysconf(_SC_NPROCESSORS_ONLN);
    return n < SLOTS_MAX ? (uint32_t)n : SLOTS_MAX;
}

/* A file in memory that keeps its size, whoever holds it. */
static int open_file(struct mail *m, struct err *err)
{
    struct stat st;
    autoclose int fd = memfd_create("kelvin-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, (off_t)m->size_bytes) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        fstat(fd, &st) != 0)
        return shared_fail(err);
    m->inode = st.st_ino;
    m->fd = fcntl(fd, F_DUPFD, FIRST_FD);
    if (m->fd < 0)
        m->fd = fcntl(fd, F_DUPFD, 3);
    return m->fd >= 0 ? 0 : err_set_errno(err, errno, "cannot keep a file open");
}

int mail_open(struct mail *m, const struct mail_opts *o, struct err *err)
{
    *m = (struct mail){.fd = -1, .n_slots = count_slots(o->interval_ns)};
    m->slot_bytes = (uint32_t)mailbox_round_up(sizeof(struct letter) + o->stack_bytes);
    m->size_bytes = mailbox_size(m->n_slots, m->slot_bytes);
    if (open_file(m, err) != 0)
        return -1;
    void *at = mmap(NULL, m->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (at == MAP_FAILED)
        return shared_map_fail(m->size_bytes, err);
    m->box = at;
    m->box->magic = MAILBOX_MAGIC;
    m->box->size_bytes = m->size_bytes;
    m->box->n_slots = m->n_slots;
    m->box->slot_bytes = m->slot_bytes;
    m->box->stack_bytes = o->stack_bytes;
    m->box->recorder_pid = getpid();
    m->box->interval_ns = o->interval_ns;
    m->box->tick_ns = o->tick_ns;
    return 0;
}

void mail_close(struct mail *m)
{
    if (m->box)
        munmap(m->box, m->size_bytes);
    if (m->fd >= 0)
        close(m->fd);
    vec_done(&m->items);
    *m = (struct mail){.fd = -1};
}

static bool mail_by_time(const struct mail_item *a, const struct mail_item *b)
{
    return a->head.time_ns < b->head.time_ns;
}

static int compare_items(const void *a, const void *b)
{
    return mail_by_time(b, a) - mail_by_time(a, b);
}

static void mail_take(struct mail *m, uint32_t slot)
{
    uint8_t *at = (uint8_t *)m->box + mailbox_slots_start(m->n_slots);
    const struct letter *l = (const void *)(at + (size_t)slot * m->slot_bytes);
    struct mail_item *item = vec_push(&m->items);
    *item = (struct mail_item){.bytes = letter_bytes(l), .slot = slot};
    memcpy(&item->head, l, sizeof *l);
    if (item->head.n_bytes > m->slot_bytes - sizeof *l)
        item->head.n_bytes = 0;
    item->head.comm[sizeof item->head.comm - 1] = '\0';
}

/* A thread that took the slot and died will not fill it. */
static bool is_dead(uint64_t state)
{
    return kill((pid_t)(state >> 32), 0) != 0 && errno == ESRCH;
}

void mail_collect(struct mail *m)
{
    bool busy = false;
    m->items.n = 0;
    for (uint32_t i = 0; i < m->n_slots; i++) {
        uint64_t state = atomic_load_explicit(mailbox_state(m->box, i), memory_order_acquire);
        if (state == SLOT_FULL)
            mail_take(m, i);
        else if (state != SLOT_FREE && is_dead(state))
            atomic_store(mailbox_state(m->box, i), SLOT_FREE);
        busy = busy || state != SLOT_FREE;
    }
    if (!busy)
        m->box->next = 0; /* the first slots are warm, and few slots then use memory */
    if (m->items.n)
        qsort(m->items.at, m->items.n, sizeof *m->items.at, compare_items);
}

void mail_release(struct mail *m, const struct mail_item *item)
{
    atomic_store_explicit(mailbox_state(m->box, item->slot), SLOT_FREE, memory_order_release);
}
