/* knownleaks.c - files of known leaks; see knownleaks.h. */
#include "suite/knownleaks.h"
#include "base/reader.h"

enum { KNOWNLEAKS_MAX_BYTES = 16 << 20 };

int knownleaks_read(const char *const *paths, size_t n, struct suppressions *ret, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct reader in;
        struct err why;
        if (reader_open(&in, paths[i], err) != 0)
            return -1;
        struct text all = reader_peek(&in, KNOWNLEAKS_MAX_BYTES + 1);
        int rc = all.n <= KNOWNLEAKS_MAX_BYTES
                     ? suppressions_parse(ret, all, &why)
                     : err_set(&why, EXIT_INPUT, "more than 16 MiB is no list of known leaks");
        reader_close(&in);
        if (rc != 0)
            return err_set(err, why.code, "%s: %s", paths[i], why.text);
    }
    return 0;
}
