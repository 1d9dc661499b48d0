/*
 * subprocess.h - start a program, wait for it, end it.
 *
 * The program finds signals as it would without us (see signals.h), and no descriptor of ours but
 * the three that it is given. In place of a program it can be a function of ours, in a process of
 * its own, so that a crash there costs no more than that. Commands that are timed have a starter of
 * their own, which measures without what a fork costs: bench/starter.h.
 */
#pragma once
#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

struct subprocess_opts {
    char *const *argv;     /* up to a NULL; the first is looked up in PATH */
    int (*work)(void *to); /* called in place of a program; its result is the exit code */
    void *work_to;
    char *const *env;            /* "NAME=VALUE" to add or replace, up to a NULL; NULL = none */
    const char *cwd;             /* NULL = ours */
    int in_fd, out_fd, error_fd; /* 0 = ours */
    const sigset_t *mask;        /* NULL = ours, without what signals_open() blocks */
    bool group;                  /* a process group of its own: it is ended with all it started */
    int death_signal;            /* what it gets when we end; 0 = nothing */
    bool held;                   /* it waits for subprocess_go() before it executes the program */
    void (*prepare)(void *to);   /* called in the new process just before that; may be NULL */
    void *prepare_to;
};

struct subprocess {
    int pid; /* -1 = none, or waited for */
    bool group;
    int pid_fd;          /* readable when it has ended; -1 where the kernel has no such thing */
    int go_fd, fail_fd;  /* inside: written to let it go; its errno where exec fails */
    int errnum;          /* why the program could not be executed; 0 = it was */
    int status;          /* once waited for: as wait(2) has it */
    struct rusage usage; /* the same */
};

#define SUBPROCESS_NONE ((struct subprocess){.pid = -1, .pid_fd = -1, .go_fd = -1, .fail_fd = -1})

/*
 * Start it. Fails where there can be no new process. That the program itself cannot be executed
 * is no failure: see errnum.
 */
int subprocess_start(struct subprocess *s, const struct subprocess_opts *o, struct err *err);

/* Let a held one execute its program. Fails when it was ended while it waited. */
int subprocess_go(struct subprocess *s, struct err *err);

/* Whether it ended; nothing is taken. */
bool subprocess_has_ended(const struct subprocess *s);

/* Why a wait came to its end. */
enum subprocess_event { SUBPROCESS_ENDED, SUBPROCESS_LATE, SUBPROCESS_STOPPED };

/*
 * Wait until it ends, CLOCK_MONOTONIC reaches UNTIL_NS (0 = never) or STOP_FD (-1 = none) can be
 * read. Only subprocess_reap() forgets it.
 */
enum subprocess_event subprocess_wait(const struct subprocess *s, uint64_t until_ns, int stop_fd);

/* Take status and usage of one that ended. With BLOCK wait for that; else false = it still runs. */
bool subprocess_reap(struct subprocess *s, bool block);

/* End it (and its group): with SIGTERM and GRACE_MS to obey, 0 = none, then with SIGKILL. */
void subprocess_kill(const struct subprocess *s, int grace_ms);

/* Give descriptors back; one that is still held ends. */
void subprocess_done(struct subprocess *s);
