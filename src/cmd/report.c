/*
 * report.c - what a profile says, in words and tables.
 */
#include "view/report.h"
#include "analysis/diff.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/output.h"
#include "cmd/view_start.h"
#include "suite/hotcode.h"
#include "view/viewer.h"
#include "view/waitsum.h"

enum { MOST_RECORDINGS = 64 };

struct cmd_report_opts {
    struct input_opts input;
    struct output_opts output;
    const char *by, *callers;
    long top;
    bool waits;
};

#define AT(field) offsetof(struct cmd_report_opts, field)

static const struct opt report_table[] = {
    OUTPUT_OPTS(struct cmd_report_opts, "text md json html", "text, md, json or html"),
    {0, "top", OPT_INT, AT(top), "N", "rows of each table (default: 15)", .min = 1, .max = 10000},
    {0, "by", OPT_TEXT, AT(by), "WHAT",
     "one table instead: by function, module, file, line, thread, process, scope, pid, tid, state, "
     "reason, or the name of a label: command, user, cgroup, container",
     "function module file line thread process scope pid tid state reason command user cgroup "
     "container"},
    {0, "callers", OPT_TEXT, AT(callers), "FUNCTION",
     "only this function: who calls it and what it calls"},
    {0, "waits", OPT_FLAG, AT(waits), NULL,
     "off-CPU time instead: by reason, by thread, and where (of 'kelvin record --waits')"},
    PUBLIC_OPTS(struct cmd_report_opts),
    SELECTION_OPTS(struct cmd_report_opts),
    INPUT_OPTS(struct cmd_report_opts),
    OPT_END,
};

/* With the page to explore the recording in it, where that is built and can hold the recording. */
static void report_print_page(FILE *out, const struct cmd_report_opts *o, const struct report *r)
{
    enum { ROWS_MAX = 2000000 }; /* beyond it a report would be more page than report */
    const struct profile *p = r->selection->profile;
    autobuf struct buf start = {0};
    struct err ignored;
    view_add_start(&start, &o->input);
    struct viewer_opts opts = {
        .profiles = {p}, .n = 1, .still = r->selection, .start = buf_cstr(&start)};
    struct viewer *v = viewer_is_built() && r->opts.n_runs < 2 && profile_count_rows(p) <= ROWS_MAX
                           ? viewer_new(&opts, &ignored)
                           : NULL;
    report_print_html(out, r, v ? viewer_print_packed : NULL, v);
    viewer_free(v);
}

static void report_print(FILE *out, const struct cmd_report_opts *o, const struct report *r)
{
    const char *format = output_format(&o->output);
    if (strcmp(format, "json") == 0)
        report_print_json(out, r);
    else if (strcmp(format, "md") == 0)
        report_print_markdown(out, r);
    else if (strcmp(format, "html") == 0)
        report_print_page(out, o, r);
    else
        report_print_text(out, r, output_width(&o->output), output_in_colour(&o->output));
}

static enum flat_by by_of(const char *name)
{
    return strcmp(name, "module") == 0     ? FLAT_MODULE
           : strcmp(name, "thread") == 0   ? FLAT_THREAD
           : strcmp(name, "line") == 0     ? FLAT_LINE
           : strcmp(name, "file") == 0     ? FLAT_FILE
           : strcmp(name, "function") == 0 ? FLAT_FUNCTION
                                           : FLAT_LABEL;
}

/* Functions below this share are not looked into: the code of large programs takes its time. */
#define LEAST_OF_CODE 0.05

/* The program that was run, without its folder; "" where that is not known. */
static struct text report_program_of(const struct input *in)
{
    const char *command = meta_find(&in->profile->meta, META_COMMAND);
    struct text rest = text_of(command ? command : ""), word = text_cut(&rest, ' ');
    const char *slash = word.n ? memrchr(word.at, '/', word.n) : NULL;
    return slash ? (struct text){slash + 1, (size_t)(word.at + word.n - slash - 1)} : word;
}

/* Means over unlike recordings would be shares of nothing. */
static int compare_recordings(const struct input *in, const struct selection *const *runs,
                              char *const *paths, size_t n, struct err *err)
{
    autobuf struct buf reasons = {0};
    struct text first = report_program_of(&in[0]);
    for (size_t i = 1; i < n; i++) {
        struct text other = report_program_of(&in[i]);
        if (first.n && other.n && (first.n != other.n || memcmp(first.at, other.at, first.n) != 0))
            return err_set(err, EXIT_ERROR,
                           "these are recordings of different programs, '%.*s' and '%.*s': report "
                           "on one at a time",
                           TEXT_ARG(first), TEXT_ARG(other));
    }
    diff_unlike(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = n}, &reasons);
    if (!reasons.n && !input_repeated(in, paths, n, &reasons))
        return 0;
    return err_set(err, EXIT_ERROR, "cannot average these recordings: %.*s",
                   (int)strcspn(buf_cstr(&reasons), "\n"), buf_cstr(&reasons));
}

