/*
 * record.c - sample a command or a running process.
 */
#include "cmd/record.h"
#include "cmd/command.h"
#include "symbol/symbolize.h"

#include <signal.h>
#include <sys/wait.h>

#define AT(field) offsetof(struct record_opts, field)

static const struct opt record_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE",
     "write the recording to FILE (default: the command's name with .kelvin)"},
    {'F', "rate", OPT_NUMBER, AT(rate_hz), "HZ",
     "samples per second of CPU time, or up to 10% more (default: 999)", .alias = "freq", .min = 1,
     .max = 1000000},
    {'e', "event", OPT_TEXT, AT(event), "EVENT",
     "what to sample: cycles, cpu-clock, cache-misses, page-faults, GROUP:TRACEPOINT... "
     "(default: cycles where there are any, else cpu-clock)"},
    {'p', "pid", OPT_INT, AT(pid), "PID", "attach to a process that runs, with all its threads",
     .min = 1, .max = 4194304},
    {'d', "duration", OPT_NUMBER, AT(duration_s), "SECONDS",
     "end after SECONDS; a command is then sent SIGTERM (default: when it ends)", .min = 0.001,
     .max = 1e7},
    {0, "engine", OPT_CHOICE, AT(engine), "ENGINE",
     "perf (perf_event_open), timer (inside the program), or auto: the first that works here "
     "(default: auto)",
     "auto perf timer"},
    {0, "user-only", OPT_FLAG, AT(user_only), NULL, "leave out the kernel's part"},
    {0, "stack-size", OPT_INT, AT(stack_bytes), "BYTES",
     "how much of each stack to copy at most; 16384 where that is enough (default: 65528)",
     .min = 1024, .max = 65528},
    {0, "min-samples", OPT_INT, AT(min_samples), "N",
     "publish nothing with fewer than N samples (default: 200)", .min = 0, .max = 1e9},
    {0, "strict", OPT_FLAG, AT(strict), NULL,
     "publish nothing with over 1% of samples lost or stacks unfinished, or 10% of frames "
     "unnamed"},
    {0, "allow-partial", OPT_FLAG, AT(allow_partial), NULL,
     "publish even so, with the label 'partial'"},
    {'q', "quiet", OPT_FLAG, AT(quiet), NULL, "print nothing but errors"},
    OPT_END,
};

/* "app.kelvin" of "./bin/app". */
static char *default_output(const struct record_opts *o, char **command)
{
    if (!command)
        return mem_printf("%ld.kelvin", o->pid);
    const char *slash = strrchr(command[0], '/');
    return mem_printf("%s.kelvin", slash && slash[1] ? slash + 1 : command[0]);
}

static int check(const struct record_opts *o, char **command, struct err *err)
{
    if (!command && !o->pid)
        return err_set(err, EXIT_OWN, "record: what? 'kelvin record -- ./app', or -p PID");
    if (o->event && strchr(o->event, ','))
        return err_set(err, EXIT_OWN, "record: one event at a time, not '%s'", o->event);
    if (command && o->pid)
        return err_set(err, EXIT_OWN, "record: give a command or -p PID, not both");
    return 0;
}

static struct recorder_opts recorder_opts(const struct record_opts *o, char **command)
{
    return (struct recorder_opts){
        .engine = {.rate_hz = o->rate_hz,
                   .events = &o->event,
                   .n_events = o->event != NULL,
                   .stack_bytes = o->stack_bytes,
                   .user_only = o->user_only,
                   .engine = o->engine},
        .output = o->output,
        .command = command,
        .pid = (int)o->pid,
        .duration_s = o->duration_s,
        .status = !o->quiet && isatty(STDERR_FILENO) ? record_status : NULL,
    };
}

/* Our own failures must not look like the command's. */
static int own_failure(struct err *err)
{
    if (err->code == EXIT_ERROR)
        err->code = EXIT_OWN;
    return command_fail(err);
}

