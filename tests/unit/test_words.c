/* Words of a line, as a shell sees them. */
#include "base/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The words of LINE joined by "|". */
static void expect(const char *line, const char *separators, const char *joined)
{
    struct words w;
    struct err err;
    char got[200] = "";
    assert_int_equal(words_split(&w, text_of(line), separators, &err), 0);
    for (size_t i = 0; i < w.at.n; i++) {
        strcat(got, i ? "|" : "");
        strcat(got, w.at.at[i]);
    }
    assert_string_equal(got, joined);
    assert_null(w.at.at[w.at.n]);
    words_done(&w);
}

static void blanks_separate_and_quotes_keep_together(void **state)
{
    (void)state;
    expect("", WORDS_BLANKS, "");
    expect("  a  b\tc ", WORDS_BLANKS, "a|b|c");
    expect("a 'b c' \"d e\"f", WORDS_BLANKS, "a|b c|d ef");
    expect("'' x", WORDS_BLANKS, "|x");
    expect("a,b, c", WORDS_LIST, "a|b|c");
    expect("a,b", WORDS_BLANKS, "a,b");
}

static void backslashes_are_undone_as_a_shell_does(void **state)
{
    (void)state;
    expect("a\\ b", WORDS_BLANKS, "a b");
    expect("\"a\\\"b\\n\"", WORDS_BLANKS, "a\"b\\n");
    expect("'a\\'", WORDS_BLANKS, "a\\");
    expect("end\\", WORDS_BLANKS, "end\\");
}

static void quote_without_end_is_an_error(void **state)
{
    struct words w;
    struct err err;
    (void)state;
    assert_int_equal(words_split(&w, text_of("a 'b"), WORDS_BLANKS, &err), -1);
    assert_non_null(strstr(err.text, "a 'b"));
    words_done(&w);
}

/* What is put together is taken apart again, and only what needs quotes has them. */
static void expect_first(const char *line, size_t bytes, const char *word)
{
    autofree char *first = NULL;
    assert_int_equal(words_first(line, &first), bytes);
    assert_string_equal(first ? first : "none", word);
}

static void the_first_word_is_at_the_very_beginning(void **state)
{
    (void)state;
    expect_first("./app --fast", 5, "./app");
    expect_first("'my app' 'a b'", 8, "my app");
    expect_first("my\\ app", 7, "my app");
    expect_first("", 0, "none");
    expect_first(" ./app", 0, "none");
    expect_first("'my app", 0, "none");
}

static void words_put_together_come_apart_again(void **state)
{
    (void)state;
    char *words[] = {(char[]){"./app"}, (char[]){"it's"},  (char[]){""},      (char[]){"a b"},
                     (char[]){"$HOME"}, (char[]){"x=1,2"}, (char[]){"\\\"`"}, (char[]){"a\nb"}};
    autobuf struct buf line = {0};
    words_join(&line, words, 8);
    assert_string_equal(buf_cstr(&line), "./app 'it'\\''s' '' 'a b' '$HOME' x=1,2 '\\\"`' 'a\nb'");
    expect(buf_cstr(&line), WORDS_BLANKS, "./app|it's||a b|$HOME|x=1,2|\\\"`|a\nb");
}

/* Also what a shell sets for the program, in front of it. */
static void only_the_program_is_for_everybody(void **state)
{
    static const char *const cases[][2] = {
        {"./app", "./app"},
        {"./app x 'y z'", "./app (2 arguments not shown)"},
        {"TOKEN=hush B+=hush ./app x | cat", "./app (5 arguments not shown)"},
        {"(TOKEN=hush ./app)", "'./app)' (1 argument not shown)"},
        {"TOKEN='hush a' ./app", "./app (1 argument not shown)"},
        {"TOKEN=hush", "sh"},
        {"/opt/a=b/app x", "/opt/a=b/app (1 argument not shown)"},
        {"TOKEN=hush ./app 'no end", "./app (arguments not shown)"},
        {"./app (11 arguments not shown)", "./app (11 arguments not shown)"},
        {"./app (1 argument not shown)", "./app (1 argument not shown)"},
        {"./app (arguments not shown)", "./app (arguments not shown)"},
        {"./app (hush arguments not shown)", "./app (4 arguments not shown)"},
        {"./app hush (1 argument not shown)", "./app (5 arguments not shown)"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        autobuf struct buf shown = {0};
        words_hide(&shown, cases[i][0]);
        assert_string_equal(buf_cstr(&shown), cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_separate_and_quotes_keep_together),
        cmocka_unit_test(the_first_word_is_at_the_very_beginning),
        cmocka_unit_test(words_put_together_come_apart_again),
        cmocka_unit_test(backslashes_are_undone_as_a_shell_does),
        cmocka_unit_test(quote_without_end_is_an_error),
        cmocka_unit_test(only_the_program_is_for_everybody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
