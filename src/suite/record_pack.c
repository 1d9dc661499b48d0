#include "base/path.h"
#include "base/project.h"
#include "model/packed.h"
#include "suite/record_inner.h"

struct packer {
    struct profile *p;
    const struct record_opts *opts;
    struct record_packed *ret;
    bool *seen; /* by string */
};

static bool packer_may_take(const struct packer *k, int fd)
{
    autofree char *real = path_of_open(fd);
    const char *folder = k->opts->pack_source, *programs[PROJECT_PROGRAMS];
    size_t n_programs = profile_programs(k->p, programs, PROJECT_PROGRAMS);
    if (!real)
        return false;
    for (size_t i = 0; i < n_programs; i++) {
        struct project project = {programs[i], &folder, folder && *folder ? 1 : 0};
        if (project_has(&project, real))
            return true;
    }
    return false;
}

static bool packer_is_newer(const char *binary, const struct stat *file)
{
    struct stat made;
    return stat(binary, &made) == 0 && file->st_mtime > made.st_mtime;
}

static void packer_add_open(struct packer *k, struct text path, FILE *in, const struct stat *st,
                            const char *binary)
{
    size_t size = (size_t)st->st_size;
    if (size > PACKED_MAX_BYTES) {
        k->ret->too_large++;
        return;
    }
    autofree char *text = mem_calloc(size + 1, 1);
    size_t n = fread(text, 1, size, in);
    if (memchr(text, '\0', n)) { /* no source */
        k->ret->outside++;
        return;
    }
    if (!packed_add(k->p, path, (struct text){text, n}, packer_is_newer(binary, st))) {
        k->ret->too_large++;
        return;
    }
    k->ret->files++;
    k->ret->bytes += n;
}

static void packer_add(struct packer *k, struct str_id file, const char *binary)
{
    struct text path = profile_str(k->p, file);
    struct stat st;
    if (!file.i || k->seen[file.i])
        return;
    k->seen[file.i] = true;
    int fd = path_open_file(path.at, 0, &st);
    autofclose FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!in)
        k->ret->absent++;
    else if (!packer_may_take(k, fd))
        k->ret->outside++;
    else
        packer_add_open(k, path, in, &st, binary);
}

void record_pack_source(struct profile *p, const struct record_opts *o, struct record_packed *ret)
{
    size_t n = p->frames.n;
    struct packer k = {p, o, ret, mem_calloc(p->strings.strings.n + 1, sizeof *k.seen)};
    for (size_t i = 0; i < n; i++) {
        const struct frame *f = &p->frames.at[i];
        const char *binary = profile_str(p, p->mappings.at[f->mapping.i].path).at;
        for (size_t l = 0; l < f->n_lines; l++)
            packer_add(&k, p->functions.at[profile_lines(p, f)[l].function.i].file, binary);
    }
    free(k.seen);
}
