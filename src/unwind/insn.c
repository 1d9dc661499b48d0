#include "unwind/insn.h"
#include "base/x86op.h"

/* An instruction while its bytes are read. */
struct decoder {
    const uint8_t *at, *end, *start;
    bool cut, operand16, address32;
    bool wide, rex_r, rex_b, rex_x; /* of REX */
    bool legacy;                    /* neither VEX nor EVEX */
    uint8_t map;                    /* 0; 1: 0F; 2: 0F 38; 3: 0F 3A */
    uint8_t op, modrm;
    uint8_t base; /* register of a memory operand without an index, else REG_NONE */
    int64_t displacement;
};

static uint8_t insn_byte(struct decoder *d)
{
    if (d->at < d->end)
        return *d->at++;
    d->cut = true;
    return 0;
}

static int64_t insn_signed(struct decoder *d, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)insn_byte(d) << 8 * i;
    int shift = 64 - 8 * bytes;
    return bytes ? (int64_t)(v << shift) >> shift : 0;
}

/* --- prefixes and opcode --- */

static bool is_prefix(struct decoder *d, uint8_t c)
{
    d->operand16 |= c == 0x66;
    d->address32 |= c == 0x67;
    return c == 0x66 || c == 0x67 || c == 0xf2 || c == 0xf3 || c == 0xf0 || c == 0x2e ||
           c == 0x36 || c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65;
}

static void read_plain_opcode(struct decoder *d, uint8_t c)
{
    d->legacy = true;
    if (c >= 0x40 && c <= 0x4f) {
        d->wide = c & 8, d->rex_r = c & 4, d->rex_x = c & 2, d->rex_b = c & 1;
        c = insn_byte(d);
    }
    if (c == 0x0f) {
        d->map = 1;
        c = insn_byte(d);
        if (c == 0x38 || c == 0x3a) {
            d->map = c == 0x38 ? 2 : 3;
            c = insn_byte(d);
        }
    }
    d->op = c;
}

/* Vector instructions: only their length matters. */
static void read_vector_opcode(struct decoder *d, uint8_t c)
{
    uint8_t first = insn_byte(d);
    d->map = c == 0xc5 ? 1 : first & (c == 0x62 ? 7 : 0x1f);
    int more = c == 0xc5 ? 0 : c == 0x62 ? 2 : 1;
    insn_signed(d, more);
    d->op = insn_byte(d);
}

static void read_opcode(struct decoder *d)
{
    uint8_t c = insn_byte(d);
    while (is_prefix(d, c) && !d->cut)
        c = insn_byte(d);
    if (c == 0xc4 || c == 0xc5 || c == 0x62)
        read_vector_opcode(d, c);
    else
        read_plain_opcode(d, c);
}

/* --- operands --- */

static bool has_modrm(const struct decoder *d)
{
    if (!d->legacy)
        return !(d->map == 1 && d->op == 0x77);
    if (d->map > 1)
        return true;
    return d->map == 1 ? x86op_has_modrm_0f(d->op) : x86op_has_modrm(d->op);
}

static unsigned mod_of(const struct decoder *d)
{
    return d->modrm >> 6;
}

static uint8_t reg_of(const struct decoder *d)
{
    return (uint8_t)((d->modrm >> 3 & 7) | (d->rex_r ? 8 : 0));
}

static uint8_t rm_of(const struct decoder *d)
{
    return (uint8_t)((d->modrm & 7) | (d->rex_b ? 8 : 0));
}

static void read_modrm(struct decoder *d)
{
    d->modrm = insn_byte(d);
    unsigned mod = mod_of(d), rm = d->modrm & 7, low = rm;
    if (mod == 3)
        return;
    d->base = rm_of(d);
    if (rm == 4) {
        uint8_t sib = insn_byte(d);
        bool index = (sib >> 3 & 7) != 4 || d->rex_x;
        low = sib & 7;
        d->base = index ? REG_NONE : (uint8_t)(low | (d->rex_b ? 8 : 0));
    }
    bool bare = mod == 0 && low == 5; /* no register: rip, or an absolute address */
    if (bare)
        d->base = REG_NONE;
    d->displacement = insn_signed(d, bare || mod == 2 ? 4 : mod == 1);
}

static int immediate_bytes_plain(const struct decoder *d)
{
    uint8_t op = d->op;
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) || op == 0xeb)
        return 1;
    if (op == 0xe8 || op == 0xe9)
        return 4;
    return x86op_immediate(op, d->modrm, (struct x86op_sizes){d->operand16, d->address32, d->wide});
}

