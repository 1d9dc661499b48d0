/*
 * exec.h - run a command of a suite: build, workload, valgrind; or a function in a process of its
 * own.
 *
 * Output goes to a log file; of that the last lines are shown when something fails. The command
 * gets a process group of its own, which is ended as a whole when its time is up or the user
 * interrupts.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/words.h"

struct exec_opts {
    char *const *argv;     /* ends with NULL */
    int (*work)(void *to); /* called in place of a command; its result is the exit code */
    void *work_to;
    const struct words *env;  /* "NAME=VALUE" to add or replace; NULL = none */
    const struct words *cpus; /* "1", "2-3": where it may run; NULL or empty = anywhere */
    const char *input;        /* "" = nothing to read */
    const char *log;          /* file for standard output and error, added to its end */
    double timeout_s;
    bool fixed_layout; /* no address randomisation */
    int stop_fd;       /* becomes readable when the user wants to stop; -1 = none */
};

enum exec_end { EXEC_EXITED, EXEC_SIGNALLED, EXEC_TIMED_OUT, EXEC_INTERRUPTED, EXEC_NOT_RUN };

struct exec_result {
    enum exec_end end;
    int status; /* exit code, signal or errno */
    double wall_s;
};

/* Fails only when kelvin itself is in trouble; what became of the command is in RET. */
int exec_run(const struct exec_opts *o, struct exec_result *ret, struct err *err);

/* "ended with exit code 2", "was killed by signal 11 (Segmentation fault)"... in B. */
void exec_say(const struct exec_result *r, struct buf *b);

/* The last N lines of the log, each indented by two blanks. */
void exec_tail(const char *log, size_t n, struct buf *b);

/* Check a list of CPUs before anything runs. */
int exec_check_cpus(const struct words *cpus, struct err *err);
