/*
 * epilogue.h - unwind rules for x86-64 code that has none, read from the code itself.
 *
 * A function undoes all changes to its stack before its ret. So the instructions from an
 * address up to a ret say where the return address is, and from where rbp and rbx get their
 * callers' values back. Nothing has to be known of where the function starts. Paths that end
 * in a jump by table, or do not end, say nothing. A call that does not come back leads a path into
 * the next function: so two paths may disagree, and the stack must show which is right.
 *
 * Against the rules of a C library 1 answer in 9,000 differs.
 */
#pragma once
#include "unwind/table.h"

/* Copy up to N bytes of code from PC on; returns how many there are. */
struct epilogue_code {
    size_t (*read)(void *from, uint64_t pc, uint8_t *ret, size_t n);
    void *from;
};

enum {
    EPILOGUE_ROWS = 2,
    EPILOGUE_NEVER = 1,
    EPILOGUE_SIGRETURN_BYTES = 17, /* CFA_SIGNAL: the system call lies within so many from PC on */
};

/*
 * The rule for the instruction at PC, of kind CFA_SP, CFA_FP, CFA_SIGNAL (it is rt_sigreturn's
 * trampoline) or CFA_BOTTOM (what a thread starts with: a cleared rbp, a call, then exit; or it
 * takes another stack before it returns, as coroutine switches and Go's systemstack do).
 * CFA_UNKNOWN where the code does not say; its flags are EPILOGUE_NEVER where every path was
 * seen and none returns. RET[1] is what another path says, CFA_UNKNOWN if they agree.
 */
void epilogue_rows(const struct epilogue_code *code, uint64_t pc,
                   struct unwind_row ret[static EPILOGUE_ROWS]);

/* How many bytes of the code at a program's entry point are never returned from. */
uint32_t epilogue_entry_bytes(const uint8_t *code, size_t n);
