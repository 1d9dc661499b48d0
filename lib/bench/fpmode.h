/*
 * fpmode.h - how this thread computes with floating-point numbers: rounding, subnormals, traps.
 *
 * A function that sets it for itself and returns early leaves it to the rest of the program, whose
 * numbers then change. Flags that say what happened are not part of it.
 */
#pragma once
#include <stdint.h>

struct fpmode {
    uint32_t control; /* MXCSR without its flags; FPCR */
    uint16_t x87;
};

static inline struct fpmode fpmode_get(void)
{
    struct fpmode m = {0};
#if defined __x86_64__
    uint32_t mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(m.x87));
    m.control = mxcsr & ~0x3fu;
#elif defined __aarch64__
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    m.control = (uint32_t)fpcr;
#endif
    return m;
}

static inline void fpmode_set(struct fpmode m)
{
#if defined __x86_64__
    __asm__ volatile("ldmxcsr %0" : : "m"(m.control));
    __asm__ volatile("fldcw %0" : : "m"(m.x87));
#elif defined __aarch64__
    uint64_t fpcr = m.control;
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
#else
    (void)m;
#endif
}

static inline int fpmode_differs(struct fpmode a, struct fpmode b)
{
    return a.control != b.control || a.x87 != b.x87;
}
