#include "analysis/canon.h"

#include "base/clone.h"

#include <ctype.h>

/* Length of a number that tells one lambda from another, at AT: "#2" before '}', "0" in 'lambda0'.
 */
static size_t number_at(struct text t, size_t at)
{
    static const char quoted[] = "'lambda", clang[] = "$_";
    size_t start = t.at[at] == '#' ? at + 1 : at, end = start;
    while (end < t.n && isdigit((unsigned char)t.at[end]))
        end++;
    if (end == start)
        return 0;
    if (start > at)
        return end < t.n && t.at[end] == '}' ? end - at : 0;
    struct text before = {t.at, at};
    bool lambda =
        (text_ends(before, quoted) && end < t.n && t.at[end] == '\'') || text_ends(before, clang);
    return lambda ? end - at : 0;
}

void canon_add(struct buf *b, struct text name)
{
    struct text t = clone_plain(name);
    for (size_t i = 0; i < t.n;) {
        size_t skip = number_at(t, i);
        if (!skip)
            buf_byte(b, (uint8_t)t.at[i++]);
        i += skip;
    }
}
