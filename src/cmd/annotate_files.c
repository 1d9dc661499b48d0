#include "base/path.h"
#include "cmd/annotate.h"

enum { SOURCE_MAX_BYTES = 64 << 20 };

/* --- what may go into a page --- */

/* Never a project: what is below them is anybody's, or the user's own. */
static bool is_too_wide(const char *folder)
{
    const char *home = getenv("HOME");
    autofree char *real = home ? realpath(home, NULL) : NULL;
    return strcmp(folder, "/") == 0 || (real && strcmp(folder, real) == 0);
}

static bool has_entry(const char *folder, const char *name)
{
    autofree char *path = mem_printf("%s/%s", folder, name);
    return path_kind(path) != PATH_NOTHING;
}

/* The project that FOLDER is in: the nearest one above with a mark of one, else itself. Free it. */
static char *project_of(const char *folder)
{
    autofree char *start = realpath(folder, NULL);
    for (char *at = start ? mem_strdup(start) : NULL; at;) {
        if (is_too_wide(at)) {
            free(at);
            break;
        }
        if (has_entry(at, ".git") || has_entry(at, ".hg") || has_entry(at, "kelvin.conf"))
            return at;
        char *above = path_folder(at);
        free(at);
        at = above;
    }
    return start && !is_too_wide(start) ? mem_strdup(start) : NULL;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    return n && strncmp(path, folder, n) == 0 && (path[n] == '/' || folder[n - 1] == '/');
}

/*
 * Debug information may name any file, and a page is made to be shown around: only what is below
 * the project of the program or of the current folder, or was asked for, is put into one.
 */
static bool may_embed(const char *path, const struct annotate_source *from)
{
    autofree char *real = realpath(path, NULL), *folder = path_folder(from->binary);
    autofree char *here = project_of("."), *there = project_of(folder);
    bool may = real && (is_below(real, here) || is_below(real, there));
    for (size_t i = 0; real && !may && i < from->folders->n; i++) {
        autofree char *asked = realpath(from->folders->at[i], NULL);
        may = is_below(real, asked);
    }
    return may;
}

/* --- reading --- */

void annotate_read_source(const void *ctx, struct annotate_file *f)
{
    const struct annotate_source *from = ctx;
    struct stat st, made;
    if (from->for_page && !may_embed(f->path.at, from)) {
        f->note = path_kind(f->path.at) == PATH_FILE
                      ? "outside of the project; --source DIR puts it in"
                      : "not here; lines are shown by number";
        return;
    }
    int fd = path_open_file(f->path.at, 0, &st);
    autofclose FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!in || st.st_size > SOURCE_MAX_BYTES) {
        f->note = "not here; lines are shown by number";
        return;
    }
    char *text = mem_calloc((size_t)st.st_size + 1, 1);
    f->text = (struct text){text, fread(text, 1, (size_t)st.st_size, in)};
    f->owned = true;
    if (stat(from->binary, &made) == 0 && st.st_mtime > made.st_mtime)
        f->note = "newer than the program; lines may not be the ones that ran";
}
