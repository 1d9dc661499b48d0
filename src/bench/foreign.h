/*
 * foreign.h - what benchmark programs of other libraries write down after a run.
 *
 * A file is the JSON of Google Benchmark (--benchmark_out=FILE --benchmark_out_format=json):
 *
 *     {"benchmarks": [{"name": "BM_sum/8", "run_type": "iteration", "real_time": 1.2,
 * "cpu_time": 1.1, "time_unit": "ns", "items_per_second": ..., "bytes_per_second": ...}, ...]}
 *
 * Aggregates (mean, median, stddev) are left out, as there is one value per run here; repetitions
 * of one benchmark are averaged. A folder is that of Criterion (target/criterion), in which each
 * benchmark has NAME/new/benchmark.json with its full_id and NAME/new/estimates.json with
 * mean.point_estimate in nanoseconds; benchmark.json may have throughput, {"Bytes": 64} or
 * {"Elements": 8}. Criterion does not write CPU time.
 */
#pragma once
#include "base/err.h"
#include "bench/program.h"

#include <time.h>

/*
 * Add what PATH has to A. Results written before SINCE are of another run and do not count. Fails
 * where nothing is left, or a benchmark failed. Free A with program_answer_done() either way.
 */
int foreign_read(struct program_answer *a, const char *path, struct timespec since,
                 struct err *err);

/* Leave only results whose name has FILTER in it; fails where none has. */
int foreign_filter(struct program_answer *a, const char *filter, struct err *err);

/* The JSON of Google Benchmark itself. */
int foreign_parse_google(struct program_answer *a, struct text document, struct err *err);
