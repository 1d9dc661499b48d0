/*
 * heap_maps.c - stands in for mmap and its relatives, where anonymous memory is asked for as well.
 *
 * What libc maps for malloc and for threads does not come by here, and what another allocator maps
 * for itself is left out by its caller's address. A stack ends in mmap or mremap, so that maps and
 * blocks can be told apart. Of what is unmapped only the place is reported: it may be a part, or
 * more than one, and the recorder knows which.
 */
#include "heap.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { MAPS_PAGE = 4096 };

static bool heap_wants_maps;

static uintptr_t allocator_start, allocator_end;

void heap_maps_init(bool wanted, const void *allocator)
{
    uintptr_t start, end;
    if (wanted && allocator && proc_find_map((uintptr_t)allocator, &start, &end)) {
        allocator_start = start;
        allocator_end = end;
    }
    heap_wants_maps = wanted;
}

/* The thread, if a call from PC is the program's; but for a handler above a walk. */
static struct stackwalk_thread *maps_thread(uintptr_t pc)
{
    if (!heap_wants_maps || (pc >= allocator_start && pc < allocator_end))
        return NULL;
    struct stackwalk_thread *t = stackwalk_thread_get();
    return t && !t->walking ? t : NULL;
}

static void write_map(struct stackwalk_thread *t, uint16_t kind, uint32_t node, const void *p,
                      size_t n)
{
    struct record *r = stackwalk_reserve(t, kind, 4);
    if (!r)
        return;
    r->own = node;
    r->payload[0] = t->last_ticks = stackwalk_ticks();
    r->payload[1] = (uintptr_t)p;
    r->payload[2] = (n + MAPS_PAGE - 1) & ~(size_t)(MAPS_PAGE - 1);
    stackwalk_commit(t);
}

static void tell_map(void *p, size_t n, const void *function, const struct stackwalk_call *call)
{
    struct stackwalk_thread *t = maps_thread(call->pc);
    if (!t || (heap_sample_bytes && !heap_sampled(n)))
        return;
    int e = errno;
    uint32_t node = stackwalk_trie_add(stackwalk(t, call), (uintptr_t)function + 1);
    heap_tell_scope(t);
    write_map(t, HEAP_MAP, node, p, n);
    errno = e;
}

/* Before it happens: another thread may get the place. */
static void tell_unmap(void *p, size_t n, uintptr_t pc)
{
    struct stackwalk_thread *t = (uintptr_t)p % MAPS_PAGE || !n ? NULL : maps_thread(pc);
    int e = errno;
    if (t)
        write_map(t, HEAP_UNMAP, 0, p, n);
    errno = e;
}

/* P is where the map is now that was unmapped last: a stack of 0 means that it did not move. */
static void tell_moved(void *p, size_t n, const struct stackwalk_call *call, bool moved)
{
    struct stackwalk_thread *t = maps_thread(call->pc);
    if (!t)
        return;
    int e = errno;
    uint32_t node =
        moved ? stackwalk_trie_add(stackwalk(t, call), (uintptr_t)(const void *)mremap + 1) : 0;
    heap_tell_scope(t);
    write_map(t, HEAP_REMAP, node, p, n);
    errno = e;
}

/* --- the functions --- */

struct map_call {
    void *at;
    size_t n;
    int rights, flags, fd;
    off_t offset;
};

static void *map_and_tell(const struct map_call *m, const void *function,
                          const struct stackwalk_call *call)
{
    if (m->flags & MAP_FIXED)
        tell_unmap(m->at, m->n, call->pc);
    void *p = (void *)syscall(SYS_mmap, m->at, m->n, m->rights, m->flags, m->fd, m->offset);
    if (p != MAP_FAILED && m->flags & MAP_ANONYMOUS)
        tell_map(p, m->n, function, call);
    return p;
}

API void *mmap(void *at, size_t n, int rights, int flags, int fd, off_t offset)
{
    struct map_call m = {at, n, rights, flags, fd, offset};
    return map_and_tell(&m, (const void *)mmap, &STACKWALK_CALL);
}

#if !defined __USE_FILE_OFFSET64
API void *mmap64(void *at, size_t n, int rights, int flags, int fd, off64_t offset)
{
    struct map_call m = {at, n, rights, flags, fd, offset};
    return map_and_tell(&m, (const void *)mmap, &STACKWALK_CALL);
}
#endif

API int munmap(void *p, size_t n)
{
    tell_unmap(p, n, (uintptr_t)__builtin_return_address(0));
    return (int)syscall(SYS_munmap, p, n);
}

/* What was no anonymous map before is none afterwards: the recorder knows. */
API void *mremap(void *old, size_t old_n, size_t n, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    struct stackwalk_call call = STACKWALK_CALL;
    if (wanted)
        tell_unmap(wanted, n, call.pc);
    tell_unmap(old, old_n, call.pc);
    void *p = (void *)syscall(SYS_mremap, old, old_n, n, flags, wanted);
    if (old_n && p == MAP_FAILED)
        tell_moved(old, old_n, &call, false);
    else if (old_n)
        tell_moved(p, n, &call, true);
    return p;
}
