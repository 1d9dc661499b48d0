#include "unwind/arch.h"
#include "unwind/walk.h"

#include <elf.h>
#include <stddef.h>

const struct arch *arch_find(uint16_t machine)
{
    switch (machine) {
    case EM_X86_64:
        return &arch_x86_64;
    case EM_AARCH64:
        return &arch_aarch64;
    default:
        return NULL;
    }
}

const struct arch *arch_host(void)
{
#ifdef __aarch64__
    return &arch_aarch64;
#else
    return &arch_x86_64;
#endif
}

/* The bits of arch_host()'s perf and perf_others, for initialisers. */
#ifdef __aarch64__
const uint64_t unwind_perf_regs_mask = UINT64_C(15) << 29;
#else
const uint64_t unwind_perf_regs_mask = 0xff01ff;
#endif

/* Here and not beside the walk, because it also runs inside the programs that are sampled. */
void unwind_regs_from_ucontext(const void *ucontext, struct unwind_regs *ret)
{
    const struct arch *arch = arch_host();
    const char *frame = (const char *)ucontext - arch->ucontext;
    memcpy(&ret->pc, frame + arch->signal.pc, sizeof(uint64_t));
    memcpy(&ret->sp, frame + arch->signal.sp, sizeof(uint64_t));
    memcpy(&ret->fp, frame + arch->signal.fp, sizeof(uint64_t));
    memcpy(&ret->extra, frame + arch->signal.extra, sizeof(uint64_t));
    for (int i = 0; i < ARCH_OTHERS; i++) {
        ret->others[i] = 0;
        if (arch->signal_others)
            memcpy(&ret->others[i], frame + arch->signal_others[i], sizeof(uint64_t));
    }
}
