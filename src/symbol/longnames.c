#include "symbol/longnames.h"

#include <string.h>

enum { LONG = 256, WHOLE_MAX = 64 << 10, MOST_BYTES = 64 << 20 };

static size_t most_of(const struct longnames *l)
{
    return l->bytes > MOST_BYTES ? LONG : WHOLE_MAX;
}

struct text longnames_fit(struct longnames *l, struct text name)
{
    size_t most = most_of(l);
    name.n = name.n < most ? name.n : most;
    l->bytes += name.n > LONG ? name.n : 0;
    return name;
}

struct text longnames_fit_str(struct longnames *l, const char *name)
{
    return longnames_fit(l, (struct text){name, strnlen(name, most_of(l))});
}
