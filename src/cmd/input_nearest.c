#include "base/opt.h"
#include "cmd/input.h"

#include <dirent.h>

static size_t same_beginning(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Of names that are equally near the one that begins as WORD does for longest, then by name. */
static int by_beginning(const void *x, const void *y, void *word)
{
    const char *a = *(const char *const *)x, *b = *(const char *const *)y;
    size_t n = same_beginning(a, word), m = same_beginning(b, word);
    return n != m ? (n < m ? 1 : -1) : strcmp(a, b);
}

char *input_nearest(const char *path)
{
    enum { NAMES_MOST = 4000 };
    const char *slash = strrchr(path, '/'), *word = slash ? slash + 1 : path;
    autofree char *folder = slash ? mem_strndup(path, (size_t)(slash + 1 - path)) : mem_strdup(".");
    autofree const char **names = mem_calloc(NAMES_MOST + 1, sizeof *names);
    size_t n = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && n < NAMES_MOST && (e = readdir(d));)
        if (e->d_name[0] != '.')
            names[n++] = mem_strdup(e->d_name);
    if (d)
        closedir(d);
    qsort_r(names, n, sizeof *names, by_beginning, (char *)(uintptr_t)word);
    const char *near = opt_nearest(word, names);
    char *ret = near ? mem_printf("%.*s%s", (int)(word - path), path, near) : NULL;
    while (n > 0)
        free((char *)(uintptr_t)names[--n]);
    return ret;
}
