/*
 * The call tree: merged by name, pruned, from the leaf, in time order, below threads.
 */
#include "analysis/calltree.h"

#include "base/buf.h"
#include "source/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

static struct profile *folded(const char *text)
{
    struct reader in;
    struct import im;
    struct err err;
    struct profile *p = NULL;
    struct import_opts opts = {.format = "folded", .merge = true};
    reader_open_memory(&in, text, strlen(text));
    assert_int_equal(import_reader(&im, &in, "test", &opts, &p, &err), 0);
    import_done(&im);
    reader_close(&in);
    return p;
}

/* "name=total/self(children)" of a small tree. */
static void describe(struct buf *b, const struct calltree *t, uint32_t node)
{
    if (node)
        buf_printf(b, "%s=%lld/%lld", labels_text(&t->labels, t->label[node]).at,
                   (long long)t->total[node], (long long)t->self[node]);
    if (t->child_at[node] == t->child_end[node])
        return;
    buf_byte(b, '(');
    for_each_child (t, node, child) {
        if (b->at[b->n - 1] != '(')
            buf_byte(b, ' ');
        describe(b, t, child);
    }
    buf_byte(b, ')');
}

static void assert_tree(const struct profile *p, const struct calltree_opts *o, const char *text)
{
    autobuf struct buf b = {0};
    struct calltree *t = calltree_build(SUPPORT_ALL(p, 0), o);
    describe(&b, t, 0);
    assert_string_equal(buf_cstr(&b), text);
    calltree_free(t);
}

static void totals_hold_their_callees(void **state)
{
    (void)state;
    struct profile *p = folded("m;b 2\nm;a;c 3\nm 1\nz 4\n");
    assert_tree(p, &(struct calltree_opts){0}, "(m=6/1(a=3/0(c=3/3) b=2/2) z=4/4)");
    profile_free(p);
}

static void the_same_name_in_two_kinds_is_two_frames(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = profile_new();
    support_value(p, "", "counts", "");
    for (int kind = FRAME_USER; kind <= FRAME_KERNEL; kind++) {
        struct frame_id f = profile_add_named_frame(p, text_of("read"), (enum frame_kind)kind);
        int64_t value = kind + 1;
        struct row s = {.stack = stacks_intern(&p->stacks, &f, 1), .values = &value};
        profile_add_row(p, 0, &s, &err);
    }
    struct calltree_opts merged = {.labels = {.merge_kinds = true}};
    struct calltree_opts marked = {.labels = {.merge_kinds = true, .mark_kernel = true}};
    assert_tree(p, &(struct calltree_opts){0}, "(read=1/1 read=2/2)");
    assert_tree(p, &merged, "(read=3/3)");
    assert_tree(p, &marked, "(read=1/1 read_[k]=2/2)");
    profile_free(p);
}

static void narrow_nodes_are_left_out(void **state)
{
    (void)state;
    struct profile *p = folded("m;a 1\nm;b;c 98\nm;b 1\n");
    struct calltree_opts o = {.min_share = 0.02};
    assert_tree(p, &o, "(m=100/0(b=99/1(c=98/98)))");
    struct calltree *t = calltree_build(SUPPORT_ALL(p, 0), &o);
    assert_int_equal(t->n_left_out, 1);
    calltree_free(t);
    o.keep_up_to = 1; /* one small node is not worth a gap */
    assert_tree(p, &o, "(m=100/0(a=1/1 b=99/1(c=98/98)))");
    profile_free(p);
    p = folded("m;a 1\nm;b;c 97\nm;d 2\n"); /* "d" is just large enough */
    assert_tree(p, &(struct calltree_opts){.min_share = 0.02}, "(m=100/0(b=97/0(c=97/97) d=2/2))");
    profile_free(p);
}

static void rows_know_the_innermost_node_that_is_left_of_them(void **state)
{
    (void)state;
    struct profile *p = folded("m;a;x 1\nm;b;c 97\nm;b 1\nz 1\n");
    struct calltree_opts o = {.min_share = 0.02, .keep_rows = true};
    struct calltree *t = calltree_build(SUPPORT_ALL(p, 0), &o);
    static const char *const want[] = {"m", "c", "b", ""};
    for (size_t i = 0; i < 4; i++) {
        uint32_t node = t->node_of_row[i];
        assert_string_equal(node ? labels_text(&t->labels, t->label[node]).at : "", want[i]);
    }
    calltree_free(t);
    profile_free(p);
}

