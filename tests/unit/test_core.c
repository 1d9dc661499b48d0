/*
 * The page's core: questions it understands, answers that are those of the terminal, files that are
 * broken, names that are markup.
 */
#include "base/buf.h"
#include "page/core.h"
#include "page/question.h"
#include "view/report.h"
#include "view/viewer.h"
#include "wire/recording.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support.h"
#include "support_core.h"

#define MARKUP "</script><img src=x onerror=alert(1)>\"&'"

static struct stack_id core_path(struct profile *p, const char *names)
{
    struct stack_id id = {0};
    struct text rest = text_of(names);
    while (rest.n) {
        struct frame_id f = profile_add_named_frame(p, text_cut(&rest, ';'), FRAME_USER);
        id = stacks_push(&p->stacks, id, f);
    }
    return id;
}

/* 100 samples of 10 ms each: one thread parses for half a second, then another writes. */
static struct profile *core_profile(void)
{
    struct profile *p = profile_new();
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    support_value(p, "cpu-clock", "cpu", "nanoseconds");
    for (int i = 0; i < 100; i++) {
        bool parses = i < 50;
        struct thread_key t = {profile_add_str(p, text_of(parses ? MARKUP : "writer")), 7,
                               parses ? 7 : 8};
        int64_t values[] = {1, 10000000};
        struct row r = {.stack = core_path(p, !parses  ? "main;write"
                                              : i % 10 ? "main;parse;parse"
                                                       : "main;" MARKUP),
                        .thread = profile_add_thread(p, &t),
                        .has_time = true,
                        .time_ns = 1000000000 + (uint64_t)i * 10000000,
                        .values = values};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    meta_set_str(&p->meta, META_SOURCE, MARKUP);
    return p;
}

static struct core *loaded(void)
{
    struct core *c = core_new();
    core_take(c, 0, core_profile());
    return c;
}

static void assert_error(struct core *c, const char *question, const char *word)
{
    json_t *answer = ask(c, question);
    const char *said = json_string_value(json_object_get(answer, "error"));
    if (!said || !strstr(said, word))
        fail_msg("%s: '%s', not '%s'", question, said ? said : "no error", word);
    json_decref(answer);
}

static void what_is_not_understood_is_said(void **state)
{
    struct core *c = loaded();
    (void)state;
    assert_error(c, "", "JSON");
    assert_error(c, "[]", "");
    assert_error(c, "{}", "'ask'");
    assert_error(c, "{\"ask\":\"nosuch\"}", "nothing answers 'nosuch'");
    assert_error(c, "{\"ask\":\"tree\",\"colour\":1}", "no question has a member 'colour'");
    assert_error(c, "{\"ask\":\"tree\",\"file\":1}", "file 1 is not loaded");
    assert_error(c, "{\"ask\":\"tree\",\"file\":2}", "no file 2");
    assert_error(c, "{\"ask\":\"tree\",\"file\":-1}", "no file -1");
    assert_error(c, "{\"ask\":\"tree\",\"time\":\"x\"}", "not a time range");
    assert_error(c, "{\"ask\":\"tree\",\"time\":\"70..80\"}", "nothing was recorded");
    assert_error(c, "{\"ask\":\"tree\",\"focus\":[\"(\"]}", "not a regular expression");
    assert_error(c, "{\"ask\":\"search\",\"pattern\":\"(\"}", "not a regular expression");
    assert_error(c, "{\"ask\":\"search\",\"pattern\":\"(a)\\\\1\"}", "refers back to a group");
    assert_error(c, "{\"ask\":\"list\",\"pattern\":\"(a)\\\\1\"}", "refers back to a group");
    assert_error(c, "{\"ask\":\"match\",\"pattern\":\"(a)\\\\1\"}", "refers back to a group");
    assert_error(c, "{\"ask\":\"tree\",\"hide\":[\"(a)\\\\1\"]}", "refers back to a group");
    assert_error(c, "{\"ask\":\"tree\",\"thread\":[\"(a)\\\\1\"]}", "refers back to a group");
    assert_error(c, "{\"ask\":\"tree\",\"where\":[\"x=~(a)\\\\1\"]}", "refers back to a group");
    assert_error(c, "{\"ask\":\"tree\",\"focus\":[\"parse\\u0000x\"]}", "a byte 0");
    assert_error(c, "{\"ask\":\"tree\",\"time\":\"\\u0000\"}", "a byte 0");
    assert_error(c, "{\"ask\":\"match\"}", "needs a pattern");
    assert_error(c, "{\"ask\":\"calls\",\"function\":\"nosuch\"}", "nosuch");
    assert_error(c, "{\"ask\":\"calls\"}", "what?");
    assert_error(c, "{\"ask\":\"heap\"}", "");
    core_free(c);
}

/* Columns as bytes have the numbers of the columns as text. */
static void packed_columns_are_those_of_the_text(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *text = ask(c, "{\"ask\":\"tree\",\"value\":\"cpu\"}");
    assert_int_equal(core_columns(c).n, 0);
    json_t *packed = ask(c, "{\"ask\":\"tree\",\"value\":\"cpu\",\"packed\":true}");
    const char *at = core_columns(c).at;
    size_t n = (size_t)json_integer_value(json_object_get(packed, "n")), i;
    json_t *name;
    assert_int_equal(json_array_size(json_object_get(packed, "columns")), 6);
    json_array_foreach(json_object_get(packed, "columns"), i, name)
    {
        json_t *column = json_object_get(text, json_string_value(name));
        bool ids = i >= 4; /* parent, label */
        assert_int_equal(json_array_size(column), n);
        for (size_t k = 0; k < n; k++, at += ids ? 4 : 8) {
            double v = ids ? *(const uint32_t *)at : *(const double *)at;
            assert_true(v == json_number_value(json_array_get(column, k)));
        }
        assert_null(json_object_get(packed, json_string_value(name)));
    }
    assert_ptr_equal(at, core_columns(c).at + core_columns(c).n);
    json_decref(text);
    json_decref(packed);
    core_free(c);
}

/* Said before anything is packed, let alone sent to a browser. */
static void what_no_page_can_hold_is_refused(void **state)
{
    struct profile *p = core_profile();
    struct err err = {0};
    struct selection all = selection_all(p, (struct value_ref){0, 0});
    struct viewer_opts o = {.profiles = {p}, .n = 1, .still = &all, .start = ""};
    size_t rows = p->streams.at[0]->rows.n;
    (void)state;
    p->streams.at[0]->rows.n = (size_t)80 << 20;
    assert_null(viewer_new(&o, &err));
    assert_non_null(strstr(err.text, "too large for a browser: its 83,886,080 rows take 2.5"));
    p->streams.at[0]->rows.n = rows;
    profile_free(p);
}

/* While it is read: a packed file does not show what it becomes. */
static void a_file_that_no_page_can_hold_is_refused(void **state)
{
    struct core *c = loaded();
    struct profile *p = core_profile();
    struct core_file f = file_of(p);
    struct err err = {0};
    (void)state;
    core_limit_rows(c, 100);
    assert_int_equal(core_load(c, 0, (struct text){f.at, f.n}, &err), -1);
    assert_non_null(strstr(err.text, "too large for a browser: its 100 rows take"));
    core_limit_rows(c, 1 << 20);
    assert_int_equal(core_load(c, 0, (struct text){f.at, f.n}, &err), 0);
    profile_free(p);
    free(f.at);
    core_free(c);
}

static void a_tree_has_all_that_is_selected(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *all = ask(c, "{\"ask\":\"tree\",\"value\":\"cpu\"}");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(all, "total"), 0)),
                     1000000000);
    json_t *part = ask(c, "{\"ask\":\"tree\",\"value\":\"samples\",\"thread\":[\"writer\"]}");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(part, "total"), 0)), 50);
    json_t *both = ask(
        c, "{\"ask\":\"tree\",\"value\":\"samples\",\"time\":\"0..0.25\",\"focus\":[\"^parse$\"]}");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(both, "total"), 0)), 23);
    json_t *merged = ask(c, "{\"ask\":\"tree\",\"merge-recursion\":true}");
    assert_int_equal(json_integer_value(json_object_get(merged, "n")),
                     json_integer_value(json_object_get(all, "n")) - 1);
    json_decref(all);
    json_decref(part);
    json_decref(both);
    json_decref(merged);
    core_free(c);
}

