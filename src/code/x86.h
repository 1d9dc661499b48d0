/*
 * x86.h - length, kind and vector class of x86-64 instructions, from their bytes.
 *
 * Knows no names and prints nothing; that is a disassembler's work. It is there because whole
 * libraries are counted with it (a hundred times faster than making text of every
 * instruction), and because it knows the AVX-512 that Debian's disassembler does not.
 *
 *     prefixes (66 67 F0 F2 F3 segment)* REX? opcode ModRM? SIB? displacement? immediate?
 *     opcode:  op | 0F op | 0F 38 op | 0F 3A op | C5 vex op | C4 vex vex op | 62 evex x3 op
 *
 * Capstone, making text of every instruction, reads 8 MB of code a second, this 100. The tests hold
 * its counts against objdump's.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_isa {
    X86_BASE, /* general registers: integers, addresses, branches */
    X86_X87,
    X86_MMX,
    X86_SSE, /* to SSE 4.2, with AES and SHA in the old encoding */
    X86_AVX,
    X86_AVX2, /* with FMA: the two came together and compilers switch them on together */
    X86_AVX512,
    X86_ISAS,
};

enum x86_kind {
    X86_INTEGER,
    X86_SCALAR_FP,  /* one number: ss, sd, sh, x87 */
    X86_PACKED_FP,  /* several: ps, pd, ph */
    X86_PACKED_INT, /* what vector registers do else, moves and shuffles included */
    X86_KINDS,
};

enum x86_flow {
    X86_GOES_ON,
    X86_CALL,
    X86_BRANCH, /* conditional, to a known place */
    X86_JUMP,   /* to a known place */
    X86_AWAY,   /* return, indirect jump, trap: the next instruction does not follow */
};

/* CPU features that an instruction needs; bits of x86.needs. */
enum x86_feature {
    X86_HAS_SSE3,
    X86_HAS_SSSE3,
    X86_HAS_SSE41,
    X86_HAS_SSE42,
    X86_HAS_AES,
    X86_HAS_PCLMUL,
    X86_HAS_SHA,
    X86_HAS_AVX,
    X86_HAS_F16C,
    X86_HAS_FMA,
    X86_HAS_AVX2,
    X86_HAS_BMI,
    X86_HAS_AVX512,
    X86_FEATURES,
};

struct x86 {
    uint8_t length; /* at least 1, also where the bytes make no sense */
    uint8_t isa, kind, flow;
    bool bad;            /* no instruction that we know */
    bool math;           /* computes with floating point, not only moves or shuffles it */
    uint16_t width_bits; /* of the vector; 0 where there is none */
    uint32_t needs;      /* 1 << enum x86_feature */
    int64_t target;      /* of branches, jumps and direct calls: from the instruction's start */
};

/* The instruction at AT, of which N bytes may be read; N must not be 0. */
struct x86 x86_decode(const uint8_t *at, size_t n);

/* "avx2". */
const char *x86_feature_name(enum x86_feature f);

/* The same as the kernel calls it in /proc/cpuinfo. */
const char *x86_feature_flag(enum x86_feature f);

/* "AVX2" */
const char *x86_isa_name(enum x86_isa isa);
