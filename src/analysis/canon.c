#include "analysis/canon.h"

#include <ctype.h>

/* What compilers append with a dot, each perhaps with a number behind: ".part.3". */
static const char *const suffixes[] = {
    "cold", "isra", "constprop", "part", "llvm", "lto_priv", "localalias", "hot", "unlikely", NULL,
};

static size_t digits_before(struct text t, size_t end)
{
    size_t n = 0;
    while (n < end && isdigit((unsigned char)t.at[end - n - 1]))
        n++;
    return n;
}

/* T without one suffix, or as it is. */
static struct text cut_suffix(struct text t)
{
    size_t digits = digits_before(t, t.n);
    struct text head = t;
    if (digits && digits + 1 < t.n && t.at[t.n - digits - 1] == '.')
        head.n -= digits + 1;
    for (int i = 0; suffixes[i]; i++) {
        size_t n = strlen(suffixes[i]);
        if (head.n > n + 1 && text_ends(head, suffixes[i]) && head.at[head.n - n - 1] == '.')
            return (struct text){head.at, head.n - n - 1};
    }
    return t;
}

/* "f(int) [clone .isra.0]", as demanglers write what stood behind the mangled name. */
static struct text cut_clone(struct text t)
{
    static const char mark[] = " [clone ";
    if (!t.n || t.at[t.n - 1] != ']')
        return t;
    for (size_t i = t.n - 1; i > 0; i--)
        if (t.at[i] == '[')
            return i > 1 && text_starts((struct text){t.at + i - 1, t.n - i + 1}, mark)
                       ? (struct text){t.at, i - 1}
                       : t;
    return t;
}

/* "::h" and sixteen hex digits: the hash of Rust's older mangling. */
static struct text cut_hash(struct text t)
{
    enum { HASH_BYTES = 3 + 16 };
    if (t.n <= HASH_BYTES)
        return t;
    struct text tail = {t.at + t.n - HASH_BYTES, HASH_BYTES};
    if (!text_starts(tail, "::h"))
        return t;
    for (size_t i = 3; i < tail.n; i++)
        if (!isdigit((unsigned char)tail.at[i]) && (tail.at[i] < 'a' || tail.at[i] > 'f'))
            return t;
    return (struct text){t.at, t.n - HASH_BYTES};
}

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
    struct text t = name;
    for (size_t before = t.n + 1; t.n < before;) {
        before = t.n;
        t = cut_hash(cut_clone(cut_suffix(t)));
    }
    for (size_t i = 0; i < t.n;) {
        size_t skip = number_at(t, i);
        if (!skip)
            buf_byte(b, (uint8_t)t.at[i++]);
        i += skip;
    }
}