static int immediate_bytes(const struct decoder *d)
{
    uint8_t op = d->op;
    if (d->map == 0)
        return immediate_bytes_plain(d);
    if (d->map == 3)
        return 1;
    if (d->map != 1)
        return 0;
    if (d->legacy && (op & 0xf0) == 0x80)
        return 4;
    return (op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6) ||
           (d->legacy && (op == 0xa4 || op == 0xac || op == 0xba));
}

/* --- meaning --- */

static struct insn made(enum insn_kind kind, uint8_t reg, int64_t value)
{
    return (struct insn){.kind = kind, .reg = reg, .value = value};
}

/* Something is written to REG: for most registers nobody cares. */
static struct insn overwrites(uint8_t reg)
{
    if (reg == REG_SP)
        return made(INSN_SP_LOST, reg, 0);
    return made(reg == REG_AX || reg == REG_BP || reg == REG_BX ? INSN_OVERWRITE : INSN_PLAIN, reg,
                0);
}

/* mov FROM, TO between registers of 64 bits. */
static struct insn copies(uint8_t from, uint8_t to)
{
    if (to == REG_SP && from == REG_BP)
        return made(INSN_SP_FROM, to, 0);
    if (to == REG_BP && from == REG_SP)
        return made(INSN_FP_FROM, to, 0);
    return overwrites(to);
}

/* lea */
static struct insn address(const struct decoder *d)
{
    uint8_t to = reg_of(d);
    if (d->wide && to == REG_SP && d->base == REG_SP)
        return made(INSN_SP_ADD, to, d->displacement);
    if (d->wide && to == REG_SP && d->base == REG_BP)
        return made(INSN_SP_FROM, to, d->displacement);
    if (d->wide && to == REG_BP && d->base == REG_SP)
        return made(INSN_FP_FROM, to, d->displacement);
    return overwrites(to);
}

/* mov from memory or a register */
static struct insn loads(const struct decoder *d)
{
    uint8_t to = reg_of(d);
    if (mod_of(d) == 3)
        return d->wide ? copies(rm_of(d), to) : overwrites(to);
    if (d->wide && to != REG_SP && (d->base == REG_SP || d->base == REG_BP)) {
        struct insn i = made(INSN_LOAD, to, d->displacement);
        i.base = d->base;
        return i;
    }
    return overwrites(to);
}

/* add, or, adc, sbb, and, sub, xor, cmp with an immediate */
static struct insn computes(const struct decoder *d, int64_t value)
{
    unsigned what = d->modrm >> 3 & 7;
    if (mod_of(d) != 3 || what == 7)
        return made(INSN_PLAIN, 0, 0);
    if (rm_of(d) == REG_SP && d->wide && (what == 0 || what == 5))
        return made(INSN_SP_ADD, REG_SP, what == 0 ? value : -value);
    return overwrites(rm_of(d));
}

/* FF: inc, dec, call, far call, jmp, far jmp, push */
static struct insn of_ff(const struct decoder *d)
{
    switch (d->modrm >> 3 & 7) {
    case 2:
    case 3:
        return made(INSN_CALL, 0, 0);
    case 4:
        return made(mod_of(d) == 0 && (d->modrm & 7) == 5 ? INSN_TAIL : INSN_AWAY, 0, 0);
    case 5:
        return made(INSN_AWAY, 0, 0);
    case 6:
        return made(INSN_PUSH, 0, 0);
    default:
        return mod_of(d) == 3 ? overwrites(rm_of(d)) : made(INSN_PLAIN, 0, 0);
    }
}

static bool is_branch(uint8_t op)
{
    return (op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3);
}

/* Arithmetic between registers: the direction bit says which operand is written. */
static struct insn arithmetic(const struct decoder *d)
{
    bool compare = (d->op & 0x38) == 0x38, to_reg = d->op & 2;
    if (compare || (!to_reg && mod_of(d) != 3))
        return made(INSN_PLAIN, 0, 0);
    uint8_t to = to_reg ? reg_of(d) : rm_of(d);
    bool zero = (d->op & 0x3e) == 0x30 + (to_reg ? 2 : 0) && d->op & 1 && mod_of(d) == 3 &&
                reg_of(d) == rm_of(d);
    return zero && to != REG_SP ? made(INSN_SET, to, 0) : overwrites(to);
}

