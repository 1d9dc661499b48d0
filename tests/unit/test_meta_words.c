/* What is known about a measurement, as people read it. */
#include "model/meta_program.h"
#include "model/meta_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(const struct meta *m, const char *key, const char *value)
{
    autobuf struct buf b = {0};
    assert_int_equal(meta_words_value(&b, m, key), value != NULL);
    assert_string_equal(buf_cstr(&b), value ? value : "");
}

static void values_are_written_by_what_their_key_means(void **state)
{
    (void)state;
    struct meta m = {0};
    meta_set_u64(&m, META_TIME_NS, 1741529100123456789u);
    meta_set_u64(&m, META_CPU_TIME_NS, 1250000000);
    meta_set_str(&m, META_DURATION_NS, "a while");
    meta_set_u64(&m, META_MEMORY, 1250000000);
    meta_set_str(&m, META_COMMAND, "./app 1");
    meta_set_str(&m, META_HOST, "");
    expect(&m, META_TIME_NS, "2025-03-09 14:05:00 UTC");
    expect(&m, META_CPU_TIME_NS, "1.25 s");
    expect(&m, META_DURATION_NS, "a while");
    expect(&m, META_MEMORY, "1250000000");
    expect(&m, META_COMMAND, "./app 1");
    expect(&m, META_HOST, NULL);
    expect(&m, META_CPU, NULL);
    meta_set_str(&m, META_TIME_NS, "18446744073709551615");
    expect(&m, META_TIME_NS, "2554-07-21 23:34:33 UTC");
    meta_done(&m);
}

static void keys_have_titles_and_others_are_their_own(void **state)
{
    static const char *const host[] = {META_KEYS_HOST};
    (void)state;
    assert_string_equal(meta_words_title(META_GOVERNOR), "frequency governor");
    assert_string_equal(meta_words_title(META_COMMAND), "command");
    assert_string_equal(meta_words_title("anything"), "anything");
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        assert_null(strchr(meta_words_title(host[i]), '_'));
}

static void the_public_sees_no_arguments_and_no_home_folder(void **state)
{
    (void)state;
    for (int arguments = 0; arguments < 2; arguments++) {
        struct meta m = {0};
        meta_set_str(&m, META_COMMAND,
                     "/home"
                     "/ann/app --password x");
        meta_set_str(&m, META_CPU, "A CPU");
        meta_make_public(&m, arguments);
        assert_string_equal(meta_find(&m, META_COMMAND),
                            arguments ? "~/app --password x" : "~/app (2 arguments not shown)");
        assert_string_equal(meta_find(&m, META_CPU), "A CPU");
        meta_done(&m);
    }
}

static void the_program_is_the_first_words_file(void **state)
{
    static const char *const rows[][2] = {{"/bin/app --fast", "app"},
                                          {"'my app' 1", "my app"},
                                          {"nginx: worker process", "nginx"},
                                          {"/usr/bin/perf record ./app", ""},
                                          {"", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct meta m = {0};
        autobuf struct buf b = {0};
        meta_set_str(&m, META_COMMAND, rows[i][0]);
        assert_int_equal(meta_program(&m, &b), *rows[i][1] != 0);
        assert_string_equal(buf_cstr(&b), rows[i][1]);
        meta_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_by_what_their_key_means),
        cmocka_unit_test(keys_have_titles_and_others_are_their_own),
        cmocka_unit_test(the_program_is_the_first_words_file),
        cmocka_unit_test(the_public_sees_no_arguments_and_no_home_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
