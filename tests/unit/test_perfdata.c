/*
 * perf.data: order of records, bounds of memory, layouts of samples, and files that lie.
 */
#include "source/perfdata_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "support_perfdata.h"

/* --- order --- */

static void a_mapping_counts_from_its_time_on(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    add_sample(&data, 5, 200, 0x400010); /* one ring */
    add_sample(&data, 5, 400, 0x400010);
    add_mmap(&data, 5, 0x400000, 100, "/nowhere/first"); /* another ring */
    add_mmap(&data, 5, 0x400000, 300, "/nowhere/second");
    add_round(&data);
    add_round(&data);
    struct profile *p = read_data(buf_text(&data));
    assert_int_equal(profile_stream(p, 0)->rows.n, 2);
    assert_int_equal(profile_stream(p, 0)->rows.time_ns[0], 200);
    assert_string_equal(leaf_path(p, 0), "/nowhere/first");
    assert_string_equal(leaf_path(p, 1), "/nowhere/second");
    profile_free(p);
}

static void records_without_a_time_count_at_once(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    add_comm(&data, 5, 0, "before");
    add_mmap(&data, 5, 0x400000, UINT64_MAX, "/nowhere/app");
    add_sample(&data, 5, 9, 0x400010);
    struct profile *p = read_data(buf_text(&data));
    assert_string_equal(leaf_path(p, 0), "/nowhere/app");
    struct thread t = p->threads.at[profile_stream(p, 0)->rows.thread[0].i];
    assert_string_equal(profile_str(p, t.name).at, "before");
    profile_free(p);
}

/* WHO: 24 bytes, of which the record says that they are a build-id. */
static void add_mmap2_with_id(struct buf *b, const void *who)
{
    autobuf struct buf body = {0};
    WORDS(&body, ids(5, 5), 0x400000, 0x1000, 0);
    buf_add(&body, who, 24);
    WORDS(&body, ids(PROT_READ | PROT_EXEC, MAP_PRIVATE));
    buf_add(&body, "/nowhere/app\0\0\0", 16);
    WORDS(&body, ids(5, 5), 1);
    add_record(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID,
               buf_text(&body));
}

static void expect_build_id(const void *who, const char *expected)
{
    autobuf struct buf data = {0};
    add_mmap2_with_id(&data, who);
    add_sample(&data, 5, 9, 0x400010);
    struct profile *p = read_data(buf_text(&data));
    assert_string_equal(leaf_path(p, 0), "/nowhere/app");
    for (size_t i = 0; i < p->mappings.n; i++)
        if (text_is(profile_str(p, p->mappings.at[i].path), "/nowhere/app"))
            assert_string_equal(profile_str(p, p->mappings.at[i].build_id).at, expected);
    profile_free(p);
}

/* Seen on Linux 6.18: while another recorder asks for build-ids, all records claim to have one. */
static void device_and_inode_are_no_build_id(void **state)
{
    (void)state;
    expect_build_id("\x08\0\0\0\xab\xcd\xef\x01\x23\x45\x67\x89\0\0\0\0\0\0\0\0\0\0\0",
                    "abcdef0123456789");
    const uint32_t disks[][6] = {{254, 0, 248060}, {8, 1, 248060}, {259, 3, 248060}, {0, 53, 7}};
    for (size_t i = 0; i < sizeof disks / sizeof *disks; i++)
        expect_build_id(disks[i], "");
}

/* Processes that take turns: nothing of the one may be taken for the other's. */
static void the_same_chain_in_two_processes_is_two_stacks(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    add_mmap(&data, 5, 0x400000, 0, "/nowhere/five");
    add_mmap(&data, 6, 0x400000, 0, "/nowhere/six");
    for (uint64_t i = 0; i < 4; i++)
        add_sample(&data, 5 + i % 2, 10 + i, 0x400010);
    struct profile *p = read_data(buf_text(&data));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(leaf_path(p, i), i % 2 ? "/nowhere/six" : "/nowhere/five");
    assert_int_equal(profile_stream(p, 0)->rows.thread[0].i,
                     profile_stream(p, 0)->rows.thread[2].i);
    assert_int_not_equal(profile_stream(p, 0)->rows.thread[0].i,
                         profile_stream(p, 0)->rows.thread[1].i);
    profile_free(p);
}

