/* Which function asked for memory, behind those that only ask for others. */
#include "analysis/heapwrappers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

/* Stacks of "main;a;b" each, one row for each. */
struct stacks_made {
    struct profile *p;
    struct stack_id at[64];
    struct rows rows;
};

static void add_stack(struct stacks_made *m, const char *path)
{
    struct stack_id id = {0};
    for (struct text rest = text_of(path); rest.n;)
        id = stacks_push(&m->p->stacks, id,
                         profile_add_named_frame(m->p, text_cut(&rest, ';'), FRAME_USER));
    m->at[m->rows.n++] = id;
    m->rows.stack = m->at;
}

static struct stacks_made *made_new(void)
{
    struct stacks_made *m = mem_new(struct stacks_made);
    m->p = profile_new();
    return m;
}

static void made_free(struct stacks_made *m)
{
    profile_free(m->p);
    free(m);
}

/* The place of the last stack is called NAME. */
static void assert_place(struct stacks_made *m, const char *name)
{
    struct heapwrappers w = {0};
    struct labels labels;
    labels_init(&labels, m->p, &(struct label_opts){0});
    heapwrappers_find(&w, &labels, m->p, &m->rows);
    uint32_t label = heapwrappers_place(&w, &labels, m->p, m->at[m->rows.n - 1]);
    struct text text = labels_text(&labels, label);
    if (!text_is(text, name))
        fail_msg("'%.*s' where '%s' is expected", TEXT_ARG(text), name);
    heapwrappers_done(&w);
    labels_done(&labels);
}

static void allocators_are_known_by_how_their_names_end(void **state)
{
    (void)state;
    static const char *const names[] = {
        "av_malloc",       "CRYPTO_zalloc",  "__zend_malloc", "sqlite3Malloc",     "luaM_realloc_",
        "av_mallocz",      "g_strdup",       "ruby_xmalloc",  "gv_alloc",          "git_strndup",
        "PyObject_Malloc", "zmalloc_usable", "zcalloc_num",   "ztryrealloc_usable"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stacks_made *m = made_new();
        autofree char *path = mem_printf("main;parse;%s;malloc", names[i]);
        add_stack(m, path);
        assert_place(m, "parse");
        made_free(m);
    }
    struct stacks_made *m = made_new();
    add_stack(m, "main;allocate_rooms;malloc");
    assert_place(m, "allocate_rooms");
    add_stack(m, "xmalloc;malloc");
    assert_place(m, "malloc"); /* nobody else is there */
    made_free(m);
}

/* Four callers may be chance; five make a function without a name one that allocates for others. */
static void what_has_no_name_is_known_by_its_callers(void **state)
{
    (void)state;
    static const char *const callers[] = {"a", "b", "c", "d", "e"};
    struct stacks_made *m = made_new(), *named = made_new();
    for (int i = 0; i < 5; i++) {
        autofree char *path = mem_printf("main;%s;[app+0x10];malloc", callers[i]);
        autofree char *other = mem_printf("main;%s;make_node;malloc", callers[i]);
        if (i == 4)
            assert_place(m, "[app+0x10]");
        add_stack(m, path);
        add_stack(named, other);
    }
    assert_place(m, "e");
    assert_place(named, "make_node");
    made_free(m);
    made_free(named);
}

static void wrappers_of_wrappers_are_seen_through(void **state)
{
    (void)state;
    static const char *const callers[] = {"a", "b", "c", "d", "e"};
    struct stacks_made *m = made_new();
    for (int i = 0; i < 5; i++) {
        autofree char *inner = mem_printf("main;%s;[app+0x10];malloc", callers[i]);
        autofree char *outer = mem_printf("main;%s;[app+0x20];[app+0x10];malloc", callers[i]);
        add_stack(m, inner);
        add_stack(m, outer);
    }
    assert_place(m, "e");
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocators_are_known_by_how_their_names_end),
        cmocka_unit_test(what_has_no_name_is_known_by_its_callers),
        cmocka_unit_test(wrappers_of_wrappers_are_seen_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
