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
    "h1{font-size:1.3em}h2{font-size:1em}\n";

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

/* Length of the next piece of a line of source, and its class: enough for C, C++ and Rust. */
static size_t piece(struct text t, const char **ret_class)
{
    size_t n = 1;
    unsigned char c = (unsigned char)t.at[0];
    *ret_class = NULL;
    if (text_starts(t, "//")) {
        *ret_class = "c";
        return t.n;
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

static void highlight(struct buf *b, struct text t)
{
    const char *class;
    for (size_t n; t.n; t.at += n, t.n -= n) {
        n = piece(t, &class);
        span(b, class, (struct text){t.at, n});
    }
}

static void share_cell(struct buf *b, int64_t part, int64_t whole)
{
    double share = whole ? (double)part / (double)whole : 0;
    if (part)
        buf_printf(
            b, "<td class=n style=\"background:rgba(var(--heat),%.3f);color:inherit\">%.2f%%</td>",
            0.08 + 0.6 * share, 100 * share);
    else
        buf_str(b, "<td></td>");
}

static void add_file(struct buf *b, const struct annotate *a, const struct annotate_file *f)
{
    buf_str(b, "<h2>");
    utf8_xml(b, f->path);
    buf_printf(b, " <span class=m>%s</span></h2>\n<table>\n", f->note ? f->note : "");
    uint32_t next = 1;
    for (size_t i = 0; i < f->lines.n; i++) {
        const struct annotate_line *l = &f->lines.at[i];
        uint32_t from = l->line > 3 ? l->line - 3 : 1;
        for (uint32_t k = from > next ? from : next; k <= l->line; k++) {
            bool code = k == l->line;
            if (!code && !f->rows.n)
                continue;
            buf_str(b, "<tr>");
            share_cell(b, code ? l->self : 0, a->listing->self);
            buf_printf(b, "<td class=n>%s%u</td><td>", code && l->inlined ? "inlined " : "", k);
            if (k <= f->rows.n)
                highlight(b, f->rows.at[k - 1]);
            buf_str(b, "</td></tr>\n");
        }
        next = l->line + 1;
    }
    buf_str(b, "</table>\n");
}

static void add_insn(struct buf *b, const struct annotate *a, struct asmtext *t,
                     const struct listing_insn *i)
{
    struct annotate_place at;
    buf_str(b, "<tr>");
    share_cell(b, i->self, a->listing->self);
    buf_printf(b, "<td class=n>%llx</td><td>", (unsigned long long)i->pc);
    utf8_xml(b, text_of(asmtext_of(t, i)));
    buf_printf(b, "</td><td class=m>%s</td>", annotate_class(&i->x));
    if (annotate_place(a, i, &at)) {
        buf_printf(b, "<td class=n>%u</td><td>", at.line);
        if (at.inlined) {
            buf_str(b, "<span class=m>inlined ");
            utf8_xml(b, at.function);
            buf_str(b, ": </span>");
        }
        highlight(b, text_trim(annotate_source(a, &at)));
        buf_str(b, "</td>");
    }
    buf_str(b, "</tr>\n");
}

static void add_blocks(struct buf *b, const struct annotate *a, struct asmtext *t)
{
    const struct listing *l = a->listing;
    autofree uint32_t *order = listing_order(l);
    buf_str(b, "<h2>Instructions, hottest block first</h2>\n<table>\n");
    for (size_t i = 0; i < l->blocks.n; i++) {
        const struct listing_block *block = &l->blocks.at[order[i]];
        buf_printf(b, "<tr class=b><td class=n>%.2f%%</td><td colspan=5>block %u%s</td></tr>\n",
                   l->self ? 100 * (double)block->self / (double)l->self : 0, order[i] + 1,
                   block->loop ? ", a loop" : "");
        for (size_t k = 0; k < block->n; k++)
            add_insn(b, a, t, &l->insns.at[block->first + k]);
    }
    buf_str(b, "</table>\n");
}

int annotate_print_html(FILE *out, const struct annotate *a)
{
    autobuf struct buf b = {0};
    struct asmtext *t = asmtext_open();
    if (!t)
        return -1;
    buf_str(&b, "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>");
    utf8_xml(&b, text_of(a->function));
    buf_printf(&b, "</title>\n<style>%s</style>\n<h1>", style);
    utf8_xml(&b, text_of(a->function));
    buf_printf(&b, "</h1>\n<p>%.2f %% of the profile is spent in it",
               a->total ? 100 * (double)a->listing->self / (double)a->total : 0);
    if (a->samples >= 0)
        buf_printf(&b, " (%lld samples)", (long long)a->samples);
    buf_printf(&b, ". Shares are of the function's own time.%s%s</p>\n",
               a->warning ? " Warning: " : "", a->warning ? a->warning : "");
    for (size_t i = 0; i < a->n_files; i++)
        add_file(&b, a, &a->files[i]);
    add_blocks(&b, a, t);
    buf_str(&b, "</html>\n");
    fwrite(b.at, 1, b.n, out);
    asmtext_close(t);
    return 0;
}
