#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- paths --- */

static char *proc_put_str(char *to, const char *s)
{
    while (*s)
        *to++ = *s++;
    *to = '\0';
    return to;
}

static char *put_number(char *to, uint64_t n)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    return proc_put_str(to, at);
}

/* stdio would use malloc. */
int proc_open_fd_of(uint64_t pid, uint64_t fd)
{
    char path[80];
    put_number(proc_put_str(put_number(proc_put_str(path, "/proc/"), pid), "/fd/"), fd);
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
}

/* --- numbers of processes --- */

/* The two numbers in "PID/task/TID". */
static bool read_ids(struct proc_ids *ret)
{
    char link[64];
    int32_t numbers[2] = {0}, n = 0;
    long bytes = syscall(SYS_readlinkat, AT_FDCWD, "/proc/thread-self", link, sizeof link);
    for (long i = 0; i < bytes; i++)
        if (link[i] >= '0' && link[i] <= '9')
            numbers[n] = numbers[n] * 10 + (link[i] - '0');
        else if (link[i] == '/')
            n = 1;
    *ret = (struct proc_ids){numbers[0], numbers[1]};
    return ret->pid > 0 && ret->tid > 0;
}

static bool is_unseen(int32_t pid)
{
    return syscall(SYS_kill, pid, 0) != 0 && errno == ESRCH;
}

/* The process's own number and the recorder's for it, 0 where that is not known. */
static _Atomic uint64_t process_ids;
static _Atomic bool apart;

bool proc_is_apart(void)
{
    return apart;
}

/* A number that the recorder has by chance in this namespace, too, is found out when the program
 * begins. A fork asks no file: a sandbox may forbid it. */
static uint64_t learn_ids(int32_t own, int32_t recorder)
{
    struct proc_ids seen = {own, own};
    bool hidden = is_unseen(recorder), begins = !process_ids;
    if (apart || hidden || begins) {
        bool known = read_ids(&seen);
        apart = apart || hidden || (known && seen.pid != own);
        if (!known || (apart && seen.pid == own))
            seen.pid = apart ? 0 : own;
    }
    return (uint64_t)(uint32_t)own << 32 | (uint32_t)seen.pid;
}

bool proc_own_ids(int32_t recorder, struct proc_ids *ret)
{
    int e = errno;
    int32_t own = (int32_t)syscall(SYS_getpid);
    uint64_t ids = process_ids;
    if ((int32_t)(ids >> 32) != own)
        process_ids = ids = learn_ids(own, recorder);
    *ret = (struct proc_ids){(int32_t)ids, (int32_t)syscall(SYS_gettid)};
    bool known = ret->pid && (!apart || (read_ids(ret) && ret->pid == (int32_t)ids));
    errno = e;
    return known;
}

bool proc_is_gone(int32_t pid)
{
    int e = errno;
    bool gone = !apart && is_unseen(pid);
    errno = e;
    return gone;
}

/* A byte of a file after the other. */
struct proc_file {
    int fd;
    long n, at;
    uint8_t bytes[1024];
};

static bool proc_open(struct proc_file *f, const char *path)
{
    f->fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    f->n = f->at = 0;
    return f->fd >= 0;
}

/* -1 at the end. */
static int proc_byte(struct proc_file *f)
{
    if (f->at == f->n) {
        f->n = syscall(SYS_read, f->fd, f->bytes, sizeof f->bytes);
        f->at = 0;
    }
    return f->n > 0 ? f->bytes[f->at++] : -1;
}

/* --- what is mapped --- */

/* Lines of /proc/PID/maps as they come, byte by byte. */
struct maps_text {
    uint8_t *at;
    uint32_t n, max;
    uint32_t line, rights; /* where the line starts, and its "r-xp" */
    bool full;
};

/* A line without a right to execute is taken back. */
static void maps_add(struct maps_text *t, uint8_t c)
{
    if (t->n == t->max) {
        t->full = true;
        t->n = t->line;
        return;
    }
    t->at[t->n++] = c;
    if (c == ' ' && !t->rights)
        t->rights = t->n;
    if (c != '\n')
        return;
    if (t->at[t->rights + 2] != 'x')
        t->n = t->line;
    t->line = t->n;
    t->rights = 0;
}

uint32_t proc_read_maps(uint8_t *to, uint32_t max)
{
    struct maps_text t = {.at = to, .max = max};
    uint8_t part[1024];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    long n;
    if (fd < 0)
        return 0;
    while (!t.full && (n = syscall(SYS_read, fd, part, sizeof part)) > 0)
        for (long i = 0; i < n && !t.full; i++)
            maps_add(&t, part[i]);
    syscall(SYS_close, fd);
    return t.line;
}

/* A hexadecimal number and the byte behind it. */
static int proc_hex(struct proc_file *f, uintptr_t *ret)
{
    int c;
    *ret = 0;
    while ((c = proc_byte(f)) >= 0) {
        if (c >= '0' && c <= '9')
            *ret = *ret << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *ret = *ret << 4 | (uintptr_t)(c - 'a' + 10);
        else
            break;
    }
    return c;
}

bool proc_find_map(uintptr_t address, uintptr_t *ret_start, uintptr_t *ret_end)
{
    struct proc_file f;
    bool found = false;
    int c = 0;
    if (!proc_open(&f, "/proc/self/maps"))
        return false;
    while (!found && c >= 0) {
        proc_hex(&f, ret_start);
        proc_hex(&f, ret_end);
        c = proc_byte(&f);
        found = c == 'r' && address >= *ret_start && address < *ret_end;
        while (!found && c >= 0 && c != '\n')
            c = proc_byte(&f);
    }
    syscall(SYS_close, f.fd);
    return found;
}

/* --- the environment --- */

/* Whether the variable that comes next is NAME; then its value comes next. */
static bool proc_match(struct proc_file *f, const char *name, int *c)
{
    while (*name && (*c = proc_byte(f)) == *name)
        name++;
    if (!*name)
        *c = proc_byte(f);
    return !*name && *c == '=';
}

bool proc_read_env(const char *name, char *to, size_t max)
{
    struct proc_file f;
    bool found = false;
    int c = 0;
    size_t n = 0;
    if (!proc_open(&f, "/proc/self/environ"))
        return false;
    while (c >= 0 && !(found = proc_match(&f, name, &c)))
        while (c > 0)
            c = proc_byte(&f);
    while (found && n + 1 < max && (c = proc_byte(&f)) > 0)
        to[n++] = (char)c;
    to[n] = '\0';
    syscall(SYS_close, f.fd);
    return found;
}

void *proc_map(size_t n_bytes)
{
    int e = errno;
    void *at = (void *)syscall(SYS_mmap, NULL, n_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = e;
    return at == MAP_FAILED ? NULL : at;
}

void proc_unmap(void *at, size_t n_bytes)
{
    int e = errno;
    syscall(SYS_munmap, at, n_bytes);
    errno = e;
}
