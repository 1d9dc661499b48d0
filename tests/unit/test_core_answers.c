/*
 * test_core_answers.c - the page's core: whose number is whose. Which thread, which range, which
 * build, which page of a list.
 */
#include "model/heapstream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support.h"
#include "support_core.h"

enum { MS = 1000000, SCOPES = 1 };

struct answers_sample {
    const char *stack, *thread;
    int pid, tid;
};

/* N samples of 10 ms each from FROM_MS on. */
static void answers_add(struct profile *p, const struct answers_sample *s, uint64_t from_ms, int n)
{
    struct err err;
    struct thread_key key = {profile_add_str(p, text_of(s->thread)), s->pid, s->tid};
    for (int i = 0; i < n; i++) {
        int64_t values[] = {1, 10 * MS};
        struct row r = {.stack = support_path(p, s->stack),
                        .thread = profile_add_thread(p, &key),
                        .has_time = true,
                        .time_ns = (1000 + from_ms + (uint64_t)i * 10) * MS,
                        .values = values};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
}

/* Two processes whose threads have the same number; the one that is met last works most. */
static struct profile *answers_profile(void)
{
    struct profile *p = profile_new();
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    answers_add(p, &(struct answers_sample){"main;parse;read", "reader", 7, 70}, 0, 20);
    answers_add(p, &(struct answers_sample){"main;parse", "reader", 7, 70}, 200, 10);
    answers_add(p, &(struct answers_sample){"main;help", "helper", 9, 70}, 500, 40);
    answers_add(p, &(struct answers_sample){"main;write", "second", 9, 71}, 500, 50);
    return p;
}

static struct core *answers_core(struct profile *p)
{
    struct core *c = core_new();
    core_take(c, 0, p);
    return c;
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_in(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static json_t *element(const json_t *object, const char *key, size_t i)
{
    return json_array_get(json_object_get(object, key), i);
}

/* --- the timeline --- */

static void lanes_are_sorted_by_what_threads_did(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10}");
    (void)state;
    assert_string_equal(text_in(element(answer, "lanes", 0), "name"), "second");
    assert_string_equal(text_in(element(answer, "lanes", 1), "name"), "helper");
    assert_string_equal(text_in(element(answer, "lanes", 2), "name"), "reader");
    json_decref(answer);
    core_free(c);
}

/* Not the busier thread of another process between them. */
static void lanes_of_a_process_stay_together(void **state)
{
    struct profile *p = answers_profile();
    answers_add(p, &(struct answers_sample){"main;single", "single", 11, 110}, 500, 45);
    struct core *c = answers_core(p);
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10}"), *lane;
    static const char *const names[] = {"second", "helper", "single", "reader"};
    static const bool first[] = {true, false, true, true};
    size_t i;
    (void)state;
    json_array_foreach(json_object_get(answer, "lanes"), i, lane)
    {
        assert_string_equal(text_in(lane, "name"), names[i]);
        assert_int_equal(json_is_true(json_object_get(lane, "first")), first[i]);
    }
    assert_int_equal(json_array_size(json_object_get(answer, "processes")), 3);
    assert_int_equal(number_in(element(answer, "processes", 0), "threads"), 2);
    assert_int_equal(number_in(element(answer, "processes", 0), "pid"), 9);
    assert_true(number_in(element(answer, "processes", 0), "total") ==
                number_in(element(answer, "lanes", 0), "total") +
                    number_in(element(answer, "lanes", 1), "total"));
    assert_string_equal(text_in(element(answer, "processes", 1), "name"), "single");
    json_decref(answer);
    core_free(c);
}

static void a_moment_is_of_the_process_that_is_asked_for(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"moment\",\"pid\":7,\"tid\":70,\"from_s\":0.7}");
    (void)state;
    assert_string_equal(json_string_value(element(answer, "stack", 0)), "parse");
    assert_true(number_in(answer, "off_s") > 0.39);
    json_decref(answer);
    core_free(c);
}

struct answers_span {
    const char *scope;
    uint64_t from_ms, ms;
};

