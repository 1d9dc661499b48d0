/*
 * Hash tables whose keys come from files: nobody can choose keys that all meet.
 */
#include "base/intern.h"
#include "model/profile.h"

// clang-format off
#include <setjmp.h>
#include <cmocka.h>

#include "support.h"
// clang-format on

enum { N = 20000 };

/* Slots that are looked at to find every key again, were they added in turn. */
static size_t steps(const uint32_t *hashes)
{
    struct idmap map = {0};
    size_t all = 0;
    for (uint32_t i = 0; i < N; i++)
        idmap_add(&map, hashes[i], i);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t at = hashes[i]; map.slots[at & map.mask].id_plus_1 != i + 1; at++)
            all++;
    idmap_done(&map);
    return all;
}

/* The inverse of an odd number modulo 2^64. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++)
        x *= 2 - odd * x;
    return x;
}

/*
 * Numbers that all have one hash where both words are multiplied by known constants, as anyone
 * can work out who reads the source.
 */
static void numbers_chosen_to_meet_do_not(void **state)
{
    (void)state;
    static uint32_t hashes[N];
    uint64_t first = inverse(0x9e3779b97f4a7c15u), last = inverse(0xd6e8feb86659fd93u);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t x = (12345ull << 32 | i) * last;
        x = (x ^ x >> 32) * first;
        hashes[i] = hash_pair((uint32_t)(x >> 32), (uint32_t)x);
    }
    assert_true(steps(hashes) < 100 * N);
}

static void plain_numbers_spread(void **state)
{
    (void)state;
    static uint32_t hashes[N];
    for (uint32_t step = 1; step <= 1 << 16; step *= 2) {
        for (uint32_t i = 0; i < N; i++)
            hashes[i] = hash_pair(i * step, 0);
        assert_true(steps(hashes) < 100 * N);
        for (uint32_t i = 0; i < N; i++)
            hashes[i] = hash_pair(7, i * step);
        assert_true(steps(hashes) < 100 * N);
    }
}

/* Whatever the lines of frames are, no two of them are one number for certain. */
static void frames_of_chosen_lines_do_not_meet(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    for (uint32_t i = 0; i < N; i++) {
        struct line line = {.line = i, .column = 31 * (N - i)};
        struct frame_key key = {.lines = &line, .n_lines = 1};
        assert_int_equal(profile_add_frame(p, &key).i, i);
    }
    size_t longest = 0, run = 0;
    for (uint32_t i = 0; i <= p->frame_map.mask; i++) {
        run = p->frame_map.slots[i].id_plus_1 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_true(longest < 2000);
    profile_free(p);
}

/* A second process must not know the first one's secrets. */
static void every_process_has_its_own_seeds(void **state)
{
    const char *self = *state;
    char theirs[40] = "", ours[40];
    snprintf(ours, sizeof ours, "%016llx", (unsigned long long)hash_seeds[0]);
    autofree char *line = mem_printf("'%s' --print-seed", self);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_non_null(fgets(theirs, sizeof theirs, f));
    pclose(f);
    assert_int_equal(strlen(theirs), 16);
    assert_string_not_equal(theirs, ours);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print-seed") == 0)
        return printf("%016llx", (unsigned long long)hash_seeds[0]) != 16;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_chosen_to_meet_do_not),
        cmocka_unit_test(plain_numbers_spread),
        cmocka_unit_test(frames_of_chosen_lines_do_not_meet),
        cmocka_unit_test_prestate(every_process_has_its_own_seeds, argv[0]),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