/* Where the kernel's part of a chain is left out, the sample's own address stands for it. */
static void equal_chains_of_other_addresses_are_two_stacks(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    for (uint64_t i = 0; i < 4; i++) {
        autobuf struct buf body = {0};
        WORDS(&body, 0xffffffff81000010 + i % 2, ids(5, 5), 10 + i, 1000, 2,
              (uint64_t)PERF_CONTEXT_USER, 0x400010);
        add_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, buf_text(&body));
    }
    struct profile *p = read_data(buf_text(&data));
    const struct stack_id *stack = profile_stream(p, 0)->rows.stack;
    assert_int_equal(stack[0].i, stack[2].i);
    assert_int_equal(stack[1].i, stack[3].i);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(profile_frame(p, p->stacks.nodes.at[stack[i].i].frame)->pc,
                         0xffffffff81000010 + i);
    profile_free(p);
}

static struct perfdata_record record_of(struct text body)
{
    return (struct perfdata_record){PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, 0};
}

static void a_round_releases_what_came_before_the_last(void **state)
{
    (void)state;
    struct perfdata_queue q = {0};
    struct perfdata_record r = record_of(text_of("12345678")), got;
    perfdata_queue_add(&q, 30, &r, NULL);
    perfdata_queue_add(&q, 10, &r, NULL);
    perfdata_queue_round(&q);
    assert_false(perfdata_queue_take(&q, 1, &got)); /* the next round may bring older ones */
    r.offset = 20;
    perfdata_queue_add(&q, 20, &r, NULL);
    perfdata_queue_add(&q, 40, &r, NULL);
    perfdata_queue_round(&q);
    assert_true(perfdata_queue_take(&q, 1, &got));
    assert_true(perfdata_queue_take(&q, 1, &got));
    assert_int_equal(got.offset, 20); /* in its place by time */
    assert_true(perfdata_queue_take(&q, 1, &got));
    assert_false(perfdata_queue_take(&q, 1, &got));
    assert_int_equal(q.list.n, 1);
    perfdata_queue_done(&q);
}

static void many_rings_come_out_in_order(void **state)
{
    (void)state;
    enum { RINGS = 7, EACH = 900 };
    struct perfdata_queue q = {0};
    struct perfdata_record r = record_of(text_of("12345678")), got;
    uint64_t last = 0;
    for (r.offset = 0; r.offset < RINGS * EACH; r.offset++)
        perfdata_queue_add(&q, r.offset % EACH / 3, &r, NULL);
    perfdata_queue_finish(&q);
    for (size_t i = 0; i < RINGS * EACH; i++) {
        assert_true(perfdata_queue_take(&q, 1, &got));
        uint64_t place = got.offset % EACH / 3 * RINGS * EACH + got.offset;
        assert_true(i == 0 || place > last); /* by time, and of equal times as they came */
        last = place;
    }
    assert_false(perfdata_queue_take(&q, 1, &got));
    assert_int_equal(q.bytes, 0);
    perfdata_queue_done(&q);
}

/* Each block of memory holds one record that is far from its turn. */
static void records_of_the_future_hold_no_memory(void **state)
{
    (void)state;
    struct perfdata_queue q = {0};
    static char body[200];
    struct perfdata_record r = record_of((struct text){body, sizeof body}), got;
    size_t released = 0, n = 1000000;
    for (size_t i = 0; i < n; i++) {
        perfdata_queue_add(&q, i % 250 ? i : UINT64_MAX - 1, &r, NULL);
        if (i % 5000 == 0)
            perfdata_queue_round(&q);
        q.limit = i;
        if (perfdata_queue_is_full(&q) || i % 5000 == 0)
            while (perfdata_queue_take(&q, 1, &got))
                released++;
        assert_true(q.block_bytes <= 3 * (size_t)PERFDATA_QUEUE_BYTES);
    }
    perfdata_queue_finish(&q);
    while (perfdata_queue_take(&q, 1, &got))
        released++;
    assert_int_equal(released, n);
    perfdata_queue_done(&q);
    assert_int_equal(q.block_bytes, 0);
}

