/* test_scopetree.c - spans summed up by scope, name and attribute; and which scopes samples were
 * in. */
#include "analysis/scopejoin.h"
#include "analysis/scopetree.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

enum { CPU, SCOPES, SELF = 1 };

static struct profile *two_streams(void)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    profile_add_stream(p, "scopes", BY_TRACE);
    profile_add_value(p, SCOPES, "spans", UNIT_COUNT);
    profile_add_value(p, SCOPES, "self", UNIT_TIME);
    return p;
}

/* "a;b": outermost first. */
static struct stack_id stack_of(struct profile *p, const char *path)
{
    struct stack_id stack = {0};
    struct text rest = text_of(path), name;
    while (rest.n) {
        name = text_cut(&rest, ';');
        stack = stacks_push(&p->stacks, stack, profile_add_named_frame(p, name, FRAME_USER));
    }
    return stack;
}

static struct thread_id thread_of(struct profile *p, int pid, int tid)
{
    struct thread_key key = {profile_add_str(p, text_of("worker")), pid, tid};
    return profile_add_thread(p, &key);
}

struct span {
    const char *path;
    int pid, tid;
    uint64_t start_ns, ns, self_ns;
    const char *key, *text; /* an attribute; NULL = none */
    int64_t number;         /* where text is NULL */
};

static struct attrs_id attrs_of(struct profile *p, const struct span *s)
{
    struct attr attr = {.is_number = !s->text, .number = s->number};
    if (!s->key)
        return (struct attrs_id){0};
    attr.key = profile_add_str(p, text_of(s->key));
    if (s->text)
        attr.text = profile_add_str(p, text_of(s->text));
    return attrs_add(&p->attrs, (struct attrs_id){0}, &attr);
}

static void add_spans(struct profile *p, const struct span *spans, size_t n)
{
    struct err err;
    for (size_t i = 0; i < n; i++) {
        int64_t values[] = {1, (int64_t)spans[i].self_ns};
        struct row row = {.stack = stack_of(p, spans[i].path),
                          .thread = thread_of(p, spans[i].pid, spans[i].tid),
                          .attrs = attrs_of(p, &spans[i]),
                          .has_time = true,
                          .time_ns = spans[i].start_ns,
                          .duration_ns = spans[i].ns,
                          .values = values};
        assert_int_equal(profile_add_row(p, SCOPES, &row, &err), 0);
    }
}

static void add_sample(struct profile *p, const char *path, int pid, int tid, uint64_t time_ns)
{
    struct err err;
    int64_t one = 1;
    struct row row = {.stack = stack_of(p, path),
                      .thread = thread_of(p, pid, tid),
                      .has_time = true,
                      .time_ns = time_ns,
                      .values = &one};
    assert_int_equal(profile_add_row(p, CPU, &row, &err), 0);
}

/* "a;b", the way stack_of() takes it. */
static void path_is(const struct profile *p, struct stack_id stack, const char *expected)
{
    const char *names[8];
    char path[200] = "";
    size_t n = 0;
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent)
        names[n++] = profile_str(p, scopetree_name(p, stack)).at;
    while (n-- > 0) {
        strcat(path, names[n]);
        strcat(path, n ? ";" : "");
    }
    assert_string_equal(path, expected);
}

/* --- joined with samples --- */

/* Spans are written when they end: inner ones first. */
static const struct span joined_spans[] = {
    {"outer;inner", 10, 1, 120, 30, 30},
    {"outer", 10, 1, 100, 100, 70},
    {"outer", 10, 2, 300, 100, 100},
    {"outer;first", 10, 1, 500, 50, 50}, /* begins with what is around it */
    {"outer", 10, 1, 500, 100, 50},
    {"outer;whole", 10, 1, 700, 50, 50}, /* and ends with it, too */
    {"outer", 10, 1, 700, 50, 0},
    {"crossing", 10, 1, 0, 5000, 5000, .key = SCOPE_ASYNC_KEY, .text = "yes"},
};

