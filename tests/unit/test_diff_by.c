/* test_diff_by.c - comparing profiles by source line, and heaps by the place that allocates. */
#include "analysis/diff.h"
#include "model/heapstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

struct step {
    const char *function, *file;
    uint32_t line;
};

static struct frame_id frame_of(struct profile *p, const struct step *s)
{
    struct function f = {.name = profile_add_str(p, text_of(s->function)),
                         .file = profile_add_str(p, text_of(s->file))};
    struct line line = {.function = profile_add_function(p, &f), .line = s->line};
    return profile_add_frame(p, &(struct frame_key){.lines = &line, .n_lines = 1});
}

static void add_stack_of(struct profile *p, const struct step *s, size_t n, int64_t value)
{
    struct err err;
    struct stack_id stack = {0};
    for (size_t i = 0; i < n; i++)
        stack = stacks_push(&p->stacks, stack, frame_of(p, &s[i]));
    assert_int_equal(profile_add_row(p, 0, &(struct row){.stack = stack, .values = &value}, &err),
                     0);
}

static const struct diff_entry *entry_of(const struct diff *d, const char *name)
{
    for (size_t i = 0; i < d->functions.n; i++)
        if (text_is(diff_name(d, &d->functions.at[i]), name))
            return &d->functions.at[i];
    return NULL;
}

static struct profile *lines_profile(const char *file, int64_t first, int64_t second)
{
    struct profile *p = profile_new();
    support_value(p, "", "samples", "count");
    add_stack_of(p, (struct step[]){{"main", file, 3}, {"work", file, 10}}, 2, first);
    add_stack_of(p, (struct step[]){{"main", file, 3}, {"work", file, 11}}, 2, second);
    add_stack_of(p, (struct step[]){{"main", file, 3}, {"bare.isra.0", "", 0}}, 2, 500);
    return p;
}

static void lines_are_compared_whatever_their_folder(void **state)
{
    (void)state;
    struct profile *a = lines_profile("/old/x.c", 4000, 1000);
    struct profile *b = lines_profile("/new/x.c", 1000, 4000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2, .min_share = 0.005};
    o.by = OVERLAY_LINE;
    struct diff *d = diff_build(&o);
    assert_string_equal(d->each, "line");
    assert_true(entry_of(d, "x.c:10")->self.proven && entry_of(d, "x.c:11")->self.proven);
    assert_float_equal(entry_of(d, "x.c:10")->self.before, 4000 / 5500., 1e-9);
    assert_float_equal(entry_of(d, "x.c:10")->self.after, 1000 / 5500., 1e-9);
    assert_float_equal(entry_of(d, "x.c:3")->total.after, 1, 1e-9);
    assert_false(entry_of(d, "bare")->self.proven); /* a function where no line is known */
    assert_null(entry_of(d, "work"));
    diff_free(d);
    o.by = OVERLAY_FUNCTION; /* the function as a whole did not change */
    d = diff_build(&o);
    assert_string_equal(d->each, "function");
    assert_false(entry_of(d, "work")->self.proven);
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

static struct profile *heap_profile(int64_t direct, int64_t wrapped)
{
    struct profile *p = profile_new();
    profile_add_stream(p, stream_kind_event(STREAM_HEAP), BY_EXACT_COUNT);
    assert_int_equal(heapstream_add_column(p, 0, HEAP_ALLOCATED), 0);
    add_stack_of(p, (struct step[]){{"main", "", 0}, {"load", "", 0}, {"malloc", "", 0}}, 3,
                 direct);
    add_stack_of(p,
                 (struct step[]){{"main", "", 0},
                                 {"parse", "", 0},
                                 {"operator new(unsigned long)", "", 0},
                                 {"malloc", "", 0}},
                 4, wrapped);
    return p;
}

static void heaps_are_compared_by_who_asked_for_memory(void **state)
{
    (void)state;
    struct profile *a = heap_profile(1000, 3000), *b = heap_profile(1000, 6000);
    const struct selection *runs[] = {SUPPORT_ALL(a, 0), SUPPORT_ALL(b, 0)};
    struct diff_opts o = {.runs = runs, .n_before = 1, .n_runs = 2, .min_share = 0.005};
    o.by = OVERLAY_PLACE;
    struct diff *d = diff_build(&o);
    assert_string_equal(d->each, "place");
    assert_int_equal(d->functions.n, 2);
    assert_float_equal(entry_of(d, "parse")->self.before_cost, 3000, 1e-6);
    assert_float_equal(entry_of(d, "parse")->self.after_cost, 6000, 1e-6);
    assert_float_equal(entry_of(d, "load")->self.after_cost, 1000, 1e-6);
    assert_true(d->exact && !entry_of(d, "parse")->self.proven); /* one run per side */
    diff_free(d);
    profile_free(a);
    profile_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_compared_whatever_their_folder),
        cmocka_unit_test(heaps_are_compared_by_who_asked_for_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
