/*
 * kelvin.h - a program's own words in its recording, C11 and C++11 and later, gcc and clang.
 *
 *     #include <kelvin.h>
 *
 *     float *layer(struct model *m, int i)
 *     {
 *         KELVIN_SCOPE("layer", "index", i);        // until the end of the block
 *         ...
 *     }
 *     KELVIN_COUNT("tokens", 1);
 *     KELVIN_GAUGE("queue", depth);
 *     KELVIN_EVENT("reload");
 *
 *     kelvin record -- ./app && kelvin scopes app.kelvin
 *
 * There is nothing to link. Under `kelvin record` the program loads a small library when it
 * starts; otherwise everything here costs a load and a branch, and arguments are not evaluated.
 * With -DKELVIN_OFF nothing is left. Safe in threads and in signal handlers; never blocks, never
 * allocates with malloc. Static programs and setuid programs are not recorded.
 */
#ifndef KELVIN_H
#define KELVIN_H

#include <stddef.h>
#include <stdint.h>

/* A span that crosses functions or threads: kelvin_begin() to kelvin_end(). 0 = not recorded. */
typedef uint64_t kelvin_span;

/* The value of an attribute: a number or a text. */
struct kelvin_value {
    int kind; /* 1 integer, 2 real, 3 text */
    union {
        int64_t integer;
        double real;
        const char *text;
    } is;
};

struct kelvin_attr {
    const char *key;
    struct kelvin_value value;
};

/* A place in the program where something is named. */
struct kelvin_site {
    const char *name;
    uint32_t id; /* 0 until it is used */
};

/* A scope that is open. Lives on the stack. */
struct kelvin_scope {
    uint64_t start;
    uint32_t depth; /* 0 = not recorded */
    uint32_t path;
};

/* What the library that is loaded under `kelvin record` offers. */
struct kelvin_hooks {
    uint32_t version;
    void (*begin)(struct kelvin_scope *s, struct kelvin_site *site);
    void (*begin_with)(struct kelvin_scope *s, struct kelvin_site *site, int n,
                       const struct kelvin_attr *attrs);
    void (*begin_named)(struct kelvin_scope *s, const char *name);
    void (*end)(struct kelvin_scope *s);
    void (*count)(struct kelvin_site *site, int64_t n);
    void (*gauge)(struct kelvin_site *site, int64_t value);
    void (*event)(struct kelvin_site *site);
    kelvin_span (*span_begin)(const char *name);
    void (*span_end)(kelvin_span span);
    void (*thread_name)(const char *name);
};

#define KELVIN_HOOKS_VERSION 1
#define KELVIN_HOOKS_SYMBOL "kelvin_get_hooks"
#define KELVIN_SCOPES_ENV "KELVIN_SCOPES" /* "PID FD INODE LIBRARY" */

#define KELVIN_JOIN2_(a, b) a##b
#define KELVIN_JOIN_(a, b) KELVIN_JOIN2_(a, b)
#define KELVIN_INLINE_ static inline __attribute__((unused))

#ifdef KELVIN_OFF

#define KELVIN_SCOPE(...) KELVIN_NOTHING_
#define KELVIN_SCOPE_NAMED(name) KELVIN_NOTHING_
#define KELVIN_NOTHING_ enum { KELVIN_JOIN_(kelvin_nothing_, __COUNTER__) }
#define KELVIN_COUNT(name, n) ((void)0)
#define KELVIN_GAUGE(name, value) ((void)0)
#define KELVIN_EVENT(name) ((void)0)
KELVIN_INLINE_ kelvin_span kelvin_begin(const char *name)
{
    (void)name;
    return 0;
}
KELVIN_INLINE_ void kelvin_end(kelvin_span span)
{
    (void)span;
}
KELVIN_INLINE_ void kelvin_thread_name(const char *name)
{
    (void)name;
}
KELVIN_INLINE_ void kelvin_alloc(const void *block, size_t size)
{
    (void)block, (void)size;
}
KELVIN_INLINE_ void kelvin_free(const void *block)
{
    (void)block;
}
KELVIN_INLINE_ void kelvin_lock_name(const void *lock, const char *name)
{
    (void)lock, (void)name;
}

