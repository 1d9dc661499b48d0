/*
 * a64.c - AArch64 instructions by the fields of their encoding.
 *
 *     31      28  25   24 23 22 21       16 15      10
 *     +---------+-----+--+-----+-----------+---------+
 *     |         | op0 |  |size |           | opcode  |     op0: bits 28 to 25
 *     +---------+-----+--+-----+-----------+---------+
 *     op0  0010 SVE   100x immediates   101x branches   x1x0 loads and stores
 *          x101 registers   x111 floating point and Advanced SIMD
 */
#include "code/a64.h"

const char *a64_isa_name(enum a64_isa isa)
{
    static const char *const names[] = {"base", "FP", "NEON", "SVE"};
    return names[isa];
}

static uint32_t bits(uint32_t word, int high, int low)
{
    return word >> low & ((1u << (high - low + 1)) - 1);
}

static int64_t sign_extend(uint32_t value, int width)
{
    int64_t sign = (int64_t)1 << (width - 1);
    return ((int64_t)value ^ sign) - sign;
}

/* --- branches --- */

static void decode_branch(struct a64 *a, uint32_t w)
{
    if (bits(w, 30, 26) == 5) { /* b, bl */
        a->flow = w >> 31 ? X86_CALL : X86_JUMP;
        a->target = 4 * sign_extend(bits(w, 25, 0), 26);
    } else if (bits(w, 31, 24) == 0x54 || bits(w, 30, 25) == 0x1a) { /* b.cond, cbz, cbnz */
        a->flow = X86_BRANCH;
        a->target = 4 * sign_extend(bits(w, 23, 5), 19);
    } else if (bits(w, 30, 25) == 0x1b) { /* tbz, tbnz */
        a->flow = X86_BRANCH;
        a->target = 4 * sign_extend(bits(w, 18, 5), 14);
    } else if (bits(w, 31, 25) == 0x6b) { /* br, blr, ret and what authenticates */
        a->flow = bits(w, 22, 21) == 1 ? X86_CALL : X86_AWAY;
    }
}

/* --- loads and stores --- */

static void set_vector(struct a64 *a, bool fp, bool math, bool wide)
{
    a->isa = A64_NEON;
    a->kind = fp ? X86_PACKED_FP : X86_PACKED_INT;
    a->math = fp && math;
    a->width_bits = wide ? 128 : 64;
}

static void set_scalar(struct a64 *a, bool math)
{
    a->isa = A64_FP;
    a->kind = X86_SCALAR_FP;
    a->math = math;
}

static void decode_memory(struct a64 *a, uint32_t w)
{
    if (!bits(w, 26, 26))
        return;
    bool structures = bits(w, 29, 28) == 0, single = bits(w, 29, 28) == 3;
    bool quad = single ? bits(w, 31, 30) == 0 && bits(w, 23, 23) : bits(w, 31, 30) == 2;
    if (structures)
        set_vector(a, false, false, bits(w, 30, 30));
    else if (quad)
        set_vector(a, false, false, true);
    else
        set_scalar(a, false);
}

/* --- floating point, one number --- */

/* fsqrt, fabs, fneg and frint compute; fmov and fcvt do not. */
static bool one_source_computes(uint32_t opcode)
{
    return (opcode >= 1 && opcode <= 3) || opcode >= 8;
}

static bool scalar_computes(uint32_t w)
{
    if (bits(w, 24, 24)) /* fmadd and its kin */
        return true;
    if (!bits(w, 21, 21)) /* to and from fixed point */
        return false;
    if (bits(w, 11, 10) == 2) /* fmul, fdiv, fadd... */
        return true;
    return bits(w, 14, 10) == 0x10 && one_source_computes(bits(w, 20, 15));
}

/* --- Advanced SIMD --- */

struct simd_class {
    bool fp, math;
};

static struct simd_class class_of_misc(uint32_t w)
{
    uint32_t opcode = bits(w, 16, 12);
    bool high = bits(w, 23, 23), u = bits(w, 29, 29);
    if (opcode >= 0x0c && opcode <= 0x0e) /* fcmeq and its kin with zero */
        return (struct simd_class){high, false};
    if (opcode == 0x0f) /* fabs, fneg */
        return (struct simd_class){high, high};
    if (opcode == 0x16 || opcode == 0x17) /* fcvtn, fcvtl */
        return (struct simd_class){true, false};
    bool estimates = opcode == 0x1d && high, root = opcode == 0x1f && high && u;
    bool rounds = opcode == 0x18 || opcode == 0x19;
    bool whole = opcode == 0x1c && high; /* urecpe, ursqrte: of integers */
    return (struct simd_class){opcode >= 0x18 && !whole, rounds || estimates || root};
}

