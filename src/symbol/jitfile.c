#include "symbol/jitfile.h"

#include "base/mem.h"

#include <fcntl.h>
#include <sys/stat.h>

int jitfile_open(const char *path, const uid_t *owner)
{
    struct stat st;
    /* Not blocking: a pipe may lie there that nobody writes to. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return JITFILE_NONE;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return JITFILE_NONE;
    }
    if (st.st_uid == 0 || st.st_uid == geteuid() || (owner && st.st_uid == *owner))
        return fd;
    close(fd);
    return JITFILE_FOREIGN;
}

bool jitfile_pid(struct text path, const char *front, const char *tail, uint64_t *ret_pid)
{
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - path.at) : 0;
    struct text name = {path.at + folder, path.n - folder};
    size_t n = strlen(front), m = strlen(tail);
    if (!text_starts(name, front) || !text_ends(name, tail) || name.n <= n + m)
        return false;
    return text_u64((struct text){name.at + n, name.n - n - m}, 10, ret_pid);
}
