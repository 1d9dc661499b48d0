/* test_perfdata_events.c - perf.data files with several events: each is a stream of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support_perfdata.h"

enum { EVENTS_MAX = 4, ID = 70 };

/* The words about id and time that end records, and start samples. */
#define WITH_ID (BASIC | PERF_SAMPLE_IDENTIFIER)

static struct perf_event_attr event_attr(uint32_t type, uint64_t config)
{
    struct perf_event_attr a = attr_of(WITH_ID);
    a.type = type;
    a.config = config;
    return a;
}

/* A pipe, in which event I has the id ID + I; N names, if any, stand at its end. */
static struct profile *read_events(const struct perf_event_attr *attrs, size_t n, struct text data,
                                   const char *const *names)
{
    autobuf struct buf file = {0};
    buf_str(&file, "PERFILE2");
    WORDS(&file, 16);
    for (size_t i = 0; i < n; i++) {
        autobuf struct buf body = {0};
        char raw[128] = "";
        memcpy(raw, &attrs[i], sizeof attrs[i] < sizeof raw ? sizeof attrs[i] : sizeof raw);
        buf_add(&body, raw, sizeof raw);
        WORDS(&body, ID + i);
        add_record(&file, 64, 0, buf_text(&body));
    }
    buf_add(&file, data.at, data.n);
    for (size_t i = 0; names && i < n; i++) {
        autobuf struct buf body = {0};
        char padded[32] = "";
        snprintf(padded, sizeof padded, "%s", names[i]);
        WORDS(&body, 2, ID + i);
        buf_add(&body, padded, sizeof padded);
        add_record(&file, UPDATE, 0, buf_text(&body));
    }
    return read_file(buf_text(&file));
}

static void add_event_sample(struct buf *b, size_t event, uint64_t time, uint64_t period)
{
    autobuf struct buf body = {0};
    WORDS(&body, ID + event, 0x400010, ids(5, 5), time, period, 2, (uint64_t)PERF_CONTEXT_USER,
          0x400010);
    add_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, buf_text(&body));
}

static const char *event_name(const struct profile *p, int stream)
{
    return profile_str(p, profile_stream(p, stream)->event).at;
}

static void each_event_has_a_stream_and_the_files_first_is_shown_first(void **state)
{
    (void)state;
    const struct perf_event_attr attrs[] = {
        event_attr(PERF_TYPE_HARDWARE, 1), event_attr(PERF_TYPE_SOFTWARE, 9), /* dummy */
        event_attr(PERF_TYPE_SOFTWARE, 2), event_attr(PERF_TYPE_TRACEPOINT, 314)};
    static const char *const names[] = {"instructions:u", "dummy:u", "page-faults:u",
                                        "sched:sched_switch"};
    autobuf struct buf data = {0};
    add_event_sample(&data, 3, 100, 1);
    add_event_sample(&data, 2, 200, 1);
    add_event_sample(&data, 0, 300, 5000);
    add_event_sample(&data, 0, 400, 6000);
    struct profile *p = read_events(attrs, 4, buf_text(&data), names);
    assert_int_equal(p->streams.n, 3);
    assert_int_equal(p->default_value.stream, 0);
    assert_string_equal(event_name(p, 0), "instructions:u");
    assert_string_equal(event_name(p, 1), "page-faults:u");
    assert_string_equal(event_name(p, 2), "sched:sched_switch");
    static const enum obtained ways[] = {BY_HARDWARE, BY_SOFTWARE_EVENT, BY_TRACE};
    static const size_t rows[] = {2, 1, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(profile_stream(p, i)->obtained, ways[i]);
        assert_int_equal(profile_stream(p, i)->rows.n, rows[i]);
        assert_int_equal(profile_stream(p, i)->n_types, 2);
    }
    assert_int_equal(profile_stream(p, 0)->types[1].total, 11000);
    assert_string_equal(profile_str(p, profile_stream(p, 0)->types[1].name).at, "instructions");
    profile_free(p);
}

