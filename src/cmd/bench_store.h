/*
 * bench_store.h - baselines for `kelvin bench`: saved, compared with, listed, taken elsewhere.
 */
#pragma once
#include "base/opt.h"
#include "bench/outcome.h"
#include "store/pasts.h"
#include "suite/folder.h"
#include "view/bench/bench.h"

struct cmd_bench_opts;

struct bench_store_opts {
    const char *path;  /* NULL = the project's own */
    const char *typed; /* all options, as typed */
    const char *save, *against;
    const char *remove, *export_name, *import_path;
    struct opt_list rename; /* "OLD=NEW" */
    double threshold;       /* percent */
    bool list, compare, force;
};

/* Rows for an option table whose struct S has a `struct bench_store_opts store`. */
#define BENCH_STORE_OPTS(S)                                                                       \
    {0,                                                                                           \
     "save",                                                                                      \
     OPT_TEXT,                                                                                    \
     offsetof(S, store.save),                                                                     \
     "NAME",                                                                                      \
     "keep what is measured as the baseline NAME, and its program; an older one stays in the "    \
     "history"},                                                                                  \
        {0,        "against",                                                                     \
         OPT_TEXT, offsetof(S, store.against),                                                    \
         "NAME",   "compare with the baseline NAME, in turns with its program if that was kept"}, \
        {0,        "compare",                                                                     \
         OPT_FLAG, offsetof(S, store.compare),                                                    \
         NULL,     "compare the baselines named as operands; nothing is run"},                    \
        {0,          "threshold",                                                                 \
         OPT_NUMBER, offsetof(S, store.threshold),                                                \
         "PERCENT",  "with --compare: leave out what differs by less (default: 0)",               \
         .min = 0,   .max = 1e6},                                                                 \
        {0, "baselines", OPT_FLAG, offsetof(S, store.list), NULL, "list the baselines"},          \
        {0,        "delete",                                                                      \
         OPT_TEXT, offsetof(S, store.remove),                                                     \
         "NAME",   "delete a baseline; its runs stay in the history"},                            \
        {0,        "export",                                                                      \
         OPT_TEXT, offsetof(S, store.export_name),                                                \
         "NAME",   "write a baseline as JSON to the operand FILE, or to -o"},                     \
        {0,        "import",                                                                      \
         OPT_TEXT, offsetof(S, store.import_path),                                                \
         "FILE",   "read what --export wrote; --save gives it another name"},                     \
        {0,                                                                                       \
         "rename",                                                                                \
         OPT_LIST,                                                                                \
         offsetof(S, store.rename),                                                               \
         "OLD=NEW",                                                                               \
         "a benchmark has a new name: alone this changes the store, with --against or "           \
         "--compare only what is read from it"},                                                  \
        {0,        "store",                                                                       \
         OPT_TEXT, offsetof(S, store.path),                                                       \
         "FILE",   "where baselines are (default: .kelvin/history.db of the project)"},           \
    {                                                                                             \
        0, "force", OPT_FLAG, offsetof(S, store.force), NULL,                                     \
            "compare although host, build, governor or options differ; the report says so"        \
    }

/* Whether an option asks for something that measures nothing. */
bool bench_store_acts(const struct bench_store_opts *o);

/* Do that. Returns the exit code, errors are printed. */
int bench_store_act(const struct cmd_bench_opts *o, const struct opt_result *operands);

/* The store options of a measurement. */
struct bench_store {
    const struct cmd_bench_opts *opts;
    char *path, *forced;
    char *busy;               /* see fingerprint_busy() */
    struct meta facts;        /* of what is measured now */
    struct series_set before; /* the baseline, empty without --against */
    struct pasts pasts;

    char *program, *hash, *files; /* to be kept, and what is in it and in its arguments; or NULL */
    const char *why_apart;        /* why there is no `line_before`, where there is a baseline */
    char *line_before; /* runs what the baseline has kept; NULL = it takes no turns with today's */
};

/*
 * Before anything is measured: check names, load the baseline and refuse it if it was made on
 * another machine or in another way than the commands at OPERANDS would be now. Free with
 * bench_store_done() either way.
 */
int bench_store_begin(struct bench_store *b, const struct cmd_bench_opts *o,
                      const struct opt_result *operands, struct err *err);

/*
 * Afterwards: add to the set of O what is known about host, build and options; compare with the
 * baseline, look up the past.
 */
int bench_store_report(struct bench_store *b, struct outcome *o, struct bench_report *r,
                       struct err *err);

/* Say on standard error what the user should know about machine and baseline. A text has the former
 * in it. */
void bench_store_tell(const struct bench_store *b, const struct outcome *o);

/*
 * In the end: keep SET if --save asks for it. A stopped measurement is not kept, and one that
 * broke its gate does not replace a baseline; a message says so. CODE is what the measurement ends
 * with.
 */
int bench_store_keep(struct bench_store *b, struct series_set *set, int code, struct err *err);

/* --- bench_beside.c: programs that baselines keep --- */

/* Before measuring: note what is to be kept, if anything can be. */
void bench_beside_note(struct bench_store *b, const struct opt_result *operands);

/* Before SET is saved: put the program beside the place where TO will be, and into SET what it is.
 */
int bench_beside_stage(struct bench_store *b, struct series_set *set, struct folder *to,
                       struct err *err);

/* The command with the program that the baseline has kept; else NULL, and why. Free it. */
char *bench_beside_find(const struct bench_store *b, const struct opt_result *operands,
                        const char **ret_why);

/* The name of a baseline is gone, or stands for another one. */
void bench_beside_remove(const char *store, const char *name);

void bench_store_done(struct bench_store *b);

/* The words of a command line, as one would type them. Free it. */
char *bench_store_typed(int n, char **args);

/* --- shared with the actions --- */

char *bench_store_path(const struct bench_store_opts *o); /* free it */

/* Load a baseline and give benchmarks their new names in it. */
int bench_store_load(const struct bench_store_opts *o, const char *name, struct series_set *ret,
                     struct err *err);

/* See pasts_read(). */
int bench_store_pasts(struct pasts *to, const struct cmd_bench_opts *o,
                      const struct series_set *set, bool fresh, struct err *err);

/* What O says is judged: MEASURE_TIME unless told. */
enum measure bench_store_measure(const struct cmd_bench_opts *o);