/* The sums of all lanes are what was recorded, however many bins there are. */
static void lanes_add_up(void **state)
{
    struct core *c = loaded();
    (void)state;
    static const char *const questions[] = {"{\"ask\":\"lanes\",\"value\":\"cpu\",\"bins\":7}",
                                            "{\"ask\":\"lanes\",\"bins\":500}"};
    for (size_t q = 0; q < 2; q++) {
        json_t *answer = ask(c, questions[q]), *lanes = json_object_get(answer, "lanes"), *lane,
               *bin;
        double sum = 0;
        size_t i, k;
        assert_int_equal(json_array_size(lanes), 2);
        json_array_foreach(lanes, i, lane) json_array_foreach(json_object_get(lane, "bins"), k, bin)
            sum += json_number_value(bin);
        /* The first sample stands for time before the first moment that is known. */
        assert_true(sum > 985e6 && sum < 1001e6);
        json_decref(answer);
    }
    core_free(c);
}

/* --- the same as the terminal --- */

static char *terminal_report(const struct profile *p)
{
    struct selection s;
    struct report r;
    struct err err;
    struct value_ref value;
    char *at;
    size_t n;
    assert_int_equal(profile_pick_value(p, NULL, NULL, &value, &err), 0);
    s = selection_all(p, value);
    assert_int_equal(report_build(&r, &s, &(struct report_opts){.top = 15}, &err), 0);
    FILE *out = open_memstream(&at, &n);
    report_print_json(out, &r);
    fclose(out);
    report_done(&r);
    return at;
}