static void losses_belong_to_their_event(void **state)
{
    (void)state;
    const struct perf_event_attr attrs[] = {event_attr(PERF_TYPE_HARDWARE, 1),
                                            event_attr(PERF_TYPE_SOFTWARE, 2),
                                            event_attr(PERF_TYPE_SOFTWARE, 3)};
    autobuf struct buf data = {0}, lost = {0}, samples = {0}, unseen = {0}, stop = {0};
    add_event_sample(&data, 0, 100, 1);
    add_event_sample(&data, 1, 200, 1);
    WORDS(&lost, ID + 1, 7, ids(5, 5), 210, ID + 1);
    WORDS(&samples, 20, ids(5, 5), 220, ID + 1);
    WORDS(&unseen, ID + 2, 3, ids(5, 5), 210, ID + 2); /* it has no sample */
    WORDS(&stop, 230, ID + 1, 0, ids(5, 5), 230, ID + 1);
    add_record(&data, PERF_RECORD_LOST, 0, buf_text(&lost));
    add_record(&data, PERF_RECORD_LOST_SAMPLES, 0, buf_text(&samples));
    add_record(&data, PERF_RECORD_LOST, 0, buf_text(&unseen));
    add_record(&data, PERF_RECORD_THROTTLE, 0, buf_text(&stop));
    struct profile *p = read_events(attrs, 3, buf_text(&data), NULL);
    assert_int_equal(p->streams.n, 2);
    assert_int_equal(profile_stream(p, 0)->lost, 3);
    assert_int_equal(profile_stream(p, 1)->lost, 27);
    assert_int_equal(profile_stream(p, 0)->throttled, 0);
    assert_int_equal(profile_stream(p, 1)->throttled, 1);
    profile_free(p);
}

/* A sample of the leader with what all members of its group had reached. */
static void add_group_sample(struct buf *b, uint64_t time, uint64_t first, uint64_t second)
{
    autobuf struct buf body = {0};
    WORDS(&body, ID, 0x400010, ids(5, 5), time, 999, 2, first, ID, second, ID + 1, 2,
          (uint64_t)PERF_CONTEXT_USER, 0x400010);
    add_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, buf_text(&body));
}

static void members_of_a_group_have_their_own_values(void **state)
{
    (void)state;
    struct perf_event_attr attrs[] = {event_attr(PERF_TYPE_HARDWARE, 0),
                                      event_attr(PERF_TYPE_HARDWARE, 1)};
    for (size_t i = 0; i < 2; i++) {
        attrs[i].sample_type |= PERF_SAMPLE_READ;
        attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    }
    autobuf struct buf data = {0};
    add_group_sample(&data, 100, 1000, 300);
    add_group_sample(&data, 200, 2500, 300); /* the second stood still */
    add_group_sample(&data, 300, 2600, 900);
    struct profile *p = read_events(attrs, 2, buf_text(&data), NULL);
    assert_int_equal(p->streams.n, 2);
    const struct stream *leader = profile_stream(p, 0), *member = profile_stream(p, 1);
    assert_int_equal(leader->rows.n, 3);
    assert_int_equal(leader->rows.value[1][0], 1000);
    assert_int_equal(leader->rows.value[1][1], 1500);
    assert_int_equal(leader->rows.value[1][2], 100);
    assert_int_equal(member->rows.n, 2);
    assert_int_equal(member->rows.value[1][0], 300);
    assert_int_equal(member->rows.value[1][1], 600);
    assert_int_equal(member->rows.time_ns[1], 300);
    assert_int_equal(member->rows.stack[0].i, leader->rows.stack[0].i);
    profile_free(p);
}

/* Two threads' group of which the kernel let other counters have a part of the time. */
static void counters_that_took_turns_are_told(void **state)
{
    (void)state;
    struct perf_event_attr attrs[] = {event_attr(PERF_TYPE_HARDWARE, 0),
                                      event_attr(PERF_TYPE_HARDWARE, 1)};
    for (size_t i = 0; i < 2; i++) {
        attrs[i].sample_type |= PERF_SAMPLE_READ;
        attrs[i].inherit = 1;
        attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
                               PERF_FORMAT_TOTAL_TIME_RUNNING;
    }
    autobuf struct buf data = {0};
    for (uint32_t i = 1; i <= 4; i++) {
        autobuf struct buf body = {0};
        uint32_t tid = 5 + i % 2;
        WORDS(&body, ID, 0x400010, ids(5, tid), 100 * i, 999, 2, 1000 * i, 620 * i, 10 * i, ID,
              5 * i, ID + 1, 2, (uint64_t)PERF_CONTEXT_USER, 0x400010);
        add_record(&data, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, buf_text(&body));
    }
    struct profile *p = read_events(attrs, 2, buf_text(&data), NULL);
    const char *running = meta_find(&p->meta, META_RUNNING);
    assert_non_null(running);
    assert_string_equal(running, "cycles 62% of the time, instructions 62% of the time");
    assert_int_equal(profile_stream(p, 1)->types[1].total, 35); /* 20 and 15: of each thread */
    profile_free(p);
}