static struct profile *profile_with_spans(const struct answers_span *spans, size_t n)
{
    struct profile *p = answers_profile();
    struct err err;
    profile_add_stream(p, "scopes", BY_TRACE);
    profile_add_value(p, SCOPES, "spans", UNIT_COUNT);
    profile_add_value(p, SCOPES, "self", UNIT_TIME);
    for (size_t i = 0; i < n; i++) {
        int64_t values[] = {1, (int64_t)spans[i].ms * MS};
        struct row r = {.stack = support_path(p, spans[i].scope),
                        .thread = p->streams.at[0]->rows.thread[0],
                        .has_time = true,
                        .time_ns = (1000 + spans[i].from_ms) * MS,
                        .duration_ns = spans[i].ms * MS,
                        .values = values};
        assert_int_equal(profile_add_row(p, SCOPES, &r, &err), 0);
    }
    return p;
}

/* It may have begun before the part of the timeline that is looked at, and end behind it. */
static void a_scope_that_goes_on_is_seen_in_the_middle(void **state)
{
    static const struct answers_span spans[] = {{"request", 100, 800}, {"later", 950, 20}};
    struct core *c = answers_core(profile_with_spans(spans, 2));
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10,\"from_s\":0.4,\"to_s\":0.6}");
    (void)state;
    assert_int_equal(json_array_size(json_object_get(answer, "spans")), 1);
    assert_string_equal(json_string_value(json_array_get(element(answer, "spans", 0), 4)),
                        "request");
    json_decref(answer);
    core_free(c);
}

static void a_scope_is_drawn_when_and_where_it_was(void **state)
{
    static const struct answers_span spans[] = {{"request", 100, 800}, {"request;parse", 300, 200}};
    struct core *c = answers_core(profile_with_spans(spans, 2));
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10}");
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        json_t *span = element(answer, "spans", i);
        double start = json_number_value(json_array_get(span, 1));
        double length = json_number_value(json_array_get(span, 2));
        assert_int_equal(json_integer_value(json_array_get(span, 0)), 70);
        assert_int_equal((int)(1000 * start + 0.5), spans[i].from_ms);
        assert_int_equal((int)(1000 * length + 0.5), spans[i].ms);
        assert_int_equal(json_integer_value(json_array_get(span, 3)), i + 1);
    }
    json_decref(answer);
    core_free(c);
}

/* A function is not a scope: filters by function leave scopes as they are. */
static void scopes_do_not_follow_functions(void **state)
{
    static const struct answers_span spans[] = {{"a", 0, 1}, {"a", 10, 2}, {"b", 80, 100}};
    static const char *const members[] = {"\"focus\":[\"read\"]", "\"subtree\":\"main;parse\"",
                                          "\"hide\":[\"a\"]", "\"ignore\":[\"a\"]",
                                          "\"collapse-recursion\":[\"a\"]"};
    struct core *c = answers_core(profile_with_spans(spans, 3));
    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        autofree char *question = mem_printf("{\"ask\":\"scopes\",%s}", members[i]);
        json_t *answer = ask(c, question), *scopes = json_object_get(answer, "scopes");
        assert_int_equal((int)number_in(scopes, "spans"), 3);
        assert_int_equal(json_array_size(json_object_get(scopes, "flat")), 2);
        json_decref(answer);
    }
    json_t *answer = ask(c, "{\"ask\":\"scopes\",\"time\":\"0..0.05\"}");
    assert_int_equal((int)number_in(json_object_get(answer, "scopes"), "spans"), 2);
    json_decref(answer);
    core_free(c);
}

/* Only what was sampled within a scope of that name. */
static void a_scope_selects_what_was_within(void **state)
{
    static const struct answers_span spans[] = {{"early", 0, 195}, {"late", 195, 105}};
    struct core *c = answers_core(profile_with_spans(spans, 2));
    json_t *answer =
        ask(c, "{\"ask\":\"list\",\"scope\":[\"early\"],\"top\":9,\"event\":\"cpu-clock\"}");
    (void)state;
    assert_int_equal((int)number_in(answer, "n"), 3);
    assert_int_equal((int)number_in(element(answer, "rows", 0), "total_samples"), 20);
    json_decref(answer);
    core_free(c);
}

