/*
 * engine.h - what takes samples of running programs.
 *
 * How to add one: write src/record/NAME.c that ends in a `const struct engine engine_NAME` and add
 * it to the table in engine.c. A recording goes
 *
 *     probe    can it work here? if not: why, and what would help
 *     open     before the command is forked: memory to share, variables for its environment
 *     attach   to the command, which waits to exec, or to a process that runs
 *     poll     whenever an fd in the epoll wakes, and every poll_ms: hand over what came
 *     close    hand over the rest, say what was missed
 *
 * Samples and what happens to processes are handed over in the order of time.
 */
#pragma once
#include "process/process.h"
#include "record/cpulist.h"
#include "record/waits.h"

enum { ENGINE_EVENTS_MAX = 8 };

/* What a CPU did when a sample was taken and no process ran. */
enum engine_tick {
    TICK_IDLE,      /* nothing */
    TICK_INTERRUPT, /* it served an interrupt that came while it was idle */
    TICK_OTHER,     /* it ran a process that has no number here: of another container */
};

/* All that runs on some CPUs, not one program. */
struct engine_machine {
    cpulist cpus; /* none = all */
    struct process_wish wish;
    /* By the kernel's call chain, innermost first. NULL = always idle. */
    enum engine_tick (*tick)(const void *arg, const uint64_t *pcs, size_t n);
    const void *tick_arg;
};

struct engine_opts {
    double rate_hz;            /* samples asked for in a second of CPU time */
    const char *const *events; /* what to sample, side by side */
    size_t n_events;           /* 0 = the best clock there is */
    long stack_bytes;          /* of each stack to copy at most */
    bool user_only;            /* leave out the kernel's part */
    bool waits;                /* record context switches as well, for the sink's waits */
    const struct engine_machine *machine; /* NULL = one program */
    bool running;       /* attach to a process that runs; else to a command before its exec */
    int epoll_fd;       /* the engine adds its file descriptors here */
    const char *engine; /* "auto" or a name */
    char **command;     /* what will be run; NULL when running */
};

struct engine_sample {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t event;   /* which of the events, by its place in engine_opts */
    uint64_t period;  /* what the sample stands for: nanoseconds of a clock, events of a counter */
    struct process_sample at;
};

/* Where samples go. */
struct engine_sink {
    struct processes *processes; /* gets COMM, MMAP, FORK and EXIT from the engine itself */
    /* How the walk of its stack ended. */
    enum unwind_end (*sample)(void *to, const struct engine_sample *s);
    void *to;
    struct waits *waits; /* gets switches from the engine itself; NULL = not asked for */
};

/* An engine's figures for one event of a recording, at any time. */
struct engine_facts {
    const char *event; /* as opened: "cpu-clock", "cycles:u" */
    enum obtained obtained;
    enum dimension dimension; /* of a sample's period: DIM_TIME or DIM_COUNT */
    double rate_hz;           /* as opened, after the kernel's limits */
    bool rate_is_most;        /* more samples cannot be had by a higher rate */
    uint64_t lost;            /* samples that found no room */
    uint64_t throttled;
    uint64_t counted;                        /* total of the event in its unit, 0 = not known */
    uint64_t ended_threads, ended_processes; /* of what is recorded; 0 = none, or not known */
    uint64_t cpu_used_ns; /* CPU time of all that was recorded; 0 = not known (or not yet) */
    uint64_t sampled;     /* what the samples of a clock or counter stand for, in its unit */
    uint64_t sampled_ns;  /* the same as CPU time; the rest was not seen. 0 = not known (yet) */
    uint64_t enabled_ns;  /* how long a counter was to count, and did: less where the kernel */
    uint64_t running_ns;  /* has not room for all of them at once. 0 = not known, or a clock */
    bool uneven;          /* samples stand for different amounts: count these, not samples */
    bool kernel_hidden;
    bool waits_bare;     /* waits have durations and no stacks: the kernel cannot be seen */
    char no_wakers[240]; /* why nobody sees who ends waits; "" = somebody does, or none is asked */
    const char *clocks;  /* META_CLOCKS; NULL = none */
    char note[240];      /* what was given up and why, a sentence; "" for nothing */
};

struct engine {
    const char *name;  /* "perf": for --engine */
    const char *title; /* "perf_event_open": for people */
    int poll_ms;
    bool by_name; /* never picked by itself */

    int (*probe)(const struct engine_opts *o, struct err *err);
    int (*open)(const struct engine_opts *o, const struct engine_sink *to, void **ret,
                struct err *err);
    int (*attach)(void *run, int pid, struct err *err); /* of a machine: PID is not looked at */
    int (*poll)(void *run, struct err *err);
    /* One for each event; the first has the note and the CPU time of the whole. */
    const struct engine_facts *(*facts)(void *run);
    /* Samples still under way are handed over, then sampling stops. facts() stays good. */
    void (*stop)(void *run);
    void (*close)(void *run); /* NULL is fine */
};

extern const struct engine engine_perf;
extern const struct engine engine_timer;
extern const struct engine engine_none;

/* NULL-terminated, best first. */
extern const struct engine *const engines[];

/*
 * The engine to use: the one that OPTS name, or the first that can work here. NOTE says why a
 * better one was passed over, "" if none was.
 */
int engine_pick(const struct engine_opts *o, const struct engine **ret, char *note,
                size_t note_bytes, struct err *err);
