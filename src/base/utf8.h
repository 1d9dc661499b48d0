/*
 * utf8.h - making any bytes safe to show.
 *
 * Names in profiles come from anywhere: truncated at a byte, in old encodings, with control
 * characters. Every text format below must be valid, so bad bytes become U+FFFD on the way out.
 */
#pragma once
#include "base/buf.h"

/* Length of the valid UTF-8 sequence at S (1 to 4), or 0. N bytes may be read. */
int utf8_length(const char *s, size_t n);

/* Append T to B for XML text and quoted attributes; control characters become U+FFFD. */
void utf8_xml(struct buf *b, struct text t);

/* Append T to B as the inside of a JSON string. */
void utf8_json(struct buf *b, struct text t);

/* Number of characters in T (bad bytes count as one each). */
size_t utf8_count(struct text t);

/* The first N characters of T. */
struct text utf8_head(struct text t, size_t n);
