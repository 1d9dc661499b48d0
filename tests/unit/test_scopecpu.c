/* test_scopecpu.c - what scopes spent their time and memory on: samples, waits, blocks; insights.
 */
#include "analysis/scopeinsight.h"
#include "analysis/scopejoin.h"
#include "model/spanstream.h"
#include "model/waitstream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

enum { CPU, SCOPES, SELF = 1 };

static struct profile *with_blocks(void)
{
    struct profile *p = profile_new();
    profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, CPU, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, CPU, "cpu", UNIT_TIME);
    profile_add_stream(p, "scopes", BY_TRACE);
    profile_add_value(p, SCOPES, "spans", UNIT_COUNT);
    profile_add_value(p, SCOPES, "self", UNIT_TIME);
    spanstream_add_blocks(p, SCOPES);
    return p;
}

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

static struct thread_id thread_of(struct profile *p, int tid, const char *name)
{
    struct thread_key key = {profile_add_str(p, text_of(name)), 1, tid};
    return profile_add_thread(p, &key);
}

struct span {
    const char *path;
    int tid;
    uint64_t start_ns, ns, self_ns;
    int64_t blocks, bytes; /* its own */
    const char *thread;    /* NULL: "worker" */
    bool crosses;
};

static void add_span(struct profile *p, const struct span *s)
{
    struct err err;
    struct attr async = {.key = profile_add_str(p, text_of(SCOPE_ASYNC_KEY)), .is_number = true};
    int64_t values[] = {1, (int64_t)s->self_ns, s->blocks, s->bytes};
    struct row row = {.stack = stack_of(p, s->path),
                      .thread = thread_of(p, s->tid, s->thread ? s->thread : "worker"),
                      .has_time = true,
                      .time_ns = s->start_ns,
                      .duration_ns = s->ns,
                      .values = values};
    if (s->crosses)
        row.attrs = attrs_add(&p->attrs, (struct attrs_id){0}, &async);
    assert_int_equal(profile_add_row(p, SCOPES, &row, &err), 0);
}

static void add_sample(struct profile *p, const char *path, int tid, uint64_t time_ns)
{
    struct err err;
    int64_t values[] = {1, 1000};
    struct row row = {.stack = stack_of(p, path),
                      .thread = thread_of(p, tid, "worker"),
                      .has_time = true,
                      .time_ns = time_ns,
                      .values = values};
    assert_int_equal(profile_add_row(p, CPU, &row, &err), 0);
}

static const struct scope_sum *flat_sum(const struct scopetree *t, const char *name)
{
    for (size_t i = 0; i < t->flat.n; i++)
        if (text_is(profile_str(t->selection->profile, t->flat.at[i].name), name))
            return &t->flat.at[i].sum;
    fail_msg("no scope %s", name);
    return NULL;
}

static void blocks_are(const struct scope_sum *s, uint64_t blocks, uint64_t bytes)
{
    assert_int_equal(s->blocks.blocks, blocks);
    assert_int_equal(s->blocks.bytes, bytes);
}

/* Two threads in turns; one changes its name; a span that crosses threads takes no part. */
static const struct span nested[] = {
    {"token;layer", 1, 10, 10, 10, 3, 300, NULL, false},
    {"token;layer", 2, 11, 10, 10, 5, 50, NULL, false},
    {"token;layer", 1, 30, 40, 40, 4, 400, NULL, false},
    {"token;wait", 1, 5, 70, 0, 0, 0, NULL, true},
    {"token", 1, 5, 90, 40, 1, 10, "renamed", false},
    {"token", 2, 5, 20, 10, 0, 0, NULL, false},
    {"token", 1, 100, 10, 10, 0, 0, NULL, false},
};

static void add_nested(struct profile *p)
{
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
        add_span(p, &nested[i]);
}

static void a_span_has_the_blocks_of_the_scopes_inside_as_well(void **state)
{
    (void)state;
    struct profile *p = with_blocks();
    struct scopetree t;
    struct err err;
    add_nested(p);
    struct selection s = selection_all(p, (struct value_ref){SCOPES, SELF});
    assert_int_equal(scopetree_build(&t, &s, NULL, &err), 0);
    assert_true(t.has_blocks);
    blocks_are(flat_sum(&t, "layer"), 12, 750);
    blocks_are(flat_sum(&t, "token"), 13, 760);
    blocks_are(flat_sum(&t, "wait"), 0, 0);
    assert_int_equal(flat_sum(&t, "token")->slowest.blocks.blocks, 8);
    assert_int_equal(flat_sum(&t, "layer")->slowest.blocks.blocks, 4);
    scopetree_done(&t);
    profile_free(p);
}

