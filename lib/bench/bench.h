/*
 * bench.h - the inside of the benchmark library: what is registered, what was asked for, and how
 * results get out.
 *
 * A kind of entry (benchmark, equivalence...) is a struct of functions. At start entries become
 * jobs, one for each value of their parameter; jobs that were asked for are run in the order in
 * which they were written down.
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
    const char *only;    /* an exact name, or NULL */
    double seed, inputs; /* of equivalence; 0 = the default */
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
    struct err *err; /* of the job that runs */
    struct jobs jobs;
    int name_width;     /* of the longest name that will be printed */
    int exit;           /* worst so far */
    FILE *records;      /* where JSON lines go; NULL = a person reads standard output */
    struct json json;   /* of the record that is being written */
    bool has_head;      /* the table's head was printed */
    bool output_failed; /* standard output or the records could not be written */
};

struct kind {
    const char *word; /* "benchmark": for messages */
    /* Add the jobs of an entry; NULL = one, with the entry's name. */
    int (*expand)(const struct kelvin_entry *e, struct jobs *to, struct err *err);
    /*
     * Run it and say what came out. -1 is an error that is printed with the job's name in front of
     * it; other jobs still run, and the program exits with its code.
     */
    int (*run)(struct session *s, const struct job *job, struct err *err);
};

/* --- registry.c --- */

/* From constructors: may not allocate. */
void registry_add(struct kelvin_entry *e, const struct kind *kind);
const struct kelvin_entry *registry_first(void);

/* A job of E; NAME is copied. */
void jobs_add(struct jobs *to, const struct kelvin_entry *e, const char *name, size_t value);

/* --- session.c: results out --- */

/*
 * A JSON object on a line of its own, for programs: write its keys and values between the two.
 * NULL when a person is reading: then print with session_say().
 */
struct json *session_record(struct session *s);
void session_record_end(struct session *s);

/* To standard output, when a person is reading; else nothing. */
void session_say(struct session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A gate did not hold: the program will exit with CODE, unless something worse happens. */
void session_fails(struct session *s, int code);

/* --- table.c --- */

/* Nanoseconds with as many digits as the half width WITHIN makes sense of: "81.2 ns". */
char *table_time(char *s, double time_ns, double within_ns);
/* PER_SECOND with a prefix: "12.3 G", then UNIT: "B/s". */
char *table_rate(char *s, double per_second, const char *unit);