static void rows_are_those_of_the_report(void **state)
{
    struct core *c = loaded();
    struct profile *p = core_profile();
    char *report_text = terminal_report(p);
    json_t *report = json_loads(report_text, 0, NULL);
    json_t *list = ask(c, "{\"ask\":\"list\",\"by\":\"function\",\"sort\":\"self\",\"top\":3}");
    json_t *rows = json_object_get(list, "rows");
    (void)state;
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(json_equal(json_array_get(rows, i),
                               json_array_get(json_object_get(report, "by_self"), i)));
    json_t *answer = ask(c, "{\"ask\":\"report\"}");
    assert_true(json_equal(json_object_get(answer, "report"), report));
    /* Its outline has nothing of its own, and leaves out what takes long. */
    json_t *brief = ask(c, "{\"ask\":\"report\",\"brief\":true}"), *part;
    const char *key;
    json_object_foreach(json_object_get(brief, "report"), key, part)
        assert_true(json_equal(part, json_object_get(report, key)));
    assert_non_null(json_object_get(json_object_get(brief, "report"), "insights"));
    assert_non_null(json_object_get(json_object_get(brief, "report"), "modules"));
    assert_null(json_object_get(json_object_get(brief, "report"), "by_self"));
    assert_null(json_object_get(json_object_get(brief, "report"), "paths"));
    json_decref(brief);
    json_decref(report);
    json_decref(list);
    json_decref(answer);
    free(report_text);
    profile_free(p);
    core_free(c);
}

static void lists_are_sorted_filtered_and_paged(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *all = ask(c, "{\"ask\":\"list\",\"sort\":\"total\",\"top\":10}");
    json_t *rows = json_object_get(all, "rows");
    assert_int_equal(json_integer_value(json_object_get(all, "n")), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")),
                        "main");
    json_t *second = ask(c, "{\"ask\":\"list\",\"sort\":\"total\",\"skip\":1,\"top\":1}");
    assert_true(
        json_equal(json_array_get(json_object_get(second, "rows"), 0), json_array_get(rows, 1)));
    json_t *some = ask(c, "{\"ask\":\"list\",\"sort\":\"name\",\"pattern\":\"^W\",\"top\":9}");
    assert_int_equal(json_integer_value(json_object_get(some, "n")), 1);
    json_t *none = ask(c, "{\"ask\":\"list\",\"skip\":900,\"top\":-5}");
    assert_int_equal(json_array_size(json_object_get(none, "rows")), 0);
    json_decref(all);
    json_decref(second);
    json_decref(some);
    json_decref(none);
    core_free(c);
}

/* More selections than are kept, and the first again. */
static void answers_stay_the_same(void **state)
{
    struct core *c = loaded();
    (void)state;
    char *first = ask_text(c, "{\"ask\":\"tree\",\"time\":\"0..0.5\"}");
    for (int i = 1; i < 20; i++) {
        autofree char *question = mem_printf("{\"ask\":\"tree\",\"time\":\"0..0.%02d\"}", i);
        json_decref(ask(c, question));
    }
    char *again = ask_text(c, "{\"ask\":\"tree\",\"time\":\"0..0.5\"}");
    assert_string_equal(first, again);
    free(first);
    free(again);
    core_free(c);
}

