/*
 * kelvin.h - name parts of a program in its own words, for its recordings. C11 and C++11 and later,
 * gcc and clang.
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
 * starts. Otherwise everything here costs a load and a branch, and arguments are not evaluated.
 * `kelvin record -p PID` switches the scopes of a running program on and off: the next scope then
 * loads the library. With KELVIN_OUTPUT=app.kelvin in its environment a program records itself
 * with the `kelvin` in PATH. With -DKELVIN_OFF nothing is compiled. Everything is safe in threads
 * and in signal handlers, never blocks, and never allocates with malloc. Static and setuid
 * programs are not recorded.
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
    int (*trace_take)(const char *traceparent);
    int (*trace_give)(char *ret_traceparent);
};

#define KELVIN_HOOKS_VERSION 2
#define KELVIN_HOOKS_SYMBOL "kelvin_get_hooks"
#define KELVIN_SCOPES_ENV "KELVIN_SCOPES" /* "PID FD INODE LIBRARY" */
#define KELVIN_OUTPUT_ENV "KELVIN_OUTPUT" /* a file: the program records itself */
#define KELVIN_LIBRARY_FILE "libkelvin-scopes.so"

/* Bytes of a W3C traceparent, "00-TRACE-SPAN-01", and the one that ends it. */
enum { KELVIN_TRACEPARENT = 56 };

#define KELVIN_DOOR_MAGIC "kelvin\0door\0\1\2\3"

/*
 * Where a recorder that attaches to a running program knocks. The recorder finds the magic in the
 * program's data, fills in its request, and then makes *hooks point to `knock`: the next scope
 * answers.
 */
struct kelvin_door {
    char magic[16];
    struct kelvin_door *self;
    const struct kelvin_hooks **hooks; /* NULL in there: switched off */
    const struct kelvin_hooks *knock;
    uint64_t request; /* the recorder's process << 32 and a number of its own; 0 = it has left */
    uint64_t answer;  /* the request that was answered */
    int32_t fd;       /* of the rings, in this process; -1 = none, -2 = another recorder has them */
    uint32_t ticks;   /* 1: times are ticks of the processor's counter */
    char library[488];
};

#define KELVIN_JOIN2_(a, b) a##b
#define KELVIN_JOIN_(a, b) KELVIN_JOIN2_(a, b)
/* With -finstrument-functions the functions in here are not recorded as the program's. */
#define KELVIN_QUIET_ __attribute__((no_instrument_function))
#define KELVIN_INLINE_ static inline __attribute__((unused)) KELVIN_QUIET_

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
KELVIN_INLINE_ int kelvin_trace_take(const char *traceparent)
{
    (void)traceparent;
    return 0;
}
KELVIN_INLINE_ int kelvin_trace_give(char *ret_traceparent)
{
    *ret_traceparent = '\0';
    return 0;
}

#else

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of each per program or library, whichever of its files defines it. */
#define KELVIN_SHARED_ __attribute__((weak, visibility("hidden")))

KELVIN_SHARED_ const struct kelvin_hooks *kelvin_hooks_ = NULL;
KELVIN_SHARED_ void (*kelvin_pool_alloc_)(const void *, size_t) = NULL;
KELVIN_SHARED_ void (*kelvin_pool_free_)(const void *) = NULL;
KELVIN_SHARED_ void (*kelvin_lock_named_)(const void *, const char *) = NULL;
KELVIN_SHARED_ char kelvin_started_ = 0;

/* Functions of libc, if it has them. dlopen() is looked up by name: linkers of static programs warn
 * of it. */
extern void *kelvin_dlsym_(void *, const char *) __asm__("dlsym") __attribute__((weak));
extern char *kelvin_getenv_(const char *) __asm__("secure_getenv") __attribute__((weak));
extern int kelvin_unsetenv_(const char *) __asm__("unsetenv") __attribute__((weak));

/* The hooks of the recorder, or NULL. They may change at any moment. */
KELVIN_INLINE_ const struct kelvin_hooks *kelvin_get_(void)
{
    return __atomic_load_n(&kelvin_hooks_, __ATOMIC_ACQUIRE);
}

#define KELVIN_ON_ __builtin_expect(kelvin_get_() != NULL, 0)

KELVIN_INLINE_ void kelvin_find_(void *from, const char *name, void *to)
{
    void *found = kelvin_dlsym_(from, name);
    __builtin_memcpy(to, &found, sizeof found);
}

