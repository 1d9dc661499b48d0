/*
 * heap_unseen.h - programs of a recording that no agent got into: static ones, setuid ones, those
 * of another C library or without room for what an agent shares with its recorder, and those that
 * were started without LD_PRELOAD. Their heaps are in no number.
 *
 * An agent reports as its program starts. So where the engine reports every exec (perf does), a
 * program that ran and did not report was not seen. Elsewhere the descendants of this process are
 * checked now and then: programs that run for less than half a second may be missed.
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { UNSEEN_COMM_BYTES = 16 };

/* A program in a process, of which one of two reports came. */
struct unseen_program {
    int pid;
    char comm[UNSEEN_COMM_BYTES];
};

typedef VEC(struct unseen_program) unseen_programs;

/* A process that was looked at. */
struct unseen_process {
    int pid;
    uint64_t program; /* what it ran, as a number of the file system */
    unsigned looks;   /* that found nothing shared */
    bool settled;     /* it is known, one way or the other */
};

struct heap_unseen {
    bool knows_execs;
    unseen_programs execs, starts; /* that wait for their counterpart */
    VEC(struct unseen_process) processes;
    struct buf names; /* of processes that shared nothing, as they were looked at */
};

void heap_unseen_done(struct heap_unseen *u);

/* The kernel says that a process runs another program; an agent says that one starts. */
void heap_unseen_exec(struct heap_unseen *u, int pid, const char *comm);
void heap_unseen_start(struct heap_unseen *u, int pid, const char *comm);

/* Look at the descendants of this process: do they share the file with this inode? */
void heap_unseen_look(struct heap_unseen *u, uint64_t inode);

/* Names of the programs, "a, b", "" where all were seen. */
void heap_unseen_print(struct heap_unseen *u, struct buf *to);
