/*
 * bench.c - measure commands and benchmark programs, and say which is faster.
 */
#include "cmd/bench.h"
#include "cmd/bench_public.h"

#define AT(field) offsetof(struct cmd_bench_opts, field)

static const struct opt bench_table[] = {
    {0, "runs", OPT_INT, AT(runs), "N",
     "run each command exactly N times (default: until it is decided or the time is up)", .min = 1,
     .max = 1e6},
    {0, "min-runs", OPT_INT, AT(min_runs), "N",
     "at least N runs, even if that takes longer than --time (default: 10; 14 when comparing)",
     .min = 1, .max = 1e6},
    {0, "max-runs", OPT_INT, AT(max_runs), "N", "at most N runs", .min = 1, .max = 1e6},
    {0, "time", OPT_SECONDS, AT(time_s), "SECONDS",
     "time for each command (default: 3; 28 when comparing, which mostly ends sooner)",
     .min = 0.001, .max = 1e6},
    {0, "precision", OPT_NUMBER, AT(precision), "PERCENT",
     "a command alone: stop when its median is known to within this (default: 1)", .min = 0.001,
     .max = 100},
    {0, "warmup", OPT_INT, AT(warmup), "N", "warm-up runs first, which do not count (default: 1)",
     .min = 0, .max = 1e6},
    {0, "list", OPT_LIST, AT(list), "NAME=A,B,C",
     "a parameter and its values, written as {NAME} in commands; several give all combinations"},
    {0, "range", OPT_LIST, AT(range), "NAME=A..B..STEP", "a parameter and its range"},
    {0, "name", OPT_LIST, AT(names), "NAME",
     "name of a command in the report; give it once for each command (default: the command)"},
    {0, "prepare", OPT_TEXT, AT(prepare), "COMMAND", "run COMMAND before each run, not measured"},
    {0, "setup", OPT_TEXT, AT(setup), "COMMAND", "run COMMAND once before all runs"},
    {0, "cleanup", OPT_TEXT, AT(cleanup), "COMMAND", "run COMMAND once after all runs"},
    {0, "shell", OPT_FLAG, AT(shell), NULL,
     "hand commands to /bin/sh; its start is then part of what is measured"},
    {0, "env", OPT_LIST, AT(env), "NAME=VALUE", "set a variable of the commands"},
    {0, "cwd", OPT_TEXT, AT(cwd), "FOLDER", "run the commands in FOLDER"},
    {0, "input", OPT_TEXT, AT(input), "FILE",
     "standard input of the commands (default: /dev/null)"},
    {0, "output-of", OPT_TEXT, AT(output_of), "WHERE",
     "standard output of the commands: null, pipe, inherit, or a file that keeps at most 64 MiB "
     "(default: null)"},
    {0, "show-output", OPT_FLAG, AT(show_output), NULL, "the same as --output-of inherit"},
    {'i', "ignore-failure", OPT_FLAG, AT(ignore_failure), NULL,
     "go on when a command ends with an exit code other than 0"},
    {0, "timeout", OPT_SECONDS, AT(timeout_s), "SECONDS",
     "end a run that takes longer, and fail (default: none)", .min = 0.001, .max = 1e6},
    {0, "measure", OPT_CHOICE, AT(measure), "WHAT",
     "what to judge by: time, cpu, user, system, peak_rss, instructions or allocations; on a busy "
     "machine cpu is steadier, but misses waiting (default: time)",
     "time cpu user system peak_rss instructions allocations"},
    {0, "count", OPT_TEXT, AT(count), "WHAT,...",
     "count instructions, cycles, cache-misses or branch-misses (by the CPU, else all but cycles "
     "by valgrind), or allocations, and judge by the first"},
    {0, "band", OPT_NUMBER, AT(band), "PERCENT", "changes up to this do not matter (default: 1)",
     .min = 0, .max = 1000},
    {0, "risk", OPT_NUMBER, AT(risk), "PERCENT",
     "risk of a false verdict, over all comparisons and interim checks (default: 0.5)",
     .min = 0.0001, .max = 50},
    {0, "max-regression", OPT_LIST, AT(max_regression), "PERCENT",
     "exit 3 when a command is slower than the first by more, 4 when that is inconclusive; "
     "NAME=PERCENT for one of them"},
    {0, "aa", OPT_FLAG, AT(aa), NULL,
     "also compare the first command with itself, which shows this machine's rate of false alarms"},
    {0, "filter", OPT_TEXT, AT(filter), "PATTERN",
     "only benchmarks whose name contains this, in benchmark programs"},
    {0, "quick", OPT_FLAG, AT(quick), NULL,
     "measure each benchmark only for a short time, in benchmark programs"},
    {0, "seed", OPT_INT, AT(seed), "N", "seed of the random order (default: from the clock)",
     .min = 1, .max = 1e15},
    {'q', "quiet", OPT_FLAG, AT(quiet), NULL, "no progress bar"},
    {0, "arguments", OPT_FLAG, AT(arguments), NULL,
     "keep the commands' arguments in html and md output (default: only the program, as arguments "
     "may hold secrets)"},
    BENCH_STORE_OPTS(struct cmd_bench_opts),
    OUTPUT_OPTS(struct cmd_bench_opts, "text md csv json html", "text, md, csv, json or html"),
    OPT_END,
};

