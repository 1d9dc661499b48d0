/*
 * sequence.h - the samples of a profile in time order, and how many independent ones they are
 * worth.
 *
 * The profile must outlive it.
 */
#pragma once
#include "model/profile.h"

struct sequence {
    int count_type;   /* of the profile; -1 where samples are not counted */
    uint32_t *order;  /* rows of samples in time order; NULL unless each is one sample */
    size_t n;         /* rows in order */
    double n_samples; /* as many samples of equal weight as there are; 0 = not known */
};

struct sequence sequence_build(const struct profile *p, int type);
void sequence_done(struct sequence *t);
