/*
 * firsts.h - the first few of many, in order: of 10^6, a screen is compared with the others, and
 * not each with each.
 */
#pragma once
#include <stdint.h>
#include <stdlib.h>

/* What stands at X comes before (< 0) or after (> 0) what stands at Y; never 0. */
typedef int firsts_compare(const void *x, const void *y, void *ctx);

/* Bring the first N of ALL numbers to the front, in order; N <= ALL. What is behind them is in no
 * order. */
void firsts_order(uint32_t *at, size_t all, size_t n, firsts_compare *compare, void *ctx);
