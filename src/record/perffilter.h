/*
 * perffilter.h - which samples of a clock that ticks on all CPUs are of the program.
 *
 * A clock of a thread begins with a whole period, so threads that live shorter are never seen,
 * and threads that begin alike are sampled at the same places. A clock of a CPU has neither fault,
 * but meets every process of the machine. Two filters keep to the program's:
 *
 *     in the kernel   a BPF program drops ticks in processes that are known to be others', before
 *                     anything is copied. Unknown threads pass, so that a child counts from its
 *                     first instruction, before its start is reported.
 *     here            the threads of the program, by the records of their births and ends. Threads
 *                     that passed and are none of these are reported to the kernel's filter.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct perffilter {
    int map_fd, program_fd;
    uint8_t *threads; /* a bit for each number: threads of the program */
    uint8_t *own;     /* processes of the program, also those that ended */
    uint8_t *others;  /* processes that the kernel's filter drops */
};

/* Whether numbers of processes mean the same to the kernel; in a container they mostly do not. */
bool perffilter_is_first_namespace(void);

/*
 * Start with all processes of the machine as others. -1 where that cannot be had: it takes
 * CAP_BPF and CAP_PERFMON, and numbers of processes that mean the same to the kernel.
 */
int perffilter_open(struct perffilter *f);
void perffilter_close(struct perffilter *f); /* zeroed is fine */

/* Let the event FD sample only what passes. */
int perffilter_apply(const struct perffilter *f, int fd);

/* A thread of the program was born, or began to be watched. */
void perffilter_add(struct perffilter *f, int pid, int tid);
void perffilter_remove(struct perffilter *f, int tid);

/*
 * How many of LOST ticks can have been the program's: no more than UNSEEN_NS of its CPU time, of
 * which there are no samples, have room for. The others were in processes of which the kernel's
 * filter had not heard.
 */
uint64_t perffilter_lost(uint64_t lost, uint64_t unseen_ns, double rate_hz);

/* Whether a sample is the program's; if not, its process is dropped from now on. */
bool perffilter_take(struct perffilter *f, int pid, int tid);