/* --- what comes from outside --- */

static void names_are_never_markup(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *list = ask(c, "{\"ask\":\"list\",\"pattern\":\"script\",\"top\":9}");
    json_t *row = json_array_get(json_object_get(list, "rows"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "name")), MARKUP);
    json_t *about = ask(c, "{\"ask\":\"about\"}");
    assert_string_equal(json_string_value(json_object_get(about, "subject")), MARKUP);
    json_decref(list);
    json_decref(about);
    core_free(c);
}

static void a_cut_file_gives_what_came_before(void **state)
{
    struct profile *p = core_profile();
    struct core_file f = file_of(p);
    struct core *c = core_new();
    struct err err;
    size_t opened = 0;
    (void)state;
    for (size_t n = 0; n < f.n; n++)
        if (core_load(c, 0, (struct text){f.at, n}, &err) == 0) {
            json_t *about = ask(c, "{\"ask\":\"about\"}");
            json_t *meta = json_object_get(json_object_get(about, "info"), "meta");
            opened += json_object_get(meta, "cut") != NULL;
            json_decref(about);
        } else {
            assert_true(strlen(err.text) > 10);
        }
    assert_true(opened > 0);
    core_free(c);
    profile_free(p);
    free(f.at);
}

static void two_ranges_are_compared(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *answer = ask(c, "{\"ask\":\"compare\",\"time\":\"0..0.49\",\"other_time\":\"0.5..1\"}");
    json_t *diff = json_object_get(answer, "diff");
    assert_non_null(json_string_value(json_object_get(diff, "verdict")));
    assert_error(c, "{\"ask\":\"compare\"}", "file 1 is not loaded");
    json_decref(answer);
    core_free(c);
}

/* --- source and instructions --- */

#define CODE_HEAD "{\"functions\":[{\"function\":\"f\",\"path\":\"/bin/app\",\"build_id\":\"1f\","
#define CODE_BYTES "\"code\":[[4096,\"554889e5ebfd\"]],"
#define CODE_INSNS                                                    \
    "\"insns\":[\"push rbp\",null,[\"f\",\"/src/f.c\",3],\"mov rbp, " \
    "rsp\",null,[\"f\",\"/src/f.c\",3,"                               \
    "\"g\",\"/src/g.h\",7],\"jmp\",\"h\",null]}],"
#define CODE_FILES                                                                      \
    "\"files\":[{\"path\":\"/src/f.c\",\"note\":null,\"text\":\"int f(void)\\n{\\n    " \
    "return " MARKED_G "\\n}\\n\"}]}"
#define MARKED_G "g(\\\"</script>\\\");"

/* 3 samples at the jump, 1 at the first instruction. */
static struct core *loaded_with_code(void)
{
    struct err err;
    struct core *c = core_new();
    struct profile *p = profile_new();
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/app")),
                        .build_id = profile_add_str(p, text_of("1f"))};
    struct mapping_id mapping = profile_add_mapping(p, &m);
    support_value(p, "cpu-clock", "samples", "count");
    for (uint64_t i = 0; i < 4; i++) {
        int64_t one = 1;
        struct frame_key key = {.pc = i ? 4100 : 4096, .mapping = mapping};
        struct row r = {
            .stack = stacks_push(&p->stacks, (struct stack_id){0}, profile_add_frame(p, &key)),
            .has_time = true,
            .time_ns = 1000000000 + i * 1000000000,
            .values = &one};
        assert_int_equal(profile_add_row(p, 0, &r, &err), 0);
    }
    core_take(c, 0, p);
    assert_int_equal(
        core_load_code(c, 0, text_of(CODE_HEAD CODE_BYTES CODE_INSNS CODE_FILES), &err), 0);
    return c;
}

static json_t *part_at(json_t *code, const char *list, size_t i)
{
    return json_array_get(json_object_get(code, list), i);
}

