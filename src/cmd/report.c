/*
 * report.c - what a profile tells, in words and tables.
 */
#include "view/report.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/hotcode.h"
#include "cmd/input.h"
#include "cmd/output.h"

struct cmd_report_opts {
    struct input_opts input;
    struct output_opts output;
    const char *by, *callers;
    long top;
};

#define AT(field) offsetof(struct cmd_report_opts, field)

static const struct opt report_table[] = {
    OUTPUT_OPTS(struct cmd_report_opts, "text md json html", "text, md, json or html"),
    {0, "top", OPT_INT, AT(top), "N", "rows of each table (default: 15)", .min = 1, .max = 10000},
    {0, "by", OPT_CHOICE, AT(by), "WHAT", "one table instead: by function, module, thread or line",
     "function module thread line"},
    {0, "callers", OPT_TEXT, AT(callers), "FUNCTION",
     "only this function: who calls it and what it calls"},
    SELECTION_OPTS(struct cmd_report_opts),
    INPUT_OPTS(struct cmd_report_opts),
    OPT_END,
};

static void print(FILE *out, const struct cmd_report_opts *o, const struct report *r)
{
    const char *format = output_format(&o->output);
    if (strcmp(format, "json") == 0)
        report_print_json(out, r);
    else if (strcmp(format, "md") == 0)
        report_print_markdown(out, r);
    else if (strcmp(format, "html") == 0)
        report_print_html(out, r);
    else
        report_print_text(out, r, output_width(&o->output), output_in_colour(&o->output));
}

static enum flat_by by_of(const char *name)
{
    return strcmp(name, "module") == 0   ? FLAT_MODULE
           : strcmp(name, "thread") == 0 ? FLAT_THREAD
           : strcmp(name, "line") == 0   ? FLAT_LINE
                                         : FLAT_FUNCTION;
}

/* Functions below this share are not looked into: the code of large programs takes its time. */
#define LEAST_OF_CODE 0.05

static int write_report(const struct cmd_report_opts *o, const struct input *in, struct err *err)
{
    struct report_opts opts = {
        .top = (size_t)o->top,
        .callers = o->callers,
        .has_by = o->by != NULL,
        .by = o->by ? by_of(o->by) : FLAT_FUNCTION,
    };
    struct hotcode code = {0};
    if (!o->by && !o->callers)
        hotcode_read_profile(&code, &in->selection, &(struct hotcode_opts){.least = LEAST_OF_CODE});
    opts.code = code.rows.at;
    opts.n_code = code.rows.n;
    struct report r;
    struct publish file;
    int rc = report_build(&r, &in->selection, &opts, err);
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        print(file.out, o, &r);
        rc = publish_commit(&file, err);
    }
    report_done(&r);
    hotcode_done(&code);
    return rc;
}

static int report_run(const struct command *self, int n, char **args)
{
    struct cmd_report_opts o = {.output = OUTPUT_DEFAULTS, .top = 15};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct input in;
    struct err err;
    struct import_opts want = {.addresses = o.by && by_of(o.by) == FLAT_LINE};
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    input_tell_events(&in, &o.input);
    rc = write_report(&o, &in, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_report = {
    .name = "report",
    .summary = "tell where the time goes, how sure that is, and what to try",
    .operands = "PROFILE",
    .about =
        "Lists the hot functions, without and with what they call, the hot paths, modules and "
        "threads, and says in words what stands out and what to try. Every share comes with half "
        "of its 95% interval: '5.0% ±1.4'. The interval is made from the effective number of "
        "samples, as samples in a row are often alike.\n"
        "\n"
        "A sample counts once for a function, however often the function is on its stack. An "
        "insight is given only where its share is beyond sampling error, as far as the input tells "
        "how "
        "many samples it holds.\n"
        "\n"
        "The HTML page is complete in itself, with the flame graph inside.",
    .examples = "kelvin report app.kelvin                    # in the terminal\n"
                "kelvin report app.kelvin -o report.html     # one page, with the flame graph\n"
                "kelvin report app.kelvin --callers malloc   # who calls it, what it calls\n"
                "kelvin report app.kelvin --by line --top 30 # the hottest source lines",
    .opts = report_table,
    .run = report_run,
};