#else

#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of each for a program or library, whichever of its files brings it. */
#define KELVIN_SHARED_ __attribute__((weak, visibility("hidden")))

KELVIN_SHARED_ const struct kelvin_hooks *kelvin_hooks_ = NULL;
KELVIN_SHARED_ void (*kelvin_pool_alloc_)(const void *, size_t) = NULL;
KELVIN_SHARED_ void (*kelvin_pool_free_)(const void *) = NULL;
KELVIN_SHARED_ void (*kelvin_lock_named_)(const void *, const char *) = NULL;
KELVIN_SHARED_ char kelvin_started_ = 0;

/* Of libc, where it has them. dlopen() is asked for by name: static programs are warned of it. */
extern void *kelvin_dlsym_(void *, const char *) __asm__("dlsym") __attribute__((weak));
extern char *kelvin_getenv_(const char *) __asm__("secure_getenv") __attribute__((weak));

KELVIN_INLINE_ void kelvin_find_(void *from, const char *name, void *to)
{
    void *found = kelvin_dlsym_(from, name);
    __builtin_memcpy(to, &found, sizeof found);
}

KELVIN_INLINE_ void kelvin_load_(const char *library)
{
    const struct kelvin_hooks *(*get)(void) = NULL;
    void *(*open)(const char *, int) = NULL;
    kelvin_find_(NULL, "dlopen", (void *)&open);
    void *handle = open ? open(library, 0x1002) : NULL; /* RTLD_NOW | RTLD_NODELETE */
    if (!handle)
        return;
    kelvin_find_(handle, KELVIN_HOOKS_SYMBOL, (void *)&get);
    const struct kelvin_hooks *hooks = get ? get() : NULL;
    if (hooks && hooks->version >= KELVIN_HOOKS_VERSION)
        kelvin_hooks_ = hooks;
}

