/*
 * perfattr.h - what to ask perf_event_open for: the event by its name, and all that a sample and
 * the kernel's other records should carry.
 */
#pragma once
#include "base/err.h"
#include "model/event.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

struct perfattr {
    struct perf_event_attr attr;
    char event[64]; /* as people write it, with modifiers */
    enum obtained obtained;
    bool clock;         /* a software clock */
    bool of_cpu;        /* of all that runs on a CPU, whatever is recorded */
    const char *filter; /* of a tracepoint: which records are samples; NULL = all */
    int dropped;        /* features that this kernel does not have */
    size_t stack_most;  /* copy no more of each stack than this; 0 = as much as the others */
    size_t stack_first; /* and only this until perfevents_grow(); 0 = that from the start */
};

struct perfattr_opts {
    const char *event; /* NULL = cycles where there are any, else cpu-clock */
    double rate_hz;
    bool user_only;
};

/*
 * Find out what this kernel and this user's rights allow, by opening an event on ourselves. Fails
 * with the reason and what would help. RET_KERNEL_HIDDEN: kernel samples were asked for in vain.
 */
int perfattr_probe(struct perfattr *a, const struct perfattr_opts *o, bool *ret_kernel_hidden,
                   struct err *err);

/* Ask for STACK_BYTES of stack, and for a wake-up whenever WAKEUP_BYTES are in a ring. */
void perfattr_set_sizes(struct perfattr *a, size_t stack_bytes, size_t wakeup_bytes);

/* Let samples say how much the thread has counted so far; false where this kernel cannot (6.13). */
bool perfattr_read_age(struct perfattr *a);

/* perf_event_open(2); the fd or -1 with errno. */
int perfattr_open(const struct perfattr *a, int pid, int cpu);

/* The same as a member of a group, whose LEADER was opened for the same; -1 = without a group. */
int perfattr_open_in(const struct perfattr *a, int pid, int cpu, int leader);

/* What read(2) gives of an event, as perfattr_probe() asks for it; `lost` since Linux 6.0 only. */
struct perfattr_counts {
    uint64_t value, enabled_ns, running_ns, lost;
};

/* A number in a file of /proc/sys/kernel, or -1. */
long perfattr_sysctl(const char *name);