/* What is not selected still was inside of what is. */
static void a_selected_span_keeps_the_blocks_of_those_that_are_not(void **state)
{
    (void)state;
    struct profile *p = with_blocks();
    struct selection s;
    struct scopetree t;
    struct err err;
    add_nested(p);
    const char *threads[] = {"renamed", NULL};
    assert_int_equal(selection_build(&s, p, (struct value_ref){SCOPES, SELF},
                                     &(struct selection_opts){.threads = threads}, &err),
                     0);
    assert_int_equal(scopetree_build(&t, &s, NULL, &err), 0);
    assert_int_equal(t.spans, 1);
    blocks_are(flat_sum(&t, "token"), 8, 710);
    scopetree_done(&t);
    selection_done(&s);
    profile_free(p);
}

static void spans_are_grouped_by_thread(void **state)
{
    (void)state;
    struct profile *p = with_blocks();
    struct scopetree t;
    struct err err;
    add_nested(p);
    struct selection s = selection_all(p, (struct value_ref){SCOPES, SELF});
    assert_int_equal(scopetree_build(&t, &s, "thread", &err), 0);
    assert_int_equal(t.groups.n, 4); /* layer, token of both names, wait */
    const struct scope_node *g = &t.groups.at[1];
    assert_true(text_is(profile_str(p, g->name), "token"));
    assert_true(text_is(profile_str(p, g->attr.text), "renamed"));
    assert_int_equal(g->sum.calls, 1);
    assert_int_equal(t.groups.at[2].sum.calls, 2);
    assert_int_equal(scopetree_ids(&t, 4).group, g->id + 1);
    scopetree_done(&t);
    profile_free(p);
}

/* --- samples --- */

struct joined {
    struct profile *p;
    struct selection spans, samples;
    struct scopetree t;
    struct scopecpu *cpu;
};

static void join(struct joined *j)
{
    struct value_ref ref;
    struct err err;
    j->spans = selection_all(j->p, (struct value_ref){SCOPES, SELF});
    assert_int_equal(scopetree_build(&j->t, &j->spans, NULL, &err), 0);
    assert_true(scopecpu_find(j->p, &ref));
    assert_int_equal(ref.stream, CPU);
    j->samples = selection_all(j->p, ref);
    j->cpu = scopecpu_new(&j->samples);
    scopecpu_add(j->cpu, &j->spans);
    scopecpu_end(j->cpu, &j->t);
}

static void unjoin(struct joined *j)
{
    scopecpu_free(j->cpu);
    scopetree_done(&j->t);
    profile_free(j->p);
}

static void samples_are_in_the_innermost_span_of_their_thread(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    add_nested(j.p);
    const uint64_t times[] = {4, 5, 10, 19, 20, 69, 70, 94, 95, 105}; /* an end is outside */
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        add_sample(j.p, times[i] < 20 ? "main;mul" : "main;add", 1, times[i]);
    add_sample(j.p, "main;mul", 2, 12);
    add_sample(j.p, "main;mul", 3, 12); /* a thread without scopes */
    join(&j);
    assert_int_equal(scopecpu_samples(j.cpu), 12);
    assert_int_equal(scopecpu_total_ns(j.cpu), 12000);
    const struct scope_cpu *token = NULL, *layer = NULL, *wait = NULL;
    for (size_t i = 0; i < j.t.flat.n; i++) {
        struct text name = profile_str(j.p, j.t.flat.at[i].name);
        const struct scope_cpu *c = scopecpu_get(j.cpu, i);
        *(text_is(name, "token") ? &token : text_is(name, "layer") ? &layer : &wait) = c;
    }
    assert_int_equal(layer->samples, 4); /* 10, 19, 69 and the one of thread 2 */
    assert_int_equal(token->samples, 9); /* and 5, 20, 70, 94, 105 */
    assert_int_equal(wait->samples, 0);
    assert_true(token->cpu_ns == 9000 && token->self_cpu_ns == 5000);
    assert_string_equal(layer->functions[0].name, "mul");
    assert_int_equal(layer->functions[0].samples, 3);
    assert_string_equal(layer->functions[1].name, "add");
    assert_int_equal(layer->functions[2].samples, 0);
    unjoin(&j);
}

/* Parents before their children, as traces of other programs have them. */
static void the_order_of_spans_does_not_matter(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    for (size_t i = sizeof nested / sizeof *nested; i-- > 0;)
        add_span(j.p, &nested[i]);
    add_sample(j.p, "main", 1, 15);
    add_sample(j.p, "main", 1, 75);
    join(&j);
    for (size_t i = 0; i < j.t.flat.n; i++)
        if (text_is(profile_str(j.p, j.t.flat.at[i].name), "layer"))
            assert_int_equal(scopecpu_get(j.cpu, i)->samples, 1);
    unjoin(&j);
}

