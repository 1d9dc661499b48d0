#include "base/cachefile.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { FILE_MAX_BYTES = 512 << 20 };

/* Whether nobody but us and root can put something else into the place of what is in FOLDER. */
static bool is_ours(const char *folder)
{
    struct stat st;
    if (path_is_planted(folder)) /* a link, which may lead to a folder of ours */
        return false;
    if (stat(folder, &st) != 0)
        return errno == ENOENT;
    bool open_to_all = (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX);
    return (st.st_uid == geteuid() || st.st_uid == 0) && !open_to_all;
}

/*
 * The variables may be those of somebody else, as where sudo or su keep them: then whoever owns the
 * folder would lead what root writes to where he likes.
 */
static char *only_ours(char *folder)
{
    autofree char *at = mem_strdup(folder);
    bool ours = is_ours(at);
    for (char *slash; ours && (slash = strrchr(at, '/')) && slash > at;) {
        *slash = '\0';
        ours = is_ours(at);
    }
    if (ours)
        return folder;
    free(folder);
    return NULL;
}

char *cachefile_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return only_ours(mem_printf("%s/kelvin", cache));
    return home && home[0] == '/' ? only_ours(mem_printf("%s/.cache/kelvin", home)) : NULL;
}

static char *path_of(const char *name)
{
    autofree char *folder = cachefile_folder();
    return folder ? mem_printf("%s/%s", folder, name) : NULL;
}

/* -1 where there is none that can be believed. */
static int open_known(const char *name, size_t *ret_bytes)
{
    struct stat st;
    autofree char *path = path_of(name);
    int fd = path ? path_open_file(path, O_NOFOLLOW, &st) : -1;
    if (fd >= 0 && (st.st_uid != geteuid() || st.st_size > FILE_MAX_BYTES)) {
        close(fd);
        return -1;
    }
    *ret_bytes = fd < 0 ? 0 : (size_t)st.st_size;
    return fd;
}

bool cachefile_read(const char *name, struct buf *ret)
{
    size_t bytes;
    autoclose int fd = open_known(name, &bytes);
    if (fd < 0)
        return false;
    vec_reserve(ret, bytes);
    while (ret->n < bytes) {
        ssize_t got = read(fd, ret->at + ret->n, bytes - ret->n);
        if (got <= 0)
            return false;
        ret->n += (size_t)got;
    }
    return true;
}

bool cachefile_map(const char *name, struct text *ret)
{
    size_t bytes;
    autoclose int fd = open_known(name, &bytes);
    if (fd < 0 || !bytes)
        return false;
    void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED)
        return false;
    *ret = (struct text){at, bytes};
    return true;
}

void cachefile_unmap(struct text content)
{
    if (content.n)
        munmap((void *)(uintptr_t)content.at, content.n);
}

void cachefile_rest(struct text content)
{
    madvise((void *)(uintptr_t)content.at, content.n, MADV_DONTNEED);
}

/* Make every folder on the way to PATH. */
static void make_folders(char *path)
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
}

static bool write_whole(int fd, const struct buf *b)
{
    for (size_t at = 0; at < b->n;) {
        ssize_t n = write(fd, b->at + at, b->n - at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

bool cachefile_write(const char *name, const struct buf *b)
{
    autofree char *path = path_of(name);
    if (!path)
        return false;
    make_folders(path);
    autofree char *temp = mem_printf("%s-XXXXXX", path);
    autoclose int fd = mkostemp(temp, O_CLOEXEC);
    bool kept = fd >= 0 && write_whole(fd, b) && rename(temp, path) == 0;
    if (fd >= 0 && !kept)
        unlink(temp);
    return kept;
}
