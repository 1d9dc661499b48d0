/*
 * plan.h - what will be run: every command with every combination of parameters.
 *
 * A parameter `n` stands in commands as {n} and has a list of values. Combinations that differ only
 * in the command, or in a parameter that is no number (a compiler, an allocator), make up a
 * group: they do the same work and are compared with the first of them. Parameters that are numbers
 * say how much work there is: they make groups of their own, and a curve of growth.
 */
#pragma once
#include "base/err.h"
#include "base/opt.h"
#include "base/words.h"

enum { PLAN_VALUES_MAX = 1000, PLAN_ITEMS_MAX = 2000 };

struct plan_parameter {
    char *name;
    struct words values;
    bool numbers;   /* all of them are, and above 0 */
    double *number; /* one for each value then */
};

#define PLAN_NONE ((size_t)-1)

struct plan_item {
    char *name; /* no two have the same */
    char *line; /* as one would type it */
    size_t line_number;
    size_t *value;                           /* for each parameter, which of its values */
    size_t command, prepare, setup, cleanup; /* numbers of commands, or PLAN_NONE */
    size_t group;
    bool aa; /* the reference once more, to see how different equal things look */
};

struct plan_group {
    VEC(size_t) items; /* the first is the reference */
};

struct plan {
    VEC(struct plan_parameter) parameters;
    VEC(struct plan_item) items;
    VEC(struct plan_group) groups;
    VEC(struct words) commands; /* each once: what the starter is given */
    VEC(char *) command_lines;
    size_t nothing;     /* the command `true`: what starting costs */
    char *const *lines; /* as given, parameters as {name}; the caller's */
};

struct plan_opts {
    char *const *lines;
    size_t n_lines;
    const struct opt_list *names;        /* one for each line, or none */
    const struct opt_list *list, *range; /* "n=1,2,4", "n=1..10..2" */
    const char *prepare, *setup, *cleanup;
    const char *const *wrap; /* words to put in front of commands, ends with NULL; NULL = none */
    bool shell;              /* hand lines to /bin/sh */
    bool aa;                 /* one item more in each group */
};

/* Free with plan_done() either way. */
int plan_build(struct plan *p, const struct plan_opts *o, struct err *err);
void plan_done(struct plan *p);

/* TEMPLATE with the item's values in place of every {name}, EXCEPT that one. Free it. */
char *plan_fill(const struct plan *p, const struct plan_item *item, const char *template,
                size_t except);

/* The first parameter that is a number and has several values: its number, or PLAN_NONE. */
size_t plan_sweep(const struct plan *p);
