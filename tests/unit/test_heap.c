/* The recorder's side of the heap: live blocks, sums and the peak, against slow and simple ones. */
#include "model/heap_live.h"
#include "model/heap_tally.h"
#include "record/stackwalk_images.h"

#include <math.h>
#include <string.h>

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static uint64_t seed = 1;

static uint64_t random_number(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return seed >> 33;
}

/* --- live blocks --- */

enum { ADDRESSES = 5000 };

static void blocks_are_found_whatever_came_and_went(void **state)
{
    (void)state;
    struct heap_live l = {0};
    static uint64_t sizes[ADDRESSES]; /* + 1; 0 = not there */
    size_t n = 0;
    for (int i = 0; i < 300000; i++) {
        uint64_t k = random_number() % ADDRESSES, address = 0x7f0000000000 + k * 16;
        struct heap_block b = {.address = address,
                               .size_bytes = random_number() << 10,
                               .ticks = k,
                               .site = (uint32_t)k};
        struct heap_block old;
        if (random_number() % 2) {
            bool new = heap_live_add(&l, &b, &old);
            assert_int_equal(new, !sizes[k]);
            assert_true(new || old.size_bytes == sizes[k] - 1);
            n += new;
            sizes[k] = b.size_bytes + 1;
        } else {
            bool there = heap_live_take(&l, address, &old);
            assert_int_equal(there, sizes[k] != 0);
            assert_true(!there || (old.size_bytes == sizes[k] - 1 && old.site == k &&
                                   old.address == address && old.ticks == k));
            n -= there;
            sizes[k] = 0;
        }
        assert_int_equal(l.n, n);
    }
    size_t at = 0, seen = 0;
    for (struct heap_block b; heap_live_next(&l, &at, &b); seen++)
        assert_true(sizes[b.site] == b.size_bytes + 1);
    assert_int_equal(seen, n);
    heap_live_done(&l);
}

static void a_live_block_takes_at_most_64_bytes(void **state)
{
    (void)state;
    struct heap_live l = {0};
    for (uint64_t i = 1; i <= 1000000; i++) {
        struct heap_block old, b = {.address = i * 48, .size_bytes = 40};
        heap_live_add(&l, &b, &old);
        if (i > 1000)
            assert_true((l.mask + 1) * 24 <= 64 * i);
    }
    heap_live_done(&l);
}

static void sizes_of_48_bits_come_back(void **state)
{
    (void)state;
    struct heap_live l = {0};
    struct heap_block old, b = {.address = 0x7fffffffff08, .size_bytes = (UINT64_C(1) << 48) - 1};
    heap_live_add(&l, &b, &old);
    assert_true(heap_live_take(&l, b.address, &old));
    assert_true(old.size_bytes == b.size_bytes);
    assert_false(heap_live_take(&l, b.address, &old));
    assert_false(heap_live_take(&l, 0, &old));
    heap_live_done(&l);
}

/* --- sums --- */

static struct thread_id no_thread(void *arg, uint32_t thread)
{
    (void)arg;
    (void)thread;
    return (struct thread_id){0};
}

static struct heap_tally new_tally(struct profile *p, uint64_t sample_bytes)
{
    struct heap_tally t;
    heap_tally_init(&t, p, &(struct heap_tally_opts){sample_bytes});
    t.thread_of = no_thread;
    return t;
}

static int64_t column_sum(const struct profile *p, const struct heap_tally *t, const char *name,
                          uint32_t stack)
{
    const struct stream *s = profile_stream(p, t->stream);
    int64_t sum = 0;
    for (int k = 0; k < s->n_types; k++)
        for (size_t i = 0; text_is(profile_str(p, s->types[k].name), name) && i < s->rows.n; i++)
            sum += s->rows.stack[i].i == stack ? s->rows.value[k][i] : 0;
    return sum;
}

enum { SITES = 7 };

static void the_peak_is_what_each_site_held_then(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    int64_t live[SITES] = {0}, at_peak[SITES] = {0}, total = 0, peak = 0;
    uint64_t peak_ns = 0;
    for (uint32_t i = 0; i < SITES; i++)
        heap_tally_new_site(&t, &(struct heap_site){.stack.i = i});
    for (uint64_t i = 1; i < 20000; i++) {
        uint32_t site = (uint32_t)(random_number() % SITES);
        int64_t size = (int64_t)(random_number() % 1000);
        bool frees = live[site] >= size && random_number() % 2;
        heap_tally_time(&t, i * 1000000);
        t.now = i * 1000000;
        if (frees)
            heap_tally_free(&t, &(struct heap_free){.site = site, .size_bytes = (uint64_t)size});
        else
            heap_tally_alloc(&t, site, (uint64_t)size);
        live[site] += frees ? -size : size;
        total += frees ? -size : size;
        if (total <= peak)
            continue;
        peak = total;
        peak_ns = i * 1000000;
        memcpy(at_peak, live, sizeof live);
    }
    t.peak_ns = t.peak_at;
    heap_tally_end(&t, 20000000000);
    assert_int_equal(t.peak_bytes, peak);
    assert_int_equal(t.peak_ns, peak_ns);
    for (uint32_t i = 0; i < SITES; i++)
        assert_int_equal(column_sum(p, &t, "peak", i), at_peak[i]);
    heap_tally_done(&t);
    profile_free(p);
}

