/*
 * input.h - what all commands that read a profile have in common: options, loading, warnings.
 */
#pragma once
#include "analysis/selection.h"
#include "base/opt.h"
#include "source/import.h"
#include "symbol/symbolize.h"

struct input_opts {
    const char *from, *event, *value;
    const char *no_event;    /* what to say where there is no such event; NULL = what there is */
    struct opt_list symbols; /* folders, or lists of folders separated by colons */
    const char *symfs;
    bool strict, signatures;
    bool overloads; /* not an option: C++ overloads that are hot get their parameters */
    bool arguments; /* of commands that have PUBLIC_OPTS: keep those of the command line */

    /* The selection, for commands that have SELECTION_OPTS. */
    const char *time, *last;
    struct opt_list threads, processes, where, scopes, focus, ignore, hide;
    struct opt_list collapse_modules, collapse_recursion;
    const char *subtree;
    bool merge_recursion;
};

/* Rows for a command's option table, whose struct S has a `struct input_opts input`. */
#define INPUT_OPTS(S)                                                                           \
    {.name = "event",                                                                           \
     .kind = OPT_TEXT,                                                                          \
     .offset = offsetof(S, input.event),                                                        \
     .arg = "NAME",                                                                             \
     .help = "the event to show when there are several (default: the first)",                   \
     .alias = "event-filter"},                                                                  \
        {.name = "value",                                                                       \
         .kind = OPT_TEXT,                                                                      \
         .offset = offsetof(S, input.value),                                                    \
         .arg = "NAME",                                                                         \
         .help = "the value to show: samples, weight, or a name that 'kelvin info' lists"},     \
        {.name = "from",                                                                        \
         .kind = OPT_TEXT,                                                                      \
         .offset = offsetof(S, input.from),                                                     \
         .arg = "FORMAT",                                                                       \
         .help = "the input's format (default: recognised by its content)"},                    \
        {.name = "symbols",                                                                     \
         .kind = OPT_LIST,                                                                      \
         .offset = offsetof(S, input.symbols),                                                  \
         .arg = "DIR",                                                                          \
         .help = "look for programs and debug files below DIR too, by build-id, path or name; " \
                 "may be repeated"},                                                            \
        {.name = "symfs",                                                                       \
         .kind = OPT_TEXT,                                                                      \
         .offset = offsetof(S, input.symfs),                                                    \
         .arg = "DIR",                                                                          \
         .help = "look for programs below DIR instead of /"},                                   \
        {.name = "signatures",                                                                  \
         .kind = OPT_FLAG,                                                                      \
         .offset = offsetof(S, input.signatures),                                               \
         .help = "C++ functions with their parameters (default: where overloads are hot)"},     \
    {                                                                                           \
        .name = "strict", .kind = OPT_FLAG, .offset = offsetof(S, input.strict),                \
        .help = "fail on the first malformed line or record"                                    \
    }

