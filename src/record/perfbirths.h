/*
 * perfbirths.h - further clocks for threads that are born, while many live for less than a period.
 *
 * The usual clocks of threads begin with a whole period, and the kernel makes it worse: a thread
 * that makes way for its own child leaves it its clock, with what is left of the period, and goes
 * on with the child's, which has all of it (seen: of 0.2 ms of work before each thread of 0.8 ms
 * nearly nothing, of 0.8 ms before 0.2 ms half).
 *
 * So for as long as threads end about as often as samples come, each thread that lives has one more
 * clock on each CPU. Whom it bears then inherits that with the period that it has just then, which
 * is another one every few milliseconds (birthclock.h). Samples of such a clock tell how much CPU
 * time the thread has used. Of those that were born since, only these clocks count; of those that
 * lived before, only the usual ones, as setting a period begins the countdown anew.
 *
 * A clock that tells the thread's own count (PERF_SAMPLE_READ with inherit, since Linux 6.13) is
 * never left to another thread, and neither are the others beside it. That takes some
 * microseconds of each switch between threads: so these clocks are there only while they are of
 * use.
 */
#pragma once
#include "base/vec.h"
#include "record/birthclock.h"
#include "record/perfevents.h"

struct perfbirths {
    bool able; /* this kernel can, and there is a clock of threads */
    struct birthclock clock;
    struct perfattr attr; /* of the further clocks */
    uint32_t event;       /* as whose samples theirs count */
    uint8_t *alive;       /* a bit for each number: threads that live */
    uint8_t *young;       /* those that were born since opened_ns */
    VEC(int) fds;
    VEC(uint64_t) ids; /* ascending; also those that were closed last */
    uint64_t opened_ns, closed_ns, wanted_ns, next_ns;
    uint64_t random;
    int timer_fd; /* wakes the recorder for other periods */
};

/* For the first clock among the N events A. EPOLL_FD wakes for perfbirths_step(). */
void perfbirths_open(struct perfbirths *b, const struct perfattr *a, size_t n, int epoll_fd);
void perfbirths_close(struct perfbirths *b); /* zeroed is not fine, PERFBIRTHS_NONE is */
#define PERFBIRTHS_NONE ((struct perfbirths){.timer_fd = -1})

void perfbirths_born(struct perfbirths *b, int tid, uint64_t at_ns);
void perfbirths_ended(struct perfbirths *b, int tid);

/* Now and then: open or close the further clocks, or set other periods. STACK_BYTES are copied. */
void perfbirths_step(struct perfbirths *b, const struct perfevents *e, size_t stack_bytes);

/* No more samples; perfbirths_has() stays good. */
void perfbirths_stop(struct perfbirths *b);

/* Whether the samples with ID are of a further clock, to be read as of b->attr. */
bool perfbirths_has(const struct perfbirths *b, uint64_t id);

/* Whether a sample of TID counts, of a FURTHER clock or of a usual one of b->event. */
bool perfbirths_wants(const struct perfbirths *b, bool further, int tid);
