/* A profile survives its way through a .kelvin file, and damage to the file never invents one. */
#include "wire/recording.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>
#include "support_recording.h"
// clang-format on

static void whole_profile_survives(void **state)
{
    (void)state;
    struct recording_state how;
    struct profile *p = rich(NULL, NULL);
    struct bytes file = write_whole(p), again = write_whole(p);
    assert_int_equal(file.n, again.n);
    assert_memory_equal(file.at, again.at, file.n);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete && !how.trailing && !how.unknown_chunks);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
    free(again.at);
}

static void slices_are_the_whole(void **state)
{
    (void)state;
    struct recording_state how;
    struct sink s;
    sink_open(&s);
    struct profile *p = rich(&s.w, &s.mark);
    must_append(&s.w, p, &s.mark);
    uint64_t before = s.w.bytes;
    must_append(&s.w, p, &s.mark);
    assert_int_equal(s.w.bytes, before); /* no news, no bytes */
    struct bytes file = sink_close(&s, p);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
}

/* More rows than a chunk holds, in every table. */
static void large_tables_are_split(void **state)
{
    (void)state;
    struct recording_state how;
    struct profile *p = profile_new();
    profile_add_stream(p, "", OBTAINED_UNKNOWN);
    profile_add_value(p, 0, "counts", "");
    profile_add_counter(p, "queue", "", (struct process_id){0});
    for (uint32_t i = 0; i < 140000; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i * 7919u);
        struct frame_id f = profile_add_named_frame(p, text_of(name), FRAME_USER);
        add_row(p, 0,
                (struct row){.stack = stacks_intern(&p->stacks, &f, 1),
                             .attrs = attributes(p, i),
                             .has_time = true,
                             .time_ns = i + 1});
        profile_add_process(p, &(struct process){.pid = (int32_t)i});
        profile_add_point(p, 0, i, i % 7);
    }
    struct bytes file = write_whole(p);
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    assert_in_range(how.chunks, 14, 50);
    same_profile(p, q);
    profile_free(p);
    profile_free(q);
    free(file.at);
}

static struct bytes sliced_file(struct profile **ret)
{
    struct sink s;
    sink_open(&s);
    *ret = rich(&s.w, &s.mark);
    return sink_close(&s, *ret);
}

static void cut_anywhere_gives_a_prefix(void **state)
{
    (void)state;
    struct profile *p;
    struct bytes file = sliced_file(&p);
    size_t most = 0;
    for (size_t n = 0; n < file.n; n++) {
        struct recording_state how;
        struct profile *q = read_bytes(file.at, n, &how);
        assert_int_equal(q != NULL, n >= CHUNK_FILE_BYTES);
        if (!q)
            continue;
        assert_false(how.complete);
        assert_true(how.why[0]);
        assert_in_range(profile_count_rows(q), most, profile_count_rows(p));
        most = profile_count_rows(q);
        same_rows_of_all(q, p);
        profile_free(q);
    }
    assert_int_equal(most, profile_count_rows(p));
    profile_free(p);
    free(file.at);
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    struct profile *p;
    struct bytes file = sliced_file(&p);
    for (size_t i = 0; i < 8 * file.n; i++) {
        struct recording_state how;
        file.at[i / 8] ^= (char)(1 << i % 8);
        struct profile *q = read_bytes(file.at, file.n, &how);
        file.at[i / 8] ^= (char)(1 << i % 8);
        if (!q)
            continue;
        assert_false(how.complete);
        same_rows_of_all(q, p);
        profile_free(q);
    }
    profile_free(p);
    free(file.at);
}

static void merging_profile_is_written_once(void **state)
{
    (void)state;
    struct sink s;
    struct err err;
    sink_open(&s);
    struct profile *p = rich(NULL, NULL);
    p->merge_rows = true;
    must_append(&s.w, p, &s.mark);
    assert_int_equal(recording_append(&s.w, p, &s.mark, &err), -1);
    p->merge_rows = false;
    free(sink_close(&s, p).at);
    profile_free(p);
}

/* --- size --- */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Small numbers are likelier, as hot code is. */
static uint32_t skewed(uint64_t *x, uint32_t n)
{
    uint64_t a = next_random(x) % n, b = next_random(x) % n;
    return (uint32_t)(a * b / n);
}

/* One sample of a program with 4000 functions: a shared trunk, then a branchy end. */
static void sample_program(struct profile *p, struct mapping_id map, uint64_t *x, uint64_t *now)
{
    struct frame_id chain[64];
    uint32_t depth = 12 + skewed(x, 40), path = skewed(x, 300);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t function = i < depth - 3 ? (path * 31 + i * 17) % 4000 : skewed(x, 4000);
        uint32_t place = i < depth - 1 ? path % 5 : skewed(x, 40);
        chain[i] = address_frame(p, map, 0x555555554000 + function * 512 + place * 7);
    }
    struct thread_key t = {{0}, 4000, (int32_t)(4000 + skewed(x, 8))};
    int64_t values[] = {1, 1001001 + (int64_t)(next_random(x) % 30000)};
    *now += 1001001 - 20000 + next_random(x) % 40000;
    struct row r = {.stack = stacks_intern(&p->stacks, chain, depth),
                    .thread = profile_add_thread(p, &t),
                    .has_time = true,
                    .time_ns = *now,
                    .values = values};
    struct err err;
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
}

static void a_second_of_samples_is_small(void **state)
{
    (void)state;
    struct sink s;
    uint64_t x = 88172645463325252u, now = 1700000000000000000u, after_first = 0;
    struct profile *p = profile_new();
    struct mapping m = {str(p, "/usr/bin/program"), str(p, "00ff"), 0x555555554000, 1ull << 47, 0};
    struct mapping_id map = profile_add_mapping(p, &m);
    profile_add_stream(p, "cycles", BY_HARDWARE);
    profile_add_value(p, 0, "samples", "count");
    profile_add_value(p, 0, "cycles", "count");
    sink_open(&s);
    for (int second = 0; second < 60; second++) {
        for (int i = 0; i < 999; i++)
            sample_program(p, map, &x, &now);
        must_append(&s.w, p, &s.mark);
        profile_forget_rows(p); /* as the recorder does */
        if (second == 0)
            after_first = s.w.bytes;
    }
    double each = (double)(s.w.bytes - after_first) / (59 * 999);
    print_message("%.1f bytes a sample, %zu stacks, %zu frames\n", each, p->stacks.nodes.n,
                  p->frames.n);
    assert_true(each <= 32);
    struct bytes file = sink_close(&s, p);
    struct recording_state how;
    struct profile *q = read_bytes(file.at, file.n, &how);
    assert_true(how.complete);
    assert_int_equal(profile_stream(q, 0)->rows.n, 60 * 999);
    profile_free(q);
    free(file.at);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_profile_survives),
        cmocka_unit_test(slices_are_the_whole),
        cmocka_unit_test(large_tables_are_split),
        cmocka_unit_test(cut_anywhere_gives_a_prefix),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(merging_profile_is_written_once),
        cmocka_unit_test(a_second_of_samples_is_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
