#include "page/unzstd.h"

#include "base/mem.h"

enum {
    BLOCK_MAX = 128 << 10,
    HUFFMAN_BITS = 11,
    FSE_BITS = 9,
    SYMBOLS = 256,
    LL_CODES = 36,
    ML_CODES = 53,
    OF_CODES = 32,
};

/* --- bits, from the end of a piece to its start --- */

struct backbits {
    const uint8_t *at;
    int64_t left; /* bits not read yet; below 0 = more were read than there are */
};

/* The highest bit of the last byte marks the end. */
static bool backbits_init(struct backbits *b, const uint8_t *at, size_t n)
{
    if (!n || !at[n - 1])
        return false;
    *b = (struct backbits){at, (int64_t)n * 8 - 8 + (31 - __builtin_clz(at[n - 1]))};
    return true;
}

/* Bits before the first are 0. */
static uint64_t backbits_peek(const struct backbits *b, unsigned n)
{
    uint64_t v = 0;
    int64_t from = b->left - n, first = from < 0 ? 0 : from;
    if (b->left <= 0 || !n)
        return 0;
    for (int64_t byte = first / 8, shift = 0; byte <= (b->left - 1) / 8; byte++, shift += 8)
        v |= shift < 64 ? (uint64_t)b->at[byte] << shift : 0;
    v >>= first % 8;
    v &= (UINT64_C(1) << (b->left - first)) - 1;
    return from < 0 ? v << -from : v;
}

static uint64_t backbits_take(struct backbits *b, unsigned n)
{
    uint64_t v = backbits_peek(b, n);
    b->left -= n;
    return v;
}

/* --- a piece, read forward --- */

struct piece {
    const uint8_t *at;
    size_t n;
    bool bad;
};

static uint64_t piece_uint(struct piece *p, size_t bytes)
{
    uint64_t v = 0;
    if (p->n < bytes) {
        p->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)p->at[i] << (8 * i);
    p->at += bytes;
    p->n -= bytes;
    return v;
}

static struct piece piece_cut(struct piece *p, size_t bytes)
{
    struct piece front = {p->at, bytes, false};
    if (p->n < bytes) {
        p->bad = true;
        return (struct piece){p->at, 0, true};
    }
    p->at += bytes;
    p->n -= bytes;
    return front;
}

/* --- FSE --- */

struct fse_entry {
    uint8_t symbol, bits;
    uint16_t base;
};

struct fse {
    unsigned bits; /* 0 with one entry: always the same symbol */
    bool known;
    struct fse_entry at[1 << FSE_BITS];
};

/* Spread the symbols, -1 = below one, and give each entry its next states. */
static void fse_build(struct fse *f, const int16_t *counts, size_t n, unsigned bits)
{
    uint32_t size = 1u << bits, high = size, mask = size - 1, pos = 0;
    uint16_t next[SYMBOLS];
    f->bits = bits;
    f->known = true;
    for (size_t s = 0; s < n; s++) {
        next[s] = (uint16_t)(counts[s] == -1 ? 1 : counts[s]);
        if (counts[s] == -1)
            f->at[--high].symbol = (uint8_t)s;
    }
    for (size_t s = 0; s < n; s++)
        for (int k = 0; k < counts[s]; k++) {
            f->at[pos].symbol = (uint8_t)s;
            do
                pos = (pos + (size >> 1) + (size >> 3) + 3) & mask;
            while (pos >= high);
        }
    for (uint32_t i = 0; i < size; i++) {
        uint16_t state = next[f->at[i].symbol]++;
        unsigned b = bits - (31 - (unsigned)__builtin_clz(state));
        f->at[i].bits = (uint8_t)b;
        f->at[i].base = (uint16_t)(((uint32_t)state << b) - size);
    }
}

/* Bits of P from the low end, for the description of a table. */
struct forebits {
    const struct piece *p;
    size_t at;
};

static uint32_t forebits_peek(const struct forebits *b, unsigned n)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        size_t bit = b->at + i;
        if (bit / 8 < b->p->n)
            v |= (uint32_t)(b->p->at[bit / 8] >> (bit % 8) & 1) << i;
    }
    return v;
}

