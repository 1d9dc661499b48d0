#include "record/partfile.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "wire/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW_MODE = 0600 };

static void forget(struct partfile *f)
{
    free(f->target);
    free(f->path);
    *f = (struct partfile){0};
}

/* The file that OUTPUT means: where its links lead. */
static int find_target(struct partfile *f, const char *output, mode_t *ret_mode, struct err *err)
{
    struct stat st;
    *ret_mode = NEW_MODE;
    f->target = path_target(output);
    if (!f->target && errno == EACCES)
        return err_set(err, EXIT_ERROR,
                       "cannot record to '%s': it is a link that another user put into a shared "
                       "folder",
                       output);
    if (!f->target)
        return err_set_errno(err, errno, "cannot record to '%s'", output);
    if (stat(f->target, &st) != 0)
        return 0;
    if (!S_ISREG(st.st_mode)) {
        forget(f);
        return err_set(err, EXIT_ERROR, "cannot record to '%s': it is not a regular file", output);
    }
    if (!path_is_planted(f->target))
        *ret_mode = st.st_mode & 0777;
    return 0;
}

static int partfile_refuse(const struct partfile *f, const char *why, struct err *err)
{
    return err_set(err, EXIT_ERROR, "cannot use '%s': %s; remove it, or choose a place with -o",
                   f->path, why);
}

/* Whether FD is a plain file that nobody else may have put there for us. */
static int check_part(const struct partfile *f, int fd, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set_errno(err, errno, "cannot write '%s'", f->path);
    if (!S_ISREG(st.st_mode))
        return partfile_refuse(f, "it is not a regular file", err);
    if (st.st_uid != geteuid())
        return partfile_refuse(f, "it belongs to another user, who may be recording to it", err);
    if (st.st_nlink > 1)
        return partfile_refuse(f, "it has a second name (a hard link)", err);
    return 0;
}

static int lock_part(const struct partfile *f, const char *output, int fd, mode_t mode,
                     struct err *err)
{
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? err_set(err, EXIT_ERROR,
                             "another kelvin is recording to '%s'; choose a place with -o", output)
                   : err_set_errno(err, errno, "cannot lock '%s'", f->path);
    if (fchmod(fd, mode) != 0 || ftruncate(fd, 0) != 0)
        return err_set_errno(err, errno, "cannot write '%s'", f->path);
    return 0;
}

/* O_NONBLOCK: a pipe that waits for a reader must not make us wait. */
static int open_part(struct partfile *f, struct err *err)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, NEW_MODE);
    if (fd >= 0)
        return fd;
    int e = errno;
    struct stat st;
    if (e == ELOOP)
        return partfile_refuse(f, "it is a symbolic link", err);
    if (e == ENXIO || e == EISDIR)
        return partfile_refuse(f, "it is not a regular file", err);
    if (e == EACCES && lstat(f->path, &st) == 0 && st.st_uid != geteuid())
        return partfile_refuse(f, "it belongs to another user, who may be recording to it", err);
    return err_set_errno(err, e, "cannot write '%s'; choose a place with -o", f->path);
}

/* What is at PATH is no recording, neither by its name nor by its first bytes. */
static bool is_something_else(const char *path)
{
    char head[CHUNK_FILE_BYTES];
    if (text_ends(text_of(path), ".kelvin") || path_kind(path) != PATH_FILE)
        return false;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : 0;
    return n > 0 && !chunk_probe((struct text){head, (size_t)n});
}

int partfile_open(struct partfile *f, const char *output, struct err *err)
{
    mode_t mode;
    *f = (struct partfile){0};
    if (find_target(f, output, &mode, err) != 0)
        return -1;
    f->path = mem_printf("%s.part", f->target);
    int fd = is_something_else(f->target)
                 ? err_set(err, EXIT_ERROR,
                           "'%s' exists and is not a recording: delete it, or choose a place with "
                           "-o",
                           output)
                 : open_part(f, err);
    if (fd >= 0 && check_part(f, fd, err) == 0 && lock_part(f, output, fd, mode, err) == 0) {
        f->out = fdopen(fd, "w");
        return 0;
    }
    if (fd >= 0)
        close(fd);
    forget(f);
    return -1;
}

static bool is_without_content(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size == 0;
}

/*
 * As a second name, so that at no moment there is no FILE; by renaming where the file system has no
 * second names, or somebody took the one on the way.
 */
static int keep_old_file(const struct partfile *f, const char *old)
{
    autofree char *new = mem_printf("%s.new", old);
    if (link(f->target, new) != 0)
        return rename(f->target, old);
    int rc = rename(new, old), e = errno;
    unlink(new); /* still there where it and FILE.old were the same file */
    errno = e;
    return rc;
}

bool partfile_is_there(const struct partfile *f)
{
    struct stat open, named;
    return f->out && fstat(fileno(f->out), &open) == 0 && lstat(f->path, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

int partfile_publish(struct partfile *f, char **ret_old, struct err *err)
{
    autofree char *old = NULL;
    if (fflush(f->out) != 0 || fsync(fileno(f->out)) != 0)
        return err_set_errno(err, errno, "cannot write '%s'; '%s' is unchanged", f->path,
                             f->target);
    if (!partfile_is_there(f))
        return err_set(err, EXIT_ERROR, "another process replaced '%s'; '%s' is unchanged", f->path,
                       f->target);
    if (ret_old && path_kind(f->target) != PATH_NOTHING && !is_without_content(f->target))
        old = mem_printf("%s.old", f->target);
    if (old && keep_old_file(f, old) != 0)
        return err_set_errno(err, errno, "cannot keep the old recording as '%s'", old);
    if (rename(f->path, f->target) != 0)
        return err_set_errno(err, errno, "cannot give '%s' its name; '%s' is unchanged", f->path,
                             f->target);
    if (ret_old) {
        *ret_old = old;
        old = NULL;
    }
    fclose(f->out);
    forget(f);
    return 0;
}

void partfile_close(struct partfile *f, bool keep)
{
    if (!f->out)
        return;
    if (!keep)
        unlink(f->path);
    fclose(f->out);
    forget(f);
}
