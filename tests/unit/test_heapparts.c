/* The story of a part of a heap (some processes or threads), and the growth of a sampled one. */
#include "analysis/heapstory.h"

#include "model/event.h"
#include "model/meta.h"
#include "view/heapstory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

enum { MIB = 1 << 20 };

struct part_row {
    const char *thread; /* of the process with the same number */
    int32_t pid;
    uint64_t time_ms;
    int64_t allocated, freed, leaked, peak, samples;
};

static struct profile *new_parts(bool sampled)
{
    static const char *const names[] = {"allocated", "freed", "leaked", "peak"};
    struct profile *p = profile_new();
    int stream = profile_add_stream(p, "heap", event_obtained(text_of("heap")));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        profile_add_value(p, stream, names[i], "bytes");
    if (sampled)
        profile_add_value(p, stream, "samples", "count");
    return p;
}

static void part_took(struct profile *p, const struct part_row *r)
{
    struct err err;
    struct thread_key t = {profile_add_str(p, text_of(r->thread)), r->pid, r->pid};
    int64_t values[] = {r->allocated, r->freed, r->leaked, r->peak, r->samples, r->samples};
    struct stack_id stack = stacks_push(&p->stacks, (struct stack_id){0},
                                        profile_add_named_frame(p, text_of("fill"), FRAME_USER));
    struct row row = {.stack = stack,
                      .thread = profile_add_thread(p, &t),
                      .has_time = true,
                      .time_ns = (1000 + r->time_ms) * 1000000,
                      .values = values};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

/* "server" has most when "job" is gone, "job" has most when "server" has least. */
static struct profile *two_processes(void)
{
    struct profile *p = new_parts(false);
    part_took(p, &(struct part_row){"job", 2, 120, .peak = 750}); /* when all held most */
    part_took(p, &(struct part_row){"server", 1, 0, .allocated = 100});
    part_took(p, &(struct part_row){"job", 2, 100, .allocated = 900, .freed = 200});
    part_took(p, &(struct part_row){"job", 2, 250, .leaked = 600}); /* its end, written first */
    part_took(p, &(struct part_row){"job", 2, 200, .freed = 100});
    part_took(p, &(struct part_row){"server", 1, 300, .allocated = 400});
    part_took(p, &(struct part_row){"server", 1, 400, .freed = 300, .leaked = 200});
    part_took(p, &(struct part_row){"server", 1, 120, .peak = 100});
    return p;
}

#define ONLY(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void build_part(struct heapstory *s, const struct profile *p,
                       const struct selection_opts *only)
{
    struct err err;
    assert_int_equal(heapstory_build(s, p, &(struct heapstory_opts){.only = only}, &err), 0);
}

static void a_process_has_its_own_sums_and_peak(void **state)
{
    struct profile *p = two_processes();
    struct selection_opts job = {.processes = ONLY("job")};
    struct heapstory s;
    (void)state;
    build_part(&s, p, &job);
    assert_string_equal(s.selected, "process job");
    assert_int_equal(s.value[STORY_ALLOCATED], 900);
    assert_int_equal(s.value[STORY_LEAKED], 600);
    assert_int_equal(s.value[STORY_PEAK], 750); /* inside of a slice */
    assert_int_equal(s.most_held, 750);
    assert_int_equal(s.whole_peak, 850);
    const struct counter_point *end = &s.live->points.at[s.live->points.n - 1];
    assert_true(end->time_ns == s.end_ns && end->value == 0); /* the chart goes on to its end */
    heapstory_done(&s);

    struct selection_opts server = {.threads = ONLY("server")};
    build_part(&s, p, &server);
    assert_int_equal(s.value[STORY_PEAK], 100);
    assert_int_equal(s.most_held, 500);
    assert_int_equal((s.most_held_ns - s.start_ns) / 1000000, 400); /* the end of that slice */
    assert_ptr_equal(s.live, s.part_live);
    for (size_t i = 0; i < s.live->points.n; i++) {
        const struct counter_point *at = &s.live->points.at[i];
        uint64_t ms = (at->time_ns - s.start_ns) / 1000000;
        assert_true(i == 0 || at->time_ns >= at[-1].time_ns);
        if (ms == 300)
            assert_int_equal(at->value, 100); /* until then it held what it had */
        if (ms == 400 && i + 1 < s.live->points.n)
            assert_int_equal(at->value, 500);
    }
    heapstory_done(&s);

    struct selection_opts nobody = {.processes = ONLY("nobody")};
    struct err err;
    assert_int_equal(heapstory_build(&s, p, &(struct heapstory_opts){.only = &nobody}, &err), -1);
    assert_non_null(strstr(err.text, "no process matches 'nobody'"));
    heapstory_done(&s);
    profile_free(p);
}