static void a_peak_is_when_that_much_was_held_for_the_first_time(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 3});
    for (uint64_t i = 1; i < 4; i++) {
        heap_tally_time(&t, i * 1000000);
        t.now = i * 1000000;
        heap_tally_alloc(&t, site, 100);
        heap_tally_free(&t, &(struct heap_free){.site = site, .size_bytes = 100});
    }
    assert_int_equal(t.peak_bytes, 100);
    assert_int_equal(t.peak_at, 1000000);
    heap_tally_done(&t);
    profile_free(p);
}

/* Two blocks at once, then nothing for five seconds: they were there all the time. */
static void what_is_live_is_known_from_the_end_of_its_slice_on(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 3});
    heap_tally_time(&t, 5000000000);
    heap_tally_alloc(&t, site, 100);
    heap_tally_time(&t, 10050000000);
    heap_tally_alloc(&t, site, 50);
    heap_tally_end(&t, 11000000000);
    const struct counter *bytes = &p->counters.at[t.live_counter];
    assert_int_equal(bytes->points.at[0].value, 0);
    assert_true(bytes->points.at[1].time_ns < 5500000000);
    assert_int_equal(bytes->points.at[1].value, 100);
    assert_true(bytes->points.at[2].time_ns > 9500000000);
    assert_int_equal(bytes->points.at[2].value, 100);
    heap_tally_done(&t);
    profile_free(p);
}

static void rows_are_of_slices_and_add_up(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 3});
    for (uint64_t i = 0; i < 10; i++) {
        heap_tally_time(&t, 5000000000 + i * 250000000);
        heap_tally_alloc(&t, site, 100);
        heap_tally_alloc(&t, site, 50);
        heap_tally_free(&t, &(struct heap_free){site, 50, 1000, true});
    }
    heap_tally_leak(&t, site, 100);
    heap_tally_end(&t, 9000000000);
    const struct rows *rows = &profile_stream(p, t.stream)->rows;
    assert_int_equal(rows->n, 10 + 2);                             /* a peak and a leak */
    assert_true(rows->time_ns[1] - rows->time_ns[0] == 200000000); /* whole slices */
    assert_int_equal(column_sum(p, &t, "allocations", 3), 20);
    assert_int_equal(column_sum(p, &t, "allocated", 3), 1500);
    assert_int_equal(column_sum(p, &t, "temporary", 3), 10);
    assert_int_equal(column_sum(p, &t, "leaked", 3), 100);
    assert_int_equal(column_sum(p, &t, "peak", 3), 1050);
    const struct counter *bytes = &p->counters.at[t.live_counter];
    const struct counter *blocks = &p->counters.at[t.blocks_counter];
    assert_int_equal(bytes->points.n, blocks->points.n);
    assert_int_equal(bytes->points.at[bytes->points.n - 1].value, 900); /* what leaked is out */
    assert_int_equal(blocks->points.at[blocks->points.n - 1].value, 9);
    heap_tally_done(&t);
    profile_free(p);
}

/* The sum of a class in a stream of classes. */
static int64_t class_sum(const struct profile *p, int stream, int64_t largest)
{
    const struct rows *rows = &profile_stream(p, stream)->rows;
    int64_t sum = 0;
    for (size_t i = 0; i < rows->n; i++)
        if (p->attrs.nodes.at[rows->attrs[i].i].attr.number == largest)
            sum += rows->value[0][i];
    return sum;
}

static int64_t sizes_sum(const struct profile *p, const struct heap_tally *t,
                         enum heap_sizes_column column)
{
    const struct rows *rows = &profile_stream(p, t->sizes_stream)->rows;
    int64_t sum = 0;
    for (size_t i = 0; i < rows->n; i++)
        sum += rows->value[heapstream_find_sizes_column(p, t->sizes_stream, column)][i];
    return sum;
}

/* What malloc_usable_size() of glibc says, and 8. */
static void malloc_adds_a_header_and_rounds_up(void **state)
{
    static const struct {
        uint64_t size;
        int64_t adds;
    } blocks[] = {{0, 32},  {1, 31},   {24, 8},    {25, 23},  {40, 8},
                  {41, 23}, {1000, 8}, {1023, 17}, {1024, 0}, {1 << 20, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct profile *p = profile_new();
        struct heap_tally t = new_tally(p, 0);
        uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 1});
        heap_tally_time(&t, 1);
        heap_tally_alloc(&t, site, blocks[i].size);
        heap_tally_alloc(&t, site, blocks[i].size);
        heap_tally_grown(&t, site, blocks[i].size);
        heap_tally_end(&t, 2);
        assert_int_equal(sizes_sum(p, &t, HEAP_SIZES_ADDED), 2 * blocks[i].adds);
        assert_int_equal(sizes_sum(p, &t, HEAP_SIZES_GROWN), 1);
        heap_tally_done(&t);
        profile_free(p);
    }
}

