/*
 * record.c - sample a command, a running process, or the machine.
 */
#include "cmd/record.h"
#include "base/path.h"
#include "base/units.h"
#include "base/words.h"
#include "cmd/command.h"
#include "view/viewer.h"

#include <signal.h>
#include <sys/wait.h>

#define LISTEN_TOKEN_ENV "KELVIN_LISTEN_TOKEN"

/* A machine may have very many CPUs, and is looked at for long. */
enum { RATE_HZ = 999, RATE_MACHINE_HZ = 99 };

struct cmd_record_opts {
    struct record_opts take;
    const char *rotate, *keep, *max_size;
};

#define AT(field) offsetof(struct cmd_record_opts, take.field)
#define OWN(field) offsetof(struct cmd_record_opts, field)

static const struct opt record_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE",
     "write the recording to FILE (default: the command's name with .kelvin)"},
    {'F', "rate", OPT_NUMBER, AT(rate_hz), "HZ",
     "samples per second of CPU time; about 10% more where clocks belong to threads (not root, or "
     "in "
     "a container), so as not to fall in step with programs that work in milliseconds "
     "(default: 999; 99 for the machine)",
     .alias = "freq", .min = 1, .max = 1000000},
    {'e', "event", OPT_LIST, AT(events), "EVENT",
     "what to sample: cycles, cpu-clock, cache-misses, page-faults, GROUP:TRACEPOINT... "
     "several separated by commas, or repeat the option (default: cycles where the CPU counts "
     "them, else cpu-clock)"},
    {'p', "pid", OPT_INT, AT(pid), "PID", "attach to a running process, with all its threads",
     .min = 1, .max = 4194304},
    {'a', "all", OPT_FLAG, AT(machine), NULL,
     "the whole machine: every process that runs or starts, the kernel, containers"},
    {0, "cpu", OPT_TEXT, AT(cpus), "LIST", "like -a, but only these CPUs: 0-3,8"},
    {0, "cgroup", OPT_TEXT, AT(cgroup), "NAME",
     "like -a, but only processes in this cgroup, service or container, or below it"},
    {'u', "user", OPT_TEXT, AT(user), "USER", "like -a, but only this user's processes"},
    {'d', "duration", OPT_SECONDS, AT(duration_s), "SECONDS",
     "end after SECONDS; a command is then sent SIGTERM (default: when it ends)", .min = 0.001,
     .max = 1e7},
    {0, "waits", OPT_FLAG, AT(waits), NULL,
     "record off-CPU time as well: every wait, how long it lasts and where it happens"},
    {0, "heap", OPT_OPTIONAL, AT(heap), "sampled[:BYTES][,mmap]",
     "record the heap as well: every allocation, or with =sampled about one per BYTES (default: "
     "524288), for production; with mmap anonymous maps as well; a running process can only be "
     "sampled, by root"},
    {0, "locks", OPT_FLAG, AT(locks), NULL,
     "record waits for locks as well: which lock, who waited, who held it"},
    {0, "engine", OPT_CHOICE, AT(engine), "ENGINE",
     "perf (perf_event_open), timer (inside the program), none (no samples: scopes, heap or locks "
     "alone), or auto: the first of perf and timer that works here (default: auto)",
     "auto perf timer none"},
    {0, "user-only", OPT_FLAG, AT(user_only), NULL, "leave out what runs in the kernel"},
    {0, "stack-size", OPT_INT, AT(stack_bytes), "BYTES",
     "copy at most BYTES of each stack, such as 16384 (default: 65528)", .min = 1024, .max = 65528},
    {0, "min-samples", OPT_INT, AT(min_samples), "N",
     "leave FILE as it was if there are fewer than N samples (default: 0: write FILE, and say that "
     "they are few)",
     .min = 0, .max = 1e9},
    {0, "strict", OPT_FLAG, AT(strict), NULL,
     "leave FILE as it was if more than 1% of the samples are lost, 1% of the stacks unfinished or "
     "10% of the frames unnamed"},
    {0, "allow-partial", OPT_FLAG, AT(allow_partial), NULL,
     "write FILE anyway, labelled 'partial'"},
    {0, "rotate", OPT_TEXT, OWN(rotate), "TIME",
     "begin a new file every TIME (60s, 10m, 1h): FILE.0001.kelvin, FILE.0002.kelvin..., or in a "
     "folder"},
    {0, "keep", OPT_TEXT, OWN(keep), "TIME",
     "with --rotate and a folder: remove recordings that are older than this (24h, 7d)"},
    {0, "max-size", OPT_TEXT, OWN(max_size), "SIZE",
     "with --rotate and a folder: remove the oldest until all take no more than this (2G, 500M)"},
    {0, "listen", OPT_TEXT, AT(listen), "[ADDRESS:]PORT",
     "serve the scopes so far by HTTP: /metrics for Prometheus, /scopes as JSON, / for people "
     "(default address: 127.0.0.1)"},
    {0, "functions", OPT_OPTIONAL, AT(functions), "REGEX",
     "record functions of a program built with -finstrument-functions as scopes: all, or those "
     "whose "
     "name matches"},
    {0, "functions-min", OPT_NUMBER, AT(functions_least_us), "US",
     "leave out functions that took fewer microseconds (default: 0)", .min = 0, .max = 1e9},
    {0, "otlp", OPT_TEXT, AT(otlp), "URL",
     "send spans to an OTLP collector while recording: http://127.0.0.1:4318"},
    {0, "hide-arguments", OPT_FLAG, AT(hide_arguments), NULL,
     "label the recording with the program only: arguments may hold secrets"},
    {0, "pack-source", OPT_OPTIONAL, AT(pack_source), "DIR",
     "put the source files that the recording names into it, if they lie below the project's "
     "folder, or below DIR"},
    {0, "view", OPT_FLAG, AT(view), NULL,
     "then show the recording in a browser, as 'kelvin view' does, until Ctrl-C"},
    {'q', "quiet", OPT_FLAG, AT(quiet), NULL, "print nothing but errors"},
    OPT_END,
};