/* One count: 0 to left + 1, in as few bits as will do; short ones for the small values. */
static uint32_t fse_take_count(struct forebits *b, uint32_t left)
{
    unsigned bits = 32 - (unsigned)__builtin_clz(left + 1);
    uint32_t value = forebits_peek(b, bits), low = (1u << (bits - 1)) - 1;
    uint32_t spare = (1u << bits) - 1 - (left + 1);
    if ((value & low) < spare) {
        b->at += bits - 1;
        return value & low;
    }
    b->at += bits;
    return value > low ? value - spare : value;
}

/* The description of a table, taken off P. */
static bool fse_read(struct fse *f, struct piece *p, size_t symbols, unsigned most_bits)
{
    struct forebits b = {p, 0};
    int16_t counts[SYMBOLS];
    unsigned bits = forebits_peek(&b, 4) + 5;
    uint32_t left = 1u << bits;
    size_t n = 0;
    b.at = 4;
    if (bits > most_bits)
        return false;
    while (left && n < symbols) {
        uint32_t value = fse_take_count(&b, left);
        int16_t count = (int16_t)((int)value - 1);
        uint32_t part = count < 0 ? 1 : (uint32_t)count;
        if (part > left)
            return false;
        left -= part;
        counts[n++] = count;
        for (uint32_t more = 3; count == 0 && more == 3;) {
            more = forebits_peek(&b, 2);
            b.at += 2;
            for (uint32_t k = 0; k < more; k++) {
                if (n >= symbols)
                    return false;
                counts[n++] = 0;
            }
        }
    }
    if (left || (b.at + 7) / 8 > p->n)
        return false;
    piece_cut(p, (b.at + 7) / 8);
    fse_build(f, counts, n, bits);
    return true;
}

static void fse_one(struct fse *f, uint8_t symbol)
{
    f->bits = 0;
    f->known = true;
    f->at[0] = (struct fse_entry){.symbol = symbol};
}

/* --- Huffman --- */

struct huffman {
    unsigned bits; /* 0 = none yet */
    struct {
        uint8_t symbol, bits;
    } at[1 << HUFFMAN_BITS];
};

/* N weights, the last left out: what is missing to a power of two is its. */
static bool huffman_build(struct huffman *h, uint8_t weights[SYMBOLS], size_t n)
{
    uint32_t sum = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i] ? 1u << (weights[i] - 1) : 0;
    if (!sum || n >= SYMBOLS)
        return false;
    unsigned bits = 32 - (unsigned)__builtin_clz(sum);
    uint32_t rest = (1u << bits) - sum;
    if (bits > HUFFMAN_BITS || (rest & (rest - 1)))
        return false;
    weights[n++] = (uint8_t)(32 - __builtin_clz(rest));
    for (unsigned w = 1; w <= bits; w++)
        for (size_t s = 0; s < n; s++)
            for (uint32_t k = 0; weights[s] == w && k < 1u << (w - 1); k++, at++) {
                h->at[at].symbol = (uint8_t)s;
                h->at[at].bits = (uint8_t)(bits + 1 - w);
            }
    h->bits = bits;
    return at == 1u << bits;
}

/* Weights packed by FSE: two states take turns until the bits are used up. */
static bool huffman_unpack_weights(struct piece packed, uint8_t weights[SYMBOLS], size_t *ret_n)
{
    struct fse f;
    struct backbits b;
    size_t n = 0;
    if (!fse_read(&f, &packed, HUFFMAN_BITS + 2, 6) || !backbits_init(&b, packed.at, packed.n))
        return false;
    uint32_t state[2];
    state[0] = (uint32_t)backbits_take(&b, f.bits);
    state[1] = (uint32_t)backbits_take(&b, f.bits);
    for (int turn = 0; n < SYMBOLS - 2; turn ^= 1) {
        const struct fse_entry *e = &f.at[state[turn]];
        weights[n++] = e->symbol;
        if (b.left < e->bits) {
            weights[n++] = f.at[state[turn ^ 1]].symbol;
            *ret_n = n;
            return true;
        }
        state[turn] = e->base + (uint32_t)backbits_take(&b, e->bits);
    }
    return false;
}