/* More threads than there are lanes are counted all the same. */
static void threads_without_a_lane_are_counted(void **state)
{
    struct profile *p = answers_profile();
    (void)state;
    for (int i = 0; i < 100; i++)
        answers_add(p, &(struct answers_sample){"main", "many", 11, 1000 + i}, 1000, 1);
    struct core *c = answers_core(p);
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10}");
    assert_int_equal((int)number_in(answer, "threads"), 103);
    assert_true(json_array_size(json_object_get(answer, "lanes")) < 103);
    json_decref(answer);
    core_free(c);
}

/* However many spans: each is in one bar. */
static void latencies_count_each_span_once(void **state)
{
    static const struct answers_span spans[] = {
        {"a", 0, 1}, {"a", 10, 2}, {"a", 20, 2}, {"a", 30, 40}, {"b", 80, 100}};
    struct core *c = answers_core(profile_with_spans(spans, 5));
    json_t *answer = ask(c, "{\"ask\":\"scopes\"}"), *bars, *bar;
    json_t *flat = json_object_get(json_object_get(answer, "scopes"), "flat");
    size_t i, k;
    (void)state;
    assert_int_equal(json_array_size(json_object_get(answer, "latencies")), 2);
    json_array_foreach(json_object_get(answer, "latencies"), i, bars)
    {
        double sum = 0;
        json_array_foreach(bars, k, bar) sum += json_number_value(bar);
        assert_true(sum == number_in(json_array_get(flat, i), "calls"));
    }
    json_decref(answer);
    core_free(c);
}

/* --- events --- */

/* "WHAT WHAT WHAT" of the rows that QUESTION gets. */
static void events_are(struct core *c, const char *question, double n, const char *expected)
{
    autobuf struct buf b = {0};
    json_t *answer = ask(c, question), *row;
    size_t i;
    json_array_foreach(json_object_get(answer, "rows"), i, row)
        buf_printf(&b, "%s%s", i ? " " : "", text_in(row, "what"));
    assert_string_equal(buf_cstr(&b), expected);
    assert_true(number_in(answer, "n") == n);
    json_decref(answer);
}

static void events_are_sorted_filtered_and_paged(void **state)
{
    static const struct answers_span spans[] = {
        {"request", 100, 800}, {"later", 950, 20}, {"early", 0, 50}, {"request", 120, 20}};
    struct core *c = answers_core(profile_with_spans(spans, 4));
    (void)state;
    events_are(c, "{\"ask\":\"events\",\"top\":9}", 4, "early request request later");
    events_are(c, "{\"ask\":\"events\",\"top\":2,\"skip\":1}", 4, "request request");
    events_are(c, "{\"ask\":\"events\",\"top\":9,\"skip\":9}", 4, "");
    events_are(c, "{\"ask\":\"events\",\"sort\":\"duration\",\"top\":9}", 4,
               "request early request later");
    events_are(c, "{\"ask\":\"events\",\"sort\":\"name\",\"top\":9}", 4,
               "early later request request");
    events_are(c, "{\"ask\":\"events\",\"pattern\":\"LATE|earl\",\"top\":9}", 2, "early later");
    events_are(c, "{\"ask\":\"events\",\"pattern\":\"^scope req\",\"top\":9}", 2,
               "request request");
    events_are(c, "{\"ask\":\"events\",\"by\":\"scope\",\"top\":1}", 4, "early");
    events_are(c, "{\"ask\":\"events\",\"by\":\"wait\",\"top\":9}", 0, "");
    /* What lasts into the range belongs to it; filters by function do not apply. */
    events_are(c, "{\"ask\":\"events\",\"time\":\"0.5..0.96\",\"focus\":[\"nosuch\"],\"top\":9}", 2,
               "request later");
    json_t *answer = ask(c, "{\"ask\":\"events\",\"sort\":\"duration\",\"top\":1}");
    json_t *row = element(answer, "rows", 0), *about = ask(c, "{\"ask\":\"about\"}");
    assert_true(fabs(number_in(row, "time_s") - 0.1) < 0.05);
    assert_true(fabs(number_in(row, "duration_s") - 0.8) < 1e-9);
    assert_string_equal(text_in(row, "event"), "scope");
    assert_true(json_is_true(json_object_get(json_object_get(about, "panes"), "events")));
    json_decref(about);
    json_decref(answer);
    core_free(c);
    c = answers_core(answers_profile());
    answer = ask(c, "{\"ask\":\"events\",\"top\":9}");
    assert_string_equal(text_in(answer, "error"), "there are no events in this profile");
    json_decref(answer);
    core_free(c);
}

