/*
 * scopes.c - how long the scopes of a program took.
 */
#include "base/publish.h"
#include "cmd/story.h"
#include "view/scopetree.h"

#include <sys/stat.h>

struct cmd_scopes_opts {
    struct input_opts input;
    struct output_opts output;
    const char *by;
    long top;
    struct scopetree tree;
    bool begun, in_parts; /* spans are summed up while the file is read */
    struct scopecpu *cpu; /* NULL = nothing was sampled */
};

static const struct opt scopes_table[] = {
    OUTPUT_OPTS(struct cmd_scopes_opts, "text md json csv html", "text, md, json, csv or html"),
    {0, "by", OPT_TEXT, offsetof(struct cmd_scopes_opts, by), "ATTRIBUTE",
     "also show a table with a row for each value of this attribute; thread: for each name of "
     "a thread"},
    {0, "top", OPT_INT, offsetof(struct cmd_scopes_opts, top), "N",
     "rows of each table (default: 30)", .min = 1, .max = 1000000},
    SELECTION_OPTS(struct cmd_scopes_opts),
    {.name = "from",
     .kind = OPT_TEXT,
     .offset = offsetof(struct cmd_scopes_opts, input.from),
     .arg = "FORMAT",
     .help = "the input's format (default: recognised by its content)"},
    {.name = "strict",
     .kind = OPT_FLAG,
     .offset = offsetof(struct cmd_scopes_opts, input.strict),
     .help = "fail on the first malformed line or record"},
    PUBLIC_OPTS(struct cmd_scopes_opts),
    OPT_END,
};

static void print_scopes(FILE *out, const struct cmd_scopes_opts *o, const struct scopetree_view *v)
{
    const char *format = output_format(&o->output);
    struct document_paper paper = output_paper(&o->output);
    if (strcmp(format, "json") == 0)
        scopetree_print_json(out, v);
    else if (strcmp(format, "csv") == 0)
        scopetree_print_csv(out, v);
    else
        scopetree_print(out, v, &paper);
}

/* --- a recording of any length in little memory --- */

/* Intervals and selections look at spans again: then they stay in memory. */
static bool may_be_summed_at_once(const struct cmd_scopes_opts *o)
{
    const struct input_opts *in = &o->input;
    return strcmp(output_format(&o->output), "json") != 0 && !in->time && !in->threads.n &&
           !in->processes.n && !in->where.n && !in->scopes.n && !in->focus.n && !in->ignore.n &&
           !in->hide.n && !in->merge_recursion && !in->collapse_modules.n &&
           !in->collapse_recursion.n && !in->subtree && strcmp(in->event, "scopes") == 0;
}

static bool take_scopes(void *to, const struct profile *p, int stream)
{
    struct cmd_scopes_opts *o = to;
    struct value_ref self = {stream, 1};
    const struct stream *s = profile_stream(p, stream);
    if (scopetree_stream(p) != stream || s->n_types < 2 || !may_be_summed_at_once(o))
        return false;
    if (!o->begun)
        scopetree_begin(&o->tree, o->by);
    o->begun = o->in_parts = true;
    struct selection all = selection_all(p, self);
    scopetree_add(&o->tree, &all);
    return true;
}

static int sum_up(struct cmd_scopes_opts *o, const struct input *in, struct err *err)
{
    if (o->in_parts)
        return scopetree_end(&o->tree, &in->selection, err);
    o->begun = true;
    return scopetree_build(&o->tree, &in->selection, o->by, err);
}

/* --- CPU samples --- */

/* The second time that the file is read: samples are known now. */
static bool cover_samples(void *to, const struct profile *p, int stream)
{
    struct cmd_scopes_opts *o = to;
    if (scopetree_stream(p) != stream)
        return false;
    struct selection all = selection_all(p, (struct value_ref){stream, 1});
    scopecpu_add(o->cpu, &all);
    return true;
}

/* Spans that were not kept are read again; false where that cannot be. */
static bool read_spans_again(struct cmd_scopes_opts *o, const char *path)
{
    struct import_opts want = {.format = o->input.from, .rows = {cover_samples, o}};
    struct profile *p = NULL;
    struct import im;
    struct err ignored;
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    bool done = import_file(&im, path, &want, &p, &ignored) == 0;
    import_done(&im);
    profile_free(p);
    return done;
}

