/*
 * schedule.h - all ways in which threads can take turns, one after the other.
 *
 * A schedule is a list of choices, one at each point: who goes on. The first alternative is what
 * happens without a preemption. schedule_next() goes to the next one, depth first: it changes the
 * last choice that has an alternative left within the bound, and forgets those behind it. So the
 * program itself is the record of where a schedule leads; nothing but the choices is kept.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <stdint.h>

enum { SCHEDULE_THREADS = 8, SCHEDULE_CHOICES_MAX = 20000 };

struct schedule_choice {
    uint8_t threads[SCHEDULE_THREADS]; /* that could go on; the first without a preemption */
    uint8_t n, taken;
    bool free; /* whoever ran cannot go on: no choice is a preemption */
};

struct schedule {
    VEC(struct schedule_choice) choices;
    size_t at;           /* how many were made in this run */
    unsigned bound;      /* preemptions at most */
    bool unlike;         /* a choice that was to be made again was not possible */
    VEC(uint8_t) wanted; /* by schedule_read() */
};

/* From the first choice again; those that were made are made again. */
void schedule_begin(struct schedule *s);

/* The thread of N that goes on. */
unsigned schedule_choose(struct schedule *s, const uint8_t *threads, size_t n, bool free);

/* The next schedule; false when there is none. */
bool schedule_next(struct schedule *s);

/* "1x3.2.1x2": who went on at each choice so far; and one that was printed, as the next to run. */
void schedule_print(const struct schedule *s, struct buf *b);
int schedule_read(struct schedule *s, const char *word, struct err *err);

void schedule_done(struct schedule *s);
