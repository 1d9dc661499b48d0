#include "base/reader.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/unpack.h"

#include <errno.h>
#include <fcntl.h>

enum { WINDOW_BYTES = 1 << 18, INPUT_BYTES = WINDOW_BYTES };

/* Packed input on its way through a decoder. */
struct decoder {
    struct unpack *unpack;
    struct decoder *under; /* what its input comes through; NULL: the file itself */
    uint64_t fed;          /* packed bytes consumed, for error messages and the limit */
    uint64_t got;          /* bytes unpacked */
    size_t start, end;
    char in[INPUT_BYTES];
};

static ssize_t read_some(struct reader *r, void *to, size_t n)
{
    ssize_t got;
    do
        got = read(r->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        err_set_errno(&r->err, errno, "cannot read the input at byte %llu",
                      (unsigned long long)(r->before + r->end));
    return got;
}

static ssize_t decode_some(struct reader *r, struct decoder *d, char *to, size_t n);

static ssize_t decoder_input(struct reader *r, struct decoder *d)
{
    if (d->under)
        return decode_some(r, d->under, d->in, sizeof d->in);
    return r->fd < 0 ? 0 : read_some(r, d->in, sizeof d->in);
}

static int decoder_refill(struct reader *r, struct decoder *d)
{
    if (d->start < d->end)
        return 1;
    ssize_t got = decoder_input(r, d);
    if (got <= 0)
        return (int)got;
    d->start = 0;
    d->end = (size_t)got;
    return 1;
}

static ssize_t decode_step(struct decoder *d, char *to, size_t n, bool last)
{
    struct unpack_step s = {d->in + d->start, d->end - d->start, to, n, last};
    ssize_t got = unpack_take(d->unpack, &s);
    size_t consumed = d->end - d->start - s.in_n;
    d->start += consumed;
    d->fed += consumed;
    return got;
}

/*
 * A small file that unpacks to gigabytes was made to do so: text of profilers packs to a hundredth
 * at best. gzip can do 1 in 1,032, others a millionth.
 */
static bool is_bomb(const struct decoder *d)
{
    return d->got > READER_UNPACKED_FREE && d->got / READER_UNPACKED_TIMES > d->fed;
}

static ssize_t decode_some(struct reader *r, struct decoder *d, char *to, size_t n)
{
    const char *what = unpack_name(d->unpack);
    for (;;) {
        int more = decoder_refill(r, d);
        if (more < 0)
            return -1;
        if (more == 0 && unpack_may_end(d->unpack))
            return 0;
        ssize_t got = decode_step(d, to, n, more == 0);
        if (got < 0)
            return err_set(&r->err, EXIT_INPUT, "the %s data is damaged near byte %llu", what,
                           (unsigned long long)d->fed);
        d->got += (uint64_t)got;
        if (is_bomb(d))
            return err_set(&r->err, EXIT_INPUT,
                           "the %s data unpacks to more than %d times its size: not a profile",
                           what, READER_UNPACKED_TIMES);
        if (got > 0)
            return got;
        if (more == 0 && !unpack_may_end(d->unpack))
            return err_set(&r->err, EXIT_INPUT,
                           "the %s data is cut off at byte %llu: the file is incomplete", what,
                           (unsigned long long)d->fed);
    }
}

/* Make room for more bytes behind the window, then read some. False at the end or on failure. */
static bool reader_fill(struct reader *r)
{
    if (r->at_end)
        return false;
    if (r->end == r->cap && r->start > 0) {
        memmove(r->buf, r->buf + r->start, r->end - r->start);
        r->before += r->start;
        r->end -= r->start;
        r->start = 0;
    }
    if (r->end == r->cap) {
        r->cap = r->cap ? r->cap * 2 : WINDOW_BYTES;
        r->buf = mem_realloc(r->buf, r->cap);
    }
    size_t room = r->cap - r->end;
    char *to = r->buf + r->end;
    ssize_t got = r->decoder ? decode_some(r, r->decoder, to, room) : read_some(r, to, room);
    if (got <= 0) {
        r->at_end = true;
        return false;
    }
    r->end += (size_t)got;
    return true;
}

struct text reader_peek(struct reader *r, size_t want)
{
    while (r->end - r->start < want && reader_fill(r))
        ;
    if (r->err.code)
        return (struct text){r->buf, 0};
    return (struct text){r->buf + r->start, r->end - r->start};
}

static bool read_at(int fd, uint64_t offset, size_t n, char *to)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool reader_look(struct reader *r, uint64_t offset, size_t n, void *to)
{
    uint64_t here = reader_offset(r), behind = offset - here;
    if (offset < here || offset > INT64_MAX || n > READER_LOOK_MAX)
        return false;
    if (n == 0)
        return true;
    bool plain = r->fd >= 0 && !r->decoder && r->owns_fd && lseek(r->fd, 0, SEEK_CUR) >= 0;
    if (plain && behind + n > r->end - r->start)
        return read_at(r->fd, offset, n, to);
    if (behind > READER_LOOK_MAX - n)
        return false;
    struct text t = reader_peek(r, (size_t)behind + n);
    if (t.n < behind + n)
        return false;
    memcpy(to, t.at + behind, n);
    return true;
}

bool reader_line_slow(struct reader *r, struct text *ret)
{
    size_t seen = 0;
    for (;;) {
        size_t n = r->end - r->start;
        const char *at = r->buf + r->start;
        const char *nl = n > seen ? memchr(at + seen, '\n', n - seen) : NULL;
        size_t line = nl ? (size_t)(nl - at) : n;
        if (line > READER_LINE_MAX) {
            err_set(&r->err, EXIT_INPUT, "line %llu is longer than %zu MB: not a text profile",
                    (unsigned long long)r->lines + 1, READER_LINE_MAX >> 20);
            r->at_end = true;
            return false;
        }
        if (nl) {
            *ret = (struct text){at, line};
            r->start += line + 1;
            r->lines++;
            return true;
        }
        seen = n;
        if (reader_fill(r))
            continue;
        if (r->err.code || n == 0)
            return false;
        *ret = (struct text){r->buf + r->start, n};
        r->start = r->end;
        r->lines++;
        return true;
    }
}

/*
 * Swap the window's packed bytes for a decoder if they start like something packed; whether they
 * did. What comes out of a decoder may be text in UTF-16, but nothing packed again: the limit on
 * what a small file unpacks to holds for one layer.
 */
static bool detect_packing(struct reader *r)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which means nothing */
    struct text head = reader_peek(r, UNPACK_HEAD);
    struct unpack *unpack = unpack_new(head);
    if (text_starts(head, mark))
        reader_take(r, sizeof mark - 1);
    if (unpack && r->decoder && !unpack_is_text(unpack)) {
        unpack_free(unpack);
        unpack = NULL;
    }
    if (!unpack)
        return false;
    struct decoder *d = mem_new(struct decoder);
    d->unpack = unpack;
    d->under = r->decoder;
    size_t n = r->end - r->start; /* at most one window, which is what d->in holds */
    memcpy(d->in, r->buf + r->start, n);
    d->end = n;
    r->start = r->end = 0;
    r->at_end = false;
    r->decoder = d;
    return true;
}

