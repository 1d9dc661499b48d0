/* session.c - results on their way out: lines for people, records for programs; see bench.h. */
#include "bench.h"

#include <errno.h>

struct json *session_record(struct session *s)
{
    if (!s->records)
        return NULL;
    errno = 0;
    s->json = (struct json){.out = s->records};
    json_open(&s->json, '{');
    return &s->json;
}

/*
 * Each line is flushed: who reads it wants to know how far this is, and whole lines only. errno was
 * cleared before the first write, which may have failed by itself.
 */
static void session_flush(struct session *s, FILE *f)
{
    if ((fflush(f) != 0 || ferror(f)) && !s->output_errno)
        s->output_errno = errno ? errno : EIO;
}

void session_record_end(struct session *s)
{
    json_close(&s->json, '}');
    fputc('\n', s->records);
    session_flush(s, s->records);
}

void session_waits_for(struct session *s, const char *name)
{
    if (s->records || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "%s ...", name);
    s->waiting = true;
}

static void session_wipe(struct session *s)
{
    if (s->waiting)
        fputs("\r\033[K", stderr);
    s->waiting = false;
}

void session_say(struct session *s, const char *fmt, ...)
{
    if (s->records)
        return;
    session_wipe(s);
    va_list args;
    va_start(args, fmt);
    errno = 0;
    vprintf(fmt, args);
    va_end(args);
    session_flush(s, stdout);
}

void session_complains(struct session *s, const char *fmt, ...)
{
    session_wipe(s);
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
}

void session_fails(struct session *s, int code)
{
    bool worse = s->exit == EXIT_OK || code == EXIT_ERROR;
    s->exit = worse ? code : s->exit;
}
