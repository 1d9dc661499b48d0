/*
 * story.h - what commands that show one aspect of a recording have in common: heap, locks, scopes.
 */
#pragma once
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/output.h"

struct story_opts {
    void *all; /* the command's own struct, which has the other two */
    struct input_opts *input;
    const struct output_opts *output;
    struct import_opts want;
};

/*
 * Parse the options and load the recording; pages do not show a command's arguments. Returns -1 to
 * go on, else the exit code.
 */
int story_open(const struct command *self, const struct story_opts *o, int n, char **args,
               struct opt_result *ret_operands, struct input *ret);

/* Returns the exit code for RC. */
int story_close(struct input *in, int rc, const struct err *err);
