#include "base/publish.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <zlib.h>

/*
 * Permissions for the new file: those of the one it replaces, unless somebody put that there for
 * us, or what the umask leaves of MOST.
 */
static mode_t mode_for(const char *path, mode_t most)
{
    struct stat st;
    if (stat(path, &st) == 0 && !path_is_planted(path))
        return st.st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return most & ~mask;
}

/*
 * A file with no name yet; where the filesystem has none (NFS, old overlays), or could not give it
 * one later (no /proc, as in a bare chroot), a hidden one.
 */
static int open_beside(struct publish *p)
{
    autofree char *folder = path_folder(p->path);
    bool can_name = access("/proc/self/fd", F_OK) == 0;
    int fd = can_name ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 || (can_name && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    p->temp = mem_printf("%s/.kelvin-XXXXXX", folder);
    fd = mkostemp(p->temp, O_CLOEXEC);
    if (fd < 0) {
        free(p->temp);
        p->temp = NULL;
    }
    return fd;
}

static int cannot_follow(const char *path, int errnum, struct err *err)
{
    if (errnum != EACCES)
        return err_set_errno(err, errnum, "cannot write '%s'", path);
    return err_set(err, EXIT_ERROR,
                   "cannot write '%s': it is a link that another user put into a shared folder",
                   path);
}

/* Where PATH leads to; what is written through keeps its own name, as /dev/stdout must. */
static int publish_find(struct publish *p, const char *path, struct err *err)
{
    enum path_kind kind = path_kind(path);
    bool standard = strcmp(path, "-") == 0;
    p->direct = standard || (kind != PATH_NOTHING && kind != PATH_FILE);
    p->path = standard ? mem_strdup(path) : path_target(path);
    if (!p->path)
        return cannot_follow(path, errno, err);
    if (!p->direct || standard)
        return 0;
    bool planted = path_is_planted(p->path);
    free(p->path);
    p->path = mem_strdup(path);
    return planted ? err_set(err, EXIT_ERROR,
                             "cannot write '%s': it is not a file, and another user put it into a "
                             "shared folder",
                             path)
                   : 0;
}

static bool publish_is_pipe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/*
 * What is written through. A pipe opens when somebody reads it. That may take a moment, as the
 * other side of `kelvin flame x -o pipe & reader pipe` starts; a pipe without a reader must not
 * hold us for good.
 */
static int open_through(const char *path)
{
    enum { PATIENCE_MS = 5000, STEP_MS = 20 };
    int fd = -1;
    for (int ms = 0; ms <= PATIENCE_MS; ms += STEP_MS) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO || !publish_is_pipe(path))
            break;
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        errno = ENXIO;
    }
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

static int cannot_open(const char *path, int errnum, struct err *err)
{
    if (errnum == ENXIO && publish_is_pipe(path))
        return err_set(err, EXIT_ERROR,
                       "cannot write '%s': it is a pipe that nobody reads; start its reader first",
                       path);
    return err_set_errno(err, errnum, "cannot write '%s'", path);
}

static int open_new(struct publish *p, const char *path, mode_t most, struct err *err)
{
    *p = (struct publish){0};
    if (publish_find(p, path, err) != 0) {
        publish_drop(p);
        return -1;
    }
    int fd;
    if (strcmp(path, "-") == 0)
        fd = dup(STDOUT_FILENO);
    else
        fd = p->direct ? open_through(path) : open_beside(p);
    if (fd < 0) {
        int e = errno;
        publish_drop(p);
        return cannot_open(path, e, err);
    }
    if (!p->direct)
        fchmod(fd, mode_for(p->path, most));
    p->out = fdopen(fd, "w");
    setvbuf(p->out, NULL, _IOFBF, 1 << 16);
    return 0;
}

int publish_open(struct publish *p, const char *path, struct err *err)
{
    return open_new(p, path, 0666, err);
}

int publish_open_private(struct publish *p, const char *path, struct err *err)
{
    return open_new(p, path, 0600, err);
}

/*
 * Give a nameless file a name, so that it can be renamed over the target: one that nobody can
 * foresee and take first.
 */
static int name_it(struct publish *p)
{
    enum { TRIES = 100 };
    autofree char *folder = path_folder(p->path);
    autofree char *link = mem_printf("/proc/self/fd/%d", fileno(p->out));
    for (int i = 0; i < TRIES && !p->temp; i++) {
        uint64_t random = 0;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        autofree char *name = mem_printf("%s/.kelvin-%016llx", folder, (unsigned long long)random);
        if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0)
            p->temp = mem_strdup(name);
        else if (errno != EEXIST)
            return -1;
    }
    return p->temp ? 0 : -1;
}

static int publish_finish(struct publish *p)
{
    if (fflush(p->out) != 0 || ferror(p->out))
        return -1;
    if (p->direct)
        return 0;
    if (fsync(fileno(p->out)) != 0 || name_it(p) != 0)
        return -1;
    if (rename(p->temp, p->path) != 0)
        return -1;
    free(p->temp);
    p->temp = NULL;
    return 0;
}

bool publish_nobody_reads(FILE *out)
{
    struct pollfd p = {fileno(out), POLLOUT, 0};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

int publish_commit(struct publish *p, struct err *err)
{
    int rc = publish_finish(p);
    bool standard = strcmp(p->path, "-") == 0;
    if (rc != 0 && p->direct && publish_nobody_reads(p->out))
        err_set(err, EXIT_NOBODY_READS, "the pipe was closed");
    else if (rc != 0)
        err_set_errno(err, errno ? errno : EIO, "cannot write %s%s%s; %s", standard ? "" : "'",
                      standard ? "standard output" : p->path, standard ? "" : "'",
                      p->direct ? "it may be cut short" : "what was there before is unchanged");
    publish_drop(p);
    return rc;
}

void publish_drop(struct publish *p)
{
    if (p->temp)
        unlink(p->temp);
    if (p->out)
        fclose(p->out);
    free(p->temp);
    free(p->path);
    *p = (struct publish){0};
}

/* --- gzip on the way out --- */

struct gzip_out {
    FILE *out;
    z_stream z;
    unsigned char bytes[1 << 15];
};

static int gzip_push(struct gzip_out *g, int flush)
{
    do {
        g->z.next_out = g->bytes;
        g->z.avail_out = sizeof g->bytes;
        deflate(&g->z, flush);
        size_t n = sizeof g->bytes - g->z.avail_out;
        if (fwrite(g->bytes, 1, n, g->out) != n)
            return -1;
    } while (g->z.avail_out == 0);
    return 0;
}

static ssize_t gzip_write(void *cookie, const char *bytes, size_t n)
{
    struct gzip_out *g = cookie;
    g->z.next_in = (Bytef *)(uintptr_t)bytes;
    g->z.avail_in = (uInt)n;
    return gzip_push(g, Z_NO_FLUSH) == 0 ? (ssize_t)n : 0;
}

static int gzip_close(void *cookie)
{
    struct gzip_out *g = cookie;
    g->z.avail_in = 0;
    int rc = gzip_push(g, Z_FINISH);
    deflateEnd(&g->z);
    free(g);
    return rc;
}

FILE *publish_gzip(FILE *out)
{
    struct gzip_out *g = mem_new(struct gzip_out);
    g->out = out;
    deflateInit2(&g->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    cookie_io_functions_t io = {.write = gzip_write, .close = gzip_close};
    FILE *f = fopencookie(g, "w", io);
    setvbuf(f, NULL, _IOFBF, 1 << 16);
    return f;
}
