/*
 * command.h - the subcommands.
 *
 * How to add one: write src/cmd/NAME.c that ends in a `const struct command command_NAME`,
 * declare it here and add it to the table in main.c. Help, man page and completion follow from
 * the struct; a test fails when README.md has no example for it.
 */
#pragma once
#include "base/opt.h"

struct command {
    const char *name;
    const char *summary;  /* one line, no full stop */
    const char *operands; /* "PROFILE" as shown after the options */
    const char *about;    /* paragraphs for people, separated by empty lines */
    const char *examples; /* lines "command   # what it does" */
    const struct opt *opts;

    /* Run with the words after the command's name. Returns the exit code. */
    int (*run)(const struct command *self, int n, char **args);
};

extern const struct command command_annotate;
extern const struct command command_check;
extern const struct command command_bench;
extern const struct command command_convert;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_top;
extern const struct command command_flame;
extern const struct command command_fold;
extern const struct command command_heap;
extern const struct command command_help;
extern const struct command command_history;
extern const struct command command_info;
extern const struct command command_init;
extern const struct command command_record;
extern const struct command command_report;
extern const struct command command_run;
extern const struct command command_locks;
extern const struct command command_scopes;
extern const struct command command_simd;
extern const struct command command_view;

/* NULL-terminated, in the order help shows them. */
extern const struct command *const commands[];

/* By name, or NULL. */
const struct command *command_find(const char *name);

/*
 * Parse the options of SELF into TO. Returns 0 to go on with the operands in RET, 1 when help was
 * printed and the command is done (exit 0), -1 after printing an error (exit 1).
 */
int command_parse(const struct command *self, void *to, int n, char **args, struct opt_result *ret);

/* Print "kelvin: TEXT" to standard error; returns the exit code in ERR. */
int command_fail(const struct err *err);

/* The text of a hint on the command line: the end of the sentence in err.text. */
const char *command_hint(enum err_hint hint);

/* Print "kelvin: ..." to standard error. */
void command_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
