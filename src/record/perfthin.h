/*
 * perfthin.h - stacks of context switches in turns, where switches come too fast for all.
 *
 * A stack costs a few microseconds where the program runs, and some hundred thousand switches in a
 * second would cost all of a CPU. Up to PERFTHIN_HZ stacks in a second each switch has its own.
 * Beyond that stacks are off for a while after some hundred of them, for a random time that makes
 * up for what was too much. The records of switches, which are small, go on: so number and duration
 * of all waits are known, and only where they were is sampled. The on-times are no part of the
 * program's rhythm, so each wait has the same chance.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { PERFTHIN_HZ = 5000, PERFTHIN_STACKS = 256 };

struct perfthin {
    int timer_fd;
    bool off;
    uint64_t start_ns, start_stacks; /* of this turn */
    uint64_t until_ns;               /* off until then */
    uint64_t cost_ns[2], last_ns[2]; /* of turning stacks on, off: without a lone delay; the last */
    uint64_t random;
};

int perfthin_open(struct perfthin *t, int epoll_fd);
void perfthin_close(struct perfthin *t);

/* STACKS were taken until NOW_NS. True where t->off has changed. */
bool perfthin_step(struct perfthin *t, uint64_t stacks, uint64_t now_ns);

/* Turning them took so long: thousands of threads take a while. Once in a while it may have to
 * wait for its CPU, or for another one: what takes long twice running is taken to be its cost. */
void perfthin_took(struct perfthin *t, uint64_t ns);
