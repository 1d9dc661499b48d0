#include "symbol/finder.h"

#include "symbol/debugfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Of a folder of symbols: who names "/" by mistake must not wait for the whole disk. */
enum { LISTED_MAX = 100000, DEPTH_MAX = 24 };

void finder_init(struct finder *f, const struct finder_opts *o)
{
    const char *home = getenv("HOME");
    *f = (struct finder){.opts = *o};
    if (!f->opts.debug_folder)
        f->opts.debug_folder = "/usr/lib/debug";
    if (o->cache_folder)
        f->cache = mem_strdup(o->cache_folder);
    else if (home && home[0] == '/')
        f->cache = mem_printf("%s/.debug", home);
}

void finder_done(struct finder *f)
{
    for (size_t i = 0; i < f->listed.n; i++)
        free(f->listed.at[i]);
    vec_done(&f->listed);
    free(f->cache);
}

/* --- the file itself --- */

/* Takes over PATH. */
static bool try_file(struct elffile *ret, char *path, struct text build_id)
{
    autofree char *own = path;
    return elffile_open(ret, own, build_id) == 0;
}

/* A copy of the very file, as perf and others keep them. */
static bool find_copy(struct elffile *ret, const char *folder, struct text id)
{
    static const char *const between[] = {"/.build-id", ""};
    if (id.n < 4 || id.n > 2 * BUILD_ID_MAX)
        return false;
    for (int i = 0; i < 2; i++) {
        autofree char *at =
            mem_printf("%s%s/%.2s/%.*s", folder, between[i], id.at, (int)id.n - 2, id.at + 2);
        if (try_file(ret, mem_printf("%s/elf", at), id) || try_file(ret, mem_strdup(at), id))
            return true;
    }
    return false;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* All plain files below FOLDER; links to folders are not followed, as they may lead back. */
static void list_below(struct finder *f, const char *folder, int depth)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) && f->listed.n < LISTED_MAX;) {
        struct stat st;
        char *path = mem_printf("%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || lstat(path, &st) != 0)
            st.st_mode = 0;
        if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            list_below(f, path, depth + 1);
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
            *vec_push(&f->listed) = path;
        else
            free(path);
    }
    if (d)
        closedir(d);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_files(struct finder *f)
{
    if (f->is_listed)
        return;
    f->is_listed = true;
    for (size_t i = 0; i < f->opts.n_symbols; i++)
        list_below(f, f->opts.symbols[i], 0);
    if (f->listed.n)
        qsort(f->listed.at, f->listed.n, sizeof *f->listed.at, compare_paths);
}

/* A file called NAME with this build-id, anywhere below the folders of symbols. */
static bool find_named(struct finder *f, struct elffile *ret, const char *name, struct text id)
{
    if (!id.n || !f->opts.n_symbols)
        return false;
    list_files(f);
    for (size_t i = 0; i < f->listed.n; i++)
        if (strcmp(base_of(f->listed.at[i]), name) == 0 &&
            elffile_open(ret, f->listed.at[i], id) == 0)
            return true;
    return false;
}

static bool find_main(struct finder *f, struct elffile *ret, const char *path, struct text id)
{
    const struct finder_opts *o = &f->opts;
    const char *at = o->locate ? o->locate(o->locate_arg, path, id) : path;
    char *first = o->symfs ? mem_printf("%s%s", o->symfs, path) : mem_strdup(at);
    if (try_file(ret, first, id))
        return true;
    for (size_t i = 0; i < o->n_symbols; i++)
        if (find_copy(ret, o->symbols[i], id) ||
            try_file(ret, mem_printf("%s%s", o->symbols[i], path), id) ||
            try_file(ret, mem_printf("%s/%s", o->symbols[i], base_of(path)), id))
            return true;
    return find_named(f, ret, base_of(path), id) || (f->cache && find_copy(ret, f->cache, id));
}

/* --- the one with debug information --- */

static bool find_debug(struct finder *f, struct finder_files *files, const char *path,
                       struct text id)
{
    const struct finder_opts *o = &f->opts;
    Elf *main = files->has_main ? files->main.elf : NULL;
    char own[2 * BUILD_ID_MAX + 1];
    if (main) {
        elffile_build_id(main, own);
        id = text_of(own);
    }
    for (size_t i = 0; i < o->n_symbols; i++)
        if (debugfile_open(&files->debug, path, main, id, o->symbols[i]) == 0)
            return true;
    autofree char *name = mem_printf("%s.debug", base_of(path));
    if (find_named(f, &files->debug, name, id) ||
        debugfile_open(&files->debug, path, main, id, o->debug_folder) == 0 ||
        (f->cache && debugfile_open(&files->debug, path, main, id, f->cache) == 0))
        return true;
    return o->ask_servers && debugfile_ask(&files->debug, id) == 0;
}

/* --- together --- */

static enum finder_end why_not(const struct finder *f, const char *path, struct text id)
{
    struct elffile other;
    const struct finder_opts *o = &f->opts;
    const char *at = o->locate ? o->locate(o->locate_arg, path, id) : path;
    autofree char *first = o->symfs ? mem_printf("%s%s", o->symfs, path) : mem_strdup(at);
    if (access(first, F_OK) != 0)
        return FINDER_GONE;
    if (elffile_open(&other, first, (struct text){0}) == 0) {
        elffile_close(&other);
        return FINDER_OTHER_BUILD;
    }
    return access(first, R_OK) != 0 ? FINDER_FORBIDDEN : FINDER_NOT_ELF;
}

enum finder_end finder_open(struct finder *f, struct finder_files *ret, const char *path,
                            struct text build_id)
{
    *ret = (struct finder_files){.main.fd = -1, .debug.fd = -1};
    ret->has_main = find_main(f, &ret->main, path, build_id);
    if (!(ret->has_main && ret->main.has_dwarf))
        ret->has_debug = find_debug(f, ret, path, build_id);
    return ret->has_main || ret->has_debug ? FINDER_FOUND : why_not(f, path, build_id);
}

void finder_close(struct finder_files *files)
{
    if (files->has_debug)
        elffile_close(&files->debug);
    if (files->has_main)
        elffile_close(&files->main);
}

char *finder_path(struct finder *f, const char *path, struct text build_id)
{
    struct elffile main;
    char link[40], at[PATH_MAX];
    elf_version(EV_CURRENT);
    if (!find_main(f, &main, path, build_id))
        return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", main.fd);
    ssize_t n = readlink(link, at, sizeof at);
    elffile_close(&main);
    return n > 0 && (size_t)n < sizeof at ? mem_strndup(at, (size_t)n) : NULL;
}

/* --- the kernel --- */

/* Whether the kernel says that it is RELEASE: "Linux version 6.1.0-9-amd64 (". */
static bool is_release(Elf *elf, const char *release)
{
    autofree char *banner = mem_printf("Linux version %s ", release);
    Elf_Scn *scn = elffile_named_section(elf, ".rodata");
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    return data && data->d_buf && memmem(data->d_buf, data->d_size, banner, strlen(banner));
}

/* Takes over PATH. With a build-id that must be it; without, the release. */
static bool try_kernel(struct elffile *ret, char *path, struct text id, const char *release)
{
    if (!try_file(ret, path, id))
        return false;
    if (elffile_section(ret->elf, SHT_SYMTAB) &&
        (id.n || (*release && is_release(ret->elf, release))))
        return true;
    elffile_close(ret);
    return false;
}

/* By build-id, whatever it is called. */
static bool find_kernel_copy(struct elffile *ret, const char *folder, struct text id)
{
    static const char *const tails[] = {".debug", "/vmlinux", "/elf"};
    if (id.n < 4 || id.n > 2 * BUILD_ID_MAX)
        return false;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (try_kernel(ret,
                       mem_printf("%s/.build-id/%.2s/%.*s%s", folder, id.at, (int)id.n - 2,
                                  id.at + 2, tails[i]),
                       id, ""))
            return true;
    return false;
}

static bool find_kernel_below(struct elffile *ret, const char *folder, struct text id,
                              const char *release)
{
    static const char *const places[] = {"/vmlinux-", "/boot/vmlinux-", "/lib/modules/"};
    static const char *const tails[] = {"", "", "/vmlinux"};
    if (find_kernel_copy(ret, folder, id) ||
        try_kernel(ret, mem_printf("%s/vmlinux", folder), id, release))
        return true;
    for (size_t i = 0; i < sizeof places / sizeof *places && *release; i++)
        if (try_kernel(ret, mem_printf("%s%s%s%s", folder, places[i], release, tails[i]), id,
                       release))
            return true;
    return false;
}

int finder_open_kernel(struct finder *f, struct elffile *ret, struct text build_id,
                       const char *release, bool asked_only)
{
    const struct finder_opts *o = &f->opts;
    for (size_t i = 0; i < o->n_symbols; i++)
        if (find_kernel_below(ret, o->symbols[i], build_id, release))
            return 0;
    if (o->symfs && find_kernel_below(ret, o->symfs, build_id, release))
        return 0;
    if (asked_only)
        return -1;
    if (find_kernel_below(ret, o->debug_folder, build_id, release) ||
        (f->cache && find_kernel_below(ret, f->cache, build_id, release)))
        return 0;
    return find_kernel_below(ret, "", build_id, release) ? 0 : -1;
}
