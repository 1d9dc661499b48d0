/*
 * err.h - what went wrong, in one sentence that says what to do next.
 *
 * Whatever can fail returns 0 or -1 and takes a struct err last. Only cmd/ and main.c print it.
 *
 * Library rooms never print and never exit. Running out of memory is the exception: it ends the
 * program with one line, because no caller could do better and files are whole either way. `kelvin
 * help` lists the exit codes; 2 is left to make.
 */
#pragma once
#include <stdarg.h>

/* The program's exit codes. Documented in kelvin(1); 2 is left to make. */
enum exit_code {
    EXIT_OK = 0,
    EXIT_ERROR = 1,          /* wrong usage, a file that cannot be opened or written */
    EXIT_FAILS = 3,          /* a gate or rule does not hold, or --strict met a flaw */
    EXIT_INCONCLUSIVE = 4,   /* not enough data for a verdict */
    EXIT_INPUT = 5,          /* the input is not a profile, is damaged, or has no samples */
    EXIT_STOPPED = 130,      /* by Ctrl-C: 128 + SIGINT, as shells have it */
    EXIT_NOBODY_READS = 141, /* the pipe was closed: 128 + SIGPIPE; nothing is said about it */
};

struct err {
    int code; /* an enum exit_code: what the program should exit with */
    char text[240];
};

/* Describe a failure; a text that does not fit is cut. Always returns -1. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of ERRNUM at the end; the code is EXIT_ERROR. */
int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