/* A function of the library, which is loaded if necessary; or NULL. */
KELVIN_INLINE_ void kelvin_load_(const char *library, const char *name, void *to)
{
    void *(*open)(const char *, int) = NULL;
    kelvin_find_(NULL, "dlopen", (void *)&open);
    void *handle = open ? open(library, 0x1002) : NULL; /* RTLD_NOW | RTLD_NODELETE */
    if (handle)
        kelvin_find_(handle, name, to);
}

KELVIN_INLINE_ void kelvin_use_(const struct kelvin_hooks *hooks)
{
    if (hooks && hooks->version >= KELVIN_HOOKS_VERSION)
        __atomic_store_n(&kelvin_hooks_, hooks, __ATOMIC_RELEASE);
}

/* --- a recorder comes while the program runs --- */

extern struct kelvin_door kelvin_door_ KELVIN_SHARED_;

/* One thread opens. Scopes of other threads are not recorded meanwhile. */
KELVIN_INLINE_ void kelvin_answer_(void)
{
    const struct kelvin_hooks *(*answer)(struct kelvin_door *) = NULL;
    const struct kelvin_hooks *knock = kelvin_door_.knock;
    if (!__atomic_compare_exchange_n(&kelvin_hooks_, &knock, (const struct kelvin_hooks *)NULL, 0,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    uint64_t request = kelvin_door_.request;
    if (kelvin_dlsym_)
        kelvin_load_(kelvin_door_.library, "kelvin_answer", (void *)&answer);
    kelvin_door_.fd = -1;
    kelvin_use_(answer ? answer(&kelvin_door_) : NULL);
    __atomic_store_n(&kelvin_door_.answer, request, __ATOMIC_RELEASE);
    if (__atomic_load_n(&kelvin_door_.request, __ATOMIC_ACQUIRE) != request)
        __atomic_store_n(&kelvin_hooks_, (const struct kelvin_hooks *)NULL, __ATOMIC_RELEASE);
}

KELVIN_INLINE_ void kelvin_knock_begin_(struct kelvin_scope *s, struct kelvin_site *site)
{
    (void)s, (void)site;
    kelvin_answer_();
}
KELVIN_INLINE_ void kelvin_knock_with_(struct kelvin_scope *s, struct kelvin_site *site, int n,
                                       const struct kelvin_attr *attrs)
{
    (void)s, (void)site, (void)n, (void)attrs;
    kelvin_answer_();
}
KELVIN_INLINE_ void kelvin_knock_named_(struct kelvin_scope *s, const char *name)
{
    (void)s, (void)name;
    kelvin_answer_();
}
KELVIN_INLINE_ void kelvin_knock_end_(struct kelvin_scope *s)
{
    (void)s;
}
KELVIN_INLINE_ void kelvin_knock_number_(struct kelvin_site *site, int64_t n)
{
    (void)site, (void)n;
    kelvin_answer_();
}
KELVIN_INLINE_ void kelvin_knock_event_(struct kelvin_site *site)
{
    (void)site;
    kelvin_answer_();
}
KELVIN_INLINE_ kelvin_span kelvin_knock_span_(const char *name)
{
    (void)name;
    kelvin_answer_();
    return 0;
}
KELVIN_INLINE_ void kelvin_knock_over_(kelvin_span span)
{
    (void)span;
}
KELVIN_INLINE_ void kelvin_knock_name_(const char *name)
{
    (void)name;
}
KELVIN_INLINE_ int kelvin_knock_take_(const char *traceparent)
{
    (void)traceparent;
    return 0;
}
KELVIN_INLINE_ int kelvin_knock_give_(char *ret_traceparent)
{
    *ret_traceparent = '\0';
    return 0;
}

KELVIN_SHARED_ struct kelvin_hooks kelvin_knock_ = {
    KELVIN_HOOKS_VERSION, kelvin_knock_begin_,  kelvin_knock_with_,   kelvin_knock_named_,
    kelvin_knock_end_,    kelvin_knock_number_, kelvin_knock_number_, kelvin_knock_event_,
    kelvin_knock_span_,   kelvin_knock_over_,   kelvin_knock_name_,   kelvin_knock_take_,
    kelvin_knock_give_,
};

KELVIN_SHARED_ __attribute__((used)) struct kelvin_door kelvin_door_ = {
    KELVIN_DOOR_MAGIC, &kelvin_door_, &kelvin_hooks_, &kelvin_knock_, 0, 0, -1, 0, "",
};

/* --- a program that records itself --- */

/* The library that belongs to the `kelvin` of PATH: beside it, or where it was installed. */
KELVIN_INLINE_ int kelvin_library_(char *to, size_t size)
{
    static const char *const places[] = {"", "../lib/kelvin/"};
    const char *at = kelvin_getenv_("PATH");
    while (at && *at) {
        const char *end = __builtin_strchr(at, ':');
        int n = (int)(end ? (size_t)(end - at) : __builtin_strlen(at));
        for (int i = 0; n && i < 2; i++) {
            snprintf(to, size, "%.*s/kelvin", n, at);
            if (access(to, X_OK) != 0)
                break;
            snprintf(to, size, "%.*s/%s" KELVIN_LIBRARY_FILE, n, at, places[i]);
            if (access(to, R_OK) == 0)
                return 1;
        }
        at = end ? end + 1 : NULL;
    }
    return 0;
}

/* Programs that this one starts are not recorded into the same file. */
KELVIN_INLINE_ void kelvin_record_itself_(const char *output)
{
    static const char lost[] = "kelvin: KELVIN_OUTPUT is set, but there is no kelvin in PATH with "
                               "its " KELVIN_LIBRARY_FILE ": nothing is recorded\n";
    const struct kelvin_hooks *(*record)(const char *, const char *, struct kelvin_door *) = NULL;
    char library[1024];
    if (kelvin_library_(library, sizeof library)) {
        kelvin_load_(library, "kelvin_record_itself", (void *)&record);
        kelvin_use_(record ? record(output, library, &kelvin_door_) : NULL);
    } else if (write(2, lost, sizeof lost - 1) < 0) {
        (void)lost; /* nobody listens */
    }
    if (kelvin_unsetenv_)
        kelvin_unsetenv_(KELVIN_OUTPUT_ENV);
}

KELVIN_INLINE_ void kelvin_follow_(const char *address)
{
    const struct kelvin_hooks *(*get)(void) = NULL;
    kelvin_door_.request = (uint64_t)strtoul(address, NULL, 10) << 32;
    for (int words = 3; address && words; words--) {
        address = __builtin_strchr(address, ' ');
        address = address ? address + 1 : NULL;
    }
    if (address)
        kelvin_load_(address, KELVIN_HOOKS_SYMBOL, (void *)&get);
    kelvin_use_(get ? get() : NULL);
}

KELVIN_INLINE_ __attribute__((constructor(101))) void kelvin_start_(void)
{
    if (kelvin_started_ || !kelvin_dlsym_ || !kelvin_getenv_)
        return;
    kelvin_started_ = 1;
    const char *recorder = kelvin_getenv_(KELVIN_SCOPES_ENV);
    const char *output = kelvin_getenv_(KELVIN_OUTPUT_ENV);
    if (recorder)
        kelvin_follow_(recorder);
    else if (output && *output)
        kelvin_record_itself_(output);
    if (kelvin_getenv_("KELVIN_CHANNEL")) { /* the heap is recorded */
        kelvin_find_(NULL, "kelvin_pool_alloc", (void *)&kelvin_pool_alloc_);
        kelvin_find_(NULL, "kelvin_pool_free", (void *)&kelvin_pool_free_);
    }
    if (kelvin_getenv_("KELVIN_LOCKS"))
        kelvin_find_(NULL, "kelvin_lock_named", (void *)&kelvin_lock_named_);
}

/* A span that begins here and ends wherever kelvin_end() is called with what this returns. */
KELVIN_INLINE_ kelvin_span kelvin_begin(const char *name)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    return hooks ? hooks->span_begin(name) : 0;
}

KELVIN_INLINE_ void kelvin_end(kelvin_span span)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    if (span && hooks)
        hooks->span_end(span);
}

