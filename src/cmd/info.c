/*
 * info.c - what a profile is, what is in it, and how good it is.
 */
#include "view/info.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"

struct info_opts {
    struct input_opts input;
    bool json;
};

static const struct opt info_table[] = {
    {0, "json", OPT_FLAG, offsetof(struct info_opts, json), NULL, "print JSON, for programs"},
    INPUT_OPTS(struct info_opts),
    OPT_END,
};

static int info_run(const struct command *self, int n, char **args)
{
    struct info_opts o = {0};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct input in;
    struct import_opts want = {.addresses = true, .empty_too = true};
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    struct err err;
    struct publish out;
    rc = publish_open(&out, "-", &err);
    if (rc == 0) {
        (o.json ? info_print_json : info_print)(out.out, &in.selection);
        rc = publish_commit(&out, &err);
    }
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_info = {
    .name = "info",
    .summary = "show what is in a profile, where it comes from, and its quality",
    .operands = "PROFILE",
    .about = "Prints where the profile comes from, how its samples were obtained, which events and "
             "values it holds with their totals, and what limits its quality: too few samples, "
             "frames without names, lost samples, a file that was cut off. 'not recorded' marks "
             "facts that the input does not have.",
    .examples = "kelvin info cpu.pb.gz            # what is in this file?\n"
                "kelvin info cpu.pb.gz --json     # the same for a program",
    .opts = info_table,
    .run = info_run,
};
