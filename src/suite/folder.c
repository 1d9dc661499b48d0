/*
 * folder.c - a folder that is replaced as a whole.
 */
#include "suite/folder.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define MARK ".kelvin-published"

static const char mark_text[] =
    "Made by 'kelvin run', which replaces this folder as a whole: keep nothing else in it.\n";

/* --- names --- */

/* "a/perf" in the folder and its name. */
static void folder_split(const char *path, char **ret_parent, char **ret_name)
{
    const char *slash = strrchr(path, '/');
    *ret_parent =
        slash ? mem_strndup(path, (size_t)(slash - path + (slash == path))) : mem_strdup(".");
    *ret_name = mem_strdup(slash ? slash + 1 : path);
}

/* --- removing --- */

enum { DEPTH_MAX = 64 }; /* ours have two levels; each takes a file descriptor */

/* Never onto another file system than that of ABOVE. */
static DIR *open_to_remove(int above, const char *name)
{
    struct stat outer, st;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *d = fstat(above, &outer) == 0 && fstat(fd, &st) == 0 && outer.st_dev == st.st_dev
                 ? fdopendir(fd)
                 : NULL;
    if (!d)
        close(fd);
    return d;
}

static bool stays_for_now(const char *name, int depth)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           (depth == 0 && strcmp(name, MARK) == 0);
}

/*
 * By descriptors, not by names: in a folder that another user owns, a name may become a link to
 * elsewhere between two looks at it. The mark goes last: by it the next run knows what to remove
 * when this one is killed on the way.
 */
static void remove_below(int above, const char *name, int depth)
{
    if (unlinkat(above, name, 0) == 0 || errno != EISDIR || depth == DEPTH_MAX)
        return;
    DIR *d = open_to_remove(above, name);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!stays_for_now(e->d_name, depth))
            remove_below(dirfd(d), e->d_name, depth + 1);
    if (d && depth == 0)
        unlinkat(dirfd(d), MARK, 0);
    if (d)
        closedir(d);
    unlinkat(above, name, AT_REMOVEDIR);
}

/* All of it, links themselves and not what they lead to, and never onto another file system. */
static void remove_tree(const char *path)
{
    autofree char *parent = NULL, *name = NULL;
    folder_split(path, &parent, &name);
    autoclose int above = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (above >= 0)
        remove_below(above, name, 0);
}

/* --- whose is it --- */

