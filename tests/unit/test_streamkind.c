/*
 * What streams and columns are, asked of the model: by kind, not by name.
 */
#include "analysis/scopetree.h"
#include "model/heapstream.h"
#include "model/quantity.h"
#include "model/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_stream_that_is_added_by_its_kind_is_found_by_it(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    for (int i = STREAM_OTHER + 1; i < STREAM_KINDS; i++)
        assert_int_equal(stream_kind_find(p, (enum stream_kind)i), -1);
    for (int i = STREAM_OTHER + 1; i < STREAM_KINDS; i++)
        assert_int_equal(stream_kind_add(p, (enum stream_kind)i, BY_TRACE), i);
    for (int i = STREAM_OTHER; i < STREAM_KINDS; i++) {
        assert_int_equal(stream_kind_find(p, (enum stream_kind)i), i);
        assert_int_equal(stream_kind_of(p, profile_stream(p, i)), i);
    }
    assert_string_equal(stream_kind_event(STREAM_OTHER), "");
    profile_free(p);
}

static void the_first_of_two_streams_of_a_kind_is_found(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    profile_add_stream(p, "", BY_TRACE);
    stream_kind_add(p, STREAM_LOCKS, BY_TRACE);
    stream_kind_add(p, STREAM_LOCKS, BY_TRACE);
    assert_int_equal(stream_kind_find(p, STREAM_LOCKS), 1);
    assert_int_equal(stream_kind_of(p, profile_stream(p, 0)), STREAM_OTHER);
    profile_free(p);
}

/* Massif knows what was held, LeakSanitizer what leaked: each in a stream of its own. */
static void a_column_of_the_heap_is_found_in_the_stream_that_has_it(void **state)
{
    (void)state;
    struct value_ref found;
    struct profile *p = profile_new();
    int other = profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, other, "leaked", UNIT_BYTES); /* of no heap */
    int massif = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT);
    heapstream_add_column(p, massif, HEAP_PEAK);
    int leaks = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT);
    heapstream_add_column(p, leaks, HEAP_LEAKED_BLOCKS);
    heapstream_add_column(p, leaks, HEAP_LEAKED);
    assert_true(heapstream_find(p, HEAP_PEAK, &found));
    assert_int_equal(found.stream, massif);
    assert_int_equal(found.type, 0);
    assert_true(heapstream_find(p, HEAP_LEAKED, &found));
    assert_int_equal(found.stream, leaks);
    assert_int_equal(found.type, 1);
    assert_false(heapstream_find(p, HEAP_ALLOCATED, &found));
    profile_free(p);
}

static void every_column_of_the_heap_is_told_apart(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int heap = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT);
    for (int i = 0; i < HEAP_COLUMNS; i++)
        assert_int_equal(heapstream_add_column(p, heap, (enum heap_column)i), i);
    int more = profile_add_value(p, heap, "lifetime", "instr");
    for (int i = 0; i < HEAP_COLUMNS; i++) {
        assert_int_equal(heapstream_find_column(p, heap, (enum heap_column)i), i);
        assert_int_equal(heapstream_column_of(p, (struct value_ref){heap, i}), i);
    }
    assert_int_equal(heapstream_column_of(p, (struct value_ref){heap, more}), HEAP_COLUMNS);
    int other = profile_add_stream(p, "copy", BY_EXACT_COUNT);
    heapstream_add_column(p, other, HEAP_ALLOCATED);
    assert_int_equal(heapstream_column_of(p, (struct value_ref){other, 0}), HEAP_COLUMNS);
    profile_free(p);
}

static void bytes_and_blocks_of_the_heap_have_their_dimension(void **state)
{
    (void)state;
    static const enum heap_column bytes[] = {HEAP_ALLOCATED, HEAP_FREED, HEAP_LEAKED, HEAP_PEAK};
    struct profile *p = profile_new();
    int heap = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT);
    for (int i = 0; i < HEAP_COLUMNS; i++) {
        bool is_bytes = false;
        for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
            is_bytes |= (int)bytes[k] == i;
        heapstream_add_column(p, heap, (enum heap_column)i);
        assert_int_equal(profile_stream(p, heap)->types[i].dimension,
                         is_bytes ? DIM_BYTES : DIM_COUNT);
    }
    profile_free(p);
}

static void counters_of_the_heap_are_told_apart(void **state)
{
    (void)state;
    struct process_id nobody = {0};
    struct profile *p = profile_new();
    int queue = profile_add_counter(p, "queue", "", nobody);
    for (int i = 0; i < HEAP_COUNTERS; i++) {
        int counter = heapstream_add_counter(p, (enum heap_counter)i, nobody);
        assert_int_equal(heapstream_counter_of(p, &p->counters.at[counter]), i);
    }
    assert_int_equal(heapstream_counter_of(p, &p->counters.at[queue]), HEAP_COUNTERS);
    profile_free(p);
}