/* --- lists and trees --- */

static size_t node_of(const json_t *tree, const char *name)
{
    json_t *label;
    size_t i;
    json_array_foreach(json_object_get(tree, "label"), i, label)
    {
        size_t at = (size_t)json_integer_value(label);
        if (i && strcmp(text_in(element(tree, "labels", at), "name"), name) == 0)
            return i;
    }
    fail_msg("no '%s' in the tree", name);
    return 0;
}

static int number_at(const json_t *object, const char *key, size_t i)
{
    return (int)json_integer_value(element(object, key, i));
}

static void nodes_have_their_samples_and_their_values(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *tree = ask(c, "{\"ask\":\"tree\",\"value\":\"cpu\"}");
    size_t parse = node_of(tree, "parse");
    (void)state;
    assert_int_equal(number_at(tree, "self_samples", parse), 10);
    assert_int_equal(number_at(tree, "total_samples", parse), 30);
    assert_int_equal(number_at(tree, "self", parse), 100 * MS);
    assert_int_equal(number_at(tree, "total", parse), 300 * MS);
    json_decref(tree);
    core_free(c);
}

/* To both sides of it, about as far. */
static void intervals_reach_as_far_up_as_down(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *tree = ask(c, "{\"ask\":\"tree\"}"), *answer = ask(c, "{\"ask\":\"tree_shares\"}");
    json_t *of = element(answer, "shares", node_of(tree, "help"));
    double share = 40.0 / 120;
    (void)state;
    for (size_t i = 0; i < 4; i += 2) {
        double down = share - json_number_value(json_array_get(of, i));
        double up = json_number_value(json_array_get(of, i + 1)) - share;
        assert_true(down > 0.03 && up > 0.03 && up < 2 * down && down < 2 * up);
    }
    json_decref(tree);
    json_decref(answer);
    core_free(c);
}

static void a_chart_begins_where_its_first_sample_does(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"tree\",\"chart\":true,\"time\":\"0.5..1\"}");
    (void)state;
    assert_true(number_in(answer, "from_s") > 0.48 && number_in(answer, "from_s") < 0.52);
    json_decref(answer);
    core_free(c);
}

/* Self 100 ms of 1.2 s, total 300. */
static void words_of_a_row_stand_below_their_title(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer =
        ask(c, "{\"ask\":\"list\",\"value\":\"cpu\",\"pattern\":\"^parse$\",\"top\":5}");
    json_t *words = element(answer, "words", 0);
    (void)state;
    assert_int_equal((int)number_in(answer, "n"), 1);
    assert_true(json_is_true(json_object_get(answer, "counted")));
    assert_int_equal(strncmp(text_in(words, "self"), "8.3%", 4), 0);
    assert_int_equal(strncmp(text_in(words, "total"), "25.0%", 5), 0);
    assert_string_equal(text_in(words, "self_time"), "100 ms");
    assert_string_equal(text_in(words, "total_time"), "300 ms");
    json_decref(answer);
    core_free(c);
}

/* Who is not selected is not counted; nor is the whole list where a part is shown. */
static void a_list_counts_what_is_selected(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"list\",\"thread\":[\"reader\"],\"top\":2}");
    (void)state;
    assert_int_equal((int)number_in(answer, "n"), 3);
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 2);
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"list\",\"sort\":\"name\",\"top\":9}");
    assert_string_equal(text_in(element(answer, "rows", 0), "name"), "help");
    assert_string_equal(text_in(element(answer, "rows", 4), "name"), "write");
    json_decref(answer);
    core_free(c);
}

