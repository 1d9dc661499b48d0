/*
 * meta.h - what is known about how a profile was made: an ordered list of keys and texts.
 *
 * Keys are free; the ones that views understand are named here. A key that is absent is not
 * known, which is not the same as zero.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

#define META_FORMAT "format" /* the input's format: "folded", "pprof"... */
#define META_SOURCE "source" /* the input's file name, without folders */
#define META_DURATION_NS "duration_ns"
#define META_TIME_NS "time_ns" /* start, since 1970 */
#define META_COMMAND "command"
#define META_HOST "host" /* a name for the machine's make, not the name it goes by */
#define META_OS "os"
#define META_ARCH "arch"
#define META_CPU "cpu"
#define META_CPUS "cpus" /* how many are online, and usable by the recorder */
#define META_MEMORY "memory"
#define META_KERNEL "kernel"
#define META_VIRTUAL "virtual" /* the hypervisor, or "none" */
#define META_CONTAINER "container"
#define META_GOVERNOR "governor" /* of the CPU's frequency */
#define META_TURBO "turbo"
#define META_SMT "smt"
#define META_CLOCK "clock" /* the kernel's clock source */
#define META_LOAD "load"   /* load averages of 1, 5 and 15 minutes at the start */
#define META_COMMIT "commit"
#define META_BRANCH "branch"
#define META_DIRTY "dirty" /* whether files differ from the commit: "yes", "no", "not known" */
#define META_BUILD "build" /* compiler and flags of what was measured */
#define META_KEPT "kept_program"     /* hash of the program that a baseline has kept */
#define META_KEPT_FILES "kept_files" /* hash of the files that it was given */
#define META_METHOD "method"         /* what of the options changes the numbers */
#define META_TOOL "tool"             /* what wrote the input, with its version */
#define META_COMMENT "comment"
#define META_CUT "cut" /* present when the input was cut off; says where */

/* What a recorder knows besides; see doc of `kelvin record`. */
#define META_ENGINE "engine"             /* "perf", "timer" */
#define META_ENGINE_NOTE "engine_note"   /* what it could not do, and why */
#define META_CLOCKS "clocks"             /* whose CPU time they count: "of threads", "of CPUs" */
#define META_NO_SAMPLES "no_samples"     /* why there are none, half a sentence */
#define META_RATE_IS_MOST "rate_is_most" /* "yes" where this machine allows no higher one */
#define META_RUNNING "counters_running"  /* of their time: "cycles 100%, instructions 62%" */
#define META_UNNAMED_SHARE "unnamed"     /* of frames met while walking all stacks, "1.25%" */
#define META_NAMED "named" /* "yes" where no file was missing when names were looked up */
#define META_KERNEL_HIDDEN "kernel_hidden" /* "yes" where no right to see it hid the kernel */
#define META_EXIT_STATUS "exit_status"     /* of the command: "0", "signal 11" */
#define META_CPU_TIME_NS "cpu_time_ns"     /* of the command, children waited for included */
#define META_SAMPLED_NS "sampled_ns" /* CPU time that samples stand for: the rest was not seen */
#define META_SAMPLED_OF_NS \
    "sampled_of_ns"                    /* CPU time that they could see: user code only, or all */
#define META_POOLED_RUNS "pooled_runs" /* samples are of so many runs, times the mean of one */
#define META_THREADS_ENDED "threads_ended" /* while it was recorded, of all processes */
#define META_QUEUED_NS "queued_ns"         /* its threads could run and had no CPU, summed */
#define META_RECORDER_NS "recorder_cpu_ns" /* CPU time of the recorder itself */
#define META_MACHINE "machine" /* "yes" where all that runs was recorded, not one program */
#define META_MACHINE_PART "machine_part" /* of it, "the machine, only user web"; absent = all */
#define META_IDLE_NS "idle_ns"           /* how long its CPUs were idle, all together */
#define META_IDLE_CPUS "idle_cpus"       /* how many these are */
#define META_SCOPES_NOTE "scopes_note"   /* what went wrong with the program's scopes */
#define META_HEAP_SCOPED "heap_scoped"   /* 1: blocks know the scopes they were allocated in */
#define META_SCOPES_OFF_NS \
    "scopes_clock_off_ns" /* how far the processor's counter was from the clock, at most */
#define META_WAITS_STACKS "waits_stacks"       /* "no" where waits have durations only */
#define META_WAITS_WAKERS "waits_wakers"       /* "yes", or why wakers are not known */
#define META_WAITS_QUEUED_NS "waits_queued_ns" /* threads queued for CPUs known to us */
#define META_WAITS_QUEUED_OWN_NS \
    "waits_queued_own_ns"                /* of that, other threads of the recording ran there */
#define META_THROTTLED_NS "throttled_ns" /* its cgroup had used up its CPU quota */
#define META_STOLEN_NS "stolen_ns"       /* the host had taken the machine's CPUs, all together */
#define META_WAITS_UNKNOWN_ENDS "waits_unknown_ends" /* waits whose end was lost */
#define META_UNKNOWN_FREES "unknown_frees"           /* of blocks whose allocation was not seen */
#define META_INHERITED_FREES                                                                \
    "inherited_frees"                    /* by children of a fork, of their parents' blocks \
                                          */
#define META_MISSED_FREES "missed_frees" /* blocks whose address was handed out again */
#define META_HEAP_VAGUE_S "heap_vague_s" /* that times of blocks may be off by */
#define META_HEAP_SINCE "heap_since"     /* "attach" where blocks from before it are not known */
#define META_HEAP_END_S "heap_end_s"     /* the heap was followed for so long, not to the end */
#define META_HEAP_SAMPLE_BYTES "heap_sample_bytes" /* one sample in so many, on average */
#define META_HEAP_PROGRAMS "heap_programs"     /* that were recorded; 0: none reported anything */
#define META_HEAP_PROCESSES "heap_processes"   /* that they ran in: numbers are sums over them */
#define META_HEAP_RUNNING "heap_running"       /* of these, so many ran on at the end */
#define META_HEAP_OWN_MALLOC "heap_own_malloc" /* names of programs whose malloc was not seen */
#define META_HEAP_UNSEEN "heap_unseen"         /* names of programs whose heap was not recorded */
#define META_HEAP_MALLOC "heap_malloc"         /* "glibc" where every block came from it */
#define META_ALLOCS_PER_OP "allocs_per_op"     /* and a blank and a benchmark's name: blocks */
#define META_BYTES_PER_OP "bytes_per_op"       /* the same in bytes: of an iteration */
#define META_OPTIONS "options"                 /* of the recorder */
#define META_PARTIAL "partial"                 /* present when a gate failed; says which */

struct meta_entry {
    char *key, *value;
};

struct meta {
    VEC(struct meta_entry) entries;
};

void meta_done(struct meta *m);

/* Set or replace. */
void meta_set(struct meta *m, const char *key, struct text value);
void meta_set_str(struct meta *m, const char *key, const char *value);
void meta_set_u64(struct meta *m, const char *key, uint64_t value);

/*
 * Make it fit for everybody's eyes: of the command line only the program stays, unless ARGUMENTS
 * are asked for, and home folders become "~".
 */
void meta_make_public(struct meta *m, bool arguments);

/* NULL where not known. */
const char *meta_find(const struct meta *m, const char *key);
bool meta_find_u64(const struct meta *m, const char *key, uint64_t *ret);

/* Whether there was more work than CPUs at the start, by the load of the last minute. False where
 * that is not known. */
bool meta_was_busy(const struct meta *m);
