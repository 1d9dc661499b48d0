#include "base/csv.h"

#include "base/utf8.h"

#include <string.h>

static bool is_formula(struct text t)
{
    return t.n && t.at[0] && strchr("=+-@\t\r", t.at[0]);
}

void csv_quoted(FILE *out, struct text t)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, t);
    fputs(is_formula(t) ? "\"'" : "\"", out);
    for (size_t i = 0; i < b.n; i++) {
        if (b.at[i] == '"')
            putc('"', out);
        putc(b.at[i], out);
    }
    putc('"', out);
}

void csv_text(FILE *out, struct text t)
{
    autobuf struct buf b = {0};
    utf8_plain(&b, t);
    if (is_formula(t) || strpbrk(buf_cstr(&b), ",\""))
        csv_quoted(out, t);
    else
        fputs(buf_cstr(&b), out);
}
