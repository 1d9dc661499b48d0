/*
 * Addresses: what ran at each (heat), and which instructions of a listing are on each stack (hits).
 */
#include "analysis/heat.h"
#include "analysis/hits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static struct profile *new_profile(void)
{
    struct profile *p = profile_new();
    assert_int_equal(support_value(p, "cpu-clock", "samples", "count"), 0);
    assert_int_equal(support_value(p, "cpu-clock", "cpu", "nanoseconds"), 1);
    return p;
}

static struct mapping_id map_file(struct profile *p, const char *path, const char *build_id,
                                  uint64_t start)
{
    struct mapping m = {.path = profile_add_str(p, text_of(path)),
                        .build_id = profile_add_str(p, text_of(build_id)),
                        .start = start,
                        .end = start + 0x1000};
    return profile_add_mapping(p, &m);
}

static struct frame_id frame_at(struct profile *p, struct mapping_id m, uint64_t pc,
                                enum frame_kind kind)
{
    return profile_add_frame(p, &(struct frame_key){.pc = pc, .mapping = m, .kind = kind});
}

/* One row: N frames, outermost first. */
static void add_sample(struct profile *p, const struct frame_id *frames, size_t n, int64_t samples,
                       int64_t cpu_ns)
{
    struct err err;
    int64_t values[] = {samples, cpu_ns};
    struct row row = {.stack = stacks_intern(&p->stacks, frames, n), .values = values};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

static void add_leaf(struct profile *p, struct frame_id frame, int64_t samples)
{
    add_sample(p, &frame, 1, samples, 1000 * samples);
}

/* --- heat --- */

static void assert_spot(const struct heat *h, size_t at, struct mapping_id mapping, uint64_t pc,
                        int64_t self)
{
    assert_int_equal(h->spots.at[at].mapping.i, mapping.i);
    assert_int_equal(h->spots.at[at].pc, pc);
    assert_int_equal(h->spots.at[at].self, self);
}

static void spots_are_sorted_by_file_and_address(void **state)
{
    struct heat h;
    struct profile *p = new_profile();
    (void)state;
    struct mapping_id one = map_file(p, "/bin/one", "aa", 0),
                      two = map_file(p, "/bin/two", "bb", 0);
    add_leaf(p, frame_at(p, two, 0x20, FRAME_USER), 1); /* the first row counts, too */
    add_leaf(p, frame_at(p, one, 0x30, FRAME_USER), 2);
    add_leaf(p, frame_at(p, two, 0x10, FRAME_USER), 4);
    add_leaf(p, frame_at(p, one, 0x20, FRAME_USER), 8);
    add_leaf(p, frame_at(p, two, 0x20, FRAME_USER), 16);
    heat_build(&h, SUPPORT_ALL(p, 0));
    assert_int_equal(h.spots.n, 4);
    assert_spot(&h, 0, one, 0x20, 8);
    assert_spot(&h, 1, one, 0x30, 2);
    assert_spot(&h, 2, two, 0x10, 4);
    assert_spot(&h, 3, two, 0x20, 17);
    assert_int_equal(h.total, 31);
    assert_int_equal(h.no_address, 0);
    heat_done(&h);
    profile_free(p);
}

static void a_file_mapped_twice_is_one_file_and_another_build_is_not(void **state)
{
    struct heat h;
    struct profile *p = new_profile();
    (void)state;
    struct mapping_id first = map_file(p, "/lib/x", "aa", 0x1000);
    struct mapping_id rebuilt = map_file(p, "/lib/x", "bb", 0x1000);
    struct mapping_id copied = map_file(p, "/lib/y", "aa", 0x1000);
    struct mapping_id again = map_file(p, "/lib/x", "aa", 0x9000);
    add_leaf(p, frame_at(p, again, 0x10, FRAME_USER), 1);
    add_leaf(p, frame_at(p, first, 0x10, FRAME_USER), 2);
    add_leaf(p, frame_at(p, rebuilt, 0x10, FRAME_USER), 4);
    add_leaf(p, frame_at(p, copied, 0x10, FRAME_USER), 8);
    heat_build(&h, SUPPORT_ALL(p, 0));
    assert_int_equal(h.spots.n, 3);
    assert_spot(&h, 0, first, 0x10, 3);
    assert_spot(&h, 1, rebuilt, 0x10, 4);
    assert_spot(&h, 2, copied, 0x10, 8);
    heat_done(&h);
    profile_free(p);
}

static void only_the_innermost_frame_is_hot(void **state)
{
    struct heat h;
    struct profile *p = new_profile();
    (void)state;
    struct mapping_id m = map_file(p, "/bin/one", "aa", 0);
    struct frame_id caller = frame_at(p, m, 0x10, FRAME_USER);
    struct frame_id callee = frame_at(p, m, 0x20, FRAME_USER);
    add_sample(p, (struct frame_id[]){caller, callee}, 2, 3, 3000);
    heat_build(&h, SUPPORT_ALL(p, 1));
    assert_int_equal(h.spots.n, 1);
    assert_spot(&h, 0, m, 0x20, 3000);
    heat_done(&h);
    profile_free(p);
}

static void without_an_address_in_a_file_it_is_counted_apart(void **state)
{
    struct heat h;
    struct profile *p = new_profile();
    (void)state;
    struct mapping_id m = map_file(p, "/bin/one", "aa", 0);
    add_leaf(p, frame_at(p, m, 0x10, FRAME_KERNEL), 1);
    add_leaf(p, frame_at(p, m, 0x10, FRAME_JIT), 2);
    add_leaf(p, profile_add_named_frame(p, text_of("name"), FRAME_USER), 4);
    add_sample(p, NULL, 0, 8, 8000); /* no stack at all */
    add_leaf(p, frame_at(p, m, 0x10, FRAME_USER), 16);
    heat_build(&h, SUPPORT_ALL(p, 0));
    assert_int_equal(h.spots.n, 1);
    assert_spot(&h, 0, m, 0x10, 16);
    assert_int_equal(h.no_address, 15);
    assert_int_equal(h.total, 31);
    heat_done(&h);
    profile_free(p);
}

/* --- hits --- */

static bool is_the_mapping(const void *ctx, struct mapping_id m)
{
    return m.i == *(const uint32_t *)ctx;
}

/* nop at 0x10, nop of two bytes at 0x11, ret at 0x13 */
static void three_instructions(struct listing *l)
{
    *l = (struct listing){0};
    listing_add(l, 0x10, (struct text){"\x90\x66\x90\xc3", 4});
    assert_int_equal(l->insns.n, 3);
}

static void an_instruction_counts_once_per_stack(void **state)
{
    struct hits h;
    struct listing l;
    struct profile *p = new_profile();
    (void)state;
    three_instructions(&l);
    struct mapping_id m = map_file(p, "/bin/one", "aa", 0), other = map_file(p, "/bin/two", "", 0);
    struct frame_id first = frame_at(p, m, 0x10, FRAME_USER),
                    inside = frame_at(p, m, 0x12, FRAME_USER),
                    last = frame_at(p, m, 0x13, FRAME_USER),
                    away = frame_at(p, other, 0x13, FRAME_USER),
                    named = profile_add_named_frame(p, text_of("name"), FRAME_USER);
    add_sample(p, (struct frame_id[]){first, inside, first, last}, 4, 1, 100);
    add_sample(p, (struct frame_id[]){first, away}, 2, 2, 200);
    add_sample(p, (struct frame_id[]){away, named}, 2, 4, 400); /* nothing of the listing */
    add_sample(p, (struct frame_id[]){first, away}, 2, 8, 800); /* the same stack again */
    hits_build(&h, SUPPORT_ALL(p, 1), &l, is_the_mapping, &m.i);
    assert_int_equal(h.total, 1100);
    assert_int_equal(h.n_samples, 11);
    assert_int_equal(h.stacks.n, 2);
    const struct hits_stack *deep = &h.stacks.at[h.stacks.at[0].n == 3 ? 0 : 1];
    const struct hits_stack *flat = &h.stacks.at[h.stacks.at[0].n == 3 ? 1 : 0];
    assert_int_equal(deep->n, 3);
    assert_int_equal(deep->value, 100);
    assert_int_equal(h.insns.at[deep->first], 2); /* from the innermost on */
    assert_int_equal(h.insns.at[deep->first + 1], 0);
    assert_int_equal(h.insns.at[deep->first + 2], 1);
    assert_int_equal(flat->n, 1);
    assert_int_equal(flat->value, 1000);
    assert_int_equal(h.insns.at[flat->first], 0);
    hits_done(&h);
    listing_done(&l);
    profile_free(p);
}

static void a_function_that_calls_nothing_has_hits(void **state)
{
    struct hits h;
    struct listing l;
    struct profile *p = new_profile();
    (void)state;
    three_instructions(&l);
    struct mapping_id m = map_file(p, "/bin/one", "aa", 0);
    add_leaf(p, frame_at(p, m, 0x13, FRAME_USER), 5); /* the first stack there is */
    hits_build(&h, SUPPORT_ALL(p, 0), &l, is_the_mapping, &m.i);
    assert_int_equal(h.total, 5);
    assert_int_equal(h.stacks.n, 1);
    assert_int_equal(h.insns.at[0], 2);
    hits_done(&h);
    listing_done(&l);
    profile_free(p);
}

static void a_listing_that_never_ran_has_no_hits(void **state)
{
    struct hits h;
    struct listing l;
    struct profile *p = new_profile();
    (void)state;
    three_instructions(&l);
    struct mapping_id m = map_file(p, "/bin/one", "aa", 0);
    add_leaf(p, frame_at(p, m, 0x14, FRAME_USER), 1); /* behind the last byte */
    add_leaf(p, frame_at(p, m, 0xf, FRAME_USER), 1);
    add_sample(p, (struct frame_id[]){frame_at(p, m, 0x10, FRAME_USER)}, 1, 0,
               0); /* worth nothing */
    hits_build(&h, SUPPORT_ALL(p, 0), &l, is_the_mapping, &m.i);
    assert_int_equal(h.stacks.n, 0);
    assert_int_equal(h.insns.n, 0);
    assert_int_equal(h.total, 0);
    assert_int_equal(h.n_samples, 0);
    hits_done(&h);
    listing_done(&l);
    profile_free(p);
}

/* A frame whose code, at PC, is of OUTER; INNER is inlined there, or NULL. */
static struct frame_id frame_of(struct profile *p, struct mapping_id m, uint64_t pc,
                                const char *outer, const char *inner)
{
    struct line lines[2];
    for (int i = 0; i < (inner ? 2 : 1); i++) {
        struct function f = {.name = profile_add_str(p, text_of(i ? inner : outer))};
        lines[i] = (struct line){.function = profile_add_function(p, &f)};
    }
    return profile_add_frame(
        p,
        &(struct frame_key){
            .pc = pc, .mapping = m, .kind = FRAME_USER, .lines = lines, .n_lines = inner ? 2 : 1});
}

/* 1 sample in outer itself, 2 in what is inlined into it, 4 in what outer calls. */
static struct profile *profile_of_inlined(struct mapping_id *ret)
{
    struct profile *p = new_profile();
    *ret = map_file(p, "/bin/one", "aa", 0);
    struct frame_id above = frame_of(p, *ret, 0x10, "above", NULL),
                    outer = frame_of(p, *ret, 0x11, "outer", NULL),
                    inlined = frame_of(p, *ret, 0x13, "outer", "inner"),
                    below = frame_of(p, *ret, 0x100, "below", NULL);
    add_sample(p, (struct frame_id[]){above, outer}, 2, 1, 1);
    add_sample(p, (struct frame_id[]){above, inlined}, 2, 2, 2);
    add_sample(p, (struct frame_id[]){above, outer, below}, 3, 4, 4);
    return p;
}

/* Self and total of the three instructions, where what matches HIDE is hidden. */
static void assert_heat_without(const char *hide, const int64_t self[3], const int64_t total[3])
{
    struct hits h;
    struct listing l;
    struct selection s;
    struct mapping_id m;
    struct err err;
    struct profile *p = profile_of_inlined(&m);
    three_instructions(&l);
    struct selection_opts o = {.hide = (const char *const[]){hide, NULL}};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    hits_build(&h, &s, &l, is_the_mapping, &m.i);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(l.insns.at[i].self, self[i]);
        assert_int_equal(l.insns.at[i].total, total[i]);
    }
    assert_int_equal(l.self, self[0] + self[1] + self[2]);
    hits_done(&h);
    selection_done(&s);
    listing_done(&l);
    profile_free(p);
}

static void a_hidden_function_has_neither_self_nor_total_nor_what_is_inlined_into_it(void **state)
{
    (void)state;
    assert_heat_without("no such", (int64_t[]){0, 1, 2}, (int64_t[]){7, 5, 2});
    assert_heat_without("^outer$", (int64_t[]){1, 0, 0}, (int64_t[]){7, 0, 0});
    assert_heat_without("^inner$", (int64_t[]){0, 1, 2}, (int64_t[]){7, 5, 2});
    assert_heat_without("^below$", (int64_t[]){0, 5, 2}, (int64_t[]){7, 5, 2});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hidden_function_has_neither_self_nor_total_nor_what_is_inlined_into_it),
        cmocka_unit_test(spots_are_sorted_by_file_and_address),
        cmocka_unit_test(a_file_mapped_twice_is_one_file_and_another_build_is_not),
        cmocka_unit_test(only_the_innermost_frame_is_hot),
        cmocka_unit_test(without_an_address_in_a_file_it_is_counted_apart),
        cmocka_unit_test(an_instruction_counts_once_per_stack),
        cmocka_unit_test(a_function_that_calls_nothing_has_hits),
        cmocka_unit_test(a_listing_that_never_ran_has_no_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
