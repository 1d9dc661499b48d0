/*
 * table.h - how to get from a function to its caller, for every instruction of one ELF file.
 *
 * Made once from .eh_frame (and .debug_frame where that is all there is): each row says, from
 * its address to that of the next row, where the caller's stack begins (the CFA) and where the
 * return address and the frame pointer were saved. Rows are sorted; a lookup is a binary search.
 * Tables are kept on disk by build-id, so that the next recording starts at once.
 *
 *     0        4         6        8        10       11
 *     | pc u32 | cfa s16 | fp s16 | ra s16 | cfa u8 | flags u8 |     12 bytes a row
 *                offset    offset   offset   kind
 *
 * pc counts from the table's base, the lowest address of the file's code.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

enum unwind_cfa {
    CFA_SP,      /* stack pointer + offset */
    CFA_FP,      /* frame pointer + offset */
    CFA_PLT,     /* the expression of PLT stubs: sp + 8, or sp + 16 late in the stub */
    CFA_SIGNAL,  /* a signal frame: all registers are in the context the kernel saved */
    CFA_BOTTOM,  /* the outermost function: the stack ends here, whole */
    CFA_UNKNOWN, /* a rule that compact rows cannot hold */
    CFA_GAP,     /* between functions: no rule */
};

enum { ROW_FP_SAVED = 1, ROW_RA_SAVED = 2 }; /* flags: fp/ra at CFA + offset; else unchanged */

struct unwind_row {
    uint32_t pc;
    int16_t cfa_offset, fp_offset, ra_offset;
    uint8_t cfa; /* enum unwind_cfa */
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
    struct unwind_segment *segments;
    size_t n_segments;
    uint16_t machine;       /* EM_X86_64 or EM_AARCH64 */
    char build_id[2 * 64 + 1]; /* lower-case hex; "" where the file has none */
};

/*
 * Read the rules of the ELF file at PATH. An ELF file without any rules gives a table without
 * rows: only what is not ELF, cut or hostile is an error. Free with unwind_table_free().
 */
int unwind_table_load(const char *path, struct unwind_table **ret, struct err *err);

/* The same from an image in memory (the vdso, or a test). No cache. */
int unwind_table_parse(const void *image, size_t n, struct unwind_table **ret, struct err *err);

void unwind_table_free(struct unwind_table *t); /* NULL is fine */

/* The row for an address of the file (vaddr), or NULL where there is no rule. O(log rows). */
const struct unwind_row *unwind_table_find(const struct unwind_table *t, uint64_t vaddr);

/* The file's address (vaddr) of a file offset, by PT_LOAD; false when no segment has it. */
bool unwind_table_vaddr(const struct unwind_table *t, uint64_t offset, uint64_t *ret);

/* Where tables are kept: $XDG_CACHE_HOME/kelvin/unwind or ~/.cache/..., or NULL for nowhere. */
char *unwind_cache_folder(void);
