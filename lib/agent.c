#include "agent.h"
#include "proc.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Slots to look at before a letter is given up. */
enum { TRIES = 64 };

struct agent agent;
__thread struct thread self;

/* --- the mailbox --- */

static bool mailbox_is_sane(const struct mailbox *box, uint64_t size_bytes)
{
    return box->magic == MAILBOX_MAGIC && box->size_bytes == size_bytes && box->n_slots &&
           box->slot_bytes > sizeof(struct letter) &&
           box->stack_bytes <= box->slot_bytes - sizeof(struct letter) &&
           mailbox_size(box->n_slots, box->slot_bytes) <= size_bytes && box->interval_ns;
}

static struct mailbox *mailbox_map(int fd, uint64_t inode)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_ino != inode || st.st_size < MAILBOX_PAGE)
        return NULL;
    size_t n = (size_t)st.st_size;
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (!mailbox_is_sane(at, n)) {
        munmap(at, n);
        return NULL;
    }
    madvise(at, n, MADV_DONTDUMP);
    return at;
}

static struct mailbox *mailbox_find(void)
{
    char *at = getenv(MAILBOX_ENV);
    if (!at)
        return NULL;
    uint64_t pid = strtoul(at, &at, 10), fd = strtoul(at, &at, 10), inode = strtoul(at, &at, 10);
    struct mailbox *box = mailbox_map((int)fd, inode);
    if (box)
        return box;
    int other = proc_open_fd_of(pid, fd);
    if (other < 0)
        return NULL;
    box = mailbox_map(other, inode);
    syscall(SYS_close, other);
    return box;
}

/* --- letters --- */

struct letter *agent_letter_begin(enum letter_kind kind, uint32_t *ret_slot)
{
    uint64_t taken = (uint64_t)self.seen.tid << 32 | SLOT_TAKEN;
    for (int i = 0; i < TRIES && self.seen.pid; i++) {
        uint32_t slot = atomic_fetch_add_explicit(&agent.box->next, 1, memory_order_relaxed);
        slot %= agent.n_slots;
        uint64_t is = SLOT_FREE;
        if (!atomic_compare_exchange_strong_explicit(mailbox_state(agent.box, slot), &is, taken,
                                                     memory_order_acquire, memory_order_relaxed))
            continue;
        struct letter *l = (struct letter *)(agent.slots + (size_t)slot * agent.slot_bytes);
        l->time_ns = proc_now_ns();
        l->kind = kind;
        l->pid = self.seen.pid;
        l->tid = self.seen.tid;
        l->n_bytes = 0;
        for (size_t c = 0; c < sizeof l->comm; c++)
            l->comm[c] = self.comm[c];
        *ret_slot = slot;
        return l;
    }
    return NULL;
}

void agent_letter_end(uint32_t slot)
{
    atomic_store_explicit(mailbox_state(agent.box, slot), SLOT_FULL, memory_order_release);
}

/* --- what is mapped --- */

static void send_maps(enum letter_kind kind)
{
    uint32_t slot;
    struct letter *l = agent_letter_begin(kind, &slot);
    if (!l)
        return; /* the recorder will look for itself */
    l->n_bytes = proc_read_maps(letter_bytes(l), agent.slot_bytes - (uint32_t)sizeof *l);
    agent_letter_end(slot);
}

/* --- life --- */

/* Timers stay with the process that made them: the thread that forked gets a new one. */
static void after_fork(void)
{
    uint32_t slot;
    if (!agent.box)
        return;
    struct proc_ids parent = self.seen;
    agent.pid = self.tid = getpid();
    sampler_ask_ids();
    struct letter *l = agent_letter_begin(LETTER_FORK, &slot);
    if (l) {
        l->parent_pid = parent.pid;
        l->parent_tid = parent.tid;
        agent_letter_end(slot);
    }
    sampler_begin();
}

static void init_with(uintptr_t stack_end)
{
    static _Atomic bool begun;
    if (atomic_exchange(&begun, true))
        return;
    struct mailbox *box = mailbox_find();
    if (!box || box->stop)
        return;
    agent = (struct agent){.n_slots = box->n_slots,
                           .slot_bytes = box->slot_bytes,
                           .stack_bytes = box->stack_bytes,
                           .interval_ns = box->interval_ns,
                           .tick_ns = box->tick_ns,
                           .slots = (uint8_t *)box + mailbox_slots_start(box->n_slots),
                           .pid = getpid(),
                           .box = box};
    sampler_init(stack_end);
    send_maps(LETTER_START);
    sampler_begin();
    pthread_atfork(NULL, NULL, after_fork);
}

/* Before the constructor nothing says where the stack ends, but the environment lies above it. */
void agent_init(void)
{
    init_with((uintptr_t)environ);
}

/* glibc hands main's arguments to constructors. */
__attribute__((constructor)) static void begin(int argc, char **argv)
{
    init_with((uintptr_t)(argv + argc + 1));
}

/* Libraries that came by dlopen are known to the recorder even if it was too late to look. */
__attribute__((destructor)) static void end(void)
{
    if (agent.box && agent.pid == getpid() && !agent.box->stop)
        send_maps(LETTER_MAPS);
}
