/*
 * process.h - the processes of a recording: what they are called and what they have mapped.
 *
 * Both the live sampler and perf.data files feed it the kernel's COMM, MMAP2, FORK and EXIT
 * records, and get frames and threads of the profile back.
 */
#pragma once
#include "model/profile.h"
#include "unwind/walk.h"

struct processes;

struct processes *processes_new(struct profile *p);
void processes_free(struct processes *ps); /* NULL is fine */

/* The processes run now and here: look at their root folders, and at files without a build-id. */
void processes_set_live(struct processes *ps);

/* Records were lost, perhaps those of a new process: /proc is asked for what nobody has heard of.
 */
void processes_set_lossy(struct processes *ps);

/*
 * Go on in another profile, TO, which is empty: what runs and is mapped is known there, too. Ids
 * of the old profile must not be used any more.
 */
void processes_move(struct processes *ps, struct profile *to);

/*
 * No more samples come. Forget the mappings, and free the memory of their unwind tables: those of
 * a whole machine take more than all the rest, and names take as much again. Files
 * to look up names in stay at hand.
 */
void processes_end_walks(struct processes *ps);

/*
 * When all that is reported next happened, in the clock of the rows; 0 = not known. Processes that
 * start or end get their times from it.
 */
void processes_set_time(struct processes *ps, uint64_t time_ns);

/* Which processes of a machine are recorded. */
struct process_wish {
    const char *cgroup; /* in this one, or below it; NULL = any */
    bool of_user;
    uid_t user;
};

/* Give each process labels: command, user, cgroup, container. Its first sample comes after this. */
void processes_set_labels(struct processes *ps, const struct process_wish *w);

/* Whether a process is one of those; unknown processes are not. */
bool processes_wants(struct processes *ps, int pid);

/* Read comm and maps of all processes that run. Returns how many are wanted, or -1. */
int processes_scan_all(struct processes *ps, struct err *err);

/* Read comm and maps of a running process, for attaching and for what was before recording. */
int processes_scan(struct processes *ps, int pid, struct err *err);

/* Take mappings from lines of /proc/PID/maps. */
void processes_maps(struct processes *ps, int pid, struct text maps);

struct process_map {
    int pid;
    uint64_t start, end, offset;
    const char *path;
    const uint8_t *build_id; /* NULL where the record has none */
    size_t build_id_bytes;
};

void processes_mmap(struct processes *ps, const struct process_map *m);
void processes_comm(struct processes *ps, int pid, int tid, const char *comm, bool exec);

/* Call ON_EXEC from now on when a process is reported to run another program. */
void processes_on_exec(struct processes *ps, void (*on_exec)(void *arg, int pid, const char *comm),
                       void *arg);

void processes_fork(struct processes *ps, int pid, int tid, int parent_pid, int parent_tid);
void processes_exit(struct processes *ps, int pid, int tid);

/* The content of a sample; kernel and user chains are innermost first. */
struct process_sample {
    int pid, tid;
    const uint64_t *kernel_pcs;
    size_t n_kernel_pcs;
    const uint64_t *user_pcs; /* a ready chain by frame pointers, or NULL to unwind */
    size_t n_user_pcs;
    uint16_t machine;        /* whose registers they are, as e_machine; 0: this one's */
    struct unwind_regs regs; /* for unwinding, with a copy of the stack */
    struct unwind_stack stack;
};

/* The stack and thread of a sample. RET_END says how unwinding ended. */
struct stack_id processes_stack(struct processes *ps, const struct process_sample *s,
                                enum unwind_end *ret_end);
struct thread_id processes_thread(struct processes *ps, int pid, int tid);

/*
 * A stack WAITER of a thread that waits, then WAKER (waitstream_waker()), then the functions of the
 * program that woke it, as FRAME_WAKER. S NULL = those are not known.
 */
struct stack_id processes_woken_stack(struct processes *ps, struct stack_id waiter,
                                      struct frame_id waker, const struct process_sample *s);

/* Where frames and threads are added. */
struct profile *processes_profile(const struct processes *ps);

/* The name that was reported for a thread; 0 = none. */
struct str_id processes_name(const struct processes *ps, int tid);

/* Processes and threads of which something is kept: those that ended long ago are forgotten. */
size_t processes_count(const struct processes *ps);

/* Whether what a process has mapped is known. */
bool processes_knows(const struct processes *ps, int pid);

/* The same for a thread that has reported its name itself: it counts if there is no other report.
 */
struct thread_id processes_thread_called(struct processes *ps, int pid, int tid, const char *comm);

/* A number for what a process has mapped now: the same number, the same frames for the same pcs. */
uint32_t processes_space(const struct processes *ps, int pid);

/* The frame of an address inside the instruction that calls, for stacks that were walked elsewhere.
 */
struct frame_id processes_frame(struct processes *ps, int pid, uint64_t pc);

/* The I-th mapping of a process that has code; false when there are fewer. */
bool processes_code(struct processes *ps, int pid, size_t i, struct unwind_code *ret);

/* How unwinding a sample would end; nothing is added to the profile. */
enum unwind_end processes_walk(struct processes *ps, const struct process_sample *s);

/*
 * Where the file of that build-id that a process mapped as PATH can be read, though it was deleted
 * or replaced since or the process sees other folders than we do; PATH itself unless live. For
 * symbolize_opts.locate.
 */
const char *processes_locate(const void *processes, const char *path, struct text build_id);

/*
 * Before names are looked up: code that was sampled before its process wrote /tmp/perf-PID.map
 * (Java writes it as it exits) belongs to that map. Once, when no more samples come.
 */
void processes_find_maps(struct processes *ps);

/*
 * The user of a process that made code at run time, as seen when that code was first sampled;
 * false unless live. For symbolize_opts.owner.
 */
bool processes_owner(const void *processes, uint64_t pid, uid_t *ret);

/* Where the kernel is and where its symbol _text was when the recording was made. */
void processes_kernel(struct processes *ps, uint64_t start, uint64_t end, uint64_t text);

/* The module of all frames of the kernel. */
struct mapping_id processes_kernel_mapping(struct processes *ps);
