#include "model/event.h"

static const char *const ways[OBTAINED_WAYS] = {
    [OBTAINED_UNKNOWN] = "not recorded",    [BY_SOFTWARE_CLOCK] = "software clock",
    [BY_HARDWARE] = "hardware counter",     [BY_TIMER] = "in-process timer",
    [BY_SOFTWARE_EVENT] = "software event", [BY_TRACE] = "trace",
    [BY_EXACT_COUNT] = "exact count",       [BY_SIMULATION] = "simulation",
};

const char *obtained_name(enum obtained o)
{
    return ways[o];
}

enum obtained obtained_find(struct text name)
{
    for (enum obtained o = OBTAINED_UNKNOWN + 1; o < OBTAINED_WAYS; o++)
        if (text_is(name, ways[o]))
            return o;
    return OBTAINED_UNKNOWN;
}

/* The name without modifiers: "cycles:u" and "cycles/period=1/u" are "cycles". */
static struct text bare_event(struct text event)
{
    size_t n = 0;
    while (n < event.n && event.at[n] != ':' && event.at[n] != '/')
        n++;
    return (struct text){event.at, n};
}

static bool is_one_of(struct text t, const char *const *list)
{
    for (; *list; list++)
        if (text_is(t, *list))
            return true;
    return false;
}

static const char *const clocks[] = {"cpu-clock", "task-clock", NULL};

enum obtained event_obtained(struct text event)
{
    static const char *const hardware[] = {"cycles",
                                           "cpu-cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "branch-instructions",
                                           "bus-cycles",
                                           "ref-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           NULL};
    static const char *const software[] = {"page-faults",
                                           "faults",
                                           "minor-faults",
                                           "major-faults",
                                           "context-switches",
                                           "cs",
                                           "cpu-migrations",
                                           "migrations",
                                           "alignment-faults",
                                           "emulation-faults",
                                           "bpf-output",
                                           "cgroup-switches",
                                           NULL};
    struct text name = bare_event(event);
    if (is_one_of(name, clocks))
        return BY_SOFTWARE_CLOCK;
    if (is_one_of(name, hardware))
        return BY_HARDWARE;
    if (is_one_of(name, software))
        return BY_SOFTWARE_EVENT;
    return OBTAINED_UNKNOWN;
}

enum dimension event_dimension(struct text event)
{
    return is_one_of(bare_event(event), clocks) ? DIM_TIME : DIM_COUNT;
}
