/*
 * session.h - runs a plan, block after block, until every question is decided or the time is up.
 *
 * A block is one run of each member of a group, in an order that is balanced and random, with the
 * same random padding in the environment. Groups take turns. Of two or more members each is
 * compared with the first; a member alone runs until its median is known well enough.
 *
 * Noise between runs is larger than noise inside a run, and it comes and goes: so what is compared
 * is made side by side. The risk of 0.5% is shared among all looks (paired.h) and all comparisons.
 *
 * Benchmark programs (program.h) give one value per process and benchmark: the differences between
 * processes, such as the memory layout, are then part of what is seen.
 */
#pragma once
#include "bench/plan.h"
#include "bench/starter.h"
#include "bench/trouble.h"
#include "model/comparison.h"

struct session_progress {
    double done; /* 0 to 1: of the time or the runs; can end early */
    size_t blocks;
    double left_s;           /* at most */
    const char *name;        /* of what runs */
    double middle, half;     /* its median so far and half of the interval; NAN = too early */
    double ratio, low, high; /* of the first comparison that is not decided; NAN = none */
    enum measure measure;
};

struct session_opts {
    long warmup;             /* runs of each that do not count */
    long runs;               /* blocks, exactly; 0 = as many as it takes */
    long min_runs, max_runs; /* 0 = default, no limit */
    double time_s;           /* for each member */
    double precision;        /* stop when half the interval of the median is this share of it */
    double band, risk;       /* PAIRED_BAND, PAIRED_RISK */
    enum measure measure;
    bool exact;              /* the measure repeats almost exactly: a few runs will do */
    unsigned count_valgrind; /* what valgrind counts: COUNTED(measure) of each; 0 = nothing */

    /* Blocks that a run allocates: reported before it, asked after it. NAN = not known. NULL = no
     * matter */
    double (*allocations)(void *to, bool before);
    void *allocations_to;
    bool ignore_failure;
    bool unseen; /* standard output is thrown away */
    const char
        *results; /* where the commands write down their benchmarks (foreign.h); NULL = none */
    const char *filter; /* of those only names that have this in them; NULL = all */
    uint64_t seed;
    const struct opt_list *gates; /* "NAME=10%" or "10%"; NULL = none */
    bool busy;                    /* other programs take part in what is measured: see verdict.h */
    bool gate_decides; /* stop when gates are decided, by CPU time too, whatever the verdict */
    void (*progress)(void *to, const struct session_progress *p); /* NULL = none */
    void *progress_to;

    /* After each run that counts: the end of what ITEM wrote, where the starter reads that. NULL =
     * no matter */
    void (*output)(void *to, size_t item, uint32_t block, struct text said);
    void *output_to;

    /* Asked at a look at which the gates are decided: is all else, too? LOOK as in verdict.h. NULL
     * = there is nothing else */
    bool (*decided)(void *to, int look);
    void *decided_to;
};

/* Where a series comes from. */
struct session_origin {
    size_t item;
    char *benchmark;   /* in a benchmark program; "" = the whole command */
    size_t empty_runs; /* in which it could not be told from an empty loop */
};

struct session_group;
struct session_pair;

struct session {
    const struct plan *plan;
    struct session_opts opts;
    struct series_set set;
    VEC(struct session_origin) origins; /* as many as series */
    struct comparisons comparisons;     /* filled in the end, in the order of the series */
    VEC(char *) notes;                  /* what the user should know, a sentence each */
    size_t item;                        /* of the plan that ran last: the one that failed */
    struct buf said;                    /* the end of the output of the command that failed */
    enum trouble_help help;             /* what could be done about it */
    size_t blocks;                      /* of the group with the most */
    size_t looks;                       /* the most at any comparison */
    int look;                           /* the last of them, as in verdict.h */
    double seconds;                     /* that all of it took */
    double programs_s;  /* of the wall time, until programs ended: with warm-up, setup, cleanup */
    size_t failed_runs; /* that were ignored */
    bool stopped;       /* by the user: what is there was measured before that */
    size_t aa_tries, aa_alarms; /* of comparisons of equal things, AA_BLOCKS blocks and 5% each */

    struct starter *starter;
    struct starter_run run;
    struct session_group *groups;
    VEC(struct session_pair) pairs;
    uint64_t rng;
    double started_s, told_s;
};

enum { SESSION_AA_BLOCKS = 12 };

/*
 * Run P as O says; commands are started as START says (its commands are set here). On failure
 * S has what was measured before. Free with session_done() either way.
 */
int session_run(struct session *s, const struct plan *p, const struct session_opts *o,
                const struct starter_opts *start, struct err *err);
void session_done(struct session *s);
