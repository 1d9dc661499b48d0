/*
 * starter_child.h - the process that starts commands, split off from kelvin; see starter.h.
 */
#pragma once
#include "bench/starter.h"

#include <sys/types.h>
#include <time.h>

struct starter_request {
    size_t command, pad_bytes;
};

struct starter_report {
    enum starter_end end;
    int status;
    double value[MEASURES];
};

/* In memory of both processes. */
struct starter_shared {
    volatile pid_t pid; /* of the command that runs, and of its process group; 0 = none */
    uint64_t start_ns;
    int errnum; /* why it did not come to exec; 0 = it did */
};

struct starter_range {
    void *at;
    size_t bytes;
};

struct starter_child {
    const struct starter_opts *opts;
    int request_fd, report_fd, output_fd, error_fd, answer_fd; /* -1 = none */
    struct starter_shared *shared;
    char **env;                      /* of the commands, ends with NULL */
    char *padding;                   /* one of them: "KELVIN_BENCH_PADDING=xxx..." */
    int peak_fd;                     /* writing to it begins the peak of memory anew; -1 = cannot */
    VEC(struct starter_range) spare; /* memory that can be let go of */
    char *stack;                     /* of a new process until it has its own */
};

/* Build what commands find in their environment. */
void starter_child_environment(struct starter_child *c);
void starter_child_environment_done(struct starter_child *c);

/* A pipe that is out of the way of descriptors that commands are given. -1 with errno. */
int starter_pipe(int *ret_read, int *ret_write);

/* Serve requests until there are no more. */
_Noreturn void starter_child_main(struct starter_child *c);