static void a_huge_round_stays_within_its_memory(void **state)
{
    (void)state;
    struct perfdata_queue q = {0};
    static char body[60000];
    struct perfdata_record r = record_of((struct text){body, sizeof body}), got;
    size_t released = 0;
    uint64_t time = 1 << 30;
    for (int i = 0; i < 5000; i++) {
        perfdata_queue_add(&q, time--, &r, NULL);
        if (perfdata_queue_is_full(&q))
            while (perfdata_queue_take(&q, 1, &got))
                released++;
        assert_true(q.bytes <= PERFDATA_QUEUE_BYTES);
    }
    perfdata_queue_finish(&q);
    while (perfdata_queue_take(&q, 1, &got))
        released++;
    assert_int_equal(released, 5000);
    assert_int_equal(q.bytes, 0);
    perfdata_queue_done(&q);
}

/* --- layouts --- */

static void a_stack_is_kept_without_its_slack(void **state)
{
    (void)state;
    struct perfdata_event e = {.attr = attr_of(PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER)};
    struct perfdata_sample s;
    struct perfdata_queue q = {0};
    autobuf struct buf body = {0};
    char stack[8192] = "the stack";
    WORDS(&body, 0x400010, sizeof stack);
    buf_add(&body, stack, sizeof stack);
    WORDS(&body, 100);
    assert_null(perfdata_sample_parse(&e, buf_text(&body), &s));
    assert_int_equal(s.stack.n, 100);
    struct perfdata_record r = record_of(buf_text(&body)), got;
    perfdata_queue_add(&q, 1, &r, &s);
    assert_true(q.bytes < 512);
    perfdata_queue_finish(&q);
    assert_true(perfdata_queue_take(&q, 1, &got));
    assert_null(perfdata_sample_parse(&e, got.body, &s));
    assert_int_equal(s.ip, 0x400010);
    assert_int_equal(s.stack.n, 100);
    assert_memory_equal(s.stack.at, stack, 100);
    perfdata_queue_done(&q);
}

static void all_parts_of_a_sample_are_stepped_over(void **state)
{
    (void)state;
    struct perfdata_event e = {
        .attr = attr_of(BASIC | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
                        PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_READ |
                        PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                        PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)};
    e.attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
    e.attr.branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
    e.attr.sample_regs_user = 7;
    autobuf struct buf b = {0};
    WORDS(&b, 7, 0x1234, ids(5, 6), 99, 0xadd, 7, 8, 1, 1000); /* id to period */
    WORDS(&b, 2, 50, 1, 7, 2, 8);                              /* two counters of a group */
    WORDS(&b, 1, 0xcafe);                                      /* call chain */
    buf_u32(&b, 4);
    buf_str(&b, "raw!");
    WORDS(&b, 1, 0, 1, 2, 3);                  /* a branch */
    WORDS(&b, 2, 11, 12, 13);                  /* registers */
    WORDS(&b, 16, 0x5757, 0x5858, 8, 0, 0xda); /* stack, weight, data source */
    struct perfdata_sample s;
    assert_null(perfdata_sample_parse(&e, buf_text(&b), &s));
    assert_int_equal(s.ip, 0x1234);
    assert_int_equal(s.tid, 6);
    assert_int_equal(s.time, 99);
    assert_int_equal(s.period, 1000);
    assert_int_equal(s.n_chain, 1);
    assert_int_equal(perfdata_word(s.chain), 0xcafe);
    assert_int_equal(perfdata_word(s.regs + 16), 13);
    assert_int_equal(s.stack.n, 8);
    assert_int_equal(perfdata_word(s.stack.at), 0x5757);
    for (size_t n = 0; n < b.n - 24; n++) { /* the last three words are not looked at */
        char *exact = mem_strndup(b.at, 0);
        exact = mem_realloc(exact, n + 1);
        memcpy(exact, b.at, n);
        assert_non_null(perfdata_sample_parse(&e, (struct text){exact, n}, &s));
        free(exact);
    }
}