/* Name the calling thread, as pthread_setname_np() does, but only in the recording. */
KELVIN_INLINE_ void kelvin_thread_name(const char *name)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    if (hooks)
        hooks->thread_name(name);
}

/*
 * W3C trace context. TAKE: the innermost open scope continues the trace of a request that came
 * with TRACEPARENT ("00-TRACE-SPAN-01"). GIVE: the header to send with a request made in the
 * innermost open scope; KELVIN_TRACEPARENT bytes. Both return 0 if nothing is recorded, no scope
 * is open or the text is not valid. GIVE then writes "".
 */
KELVIN_INLINE_ int kelvin_trace_take(const char *traceparent)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    return hooks ? hooks->trace_take(traceparent) : 0;
}

KELVIN_INLINE_ int kelvin_trace_give(char *ret_traceparent)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    *ret_traceparent = '\0';
    return hooks ? hooks->trace_give(ret_traceparent) : 0;
}

/* Tell `kelvin record --heap` that a pool of your own hands out a block, or takes it back. */
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

/* Name a lock of pthreads or a std::mutex, before it is used, for `kelvin record --locks`. */
KELVIN_INLINE_ void kelvin_lock_name(const void *lock, const char *name)
{
    if (kelvin_lock_named_)
        kelvin_lock_named_(lock, name);
}

