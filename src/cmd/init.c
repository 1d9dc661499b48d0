/*
 * init.c - a first kelvin.conf for a project.
 */
#include "suite/init.h"
#include "base/publish.h"
#include "cmd/command.h"

#include <unistd.h>

struct cmd_init_opts {
    const char *output;
    bool force;
};

#define AT(field) offsetof(struct cmd_init_opts, field)

static const struct opt init_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE", "write to FILE (default: kelvin.conf)"},
    {0, "force", OPT_FLAG, AT(force), NULL, "replace a file that is there"},
    OPT_END,
};

static void cmd_init_tell(const struct cmd_init_opts *o, const struct init_found *f)
{
    if (f->because)
        command_say("%s: builds with '%s', as there is a %s", o->output, f->build, f->because);
    else
        command_say("%s: no build system was found: set build.command, or leave it empty",
                    o->output);
    if (f->to_be_built)
        command_say("%s: the workload 'main' runs %s, which %s names first; give it arguments "
                    "that keep it busy for a second or more",
                    o->output, f->program, f->because);
    else if (*f->program)
        command_say("%s: the workload 'main' runs %s; give it arguments that keep it busy for a "
                    "second or more",
                    o->output, f->program);
    else
        command_say("%s: no program was found: build it and run 'kelvin init --force', or set the "
                    "command of [workload main]",
                    o->output);
}

static int init_run(const struct command *self, int n, char **args)
{
    struct cmd_init_opts o = {.output = "kelvin.conf"};
    struct opt_result operands;
    struct init_found found;
    struct publish file;
    struct err err;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (operands.n_operands) {
        command_say("init takes no operands; see --help");
        return EXIT_ERROR;
    }
    if (!o.force && access(o.output, F_OK) == 0) {
        command_say("'%s' is there already: edit it, or replace it with --force", o.output);
        return EXIT_ERROR;
    }
    init_look(&found);
    if (publish_open(&file, o.output, &err) != 0)
        return command_fail(&err);
    init_print(file.out, &found);
    if (publish_commit(&file, &err) != 0)
        return command_fail(&err);
    cmd_init_tell(&o, &found);
    return EXIT_OK;
}

const struct command command_init = {
    .name = "init",
    .summary = "write a kelvin.conf to start from",
    .operands = "",
    .about = "Looks for a build system (Cargo, CMake, Meson, make, configure) and for a program in "
             "the usual places, or the first one that CMakeLists.txt, meson.build or Cargo.toml "
             "names, and writes a kelvin.conf with what it found. Every other key is in "
             "it as a comment that says what it is for.",
    .examples = "kelvin init && kelvin run   # from nothing to published pages",
    .opts = init_table,
    .run = init_run,
};
