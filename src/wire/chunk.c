#include "wire/chunk.h"
#include "base/cursor.h"

#include <xxhash.h>
#include <zstd.h>

/* Level 1 packs our columns within a few percent of level 3 at twice its speed. */
enum { PACK_LEVEL = 1, MAGIC_BYTES = 12, CHECK_BYTES = 8 };

static const char magic[MAGIC_BYTES] = "KELVIN\r\n\x1a\n\x80";

static void put_le(uint8_t *to, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

/* --- writing --- */

void chunk_start(struct chunk_writer *w, uint8_t to[CHUNK_FILE_BYTES])
{
    memcpy(to, magic, MAGIC_BYTES);
    put_le(to + MAGIC_BYTES, CHUNK_VERSION, 4);
    w->chain = XXH3_64bits(to, CHUNK_FILE_BYTES);
}

/* Pack RAW to TO if that makes it shorter. Returns the stored length. */
static size_t chunk_store(struct chunk_writer *w, struct text raw, uint8_t *to)
{
    size_t n = !w->pack || raw.n < 2
                   ? 0
                   : ZSTD_compressCCtx(w->pack, to, raw.n - 1, raw.at, raw.n, PACK_LEVEL);
    if (n && !ZSTD_isError(n))
        return n;
    if (raw.n)
        memcpy(to, raw.at, raw.n);
    return raw.n;
}

size_t chunk_encode(struct chunk_writer *w, const char *type, struct text raw, void *to)
{
    uint8_t *head = to;
    size_t stored = chunk_store(w, raw, head + CHUNK_HEAD_BYTES);
    memcpy(head + 8, type, 4);
    put_le(head + 12, stored < raw.n ? CHUNK_PACKED : 0, 4);
    put_le(head + 16, raw.n, 4);
    put_le(head + 20, stored, 4);
    size_t n = CHUNK_HEAD_BYTES + stored;
    w->chain = XXH3_64bits_withSeed(head + CHECK_BYTES, n - CHECK_BYTES, w->chain);
    put_le(head, w->chain, CHECK_BYTES);
    return n;
}

/* --- reading --- */

bool chunk_probe(struct text head)
{
    size_t n = head.n < MAGIC_BYTES ? head.n : MAGIC_BYTES;
    if (n >= 6 && memcmp(head.at, magic, n) == 0)
        return true;
    return text_starts(head, "KELVIN") && memchr(head.at, 0x1a, n);
}

int chunk_reader_init(struct chunk_reader *r, struct reader *in, struct err *err)
{
    *r = (struct chunk_reader){.in = in};
    struct text head = reader_peek(in, CHUNK_FILE_BYTES);
    size_t n = head.n < MAGIC_BYTES ? head.n : MAGIC_BYTES;
    if (memcmp(n ? head.at : magic, magic, n) != 0)
        return err_set(err, EXIT_INPUT, "%s",
                       chunk_probe(head) ? "this recording was changed by a transfer in text mode; "
                                           "copy it again in binary mode"
                                         : "not a kelvin recording: its first bytes differ");
    if (head.n < CHUNK_FILE_BYTES)
        return err_set(err, EXIT_INPUT,
                       "the recording is cut off at byte %zu, within its header: nothing is left",
                       head.n);
    struct cursor c = cursor_of(head.at + MAGIC_BYTES, 4);
    uint64_t version = cursor_uint(&c, 4);
    if (version != CHUNK_VERSION)
        return err_set(err, EXIT_INPUT,
                       version < CHUNK_VERSION
                           ? "the recording has format %llu, of an earlier kelvin, and this one "
                             "reads format %d: record it again"
                           : "the recording has format %llu and this kelvin reads format %d: use "
                             "the kelvin that wrote it, or a newer one",
                       (unsigned long long)version, CHUNK_VERSION);
    r->chain = XXH3_64bits(head.at, CHUNK_FILE_BYTES);
    reader_take(in, CHUNK_FILE_BYTES);
    return 0;
}

void chunk_reader_done(struct chunk_reader *r)
{
    ZSTD_freeDCtx(r->unpack);
    buf_done(&r->unpacked);
}

static enum chunk_status chunk_damaged(struct chunk_reader *r, const char *why)
{
    r->why = why;
    return CHUNK_DAMAGED;
}

/* The frame says its own size too, so nothing is allocated on the word of a length alone. */
static bool chunk_unpack(struct chunk_reader *r, struct text stored, size_t raw_bytes,
                         struct text *ret)
{
    if (ZSTD_getFrameContentSize(stored.at, stored.n) != raw_bytes)
        return false;
    if (!r->unpack)
        r->unpack = ZSTD_createDCtx();
    r->unpacked.n = 0;
    vec_reserve(&r->unpacked, raw_bytes + 1);
    size_t n = ZSTD_decompressDCtx(r->unpack, r->unpacked.at, raw_bytes, stored.at, stored.n);
    *ret = (struct text){r->unpacked.at, raw_bytes};
    return !ZSTD_isError(n) && n == raw_bytes;
}

/* A small file that unpacks to gigabytes was made to do so; recordings pack to a tenth or so. */
static bool chunks_are_bomb(struct chunk_reader *r, uint64_t stored, uint64_t raw)
{
    enum { FREE_BYTES = 32 << 20 };
    r->stored_bytes += CHUNK_HEAD_BYTES + stored;
    r->raw_bytes += raw;
    return r->raw_bytes > FREE_BYTES && r->raw_bytes / READER_UNPACKED_TIMES > r->stored_bytes;
}

enum chunk_status chunk_read(struct chunk_reader *r, struct chunk *ret)
{
    r->start = reader_offset(r->in);
    struct text all = reader_peek(r->in, CHUNK_HEAD_BYTES);
    if (all.n < CHUNK_HEAD_BYTES)
        return all.n ? CHUNK_CUT : CHUNK_END;
    struct cursor c = cursor_of(all.at, CHUNK_HEAD_BYTES);
    uint64_t check = cursor_uint(&c, 8);
    memcpy(ret->type, cursor_bytes(&c, 4).at, 4);
    ret->type[4] = '\0';
    uint64_t flags = cursor_uint(&c, 4), raw = cursor_uint(&c, 4), stored = cursor_uint(&c, 4);
    if (raw > CHUNK_RAW_MAX || stored > raw)
        return chunk_damaged(r, "its length is invalid");
    size_t n = CHUNK_HEAD_BYTES + stored;
    all = reader_peek(r->in, n);
    if (all.n < n)
        return CHUNK_CUT;
    r->chain = XXH3_64bits_withSeed(all.at + CHECK_BYTES, n - CHECK_BYTES, r->chain);
    if (r->chain != check)
        return chunk_damaged(r, "its checksum is wrong");
    reader_take(r->in, n);
    ret->payload = (struct text){all.at + CHUNK_HEAD_BYTES, stored};
    if (flags & ~(uint64_t)CHUNK_PACKED)
        return chunk_damaged(r, "it needs a newer kelvin");
    if (chunks_are_bomb(r, stored, raw))
        return chunk_damaged(r, "the file unpacks to far more than any recording does");
    if (flags & CHUNK_PACKED ? !chunk_unpack(r, ret->payload, raw, &ret->payload) : raw != stored)
        return chunk_damaged(r, "it does not unpack");
    return CHUNK_OK;
}
