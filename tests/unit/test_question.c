/*
 * test_question.c - what a page selects, member by member: each selects its rows, alone and after
 * others, whatever answers are kept from before.
 */
#include "model/heapstream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support.h"
#include "support_core.h"

enum { MS = 1000000 };

struct question_sample {
    const char *stack, *thread, *region;
    int pid, tid, n;
};

static void question_add(struct profile *p, const struct question_sample *s, uint64_t from_ms)
{
    struct err err;
    struct thread_key key = {profile_add_str(p, text_of(s->thread)), s->pid, s->tid};
    struct attr region = {.key = profile_add_str(p, text_of("region")),
                          .text = profile_add_str(p, text_of(s->region))};
    for (int i = 0; i < s->n; i++) {
        int64_t values[] = {1, 10 * MS};
        struct row r = {.stack = support_path(p, s->stack),
                        .thread = profile_add_thread(p, &key),
                        .attrs = attrs_add(&p->attrs, (struct attrs_id){0}, &region),
                        .has_time = true,
                        .time_ns = (1000 + from_ms + (uint64_t)i * 10) * MS,
                        .values = values};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
}

/* 100 samples of 10 ms each, one after the other; FIRST of them of the first thread. */
static struct profile *question_profile(int first)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    question_add(p, &(struct question_sample){"main;parse;read", "one", "eu", 7, 70, first}, 0);
    question_add(p, &(struct question_sample){"main;write;write", "two", "us", 7, 71, 30},
                 (uint64_t)first * 10);
    question_add(p, &(struct question_sample){"main;parse", "three", "eu", 9, 90, 70 - first},
                 (uint64_t)first * 10 + 300);
    return p;
}

static const struct {
    const char *members;
    int samples, nodes; /* of the tree, with its root */
} asked[] = {
    {"", 100, 6},
    {"\"file\":1", 100, 6},
    {"\"file\":1,\"thread\":[\"one\"]", 10, 4},
    {"\"thread\":[\"one\"]", 50, 4},
    {"\"thread\":[\"one\",\"two\"]", 80, 6},
    {"\"thread\":[\"two\"]", 30, 4},
    {"\"process\":[\"9\"]", 20, 3},
    {"\"process\":[\"7\"]", 80, 6},
    {"\"where\":[\"region=us\"]", 30, 4},
    {"\"where\":[\"region=eu\"]", 70, 4},
    {"\"time\":\"0..0.495\"", 50, 4},
    {"\"time\":\"0.805..1\"", 19, 3},
    {"\"focus\":[\"^read$\"]", 50, 4},
    {"\"ignore\":[\"^read$\"]", 50, 5},
    {"\"hide\":[\"^read$\"]", 100, 5},
    {"\"focus\":[\"^write$\"]", 30, 4},
    {"\"subtree\":\"main;parse\"", 70, 3},
    {"\"subtree\":\"main;write\"", 30, 3},
    {"\"merge-recursion\":true", 100, 5},
    {"\"collapse-recursion\":[\"^write$\"]", 100, 5},
    {"\"collapse-recursion\":[\"^read$\"]", 100, 6},
    {"\"focus\":[\"parse\"],\"ignore\":[\"read\"]", 20, 3},
    {"\"focus\":[\"write\",\"read\"]", 80, 6},
};
enum { ASKED = sizeof asked / sizeof *asked };

static void assert_selects(struct core *c, size_t i)
{
    autofree char *about =
        mem_printf("{\"ask\":\"about\"%s%s}", *asked[i].members ? "," : "", asked[i].members);
    autofree char *tree =
        mem_printf("{\"ask\":\"tree\"%s%s}", *asked[i].members ? "," : "", asked[i].members);
    json_t *answer = ask(c, about), *nodes = ask(c, tree);
    int samples = (int)json_integer_value(json_object_get(answer, "samples"));
    int n = (int)json_integer_value(json_object_get(nodes, "n"));
    if (samples != asked[i].samples || n != asked[i].nodes)
        fail_msg("%s: %d samples in %d nodes, not %d in %d", asked[i].members, samples, n,
                 asked[i].samples, asked[i].nodes);
    json_decref(answer);
    json_decref(nodes);
}

static struct core *question_core(void)
{
    struct core *c = core_new();
    core_take(c, 0, question_profile(50));
    core_take(c, 1, question_profile(10));
    return c;
}

static void each_member_selects_its_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ASKED; i++) {
        struct core *c = question_core();
        assert_selects(c, i);
        core_free(c);
    }
}

/* Answers are kept by what was selected: in any order, none is taken for another. */
static void answers_that_are_kept_are_not_mixed_up(void **state)
{
    struct core *c = question_core();
    (void)state;
    for (size_t i = 0; i < ASKED; i++)
        for (size_t k = 0; k < ASKED; k++) {
            assert_selects(c, i);
            assert_selects(c, k);
        }
    core_free(c);
}

/* Of one event and the other, of one value and the other. */
static void values_are_not_mixed_up(void **state)
{
    struct core *c = question_core();
    (void)state;
    for (int i = 0; i < 4; i++) {
        json_t *answer = ask(c, i % 2 ? "{\"ask\":\"about\",\"value\":\"samples\"}"
                                      : "{\"ask\":\"about\",\"value\":\"cpu\"}");
        assert_int_equal(json_integer_value(json_object_get(answer, "whole")),
                         i % 2 ? 100 : 1000 * MS);
        assert_int_equal(json_integer_value(json_object_get(answer, "samples")), 100);
        json_decref(answer);
    }
    core_free(c);
}

static json_t *tree_of_json(struct core *c, const char *members)
{
    autofree char *question = mem_printf("{\"ask\":\"tree\",%s}", members);
    return ask(c, question);
}

/* The tree that was asked for last is kept: one that is built in another way is another. */
static void trees_are_not_mixed_up(void **state)
{
    struct core *c = question_core();
    (void)state;
    static const struct {
        const char *members;
        int nodes;
    } trees[] = {{"\"group\":\"none\"", 6},
                 {"\"group\":\"tid\"", 12},

                 {"\"least\":0.4", 4},
                 {"\"inverted\":true", 9},
                 {"\"chart\":true,\"group\":\"tid\"", 12},
                 {"\"least\":0.4,\"group\":\"tid\"", 5}};
    enum { TREES = sizeof trees / sizeof *trees };
    for (size_t i = 0; i < TREES; i++)
        for (size_t k = 0; k < TREES; k++) {
            json_decref(tree_of_json(c, trees[i].members));
            json_t *tree = tree_of_json(c, trees[k].members);
            int n = (int)json_integer_value(json_object_get(tree, "n"));
            if (n != trees[k].nodes)
                fail_msg("%s after %s: %d nodes", trees[k].members, trees[i].members, n);
            json_decref(tree);
        }
    core_free(c);
}

/* A file in another's place: nothing that was known of the one before is said of it. */
static void a_new_file_has_answers_of_its_own(void **state)
{
    struct core *c = question_core();
    (void)state;
    assert_selects(c, 3);
    core_take(c, 0, question_profile(20));
    json_t *answer = ask(c, "{\"ask\":\"about\",\"thread\":[\"one\"]}");
    assert_int_equal(json_integer_value(json_object_get(answer, "samples")), 20);
    json_decref(answer);
    core_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_selects_its_rows),
        cmocka_unit_test(answers_that_are_kept_are_not_mixed_up),
        cmocka_unit_test(values_are_not_mixed_up),
        cmocka_unit_test(trees_are_not_mixed_up),
        cmocka_unit_test(a_new_file_has_answers_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
