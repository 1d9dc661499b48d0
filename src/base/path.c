#include "base/path.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static enum path_kind path_kind_of(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? PATH_FILE : S_ISDIR(st->st_mode) ? PATH_FOLDER : PATH_OTHER;
}

enum path_kind path_kind(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? path_kind_of(&st) : PATH_NOTHING;
}

char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".");
    return slash == path ? mem_strdup("/") : mem_strndup(path, (size_t)(slash - path));
}

bool path_is_planted(const char *path)
{
    autofree char *folder = path_folder(path);
    struct stat st, in;
    if (lstat(path, &st) != 0 || st.st_uid == geteuid() || stat(folder, &in) != 0)
        return false;
    bool shared = (in.st_mode & S_ISVTX) && (in.st_mode & S_IWOTH);
    return shared && st.st_uid != in.st_uid;
}

static bool is_of_us_or(uid_t owner, const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0 || st->st_uid == owner;
}

bool path_is_trusted(const char *path, bool above)
{
    struct stat here, link, file;
    if (!above)
        return !path_is_planted(path);
    return stat(".", &here) == 0 && lstat(path, &link) == 0 && stat(path, &file) == 0 &&
           is_of_us_or(here.st_uid, &link) && is_of_us_or(here.st_uid, &file);
}

/* Where LINK leads to, from the folder that it is in. */
static char *path_after(const char *link)
{
    char to[PATH_MAX];
    autofree char *folder = path_folder(link);
    ssize_t n = readlink(link, to, sizeof to - 1);
    if (n < 0)
        return NULL;
    if (path_is_planted(link)) {
        errno = EACCES;
        return NULL;
    }
    to[n] = '\0';
    return to[0] == '/' ? mem_strdup(to) : mem_printf("%s/%s", folder, to);
}

char *path_target(const char *path)
{
    enum { LINKS_MAX = 40 };
    char *at = mem_strdup(path);
    for (int i = 0; i < LINKS_MAX; i++) {
        struct stat st;
        if (lstat(at, &st) != 0 || !S_ISLNK(st.st_mode))
            return at;
        char *next = path_after(at);
        free(at);
        if (!next)
            return NULL;
        at = next;
    }
    free(at);
    errno = ELOOP;
    return NULL;
}

/* Bytes at the start of T that are a home folder; 0 = none. */
static size_t home_bytes(struct text t)
{
    static const char after[] = "/ '\":=,;)";
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;
    if (n < 2 || !text_starts(t, home)) {
        n = text_starts(t, "/home/") ? 6 : 0;
        size_t name = n;
        while (n && n < t.n && !strchr(after, t.at[n]))
            n++;
        n = n > name ? n : 0;
    }
    return n && (n == t.n || strchr(after, t.at[n])) ? n : 0;
}

void path_shorten(struct buf *b, struct text t)
{
    bool starts = true; /* not within a longer path */
    for (size_t i = 0, n; i < t.n; i += n) {
        size_t home = starts ? home_bytes((struct text){t.at + i, t.n - i}) : 0;
        n = home ? home : 1;
        buf_byte(b, (uint8_t)(home ? '~' : t.at[i]));
        char c = t.at[i];
        starts = !home && !(c >= '0' && c <= '9') && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') &&
                 !strchr("._-/~", c);
    }
}

int path_open_file(const char *path, int more, struct stat *ret)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | more);
    if (fd < 0)
        return -1;
    int e = fstat(fd, ret ? ret : &st) != 0              ? errno
            : path_kind_of(ret ? ret : &st) != PATH_FILE ? EINVAL
                                                         : 0;
    if (!e)
        return fd;
    close(fd);
    errno = e;
    return -1;
}

char *path_of_open(int fd)
{
    char link[40], real[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, real, sizeof real - 1);
    return n > 0 ? mem_strndup(real, (size_t)n) : NULL;
}

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

bool path_read_fresh(struct buf *b, const char *path, struct timespec since, size_t most)
{
    struct stat st;
    char chunk[65536];
    ssize_t n = 0;
    autoclose int fd = path_open_file(path, 0, &st);
    if (fd < 0 || is_before(st.st_mtim, since))
        return false;
    while (b->n <= most && (n = read(fd, chunk, sizeof chunk)) > 0)
        buf_add(b, chunk, (size_t)n);
    return n == 0 && b->n > 0 && b->n <= most;
}
