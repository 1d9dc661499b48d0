/*
 * heap.c - stands in for malloc and its relatives: passes every call on, and reports it.
 *
 * The functions behind are found by the dynamic linker, so that an allocator that is preloaded or
 * linked is the one that works.
 */
#include "heap_near.h"

#if !defined HEAP_STATIC
#include <dlfcn.h>
#endif
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

#define NOINLINE __attribute__((noinline))

/*
 * The functions that a program calls have no frame where nothing is reported: what reports is
 * called in their place (a tail call), so that its caller is the program.
 */
#define CALL STACKWALK_CALL

/* --- the functions behind --- */

static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free_sized)(void *, size_t);
    void (*free_aligned_sized)(void *, size_t, size_t);
    int (*dlclose)(void *);
    held_count *held;
} real;

/* What the linker itself asks for while it looks for malloc. Never given back. */
enum { POOL_BYTES = 64 << 10 };
static _Alignas(16) char pool[POOL_BYTES];
static _Atomic size_t pool_used;
static _Atomic bool found;

static void *pool_take(size_t n)
{
    size_t whole = (n + 31) & ~(size_t)15;
    size_t at = n < POOL_BYTES ? atomic_fetch_add(&pool_used, whole) : POOL_BYTES;
    if (at + whole > POOL_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(void *)(pool + at) = n;
    heap_filter_mark(pool + at + 16);
    return pool + at + 16;
}

const void *heap_pool(size_t *ret_bytes)
{
    size_t used = atomic_load(&pool_used);
    *ret_bytes = used < POOL_BYTES ? used : POOL_BYTES;
    return pool;
}

static bool in_pool(const void *p)
{
    return (uintptr_t)p - (uintptr_t)pool < POOL_BYTES;
}

static size_t pool_size(const void *p)
{
    return *(const size_t *)(const void *)((const char *)p - 16);
}

#if defined HEAP_STATIC

/* The names that the linker gives to libc's (--wrap). */
void *__real_malloc(size_t);
void __real_free(void *);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
int __real_posix_memalign(void **, size_t, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__real_memalign(size_t, size_t);
void *__real_valloc(size_t);
void *__real_pvalloc(size_t);

static bool find_all(void)
{
    real.malloc = __real_malloc;
    real.calloc = __real_calloc;
    real.realloc = __real_realloc;
    real.posix_memalign = __real_posix_memalign;
    real.aligned_alloc = __real_aligned_alloc;
    real.memalign = __real_memalign;
    real.valloc = __real_valloc;
    real.pvalloc = __real_pvalloc;
    real.free = __real_free;
    atomic_store(&found, true);
    return true;
}

/* By this note the recorder knows the program. */
__asm__(".pushsection .note.kelvin, \"a\", %note\n"
        ".balign 4\n"
        ".long 12, 0, 1\n"
        ".asciz \"" HEAP_NOTE_OWNER "\"\n"
        ".balign 4\n"
        ".popsection\n");

#else

static void *heap_find(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static bool find_all(void)
{
    int e = errno;
    heap_local.finding = true;
    real.malloc = heap_find("malloc");
    real.calloc = heap_find("calloc");
    real.realloc = heap_find("realloc");
    real.posix_memalign = heap_find("posix_memalign");
    real.aligned_alloc = heap_find("aligned_alloc");
    real.memalign = heap_find("memalign");
    real.valloc = heap_find("valloc");
    real.pvalloc = heap_find("pvalloc");
    real.free_sized = heap_find("free_sized");
    real.free_aligned_sized = heap_find("free_aligned_sized");
    real.dlclose = heap_find("dlclose");
    real.held = dlsym(RTLD_DEFAULT, HELD_SYMBOL);
    real.free = heap_find("free");
    dlerror(); /* forget what was not found */
    heap_local.finding = false;
    errno = e;
    atomic_store(&found, true);
    return true;
}

#endif

/* True when calls can be passed on; false inside of the linker, when the pool must do. */
static inline bool can_pass(void)
{
    if (heap_local.finding)
        return false;
    return LIKELY(atomic_load_explicit(&found, memory_order_acquire)) || find_all();
}

/* In a static program it lies among the program's own code. */
const void *heap_allocator(void)
{
#if defined HEAP_STATIC
    return NULL;
#else
    return (const void *)real.malloc;
#endif
}

held_count *heap_held_count(void)
{
    return real.held;
}

/* --- allocating --- */

static NOINLINE void *malloc_told(size_t n)
{
    if (!can_pass())
        return pool_take(n);
    void *p = real.malloc(n);
    if (LIKELY(p) && !LIKELY(heap_quick_alloc(p, n, &CALL)))
        heap_tell_alloc(p, n, &CALL);
    return p;
}

API void *malloc(size_t n)
{
    return heap_alloc_passes(n) ? real.malloc(n) : malloc_told(n);
}

static NOINLINE void *calloc_told(size_t n, size_t each)
{
    if (!can_pass())
        return pool_take(n * each); /* never used before: zero */
    void *p = real.calloc(n, each);
    if (LIKELY(p))
        heap_tell_alloc(p, n * each, &CALL);
    return p;
}

API void *calloc(size_t n, size_t each)
{
    size_t bytes;
    if (!__builtin_mul_overflow(n, each, &bytes) && heap_alloc_passes(bytes))
        return real.calloc(n, each);
    return calloc_told(n, each);
}

/* From the linker's pool to the heap. */
static void *leave_pool(void *old, size_t n)
{
    void *p = can_pass() ? real.malloc(n) : pool_take(n);
    size_t had = pool_size(old);
    if (p)
        memcpy(p, old, had < n ? had : n);
    return p;
}

/* The old block is gone from the moment of the call on: another thread may get its address. */
static inline bool before_realloc(void *old)
{
    return old && heap_tell_free(old, HEAP_FREE_REALLOC);
}

/* KEPT: the old block, if that was reported and is still there when there is no new one. */
static inline void after_realloc(void *kept, void *p, size_t n, const struct stackwalk_call *call)
{
    if (p)
        heap_tell_alloc(p, n, call);
    else if (kept)
        heap_tell_kept(kept);
}

static inline void *realloc_from(void *old, size_t n, const struct stackwalk_call *call)
{
    if (old && in_pool(old)) {
        void *p = leave_pool(old, n);
        if (p && !in_pool(p))
            heap_tell_alloc(p, n, call);
        return p;
    }
    if (!can_pass())
        return pool_take(n);
    bool told = before_realloc(old);
    void *p = real.realloc(old, n);
    after_realloc(told && n ? old : NULL, p, n, call);
    return p;
}

static NOINLINE void *realloc_told(void *old, size_t n)
{
    return realloc_from(old, n, &CALL);
}

API void *realloc(void *old, size_t n)
{
    if (heap_free_passes(old) && heap_alloc_passes(n))
        return real.realloc(old, n);
    return realloc_told(old, n);
}

/* Libc's calls realloc(), which is ours: that would be reported twice. */
API void *reallocarray(void *old, size_t n, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc_from(old, bytes, &CALL);
}

API int posix_memalign(void **ret, size_t alignment, size_t n)
{
    if (!can_pass())
        return ENOMEM;
    int rc = real.posix_memalign(ret, alignment, n);
    if (rc == 0 && *ret)
        heap_tell_alloc(*ret, n, &CALL);
    return rc;
}

API void *aligned_alloc(size_t alignment, size_t n)
{
    void *p = can_pass() ? real.aligned_alloc(alignment, n) : NULL;
    if (p)
        heap_tell_alloc(p, n, &CALL);
    return p;
}

API void *memalign(size_t alignment, size_t n)
{
    void *p = can_pass() ? real.memalign(alignment, n) : NULL;
    if (p)
        heap_tell_alloc(p, n, &CALL);
    return p;
}

API void *valloc(size_t n)
{
    void *p = can_pass() && real.valloc ? real.valloc(n) : NULL;
    if (p)
        heap_tell_alloc(p, n, &CALL);
    return p;
}

API void *pvalloc(size_t n)
{
    void *p = can_pass() && real.pvalloc ? real.pvalloc(n) : NULL;
    if (p)
        heap_tell_alloc(p, n, &CALL);
    return p;
}

/* --- giving back --- */

static NOINLINE void free_told(void *p)
{
    if (!p || in_pool(p) || !can_pass())
        return;
    if (LIKELY(p != heap_local.deleting) && !LIKELY(heap_quick_free(p)))
        heap_tell_free(p, 0);
    real.free(p);
}

API void free(void *p)
{
    if (heap_free_passes(p))
        real.free(p);
    else
        free_told(p);
}

#if !defined HEAP_STATIC

/* C23's, where libc has them; else they are free(). */
void free_sized(void *p, size_t n);
void free_aligned_sized(void *p, size_t alignment, size_t n);

API void free_sized(void *p, size_t n)
{
    if (!p || in_pool(p) || !can_pass())
        return;
    heap_tell_free(p, 0);
    real.free_sized ? real.free_sized(p, n) : real.free(p);
}

API void free_aligned_sized(void *p, size_t alignment, size_t n)
{
    if (!p || in_pool(p) || !can_pass())
        return;
    heap_tell_free(p, 0);
    real.free_aligned_sized ? real.free_aligned_sized(p, alignment, n) : real.free(p);
}

#endif

/* --- pools of the program's own: include/kelvin.h --- */

void kelvin_pool_alloc(const void *block, size_t n);
void kelvin_pool_free(const void *block);

static void *pool_block(const void *p)
{
    return (void *)((uintptr_t)p ^ HEAP_POOL_BIT);
}

API void kelvin_pool_alloc(const void *block, size_t n)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    struct stackwalk_call call = {(uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
                                  *frame};
    if (block)
        heap_tell_alloc(pool_block(block), n, &call);
}

API void kelvin_pool_free(const void *block)
{
    if (block)
        heap_tell_free(pool_block(block), 0);
}

/* --- for include/kelvin_bench.h --- */

void kelvin_heap_counts(uint64_t *blocks, uint64_t *bytes);

/* What the calling thread has allocated so far; UINT64_MAX where not every block is reported. */
API void kelvin_heap_counts(uint64_t *blocks, uint64_t *bytes)
{
    bool counted = stackwalk_thread_get() && !heap_sample_bytes;
    *blocks = counted ? heap_local.so_far.blocks : UINT64_MAX;
    *bytes = counted ? heap_local.so_far.bytes : UINT64_MAX;
}

void kelvin_heap_per_op(const char *name, double blocks, double bytes);

/* An iteration of the benchmark NAME allocates so much: for rules. */
API void kelvin_heap_per_op(const char *name, double blocks, double bytes)
{
    heap_tell_per_op(name, blocks, bytes);
}

#if !defined HEAP_STATIC

/* Another library may come to lie where this one was. */
API int dlclose(void *handle)
{
    int rc = can_pass() && real.dlclose ? real.dlclose(handle) : -1;
    stackwalk_forget_modules();
    return rc;
}

#endif

/* A program may map memory before it asks for a block, or ask for none. */
__attribute__((constructor)) static void heap_start(void)
{
    if (can_pass() && !stackwalk_thread_get())
        heap_count_init();
}
