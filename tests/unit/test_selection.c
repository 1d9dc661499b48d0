/*
 * Selections: which rows count, what is hidden, what recursion becomes, and what is refused.
 */
#include "analysis/calltree.h"
#include "analysis/extract.h"
#include "analysis/flat.h"
#include "analysis/heat.h"
#include "analysis/overlay.h"
#include "analysis/quality.h"
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support.h"

#define ONE(word) ((const char *const[]){word, NULL})

/* --- a profile of two processes, three threads, labels and times --- */

static struct attrs_id label(struct profile *p, const char *key, const char *text)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)),
                     .text = profile_add_str(p, text_of(text))};
    return attrs_add(&p->attrs, (struct attrs_id){0}, &a);
}

static struct attrs_id number(struct profile *p, const char *key, int64_t n)
{
    struct attr a = {.key = profile_add_str(p, text_of(key)), .is_number = true, .number = n};
    return attrs_add(&p->attrs, (struct attrs_id){0}, &a);
}

/* A second starts 5 s after the first row of each thread; values are 1, 2, 4, 8... */
static struct profile *rich(void)
{
    struct profile *p = profile_new();
    struct process app = {.pid = 10, .executable = profile_add_str(p, text_of("/bin/app"))};
    app.attrs = label(p, "region", "eu");
    profile_add_process(p, &app);
    profile_add_process(p, &(struct process){.pid = 20});
    struct {
        const char *stack, *thread;
        int32_t pid, tid;
        uint64_t time_ns;
        struct attrs_id attrs;
    } rows[] = {
        {"main;parse;read", "app", 10, 10, 1000000000, {0}},
        {"main;parse;read;read", "app", 10, 10, 2000000000, label(p, "tenant", "blue")},
        {"main;write", "worker-1", 10, 11, 3000000000, label(p, "tenant", "green")},
        {"main;parse", "worker-2", 10, 12, 4000000000, number(p, "bytes", 512)},
        {"start;idle", "helper", 20, 20, 6000000000, {0}},
    };
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct thread_key t = {profile_add_str(p, text_of(rows[i].thread)), rows[i].pid,
                               rows[i].tid};
        int64_t values[] = {1, (int64_t)1 << i};
        struct row r = {.stack = support_path(p, rows[i].stack),
                        .thread = profile_add_thread(p, &t),
                        .attrs = rows[i].attrs,
                        .has_time = true,
                        .time_ns = rows[i].time_ns,
                        .values = values};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    return p;
}

/* The sum of the rows that OPTS leave: which they are can be told from it. */
static void leaves(const struct selection_opts *opts, int64_t total, const char *words)
{
    struct profile *p = rich();
    struct selection s;
    struct err err = {0};
    if (selection_build(&s, p, (struct value_ref){0, 1}, opts, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(s.total, total);
    assert_int_equal(s.n_samples, __builtin_popcountll((unsigned long long)total));
    assert_int_equal(s.n_samples, s.n_rows);
    assert_string_equal(s.words ? s.words : "", words);
    int64_t sum = 0;
    for (size_t i = 0; i < s.n_rows; i++)
        sum += selection_values(&s)[selection_row(&s, i)];
    assert_int_equal(sum, total);
    selection_done(&s);
    profile_free(p);
}

static void refuses(const struct selection_opts *opts, const char *words)
{
    struct profile *p = rich();
    struct selection s;
    struct err err = {0};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, opts, &err), -1);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
    profile_free(p);
}

/* --- rows --- */

static void nothing_asked_for_is_everything(void **state)
{
    (void)state;
    struct profile *p = rich();
    struct selection s;
    struct err err;
    assert_int_equal(
        selection_build(&s, p, (struct value_ref){0, 1}, &(struct selection_opts){0}, &err), 0);
    assert_true(selection_is_all(&s));
    assert_int_equal(s.total, 31);
    assert_null(s.words);
    selection_done(&s);
    profile_free(p);
    const char *const *empty = (const char *const[]){NULL}; /* an option that was not given */
    leaves(&(struct selection_opts){.threads = empty, .processes = empty, .hide = empty}, 31, "");
}

