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

static void assert_single_place(const char *path, const char *name)
{
    struct stacks_made *m = made_new();
    add_stack(m, path);
    assert_place(m, name);
    made_free(m);
}

static void widely_used_wrappers_are_known_by_their_whole_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "av_malloc",       "AllocateHeap", "CRYPTO_zalloc",
        "sqlite3Malloc",   "g_strdup",     "xmalloc",
        "PyObject_Malloc", "strdup",       "operator new(unsigned long)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        autofree char *path = mem_printf("main;parse;%s;malloc", names[i]);
        assert_single_place(path, "parse");
    }
    assert_single_place("main;allocate_rooms;malloc", "allocate_rooms");
    assert_single_place("xmalloc;malloc", "malloc"); /* nobody else is there */
}

/* A name alone takes no function out of the tables: parent_alloc is one like any other. */
static void a_name_like_an_allocator_s_is_a_place_until_many_call_it(void **state)
{
    (void)state;
    static const char *const names[] = {"parent_alloc", "t_malloc",    "luaM_realloc_", "gv_alloc",
                                        "my_xmalloc",   "zcalloc_num", "git_strndup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stacks_made *m = made_new();
        for (int caller = 0; caller < 5; caller++) {
            autofree char *path = mem_printf("main;f%d;%s;malloc", caller, names[i]);
            add_stack(m, path);
            assert_place(m, caller < 4 ? names[i] : "f4");
        }
        made_free(m);
    }
}

/* The inner one has a single caller, which is a wrapper itself: those that it serves count. */
static void a_chain_of_names_like_allocators_counts_whom_it_serves(void **state)
{
    (void)state;
    struct stacks_made *m = made_new();
    for (int caller = 0; caller < 5; caller++) {
        autofree char *path = mem_printf("main;f%d;db_alloc;mem_alloc;malloc", caller);
        add_stack(m, path);
    }
    assert_place(m, "f4");
    made_free(m);
    assert_single_place("main;db_alloc;mem_alloc;malloc", "mem_alloc");
}

/* As add_stack(), with MODULE's functions behind a bracket: "main;(puts;malloc". */
static void add_library_stack(struct stacks_made *m, const char *path, const char *module)
{
    struct stack_id id = {0};
    struct mapping_id library = profile_add_mapping(
        m->p, &(struct mapping){.path = profile_add_str(m->p, text_of(module))});
    struct mapping_id mapping = {0};
    for (struct text rest = text_of(path); rest.n;) {
        struct text name = text_cut(&rest, ';');
        if (text_starts(name, "(")) {
            name = (struct text){name.at + 1, name.n - 1};
            mapping = library;
        }
        struct function f = {.name = profile_add_str(m->p, name)};
        struct line line = {.function = profile_add_function(m->p, &f)};
        id = stacks_push(&m->p->stacks, id,
                         profile_add_frame(m->p, &(struct frame_key){.kind = FRAME_USER,
                                                                     .mapping = mapping,
                                                                     .lines = &line,
                                                                     .n_lines = 1}));
    }
    m->at[m->rows.n++] = id;
    m->rows.stack = m->at;
}

static void assert_library_place(const char *path, const char *module, const char *name)
{
    struct stacks_made *m = made_new();
    add_library_stack(m, path, module);
    assert_place(m, name);
    made_free(m);
}

static void what_libraries_allocate_is_their_caller_s(void **state)
{
    (void)state;
    assert_library_place("main;greet;(puts;_IO_file_doallocate;malloc", "/lib/libc.so.6", "greet");
    assert_library_place("main;(pthread_create;allocate_dtv;calloc", "/lib/libc-2.31.so", "main");
    assert_library_place("main;fill;(je_arena_choose", "/usr/lib/libjemalloc.so.2", "fill");
    assert_library_place("main;fill;(malloc", "/x/libkelvin-heap.so", "fill");
    assert_library_place("main;fill;(png_read;malloc", "/usr/lib/libpng16.so", "png_read");
    /* before main and after it nobody else is there */
    assert_library_place("_start;(call_init;pool;malloc", "/usr/lib/libstdc++.so.6", "pool");
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
        cmocka_unit_test(widely_used_wrappers_are_known_by_their_whole_names),
        cmocka_unit_test(a_name_like_an_allocator_s_is_a_place_until_many_call_it),
        cmocka_unit_test(a_chain_of_names_like_allocators_counts_whom_it_serves),
        cmocka_unit_test(what_libraries_allocate_is_their_caller_s),
        cmocka_unit_test(what_has_no_name_is_known_by_its_callers),
        cmocka_unit_test(wrappers_of_wrappers_are_seen_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
