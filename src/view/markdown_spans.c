/* markdown_spans.c - emphasis, code and links within a line or paragraph of Markdown. */
#include "base/utf8.h"
#include "view/markdown_inner.h"

#include <ctype.h>

/*
 * What opens must close within so many bytes, and be nested no deeper, else it is text: a file of
 * nothing but openings is read in a moment.
 */
enum { SPAN_BYTES = 1000, SPAN_DEPTH = 6 };

static void spans_within(struct buf *b, struct text t, int depth);

static struct text spans_part(struct text t, size_t from, size_t to)
{
    return (struct text){t.at + from, to - from};
}

static bool is_markup(char c)
{
    return c && strchr("\\`*_{}[]()<>#+-.!|~\"'&:", c);
}

/* How often the byte at I is there in a row. */
static size_t run_length(struct text t, size_t i)
{
    size_t n = 1;
    while (i + n < t.n && t.at[i + n] == t.at[i])
        n++;
    return n;
}

static size_t span_limit(struct text t, size_t i)
{
    return t.n - i > SPAN_BYTES ? i + SPAN_BYTES : t.n;
}

/* --- code --- */

/* A line end within code is a blank. */
static void spans_add_code(struct buf *b, struct text t)
{
    buf_str(b, "<code>");
    while (t.n) {
        utf8_xml(b, text_cut(&t, '\n'));
        buf_str(b, t.n ? " " : "");
    }
    buf_str(b, "</code>");
}

/* "`code`", "``a ` b``": as many as at its start end it. Returns where it ends; 0 = no code. */
static size_t take_code(struct buf *b, struct text t, size_t i)
{
    size_t n = run_length(t, i), limit = span_limit(t, i);
    for (size_t at = i + n; at < limit;) {
        size_t run = t.at[at] == '`' ? run_length(t, at) : 0;
        if (run == n) {
            spans_add_code(b, text_trim(spans_part(t, i + n, at)));
            return at + n;
        }
        at += run ? run : 1;
    }
    return 0;
}

/* --- links --- */

/* A place beside the page, or on the web by a name that says so. */
static bool is_harmless(struct text url)
{
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.at[i] <= ' ' || url.at[i] == 0x7f || url.at[i] == '\\')
            return false;
    if (text_starts(url, "http://") || text_starts(url, "https://"))
        return true;
    for (size_t i = 0; i < url.n && !strchr("/?#", url.at[i]); i++)
        if (url.at[i] == ':' || url.at[i] == '&') /* another scheme, or one that is written oddly */
            return false;
    return url.n && !text_starts(url, "//");
}

/* Where the bracket that opens at I is closed; 0 = nowhere. */
static size_t closing_bracket(struct text t, size_t i)
{
    int depth = 0;
    for (size_t limit = span_limit(t, i); i < limit; i++) {
        if (t.at[i] == '\\')
            i++;
        else if (t.at[i] == '[')
            depth++;
        else if (t.at[i] == ']' && --depth == 0)
            return i;
    }
    return 0;
}

/* Behind "(": the address, "(x)" within it allowed, and a title that nobody needs. */
static size_t take_address(struct text t, size_t i, struct text *ret)
{
    size_t from = i, end = 0, depth = 1;
    for (size_t limit = span_limit(t, i); i < limit; i++) {
        bool quote = t.at[i] == '"' && i > from && t.at[i - 1] == ' ';
        if (quote && !end)
            end = i;
        depth += t.at[i] == '(' && !end ? 1 : 0;
        if (t.at[i] == ')' && --depth == 0) {
            *ret = text_trim(spans_part(t, from, end ? end : i));
            return i + 1;
        }
        depth += t.at[i] == ')' && end ? 1 : 0; /* a title may close more than was opened */
    }
    return 0;
}

static void add_link(struct buf *b, struct text url, struct text label, int depth)
{
    buf_str(b, "<a rel=\"noopener noreferrer\" href=\"");
    utf8_xml(b, url);
    buf_str(b, "\">");
    if (depth < 0)
        utf8_xml(b, label);
    else
        spans_within(b, label, depth);
    buf_str(b, "</a>");
}

/* "[label](address)"; I is at the bracket. Returns where it ends; 0 = no link. */
static size_t take_link(struct buf *b, struct text t, size_t i, int depth)
{
    struct text url;
    size_t close = closing_bracket(t, i);
    if (!close || close + 1 >= t.n || t.at[close + 1] != '(')
        return 0;
    size_t end = take_address(t, close + 2, &url);
    if (!end || !is_harmless(url))
        return 0;
    add_link(b, url, spans_part(t, i + 1, close), depth + 1);
    return end;
}

