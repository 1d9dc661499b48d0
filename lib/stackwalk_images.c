/*
 * stackwalk_images.c - the unwind rules of what this process has mapped, as the recorder prepared
 * them.
 *
 * A process says what it has mapped when it begins, and again when a walk meets an address that is
 * in no module: a library came by dlopen. Each answer becomes a list of modules that never changes;
 * old lists stay where they are, because a thread may be looking at them.
 */
#include "proc.h"
#include "stackwalk.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_NS UINT64_C(2000000000) /* a large program's rules may take that long to read */
#define QUIET_MIN_NS UINT64_C(1000000)
#define QUIET_MAX_NS UINT64_C(1000000000)

enum { MODULES_MAX = 4096, MAPS_WORDS = 8000 };

static const struct stackwalk_images *images;
static uint64_t images_bytes;
static uint32_t images_max;
_Atomic(struct stackwalk_modules *) stackwalk_newest;
static _Atomic uint32_t last_generation, last_ticket;

bool stackwalk_images_init(void)
{
    struct channel_file f = {(uint32_t)channel->params[STACKWALK_PARAM_IMAGES_FD],
                             channel->params[STACKWALK_PARAM_IMAGES_INODE]};
    if (images)
        return true;
    const struct stackwalk_images *i =
        channel_map((uint64_t)channel->recorder_pid, &f, false, &images_bytes);
    if (!i || i->magic != STACKWALK_IMAGES_MAGIC || i->size_bytes != images_bytes ||
        stackwalk_images_rows_start(i->n_max) > images_bytes)
        return false;
    images_max = i->n_max;
    images = i;
    return true;
}

const struct stackwalk_code *stackwalk_modules_find(const struct stackwalk_modules *m, uint64_t pc)
{
    uint32_t from = 0, to = m ? m->n : 0;
    while (from < to) {
        uint32_t half = from + (to - from) / 2;
        if (m->at[half].end > pc)
            to = half;
        else
            from = half + 1;
    }
    return m && from < m->n && m->at[from].start <= pc ? &m->at[from] : NULL;
}

/* --- asking --- */

static uint32_t images_n(void)
{
    uint32_t n = atomic_load_explicit(&images->n, memory_order_acquire);
    return n < images_max ? n : images_max;
}

/* The place of our answer's end in the list; UINT32_MAX: not there yet. */
static uint32_t find_answer(uint32_t from, uint64_t ticket)
{
    for (uint32_t i = from, n = images_n(); i < n; i++) {
        const struct stackwalk_module *m = stackwalk_images_module(images, i);
        if (m->pid == stackwalk_process->pid && !m->end && m->start == ticket)
            return i;
    }
    return UINT32_MAX;
}

static uint32_t wait_for_answer(uint32_t from, uint64_t ticket)
{
    struct timespec two_ms = {0, 2000000};
    uint64_t until_ns = proc_now_ns() + ANSWER_NS;
    uint32_t at;
    while ((at = find_answer(from, ticket)) == UINT32_MAX) {
        uint32_t seen = atomic_load(&channel->wake);
        if (atomic_load(&images->full) || atomic_load(&channel->stop) || proc_now_ns() > until_ns ||
            proc_is_gone(channel->recorder_pid))
            return UINT32_MAX;
        if (find_answer(from, ticket) == UINT32_MAX)
            syscall(SYS_futex, &channel->wake, FUTEX_WAIT, seen, &two_ms, NULL, 0);
    }
    return at;
}

static uint64_t ask(struct stackwalk_thread *t, enum stackwalk_record kind)
{
    uint64_t ticket = atomic_fetch_add(&last_ticket, 1);
    struct record *r = stackwalk_reserve(t, (uint16_t)kind, MAPS_WORDS);
    if (!r)
        return 0;
    uint32_t n = proc_read_maps((uint8_t *)&r->payload[3], (MAPS_WORDS - 4) * 8);
    r->own = stackwalk_process->root;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    r->payload[1] = ticket;
    r->payload[2] = n;
    ring_commit(&t->writer);
    return ticket;
}

/* --- taking the answer --- */