static int reader_start(struct reader *r, const char *path, struct err *err)
{
    if (r->owns_fd)
        posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (detect_packing(r))
        detect_packing(r);
    if (!r->err.code)
        return 0;
    err_set(err, r->err.code, "%s: %s", r->owns_fd ? path : "standard input", r->err.text);
    reader_close(r);
    return -1;
}

int reader_open(struct reader *r, const char *path, struct err *err)
{
    *r = (struct reader){.fd = STDIN_FILENO};
    if (strcmp(path, "-") != 0) {
        r->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (r->fd < 0)
            return err_set_errno(err, errno, "cannot open '%s'", path);
        r->owns_fd = true;
    }
    return reader_start(r, path, err);
}

int reader_open_file(struct reader *r, const char *path, struct err *err)
{
    *r = (struct reader){.fd = path_open_file(path, 0, NULL), .owns_fd = true};
    if (r->fd < 0 && errno == EINVAL)
        return err_set(err, EXIT_ERROR, "cannot read '%s': it is not a regular file", path);
    if (r->fd < 0)
        return err_set_errno(err, errno, "cannot open '%s'", path);
    return reader_start(r, path, err);
}

void reader_open_memory(struct reader *r, const void *bytes, size_t n)
{
    *r = (struct reader){.fd = -1, .at_end = true, .end = n, .cap = n};
    r->buf = mem_realloc(NULL, n ? n : 1);
    if (n)
        memcpy(r->buf, bytes, n);
}

void reader_close(struct reader *r)
{
    for (struct decoder *d = r->decoder, *under; d; d = under) {
        under = d->under;
        unpack_free(d->unpack);
        free(d);
    }
    free(r->buf);
    if (r->owns_fd)
        close(r->fd);
    *r = (struct reader){.fd = -1};
}

bool reader_failed(const struct reader *r, struct err *err)
{
    if (r->err.code)
        *err = r->err;
    return r->err.code != 0;
}
