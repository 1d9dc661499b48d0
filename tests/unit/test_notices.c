/*
 * What forges are told when a run of a suite goes wrong.
 */
#include "suite/notices.h"
#include "suite/suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two workloads: one failed, one has errors that valgrind found. */
static void make_suite(struct suite *s)
{
    *s = (struct suite){.folder.lock = -1};
    struct suite_result *r = vec_push(&s->results);
    *r = (struct suite_result){.workload.name = "a,b:c"};
    suite_fail(r, "was killed\nby 100% of us", NULL);
    r = vec_push(&s->results);
    *r = (struct suite_result){.workload.name = "leaky", .too_many_findings = true};
    r->findings[FOUND_MEMCHECK] =
        (struct suite_findings){true, 2, mem_strdup("one\ntwo in f (a b.c:48)\nthree (c.c:9)\n")};
}

static char *annotate(const char *why, enum notices_format format)
{
    struct suite s;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    make_suite(&s);
    notices_print(out, &s, why, format);
    fclose(out);
    suite_done(&s);
    return text;
}

static void github_lines_stay_lines(void **state)
{
    (void)state;
    autofree char *text = annotate(NULL, NOTICES_GITHUB);
    assert_string_equal(text, "::error title=a%2Cb%3Ac failed::It was killed%0Aby 100%25 of us.\n"
                              "::error file=a b.c,line=48,title=leaky has findings::2 "
                              "findings.%0Aone%0Atwo in f (a b.c:48)%0Athree (c.c:9)%0A\n");
}

static void what_a_program_printed_does_nothing_to_a_terminal(void **state)
{
    (void)state;
    autofree char *text = annotate("a\x1b[31m\xe2\x80\xae\xc2\x9b b\a,c:d\n", NOTICES_GITHUB);
    assert_string_equal(text, "::error title=kelvin run ended early::a?[31m?? b?,c:d%0A\n");
}

/* What memcheck and the sanitizers say of a finding: only the place in the program is one. */
static void findings_are_placed_at_the_first_line_that_they_name(void **state)
{
    static const struct {
        const char *findings, *place;
    } cases[] = {
        {"heap-buffer-overflow in f(char*, int) (lib/a.cc:9): WRITE of size 30\n",
         "file=lib/a.cc,line=9,"},
        {"data race in main (a.c:20) and run (b.c:6)\n", "file=a.c,line=20,"},
        {"signed integer overflow in sum (a.c:21): 1 + 2147483647 cannot\n", "file=a.c,line=21,"},
        {"load of null pointer of type 'int' at b.c:3\nSEGV in f (c.c:1)\n", "file=b.c,line=3,"},
        {"SEGV in strdup\nSEGV in f (c.c:1)\n", "file=c.c,line=1,"},
        {"x::y of 10:30\nleak of 8 bytes (in 2:1 blocks)\n", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct suite s = {.folder.lock = -1};
        char *text;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        struct suite_result *r = vec_push(&s.results);
        *r = (struct suite_result){.workload.name = "it", .too_many_findings = true};
        r->findings[FOUND_ASAN] = (struct suite_findings){true, 1, mem_strdup(cases[i].findings)};
        notices_print(out, &s, NULL, NOTICES_GITHUB);
        fclose(out);
        autofree char *start = mem_printf("::error %stitle=it has findings::", cases[i].place);
        if (strncmp(text, start, strlen(start)) != 0)
            fail_msg("'%s' does not begin with '%s'", text, start);
        free(text);
        suite_done(&s);
    }
}

static void a_run_that_ended_early_says_only_why(void **state)
{
    (void)state;
    autofree char *text = annotate("the build ended with exit code 2", NOTICES_GITHUB);
    assert_string_equal(text,
                        "::error title=kelvin run ended early::the build ended with exit code 2\n");
}

static void a_regression_that_recordings_alone_show_has_its_reason(void **state)
{
    struct diff d = {.verdict = DIFF_REGRESSED, .why = "CPU 1 s -> 2 s"};
    struct suite s = {.folder.lock = -1};
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    (void)state;
    *vec_push(&s.results) =
        (struct suite_result){.workload.name = "w", .outcome = SUITE_REGRESSED, .diff = &d};
    notices_print(out, &s, NULL, NOTICES_GITHUB);
    fclose(out);
    assert_string_equal(text, "::error title=w regressed::recordings in turns: regressed; "
                              "CPU 1 s -> 2 s.\n");
    free(text);
    s.results.at[0].diff = NULL;
    suite_done(&s);
}

static void gitlab_gets_one_array_with_places(void **state)
{
    (void)state;
    autofree char *text = annotate(NULL, NOTICES_GITLAB);
    assert_int_equal(text[0], '[');
    assert_non_null(strstr(text, "\"severity\":\"major\",\"location\":{\"path\":\"kelvin.conf\","
                                 "\"lines\":{\"begin\":1}}},{"));
    assert_non_null(strstr(text, "by 100% of us"));
    assert_string_equal(text + strlen(text) - 3, "}]\n");
}

/* A workload that is slower by CPU time is decided, though its wall time scatters. */
static void slower_by_one_clock_is_not_undecided(void **state)
{
    (void)state;
    struct suite_result r = {.has_compared = {[BY_TIME] = true, [BY_CPU] = true}};
    r.compared[BY_TIME].gate = r.compared[BY_CPU].gate = GATE_UNDECIDED;
    assert_true(suite_undecided(&r));
    r.compared[BY_CPU].gate = GATE_BROKEN;
    assert_false(suite_undecided(&r));
    r.compared[BY_CPU].gate = GATE_HOLDS;
    assert_false(suite_undecided(&r));
    r.compared[BY_CPU].gate = GATE_UNDECIDED;
    r.compared[BY_TIME].gate = GATE_BROKEN;
    assert_false(suite_undecided(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slower_by_one_clock_is_not_undecided),
        cmocka_unit_test(github_lines_stay_lines),
        cmocka_unit_test(what_a_program_printed_does_nothing_to_a_terminal),
        cmocka_unit_test(findings_are_placed_at_the_first_line_that_they_name),
        cmocka_unit_test(a_run_that_ended_early_says_only_why),
        cmocka_unit_test(a_regression_that_recordings_alone_show_has_its_reason),
        cmocka_unit_test(gitlab_gets_one_array_with_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