/* So many that some share their 32-bit hash. */
static void hundreds_of_thousands_of_callees_stay_apart(void **state)
{
    enum { CALLEES = 300000 };
    (void)state;
    autobuf struct buf text = {0};
    for (int i = 0; i < CALLEES; i++)
        buf_printf(&text, "m;f%d %d\n", i, i + 1);
    struct profile *p = folded(buf_cstr(&text));
    struct calltree *t =
        calltree_build(SUPPORT_ALL(p, 0), &(struct calltree_opts){.callers_first = true});
    assert_int_equal(t->n, 1 + 2 * CALLEES);
    calltree_free(t);
    profile_free(p);
}

static void callers_first_merges_from_the_leaf(void **state)
{
    (void)state;
    struct profile *p = folded("x;a;leaf 2\ny;a;leaf 3\nx;b 1\n");
    struct calltree_opts o = {.callers_first = true};
    assert_tree(p, &o, "(b=1/0(x=1/1) leaf=5/0(a=5/0(x=2/2 y=3/3)))");
    profile_free(p);
}

static struct profile *timed(void)
{
    static const struct {
        const char *leaf;
        uint64_t time_ns;
        int tid;
    } rows[] = {{"b", 30, 2}, {"a", 10, 1}, {"a", 20, 1}, {"a", 40, 1}};
    struct err err;
    struct profile *p = profile_new();
    struct str_id name = profile_add_str(p, text_of("my app"));
    support_value(p, "", "samples", "count");
    for (size_t i = 0; i < 4; i++) {
        int64_t one = 1;
        struct frame_id f[] = {profile_add_named_frame(p, text_of("main"), FRAME_USER),
                               profile_add_named_frame(p, text_of(rows[i].leaf), FRAME_USER)};
        struct thread_key t = {.name = name, .pid = 1, .tid = rows[i].tid};
        struct row s = {.stack = stacks_intern(&p->stacks, f, 2),
                        .thread = profile_add_thread(p, &t),
                        .has_time = true,
                        .time_ns = rows[i].time_ns,
                        .values = &one};
        profile_add_row(p, 0, &s, &err);
    }
    return p;
}

static void a_chart_keeps_the_order_of_time(void **state)
{
    (void)state;
    struct profile *p = timed();
    struct calltree_opts o = {.order = ORDER_TIME};
    assert_tree(p, &o, "(main=4/0(a=2/2 b=1/1 a=1/1))");
    profile_free(p);
}

/* "name@start+extent(children)". */
static void describe_chart(struct buf *b, const struct calltree *t, uint32_t node)
{
    buf_printf(b, "%s@%lld+%lld", node ? labels_text(&t->labels, t->label[node]).at : "",
               (long long)t->start[node], (long long)t->extent[node]);
    if (t->child_at[node] == t->child_end[node])
        return;
    buf_byte(b, '(');
    for_each_child (t, node, child) {
        if (b->at[b->n - 1] != '(')
            buf_byte(b, ' ');
        describe_chart(b, t, child);
    }
    buf_byte(b, ')');
}

static void assert_chart(const struct profile *p, enum calltree_group group, const char *text)
{
    autobuf struct buf b = {0};
    struct calltree_opts o = {.order = ORDER_TIME, .group = group};
    struct calltree *t = calltree_build(SUPPORT_ALL(p, 0), &o);
    describe_chart(&b, t, 0);
    assert_string_equal(buf_cstr(&b), text);
    calltree_free(t);
}

struct moment {
    const char *leaf;
    uint64_t time_ns;
    int tid;
};

static struct profile *charted(const struct moment *at, size_t n)
{
    struct err err;
    struct profile *p = profile_new();
    struct str_id name = profile_add_str(p, text_of("t"));
    support_value(p, "", "samples", "count");
    for (size_t i = 0; i < n; i++) {
        int64_t one = 1;
        struct frame_id f[] = {profile_add_named_frame(p, text_of("main"), FRAME_USER),
                               profile_add_named_frame(p, text_of(at[i].leaf), FRAME_USER)};
        struct thread_key t = {.name = name, .pid = 1, .tid = at[i].tid};
        struct row s = {.stack = stacks_intern(&p->stacks, f, 2),
                        .thread = profile_add_thread(p, &t),
                        .has_time = true,
                        .time_ns = at[i].time_ns,
                        .values = &one};
        profile_add_row(p, 0, &s, &err);
    }
    return p;
}

