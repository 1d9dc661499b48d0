/*
 * bench.h - the inside of the benchmark library: what is registered, what was asked for, and how
 * results get out.
 *
 * A kind of entry (benchmark, equivalence...) is a struct of functions. At start entries become
 * jobs, one for each value of their parameter; jobs that were asked for are run in the order in
 * which they were written down.
 *
 * Behind include/kelvin_bench.h. BENCH() defines a function and a constructor that enters it in a
 * list, so nothing has to be listed twice. Only kelvin_* leaves the library: its objects are joined
 * by `ld -r` and all hidden names made local, so that it can use src/base and src/stats in a
 * program that has a buf_add() of its own.
 */
#pragma once
#include "../../include/kelvin_bench.h"
#include "base/err.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/vec.h"

/* Of the names in here only those of the public headers leave the library. */
#define PUBLIC __attribute__((visibility("default")))

struct options {
    double warm_up_s, time_s; /* for each benchmark */
    long samples;
    double limit_s; /* for each job; 0 = none */
    bool quick, list, json;
    struct opt_list filter;
    const char *only;     /* an exact name, or NULL */
    double seed, inputs;  /* of equivalence; 0 = the default */
    long preemptions;     /* of interleavings, at most */
    double schedules;     /* of each, at most */
    const char *schedule; /* only this one; NULL = all */
    char *words, *ask;    /* of the environment; other fields point into them */
};

/* Something to run: an entry with one value of its parameter. */
struct job {
    const struct kelvin_entry *entry;
    char *name; /* unique: "sort/n=1000" */
    size_t value;
};

struct jobs {
    VEC(struct job) list;
};

struct session {
    const struct options *opts;
    const char *program;
    struct jobs jobs;
    int name_width;   /* of the longest name that will be printed */
    int exit;         /* worst so far */
    FILE *records;    /* where JSON lines go; NULL = a person reads standard output */
    struct json json; /* of the record that is being written */
    bool has_head;    /* the table's head was printed */
    bool waiting;     /* a terminal shows what is being waited for */
    double rounds;    /* of all benchmarks */
    double disturbed; /* of these, while another program had the CPU */
    int output_errno; /* why standard output or the records could not be written; 0 = they could */
};

struct kind {
    const char *word; /* "benchmark": for messages */
    /* Add the jobs of an entry; NULL = one, with the entry's name. */
    int (*expand)(const struct kelvin_entry *e, struct jobs *to, struct err *err);
    /* Write what a list tells programs about it, name first; NULL = the name. */
    void (*describe)(struct json *j, const struct job *job);
    /*
     * Run it and say what came out. -1 is an error that is printed with the job's name in front of
     * it; other jobs still run, and the program exits with its code.
     */
    int (*run)(struct session *s, const struct job *job, struct err *err);
    void (*finish)(struct session *s); /* after the last job of this kind; may be NULL */
};

/* --- registry.c --- */

/* From constructors: may not allocate. */
void registry_add(struct kelvin_entry *e, const struct kind *kind);

/* All jobs of all entries. Two of the same name are an error that says where they are. */
int registry_jobs(struct jobs *to, struct err *err);

/* A job of E; NAME is copied. */
void jobs_add(struct jobs *to, const struct kelvin_entry *e, const char *name, size_t value);

/*
 * Keep what was asked for: by exact name or the name without its parameter (NAMES), by a part of
 * the name or a pattern (opts->filter), or opts->only. An error when a word chooses nothing.
 */
int jobs_select(struct jobs *jobs, const struct options *opts, const struct opt_result *names,
                struct err *err);
void jobs_done(struct jobs *jobs);

/* --- session.c: results out --- */

/*
 * A JSON object on a line of its own, for programs: write its keys and values between the two.
 * NULL when a person is reading: then print with session_say().
 */
struct json *session_record(struct session *s);
void session_record_end(struct session *s);

/* To standard output, when a person is reading; else nothing. */
void session_say(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* To standard error. */
void session_complains(struct session *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Show on a terminal what takes so long, until something else is said. */
void session_waits_for(struct session *s, const char *name);

/* A gate did not hold: the program will exit with CODE, unless something worse happens. */
void session_fails(struct session *s, int code);

/* --- table.c: numbers as people read them, in storage of UNITS_MAX bytes --- */

/* Nanoseconds with as many digits as the half width WITHIN makes sense of: "81.2 ns". */
char *table_time(char *s, double time_ns, double within_ns);
/* "80.9 .. 81.6 ns", in the unit in which TIME is printed. */
char *table_interval(char *s, double time_ns, double low_ns, double high_ns);
/* Three digits, a prefix and the unit: (12.3e9, "B/s") -> "12.3 GB/s". */
char *table_rate(char *s, double per_second, const char *unit);

/* --- options.c --- */

/* From defaults, environment and command line, which wins. Returns 1 when help was printed. */
int options_read(struct options *opts, int n, char **args, struct opt_result *ret, struct err *err);

void options_done(struct options *opts);

/* --- watchdog.c --- */

/* End the program when the job is not over by then, with a line that says so. 0 s = never. */
void watchdog_start(const struct session *s, const struct job *job, double limit_s);
void watchdog_stop(void);