/* Functions that only call others come behind those that have time of their own. */
static void a_list_by_self_ends_with_those_that_only_call(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"list\",\"sort\":\"self\",\"top\":60}");
    json_t *rows = json_object_get(answer, "rows");
    (void)state;
    assert_int_equal(json_array_size(rows), 5);
    assert_string_equal(text_in(json_array_get(rows, 0), "name"), "write");
    assert_string_equal(text_in(json_array_get(rows, 4), "name"), "main");
    json_decref(answer);
    core_free(c);
}

/* None is left out, and none stands for another. */
static void a_list_by_self_has_each_function_once(void **state)
{
    struct profile *p = answers_profile();
    (void)state;
    answers_add(p, &(struct answers_sample){"main;outer;middle;leaf", "reader", 7, 70}, 2000, 5);
    struct core *c = answers_core(p);
    json_t *answer = ask(c, "{\"ask\":\"list\",\"sort\":\"self\",\"top\":60}"), *row;
    const char *const names[] = {"main",  "parse", "read",   "help",
                                 "write", "outer", "middle", "leaf"};
    size_t i, seen[8] = {0};
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        for (size_t k = 0; k < 8; k++)
            seen[k] += strcmp(text_in(row, "name"), names[k]) == 0;
    }
    for (size_t k = 0; k < 8; k++)
        assert_int_equal(seen[k], 1);
    json_decref(answer);
    core_free(c);
}

/* Tenths of a unit, without a column that counts samples. */
static void values_with_decimals_keep_them(void **state)
{
    struct profile *p = profile_new();
    struct err err;
    (void)state;
    support_value(p, "charge", "charge", "coins");
    p->streams.at[0]->types[0].decimals = 1;
    for (int i = 0; i < 3; i++) {
        int64_t value = i ? 25 : 10;
        struct thread_key key = {profile_add_str(p, text_of("payer")), 7, 70};
        struct row r = {.stack = support_path(p, i ? "main;pay" : "main"),
                        .thread = profile_add_thread(p, &key),
                        .values = &value};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    struct core *c = answers_core(p);
    json_t *answer = ask(c, "{\"ask\":\"lanes\",\"bins\":10}");
    assert_true(number_in(element(answer, "lanes", 0), "total") == 6);
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"list\",\"sort\":\"name\",\"top\":5}");
    assert_true(json_is_false(json_object_get(answer, "counted")));
    assert_string_equal(text_in(element(answer, "rows", 0), "name"), "main");
    assert_int_equal(strncmp(text_in(element(answer, "words", 0), "self_time"), "1", 1), 0);
    assert_int_equal(strncmp(text_in(element(answer, "words", 0), "total_time"), "6", 1), 0);
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"about\"}");
    assert_int_equal((int)number_in(answer, "decimals"), 1);
    assert_true(json_is_null(json_object_get(answer, "samples")));
    json_decref(answer);
    core_free(c);
}

static void a_search_marks_what_it_finds(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer =
        ask(c, "{\"ask\":\"match\",\"pattern\":\"^r\",\"names\":[\"read\",\"write\",\"r\"]}");
    char *hits = json_dumps(json_object_get(answer, "hits"), JSON_COMPACT);
    (void)state;
    assert_string_equal(hits, "[1,0,1]");
    free(hits);
    json_decref(answer);
    core_free(c);
}

static void words_belong_to_the_rows_of_their_page(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *all = ask(c, "{\"ask\":\"list\",\"sort\":\"self\",\"top\":5}");
    json_t *part = ask(c, "{\"ask\":\"list\",\"sort\":\"self\",\"skip\":2,\"top\":2}");
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_true(json_equal(element(part, "rows", i), element(all, "rows", i + 2)));
        assert_true(json_equal(element(part, "words", i), element(all, "words", i + 2)));
    }
    assert_false(json_equal(element(part, "words", 0), element(all, "words", 0)));
    json_decref(all);
    json_decref(part);
    core_free(c);
}