/* A hundred scopes of different names inside each other, each of which has the sample once. */
static void a_sample_counts_for_all_scopes_around_it(void **state)
{
    (void)state;
    enum { DEEP = 100 };
    struct joined j = {.p = with_blocks()};
    char path[DEEP * 12] = "";
    for (int i = 0; i < DEEP; i++) {
        size_t n = strlen(path);
        snprintf(path + n, sizeof path - n, "%sscope %d", i ? ";" : "", i);
        struct span s = {path, 1, 10, 100, 1, 0, 0, NULL, false};
        add_span(j.p, &s);
    }
    size_t n = strlen(path);
    snprintf(path + n, sizeof path - n, ";scope 50"); /* inside of its own name */
    struct span again = {path, 1, 10, 100, 1, 0, 0, NULL, false};
    add_span(j.p, &again);
    add_sample(j.p, "main", 1, 50);
    add_sample(j.p, "main", 1, 51);
    join(&j);
    assert_int_equal(j.t.flat.n, DEEP);
    for (size_t i = 0; i < j.t.flat.n; i++)
        assert_int_equal(scopecpu_get(j.cpu, i)->samples, 2);
    unjoin(&j);
}

/* --- the slowest --- */

static void add_wait(struct profile *p, const struct waitstream *w, int tid, uint64_t start_ns,
                     int64_t blocked_ns, int64_t runnable_ns)
{
    struct err err;
    int64_t values[WAIT_COLUMNS];
    values[w->wait_column[WAIT_COUNT]] = 1;
    values[w->wait_column[WAIT_BLOCKED]] = blocked_ns;
    values[w->wait_column[WAIT_RUNNABLE]] = runnable_ns;
    struct stack_id lock = stack_of(p, "main;pthread_mutex_lock");
    struct frame_id futex = profile_add_named_frame(p, text_of("futex_wait"), FRAME_KERNEL);
    struct row row = {.stack = stacks_push(&p->stacks, lock, futex),
                      .thread = thread_of(p, tid, "worker"),
                      .has_time = true,
                      .time_ns = start_ns,
                      .duration_ns = (uint64_t)(blocked_ns + runnable_ns),
                      .values = values};
    assert_int_equal(profile_add_row(p, w->waits, &row, &err), 0);
}

/* The slowest "token" lasts from 5 to 95. */
static void the_slowest_span_says_what_it_waited_for(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    struct waitstream w;
    add_nested(j.p);
    add_sample(j.p, "main", 1, 50);
    add_sample(j.p, "main", 1, 99);
    assert_true(waitstream_add(j.p, &w));
    assert_true(waitstream_find(j.p, &w));
    add_wait(j.p, &w, 1, 0, 8, 0);    /* 3 of it within */
    add_wait(j.p, &w, 1, 60, 20, 10); /* all of it */
    add_wait(j.p, &w, 1, 90, 2, 20);  /* 2 blocked, 3 runnable */
    add_wait(j.p, &w, 2, 60, 20, 10); /* another thread's */
    join(&j);
    struct scope_spent s = scopecpu_spent(j.cpu, j.p, flat_sum(&j.t, "token"));
    assert_true(s.known && s.has_waits);
    assert_int_equal(s.samples, 1);
    assert_int_equal(s.blocked_ns, 25);
    assert_int_equal(s.runnable_ns, 13);
    assert_int_equal(s.reason, WAIT_LOCK);
    assert_int_equal(s.reason_ns, 25);
    assert_false(scopecpu_spent(j.cpu, j.p, flat_sum(&j.t, "wait")).known);
    unjoin(&j);
}

/* --- insights --- */

static const char *said(const struct scopeinsights *s, const char *title)
{
    for (size_t i = 0; i < s->found.at.n; i++)
        if (strcmp(s->found.at.at[i].title, title) == 0)
            return s->found.at.at[i].text;
    return "";
}

static void insights_say_what_the_numbers_carry(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t ns = i % 50 ? 1000 : 40000;
        struct span s = {"step", 1, i * 100000, ns, ns, 2, 64, NULL, false};
        add_span(j.p, &s);
        if (i % 20 == 0)
            add_sample(j.p, "main;mul", 1, i * 100000);
    }
    struct span idle = {"idle", 2, 0, 200000000, 200000000, 0, 0, NULL, false};
    add_span(j.p, &idle);
    struct scopeinsights found;
    join(&j);
    scopeinsights_find(&found, &j.t, j.cpu);
    assert_non_null(strstr(said(&found, "Off-CPU"), "idle was on a CPU for 0.0% of its self time"));
    assert_string_equal(said(&found, "Hot path"), "");  /* nothing is nested */
    assert_string_equal(said(&found, "Long tail"), ""); /* step is below 5% of the time */
    assert_non_null(
        strstr(said(&found, "Allocations"), "step allocates 2.0 blocks (64 B) per call"));
    scopeinsights_done(&found);
    unjoin(&j);
}

