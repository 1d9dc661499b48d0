/* markdown.c - blocks of Markdown: headings, paragraphs, lists, quotes, code, tables. */
#include "base/utf8.h"
#include "view/markdown_inner.h"

#include <ctype.h>

/* Lists in lists, quotes in quotes: deeper ones are text. */
enum { BLOCK_DEPTH = 8 };

/* Headings of notes are below the page's <h1> and the <h2> above the notes. */
enum { OUTER_LEVELS = 2, LAST_LEVEL = 6 };

static void blocks_within(struct buf *b, struct text source, int depth, bool tight);

/* --- lines --- */

static struct text first_line(struct text source)
{
    return text_cut(&source, '\n');
}

static bool markdown_is_blank(struct text line)
{
    return text_trim(line).n == 0;
}

static size_t indent_of(struct text line)
{
    size_t n = 0;
    while (n < line.n && line.at[n] == ' ')
        n++;
    return n;
}

static struct text line_after(struct text line, size_t n)
{
    n = n < line.n ? n : line.n;
    return (struct text){line.at + n, line.n - n};
}

static void add_line(struct buf *b, struct text line)
{
    buf_add(b, line.at, line.n);
    buf_byte(b, '\n');
}

/* A line of nothing but C, blanks aside: how many; 0 = it is none. */
static size_t count_only(struct text line, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        n += line.at[i] == c;
        if (line.at[i] != c && line.at[i] != ' ')
            return 0;
    }
    return n;
}

static bool is_rule(struct text line)
{
    return indent_of(line) < 4 &&
           (count_only(line, '-') >= 3 || count_only(line, '*') >= 3 || count_only(line, '_') >= 3);
}

/* "## so": its level; 0 = no heading. */
static int heading_level(struct text line)
{
    line = text_trim(line);
    size_t n = 0;
    while (n < line.n && line.at[n] == '#')
        n++;
    return n >= 1 && n <= 6 && (n == line.n || line.at[n] == ' ') ? (int)n : 0;
}

/* "```c": how many of them open it; 0 = no fence. */
static size_t fence_length(struct text line)
{
    struct text t = text_trim(line);
    size_t n = 0;
    while (n < t.n && (t.at[n] == '`' || t.at[n] == '~') && t.at[n] == t.at[0])
        n++;
    bool code = t.n && t.at[0] == '`' && memchr(t.at + n, '`', t.n - n); /* ```so``` in a line */
    return indent_of(line) < 4 && n >= 3 && !code ? n : 0;
}

/* "- ", "12. ": where its content begins. */
struct marker {
    size_t content; /* 0 = no marker */
    bool ordered;
    unsigned long start;
};

static struct marker marker_of(struct text line)
{
    size_t from = indent_of(line), i = from;
    struct marker m = {0};
    if (from >= 4 || is_rule(line))
        return m;
    while (i < line.n && i - from < 9 && isdigit((unsigned char)line.at[i]))
        m.start = m.start * 10 + (unsigned long)(line.at[i++] - '0');
    m.ordered = i > from;
    if (i >= line.n || !strchr(m.ordered ? ".)" : "-*+", line.at[i]) || !line.at[i])
        return (struct marker){0};
    i++;
    size_t blanks = indent_of(line_after(line, i));
    if (i < line.n && !blanks)
        return (struct marker){0};
    m.content = i + (blanks >= 1 && blanks <= 4 && i + blanks < line.n ? blanks : 1);
    return m;
}

static bool is_quote(struct text line)
{
    return indent_of(line) < 4 && text_starts(text_trim(line), ">");
}

static bool starts_block(struct text line)
{
    return markdown_is_blank(line) || heading_level(line) || fence_length(line) || is_rule(line) ||
           is_quote(line) || marker_of(line).content;
}

/* Whether LINE ends the paragraph above it. One that happens to begin with "1999. " does not. */
static bool ends_paragraph(struct text line)
{
    struct marker m = marker_of(line);
    return starts_block(line) && !(m.ordered && m.start != 1);
}

/* --- code and headings --- */

static void add_code_line(struct buf *b, struct text line)
{
    utf8_xml(b, line);
    buf_byte(b, '\n');
}

