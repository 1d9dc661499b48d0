#include "symbol/readable.h"
#include "base/clone.h"
#include "base/mem.h"
#include "symbol/demangle.h"

/* --- Rust's older names after a C++ demangler --- */

static const struct {
    const char *word, *means;
} escapes[] = {
    {"$LT$", "<"}, {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"},
    {"$RF$", "&"}, {"$BP$", "*"}, {"$SP$", "@"}, {"$C$", ","},
};

/* "$u7b$": a character by its number, in up to six hex digits. Its length, or 0. */
static size_t take_number(struct text t, struct buf *ret)
{
    enum { DIGITS_MAX = 6 };
    uint64_t c;
    if (!text_starts(t, "$u"))
        return 0;
    struct text digits = {t.at + 2, t.n - 2};
    const char *end = memchr(digits.at, '$', digits.n);
    if (!end || end - digits.at > DIGITS_MAX)
        return 0;
    digits.n = (size_t)(end - digits.at);
    if (!text_u64(digits, 16, &c) || c < ' ' || c >= 0x7f)
        return 0;
    buf_byte(ret, (uint8_t)c);
    return digits.n + 3;
}

/* The escape at the start of T: append what it means. Its length, or 0 if there is none. */
static size_t take_escape(struct text t, struct buf *ret)
{
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (text_starts(t, escapes[i].word)) {
            buf_str(ret, escapes[i].means);
            return strlen(escapes[i].word);
        }
    return take_number(t, ret);
}

/* Whether T, behind a "::" or at the start, is the "_" that Rust puts before an escape. */
static bool is_filler(struct text t, size_t i)
{
    bool starts = i == 0 || (i >= 2 && t.at[i - 1] == ':' && t.at[i - 2] == ':');
    return starts && i + 1 < t.n && t.at[i] == '_' && t.at[i + 1] == '$';
}

static bool unescape(struct text name, struct buf *ret)
{
    size_t before = ret->n, found = 0;
    struct text plain = clone_plain(name);
    if (!memchr(plain.at, '$', plain.n))
        return false;
    for (size_t i = 0, used; i < plain.n; i += used) {
        struct text rest = {plain.at + i, plain.n - i};
        used = take_escape(rest, ret);
        found += used > 0;
        if (used || (is_filler(plain, i) && (used = 1)))
            continue;
        bool path = text_starts(rest, "..");
        buf_add(ret, path ? "::" : rest.at, path ? 2 : 1);
        used = path ? 2 : 1;
    }
    if (!found)
        ret->n = before;
    return found > 0;
}

/* --- all --- */

/* Length of the "_[k]" that NAME ends with, or 0. */
static size_t mark_length(struct text name)
{
    bool marked = name.n > 4 && name.at[name.n - 1] == ']' && name.at[name.n - 3] == '[' &&
                  name.at[name.n - 4] == '_';
    return marked ? 4 : 0;
}

static bool demangle_text(struct text name, struct buf *ret)
{
    struct text plain = clone_plain(name);
    if (!text_starts(plain, "_Z") && !text_starts(plain, "_R"))
        return false;
    size_t before = ret->n;
    autofree char *mangled = mem_strndup(plain.at, plain.n);
    if (!demangle(mangled, ret))
        return false;
    struct text shown = {ret->at + before, ret->n - before};
    ret->n = before + clone_plain(shown).n;
    return true;
}

bool readable_name(struct text name, struct buf *ret)
{
    size_t mark = mark_length(name);
    struct text own = {name.at, name.n - mark};
    if (!own.n || (!demangle_text(own, ret) && !unescape(own, ret)))
        return false;
    buf_add(ret, name.at + own.n, mark);
    return true;
}

size_t readable_rename(struct profile *p)
{
    autobuf struct buf shown = {0};
    size_t renamed = 0;
    for (size_t i = 1; i < p->functions.n; i++) {
        struct function *f = &p->functions.at[i];
        shown.n = 0;
        if (!readable_name(profile_str(p, f->name), &shown))
            continue;
        if (!f->system_name.i)
            f->system_name = f->name;
        f->name = profile_add_str(p, buf_text(&shown));
        renamed++;
    }
    return renamed;
}
