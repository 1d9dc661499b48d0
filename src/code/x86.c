#include "code/x86.h"
#include "base/x86op.h"

#include <string.h>

enum map {
    MAP_1,
    MAP_0F,
    MAP_0F38,
    MAP_0F3A,
    MAP_FP16_5 = 5,
    MAP_FP16_6,
    MAP_XOP_8 = 8, /* AMD's of 2011 to 2017, still in libraries that choose at run time */
    MAP_XOP_9,
    MAP_XOP_A,
};
enum prefix { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 };
enum encoding { LEGACY, VEX, EVEX };

/* An instruction while its bytes are read. */
struct decoder {
    const uint8_t *at, *end, *start;
    bool short_of_bytes, operand16, address32, wide; /* 66, 67, REX.W */
    bool evex_b;                                     /* rounding or broadcast */
    uint8_t op, modrm;
    enum map map;
    enum prefix prefix;
    enum encoding encoding;
    unsigned vector_length; /* 0, 1, 2: 128, 256, 512 bits */
    struct x86 *insn;
};

static uint8_t next_byte(struct decoder *d)
{
    if (d->at < d->end)
        return *d->at++;
    d->short_of_bytes = true;
    return 0;
}

static int64_t next_signed(struct decoder *d, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)next_byte(d) << 8 * i;
    int shift = 64 - 8 * bytes;
    return (int64_t)(v << shift) >> shift;
}

static void x86_skip(struct decoder *d, int bytes)
{
    for (int i = 0; i < bytes; i++)
        next_byte(d);
}

/* --- prefixes and opcode --- */

static uint8_t read_prefixes(struct decoder *d)
{
    for (;;) {
        uint8_t c = next_byte(d);
        if (c == 0x66)
            d->operand16 = true;
        else if (c == 0x67)
            d->address32 = true;
        else if (c == 0xf2 || c == 0xf3)
            d->prefix = c == 0xf2 ? PREFIX_F2 : PREFIX_F3;
        else if (c != 0xf0 && c != 0x2e && c != 0x36 && c != 0x3e && c != 0x26 && c != 0x64 &&
                 c != 0x65)
            return c;
        if (d->at - d->start >= 15)
            return c;
    }
}

static void read_legacy(struct decoder *d, uint8_t c)
{
    if (c >= 0x40 && c <= 0x4f) {
        d->wide = c & 8;
        c = next_byte(d);
    }
    if (c == 0x0f) {
        d->map = MAP_0F;
        c = next_byte(d);
        if (c == 0x38 || c == 0x3a) {
            d->map = c == 0x38 ? MAP_0F38 : MAP_0F3A;
            c = next_byte(d);
        }
    }
    d->op = c;
    if (d->prefix == PREFIX_NONE && d->operand16)
        d->prefix = PREFIX_66;
}

static void read_vex(struct decoder *d, uint8_t c)
{
    uint8_t last = next_byte(d);
    d->encoding = VEX;
    d->map = MAP_0F;
    if (c != 0xc5) {
        d->map = (enum map)(last & 0x1f);
        last = next_byte(d);
        d->wide = last & 0x80;
    }
    static const enum prefix implied[] = {PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2};
    d->prefix = implied[last & 3];
    d->vector_length = last >> 2 & 1;
    d->op = next_byte(d);
}

static void read_evex(struct decoder *d)
{
    static const enum prefix implied[] = {PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2};
    uint8_t p0 = next_byte(d), p1 = next_byte(d), p2 = next_byte(d);
    d->encoding = EVEX;
    d->map = (enum map)(p0 & 7);
    d->wide = p1 & 0x80;
    d->prefix = implied[p1 & 3];
    d->vector_length = p2 >> 5 & 3;
    d->evex_b = p2 & 0x10;
    d->op = next_byte(d);
}

static void read_opcode(struct decoder *d)
{
    uint8_t c = read_prefixes(d);
    bool xop = c == 0x8f && d->at < d->end && (*d->at & 0x1f) >= MAP_XOP_8;
    if (c == 0xc4 || c == 0xc5 || xop)
        read_vex(d, c);
    else if (c == 0x62)
        read_evex(d);
    else
        read_legacy(d, c);
}

/* --- operands: only their length matters --- */