static void times_are_since_the_first_row(void **state)
{
    (void)state;
    leaves(&(struct selection_opts){.time = "0..1"}, 3, "time 0..1");
    leaves(&(struct selection_opts){.time = "1.5.."}, 28, "time 1.5..");
    leaves(&(struct selection_opts){.time = "..999ms"}, 1, "time ..999ms");
    leaves(&(struct selection_opts){.time = "20%..60%"}, 14, "time 20%..60%");
    leaves(&(struct selection_opts){.time = "4s..5s"}, 16, "time 4s..5s");
    refuses(&(struct selection_opts){.time = "3.2..4.8"}, "spans 0..5 s");
    refuses(&(struct selection_opts){.time = "3"}, "FROM..TO");
    refuses(&(struct selection_opts){.time = "3..1"}, "ends before it begins");
    refuses(&(struct selection_opts){.time = "1 lightyear.."}, "not a time range");
    refuses(&(struct selection_opts){.time = "-1.."}, "not a time range");
}

static void the_end_is_selected_by_its_length(void **state)
{
    (void)state;
    leaves(&(struct selection_opts){.last = "2s"}, 24, "the last 2s");
    leaves(&(struct selection_opts){.last = "1h"}, 31, "the last 1h");
    leaves(&(struct selection_opts){.last = "2500ms", .time = "..3.5"}, 8,
           "time ..3.5, the last 2500ms");
    refuses(&(struct selection_opts){.last = "soon"}, "not a time");
    refuses(&(struct selection_opts){.last = "0"}, "not a time");
    refuses(&(struct selection_opts){.time = "14:30.."}, "not a time range");
}

/* The first row at 23:59:58 UTC, the last five seconds later on the next day. */
static void times_are_those_of_the_clock(void **state)
{
    static const struct {
        const char *time;
        int64_t total;
    } cases[] = {
        {"23:59:58Z..23:59:59Z", 3},
        {"23:59Z..", 31},
        {"00:00Z..", 28},
        {"00:00:00.5Z..00:00:01Z", 8},
        {"..00:00Z", 7},
        {"2026-11-17T23:59:58Z..2026-11-17T23:59:59Z", 3},
        {"2026-11-18 00:00:02Z..", 16},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *p = rich();
        struct selection s;
        struct err err = {0};
        p->clock = (struct clock_pair){500000000, UINT64_C(1794959997500000000)};
        struct selection_opts o = {.time = cases[i].time};
        if (selection_build(&s, p, (struct value_ref){0, 1}, &o, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(s.total, cases[i].total);
        selection_done(&s);
        o.time = "25:00..";
        assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), -1);
        o.time = "04:30Z..04:45Z";
        assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), -1);
        assert_string_equal(err.text, "nothing was recorded in the time range 04:30Z..04:45Z; the "
                                      "recording spans 0..5 s, by the clock "
                                      "23:59:58..00:00:03 UTC");
        profile_free(p);
    }
}

static void what_lasts_counts_where_any_of_it_is_inside(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct selection s;
    struct err err;
    support_value(p, "", "wait", "nanoseconds");
    for (uint64_t i = 0; i < 2; i++) { /* 0..10 s and 20..21 s */
        struct row r = {.has_time = true,
                        .time_ns = 1000 + i * 20000000000,
                        .duration_ns = i ? 1000000000 : 10000000000,
                        .values = (int64_t[]){i ? 1 : 10}};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    struct selection_opts o = {.time = "5..6"};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    assert_int_equal(s.total, 10);
    selection_done(&s);
    o.time = "12..";
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    assert_int_equal(s.total, 1);
    selection_done(&s);
    profile_free(p);
}

static void without_times_no_range_can_be_selected(void **state)
{
    (void)state;
    struct profile *p = support_folded("main;a 3\n");
    struct selection s;
    struct err err;
    struct selection_opts o = {.time = "0..1"};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), -1);
    assert_non_null(strstr(err.text, "no times"));
    profile_free(p);
}