static void take_fence(struct buf *b, struct text *rest)
{
    struct text open = text_cut(rest, '\n');
    size_t n = fence_length(open), indent = indent_of(open);
    char c = text_trim(open).at[0];
    buf_str(b, "<pre>");
    while (rest->n) {
        struct text line = text_cut(rest, '\n');
        if (fence_length(line) >= n && count_only(text_trim(line), c) >= n)
            break;
        size_t own = indent_of(line);
        add_code_line(b, line_after(line, own < indent ? own : indent));
    }
    buf_str(b, "</pre>\n");
}

/* Four blanks make code, too. */
static void take_indented(struct buf *b, struct text *rest)
{
    buf_str(b, "<pre>");
    while (rest->n && !markdown_is_blank(first_line(*rest)) && indent_of(first_line(*rest)) >= 4)
        add_code_line(b, line_after(text_cut(rest, '\n'), 4));
    buf_str(b, "</pre>\n");
}

static void add_heading(struct buf *b, struct text title, int level)
{
    level = level + OUTER_LEVELS < LAST_LEVEL ? level + OUTER_LEVELS : LAST_LEVEL;
    buf_printf(b, "<h%d>", level);
    markdown_spans(b, title);
    buf_printf(b, "</h%d>\n", level);
}

static void take_heading(struct buf *b, struct text *rest)
{
    struct text line = text_trim(text_cut(rest, '\n'));
    int level = heading_level(line);
    struct text title = text_trim(line_after(line, (size_t)level)), bare = title;
    while (bare.n && bare.at[bare.n - 1] == '#')
        bare.n--;
    bool closed = !bare.n || bare.at[bare.n - 1] == ' ';
    add_heading(b, closed ? text_trim(bare) : title, level);
}

/* --- tables --- */

/* "| --- | ---: |" */
static bool is_table_line(struct text line)
{
    size_t dashes = 0, bars = 0;
    for (size_t i = 0; i < line.n; i++) {
        dashes += line.at[i] == '-';
        bars += line.at[i] == '|';
        if (!strchr("|-: ", line.at[i]) || !line.at[i])
            return false;
    }
    return dashes && bars;
}

static bool is_table(struct text rest)
{
    struct text head = text_cut(&rest, '\n');
    return memchr(head.at, '|', head.n) && is_table_line(first_line(rest));
}

/* The next cell of a line. */
static struct text table_cell(struct text *line)
{
    size_t n = 0;
    while (n < line->n && line->at[n] != '|')
        n += line->at[n] == '\\' && n + 1 < line->n ? 2 : 1;
    struct text cell = {line->at, n};
    *line = line_after(*line, n + 1);
    return text_trim(cell);
}

/* Without the bars at both ends. */
static struct text table_line(struct text line)
{
    line = text_trim(line);
    if (line.n && line.at[0] == '|')
        line = line_after(line, 1);
    if (text_ends(line, "|") && !text_ends(line, "\\|"))
        line.n--;
    return line;
}

/* MARKS has the columns' marks, "---:" those of numbers. */
static void add_table_row(struct buf *b, struct text line, struct text marks, const char *element)
{
    buf_str(b, "<tr>");
    while (line.n) {
        bool right = text_ends(table_cell(&marks), "-:");
        buf_printf(b, "<%s%s>", element, right ? " class=\"r\"" : "");
        markdown_spans(b, table_cell(&line));
        buf_printf(b, "</%s>", element);
    }
    buf_str(b, "</tr>\n");
}

static void take_table(struct buf *b, struct text *rest)
{
    struct text head = table_line(text_cut(rest, '\n')), marks = table_line(text_cut(rest, '\n'));
    buf_str(b, "<div class=\"scroll\"><table>\n");
    add_table_row(b, head, marks, "th");
    while (rest->n && memchr(rest->at, '|', first_line(*rest).n))
        add_table_row(b, table_line(text_cut(rest, '\n')), marks, "td");
    buf_str(b, "</table></div>\n");
}

/* --- paragraphs --- */

/* A line below that makes a heading of the paragraph: its level; 0 = it does not. */
static int underline_level(struct text line)
{
    return indent_of(line) >= 4                                                   ? 0
           : count_only(line, '=') >= 2                                           ? 1
           : count_only(line, '-') == text_trim(line).n && text_trim(line).n >= 2 ? 2
                                                                                  : 0;
}

