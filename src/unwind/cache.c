#include "unwind/cache.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

enum {
    SMALL_ROWS = 1000,          /* made anew in less time than a file takes to open */
    FILE_MAX_BYTES = 512 << 20, /* 40 million rows */
};

struct head {
    char magic[8]; /* the last byte is the version */
    uint32_t machine, n_segments;
    uint64_t base, n_rows, file_bytes, checksum;
};

static const char magic[8] = {'K', 'E', 'L', 'V', 'U', 'N', 'W', 2};

char *unwind_cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/')
        return mem_printf("%s/kelvin/unwind", cache);
    return home && home[0] == '/' ? mem_printf("%s/.cache/kelvin/unwind", home) : NULL;
}

static char *file_of(const char *folder, const struct unwind_table *t)
{
    return folder && t->build_id[0] ? mem_printf("%s/%s.rows", folder, t->build_id) : NULL;
}

static uint64_t checksum(const struct head *h, const void *bytes, size_t n)
{
    struct head copy = *h;
    copy.checksum = 0;
    return XXH3_64bits_withSeed(bytes, n, XXH3_64bits(&copy, sizeof copy));
}

/* --- reading --- */

/* The whole file, if it is ours: nobody else shall decide what our stacks look like. */
static bool read_whole(const char *path, struct buf *ret)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return false;
    if (st.st_size < (off_t)sizeof(struct head) || st.st_size > FILE_MAX_BYTES)
        return false;
    vec_reserve(ret, (size_t)st.st_size);
    while (ret->n < (size_t)st.st_size) {
        ssize_t got = read(fd, ret->at + ret->n, (size_t)st.st_size - ret->n);
        if (got <= 0)
            return false;
        ret->n += (size_t)got;
    }
    return true;
}

static bool head_is_good(const struct head *h, const struct unwind_table *t, uint64_t file_bytes,
                         size_t left)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->machine != t->machine ||
        h->file_bytes != file_bytes || h->n_rows > FILE_MAX_BYTES)
        return false;
    uint64_t n = h->n_segments * sizeof *t->segments + h->n_rows * sizeof *t->rows;
    return n == left;
}

static void *copy_of(const void *bytes, size_t n)
{
    void *copy = mem_calloc(1, n + 1);
    memcpy(copy, bytes, n);
    return copy;
}

bool cache_read(struct unwind_table *t, uint64_t file_bytes)
{
    autofree char *folder = unwind_cache_folder();
    autofree char *path = file_of(folder, t);
    autobuf struct buf b = {0};
    struct head h;
    if (!path || !read_whole(path, &b))
        return false;
    memcpy(&h, b.at, sizeof h);
    const char *body = b.at + sizeof h;
    size_t n = b.n - sizeof h, segments = h.n_segments * sizeof *t->segments;
    if (!head_is_good(&h, t, file_bytes, n) || checksum(&h, body, n) != h.checksum)
        return false;
    t->base = h.base;
    t->n_segments = h.n_segments;
    t->n_rows = h.n_rows;
    free(t->segments);
    t->segments = copy_of(body, segments);
    t->rows = copy_of(body + segments, n - segments);
    return true;
}

/* --- writing --- */

static bool make_folders(const char *folder)
{
    autofree char *path = mem_strdup(folder);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
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

/* Renamed into place when whole. Not synced: what a crash leaves the checksum tells. */
static void publish(const char *folder, const char *path, const struct buf *b)
{
    autofree char *temp = mem_printf("%s/.kelvin-XXXXXX", folder);
    autoclose int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return;
    if (!write_whole(fd, b) || rename(temp, path) != 0)
        unlink(temp);
}

void cache_write(const struct unwind_table *t, uint64_t file_bytes)
{
    autofree char *folder = unwind_cache_folder();
    autofree char *path = file_of(folder, t);
    if (!path || t->n_rows < SMALL_ROWS || !make_folders(folder))
        return;
    struct head h = {.machine = t->machine,
                     .n_segments = (uint32_t)t->n_segments,
                     .base = t->base,
                     .n_rows = t->n_rows,
                     .file_bytes = file_bytes};
    memcpy(h.magic, magic, sizeof magic);
    autobuf struct buf b = {0};
    buf_add(&b, &h, sizeof h);
    buf_add(&b, t->segments, t->n_segments * sizeof *t->segments);
    buf_add(&b, t->rows, t->n_rows * sizeof *t->rows);
    h.checksum = checksum(&h, b.at + sizeof h, b.n - sizeof h);
    memcpy(b.at, &h, sizeof h);
    publish(folder, path, &b);
}
