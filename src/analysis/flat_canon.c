/* flat_canon.c - rows by a name without what compilers append. */
#include "analysis/canon.h"
#include "analysis/flat.h"

static bool is_name(struct text canon, struct text name, bool overloads)
{
    bool starts = canon.n >= name.n && (!name.n || memcmp(canon.at, name.at, name.n) == 0);
    if (overloads)
        return starts && name.n && canon.n > name.n && canon.at[name.n] == '(';
    return starts && canon.n == name.n;
}

static size_t flat_find_named(const struct flat *f, struct text name, bool overloads,
                              bool *ret_in_set)
{
    autobuf struct buf canon = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < f->rows.n; i++) {
        canon.n = 0;
        canon_add(&canon, flat_name(f, i));
        ret_in_set[i] = f->rows.at[i].total > 0 && is_name(buf_text(&canon), name, overloads);
        n += ret_in_set[i];
    }
    return n;
}

size_t flat_find_canonical(const struct flat *f, struct text name, bool *ret_in_set)
{
    size_t n = flat_find_named(f, name, false, ret_in_set);
    return n ? n : flat_find_named(f, name, true, ret_in_set);
}