/* The output of a command that failed, as far as it is kept. */
static void show_said(const struct buf *said)
{
    if (said->n > 0) {
        fwrite(said->at, 1, said->n, stderr);
        if (said->at[said->n - 1] != '\n')
            putc('\n', stderr);
    }
}

/* For as long as PAPER is printed. */
static void bench_hide_arguments(struct bench_public *b, struct outcome *o,
                                 struct bench_store *store, struct bench_paper *paper)
{
    bench_public_hide(b, &o->session.set);
    bench_public_hide(b, &store->before);
    bench_public_hide_pasts(b, &store->pasts);
    bench_public_hide_sweeps(b, &o->sweeps);
    for (size_t i = 0; i < paper->growths.n; i++)
        paper->growths.at[i].name = o->sweeps.at.at[i].name;
}

/* Judge, print and keep. Returns the exit code, or -1. */
static int report(struct outcome *outcome, struct bench_store *store,
                  const struct cmd_bench_opts *o, struct err *err)
{
    struct bench_paper paper;
    struct bench_public public = {.on = !o->arguments &&
                                        bench_public_is_page(output_format(&o->output))};
    outcome_build(outcome);
    bench_count_work(outcome, o);
    bench_paper_init(&paper, outcome);
    int rc = bench_store_report(store, outcome, &paper.report, err);
    bench_hide_arguments(&public, outcome, store, &paper);
    if (rc == 0)
        rc = bench_paper_print(&paper, outcome, o, err);
    bench_public_done(&public);
    bench_paper_done(&paper);
    if (rc != 0)
        return -1;
    bench_store_tell(store, outcome);
    bench_tell(outcome, o);
    int code = outcome_code(outcome);
    return bench_store_keep(store, &outcome->session.set, code, err) == 0 ? code : -1;
}

/* The baseline's program and that of today. The plan and the session refer to all of it. */
struct beside {
    struct cmd_bench_opts opts;
    char *lines[2], *then;
};

static void beside_init(struct beside *b, const struct cmd_bench_opts *o, char *before, char *line)
{
    const char *name = o->names.n ? o->names.at[0] : line;
    *b = (struct beside){.opts = *o, .lines = {before, line}};
    b->then = mem_printf("%s, as in '%s'", name, o->store.against);
    b->opts.names = (struct opt_list){.at = {b->then, name}, .n = 2};
}

/* Where the program of the baseline does not run any more, it is not beside; else -1 on failure. */
static int run_beside(struct outcome *outcome, struct plan *plan, struct beside *b, struct err *err)
{
    outcome->is_beside = bench_run(&outcome->session, plan, &b->opts, b->lines, 2, err) == 0;
    if (outcome->is_beside)
        return 0;
    if (outcome->session.item > 0)
        return -1;
    session_done(&outcome->session);
    outcome->session = (struct session){0};
    plan_done(plan);
    *plan = (struct plan){0};
    return 0;
}

