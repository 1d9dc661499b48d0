#include "base/project.h"
#include "base/path.h"

/* Never a project: what is below them is anybody's, or the user's own. */
static bool project_is_too_wide(const char *folder)
{
    const char *home = getenv("HOME");
    autofree char *real = home ? realpath(home, NULL) : NULL;
    return strcmp(folder, "/") == 0 || (real && strcmp(folder, real) == 0);
}

static bool project_has_entry(const char *folder, const char *name)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return path_kind(path) != PATH_NOTHING;
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
        if (project_has_entry(at, ".git") || project_has_entry(at, ".hg") ||
            project_has_entry(at, "kelvin.conf"))
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

bool project_has_path(const struct project *p, const char *path)
{
    autofree char *real = realpath(path, NULL);
    return real && project_has(p, real);
}
