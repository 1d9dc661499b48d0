/*
 * suite.h - a run of a suite: what was to be done, and what came of it.
 *
 * Phases fill it one after the other (run.h), pages are made from it (page.h). Absent results are
 * not left out: `absent` says why.
 */
#pragma once
#include "analysis/check.h"
#include "analysis/diff.h"
#include "analysis/heapstory.h"
#include "analysis/scaling.h"
#include "analysis/scopequantile.h"
#include "bench/outcome.h"
#include "host/fingerprint.h"
#include "host/provenance.h"
#include "model/series.h"
#include "suite/carry.h"
#include "suite/conf.h"
#include "suite/folder.h"
#include "suite/workload.h"
#include "view/bench/bench.h"
#include "view/report.h"

enum suite_phase {
    PHASE_HOST,
    PHASE_BUILD,
    PHASE_RECORD,
    PHASE_BENCH,
    PHASE_ANALYSE,
    PHASE_CHECK,
    PHASE_PUBLISH,
    PHASES,
};

extern const char *const suite_phase_names[PHASES]; /* "host", "build"... */

/* One CPU recording. */
struct suite_recording {
    char *file; /* name in the published folder */
    struct profile *profile;
    struct selection selection; /* all of it */
};

void suite_recording_done(struct suite_recording *r);

struct suite_result;

/* The profile that rules are checked against: the first CPU recording, else that of the heap; NULL
 * = neither. */
const struct suite_recording *suite_checked(const struct suite_result *r);

/* Who finds errors. */
enum suite_finder {
    FOUND_MEMCHECK,
    FOUND_HELGRIND,
    FOUND_ASAN,
    FOUND_UBSAN,
    FOUND_TSAN,
    SUITE_FINDERS,
};

/* A count of findings, and the first ones. */
struct suite_findings {
    bool made;
    size_t n;
    char *text; /* a line each */
};

enum suite_outcome {
    SUITE_OK,
    SUITE_FAILED,
    SUITE_REGRESSED,
    SUITE_RULES,
    SUITE_FINDINGS,   /* memcheck, helgrind or a sanitizer found more than is allowed */
    SUITE_INCOMPLETE, /* something that was asked for could not be had */
    SUITE_INCONCLUSIVE,
};

extern const char *const suite_outcome_names[]; /* "ok", "failed", "regressed", "rules"... */
extern const char *const suite_outcome_words[]; /* the same for people: "failed its rules" */

/* The comparison with the baseline. */
enum { BY_TIME, BY_CPU, BY_INSTRUCTIONS, COMPARISONS };

/* A scope of the program, in the first recording. */
struct suite_scope {
    char *name;
    uint64_t calls, total_ns, max_ns;
    struct scope_quantile p50, p99;
};

/* A number that the program gives itself. */
struct suite_metric {
    const struct metric *metric; /* of the workload */
    const struct series *runs;   /* of suite.series; NULL = none */
    size_t missing;              /* runs that did not give it */
    bool absent;                 /* none did */
    struct comparison compared;
    bool has_compared;
};

/* The benchmarks inside a workload's program. The session and its plan point into this. */
struct suite_benchmarks {
    struct plan plan;
    struct outcome outcome;   /* `against` compares with the baseline */
    struct series_set before; /* what the baseline has, under the names of benchmarks */
    VEC(char *) gone;         /* names that only the baseline has */
    char limit[32];           /* "5%" */
    struct opt_list gates;
    char *filter; /* what the program is asked for */
    char *lines[2];
};

void suite_benchmarks_free(struct suite_benchmarks *b); /* NULL is fine */

/* Another build of the project. */
struct suite_variant {
    const char *name; /* of the conf */
    char *folder;     /* where its programs were put aside */
    char *failure;    /* why there are none; NULL = there are */
};

#define SUITE_OWN_BUILD "as built" /* no section can have this name */

/* A workload under all builds, in turns. The session and its plan point into this. */
struct suite_variants {
    VEC(char *) lines;       /* the suite's own build first */
    VEC(const char *) names; /* as many */
    VEC(bool) same;          /* as many: the program is that of the suite's own build */
    VEC(char *) code;        /* instructions of the hottest function, as many; NULL = not known */
    VEC(char *) absent;      /* what could not run, a sentence each */
    struct plan plan;
    struct outcome outcome;
    bool ran;
};

/* The result of one workload. */
struct suite_result {
    struct workload workload;
    enum suite_outcome outcome;
    char *failure; /* why it failed, a sentence; NULL = it did not */
    char *output;  /* the last lines of what it printed then; NULL = none */

    char
        *absent[COLLECTS]; /* why there is none of it though it was asked for; NULL = it is there */
    VEC(struct suite_recording) recordings;
    struct report report; /* of the first recording */
    bool has_report;
    struct simd_mix simd; /* of hot code, where asked for and found */
    char *simd_line; /* "81% in functions whose floating point is packed, 9% ..."; NULL = none */
    struct profile *cache; /* as cachegrind simulated it; NULL = none */
    struct selection cache_selection;
    char *cache_file; /* name in the published folder */
    struct report misses_report;
    bool has_cache_report;
    struct suite_recording heap; /* where every block was recorded; no file = none */
    struct heapstory heap_story; /* of it */
    bool has_heap;
    VEC(struct suite_scope) scopes;            /* those that take longest; none unless asked for */
    uint64_t scopes_lost;                      /* records */
    const struct series *bench, *instructions; /* of suite.series; NULL = none */
    VEC(struct suite_metric) metrics;
    struct suite_benchmarks *benchmarks; /* NULL = none */
    struct suite_variants *variants;     /* NULL = none */
    struct suite_findings findings[SUITE_FINDERS];