static void threads_and_processes_by_name_or_number(void **state)
{
    (void)state;
    leaves(&(struct selection_opts){.threads = ONE("^worker")}, 12, "thread ^worker");
    leaves(&(struct selection_opts){.threads = ONE("11")}, 4, "thread 11");
    leaves(&(struct selection_opts){.threads = (const char *const[]){"11", "helper", NULL}}, 20,
           "thread 11 or helper");
    leaves(&(struct selection_opts){.processes = ONE("10")}, 15, "process 10");
    leaves(&(struct selection_opts){.processes = ONE("bin/app")}, 15, "process bin/app");
    leaves(&(struct selection_opts){.processes = ONE("help")}, 16, "process help");
    leaves(&(struct selection_opts){.processes = ONE("10"), .threads = ONE("worker-2")}, 8,
           "thread worker-2, process 10");
    refuses(&(struct selection_opts){.threads = ONE("worker-3")}, "did you mean 'worker-1'");
    refuses(&(struct selection_opts){.threads = ONE("99")}, "no thread matches '99'");
    refuses(&(struct selection_opts){.processes = ONE("zzz")}, "no process matches 'zzz'");
    refuses(&(struct selection_opts){.threads = ONE("[")}, "not a regular expression");
    refuses(&(struct selection_opts){.processes = ONE("20"), .threads = ONE("worker")},
            "nothing was recorded with all of: thread worker, process 20");
}

static void labels_of_rows_and_of_their_process(void **state)
{
    (void)state;
    leaves(&(struct selection_opts){.where = ONE("tenant=blue")}, 2, "where tenant=blue");
    leaves(&(struct selection_opts){.where = ONE("tenant=~e")}, 6, "where tenant=~e");
    leaves(&(struct selection_opts){.where = ONE("bytes=512")}, 8, "where bytes=512");
    leaves(&(struct selection_opts){.where = ONE("region=eu")}, 15, "where region=eu");
    leaves(&(struct selection_opts){.where = (const char *const[]){"region=eu", "tenant=~n", NULL}},
           4, "where region=eu, where tenant=~n");
    refuses(&(struct selection_opts){.where = ONE("tenant=bleu")}, "did you mean 'blue'");
    refuses(&(struct selection_opts){.where = ONE("tenent=blue")}, "did you mean 'tenant'");
    refuses(&(struct selection_opts){.where = ONE("tenant")}, "KEY=VALUE");
    refuses(&(struct selection_opts){.where = ONE("bytes=513")}, "no number under 'bytes'");
}

static void stacks_with_and_without_a_function(void **state)
{
    (void)state;
    leaves(&(struct selection_opts){.focus = ONE("^parse$")}, 11, "focus ^parse$");
    leaves(&(struct selection_opts){.focus = (const char *const[]){"write", "idle", NULL}}, 20,
           "focus write or idle");
    leaves(&(struct selection_opts){.ignore = ONE("read")}, 28, "without read");
    leaves(&(struct selection_opts){.focus = ONE("parse"), .ignore = ONE("read")}, 8,
           "focus parse, without read");
    refuses(&(struct selection_opts){.focus = ONE("pasre")}, "did you mean 'parse'");
    refuses(&(struct selection_opts){.ignore = ONE("nothing_like_it")}, "no function matches");
    refuses(&(struct selection_opts){.focus = ONE("write"), .ignore = ONE("main")},
            "nothing was recorded");
}

/* --- stacks --- */

static void add_tree(struct buf *b, const struct calltree *t, uint32_t node)
{
    if (node)
        buf_printf(b, "%s=%lld", labels_text(&t->labels, t->label[node]).at,
                   (long long)t->self[node]);
    const char *before = "(";
    for_each_child (t, node, child) {
        buf_str(b, before);
        add_tree(b, t, child);
        before = " ";
    }
    buf_str(b, *before == ' ' ? ")" : "");
}