/* What to type for it, behind advice that says what to do. */
static void end_advice(struct report *r)
{
    static const struct {
        const char *id, *end;
        const char *special; /* behind advice that is not the rule's; NULL = nothing */
    } ends[] = {
        {"waiting", "Use 'kelvin record --waits', then 'kelvin report --waits'.",
         "'kelvin report --waits' prints it."},
        {"few-samples", "'kelvin record --rate' sets it.", NULL},
        {"lost-samples", "'kelvin record --rate' sets it.", NULL},
        {"bursts", "'kelvin record --rate' sets it.", NULL},
        {"hot", "--callers FUNCTION lists them.", NULL},
        {"flat-profile", "--by module prints it.", NULL},
    };
    for (size_t i = 0; i < r->insights.at.n; i++) {
        struct insight *in = &r->insights.at.at[i];
        bool usual = strcmp(in->advice, in->rule->advice) == 0;
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            const char *end = usual ? ends[k].end : ends[k].special;
            if (!end || strcmp(in->rule->id, ends[k].id) != 0)
                continue;
            char *whole = mem_printf("%s %s", in->advice, end);
            free(in->advice);
            in->advice = whole;
        }
    }
}

/* A label that nothing has may be a misspelt word of the option's. */
static void suggest_by(const char *by, struct err *err)
{
    static const char *const words[] = {
        "function", "module", "file",   "line",    "thread", "process", "scope",     "pid",
        "tid",      "state",  "reason", "command", "user",   "cgroup",  "container", NULL};
    const char *near = by_of(by) == FLAT_LABEL ? opt_nearest(by, words) : NULL;
    if (near && strcmp(near, by) != 0)
        err_set(err, EXIT_ERROR, "no table by '%s'; did you mean '%s'?", by, near);
}

static int write_report(const struct cmd_report_opts *o, const struct input *in, char *const *paths,
                        size_t n, struct err *err)
{
    const struct selection *runs[MOST_RECORDINGS];
    for (size_t i = 0; i < n; i++)
        runs[i] = &in[i].selection;
    if (n > 1 && compare_recordings(in, runs, paths, n, err) != 0)
        return -1;
    struct report_opts opts = {
        .top = (size_t)o->top,
        .callers = o->callers,
        .has_by = o->by != NULL,
        .by = o->by ? by_of(o->by) : FLAT_FUNCTION,
        .by_key = o->by,
        .runs = runs,
        .n_runs = n,
    };
    struct hotcode code = {0};
    if (!o->by && !o->callers)
        hotcode_read_profile(&code, &in->selection,
                             &(struct hotcode_opts){.least = LEAST_OF_CODE,
                                                    .find = input_find_file,
                                                    .where = &o->input});
    opts.code = code.rows.at;
    opts.n_code = code.rows.n;
    struct report r;
    struct publish file;
    int rc = report_build(&r, &in->selection, &opts, err);
    if (rc == 0)
        end_advice(&r);
    else if (o->by)
        suggest_by(o->by, err);
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        report_print(file.out, o, &r);
        rc = publish_commit(&file, err);
    }
    report_done(&r);
    hotcode_done(&code);
    return rc;
}

/* What leaves the terminal names programs without their arguments. */
static void report_make_public(const struct cmd_report_opts *o, struct input *in, size_t n)
{
    for (size_t i = 0; strcmp(output_format(&o->output), "text") != 0 && i < n; i++)
        input_make_public(&in[i], &o->input);
}

static int report_on_several(const struct cmd_report_opts *o, char **paths, size_t n,
                             const struct import_opts *want)
{
    struct err err = {0};
    struct input *in = mem_calloc(n, sizeof *in);
    int rc = EXIT_OK;
    if (n > MOST_RECORDINGS || o->by || o->callers) {
        err_set(&err, EXIT_ERROR,
                n > MOST_RECORDINGS ? "at most %d recordings at a time"
                                    : "--by and --callers take one recording",
                MOST_RECORDINGS);
        rc = command_fail(&err);
    } else if ((rc = input_load_all(in, paths, n, &o->input, want)) == EXIT_OK) {
        report_make_public(o, in, n);
        rc = write_report(o, in, paths, n, &err) != 0 ? command_fail(&err) : EXIT_OK;
    }
    for (size_t i = 0; i < n; i++)
        input_done(&in[i]);
    free(in);
    return rc;
}

/* --- waits --- */

static void report_print_waits(FILE *out, const struct cmd_report_opts *o,
                               const struct waitsum_view *v)
{
    const char *format = output_format(&o->output);
    struct document_paper paper = output_paper(&o->output);
    if (strcmp(format, "json") == 0)
        waitsum_print_json(out, v);
    else
        waitsum_print(out, v, &paper);
}

/*
 * The states of the threads that are asked for. None, and no error, where single stacks or rows
 * are: states know nothing of these.
 */
static int select_states(const struct input *in, const struct input_opts *asked, int stream,
                         struct selection *ret, bool *ret_has, struct err *err)
{
    struct input_opts of_threads = {.event = NULL};
    of_threads.time = asked->time;
    of_threads.last = asked->last;
    of_threads.threads = asked->threads;
    of_threads.processes = asked->processes;
    of_threads.where = asked->where;
    *ret_has = !asked->scopes.n && !asked->focus.n && !asked->ignore.n && !asked->subtree;
    if (!*ret_has)
        return 0;
    int rc = input_select_value(in, &of_threads, (struct value_ref){stream, 0}, ret, err);
    *ret_has = rc == 0;
    return asked->where.n ? 0 : rc; /* of rows of waits, and not of their processes */
}

