/*
 * files.c - the unwind tables of files, each once.
 */
#include "unwind/files_inner.h"

#include <elf.h>
#include <sys/auxv.h>

enum { CODEFILES_MAX = 128 }; /* each is an open file */

struct unwind_files *unwind_files_new(void)
{
    struct unwind_files *f = mem_new(struct unwind_files);
    intern_init(&f->paths);
    f->last_id = UNWIND_VDSO_ID;
    return f;
}

static void unwind_file_free(struct unwind_files *f, struct unwind_file *file)
{
    f->n_codefiles -= file->code != NULL;
    codefile_free(file->code);
    unwind_table_free(file->table);
    free(file);
}

void unwind_files_free(struct unwind_files *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->all.n; i++)
        unwind_file_free(f, f->all.at[i]);
    unwind_table_free(f->vdso);
    vec_done(&f->all);
    idmap_done(&f->by_inode);
    intern_done(&f->paths);
    free(f);
}

/* Every process has the same vdso; ours is at hand. Its section headers come last. */
const struct unwind_table *unwind_files_vdso(struct unwind_files *f)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    struct err err;
    if (!f->vdso_tried && h)
        unwind_table_parse(h, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, &f->vdso, &err);
    f->vdso_tried = true;
    return f->vdso;
}

static bool is_file_of(const struct unwind_file *f, const struct stat *st)
{
    return f->ino == st->st_ino && f->dev == st->st_dev && f->size_bytes == st->st_size &&
           f->changed.tv_sec == st->st_mtim.tv_sec && f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

static uint32_t hash_inode(dev_t dev, ino_t ino)
{
    return hash_pair((uint32_t)ino, (uint32_t)dev);
}

static struct unwind_file *unwind_file_find(const struct unwind_files *f, const struct stat *st)
{
    for_each_match (&f->by_inode, hash_inode(st->st_dev, st->st_ino), i)
        if (is_file_of(f->all.at[i], st))
            return f->all.at[i];
    return NULL;
}

static void unwind_file_add(struct unwind_files *f, struct unwind_file *file)
{
    idmap_add(&f->by_inode, hash_inode(file->dev, file->ino), (uint32_t)f->all.n);
    *vec_push(&f->all) = file;
}

static struct unwind_file *unwind_file_load(struct unwind_files *f, int fd, const char *path,
                                            const struct stat *st)
{
    struct err err;
    struct unwind_file *file = mem_new(struct unwind_file);
    file->id = ++f->last_id;
    file->dev = st->st_dev;
    file->ino = st->st_ino;
    file->size_bytes = st->st_size;
    file->changed = st->st_mtim;
    unwind_table_load_fd(fd, path, &file->table, &err);
    if (file->table && f->n_codefiles < CODEFILES_MAX)
        file->code = codefile_new(fd, file->table);
    f->n_codefiles += file->code != NULL;
    unwind_file_add(f, file);
    return file;
}

struct unwind_file *unwind_file_hold(struct unwind_files *f, int fd, const char *path)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    struct unwind_file *file = unwind_file_find(f, &st);
    if (!file)
        file = unwind_file_load(f, fd, path, &st);
    else
        f->n_unheld -= file->n_holders == 0;
    file->n_holders++;
    return file;
}

static int compare_released(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Files that nobody holds and that were released before are too many. */
static uint64_t released_limit(const struct unwind_files *f)
{
    VEC(uint64_t) times = {0};
    for (size_t i = 0; i < f->all.n; i++)
        if (!f->all.at[i]->n_holders)
            *vec_push(&times) = f->all.at[i]->released;
    qsort(times.at, times.n, sizeof *times.at, compare_released);
    uint64_t limit = times.at[times.n - UNWIND_UNHELD_KEPT];
    vec_done(&times);
    return limit;
}

static void forget_unheld(struct unwind_files *f)
{
    uint64_t limit = released_limit(f);
    size_t n = f->all.n;
    f->all.n = 0;
    idmap_done(&f->by_inode);
    for (size_t i = 0; i < n; i++) {
        struct unwind_file *file = f->all.at[i];
        if (file->n_holders || file->released >= limit)
            unwind_file_add(f, file);
        else
            unwind_file_free(f, file);
    }
    f->n_unheld = UNWIND_UNHELD_KEPT;
}

void unwind_file_release(struct unwind_files *f, struct unwind_file *file)
{
    if (--file->n_holders > 0)
        return;
    file->released = ++f->last_released;
    if (++f->n_unheld > 2 * UNWIND_UNHELD_KEPT)
        forget_unheld(f);
}