static int measure(const struct cmd_bench_opts *o, const struct opt_result *operands)
{
    struct outcome outcome = {0};
    struct session *session = &outcome.session;
    struct bench_store store;
    struct plan plan = {0};
    struct err err;
    int rc = bench_store_begin(&store, o, operands, &err);
    struct beside beside = {0};
    if (rc == 0 && store.line_before) {
        beside_init(&beside, o, store.line_before, operands->operands[0]);
        rc = run_beside(&outcome, &plan, &beside, &err);
    }
    if (store.line_before && !outcome.is_beside)
        store.why_apart = "the kept program does not run any more";
    if (rc == 0 && !outcome.is_beside)
        rc = bench_run(session, &plan, o, operands->operands, (size_t)operands->n_operands, &err);
    if (rc == 0)
        rc = report(&outcome, &store, o, &err);
    else
        show_said(&session->said);
    int code = rc >= 0 ? rc : command_fail(&err);
    outcome_done(&outcome);
    bench_store_done(&store);
    plan_done(&plan);
    free(beside.then);
    return code;
}

static int bench_command_run(const struct command *self, int n, char **args)
{
    struct cmd_bench_opts o = {
        .output = OUTPUT_DEFAULTS, .warmup = 1, .precision = 1, .band = 1, .risk = 0.5};
    struct opt_result operands;
    autofree char *typed = bench_store_typed(n, args);
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err;
    if (bench_check_count(&o, &err) != 0)
        return command_fail(&err);
    o.store.typed = typed;
    if (bench_store_acts(&o.store))
        return bench_store_act(&o, &operands);
    if (operands.n_operands == 0) {
        command_say("bench: no command; try: kelvin bench './app --n 1000'");
        return EXIT_ERROR;
    }
    return measure(&o, &operands);
}

const struct command command_bench = {
    .name = "bench",
    .summary = "measure commands and show which is faster, with a verdict for CI",
    .operands = "COMMAND...",
    .about =
        "Runs each COMMAND many times and shows the median with its interval. A COMMAND is one "
        "string. It is split into words as a shell would, and run without a shell unless --shell "
        "is given. A program built with kelvin_bench.h reports its own benchmarks; each run of the "
        "program gives one value per benchmark.\n\n"
        "Two or more commands are interleaved: in each block every command runs once, in a "
        "balanced random order, with a random amount of padding in the environment. The result is "
        "the median of the ratios to the first command within each block, with an exact interval. "
        "Blocks are added until the verdict is faster, slower or same (within --band). If the time "
        "is up first, the verdict is inconclusive. Results are checked at planned points; the "
        "false-alarm risk covers all of them.\n\n"
        "Counts come from the CPU's counters, all in one group, or else from valgrind, which is 30 "
        "to 80 times slower, counts the first process only, and simulates caches and branches. "
        "Allocations are counted by a preloaded library, "
        "in all processes of a command, and repeat exactly if the program does the same in every "
        "run.\n\n"
        "--save keeps the measurements as a baseline in the project's folder, together with the "
        "program. --against runs that program in turns with today's. Where it was not "
        "kept (scripts, programs of the system, several commands, other arguments), the stored "
        "figures are compared, and a note says why. A difference between two sessions of the "
        "machine looks like a change of the program, so the whole interval must then lie outside "
        "the band, and the CPU time must have changed at least half as far as the wall time. A "
        "baseline with another host, frequency governor or measuring options is refused without "
        "--force. Another build is compared, and the report says so.\n\n"
        "CSV has a row for each run and measure. JSON has all runs and the statistics.\n\n"
        "Exit code 3: slower than --max-regression allows; 4: inconclusive, or no "
        "benchmark in common with the baseline.",
    .examples =
        "kelvin bench './app --n 1000'                             # one command\n"
        "kelvin bench './old --n 1000' './new --n 1000'            # which is faster?\n"
        "kelvin bench --max-regression 5% ./old ./new              # exit 3 if it is slower\n"
        "kelvin bench --list n=1000,2000,4000,8000 './app --n {n}' # how does it grow?\n"
        "kelvin bench --count instructions ./old ./new             # hardly any noise\n"
        "kelvin bench --count branch-misses,instructions ./old ./new # and per 1000 of them\n"
        "kelvin bench --count allocations ./old ./new              # every block, exactly\n"
        "kelvin bench --save main ./mybench                        # keep a baseline\n"
        "kelvin bench --against main --max-regression 10% ./mybench # compare with it\n"
        "kelvin bench --compare main feature                       # any two, or more",
    .opts = bench_table,
    .run = bench_command_run,
};