/* The waits that are asked for, and the states of their threads. */
static int write_waits(const struct cmd_report_opts *o, const struct input *in, const char *subject,
                       struct err *err)
{
    struct waitsum sum;
    struct selection states;
    struct publish file;
    struct waitstream streams;
    struct parallel parallel = {0};
    struct waitsum_view v = {&sum, subject, (size_t)o->top, &parallel};
    bool has_states;
    if (!waitstream_find(in->profile, &streams))
        return err_set(err, EXIT_INPUT, "%s", o->input.no_event);
    if (select_states(in, &o->input, streams.states, &states, &has_states, err) != 0)
        return -1;
    int rc = waitsum_build(&sum, &in->selection, has_states ? &states : NULL, err);
    if (has_states)
        parallel_build(&parallel, &states, &in->selection);
    if (rc == 0 && (rc = publish_open(&file, o->output.path, err)) == 0) {
        report_print_waits(file.out, o, &v);
        rc = publish_commit(&file, err);
    }
    waitsum_done(&sum);
    if (has_states)
        selection_done(&states);
    return rc;
}

static int report_on_waits(struct cmd_report_opts *o, const struct opt_result *operands)
{
    struct input in;
    struct err err;
    if (o->by || o->callers || o->input.event || o->input.value) {
        err_set(&err, EXIT_ERROR,
                "--waits cannot be combined with --by, --callers, --event or --value");
        return command_fail(&err);
    }
    o->input.event = stream_kind_event(STREAM_WAITS);
    o->input.no_event =
        "there are no waits in this profile: record them with 'kelvin record --waits -- "
        "COMMAND'";
    int rc = input_load(&in, operands, &o->input, &(struct import_opts){0});
    if (rc != EXIT_OK)
        return rc;
    report_make_public(o, &in, 1);
    rc = write_waits(o, &in, operands->operands[0], &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

static int report_run(const struct command *self, int n, char **args)
{
    struct cmd_report_opts o = {.output = OUTPUT_DEFAULTS, .top = 15};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err = {0};
    struct import_opts want = {.addresses = o.by && by_of(o.by) == FLAT_LINE};
    size_t n_files = (size_t)operands.n_operands;
    if (o.waits)
        return report_on_waits(&o, &operands);
    if (n_files > 1)
        return report_on_several(&o, operands.operands, n_files, &want);
    struct input in;
    o.input.overloads = true;
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    input_tell_others(&in, &o.input);
    input_tell_events(&in, &o.input);
    report_make_public(&o, &in, 1);
    rc = write_report(&o, &in, NULL, 1, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_report = {
    .name = "report",
    .summary = "show where the time goes, with intervals, and what to try",
    .operands = "PROFILE...",
    .about =
        "Lists the hot functions with self time and total time (self + callees), the hot paths, "
        "modules and threads, and says in words what stands out and what to try. Every share comes "
        "with the half-width of its 95% interval, '5.0% ±1.4', or with both ends of a lopsided "
        "one, '1.9% (0.3-11.0)', and with the time it stands for. The interval is widened for "
        "correlation between consecutive samples.\n\n"
        "A sample counts once for a function, however often the function is on its stack. An "
        "insight is given only where its share is beyond sampling error, if the input says how "
        "many samples it has.\n\n"
        "With several recordings of one program, shares are means over them and intervals come "
        "from how much the recordings differ. The intervals of one recording cover sampling error "
        "only.\n\n"
        "With --waits the report is about off-CPU time, if 'kelvin record --waits' recorded it: "
        "by reason (lock, condition, sleep, poll, pipe, socket, file, fsync, page fault...), by "
        "thread, the stacks that wait longest, and who ended the waits. Running, runnable, blocked "
        "and unknown add up "
        "to "
        "the wall time of each thread. A last part says how parallel the program was: how many "
        "threads ran at once, which ran alone, and what the others waited for meanwhile. '--value "
        "wall' shows running and waiting in one tree. A thread is runnable when it was preempted, "
        "was woken and has no CPU yet, or has not run yet. Where wakers were not recorded, blocked "
        "time includes the wait for a CPU after waking up.\n\n"
        "The HTML page is complete in itself, with the flame graph inside. A click on the title of "
        "a column sorts its table. Pages, Markdown and JSON show the recorded program without its "
        "arguments, unless --arguments asks for them.",
    .examples = "kelvin report app.kelvin                    # in the terminal\n"
                "kelvin report app.kelvin -o report.html     # one page, to explore too\n"
                "kelvin report a1.kelvin a2.kelvin a3.kelvin # means over recordings\n"
                "kelvin report app.kelvin --callers malloc   # who calls it, what it calls\n"
                "kelvin report app.kelvin --by line --top 30 # the hottest source lines\n"
                "kelvin report app.kelvin --waits            # what it waits for, and where",
    .opts = report_table,
    .run = report_run,
};
