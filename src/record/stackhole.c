#include "record/stackhole.h"

#include <sys/uio.h>
#include <unistd.h>

enum { HOLE_PAGES = 16 };

bool stackhole_fill(int pid, const struct unwind_stack *s, size_t most)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    uint64_t hole = s->start + s->n;
    char bytes[HOLE_PAGES];
    struct iovec here = {bytes, sizeof bytes}, there[HOLE_PAGES];
    if (!s->ends || hole % page)
        return false;
    for (uint64_t at = hole; n < HOLE_PAGES && at < s->start + most; at += page)
        there[n++] = (struct iovec){(void *)(uintptr_t)at, 1};
    here.iov_len = n;
    return n && process_vm_readv(pid, &here, 1, there, n, 0) > 0;
}
