/* The functions of an allocator in a file, and what probes of them tell; also of damaged ones. */
#include "base/reader.h"
#include "record/heapbpf.h"
#include "unwind/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct buf libc_file;

/* The libc of this process, whatever it is called. */
static int read_libc(void **state)
{
    (void)state;
    struct allocator a;
    struct err err;
    struct reader in;
    if (allocator_find(&a, getpid(), &err) != 0)
        return 0; /* not root: map_files cannot be read */
    if (reader_open(&in, a.path, &err) == 0) {
        struct text all = reader_peek(&in, 64 << 20);
        buf_add(&libc_file, all.at, all.n);
        reader_close(&in);
    }
    allocator_done(&a);
    return 0;
}

static int drop_libc(void **state)
{
    (void)state;
    buf_done(&libc_file);
    return 0;
}

static const struct allocator_place *place_of(const struct allocator *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->places[i].function->name, name) == 0)
            return &a->places[i];
    return NULL;
}

static void read_bytes(struct allocator *a, const void *bytes, size_t n)
{
    struct objfile o;
    struct err err;
    *a = (struct allocator){0};
    void *copy = mem_calloc(1, n ? n : 1); /* so that a read past the end is seen */
    if (n)
        memcpy(copy, bytes, n);
    if (objfile_open_memory(&o, copy, n, &err) == 0)
        allocator_read(a, &o);
    objfile_done(&o);
    free(copy);
}

static void functions_of_libc_are_found_in_its_code(void **state)
{
    (void)state;
    struct allocator a;
    if (!libc_file.n)
        skip();
    read_bytes(&a, libc_file.at, libc_file.n);
    const char *const names[] = {"malloc", "calloc", "realloc", "free", "posix_memalign"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct allocator_place *p = place_of(&a, names[i]);
        assert_non_null(p);
        assert_true(p->offset > 0 && p->offset < libc_file.n);
    }
    for (size_t i = 0; i < a.n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(a.places[i].offset != a.places[k].offset);
    assert_null(place_of(&a, "_Znwm"));
}

static void a_file_without_malloc_is_no_allocator(void **state)
{
    (void)state;
    struct allocator a;
    read_bytes(&a, "", 0);
    assert_int_equal(a.n, 0);
    read_bytes(&a, "\177ELF", 4);
    assert_int_equal(a.n, 0);
}

/* Headers and symbols of a true file, with bytes changed: fewer functions, or none, or others. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 7;
    struct allocator a;
    if (!libc_file.n)
        skip();
    Elf64_Ehdr head;
    memcpy(&head, libc_file.at, sizeof head);
    for (int i = 0; i < 60; i++) {
        char old[8];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t at = i % 2 ? (seed >> 33) % 0x20000 : head.e_shoff + (seed >> 33) % 4096;
        if (at + sizeof old > libc_file.n)
            continue;
        memcpy(old, libc_file.at + at, sizeof old);
        memcpy(libc_file.at + at, &seed, sizeof old);
        read_bytes(&a, libc_file.at, libc_file.n);
        memcpy(libc_file.at + at, old, sizeof old);
        assert_true(a.n <= ALLOCATOR_PLACES);
    }
}

static void a_process_that_is_gone_is_said_to_be(void **state)
{
    (void)state;
    struct allocator a;
    struct err err;
    assert_int_equal(allocator_find(&a, 1 << 22, &err), -1);
    assert_string_equal(err.text, "no process 4194304");
    allocator_done(&a);
}

/* --- records --- */

/* One as the kernel writes it: see heapbpf_read(). */
struct made_record {
    struct perf_event_header head;
    uint64_t id, ip;
    uint32_t pid, tid;
    uint64_t time_ns, cpu;
    uint32_t raw_bytes;
    uint32_t raw[5];
    uint64_t rest[40];
};

static struct made_record make_record(uint64_t kind, uint64_t value)
{
    struct made_record r = {.head = {.type = PERF_RECORD_SAMPLE, .size = sizeof r}};
    r.pid = 10, r.tid = 11, r.time_ns = 12, r.raw_bytes = 20;
    memcpy(r.raw, &kind, sizeof kind);
    memcpy(r.raw + 2, &value, sizeof value);
    size_t n_regs = (size_t)__builtin_popcountll(unwind_perf_regs_mask);
    r.rest[0] = PERF_SAMPLE_REGS_ABI_64;
    r.rest[1] = 77;
    r.rest[1 + n_regs] = 64; /* bytes asked for, then those, then how many there are */
    r.rest[2 + n_regs] = 88;
    r.rest[2 + n_regs + 8] = 40;
    return r;
}

static void a_record_says_who_where_and_what(void **state)
{
    (void)state;
    struct heapbpf_record got;
    struct made_record r = make_record(HEAPBPF_ALLOC, 1234);
    assert_true(heapbpf_read(&r.head, &got));
    assert_int_equal(got.kind, HEAPBPF_ALLOC);
    assert_int_equal(got.value, 1234);
    assert_int_equal(got.pid, 10);
    assert_int_equal(got.tid, 11);
    assert_int_equal(got.time_ns, 12);
    assert_int_equal(got.regs[0], 77);
    assert_int_equal(got.stack_bytes, 40);
    assert_int_equal(got.stack[0], 88);
    r = make_record(HEAPBPF_FREE, 0x7f0000001230);
    assert_true(heapbpf_read(&r.head, &got));
    assert_true(got.kind == HEAPBPF_FREE && got.value == 0x7f0000001230 && !got.regs);
    r = make_record(99, 0);
    assert_false(heapbpf_read(&r.head, &got));
}

static void a_record_of_any_length_is_read_within_it(void **state)
{
    (void)state;
    struct made_record whole = make_record(HEAPBPF_ALLOC, 5);
    for (uint16_t n = sizeof whole.head; n <= sizeof whole; n += 8) {
        struct perf_event_header *cut = mem_calloc(1, n);
        struct heapbpf_record got;
        whole.head.size = n;
        memcpy(cut, &whole, n);
        if (heapbpf_read(cut, &got) && got.stack)
            assert_true(got.stack + got.stack_bytes <= (const uint8_t *)cut + n);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_libc_are_found_in_its_code),
        cmocka_unit_test(a_file_without_malloc_is_no_allocator),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(a_process_that_is_gone_is_said_to_be),
        cmocka_unit_test(a_record_says_who_where_and_what),
        cmocka_unit_test(a_record_of_any_length_is_read_within_it),
    };
    return cmocka_run_group_tests(tests, read_libc, drop_libc);
}