static struct insn meaning_plain(const struct decoder *d, int64_t value)
{
    uint8_t op = d->op, low = (uint8_t)((op & 7) | (d->rex_b ? 8 : 0));
    int64_t target = (int64_t)((uint64_t)value + (uint64_t)(d->at - d->start));
    if (op < 0x40 && (op & 7) < 4)
        return arithmetic(d);
    if (op >= 0x50 && op <= 0x57)
        return made(INSN_PUSH, low, 0);
    if (op >= 0x58 && op <= 0x5f)
        return low == REG_SP ? overwrites(low) : made(INSN_POP, low, 0);
    if (is_branch(op))
        return made(INSN_BRANCH, 0, target);
    if (op >= 0xb8 && op <= 0xbf)
        return low == REG_SP ? overwrites(low) : made(INSN_SET, low, value);
    if (op >= 0xb0 && op <= 0xb7)
        return made(INSN_SET_LOW, low, value);
    switch (op) {
    case 0x68:
    case 0x6a:
    case 0x9c:
        return made(INSN_PUSH, REG_NONE, 0);
    case 0x8f:
    case 0x9d:
        return made(INSN_POP, REG_NONE, 0);
    case 0x81:
    case 0x83:
        return computes(d, value);
    case 0x89:
        if (mod_of(d) != 3)
            return made(INSN_PLAIN, 0, 0);
        return d->wide ? copies(reg_of(d), rm_of(d)) : overwrites(rm_of(d));
    case 0x8b:
        return loads(d);
    case 0x8d:
        return address(d);
    case 0x63:
    case 0x69:
    case 0x6b:
        return overwrites(reg_of(d));
    case 0xc7:
        if (mod_of(d) != 3)
            return made(INSN_PLAIN, 0, 0);
        return rm_of(d) == REG_SP ? overwrites(REG_SP) : made(INSN_SET, rm_of(d), value);
    case 0xc9:
        return made(INSN_LEAVE, 0, 0);
    case 0xc2:
    case 0xc3:
        return made(INSN_RET, 0, value & 0xffff);
    case 0xe8:
        return made(INSN_CALL, 0, target);
    case 0xe9:
    case 0xeb:
        return made(INSN_JUMP, 0, target);
    case 0x90:
        return made(INSN_NOP, 0, 0);
    case 0xcc:
    case 0xf4:
        return made(INSN_STOP, 0, 0);
    case 0xff:
        return of_ff(d);
    default:
        return made(INSN_PLAIN, 0, 0);
    }
}

static struct insn meaning_0f(const struct decoder *d, int64_t value)
{
    if (d->op == 0x05)
        return made(INSN_SYSCALL, 0, 0);
    if (d->op == 0x0b)
        return made(INSN_STOP, 0, 0);
    if (d->op == 0x1f)
        return made(INSN_NOP, 0, 0);
    if ((d->op & 0xf0) == 0x80)
        return made(INSN_BRANCH, 0, value + (d->at - d->start));
    if ((d->op & 0xf0) == 0x40 || d->op == 0xb6 || d->op == 0xb7 || d->op == 0xbe || d->op == 0xbf)
        return overwrites(reg_of(d)); /* cmov, movzx, movsx */
    return made(INSN_PLAIN, 0, 0);
}

/* Not in 64-bit code. */
static bool is_bad(const struct decoder *d)
{
    static const uint8_t bad[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37,
                                  0x3f, 0x60, 0x61, 0x82, 0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea};
    for (size_t i = 0; i < sizeof bad && d->map == 0 && d->legacy; i++)
        if (bad[i] == d->op)
            return true;
    return d->cut || d->at - d->start > INSN_MAX_BYTES;
}

struct insn insn_decode(const uint8_t *at, size_t n)
{
    size_t most = n < INSN_MAX_BYTES + 1 ? n : INSN_MAX_BYTES + 1;
    struct decoder d = {.at = at, .end = at + most, .start = at, .base = REG_NONE};
    struct insn i = made(INSN_PLAIN, 0, 0);
    read_opcode(&d);
    if (has_modrm(&d))
        read_modrm(&d);
    int64_t value = insn_signed(&d, immediate_bytes(&d));
    if (is_bad(&d))
        return (struct insn){.kind = INSN_BAD, .length = 1};
    if (d.legacy && d.map < 2)
        i = d.map ? meaning_0f(&d, value) : meaning_plain(&d, value);
    /* Operands of 16 bits are not for the stack pointer, but for nops and short moves. */
    i.length = (uint8_t)(d.at - d.start);
    return i;
}

bool insn_call_before(const uint8_t *end, size_t n)
{
    if (n >= 5 && end[-5] == 0xe8)
        return true;
    /* call by register or memory: two to eight bytes with prefixes; the opcode's place varies */
    for (size_t back = 2; back <= 7 && back <= n; back++) {
        const uint8_t *at = end - back;
        if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
            continue;
        struct insn i = insn_decode(at, back);
        if (i.kind == INSN_CALL && i.length == back)
            return true;
    }
    return false;
}
