/*
 * trouble.h - what to say when a command did not do what it should.
 *
 * The sentence names no option: `kelvin bench` and the suite have different ones for it. The
 * remedy is a code, to which the caller adds words.
 */
#pragma once
#include "bench/starter.h"

enum trouble_help {
    HELP_NONE,
    HELP_SHELL,          /* a shell would know the word */
    HELP_SHELL_PERHAPS,  /* it may be a word that a shell knows */
    HELP_SHOW_OUTPUT,    /* it failed without a word that was seen */
    HELP_IGNORE_FAILURE, /* failures could be ignored */
    HELP_MORE_TIME,
    TROUBLE_HELPS,
};

struct trouble {
    const char *line; /* the command as it was given */
    const char *what; /* "prepare", "setup", "cleanup"; "" = what is measured */
    long block;       /* how many runs went well before; below 0 = not known */
    bool ignoring;    /* failures are ignored already, or cannot be */
    bool unseen;      /* its standard output was thrown away */
};

/* Puts what became of R into ERR and RET_HELP; always -1. */
int trouble_say(const struct trouble *t, const struct starter_run *r, char *const *argv,
                enum trouble_help *ret_help, struct err *err);