static const struct {
    int pid, tid;
    uint64_t time_ns;
    const char *scopes;
} joined_samples[] = {
    {10, 1, 99, ""},
    {10, 1, 100, "outer"},
    {10, 1, 119, "outer"},
    {10, 1, 120, "outer;inner"},
    {10, 1, 149, "outer;inner"},
    {10, 1, 150, "outer"},
    {10, 1, 199, "outer"},
    {10, 1, 200, ""},
    {10, 2, 120, ""}, /* another thread's */
    {10, 2, 399, "outer"},
    {11, 1, 120, ""}, /* another process' */
    {10, 1, 500, "outer;first"},
    {10, 1, 550, "outer"},
    {10, 1, 700, "outer;whole"},
    {10, 1, 750, ""},
};

enum { JOINED = sizeof joined_samples / sizeof *joined_samples };

static struct profile *joined_new(void)
{
    struct profile *p = two_streams();
    add_spans(p, joined_spans, sizeof joined_spans / sizeof *joined_spans);
    for (size_t i = 0; i < JOINED; i++)
        add_sample(p, "main;work", joined_samples[i].pid, joined_samples[i].tid,
                   joined_samples[i].time_ns);
    return p;
}

static void a_sample_is_in_the_innermost_span_of_its_thread(void **state)
{
    (void)state;
    struct profile *p = joined_new();
    struct stack_id *in = scopejoin_build(p, SCOPES, profile_stream(p, CPU));
    assert_non_null(in);
    for (size_t i = 0; i < JOINED; i++)
        path_is(p, in[i], joined_samples[i].scopes);
    free(in);
    profile_free(p);
}

static void a_span_knows_the_one_around_it(void **state)
{
    (void)state;
    static const uint32_t around[] = {2, 0, 0, 5, 0, 7, 0, 0};
    struct profile *p = joined_new();
    uint32_t *parents = scopejoin_parents(p, profile_stream(p, SCOPES));
    assert_memory_equal(parents, around, sizeof around);
    free(parents);
    profile_free(p);
}

static void stacks_can_begin_with_scopes(void **state)
{
    (void)state;
    struct profile *p = joined_new(), *joined;
    struct err err;
    assert_int_equal(scopejoin_stacks(SUPPORT_ALL(p, 0), &joined, &err), 0);
    const struct rows *rows = &profile_stream(joined, 0)->rows;
    assert_int_equal(rows->n, JOINED);
    for (size_t i = 0; i < JOINED; i++) {
        char path[100];
        snprintf(path, sizeof path, "%s%smain;work", joined_samples[i].scopes,
                 *joined_samples[i].scopes ? ";" : "");
        path_is(joined, rows->stack[i], path);
    }
    profile_free(joined);
    profile_free(p);
}

static void what_has_no_scopes_or_no_times_cannot_be_joined(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;work 3\n"), *joined;
    struct err err;
    assert_int_equal(scopejoin_stacks(SUPPORT_ALL(p, 0), &joined, &err), -1);
    assert_non_null(strstr(err.text, "there are no scopes in this profile"));
    assert_int_equal(scopetree_stream(p), -1);
    profile_free(p);

    p = two_streams();
    add_spans(p, joined_spans, 2);
    int64_t one = 1;
    struct row row = {.stack = stack_of(p, "main"), .values = &one};
    assert_int_equal(profile_add_row(p, CPU, &row, &err), 0);
    assert_null(scopejoin_build(p, SCOPES, profile_stream(p, CPU)));
    assert_null(scopejoin_parents(p, profile_stream(p, CPU)));
    assert_int_equal(scopejoin_stacks(SUPPORT_ALL(p, 0), &joined, &err), -1);
    assert_non_null(strstr(err.text, "the input has no times"));
    profile_free(p);
}

/* --- selected --- */

static void selects(struct profile *p, int stream, const char *a, const char *b, size_t rows)
{
    struct selection s;
    struct err err;
    const char *const scopes[] = {a, b, NULL};
    if (selection_build(&s, p, (struct value_ref){stream, 0},
                        &(struct selection_opts){.scopes = scopes}, &err) != 0)
        fail_msg("'%s': %s", a, err.text);
    assert_int_equal(s.n_rows, rows);
    assert_int_equal(s.total, rows);
    assert_int_equal(strncmp(s.words, "scope ", 6), 0);
    selection_done(&s);
}