static void cores_of_a_hybrid_cpu_are_summed(void **state)
{
    (void)state;
    /* by the attr, whose upper half says which kind of core; and only by the names */
    const struct perf_event_attr attrs[][2] = {
        {event_attr(PERF_TYPE_HARDWARE, 4ull << 32), event_attr(PERF_TYPE_HARDWARE, 10ull << 32)},
        {event_attr(PERF_TYPE_RAW, 0x3c), event_attr(10, 0x3c)}};
    static const char *const names[] = {"cpu_core/cycles/u", "cpu_atom/cycles/Pu"};
    for (size_t i = 0; i < 2; i++) {
        autobuf struct buf data = {0};
        add_event_sample(&data, 1, 100, 10);
        add_event_sample(&data, 0, 200, 500);
        struct profile *p = read_events(attrs[i], 2, buf_text(&data), i ? names : NULL);
        assert_int_equal(p->streams.n, 1);
        assert_string_equal(event_name(p, 0), i ? "cycles:u" : "cycles");
        assert_int_equal(profile_stream(p, 0)->obtained, BY_HARDWARE);
        assert_int_equal(profile_stream(p, 0)->rows.n, 2);
        assert_int_equal(profile_stream(p, 0)->types[0].total, 2);
        assert_int_equal(profile_stream(p, 0)->types[1].total, 510);
        for (size_t k = 0; i && k < 2; k++) {
            const struct rows *rows = &profile_stream(p, 0)->rows;
            const struct attr_node *n = &p->attrs.nodes.at[rows->attrs[k].i];
            assert_true(text_is(profile_str(p, n->attr.key), CORE_KEY));
            assert_true(text_is(profile_str(p, n->attr.text),
                                rows->time_ns[k] == 100 ? "cpu_atom" : "cpu_core"));
        }
        profile_free(p);
    }
}

static void processes_have_times_and_parents(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, fork = {0}, end = {0};
    add_comm(&data, 5, 0, "shell");
    WORDS(&fork, ids(9, 5), ids(9, 5), 100, ids(5, 5), 100);
    add_record(&data, PERF_RECORD_FORK, 0, buf_text(&fork));
    add_sample(&data, 9, 200, 0x400010);
    WORDS(&end, ids(9, 5), ids(9, 5), 300, ids(9, 9), 300);
    add_record(&data, PERF_RECORD_EXIT, 0, buf_text(&end));
    struct profile *p = read_data(buf_text(&data));
    const struct thread *t = &p->threads.at[profile_stream(p, 0)->rows.thread[0].i];
    const struct process *child = &p->processes.at[t->process.i];
    assert_int_equal(child->pid, 9);
    assert_int_equal(child->start_ns, 100);
    assert_int_equal(child->end_ns, 300);
    assert_int_equal(p->processes.at[child->parent.i].pid, 5);
    profile_free(p);
}

static void both_clocks_are_known_if_told(void **state)
{
    (void)state;
    autobuf struct buf data = {0}, part = {0};
    add_sample(&data, 5, 100, 0x400010);
    WORDS(&part, 29, 1ull << 32 | 1, 1700000000000000000, 5000); /* version 1, CLOCK_MONOTONIC */
    add_record(&data, PART, 0, buf_text(&part));
    struct profile *p = read_data(buf_text(&data));
    assert_int_equal(p->clock.monotonic_ns, 5000);
    assert_int_equal(p->clock.wall_ns, 1700000000000000000);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_event_has_a_stream_and_the_files_first_is_shown_first),
        cmocka_unit_test(losses_belong_to_their_event),
        cmocka_unit_test(members_of_a_group_have_their_own_values),
        cmocka_unit_test(counters_that_took_turns_are_told),
        cmocka_unit_test(cores_of_a_hybrid_cpu_are_summed),
        cmocka_unit_test(processes_have_times_and_parents),
        cmocka_unit_test(both_clocks_are_known_if_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
