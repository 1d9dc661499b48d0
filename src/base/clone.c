#include "base/clone.h"

#include <ctype.h>

/*
 * What compilers append with a dot. Most have a number behind, which must be there: Go separates
 * packages by dots, and "main.part" is a function of its own.
 */
static const struct {
    const char *word;
    bool needs_number;
} suffixes[] = {
    {"cold", false},    {"localalias", false}, {"isra", true},     {"constprop", true},
    {"part", true},     {"llvm", true},        {"lto_priv", true}, {"hot", true},
    {"unlikely", true}, {"__uniq", true},      {"__part", true},
};

/* T without one suffix, or as it is. */
static struct text cut_suffix(struct text t)
{
    struct text head = t;
    while (head.n && isdigit((unsigned char)head.at[head.n - 1]))
        head.n--;
    bool numbered = head.n < t.n && head.n && head.at[head.n - 1] == '.';
    head.n = numbered ? head.n - 1 : t.n;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i].word);
        if (suffixes[i].needs_number && !numbered)
            continue;
        if (head.n > n + 1 && text_ends(head, suffixes[i].word) && head.at[head.n - n - 1] == '.')
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

struct text clone_plain(struct text name)
{
    for (size_t before = name.n + 1; name.n < before;) {
        before = name.n;
        name = cut_hash(cut_clone(cut_suffix(name)));
    }
    return name;
}

/* glibc's words for a CPU, on x86-64 and AArch64; more may follow, as in "avx2_rtm". */
static bool starts_with_cpu(struct text t)
{
    static const char *const cpus[] = {
        "avx", "evex", "sse",   "ssse",     "erms",   "generic", "simd", "asimd",  "nosimd", "mte",
        "sve", "mops", "a64fx", "thunderx", "falkor", "kunpeng", "emag", "oryon1", "zva64"};
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        if (text_starts(t, cpus[i]))
            return true;
    return false;
}

bool clone_is_variant(struct text name, struct text word)
{
    struct text t = clone_plain(name);
    if (text_is(word, "memcpy") && clone_is_variant(name, text_of("memmove")))
        return true;
    if (!word.n || t.n < word.n + 3 || memcmp(t.at, "__", 2) != 0 ||
        memcmp(t.at + 2, word.at, word.n) != 0 || t.at[2 + word.n] != '_')
        return false;
    return starts_with_cpu((struct text){t.at + word.n + 3, t.n - word.n - 3});
}