/* "app.kelvin" of "./bin/app"; what ends in a slash is no program, and is refused as that. */
static char *default_output(const struct record_opts *o, char **command)
{
    if (o->machine)
        return mem_strdup("machine.kelvin");
    if (!command)
        return mem_printf("%ld.kelvin", o->pid);
    const char *slash = strrchr(command[0], '/');
    return mem_printf("%s.kelvin", !slash ? command[0] : slash[1] ? slash + 1 : "folder");
}

/* "cycles,page-faults" are two events. WORDS holds their texts. */
static int split_events(struct record_opts *o, struct words *words, struct err *err)
{
    struct opt_list given = o->events;
    for (size_t i = 0; i < given.n; i++)
        for (struct text all = text_of(given.at[i]); all.n;)
            words_add(words, text_cut(&all, ','));
    if (words->at.n > ENGINE_EVENTS_MAX)
        return err_set(err, EXIT_OWN, "record: %zu events; at most %d fit in one recording",
                       words->at.n, ENGINE_EVENTS_MAX);
    o->events.n = words->at.n;
    for (size_t i = 0; i < words->at.n; i++)
        o->events.at[i] = words->at.at[i];
    return 0;
}

static int record_check(const struct record_opts *o, char **command, struct err *err)
{
    struct record_heap heap;
    if (o->machine && command && o->rotate_s > 0 && !o->output)
        return err_set(err, EXIT_OWN, "record: put the folder '%s' last: '%s' follows it",
                       command[0], command[1]);
    if (o->machine && (command || o->pid))
        return err_set(err, EXIT_OWN,
                       "record: -a, --cpu, --cgroup and -u record what runs on the machine: leave "
                       "out the %s; -d SECONDS ends the recording",
                       command ? "command" : "process");
    if (!command && !o->pid && !o->machine)
        return err_set(
            err, EXIT_OWN,
            "record: nothing to record: give a command ('kelvin record -- ./app'), -p PID, or -a "
            "for the machine");
    if (o->machine && (o->heap || o->locks))
        return err_set(err, EXIT_OWN,
                       "record: --heap and --locks work inside a program that they start, not on "
                       "the whole machine");
    if (command && o->pid)
        return err_set(err, EXIT_OWN, "record: give a command or -p PID, not both");
    if (o->output && strcmp(o->output, "-") == 0)
        return err_set(err, EXIT_OWN,
                       "record: a recording cannot go to standard output: name a file with -o");
    if (o->view && !viewer_is_built())
        return err_set(err, EXIT_OWN,
                       "record: this kelvin was built without the page that --view opens: leave "
                       "out --view, or install what the page takes with 'tools/setup.sh page' and "
                       "build again");
    if (o->view && o->rotate_s > 0)
        return err_set(err, EXIT_OWN,
                       "record: --view shows one file: it cannot be combined with "
                       "--rotate");
    if (o->heap && o->rotate_s > 0)
        return err_set(err, EXIT_OWN,
                       "record: --heap and --rotate cannot be combined, as one file has what was "
                       "held at the peak and at the end: leave out --rotate");
    if (o->waits && o->machine && o->rotate_s > 0)
        return err_set(
            err, EXIT_OWN,
            "record: --waits and --rotate cannot be combined on the whole machine, whose "
            "waits would fill the memory: record one process with -p PID");
    if (o->functions && !command)
        return err_set(err, EXIT_OWN,
                       "record: --functions cannot attach to a running process: start it with "
                       "'kelvin record --functions -- COMMAND'");
    if (o->locks && !command)
        return err_set(err, EXIT_OWN,
                       "record: --locks cannot attach to a running process: start it with 'kelvin "
                       "record --locks -- COMMAND'");
    if (o->locks && o->rotate_s > 0)
        return err_set(err, EXIT_OWN, "record: --locks and --rotate cannot be combined");
    if (!record_heap_read(o->heap, &heap))
        return err_set(
            err, EXIT_OWN,
            "record: write '--heap', '--heap=sampled' or '--heap=sampled:BYTES', each with "
            "',mmap' for anonymous maps as well, not '--heap=%s'",
            o->heap);
    if (o->heap && !command && (!heap.sample_bytes || heap.maps))
        return err_set(err, EXIT_OWN,
                       "record: the heap of a running process can only be sampled: use "
                       "'--heap=sampled -p %ld', or start it with 'kelvin record --heap -- "
                       "COMMAND'",
                       o->pid);
    return 0;
}