/* What to exit with when OURS is our own result: the command's failure is never masked. */
static int exit_code(const struct recorder *r, int ours)
{
    if (!r->exited)
        return ours;
    bool asked = r->end == END_DURATION && WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGTERM;
    if (WIFSIGNALED(r->status) && !asked)
        return 128 + WTERMSIG(r->status);
    if (WIFEXITED(r->status) && WEXITSTATUS(r->status))
        return WEXITSTATUS(r->status);
    return ours;
}

/* Names, labels, gates, and the file in its place. */
static int finish(struct recorder *r, const struct record_opts *o, struct err *err)
{
    struct symbolize_opts names = {.locate = processes_locate, .locate_arg = r->processes};
    symbolize(r->profile, &names);
    struct quality q = quality_of(r->profile, r->profile->default_type);
    if (record_gate(r, o, &q, err) != 0) {
        if (!o->allow_partial)
            return -1;
        meta_set_str(&r->profile->meta, META_PARTIAL, err->text);
    }
    record_label_end(r, &q);
    if (recorder_publish(r, err) != 0)
        return -1;
    if (!o->quiet)
        record_summary(r, &q);
    return 0;
}

static int run_and_finish(struct recorder *r, const struct record_opts *o)
{
    struct err err;
    int rc = recorder_run(r, &err);
    if (r->opts.status)
        record_status_clear();
    if (rc == 0 && finish(r, o, &err) == 0)
        return exit_code(r, EXIT_OK);
    int ours = own_failure(&err);
    if (rc != 0)
        command_say("what was recorded until then is in '%s'", r->part_path);
    return exit_code(r, ours);
}

static int record(const struct record_opts *o, char **command, const struct record_host *host)
{
    struct recorder_opts ro = recorder_opts(o, command);
    struct recorder r;
    struct err err;
    bool started = recorder_start(&r, &ro, &err) == 0;
    if (started)
        record_label_start(&r, o, host);
    int rc = started ? run_and_finish(&r, o) : own_failure(&err);
    recorder_done(&r, r.end == END_WRITE);
    return rc;
}

static int record_run(const struct command *self, int n, char **args)
{
    struct record_opts o = {
        .rate_hz = 999, .engine = "auto", .min_samples = 200, .stack_bytes = 65528};
    struct opt_result operands;
    struct err err;
    struct record_host host = {.args = args, .n_args = opt_front(self->opts, n, args)};
    int rc = command_parse(self, &o, host.n_args, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_OWN : EXIT_OK;
    char **command = host.n_args < n ? args + host.n_args : NULL;
    if (check(&o, command, &err) != 0)
        return own_failure(&err);
    autofree char *output = o.output ? mem_strdup(o.output) : default_output(&o, command);
    o.output = output;
    fingerprint_read(&host.fingerprint, "");
    provenance_read(&host.provenance);
    return record(&o, command, &host);
}

const struct command command_record = {
    .name = "record",
    .summary = "sample a command or a running process",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .about =
        "Runs the command and looks, many times a second of its CPU time, at what it and all it "
        "starts are doing: the whole call stack, in the program and in the kernel. Programs need "
        "no frame pointers and no special build. With -p a running process is sampled instead, "
        "until it ends, the time is over or Ctrl-C.\n"
        "\n"
        "The recording grows beside its target as FILE.part, every second; if kelvin is killed, "
        "that opens like any recording. At the end functions get their names and FILE.part "
        "becomes FILE. A run with too few samples, or one that fails --strict, leaves FILE as it "
        "was and exits with 3.\n"
        "\n"
        "The exit code is the command's own where it failed (128 + N if signal N killed it); "
        "125 if kelvin itself failed, 126 if the command cannot be run, 127 if there is none.",
    .examples = "kelvin record -- ./app --args           # writes app.kelvin\n"
                "kelvin record -p 1234 -d 10             # a running process, for ten seconds\n"
                "kelvin record -e page-faults -- ./app   # who touches new memory?",
    .opts = record_table,
    .run = record_run,
};
