/*
 * record.h - record a command or a process into a file, as one call: host and provenance, the
 * recorder, names, labels, gates, and the file in its place.
 *
 * `kelvin record` and the suite call it. The results are facts; the caller writes the sentences.
 */
#pragma once
#include "analysis/quality.h"
#include "base/opt.h"
#include "host/fingerprint.h"
#include "host/provenance.h"
#include "record/recorder.h"

#include <limits.h>

/* Limits of --strict, in percent of samples lost, of stacks unfinished, of frames unnamed. */
enum { STRICT_LOST = 1, STRICT_UNFINISHED = 1, STRICT_UNNAMED = 10 };

/* How many of the hottest functions are reported. */
enum { RECORD_TOP = 5, RECORD_NAME_WIDTH = 68, RECORD_NAME_BYTES = 4 * RECORD_NAME_WIDTH + 1 };

/* As much of a stack as the kernel copies. */
enum { RECORD_STACK_BYTES = 65528 };

struct record_opts {
    const char *output, *engine;
    struct opt_list events; /* none = the best clock there is */
    double rate_hz, duration_s, rotate_s;
    const char *folder; /* of recordings that follow one another; NULL = output is a file's name */
    double keep_s;      /* how long they are kept there; 0 = for ever */
    uint64_t max_bytes; /* of all in there; 0 = any */
    long pid, min_samples, stack_bytes; /* min_samples: 0 = no gate */
    bool machine;                       /* all that runs, or what of it the next three leave */
    const char *cpus, *cgroup, *user;   /* "0-3,8"; user: a name or number; NULL = all */
    bool strict, allow_partial, quiet, user_only, hide_arguments, waits;
    const char *listen, *listen_token;              /* as in recorder_opts */
    void (*listening)(const struct listen *listen); /* as there */
    const char *functions;     /* NULL = no; "" = all, else those that match it */
    double functions_least_us; /* shorter ones are left out */
    const char *otlp;          /* a collector's address; NULL = none */
    const char *heap;          /* NULL = no; else as in record_heap_read() */
    bool locks;                /* every wait for a lock */
    const char *pack_source; /* NULL = no; "" = the project's source, else what is below it, too */
    bool view;               /* the caller shows the recording later */
    char **args;             /* the caller's own options, for the label */
    int n_args;
    void (*status)(const struct recorder *r); /* called about once a second; may be NULL */
};

/* Why a recording is not good enough. */
enum record_gate {
    GATE_GOOD,
    GATE_FEW,  /* samples: fewer than min_samples */
    GATE_LOST, /* of strict: see the limits above */
    GATE_UNFINISHED,
    GATE_UNNAMED,
};

/* Bytes between two samples of the heap, unless told otherwise. */
#define RECORD_HEAP_BYTES (UINT64_C(512) << 10)

/* Source files that the recording names: how many went along, and why others did not. */
struct record_packed {
    unsigned files, outside, absent, too_large;
    uint64_t bytes;
};

/* What came of it. Plain data: it may cross a pipe. */
struct record_facts {
    bool started;   /* the command or process was found and could be sampled */
    unsigned files; /* with rotate_s: how many */
    unsigned gaps; /* of folder: times that the disk was full, or the like, and samples were lost */
    bool published;   /* the file is in its place */
    bool others_left; /* with a folder: there are recordings in it from before */
    bool part_left;   /* what was recorded is in PART, because FILE could not be written */
    char part[PATH_MAX];
    char old[PATH_MAX];     /* where the recording is that it replaced; "" = there was none */
    uint64_t saved_samples; /* how many are in PART */
    enum record_gate gate;  /* why it was not published, or only as partial */
    double percent;         /* of GATE_LOST and its like */
    enum recorder_end end;
    bool exited;
    int status; /* of the command, as wait(2) has it */
    enum obtained obtained;
    char event[64], engine[16], note[480];
    double rate_hz, rate_achieved_hz, wall_s;
    bool rate_is_most; /* a higher rate cannot be had */
    uint64_t samples, lost, throttled, bytes;
    struct {
        uint64_t samples, lost;
        double wall_s;
    } all; /* with rotate_s: of all files; the rest is of the last one */
    uint64_t seen_ns,
        sampled_ns;   /* CPU time that samples could see, and what they stand for; 0 = not known */
    bool too_short;   /* no samples, although that time is enough for several */
    char hidden[400]; /* why the kernel shows nothing of the command, as a sentence; "" = it does */
    const char *missed; /* what may have too few samples where they stand for less */
    bool rate_may_help; /* then */
    uint64_t cpu_ns;    /* of the command, children waited for included; 0 = it has not ended */
    uint64_t ends[UNWIND_ENDS];
    bool kernel_hidden;
    struct {
        char event[64]; /* "" = no more */
        uint64_t samples;
    } others[ENGINE_EVENTS_MAX]; /* events besides the first */
    bool machine;                /* all that runs was recorded */
    uint64_t idle_ns;            /* of its CPUs, all together */
    size_t cpus;                 /* 0 = not known */
    uint32_t processes;          /* that have samples */
    bool has_waits, waits_bare;  /* waits_bare: durations without stacks */
    char no_wakers[240];         /* why nobody saw who ended waits; "" = somebody did */
    struct waits_facts waits;
    bool has_heap;
    struct heap_facts heap;
    bool has_locks;
    struct locks_facts locks;
    struct scopes_facts scopes; /* spans 0 = none */
    struct spansend_facts sent; /* to a collector */
    struct record_packed packed;
    double unnamed_share;
    struct {
        char name[RECORD_NAME_BYTES];
        double share;   /* of all samples */
    } top[RECORD_TOP];  /* without those of the heap's agent; functions by self time; share 0 = no
                           more */
    double agent_share; /* of the CPU time: kelvin's own, in the program */
};

/* The options of a heap recording. */
struct record_heap {
    uint64_t sample_bytes; /* 0 = every block */
    bool maps;             /* anonymous maps as well */
};

/*
 * Read words with commas in between: "exact", "sampled" or "sampled:BYTES", and "mmap". None is
 * exact; NULL is fine. False when they make no sense.
 */
bool record_heap_read(const char *words, struct record_heap *ret);

/*
 * Record COMMAND (NULL-terminated), or process opts->pid or the machine where it is NULL. Returns 0
 * when the recording went through, whatever the command did and the gates say: see RET. Fails with
 * what kept it from starting or the file from being written; RET is filled in as far as it is
 * known.
 */
int record_take(const struct record_opts *opts, char **command, struct record_facts *ret,
                struct err *err);

/*
 * The exit code when OURS is our own result: the command's failure is never masked, 128 + N if
 * signal N killed it. A command that ended by the SIGTERM which we sent when its time was
 * over did not fail.
 */
int record_code(const struct record_facts *f, int ours);
