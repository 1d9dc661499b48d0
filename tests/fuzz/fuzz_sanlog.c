/*
 * fuzz_sanlog.c - any bytes as what a sanitizer printed: each finding is one line.
 */
#include "suite/sanlog.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const marks[] = {
        "ERROR: AddressSanitizer: ", "WARNING: ThreadSanitizer: ", ": runtime error: "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct sanlog_opts o = {.mark = marks[i], .root = "/src/app", .most = 5};
        autobuf struct buf b = {0};
        size_t found = sanlog_read((struct text){(const char *)bytes, n}, &o, &b), lines = 0;
        for (size_t k = 0; k < b.n; k++)
            lines += b.at[k] == '\n';
        if (lines != (found > o.most ? o.most + 1 : found))
            abort();
    }
    return 0;
}