static void selects_nothing(struct profile *p, const char *scope, const char *words)
{
    struct selection s;
    struct err err;
    const char *const scopes[] = {scope, NULL};
    assert_int_equal(selection_build(&s, p, (struct value_ref){CPU, 0},
                                     &(struct selection_opts){.scopes = scopes}, &err),
                     -1);
    if (!strstr(err.text, words))
        fail_msg("'%s': %s", scope, err.text);
}

static void rows_can_be_selected_by_their_scope(void **state)
{
    (void)state;
    struct profile *p = joined_new();
    selects(p, CPU, "inner", NULL, 2);
    selects(p, CPU, "^outer$", NULL, 10); /* with what is inside */
    selects(p, CPU, "inner", "first", 3);
    selects(p, SCOPES, "inner|whole", NULL, 2);
    selects(p, SCOPES, "outer", NULL, 7);
    selects_nothing(p, "iner", "no scope matches 'iner'; did you mean 'inner'?");
    selects_nothing(p, "nothing_like_it", "inner");
    selects_nothing(p, "(", "(");
    selects_nothing(p, "crossing", "nothing was recorded with all of: scope crossing");
    profile_free(p);

    p = support_folded("main;work 3\n");
    selects_nothing(p, "outer", "there are no scopes in this profile");
    profile_free(p);
    p = two_streams();
    add_spans(p, joined_spans, 2);
    selects_nothing(p, "outer", "only scopes were recorded");
    struct err err;
    int64_t one = 1;
    struct row row = {.stack = stack_of(p, "main"), .values = &one};
    assert_int_equal(profile_add_row(p, CPU, &row, &err), 0);
    selects_nothing(p, "outer", "no times");
    profile_free(p);
}

/* --- summed up --- */

static const struct span summed_spans[] = {
    {"run;parse", 10, 1, 1000, 100, 100, .key = "kind", .text = "text"},
    {"run;parse", 10, 1, 1200, 300, 300, .key = "kind", .text = "data"},
    {"run;eval;run", 10, 1, 1600, 150, 150}, /* inside of its own name */
    {"run;eval", 10, 1, 1550, 400, 250, .key = "kind", .number = 7},
    {"run", 10, 1, 900, 1100, 300, .key = "size", .number = 8},
    {"run;parse", 10, 1, 5000, 200, 200, .key = "kind", .number = -3},
    {"zeta", 10, 1, 6000, 1100, 1100, .key = "kind", .number = 7},
    {"zeta", 10, 1, 500, 0, 0, .key = "kind", .number = 7},
};

static struct profile *summed_new(void)
{
    struct profile *p = two_streams();
    add_spans(p, summed_spans, sizeof summed_spans / sizeof *summed_spans);
    return p;
}

static void node_is(const struct profile *p, const struct scope_node *n, const char *name,
                    uint64_t calls, uint64_t total_ns, uint64_t self_ns)
{
    assert_string_equal(profile_str(p, n->name).at, name);
    assert_int_equal(n->sum.calls, calls);
    assert_int_equal(n->sum.total_ns, total_ns);
    assert_int_equal(n->sum.self_ns, self_ns);
}

static struct selection all_spans(const struct profile *p)
{
    return selection_all(p, (struct value_ref){SCOPES, SELF});
}

