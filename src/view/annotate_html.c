#include "view/annotate.h"

#include "base/utf8.h"

#include <ctype.h>

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--mute:#59636e;--line:#d1d9e0;"
    "--word:#8250df;--num:#0550ae;--str:#0a6640;--heat:255,90,31}\n"
    "@media (prefers-color-scheme:dark){:root{--bg:#14161a;--fg:#e6e9ed;--mute:#9aa5b1;"
    "--line:#343a43;--word:#d2a8ff;--num:#79c0ff;--str:#7ee2a8;--heat:255,110,50}}\n"
    "body{background:var(--bg);color:var(--fg);font:14px system-ui,sans-serif;margin:1.5em}\n"
    "table{border-collapse:collapse;font:12px ui-monospace,monospace;margin:.5em 0 1.5em}\n"
    "td{padding:1px .6em;white-space:pre;vertical-align:top}\n"
    "td.n{text-align:right;color:var(--mute)}\n"
    "tr.b td{border-top:1px solid var(--line);padding-top:.6em;font-weight:600}\n"
    ".w{color:var(--word)}.d{color:var(--num)}.s{color:var(--str)}.c,.m{color:var(--mute)}\n"
    "h1{font-size:1.3em}h2{font-size:1em}p{margin:.2em 0}h1 .m,h2 .m{font-weight:400}\n"
    "a{color:var(--num)}\n";

static bool is_keyword(struct text word)
{
    static const char *const words[] = {
        "auto",   "bool",   "break",    "case",     "char",     "class",   "const",  "continue",
        "do",     "double", "else",     "enum",     "extern",   "float",   "fn",     "for",
        "goto",   "if",     "impl",     "inline",   "int",      "let",     "long",   "match",
        "mut",    "new",    "public",   "private",  "return",   "short",   "signed", "sizeof",
        "static", "struct", "switch",   "template", "typename", "typedef", "union",  "unsigned",
        "using",  "void",   "volatile", "while",    NULL};
    for (int i = 0; words[i]; i++)
        if (text_is(word, words[i]))
            return true;
    return false;
}

static void span(struct buf *b, const char *class, struct text t)
{
    if (class)
        buf_printf(b, "<span class=%s>", class);
    utf8_xml(b, t);
    if (class)
        buf_str(b, "</span>");
}

/* Behind the end of the comment that T starts with; NULL where the line has no end of it. */
static const char *c_comment_end(struct text t)
{
    const char *end = t.at[1] == '*' && t.n > 3 ? memmem(t.at + 2, t.n - 2, "*/", 2) : NULL;
    return end ? end + 2 : NULL;
}

/* Length of the next piece of a line of source, and its class: enough for C, C++ and Rust. */
static size_t piece(struct text t, const char **ret_class)
{
    size_t n = 1;
    unsigned char c = (unsigned char)t.at[0];
    *ret_class = NULL;
    if (text_starts(t, "//") || text_starts(t, "/*")) {
        const char *end = c_comment_end(t);
        *ret_class = "c";
        return end ? (size_t)(end - t.at) : t.n;
    }
    if (c == '"') {
        while (n < t.n && t.at[n] != '"')
            n += t.at[n] == '\\' ? 2 : 1;
        *ret_class = "s";
        return n + 1 < t.n ? n + 1 : t.n;
    }
    if (!isalnum(c) && c != '_') {
        while (n < t.n && !isalnum((unsigned char)t.at[n]) && !strchr("_\"/", t.at[n]))
            n++;
        return n;
    }
    while (n < t.n && (isalnum((unsigned char)t.at[n]) || t.at[n] == '_'))
        n++;
    *ret_class = isdigit(c) ? "d" : is_keyword((struct text){t.at, n}) ? "w" : NULL;
    return n;
}

/* ROW is in the middle of a comment that began on a line before. */
static void highlight(struct buf *b, struct text t, bool in_comment)
{
    const char *class;
    if (in_comment) {
        const char *end = memmem(t.at, t.n, "*/", 2);
        struct text head = {t.at, end ? (size_t)(end + 2 - t.at) : t.n};
        span(b, "c", head);
        t = (struct text){t.at + head.n, t.n - head.n};
    }
    for (size_t n; t.n; t.at += n, t.n -= n) {
        n = piece(t, &class);
        span(b, class, (struct text){t.at, n});
    }
}