/* BLOCKS: of the slow ones. */
static void add_tail(struct joined *j, int64_t blocks, int64_t others)
{
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t ns = i % 50 ? 1000 : 40000;
        struct span inner = {"step;part", 1,        i * 100000,
                             ns - 100,    ns - 100, i % 50 ? others : blocks,
                             64,          NULL,     false};
        struct span outer = {"step", 1, i * 100000, ns, 100, 0, 0, NULL, false};
        add_span(j->p, &inner);
        add_span(j->p, &outer);
        add_sample(j->p, "main;mul", 1, i * 100000);
    }
}

static void a_tail_is_told_with_its_slowest(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    add_tail(&j, 100, 1);
    struct scopeinsights found;
    join(&j);
    scopeinsights_find(&found, &j.t, j.cpu);
    assert_non_null(strstr(said(&found, "Hot path"), "step > part: "));
    assert_non_null(strstr(said(&found, "Long tail"), "1 call in 100 takes 40 us or longer, 40 "
                                                      "times the median (1 us)"));
    assert_non_null(strstr(said(&found, "Long tail"), "It allocated 100 blocks; the mean is 3.0."));
    scopeinsights_done(&found);
    unjoin(&j);
    j = (struct joined){.p = with_blocks()};
    add_tail(&j, 100, 90); /* no more than others */
    join(&j);
    scopeinsights_find(&found, &j.t, j.cpu);
    assert_non_null(strstr(said(&found, "Long tail"), "1 call in 100"));
    assert_null(strstr(said(&found, "Long tail"), "It allocated"));
    scopeinsights_done(&found);
    unjoin(&j);
}

/* As far down as one scope has more than half of the time around it. */
static void the_hot_path_ends_where_time_divides(void **state)
{
    (void)state;
    struct joined j = {.p = with_blocks()};
    static const struct span spans[] = {
        {"outer;middle;leaf", 1, 0, 400, 400, 0, 0, NULL, false},
        {"outer;middle;other", 1, 400, 400, 400, 0, 0, NULL, false},
        {"outer;middle", 1, 0, 900, 100, 0, 0, NULL, false},
        {"outer", 1, 0, 1000, 100, 0, 0, NULL, false},
    };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        add_span(j.p, &spans[i]);
    add_sample(j.p, "main", 1, 5);
    struct scopeinsights found;
    join(&j);
    scopeinsights_find(&found, &j.t, j.cpu);
    assert_string_equal(said(&found, "Hot path"),
                        "outer > middle: 900 ns, 90% of outer, in 1 call.");
    assert_string_equal(said(&found, "Short scopes"), "");
    scopeinsights_done(&found);
    unjoin(&j);
}

/* 100,000 calls of 400 ns are short, of 600 ns they are not. */
static void short_scopes_are_told(void **state)
{
    (void)state;
    for (uint64_t ns = 400; ns <= 600; ns += 200) {
        struct joined j = {.p = with_blocks()};
        for (uint64_t i = 0; i < 100000; i++) {
            struct span s = {"tiny", 1, i * 1000, ns, ns, 0, 0, NULL, false};
            add_span(j.p, &s);
        }
        add_sample(j.p, "main", 1, 5);
        struct scopeinsights found;
        join(&j);
        scopeinsights_find(&found, &j.t, j.cpu);
        const char *text = said(&found, "Short scopes");
        if (ns == 400)
            assert_non_null(strstr(text, "tiny takes 400 ns on average, in 100,000 calls."));
        else
            assert_string_equal(text, "");
        scopeinsights_done(&found);
        unjoin(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_the_blocks_of_the_scopes_inside_as_well),
        cmocka_unit_test(a_selected_span_keeps_the_blocks_of_those_that_are_not),
        cmocka_unit_test(spans_are_grouped_by_thread),
        cmocka_unit_test(samples_are_in_the_innermost_span_of_their_thread),
        cmocka_unit_test(the_order_of_spans_does_not_matter),
        cmocka_unit_test(a_sample_counts_for_all_scopes_around_it),
        cmocka_unit_test(the_slowest_span_says_what_it_waited_for),
        cmocka_unit_test(insights_say_what_the_numbers_carry),
        cmocka_unit_test(a_tail_is_told_with_its_slowest),
        cmocka_unit_test(the_hot_path_ends_where_time_divides),
        cmocka_unit_test(short_scopes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
