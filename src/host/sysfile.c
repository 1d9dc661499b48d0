#include "host/sysfile.h"
#include "base/mem.h"

static FILE *open_under(const char *root, const char *path)
{
    autofree char *full = mem_printf("%s%s", root, path);
    return fopen(full, "re");
}

static void copy(char *ret, size_t n, struct text t)
{
    size_t length = t.n < n ? t.n : n - 1;
    memcpy(ret, t.at, length);
    ret[length] = '\0';
}

/* Without blanks and the newline at the end. */
static struct text line_text(const char *line, ssize_t n)
{
    struct text t = {line, (size_t)n};
    while (t.n && t.at[t.n - 1] == '\n')
        t.n--;
    return text_trim(t);
}

bool sysfile_line(const char *root, const char *path, char *ret, size_t n)
{
    autofclose FILE *f = open_under(root, path);
    autofree char *line = NULL;
    size_t cap = 0;
    ssize_t got = f ? getline(&line, &cap, f) : -1;
    if (got < 0)
        return false;
    copy(ret, n, line_text(line, got));
    return true;
}

bool sysfile_long(const char *root, const char *path, long *ret)
{
    char line[64], *end;
    if (!sysfile_line(root, path, line, sizeof line))
        return false;
    *ret = strtol(line, &end, 10);
    return end != line;
}

static struct text unquote(struct text t)
{
    if (t.n >= 2 && (t.at[0] == '"' || t.at[0] == '\'') && t.at[t.n - 1] == t.at[0])
        return (struct text){t.at + 1, t.n - 2};
    return t;
}

bool sysfile_field(const char *root, const char *path, const char *key, char sep, char *ret,
                   size_t n)
{
    autofclose FILE *f = open_under(root, path);
    autofree char *line = NULL;
    size_t cap = 0;
    ssize_t got;
    while (f && (got = getline(&line, &cap, f)) >= 0) {
        struct text rest = line_text(line, got);
        struct text name = text_trim(text_cut(&rest, sep));
        if (!text_is(name, key))
            continue;
        copy(ret, n, unquote(text_trim(rest)));
        return true;
    }
    return false;
}

bool sysfile_exists(const char *root, const char *path)
{
    autofree char *full = mem_printf("%s%s", root, path);
    return access(full, F_OK) == 0;
}

bool sysfile_mentions(const char *root, const char *path, const char *word)
{
    autofclose FILE *f = open_under(root, path);
    autofree char *line = NULL;
    size_t cap = 0;
    while (f && getline(&line, &cap, f) >= 0)
        if (strstr(line, word))
            return true;
    return false;
}
