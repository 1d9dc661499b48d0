/*
 * fuzz_markdown.c - any bytes as notes: the page has no tags but those of the subset, and no link
 * by another scheme.
 */
#include "view/markdown.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static bool is_known(struct text html)
{
    static const char *const tags[] = {"p>",
                                       "h3>",
                                       "h4>",
                                       "h5>",
                                       "h6>",
                                       "hr>",
                                       "br>",
                                       "em>",
                                       "strong>",
                                       "code>",
                                       "pre>",
                                       "ul>",
                                       "ol>",
                                       "li>",
                                       "tr>",
                                       "th>",
                                       "td>",
                                       "ol start=\"",
                                       "table>",
                                       "blockquote>",
                                       "div>",
                                       "a>",
                                       "div class=\"scroll\">",
                                       "th class=\"r\">",
                                       "td class=\"r\">",
                                       "a rel=\"noopener noreferrer\" href=\""};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (text_starts(html, tags[i]))
            return true;
    return false;
}

static bool is_bad_link(struct text html)
{
    const char *end = memchr(html.at, '"', html.n);
    struct text url = {html.at, end ? (size_t)(end - html.at) : html.n};
    size_t head = 0;
    while (head < url.n && !strchr("/?#", url.at[head]))
        head++;
    bool web = text_starts(url, "http://") || text_starts(url, "https://");
    return !web && memchr(url.at, ':', head);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char href[] = "a rel=\"noopener noreferrer\" href=\"";
    autobuf struct buf b = {0};
    markdown_html(&b, (struct text){(const char *)bytes, n});
    for (size_t i = 0; i < b.n; i++) {
        size_t at = i + 1 + (i + 1 < b.n && b.at[i + 1] == '/');
        struct text tag = {b.at + at, b.n - at};
        if (b.at[i] != '<')
            continue;
        if (!is_known(tag))
            abort();
        if (text_starts(tag, href) &&
            is_bad_link((struct text){tag.at + sizeof href - 1, tag.n - sizeof href + 1}))
            abort();
    }
    return 0;
}
