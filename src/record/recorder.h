/*
 * recorder.h - from an engine's samples to a file that grows every second.
 *
 *     engine -> streams of the profile -> FILE.part, appended and flushed about once a second
 *
 * Rows are freed once they are written, so memory grows with the number of distinct stacks, not
 * with time. Killing the recorder at any moment leaves FILE.part, which opens with all but the
 * last second. When recording ends the caller may still write to the profile (names, metadata)
 * before it is published: FILE.part then becomes FILE. Or it is dropped and FILE stays as it was.
 */
#pragma once
#include "base/signals.h"
#include "record/cpucount.h"
#include "record/cpulimits.h"
#include "record/engine.h"
#include "record/heap.h"
#include "record/launch.h"
#include "record/listen.h"
#include "record/locks.h"
#include "record/partfile.h"
#include "record/runqueue.h"
#include "record/scopes.h"
#include "record/tally.h"
#include "record/threadstates.h"
#include "wire/recording.h"

#include <sys/resource.h>

struct recorder;

struct recorder_opts {
    struct engine_opts engine;
    const char *output; /* FILE */
    char **command;     /* NULL-terminated; NULL = attach to pid, or to the machine */
    int pid;
    double duration_s;                        /* 0 = until the command or process ends */
    void (*status)(const struct recorder *r); /* called about once a second; may be NULL */
    bool waits;                               /* context switches as well: see waits.h */
    bool heap;                                /* every allocation of the command as well */
    uint64_t heap_sample_bytes;               /* of heap: see heap_opts */
    bool heap_maps;                           /* the same */
    bool locks;                               /* every wait for a lock as well */
    locks_namer *name_lock;                   /* see locks_opts */
    void *name_lock_arg;
    /* Begin a new file so often; 0 = never. See recorder_rotate(). */
    double rotate_s;
    const char *listen, *listen_token;              /* see listen.h; NULL = nobody may ask */
    void (*listening)(const struct listen *listen); /* called before the command runs; or NULL */
    const char *functions;                          /* see scopes_opts; NULL = not asked for */
    uint64_t functions_least_ns;
    const char *otlp;                                   /* a collector's address; NULL = none */
    int (*rotate)(struct recorder *r, struct err *err); /* called when it is time to */
    /* Called when the file cannot be written, ERR says why: to go on elsewhere. NULL = that is the
     * end. */
    int (*rescue)(struct recorder *r, struct err *err);
};

/* How recording ended. */
enum recorder_end {
    END_EXIT,      /* the command or process ended */
    END_DURATION,  /* the time was over */
    END_INTERRUPT, /* SIGINT or SIGTERM */
    END_WRITE,     /* the file could not be written: see err */
};

/* The figures kept for each event that is sampled. */
struct recorder_event {
    int stream;                 /* of the profile */
    uint64_t samples;           /* in the present file */
    uint64_t refused;           /* values that do not fit: counted as lost */
    uint64_t ends[UNWIND_ENDS]; /* of them, by how their stack ended */
    uint64_t lost_before;       /* in files that are closed */
    uint64_t samples_before;
    struct tally tally;
};

struct recorder {
    struct recorder_opts opts;
    struct profile *profile;
    const struct engine *engine;
    char engine_note[240];            /* why not a better engine */
    const struct engine_facts *facts; /* one for each event */
    uint64_t start_ns, end_ns;        /* CLOCK_MONOTONIC */
    uint64_t idle_ns;                 /* of the CPUs of a machine, when the file began */
    struct recorder_event events[ENGINE_EVENTS_MAX]; /* the first is the one that is shown */
    size_t n_events;
    unsigned beats;                         /* calls of status */
    uint64_t saved_samples;                 /* of the first event, in whole chunks of the file */
    uint64_t earlier_samples, earlier_lost; /* of the first event, in files that are closed */
    uint64_t kernel_samples;                /* taken in the kernel */
    enum recorder_end end;
    bool exited;
    int status;          /* of the command, as wait(2) has it */
    struct rusage usage; /* of the command */
    struct runqueue queue;
    struct cpucount cpu;
    struct cpulimits limits; /* of the program; of ourselves where there is none yet */

    /* inside */
    void *run;
    struct waits *waits; /* NULL = not asked for */
    struct heap *heap;   /* NULL = not asked for */
    bool heap_busy;      /* there is more to take from it */
    struct locks *locks; /* NULL = not asked for */
    bool locks_busy;
    struct scopes *scopes; /* NULL = of a running process, or not installed */
    bool scopes_busy;
    struct spansend *send; /* spans to a collector; NULL = not asked for */
    struct scopelive live; /* sums of scopes, where somebody may ask */
    struct threadstates states;
    struct listen *listen; /* NULL = nobody may */
    uint64_t first_start_ns;
    char scopes_note[280]; /* why there are none; "" where there are, or could be */
    struct processes *processes;
    struct subprocess launch;
    struct signals signals;
    int epoll_fd, pid_fd;
    int interrupts;
    uint64_t last_flush_ns, file_start_ns;
    struct partfile part;
    bool writing; /* the writer is open */
    struct recording_writer writer;
    struct recording_mark mark;
};

/*
 * Choose an engine, create FILE.part, start the command or find the process. From here on
 * SIGINT, SIGTERM, SIGHUP (unless they were ignored) and SIGCHLD come to the recorder only.
 * r->profile is ready for metadata.
 */
int recorder_start(struct recorder *r, const struct recorder_opts *o, struct err *err);

/* Record until the end. Fails only when FILE.part cannot be written. */
int recorder_run(struct recorder *r, struct err *err);

/* How long the CPUs of a machine were idle since the file began, and how many they are. */
uint64_t recorder_idle_ns(const struct recorder *r, size_t *ret_cpus);

/* The first event summed up by stack: a stream in no profile. Free with tally_free_stream(). */
struct stream *recorder_tally(const struct recorder *r);

/* Write what is new, close FILE.part and give it its name. RET_OLD: see partfile_publish(). */
int recorder_publish(struct recorder *r, char **ret_old, struct err *err);

/*
 * Close the present file and go on in OUTPUT: between the two no sample is lost and none is in
 * both. FINISH is called in a process of its own, with the recorder as it was: it gives names and
 * calls recorder_publish(), while this process goes on recording. Returns that process's pid, to be
 * waited for by nobody in particular, or -1.
 */
int recorder_rotate(struct recorder *r, const char *output, int (*finish)(struct recorder *r),
                    struct err *err);

/*
 * Leave the present file as it is, with what could be written, and go on in OUTPUT. Data that was
 * not written is lost.
 */
int recorder_skip(struct recorder *r, const char *output, struct err *err);

/* Give everything back; FILE.part is removed unless it was published or KEEP_PART is true. */
void recorder_done(struct recorder *r, bool keep_part);
