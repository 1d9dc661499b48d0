/*
 * firsts.h - the first few of many, in order: of 10^6, a screen is compared with the others, and
 * not each with each.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>

/* Negative if the element at X comes before that at Y, else positive; never 0. */
typedef int firsts_compare(const void *x, const void *y, void *ctx);

/* Bring the first N of ALL numbers to the front, in order; N <= ALL. The rest is in no order. */
void firsts_order(uint32_t *at, size_t all, size_t n, firsts_compare *compare, void *ctx);
