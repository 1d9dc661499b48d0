/* diff_inner.h - the parts of diff_build(). */
#pragma once
#include "analysis/diff.h"
#include "analysis/difftest.h"

struct diff_builder {
    struct diff *d;
    const struct diff_opts *o;
    struct overlay lay;
    double *whole;                    /* cost of each run; NULL where not known */
    struct difftest_typical *typical; /* log factor of each run's shares; by scale */
    struct difftest_typical change;   /* the same from before to after */
    struct difftest_typical rest;     /* of a pair: the log of what the rest's costs changed by */
    bool *uneven;                     /* by name: of a module that has names on one side only */
    bool *kernel;                     /* by name: of the kernel */
    bool *fixed;                      /* by name: of a file that all runs have in the same build */
    bool *aside;                      /* by name: a tenth and more of it is in interrupts */
};

/* Columns of a run: of nodes or of functions. */
enum diff_column { NODE_SELF, NODE_TOTAL, FUN_SELF, FUN_TOTAL };

double diff_share_of(const struct diff_builder *b, size_t run, enum diff_column c, size_t index);
double diff_mean_of(const struct diff_builder *b, enum diff_column c, size_t index, bool after);

/* How sure the log of a share is, from N samples; weights are as good with a made-up N. */
double diff_log_variance(double share, double n);

/* Fill whole, scale, typical, change and rest. */
void diff_find_scale(struct diff_builder *b);

/* Fill uneven and D's unnamed. */
void diff_find_uneven(struct diff_builder *b);

/* Fill kernel. */
void diff_find_kernel(struct diff_builder *b);

/*
 * Fill aside, and D's interrupts: devices, timers and the scheduler's tick interrupt whatever runs,
 * and other programs' network and disk are served there. Needs kernel.
 */
void diff_find_interrupts(struct diff_builder *b);

/* Fill fixed. */
void diff_find_fixed(struct diff_builder *b);

/* Pair functions that went with such that came, and take back what was called proven of them. */
void diff_find_renamed(struct diff_builder *b);

/* Whether both are runs of one build of a program and its libraries. False where that is not known.
 */
bool diff_is_same_build(const struct selection *before, const struct selection *after);

/* Whether one run per side shows more than runs of one program differ by. */
bool diff_pair_is_far(const struct diff_builder *b, const struct diff_value *v);

/* Fill verdict and why. */
void diff_judge(struct diff *d);
