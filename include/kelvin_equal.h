/*
 * kelvin_equal.h - proofs that two functions compute the same, and which is faster.
 *
 * Part of kelvin_bench.h, which includes it.
 */
#ifndef KELVIN_EQUAL_H
#define KELVIN_EQUAL_H

#endif
