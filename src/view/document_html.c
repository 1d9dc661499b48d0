/* document_html.c - a document as one HTML page that needs nothing else, light and dark. */
#include "base/buf.h"
#include "base/utf8.h"
#include "view/document.h"
#include "view/markdown.h"

#include "web_sort_js.h"

static const char page_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--dim:#5b6168;--line:#dcdfe3;"
    "--bar:#ffd9b0;--box:#f5f6f8}"
    "@media(prefers-color-scheme:dark){:root{--bg:#16181b;--fg:#e6e8ea;--dim:#9aa1a9;"
    "--line:#33383e;--bar:#6b3d12;--box:#1f2226}}"
    "body{margin:0 auto;padding:1.5rem;max-width:1240px;background:var(--bg);color:var(--fg);"
    "font:15px/1.45 system-ui,sans-serif}"
    "h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
    "p{margin:.3rem 0;max-width:52rem}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}"
    "th{text-align:left;font-weight:500;color:var(--dim)}"
    "th,td{padding:.15rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}"
    "th.r,td.r{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    "td.h{background:linear-gradient(to left,var(--bar) calc(var(--s)*100%),transparent 0)}"
    "td.n{font-family:ui-monospace,monospace;min-width:min(10em,30vw);overflow-wrap:anywhere}"
    ".t td.n{white-space:pre-wrap}"
    ".i{background:var(--box);border-left:3px solid #d9791a;padding:.5rem .8rem;margin:.5rem 0;"
    "border-radius:3px}.i p{margin:0}.i .a{color:var(--dim)}"
    ".f{overflow:auto;max-height:80vh;border:1px solid var(--line);border-radius:4px;margin:1rem "
    "0}"
    ".f svg{display:block;max-width:100%;height:auto}"
    ".explore{font:inherit;margin:.4rem 0;padding:.3rem .9rem;border:1px solid "
    "var(--line);border-radius:6px;"
    "background:var(--box);color:inherit;cursor:pointer}"
    ".p{max-width:none}.p img{max-width:100%}a{color:inherit}"
    "pre{background:var(--box);padding:.6rem .8rem;border-radius:4px;overflow-x:auto}"
    ".m{border-left:3px solid var(--line);padding:.1rem 1rem}.m h3{font-size:1.05rem}"
    ".m h4,.m h5,.m h6{font-size:.95rem}.m h3,.m h4,.m h5,.m h6{margin:1rem 0 .3rem}"
    ".m li{max-width:52rem}.m ul,.m ol{margin:.3rem 0;padding-left:1.6rem}"
    ".m code{background:var(--box);padding:0 .25em;border-radius:3px}"
    ".m blockquote{margin:.5rem 0;padding-left:.9rem;color:var(--dim);"
    "border-left:2px solid var(--line)}"
    "th[aria-sort]{color:var(--fg);font-weight:600}th[aria-sort=descending]::after{content:' "
    "\\25be'}"
    "th[aria-sort=ascending]::after{content:' \\25b4'}";

static void document_html_put(FILE *out, struct text t)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, t);
    fwrite(b.at ? b.at : "", 1, b.n, out);
}

static void document_html_cell(FILE *out, const struct document_block *t, size_t i)
{
    const struct document_column *col = &t->columns[document_column(t, i)];
    const struct document_cell *cell = &t->cells.at[i];
    if (cell->heat > 0)
        fprintf(out, "<td class=\"%sh\" style=\"--s:%.4f\">", col->right ? "r " : "",
                cell->heat > 1 ? 1 : cell->heat);
    else
        fputs(col->right ? "<td class=\"r\">" : col->wide ? "<td class=\"n\">" : "<td>", out);
    if (cell->link.n) {
        fputs("<a href=\"", out);
        document_html_put(out, cell->link);
        fputs("\">", out);
    }
    document_html_put(out, cell->text);
    fputs(cell->link.n ? "</a></td>" : "</td>", out);
}