/* A search is about all samples with a match on their stack, wherever it stands. */
static void a_search_finds_callers_too(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"search\",\"pattern\":\"^(parse|help)$\"}");
    (void)state;
    double total = number_in(json_object_get(answer, "total"), "share");
    double self = number_in(json_object_get(answer, "self"), "share");
    assert_true(total > 0.583 && total < 0.584); /* 70 of 120 */
    assert_true(self > 0.416 && self < 0.417);   /* 50 of 120 */
    json_decref(answer);
    core_free(c);
}

static const char *first_label(const json_t *tree)
{
    size_t label = (size_t)json_integer_value(element(tree, "label", 1));
    return text_in(element(tree, "labels", label), "name");
}

static void a_tree_is_turned_around_and_back(void **state)
{
    struct core *c = answers_core(answers_profile());
    static const char whole[] = "{\"ask\":\"tree\",\"focus\":[\"read\"]}";
    json_t *tree = ask(c, whole);
    json_t *turned = ask(c, "{\"ask\":\"tree\",\"focus\":[\"read\"],\"inverted\":true}");
    json_t *back = ask(c, whole);
    (void)state;
    assert_string_equal(first_label(tree), "main");
    assert_string_equal(first_label(turned), "read");
    assert_true(json_equal(tree, back));
    json_decref(tree);
    json_decref(turned);
    json_decref(back);
    core_free(c);
}

/* [total, total, self, self]: main is on every stack, and never at its end. */
static void intervals_of_a_node_are_of_its_total_then_of_its_self(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"tree_shares\"}"), *main = element(answer, "shares", 1);
    (void)state;
    assert_true(json_number_value(json_array_get(main, 0)) > 0.95);
    assert_true(json_number_value(json_array_get(main, 1)) > 0.95);
    assert_true(json_number_value(json_array_get(main, 2)) < 0.05);
    assert_true(json_number_value(json_array_get(main, 3)) < 0.05);
    json_decref(answer);
    core_free(c);
}

/* --- selections --- */

static double samples_of(struct core *c, const char *question)
{
    json_t *answer = ask(c, question);
    double n = number_in(answer, "samples");
    json_decref(answer);
    return n;
}

/* One word, once for a thread, once for its process: answers that are kept are not mixed up. */
static void a_thread_is_not_taken_for_a_process_of_its_name(void **state)
{
    struct core *c = answers_core(answers_profile());
    (void)state;
    assert_true(samples_of(c, "{\"ask\":\"about\",\"thread\":[\"helper\"]}") == 40);
    assert_true(samples_of(c, "{\"ask\":\"about\",\"process\":[\"helper\"]}") == 90);
    core_free(c);
}

static double total_of(const json_t *answer, const char *name, const char *side)
{
    json_t *functions = json_object_get(json_object_get(answer, "diff"), "functions"), *f;
    size_t i;
    json_array_foreach(functions, i, f)
    {
        if (strcmp(text_in(f, "name"), name) == 0)
            return number_in(json_object_get(f, "total"), side);
    }
    return -1;
}

/* Of a few samples "rare" has 2% on both sides: it is compared as well. */
static void of_two_files_the_second_is_the_one_after(void **state)
{
    struct profile *before = answers_profile(), *after = answers_profile();
    (void)state;
    answers_add(before, &(struct answers_sample){"main;old", "reader", 7, 70}, 2000, 30);
    answers_add(after, &(struct answers_sample){"main;new", "reader", 7, 70}, 2000, 30);
    answers_add(before, &(struct answers_sample){"main;rare", "reader", 7, 70}, 3000, 3);
    answers_add(after, &(struct answers_sample){"main;rare", "reader", 7, 70}, 3000, 3);
    struct core *c = answers_core(before);
    core_take(c, 1, after);
    json_t *answer = ask(c, "{\"ask\":\"compare\"}");
    assert_true(total_of(answer, "old", "before") > 0.1 && total_of(answer, "old", "after") == 0);
    assert_true(total_of(answer, "new", "after") > 0.1 && total_of(answer, "new", "before") == 0);
    assert_true(total_of(answer, "rare", "after") > 0.01);
    json_decref(answer);
    core_free(c);
}