/* Where a comment that a row opens ends: in the row, or further down. */
static bool leaves_comment_open(struct text t, bool open)
{
    for (const char *class; t.n;) {
        const char *end = open ? memmem(t.at, t.n, "*/", 2) : NULL;
        if (open && !end)
            return true;
        size_t n = open ? (size_t)(end + 2 - t.at) : piece(t, &class);
        open = !open && text_starts(t, "/*") && !c_comment_end(t);
        t = (struct text){t.at + n, t.n - n};
    }
    return open;
}

/* For every row of a file whether it starts inside of a comment. Free it. */
static bool *find_comments(const struct annotate_file *f)
{
    bool *in_comment = mem_calloc(f->rows.n + 2, sizeof *in_comment);
    for (size_t i = 0; i < f->rows.n; i++)
        in_comment[i + 1] = leaves_comment_open(f->rows.at[i], in_comment[i]);
    return in_comment;
}

/* Self and total of a place; the colour is relative to the hottest line. */
static void share_cells(struct buf *b, const struct annotate *a, int64_t self, int64_t total)
{
    double heat = 0.08 + 0.6 * annotate_heat(a, self, total);
    int64_t parts[] = {self, total};
    for (int i = 0; i < 2; i++) {
        if (!parts[i]) {
            buf_str(b, "<td></td>");
            continue;
        }
        buf_printf(b, "<td class=n style=\"background:rgba(var(--heat),%.3f);color:inherit\">",
                   heat);
        annotate_share(b, a, parts[i]);
        buf_str(b, "</td>");
    }
}

static const char share_titles[] = "<tr class=b><td class=n>self</td><td class=n>total</td></tr>\n";

static void annotate_html_row(struct buf *b, const struct annotate_file *f, uint32_t number,
                              bool in_comment)
{
    buf_printf(b, "<td class=n>%u</td><td>", number);
    if (number <= f->rows.n)
        highlight(b, f->rows.at[number - 1], in_comment);
    buf_str(b, "</td></tr>\n");
}

static void add_part(struct buf *b, const struct annotate *a, const struct annotate_part *part,
                     const bool *in_comment)
{
    const struct annotate_file *f = &a->files[part->file];
    uint32_t shown = 0;
    buf_str(b, "<h2>");
    utf8_xml(b, part->function);
    buf_printf(b, " <span class=m>%s%.2f%%, ", part->inlined ? "inlined, " : "",
               a->whole ? 100 * (double)part->self / (double)a->whole : 0);
    utf8_xml(b, f->path);
    buf_printf(b, "%s%s</span></h2>\n<table>\n%s", f->note ? ": " : "", f->note ? f->note : "",
               share_titles);
    for (size_t i = 0; i < part->lines.n; i++) {
        struct annotate_range r = annotate_around(a, part, i, shown);
        if (shown && r.from <= r.to && r.from > shown + 1)
            buf_str(b, "<tr><td></td><td></td><td class=n>\xe2\x8b\xae</td></tr>\n");
        for (uint32_t k = r.from; k <= r.to; k++) {
            const struct annotate_line *l = &part->lines.at[i];
            buf_str(b, "<tr>");
            share_cells(b, a, k == l->line ? l->self : 0, k == l->line ? l->total : 0);
            annotate_html_row(b, f, k, k <= f->rows.n && in_comment[k - 1]);
            shown = k;
        }
    }
    buf_str(b, "</table>\n");
}

static void add_parts(struct buf *b, const struct annotate *a)
{
    autofree bool **comments = mem_calloc(a->n_files + 1, sizeof *comments);
    for (size_t i = 0; i < a->n_parts; i++) {
        const struct annotate_part *part = &a->parts[i];
        if (!annotate_shows(a, part->total))
            continue;
        if (!comments[part->file])
            comments[part->file] = find_comments(&a->files[part->file]);
        add_part(b, a, part, comments[part->file]);
    }
    for (size_t i = 0; i < a->n_files; i++)
        free(comments[i]);
}

