/*
 * heap.c - what happened on the heap of a recording.
 */
#include "base/publish.h"
#include "cmd/story.h"
#include "suite/knownleaks.h"
#include "view/heapstory.h"

struct cmd_heap_opts {
    struct input_opts input;
    struct output_opts output;
    struct opt_list suppressions;
    /* Of the heap alone: there may be no CPU sample in it. */
    const char *time;
    struct opt_list threads, processes;
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
    {.name = "process",
     .kind = OPT_LIST,
     .offset = offsetof(struct cmd_heap_opts, processes),
     .arg = "NAME",
     .help = "only allocations of processes whose executable or first thread matches, or with this "
             "id; may be repeated"},
    {.name = "thread",
     .kind = OPT_LIST,
     .offset = offsetof(struct cmd_heap_opts, threads),
     .arg = "NAME",
     .help = "only allocations of threads whose name matches this regular expression, or with this "
             "id; may be repeated"},
    {.name = "suppressions",
     .kind = OPT_LIST,
     .offset = offsetof(struct cmd_heap_opts, suppressions),
     .arg = "FILE",
     .help = "leave out known leaks: FILE is a list for Valgrind or LeakSanitizer; may be "
             "repeated"},
    {.name = "from",
     .kind = OPT_TEXT,
     .offset = offsetof(struct cmd_heap_opts, input.from),
     .arg = "FORMAT",
     .help = "the input's format (default: recognised by its content)"},
    {.name = "strict",
     .kind = OPT_FLAG,
     .offset = offsetof(struct cmd_heap_opts, input.strict),
     .help = "fail on the first malformed line or record"},
    PUBLIC_OPTS(struct cmd_heap_opts),
    OPT_END,
};

static void print_story(FILE *out, const struct cmd_heap_opts *o, const struct heapstory_view *v)
{
    const char *format = output_format(&o->output);
    struct document_paper paper = output_paper(&o->output);
    if (strcmp(format, "json") == 0)
        heapstory_print_json(out, v);
    else
        heapstory_print(out, v, &paper);
}

static int write_story(const struct cmd_heap_opts *o, const struct input *in, const char *subject,
                       struct err *err)
{
    struct heapstory story;
    struct publish file;
    struct suppressions known = {0};
    struct heapstory_view v = {&story, subject, (size_t)o->top,
                               "'kelvin record --heap=mmap' also shows memory that the program "
                               "maps itself."};
    if (knownleaks_read(o->suppressions.at, o->suppressions.n, &known, err) != 0) {
        suppressions_done(&known);
        return -1;
    }
    struct input_words threads, processes;
    struct selection_opts only = {.threads = input_words(&threads, &o->threads),
                                  .processes = input_words(&processes, &o->processes)};
    int rc = heapstory_build(
        &story, in->profile,
        &(struct heapstory_opts){.known_leaks = o->suppressions.n ? &known : NULL,
                                 .only = o->threads.n || o->processes.n ? &only : NULL},
        err);
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
        "Tables name the function that asked for memory. Allocations by the C and C++ libraries, "
        "by containers and by known wrappers such as xmalloc count for their caller. A function "
        "with an allocator's name and five callers is taken for a wrapper, too. Report, flame, "
        "fold and "
        "diff show the same numbers with whole call stacks: use their --value allocations, "
        "allocated, frees, freed, leaked, leaked_blocks, peak, temporary or (recorded with "
        "--locks) under_lock.\n"
        "\n"
        "Memory that is still held when the program ends counts as never freed, whether it was "
        "forgotten or kept on purpose. Temporary blocks are those that the same thread frees "
        "before its next allocation. --process and --thread select the blocks that these "
        "allocated, even where others free them. The HTML page has a chart of the heap "
        "and RSS over time.\n"
        "\n"
        "Files of heaptrack, massif, DHAT and LeakSanitizer are shown as well. Figures that "
        "such a file does not have are left out.",
    .examples = "kelvin heap app.kelvin                      # in the terminal\n"
                "kelvin heap app.kelvin --suppressions known-leaks.supp   # without known leaks\n"
                "kelvin heap make.kelvin --process cc1        # of one program among several\n"
                "kelvin heap app.kelvin -o heap.html         # one page, with a chart over time\n"
                "kelvin flame app.kelvin --value leaked -o leaks.svg   # who asked for it",
    .opts = heap_table,
    .run = heap_run,
};
