/* bench_html.c - a benchmark report as one page that needs nothing else. */
#include "view/bench_inner.h"

void bench_print_html(FILE *out, const struct bench_report *r)
{
    struct document d = {0};
    autofree char *title = bench_title(r);
    bench_document(&d, r, false, true);
    document_print_html(out, &d, title, NULL);
    document_done(&d);
}
