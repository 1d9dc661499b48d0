/*
 * live_inner.h - what live.c and live_metrics.c share.
 */
#pragma once
#include "record/live.h"
#include "record/recorder.h"

enum { LIVE_QUANTILES = 4 };
extern const double live_quantiles[LIVE_QUANTILES]; /* 0.5, 0.9, 0.99, 0.999 */

double live_seconds_so_far(const struct recorder *r);

/* A quantile of how long spans took. */
uint64_t live_quantile_ns(const struct scopelive_sum *s, double q);

/* A process that called exec() is two of the same number: counts add up, a gauge is the last. */
bool live_number(const struct recorder *r, size_t i, struct scopes_number *ret);

/* In the two formats of metrics. */
void live_metrics_prometheus(void *recorder, FILE *out);
void live_metrics_open(void *recorder, FILE *out);