KELVIN_INLINE_ void kelvin_scope_end_(struct kelvin_scope *s)
{
    const struct kelvin_hooks *hooks;
    if (__builtin_expect(s->depth != 0, 0) && (hooks = kelvin_get_()) != NULL)
        hooks->end(s);
}

KELVIN_INLINE_ int kelvin_begin_0_(struct kelvin_scope *s, struct kelvin_site *site)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    if (hooks)
        hooks->begin(s, site);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_named_(struct kelvin_scope *s, const char *name)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    if (hooks)
        hooks->begin_named(s, name);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_with_(struct kelvin_scope *s, struct kelvin_site *site, int n,
                                      const struct kelvin_attr *attrs)
{
    const struct kelvin_hooks *hooks = kelvin_get_();
    if (hooks)
        hooks->begin_with(s, site, n, attrs);
    return 0;
}

KELVIN_INLINE_ int kelvin_begin_1_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1)
{
    const struct kelvin_attr attrs[1] = {{k1, v1}};
    return kelvin_begin_with_(s, site, 1, attrs);
}

KELVIN_INLINE_ int kelvin_begin_2_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2)
{
    const struct kelvin_attr attrs[2] = {{k1, v1}, {k2, v2}};
    return kelvin_begin_with_(s, site, 2, attrs);
}

KELVIN_INLINE_ int kelvin_begin_3_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2,
                                   const char *k3, struct kelvin_value v3)
{
    const struct kelvin_attr attrs[3] = {{k1, v1}, {k2, v2}, {k3, v3}};
    return kelvin_begin_with_(s, site, 3, attrs);
}

KELVIN_INLINE_ int kelvin_begin_4_(struct kelvin_scope *s, struct kelvin_site *site, const char *k1,
                                   struct kelvin_value v1, const char *k2, struct kelvin_value v2,
                                   const char *k3, struct kelvin_value v3, const char *k4,
                                   struct kelvin_value v4)
{
    const struct kelvin_attr attrs[4] = {{k1, v1}, {k2, v2}, {k3, v3}, {k4, v4}};
    return kelvin_begin_with_(s, site, 4, attrs);
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
KELVIN_INLINE_ struct kelvin_value kelvin_value_(char *x) /* else the template is nearer */
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
KELVIN_INLINE_ struct kelvin_value kelvin_value_(long double x)
{
    return kelvin_real_((double)x);
}
template <class integer> KELVIN_INLINE_ struct kelvin_value kelvin_value_(integer x)
{
    return kelvin_integer_((int64_t)x);
}
#define KELVIN_VALUE_(x) kelvin_value_(x)

/* Ends when an exception leaves the block as well. */
struct kelvin_scope_ : kelvin_scope {
    KELVIN_QUIET_ kelvin_scope_() : kelvin_scope()
    {
    }
    KELVIN_QUIET_ ~kelvin_scope_()
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
             double: kelvin_real_, long double: kelvin_real_, default: kelvin_integer_)(x)
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

/* The same with a name that is made while the program runs. Slower. */
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
#define KELVIN_TELL_(name, call)                                \
    do {                                                        \
        static struct kelvin_site kelvin_site_x = {name, 0};    \
        const struct kelvin_hooks *kelvin_on_x = kelvin_get_(); \
        if (__builtin_expect(kelvin_on_x != NULL, 0))           \
            kelvin_on_x->call;                                  \
    } while (0)

#endif /* KELVIN_OFF */
#endif
