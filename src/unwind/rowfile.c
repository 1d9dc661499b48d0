#include "unwind/rowfile.h"
#include "base/cachefile.h"

#include <xxhash.h>

enum {
    SMALL_ROWS = 1000, /* made anew in less time than a file takes to open */
    MAX_ROWS = 40 << 20,
};

struct head {
    char magic[8]; /* the last byte is the version */
    uint32_t machine, n_segments;
    uint64_t base, n_rows, file_bytes, checksum;
};

static const char magic[8] = {'K', 'E', 'L', 'V', 'U', 'N', 'W', 3};

/* NULL for a file without a build-id. */
static char *rowfile_name_of(const struct unwind_table *t)
{
    return t->build_id[0] ? mem_printf("unwind/%s.rows", t->build_id) : NULL;
}

static uint64_t checksum(const struct head *h, const void *bytes, size_t n)
{
    struct head copy = *h;
    copy.checksum = 0;
    return XXH3_64bits_withSeed(bytes, n, XXH3_64bits(&copy, sizeof copy));
}

/* --- reading --- */

static bool head_is_good(const struct head *h, const struct unwind_table *t, uint64_t file_bytes,
                         size_t left)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0 || h->machine != t->machine ||
        h->file_bytes != file_bytes || h->n_rows > MAX_ROWS)
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

/* Fill T from WHOLE, the file. */
static bool rowfile_take(struct unwind_table *t, uint64_t file_bytes, struct text whole)
{
    struct head h;
    if (whole.n < sizeof h)
        return false;
    memcpy(&h, whole.at, sizeof h);
    const char *body = whole.at + sizeof h;
    size_t n = whole.n - sizeof h, segments = h.n_segments * sizeof *t->segments;
    if (!head_is_good(&h, t, file_bytes, n) || checksum(&h, body, n) != h.checksum)
        return false;
    rowfile_free(t);
    free(t->segments);
    t->base = h.base;
    t->n_segments = h.n_segments;
    t->n_rows = h.n_rows;
    t->segments = copy_of(body, segments);
    t->rows = (struct unwind_row *)(uintptr_t)(body + segments);
    t->mapped = whole;
    return true;
}

bool rowfile_read(struct unwind_table *t, uint64_t file_bytes)
{
    autofree char *name = rowfile_name_of(t);
    struct text whole;
    if (!name || !cachefile_map(name, &whole))
        return false;
    if (!rowfile_take(t, file_bytes, whole)) {
        cachefile_unmap(whole);
        return false;
    }
    return true;
}

void rowfile_rest(const struct unwind_table *t)
{
    if (t->mapped.n)
        cachefile_rest(t->mapped);
}

void rowfile_free(struct unwind_table *t)
{
    if (t->mapped.n)
        cachefile_unmap(t->mapped);
    else
        free(t->rows);
    t->rows = NULL;
    t->mapped = (struct text){0};
}

/* --- writing --- */

bool rowfile_write(const struct unwind_table *t, uint64_t file_bytes)
{
    autofree char *name = rowfile_name_of(t);
    if (!name || t->n_rows < SMALL_ROWS)
        return false;
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
    return cachefile_write(name, &b);
}