/* Samples and bytes are not alike: refused with the reason, unless forced. */
static void unlike_files_are_compared_by_force_alone(void **state)
{
    struct profile *bytes = profile_new();
    struct err err;
    int64_t n = 4096;
    (void)state;
    support_value(bytes, "allocations", "allocated", "bytes");
    struct row r = {.stack = support_path(bytes, "main;grow"), .values = &n};
    assert_int_equal(profile_add_row(bytes, 0, &r, &err), 0);
    struct core *c = answers_core(answers_profile());
    core_take(c, 1, bytes);
    json_t *answer = ask(c, "{\"ask\":\"compare\"}");
    assert_true(*text_in(answer, "refused"));
    assert_null(json_object_get(answer, "diff"));
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"compare\",\"force\":true}");
    assert_non_null(json_object_get(answer, "diff"));
    assert_true(*text_in(json_object_get(answer, "diff"), "forced"));
    json_decref(answer);
    core_free(c);
}

static void of_two_ranges_the_second_is_the_one_after(void **state)
{
    struct core *c = answers_core(answers_profile());
    json_t *answer = ask(c, "{\"ask\":\"compare\",\"time\":\"0..0.3\",\"other_time\":\"0.5..1\"}");
    json_t *functions = json_object_get(json_object_get(answer, "diff"), "functions"), *f;
    size_t i, seen = 0;
    (void)state;
    json_array_foreach(functions, i, f)
    {
        json_t *total = json_object_get(f, "total");
        bool before = strcmp(text_in(f, "name"), "parse") == 0;
        bool after = strcmp(text_in(f, "name"), "write") == 0;
        if (!before && !after)
            continue;
        assert_true((number_in(total, "before") > 0) == before);
        assert_true((number_in(total, "after") > 0) == after);
        seen++;
    }
    assert_int_equal(seen, 2);
    json_decref(answer);
    core_free(c);
}

static struct profile *profile_with_heap(void)
{
    struct profile *p = answers_profile();
    struct err err;
    int stream = stream_kind_add(p, STREAM_HEAP, BY_EXACT_COUNT);
    int64_t bytes = 4096;
    heapstream_add_column(p, stream, HEAP_ALLOCATED);
    struct row r = {.stack = support_path(p, "main;grow"), .values = &bytes};
    assert_int_equal(profile_add_row(p, stream, &r, &err), 0);
    return p;
}

static bool has_heap_pane(struct core *c)
{
    json_t *answer = ask(c, "{\"ask\":\"about\"}");
    bool has = json_is_true(json_object_get(json_object_get(answer, "panes"), "heap"));
    json_decref(answer);
    return has;
}

static void a_file_that_takes_anothers_place_has_panes_of_its_own(void **state)
{
    struct core *c = answers_core(profile_with_heap());
    (void)state;
    assert_true(has_heap_pane(c));
    core_take(c, 0, answers_profile());
    assert_false(has_heap_pane(c));
    core_take(c, 0, profile_with_heap());
    assert_true(has_heap_pane(c));
    core_free(c);
}

/* --- source and instructions --- */

#define CODE_OF(name, start, build)                                                \
    "{\"function\":\"" name "\",\"path\":\"/bin/app\",\"build_id\":\"" build "\"," \
    "\"code\":[[" start ",\"5590\"]],\"insns\":[\"push rbp\",null,[\"" name "\","  \
    "\"/src/f.c\",3],\"nop\",null,[\"" name "\",\"/src/f.c\",4]]}"
#define CODE_OF_ALL(functions)   \
    "{\"functions\":[" functions \
    "],\"files\":[{\"path\":\"/src/f.c\",\"note\":null,\"text\":\"\"}]}"

static struct core *core_with_code(struct profile *p, const char *code)
{
    struct core *c = answers_core(p);
    struct err err;
    assert_int_equal(core_load_code(c, 0, text_of(code), &err), 0);
    return c;
}

