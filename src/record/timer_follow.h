/*
 * timer_follow.h - what has to be asked about processes that are sampled from within: names of
 * threads, and libraries that were loaded after the program began.
 *
 * All questions cost a file read in /proc, so they are asked less and less often while the
 * answers stay the same.
 */
#pragma once
#include "base/idmap.h"
#include "process/process.h"

/* When to ask next, for a process or a thread. */
struct follow_row {
    int pid, tid;
    uint64_t seen; /* hash of the last answer */
    uint64_t next_ns, wait_ns;
};

struct follow {
    struct processes *processes;
    VEC(struct follow_row) rows;
    struct idmap by_tid, by_pid;
};

void follow_done(struct follow *f);

/* A program begins in PID, with these executable lines of its maps. */
void follow_start(struct follow *f, int pid, const char *comm, struct text maps);

void follow_fork(struct follow *f, int pid, int parent_pid, int parent_tid);

/* More is known to be mapped in PID. */
void follow_maps(struct follow *f, int pid, struct text maps);

/* Something is sampled: have a name and, of a process not seen before, its mappings. */
void follow_thread(struct follow *f, int pid, int tid, const char *comm, uint64_t now_ns);

/* Look whether PID has mapped more, if it is time to. True when it has. */
bool follow_look(struct follow *f, int pid, uint64_t now_ns);
