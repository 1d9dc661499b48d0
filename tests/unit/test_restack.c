/*
 * Stacks that a selection changes: subtrees, recursion and modules that become one frame.
 */
#include "analysis/calltree.h"
#include "analysis/quality.h"
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#define ONE(word) ((const char *const[]){word, NULL})

static void assert_folded(const struct profile *p, const struct selection_opts *o,
                          const char *expected)
{
    struct selection s;
    struct err err = {0};
    autobuf struct buf got = {0};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, o, &err), 0);
    struct calltree *t = calltree_build(&s, &(struct calltree_opts){.order = ORDER_NAME});
    for (uint32_t i = 1; i < t->n; i++)
        if (t->self[i]) {
            const char *names[64];
            size_t n = 0;
            for (uint32_t k = i; k; k = t->parent[k])
                names[n++] = labels_text(&t->labels, t->label[k]).at;
            while (n)
                buf_printf(&got, "%s%s", names[n - 1], n > 1 ? ";" : ""), n--;
            buf_printf(&got, " %lld\n", (long long)t->self[i]);
        }
    assert_string_equal(buf_cstr(&got), expected);
    calltree_free(t);
    selection_done(&s);
}

static void add_sample(struct profile *p, const char *names, int64_t value)
{
    struct err err = {0};
    struct row r = {.stack = support_path(p, names), .values = &value};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
}

static struct profile *recursive_profile(void)
{
    struct profile *p = profile_new();
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    add_sample(p, "main;a;f;g;f;h", 5);
    add_sample(p, "main;a;f;f", 3);
    add_sample(p, "main;b;x;y;z", 2);
    add_sample(p, "main;a", 1);
    return p;
}

static void a_subtree_starts_at_the_end_of_its_path(void **state)
{
    struct profile *p = recursive_profile();
    struct selection s;
    struct err err = {0};
    (void)state;
    assert_folded(p, &(struct selection_opts){.subtree = "main;a"}, "a 1\na;f;g;f;h 5\na;f;f 3\n");
    assert_folded(p, &(struct selection_opts){.subtree = "main;a;f", .hide = ONE("^g$")},
                  "f;f 3\nf;f;h 5\n");
    assert_folded(p,
                  &(struct selection_opts){
                      .subtree = "main;a;f;h", .hide = ONE("^g$"), .merge_recursion = true},
                  "h 5\n");
    assert_folded(p, &(struct selection_opts){.subtree = "a", .hide = ONE("^main$")},
                  "a 1\na;f;g;f;h 5\na;f;f 3\n");
    struct selection_opts none = {.subtree = "a"};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &none, &err), -1);
    assert_non_null(strstr(err.text, "no stack begins with 'a'"));
    profile_free(p);
}

static void a_subtree_need_not_name_what_starts_the_program(void **state)
{
    struct profile *p = profile_new();
    (void)state;
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    add_sample(p, "_start;__libc_start_main;__libc_start_call_main;main;parse;read", 5);
    add_sample(p, "_start;__libc_start_main;__libc_start_call_main;main;print", 3);
    add_sample(p, "clone3;start_thread;worker;main;parse", 2);
    assert_folded(p, &(struct selection_opts){.subtree = "main;parse"}, "parse;read 5\n");
    assert_folded(p, &(struct selection_opts){.subtree = "worker;main"}, "main;parse 2\n");
    add_sample(p, "clone3;start_thread;[libstdc++.so.6.0.30+0xd4490];job;run", 7);
    add_sample(p, "clone3;start_thread;execute_native_thread_routine;job;run", 1);
    assert_folded(p, &(struct selection_opts){.subtree = "job"}, "job;run 8\n");
    assert_folded(p, &(struct selection_opts){.subtree = "_start;__libc_start_main"},
                  "__libc_start_main;__libc_start_call_main;main;parse;read 5\n"
                  "__libc_start_main;__libc_start_call_main;main;print 3\n");
    profile_free(p);
}

static void a_backslash_keeps_a_semicolon_of_a_name(void **state)
{
    struct profile *p = profile_new();
    int64_t one = 1;
    struct err err = {0};
    (void)state;
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    struct frame_id odd = profile_add_named_frame(p, text_of("op;\\x"), FRAME_USER);
    struct row r = {.stack = stacks_push(&p->stacks, support_path(p, "main"), odd), .values = &one};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    assert_folded(p, &(struct selection_opts){.subtree = "main;op\\;\\\\x"}, "op;\\x 1\n");
    profile_free(p);
}