static void take_paragraph(struct buf *b, struct text *rest, bool tight)
{
    autobuf struct buf lines = {0};
    int level = 0;
    while (rest->n) {
        struct text line = first_line(*rest);
        level = lines.n ? underline_level(line) : 0;
        if (level)
            text_cut(rest, '\n');
        if (level || (lines.n && (ends_paragraph(line) || is_table(*rest))))
            break;
        line = text_cut(rest, '\n');
        add_line(&lines, line_after(line, indent_of(line)));
    }
    struct text all = text_trim((struct text){lines.at, lines.n ? lines.n - 1 : 0});
    if (level) {
        add_heading(b, all, level);
        return;
    }
    buf_str(b, tight ? "" : "<p>");
    markdown_spans(b, all);
    buf_str(b, tight ? "\n" : "</p>\n");
}

/* --- lists and quotes --- */

static void take_quote(struct buf *b, struct text *rest, int depth)
{
    autobuf struct buf inner = {0};
    while (rest->n && is_quote(first_line(*rest))) {
        struct text line = line_after(text_trim(text_cut(rest, '\n')), 1);
        add_line(&inner, line_after(line, line.n && line.at[0] == ' '));
    }
    buf_str(b, "<blockquote>\n");
    blocks_within(b, buf_text(&inner), depth + 1, false);
    buf_str(b, "</blockquote>\n");
}

/* What of REST is in the item whose content begins at column CONTENT, without that indentation. */
static void take_item_lines(struct buf *b, struct text *rest, size_t content)
{
    bool blank = false, fenced = false;
    while (rest->n) {
        struct text line = first_line(*rest);
        bool inside = indent_of(line) >= content;
        if (markdown_is_blank(line)) {
            blank = true;
        } else if (!inside && (blank || fenced || starts_block(line))) {
            return;
        } else {
            if (blank)
                buf_byte(b, '\n');
            fenced ^= fence_length(line_after(line, inside ? content : 0)) > 0;
            add_line(b, line_after(line, inside ? content : indent_of(line)));
            blank = false;
        }
        text_cut(rest, '\n');
    }
}

static void take_list(struct buf *b, struct text *rest, int depth)
{
    struct marker first = marker_of(first_line(*rest)), m = first;
    if (first.ordered && first.start != 1)
        buf_printf(b, "<ol start=\"%lu\">\n", first.start);
    else
        buf_str(b, first.ordered ? "<ol>\n" : "<ul>\n");
    while (rest->n && m.content && m.ordered == first.ordered) {
        autobuf struct buf inner = {0};
        add_line(&inner, line_after(text_cut(rest, '\n'), m.content));
        take_item_lines(&inner, rest, m.content);
        bool tight = !memmem(inner.at, inner.n, "\n\n", 2);
        buf_str(b, "<li>");
        blocks_within(b, buf_text(&inner), depth + 1, tight);
        buf_str(b, "</li>\n");
        m = marker_of(first_line(*rest));
    }
    buf_str(b, first.ordered ? "</ol>\n" : "</ul>\n");
}

/* --- all --- */

static void take_block(struct buf *b, struct text *rest, int depth, bool tight)
{
    struct text line = first_line(*rest);
    if (markdown_is_blank(line)) {
        text_cut(rest, '\n');
    } else if (fence_length(line)) {
        take_fence(b, rest);
    } else if (indent_of(line) >= 4) {
        take_indented(b, rest);
    } else if (heading_level(line)) {
        take_heading(b, rest);
    } else if (is_rule(line)) {
        text_cut(rest, '\n');
        buf_str(b, "<hr>\n");
    } else if (is_quote(line) && depth < BLOCK_DEPTH) {
        take_quote(b, rest, depth);
    } else if (marker_of(line).content && depth < BLOCK_DEPTH) {
        take_list(b, rest, depth);
    } else if (is_table(*rest)) {
        take_table(b, rest);
    } else {
        take_paragraph(b, rest, tight);
    }
}

static void blocks_within(struct buf *b, struct text source, int depth, bool tight)
{
    while (source.n)
        take_block(b, &source, depth, tight);
}

void markdown_html(struct buf *b, struct text source)
{
    autobuf struct buf plain = {0};
    if (text_starts(source, "\xef\xbb\xbf"))
        source = line_after(source, 3);
    for (size_t i = 0; i < source.n; i++)
        if (source.at[i] == '\t')
            buf_str(&plain, "    ");
        else if (source.at[i] != '\r')
            buf_byte(&plain, (uint8_t)source.at[i]);
    blocks_within(b, buf_text(&plain), 0, false);
}
