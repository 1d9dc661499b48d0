/*
 * record_tick.c - what a CPU does while no process runs on it: nothing, or an interrupt.
 *
 * The task that runs then is the idle one, whose stack ends in do_idle(). An interrupt that comes
 * meanwhile stands on top of that, with the function through which it entered the kernel.
 */
#include "suite/record_inner.h"
#include "symbol/kallcache.h"

enum { KIND_IDLE = 1, KIND_INTERRUPT };

static int kind_of_function(struct text name)
{
    static const char *const idle[] = {"do_idle", "cpu_startup_entry", "cpuidle_idle_call", NULL};
    static const char *const interrupt[] = {
        "common_interrupt", "handle_softirqs", "__do_softirq",   "irq_exit_rcu",
        "el1_interrupt",    "el1h_64_irq",     "gic_handle_irq", NULL};
    static const char *const fronts[] = {"asm_sysvec_", "sysvec_", "asm_common_interrupt"};
    if (text_is_one_of(name, idle))
        return KIND_IDLE;
    for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++)
        if (text_starts(name, fronts[i]))
            return KIND_INTERRUPT;
    return text_is_one_of(name, interrupt) ? KIND_INTERRUPT : 0;
}

void record_ticks_init(kallsyms_ranges *ret)
{
    kallsyms_find(ret, KALLSYMS_RUNNING, kind_of_function);
}

static int kind_of_pc(const kallsyms_ranges *known, uint64_t pc)
{
    size_t low = 0, high = known->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (known->at[middle].end <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < known->n && known->at[low].start <= pc ? known->at[low].kind : 0;
}

enum engine_tick record_tick(const void *ranges, const uint64_t *pcs, size_t n)
{
    bool idle = false;
    for (size_t i = 0; i < n; i++) {
        int kind = kind_of_pc(ranges, i ? pcs[i] - 1 : pcs[i]);
        if (kind == KIND_INTERRUPT)
            return TICK_INTERRUPT;
        idle |= kind == KIND_IDLE;
    }
    return idle || !((const kallsyms_ranges *)ranges)->n ? TICK_IDLE : TICK_OTHER;
}
