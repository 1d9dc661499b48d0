/*
 * sequence.h - the samples of a selection in time order, and how many independent ones they are
 * worth.
 */
#pragma once
#include "analysis/selection.h"

struct sequence {
    int count_type;   /* of the stream; -1 where samples are not counted */
    uint32_t *order;  /* rows of the stream in time order; NULL unless each is one sample */
    size_t n;         /* rows in order */
    double n_samples; /* as many samples of equal weight as there are; 0 = not known */
    double drawn;     /* drawn_mean(): shares then need variances in place of n_samples */
};

struct sequence sequence_build(const struct selection *s);
void sequence_done(struct sequence *t);
