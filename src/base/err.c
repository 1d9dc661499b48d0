#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    e->hint = HINT_NONE;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    e->code = EXIT_ERROR;
    e->hint = HINT_NONE;
    if (n >= 0 && (size_t)n < sizeof e->text)
        snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(errnum));
    return -1;
}

int err_set_hint(struct err *e, int code, enum err_hint hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    e->hint = hint;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_hint(struct err *e, enum err_hint hint)
{
    e->hint = hint;
    return -1;
}