/* What of an entry can be believed. */
static bool take_module(const struct stackwalk_module *m, struct stackwalk_code *ret)
{
    uint64_t bytes = (uint64_t)m->n_rows * sizeof(struct unwind_row);
    if (m->end <= m->start || m->rows > images_bytes || bytes > images_bytes - m->rows)
        return false;
    *ret = (struct stackwalk_code){
        .start = m->start,
        .end = m->end,
        .base = m->base,
        .rows = (const struct unwind_row *)(const void *)((const char *)images + m->rows),
        .n_rows = m->n_rows,
        .has_file = m->has_file,
    };
    return true;
}

static void insert_code(struct stackwalk_modules *m, const struct stackwalk_code *code)
{
    uint32_t i = m->n++;
    for (; i && m->at[i - 1].start > code->start; i--)
        m->at[i] = m->at[i - 1];
    m->at[i] = *code;
}

/* The modules between two places of the list, as a list of our own. */
static void take_answer(uint32_t from, uint32_t to)
{
    uint32_t n = to - from < MODULES_MAX ? to - from : MODULES_MAX;
    size_t bytes = sizeof(struct stackwalk_modules) + (n + 1) * sizeof(struct stackwalk_code);
    struct stackwalk_modules *m = proc_map(bytes);
    struct stackwalk_code code;
    if (!m)
        return;
    m->generation = atomic_fetch_add(&last_generation, 1) + 1;
    for (uint32_t i = from; i < to && m->n < n; i++) {
        const struct stackwalk_module *in = stackwalk_images_module(images, i);
        if (in->pid == stackwalk_process->pid && take_module(in, &code))
            insert_code(m, &code);
    }
    atomic_store_explicit(&stackwalk_newest, m, memory_order_release);
}

void stackwalk_announce(struct stackwalk_thread *t, enum stackwalk_record kind)
{
    int e = errno;
    uint32_t from = images_n();
    uint64_t ticket = ask(t, kind);
    uint32_t at = wait_for_answer(from, ticket);
    if (at != UINT32_MAX)
        take_answer(from, at);
    errno = e;
}

/* --- more was mapped --- */

/* Whether the linker knows a library at PC; without a lock, since glibc 2.35. */
struct dl_find_object;
extern int _dl_find_object(void *pc, struct dl_find_object *ret) __attribute__((weak));

static bool is_loaded(uint64_t pc)
{
    uint64_t result[16]; /* more than struct dl_find_object has */
    return _dl_find_object &&
           _dl_find_object((void *)pc, (struct dl_find_object *)(void *)result) == 0;
}

/*
 * Code of run-time compilers, or a walk that went wrong, would have us ask for ever: the time
 * between two questions doubles while they bring nothing.
 */
bool stackwalk_learn(struct stackwalk_thread *t, uint64_t pc)
{
    struct stackwalk_process *p = stackwalk_process;
    uint32_t nobody = 0;
    uint64_t now_ns = proc_now_ns();
    if ((now_ns < atomic_load(&p->quiet_until_ns) && !is_loaded(pc)) || t->writer.depth ||
        !atomic_compare_exchange_strong(&p->announcing, &nobody, 1))
        return false;
    const struct stackwalk_modules *before = stackwalk_modules();
    p->root = stackwalk_trie_add(0, STACKWALK_ROOT | (uint64_t)p->pid << 32 | (uint32_t)now_ns);
    stackwalk_announce(t, STACKWALK_MAPS);
    t->modules = stackwalk_modules();
    stackwalk_forget(t);
    p->quiet_ns = p->quiet_ns ? p->quiet_ns * 2 : QUIET_MIN_NS;
    if (p->quiet_ns > QUIET_MAX_NS)
        p->quiet_ns = QUIET_MAX_NS;
    if (before && t->modules && t->modules->n != before->n)
        p->quiet_ns = QUIET_MIN_NS;
    atomic_store(&p->quiet_until_ns, proc_now_ns() + p->quiet_ns);
    atomic_store(&p->announcing, 0);
    return t->modules != before;
}

void stackwalk_forget_modules(void)
{
    if (stackwalk_process)
        atomic_store(&stackwalk_process->quiet_until_ns, 0);
    atomic_store_explicit(&stackwalk_newest, NULL, memory_order_release);
}
