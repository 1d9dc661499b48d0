/*
 * program.h - what a benchmark program made with kelvin_bench.h answers; lib/bench/protocol.h
 * describes it.
 *
 * The answer comes from another program, so every number is checked. Lines that are not
 * understood are left alone.
 */
#pragma once
#include "base/text.h"
#include "base/vec.h"

enum { PROGRAM_BENCHMARKS_MAX = 10000 };

struct program_result {
    char *name;
    double ns;     /* of one iteration */
    double cpu_ns; /* NAN = not reported */
    bool is_empty; /* cannot be told from an empty loop */
    double items, bytes, flops;
    double r2, cpu_r2; /* NAN = not reported */
    char *parameter;   /* "" = none */
    double size;       /* NAN = none */
};

struct program_answer {
    bool greeted; /* it is such a program; else a plain command */
    bool ended;   /* it said so: nothing is missing */
    VEC(struct program_result) results;
    VEC(char *) proofs;   /* proofs and races that hold, and cliffs, a sentence each */
    VEC(char *) failures; /* those that do not, errors */
};

/* Free with program_answer_done(). */
void program_read(struct program_answer *a, struct text answer);
void program_answer_done(struct program_answer *a);