static void a_record_finds_its_event_by_id(void **state)
{
    (void)state;
    uint64_t types[] = {PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
                        PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU};
    for (int i = 0; i < 2; i++) {
        struct perfdata_events es = {0};
        struct perf_event_attr a = attr_of(types[i]);
        for (uint64_t id = 70; id < 72; id++) {
            assert_true(perfdata_events_add(&es, (struct text){(char *)&a, sizeof a}));
            perfdata_events_add_id(&es, id, es.list.n - 1);
        }
        autobuf struct buf sample = {0}, other = {0};
        if (i == 0) {
            WORDS(&sample, 71, 99); /* id, time */
            WORDS(&other, 1, 2, 99, 71);
        } else {
            WORDS(&sample, 99, 71, 3); /* time, id, cpu */
            WORDS(&other, 1, 2, 99, 71, 3);
        }
        struct perfdata_record r = record_of(buf_text(&sample));
        assert_ptr_equal(perfdata_record_event(&es, &r), &es.list.at[1]);
        assert_int_equal(perfdata_record_time(&es, &r), 99);
        r = (struct perfdata_record){PERF_RECORD_LOST, 0, buf_text(&other), 0};
        assert_ptr_equal(perfdata_record_event(&es, &r), &es.list.at[1]);
        assert_int_equal(perfdata_record_time(&es, &r), 99);
        assert_int_equal(r.body.n, 16);
        perfdata_events_done(&es);
    }
}

/* --- labels --- */

static void an_event_is_called_what_it_is(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t config;
        const char *name;
        enum obtained obtained;
    } known[] = {
        {PERF_TYPE_HARDWARE, 0, "cycles", BY_HARDWARE},
        {PERF_TYPE_SOFTWARE, 0, "cpu-clock", BY_SOFTWARE_CLOCK},
        {PERF_TYPE_SOFTWARE, 2, "page-faults", BY_SOFTWARE_EVENT},
        {PERF_TYPE_TRACEPOINT, 314, "tracepoint:314", BY_TRACE},
        {PERF_TYPE_RAW, 0x3c, "raw 0x3c", BY_HARDWARE},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct perfdata_event e = {.attr = {.type = known[i].type, .config = known[i].config}};
        autofree char *name = perfdata_event_name(&e);
        assert_string_equal(name, known[i].name);
        assert_int_equal(perfdata_event_obtained(&e), known[i].obtained);
    }
    struct perfdata_event user = {.attr = {.type = PERF_TYPE_HARDWARE, .exclude_kernel = 1}};
    autofree char *name = perfdata_event_name(&user);
    assert_string_equal(name, "cycles:u");
}

static void an_event_gives_samples_and_time(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    add_sample(&data, 5, 100, 0x400010);
    add_sample(&data, 5, 300, 0x400010);
    struct profile *p = read_data(buf_text(&data));
    assert_int_equal(p->streams.n, 1);
    const struct stream *s = profile_stream(p, 0);
    assert_int_equal(s->n_types, 2);
    assert_int_equal(stream_samples(s), 0);
    assert_int_equal(s->types[0].total, 2);
    assert_int_equal(s->types[1].dimension, DIM_TIME);
    assert_int_equal(s->types[1].total, 2000);
    assert_int_equal(s->obtained, BY_SOFTWARE_CLOCK);
    assert_true(s->rate_hz == 999);
    assert_true(s->lost_known);
    assert_int_equal(s->lost, 0);
    assert_string_equal(meta_find(&p->meta, META_DURATION_NS), "200");
    assert_null(meta_find(&p->meta, META_CUT));
    profile_free(p);
}

/* --- files that are cut, or lie --- */

static void a_killed_recorder_leaves_its_samples(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, file = {0};
    add_sample(&data, 5, 100, 0x400010);
    add_sample(&data, 5, 300, 0x400010);
    make_file(&file, attr_of(BASIC), (struct text){data.at, data.n - 3}, 0);
    struct profile *p = read_file(buf_text(&file));
    assert_int_equal(profile_stream(p, 0)->rows.n, 1);
    assert_non_null(strstr(meta_find(&p->meta, META_CUT), "killed"));
    profile_free(p);
    struct import im;
    struct err err;
    assert_int_equal(try_read(buf_text(&file), true, &im, &p, &err), -1);
    assert_int_equal(err.code, EXIT_FAILS);
    import_done(&im);
}

