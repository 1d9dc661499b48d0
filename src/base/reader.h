/*
 * reader.h - a file or pipe read once, front to back, unpacked on the way (unpack.h).
 *
 * The reader keeps a window of decoded bytes: look at it with reader_peek(), take from it with
 * reader_take() or line by line with reader_line(). Memory is the window only, so a file of any
 * size streams. An I/O or decoding error ends the stream and stays: reader_failed() says.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

struct decoder;

struct reader {
    char *buf;
    size_t cap, start, end; /* the window is buf[start..end) */
    uint64_t before;        /* decoded bytes that were dropped in front of buf[0] */
    uint64_t lines;         /* lines handed out so far: the number of the current one */
    int fd;
    bool owns_fd, at_end;
    struct decoder *decoder; /* NULL for plain bytes */
    struct err err;          /* err.code != 0 when the stream broke */
};

/* The longest line reader_line() hands out. */
#define READER_LINE_MAX ((size_t)64 << 20)

/* Packed input may unpack to that much, and beyond it to so many times its packed size. */
#define READER_UNPACKED_FREE ((uint64_t)128 << 20)
#define READER_UNPACKED_TIMES 500

/* Open PATH, "-" being standard input. Free with reader_close(). */
int reader_open(struct reader *r, const char *path, struct err *err);

/*
 * The same for a file that nobody named but its place, such as one beside a profile. Only a regular
 * one is opened: a pipe there would make Kelvin wait for its writer.
 */
int reader_open_file(struct reader *r, const char *path, struct err *err);

/* Read a copy of N plain bytes: for tests and fuzzing. */
void reader_open_memory(struct reader *r, const void *bytes, size_t n);

void reader_close(struct reader *r);

/*
 * The bytes ahead, at least WANT of them unless the stream ends first. Good until the next
 * call on this reader. An empty text means the end, or a failure.
 */
struct text reader_peek(struct reader *r, size_t want);

/* Step over N bytes that were peeked at. */
static inline void reader_take(struct reader *r, size_t n)
{
    r->start += n;
}

/* Offset in the decoded stream of the next byte. */
static inline uint64_t reader_offset(const struct reader *r)
{
    return r->before + r->start;
}

/*
 * Copy N bytes that stand ahead at OFFSET of the decoded stream and take nothing: from the file
 * itself, or, where that cannot be read in any order, by keeping all up to there in memory. False
 * where there are none, or more than READER_LOOK_MAX would have to be kept.
 */
bool reader_look(struct reader *r, uint64_t offset, size_t n, void *to);

#define READER_LOOK_MAX ((uint64_t)1 << 30)

bool reader_line_slow(struct reader *r, struct text *ret);

/*
 * The next line without its newline (a last line without one counts too). False at the end, on
 * failure, and for a line over READER_LINE_MAX, which is a failure. Good until the next call.
 */
static inline bool reader_line(struct reader *r, struct text *ret)
{
    const char *at = r->buf + r->start;
    const char *nl = r->end > r->start ? memchr(at, '\n', r->end - r->start) : NULL;
    if (!nl)
        return reader_line_slow(r, ret);
    *ret = (struct text){at, (size_t)(nl - at)};
    r->start += ret->n + 1;
    r->lines++;
    return true;
}

/* Whether the stream broke; if so ERR says how. */
bool reader_failed(const struct reader *r, struct err *err);