/* Rows of commands that can show a part of a profile; they mean the same in all. */
#define SELECTION_OPTS(S)                                                                          \
    {.name = "time",                                                                               \
     .kind = OPT_TEXT,                                                                             \
     .offset = offsetof(S, input.time),                                                            \
     .arg = "FROM..TO",                                                                            \
     .help = "only this part of the recording: seconds since its start, 200ms, 10%, or the clock " \
             "as 14:30:05; either end may be left out"},                                           \
        {.name = "last",                                                                           \
         .kind = OPT_TEXT,                                                                         \
         .offset = offsetof(S, input.last),                                                        \
         .arg = "TIME",                                                                            \
         .help = "only the end of the recording: 30s, 10m, 2h"},                                   \
        {.name = "thread",                                                                         \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.threads),                                                     \
         .arg = "NAME",                                                                            \
         .help = "only threads whose name matches this regular expression, or with this id; may "  \
                 "be repeated"},                                                                   \
        {.name = "process",                                                                        \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.processes),                                                   \
         .arg = "NAME",                                                                            \
         .help = "only processes whose executable or first thread matches, or with this id; may "  \
                 "be repeated"},                                                                   \
        {.name = "where",                                                                          \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.where),                                                       \
         .arg = "KEY=VALUE",                                                                       \
         .help = "only what has this label; KEY=~PATTERN matches a regular expression; "           \
                 "several must all hold"},                                                         \
        {.name = "scope",                                                                          \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.scopes),                                                      \
         .arg = "NAME",                                                                            \
         .help =                                                                                   \
             "only what happened in a scope of the program (kelvin.h) whose name matches this "    \
             "regular expression; may be repeated"},                                               \
        {.name = "focus",                                                                          \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.focus),                                                       \
         .arg = "PATTERN",                                                                         \
         .help = "only stacks with a function that matches; may be repeated"},                     \
        {.name = "ignore",                                                                         \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.ignore),                                                      \
         .arg = "PATTERN",                                                                         \
         .help = "no stacks with a function that matches; may be repeated"},                       \
        {.name = "hide",                                                                           \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.hide),                                                        \
         .arg = "PATTERN",                                                                         \
         .help = "leave functions that match out of the stacks; their values go to their "         \
                 "callers; may be repeated"},                                                      \
        {.name = "collapse-module",                                                                \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.collapse_modules),                                            \
         .arg = "PATTERN",                                                                         \
         .help = "show functions of a module that matches as one frame; may be repeated"},         \
        {.name = "collapse-recursion",                                                             \
         .kind = OPT_LIST,                                                                         \
         .offset = offsetof(S, input.collapse_recursion),                                          \
         .arg = "PATTERN",                                                                         \
         .help = "show functions that match once per stack: leave out what is between their "      \
                 "first and their last call; may be repeated"},                                    \
        {.name = "subtree",                                                                        \
         .kind = OPT_TEXT,                                                                         \
         .offset = offsetof(S, input.subtree),                                                     \
         .arg = "PATH",                                                                            \
         .help = "only what is called from this call path, root first: 'main;parse'; "             \
                 "write \\; and \\\\ where a name has these characters"},                          \
    {                                                                                              \
        .name = "merge-recursion", .kind = OPT_FLAG, .offset = offsetof(S, input.merge_recursion), \
        .help = "show a function that calls itself directly once"                                  \
    }

/* A row of commands that write what others will see. */
#define PUBLIC_OPTS(S)                                                                         \
    {                                                                                          \
        .name = "arguments", .kind = OPT_FLAG, .offset = offsetof(S, input.arguments),         \
        .help = "keep the recorded command's arguments in what is written (default: only the " \
                "program, as arguments may hold secrets)"                                      \
    }

/* A loaded profile and what of it is to be shown. */
struct input {
    struct profile *profile;
    struct selection selection;
    symbolize_missing_list missing; /* modules of which nothing has a name, and why */
};

/*
 * Load the one profile named in ARGS and select of it what OPTS ask for; WANT says what else to
 * keep. Prints what was skipped and noted. Returns 0, or an exit code after printing the error.
 */
int input_load(struct input *in, const struct opt_result *args, const struct input_opts *opts,
               const struct import_opts *want);

/*
 * Load N profiles, several at once. Messages about them come in their order, up to the first that
 * cannot be loaded. Call input_done() on each whatever is returned.
 */
int input_load_all(struct input *ins, char **paths, size_t n, const struct input_opts *opts,
                   const struct import_opts *want);

/* Append to B a line where two of the N loaded recordings are one, by path or by what is in it, and
 * say whether: as runs they agree wholly, whatever the program does. */
bool input_repeated(const struct input *ins, char *const *paths, size_t n, struct buf *b);

/* Select of IN what OPTS ask for, besides what was selected when it was loaded. */
int input_select(const struct input *in, const struct input_opts *opts, struct selection *ret,
                 struct err *err);

/* The words of LIST, ended by a NULL, in W. */
struct input_words {
    const char *at[OPT_LIST_MAX + 1];
};
const char *const *input_words(struct input_words *w, const struct opt_list *list);

/* The same of a column that is known. */
int input_select_value(const struct input *in, const struct input_opts *opts,
                       struct value_ref value, struct selection *ret, struct err *err);

/* For commands that show one stream: with several in IN and no choice made, say which it is. */
void input_tell_events(const struct input *in, const struct input_opts *opts);

/* For commands that people start with: which other commands show more of IN. */
void input_tell_others(const struct input *in, const struct input_opts *opts);

/*
 * Where the file that a profile calls PATH is, as it was: there, or where --symbols and perf's
 * cache have it. PATH itself if it is nowhere. Free it. OPTS is a struct input_opts.
 */
char *input_find_file(const void *opts, const char *path, struct text build_id);

/*
 * Before writing output that others will see: remove private facts, unless OPTS keep them. A
 * report on the terminal is for whoever holds the recording anyway.
 */
void input_make_public(struct input *in, const struct input_opts *opts);

/* The name in the folder of a PATH that is not there which is much like it; NULL = none. Free it.
 */
char *input_nearest(const char *path);

void input_done(struct input *in);
