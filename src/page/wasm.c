/*
 * wasm.c - what the worker of the page calls, and what a browser's C library does not have.
 *
 *     wasm_bytes(n)          memory for n bytes from the page; wasm_free() it
 *     wasm_load(file, at, n) 0, or -1; then the answer is the reason
 *     wasm_load_code(...)    the same for source and instructions that go with the file
 *     wasm_ask(at, n)        the answer is at wasm_answer(), wasm_answer_bytes() long; columns of
 *                            numbers that belong to it at wasm_columns(), wasm_columns_bytes() long
 */
#ifdef __wasm__
#include "base/mem.h"
#include "base/unpack.h"
#include "page/core.h"
#include "page/unzstd.h"

#include <stdlib.h>
#include <zstd.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

void *EXPORT(wasm_bytes)(size_t n);
void EXPORT(wasm_free)(void *at);
int EXPORT(wasm_load)(int file, const char *at, size_t n);
int EXPORT(wasm_load_code)(int file, const char *at, size_t n);
void EXPORT(wasm_ask)(const char *at, size_t n);
const char *EXPORT(wasm_answer)(void);
size_t EXPORT(wasm_answer_bytes)(void);
const char *EXPORT(wasm_columns)(void);
size_t EXPORT(wasm_columns_bytes)(void);

/* One page has one core. */
static struct core *core;
static char *answer;
static size_t answer_bytes;

static FILE *answer_open(void)
{
    free(answer);
    answer = NULL;
    answer_bytes = 0;
    if (!core)
        core = core_new();
    return open_memstream(&answer, &answer_bytes);
}

void *wasm_bytes(size_t n)
{
    return malloc(n ? n : 1);
}

void wasm_free(void *at)
{
    free(at);
}

int wasm_load(int file, const char *at, size_t n)
{
    struct err err = {0};
    FILE *out = answer_open();
    int rc = core_load(core, file, (struct text){at, n}, &err);
    fputs(rc == 0 ? "" : err.text, out);
    fclose(out);
    return rc;
}

int wasm_load_code(int file, const char *at, size_t n)
{
    struct err err = {0};
    FILE *out = answer_open();
    int rc = core_load_code(core, file, (struct text){at, n}, &err);
    fputs(rc == 0 ? "" : err.text, out);
    fclose(out);
    return rc;
}

void wasm_ask(const char *at, size_t n)
{
    FILE *out = answer_open();
    core_ask(core, (struct text){at, n}, out);
    fclose(out);
}

const char *wasm_answer(void)
{
    return answer;
}

size_t wasm_answer_bytes(void)
{
    return answer_bytes;
}

const char *wasm_columns(void)
{
    return core_columns(core).at;
}

size_t wasm_columns_bytes(void)
{
    return core_columns(core).n;
}

/* --- packed input: the page unpacks gzip before it hands bytes over --- */

struct unpack *unpack_new(struct text head)
{
    (void)head;
    return NULL;
}

void unpack_free(struct unpack *u)
{
    (void)u;
}

const char *unpack_name(const struct unpack *u)
{
    (void)u;
    return "";
}

bool unpack_is_text(const struct unpack *u)
{
    (void)u;
    return false;
}

ssize_t unpack_take(struct unpack *u, struct unpack_step *s)
{
    (void)u, (void)s;
    return -1;
}

bool unpack_may_end(const struct unpack *u)
{
    (void)u;
    return true;
}

/* --- what wire/chunk.c asks of libzstd --- */

static const size_t zstd_failed = SIZE_MAX;

/* Nothing is written in a page. */
size_t ZSTD_compressCCtx(ZSTD_CCtx *ctx, void *to, size_t room, const void *from, size_t n,
                         int level)
{
    (void)ctx, (void)to, (void)room, (void)from, (void)n, (void)level;
    return zstd_failed;
}

unsigned ZSTD_isError(size_t code)
{
    return code == zstd_failed;
}

ZSTD_DCtx *ZSTD_createDCtx(void)
{
    return NULL;
}

size_t ZSTD_freeDCtx(ZSTD_DCtx *ctx)
{
    (void)ctx;
    return 0;
}

unsigned long long ZSTD_getFrameContentSize(const void *from, size_t n)
{
    uint64_t size;
    return unzstd_size((struct text){from, n}, &size) ? size : ZSTD_CONTENTSIZE_ERROR;
}

size_t ZSTD_decompressDCtx(ZSTD_DCtx *ctx, void *to, size_t room, const void *from, size_t n)
{
    (void)ctx;
    return unzstd((struct text){from, n}, to, room) ? room : zstd_failed;
}

/* --- memory: an instruction each, where wasi-libc goes word by word; it costs a call, so short
 * ones stay loops --- */

enum { MEMORY_SHORT = 64 };

void *memset(void *to, int c, size_t n)
{
    if (n >= MEMORY_SHORT)
        return __builtin_memset(to, c, n);
    for (volatile char *at = to; n; n--)
        *at++ = (char)c;
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    if (n >= MEMORY_SHORT)
        return __builtin_memcpy(to, from, n);
    volatile char *at = to;
    for (const char *in = from; n; n--)
        *at++ = *in++;
    return to;
}

/* --- wasm_libc.h --- */

struct sorting {
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *ctx;
};

/* Merge two sorted runs that follow each other: N_LEFT elements at AT, then N_RIGHT. */
static void sort_merge(const struct sorting *s, char *at, size_t n_left, size_t n_right, char *room)
{
    size_t z = s->size;
    char *left = room, *left_end = room + n_left * z;
    char *right = at + n_left * z, *right_end = right + n_right * z;
    if (s->compare(right - z, right, s->ctx) <= 0)
        return;
    memcpy(room, at, n_left * z);
    while (left < left_end && right < right_end) {
        char **from = s->compare(left, right, s->ctx) <= 0 ? &left : &right;
        memcpy(at, *from, z);
        *from += z;
        at += z;
    }
    memcpy(at, left, (size_t)(left_end - left));
}

static void sort_run(const struct sorting *s, char *at, size_t n, char *room)
{
    if (n < 2)
        return;
    size_t half = n / 2;
    sort_run(s, at, half, room);
    sort_run(s, at + half * s->size, n - half, room);
    sort_merge(s, at, half, n - half, room);
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
             void *ctx)
{
    autofree char *room = mem_calloc(n / 2 + 1, size);
    sort_run(&(struct sorting){size, compare, ctx}, base, n, room);
}

static int compare_without(const void *a, const void *b, void *ctx)
{
    int (*const *compare)(const void *, const void *) = ctx;
    return (*compare)(a, b);
}

/* That of wasi-libc is not stable, that of the program is: equals would stand in another order. */
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    qsort_r(base, n, size, compare_without, &compare);
}

/* A page has no users. */
uid_t geteuid(void)
{
    return 0;
}
#endif
