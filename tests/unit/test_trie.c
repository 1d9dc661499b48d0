/* Lists of numbers that share their beginnings. */
#include "base/trie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void equal_lists_are_one_node_and_beginnings_are_shared(void **state)
{
    (void)state;
    struct trie t;
    trie_init(&t);
    uint32_t keys[] = {7, 8, 9}, back[] = {9, 8, 7};
    uint32_t whole = trie_intern(&t, keys, 1, 3);
    assert_int_equal(t.nodes.n, 4);
    assert_int_equal(trie_intern(&t, &back[2], -1, 3), whole);
    assert_int_equal(trie_intern(&t, keys, 1, 2), t.nodes.at[whole].parent);
    assert_int_equal(trie_push(&t, trie_intern(&t, keys, 1, 2), 9), whole);
    assert_int_equal(trie_intern(&t, keys, 1, 0), 0);
    assert_int_equal(t.nodes.n, 4);
    assert_int_not_equal(trie_intern(&t, back, 1, 3), whole);
    assert_int_equal(trie_depth(&t, whole), 3);
    assert_int_equal(trie_depth(&t, 0), 0);
    trie_done(&t);
}

static void what_is_not_there_is_not_added_by_looking(void **state)
{
    (void)state;
    struct trie t;
    trie_init(&t);
    assert_int_equal(trie_find(&t, 0, 0), 0);
    uint32_t id = trie_push(&t, 0, 0);
    assert_int_not_equal(id, 0);
    assert_int_equal(trie_find(&t, 0, 0), id);
    assert_int_equal(trie_find(&t, id, 0), 0);
    assert_int_equal(t.nodes.n, 2);
    trie_done(&t);
}

/* Through many growths of the table: parents come before their children, and all is found again. */
static void parents_are_smaller_than_their_children(void **state)
{
    enum { LISTS = 20000, LENGTH = 10 };
    (void)state;
    struct trie t;
    uint32_t *ids = mem_calloc(LISTS, sizeof *ids), keys[LENGTH];
    trie_init(&t);
    for (int again = 0; again < 2; again++) {
        uint32_t random = 1;
        for (size_t i = 0; i < LISTS; i++) {
            for (size_t k = 0; k < LENGTH; k++)
                keys[k] = (random = random * 1664525 + 1013904223) >> 29;
            uint32_t id = trie_intern(&t, keys, 1, LENGTH);
            assert_true(!again || id == ids[i]);
            ids[i] = id;
        }
    }
    for (size_t i = 1; i < t.nodes.n; i++)
        assert_true(t.nodes.at[i].parent < i);
    free(ids);
    trie_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lists_are_one_node_and_beginnings_are_shared),
        cmocka_unit_test(what_is_not_there_is_not_added_by_looking),
        cmocka_unit_test(parents_are_smaller_than_their_children),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
