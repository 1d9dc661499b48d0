/*
 * unzstd.h - one zstd frame made plain, in a page: browsers unpack no zstd, and the library's
 * source is in no Debian package that could be compiled for them.
 *
 * Reads what RFC 8878 describes, but dictionaries. The caller knows how long the result is; a frame
 * that gives more, less or something impossible is damage. The frame's own checksum is ignored:
 * chunks have a better one (wire/chunk.h).
 *
 *     frame   magic, header (content size), blocks
 *     block   3 bytes: last, type (raw, one byte repeated, compressed), size
 *     packed  literals (raw, repeated, Huffman in 1 or 4 streams), then sequences: so many
 * literals, then a match so long, so far back; their codes by three FSE tables
 */
#pragma once
#include "base/text.h"

/* The length that the frame says it has; false where it says none, or this is no frame. */
bool unzstd_size(struct text frame, uint64_t *ret);

/* Fill all N bytes at TO from FRAME. False where it does not fit, or is damaged. */
bool unzstd(struct text frame, char *to, size_t n);
