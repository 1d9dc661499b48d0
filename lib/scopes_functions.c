/*
 * scopes_functions.c - every function a scope: programs that were built with -finstrument-functions
 * call us at its beginning and its end.
 *
 * The library is preloaded for that, and stands in for the C library's functions of these names,
 * which do nothing. Functions are reported by their address; the recorder knows their names. Where
 * only some are asked for, KELVIN_FUNCTIONS has a list of them, as places in the program's file.
 * What took less than SCOPES_PARAM_LEAST is not reported, and counts as time of the function around
 * it.
 *
 * An exception ends functions in order; what a longjmp leaves is dropped when one further out ends.
 */
#include "scopes.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    bool on;
    uint64_t least;
    uintptr_t *only; /* addresses, sorted; NULL = all */
    size_t n;
} functions;

/* --- start --- */

/* How far the program lies from where its file says. */
static uintptr_t program_offset(void)
{
    const ElfW(Phdr) *at = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n = getauxval(AT_PHNUM);
    for (size_t i = 0; at && i < n; i++)
        if (at[i].p_type == PT_PHDR)
            return (uintptr_t)at - at[i].p_vaddr;
    return 0;
}

static size_t count_words(const char *at)
{
    size_t n = 0;
    for (; *at; at++)
        n += *at == ' ';
    return n;
}

/* "all", or "only 4011a0 4011c0 ...": sorted by who wrote it. */
static bool functions_read(const char *at)
{
    size_t room = count_words(at);
    uintptr_t offset = program_offset();
    if (!room)
        return true;
    functions.only = proc_map(room * sizeof *functions.only);
    if (!functions.only)
        return false;
    while (*at && *at != ' ')
        at++;
    for (char *end; functions.n < room; at = end) {
        uintptr_t place = strtoul(at, &end, 16);
        if (end == at)
            break;
        functions.only[functions.n++] = place + offset;
    }
    return true;
}

/* After scopes_start(), which has found the channel. */
void scopes_functions_start(void)
{
    const char *list = getenv(SCOPES_FUNCTIONS_ENV);
    if (!channel || !list || !functions_read(list))
        return;
    functions.least = atomic_load(&channel->params[SCOPES_PARAM_LEAST]);
    functions.on = true;
}

/* --- functions --- */

static bool is_asked_for(uintptr_t function)
{
    size_t low = 0, high = functions.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (functions.only[middle] < function)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions.n && functions.only[low] == function;
}

/* Once in a process: the recorder may come to read when it is gone. */
static void tell_maps(struct scopes_thread *t)
{
    enum { BYTES = 32 << 10 };
    static _Atomic int told_by;
    int pid = getpid(), e = errno;
    if (atomic_exchange(&told_by, pid) == pid)
        return;
    struct record *r = ring_reserve(&t->writer, SCOPES_MAPS, 2 + BYTES / 8);
    if (r) {
        r->own = 0;
        r->payload[0] = proc_read_maps((uint8_t *)&r->payload[1], BYTES);
        ring_commit(&t->writer);
    } else {
        ring_abandon(&t->writer);
    }
    errno = e;
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

SCOPES_EXPORT void __cyg_profile_func_enter(void *function, void *site)
{
    (void)site;
    if (!functions.on || (functions.only && !is_asked_for((uintptr_t)function)))
        return;
    struct scopes_thread *t = scopes_thread_get();
    if (!t)
        return;
    if (t->depth >= SCOPES_DEPTH_MAX) {
        t->too_deep++;
        scopes_trouble(SCOPES_PARAM_DEEP, 1);
        return;
    }
    t->too_deep = 0;
    if (!SCOPES_LIKELY(t->told_maps)) {
        t->told_maps = true;
        tell_maps(t);
    }
    uint32_t path = scopes_path_at(t, t->open[t->depth].path, (uintptr_t)function);
    uint32_t depth = t->depth + 1;
    t->open[depth] = (struct inscope_open){
        .at = (uintptr_t)__builtin_frame_address(0), .path = path, .has_attrs = SCOPES_IS_FUNCTION};
    t->functions[depth] = (uintptr_t)function;
    scopes_note_heap(t, &t->open[depth]);
    atomic_signal_fence(memory_order_seq_cst);
    t->depth = depth;
    scopes_show_depth(t);
    t->pushed[depth] = scopes_ticks();
}

SCOPES_EXPORT void __cyg_profile_func_exit(void *function, void *site)
{
    (void)site;
    if (!functions.on || (functions.only && !is_asked_for((uintptr_t)function)))
        return;
    uint64_t now = scopes_ticks();
    struct scopes_thread *t = scopes_mine;
    if (!t || t->epoch != scopes_epoch)
        return;
    if (t->too_deep) {
        t->too_deep--;
        return;
    }
    uint32_t depth = t->depth;
    while (depth && (!(t->open[depth].has_attrs & SCOPES_IS_FUNCTION) ||
                     t->functions[depth] != (uintptr_t)function))
        depth--;
    if (!depth) {
        scopes_trouble(SCOPES_PARAM_UNBALANCED, 1);
        return;
    }
    if (t->depth != depth)
        scopes_trouble(SCOPES_PARAM_ABANDONED, t->depth - depth);
    t->depth = depth - 1;
    scopes_show_depth(t);
    if (now - t->pushed[depth] >= functions.least && t->open[depth].path)
        scopes_tell_pushed(t, depth, now);
}
