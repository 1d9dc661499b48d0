/*
 * fold.c - any profile as folded stacks.
 */
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "view/export/folded.h"

struct fold_opts {
    struct input_opts input;
    const char *output, *by;
    bool pid, tid, kernel, jit, all, addrs;
};

static const struct opt fold_table[] = {
    {'o', "output", OPT_TEXT, offsetof(struct fold_opts, output), "FILE",
     "write to FILE (default: standard output)"},
    {0, "pid", OPT_FLAG, offsetof(struct fold_opts, pid), NULL, "add the process id to the name"},
    {0, "tid", OPT_FLAG, offsetof(struct fold_opts, tid), NULL,
     "add process and thread id to the name"},
    {0, "by", OPT_TEXT, offsetof(struct fold_opts, by), "LABEL",
     "begin each stack with a label instead: process, thread, state, reason, command, user, "
     "cgroup, container...",
     "process thread state reason command user cgroup container"},
    {0, "kernel", OPT_FLAG, offsetof(struct fold_opts, kernel), NULL,
     "mark kernel functions with _[k]"},
    {0, "jit", OPT_FLAG, offsetof(struct fold_opts, jit), NULL,
     "mark functions compiled at run time with _[j]"},
    {0, "all", OPT_FLAG, offsetof(struct fold_opts, all), NULL, "both marks"},
    {0, "addrs", OPT_FLAG, offsetof(struct fold_opts, addrs), NULL,
     "show the address of frames that have no name"},
    SELECTION_OPTS(struct fold_opts),
    INPUT_OPTS(struct fold_opts),
    OPT_END,
};

static struct folded_opts view_opts(const struct fold_opts *o)
{
    return (struct folded_opts){
        .group = o->by    ? GROUP_LABEL
                 : o->tid ? GROUP_TID
                 : o->pid ? GROUP_PID
                          : GROUP_COMM,
        .mark_kernel = o->kernel || o->all,
        .mark_jit = o->jit || o->all,
        .addresses = o->addrs,
    };
}

static int fold_run(const struct command *self, int n, char **args)
{
    struct fold_opts o = {.output = "-"};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct input in;
    struct import_opts want = {.merge = true, .names_only = !o.addrs};
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    input_tell_events(&in, &o.input);
    struct err err;
    struct publish file;
    struct folded_opts view = view_opts(&o);
    struct grouping groups = {0};
    rc = o.by ? grouping_build(&groups, in.selection.profile, in.selection.value, o.by, &err) : 0;
    view.by = &groups;
    view.by_key = o.by;
    if (rc == 0 && (rc = publish_open(&file, o.output, &err)) == 0) {
        rc = folded_print(file.out, &in.selection, &view, &err);
        if (rc == 0)
            rc = publish_commit(&file, &err);
        else
            publish_drop(&file);
    }
    grouping_done(&groups);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_fold = {
    .name = "fold",
    .summary = "turn any profile into folded stacks, one per line",
    .operands = "PROFILE",
    .about =
        "Reads a profile in any format that 'kelvin help formats' lists and prints one line for "
        "each distinct stack: the frames from the root to the leaf, separated by ';', and the "
        "value.\n"
        "\n"
        "The value is what the input's own tools would print: for perf script text the sum of "
        "the periods, for Kelvin's recordings the number of samples. --value samples or --value "
        "weight chooses.",
    .examples =
        "kelvin fold perf-script.txt --all > out.folded   # perf script, kernel and JIT marked\n"
        "perf script | kelvin fold -                      # from a pipe\n"
        "kelvin fold cpu.pb.gz --value samples            # a pprof file, counted in samples",
    .opts = fold_table,
    .run = fold_run,
};
