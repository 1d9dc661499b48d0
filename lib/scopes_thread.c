#include "scopes.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

__thread struct scopes_thread *scopes_mine;
bool scopes_has_ticks;
uint32_t scopes_epoch = 1;

/* Names of functions, among those of sites and hashes. */
#define OF_FUNCTIONS (UINT64_C(1) << 62)

static __thread volatile bool opening; /* a signal handler may come here in between */
static pthread_key_t key;
static bool has_key;

void scopes_trouble(int param, uint64_t n)
{
    atomic_fetch_add_explicit(&channel->params[param], n, memory_order_relaxed);
}

/* --- threads --- */

static inscope_join *heap_join; /* of the heap's agent; NULL = it is not there */

/* The heap's agent looks at the scopes of this thread while it allocates. */
static void join_heap(struct scopes_thread *t)
{
    struct inscope in = {&t->depth, t->open};
    t->heap = heap_join ? heap_join(&in) : NULL;
}

static void find_heap(void)
{
    void *found = dlsym(RTLD_DEFAULT, INSCOPE_SYMBOL);
    memcpy(&heap_join, &found, sizeof found);
}

/* The recorder counts those of threads that ended without us: exec, _exit, a signal. */
static void scopes_count_open(struct scopes_thread *t)
{
    if (t->epoch != scopes_epoch || !t->depth)
        return;
    scopes_trouble(SCOPES_PARAM_ABANDONED, t->depth);
    t->depth = 0;
    scopes_show_depth(t);
}

static void scopes_thread_over(void *thread)
{
    struct scopes_thread *t = thread;
    scopes_count_open(t);
    channel_close_ring(&t->writer);
    if (heap_join)
        heap_join(NULL);
    scopes_mine = NULL;
    proc_unmap(t, sizeof *t);
}

/* Memory that a child finds empty: it never writes to a ring of its parent. */
static struct scopes_thread *scopes_thread_map(void)
{
    void *at = proc_map(sizeof(struct scopes_thread));
    if (!at)
        return NULL;
    madvise(at, sizeof(struct scopes_thread), MADV_WIPEONFORK);
    madvise(at, sizeof(struct scopes_thread), MADV_DONTDUMP);
    return at;
}

/* What was reported to other rings is not known in these. The ring before belongs to nobody then.
 */
static void scopes_thread_begin(struct scopes_thread *t, uint32_t epoch)
{
    if (t->epoch) {
        t->depth = t->n_paths = 0;
        t->busy = false;
        memset(t->names, 0, sizeof t->names);
    }
    atomic_signal_fence(memory_order_seq_cst);
    t->epoch = epoch;
    scopes_show_depth(t);
}

struct scopes_thread *scopes_thread_open(void)
{
    uint32_t epoch = __atomic_load_n(&scopes_epoch, __ATOMIC_ACQUIRE);
    if (opening || atomic_load_explicit(&channel->stop, memory_order_relaxed))
        return NULL;
    int e = errno;
    opening = true;
    struct scopes_thread *t = scopes_mine ? scopes_mine : scopes_thread_map();
    if (t && channel_open_ring(&t->writer, CHANNEL_SCOPES)) {
        scopes_thread_begin(t, epoch);
        scopes_mine = t;
        join_heap(t);
        if (has_key)
            pthread_setspecific(key, t);
    } else if (t && t != scopes_mine) {
        proc_unmap(t, sizeof *t);
        t = NULL;
    } else {
        t = NULL;
    }
    opening = false;
    errno = e;
    return t;
}

/* --- names --- */

/* False when the ring is full: then the name is reported another time, and what has it is lost. */
static bool tell_path(struct scopes_thread *t, uint32_t path, uint32_t parent, const char *text)
{
    size_t n = strnlen(text, SCOPES_NAME_MAX);
    uint16_t words = (uint16_t)(2 + (n + 7) / 8);
    struct record *r = ring_reserve(&t->writer, SCOPES_PATH, words);
    if (!r) {
        scopes_lose(t);
        return false;
    }
    r->own = path;
    r->payload[0] = parent | (uint64_t)n << 32;
    memcpy(&r->payload[1], text, n);
    ring_commit(&t->writer);
    return true;
}

static bool tell_path_at(struct scopes_thread *t, uint32_t path, uint32_t parent,
                         uintptr_t function)
{
    struct record *r = ring_reserve(&t->writer, SCOPES_PATH_AT, 3);
    if (!r) {
        scopes_lose(t);
        return false;
    }
    r->own = path;
    r->payload[0] = parent;
    r->payload[1] = function;
    ring_commit(&t->writer);
    return true;
}

/* The last number is for all that find no place of their own. */
static uint32_t path_of_the_rest(struct scopes_thread *t)
{
    scopes_trouble(SCOPES_PARAM_NAMELESS, 1);
    if (t->n_paths == SCOPES_PATHS_MAX)
        return SCOPES_PATHS_MAX;
    if (!tell_path(t, SCOPES_PATHS_MAX, 0, SCOPES_MORE))
        return 0;
    t->n_paths = SCOPES_PATHS_MAX;
    return SCOPES_PATHS_MAX;
}

/* TEXT: NULL of a function, whose address is in NAME. */
uint32_t scopes_path_make(struct scopes_thread *t, uint32_t parent, uint64_t name, const char *text)
{
    uint32_t slot = scopes_slot(parent, name);
    while (t->names[slot].name && (t->names[slot].name != name || t->names[slot].parent != parent))
        slot = (slot + 1) & (SCOPES_TABLE - 1);
    if (t->names[slot].name)
        return t->names[slot].path;
    if (t->busy) {
        scopes_trouble(SCOPES_PARAM_REENTERED, 1);
        return 0;
    }
    t->busy = true;
    uint32_t path = t->n_paths + 1;
    if (path >= SCOPES_PATHS_MAX) {
        path = path_of_the_rest(t);
    } else if (!(text ? tell_path(t, path, parent, text)
                      : tell_path_at(t, path, parent, (uintptr_t)(name & ~OF_FUNCTIONS)))) {
        path = 0;
    } else {
        t->n_paths = path;
        t->names[slot] = (struct scopes_name){.parent = parent, .path = path};
        atomic_signal_fence(memory_order_seq_cst);
        t->names[slot].name = name;
    }
    t->busy = false;
    return path;
}

uint32_t scopes_path_at(struct scopes_thread *t, uint32_t parent, uintptr_t function)
{
    return scopes_path(t, parent, function | OF_FUNCTIONS, NULL);
}

/* --- start --- */

void scopes_begin_now(void)
{
    scopes_has_ticks = atomic_load(&channel->params[SCOPES_PARAM_TICKS]);
    has_key = has_key || pthread_key_create(&key, scopes_thread_over) == 0;
}

__attribute__((constructor)) static void scopes_start(void)
{
    channel_find_in(KELVIN_SCOPES_ENV);
    if (channel) {
        find_heap();
        scopes_begin_now();
    }
    scopes_functions_start();
}

/* The main thread ends by exit(), which knows nothing of keys. */
void scopes_main_over(void)
{
    if (scopes_mine)
        scopes_count_open(scopes_mine);
}
