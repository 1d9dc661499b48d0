#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#ifdef __linux__
#include <malloc.h>
#include <sys/mman.h>
#endif

static void *mem_check(void *p, size_t size_bytes)
{
    static const char text[] = "kelvin: out of memory\n";
    if (p || !size_bytes)
        return p;
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(1);
}

void *mem_realloc(void *old, size_t size_bytes)
{
    return mem_check(realloc(old, size_bytes), size_bytes);
}

void *mem_calloc(size_t n, size_t size_bytes)
{
    return mem_check(calloc(n, size_bytes), n * size_bytes);
}

void *mem_array(size_t n, size_t size_bytes)
{
    size_t all_bytes;
    if (__builtin_mul_overflow(n, size_bytes, &all_bytes))
        return mem_check(NULL, SIZE_MAX);
    return mem_check(malloc(all_bytes), all_bytes);
}

#ifdef __linux__
enum { HUGE_PAGE_BYTES = 2 << 20 };

void *mem_table(size_t size_bytes)
{
    if (size_bytes < HUGE_PAGE_BYTES)
        return mem_calloc(1, size_bytes);
    int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *p = mmap(NULL, size_bytes, prot, flags, -1, 0);
    p = mem_check(p == MAP_FAILED ? NULL : p, size_bytes);
    madvise(p, size_bytes, MADV_HUGEPAGE);
    return p;
}

void mem_want_huge_pages(void *block, size_t size_bytes)
{
    uintptr_t start = ((uintptr_t)block + HUGE_PAGE_BYTES - 1) & -(uintptr_t)HUGE_PAGE_BYTES;
    uintptr_t end = ((uintptr_t)block + size_bytes) & -(uintptr_t)HUGE_PAGE_BYTES;
    if (start < end)
        madvise((void *)start, end - start, MADV_HUGEPAGE);
}

void mem_table_free(void *table, size_t size_bytes)
{
    if (table && size_bytes >= HUGE_PAGE_BYTES)
        munmap(table, size_bytes);
    else
        free(table);
}

void mem_keep_freed(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
}
#else
/* In a page there is one kind of memory. */
void *mem_table(size_t size_bytes)
{
    return mem_calloc(1, size_bytes);
}

void mem_want_huge_pages(void *block, size_t size_bytes)
{
    (void)block, (void)size_bytes;
}

void mem_table_free(void *table, size_t size_bytes)
{
    (void)size_bytes;
    free(table);
}

void mem_keep_freed(void)
{
}
#endif

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
    char *copy = mem_realloc(NULL, n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *mem_printf(const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    return mem_check(n < 0 ? NULL : text, 1);
}
