#include "base/path.h"
#include "base/project.h"
#include "cmd/annotate.h"
#include "model/packed.h"

enum { SOURCE_MAX_BYTES = 64 << 20 };

static bool annotate_read_packed(const struct profile *p, struct annotate_file *f)
{
    const struct packed_file *packed = p ? packed_find(p, f->path) : NULL;
    if (!packed)
        return false;
    f->text = packed->text;
    f->note = packed->newer ? "newer than the program when it was recorded; lines may not be the "
                              "ones that ran"
                            : NULL;
    return true;
}

/* Below the project of a program of the recording, whatever library the code is in. */
static bool annotate_may_show(const struct annotate_source *from, const char *path)
{
    const char *programs[PROJECT_PROGRAMS];
    size_t n = profile_programs(from->profile, programs, PROJECT_PROGRAMS);
    for (size_t i = 0; i < n; i++) {
        struct project project = {programs[i], from->folders->at, from->folders->n};
        if (project_has_path(&project, path))
            return true;
    }
    return false;
}

void annotate_read_source(const void *ctx, struct annotate_file *f)
{
    const struct annotate_source *from = ctx;
    struct stat st, made;
    if (annotate_read_packed(from->profile, f))
        return; /* as it was when the program ran */
    if (from->for_page && !annotate_may_show(from, f->path.at)) {
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
