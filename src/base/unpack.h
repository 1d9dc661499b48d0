/*
 * unpack.h - packed bytes made plain as they stream by: gzip, zstd, xz, bzip2, and text in UTF-16.
 *
 * How to add one: a `const struct packing` in unpack.c and its line in the table there.
 */
#pragma once
#include "base/text.h"

#include <sys/types.h>

/* On its way from packed to plain. */
struct unpack;

/* The packing of a stream that starts with HEAD, of at least UNPACK_HEAD bytes or all; or NULL. */
struct unpack *unpack_new(struct text head);
void unpack_free(struct unpack *u); /* NULL is fine */

enum { UNPACK_HEAD = 10 };

/* "gzip": for messages. */
const char *unpack_name(const struct unpack *u);

/* Text in another coding, which may be packed in turn, and not bytes that were made fewer. */
bool unpack_is_text(const struct unpack *u);

struct unpack_step {
    const char *in; /* packed; the step takes off what it has used */
    size_t in_n;
    char *out;
    size_t out_n;
    bool last; /* nothing follows IN */
};

/* Fill OUT as far as IN reaches. The number of bytes, 0 if more of IN is needed, or -1 for damage.
 */
ssize_t unpack_take(struct unpack *u, struct unpack_step *s);

/* Whether the stream may end here: nothing is begun and not finished. */
bool unpack_may_end(const struct unpack *u);
