/*
 * live.h - what a recorder serves by HTTP while it runs.
 *
 *     /          the scopes as a table, for people
 *     /metrics   for Prometheus: its text format, version 0.0.4
 *     /scopes    the same as JSON, times in nanoseconds
 *
 * Sums are since the recording began; a new file (--rotate) does not set them back. Losses are of
 * the records of all threads together.
 */
#pragma once
#include "record/listen.h"

struct recorder;

extern const struct listen_page live_pages[]; /* of a struct recorder */
