#define ZLIB_CONST
#include "base/unpack.h"
#include "base/mem.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

/* UTF-16 has characters that take two units and four bytes of UTF-8. */
struct utf16 {
    bool big; /* the high byte comes first */
    bool begun, has_byte, has_high;
    uint8_t byte;
    uint32_t high; /* the first unit of a pair */
    uint8_t out[4];
    size_t out_n, out_at;
};

struct unpack {
    const struct packing *how;
    bool done; /* a member, frame or character ended, and nothing was seen after it */
    union {
        z_stream gzip;
        ZSTD_DStream *zstd;
        lzma_stream xz;
        bz_stream bzip2;
        struct utf16 utf16;
    };
};

struct packing {
    const char *name, *magic;
    size_t magic_n;
    bool (*begin)(struct unpack *u);
    ssize_t (*take)(struct unpack *u, struct unpack_step *s);
    void (*end)(struct unpack *u);
};

static ssize_t used(struct unpack_step *s, size_t in_left, size_t out_left)
{
    s->in += s->in_n - in_left;
    s->in_n = in_left;
    return (ssize_t)(s->out_n - out_left);
}

/* --- gzip --- */

static bool gzip_begin(struct unpack *u)
{
    return inflateInit2(&u->gzip, 15 + 16) == Z_OK;
}

static ssize_t gzip_take(struct unpack *u, struct unpack_step *s)
{
    z_stream *z = &u->gzip;
    if (u->done)
        inflateReset(z); /* another member follows */
    z->next_in = (const Bytef *)s->in;
    z->avail_in = (uInt)s->in_n;
    z->next_out = (Bytef *)s->out;
    z->avail_out = (uInt)s->out_n;
    int rc = inflate(z, Z_NO_FLUSH);
    u->done = rc == Z_STREAM_END;
    ssize_t got = used(s, z->avail_in, z->avail_out);
    return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? got : -1;
}

static void gzip_end(struct unpack *u)
{
    inflateEnd(&u->gzip);
}

/* --- zstd --- */

static bool zstd_begin(struct unpack *u)
{
    u->zstd = ZSTD_createDStream();
    return u->zstd && !ZSTD_isError(ZSTD_initDStream(u->zstd));
}

static ssize_t zstd_take(struct unpack *u, struct unpack_step *s)
{
    ZSTD_inBuffer in = {s->in, s->in_n, 0};
    ZSTD_outBuffer out = {s->out, s->out_n, 0};
    size_t rc = ZSTD_decompressStream(u->zstd, &out, &in);
    u->done = rc == 0;
    ssize_t got = used(s, in.size - in.pos, out.size - out.pos);
    return ZSTD_isError(rc) ? -1 : got;
}

static void zstd_end(struct unpack *u)
{
    ZSTD_freeDStream(u->zstd);
}

/* --- xz --- */

static bool xz_begin(struct unpack *u)
{
    enum { MEMORY_MAX = 256 << 20 }; /* xz -9 needs 65 MB */
    u->xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&u->xz, MEMORY_MAX, LZMA_CONCATENATED) == LZMA_OK;
}

static ssize_t xz_take(struct unpack *u, struct unpack_step *s)
{
    lzma_stream *z = &u->xz;
    if (u->done)
        return 0;
    z->next_in = (const uint8_t *)s->in;
    z->avail_in = s->in_n;
    z->next_out = (uint8_t *)s->out;
    z->avail_out = s->out_n;
    lzma_ret rc = lzma_code(z, s->last ? LZMA_FINISH : LZMA_RUN);
    u->done = rc == LZMA_STREAM_END;
    ssize_t got = used(s, z->avail_in, z->avail_out);
    return rc == LZMA_OK || rc == LZMA_STREAM_END || rc == LZMA_BUF_ERROR ? got : -1;
}

static void xz_end(struct unpack *u)
{
    lzma_end(&u->xz);
}

/* --- bzip2 --- */

static bool bzip2_begin(struct unpack *u)
{
    u->bzip2 = (bz_stream){0};
    return BZ2_bzDecompressInit(&u->bzip2, 0, 0) == BZ_OK;
}

static ssize_t bzip2_take(struct unpack *u, struct unpack_step *s)
{
    bz_stream *z = &u->bzip2;
    if (u->done) { /* another stream follows: parallel packers write many */
        BZ2_bzDecompressEnd(z);
        if (!bzip2_begin(u))
            return -1;
    }
    z->next_in = (char *)(uintptr_t)s->in; /* which is only read */
    z->avail_in = (unsigned)s->in_n;
    z->next_out = s->out;
    z->avail_out = (unsigned)s->out_n;
    int rc = BZ2_bzDecompress(z);
    u->done = rc == BZ_STREAM_END;
    ssize_t got = used(s, z->avail_in, z->avail_out);
    return rc == BZ_OK || rc == BZ_STREAM_END ? got : -1;
}

