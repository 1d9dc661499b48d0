/*
 * threadstates.h - what the threads of a program do while it is recorded, for --listen.
 *
 *     running   on a CPU, or ready to
 *     waiting   in a scope, and asleep: for a lock, a file, a timer
 *     idle      in no scope, and asleep: a worker without work
 *
 * Threads that have scopes are checked ten times per second, in /proc and in their rings: seconds
 * in each state are samples, good for a share over a minute and not for a single request.
 */
#pragma once
#include "base/vec.h"
#include "record/scopes.h"

enum worker_state { WORKER_RUNNING, WORKER_WAITING, WORKER_IDLE, WORKER_STATES };
extern const char *const worker_state_names[WORKER_STATES];

enum { WORKERS_MAX = 256 }; /* more are not looked at */

struct worker {
    int32_t pid, tid;
    char name[16];
    uint64_t start_ns, seen_ns; /* when its ring was made; when it was looked at last */
    enum worker_state now;
    uint64_t ns[WORKER_STATES];
};

/* Zero-initialised: nothing seen. */
struct threadstates {
    VEC(struct worker) workers;
    uint64_t last_ns;
    uint64_t left_out; /* threads beyond WORKERS_MAX, at the last look */
};

/* Look, if it is time to. Threads that have ended are forgotten. */
void threadstates_look(struct threadstates *t, const struct scopes *s, uint64_t now_ns);
void threadstates_done(struct threadstates *t);

/* The state letter of a line of /proc/PID/task/TID/stat; 0 if the line is invalid. */
char threadstates_letter(const char *stat);
