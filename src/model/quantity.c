#include "model/quantity.h"

#include "model/streamkind.h"

/* "cycles:u" is "cycles". */
static struct text without_modifiers(struct text event)
{
    size_t n = 0;
    while (n < event.n && event.at[n] != ':' && event.at[n] != '/')
        n++;
    return (struct text){event.at, n};
}

/* --- by how it was obtained --- */

static enum quantity of_hardware(struct text event)
{
    static const char *const cycles[] = {"cycles", "cpu-cycles", "ref-cycles", "", NULL};
    static const char *const work[] = {"instructions", "branches", "branch-instructions", NULL};
    struct text name = without_modifiers(event);
    return text_is_one_of(name, cycles) ? QUANTITY_CPU_TIME
           : text_is_one_of(name, work) ? QUANTITY_WORK
                                        : QUANTITY_EVENTS;
}

static enum quantity of_count(const struct profile *p, const struct value_type *t)
{
    if (t->dimension == DIM_TIME)
        return QUANTITY_ELAPSED;
    switch (simulated_of(p, t)) {
    case SIMULATED_INSTRUCTIONS:
        return QUANTITY_WORK;
    case SIMULATED_OTHER:
        return QUANTITY_UNKNOWN;
    default:
        return QUANTITY_EVENTS;
    }
}

/* --- where the input does not say how --- */

static bool is_memory(const struct profile *p, const struct value_type *t)
{
    static const char *const names[] = {"alloc_objects", "alloc_space", "allocations",
                                        "allocated",     "objects",     NULL};
    return t->dimension == DIM_BYTES || t->role == ROLE_LEVEL ||
           text_is_one_of(profile_str(p, t->name), names);
}

/* Numbers of blocks are memory, as bytes are. */
static bool is_heap(const struct profile *p, const struct stream *s)
{
    enum stream_kind kind = stream_kind_of(p, s);
    return kind == STREAM_HEAP || kind == STREAM_HEAP_SIZES || kind == STREAM_HEAP_LIFETIMES;
}

/* Go's profiles of locks, and others' of waiting, have a time that no CPU worked for. */
static bool is_waiting(const struct profile *p, const struct value_type *t)
{
    static const char *const names[] = {"delay", "wait", "wall", "off-cpu", "contentions", NULL};
    return text_is_one_of(profile_str(p, t->name), names);
}

static enum quantity of_column(const struct profile *p, const struct value_type *t)
{
    if (is_memory(p, t))
        return QUANTITY_MEMORY;
    if (is_waiting(p, t))
        return t->dimension == DIM_TIME ? QUANTITY_ELAPSED : QUANTITY_EVENTS;
    return t->dimension == DIM_TIME ? QUANTITY_CPU_TIME : QUANTITY_UNKNOWN;
}

/* Counts are of what stands beside them. */
static enum quantity of_company(const struct profile *p, const struct stream *s,
                                const struct value_type *t)
{
    enum quantity m = of_column(p, t);
    for (int i = 0; i < s->n_types && m == QUANTITY_UNKNOWN; i++)
        m = of_column(p, &s->types[i]);
    return m;
}

/* --- all of it --- */

enum quantity quantity_of(const struct profile *p, struct value_ref value)
{
    const struct stream *s = profile_stream(p, value.stream);
    const struct value_type *t = &s->types[value.type];
    if (t->dimension == DIM_BYTES || t->role == ROLE_LEVEL || is_heap(p, s))
        return QUANTITY_MEMORY;
    switch (s->obtained) {
    case BY_SOFTWARE_CLOCK:
    case BY_TIMER:
        return QUANTITY_CPU_TIME;
    case BY_HARDWARE:
        return of_hardware(profile_str(p, s->event));
    case BY_SOFTWARE_EVENT:
        return QUANTITY_EVENTS;
    case BY_TRACE:
        return t->dimension == DIM_TIME ? QUANTITY_ELAPSED : QUANTITY_EVENTS;
    case BY_EXACT_COUNT:
    case BY_SIMULATION:
        return is_memory(p, t) ? QUANTITY_MEMORY : of_count(p, t);
    default:
        return of_company(p, s, t);
    }
}

/* --- simulators --- */

enum simulated simulated_of(const struct profile *p, const struct value_type *t)
{
    static const char *const names[SIMULATED_FIGURES] = {
        [SIMULATED_OTHER] = "",
        [SIMULATED_INSTRUCTIONS] = "Ir",
        [SIMULATED_READS] = "Dr",
        [SIMULATED_WRITES] = "Dw",
        [SIMULATED_I1_MISSES] = "I1mr",
        [SIMULATED_D1_READ_MISSES] = "D1mr",
        [SIMULATED_D1_WRITE_MISSES] = "D1mw",
        [SIMULATED_LL_CODE_MISSES] = "ILmr",
        [SIMULATED_LL_READ_MISSES] = "DLmr",
        [SIMULATED_LL_WRITE_MISSES] = "DLmw",
        [SIMULATED_BRANCHES] = "Bc",
        [SIMULATED_JUMPS] = "Bi",
        [SIMULATED_BRANCH_MISSES] = "Bcm",
        [SIMULATED_JUMP_MISSES] = "Bim",
    };
    for (int i = SIMULATED_OTHER + 1; i < SIMULATED_FIGURES; i++)
        if (text_is(profile_str(p, t->name), names[i]))
            return (enum simulated)i;
    return SIMULATED_OTHER;
}

bool simulated_pick(const struct profile *p, enum simulated figure, struct value_ref *ret)
{
    for (int i = 0; i < (int)p->streams.n; i++) {
        *ret = (struct value_ref){i, simulated_find(p, profile_stream(p, i), figure)};
        if (ret->type >= 0)
            return true;
    }
    return false;
}

int simulated_find(const struct profile *p, const struct stream *s, enum simulated figure)
{
    for (int i = 0; i < s->n_types; i++)
        if (simulated_of(p, &s->types[i]) == figure)
            return i;
    return -1;
}

/* --- counters --- */

/* "cpu_core/cycles/Pu" and "cycles:u" are "cycles". */
static struct text counter_name(struct text event)
{
    const char *slash = memchr(event.at, '/', event.n);
    if (slash)
        event = (struct text){slash + 1, event.n - (size_t)(slash + 1 - event.at)};
    return without_modifiers(event);
}

enum counted counted_of(const struct profile *p, const struct stream *s)
{
    static const char *const names[COUNTED_FIGURES][4] = {
        [COUNTED_CYCLES] = {"cycles", "cpu-cycles"},
        [COUNTED_INSTRUCTIONS] = {"instructions"},
        [COUNTED_CACHE_MISSES] = {"cache-misses", "LLC-load-misses", "LLC-misses"},
        [COUNTED_L1_MISSES] = {"L1-dcache-load-misses", "L1-dcache-misses"},
        [COUNTED_BRANCHES] = {"branches", "branch-instructions"},
        [COUNTED_BRANCH_MISSES] = {"branch-misses"},
    };
    struct text event = profile_str(p, s->event);
    for (int i = COUNTED_OTHER + 1; s->obtained == BY_HARDWARE && i < COUNTED_FIGURES; i++)
        if (text_is_one_of(counter_name(event), names[i]))
            return (enum counted)i;
    return COUNTED_OTHER;
}
