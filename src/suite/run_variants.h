/*
 * run_variants.h - the same workloads under several builds: other flags, another compiler, other
 * environment.
 *
 *     [variant avx2]
 *     env = CFLAGS="-O2 -mavx2"
 *
 * Each variant is built with its own words in place of those of build.env, and its programs are put
 * aside. Then the suite's own build is made, which stays in the tree. A workload that collects
 * bench runs all of them in turns, in random order; each is compared with the suite's own build. On
 * a busy machine CPU time is judged, else wall time.
 *
 * A program that loads libraries of the project cannot be put aside (kept.h): its variants are then
 * absent, with the reason.
 */
#pragma once
#include "suite/run.h"

/* Build all variants and put their programs aside. A variant that does not build is noted, and
 * the others go on. */
int run_build_variants(struct run *r, struct err *err);

/* The parts of it, for builds that are not sections of the suite file: those of sanitizers. */
struct suite_variant *run_variant_new(struct run *r, const char *name);
const struct suite_variant *run_variant_find(const struct run *r, const char *name);

/* Build V with OWN words in place of the same names in build.env. What does not build is noted in
 * V. */
int run_build_variant(struct run *r, struct suite_variant *v, const struct words *own,
                      struct err *err);

/* Why V cannot run W; NULL = LINE is its command, to be freed. */
const char *run_variant_line(const struct suite_variant *v, const struct suite_result *w,
                             char **line);

/* Once there is a report: what the hottest function is made of in each build. */
void run_describe_variants(struct suite_result *w);

/* Run those of W in turns. Fails only when the run cannot go on. */
int run_variants(struct run *r, struct suite_result *w, struct err *err);
