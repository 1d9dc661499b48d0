/* flat_canon.c - rows by a name without what compilers append. */
#include "analysis/canon.h"
#include "analysis/flat.h"

size_t flat_find_canonical(const struct flat *f, struct text name, bool *ret_in_set)
{
    autobuf struct buf canon = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        canon.n = 0;
        canon_add(&canon, flat_name(f, i));
        ret_in_set[i] = f->rows.at[i].total > 0 && canon.n == name.n &&
                        (!name.n || memcmp(canon.at, name.at, name.n) == 0);
        n += ret_in_set[i];
    }
    return n;
}
