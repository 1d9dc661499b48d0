#include "record/heap_count.h"

#include "base/mem.h"
#include "wire/heap.h"

#include <math.h>

int heap_count_open(struct heap_count *c, struct err *err)
{
    *c = HEAP_COUNT_NONE;
    if (preload_check(HEAP_AGENT_FILE, err) != 0 ||
        shared_open(&c->memory, "kelvin-heap-count", HEAPCOUNT_BYTES, err) != 0)
        return -1;
    struct heapcount_page *page = c->memory.at;
    page->magic = HEAPCOUNT_MAGIC;
    preload_begin(
        &c->preload, HEAP_AGENT_FILE, PRELOAD_FIRST, HEAPCOUNT_ENV,
        mem_printf("%d %d %llu", getpid(), c->memory.fd, (unsigned long long)c->memory.inode));
    return 0;
}

void heap_count_close(struct heap_count *c)
{
    preload_end(&c->preload);
    shared_close(&c->memory);
}

void heap_count_reset(struct heap_count *c)
{
    struct heapcount_page *page = c->memory.at;
    page->programs = 0;
    for (int i = 0; i < HEAPCOUNT_SLOTS; i++)
        page->slots[i].blocks = page->slots[i].bytes = 0;
}

double heap_count_blocks(const struct heap_count *c)
{
    const struct heapcount_page *page = c->memory.at;
    double sum = 0;
    for (int i = 0; i < HEAPCOUNT_SLOTS; i++)
        sum += (double)page->slots[i].blocks;
    return page->programs ? sum : NAN;
}