KELVIN_INLINE_ __attribute__((constructor(101))) void kelvin_start_(void)
{
    if (kelvin_started_ || !kelvin_dlsym_ || !kelvin_getenv_)
        return;
    kelvin_started_ = 1;
    const char *at = kelvin_getenv_(KELVIN_SCOPES_ENV);
    for (int words = 3; at && words; words--) {
        at = __builtin_strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (at)
        kelvin_load_(at);
    if (kelvin_getenv_("KELVIN_CHANNEL")) { /* the heap is recorded */
        kelvin_find_(NULL, "kelvin_pool_alloc", (void *)&kelvin_pool_alloc_);
        kelvin_find_(NULL, "kelvin_pool_free", (void *)&kelvin_pool_free_);
    }
    if (kelvin_getenv_("KELVIN_LOCKS"))
        kelvin_find_(NULL, "kelvin_lock_named", (void *)&kelvin_lock_named_);
}

#define KELVIN_ON_ __builtin_expect(kelvin_hooks_ != NULL, 0)

/* A span that begins here and ends wherever kelvin_end() is called with what this returns. */
KELVIN_INLINE_ kelvin_span kelvin_begin(const char *name)
{
    return KELVIN_ON_ ? kelvin_hooks_->span_begin(name) : 0;
}

KELVIN_INLINE_ void kelvin_end(kelvin_span span)
{
    if (span && KELVIN_ON_)
        kelvin_hooks_->span_end(span);
}

/* What the calling thread is called: as pthread_setname_np(), but only while recording. */
KELVIN_INLINE_ void kelvin_thread_name(const char *name)
{
    if (KELVIN_ON_)
        kelvin_hooks_->thread_name(name);
}

/* A pool of your own hands out a block, or takes it back: for `kelvin record --heap`. */
KELVIN_INLINE_ void kelvin_alloc(const void *block, size_t size)
{
    if (kelvin_pool_alloc_)
        kelvin_pool_alloc_(block, size);
}

KELVIN_INLINE_ void kelvin_free(const void *block)
{
    if (kelvin_pool_free_)
        kelvin_pool_free_(block);
}

/* What a lock of pthreads or std::mutex is called, before it is used: for `kelvin record --locks`.
 */
KELVIN_INLINE_ void kelvin_lock_name(const void *lock, const char *name)
{
    if (kelvin_lock_named_)
        kelvin_lock_named_(lock, name);
}

KELVIN_INLINE_ void kelvin_scope_end_(struct kelvin_scope *s)
{
    if (__builtin_expect(s->depth != 0, 0))
        kelvin_hooks_->end(s);
}

KELVIN_INLINE_ int kelvin_begin_0_(struct kelvin_scope *s, struct kelvin_site *site)
{
    kelvin_hooks_->begin(s, site);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_named_(struct kelvin_scope *s, const char *name)
{
    kelvin_hooks_->begin_named(s, name);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_1_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1)
{
    const struct kelvin_attr attrs[1] = {{k1, v1}};
    kelvin_hooks_->begin_with(s, site, 1, attrs);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_2_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2)
{
    const struct kelvin_attr attrs[2] = {{k1, v1}, {k2, v2}};
    kelvin_hooks_->begin_with(s, site, 2, attrs);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_3_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2,
                                   const char *k3, struct kelvin_value v3)
{
    const struct kelvin_attr attrs[3] = {{k1, v1}, {k2, v2}, {k3, v3}};
    kelvin_hooks_->begin_with(s, site, 3, attrs);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_4_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2,
                                   const char *k3, struct kelvin_value v3, const char *k4,
                                   struct kelvin_value v4)
{
    const struct kelvin_attr attrs[4] = {{k1, v1}, {k2, v2}, {k3, v3}, {k4, v4}};
    kelvin_hooks_->begin_with(s, site, 4, attrs);
    return 0;
}

KELVIN_INLINE_ struct kelvin_value kelvin_integer_(int64_t x)
{
    struct kelvin_value v;
    v.kind = 1;
    v.is.integer = x;
    return v;
}

KELVIN_INLINE_ struct kelvin_value kelvin_real_(double x)
{
    struct kelvin_value v;
    v.kind = 2;
    v.is.real = x;
    return v;
}

KELVIN_INLINE_ struct kelvin_value kelvin_text_(const char *x)
{
    struct kelvin_value v;
    v.kind = 3;
    v.is.text = x;
    return v;
}

#ifdef __cplusplus
} /* extern "C" */

KELVIN_INLINE_ struct kelvin_value kelvin_value_(const char *x)
{
    return kelvin_text_(x);
}
KELVIN_INLINE_ struct kelvin_value kelvin_value_(float x)
{
    return kelvin_real_(x);
}
KELVIN_INLINE_ struct kelvin_value kelvin_value_(double x)
{
    return kelvin_real_(x);
}
template <class integer> KELVIN_INLINE_ struct kelvin_value kelvin_value_(integer x)
{
    return kelvin_integer_((int64_t)x);
}
#define KELVIN_VALUE_(x) kelvin_value_(x)

/* Ends when an exception leaves the block as well. */
struct kelvin_scope_ : kelvin_scope {
    kelvin_scope_() : kelvin_scope()
    {
    }
    ~kelvin_scope_()
    {
        kelvin_scope_end_(this);
    }
    kelvin_scope_(const kelvin_scope_ &) = delete;
    kelvin_scope_ &operator=(const kelvin_scope_ &) = delete;
};
#define KELVIN_OPEN_(s) struct kelvin_scope_ s
#else
#define KELVIN_VALUE_(x) \
    _Generic((x), char *: kelvin_text_, const char *: kelvin_text_, float: kelvin_real_, \
             double: kelvin_real_, default: kelvin_integer_)(x)
#define KELVIN_OPEN_(s) \
    struct kelvin_scope s __attribute__((cleanup(kelvin_scope_end_))) = {0, 0, 0}
#endif

/*
 * KELVIN_SCOPE("name") or KELVIN_SCOPE("name", "key", value, ...), up to four attributes. The name
 * and the keys are string literals; a value is a number or a text, which is copied.
 */
#define KELVIN_SCOPE(...) KELVIN_SCOPE_(__COUNTER__, __VA_ARGS__)
#define KELVIN_SCOPE_(n, ...)                                                      \
    KELVIN_SCOPE_IN_(KELVIN_JOIN_(kelvin_site_, n), KELVIN_JOIN_(kelvin_open_, n), \
                     KELVIN_JOIN_(kelvin_done_, n), __VA_ARGS__)
#define KELVIN_SCOPE_IN_(site, s, done, ...)                                                      \
    static struct kelvin_site site = {KELVIN_FIRST_(__VA_ARGS__, 0), 0};                          \
    KELVIN_OPEN_(s);                                                                              \
    const int done __attribute__((unused)) =                                                      \
        KELVIN_ON_ ? KELVIN_PICK_(__VA_ARGS__, 4, x, 3, x, 2, x, 1, x, 0)(&s, &site, __VA_ARGS__) \
                   : 0

#define KELVIN_FIRST_(first, ...) first
#define KELVIN_PICK_(name, a, b, c, d, e, f, g, h, n, ...) KELVIN_JOIN_(KELVIN_BEGIN_, n)
#define KELVIN_BEGIN_0(s, site, name) kelvin_begin_0_(s, site)
#define KELVIN_BEGIN_1(s, site, name, k1, v1) kelvin_begin_1_(s, site, k1, KELVIN_VALUE_(v1))
#define KELVIN_BEGIN_2(s, site, name, k1, v1, k2, v2) \
    kelvin_begin_2_(s, site, k1, KELVIN_VALUE_(v1), k2, KELVIN_VALUE_(v2))
#define KELVIN_BEGIN_3(s, site, name, k1, v1, k2, v2, k3, v3) \
    kelvin_begin_3_(s, site, k1, KELVIN_VALUE_(v1), k2, KELVIN_VALUE_(v2), k3, KELVIN_VALUE_(v3))
#define KELVIN_BEGIN_4(s, site, name, k1, v1, k2, v2, k3, v3, k4, v4)                             \
    kelvin_begin_4_(s, site, k1, KELVIN_VALUE_(v1), k2, KELVIN_VALUE_(v2), k3, KELVIN_VALUE_(v3), \
                    k4, KELVIN_VALUE_(v4))

/* The same with a name that is made while the program runs; slower. */
#define KELVIN_SCOPE_NAMED(name)                              \
    KELVIN_SCOPE_NAMED_(KELVIN_JOIN_(kelvin_open_, __LINE__), \
                        KELVIN_JOIN_(kelvin_done_, __LINE__), name)
#define KELVIN_SCOPE_NAMED_(s, done, name) \
    KELVIN_OPEN_(s);                       \
    const int done __attribute__((unused)) = KELVIN_ON_ ? kelvin_begin_named_(&s, name) : 0

/* Something happened N times more; something is at VALUE now; something happened. */
#define KELVIN_COUNT(name, n) KELVIN_TELL_(name, count(&kelvin_site_x, (n)))
#define KELVIN_GAUGE(name, value) KELVIN_TELL_(name, gauge(&kelvin_site_x, (value)))
#define KELVIN_EVENT(name) KELVIN_TELL_(name, event(&kelvin_site_x))
#define KELVIN_TELL_(name, call)                             \
    do {                                                     \
        static struct kelvin_site kelvin_site_x = {name, 0}; \
        if (KELVIN_ON_)                                      \
            kelvin_hooks_->call;                             \
    } while (0)

#endif /* KELVIN_OFF */
#endif