/* A folder is one that is there, or has a '/' behind its name. */
static bool is_folder(const char *output)
{
    return output && *output &&
           (output[strlen(output) - 1] == '/' || path_kind(output) == PATH_FOLDER);
}

static int parse_limits(struct cmd_record_opts *c, struct err *err)
{
    struct record_opts *o = &c->take;
    if (c->rotate &&
        (!units_parse_time(c->rotate, &o->rotate_s) || o->rotate_s < 1 || o->rotate_s > 1e7))
        return err_set(err, EXIT_OWN,
                       "record: --rotate is '%s': give a time from 1s on, such as 60s or 10m",
                       c->rotate);
    if (c->keep && (!units_parse_time(c->keep, &o->keep_s) || o->keep_s < 1))
        return err_set(err, EXIT_OWN, "record: --keep is '%s': give a time such as 24h or 7d",
                       c->keep);
    if (c->max_size && (!units_parse_size(c->max_size, &o->max_bytes) || !o->max_bytes))
        return err_set(err, EXIT_OWN, "record: --max-size is '%s': give a size such as 2G or 500M",
                       c->max_size);
    return 0;
}

/* Of the machine the one operand is a folder: nothing else can be meant. */
static int parse_rotation(struct cmd_record_opts *c, char ***command, struct err *err)
{
    struct record_opts *o = &c->take;
    char **operand = *command;
    if (parse_limits(c, err) != 0)
        return -1;
    if (o->machine && c->rotate && operand && !operand[1] && !o->output) {
        o->folder = o->output = operand[0];
        *command = NULL;
    } else if (c->rotate && is_folder(o->output)) {
        o->folder = o->output;
    }
    if ((c->keep || c->max_size) && !o->folder)
        return err_set(err, EXIT_OWN,
                       "record: --keep and --max-size remove old files of a folder: give --rotate, "
                       "and the folder with -o DIR/");
    return 0;
}

/* The token is for us: the command need not know it. */
static int take_token(struct record_opts *o, char **ret_token, struct err *err)
{
    const char *token = getenv(LISTEN_TOKEN_ENV);
    *ret_token = token ? mem_strdup(token) : NULL;
    if (!token || !o->listen)
        return 0;
    unsetenv(LISTEN_TOKEN_ENV);
    o->listen_token = *ret_token;
    return strlen(*ret_token) >= LISTEN_TOKEN_MIN
               ? 0
               : err_set(err, EXIT_OWN, "record: " LISTEN_TOKEN_ENV " has fewer than %d characters",
                         LISTEN_TOKEN_MIN);
}

/* Nothing takes the place of perf_event_open for waits and for the whole machine. */
static void fit_hint(struct err *err, const struct record_opts *o)
{
    if (err->hint == HINT_TIMER && (o->waits || o->machine))
        err->hint = o->waits && !o->machine ? HINT_LOCKS_ALONE : HINT_NONE;
}

/* Our own failures must not look like the command's. */
static int own_failure(struct err *err)
{
    if (err->code == EXIT_ERROR)
        err->code = EXIT_OWN;
    return command_fail(err);
}

