/*
 * a64.h - kind and vector class of AArch64 instructions, from their four bytes.
 *
 * Kinds and flows are those of x86.h. What computes in SVE is told from what moves by the group
 * of its encoding only.
 */
#pragma once
#include "code/x86.h"

enum a64_isa {
    A64_BASE,
    A64_FP,   /* floating point, one number */
    A64_NEON, /* Advanced SIMD, 64 or 128 bits */
    A64_SVE,  /* of unknown width, 128 bits or more */
    A64_ISAS,
};

struct a64 {
    uint8_t isa, kind, flow;
    bool bad;            /* reserved: no instruction */
    bool math;           /* computes with floating point */
    uint16_t width_bits; /* of the vector; 0 where there is none */
    int64_t target;      /* of branches and jumps: from the instruction's start */
};

struct a64 a64_decode(uint32_t word);

/* "NEON" */
const char *a64_isa_name(enum a64_isa isa);