static void bzip2_end(struct unpack *u)
{
    BZ2_bzDecompressEnd(&u->bzip2);
}

/* --- UTF-16, as some shells of Windows redirect text --- */

static bool utf16_begin(struct unpack *u)
{
    u->utf16 = (struct utf16){.big = u->how->magic[0] == '\xfe'};
    return true;
}

static void utf16_put(struct utf16 *t, uint32_t c)
{
    t->out_at = 0;
    t->out_n = 0;
    if (c < 0x80) {
        t->out[t->out_n++] = (uint8_t)c;
        return;
    }
    if (c >= 0x10000)
        t->out[t->out_n++] = (uint8_t)(0xf0 | c >> 18);
    if (c >= 0x800)
        t->out[t->out_n++] = (uint8_t)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
    t->out[t->out_n++] = (uint8_t)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
    t->out[t->out_n++] = (uint8_t)(0x80 | (c & 0x3f));
}

/* Half a pair becomes U+FFFD, which is what readers of UTF-16 put in its place. */
static void utf16_unit(struct utf16 *t, uint32_t unit)
{
    bool low = unit >= 0xdc00 && unit < 0xe000;
    bool first = !t->begun;
    t->begun = true;
    if (first && unit == 0xfeff) /* the mark that gave the byte order */
        return;
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (t->has_high)
            utf16_put(t, 0xfffd);
        t->has_high = true;
        t->high = unit;
        return;
    }
    uint32_t c = low ? 0xfffd : unit;
    if (low && t->has_high)
        c = 0x10000 + ((t->high & 0x3ff) << 10) + (unit & 0x3ff);
    t->has_high = false;
    utf16_put(t, c);
}

static ssize_t utf16_take(struct unpack *u, struct unpack_step *s)
{
    struct utf16 *t = &u->utf16;
    size_t n = 0;
    for (;;) {
        while (t->out_at < t->out_n && n < s->out_n)
            s->out[n++] = (char)t->out[t->out_at++];
        if (n == s->out_n || !s->in_n)
            break;
        uint8_t byte = (uint8_t)*s->in++;
        s->in_n--;
        if (t->has_byte)
            utf16_unit(t, t->big ? (uint32_t)t->byte << 8 | byte : (uint32_t)byte << 8 | t->byte);
        t->has_byte = !t->has_byte;
        t->byte = byte;
    }
    u->done = !t->has_byte && !t->has_high && t->out_at == t->out_n;
    return (ssize_t)n;
}

static void utf16_end(struct unpack *u)
{
    (void)u;
}

/* --- all --- */

static const struct packing packings[] = {
    {"gzip", "\x1f\x8b\x08", 3, gzip_begin, gzip_take, gzip_end},
    {"zstd", "\x28\xb5\x2f\xfd", 4, zstd_begin, zstd_take, zstd_end},
    {"xz", "\xfd\x37zXZ\0", 6, xz_begin, xz_take, xz_end},
    {"bzip2", "BZh?1AY&SY", 10, bzip2_begin, bzip2_take, bzip2_end},
    {"UTF-16", "\xff\xfe", 2, utf16_begin, utf16_take, utf16_end},
    {"UTF-16", "\xfe\xff", 2, utf16_begin, utf16_take, utf16_end},
};

/* '?' in a magic stands for any byte. */
static bool starts_with_magic(struct text head, const struct packing *p)
{
    if (head.n < p->magic_n)
        return false;
    for (size_t i = 0; i < p->magic_n; i++)
        if (p->magic[i] != '?' && p->magic[i] != head.at[i])
            return false;
    return true;
}

struct unpack *unpack_new(struct text head)
{
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
        if (!starts_with_magic(head, &packings[i]))
            continue;
        struct unpack *u = mem_new(struct unpack);
        u->how = &packings[i];
        if (u->how->begin(u))
            return u;
        free(u);
    }
    return NULL;
}

void unpack_free(struct unpack *u)
{
    if (u)
        u->how->end(u);
    free(u);
}

const char *unpack_name(const struct unpack *u)
{
    return u->how->name;
}

bool unpack_is_text(const struct unpack *u)
{
    return u->how->take == utf16_take;
}

ssize_t unpack_take(struct unpack *u, struct unpack_step *s)
{
    return u->how->take(u, s);
}

bool unpack_may_end(const struct unpack *u)
{
    return u->done;
}
