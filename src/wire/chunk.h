/*
 * chunk.h - how a .kelvin file is cut into checked pieces.
 *
 * A file is a header and then chunks, each written with one append. Numbers are little-endian.
 *
 *     file header, 16 bytes            chunk, 24 bytes + payload
 *     0   "KELVIN\r\n"                 0   u64 check: XXH3-64 of all bytes of the chunk behind
 *     8   1a 0a 80 00                          it, seeded with the check of the chunk before
 *     12  u32 version                  8   4 letters: what is in it
 *     16  first chunk                  12  u32 flags: bit 0 = the payload is a zstd frame
 *                                      16  u32 raw length: of the payload once unpacked
 *                                      20  u32 stored length: of the payload as it stands here
 *                                      24  payload
 *
 * "\r\n" and "\n" show a transfer in text mode, 80 one that lost the eighth bit, 1a ends a listing
 * on a terminal. The seeds chain the chunks: one that is missing, doubled or out of order is as
 * visible as one with a wrong byte. The first is seeded with the XXH3-64 of the file header.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/reader.h"

enum {
    CHUNK_FILE_BYTES = 16, /* the file header */
    CHUNK_HEAD_BYTES = 24,
    CHUNK_VERSION = 2,
    CHUNK_PACKED = 1,        /* the flag */
    CHUNK_RAW_MAX = 80 << 20 /* a payload's raw length: the longest name and some more */
};

/* --- writing --- */

struct chunk_writer {
    uint64_t chain;           /* check of the chunk before */
    struct ZSTD_CCtx_s *pack; /* NULL = payloads are stored as they are */
};

/* Write a file header to TO and start the chain with it. PACK is left alone. */
void chunk_start(struct chunk_writer *w, uint8_t to[CHUNK_FILE_BYTES]);

/* The most bytes that chunk_encode() needs for RAW_BYTES of payload. */
static inline size_t chunk_bound(size_t raw_bytes)
{
    return CHUNK_HEAD_BYTES + raw_bytes;
}

/*
 * Write one chunk to TO, which holds chunk_bound(RAW.n) bytes, and return its length. TYPE is four
 * letters; RAW.n is at most CHUNK_RAW_MAX. Without PACK it allocates nothing, takes no lock and
 * calls nothing that does, so that a signal handler may use it.
 */
size_t chunk_encode(struct chunk_writer *w, const char *type, struct text raw, void *to);

/* --- reading --- */

enum chunk_status {
    CHUNK_OK,
    CHUNK_END,     /* the file ends behind a whole chunk */
    CHUNK_CUT,     /* the file ends within a chunk */
    CHUNK_DAMAGED, /* see `why` */
};

struct chunk_reader {
    struct reader *in;
    uint64_t chain;
    struct ZSTD_DCtx_s *unpack;
    struct buf unpacked;
    uint64_t stored_bytes, raw_bytes; /* of all chunks so far, packed and unpacked */
    uint64_t start;                   /* offset of the current chunk's first byte */
    const char *why;
};

struct chunk {
    char type[5];        /* NUL-terminated */
    struct text payload; /* unpacked; good until the next chunk_read() */
};

/* Take the file header. Fails on anything but a file of a version this reader knows. */
int chunk_reader_init(struct chunk_reader *r, struct reader *in, struct err *err);
void chunk_reader_done(struct chunk_reader *r);

/* The next chunk. After anything but CHUNK_OK there is nothing more to read. */
enum chunk_status chunk_read(struct chunk_reader *r, struct chunk *ret);

/* Whether HEAD starts like a file header, or what a transfer in text mode makes of one. */
bool chunk_probe(struct text head);
