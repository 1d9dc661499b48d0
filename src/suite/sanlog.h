/*
 * sanlog.h - what a sanitizer printed: the kind of each finding, and where in the program it is.
 *
 *     ==9==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60.. at pc 0x55..
 *     WRITE of size 30 at 0x60.. thread T0
 *         #0 0x7f.. in __interceptor_memcpy ../../../../src/libsanitizer/...inc:827
 *         #1 0x55.. in copy_all /src/app/a.c:9:5
 *
 * becomes "heap-buffer-overflow in copy_all (a.c:9): WRITE of size 30". The frame that is named is
 * the innermost one of the project's own files. A data race and a lock order have two such places.
 */
#pragma once
#include "base/buf.h"

struct sanlog_opts {
    const char *mark; /* what stands in the first line of each finding, before its kind */
    const char *root; /* folder of the project */
    size_t most;      /* findings that are written out */
};

/* The findings in LOG, a line each, into RET. Returns how many there are, also beyond o->most. */
size_t sanlog_read(struct text log, const struct sanlog_opts *o, struct buf *ret);
