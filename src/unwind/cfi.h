/*
 * cfi.h - call frame information, the rules of .eh_frame and .debug_frame, into rows.
 *
 * The sections hold entries of two kinds: a CIE has what many functions share, an FDE the rules
 * of one function. Rules are a program: "from here on the CFA is sp + 16" and so on.
 */
#pragma once
#include "base/cursor.h"
#include "base/vec.h"
#include "unwind/arch.h"
#include "unwind/table.h"

/* The rows of one FDE: rows[first] to rows[first + n - 1]; its code is start..end - 1. */
struct cfi_span {
    uint32_t start, end; /* from the table's base */
    uint32_t first, n;
    uint32_t rank; /* of spans with the same start the lower rank wins */
};

struct cfi_rows {
    const struct arch *arch;
    uint64_t base;
    VEC(struct unwind_row) rows;
    VEC(struct cfi_span) spans;
};

/* What a CIE says. */
struct cfi_cie {
    const struct arch *arch;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra;               /* DWARF number of the return address */
    uint8_t version, encoding; /* DW_EH_PE_*: of an FDE's addresses */
    bool sized;                /* augmentation data has a length ('z') */
    bool signal;               /* 'S': a signal frame */
    struct cursor program;
};

struct cfi_section {
    struct text bytes;
    uint64_t vaddr;
    bool is_debug; /* .debug_frame */
};

/* Add the rows of every FDE that makes sense. */
void cfi_parse(struct cfi_rows *to, const struct cfi_section *section);

/* Run the program of one FDE, whose code is START..END - 1, and add its rows. */
void cfi_run(struct cfi_rows *to, const struct cfi_cie *cie, struct cursor program,
             struct cfi_span span);

/* Sort, settle overlaps, put rows of gaps between functions, join equal neighbours. */
void cfi_finish(struct cfi_rows *rows, struct unwind_table *to);

/* What encoded pointers count from: VADDR is the address of BYTES; DATA that of a base. */
struct cfi_bases {
    uint64_t vaddr;
    const uint8_t *bytes;
    uint64_t data;
};

/* A pointer in one of the DW_EH_PE_* encodings; sets c->bad for invalid ones. */
uint64_t cfi_pointer(struct cursor *c, uint8_t encoding, const struct cfi_bases *bases);

/* Signed LEB128. */
int64_t cfi_sleb(struct cursor *c);
