/*
 * run_sanitize.h - a workload under the compilers' sanitizers: collect = asan ubsan tsan.
 *
 * Each is a build of its own: build.command with the sanitizer's flags at the end of CFLAGS,
 * CXXFLAGS and LDFLAGS, as build.env or the environment have them. A build that does not respect
 * those makes the same program as ever, which would find nothing: so the program must name the
 * sanitizer, or there is no result. Then the command runs once. Leaks are not looked for.
 */
#pragma once
#include "suite/run.h"

/* Make the builds that workloads ask for. */
int run_build_sanitized(struct run *r, struct err *err);

/* Run W under each that it asks for. */
int run_sanitize(struct run *r, struct suite_result *w, struct err *err);
