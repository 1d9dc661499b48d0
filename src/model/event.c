#include "model/event.h"

#include <stdio.h>
#include <string.h>

static const char *const ways[OBTAINED_WAYS] = {
    [OBTAINED_UNKNOWN] = "not recorded",    [BY_SOFTWARE_CLOCK] = "software clock",
    [BY_HARDWARE] = "hardware counter",     [BY_TIMER] = "in-process timer",
    [BY_SOFTWARE_EVENT] = "software event", [BY_TRACE] = "trace",
    [BY_EXACT_COUNT] = "exact count",       [BY_SIMULATION] = "simulation",
    [BY_BYTES] = "sampled by bytes",
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

/* Offset of ":u" or "u" behind "cpu/.../", or the length if there are no modifiers. */
static size_t modifiers_at(struct text event)
{
    size_t n = event.n;
    while (n && memchr("ukhpPGHSDIWeb", event.at[n - 1], 13))
        n--;
    if (n == 0 || (event.at[n - 1] != ':' && event.at[n - 1] != '/'))
        return event.n;
    return event.at[n - 1] == ':' ? n - 1 : n;
}

struct text event_bare_name(struct text event)
{
    return (struct text){event.at, modifiers_at(event)};
}

bool event_is_tracepoint(struct text event)
{
    struct text name = event_bare_name(event);
    return name.n && memchr(name.at, ':', name.n) && !memchr(name.at, '/', name.n);
}

bool event_of_all_cores(struct text event, char ret[EVENT_NAME_MAX])
{
    struct text rest = event, pmu = text_cut(&rest, '/');
    struct text name = text_cut(&rest, '/');
    bool hybrid =
        text_is(pmu, "cpu_core") || text_is(pmu, "cpu_atom") || text_is(pmu, "cpu_lowpower");
    if (!hybrid || !name.n || name.n > EVENT_NAME_MAX / 2 || memchr(name.at, '=', name.n) ||
        memchr(name.at, ',', name.n))
        return false;
    bool user = rest.n && memchr(rest.at, 'u', rest.n);
    bool kernel = rest.n && memchr(rest.at, 'k', rest.n);
    snprintf(ret, EVENT_NAME_MAX, "%.*s%s%s%s", TEXT_ARG(name), user || kernel ? ":" : "",
             user ? "u" : "", kernel ? "k" : "");
    return true;
}

struct text event_core(struct text event)
{
    return text_cut(&event, '/');
}

/* What comes before modifiers and terms: "cycles:u" and "cycles/period=1/u" are "cycles". */
static struct text event_stem(struct text event)
{
    size_t n = 0;
    while (n < event.n && event.at[n] != ':' && event.at[n] != '/')
        n++;
    return (struct text){event.at, n};
}

static bool starts_with_one_of(struct text t, const char *const *list)
{
    for (; *list; list++)
        if (text_starts(t, *list))
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
    /* units of the CPU's cores, "cpu_core/cycles/", and its caches' events */
    static const char *const units[] = {"cpu/",        "cpu_core/", "cpu_atom/", "L1-dcache-",
                                        "L1-icache-",  "LLC-",      "dTLB-",     "iTLB-",
                                        "branch-load", "node-",     NULL};
    static const char *const simulated[] = {"Ir",   "Dr",   "Dw", "I1mr", "D1mr", "D1mw", "ILmr",
                                            "DLmr", "DLmw", "Bc", "Bcm",  "Bi",   "Bim",  NULL};
    struct text name = event_stem(event);
    if (event_is_tracepoint(event))
        return BY_TRACE;
    if (text_is_one_of(name, simulated))
        return BY_SIMULATION;
    if (starts_with_one_of(event, units))
        return BY_HARDWARE;
    if (text_is_one_of(name, clocks))
        return BY_SOFTWARE_CLOCK;
    if (text_is_one_of(name, hardware))
        return BY_HARDWARE;
    if (text_is_one_of(name, software))
        return BY_SOFTWARE_EVENT;
    return OBTAINED_UNKNOWN;
}

enum dimension event_dimension(struct text event)
{
    return text_is_one_of(event_stem(event), clocks) ? DIM_TIME : DIM_COUNT;
}