static bool has_modrm(const struct decoder *d)
{
    if (d->map == MAP_1)
        return x86op_has_modrm(d->op);
    if (d->encoding != LEGACY)
        return !(d->map == MAP_0F && d->op == 0x77);
    return d->map != MAP_0F || x86op_has_modrm_0f(d->op);
}

static void read_modrm(struct decoder *d)
{
    d->modrm = next_byte(d);
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7;
    if (mod == 3)
        return;
    if (rm == 4) {
        uint8_t sib = next_byte(d);
        if (mod == 0 && (sib & 7) == 5)
            x86_skip(d, 4);
    } else if (mod == 0 && rm == 5) {
        x86_skip(d, 4);
    }
    if (mod)
        x86_skip(d, mod == 1 ? 1 : 4);
}

static int immediate_0f(const struct decoder *d)
{
    uint8_t op = d->op;
    bool sse = (op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6);
    bool old = d->encoding == LEGACY && (op == 0x0f || op == 0xa4 || op == 0xac || op == 0xba);
    if (d->encoding == LEGACY && op == 0x78 && d->prefix != PREFIX_NONE)
        return 2;
    return sse || old;
}

static int immediate(const struct decoder *d)
{
    return d->map == MAP_1
               ? x86op_immediate(d->op, d->modrm,
                                 (struct x86op_sizes){d->operand16, d->address32, d->wide})
           : d->map == MAP_0F                          ? immediate_0f(d)
           : d->map == MAP_0F3A || d->map == MAP_XOP_8 ? 1
           : d->map == MAP_XOP_A                       ? 4
                                                       : 0;
}

/* --- where it goes --- */

static void set_target(struct decoder *d, enum x86_flow flow, int bytes)
{
    int64_t distance = next_signed(d, bytes);
    d->insn->flow = flow;
    d->insn->target = distance + (d->at - d->start);
}

/* True where the operand was a distance, and has been read. */
static bool read_flow(struct decoder *d)
{
    uint8_t op = d->op, reg = d->modrm >> 3 & 7;
    if (d->encoding != LEGACY)
        return false;
    if (d->map == MAP_0F) {
        if (op == 0x0b)
            d->insn->flow = X86_AWAY;
        else if (op == 0x05)
            d->insn->flow = X86_CALL; /* of the kernel */
        if ((op & 0xf0) != 0x80)
            return false;
        set_target(d, X86_BRANCH, 4);
        return true;
    }
    if (d->map != MAP_1)
        return false;
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
        return set_target(d, X86_BRANCH, 1), true;
    if (op == 0xe8 || op == 0xe9)
        return set_target(d, op == 0xe8 ? X86_CALL : X86_JUMP, 4), true;
    if (op == 0xeb)
        return set_target(d, X86_JUMP, 1), true;
    if (op == 0xc3 || op == 0xc2 || op == 0xcb || op == 0xca || op == 0xcc || op == 0xcf ||
        op == 0xf4)
        d->insn->flow = X86_AWAY;
    if (op == 0xff && (reg == 2 || reg == 3))
        d->insn->flow = X86_CALL;
    if (op == 0xff && (reg == 4 || reg == 5))
        d->insn->flow = X86_AWAY;
    return false;
}

/* --- vector class --- */

struct class
{
    enum x86_isa isa;
    enum x86_kind kind;
    bool math;
};

#define NO_CLASS ((struct class){X86_BASE, X86_INTEGER, false})

static void need(struct decoder *d, enum x86_feature f)
{
    d->insn->needs |= 1u << f;
}

static bool is_scalar_prefix(const struct decoder *d)
{
    return d->prefix == PREFIX_F2 || d->prefix == PREFIX_F3;
}

static struct class fp(bool scalar, bool math)
{
    return (struct class){X86_SSE, scalar ? X86_SCALAR_FP : X86_PACKED_FP, math};
}

/* Integers in vector registers; without a prefix the old ones are MMX. */
static struct class packed(const struct decoder *d)
{
    bool mmx = d->encoding == LEGACY && d->prefix == PREFIX_NONE;
    return (struct class){mmx ? X86_MMX : X86_SSE, X86_PACKED_INT, false};
}

/* Instructions on AVX-512's mask registers have VEX prefixes. */
static bool is_mask_0f(const struct decoder *d)
{
    uint8_t op = d->op;
    return d->encoding == VEX &&
           ((op >= 0x41 && op <= 0x4b) || (op >= 0x90 && op <= 0x93) || op == 0x98 || op == 0x99);
}

