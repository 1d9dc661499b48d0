/* test_markdown.c - notes in Markdown as HTML: what is read, and what hostile notes come to. */
#include "view/markdown.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "support.h"

static void becomes(const char *source, const char *html)
{
    autobuf struct buf b = {0};
    markdown_html(&b, text_of(source));
    assert_string_equal(buf_cstr(&b), html);
}

/* The inside of one paragraph. */
static void reads(const char *source, const char *html)
{
    autobuf struct buf b = {0};
    buf_printf(&b, "<p>%s</p>\n", html);
    becomes(source, buf_cstr(&b));
}

#define LINK "<a rel=\"noopener noreferrer\" href=\""

static void headings_are_below_those_of_the_page(void **state)
{
    (void)state;
    becomes("# One", "<h3>One</h3>\n");
    becomes("## Two ##", "<h4>Two</h4>\n");
    becomes("###### Six", "<h6>Six</h6>\n");
    becomes("One\n===\nTwo\n---", "<h3>One</h3>\n<h4>Two</h4>\n");
    becomes("#hashtag", "<p>#hashtag</p>\n");
    becomes("# C#", "<h3>C#</h3>\n");
}

static void paragraphs_end_at_blank_lines_and_blocks(void **state)
{
    (void)state;
    becomes("a\nb\n\nc", "<p>a\nb</p>\n<p>c</p>\n");
    becomes("a\r\nb\r\n", "<p>a\nb</p>\n");
    becomes("\xef\xbb\xbf"
            "a\n- b",
            "<p>a</p>\n<ul>\n<li>b\n</li>\n</ul>\n");
    becomes("born in\n1999. It was", "<p>born in\n1999. It was</p>\n");
    becomes("a\n\n---\n> b\n> c", "<p>a</p>\n<hr>\n<blockquote>\n<p>b\nc</p>\n</blockquote>\n");
    reads("a  \nb\\\nc", "a  <br>\nb<br>\nc");
    becomes("", "");
}

static void lists_may_hold_lists_and_code(void **state)
{
    (void)state;
    becomes("- a\n- b\n  more\n", "<ul>\n<li>a\n</li>\n<li>b\nmore\n</li>\n</ul>\n");
    becomes("3. a\n4. b", "<ol start=\"3\">\n<li>a\n</li>\n<li>b\n</li>\n</ol>\n");
    becomes("- a\n  1. b\n- c",
            "<ul>\n<li>a\n<ol>\n<li>b\n</li>\n</ol>\n</li>\n<li>c\n</li>\n</ul>\n");
    becomes("- a\n\n  ```\n  - x\n  ```", "<ul>\n<li><p>a</p>\n<pre>- x\n</pre>\n</li>\n</ul>\n");
    becomes("- a\n\nb", "<ul>\n<li>a\n</li>\n</ul>\n<p>b</p>\n");
}

static void code_is_shown_as_it_is(void **state)
{
    (void)state;
    becomes("```c\nif (a < b) *x*\n# no\n```\nafter",
            "<pre>if (a &lt; b) *x*\n# no\n</pre>\n<p>after</p>\n");
    becomes("````\n```\n````", "<pre>```\n</pre>\n");
    becomes("    indented <b>\n", "<pre>indented &lt;b&gt;\n</pre>\n");
    becomes("~~~\nnever closed", "<pre>never closed\n</pre>\n");
    reads("`a * b` and ``c ` d``", "<code>a * b</code> and <code>c ` d</code>");
    reads("`a\nb`", "<code>a b</code>");
    reads("an ` alone", "an ` alone");
}

static void emphasis_is_around_words(void **state)
{
    (void)state;
    reads("*a* **b** _c_ __d__", "<em>a</em> <strong>b</strong> <em>c</em> <strong>d</strong>");
    reads("**a *b* c**", "<strong>a <em>b</em> c</strong>");
    reads("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4");
    reads("\\*not\\* *open", "*not* *open");
}