static void html_table(FILE *out, const struct document_block *t)
{
    fprintf(out, "<div class=\"scroll\"><table%s>\n<tr>", t->fixed ? " class=\"t\"" : "");
    for (size_t c = 0; c < t->n_columns; c++)
        fprintf(out, "<th%s>%s</th>", t->columns[c].right ? " class=\"r\"" : "",
                t->columns[c].title);
    fputs("</tr>\n", out);
    for (size_t i = 0; i < t->cells.n; i++) {
        fputs(document_column(t, i) == 0 ? "<tr>" : "", out);
        document_html_cell(out, t, i);
        fputs(document_column(t, i + 1) == 0 ? "</tr>\n" : "", out);
    }
    fputs("</table></div>\n", out);
}

static void html_item(FILE *out, const struct document_block *b)
{
    fputs("<div class=\"i\"><p><b>", out);
    document_html_put(out, b->title);
    fputs("</b>: ", out);
    document_html_put(out, b->text);
    fprintf(out, "%s</p>", document_stop(b->text));
    if (b->advice.n) {
        fputs("<p class=\"a\">", out);
        document_html_put(out, b->advice);
        fputs("</p>", out);
    }
    fputs("</div>\n", out);
}

static void html_element(FILE *out, const char *name, struct text text)
{
    fprintf(out, "<%s>", name);
    document_html_put(out, text);
    fprintf(out, "</%s>\n", name);
}

/* Line by line: a line end is no character of a text. */
static void html_code(FILE *out, struct text text)
{
    fputs("<pre>", out);
    while (text.n) {
        document_html_put(out, text_cut(&text, '\n'));
        fputs(text.n ? "\n" : "", out);
    }
    fputs("</pre>\n", out);
}

static void html_notes(FILE *out, struct text markdown)
{
    autobuf struct buf b = {0};
    markdown_html(&b, markdown);
    fputs("<div class=\"m\">\n", out);
    fwrite(b.at ? b.at : "", 1, b.n, out);
    fputs("</div>\n", out);
}

/* Opened by a click: inside a page scripts of an image do not run. */
static void html_image(FILE *out, const struct document_block *b)
{
    fputs("<p class=\"p\"><a href=\"", out);
    document_html_put(out, b->link.n ? b->link : b->text);
    fputs("\"><img src=\"", out);
    document_html_put(out, b->text);
    fputs("\" alt=\"", out);
    document_html_put(out, b->title);
    fputs("\"></a></p>\n", out);
}

static void html_block(FILE *out, const struct document_block *b)
{
    switch (b->kind) {
    case DOCUMENT_HEADING:
        html_element(out, "h2", b->text);
        break;
    case DOCUMENT_TEXT:
        html_element(out, "p", b->text);
        break;
    case DOCUMENT_ITEM:
        html_item(out, b);
        break;
    case DOCUMENT_TABLE:
        html_table(out, b);
        break;
    case DOCUMENT_IMAGE:
        html_image(out, b);
        break;
    case DOCUMENT_CODE:
        html_code(out, b->text);
        break;
    case DOCUMENT_NOTES:
        html_notes(out, b->text);
        break;
    case DOCUMENT_FIGURE:
        break;
    }
}

void document_print_still(FILE *out, const struct document *d, const char *title,
                          const struct document_figures *figures)
{
    html_element(out, "h1", text_of(title));
    size_t n_figures = 0, dash = document_last_dash(d);
    for (size_t i = 0; i < d->blocks.n; i++) {
        if (d->blocks.at[i].kind == DOCUMENT_FIGURE) {
            fputs("<div class=\"f\">", out);
            figures->draw(out, figures->ctx, n_figures++);
            fputs("</div>\n", out);
        } else {
            html_block(out, &d->blocks.at[i]);
        }
        if (i == dash)
            html_block(out, &document_dash);
    }
}

void document_print_style(FILE *out)
{
    fputs(page_style, out);
}

void document_print_html(FILE *out, const struct document *d, const char *title,
                         const struct document_figures *figures)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    html_element(out, "title", text_of(title));
    fprintf(out, "<style>%s</style>\n</head>\n<body>\n", page_style);
    document_print_still(out, d, title, figures);
    fprintf(out, "<script>%s</script>\n", web_sort_js);
    if (figures && figures->end)
        figures->end(out, figures->end_ctx);
    fputs("</body>\n</html>\n", out);
}
