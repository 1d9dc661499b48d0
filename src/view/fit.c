#include "view/fit.h"

#include "base/utf8.h"

#include <strings.h>

/* Fewer characters than this say nothing and are left out. */
enum { LEAST_CHARS = 3 };

struct fit fit_of_font(const char *family, double size_px)
{
    static const char *const mono[] = {"mono", "courier", "consolas", "menlo", NULL};
    struct fit f = {.size_px = size_px};
    for (int i = 0; mono[i]; i++)
        f.mono |= strcasestr(family, mono[i]) != NULL;
    return f;
}

/* In ems. */
static double char_width(const struct fit *f, const char *s, int length)
{
    if (length > 1) /* scripts from U+1100 on are mostly as wide as high */
        return length >= 3 && (unsigned char)s[0] >= 0xe1 ? 1.05 : 0.7;
    if (f->mono)
        return 0.61;
    if (*s == '\0')
        return 0.7;
    if (strchr("ijl.,:;'|! I`", *s))
        return 0.4;
    if (strchr("ftr-[]()/\\\"", *s))
        return 0.46;
    if (strchr("mwMW@%", *s))
        return 0.99;
    if ((*s >= 'A' && *s <= 'Z') || strchr("+=<>#~^&", *s))
        return 0.79;
    return 0.635;
}

static int length_at(struct text t, size_t i)
{
    int length = utf8_length(t.at + i, t.n - i);
    return length ? length : 1;
}

double fit_width(const struct fit *f, struct text t)
{
    double ems = 0;
    for (size_t i = 0; i < t.n; i += (size_t)length_at(t, i))
        ems += char_width(f, t.at + i, length_at(t, i));
    return ems * f->size_px;
}

struct text fit_cut(const struct fit *f, struct text t, double room, bool *ret_cut)
{
    double dots = 2 * char_width(f, ".", 1) * f->size_px, used = 0;
    size_t cut = 0, chars_before_cut = 0, chars = 0, i = 0;
    while (i < t.n && used <= room) {
        if (used + dots <= room) {
            cut = i;
            chars_before_cut = chars;
        }
        used += char_width(f, t.at + i, length_at(t, i)) * f->size_px;
        i += (size_t)length_at(t, i);
        chars++;
    }
    *ret_cut = used > room;
    if (!*ret_cut)
        return t;
    return (struct text){t.at, chars_before_cut < LEAST_CHARS ? 0 : cut};
}
