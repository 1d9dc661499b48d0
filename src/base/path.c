#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
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