static void join_samples(struct cmd_scopes_opts *o, const struct input *in,
                         struct selection *samples, const char *path)
{
    struct value_ref ref;
    if (!scopecpu_find(in->profile, &ref))
        return;
    *samples = selection_all(in->profile, ref);
    o->cpu = scopecpu_new(samples);
    if (!o->in_parts)
        scopecpu_add(o->cpu, &in->selection);
    else if (!read_spans_again(o, path)) {
        scopecpu_free(o->cpu);
        o->cpu = NULL;
        return;
    }
    scopecpu_end(o->cpu, &o->tree);
}

static int write_scopes(struct cmd_scopes_opts *o, const struct input *in, const char *subject,
                        struct err *err)
{
    struct publish file;
    struct scopetree_view v = {&o->tree, subject, o->by, (size_t)o->top, NULL};
    struct selection samples;
    int rc = sum_up(o, in, err);
    if (rc == 0)
        join_samples(o, in, &samples, subject);
    v.cpu = o->cpu;
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        print_scopes(file.out, o, &v);
        rc = publish_commit(&file, err);
    }
    return rc;
}

static int scopes_run(const struct command *self, int n, char **args)
{
    struct cmd_scopes_opts o = {
        .output = OUTPUT_DEFAULTS,
        .input.event = "scopes",
        .input.value = "self",
        .input.no_event =
            "there are no scopes in this profile: put KELVIN_SCOPE(\"name\") of kelvin.h into the "
            "program, and record it with 'kelvin record -- COMMAND'",
        .top = 30,
    };
    struct story_opts with = {&o, &o.input, &o.output, {.rows = {take_scopes, &o}}};
    struct opt_result operands;
    struct input in;
    struct err err;
    int rc = story_open(self, &with, n, args, &operands, &in);
    if (rc < 0)
        rc = story_close(&in, write_scopes(&o, &in, operands.operands[0], &err), &err);
    if (o.begun)
        scopetree_done(&o.tree);
    scopecpu_free(o.cpu);
    return rc;
}

const struct command command_scopes = {
    .name = "scopes",
    .summary = "show how long a program's own scopes took: calls, totals, percentiles",
    .operands = "RECORDING",
    .about =
        "Shows the scopes that a program names with KELVIN_SCOPE() of kelvin.h: how often each "
        "ran, its total and self time, and how long it took: min, mean, median, 90th, 99th and "
        "99.9th percentile, max. The first table nests scopes as the program did; the second sums "
        "them up by name. With --by a table has a row for each value of an attribute: --by index "
        "for KELVIN_SCOPE(\"layer\", \"index\", i). The slowest span of each scope follows with "
        "its attributes, then the CPU samples in each scope and the functions that ran there, then "
        "counters and gauges. --by thread has a row for each name of a thread.\n"
        "\n"
        "In a recording made with --heap each scope has its allocations and their bytes, those of "
        "the scopes inside included. In a recording made with --waits the slowest spans show what "
        "they waited for.\n"
        "\n"
        "Times are wall time: a scope that waits takes time as well. Percentiles are accurate to "
        "1%. "
        "The tables leave out a percentile that needs more spans than there are. JSON has the 95% "
        "intervals of the percentiles, widened for correlation between consecutive spans and "
        "for lost ones (high is null where there are too few spans to bound it), and the largest "
        "difference between the processor's counter and the clock.\n"
        "\n"
        "'kelvin record' records scopes whenever the program has some. Report, flame, fold "
        "and annotate show the CPU samples inside a scope with --scope NAME.",
    .examples = "kelvin scopes app.kelvin                    # in the terminal\n"
                "kelvin scopes app.kelvin --by index         # a row for each layer\n"
                "kelvin scopes app.kelvin -o scopes.html     # with drawings of the latencies\n"
                "kelvin report app.kelvin --scope decode     # CPU samples in that scope only\n"
                "kelvin record --heap -- ./app && kelvin scopes app.kelvin  # and allocations",
    .opts = scopes_table,
    .run = scopes_run,
};
