/* Known leaks: files of Valgrind and LeakSanitizer against stacks. */
#include "analysis/suppressions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* _start -> main -> cache_fill -> g_strdup (libglib) */
static struct stack_id example(struct profile *p)
{
    static const char *const names[] = {"_start", "main", "cache_fill"};
    struct stack_id stack = {0};
    for (size_t i = 0; i < 3; i++)
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_of(names[i]), FRAME_USER));
    struct mapping m = {.path = profile_add_str(p, text_of("/usr/lib/libglib-2.0.so.0"))};
    struct function f = {.name = profile_add_str(p, text_of("g::strdup(char)")),
                         .system_name = profile_add_str(p, text_of("_ZN1g6strdupEc")),
                         .file = profile_add_str(p, text_of("/src/gstrfuncs.c"))};
    struct line line = {.function = profile_add_function(p, &f)};
    struct frame_key key = {.mapping = profile_add_mapping(p, &m), .lines = &line, .n_lines = 1};
    return stacks_push(&p->stacks, stack, profile_add_frame(p, &key));
}

/* Whether FILE suppresses the example. */
static bool suppresses(const char *file)
{
    struct profile *p = profile_new();
    struct suppressions s = {0};
    struct err err;
    assert_int_equal(suppressions_parse(&s, text_of(file), &err), 0);
    bool found = suppressions_match(&s, p, example(p));
    suppressions_done(&s);
    profile_free(p);
    return found;
}

static bool refused(const char *file)
{
    struct suppressions s = {0};
    struct err err;
    int rc = suppressions_parse(&s, text_of(file), &err);
    suppressions_done(&s);
    return rc != 0;
}

static void a_pattern_of_leaksanitizer_is_found_anywhere_on_the_stack(void **state)
{
    (void)state;
    assert_true(suppresses("# known\nleak:cache_\n"));
    assert_true(suppresses("leak:libglib"));
    assert_true(suppresses("leak:gstrfuncs.c"));
    assert_true(suppresses("leak:^cache_fill$\n"));
    assert_true(suppresses("leak:nothing\nleak:^c*_f*l$"));
    assert_false(suppresses("leak:^fill"));
    assert_false(suppresses("leak:cache$"));
    assert_false(suppresses("leak:cache?fill"));
    assert_false(suppresses(""));
}

#define BLOCK(frames) "{\n  a name\n  Memcheck:Leak\n  match-leak-kinds: definite\n" frames "}\n"

static void frames_of_valgrind_are_the_innermost_ones(void **state)
{
    (void)state;
    assert_true(suppresses(BLOCK("fun:_ZN1g*\nfun:cache_fill\n")));
    assert_true(suppresses(BLOCK("fun:malloc\nfun:_ZN1g*\nfun:cache_?ill\n")));
    assert_true(suppresses(BLOCK("obj:*/libglib-2.0.so*\n")));
    assert_true(suppresses(BLOCK("...\nfun:main\n")));
    assert_true(suppresses(BLOCK("fun:*\n...\nfun:_start\n")));
    assert_true(suppresses(BLOCK("fun:no\n") BLOCK("...\nfun:main\n...\n")));
    assert_false(suppresses(BLOCK("fun:cache_fill\n")));
    assert_false(suppresses(BLOCK("...\nfun:main\nfun:main\n")));
    assert_false(suppresses(BLOCK("...\nfun:main\n...\nfun:cache_fill\n")));
    assert_false(suppresses(BLOCK("fun:malloc\nfun:main\n")));
}

static void blocks_about_other_errors_are_passed_over(void **state)
{
    (void)state;
    assert_false(suppresses("{\nx\nMemcheck:Cond\nfun:*\n}\n"));
    assert_false(suppresses("{\nx\nMemcheck:Param\nwrite(buf)\nfun:*\n}\n"));
}

/* Nor does one take part because a leak stands before it. */
static void a_block_about_leaks_says_nothing_about_the_next(void **state)
{
    (void)state;
    assert_false(
        suppresses("{\na\nMemcheck:Leak\nfun:other\n}\n{\nb\nMemcheck:Cond\nfun:*strdup*\n}\n"));
    assert_true(
        suppresses("{\na\nMemcheck:Cond\nfun:other\n}\n{\nb\nMemcheck:Leak\nfun:*strdup*\n}\n"));
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    assert_true(refused("race:foo\n"));
    assert_true(refused("leak:\n"));
    assert_true(refused("{\nx\nMemcheck:Leak\nfun:a\n"));
    assert_true(refused("{\nx\nMemcheck:Leak\n}\n"));
    assert_true(refused(BLOCK("src:a.c:3\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_of_leaksanitizer_is_found_anywhere_on_the_stack),
        cmocka_unit_test(frames_of_valgrind_are_the_innermost_ones),
        cmocka_unit_test(blocks_about_other_errors_are_passed_over),
        cmocka_unit_test(a_block_about_leaks_says_nothing_about_the_next),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
