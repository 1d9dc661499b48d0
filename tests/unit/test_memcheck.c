/*
 * What valgrind's checkers found, from their XML.
 */
#include "base/buf.h"
#include "suite/memcheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ERROR(unique, kind, rest) \
    "<error><unique>" unique "</unique><tid>1</tid><kind>" kind "</kind>\n" rest "</error>\n"
#define FRAME(rest) "<frame><ip>0x1</ip><obj>/lib/x.so</obj>" rest "</frame>\n"

static int read_text(struct memcheck *m, const char *xml, struct err *err)
{
    struct reader in;
    reader_open_memory(&in, xml, strlen(xml));
    int rc = memcheck_read(m, &in, err);
    reader_close(&in);
    return rc;
}

static void findings_are_told_with_their_place(void **state)
{
    (void)state;
    struct memcheck m;
    struct err err;
    const char *xml = "<?xml version=\"1.0\"?>\n<valgrindoutput><tool>memcheck</tool>\n" ERROR(
        "0x0", "InvalidRead",
        "<what>Invalid read of size 4 &lt;a&amp;b&gt; &#39;c&#x27;</what><stack>" FRAME(
            "<fn>memcpy</fn>") FRAME("<fn>use&lt;int&gt;</fn><file>a.c</file><line>4</line>")
            FRAME(
                "<fn>main</fn><file>b.c</file><line>9</line>") "</stack>"
                                                               "<auxwhat>Address is "
                                                               "inside</auxwhat><stack>" FRAME(
                                                                   "<fn>other</fn><file>c.c</"
                                                                   "file><line>1</line>") "</"
                                                                                          "stack"
                                                                                          ">") "<"
                                                                                               "/"
                                                                                               "v"
                                                                                               "a"
                                                                                               "l"
                                                                                               "g"
                                                                                               "r"
                                                                                               "i"
                                                                                               "n"
                                                                                               "d"
                                                                                               "o"
                                                                                               "u"
                                                                                               "t"
                                                                                               "p"
                                                                                               "u"
                                                                                               "t"
                                                                                               ">"
                                                                                               "\n";
    assert_int_equal(read_text(&m, xml, &err), 0);
    assert_true(m.complete);
    assert_string_equal(m.tool, "memcheck");
    assert_int_equal(m.findings, 1);
    assert_string_equal(m.first.at[0].kind, "InvalidRead");
    assert_string_equal(m.first.at[0].text, "Invalid read of size 4 <a&b> 'c'");
    assert_string_equal(m.first.at[0].function, "use<int>");
    assert_string_equal(m.first.at[0].file, "a.c");
    assert_int_equal(m.first.at[0].line, 4);
    memcheck_done(&m);
}

static void a_place_without_source_is_the_innermost_function(void **state)
{
    (void)state;
    struct memcheck m;
    struct err err;
    const char *xml = "<valgrindoutput>" ERROR(
        "0x0", "Race",
        "<xwhat><text>Possible data race</text></xwhat><stack>" FRAME("<fn>inner</fn>")
            FRAME("<fn>outer</fn>") "</stack>") "</valgrindoutput>";
    assert_int_equal(read_text(&m, xml, &err), 0);
    assert_string_equal(m.first.at[0].text, "Possible data race");
    assert_string_equal(m.first.at[0].function, "inner");
    assert_string_equal(m.first.at[0].file, "");
    memcheck_done(&m);
}

static void kinds_are_counted_and_how_often(void **state)
{
    (void)state;
    struct memcheck m;
    struct err err;
    const char *xml =
        "<valgrindoutput>" ERROR("0x0", "A", "") ERROR("0x1", "B", "") ERROR("0x2", "B", "") ERROR(
            "0x3", "C",
            "") "<errorcounts><pair><count>5</count><unique>0x0</unique></pair>"
                "<pair><count>2</count><unique>0x2</unique></pair>"
                "<pair><count>7</count><unique>0x99</unique></pair></errorcounts></valgrindoutput>";
    assert_int_equal(read_text(&m, xml, &err), 0);
    assert_int_equal(m.findings, 4);
    assert_int_equal(m.kinds.n, 3);
    assert_string_equal(m.kinds.at[0].name, "B");
    assert_int_equal(m.kinds.at[0].findings, 2);
    assert_int_equal(m.kinds.at[0].times, 3);
    assert_string_equal(m.kinds.at[1].name, "A");
    assert_int_equal(m.kinds.at[1].times, 5);
    memcheck_done(&m);
}

static void a_cut_file_gives_what_came_before(void **state)
{
    (void)state;
    struct memcheck m;
    struct err err;
    const char *xml = "<valgrindoutput>" ERROR("0x0", "A", "") "<error><kind>B</kind><what>half";
    assert_int_equal(read_text(&m, xml, &err), 0);
    assert_false(m.complete);
    assert_int_equal(m.findings, 1);
    memcheck_done(&m);
}

static void other_input_is_refused(void **state)
{
    (void)state;
    static const char *const inputs[] = {"", "hello", "<html><error></error></html>", "<<<>>>"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        struct memcheck m;
        struct err err;
        assert_int_equal(read_text(&m, inputs[i], &err), -1);
        assert_non_null(strstr(err.text, "--xml=yes"));
        memcheck_done(&m);
    }
}

static void many_findings_are_counted_but_not_kept(void **state)
{
    (void)state;
    autobuf struct buf b = {0};
    struct memcheck m;
    struct err err;
    buf_str(&b, "<valgrindoutput>");
    for (int i = 0; i < 500; i++)
        buf_printf(&b, "<error><unique>%d</unique><kind>K%d</kind></error>", i, i);
    buf_str(&b, "</valgrindoutput>");
    assert_int_equal(read_text(&m, buf_cstr(&b), &err), 0);
    assert_int_equal(m.findings, 500);
    assert_int_equal(m.first.n, MEMCHECK_KEPT);
    assert_int_equal(m.kinds.n, MEMCHECK_KINDS);
    assert_string_equal(m.kinds.at[0].name, "others");
    memcheck_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_told_with_their_place),
        cmocka_unit_test(a_place_without_source_is_the_innermost_function),
        cmocka_unit_test(kinds_are_counted_and_how_often),
        cmocka_unit_test(a_cut_file_gives_what_came_before),
        cmocka_unit_test(other_input_is_refused),
        cmocka_unit_test(many_findings_are_counted_but_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
