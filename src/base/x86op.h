/*
 * x86op.h - which operands follow an opcode of x86-64: what every decoder has to agree on.
 *
 * One decoder reads what instructions do to the stack (unwind/insn.h), the other their kind and
 * vector class (code/x86.h). Neither needs the other, both need to know how long an instruction is.
 * Displacements of branches are left to them: they are where the decoders look for flow.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Opcodes of one byte. */
static inline bool x86op_has_modrm(uint8_t op)
{
    if (op < 0x40)
        return (op & 7) < 4;
    return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) ||
           (op & 0xfe) == 0xc0 || (op & 0xfe) == 0xc6 || (op >= 0xd0 && op <= 0xd3) ||
           (op >= 0xd8 && op <= 0xdf) || (op & 0xfe) == 0xf6 || op >= 0xfe;
}

/* Those behind 0F, in their old encoding. */
static inline bool x86op_has_modrm_0f(uint8_t op)
{
    return !((op >= 0x04 && op <= 0x0c) || op == 0x0e || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
             (op >= 0x80 && op <= 0x8f) || (op >= 0xa0 && op <= 0xa2) ||
             (op >= 0xa8 && op <= 0xaa) || (op >= 0xc8 && op <= 0xcf));
}

struct x86op_sizes {
    bool operand16, address32, wide; /* prefixes 66 and 67, REX.W */
};

/* Bytes of the immediate of an opcode of one byte, branches left out. MODRM: 0 where it has none.
 */
static inline int x86op_immediate(uint8_t op, uint8_t modrm, struct x86op_sizes sizes)
{
    uint8_t reg = modrm >> 3 & 7;
    int word = sizes.operand16 ? 2 : 4;
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? word : 0;
    if (op >= 0xb8 && op <= 0xbf)
        return sizes.wide ? 8 : word;
    if (op >= 0xa0 && op <= 0xa3)
        return sizes.address32 ? 4 : 8;
    switch (op) {
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7: /* clang-format off */
        return word;
    case 0x6a: case 0x6b: case 0x80: case 0x82: case 0x83: case 0xa8: case 0xc0: case 0xc1:
    case 0xc6: case 0xcd: case 0xd4: case 0xd5: case 0xe4: case 0xe5: case 0xe6: case 0xe7:
        return 1; /* clang-format on */
    case 0xc2:
    case 0xca:
        return 2;
    case 0xc8:
        return 3;
    case 0xf6:
        return reg < 2 ? 1 : 0;
    case 0xf7:
        return reg < 2 ? word : 0;
    default:
        return op >= 0xb0 && op <= 0xb7 ? 1 : 0;
    }
}