/* A sample lasts as long as most are apart; three such lengths without one are a gap. */
static void a_chart_has_gaps_where_a_thread_was_idle(void **state)
{
    static const struct moment rows[] = {{"a", 100, 1}, {"a", 110, 1}, {"b", 120, 1},
                                         {"b", 150, 1}, {"b", 181, 1}, {"c", 111, 2},
                                         {"c", 121, 2}, {"c", 131, 2}, {"c", 141, 2}};
    (void)state;
    struct profile *p = charted(rows, 9);
    assert_chart(p, GROUP_TID,
                 "@0+91(t-1/1@0+91(main@0+60(a@0+20 b@20+40) main@81+10(b@81+10)) "
                 "t-1/2@11+40(main@11+40(c@11+40)))");
    profile_stream(p, 0)->rate_hz = 1e8 / 4; /* 40 ns each, so that nothing is far apart */
    assert_chart(
        p, GROUP_TID,
        "@0+121(t-1/1@0+121(main@0+121(a@0+50 b@50+71)) t-1/2@11+70(main@11+70(c@11+70)))");
    profile_free(p);
}

static void samples_of_one_moment_still_have_a_width(void **state)
{
    static const struct moment rows[] = {{"a", 5, 1}, {"a", 5, 1}, {"b", 5, 1}};
    (void)state;
    struct profile *p = charted(rows, 3);
    assert_chart(p, GROUP_NONE, "@0+1(main@0+1(a@0+1 b@1+0))");
    profile_free(p);
    p = charted(rows, 1);
    assert_chart(p, GROUP_NONE, "@0+1(main@0+1(a@0+1))");
    profile_free(p);
}

static void threads_stand_below_their_stacks(void **state)
{
    (void)state;
    struct profile *p = timed();
    struct calltree_opts comm = {.group = GROUP_COMM};
    struct calltree_opts tid = {.group = GROUP_TID, .underscores = true};
    assert_tree(p, &comm, "(my app=4/0(main=4/0(a=3/3 b=1/1)))");
    assert_tree(p, &tid, "(my_app-1/1=3/0(main=3/0(a=3/3)) my_app-1/2=1/0(main=1/0(b=1/1)))");
    profile_free(p);
}

static void inlined_functions_are_frames(void **state)
{
    (void)state;
    struct err err;
    struct profile *p = profile_new();
    int64_t one = 1;
    struct function outer = {.name = profile_add_str(p, text_of("outer"))};
    struct function inner = {.name = profile_add_str(p, text_of("inner"))};
    struct line lines[] = {{.function = profile_add_function(p, &outer)},
                           {.function = profile_add_function(p, &inner)}};
    struct frame_key key = {.pc = 1, .lines = lines, .n_lines = 2};
    struct frame_id f = profile_add_frame(p, &key);
    support_value(p, "", "samples", "count");
    struct row s = {.stack = stacks_intern(&p->stacks, &f, 1), .values = &one};
    profile_add_row(p, 0, &s, &err);
    struct calltree_opts o = {.labels = {.mark_inlined = true}};
    assert_tree(p, &o, "(outer=1/0(inner_[i]=1/1))");
    profile_free(p);
}

static void names_are_ordered_as_in_folded_lines(void **state)
{
    (void)state;
    struct profile *p = folded("foo 1\nfoo:bar 1\nfoo2 1\nfoo;x 1\nfoo<a> 1\n");
    assert_tree(p, &(struct calltree_opts){0}, "(foo2=1/1 foo:bar=1/1 foo=2/1(x=1/1) foo<a>=1/1)");
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_hold_their_callees),
        cmocka_unit_test(the_same_name_in_two_kinds_is_two_frames),
        cmocka_unit_test(narrow_nodes_are_left_out),
        cmocka_unit_test(rows_know_the_innermost_node_that_is_left_of_them),
        cmocka_unit_test(hundreds_of_thousands_of_callees_stay_apart),
        cmocka_unit_test(callers_first_merges_from_the_leaf),
        cmocka_unit_test(a_chart_keeps_the_order_of_time),
        cmocka_unit_test(a_chart_has_gaps_where_a_thread_was_idle),
        cmocka_unit_test(samples_of_one_moment_still_have_a_width),
        cmocka_unit_test(threads_stand_below_their_stacks),
        cmocka_unit_test(inlined_functions_are_frames),
        cmocka_unit_test(names_are_ordered_as_in_folded_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
