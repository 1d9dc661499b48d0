/*
 * utf8.h - making any bytes safe to show.
 *
 * Names in profiles come from anywhere: truncated at a byte, in old encodings, with control
 * characters. Every text format below must be valid, so bad bytes become U+FFFD on the way out.
 *
 * All text goes out through here: no terminal and no page gets control characters of others.
 */
#pragma once
#include "base/buf.h"

#include <stdio.h>

/* Length of the valid UTF-8 sequence at S (1 to 4), or 0. N bytes may be read. */
int utf8_length(const char *s, size_t n);

/*
 * Bytes at the start of T, which is not empty, that no terminal or page may get to see: a control
 * character (C0, DEL, C1), a line separator, or a mark that turns the direction of writing. 0 if T
 * starts with anything else.
 */
size_t utf8_hidden(struct text t);

/* Bytes at the start of T that are printable ASCII, which most names are from end to end. */
size_t utf8_printable(struct text t);

/*
 * Append T to B, fit for one line of a terminal: each hidden character becomes '?', each bad byte
 * U+FFFD. Code that quotes its input in text must use this.
 */
void utf8_plain(struct buf *b, struct text t);
void utf8_print(FILE *out, const char *s);

/* Append T to B for XML text and quoted attributes; hidden characters become U+FFFD. */
void utf8_xml(struct buf *b, struct text t);

/* Append T to B as the inside of a JSON string; hidden characters are escaped. */
void utf8_json(struct buf *b, struct text t);

/* Append T to B; each bad byte becomes U+FFFD, all else stays: for readers that are not people. */
void utf8_valid(struct buf *b, struct text t);

/* Number of characters in T (bad bytes count as one each). */
size_t utf8_count(struct text t);

/* The first N characters of T. */
struct text utf8_head(struct text t, size_t n);