static bool huffman_read(struct huffman *h, struct piece *p)
{
    uint8_t weights[SYMBOLS] = {0};
    size_t head = piece_uint(p, 1), n = head >= 128 ? head - 127 : 0;
    struct piece own = piece_cut(p, head >= 128 ? (n + 1) / 2 : head);
    if (p->bad)
        return false;
    for (size_t i = 0; i < n; i++)
        weights[i] = i % 2 ? own.at[i / 2] & 15 : own.at[i / 2] >> 4;
    if (head < 128 && !huffman_unpack_weights(own, weights, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (weights[i] > HUFFMAN_BITS)
            return false;
    return huffman_build(h, weights, n);
}

static bool huffman_stream(const struct huffman *h, struct piece p, uint8_t *to, size_t n)
{
    struct backbits b;
    if (!backbits_init(&b, p.at, p.n))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t code = backbits_peek(&b, h->bits);
        to[i] = h->at[code].symbol;
        b.left -= h->at[code].bits;
    }
    return b.left == 0;
}

/* --- a block --- */

struct unzstd {
    struct huffman huffman;
    struct fse ll, of, ml;
    uint64_t back[3];  /* the last three distances */
    uint8_t *literals; /* BLOCK_MAX bytes */
    size_t n_literals;
    uint8_t *to;
    size_t n, at;
};

static bool huffman_streams(struct unzstd *z, struct piece p, size_t size)
{
    size_t each = (size + 3) / 4, sizes[3];
    for (int i = 0; i < 3; i++)
        sizes[i] = piece_uint(&p, 2);
    if (size < 6 || 3 * each > size)
        return false;
    for (int i = 0; i < 3; i++)
        if (!huffman_stream(&z->huffman, piece_cut(&p, sizes[i]), z->literals + (size_t)i * each,
                            each))
            return false;
    return !p.bad && huffman_stream(&z->huffman, p, z->literals + 3 * each, size - 3 * each);
}

/* Raw, or one byte repeated. */
static bool plain_literals(struct unzstd *z, struct piece *p, unsigned type)
{
    unsigned format = p->n ? p->at[0] >> 2 & 3 : 0;
    size_t bytes = format == 1 ? 2 : format == 3 ? 3 : 1;
    size_t size = piece_uint(p, bytes) >> (bytes == 1 ? 3 : 4);
    struct piece own = piece_cut(p, type == 1 ? 1 : size);
    if (p->bad || size > BLOCK_MAX)
        return false;
    z->n_literals = size;
    if (type == 1)
        memset(z->literals, own.at[0], size);
    else
        memcpy(z->literals, own.at, size);
    return true;
}

static bool unzstd_literals(struct unzstd *z, struct piece *p)
{
    unsigned type = p->n ? p->at[0] & 3 : 0, format = p->n ? p->at[0] >> 2 & 3 : 0;
    if (type < 2)
        return plain_literals(z, p, type);
    unsigned bits = format < 2 ? 10 : format == 2 ? 14 : 18;
    uint64_t head = piece_uint(p, format < 2 ? 3 : format == 2 ? 4 : 5) >> 4;
    size_t size = head & ((1u << bits) - 1), packed = head >> bits & ((1u << bits) - 1);
    struct piece own = piece_cut(p, packed);
    if (p->bad || size > BLOCK_MAX)
        return false;
    z->n_literals = size;
    if (type == 2 ? !huffman_read(&z->huffman, &own) : !z->huffman.bits)
        return false;
    return format == 0 ? huffman_stream(&z->huffman, own, z->literals, size)
                       : huffman_streams(z, own, size);
}

/* --- sequences --- */

static const uint32_t ll_base[LL_CODES] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,   12,   13,   14,   15,    16,    18,
    20, 22, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
static const uint8_t ll_bits[LL_CODES] = {0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0,
                                          0, 0, 0, 0, 1, 1,  1,  1,  2,  2,  3,  3,
                                          4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint32_t ml_base[ML_CODES] = {
    3,  4,  5,  6,  7,  8,  9,  10,  11,  12,  13,   14,   15,   16,   17,    18,    19,   20,
    21, 22, 23, 24, 25, 26, 27, 28,  29,  30,  31,   32,   33,   34,   35,    37,    39,   41,
    43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195, 16387, 32771, 65539};
static const uint8_t ml_bits[ML_CODES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
    0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const int16_t ll_usual[LL_CODES] = {4, 3, 2, 2, 2, 2, 2, 2, 2,  2,  2,  2,
                                           2, 1, 1, 1, 2, 2, 2, 2, 2,  2,  2,  2,
                                           2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
static const int16_t ml_usual[ML_CODES] = {
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
static const int16_t of_usual[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};

/* What a code may be, and its table where the frame brings none. */
struct code_kind {
    size_t codes;
    unsigned most_bits, usual_bits;
    const int16_t *usual;
    size_t n_usual;
};

static const struct code_kind ll_kind = {LL_CODES, 9, 6, ll_usual, LL_CODES};
static const struct code_kind of_kind = {OF_CODES, 8, 5, of_usual, 29};
static const struct code_kind ml_kind = {ML_CODES, 9, 6, ml_usual, ML_CODES};

static bool code_table(struct fse *f, struct piece *p, unsigned mode, const struct code_kind *k)
{
    uint64_t symbol;
    switch (mode) {
    case 0:
        fse_build(f, k->usual, k->n_usual, k->usual_bits);
        return true;
    case 1:
        symbol = piece_uint(p, 1);
        fse_one(f, (uint8_t)symbol);
        return !p->bad && symbol < k->codes;
    case 2:
        return fse_read(f, p, k->codes, k->most_bits);
    default:
        return f->known;
    }
}

/* Distances 1 to 3 mean one of the last three; without literals before it, the next of them. */
static uint64_t unzstd_distance(struct unzstd *z, uint64_t value, bool no_literals)
{
    uint64_t *back = z->back, distance;
    unsigned which = value > 3 ? 3 : (unsigned)value - 1 + no_literals;
    if (value > 3)
        distance = value - 3;
    else
        distance = which < 3 ? back[which] : back[0] - 1;
    if (which > 1)
        back[2] = back[1];
    if (which > 0)
        back[1] = back[0];
    back[0] = distance;
    return distance;
}

static bool unzstd_copy(struct unzstd *z, const uint8_t **literals, size_t n_literals,
                        uint64_t distance, size_t length)
{
    size_t left = (size_t)(z->literals + z->n_literals - *literals);
    if (n_literals > left || n_literals > z->n - z->at)
        return false;
    memcpy(z->to + z->at, *literals, n_literals);
    z->at += n_literals;
    *literals += n_literals;
    if (!distance || distance > z->at || length > z->n - z->at)
        return false;
    for (size_t i = 0; i < length; i++, z->at++) /* may reach into itself */
        z->to[z->at] = z->to[z->at - distance];
    return true;
}

static size_t count_sequences(struct piece *p)
{
    size_t n = piece_uint(p, 1);
    if (n < 128)
        return n;
    return n < 255 ? ((n - 128) << 8) + piece_uint(p, 1) : piece_uint(p, 2) + 0x7f00;
}

static uint32_t fse_step(const struct fse *f, uint32_t state, struct backbits *b)
{
    const struct fse_entry *e = &f->at[state];
    return e->base + (uint32_t)backbits_take(b, e->bits);
}

static bool run_sequences(struct unzstd *z, struct piece p, size_t n, const uint8_t **literals)
{
    struct backbits b;
    if (!backbits_init(&b, p.at, p.n))
        return false;
    uint32_t ll = (uint32_t)backbits_take(&b, z->ll.bits);
    uint32_t of = (uint32_t)backbits_take(&b, z->of.bits);
    uint32_t ml = (uint32_t)backbits_take(&b, z->ml.bits);
    for (size_t i = 0; i < n; i++) {
        unsigned o = z->of.at[of].symbol, m = z->ml.at[ml].symbol, l = z->ll.at[ll].symbol;
        uint64_t value = (UINT64_C(1) << o) + backbits_take(&b, o);
        size_t length = ml_base[m] + (size_t)backbits_take(&b, ml_bits[m]);
        size_t before = ll_base[l] + (size_t)backbits_take(&b, ll_bits[l]);
        if (b.left < 0 ||
            !unzstd_copy(z, literals, before, unzstd_distance(z, value, !before), length))
            return false;
        if (i + 1 < n) {
            ll = fse_step(&z->ll, ll, &b);
            ml = fse_step(&z->ml, ml, &b);
            of = fse_step(&z->of, of, &b);
        }
    }
    return b.left == 0;
}

static bool unzstd_packed(struct unzstd *z, struct piece p)
{
    const uint8_t *literals = z->literals;
    if (!unzstd_literals(z, &p))
        return false;
    size_t n = count_sequences(&p);
    if (n) {
        unsigned modes = (unsigned)piece_uint(&p, 1);
        if (p.bad || !code_table(&z->ll, &p, modes >> 6, &ll_kind) ||
            !code_table(&z->of, &p, modes >> 4 & 3, &of_kind) ||
            !code_table(&z->ml, &p, modes >> 2 & 3, &ml_kind) || !run_sequences(z, p, n, &literals))
            return false;
    }
    size_t rest = (size_t)(z->literals + z->n_literals - literals);
    if (p.bad || rest > z->n - z->at)
        return false;
    memcpy(z->to + z->at, literals, rest);
    z->at += rest;
    return true;
}

/* --- a frame --- */

static bool frame_head(struct piece *p, uint64_t *ret_size)
{
    static const uint8_t sizes[4] = {0, 2, 4, 8}, dictionary[4] = {0, 1, 2, 4};
    if (piece_uint(p, 4) != 0xfd2fb528u)
        return false;
    unsigned head = (unsigned)piece_uint(p, 1);
    bool single = head & 32;
    size_t bytes = sizes[head >> 6];
    piece_uint(p, single ? 0 : 1);
    if (piece_uint(p, dictionary[head & 3]) || (head & 8))
        return false;
    bytes = !bytes && single ? 1 : bytes;
    *ret_size = piece_uint(p, bytes) + (bytes == 2 ? 256 : 0);
    return !p->bad && bytes;
}

bool unzstd_size(struct text frame, uint64_t *ret)
{
    struct piece p = {(const uint8_t *)frame.at, frame.n, false};
    return frame_head(&p, ret);
}

static bool unzstd_block(struct unzstd *z, struct piece *p, bool *ret_last)
{
    uint64_t head = piece_uint(p, 3);
    size_t size = head >> 3;
    unsigned type = head >> 1 & 3;
    struct piece own = piece_cut(p, type == 1 ? 1 : size);
    *ret_last = head & 1;
    if (p->bad || type == 3 || size > BLOCK_MAX || (type < 2 && size > z->n - z->at))
        return false;
    if (type == 2)
        return unzstd_packed(z, own);
    if (type == 1)
        memset(z->to + z->at, own.at[0], size);
    else
        memcpy(z->to + z->at, own.at, size);
    z->at += size;
    return true;
}

bool unzstd(struct text frame, char *to, size_t n)
{
    struct piece p = {(const uint8_t *)frame.at, frame.n, false};
    struct unzstd *z = mem_new(struct unzstd);
    uint64_t size;
    bool last = false, good = frame_head(&p, &size) && size == n;
    *z = (struct unzstd){.back = {1, 4, 8}, .to = (uint8_t *)to, .n = n};
    z->literals = mem_calloc(BLOCK_MAX + 1, 1);
    while (good && !last)
        good = unzstd_block(z, &p, &last);
    good = good && z->at == n;
    free(z->literals);
    free(z);
    return good;
}
