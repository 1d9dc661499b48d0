/* Tables as text: columns share the width that there is. */
#include "base/mem.h"
#include "view/document.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"

/* One that wants most of the width, and some that cannot be cut below four characters. */
static const struct document_column columns[] = {{"stack", .wide = true, .least = 46},
                                                 {"one", .wide = true, .least = 4},
                                                 {"two", .wide = true, .least = 4},
                                                 {"six", .wide = true, .least = 4}};

static char *table_in(int width)
{
    struct document d = {0};
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    document_table(&d, columns, 4);
    for (int i = 0; i < 4; i++)
        document_cell(&d, text_of(LONG), 0);
    document_print(out, &d, "t", &(struct document_paper){DOCUMENT_AS_TEXT, width, false}, NULL);
    fclose(out);
    document_done(&d);
    return text;
}

static void a_table_is_no_wider_than_the_terminal(void **state)
{
    (void)state;
    for (int width = 40; width <= 120; width++) {
        autofree char *text = table_in(width);
        for (struct text rest = text_of(text); rest.n;) {
            struct text line = text_cut(&rest, '\n');
            if (line.n > (size_t)width)
                fail_msg("%zu of %d characters: %.*s", line.n, width, TEXT_ARG(line));
        }
        assert_non_null(strstr(text, "six")); /* none of them had to go */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_no_wider_than_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