/* "<https://...>": any other "<" is text. */
static size_t take_autolink(struct buf *b, struct text t, size_t i)
{
    struct text rest = spans_part(t, i + 1, span_limit(t, i));
    const char *end = memchr(rest.at, '>', rest.n);
    struct text url = {rest.at, end ? (size_t)(end - rest.at) : 0};
    if (!text_starts(url, "http://") && !text_starts(url, "https://"))
        return 0;
    if (!is_harmless(url))
        return 0;
    add_link(b, url, url, -1);
    return i + url.n + 2;
}

/* --- emphasis --- */

static bool markdown_is_word(struct text t, size_t i)
{
    return i < t.n && (isalnum((unsigned char)t.at[i]) || (unsigned char)t.at[i] >= 0x80);
}

static bool is_space(struct text t, size_t i)
{
    return i >= t.n || isspace((unsigned char)t.at[i]);
}

/* "snake_case" and "2 * 3 * 4" are no emphasis. */
static bool may_open(struct text t, size_t i, size_t n)
{
    return !is_space(t, i + n) && !(t.at[i] == '_' && i && markdown_is_word(t, i - 1));
}

static bool may_close(struct text t, size_t i, size_t n)
{
    return i && !is_space(t, i - 1) && !(t.at[i] == '_' && markdown_is_word(t, i + n));
}

/* "*so*", "**so**": one or two. Returns where it ends; 0 = no emphasis. */
static size_t take_emphasis(struct buf *b, struct text t, size_t i, int depth)
{
    size_t n = run_length(t, i), limit = span_limit(t, i);
    if (n > 2 || !may_open(t, i, n))
        return 0;
    for (size_t at = i + n; at < limit;) {
        size_t run = strchr("*_`", t.at[at]) ? run_length(t, at) : 1;
        if (t.at[at] == '\\') {
            at += 2;
            continue;
        }
        if (t.at[at] == t.at[i] && run == n && may_close(t, at, n)) {
            buf_str(b, n == 2 ? "<strong>" : "<em>");
            spans_within(b, spans_part(t, i + n, at), depth + 1);
            buf_str(b, n == 2 ? "</strong>" : "</em>");
            return at + n;
        }
        at += run;
    }
    return 0;
}

/* --- all --- */

/* A backslash before markup, or at the end of a line; two blanks there. */
static size_t take_break(struct buf *b, struct text t, size_t i)
{
    bool line_end = i + 1 < t.n && t.at[i + 1] == '\n';
    if (t.at[i] == '\\' && line_end) {
        buf_str(b, "<br>\n");
        return i + 2;
    }
    if (t.at[i] == '\\' && i + 1 < t.n && is_markup(t.at[i + 1])) {
        utf8_xml(b, spans_part(t, i + 1, i + 2));
        return i + 2;
    }
    if (t.at[i] != '\n')
        return 0;
    bool blanks = i >= 2 && t.at[i - 1] == ' ' && t.at[i - 2] == ' ';
    buf_str(b, blanks ? "<br>\n" : "\n");
    return i + 1;
}

/* Returns where the span that begins at I ends; 0 = none begins there. */
static size_t take_span(struct buf *b, struct text t, size_t i, int depth)
{
    switch (t.at[i]) {
    case '\\':
    case '\n':
        return take_break(b, t, i);
    case '`':
        return take_code(b, t, i);
    case '<':
        return take_autolink(b, t, i);
    case '[':
        return depth < SPAN_DEPTH ? take_link(b, t, i, depth) : 0;
    case '!':
        return depth < SPAN_DEPTH && i + 1 < t.n && t.at[i + 1] == '['
                   ? take_link(b, t, i + 1, depth)
                   : 0;
    case '*':
    case '_':
        return depth < SPAN_DEPTH ? take_emphasis(b, t, i, depth) : 0;
    default:
        return 0;
    }
}

static void spans_within(struct buf *b, struct text t, int depth)
{
    size_t plain = 0;
    for (size_t i = 0; i < t.n;) {
        if (!strchr("\\\n`<[!*_", t.at[i])) {
            i++;
            continue;
        }
        autobuf struct buf span = {0};
        size_t end = take_span(&span, t, i, depth);
        if (!end) {
            i += t.at[i] == '`' || t.at[i] == '*' || t.at[i] == '_' ? run_length(t, i) : 1;
            continue;
        }
        utf8_xml(b, spans_part(t, plain, i));
        buf_add(b, span.at, span.n);
        plain = i = end;
    }
    utf8_xml(b, spans_part(t, plain, t.n));
}

void markdown_spans(struct buf *b, struct text t)
{
    spans_within(b, t, 0);
}
