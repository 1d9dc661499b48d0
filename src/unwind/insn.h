/*
 * insn.h - what an x86-64 instruction does to the stack, from its bytes.
 *
 * For code that came without unwind rules. Only length, flow, and changes of rsp, rbp and rbx are
 * decoded; all else is INSN_PLAIN.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_kind {
    INSN_PLAIN,
    INSN_BAD, /* no instruction that we know, or cut short */
    INSN_NOP,
    INSN_CALL,      /* comes back with rsp as it was */
    INSN_RET,       /* `value` bytes of arguments are popped as well */
    INSN_JUMP,      /* to `value`, counted from the instruction's start */
    INSN_BRANCH,    /* there or on */
    INSN_AWAY,      /* by a register or a table: to somewhere in this function, or out of it */
    INSN_TAIL,      /* by a fixed place in memory: out, like a call whose ret is ours */
    INSN_STOP,      /* hlt, ud2, int3: nothing follows */
    INSN_SYSCALL,   /* `syscall` */
    INSN_PUSH,      /* rsp goes down 8 bytes */
    INSN_POP,       /* `reg` is loaded from the top, or REG_NONE; rsp goes up 8 bytes */
    INSN_SP_ADD,    /* rsp += value */
    INSN_SP_FROM,   /* rsp = rbp + value */
    INSN_SP_LOST,   /* rsp = something else */
    INSN_FP_FROM,   /* rbp = rsp + value */
    INSN_LEAVE,     /* rsp = rbp, pop rbp */
    INSN_LOAD,      /* reg = what lies at base + value; base is rsp or rbp */
    INSN_SET,       /* reg = value */
    INSN_SET_LOW,   /* the lowest byte of reg = value */
    INSN_OVERWRITE, /* reg = something else */
};

enum insn_reg { REG_AX, REG_BX = 3, REG_SP, REG_BP, REG_NONE = 16 };

struct insn {
    enum insn_kind kind;
    uint8_t length;    /* at least 1 */
    uint8_t reg, base; /* by the processor's numbers: rax rcx rdx rbx rsp rbp rsi rdi r8 .. */
    int64_t value;
};

enum { INSN_MAX_BYTES = 15 };

/* The instruction at AT, of which N bytes may be read. */
struct insn insn_decode(const uint8_t *at, size_t n);

/*
 * Whether a call instruction may end at END, of which the N bytes before may be read: at least 7
 * for a full answer. Data can look like one; what is no call is surely none.
 */
bool insn_call_before(const uint8_t *end, size_t n);