static void instructions_of_a_simulator_are_found_in_any_stream(void **state)
{
    (void)state;
    struct value_ref found;
    struct profile *p = profile_new();
    int other = profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, other, VALUE_SAMPLES, UNIT_COUNT);
    assert_false(simulated_pick(p, SIMULATED_INSTRUCTIONS, &found));
    int simulated = profile_add_stream(p, "", BY_SIMULATION);
    profile_add_value(p, simulated, "Dr", UNIT_COUNT);
    profile_add_value(p, simulated, "Ir", UNIT_COUNT);
    assert_true(simulated_pick(p, SIMULATED_INSTRUCTIONS, &found));
    assert_int_equal(found.stream, simulated);
    assert_int_equal(found.type, 1);
    assert_false(simulated_pick(p, SIMULATED_WRITES, &found));
    profile_free(p);
}

static int add_span(struct profile *p, int stream)
{
    struct err err;
    int64_t values[] = {1, 5};
    struct frame_id frame = profile_add_named_frame(p, text_of("request"), FRAME_USER);
    struct row row = {.stack = stacks_push(&p->stacks, (struct stack_id){0}, frame),
                      .has_time = true,
                      .duration_ns = 5,
                      .values = values};
    return profile_add_row(p, stream, &row, &err);
}

/* A stream of that name without durations has no spans. */
static void self_times_of_scopes_are_found_by_their_dimension(void **state)
{
    (void)state;
    struct value_ref found;
    struct profile *p = profile_new();
    int counted = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
    profile_add_value(p, counted, "spans", UNIT_COUNT);
    assert_false(scopetree_find(p, &found));
    int spans = stream_kind_add(p, STREAM_SCOPES, BY_TRACE);
    profile_add_value(p, spans, "spans", UNIT_COUNT);
    profile_add_value(p, spans, "self", UNIT_TIME);
    assert_int_equal(add_span(p, spans), 0);
    assert_true(scopetree_find(p, &found));
    assert_int_equal(found.stream, spans);
    assert_int_equal(found.type, 1);
    profile_free(p);
}

static void a_column_that_one_stream_has_chooses_it(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    int clock = profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    int faults = profile_add_stream(p, "page-faults", BY_SOFTWARE_EVENT);
    profile_add_value(p, clock, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, clock, "cpu", UNIT_TIME);
    profile_add_value(p, faults, VALUE_SAMPLES, UNIT_COUNT);
    assert_true(profile_value_chooses(p, "cpu", profile_stream(p, clock)));
    assert_false(profile_value_chooses(p, "cpu", profile_stream(p, faults)));
    assert_false(profile_value_chooses(p, VALUE_SAMPLES, profile_stream(p, clock)));
    assert_false(profile_value_chooses(p, "wall", profile_stream(p, clock)));
    profile_free(p);
}

static void values_are_printed_as_what_they_count(void **state)
{
    (void)state;
    assert_int_equal(dimension_scaled(DIM_TIME), SCALED_NS);
    assert_int_equal(dimension_scaled(DIM_BYTES), SCALED_BYTES);
    assert_int_equal(dimension_scaled(DIM_COUNT), SCALED_COUNT);
    assert_int_equal(dimension_scaled(DIM_OTHER), SCALED_COUNT);
    assert_int_equal(measure_scaled(MEASURE_CPU), SCALED_NS);
    assert_int_equal(measure_scaled(MEASURE_PEAK_RSS), SCALED_BYTES);
    assert_int_equal(measure_scaled(MEASURE_INSTRUCTIONS), SCALED_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_printed_as_what_they_count),
        cmocka_unit_test(a_stream_that_is_added_by_its_kind_is_found_by_it),
        cmocka_unit_test(the_first_of_two_streams_of_a_kind_is_found),
        cmocka_unit_test(a_column_of_the_heap_is_found_in_the_stream_that_has_it),
        cmocka_unit_test(every_column_of_the_heap_is_told_apart),
        cmocka_unit_test(bytes_and_blocks_of_the_heap_have_their_dimension),
        cmocka_unit_test(counters_of_the_heap_are_told_apart),
        cmocka_unit_test(instructions_of_a_simulator_are_found_in_any_stream),
        cmocka_unit_test(self_times_of_scopes_are_found_by_their_dimension),
        cmocka_unit_test(a_column_that_one_stream_has_chooses_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