static void tree_is(const char *stacks, const struct selection_opts *opts,
                    const struct calltree_opts *tree, const char *want)
{
    struct profile *p = support_folded(stacks);
    struct selection s;
    struct err err;
    autobuf struct buf b = {0};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, opts, &err), 0);
    struct calltree *t = calltree_build(&s, tree);
    add_tree(&b, t, 0);
    assert_string_equal(buf_cstr(&b), want);
    calltree_free(t);
    selection_done(&s);
    profile_free(p);
}

#define PLAIN_TREE (&(struct calltree_opts){0})

static void what_is_hidden_goes_to_its_caller(void **state)
{
    (void)state;
    static const char stacks[] = "main;a;b;c 1\nmain;a;b 2\nmain;b 4\nb 8\n";
    struct selection_opts hide = {.hide = ONE("^b$")};
    tree_is(stacks, &(struct selection_opts){0}, PLAIN_TREE, "(b=8 main=0(a=0(b=2(c=1)) b=4))");
    tree_is(stacks, &hide, PLAIN_TREE, "(main=4(a=2(c=1)))");
    tree_is(stacks, &hide, &(struct calltree_opts){.callers_first = true},
            "(a=0(main=2) c=0(a=0(main=1)) main=4)");
    tree_is(stacks, &hide, &(struct calltree_opts){.order = ORDER_TIME}, "(main=4(a=2(c=1)))");
}

static void direct_recursion_stands_once(void **state)
{
    (void)state;
    static const char stacks[] = "m;f;f;f;g;f 1\nm;f;f 2\nm;f 4\n";
    struct selection_opts merge = {.merge_recursion = true};
    tree_is(stacks, &merge, PLAIN_TREE, "(m=0(f=6(g=0(f=1))))");
    tree_is(stacks, &merge, &(struct calltree_opts){.callers_first = true},
            "(f=0(g=0(f=0(m=1)) m=6))");
    /* what is hidden between two calls makes them one */
    struct selection_opts both = {.merge_recursion = true, .hide = ONE("g")};
    tree_is(stacks, &both, PLAIN_TREE, "(m=0(f=7))");
}

/* A thread may be called as its first function is. */
static void a_group_is_no_recursion(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct err err;
    struct selection s;
    support_value(p, "", "samples", "count");
    struct thread_key t = {profile_add_str(p, text_of("main")), 1, 1};
    struct row r = {.stack = support_path(p, "main;main"), .values = (int64_t[]){3}};
    r.thread = profile_add_thread(p, &t);
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    struct selection_opts o = {.merge_recursion = true};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    struct calltree *tree = calltree_build(&s, &(struct calltree_opts){.group = GROUP_COMM});
    assert_int_equal(tree->n, 3); /* all, the thread, the function */
    calltree_free(tree);
    selection_done(&s);
    profile_free(p);
}

static void inlined_functions_are_hidden_one_by_one(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct err err;
    struct selection s;
    autobuf struct buf b = {0};
    struct line lines[3];
    for (int i = 0; i < 3; i++) {
        struct function f = {.name = profile_add_str(p, (struct text){&"xyz"[i], 1})};
        lines[i] = (struct line){.function = profile_add_function(p, &f)};
    }
    struct frame_id frame =
        profile_add_frame(p, &(struct frame_key){.pc = 1, .lines = lines, .n_lines = 3});
    support_value(p, "", "samples", "count");
    struct row r = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = (int64_t[]){5}};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    struct selection_opts o = {.hide = (const char *const[]){"y", "z", NULL}};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    struct calltree *t = calltree_build(&s, PLAIN_TREE);
    add_tree(&b, t, 0);
    assert_string_equal(buf_cstr(&b), "(x=5)");
    calltree_free(t);
    struct flat *f = flat_build(&s, FLAT_FUNCTION);
    assert_int_equal(f->rows.n, 1);
    assert_int_equal(f->rows.at[0].self, 5);
    flat_free(f);
    selection_done(&s);
    profile_free(p);
}

/* --- what is built from it --- */

static const struct flat_row *row_named(const struct flat *f, const char *name)
{
    for (uint32_t i = 0; i < f->rows.n; i++)
        if (text_is(flat_name(f, i), name))
            return &f->rows.at[i];
    return NULL;
}

