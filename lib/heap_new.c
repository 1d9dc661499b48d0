/*
 * heap_new.c - stands in for C++'s new and delete.
 *
 * Those of the C++ library call malloc and free, where heap.c is: they are jumped to. An allocator
 * that brings its own (jemalloc, tcmalloc) need not call malloc: then they are reported here. One
 * that is part of the program itself cannot be stood in for; what it gets from malloc is seen.
 *
 * Whether the function behind has reported the block by itself shows in the thread's counters. An
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
    bool frees;            /* the C++ library's is free(), behind other deletes that it calls */
    void *_Atomic next;    /* NULL: not looked for yet */
    void *_Atomic passing; /* the same, where nothing is reported here */
};

static bool is_cxx_library(const void *at)
{
    Dl_info info;
    if (!dladdr(at, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
    return strncmp(name, "libstdc++", 9) == 0 || strncmp(name, "libc++", 6) == 0;
}

static bool is_of_agent(const void *at)
{
    Dl_info info, own;
    return dladdr(at, &info) && dladdr((const void *)is_of_agent, &own) &&
           info.dli_fbase == own.dli_fbase;
}

/*
 * A library that came by dlopen has its own C++ library, which is behind nobody: ask the caller's.
 * One delete of the C++ library jumps to another: then the caller seems to be this agent, and it is
 * the function that was called last. Nobody is behind himself.
 */
static void *find_for_caller(const char *name, const void *caller)
{
    Dl_info info;
    if (is_of_agent(caller))
        caller = heap_local.behind;
    void *lib = dladdr(caller, &info) && info.dli_fname
                    ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                    : NULL;
    void *at = lib ? dlsym(lib, name) : NULL;
    if (lib)
        dlclose(lib);
    if (!at || is_of_agent(at))
        return NULL;
    if (dladdr(at, &info) && info.dli_fname) /* it must not go with the library that brought it */
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return at;
}

void cxx_delete(void *p) __asm__("_ZdlPv");
void cxx_delete_array(void *p) __asm__("_ZdaPv");

static bool is_ours_before_library(const char *name, const void *ours)
{
    const void *next = dlsym(RTLD_NEXT, name);
    return dlsym(RTLD_DEFAULT, name) == ours && next && is_cxx_library(next);
}

/* The C++ library's deletes call these two, which a program or a library may have of its own. */
static bool delete_is_free(void)
{
    return is_ours_before_library("_ZdlPv", (const void *)cxx_delete) &&
           is_ours_before_library("_ZdaPv", (const void *)cxx_delete_array);
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
    bool pass = !at || is_cxx_library(at);
    if (pass && f->frees && delete_is_free())
        at = free; /* ours: three jumps less */
    dlerror();     /* forget what was not found */
    at = at ? at : otherwise;
    atomic_store(&f->next, at);
    if (pass)
        atomic_store(&f->passing, at);
    heap_local.finding = false;
    errno = e;
    return at;
}

/* --- new --- */

/* What changes when a block is reported. */
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
        heap_local.behind = (const void *)next;                                 \
        void *p = next ? next args : otherwise args;                            \
        if (p && mark_is(&before))                                              \
            heap_tell_alloc(p, n, &STACKWALK_CALL);                             \
        return p;                                                               \
    }                                                                           \
    static NOINLINE void *function##_first params                               \
    {                                                                           \
        cxx_find(&function##_is, __builtin_return_address(0), otherwise);       \
        void *(*passing)params = atomic_load(&function##_is.passing);           \
        return passing ? passing args : function##_told args;                   \
    }                                                                           \
    API void *function params                                                   \
    {                                                                           \
        void *(*passing)params =                                                \
            atomic_load_explicit(&function##_is.passing, memory_order_relaxed); \
        return LIKELY(passing) ? passing args : function##_first args;          \
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

/* The function behind may call free(), which must not report P again. */
#define CXX_DELETE(function, symbol, only_frees, params, args)                            \
    API void function params __asm__(symbol);                                             \
    static struct cxx_function function##_is = {.name = symbol, .frees = only_frees};     \
    static NOINLINE void function##_told params                                           \
    {                                                                                     \
        void(*next) params = cxx_find(&function##_is, __builtin_return_address(0), free); \
        if (!atomic_load(&function##_is.passing) && p) {                                  \
            heap_tell_free(p, 0);                                                         \
            heap_local.deleting = p;                                                      \
        }                                                                                 \
        heap_local.behind = (const void *)next;                                           \
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

CXX_DELETE(cxx_delete, "_ZdlPv", true, (void *p), (p))
CXX_DELETE(cxx_delete_array, "_ZdaPv", true, (void *p), (p))
CXX_DELETE(cxx_delete_sized, "_ZdlPvm", true, (void *p, size_t n), (p, n))
CXX_DELETE(cxx_delete_array_sized, "_ZdaPvm", true, (void *p, size_t n), (p, n))
CXX_DELETE(cxx_delete_nothrow, "_ZdlPvRKSt9nothrow_t", true, (void *p, const void *tag), (p, tag))
CXX_DELETE(cxx_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", true, (void *p, const void *tag),
           (p, tag))
CXX_DELETE(cxx_delete_aligned, "_ZdlPvSt11align_val_t", false, (void *p, size_t alignment),
           (p, alignment))
CXX_DELETE(cxx_delete_array_aligned, "_ZdaPvSt11align_val_t", false, (void *p, size_t alignment),
           (p, alignment))
CXX_DELETE(cxx_delete_sized_aligned, "_ZdlPvmSt11align_val_t", false,
           (void *p, size_t n, size_t alignment), (p, n, alignment))
CXX_DELETE(cxx_delete_array_sized_aligned, "_ZdaPvmSt11align_val_t", false,
           (void *p, size_t n, size_t alignment), (p, n, alignment))
CXX_DELETE(cxx_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", false,
           (void *p, size_t alignment, const void *tag), (p, alignment, tag))
CXX_DELETE(cxx_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t", false,
           (void *p, size_t alignment, const void *tag), (p, alignment, tag))
