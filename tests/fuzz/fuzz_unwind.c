/*
 * fuzz_unwind.c - any bytes as an ELF file whose unwind rules or allocator are wanted, and as code
 * without rules.
 */
#include "record/allocator.h"
#include "unwind/epilogue.h"
#include "unwind/insn.h"
#include "unwind/table.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* What every lookup counts on. */
static void check(const struct unwind_table *t)
{
    for (size_t i = 1; i < t->n_rows; i++)
        if (t->rows[i].pc <= t->rows[i - 1].pc || t->rows[i].cfa >= CFA_NO_MAP)
            abort();
}

struct code {
    const uint8_t *at;
    size_t n;
};

static size_t read_code(void *from, uint64_t pc, uint8_t *ret, size_t n)
{
    const struct code *c = from;
    if (pc >= c->n)
        return 0;
    n = n < c->n - pc ? n : c->n - pc;
    memcpy(ret, c->at + pc, n);
    return n;
}

/* Rules read from any bytes are rules that a walk can follow. */
static void check_code(const uint8_t *bytes, size_t n)
{
    struct code c = {bytes, n};
    struct epilogue_code code = {read_code, &c};
    struct unwind_row rows[EPILOGUE_ROWS];
    for (uint64_t pc = 0; pc < n && pc < 16; pc += 5) {
        epilogue_rows(&code, pc, rows);
        for (int i = 0; i < EPILOGUE_ROWS; i++)
            if (rows[i].cfa > CFA_UNKNOWN || (rows[i].cfa == CFA_SP && rows[i].cfa_offset < 1))
                abort();
    }
    for (size_t i = 0; i < n && i < 64; i++)
        insn_call_before(bytes + i, i);
    if (epilogue_entry_bytes(bytes, n < 256 ? n : 256) > n)
        abort();
}

/* Functions of an allocator are in the file. */
static void check_allocator(const uint8_t *bytes, size_t n)
{
    struct objfile o;
    struct err err;
    struct allocator a = {0};
    if (objfile_open_memory(&o, bytes, n, &err) == 0)
        allocator_read(&a, &o);
    objfile_done(&o);
    if (a.n > ALLOCATOR_PLACES)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct unwind_table *t;
    struct err err;
    uint64_t vaddr;
    check_code(bytes, n);
    check_allocator(bytes, n);
    if (unwind_table_parse(bytes, n, &t, &err) != 0)
        return 0;
    check(t);
    for (uint64_t i = 0; i < n; i += 64)
        if (unwind_table_vaddr(t, i, &vaddr))
            unwind_table_find(t, vaddr);
    unwind_table_free(t);
    return 0;
}
