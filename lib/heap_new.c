/*
 * heap_new.c - stands in for C++'s new and delete.
 *
 * Those of the C++ library call malloc and free, where heap.c is: they are jumped to. An allocator
 * that brings its own (jemalloc, tcmalloc) need not call malloc: then they are told of here. One
 * that is part of the program itself cannot be stood in for; what it gets from malloc is seen.
 *
 * Whether the function behind has told of the block by itself shows in the thread's counters. An
 * exception that it throws goes through our frame and leaves nothing to be undone.
 */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))

/* --- the functions behind --- */

struct cxx_function {
    const char *name;
    void *_Atomic next;    /* NULL: not looked for yet */
    void *_Atomic passing; /* the same, where nothing is told here */
};

static bool is_cxx_library(const void *at)
{
    Dl_info info;
    if (!dladdr(at, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
    return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

/* A library that came by dlopen has its own C++ library, which is behind nobody: ask the caller's.
 */
static void *find_for_caller(const char *name, const void *caller)
{
    Dl_info info;
    void *lib = dladdr(caller, &info) && info.dli_fname
                    ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                    : NULL;
    void *at = lib ? dlsym(lib, name) : NULL;
    if (lib)
        dlclose(lib);
    return at;
}

/* OTHERWISE: where there is none, which must do. Not inlined: the fast way has no frame. */
static NOINLINE void *cxx_find(struct cxx_function *f, const void *caller, void *otherwise)
{
    void *at = atomic_load(&f->next);
    if (at || heap_local.finding)
        return at ? at : otherwise;
    int e = errno;
    heap_local.finding = true;
    at = dlsym(RTLD_NEXT, f->name);
    if (!at)
        at = find_for_caller(f->name, caller);
    dlerror(); /* forget what was not found */
    bool pass = !at || is_cxx_library(at);
    at = at ? at : otherwise;
    atomic_store(&f->next, at);
    if (pass)
        atomic_store(&f->passing, at);
    heap_local.finding = false;
    errno = e;
    return at;
}

/* --- new --- */

/* What changes when a block is told of. */
struct cxx_mark {
    uint64_t blocks, left, random;
};

static inline struct cxx_mark mark_now(void)
{
    return (struct cxx_mark){heap_local.so_far.blocks, heap_local.left, heap_local.random};
}

static inline bool mark_is(const struct cxx_mark *m)
{
    return m->blocks == heap_local.so_far.blocks && m->left == heap_local.left &&
           m->random == heap_local.random;
}

static void *plain_new(size_t n)
{
    return malloc(n ? n : 1);
}

static void *plain_new_nothrow(size_t n, const void *tag)
{
    (void)tag;
    return plain_new(n);
}

static void *aligned_new(size_t n, size_t alignment)
{
    return memalign(alignment, n ? n : 1);
}

static void *aligned_new_nothrow(size_t n, size_t alignment, const void *tag)
{
    (void)tag;
    return aligned_new(n, alignment);
}

/*
 * FUNCTION with PARAMS, the first of them N, passed on as ARGS. What is passed on is jumped to, the
 * first time as well, so that nothing of ours is on the stack.
 */
#define CXX_NEW(function, symbol, otherwise, params, args)                      \
    API void *function params __asm__(symbol);                                  \
    static struct cxx_function function##_is = {.name = symbol};                \
    static NOINLINE void *function##_told params                                \
    {                                                                           \
        void *(*next)params = atomic_load(&function##_is.next);                 \
        struct cxx_mark before = mark_now();                                    \
        void *p = next ? next args : otherwise args;                            \
        if (p && mark_is(&before))                                              \
            heap_tell_alloc(p, n, &STACKWALK_CALL);                             \
        return p;                                                               \
    }                                                                           \
    API void *function params                                                   \
    {                                                                           \
        void *(*passing)params =                                                \
            atomic_load_explicit(&function##_is.passing, memory_order_relaxed); \
        if (!LIKELY(passing)) {                                                 \
            cxx_find(&function##_is, __builtin_return_address(0), otherwise);   \
            passing = atomic_load(&function##_is.passing);                      \
        }                                                                       \
        return passing ? passing args : function##_told args;                   \
    }

CXX_NEW(cxx_new, "_Znwm", plain_new, (size_t n), (n))
CXX_NEW(cxx_new_array, "_Znam", plain_new, (size_t n), (n))
CXX_NEW(cxx_new_nothrow, "_ZnwmRKSt9nothrow_t", plain_new_nothrow, (size_t n, const void *tag),
        (n, tag))
CXX_NEW(cxx_new_array_nothrow, "_ZnamRKSt9nothrow_t", plain_new_nothrow,
        (size_t n, const void *tag), (n, tag))
CXX_NEW(cxx_new_aligned, "_ZnwmSt11align_val_t", aligned_new, (size_t n, size_t alignment),
        (n, alignment))
CXX_NEW(cxx_new_array_aligned, "_ZnamSt11align_val_t", aligned_new, (size_t n, size_t alignment),
        (n, alignment))
CXX_NEW(cxx_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", aligned_new_nothrow,
        (size_t n, size_t alignment, const void *tag), (n, alignment, tag))
CXX_NEW(cxx_new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t", aligned_new_nothrow,
        (size_t n, size_t alignment, const void *tag), (n, alignment, tag))

/* --- delete --- */

/* The function behind may call free(), which must not tell of P again. */
#define CXX_DELETE(function, symbol, params, args)                                        \
    API void function params __asm__(symbol);                                             \
    static struct cxx_function function##_is = {.name = symbol};                          \
    static NOINLINE void function##_told params                                           \
    {                                                                                     \
        void(*next) params = cxx_find(&function##_is, __builtin_return_address(0), free); \
        if (!atomic_load(&function##_is.passing) && p) {                                  \
            heap_tell_free(p, 0);                                                         \
            heap_local.deleting = p;                                                      \
        }                                                                                 \
        next args;                                                                        \
        heap_local.deleting = NULL;                                                       \
    }                                                                                     \
    API void function params                                                              \
    {                                                                                     \
        void(*passing) params =                                                           \
            atomic_load_explicit(&function##_is.passing, memory_order_relaxed);           \
        if (LIKELY(passing))                                                              \
            passing args;                                                                 \
        else                                                                              \
            function##_told args;                                                         \
    }

CXX_DELETE(cxx_delete, "_ZdlPv", (void *p), (p))
CXX_DELETE(cxx_delete_array, "_ZdaPv", (void *p), (p))
CXX_DELETE(cxx_delete_sized, "_ZdlPvm", (void *p, size_t n), (p, n))
CXX_DELETE(cxx_delete_array_sized, "_ZdaPvm", (void *p, size_t n), (p, n))
CXX_DELETE(cxx_delete_nothrow, "_ZdlPvRKSt9nothrow_t", (void *p, const void *tag), (p, tag))
CXX_DELETE(cxx_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", (void *p, const void *tag), (p, tag))
CXX_DELETE(cxx_delete_aligned, "_ZdlPvSt11align_val_t", (void *p, size_t alignment), (p, alignment))
CXX_DELETE(cxx_delete_array_aligned, "_ZdaPvSt11align_val_t", (void *p, size_t alignment),
           (p, alignment))
CXX_DELETE(cxx_delete_sized_aligned, "_ZdlPvmSt11align_val_t",
           (void *p, size_t n, size_t alignment), (p, n, alignment))
CXX_DELETE(cxx_delete_array_sized_aligned, "_ZdaPvmSt11align_val_t",
           (void *p, size_t n, size_t alignment), (p, n, alignment))
CXX_DELETE(cxx_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
           (void *p, size_t alignment, const void *tag), (p, alignment, tag))
CXX_DELETE(cxx_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
           (void *p, size_t alignment, const void *tag), (p, alignment, tag))
