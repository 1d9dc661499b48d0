#include "base/path.h"
#include "base/project.h"
#include "cmd/annotate.h"
#include "model/packed.h"
#include "symbol/elffile.h"

#include <unistd.h>

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

/* Whether the file that ran is still at PROGRAM. A recording can name any path, and its folder
 * would become a project: only who knows what is there knows its build-id. */
static bool annotate_ran(const struct profile *p, const char *program)
{
    char id[2 * BUILD_ID_MAX + 1];
    struct elffile file;
    bool same = false;
    if (elffile_open(&file, program, (struct text){0}) != 0)
        return false;
    elffile_build_id(file.elf, id);
    for (size_t i = 0; i < p->mappings.n && *id && !same; i++)
        same = text_is(profile_str(p, p->mappings.at[i].path), program) &&
               text_is(profile_str(p, p->mappings.at[i].build_id), id);
    elffile_close(&file);
    return same;
}

/* Below the project of the current folder, or of a program of the recording, whatever library the
 * code is in. */
static bool annotate_may_show(const struct annotate_source *from, const char *real)
{
    const char *programs[PROJECT_PROGRAMS];
    size_t n = profile_programs(from->profile, programs, PROJECT_PROGRAMS);
    struct project project = {"/", from->folders->at, from->folders->n};
    bool may = project_has(&project, real);
    for (size_t i = 0; i < n && !may; i++) {
        project.binary = programs[i];
        may = project_has(&project, real) && annotate_ran(from->profile, programs[i]);
    }
    return may;
}

/* -1 where there is none, or where its note says why not. */
static int annotate_open_source(const struct annotate_source *from, struct annotate_file *f,
                                struct stat *st)
{
    int fd = path_open_file(f->path.at, 0, st);
    autofree char *real = fd >= 0 ? path_of_open(fd) : NULL;
    if (fd < 0 || st->st_size > SOURCE_MAX_BYTES)
        f->note = "not here; lines are shown by number";
    else if (from->for_page && !(real && annotate_may_show(from, real)))
        f->note = "outside of the project; --source DIR puts it in";
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void annotate_read_source(const void *ctx, struct annotate_file *f)
{
    const struct annotate_source *from = ctx;
    struct stat st, made;
    if (annotate_read_packed(from->profile, f))
        return; /* as it was when the program ran */
    int fd = annotate_open_source(from, f, &st);
    autofclose FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!in)
        return;
    char *text = mem_calloc((size_t)st.st_size + 1, 1);
    f->text = (struct text){text, fread(text, 1, (size_t)st.st_size, in)};
    f->owned = true;
    if (stat(from->binary, &made) == 0 && st.st_mtime > made.st_mtime)
        f->note = "newer than the program; lines may not be the ones that ran";
}
