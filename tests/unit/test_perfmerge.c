/*
 * Records of several rings come out in the order of time, whole, and only those that are old
 * enough. Rings are made by hand in plain memory.
 */
#include "base/mem.h"
#include "record/perfmerge.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RING_BYTES = 4096 };

struct fake {
    struct perf_event_mmap_page page;
    uint64_t data[RING_BYTES / 8];
};

/* A sample is header, identifier, ip, pid and tid, time, then what we put there. */
struct fake_sample {
    struct perf_event_header head;
    uint64_t identifier, ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint64_t rest[8];
};

/* Another record ends in pid and tid, time, cpu and identifier. */
struct fake_comm {
    struct perf_event_header head;
    uint32_t pid, tid;
    char name[8];
    uint32_t end_pid, end_tid;
    uint64_t time_ns, cpu, identifier;
};

static struct perfring ring_of(struct fake *f, uint64_t start)
{
    f->page.data_head = f->page.data_tail = start;
    return (struct perfring){.page = &f->page,
                             .data = (uint8_t *)f->data,
                             .size = RING_BYTES,
                             .tail = start,
                             .head = start};
}

static void put(struct fake *f, const void *record, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)f->data)[(f->page.data_head + i) % RING_BYTES] = ((const uint8_t *)record)[i];
    f->page.data_head += n;
}

static void put_sample(struct fake *f, uint64_t time_ns, uint32_t tid)
{
    struct fake_sample s = {{PERF_RECORD_SAMPLE, 0, sizeof s}, 0, 0, 1, tid, time_ns, {0}};
    s.rest[7] = tid;
    put(f, &s, sizeof s);
}

static void put_comm(struct fake *f, uint64_t time_ns, uint32_t tid)
{
    struct fake_comm c = {{PERF_RECORD_COMM, 0, sizeof c}, 1, tid, "name", 1, tid, time_ns, 0, 0};
    put(f, &c, sizeof c);
}

static uint32_t tid_of(const struct perf_event_header *h)
{
    return h->type == PERF_RECORD_SAMPLE ? ((const struct fake_sample *)h)->tid
                                         : ((const struct fake_comm *)h)->tid;
}

/* Take all up to UNTIL_NS and compare with the thread ids of WANT, which ends in 0. */
static void takes(struct perfring *rings, size_t n, uint64_t until_ns, const uint32_t *want)
{
    struct perfring *r;
    for (size_t i = 0; i < n; i++)
        perfring_look(&rings[i]);
    while ((r = perfmerge_next(rings, n, until_ns))) {
        assert_int_equal(tid_of(perfring_get(r)), *want);
        perfring_release(r);
        want++;
    }
    assert_int_equal(*want, 0);
}

static void records_of_all_rings_come_in_order_of_time(void **state)
{
    static struct fake f[3];
    struct perfring rings[3] = {ring_of(&f[0], 0), ring_of(&f[1], 0), ring_of(&f[2], 0)};
    (void)state;
    put_sample(&f[0], 50, 5);
    put_sample(&f[0], 60, 6);
    put_comm(&f[1], 10, 1);
    put_sample(&f[1], 40, 4);
    put_sample(&f[1], 70, 7);
    put_comm(&f[2], 20, 2);
    put_comm(&f[2], 30, 3);
    takes(rings, 3, UINT64_MAX, (uint32_t[]){1, 2, 3, 4, 5, 6, 7, 0});
    assert_int_equal(f[0].page.data_tail, f[0].page.data_head);
    assert_int_equal(f[1].page.data_tail, f[1].page.data_head);
}

static void young_records_wait_for_the_other_rings(void **state)
{
    static struct fake f[2];
    struct perfring rings[2] = {ring_of(&f[0], 0), ring_of(&f[1], 0)};
    (void)state;
    put_sample(&f[0], 100, 2);
    put_sample(&f[0], 300, 4);
    takes(rings, 2, 100, (uint32_t[]){0});
    put_comm(&f[1], 90, 1); /* seen late, but earlier */
    put_sample(&f[1], 200, 3);
    takes(rings, 2, 250, (uint32_t[]){1, 2, 3, 0});
    takes(rings, 2, UINT64_MAX, (uint32_t[]){4, 0});
}

static void a_record_around_the_end_is_whole(void **state)
{
    static struct fake f[2];
    uint64_t start = RING_BYTES - 40;
    struct perfring rings[2] = {ring_of(&f[0], start), ring_of(&f[1], 0)};
    (void)state;
    put_sample(&f[0], 20, 9);
    put_sample(&f[1], 10, 8);
    perfring_look(&rings[0]);
    perfring_look(&rings[1]);
    struct perfring *r = perfmerge_next(rings, 2, UINT64_MAX);
    assert_ptr_equal(r, &rings[1]);
    perfring_release(r);
    r = perfmerge_next(rings, 2, UINT64_MAX);
    assert_ptr_equal(r, &rings[0]);
    assert_int_equal(((const struct fake_sample *)perfring_get(r))->rest[7], 9);
    perfring_release(r);
    assert_null(perfmerge_next(rings, 2, UINT64_MAX));
    buf_done(&rings[0].whole);
}

static void equal_times_keep_the_order_of_each_ring(void **state)
{
    static struct fake f[2];
    struct perfring rings[2] = {ring_of(&f[0], 0), ring_of(&f[1], 0)};
    (void)state;
    put_comm(&f[0], 10, 1);
    put_sample(&f[0], 10, 2);
    put_sample(&f[1], 10, 3);
    takes(rings, 2, 11, (uint32_t[]){1, 2, 3, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_all_rings_come_in_order_of_time),
        cmocka_unit_test(young_records_wait_for_the_other_rings),
        cmocka_unit_test(a_record_around_the_end_is_whole),
        cmocka_unit_test(equal_times_keep_the_order_of_each_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
