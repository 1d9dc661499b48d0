/*
 * convert.c - any profile into any format.
 */
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "view/export/export.h"

#include <unistd.h>

struct convert_opts {
    struct input_opts input;
    const char *output, *to;
};

static const struct opt convert_table[] = {
    {'o', "output", OPT_TEXT, offsetof(struct convert_opts, output), "FILE",
     "write to FILE (default: standard output)"},
    {'t', "to", OPT_TEXT, offsetof(struct convert_opts, to), "FORMAT",
     "the format to write (default: by the end of the output's name); 'kelvin help formats' "
     "lists them"},
    PUBLIC_OPTS(struct convert_opts),
    SELECTION_OPTS(struct convert_opts),
    INPUT_OPTS(struct convert_opts),
    OPT_END,
};

static int convert_choose(const struct convert_opts *o, const struct exporter **ret,
                          struct err *err)
{
    *ret = o->to ? export_find(o->to) : export_for_path(o->output);
    if (!*ret && o->to)
        return err_set(err, EXIT_ERROR, "no format '%s' to write; see 'kelvin help formats'",
                       o->to);
    if (!*ret)
        return err_set(err, EXIT_ERROR, "which format? give --to; see 'kelvin help formats'");
    if ((*ret)->binary && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
        return err_set(err, EXIT_ERROR, "%s is not for a terminal: give -o FILE", (*ret)->title);
    return 0;
}

static int write_as(const struct exporter *e, const struct convert_opts *o, const struct input *in,
                    struct err *err)
{
    bool chosen = o->input.event || o->input.value;
    struct export_opts opts = {.all = !chosen};
    struct publish file;
    if (publish_open(&file, o->output, err) != 0)
        return -1;
    if (export_write(e, file.out, &in->selection, &opts, err) == 0)
        return publish_commit(&file, err);
    if (publish_nobody_reads(file.out))
        err_set(err, EXIT_NOBODY_READS, "the pipe was closed");
    publish_drop(&file);
    return -1;
}

static int convert_run(const struct command *self, int n, char **args)
{
    struct convert_opts o = {.output = "-"};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err;
    const struct exporter *e;
    if (convert_choose(&o, &e, &err) != 0)
        return command_fail(&err);
    struct input in;
    struct import_opts want = {.addresses = true};
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    input_make_public(&in, &o.input);
    rc = write_as(e, &o, &in, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_convert = {
    .name = "convert",
    .summary = "turn a profile into another tool's format",
    .operands = "PROFILE",
    .about = "Reads a profile in any format and writes it in another. All events and values go "
             "along where the format can hold them; --event and --value choose one where it "
             "cannot, or where one is enough. With --time, --thread and the like only the "
             "selected part of one event goes out. Of a recorded command line only the program "
             "goes along, unless --arguments asks for the rest; home folders are written as ~.",
    .examples =
        "kelvin convert cpu.pb.gz --to speedscope -o cpu.speedscope.json   # for speedscope\n"
        "kelvin convert perf-script.txt -o app.pb.gz                       # for go tool pprof\n"
        "kelvin convert app.folded -o app.kelvin                           # Kelvin's own file",
    .opts = convert_table,
    .run = convert_run,
};