static struct class class_0f(struct decoder *d)
{
    uint8_t op = d->op;
    bool scalar = is_scalar_prefix(d);
    if (is_mask_0f(d))
        return (struct class){X86_AVX512, X86_PACKED_INT, false};
    if (op == 0x10 || op == 0x11 || op == 0x2b)
        return fp(scalar, false);
    if ((op >= 0x12 && op <= 0x17) || op == 0x28 || op == 0x29 || op == 0x50 || op == 0xc6 ||
        (op >= 0x54 && op <= 0x57))
        return fp(false, false);
    if (op == 0x2e || op == 0x2f)
        return fp(true, true);
    if (op == 0x5b || op == 0x7c || op == 0x7d || op == 0xd0 || op == 0xe6)
        return fp(false, true);
    if (op == 0x2a || op == 0x2c || op == 0x2d || (op >= 0x51 && op <= 0x5f) || op == 0xc2)
        return fp(scalar, true);
    if (d->encoding == EVEX && op >= 0x78 && op <= 0x7b)
        return fp(scalar && op != 0x7a, true);
    if ((op >= 0x60 && op <= 0x76) || op == 0x7e || op == 0x7f || op == 0xc4 || op == 0xc5 ||
        (op >= 0xd1 && op <= 0xfe))
        return packed(d);
    if (op == 0x77)
        return (struct class){X86_MMX, X86_INTEGER, false};
    return NO_CLASS;
}

static struct class class_0f38_legacy(struct decoder *d)
{
    uint8_t op = d->op;
    if (op <= 0x0b || (op >= 0x1c && op <= 0x1e)) {
        need(d, X86_HAS_SSSE3);
        return packed(d);
    }
    if (op >= 0x10 && op <= 0x41) {
        need(d, op == 0x37 ? X86_HAS_SSE42 : X86_HAS_SSE41);
        return op == 0x14 || op == 0x15 ? fp(false, false) : packed(d);
    }
    if ((op >= 0xc8 && op <= 0xcd) || (op >= 0xdb && op <= 0xdf) || op == 0xcf) {
        need(d, op == 0xcf || op >= 0xdb ? X86_HAS_AES : X86_HAS_SHA);
        return (struct class){X86_SSE, X86_PACKED_INT, false};
    }
    return NO_CLASS;
}

static struct class class_0f3a_legacy(struct decoder *d)
{
    uint8_t op = d->op;
    if (op == 0xcc || op == 0xdf || op == 0x44) {
        need(d, op == 0xcc ? X86_HAS_SHA : op == 0x44 ? X86_HAS_PCLMUL : X86_HAS_AES);
        return (struct class){X86_SSE, X86_PACKED_INT, false};
    }
    need(d, op == 0x0f ? X86_HAS_SSSE3 : op >= 0x60 ? X86_HAS_SSE42 : X86_HAS_SSE41);
    if (op >= 0x08 && op <= 0x0b)
        return fp(op >= 0x0a, true);
    if (op == 0x40 || op == 0x41)
        return fp(false, true);
    return op == 0x0c || op == 0x0d || op == 0x17 || op == 0x21 ? fp(false, false) : packed(d);
}

static bool is_fma(uint8_t op)
{
    return op >= 0x96 && op <= 0xbf && (op & 15) >= 6;
}

static bool x86_is_one_of(uint8_t op, const char *list, size_t n)
{
    return memchr(list, op, n) != NULL;
}
#define IN(op, list) x86_is_one_of(op, list, sizeof list - 1)

static struct class class_0f38_vex(struct decoder *d)
{
    uint8_t op = d->op;
    if (d->encoding == VEX && op >= 0xf2 && op <= 0xf7) {
        need(d, X86_HAS_BMI);
        return NO_CLASS;
    }
    if (is_fma(op)) {
        need(d, X86_HAS_FMA);
        return fp(op & 1 && (op & 15) > 7, true);
    }
    if (op == 0x13 && d->prefix == PREFIX_66) {
        need(d, X86_HAS_F16C);
        return fp(false, true);
    }
    if (d->encoding == EVEX && d->prefix == PREFIX_66) {
        if (IN(op, "\x2d\x43\x4d\x4f\xcb\xcd"))
            return fp(true, true);
        if (IN(op, "\x2c\x42\x4c\x4e\xc8\xca\xcc"))
            return fp(false, true);
        if (IN(op, "\x1b\x65\x77\x7f\x88\x8a\xa2\xa3"))
            return fp(false, false);
    }
    if (d->encoding == VEX && IN(op, "\x0e\x0f\x2c\x2d\x2e\x2f"))
        return fp(false, false);
    if (d->prefix == PREFIX_66 && IN(op, "\x0c\x0d\x16\x18\x19\x1a\x92\x93"))
        return fp(false, false);
    if (op >= 0xdb && op <= 0xdf)
        need(d, X86_HAS_AES);
    return packed(d);
}