/* fmul, fmla and fmls by one element; fmulx, fcmla; fmlal and fmlsl, which widen. */
static struct simd_class class_of_element(uint32_t w)
{
    uint32_t opcode = bits(w, 15, 12);
    bool u = bits(w, 29, 29);
    bool fp = opcode == 9 || (u ? (opcode & 9) == 1 : opcode == 1 || opcode == 5);
    bool widens = u ? opcode == 8 || opcode == 12 : opcode == 0 || opcode == 4;
    return (struct simd_class){fp || widens, fp || widens};
}

/* fcmeq, fcmge, fcmgt, facge, facgt compare; the others of the group compute. */
static bool three_same_computes(uint32_t w)
{
    uint32_t opcode = bits(w, 13, 11);
    bool u = bits(w, 29, 29);
    return opcode != 4 && !(opcode == 5 && u);
}

static struct simd_class class_of_vector(uint32_t w)
{
    bool three_same = !bits(w, 24, 24) && bits(w, 10, 10);
    if (three_same && bits(w, 21, 21))
        return bits(w, 15, 11) >= 0x18 ? (struct simd_class){true, three_same_computes(w)}
                                       : (struct simd_class){0};
    if (three_same && bits(w, 22, 21) == 2 && !bits(w, 15, 14)) /* of 16 bits */
        return (struct simd_class){true, three_same_computes(w)};
    if (three_same && bits(w, 15, 15)) /* fcmla, fcadd; sdot */
        return (struct simd_class){bits(w, 29, 29) && bits(w, 14, 14),
                                   bits(w, 29, 29) && bits(w, 14, 14)};
    if (!bits(w, 24, 24) && bits(w, 11, 10) == 2) {
        if (bits(w, 21, 17) == 0x10 || bits(w, 21, 17) == 0x1c) /* 0x1c: of 16 bits */
            return class_of_misc(w);
        bool across =
            bits(w, 21, 17) == 0x18 && (bits(w, 16, 12) == 0x0c || bits(w, 16, 12) == 0x0f);
        bool pairs = bits(w, 28, 28) && bits(w, 21, 17) == 0x18 && bits(w, 29, 29);
        return (struct simd_class){across || pairs, across || pairs};
    }
    if (bits(w, 24, 24) && !bits(w, 10, 10))
        return class_of_element(w);
    bool shift = bits(w, 24, 23) == 2 && bits(w, 10, 10) && bits(w, 22, 19);
    bool converts = shift && (bits(w, 15, 11) == 0x1c || bits(w, 15, 11) == 0x1f);
    return (struct simd_class){converts, false};
}

static void decode_simd(struct a64 *a, uint32_t w)
{
    if (bits(w, 28, 28) && !bits(w, 30, 30)) {
        set_scalar(a, scalar_computes(w));
        return;
    }
    struct simd_class c = class_of_vector(w);
    bool one = bits(w, 28, 28) && !bits(w, 31, 31); /* one number in a vector register */
    if (one && c.fp)
        set_scalar(a, c.math);
    else
        set_vector(a, c.fp, c.math, bits(w, 31, 30) != 0);
}

/* --- */

static void decode_sve(struct a64 *a, uint32_t w)
{
    bool fp = bits(w, 31, 24) == 0x64 || bits(w, 31, 24) == 0x65;
    set_vector(a, fp, fp, true);
    a->isa = A64_SVE;
}

struct a64 a64_decode(uint32_t word)
{
    struct a64 a = {.isa = A64_BASE, .kind = X86_INTEGER, .flow = X86_GOES_ON};
    uint32_t op0 = bits(word, 28, 25);
    if (op0 == 2)
        decode_sve(&a, word);
    else if ((op0 & 14) == 10)
        decode_branch(&a, word);
    else if ((op0 & 5) == 4)
        decode_memory(&a, word);
    else if ((op0 & 7) == 7)
        decode_simd(&a, word);
    else
        a.bad = op0 == 0 || op0 == 1 || op0 == 3;
    return a;
}