/* What takes time is worth reading, not what calls it. */
static void source_opens_at_the_function_with_most_time_of_its_own(void **state)
{
    struct core *c = core_with_code(answers_profile(),
                                    CODE_OF_ALL(CODE_OF("main", "4096", "1f") "," CODE_OF(
                                        "parse", "8192", "1f") "," CODE_OF("help", "12288", "1f")));
    json_t *answer = ask(c, "{\"ask\":\"code\"}");
    (void)state;
    assert_string_equal(text_in(answer, "function"), "help"); /* no code of write is there */
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"code\",\"thread\":[\"reader\"]}");
    assert_string_equal(text_in(answer, "function"), "parse");
    json_decref(answer);
    core_free(c);
}

/* Two builds of one program at the same address: one runs twice, one three times. */
static struct profile *profile_of_two_builds(void)
{
    struct profile *p = profile_new();
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    for (int i = 0; i < 5; i++) {
        struct mapping m = {.path = profile_add_str(p, text_of("/bin/app")),
                            .build_id = profile_add_str(p, text_of(i < 2 ? "1f" : "2e"))};
        struct frame_key key = {.pc = 4096, .mapping = profile_add_mapping(p, &m)};
        int64_t one = 1;
        struct row r = {
            .stack = stacks_push(&p->stacks, (struct stack_id){0}, profile_add_frame(p, &key)),
            .values = &one};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    return p;
}

static void code_is_not_heated_by_another_build_of_the_program(void **state)
{
    struct core *c =
        core_with_code(profile_of_two_builds(), CODE_OF_ALL(CODE_OF("f", "4096", "1f")));
    json_t *answer = ask(c, "{\"ask\":\"code\",\"function\":\"f\"}");
    (void)state;
    assert_int_equal((int)number_in(element(json_object_get(answer, "code"), "parts", 0), "self"),
                     2);
    json_decref(answer);
    core_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_sorted_by_what_threads_did),
        cmocka_unit_test(lanes_of_a_process_stay_together),
        cmocka_unit_test(a_moment_is_of_the_process_that_is_asked_for),
        cmocka_unit_test(a_scope_that_goes_on_is_seen_in_the_middle),
        cmocka_unit_test(a_scope_is_drawn_when_and_where_it_was),
        cmocka_unit_test(scopes_do_not_follow_functions),
        cmocka_unit_test(a_scope_selects_what_was_within),
        cmocka_unit_test(threads_without_a_lane_are_counted),
        cmocka_unit_test(events_are_sorted_filtered_and_paged),
        cmocka_unit_test(latencies_count_each_span_once),
        cmocka_unit_test(nodes_have_their_samples_and_their_values),
        cmocka_unit_test(intervals_reach_as_far_up_as_down),
        cmocka_unit_test(a_chart_begins_where_its_first_sample_does),
        cmocka_unit_test(words_of_a_row_stand_below_their_title),
        cmocka_unit_test(a_list_counts_what_is_selected),
        cmocka_unit_test(of_two_files_the_second_is_the_one_after),
        cmocka_unit_test(unlike_files_are_compared_by_force_alone),
        cmocka_unit_test(a_list_by_self_ends_with_those_that_only_call),
        cmocka_unit_test(a_list_by_self_has_each_function_once),
        cmocka_unit_test(values_with_decimals_keep_them),
        cmocka_unit_test(a_search_marks_what_it_finds),
        cmocka_unit_test(words_belong_to_the_rows_of_their_page),
        cmocka_unit_test(a_search_finds_callers_too),
        cmocka_unit_test(a_tree_is_turned_around_and_back),
        cmocka_unit_test(intervals_of_a_node_are_of_its_total_then_of_its_self),
        cmocka_unit_test(a_thread_is_not_taken_for_a_process_of_its_name),
        cmocka_unit_test(of_two_ranges_the_second_is_the_one_after),
        cmocka_unit_test(a_file_that_takes_anothers_place_has_panes_of_its_own),
        cmocka_unit_test(source_opens_at_the_function_with_most_time_of_its_own),
        cmocka_unit_test(code_is_not_heated_by_another_build_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
