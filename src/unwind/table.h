/*
 * table.h - how to get from a function to its caller, for every instruction of one ELF file.
 *
 * Made once from .eh_frame, and .debug_frame where the first has nothing to say: each row says,
 * from its address to that of the next row, where the caller's stack begins (the CFA) and where
 * the frame pointer and one more register were saved. Rows are sorted; a lookup is a binary
 * search. Tables are kept on disk by build-id, so that the next recording starts at once.
 *
 *     0        4         6        8        10       11
 *     | pc u32 | cfa s16 | fp s16 | extra s16 | cfa u8 | flags u8 |     12 bytes per row
 *                offset    offset   offset      kind
 *
 * pc counts from the table's base, the lowest address of the file's code. Offsets count words of
 * 8 bytes, so they reach 256 KB: further than any copy of a stack.
 *
 * The extra register is the link register (aarch64), where a return address may still be; on
 * x86-64 it is rbx, which the CFA of ld.so's lazy binding depends on. The return address of
 * x86-64 is always the word below the CFA, but for vfork, which keeps it in a register: a rule that
 * says otherwise becomes CFA_UNKNOWN.
 *
 * Rules that compact rows cannot hold are called unknown, and the walk says that it ended there.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

enum unwind_cfa {
    CFA_SP,       /* stack pointer + offset */
    CFA_FP,       /* frame pointer + offset */
    CFA_EXTRA,    /* extra register + offset */
    CFA_OTHER,    /* another register, its DWARF number in the flags, + offset: see ROW_NUMBER */
    CFA_SP_DEREF, /* what lies at stack pointer + offset (OpenSSL's assembly); see ROW_NUMBER */
    CFA_FP_DEREF, /* what lies at frame pointer + offset (functions that align their stack) */
    CFA_PLT,      /* PLT stubs: sp + 8; from byte number `offset` of the 16-byte stub on, sp + 16 */
    CFA_SIGNAL,   /* a signal frame: all registers are in the context the kernel saved */
    CFA_BOTTOM,   /* the outermost function: the stack ends here, whole */
    CFA_RA_OTHER, /* sp + offset, but the return address is in another register: see ROW_NUMBER */
    CFA_UNKNOWN,  /* a rule that compact rows cannot hold */
    CFA_GAP,      /* between functions: no rule */
    CFA_NO_MAP,   /* in no table: the walk's word for an address that no mapping holds */
};

/*
 * In no table either, but or-ed to what a walk looks up: the next byte starts a function, and no
 * call ends here. As a return address that byte was put on the stack by hand.
 */
enum {
    CFA_PLANTED = 0x80,            /* the bottom of a coroutine: __start_context */
    CFA_PLANTED_TRAMPOLINE = 0x40, /* a signal's: Go's sigreturn */
    CFA_KIND = 0x3f,               /* the rest: how to go on from here otherwise */
};

/* Flags: where the two registers are. Neither SAVED nor AT_FP: unchanged. AT_FP alone: lost. */
enum {
    ROW_FP_SAVED = 1,    /* the frame pointer is at CFA + fp_offset */
    ROW_EXTRA_SAVED = 2, /* the extra register is at CFA + extra_offset */
    ROW_FP_AT_FP = 4,    /* with SAVED: the offset counts from the frame pointer instead */
    ROW_EXTRA_AT_FP = 8,
    ROW_NAMED = 1,        /* of CFA_SIGNAL: there is a symbol for it */
    ROW_NUMBER_SHIFT = 4, /* upper four bits: words to add in the DEREF kinds, or a register */
};

struct unwind_row {
    uint32_t pc;
    int16_t cfa_offset, fp_offset, extra_offset; /* in words of 8 bytes */
    uint8_t cfa;                                 /* enum unwind_cfa */
    uint8_t flags;
};

/* One PT_LOAD with code: from file offset to address. */
struct unwind_segment {
    uint64_t vaddr, offset, size;
};

struct unwind_table {
    uint64_t base; /* address of pc 0 */
    struct unwind_row *rows;
    size_t n_rows;
    struct text mapped; /* the file that the rows lie in; empty = they are a block of their own */
    /* By 4 KiB of code: how many rows are before it. NULL = a small table has none. The search for
     * a row in the million of a compiler would miss the caches twenty times. */
    uint32_t *before;
    size_t n_before;
    struct unwind_segment *segments;
    size_t n_segments;
    uint16_t machine;          /* EM_X86_64 or EM_AARCH64 */
    char build_id[2 * 64 + 1]; /* lower-case hex; "" where the file has none */
};

/*
 * Read the rules of the ELF file at PATH. An ELF file without any rules gives a table without
 * rows: only what is not ELF for 64 bits, cut or hostile is an error. A damaged entry among the
 * rules is left out, a damaged length ends them. Free with unwind_table_free().
 */
int unwind_table_load(const char *path, struct unwind_table **ret, struct err *err);

/* The same of an open file; PATH is for messages. FD stays open. */
int unwind_table_load_fd(int fd, const char *path, struct unwind_table **ret, struct err *err);

/* The same from an image in memory (the vdso, or a test). No cache. */
int unwind_table_parse(const void *image, size_t n, struct unwind_table **ret, struct err *err);

void unwind_table_free(struct unwind_table *t); /* NULL is fine */

/* The row for an address of the file (vaddr), or NULL where there is no rule. O(log rows). */
const struct unwind_row *unwind_table_find(const struct unwind_table *t, uint64_t vaddr);

/* The same, but the row of a gap where there is one; NULL only before the first row. */
const struct unwind_row *unwind_table_row(const struct unwind_table *t, uint64_t vaddr);

/* The file's address (vaddr) of a file offset, by PT_LOAD; false when no segment has it. */
bool unwind_table_vaddr(const struct unwind_table *t, uint64_t offset, uint64_t *ret);
