/*
 * trouble.h - what to say when a command did not do what it should.
 */
#pragma once
#include "bench/starter.h"

struct trouble {
    const char *line; /* the command as it was given */
    const char *what; /* "--prepare", "" = what is measured */
    long block;       /* how many runs went well before; below 0 = not known */
    bool ignoring;    /* no need to tell of --ignore-failure */
    bool unseen;      /* its standard output was thrown away */
};

/* Puts what became of R into ERR; always -1. */
int trouble_say(const struct trouble *t, const struct starter_run *r, char *const *argv,
                struct err *err);
