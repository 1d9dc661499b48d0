/*
 * bench_html.c - a benchmark report as one page that needs nothing else: the document, and small
 * charts in a grid that folds on a narrow screen.
 */
#include "view/bench/bench_inner.h"

enum { MOST_CHARTS = 200 }; /* of a kind: a page of thousands is read by nobody */

static const char style[] =
    "<style>"
    ":root{--n:#2464a8;--o:#b3791b;--bad:#b3261e;--good:#1c7a3d}"
    "@media(prefers-color-scheme:dark){:root{--n:#74aef0;--o:#dba84f;--bad:#ff8a80;--good:#6fcf8f}}"
    ".f:has(.kb){max-height:none;border:0;overflow:visible}"
    ".kb{display:grid;gap:1rem 2rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),"
    "1fr))}"
    ".kb p.c{margin:0;font-size:.85rem;overflow-wrap:anywhere}"
    ".kb svg{width:100%;height:auto;max-width:38rem}"
    ".kb text{font:11px system-ui,sans-serif;fill:var(--dim)}"
    ".kb path{fill:none;stroke:var(--line)}"
    ".kb .n{fill:var(--n);fill-opacity:.28;stroke:var(--n);stroke-opacity:.7}"
    ".kb .o{fill:var(--o);fill-opacity:.28;stroke:var(--o);stroke-opacity:.7}"
    ".kb .dn{fill:var(--n)}.kb .do{fill:var(--o)}"
    ".kb .mn{stroke:var(--n);stroke-width:2}.kb .mo{stroke:var(--o);stroke-width:2}"
    ".kb .l{stroke:var(--n);stroke-width:1.5}.kb .e{stroke:var(--n);stroke-opacity:.45}"
    ".kb .w{stroke:var(--dim);stroke-dasharray:4 4;stroke-opacity:.6}"
    ".kb g.bad path{stroke:var(--bad);stroke-dasharray:5 3}.kb g.bad text{fill:var(--bad)}"
    ".kb g.good path{stroke:var(--good);stroke-dasharray:5 3}.kb g.good text{fill:var(--good)}"
    "b.bad{color:var(--bad)}b.good{color:var(--good)}b.dim{color:var(--dim)}"
    ".kb .tn{fill:var(--n);font-weight:600}.kb .to{fill:var(--o);font-weight:600}"
    ".kb .tbad{fill:var(--bad);font-weight:600}.kb .tgood{fill:var(--good);font-weight:600}"
    ".kn{color:var(--n);font-weight:600}.ko{color:var(--o);font-weight:600}"
    "</style>";

static size_t at_most(size_t n)
{
    return n < MOST_CHARTS ? n : MOST_CHARTS;
}

static void tell_rest(FILE *out, size_t n)
{
    if (n > MOST_CHARTS)
        fprintf(out, "<p>%zu more not drawn.</p>\n", n - MOST_CHARTS);
}

static void draw_violins(FILE *out, const struct bench_report *r)
{
    fprintf(out, "%s<div class=\"kb\">\n", style);
    for (size_t i = 0; i < at_most(r->now->series.n); i++)
        bench_violin_print(out, r, &r->now->series.at[i]);
    tell_rest(out, r->now->series.n);
    fputs("</div>\n", out);
}

static void draw_growths(FILE *out, const struct bench_report *r)
{
    fputs("<div class=\"kb\">\n", out);
    for (size_t i = 0; i < at_most(r->n_growths); i++)
        bench_growth_print(out, &r->growths[i]);
    tell_rest(out, r->n_growths);
    fputs("</div>\n", out);
}

static void draw_pasts(FILE *out, const struct bench_report *r)
{
    fputs("<div class=\"kb\">\n", out);
    for (size_t i = 0; i < at_most(r->n_pasts); i++)
        bench_past_print(out, &r->pasts[i], r->measure);
    tell_rest(out, r->n_pasts);
    fputs("</div>\n", out);
}

/* In the order in which bench_document() leaves places for them. */
static void bench_html_draw(FILE *out, const void *ctx, size_t i)
{
    const struct bench_report *r = ctx;
    if (i == 0)
        draw_violins(out, r);
    else if (i == 1 && r->n_growths)
        draw_growths(out, r);
    else
        draw_pasts(out, r);
}

void bench_print_html(FILE *out, const struct bench_report *r)
{
    struct document d = {0};
    autofree char *title = bench_title(r);
    bench_document(&d, r, true, true);
    document_print_html(out, &d, title, &(struct document_figures){bench_html_draw, r});
    document_done(&d);
}
