/*
 * fuzz_unwind.c - any bytes as an ELF file whose unwind rules are wanted.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct unwind_table *t;
    struct err err;
    uint64_t vaddr;
    if (unwind_table_parse(bytes, n, &t, &err) != 0)
        return 0;
    check(t);
    for (uint64_t i = 0; i < n; i += 64)
        if (unwind_table_vaddr(t, i, &vaddr))
            unwind_table_find(t, vaddr);
    unwind_table_free(t);
    return 0;
}
