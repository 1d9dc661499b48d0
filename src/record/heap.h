/*
 * heap.h - every block that a command and all it starts allocate, or samples of those of a running
 * process, beside the engine that samples.
 *
 *     heap.c         rings of all threads, joined by time
 *     heap_take.c    what a record does
 *     heap_maps.c    the same of anonymous maps
 *     heap_own.c     programs whose malloc no agent sees
 *     heap_unseen.c  programs that no agent got into
 *     heap_live.c    the blocks that a process holds
 *     heap_tally.c   sums by stack, thread and slice of time; rows of the profile
 *     heap_probe.c   samples of a process that runs already, by probes of the kernel (heapbpf.h)
 *     stackwalk.c    stacks that the agents walked themselves
 *     stackwalk_images.c  unwind rules for that
 *
 * An agent (lib/heap.c) is preloaded. In it a thread writes to a ring of its own, and waits while
 * that is full: nothing is lost while the recorder lives.
 *
 * The rings are joined by time into a table of live blocks outside the program. The recorder takes
 * all that was written before it looked: what a record depends on was handed over before it was
 * written, so there is no lock and no global counter. Leaked and peak are levels, the other columns
 * flows; live bytes and RSS are counters.
 *
 * The table takes at most 60 bytes per block, and while it grows half as much again. Blocks beyond
 * half of the machine's memory are left out, with their frees, and reported.
 */
#pragma once
#include "process/process.h"
#include "record/scopes.h"

struct heap;

struct heap_opts {
    char **command; /* NULL = a process that runs: PID, and samples only */
    int pid;
    struct profile *profile;
    struct processes *processes; /* for names of threads */
    uint64_t blocks_max;         /* followed at once; 0 = as half of this machine's memory holds */
    uint64_t sample_bytes;       /* one sample in so many bytes, on average; 0 = every block */
    bool maps;                   /* anonymous maps as well; not of a running process */
    bool locks;                  /* are recorded as well: which blocks are allocated under one */
    size_t stack_bytes;          /* of a running process: to copy of each stack at most */

    /* The scopes that a path of a thread's ring of scopes stands for, as labels (scopes_labels());
     * NULL = not known. */
    struct attrs_id (*scopes_of)(void *arg, const struct scopes_place *place);
    void *arg;
};

struct heap_facts {
    uint64_t programs;                      /* that an agent got into */
    uint64_t processes;                     /* that they ran in */
    uint64_t running;                       /* of these, when it ended */
    char own_malloc[160];                   /* names of programs whose malloc is not seen */
    char unseen[160];                       /* names of programs that no agent got into */
    int64_t allocations, frees, temporary;  /* blocks */
    int64_t allocated, peak, leaked, freed; /* bytes */
    int64_t samples;                        /* blocks that were seen; 0 = all were */
    uint64_t sample_bytes;                  /* one in so many bytes; 0 = all */
    uint64_t peak_ns;
    uint64_t unknown;   /* frees of blocks that nobody had seen allocated */
    uint64_t inherited; /* the same, by the child of a fork: blocks of its parent */
    uint64_t doubled;   /* blocks allocated where one was live: its end was missed */
    uint64_t lost;      /* records, those without room included */
    uint64_t no_room;   /* blocks that came when as many as can be were followed */
    uint64_t waits;     /* times that a thread waited for the recorder */
    bool other_malloc;  /* some program has an allocator that is not glibc's, or may have */
    bool scoped;        /* blocks know the scopes that they were allocated in */
    uint64_t vague_ns;  /* that the time of a block may be off by: the recorder came that late */
    int stream;         /* of the profile */
    bool probed;        /* a running process: only what it allocated since is in these numbers */
    uint64_t stops;     /* times that a probe stopped it */
    double stop_ns;     /* what each cost it, as measured on this machine */
    double probed_s;    /* how long that went on; less than the recording where it cost too much */
    bool too_many;      /* stops: the probes were taken away before the end */
};

/* What is said of times that are off: rows are sums of HEAP_SLICE_MS. */
#define HEAP_VAGUE_NS UINT64_C(100000000)

/* Before the command is forked. Refuses programs that no agent gets into, and what rights forbid.
 */
int heap_open(const struct heap_opts *o, struct heap **ret, struct err *err);
int heap_attach(struct heap *h, struct err *err); /* the command is forked, and waits */

/* The command is about to run: what it starts from now on must report, or is not seen. */
void heap_watch_execs(struct heap *h);

/* Take what came. True when there is more. */
bool heap_poll(struct heap *h);

/* Take the rest; write what holds at the end. */
void heap_stop(struct heap *h, uint64_t end_ns);
const struct heap_facts *heap_facts(struct heap *h);
void heap_close(struct heap *h); /* NULL is fine */
