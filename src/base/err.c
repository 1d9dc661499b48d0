#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* What is cut says so, between two characters: half a name must not look like a whole one. */
static void mark_cut(struct err *e)
{
    size_t at = sizeof e->text - sizeof "...";
    while (at && ((unsigned char)e->text[at] & 0xc0) == 0x80)
        at--;
    strcpy(e->text + at, "...");
}

/* Returns the length, or -1 where the text was cut. */
static int err_vset(struct err *e, int code, const char *fmt, va_list ap)
{
    e->code = code;
    e->hint = HINT_NONE;
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    if (n < (int)sizeof e->text)
        return n;
    mark_cut(e);
    return -1;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_vset(e, code, fmt, ap);
    va_end(ap);
    return -1;
}

int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = err_vset(e, EXIT_ERROR, fmt, ap);
    va_end(ap);
    if (n >= 0)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(errnum));
    return -1;
}

int err_set_hint(struct err *e, int code, enum err_hint hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_vset(e, code, fmt, ap);
    va_end(ap);
    e->hint = hint;
    return -1;
}

int err_hint(struct err *e, enum err_hint hint)
{
    e->hint = hint;
    return -1;
}
