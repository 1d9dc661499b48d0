/* Regular expressions that a user or a link gives: what they match, and what they may cost. */
#include "base/pattern.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static bool fits(const char *text, const char *name)
{
    struct pattern p;
    struct err err = {0};
    if (pattern_init(&p, text, false, &err) != 0)
        fail_msg("%s", err.text);
    bool is = pattern_fits(&p, name);
    pattern_done(&p);
    return is;
}

static void refuses(const char *text, const char *why)
{
    struct pattern p;
    struct err err = {0};
    assert_int_equal(pattern_init(&p, text, false, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("'%s' says: %s", text, err.text);
}

/* The library's own, without bounds and without our short ways. */
static bool fits_library(const char *text, const char *name)
{
    regex_t re;
    assert_int_equal(regcomp(&re, text, REG_EXTENDED | REG_NOSUB), 0);
    bool is = regexec(&re, name, 0, NULL, 0) == 0;
    regfree(&re);
    return is;
}

static void patterns_match_what_the_library_matches(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "",        "^",      "$",       "^$",      "a",      "^a",       "a$",   "^a$",
        "ab",      "a|b",    "^a|b$",   "(^a)|b",  "a(b|$)", "^(a|b)+$", "a.c",  "\\.",
        "\\$",     "^a\\$$", "a\\(b",   "[ab]",    "[^ab]",  "[]a]",     "[^]]", "[[:digit:]]",
        "a{2}",    "a{2,}",  "a{0,1}b", "(ab){2}", "]",      "}",        "a]b",  "x*",
        "\\<b",    "b\\>",   "\\w+$",   "^.*$",    "a+b?c*", "()",       "b|^$", "[a-c]{2,3}$",
        "[[.-.]]", "a\\\\b", "[\\]",    "a|",      "^\\^",   "\n",       "a.b",  "std::.*<int>",
    };
    static const char *const names[] = {
        "",
        "a",
        "b",
        "ab",
        "ba",
        "aa",
        "aab",
        "abab",
        "abc",
        "a.c",
        ".",
        "$",
        "a$",
        "a(b",
        "]",
        "}",
        "a]b",
        "1",
        "a\\b",
        "\\",
        "^",
        "a\nb",
        "\n",
        "c b",
        "a-b_c",
        "xyz",
        "cab",
        "a b",
        "\xff",
        "a\377b",
        "std::vector<int>",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (fits(patterns[i], names[k]) != fits_library(patterns[i], names[k]))
                fail_msg("'%s' and '%s'", patterns[i], names[k]);
}

static void case_counts_unless_it_is_not_to(void **state)
{
    (void)state;
    struct pattern p;
    struct err err = {0};
    assert_false(fits("parse", "Parse"));
    assert_int_equal(pattern_init(&p, "parse", true, &err), 0);
    assert_true(pattern_fits(&p, "reParsed"));
    pattern_done(&p);
}

static void what_is_too_much_is_refused_with_the_reason(void **state)
{
    (void)state;
    autofree char *deep = mem_calloc(60001, 1), *wide = mem_calloc(70001, 1);
    memset(deep, '(', 60000);
    refuses(deep, "more than 50 deep");
    memset(wide, 'a', 70000);
    refuses(wide, "more than 65536 bytes");
    wide[0] = '.';
    wide[1001] = '\0';
    refuses(wide, "too large");
    wide[1000] = '\0';
    assert_true(fits(wide, wide));
    refuses("(a*)(a*)\\1\\2b", "refers back to a group");
    refuses("a{256}", "more than 255 times");
    refuses("a{1,99999999999999999999}", "more than 255 times");
    refuses("(a{1,200}){1,200}b", "too large");
    refuses("((a{10}){10}){11}", "too large");
    refuses("a{100}{11}", "too large");
    refuses("([[:alpha:]]]{100}){11}", "too large");
    refuses("a++++++++++++++++++++", "too large");
    refuses("((((((((((a+)+)+)+)+)+)+)+)+)+)+", "too large");
    refuses("a{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}{1,}", "too large");
    assert_true(fits("^(a+b+)+(c{2,})+$", "aabbabccc"));
    assert_true(fits("^(a{10}){10}$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
    refuses("a)", "nothing opens");
    refuses("a)(b", "nothing opens");
    refuses("[a", "not a regular expression");
}

static void a_long_pattern_is_cut_where_it_is_refused(void **state)
{
    (void)state;
    char text[400];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memcpy(text + 300, "\\1", 2);
    text[0] = '.';
    refuses(text, "xxx...' refers back");
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A name of N letters that ends with something else. */
static double cost_s(const char *text, size_t n)
{
    autofree char *name = mem_calloc(n + 2, 1);
    memset(name, 'a', n);
    name[n] = '!';
    double start = cpu_s();
    assert_false(fits(text, name));
    return cpu_s() - start;
}

/* Without the bounds each takes from 2 s to hours. */
static void no_name_costs_seconds(void **state)
{
    (void)state;
    static const char *const evil[] = {
        "(a+)+$", "(a|aa)+$", "(a|b)*a(a|b){18}$", "(a*)*b$", "(.*)*b$", "((a?){5}){60}b",
    };
    for (size_t i = 0; i < sizeof evil / sizeof *evil; i++) {
        double s = cost_s(evil[i], 20000);
        if (s > 1)
            fail_msg("'%s' took %.1f s", evil[i], s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_what_the_library_matches),
        cmocka_unit_test(case_counts_unless_it_is_not_to),
        cmocka_unit_test(what_is_too_much_is_refused_with_the_reason),
        cmocka_unit_test(a_long_pattern_is_cut_where_it_is_refused),
        cmocka_unit_test(no_name_costs_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
