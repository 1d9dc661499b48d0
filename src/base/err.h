/*
 * err.h - what went wrong, in one sentence that says what to do next.
 *
 * Functions that can fail return 0 or -1 and take a struct err last. Only cmd/ and main.c print it.
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
    EXIT_ERROR = 1,          /* wrong usage, an unknown name, a file that cannot be opened */
    EXIT_FAILS = 3,          /* a gate or rule does not hold, or --strict met a flaw */
    EXIT_INCONCLUSIVE = 4,   /* not enough data for a verdict */
    EXIT_INPUT = 5,          /* no profile, damaged, or recorded without what is asked for */
    EXIT_STOPPED = 130,      /* by Ctrl-C: 128 + SIGINT, as shells have it */
    EXIT_NOBODY_READS = 141, /* the pipe was closed: 128 + SIGPIPE; nothing is said about it */
};

/* A remedy that a program may offer. The code that prints the error says how to apply it. */
enum err_hint {
    HINT_NONE,
    HINT_OTHER_STORE,   /* another store */
    HINT_TRUST_CONF,    /* a suite file can be named */
    HINT_SAVE_BASELINE, /* a baseline is to be saved first */
    HINT_FORMAT,        /* the format can be named */
    HINT_STRICT,        /* it is an error because strictness was asked for */
    HINT_FORCE,         /* it can be forced */
    HINT_LOCKS_ALONE,   /* of waits, those for locks can be had without the kernel's help */
    HINT_TIMER,         /* samples can be taken without the kernel's help */
    HINT_CPU_CLOCK,     /* an event that every machine has */
    HINT_RECORD_HEAP,   /* it is to be recorded with its heap */
    HINT_INUSE,         /* memory in use by call stack is a value of reports */
    HINT_RECORD_LOCKS,  /* ... with its locks */
    HINT_SCOPES,        /* scopes can be chosen */
    HINT_EXPLAIN,       /* what a suite would run can be listed */
    ERR_HINTS
};

struct err {
    int code; /* an enum exit_code: what the program should exit with */
    enum err_hint hint;
    char text[240];
};

/* Describe a failure; a text that does not fit is cut, with "..." at its end. Always returns -1. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of ERRNUM at the end; the code is EXIT_ERROR. */
int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same as err_set() with a hint. */
int err_set_hint(struct err *e, int code, enum err_hint hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Add a hint to what was described. Always returns -1. */
int err_hint(struct err *e, enum err_hint hint);