static void a_file_cut_anywhere_is_told_so(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, file = {0};
    add_mmap(&data, 5, 0x400000, 50, "/nowhere/app");
    for (uint64_t t = 100; t < 105; t++)
        add_sample(&data, 5, t, 0x400010);
    make_file(&file, attr_of(BASIC), buf_text(&data), data.n);
    for (size_t n = 1; n < file.n; n++) {
        struct import im;
        struct err err = {0};
        struct profile *p = NULL;
        if (try_read((struct text){file.at, n}, false, &im, &p, &err) == 0)
            assert_non_null(meta_find(&p->meta, META_CUT));
        else
            assert_int_equal(err.code, EXIT_INPUT);
        import_done(&im);
        profile_free(p);
    }
}

/* One good sample, and something else; how many flaws there were. */
static uint64_t flaws_of(uint32_t type, struct text body)
{
    autobuf struct buf data = {0}, file = {0};
    add_record(&data, type, PERF_RECORD_MISC_USER, body);
    add_sample(&data, 5, 100, 0x400010);
    make_file(&file, attr_of(BASIC), buf_text(&data), data.n);
    struct import im;
    struct err err = {0};
    struct profile *p = NULL;
    assert_int_equal(try_read(buf_text(&file), false, &im, &p, &err), 0);
    assert_int_equal(profile_stream(p, 0)->rows.n, 1);
    uint64_t n = im.skipped;
    import_done(&im);
    profile_free(p);
    return n;
}

static void records_that_lie_are_counted(void **state)
{
    (void)state;
    autobuf struct buf chain = {0}, period = {0}, range = {0};
    WORDS(&chain, 0x400010, ids(5, 5), 90, 1000, UINT64_MAX / 8 + 2, 1);
    WORDS(&period, 0x400010, ids(5, 5), 90, UINT64_MAX, 0);
    WORDS(&range, ids(5, 5), UINT64_MAX, 0x1000, 0, 0x612f, ids(5, 5), 90);
    assert_int_equal(flaws_of(PERF_RECORD_SAMPLE, buf_text(&chain)), 1);
    assert_int_equal(flaws_of(PERF_RECORD_SAMPLE, buf_text(&period)), 1);
    assert_int_equal(flaws_of(PERF_RECORD_MMAP, buf_text(&range)), 1);
    assert_int_equal(flaws_of(PERF_RECORD_COMM, text_of("x")), 1);
    assert_int_equal(flaws_of(PERF_RECORD_FORK, text_of("x")), 1);
    assert_int_equal(flaws_of(COMPRESSED, text_of("this is not zstd")), 1);
    assert_int_equal(flaws_of(PART, text_of("")), 0);
    assert_int_equal(flaws_of(9999, text_of("from the future")), 0);
}

static void a_record_without_size_ends_the_data(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, file = {0};
    add_sample(&data, 5, 100, 0x400010);
    WORDS(&data, 9);
    add_sample(&data, 5, 101, 0x400010);
    make_file(&file, attr_of(BASIC), buf_text(&data), data.n);
    struct profile *p = read_file(buf_text(&file));
    assert_int_equal(profile_stream(p, 0)->rows.n, 1);
    profile_free(p);
}

static void another_byte_order_is_refused_with_a_way_out(void **state)
{
    (void)state;
    struct import im;
    struct err err;
    struct profile *p;
    struct text file = {"2ELIFREP\0\0\0\0\0\0\0\x68", 16};
    assert_int_equal(try_read(file, false, &im, &p, &err), -1);
    assert_int_equal(err.code, EXIT_INPUT);
    assert_non_null(strstr(err.text, "perf script"));
    import_done(&im);
}