static void tables_have_a_head_and_numbers_to_the_right(void **state)
{
    (void)state;
    becomes("| a | b |\n|---|--:|\n| `x` \\| y | 1 |\nz | 2",
            "<div class=\"scroll\"><table>\n<tr><th>a</th><th class=\"r\">b</th></tr>\n"
            "<tr><td><code>x</code> | y</td><td class=\"r\">1</td></tr>\n"
            "<tr><td>z</td><td class=\"r\">2</td></tr>\n</table></div>\n");
    becomes("a | b\nc", "<p>a | b\nc</p>\n");
}

static void links_lead_to_the_web_or_beside_the_page(void **state)
{
    (void)state;
    reads("[a](https://b.c/d?e=1&f=2 \"t\")", LINK "https://b.c/d?e=1&amp;f=2\">a</a>");
    reads("[a](small.html#x)", LINK "small.html#x\">a</a>");
    reads("[*a*](b_(c).html)", LINK "b_(c).html\"><em>a</em></a>");
    reads("<http://a.b>", LINK "http://a.b\">http://a.b</a>");
    reads("![a](https://b.c/d.png)", LINK "https://b.c/d.png\">a</a>");
    reads("[a] (b), [c", "[a] (b), [c");
}

/* What a browser would run or load is text. */
static void hostile_notes_do_nothing(void **state)
{
    (void)state;
    static const char *const attempts[] = {
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](JavaScript:alert(1))",
        "[a]( javascript:alert(1))",
        "[a](java\tscript:alert(1))",
        "[a](\001javascript:alert(1))",
        "[a](javascript&colon;alert(1))",
        "[a](&#106;avascript:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x)",
        "[a](file:///etc/passwd)",
        "[a](//evil.example/)",
        "[a](\\\\evil.example\\x)",
        "![a](javascript:alert(1))",
        "<javascript:alert(1)>",
        "<http://a.b\" onclick=alert(1) x=\">",
        "[a]: javascript:alert(1)",
        "[a](b\" onmouseover=\"alert(1))",
    };
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        autobuf struct buf b = {0};
        markdown_html(&b, text_of(attempts[i]));
        const char *html = buf_cstr(&b);
        if (strstr(html, "href") || strstr(html, "<script") || strstr(html, "<img"))
            fail_msg("%s became %s", attempts[i], html);
    }
    reads("[a](https://b/\"onclick=\"x)", LINK "https://b/&quot;onclick=&quot;x\">a</a>");
    becomes("```\"><script>\n</pre><script>\n```", "<pre>&lt;/pre&gt;&lt;script&gt;\n</pre>\n");
    becomes("|<b>|\n|-|\n|<i onload=x>|",
            "<div class=\"scroll\"><table>\n<tr><th>&lt;b&gt;</th></tr>\n"
            "<tr><td>&lt;i onload=x&gt;</td></tr>\n</table></div>\n");
}

/* Openings that nothing closes, nested without end: read once, not once for each. */
static void notes_of_nothing_but_openings_are_read(void **state)
{
    (void)state;
    static const char *const parts[] = {"*a ",   "[",       "![", "> ", "- ",
                                        "`` ` ", "**a _b ", "|",  "\\"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        autobuf struct buf in = {0}, out = {0};
        while (in.n < 50000)
            buf_str(&in, parts[i]);
        markdown_html(&out, buf_text(&in));
        assert_true(out.n > 0 && out.n < 20 * in.n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_are_below_those_of_the_page),
        cmocka_unit_test(paragraphs_end_at_blank_lines_and_blocks),
        cmocka_unit_test(lists_may_hold_lists_and_code),
        cmocka_unit_test(code_is_shown_as_it_is),
        cmocka_unit_test(emphasis_is_around_words),
        cmocka_unit_test(tables_have_a_head_and_numbers_to_the_right),
        cmocka_unit_test(links_lead_to_the_web_or_beside_the_page),
        cmocka_unit_test(hostile_notes_do_nothing),
        cmocka_unit_test(notes_of_nothing_but_openings_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
