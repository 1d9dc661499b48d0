/*
 * drawn.h - how sure shares of bytes are where blocks were drawn by their size.
 *
 * A sampled heap draws a block of z bytes with the probability p = 1 - exp(-z / mean), and a sample
 * stands for z / p bytes. The variance of what a sample stands for is (1 - p) (z / p)^2: mean^2
 * for a small block, almost nothing for a block of many times the mean, which is sampled for
 * certain. So a
 * block of 10 MiB among small ones is no sample with a great weight: it adds no doubt at all.
 */
#pragma once
#include "analysis/selection.h"

/* Bytes per sample, on average; 0 if the values of S are not of blocks drawn this way. */
double drawn_mean(const struct selection *s);

/*
 * The largest possible variance of BYTES that SAMPLES stand for. Their sizes are not known: all
 * but one are taken for small, which adds the most.
 */
double drawn_variance(double mean, double bytes, double samples);

/*
 * As many samples of equal weight as carry as much information about a SHARE of WHOLE bytes, from
 * the variances of what is in the share and of the rest.
 */
double drawn_effective_n(double mean, double whole, double share, double inside, double outside);
