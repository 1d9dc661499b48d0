/*
 * locks.c - which locks a program waited for.
 */
#include "base/publish.h"
#include "cmd/story.h"
#include "view/lockstory.h"

struct cmd_locks_opts {
    struct input_opts input;
    struct output_opts output;
    long top;
};

static const struct opt locks_table[] = {
    OUTPUT_OPTS(struct cmd_locks_opts, "text md json html", "text, md, json or html"),
    {0, "top", OPT_INT, offsetof(struct cmd_locks_opts, top), "N", "locks to show (default: 10)",
     .min = 1, .max = 10000},
    {.name = "strict",
     .kind = OPT_FLAG,
     .offset = offsetof(struct cmd_locks_opts, input.strict),
     .help = "fail on the first malformed line or record"},
    PUBLIC_OPTS(struct cmd_locks_opts),
    OPT_END,
};

static void print_lockstory(FILE *out, const struct cmd_locks_opts *o,
                            const struct lockstory_view *v)
{
    const char *format = output_format(&o->output);
    struct document_paper paper = output_paper(&o->output);
    if (strcmp(format, "json") == 0)
        lockstory_print_json(out, v);
    else
        lockstory_print(out, v, &paper);
}

static int write_locks(const struct cmd_locks_opts *o, const struct input *in, const char *subject,
                       struct err *err)
{
    struct lockstory story;
    struct publish file;
    struct lockstory_view v = {&story, subject, (size_t)o->top};
    int rc = lockstory_build(&story, in->profile, err);
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        print_lockstory(file.out, o, &v);
        rc = publish_commit(&file, err);
    }
    lockstory_done(&story);
    return rc;
}

static int locks_run(const struct command *self, int n, char **args)
{
    struct cmd_locks_opts o = {.output = OUTPUT_DEFAULTS, .top = 10};
    /* Who only waits has no sample of CPU time; that nobody waited is an answer, too. */
    struct story_opts with = {&o, &o.input, &o.output, {.empty_too = true}};
    struct opt_result operands;
    struct input in;
    struct err err;
    int rc = story_open(self, &with, n, args, &operands, &in);
    return rc >= 0 ? rc : story_close(&in, write_locks(&o, &in, operands.operands[0], &err), &err);
}

const struct command command_locks = {
    .name = "locks",
    .summary = "show which locks a program waited for, who waited and who held them",
    .operands = "RECORDING",
    .about =
        "Shows what 'kelvin record --locks' recorded: for each lock how often and how long threads "
        "waited for it, with the call stacks of the threads that waited and of those that held it. "
        "Insights name convoys (threads that queue for one lock) and locks that are taken in "
        "opposite orders, which can deadlock even if they did not this time.\n"
        "\n"
        "A lock is listed by the name of its variable, by the name that the program gave it with "
        "kelvin_lock_name() of kelvin.h, or by its address. The holder is the thread that "
        "had the lock when the wait began, shown with the stack at which it released the lock. A "
        "lock that nobody waited for is not listed.\n"
        "\n"
        "Report, flame and fold show the waits with whole call stacks: use their --value "
        "lock-wait for the threads that waited and lock-blocked for those that held a lock.",
    .examples = "kelvin locks app.kelvin                     # in the terminal\n"
                "kelvin locks app.kelvin -o locks.json       # for programs\n"
                "kelvin flame app.kelvin --value lock-wait -o waits.svg   # who waited, from where",
    .opts = locks_table,
    .run = locks_run,
};
