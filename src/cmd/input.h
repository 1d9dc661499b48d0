/*
 * input.h - what all commands that read a profile have in common: options, loading, warnings.
 */
#pragma once
#include "base/opt.h"
#include "source/import.h"
#include "symbol/symbolize.h"

struct input_opts {
    const char *from, *event, *value;
    struct opt_list symbols; /* folders, or lists of folders separated by colons */
    const char *symfs;
    bool strict;
};

/* Rows for a command's option table, whose struct S has a `struct input_opts input`. */
#define INPUT_OPTS(S)                                                                       \
    {.name = "event",                                                                       \
     .kind = OPT_TEXT,                                                                      \
     .offset = offsetof(S, input.event),                                                    \
     .arg = "NAME",                                                                         \
     .help = "the event to show when there are several (default: the first)",               \
     .alias = "event-filter"},                                                              \
        {.name = "value",                                                                   \
         .kind = OPT_TEXT,                                                                  \
         .offset = offsetof(S, input.value),                                                \
         .arg = "NAME",                                                                     \
         .help = "the value to show: samples, weight, or a name that 'kelvin info' lists"}, \
        {.name = "from",                                                                    \
         .kind = OPT_TEXT,                                                                  \
         .offset = offsetof(S, input.from),                                                 \
         .arg = "FORMAT",                                                                   \
         .help = "the input's format (default: recognised by its content)"},                \
        {.name = "symbols",                                                                 \
         .kind = OPT_LIST,                                                                  \
         .offset = offsetof(S, input.symbols),                                              \
         .arg = "DIR",                                                                      \
         .help = "look for programs and debug files below DIR too, by build-id, path or "   \
                 "name; may be given several times"},                                       \
        {.name = "symfs",                                                                   \
         .kind = OPT_TEXT,                                                                  \
         .offset = offsetof(S, input.symfs),                                                \
         .arg = "DIR",                                                                      \
         .help = "look for programs below DIR instead of /"},                               \
    {                                                                                       \
        .name = "strict", .kind = OPT_FLAG, .offset = offsetof(S, input.strict),            \
        .help = "fail on the first line or record that makes no sense"                      \
    }

/* A loaded profile and the column to show. */
struct input {
    struct profile *profile;
    int type;
    symbolize_missing_list missing; /* modules of which nothing has a name, and why */
};

/*
 * Load the one profile named in ARGS; OPTS says what else to keep. Prints what was skipped and
 * noted. Returns 0, or an exit code after printing the error.
 */
int input_load(struct input *in, const struct opt_result *args, const struct input_opts *opts,
               const struct import_opts *want);

/*
 * Load N profiles, several at once; what is said about them comes in their order, up to the first
 * that cannot be loaded. Call input_done() on each whatever is returned.
 */
int input_load_all(struct input *ins, char **paths, size_t n, const struct input_opts *opts,
                   const struct import_opts *want);

/* For commands that show one event: with several in IN and no choice made, say which it is. */
void input_tell_events(const struct input *in, const struct input_opts *opts);

/*
 * Where the file that a profile calls PATH is, as it was: there, or where --symbols and perf's
 * cache have it. PATH itself if it is nowhere. Free it.
 */
char *input_find_file(const struct input_opts *opts, const char *path, struct text build_id);

void input_done(struct input *in);
