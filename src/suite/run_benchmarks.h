/*
 * run_benchmarks.h - the benchmarks inside a program of kelvin_bench.h, each a series of its own.
 *
 * `collect = benchmarks` runs the workload's command as `kelvin bench` would: each process gives
 * one value per benchmark. Against a baseline whose program was kept the two take turns until each
 * gate is decided or the time is up; else what was measured then is compared, as of another time.
 * On a busy machine CPU time is judged, else wall time.
 */
#pragma once
#include "suite/run.h"

/* Fails only when the run cannot go on; what is wrong with W is noted there. */
int run_benchmarks(struct run *r, struct suite_result *w, struct err *err);
