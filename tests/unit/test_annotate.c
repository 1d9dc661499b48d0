/* The columns of an annotated function. */
#include "view/annotate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Two lines of a function on whose stacks SAMPLES lie; the second has one of them. Free it. */
static char *sheet_of(int64_t samples)
{
    char *out = NULL;
    size_t n = 0;
    struct listing listing = {0};
    struct annotate_file file = {.path = {"a.c", 3}};
    struct annotate_part part = {.function = {"f", 1}, .self = samples, .total = samples};
    *vec_push(&part.lines) = (struct annotate_line){7, samples - 1, samples - 1};
    *vec_push(&part.lines) = (struct annotate_line){9, 1, 1};
    struct annotate a = {.function = "f",
                         .module = "app",
                         .listing = &listing,
                         .files = &file,
                         .n_files = 1,
                         .parts = &part,
                         .n_parts = 1,
                         .total = samples,
                         .whole = samples,
                         .samples = samples,
                         .hottest = samples,
                         .noun = "time"};
    FILE *f = open_memstream(&out, &n);
    assert_non_null(f);
    assert_int_equal(annotate_print_text(f, &a, 100, false), 0);
    fclose(f);
    vec_done(&part.lines);
    return out;
}

static void assert_shows(int64_t samples, const char *wanted)
{
    autofree char *out = sheet_of(samples);
    if (!strstr(out, wanted))
        fail_msg("'%s' is not in '%s'", wanted, out);
}

/* Both ends of an interval take more room than a half-width, in both columns. */
static void columns_do_not_run_together(void **state)
{
    (void)state;
    assert_shows(20, "(0.9-23.6)     5.0% (0.9-23.6) ");
}

static void little_of_many_samples_has_more_digits(void **state)
{
    (void)state;
    assert_shows(10000, " 0.01% (0.00-0.06) ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_do_not_run_together),
        cmocka_unit_test(little_of_many_samples_has_more_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