static void the_tree_has_scopes_inside_of_scopes(void **state)
{
    (void)state;
    struct profile *p = summed_new();
    struct selection s = all_spans(p);
    struct scopetree t;
    struct err err;
    assert_int_equal(scopetree_build(&t, &s, NULL, &err), 0);
    assert_int_equal(t.spans, 8);
    assert_int_equal(t.start_ns, 500);
    assert_int_equal(t.end_ns, 7100);
    assert_int_equal(t.tree.n, 5);
    node_is(p, &t.tree.at[0], "run", 1, 1100, 300); /* as long as zeta, but seen before */
    node_is(p, &t.tree.at[1], "parse", 3, 600, 600);
    node_is(p, &t.tree.at[2], "eval", 1, 400, 250);
    node_is(p, &t.tree.at[3], "run", 1, 150, 150);
    node_is(p, &t.tree.at[4], "zeta", 2, 1100, 1100);
    static const uint32_t depth[] = {0, 1, 1, 2, 0}, parent[] = {0, 1, 1, 3, 0};
    for (size_t i = 0; i < t.tree.n; i++) {
        assert_int_equal(t.tree.at[i].depth, depth[i]);
        assert_int_equal(t.tree.at[i].parent, parent[i]);
    }
    assert_int_equal(t.groups.n, 0);
    scopetree_done(&t);
    profile_free(p);
}

static void a_name_counts_once_where_it_is_inside_of_itself(void **state)
{
    (void)state;
    struct profile *p = summed_new();
    struct selection s = all_spans(p);
    struct scopetree t;
    struct err err;
    assert_int_equal(scopetree_build(&t, &s, NULL, &err), 0);
    assert_int_equal(t.flat.n, 4);
    node_is(p, &t.flat.at[0], "run", 2, 1100, 450);
    node_is(p, &t.flat.at[1], "zeta", 2, 1100, 1100);
    node_is(p, &t.flat.at[2], "parse", 3, 600, 600);
    node_is(p, &t.flat.at[3], "eval", 1, 400, 250);
    assert_float_equal(scope_sum_sd_ns(&t.flat.at[0].sum), 671.7514, 1e-3); /* 1100 and 150 */
    const struct scope_sum *parse = &t.flat.at[2].sum;
    assert_int_equal(parse->min_ns, 100);
    assert_int_equal(parse->max_ns, 300);
    assert_int_equal(parse->slowest.time_ns, summed_spans[1].start_ns);
    assert_float_equal(parse->mean_ns, 200, 1e-9);
    assert_float_equal(scope_sum_sd_ns(parse), 100, 1e-9);
    assert_float_equal(scope_sum_sd_ns(&t.flat.at[3].sum), 0, 0);
    assert_int_equal(scope_sum_quantile_ns(parse, 0), 100);
    assert_int_equal(scope_sum_quantile_ns(parse, 1), 300);
    assert_int_equal(t.flat.at[1].sum.min_ns, 0);
    scopetree_done(&t);
    profile_free(p);
}

/* One of ten lies beyond the 90th percentile. */
static void a_quantile_takes_as_many_spans_as_there_are_beyond_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t least;
        double q;
    } list[] = {{2, 0.5}, {10, 0.9}, {100, 0.99}, {1000, 0.999}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        assert_true(scope_sum_has_quantile(&(struct scope_sum){.calls = list[i].least}, list[i].q));
        assert_false(
            scope_sum_has_quantile(&(struct scope_sum){.calls = list[i].least - 1}, list[i].q));
    }
}

static void group_is(const struct profile *p, const struct scope_node *n, const char *name,
                     const char *text, int64_t number)
{
    assert_string_equal(profile_str(p, n->name).at, name);
    assert_string_equal(profile_str(p, n->attr.key).at, "kind");
    assert_int_equal(n->attr.is_number, !text);
    if (text)
        assert_string_equal(profile_str(p, n->attr.text).at, text);
    else
        assert_int_equal(n->attr.number, number);
}

