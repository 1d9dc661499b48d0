#include "base/shortname.h"

#include "base/clone.h"
#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

/* Longest first. */
static const char *const string_names[] = {
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>",
    "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
};

static size_t string_length(struct text t)
{
    for (size_t i = 0; i < sizeof string_names / sizeof *string_names; i++)
        if (text_starts(t, string_names[i]))
            return strlen(string_names[i]);
    return 0;
}

static void usual_names(struct buf *b, struct text t)
{
    while (t.n) {
        size_t n = string_length(t);
        if (n)
            buf_str(b, "std::string");
        else
            buf_add(b, t.at, n = 1);
        t = (struct text){t.at + n, t.n - n};
    }
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of "operator<<" and the like at T[I], with the blank before its arguments; 0 if none. */
static size_t operator_length(struct text t, size_t i)
{
    static const char word[] = "operator";
    size_t n = sizeof word - 1;
    if ((i && is_word(t.at[i - 1])) || !text_starts((struct text){t.at + i, t.n - i}, word))
        return 0;
    while (i + n < t.n && t.at[i + n] && strchr("<>=-!", t.at[i + n]))
        n++;
    return n == sizeof word - 1 ? 0 : n + (i + n < t.n && t.at[i + n] == ' ');
}

/* Length of "<...>" at T[I], or 0 if it does not end. */
static size_t arguments_length(struct text t, size_t i)
{
    size_t depth = 0;
    for (size_t k = i; k < t.n; k++) {
        depth += t.at[k] == '<';
        if (t.at[k] == '>' && t.at[k - 1] != '-' && --depth == 0)
            return k + 1 - i;
    }
    return 0;
}

/* A '<' behind a name opens arguments; "<impl X for Y>" and "<lambda()>" of Rust and C++ do not. */
static void without_arguments(struct buf *b, struct text t)
{
    bool named = false, balanced = true; /* or each '<' would be followed to the end */
    for (size_t i = 0; i < t.n;) {
        size_t n = operator_length(t, i);
        bool opens = !n && named && balanced && t.at[i] == '<';
        size_t arguments = opens ? arguments_length(t, i) : 0;
        balanced = balanced && (!opens || arguments);
        named = n || is_word(t.at[i]);
        n = n ? n : arguments ? arguments : 1;
        if (arguments > strlen("<..>"))
            buf_str(b, "<..>");
        else
            buf_add(b, t.at + i, n);
        i += n;
    }
}

static bool text_same(struct text a, struct text b)
{
    return a.n == b.n && (!a.n || memcmp(a.at, b.at, a.n) == 0);
}

static void cut_at(struct buf *b, struct text name, size_t width)
{
    bool cut = utf8_count(name) > width;
    struct text head = cut ? utf8_head(name, width > 2 ? width - 2 : 0) : name;
    buf_add(b, head.at, head.n);
    buf_str(b, cut ? ".." : "");
}

/*
 * "[libgs.so.10.00+0x3c20b0]" is told apart by its offset: the module, most often a column of its
 * own, is cut. False for other names, and where there is no room for that.
 */
static bool cut_module(struct buf *b, struct text name, size_t width)
{
    const char *plus =
        text_starts(name, "[") && text_ends(name, "]") ? memmem(name.at, name.n, "+0x", 3) : NULL;
    if (!plus)
        return false;
    size_t n_tail = (size_t)(name.at + name.n - plus);
    if (utf8_count(name) <= width || n_tail + strlen("[..") > width)
        return false;
    struct text head = utf8_head(name, width - n_tail - strlen(".."));
    buf_printf(b, "%.*s..%.*s", TEXT_ARG(head), (int)n_tail, plus);
    return true;
}

void shortname_add(struct buf *b, struct text name, size_t width)
{
    autobuf struct buf usual = {0}, bare = {0};
    if (cut_module(b, name, width))
        return;
    if (utf8_count(name) > width) {
        usual_names(&usual, name);
        name = buf_text(&usual);
    }
    if (utf8_count(name) > width) {
        without_arguments(&bare, name);
        name = buf_text(&bare);
    }
    cut_at(b, name, width);
}

bool shortname_is(struct text name, struct text word)
{
    autobuf struct buf usual = {0}, bare = {0};
    if (name.n <= word.n)
        return text_same(name, word);
    if (clone_is_variant(name, word))
        return true;
    usual_names(&usual, name);
    without_arguments(&bare, buf_text(&usual));
    return text_same(buf_text(&usual), word) || text_same(buf_text(&bare), word);
}
