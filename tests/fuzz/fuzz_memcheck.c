/*
 * fuzz_memcheck.c - any bytes as the XML of valgrind's checkers.
 */
#include "suite/memcheck.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Kept and counted must agree. */
static void check(const struct memcheck *m)
{
    uint64_t findings = 0;
    for (size_t i = 0; i < m->kinds.n; i++)
        findings += m->kinds.at[i].findings;
    if (findings != m->findings || m->first.n > MEMCHECK_KEPT || m->kinds.n > MEMCHECK_KINDS)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct memcheck m;
    struct reader in;
    struct err err;
    reader_open_memory(&in, bytes, n);
    if (memcheck_read(&m, &in, &err) == 0)
        check(&m);
    memcheck_done(&m);
    reader_close(&in);
    return 0;
}