static struct class class_0f3a_vex(struct decoder *d)
{
    uint8_t op = d->op;
    if (d->encoding == VEX && op == 0xf0) {
        need(d, X86_HAS_BMI);
        return NO_CLASS;
    }
    if (d->encoding == VEX && op >= 0x30 && op <= 0x33)
        return (struct class){X86_AVX512, X86_PACKED_INT, false};
    if (op == 0x1d)
        need(d, X86_HAS_F16C);
    if (op == 0x44)
        need(d, X86_HAS_PCLMUL);
    if (op == 0xdf)
        need(d, X86_HAS_AES);
    if (d->encoding == VEX && IN(op, "\x5c\x5d\x5e\x5f\x68\x69\x6c\x6d\x78\x79\x7c\x7d"))
        return fp(false, true); /* FMA4, of the same CPUs as XOP */
    if (d->encoding == VEX && IN(op, "\x6a\x6b\x6e\x6f\x7a\x7b\x7e\x7f"))
        return fp(true, true);
    if (IN(op, "\x0a\x0b\x27\x51\x55\x57\x67"))
        return fp(true, true);
    if (IN(op, "\x08\x09\x1d\x26\x40\x41\x50\x54\x56\x66"))
        return fp(false, true);
    if (IN(op, "\x01\x04\x05\x06\x0c\x0d\x17\x18\x19\x1a\x1b\x21\x23\x4a\x4b"))
        return fp(false, false);
    return packed(d);
}

/* Half precision: the same opcodes in maps of their own. */
static struct class class_fp16(struct decoder *d)
{
    uint8_t op = d->op;
    if (d->map == MAP_FP16_6)
        return fp(is_fma(op) ? op & 1 && (op & 15) > 7 : IN(op, "\x13\x2d\x43\x4d\x4f"), true);
    if (op == 0x6e || op == 0x7e)
        return packed(d);
    return fp(is_scalar_prefix(d) || op == 0x2e || op == 0x2f, op != 0x10 && op != 0x11);
}

static struct class class_xop(struct decoder *d)
{
    if (d->map == MAP_XOP_9 && d->op >= 0x80 && d->op <= 0x83)
        return fp(d->op >= 0x82, true);
    bool general = d->map == MAP_XOP_A || (d->map == MAP_XOP_9 && d->op < 0x80);
    return general ? NO_CLASS : packed(d);
}

static struct class class_of(struct decoder *d)
{
    bool legacy = d->encoding == LEGACY;
    switch (d->map) {
    case MAP_1:
        return legacy && d->op >= 0xd8 && d->op <= 0xdf
                   ? (struct class){X86_X87, X86_SCALAR_FP, true}
                   : NO_CLASS;
    case MAP_0F:
        return class_0f(d);
    case MAP_0F38:
        return legacy ? class_0f38_legacy(d) : class_0f38_vex(d);
    case MAP_0F3A:
        return legacy ? class_0f3a_legacy(d) : class_0f3a_vex(d);
    case MAP_XOP_8:
    case MAP_XOP_9:
    case MAP_XOP_A:
        return class_xop(d);
    default:
        return class_fp16(d);
    }
}

/* Of what has a VEX prefix: does it take AVX2? Moves and tests of 256 bits are older. */
static bool is_avx2(const struct decoder *d, enum x86_kind kind)
{
    uint8_t op = d->op;
    if (d->map == MAP_0F38) {
        if (is_fma(op) ||
            IN(op, "\x16\x36\x45\x46\x47\x58\x59\x5a\x78\x79\x8c\x8e\x90\x91\x92\x93"))
            return true;
        if (op == 0x18 || op == 0x19)
            return d->modrm >= 0xc0;
        if (op == 0x17)
            return false;
    }
    if (d->map == MAP_0F3A && IN(op, "\x00\x01\x02\x38\x39\x46"))
        return true;
    if (d->map == MAP_0F && IN(op, "\x6f\x7f\xe7\xf0"))
        return false;
    return kind == X86_PACKED_INT && d->vector_length == 1;
}