static bool has_mark(const char *folder)
{
    autofree char *mark = mem_printf("%s/" MARK, folder);
    struct stat st;
    return lstat(mark, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_empty(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n == 2; /* "." and ".." */
}

static int check_target(const char *path, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : err_set_errno(err, errno, "cannot look at '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, EXIT_ERROR,
                       "'%s' is not a folder: move it away, or choose another name", path);
    if (has_mark(path) || is_empty(path))
        return 0;
    return err_set(
        err, EXIT_ERROR,
        "the folder '%s' was not made by kelvin and would be lost: move it away, or choose "
        "another name",
        path);
}

/* --- what was left behind --- */

/* Nothing is in it for so long, not even a mark: no run is about to write one. */
static bool is_old(const char *folder)
{
    enum { OLD_S = 60 };
    struct stat st;
    return lstat(folder, &st) == 0 && st.st_mtime + OLD_S < time(NULL);
}

/* What a run that was killed left: nobody holds its lock. Returns whether somebody does. */
static bool remove_if_stale(const char *staging)
{
    autofree char *mark = mem_printf("%s/" MARK, staging);
    autoclose int fd = path_open_file(mark, O_NOFOLLOW, NULL);
    bool stale = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (stale)
        remove_tree(staging);
    else if (fd < 0 && is_old(staging))
        rmdir(staging); /* only where it is empty */
    return fd >= 0 && !stale && errno == EWOULDBLOCK;
}

/* ".perf.new-Xy12ab" of "perf", or of any folder where NAME is NULL. */
static bool is_staging(const char *entry, const char *name)
{
    autofree char *prefix = name ? mem_printf(".%s.new-", name) : NULL;
    return prefix ? text_starts(text_of(entry), prefix)
                  : *entry == '.' && strstr(entry, ".new-") != NULL;
}

bool folder_sweep(const char *parent, const char *name)
{
    bool in_use = false;
    DIR *d = opendir(parent);
    for (struct dirent *e; d && (e = readdir(d));)
        if (is_staging(e->d_name, name)) {
            autofree char *path = mem_printf("%s/%s", parent, e->d_name);
            in_use |= remove_if_stale(path);
        }
    if (d)
        closedir(d);
    return in_use;
}

/* --- the way of a folder --- */

static int write_mark(struct folder *f, struct err *err)
{
    autofree char *mark = folder_file(f, MARK);
    f->lock = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->lock < 0 || flock(f->lock, LOCK_EX) != 0 ||
        write(f->lock, mark_text, sizeof mark_text - 1) != (ssize_t)sizeof mark_text - 1)
        return err_set_errno(err, errno, "cannot write to '%s'", f->staging);
    return 0;
}

int folder_open(struct folder *f, const char *path, struct err *err)
{
    *f = (struct folder){.path = mem_strdup(path), .lock = -1};
    for (size_t n = strlen(f->path); n > 1 && f->path[n - 1] == '/'; n--)
        f->path[n - 1] = '\0';
    if (check_target(f->path, err) != 0)
        return -1;
    autofree char *parent = NULL, *name = NULL;
    folder_split(f->path, &parent, &name);
    if (folder_make(parent, err) != 0)
        return -1;
    f->in_use = folder_sweep(parent, name);
    f->staging = mem_printf("%s/.%s.new-XXXXXX", parent, name);
    if (!mkdtemp(f->staging)) {
        int e = errno;
        free(f->staging);
        f->staging = NULL;
        return err_set_errno(err, e, "cannot make a folder beside '%s'", f->path);
    }
    chmod(f->staging, 0755);
    return write_mark(f, err);
}

char *folder_file(const struct folder *f, const char *name)
{
    return mem_printf("%s/%s", f->staging, name);
}

static void let_go(struct folder *f)
{
    if (f->lock >= 0)
        close(f->lock);
    free(f->path);
    free(f->staging);
    *f = (struct folder){.lock = -1};
}

/* In one step where the file system can; else with a moment in which there is neither. */
static int change_places(const struct folder *f, struct err *err)
{
    if (rename(f->staging, f->path) == 0) /* there was none, or an empty one */
        return 0;
    if (renameat2(AT_FDCWD, f->staging, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0) {
        remove_tree(f->staging);
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS)
        return err_set_errno(err, errno, "cannot publish '%s'", f->path);
    autofree char *old = mem_printf("%s.old", f->staging);
    if (rename(f->path, old) != 0)
        return err_set_errno(err, errno, "cannot move the old '%s' away", f->path);
    if (rename(f->staging, f->path) != 0) {
        int e = errno;
        rename(old, f->path);
        return err_set_errno(err, e, "cannot publish '%s'", f->path);
    }
    remove_tree(old);
    return 0;
}

int folder_commit(struct folder *f, struct err *err)
{
    if (check_target(f->path, err) != 0)
        return -1;
    syncfs(f->lock);
    int rc = change_places(f, err);
    if (rc == 0)
        let_go(f);
    return rc;
}

void folder_remove(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && has_mark(path))
        remove_tree(path);
}

void folder_drop(struct folder *f)
{
    if (f->staging)
        remove_tree(f->staging);
    let_go(f);
}

int folder_copy_file(const char *from, const char *to, struct err *err)
{
    autofree char *temp = mem_printf("%s.new", to);
    autofclose FILE *in = fopen(from, "re"), *out = fopen(temp, "we");
    char chunk[65536];
    struct stat st;
    size_t n;
    if (!in || !out || fstat(fileno(in), &st) != 0 || fchmod(fileno(out), st.st_mode & 0777) != 0)
        return err_set_errno(err, errno, "cannot copy '%s' to '%s'", from, to);
    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0)
        if (fwrite(chunk, 1, n, out) != n)
            break;
    if (ferror(in) || fflush(out) != 0 || ferror(out) || rename(temp, to) != 0) {
        int e = errno;
        unlink(temp);
        return err_set_errno(err, e, "cannot copy '%s' to '%s'", from, to);
    }
    return 0;
}

int folder_make(const char *path, struct err *err)
{
    autofree char *copy = mem_strdup(path);
    for (char *at = copy + 1;; at++) {
        char c = *at;
        if (c && c != '/')
            continue;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            return err_set_errno(err, errno, "cannot make the folder '%s'", copy);
        *at = c;
        if (!c)
            return 0;
    }
}
