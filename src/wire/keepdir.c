#include "wire/keepdir.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MARK "kelvin-recordings"

static const char mark_text[] = "Recordings of 'kelvin record', which removes the oldest. Read "
                                "them with 'kelvin report FOLDER'.\n";

/* --- names --- */

char *keepdir_name(const char *path, uint64_t start_ns)
{
    time_t seconds = (time_t)(start_ns / 1000000000u);
    struct tm t;
    char when[32];
    gmtime_r(&seconds, &t);
    strftime(when, sizeof when, "%Y%m%dT%H%M%S", &t);
    return mem_printf("%s/%s.%03uZ.kelvin", path, when, (unsigned)(start_ns / 1000000u % 1000u));
}

/* "20261117T075512.123Z.kelvin" or the same with ".part"; false for all else. */
static bool read_name(const char *name, struct keepdir_file *ret)
{
    static const char like[] = "00000000T000000.000Z.kelvin";
    size_t n = sizeof like - 1;
    for (size_t i = 0; i < n; i++)
        if (like[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != like[i])
            return false;
    ret->part = strcmp(name + n, ".part") == 0;
    if (name[n] && !ret->part)
        return false;
    struct tm t = {0};
    unsigned ms;
    if (sscanf(name, "%4d%2d%2dT%2d%2d%2d.%3uZ", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
               &t.tm_min, &t.tm_sec, &ms) != 7)
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    time_t seconds = timegm(&t);
    ret->start_ns = seconds < 0 ? 0 : (uint64_t)seconds * 1000000000u + ms * 1000000u;
    return seconds >= 0;
}

/* --- the folder --- */

bool keepdir_is(const char *path)
{
    autofree char *mark = mem_printf("%s/%s", path, MARK);
    return path_kind(path) == PATH_FOLDER && path_kind(mark) == PATH_FILE && !path_is_planted(mark);
}

/* A link of somebody else's: it may lead to another folder of recordings, whose oldest would go. */
static bool is_link_of_others(const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    autofree char *bare = mem_strndup(path, n);
    autofree char *target = path_target(bare);
    return !target && errno == EACCES;
}

/* The owner of a folder can lead what is written there to other places. */
static int check_owner(const char *path, struct err *err)
{
    struct stat st;
    if (is_link_of_others(path))
        return err_set(err, EXIT_ERROR,
                       "'%s' is a link that another user put into a shared folder: name a folder "
                       "of your own",
                       path);
    if (stat(path, &st) != 0 || st.st_uid == geteuid() || st.st_uid == 0)
        return 0;
    return err_set(err, EXIT_ERROR, "the folder '%s' belongs to another user: name one of your own",
                   path);
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    bool empty = d != NULL;
    for (struct dirent *e; d && empty && (e = readdir(d));)
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    if (d)
        closedir(d);
    return empty;
}

static int write_mark(const char *path, struct err *err)
{
    autofree char *mark = mem_printf("%s/%s", path, MARK);
    autoclose int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, mark_text, sizeof mark_text - 1) != (ssize_t)sizeof mark_text - 1)
        return err_set_errno(err, errno, "cannot write '%s'", mark);
    return 0;
}

int keepdir_open(const char *path, struct err *err)
{
    if (check_owner(path, err) != 0)
        return -1;
    if (keepdir_is(path))
        return 0;
    if (mkdir(path, 0700) == 0)
        return write_mark(path, err);
    if (errno != EEXIST)
        return err_set_errno(err, errno, "cannot make the folder '%s'", path);
    if (path_kind(path) != PATH_FOLDER)
        return err_set(err, EXIT_ERROR, "'%s' is not a folder", path);
    if (!is_empty(path))
        return err_set(err, EXIT_ERROR,
                       "'%s' has files that are not such recordings: old files are removed there, "
                       "so name a new or an empty folder",
                       path);
    return write_mark(path, err);
}

/* Not flock(): processes that are forked to finish a file outlive a recorder that was killed. */
int keepdir_lock(const char *path, int *ret_fd, struct err *err)
{
    autofree char *mark = mem_printf("%s/%s", path, MARK);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(mark, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *ret_fd = fd;
    if (fd < 0 || fcntl(fd, F_SETLK, &all) == 0 || (errno != EAGAIN && errno != EACCES))
        return 0;
    close(fd);
    *ret_fd = -1;
    return err_set(err, EXIT_ERROR,
                   "another recorder writes to the folder '%s': end it, or name another folder",
                   path);
}

/* --- what is in it --- */

static int by_start(const void *a, const void *b)
{
    const struct keepdir_file *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

int keepdir_list(const char *path, keepdir_files *ret, struct err *err)
{
    DIR *d = opendir(path);
    if (!d)
        return err_set_errno(err, errno, "cannot read '%s'", path);
    for (struct dirent *e; (e = readdir(d));) {
        struct keepdir_file f = {0};
        struct stat st;
        if (!read_name(e->d_name, &f))
            continue;
        f.path = mem_printf("%s/%s", path, e->d_name);
        if (lstat(f.path, &st) != 0 || !S_ISREG(st.st_mode)) {
            free(f.path);
            continue;
        }
        f.size_bytes = (uint64_t)st.st_size;
        *vec_push(ret) = f;
    }
    closedir(d);
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, by_start);
    return 0;
}

void keepdir_done(keepdir_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->at[i].path);
    vec_done(files);
}

static bool is_current(const struct keepdir_file *f, const char *current)
{
    return current && text_starts(text_of(f->path), current);
}

size_t keepdir_trim(const char *path, const struct keepdir_limits *limits, uint64_t now_ns,
                    const char *current, size_t least)
{
    keepdir_files files = {0};
    struct err ignored;
    uint64_t bytes = 0;
    size_t removed = 0;
    if (!keepdir_is(path) || keepdir_list(path, &files, &ignored) != 0)
        return 0;
    for (size_t i = 0; i < files.n; i++)
        bytes += files.at[i].size_bytes;
    for (size_t i = 0; i < files.n; i++) {
        const struct keepdir_file *f = &files.at[i];
        bool old = limits->keep_s > 0 && now_ns > f->start_ns &&
                   (double)(now_ns - f->start_ns) > limits->keep_s * 1e9;
        bool big = limits->max_bytes && bytes > limits->max_bytes;
        if (is_current(f, current) || (!old && !big && removed >= least))
            continue;
        if (unlink(f->path) != 0)
            continue;
        bytes -= f->size_bytes;
        removed++;
    }
    keepdir_done(&files);
    return removed;
}