static void a_process_grows_by_itself_in_a_range(void **state)
{
    struct profile *p = two_processes();
    struct selection_opts server = {.processes = ONLY("server")};
    struct heapstory s;
    struct err err;
    (void)state;
    build_part(&s, p, &server);
    assert_int_equal(heapstory_between(&s, "0.05..0.35", &err), 0);
    assert_int_equal(s.held_from, 100);
    assert_int_equal(s.held_to, 500);
    heapstory_done(&s);
    profile_free(p);
}

/* --- growth of a sampled heap --- */

/* STEP bytes more in each twentieth of ten seconds, known from samples of a MiB on average. */
static struct profile *sampled_growth(int64_t step)
{
    struct profile *p = new_parts(true);
    for (uint64_t i = 0; i < STORY_TIMES; i++)
        part_took(p, &(struct part_row){"app", 1, i * 500 + 250 * (i > 0), step, .samples = 2});
    part_took(p, &(struct part_row){"app", 1, 10000, .freed = 1, .peak = 20 * step});
    meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, MIB);
    return p;
}

/* Nine steps are what the second half grows by: ten samples' worth may be chance. */
static void growth_of_a_sampled_heap_is_told_beyond_ten_samples(void **state)
{
    uint32_t top;
    (void)state;
    for (int sure = 0; sure < 2; sure++) {
        struct profile *p = sampled_growth(10 * MIB / 9 + sure);
        struct heapstory s;
        build_part(&s, p, NULL);
        assert_int_equal(s.sample_bytes, MIB);
        assert_int_equal(heapstory_growing(&s, &top, 1), sure);
        assert_int_equal(s.insights.at.n > 0, sure);
        if (sure)
            assert_non_null(strstr(s.insights.at.at[0].text, "(estimated from samples)"));
        heapstory_done(&s);
        profile_free(p);
    }
}

/* "RSS reached 123 MiB, less than the heap", whose peak is 123 MiB, would contradict itself. */
static void rss_that_looks_the_same_is_not_called_less(void **state)
{
    (void)state;
    struct profile *p = new_parts(false);
    struct heapstory s;
    char *text = NULL;
    size_t n;
    part_took(p, &(struct part_row){"app", 1, 0, 123 * MIB, .peak = 123 * MIB});
    int counter = profile_add_counter(p, "RSS", "bytes", (struct process_id){0});
    profile_add_point(p, counter, 1000000000, 123 * MIB - 4096);
    build_part(&s, p, NULL);
    FILE *out = open_memstream(&text, &n);
    heapstory_print(out, &(struct heapstory_view){&s, "x", 1},
                    &(struct document_paper){.width = 200});
    fclose(out);
    if (!strstr(text, "RSS reached 123 MiB, about as much as the heap."))
        fail_msg("%s", text);
    free(text);
    heapstory_done(&s);
    profile_free(p);
}

/* --- RSS beside an estimate --- */

/* One sample of a MiB is between 26 KB and 5.8 MB: 512 KiB of RSS prove nothing, 16 KiB do. */
static void rss_within_the_interval_of_an_estimate_is_said_to_be(void **state)
{
    static const struct {
        int64_t rss;
        const char *words;
    } cases[] = {
        {MIB / 2, "RSS reached 512 KiB, below the estimated peak but within its interval."},
        {16384, "RSS reached 16 KiB, less than the heap"},
        {2 * MIB, "RSS reached 2 MiB; the heap is part of it."}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = new_parts(true);
        struct heapstory s;
        char *text = NULL;
        size_t n;
        profile_add_value(p, 0, "peak_samples", "count");
        part_took(p, &(struct part_row){"app", 1, 0, MIB, .peak = MIB, .samples = 1});
        int counter = profile_add_counter(p, "RSS", "bytes", (struct process_id){0});
        profile_add_point(p, counter, 1000000000, cases[i].rss);
        meta_set_u64(&p->meta, META_HEAP_SAMPLE_BYTES, MIB);
        build_part(&s, p, NULL);
        FILE *out = open_memstream(&text, &n);
        heapstory_print(out, &(struct heapstory_view){&s, "x", 1},
                        &(struct document_paper){.width = 200});
        fclose(out);
        if (!strstr(text, cases[i].words))
            fail_msg("'%s' is not in:\n%s", cases[i].words, text);
        free(text);
        heapstory_done(&s);
        profile_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_its_own_sums_and_peak),
        cmocka_unit_test(a_process_grows_by_itself_in_a_range),
        cmocka_unit_test(growth_of_a_sampled_heap_is_told_beyond_ten_samples),
        cmocka_unit_test(rss_within_the_interval_of_an_estimate_is_said_to_be),
        cmocka_unit_test(rss_that_looks_the_same_is_not_called_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
