/*
 * ask.h - run a small program for what it prints, for a limited time.
 */
#pragma once
#include <stdbool.h>

struct buf;

enum { ASK_BYTES_MAX = 64 << 10 };

struct ask {
    int ms_left; /* for this and all later questions */
};

/*
 * Run ARGV, found on PATH, with standard output into RET, no input and no messages. True when it
 * ended in time with exit code 0 and at most ASK_BYTES_MAX; else it was killed, and RET has what
 * it said until then.
 */
bool ask_program(struct ask *a, const char *const *argv, struct buf *ret);
