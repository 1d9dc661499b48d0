/*
 * heap.c - what happened on the heap of a recording.
 */
#include "base/publish.h"
#include "cmd/story.h"
#include "view/heapstory.h"

struct cmd_heap_opts {
    struct input_opts input;
    struct output_opts output;
    struct opt_list suppressions;
    const char *time; /* of the heap alone: there may be no CPU sample in it */
    long top;
};

static const struct opt heap_table[] = {
    OUTPUT_OPTS(struct cmd_heap_opts, "text md json html", "text, md, json or html"),
    {0, "top", OPT_INT, offsetof(struct cmd_heap_opts, top), "N",
     "rows of each table (default: 10)", .min = 1, .max = 10000},
    {.name = "time",
     .kind = OPT_TEXT,
     .offset = offsetof(struct cmd_heap_opts, time),
     .arg = "FROM..TO",
     .help = "also show who grew in this part of the recording: seconds since its start, 200ms, "
             "10%, or the clock as 14:30:05; either end may be left out"},
    {.name = "suppressions",
     .kind = OPT_LIST,
     .offset = offsetof(struct cmd_heap_opts, suppressions),
     .arg = "FILE",
     .help = "leave out known leaks: FILE is a list for Valgrind or LeakSanitizer; several times"},
    {.name = "from",
     .kind = OPT_TEXT,
     .offset = offsetof(struct cmd_heap_opts, input.from),
     .arg = "FORMAT",
     .help = "the input's format (default: recognised by its content)"},
    {.name = "strict",
     .kind = OPT_FLAG,
     .offset = offsetof(struct cmd_heap_opts, input.strict),
     .help = "fail on the first line or record that makes no sense"},
    PUBLIC_OPTS(struct cmd_heap_opts),
    OPT_END,
};

static void print_story(FILE *out, const struct cmd_heap_opts *o, const struct heapstory_view *v)
{
    const char *format = output_format(&o->output);
    if (strcmp(format, "json") == 0)
        heapstory_print_json(out, v);
    else if (strcmp(format, "md") == 0)
        heapstory_print_markdown(out, v);
    else if (strcmp(format, "html") == 0)
        heapstory_print_html(out, v);
    else
        heapstory_print_text(out, v, output_width(&o->output), output_in_colour(&o->output));
}

enum { SUPPRESSIONS_MAX_BYTES = 16 << 20 };

static int read_suppressions(const struct opt_list *files, struct suppressions *ret,
                             struct err *err)
{
    for (size_t i = 0; i < files->n; i++) {
        struct reader in;
        struct err why;
        if (reader_open(&in, files->at[i], err) != 0)
            return -1;
        struct text all = reader_peek(&in, SUPPRESSIONS_MAX_BYTES + 1);
        int rc = all.n <= SUPPRESSIONS_MAX_BYTES
                     ? suppressions_parse(ret, all, &why)
                     : err_set(&why, EXIT_INPUT, "more than 16 MiB is no list of known leaks");
        reader_close(&in);
        if (rc != 0)
            return err_set(err, why.code, "%s: %s", files->at[i], why.text);
    }
    return 0;
}

static int write_story(const struct cmd_heap_opts *o, const struct input *in, const char *subject,
                       struct err *err)
{
    struct heapstory story;
    struct publish file;
    struct suppressions known = {0};
    struct heapstory_view v = {&story, subject, (size_t)o->top};
    if (read_suppressions(&o->suppressions, &known, err) != 0) {
        suppressions_done(&known);
        return -1;
    }
    int rc = heapstory_build(&story, in->profile, o->suppressions.n ? &known : NULL, err);
    if (rc == 0 && o->time)
        rc = heapstory_between(&story, o->time, err);
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        print_story(file.out, o, &v);
        rc = publish_commit(&file, err);
    }
    heapstory_done(&story);
    suppressions_done(&known);
    return rc;
}

static int heap_run(const struct command *self, int n, char **args)
{
    struct cmd_heap_opts o = {.output = OUTPUT_DEFAULTS, .top = 10};
    struct story_opts with = {&o, &o.input, &o.output};
    struct opt_result operands;
    struct input in;
    struct err err;
    int rc = story_open(self, &with, n, args, &operands, &in);
    return rc >= 0 ? rc : story_close(&in, write_story(&o, &in, operands.operands[0], &err), &err);
}

const struct command command_heap = {
    .name = "heap",
    .summary = "show where the memory goes: peak, leaks, growth, churn",
    .operands = "RECORDING",
    .about =
        "Shows what 'kelvin record --heap' recorded: how much memory the program held at most and "
        "when, who held it then, what was never freed, what keeps growing, who allocates most, how "
        "large blocks are and how long they live. Insights say what stands out and what to try.\n"
        "\n"
        "A function is named as the place of an allocation when it does more than allocate for "
        "others: behind operator new, containers and strdup stands their caller. Report, flame, "
        "fold "
        "and diff show the same numbers with whole call stacks: use their --value allocations, "
        "allocated, frees, freed, leaked, leaked_blocks, peak or temporary.\n"
        "\n"
        "Memory that is still held when the program ends counts as never freed, whether it was "
        "forgotten or kept on purpose. Temporary are blocks that the same thread frees before its "
        "next allocation. The HTML page has a chart of the heap and RSS over time.\n"
        "\n"
        "Files of heaptrack, massif, DHAT and LeakSanitizer are shown as well: what such a file "
        "does not know is left out.",
    .examples = "kelvin heap app.kelvin                      # in the terminal\n"
                "kelvin heap app.kelvin --suppressions known-leaks.supp   # without known leaks\n"
                "kelvin heap app.kelvin -o heap.html         # one page, with a chart over time\n"
                "kelvin flame app.kelvin --value leaked -o leaks.svg   # who asked for it",
    .opts = heap_table,
    .run = heap_run,
};