    struct rules rules;
    struct check check;
    bool has_check;
    char *rules_file;

    char *line_before; /* the command with the baseline's program, to take turns; NULL = none */
    char *why_apart;   /* why there is none; NULL = there is, or no baseline */
    VEC(struct suite_recording) before; /* the baseline's recordings */
    struct suite_recording heap_before; /* the baseline's heap; no profile = none */
    bool before_beside; /* they are of its program, made in turns with today's; else of then */
    struct profile *before_cache; /* what was simulated then; NULL = nothing */
    struct diff *diff;
    char *unlike; /* why they should not be compared; NULL = they may */
    struct comparison compared[COMPARISONS];
    bool has_compared[COMPARISONS];
    size_t looks; /* at runs side by side, which share the risk; 0 = their number was fixed */
    int look;     /* the last of them, as in verdict.h */
    bool too_many_findings;
    char *culprit; /* the function that is proven to have grown most, with evidence; NULL = none */
    char *trend;   /* CPU or wall time of the last runs, a sign each; NULL = not known */
    char *culprit_file; /* where it is, relative to the project; NULL = not there, or not known */
    uint32_t culprit_line;
};

struct suite {
    struct conf conf;
    struct folder folder;
    char *project; /* what it is called */
    int64_t time_s;
    struct fingerprint host;
    struct provenance git;
    char **dirty_files; /* at most SUITE_DIRTY_SHOWN, NULL-terminated; NULL = none */
    size_t n_dirty;
    char *compiler; /* first line of `cc --version`; "" = not known */
    bool built;     /* else the build was skipped, or there is none */
    double build_s;
    char digest[33]; /* of the named sources, in hex; "" = none were named */
    size_t n_sources;
    VEC(char *) warnings;            /* about the host, a sentence each */
    char *notes;                     /* of the project's own, for the index; NULL = none */
    struct suppressions known_leaks; /* check.suppressions */

    VEC(struct suite_variant) variants;
    size_t n_variants;        /* of them that are sections of the suite file, the first ones */
    struct series_set series; /* of all workloads */
    VEC(struct suite_result) results;
    struct carried_list carried; /* workloads that did not run, with the pages of an earlier run */
    struct scaling scaling;      /* over workloads with a size */
    bool has_scaling;
    struct selection *spans;  /* of each workload, for that; no profile = none */
    struct series_set before; /* the baseline's */
    struct series_set beside; /* of the baseline's program, run in turns with today's */
    const char *against;      /* its name; NULL = none */
    double seconds[PHASES];   /* that each phase took */
    double own_s;             /* of that, kelvin's own: neither build nor workloads */
};

enum { SUITE_DIRTY_SHOWN = 20 };

void suite_done(struct suite *s);

/* The worst of all workloads. */
enum suite_outcome suite_outcome(const struct suite *s);

/*
 * Whether it is open if R is slower than allowed: neither wall time nor CPU time decides. Where
 * other programs take part, the wall time alone seldom does, so that CPU time may decide in its
 * place. A count of instructions speaks for itself.
 */
bool suite_undecided(const struct suite_result *r);

/* How many comparisons share the risk: wall and CPU time of each workload whose runs are timed or
 * recorded, and its metrics. */
size_t suite_comparisons(const struct suite *s);

/* Findings of all finders. */
size_t suite_count_findings(const struct suite_result *r);

/* "1 of UndefinedBehaviorSanitizer, 2 of memcheck", and the first line of the first. */
void suite_say_findings(struct buf *b, const struct suite_result *r);

/* "peak 812 KiB, 561 allocations", of a heap that was recorded. */
void suite_say_heap(struct buf *b, const struct suite_result *r);

/* How its benchmarks compare: "2 of 30 slower than allowed (find, fill), 1 not decided; no 'drop'
 * any more". */
void suite_say_benchmarks(struct buf *b, const struct suite_result *r);

/* How much worse than the baseline R may be: 0.05 = 5%. */
double suite_max_regression(const struct suite *s, const struct suite_result *r);

/* Why a metric is absent, a sentence without a full stop. */
const char *suite_why_no_metric(const struct suite_metric *m);

/* Remarks on a metric: runs that did not give it, a pattern that matches several numbers. A
 * sentence without a full stop; nothing where there is nothing. */
void suite_say_metric_doubt(struct buf *b, const struct suite_metric *m);

/* Whether one of R's metrics has such a gate. */
bool suite_metrics_gate(const struct suite_result *r, enum gate gate);

/* Whether R got slower with as many instructions as before: it does no more work. */
bool suite_same_work(const struct suite_result *r);

/* C as a sentence about R and the baseline: comparison_say() in the words of a suite. */
void suite_say_comparison(struct buf *b, const struct suite *s, const struct suite_result *r,
                          const struct comparison *c);

/* Words "NAME=VALUE" for pages: values may be secrets, so only those of names in
 * publish.environment and of what kelvin itself sets are shown. */
void suite_say_environment(struct buf *b, const struct suite *s, const struct words *env);

/* Note why WHAT of R is not there. TEXT is copied; the first reason stays. */
void suite_absent(struct suite_result *r, enum collect what, const char *text);

/* Note that R failed. Texts are copied; the first reason stays. OUTPUT may be NULL. */
void suite_fail(struct suite_result *r, const char *why, const char *output);