static void lists_hide_and_filter(void **state)
{
    (void)state;
    struct profile *p = rich();
    struct selection s;
    struct err err;
    struct selection_opts o = {.processes = ONE("10"), .hide = ONE("read")};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), 0);
    struct flat *f = flat_build(&s, FLAT_FUNCTION);
    assert_int_equal(f->whole, 15);
    assert_null(row_named(f, "read"));
    assert_int_equal(row_named(f, "parse")->self, 11);
    assert_int_equal(row_named(f, "parse")->self_count, 3);
    assert_int_equal(row_named(f, "main")->total, 15);
    assert_int_equal(row_named(f, "idle")->total, 0);
    bool *in_set = mem_calloc(f->rows.n, sizeof *in_set);
    in_set[row_named(f, "parse") - f->rows.at] = true;
    assert_float_equal(flat_share_of_set(f, in_set, FLAT_SELF).share, 11.0 / 15, 1e-9);
    struct flat_calls c = flat_calls_of_set(f, in_set);
    assert_int_equal(c.self, 11);
    assert_int_equal(c.callers[row_named(f, "main") - f->rows.at], 11);
    flat_calls_done(&c);
    free(in_set);
    flat_free(f);
    f = flat_build(&s, FLAT_THREAD);
    assert_int_equal(row_named(f, "app 10/10")->self, 3);
    assert_int_equal(row_named(f, "helper 20/20")->self, 0);
    flat_free(f);
    selection_done(&s);
    profile_free(p);
}

static void quality_and_overlay_are_of_what_is_selected(void **state)
{
    (void)state;
    struct profile *p = rich();
    struct selection s;
    struct err err;
    struct selection_opts o = {.focus = ONE("parse"), .hide = ONE("read")};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), 0);
    struct quality q = quality_of(&s);
    assert_int_equal(q.samples, 3);
    assert_int_equal(q.max_depth, 2);
    assert_int_equal(q.last_ns - q.first_ns, 3000000000);
    struct overlay lay;
    const struct selection *runs[] = {&s};
    overlay_build(&lay, runs, 1, OVERLAY_FUNCTION);
    uint32_t parse = intern_find(&lay.names, text_of("parse"));
    assert_float_equal(lay.runs[0].fun_self[parse], 1, 1e-9);
    assert_int_equal(intern_find(&lay.names, text_of("read")), IDMAP_NONE);
    overlay_done(&lay);
    selection_done(&s);
    profile_free(p);
}

static void heat_of_hidden_code_is_its_callers(void **state)
{
    (void)state;
    struct profile *p = profile_new();
    struct selection s;
    struct err err;
    struct heat heat;
    struct frame_id frames[2];
    for (int i = 0; i < 2; i++) {
        struct function f = {.name = profile_add_str(p, text_of(i ? "inner" : "outer"))};
        struct line line = {.function = profile_add_function(p, &f)};
        frames[i] = profile_add_frame(
            p, &(struct frame_key){.pc = i ? 0x200 : 0x100, .lines = &line, .n_lines = 1});
    }
    support_value(p, "", "samples", "count");
    struct row r = {.stack = stacks_intern(&p->stacks, frames, 2), .values = (int64_t[]){5}};
    assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    struct selection_opts o = {.hide = ONE("inner")};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 0}, &o, &err), 0);
    heat_build(&heat, &s);
    assert_int_equal(heat.spots.n, 1);
    assert_int_equal(heat.spots.at[0].pc, 0x100);
    assert_int_equal(heat.spots.at[0].self, 5);
    heat_done(&heat);
    selection_done(&s);
    profile_free(p);
}

static void another_column_of_the_same_rows(void **state)
{
    (void)state;
    struct profile *p = rich();
    struct selection s;
    struct err err;
    struct selection_opts o = {.threads = ONE("worker")};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), 0);
    struct selection samples = selection_of_type(&s, 0);
    assert_int_equal(s.total, 12);
    assert_int_equal(samples.total, 2);
    selection_done(&s);
    profile_free(p);
}