static void collapsed_recursion_stands_once_per_stack(void **state)
{
    struct profile *p = recursive_profile();
    (void)state;
    assert_folded(p, &(struct selection_opts){.collapse_recursion = ONE("^f$")},
                  "main;a 1\nmain;a;f 3\nmain;a;f;h 5\nmain;b;x;y;z 2\n");
    assert_folded(p,
                  &(struct selection_opts){.collapse_recursion = ONE("^f$"), .subtree = "main;a;f"},
                  "f 3\nf;h 5\n");
    profile_free(p);
}

/* A recursion 100,000 deep takes no time that grows with the square of it. */
static void deep_recursion_collapses_in_one_walk(void **state)
{
    struct profile *p = profile_new();
    struct stack_id id = {0};
    int64_t one = 1;
    struct err err = {0};
    (void)state;
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    struct frame_id f[2] = {profile_add_named_frame(p, text_of("f"), FRAME_USER),
                            profile_add_named_frame(p, text_of("g"), FRAME_USER)};
    for (int i = 0; i < 200000; i++)
        id = stacks_push(&p->stacks, id, f[i % 2]);
    struct row r = {.stack = id, .values = &one};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    assert_folded(p, &(struct selection_opts){.collapse_recursion = ONE(".")}, "f;g 1\n");
    profile_free(p);
}

/* Inlined functions are frames by themselves there; other streams stay as they are. */
static void a_collapsed_module_is_one_frame(void **state)
{
    struct profile *p = profile_new();
    struct err err = {0};
    int64_t one = 1;
    (void)state;
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    struct mapping libs[] = {{.path = profile_add_str(p, text_of("/lib/libz.so")), .start = 1},
                             {.path = profile_add_str(p, text_of("/lib/libz.so")), .start = 2},
                             {.path = profile_add_str(p, text_of("/bin/app"))}};
    struct stack_id id = {0};
    for (int i = 0; i < 3; i++) {
        struct function fn[2] = {{.name = profile_add_str(p, text_of(i ? "inflate" : "main"))},
                                 {.name = profile_add_str(p, text_of("copy"))}};
        struct line lines[2] = {{profile_add_function(p, &fn[0]), 1, 0},
                                {profile_add_function(p, &fn[1]), 2, 0}};
        struct frame_key key = {.pc = 16 + (uint64_t)i,
                                .mapping = profile_add_mapping(p, &libs[i ? i - 1 : 2]),
                                .lines = lines,
                                .n_lines = 2};
        id = stacks_push(&p->stacks, id, profile_add_frame(p, &key));
    }
    struct row r = {.stack = id, .values = &one};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    profile_add_stream(p, "other", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 1, "samples", "count");
    assert_int_equal(profile_add_row(p, 1, &r, &err), 0);
    assert_folded(p, &(struct selection_opts){.collapse_modules = ONE("^libz")},
                  "main;copy;[libz.so] 1\n");
    assert_folded(p,
                  &(struct selection_opts){.collapse_modules = ONE("^libz"), .hide = ONE("copy")},
                  "main;[libz.so] 1\n");
    struct selection s;
    struct selection_opts o = {.collapse_modules = ONE("^libz")};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    assert_false(selection_is_all(&s));
    assert_string_equal(s.words, "collapsed ^libz");
    struct quality q = quality_of(&s);
    assert_true(q.unnamed_share == 0);
    assert_int_equal(profile_stream(s.profile, 1)->rows.stack[0].i, id.i);
    selection_done(&s);
    o.collapse_modules = ONE("libq");
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), -1);
    assert_string_equal(err.text, "no module matches 'libq'; there are: app, libz.so");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subtree_starts_at_the_end_of_its_path),
        cmocka_unit_test(a_subtree_need_not_name_what_starts_the_program),
        cmocka_unit_test(a_backslash_keeps_a_semicolon_of_a_name),
        cmocka_unit_test(collapsed_recursion_stands_once_per_stack),
        cmocka_unit_test(deep_recursion_collapses_in_one_walk),
        cmocka_unit_test(a_collapsed_module_is_one_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