static void add_hottest_lines(struct buf *b, const struct annotate *a)
{
    enum { MOST = 10 };
    struct annotate_spot spots[MOST];
    size_t n = annotate_hottest(a, MOST, spots);
    if (n < 2)
        return;
    buf_printf(b, "<h2>Hottest lines</h2>\n<table>\n%s", share_titles);
    for (size_t i = 0; i < n; i++) {
        const struct annotate_part *part = spots[i].part;
        buf_str(b, "<tr>");
        share_cells(b, a, spots[i].line->self, spots[i].line->total);
        buf_printf(b, "<td class=n>%u</td><td class=m>%s", spots[i].line->line,
                   part->inlined ? "inlined " : "");
        utf8_xml(b, part->function);
        buf_str(b, "</td><td>");
        highlight(b, text_trim(annotate_row(a, part->file, spots[i].line->line)), false);
        buf_str(b, "</td></tr>\n");
    }
    buf_str(b, "</table>\n");
}

static void add_insn(struct buf *b, const struct annotate *a, struct asmtext *t,
                     const struct listing_insn *i)
{
    struct annotate_place at;
    autobuf struct buf target = {0};
    buf_str(b, "<tr>");
    share_cells(b, a, i->self, i->total);
    buf_printf(b, "<td class=n>%llx</td><td>", (unsigned long long)i->pc);
    utf8_xml(b, text_of(asmtext_of(t, i)));
    annotate_target(&target, a, i);
    if (target.n) {
        buf_str(b, " <span class=m>\xe2\x86\x92 ");
        utf8_xml(b, buf_text(&target));
        buf_str(b, "</span>");
    }
    buf_printf(b, "</td><td class=m>%s</td>", annotate_class(&i->x));
    if (annotate_place(a, i, &at)) {
        buf_printf(b, "<td class=n>%u</td><td>", at.line);
        if (at.inlined) {
            buf_str(b, "<span class=m>inlined ");
            utf8_xml(b, at.function);
            buf_str(b, ": </span>");
        }
        highlight(b, text_trim(annotate_source(a, &at)), false);
        buf_str(b, "</td>");
    }
    buf_str(b, "</tr>\n");
}

static void add_blocks(struct buf *b, const struct annotate *a, struct asmtext *t)
{
    const struct listing *l = a->listing;
    autofree uint32_t *order = annotate_order(a);
    buf_printf(b, "<h2 id=code>Instructions, %s</h2>\n<table>\n%s",
               a->by_address ? "in the order of the code" : "hottest block first", share_titles);
    for (size_t i = 0; i < l->blocks.n; i++) {
        const struct listing_block *block = &l->blocks.at[order[i]];
        if (!annotate_shows(a, block->most))
            continue;
        buf_printf(
            b, "<tr class=b><td class=n>%.2f%%</td><td></td><td colspan=5>block %u%s</td></tr>\n",
            a->whole ? 100 * (double)block->self / (double)a->whole : 0, order[i] + 1,
            listing_loop_words(block));
        for (size_t k = 0; k < block->n; k++)
            add_insn(b, a, t, &l->insns.at[block->first + k]);
    }
    buf_str(b, "</table>\n<p>");
    annotate_left_out(a, b);
    buf_str(b, "</p>\n");
}

static void annotate_html_head(struct buf *b, const struct annotate *a)
{
    autobuf struct buf words = {0};
    buf_str(b, "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8>"
               "<meta name=viewport content=\"width=device-width\"><title>");
    utf8_xml(b, text_of(a->function));
    buf_printf(b, "</title>\n<style>%s</style>\n<h1>", style);
    utf8_xml(b, text_of(a->function));
    buf_str(b, " <span class=m>");
    utf8_xml(b, text_of(a->module));
    buf_str(b, "</span></h1>\n");
    annotate_words(a, &words);
    for (struct text rest = buf_text(&words); rest.n;) {
        buf_str(b, "<p>");
        utf8_xml(b, text_cut(&rest, '\n'));
        buf_str(b, "</p>\n");
    }
    if (a->listing->blocks.n)
        buf_str(b, "<p><a href=\"#code\">Instructions</a></p>\n");
}

int annotate_print_html(FILE *out, const struct annotate *a)
{
    autobuf struct buf b = {0};
    struct asmtext *t = asmtext_open();
    if (!t)
        return -1;
    annotate_html_head(&b, a);
    add_hottest_lines(&b, a);
    add_parts(&b, a);
    if (a->listing->blocks.n)
        add_blocks(&b, a, t);
    buf_str(&b, "</html>\n");
    fwrite(b.at, 1, b.n, out);
    asmtext_close(t);
    return 0;
}