static enum x86_isa isa_of(struct decoder *d, struct class c)
{
    if (d->encoding == LEGACY || c.isa == X86_AVX512)
        return c.isa;
    if (d->encoding == EVEX)
        return X86_AVX512;
    if (c.isa == X86_BASE && d->map != MAP_0F)
        return X86_BASE; /* BMI */
    return is_avx2(d, c.kind) ? X86_AVX2 : X86_AVX;
}

static unsigned width_of(const struct decoder *d, enum x86_isa isa, enum x86_kind kind)
{
    if (kind == X86_INTEGER || kind == X86_SCALAR_FP)
        return 0;
    if (isa == X86_MMX)
        return 64;
    if (d->encoding == EVEX && d->evex_b && d->modrm >= 0xc0)
        return 512; /* the length's bits say how to round */
    return d->vector_length > 2 ? 512 : 128u << d->vector_length;
}

static bool is_sse3(const struct decoder *d)
{
    if (d->encoding != LEGACY || d->map != MAP_0F)
        return false;
    return d->op == 0x7c || d->op == 0x7d || d->op == 0xd0 ||
           (is_scalar_prefix(d) && (d->op == 0x12 || d->op == 0x16)) ||
           (d->prefix == PREFIX_F2 && d->op == 0xf0);
}

static void x86_classify(struct decoder *d)
{
    struct class c = class_of(d);
    struct x86 *i = d->insn;
    i->kind = (uint8_t)c.kind;
    i->math = c.math;
    i->isa = (uint8_t)isa_of(d, c);
    i->width_bits = (uint16_t)width_of(d, (enum x86_isa)i->isa, c.kind);
    if (is_sse3(d))
        need(d, X86_HAS_SSE3);
    if (i->isa == X86_AVX)
        need(d, X86_HAS_AVX);
    if (i->isa == X86_AVX2 && !(i->needs & 1u << X86_HAS_FMA))
        need(d, X86_HAS_AVX2);
    if (i->isa == X86_AVX512)
        i->needs = 1u << X86_HAS_AVX512;
}

/* --- */

static bool makes_no_sense(const struct decoder *d)
{
    if (d->encoding == VEX)
        return d->map < MAP_0F || (d->map > MAP_0F3A && d->map < MAP_XOP_8) || d->map > MAP_XOP_A;
    if (d->encoding == EVEX)
        return d->map == MAP_1 || d->map == 4 || d->map == 7;
    return d->map == MAP_1 &&
           IN(d->op, "\x06\x07\x0e\x16\x17\x1e\x1f\x27\x2f\x37\x3f\x60\x61\x82\x9a"
                     "\xce\xd4\xd5\xd6\xea");
}

struct x86 x86_decode(const uint8_t *at, size_t n)
{
    struct x86 insn = {0};
    struct decoder d = {.at = at, .start = at, .end = at + (n < 15 ? n : 15), .insn = &insn};
    read_opcode(&d);
    if (!makes_no_sense(&d)) {
        if (has_modrm(&d))
            read_modrm(&d);
        if (!read_flow(&d))
            x86_skip(&d, immediate(&d));
        x86_classify(&d);
        if (!d.short_of_bytes) {
            insn.length = (uint8_t)(d.at - d.start);
            return insn;
        }
    }
    return (struct x86){.length = 1, .bad = true};
}

const char *x86_feature_name(enum x86_feature f)
{
    static const char *const names[] = {
        "sse3", "ssse3", "sse4_1", "sse4_2", "aes",  "pclmulqdq", "sha_ni",
        "avx",  "f16c",  "fma",    "avx2",   "bmi2", "avx512f",
    };
    return names[f];
}

/* "Prescott New Instructions" is what Linux knows SSE3 by. */
const char *x86_feature_flag(enum x86_feature f)
{
    return f == X86_HAS_SSE3 ? "pni" : x86_feature_name(f);
}

const char *x86_isa_name(enum x86_isa isa)
{
    static const char *const names[] = {"base", "x87", "MMX", "SSE", "AVX", "AVX2", "AVX-512"};
    return names[isa];
}
