/*
 * starter.h - starts commands without a shell and measures each run.
 *
 * The kernel counts the memory of whoever started a program as that program's own peak. So
 * commands are not started by kelvin itself, but by a small process that is split off while
 * kelvin is still small, and that does nothing else: it waits for a request, starts the command
 * (clone with CLONE_VM and CLONE_VFORK: nothing is copied), waits for its end and reports.
 *
 *     kelvin --request pipe--> starter --clone, exec--> command
 *            <--report pipe---
 *            <--output, answer pipes------------------- command
 *
 * The clock is read by the new process as the last thing before exec, and by the starter as the
 * first thing after wait4(): what starting costs the starter is not part of the time.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/series.h"

struct starter;

enum starter_output {
    STARTER_NULL,    /* standard output to /dev/null; the end of standard error is kept */
    STARTER_PIPE,    /* both are read, and their end is kept */
    STARTER_INHERIT, /* both go where kelvin's own go */
    STARTER_FILE,    /* standard output of the last run to a file, up to STARTER_FILE_MAX */
};

#define STARTER_FILE_MAX ((size_t)64 << 20)
enum { STARTER_PAD_MAX = 4096, STARTER_KEPT_BYTES = 4096, STARTER_ANSWER_MAX = 64 << 20 };

struct starter_opts {
    char *const *const *commands; /* argv of everything that may be started */
    size_t n_commands;
    char *const *env; /* "NAME=VALUE" to add or replace, ends with NULL; NULL = none */
    const char *cwd;  /* NULL = this folder */
    const char *input;
    enum starter_output output;
    const char *output_path; /* of STARTER_FILE */
    const char *ask;         /* KELVIN_BENCH_ASK for benchmark programs */
    size_t kept_bytes;       /* of what is read; 0 = STARTER_KEPT_BYTES */
    double timeout_s;        /* 0 = none */
    int stop_fd;             /* becomes readable when the user wants to stop; -1 = none */
    unsigned count;          /* with the CPU's counters: COUNTED(measure) of each; 0 = nothing */
    bool fixed_layout;       /* no address randomisation: counts repeat better */
};

enum starter_end {
    STARTER_EXITED,
    STARTER_SIGNALLED,
    STARTER_TIMED_OUT,
    STARTER_STOPPED, /* by the user; nothing was measured */
    STARTER_NOT_RUN, /* `status` is an errno */
};

struct starter_run {
    enum starter_end end;
    int status;             /* exit code, signal or errno */
    double value[MEASURES]; /* NAN = not measured */
    struct buf said;        /* the end of what it wrote to standard error (and output) */
    struct buf answer;      /* what a benchmark program wrote to KELVIN_BENCH_FD */
    bool output_cut;        /* the file has only the first STARTER_FILE_MAX bytes */
};

void starter_run_done(struct starter_run *r);

/* The descriptor that commands can answer on, as their variable KELVIN_BENCH_FD says: one digit, as
 * shells know no others. */
enum { STARTER_ANSWER_FD = 9 };

/* Everything OPTS point to must outlive the starter. */
int starter_open(struct starter **ret, const struct starter_opts *opts, struct err *err);

/*
 * Run COMMAND to its end. PAD bytes of padding in its environment shift its stack. Fails only when
 * kelvin itself is in trouble; what became of the command is in RET, which is overwritten
 * (zero it before the first use, starter_run_done() after the last).
 */
int starter_run(struct starter *s, size_t command, size_t pad_bytes, struct starter_run *ret,
                struct err *err);

void starter_close(struct starter *s); /* ends what runs; NULL is fine */
