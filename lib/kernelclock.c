/*
 * kernelclock.c - the kernel's own clock, past libraries that were preloaded to fake the time.
 *
 * The recorder compares the agents' times with its own, so they must not be those of a libfaketime
 * in the program. A system call would do, but a sandbox may forbid it, and it costs five times as
 * much as the function that the kernel maps into every process (the vDSO), which libc itself uses.
 */
#include "proc.h"

#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <time.h>

#if defined __x86_64__
#define KERNELCLOCK_NAME "__vdso_clock_gettime"
#else
#define KERNELCLOCK_NAME "__kernel_clock_gettime"
#endif

typedef int clock_fn(clockid_t, struct timespec *);

/* What its dynamic section says, as addresses of this process. */
struct vdso_names {
    uintptr_t bias;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *strings;
};

static void vdso_find_dynamic(struct vdso_names *v, const ElfW(Ehdr) * head)
{
    const ElfW(Phdr) *p = (const void *)((uintptr_t)head + head->e_phoff);
    bool loads = false;
    for (int i = 0; i < head->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && !loads) {
            v->bias = (uintptr_t)head + p[i].p_offset - p[i].p_vaddr;
            loads = true;
        } else if (p[i].p_type == PT_DYNAMIC) {
            v->dynamic = (const void *)((uintptr_t)head + p[i].p_offset);
        }
}

static void vdso_find_tables(struct vdso_names *v)
{
    for (const ElfW(Dyn) *d = v->dynamic; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_SYMTAB)
            v->symbols = (const void *)(v->bias + d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            v->strings = (const void *)(v->bias + d->d_un.d_ptr);
}

static bool vdso_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Nothing says how many symbols there are (newer kernels have no DT_HASH), but their names follow
 * them. */
static clock_fn *vdso_find_clock(void)
{
    struct vdso_names v = {0};
    const ElfW(Ehdr) *head = (const void *)getauxval(AT_SYSINFO_EHDR);
    if (!head)
        return NULL;
    vdso_find_dynamic(&v, head);
    vdso_find_tables(&v);
    for (const ElfW(Sym) *s = v.symbols; s && (const char *)(s + 1) <= v.strings; s++)
        if (s->st_shndx != SHN_UNDEF && vdso_same(v.strings + s->st_name, KERNELCLOCK_NAME))
            return (clock_fn *)(v.bias + s->st_value); /* NOLINT(performance-no-int-to-ptr) */
    return NULL;
}

uint64_t proc_now_ns(void)
{
    static clock_fn *_Atomic found;
    clock_fn *clock = atomic_load_explicit(&found, memory_order_relaxed);
    struct timespec t;
    if (!clock) {
        clock = vdso_find_clock();
        clock = clock ? clock : clock_gettime;
        atomic_store_explicit(&found, clock, memory_order_relaxed);
    }
    clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