static void code_has_the_heat_of_what_is_selected(void **state)
{
    struct core *c = loaded_with_code();
    (void)state;
    json_t *answer = ask(c, "{\"ask\":\"code\",\"function\":\"f\"}");
    json_t *code = json_object_get(answer, "code");
    assert_int_equal(json_integer_value(json_object_get(code, "total")), 4);
    json_t *own = part_at(code, "parts", 0), *inlined = part_at(code, "parts", 1);
    assert_int_equal(json_integer_value(json_object_get(own, "self")), 1);
    assert_string_equal(json_string_value(json_object_get(inlined, "function")), "g");
    assert_int_equal(json_integer_value(json_object_get(inlined, "self")), 3);
    json_t *row = part_at(own, "rows", 2);
    assert_string_equal(json_string_value(json_object_get(row, "text")),
                        "    return g(\"</script>\");");
    assert_string_equal(json_string_value(json_object_get(row, "self_share")), "25.0% (4.6-69.9)");
    json_t *hottest = part_at(part_at(code, "blocks", 0), "insns", 1);
    assert_string_equal(json_string_value(json_object_get(hottest, "text")), "jmp");
    assert_string_equal(json_string_value(json_object_get(hottest, "target")), "block 2");
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"code\",\"function\":\"g\",\"time\":\"0..0.5\"}");
    code = json_object_get(answer, "code");
    assert_string_equal(json_string_value(json_object_get(code, "function")), "f");
    assert_int_equal(json_integer_value(json_object_get(code, "total")), 1);
    json_decref(answer);
    assert_error(c, "{\"ask\":\"code\",\"function\":\"x\"}", "the code of 'x' is not in this page");
    /* Without a name the hottest function of which there is code; none of these has a name. */
    assert_error(c, "{\"ask\":\"code\"}",
                 "no code of a function that ran in what is selected is in this page");
    core_free(c);
    c = loaded();
    assert_error(c, "{\"ask\":\"code\",\"function\":\"main\"}", "no code is in this page");
    core_free(c);
}

static void code_that_makes_no_sense_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"functions\":3}",
        CODE_HEAD "\"code\":[[4096,\"5\"]]}]}",
        CODE_HEAD "\"code\":[[4096,\"zz\"]]}]}",
        CODE_HEAD "\"code\":[[4096,\"55\",1]]}]}",
        CODE_HEAD CODE_BYTES "\"insns\":[\"push rbp\",null,null]}]}",
        CODE_HEAD "\"code\":[[4096,\"55\"]]}]}",
        CODE_HEAD "\"code\":[[4096,\"55\"]],\"insns\":[\"push\",null,null,\"pop\",null,null]}]}",
        CODE_HEAD "\"what\":1}]}",
    };
    struct core *c = loaded();
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (core_load_code(c, 0, text_of(bad[i]), &err) == 0)
            fail_msg("taken: %s", bad[i]);
    core_free(c);
}

static void a_moment_has_the_stack_of_its_thread(void **state)
{
    struct core *c = loaded();
    (void)state;
    json_t *answer = ask(c, "{\"ask\":\"moment\",\"pid\":7,\"tid\":8,\"from_s\":0.9}");
    json_t *stack = json_object_get(answer, "stack");
    assert_int_equal(json_array_size(stack), 2);
    assert_string_equal(json_string_value(json_array_get(stack, 0)), "write");
    assert_true(json_number_value(json_object_get(answer, "off_s")) < 0.006);
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"moment\",\"pid\":7,\"tid\":8,\"from_s\":0.1,\"hide\":[\"main\"]}");
    assert_int_equal(json_array_size(json_object_get(answer, "stack")), 1);
    assert_true(json_number_value(json_object_get(answer, "off_s")) > 0.39);
    json_decref(answer);
    answer = ask(c, "{\"ask\":\"moment\",\"pid\":7,\"tid\":99,\"from_s\":0.1}");
    assert_int_equal(json_array_size(json_object_get(answer, "stack")), 0);
    json_decref(answer);
    core_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_understood_is_said),
        cmocka_unit_test(packed_columns_are_those_of_the_text),
        cmocka_unit_test(what_no_page_can_hold_is_refused),
        cmocka_unit_test(a_file_that_no_page_can_hold_is_refused),
        cmocka_unit_test(a_tree_has_all_that_is_selected),
        cmocka_unit_test(lanes_add_up),
        cmocka_unit_test(rows_are_those_of_the_report),
        cmocka_unit_test(lists_are_sorted_filtered_and_paged),
        cmocka_unit_test(answers_stay_the_same),
        cmocka_unit_test(names_are_never_markup),
        cmocka_unit_test(a_cut_file_gives_what_came_before),
        cmocka_unit_test(two_ranges_are_compared),
        cmocka_unit_test(code_has_the_heat_of_what_is_selected),
        cmocka_unit_test(code_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_moment_has_the_stack_of_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
