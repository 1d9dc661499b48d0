#include "record/ticks.h"

#include "base/clock.h"
#include "base/mem.h"
#include "wire/counter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Until the ratio is known to a part in a thousand, a difference says nothing. */
#define SETTLED_NS 10000000u

static bool counter_is_steady(void)
{
#if defined __x86_64__
    char line[8192];
    autofclose FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "flags", 5) == 0)
            return strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc");
    return false;
#elif defined __aarch64__
    return true; /* by the architecture's word */
#else
    return false;
#endif
}

uint64_t ticks_now(const struct ticks *t)
{
    return t->counter ? counter_read() : clock_kernel_ns();
}

/* The same moment on both: of a few looks the one that took least, as others run, too. */
static void read_both(const struct ticks *t, uint64_t *ret_ns, uint64_t *ret_ticks)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = ticks_now(t), ns = clock_kernel_ns(), took = ticks_now(t) - before;
        if (took >= least)
            continue;
        least = took;
        *ret_ns = ns;
        *ret_ticks = before + took / 2;
    }
}

void ticks_look(struct ticks *t)
{
    uint64_t ns = 0, ticks = 0;
    if (!t->counter)
        return;
    read_both(t, &ns, &ticks);
    if (t->ns_per_tick > 0 && ns - t->ns_0 > SETTLED_NS)
        t->off_ns = fmax(t->off_ns, fabs((double)ns - (double)ticks_ns(t, ticks)));
    if (ticks > t->ticks_0 && ns > t->ns_0)
        t->ns_per_tick = (double)(ns - t->ns_0) / (double)(ticks - t->ticks_0);
}

void ticks_init(struct ticks *t)
{
    *t = (struct ticks){.counter = counter_is_steady(), .ns_per_tick = 1};
    if (!t->counter)
        return;
    read_both(t, &t->ns_0, &t->ticks_0);
    while (clock_kernel_ns() - t->ns_0 < SETTLED_NS / 10)
        ;
    ticks_look(t);
}

uint64_t ticks_ns(const struct ticks *t, uint64_t ticks)
{
    double ns = (double)(int64_t)(ticks - t->ticks_0) * t->ns_per_tick;
    ns = fmin(fmax(ns, -(double)t->ns_0), TICKS_MAX_NS);
    return t->ns_0 + (uint64_t)(int64_t)ns;
}

uint64_t ticks_at(const struct ticks *t, uint64_t ns)
{
    double ticks = ns > t->ns_0 ? (double)(ns - t->ns_0) / t->ns_per_tick : 0;
    return ticks < (double)(UINT64_MAX - t->ticks_0) ? t->ticks_0 + (uint64_t)ticks : UINT64_MAX;
}