static void spans_are_grouped_by_the_value_of_an_attribute(void **state)
{
    (void)state;
    struct profile *p = summed_new();
    struct selection s = all_spans(p);
    struct scopetree t;
    struct err err;
    assert_int_equal(scopetree_build(&t, &s, "kind", &err), 0);
    assert_int_equal(t.groups.n, 5);
    group_is(p, &t.groups.at[0], "eval", NULL, 7);
    group_is(p, &t.groups.at[1], "parse", NULL, -3);
    group_is(p, &t.groups.at[2], "parse", "data", 0);
    group_is(p, &t.groups.at[3], "parse", "text", 0);
    group_is(p, &t.groups.at[4], "zeta", NULL, 7);
    assert_int_equal(t.groups.at[4].sum.calls, 2);
    assert_int_equal(t.groups.at[2].sum.total_ns, 300);

    /* Ids are in the order in which things were seen first. */
    struct scope_ids ids = scopetree_ids(&t, 1);
    assert_int_equal(ids.tree, 2);
    assert_int_equal(ids.flat, 2);
    assert_int_equal(ids.group, 2);
    ids = scopetree_ids(&t, 4);
    assert_int_equal(ids.tree, 1);
    assert_int_equal(ids.flat, 1);
    assert_int_equal(ids.group, 0); /* it has another attribute */
    ids = scopetree_ids(&t, 7);
    assert_int_equal(ids.group, scopetree_ids(&t, 6).group);
    assert_int_equal(ids.group, 5);
    scopetree_done(&t);
    profile_free(p);
}

static void numbers_and_texts_are_in_order(void **state)
{
    (void)state;
    static const struct span spans[] = {
        {"a", 1, 1, 0, 1, 1, .key = "k", .text = "b"},
        {"a", 1, 1, 1, 1, 1, .key = "k", .number = 20},
        {"a", 1, 1, 2, 1, 1, .key = "k", .text = "ab"},
        {"a", 1, 1, 3, 1, 1, .key = "k", .number = 3},
        {"a", 1, 1, 4, 1, 1, .key = "k", .text = "a"},
        {"ab", 1, 1, 5, 1, 1, .key = "k", .number = 1},
    };
    struct profile *p = two_streams();
    add_spans(p, spans, sizeof spans / sizeof *spans);
    struct selection s = all_spans(p);
    struct scopetree t;
    struct err err;
    assert_int_equal(scopetree_build(&t, &s, "k", &err), 0);
    static const uint64_t starts[] = {3, 1, 4, 2, 0, 5};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(t.groups.at[i].sum.slowest.time_ns, starts[i]);
    assert_string_equal(profile_str(p, t.flat.at[0].name).at, "a");
    scopetree_done(&t);
    profile_free(p);
}

static void attributes_that_nothing_has_are_refused(void **state)
{
    (void)state;
    struct profile *p = summed_new();
    struct selection s = all_spans(p), some;
    struct scopetree t;
    struct err err;
    assert_int_equal(scopetree_build(&t, &s, "colour", &err), -1);
    assert_string_equal(err.text, "no scope has an attribute 'colour'; there are: kind, size");
    scopetree_done(&t);

    const char *const scopes[] = {"zeta", NULL};
    assert_int_equal(selection_build(&some, p, (struct value_ref){SCOPES, SELF},
                                     &(struct selection_opts){.scopes = scopes}, &err),
                     0);
    assert_int_equal(scopetree_build(&t, &some, "size", &err), -1);
    assert_string_equal(err.text, "no scope that is selected has an attribute 'size'");
    scopetree_done(&t);
    selection_done(&some);

    add_sample(p, "main", 10, 1, 1000);
    assert_int_equal(scopetree_build(&t, SUPPORT_ALL(p, 0), NULL, &err), -1);
    assert_string_equal(err.text, "nothing here has a duration");
    scopetree_done(&t);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_in_the_innermost_span_of_its_thread),
        cmocka_unit_test(a_span_knows_the_one_around_it),
        cmocka_unit_test(stacks_can_begin_with_scopes),
        cmocka_unit_test(what_has_no_scopes_or_no_times_cannot_be_joined),
        cmocka_unit_test(rows_can_be_selected_by_their_scope),
        cmocka_unit_test(the_tree_has_scopes_inside_of_scopes),
        cmocka_unit_test(a_name_counts_once_where_it_is_inside_of_itself),
        cmocka_unit_test(a_quantile_takes_as_many_spans_as_there_are_beyond_it),
        cmocka_unit_test(spans_are_grouped_by_the_value_of_an_attribute),
        cmocka_unit_test(numbers_and_texts_are_in_order),
        cmocka_unit_test(attributes_that_nothing_has_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