/* --- on its own --- */

static void a_part_becomes_a_profile_of_its_own(void **state)
{
    (void)state;
    struct profile *p = rich();
    struct selection s;
    struct err err;
    autobuf struct buf b = {0};
    profile_stream(p, 0)->lost_known = true;
    profile_add_value(p, profile_add_stream(p, "page-faults", BY_SOFTWARE_EVENT), "faults",
                      "count");
    struct selection_opts o = {
        .processes = ONE("10"), .hide = ONE("parse"), .merge_recursion = true};
    assert_int_equal(selection_build(&s, p, (struct value_ref){0, 1}, &o, &err), 0);
    struct profile *part = extract_build(&s);
    selection_done(&s);
    profile_free(p);
    assert_int_equal(part->streams.n, 1);
    assert_int_equal(part->default_value.type, 1);
    const struct stream *stream = profile_stream(part, 0);
    assert_int_equal(stream->rows.n, 4);
    assert_int_equal(stream->types[0].total, 4);
    assert_int_equal(stream->types[1].total, 15);
    assert_true(text_is(profile_str(part, stream->types[0].name), "samples"));
    assert_true(text_is(profile_str(part, stream->types[1].name), "cpu"));
    assert_true(text_is(profile_str(part, stream->types[1].unit), "nanoseconds"));
    assert_int_equal(stream->types[1].dimension, DIM_TIME);
    assert_false(stream->lost_known); /* of a part it is not known */
    assert_int_equal(stream->rows.time_ns[0], 1000000000);
    struct selection all = selection_all(part, part->default_value);
    struct calltree *t = calltree_build(&all, PLAIN_TREE);
    add_tree(&b, t, 0);
    assert_string_equal(buf_cstr(&b), "(main=8(read=3 write=4))");
    calltree_free(t);
    struct str_id tenant = profile_add_str(part, text_of("tenant"));
    const struct attr *a = attrs_find(&part->attrs, stream->rows.attrs[1], tenant);
    assert_true(text_is(profile_str(part, a->text), "blue"));
    profile_free(part);
}

static void the_share_sampled_is_told_where_it_is_clearly_below_all(void **state)
{
    (void)state;
    assert_float_equal(quality_sampled(680, 1000, 1000), 0.68, 1e-9);
    assert_float_equal(quality_sampled(960, 1000, 100000), 1, 0); /* close enough */
    assert_float_equal(quality_sampled(900, 1000, 100), 1, 0);    /* may be chance */
    assert_float_equal(quality_sampled(900, 1000, 10000), 0.9, 1e-9);
    assert_float_equal(quality_sampled(0, 1000, 0), 1, 0); /* nothing is known */
    assert_float_equal(quality_sampled(1000, 0, 1000), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_for_is_everything),
        cmocka_unit_test(times_are_since_the_first_row),
        cmocka_unit_test(the_end_is_selected_by_its_length),
        cmocka_unit_test(times_are_those_of_the_clock),
        cmocka_unit_test(what_lasts_counts_where_any_of_it_is_inside),
        cmocka_unit_test(without_times_no_range_can_be_selected),
        cmocka_unit_test(threads_and_processes_by_name_or_number),
        cmocka_unit_test(labels_of_rows_and_of_their_process),
        cmocka_unit_test(stacks_with_and_without_a_function),
        cmocka_unit_test(what_is_hidden_goes_to_its_caller),
        cmocka_unit_test(direct_recursion_stands_once),
        cmocka_unit_test(a_group_is_no_recursion),
        cmocka_unit_test(inlined_functions_are_hidden_one_by_one),
        cmocka_unit_test(lists_hide_and_filter),
        cmocka_unit_test(quality_and_overlay_are_of_what_is_selected),
        cmocka_unit_test(heat_of_hidden_code_is_its_callers),
        cmocka_unit_test(another_column_of_the_same_rows),
        cmocka_unit_test(a_part_becomes_a_profile_of_its_own),
        cmocka_unit_test(the_share_sampled_is_told_where_it_is_clearly_below_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