/* Forks share what is mapped until one side changes it: a small file must not multiply it. */
static void forks_of_a_large_process_stay_cheap(void **state)
{
    (void)state;
    autobuf struct buf data = {0};
    for (uint64_t i = 0; i < 20000; i++)
        add_mmap(&data, 1, 0x10000000 + 0x2000 * i, 0, "/nowhere/app");
    for (uint32_t pid = 100; pid < 2100; pid++) {
        autobuf struct buf fork = {0};
        WORDS(&fork, ids(pid, 1), ids(pid, 1), 0, ids(pid, pid), 0);
        add_record(&data, PERF_RECORD_FORK, 0, buf_text(&fork));
        add_mmap(&data, pid, 0x1000, 0, "/nowhere/child");
    }
    add_sample(&data, 1, 5, 0x10000010);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    struct profile *p = read_data(buf_text(&data));
    getrusage(RUSAGE_SELF, &after);
    assert_string_equal(leaf_path(p, 0), "/nowhere/app");
    assert_true(after.ru_maxrss - before.ru_maxrss < 400 << 10);
    profile_free(p);
}

/* The pcs of the first row's stack, innermost first; their number. */
static size_t pcs_of(const struct profile *p, uint64_t *ret)
{
    size_t n = 0;
    struct stack_id id = profile_stream(p, 0)->rows.stack[0];
    for (; id.i; id = p->stacks.nodes.at[id.i].parent)
        ret[n++] = profile_frame(p, p->stacks.nodes.at[id.i].frame)->pc;
    return n;
}

static void the_cpus_own_call_stack_is_read(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, body = {0}, file = {0};
    uint64_t pcs[8];
    add_mmap(&data, 1, 0x1000, 1, "/nowhere/app");
    /* ip, ids, time, period | chain: the mark of user code and no more | branches: from to flags */
    WORDS(&body, 0x1108, ids(1, 1), 2, 1000, 1, (uint64_t)PERF_CONTEXT_USER);
    WORDS(&body, 3, 0x1204, 0x1100, 0, 0x1304, 0x1200, 0, 0, 0, 0);
    add_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, buf_text(&body));
    struct perf_event_attr attr = attr_of(BASIC | PERF_SAMPLE_BRANCH_STACK);
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
    make_file(&file, attr, buf_text(&data), data.n);
    struct profile *p = read_file(buf_text(&file));
    assert_int_equal(pcs_of(p, pcs), 3);
    assert_int_equal(pcs[0] - pcs[1], 0x1108 - 0x1204);
    assert_int_equal(pcs[1] - pcs[2], 0x1204 - 0x1304);
    profile_free(p);

    /* Other branches are no call stack. */
    file.n = 0;
    attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
    make_file(&file, attr, buf_text(&data), data.n);
    p = read_file(buf_text(&file));
    assert_int_equal(pcs_of(p, pcs), 1);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapping_counts_from_its_time_on),
        cmocka_unit_test(records_without_a_time_count_at_once),
        cmocka_unit_test(device_and_inode_are_no_build_id),
        cmocka_unit_test(the_same_chain_in_two_processes_is_two_stacks),
        cmocka_unit_test(equal_chains_of_other_addresses_are_two_stacks),
        cmocka_unit_test(many_rings_come_out_in_order),
        cmocka_unit_test(records_of_the_future_hold_no_memory),
        cmocka_unit_test(a_round_releases_what_came_before_the_last),
        cmocka_unit_test(a_huge_round_stays_within_its_memory),
        cmocka_unit_test(a_stack_is_kept_without_its_slack),
        cmocka_unit_test(all_parts_of_a_sample_are_stepped_over),
        cmocka_unit_test(a_record_finds_its_event_by_id),
        cmocka_unit_test(an_event_is_called_what_it_is),
        cmocka_unit_test(an_event_gives_samples_and_time),
        cmocka_unit_test(a_killed_recorder_leaves_its_samples),
        cmocka_unit_test(a_file_cut_anywhere_is_told_so),
        cmocka_unit_test(records_that_lie_are_counted),
        cmocka_unit_test(a_record_without_size_ends_the_data),
        cmocka_unit_test(forks_of_a_large_process_stay_cheap),
        cmocka_unit_test(another_byte_order_is_refused_with_a_way_out),
        cmocka_unit_test(the_cpus_own_call_stack_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
