#include "record/perfring.h"

#include <sys/mman.h>

/* A switch or a wake, and the record that reports lost ones. */
enum { SMALL_RECORD_BYTES = 256 };

/* Of a sample with IDENTIFIER, IP, TID and TIME; others end in TID, TIME, CPU and IDENTIFIER. */
enum { SAMPLE_TIME_AT = 32, TIME_FROM_END = 24 };

int perfring_map(struct perfring *r, int fd, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    *r = (struct perfring){.page = at, .data = (uint8_t *)at + page, .size = bytes};
    return 0;
}

void perfring_unmap(struct perfring *r)
{
    if (r->page)
        munmap(r->page, r->size + (size_t)sysconf(_SC_PAGESIZE));
    buf_done(&r->whole);
    *r = (struct perfring){0};
}

void perfring_look(struct perfring *r)
{
    r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    r->full = r->head - r->tail + SMALL_RECORD_BYTES > r->size;
}

/* Records are multiples of 8 bytes: a word never goes around the end. */
static const void *word_at(const struct perfring *r, uint64_t at)
{
    return r->data + (at & (r->size - 1));
}

uint64_t perfring_time(const struct perfring *r)
{
    if (r->tail == r->head)
        return UINT64_MAX;
    const struct perf_event_header *h = word_at(r, r->tail);
    uint64_t at = h->type == PERF_RECORD_SAMPLE ? SAMPLE_TIME_AT : h->size - TIME_FROM_END;
    return *(const uint64_t *)word_at(r, r->tail + at);
}

const struct perf_event_header *perfring_get(struct perfring *r)
{
    const struct perf_event_header *h = word_at(r, r->tail);
    uint64_t to_end = r->size - (r->tail & (r->size - 1));
    if (h->size <= to_end)
        return h;
    size_t n = h->size;
    r->whole.n = 0;
    buf_add(&r->whole, h, to_end);
    buf_add(&r->whole, r->data, n - to_end);
    return (const void *)r->whole.at;
}

void perfring_release(struct perfring *r)
{
    const struct perf_event_header *h = word_at(r, r->tail);
    r->tail += h->size;
    __atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

bool perfring_has_fork(const struct perfring *r, int tid)
{
    for (uint64_t at = r->tail; at != r->head;) {
        const struct perf_event_header *h = word_at(r, at);
        const uint32_t *ids = word_at(r, at + 16); /* pid ppid | tid ptid */
        if (h->type == PERF_RECORD_FORK && *ids == (uint32_t)tid)
            return true;
        at += h->size;
    }
    return false;
}
