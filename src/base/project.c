#include "base/project.h"
#include "base/path.h"

/* Never a project: what is below them is anybody's, or the user's own. */
static bool project_is_too_wide(const char *folder)
{
    const char *home = getenv("HOME");
    autofree char *real = home ? realpath(home, NULL) : NULL;
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (real && strncmp(real, folder, n) == 0 && (!real[n] || real[n] == '/'));
}

/* Such as /tmp: another user may have put a mark there. */
static bool project_is_everybodys(const char *folder)
{
    struct stat st;
    return stat(folder, &st) == 0 && (st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH);
}

static bool project_has_entry(const char *folder, const char *name)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return path_kind(path) != PATH_NOTHING;
}

static bool project_has_mark(const char *folder)
{
    return (project_has_entry(folder, ".git") || project_has_entry(folder, ".hg") ||
            project_has_entry(folder, "kelvin.conf")) &&
           !project_is_everybodys(folder);
}

/* The project that FOLDER is in: the nearest one above with a mark of one, else itself. Free it. */
static char *project_of(const char *folder)
{
    autofree char *start = realpath(folder, NULL);
    for (char *at = start ? mem_strdup(start) : NULL; at;) {
        if (project_is_too_wide(at)) {
            free(at);
            break;
        }
        if (project_has_mark(at))
            return at;
        char *above = path_folder(at);
        free(at);
        at = above;
    }
    return start && !project_is_too_wide(start) ? mem_strdup(start) : NULL;
}

/* And neither hidden there nor in a hidden folder. */
static bool project_is_below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    if (!n || strncmp(path, folder, n) != 0)
        return false;
    const char *rest = folder[n - 1] == '/' ? path + n - 1 : path + n;
    return *rest == '/' && !strstr(rest, "/.");
}

bool project_has(const struct project *p, const char *real)
{
    autofree char *folder = path_folder(p->binary);
    autofree char *here = project_of("."), *there = project_of(folder);
    bool has = project_is_below(real, here) || project_is_below(real, there);
    for (size_t i = 0; !has && i < p->n_folders; i++) {
        autofree char *asked = realpath(p->folders[i], NULL);
        has = project_is_below(real, asked);
    }
    return has;
}