/* The command has ended: what it left is looked at. */
static int record_view(const char *path)
{
    char ends_options[] = "--", *args[] = {ends_options, (char *)(uintptr_t)path, NULL};
    return command_view.run(&command_view, 2, args);
}

static int record_command(const struct record_opts *o, char **command)
{
    struct record_facts facts;
    struct err err;
    int rc = record_take(o, command, &facts, &err);
    if (o->status == record_status)
        record_status_clear();
    else if (command && (rc != 0 || !facts.published || !o->quiet))
        record_begin_line();
    if (rc != 0) {
        fit_hint(&err, o);
        int ours = own_failure(&err);
        record_say_left(&facts, o);
        return record_code(&facts, ours);
    }
    if (!facts.published) {
        record_say_gate(&facts, o, &err);
        return record_code(&facts, own_failure(&err));
    }
    if (!o->quiet)
        record_summary(&facts, o);
    int shown = o->view ? record_view(o->output) : EXIT_OK;
    return record_code(&facts, shown);
}

static int record_run(const struct command *self, int n, char **args)
{
    struct cmd_record_opts c = {.take = {
                                    .engine = "auto",
                                    .stack_bytes = RECORD_STACK_BYTES,
                                    .args = args,
                                }};
    struct record_opts *o = &c.take;
    struct opt_result operands;
    struct err err;
    o->n_args = opt_front(self->opts, n, args);
    int rc = command_parse(self, &c, o->n_args, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_OWN : EXIT_OK;
    char **command = o->n_args < n ? args + o->n_args : NULL;
    o->machine = o->machine || o->cpus || o->cgroup || o->user;
    if (o->rate_hz == 0)
        o->rate_hz = o->machine ? RATE_MACHINE_HZ : RATE_HZ;
    struct words events = {0};
    autofree char *token = NULL;
    if (parse_rotation(&c, &command, &err) != 0 || record_check(o, command, &err) != 0 ||
        split_events(o, &events, &err) != 0 || take_token(o, &token, &err) != 0) {
        words_done(&events);
        return own_failure(&err);
    }
    autofree char *output = o->output ? mem_strdup(o->output) : default_output(o, command);
    o->output = output;
    /* A command writes to the same terminal: nothing may come between its lines. */
    o->status = o->quiet || command     ? NULL
                : isatty(STDERR_FILENO) ? record_status
                                        : record_say_idle;
    o->listening = o->quiet ? NULL : record_say_listening;
    rc = record_command(o, command);
    words_done(&events);
    return rc;
}

const struct command command_record = {
    .name = "record",
    .summary = "sample a command, a running process, or the whole machine",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .about =
        "Runs the command and samples it and its children on CPU time, with the whole call stack, "
        "in the program and in the kernel. Programs need no frame pointers and no special build. "
        "With -p a running process is sampled instead, until it exits, --duration is over, or "
        "Ctrl-C.\n\n"
        "With -a the whole machine is recorded: all processes, those that start meanwhile, the "
        "kernel and interrupts. Processes get the labels command, user, cgroup and container, "
        "which 'report --by', 'flame --by' and --where understand. Idle time gives no samples; "
        "the report says how busy the CPUs were. This needs root, or kernel.perf_event_paranoid "
        "at most 0 (other users' programs then have names only if they start meanwhile).\n\n"
        "As root (CAP_BPF and CAP_PERFMON) the clocks of the CPUs take the samples, so that even "
        "the shortest process gets its share; samples of other programs are dropped in the "
        "kernel. Without these rights each thread has a clock of its own, which misses threads "
        "that run for less than a millisecond. Reports then say what share of the CPU time was "
        "sampled.\n\n"
        "While recording, kelvin writes to FILE.part every second. If kelvin is killed, FILE.part "
        "opens like any recording. At the end functions get their names, and FILE.part becomes "
        "FILE. A recording that was there before stays as FILE.old. With "
        "--min-samples or --strict a recording that is not good enough leaves FILE as it was, and "
        "the exit code is 3.\n\n"
        "With --heap a preloaded library also records every allocation with its call stack. "
        "'kelvin heap' shows peak, growth and leaks. Report, flame, fold and diff take --value "
        "allocations, allocated, frees, freed, leaked, leaked_blocks, peak or temporary, and with "
        "--locks under_lock: blocks allocated while a lock was held. Static and setuid programs "
        "cannot be recorded that way. With --heap=sampled -p PID kernel probes stop the running "
        "process whenever it allocates or frees, which needs root and costs a few "
        "microseconds each time. Blocks that the process allocated before are not known.\n\n"
        "With --waits every context switch is recorded as well. 'kelvin report --waits' shows how "
        "long each thread ran, was blocked and by what, or could run but had no CPU. Report, "
        "flame and fold take --value blocked, runnable or wall. Root also sees who woke each "
        "thread, with the waker's call stack (--value woken). An ordinary user gets durations, "
        "each with the stack of its thread's last CPU sample. Reasons and stacks of waits need the "
        "right to see the kernel: root, or kernel.perf_event_paranoid at most 1. Above 5,000 "
        "switches per second only a random part of the waits get stacks of their own, and the "
        "others share these. The number and duration of waits stay exact. With --rotate a wait "
        "belongs to the file in which it ends.\n\n"
        "Scopes that a program names with kelvin.h are recorded along with the samples, in a "
        "running process too. --engine none takes no samples. A program "
        "started with "
        "KELVIN_OUTPUT=FILE in its environment records its scopes by itself.\n\n"
        "With --rotate and a folder (-o DIR/, or DIR after -a) recordings follow one another "
        "there, each named after the time it starts. --keep and --max-size remove the oldest. The "
        "folder must be new, empty, or already hold such recordings. One recorder at a time can "
        "write to it. "
        "'kelvin report DIR --last 10m' "
        "reads across them. If the disk is full, the oldest recording is removed and a new file "
        "begun.\n\n"
        "With --listen other programs can read how long the scopes of kelvin.h have taken so far: "
        "/metrics is for Prometheus, /scopes is JSON, / is a page. An address that other machines "
        "can reach needs a token: at least 16 characters in the environment variable "
        "KELVIN_LISTEN_TOKEN, which each request must send (Authorization: Bearer TOKEN). Nothing "
        "is encrypted.\n\n"
        "With --functions each function of a program built with -finstrument-functions is a "
        "scope: exact calls and times. Each call then costs at least two readings of the clock. "
        "--functions=REGEX keeps only functions whose name matches; --functions-min leaves out "
        "short calls.\n\n"
        "With --otlp spans also go to an OpenTelemetry collector (Jaeger, Tempo), as protobuf "
        "over HTTP, without encryption. Spans that the collector cannot take are sent again as "
        "OTLP prescribes. If the collector is slow or gone, spans are dropped and counted. The "
        "program never waits.\n\n"
        "With --locks a preloaded library also records every wait for a mutex, read-write lock, "
        "condition variable, semaphore or barrier of pthreads, with the call stacks of the thread "
        "that waited and of the one that held the lock. 'kelvin locks' shows them. A free lock "
        "costs about 3 ns more. Locks that other languages and libraries build from futexes (Rust, "
        "Go, std::atomic) and C11's mtx_lock() are not seen.\n\n"
        "With --pack-source 'kelvin annotate' and 'kelvin view' show source on a machine that has "
        "neither the source nor the program. Files that debug information names are packed if they "
        "lie below the project of the program or of the current folder (.git, .hg or kelvin.conf "
        "marks it), are not hidden and have at most 4 MiB each, 32 MiB in all.\n\n"
        "If the command fails, kelvin exits with the command's exit code (128 + N if signal N "
        "killed it). 125: kelvin itself failed. 126: the command cannot be run. 127: it was not "
        "found.",
    .examples =
        "kelvin record -- ./app --args           # writes app.kelvin\n"
        "kelvin record -p 1234 -d 10             # a running process, for ten seconds\n"
        "kelvin record -a -d 10                  # the whole machine: machine.kelvin\n"
        "kelvin record -a --rotate 60s --keep 24h --max-size 2G DIR   # all the time\n"
        "kelvin record -e page-faults -- ./app   # who touches new memory?\n"
        "kelvin record -e cpu-clock,page-faults -- ./app   # both, each a stream of its own\n"
        "kelvin record --heap -- ./app           # and every allocation: kelvin heap app.kelvin\n"
        "kelvin record --heap=sampled -p 1234 -d 60   # what a running process allocates, as root\n"
        "kelvin record --listen 9464 -- ./server # Prometheus scrapes 127.0.0.1:9464/metrics\n"
        "kelvin record --pack-source -- ./app    # to read where the source is missing\n"
        "kelvin record --view -- ./app           # record, then look at it in a browser\n"
        "kelvin record --waits -- ./app          # and what it waits for: kelvin report --waits\n"
        "kelvin record --locks -- ./app          # and every wait for a lock: kelvin locks "
        "app.kelvin",
    .opts = record_table,
    .run = record_run,
};