static void sizes_and_lifetimes_are_counted_by_powers_of_two(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 1});
    static const uint64_t sizes[] = {0, 1, 15, 16, 31, 32};
    heap_tally_time(&t, 1);
    for (int i = 0; i < 6; i++)
        heap_tally_alloc(&t, site, sizes[i]);
    heap_tally_free(&t, &(struct heap_free){site, 32, 1023, false});
    heap_tally_free(&t, &(struct heap_free){site, 31, 1024, false});
    heap_tally_end(&t, 2);
    assert_int_equal(class_sum(p, t.sizes_stream, 0), 1);
    assert_int_equal(class_sum(p, t.sizes_stream, 1), 1);
    assert_int_equal(class_sum(p, t.sizes_stream, 15), 1);
    assert_int_equal(class_sum(p, t.sizes_stream, 31), 2);
    assert_int_equal(class_sum(p, t.sizes_stream, 63), 1);
    assert_int_equal(class_sum(p, t.lifetimes_stream, 1023), 1);
    assert_int_equal(class_sum(p, t.lifetimes_stream, 2047), 1);
    heap_tally_done(&t);
    profile_free(p);
}

/* A realloc that fails leaves no trace. */
static void a_free_that_was_none_is_taken_back(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 0);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 1});
    heap_tally_time(&t, 1);
    heap_tally_alloc(&t, site, 100);
    heap_tally_free(&t, &(struct heap_free){.site = site, .size_bytes = 100});
    heap_tally_unfree(&t, site, 100);
    assert_int_equal(t.live_bytes, 100);
    assert_int_equal(t.live_blocks, 1);
    heap_tally_end(&t, 2);
    assert_int_equal(column_sum(p, &t, "freed", 1), 0);
    heap_tally_done(&t);
    profile_free(p);
}

static void a_sample_stands_for_its_kind(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct heap_tally t = new_tally(p, 1000);
    uint32_t site = heap_tally_new_site(&t, &(struct heap_site){.stack.i = 1});
    heap_tally_time(&t, 1);
    heap_tally_alloc(&t, site, 10);
    double weight = 1 / (1 - exp(-10.0 / 1000));
    heap_tally_end(&t, 2);
    assert_int_equal(column_sum(p, &t, "allocations", 1), llround(1000 * weight));
    assert_int_equal(column_sum(p, &t, "allocated", 1), llround(10 * weight));
    assert_int_equal(column_sum(p, &t, "samples", 1), 1);
    heap_tally_done(&t);
    profile_free(p);
}

/* --- unwind rules --- */

static void a_process_gets_the_rules_of_all_it_has_mapped(void **state)
{
    (void)state;
    struct stackwalk_images_writer w = {0};
    struct err err;
    struct profile *p = profile_new();
    struct processes *ps = processes_new(p);
    processes_set_live(ps);
    assert_int_equal(processes_scan(ps, getpid(), &err), 0);
    assert_int_equal(stackwalk_images_open(&w, &err), 0);
    stackwalk_images_answer(&w, ps, getpid(), 42);
    const struct stackwalk_images *images = w.memory.at;
    assert_true(images->n > 2);
    uint64_t here = (uintptr_t)random_number;
    bool found = false;
    for (uint32_t i = 0; i + 1 < images->n; i++) {
        const struct stackwalk_module *m = stackwalk_images_module(images, i);
        assert_int_equal(m->pid, getpid());
        if (here < m->start || here >= m->end)
            continue;
        const struct unwind_row *rows = (const void *)((const char *)images + m->rows);
        found = m->n_rows > 100 && rows[0].pc + m->base <= here;
    }
    assert_true(found);
    const struct stackwalk_module *last = stackwalk_images_module(images, images->n - 1);
    assert_true(last->end == 0 && last->start == 42);
    uint64_t rows_end = w.rows_end;
    stackwalk_images_answer(&w, ps, getpid(), 43);
    assert_true(w.rows_end == rows_end); /* the same files: their rows are there */
    stackwalk_images_close(&w);
    processes_free(ps);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_found_whatever_came_and_went),
        cmocka_unit_test(a_live_block_takes_at_most_64_bytes),
        cmocka_unit_test(sizes_of_48_bits_come_back),
        cmocka_unit_test(the_peak_is_what_each_site_held_then),
        cmocka_unit_test(a_peak_is_when_that_much_was_held_for_the_first_time),
        cmocka_unit_test(what_is_live_is_known_from_the_end_of_its_slice_on),
        cmocka_unit_test(rows_are_of_slices_and_add_up),
        cmocka_unit_test(malloc_adds_a_header_and_rounds_up),
        cmocka_unit_test(sizes_and_lifetimes_are_counted_by_powers_of_two),
        cmocka_unit_test(a_free_that_was_none_is_taken_back),
        cmocka_unit_test(a_sample_stands_for_its_kind),
        cmocka_unit_test(a_process_gets_the_rules_of_all_it_has_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
