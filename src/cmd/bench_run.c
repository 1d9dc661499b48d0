/*
 * bench_run.c - from the options of `kelvin bench` to a plan and its session.
 */
#include "base/clock.h"
#include "base/path.h"
#include "base/signals.h"
#include "base/units.h"
#include "base/words.h"
#include "bench/count.h"
#include "bench/gates.h"
#include "cmd/bench.h"
#include "cmd/command.h"
#include "record/heap_count.h"

#include <errno.h>
#include <math.h>
#include <sys/ioctl.h>

/* --- progress --- */

enum { BAR_CELLS = 20 };

struct bar {
    bool drawn;
};

static int terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

static void add_estimate(struct buf *b, const struct session_progress *p)
{
    char text[UNITS_MAX];
    bool times = measure_infos[p->measure].unit == MEASURE_NS;
    if (!isnan(p->ratio) && p->high < INFINITY)
        buf_printf(b, ", %+.1f%% (%+.1f to %+.1f)", units_change(p->ratio), units_change(p->low),
                   units_change(p->high));
    else if (p->half < INFINITY && p->middle > 0)
        buf_printf(b, ", %s +-%.1f%%",
                   units_scaled(text, p->middle, times ? SCALED_NS : SCALED_COUNT),
                   p->half / p->middle * 100);
}

/* One line that is written over and over; what does not fit would scroll, so it is cut. */
static void bench_draw_progress(void *to, const struct session_progress *p)
{
    struct bar *bar = to;
    autobuf struct buf b = {0};
    int full = (int)(p->done * BAR_CELLS), width = terminal_width() - 1;
    buf_byte(&b, '[');
    for (int i = 0; i < BAR_CELLS; i++)
        buf_byte(&b, i < full ? '#' : '-');
    buf_printf(&b, "] %3.0f%%", p->done * 100);
    if (p->done > 0)
        buf_printf(&b, ", %.0f s left at most, %zu run%s", p->left_s, p->blocks,
                   p->blocks == 1 ? "" : "s");
    add_estimate(&b, p);
    buf_printf(&b, "  %.60s", p->name);
    fprintf(stderr, "\r\033[K%.*s", b.n < (size_t)width ? (int)b.n : width, b.at);
    bar->drawn = true;
}

static void bench_run_wipe(const struct bar *bar)
{
    if (bar->drawn)
        fputs("\r\033[K", stderr);
}

/* --- options --- */

static int check_folder(const char *cwd, struct err *err)
{
    enum path_kind kind = cwd ? path_kind(cwd) : PATH_FOLDER;
    if (kind == PATH_NOTHING)
        return err_set_errno(err, errno, "--cwd '%s'", cwd);
    return kind == PATH_FOLDER ? 0 : err_set(err, EXIT_ERROR, "--cwd '%s' is not a folder", cwd);
}

/* A pipe can be read once only, and opening one waits for whoever writes to it. */
static int check_input(const char *input, struct err *err)
{
    struct stat st;
    if (!input)
        return 0;
    if (access(input, R_OK) != 0 || stat(input, &st) != 0)
        return err_set_errno(err, errno, "cannot read --input '%s'", input);
    if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))
        return 0;
    return err_set(err, EXIT_ERROR,
                   "--input '%s' is not a file that each run can read from the start", input);
}

int bench_check_gates(const struct cmd_bench_opts *o, struct err *err)
{
    struct err why;
    if (gates_check(&o->max_regression, &why) == 0)
        return 0;
    return err_set(err, why.code, "--max-regression %s", why.text);
}

static int bench_run_check(const struct cmd_bench_opts *o, struct err *err)
{
    for (size_t i = 0; i < o->env.n; i++)
        if (!strchr(o->env.at[i], '=') || o->env.at[i][0] == '=')
            return err_set(err, EXIT_ERROR, "--env takes NAME=VALUE, not '%s'", o->env.at[i]);
    if (check_input(o->input, err) != 0)
        return -1;
    if (o->min_runs && o->max_runs && o->min_runs > o->max_runs)
        return err_set(err, EXIT_ERROR, "--min-runs %ld is more than --max-runs %ld", o->min_runs,
                       o->max_runs);
    if (check_folder(o->cwd, err) != 0)
        return -1;
    return bench_check_gates(o, err);
}

static enum starter_output output_of(const struct cmd_bench_opts *o)
{
    const char *where = o->show_output ? "inherit" : o->output_of ? o->output_of : "null";
    return strcmp(where, "null") == 0      ? STARTER_NULL
           : strcmp(where, "pipe") == 0    ? STARTER_PIPE
           : strcmp(where, "inherit") == 0 ? STARTER_INHERIT
                                           : STARTER_FILE;
}

/* What is to be counted; 0 = nothing. It was checked when options were read. */
static unsigned bench_run_counts(const struct cmd_bench_opts *o)
{
    enum measure first = bench_store_measure(o);
    struct err ignored;
    unsigned set = 0;
    if (o->count && count_read(o->count, &set, &first, &ignored) == 0)
        return set;
    return first == MEASURE_INSTRUCTIONS || first == MEASURE_ALLOCATIONS ? COUNTED(first) : 0;
}

static bool counts_allocations(const struct cmd_bench_opts *o)
{
    return bench_run_counts(o) == COUNTED(MEASURE_ALLOCATIONS);
}

int bench_check_count(const struct cmd_bench_opts *o, struct err *err)
{
    unsigned set;
    enum measure first;
    struct err why;
    if (!o->count || count_read(o->count, &set, &first, &why) == 0)
        return 0;
    return err_set(err, why.code, "--count: %s", why.text);
}

static double bench_allocations(void *count, bool before)
{
    if (before)
        heap_count_reset(count);
    return before ? NAN : heap_count_blocks(count);
}

static struct plan_opts plan_opts_of(const struct cmd_bench_opts *o, char **lines, size_t n)
{
    return (struct plan_opts){.lines = lines,
                              .n_lines = n,
                              .names = &o->names,
                              .list = &o->list,
                              .range = &o->range,
                              .prepare = o->prepare,
                              .setup = o->setup,
                              .cleanup = o->cleanup,
                              .shell = o->shell,
                              .aa = o->aa};
}

/* Besides the reference, is there anything in the groups? */
static bool compares_any(const struct plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->items.n; i++)
        n += !p->items.at[i].aa;
    return n > p->groups.n;
}

static int check_gates(const struct cmd_bench_opts *o, const struct plan *p, struct err *err)
{
    if (o->max_regression.n == 0 || o->store.against || compares_any(p))
        return 0;
    return err_set(err, EXIT_ERROR,
                   "--max-regression has nothing to compare with: give two "
                   "commands, or --against a baseline");
}

static double bench_run_time_of(const struct cmd_bench_opts *o, const struct plan *p)
{
    bool compares = compares_any(p);
    return o->time_s > 0 ? o->time_s : compares ? 28 : 3; /* of two: a minute, all in all */
}

static struct session_opts session_opts_of(const struct cmd_bench_opts *o, const struct plan *p)
{
    return (struct session_opts){
        .warmup = o->warmup,
        .runs = o->runs,
        .min_runs = o->min_runs,
        .max_runs = o->max_runs,
        .time_s = bench_run_time_of(o, p),
        .precision = o->precision / 100,
        .band = o->band / 100,
        .risk = o->risk / 100,
        .measure = bench_store_measure(o),
        .exact = bench_run_counts(o) != 0,
        .ignore_failure = o->ignore_failure,
        .unseen = output_of(o) == STARTER_NULL,
        .seed = o->seed ? (uint64_t)o->seed : clock_monotonic_ns(),
        .gates = &o->max_regression,
    };
}

static char *ask_of(const struct cmd_bench_opts *o)
{
    return mem_printf("warmup_ms=%d measure_ms=%d samples=20%s%s", o->quick ? 20 : 100,
                      o->quick ? 50 : 200, o->filter ? " filter=" : "", o->filter ? o->filter : "");
}

/* What an option could do about a command that failed. */
static void bench_add_help(enum trouble_help help, struct err *err)
{
    static const char *const words[TROUBLE_HELPS] = {
        [HELP_NONE] = "",
        [HELP_SHELL] = "; add --shell",
        [HELP_SHELL_PERHAPS] = "; --shell runs it as a command of sh, if it is one",
        [HELP_SHOW_OUTPUT] = "; --show-output shows what it prints",
        [HELP_IGNORE_FAILURE] = "; --ignore-failure goes on regardless",
        [HELP_MORE_TIME] = "; --timeout sets the limit",
    };
    struct err why = *err;
    err_set(err, why.code, "%s%s", why.text, words[help]);
}

/* Ctrl-C ends the measuring, not the program: what there is will be reported. */
static int run_session(struct session *s, const struct plan *p, const struct session_opts *with,
                       struct starter_opts *start, struct err *err)
{
    struct signals signals;
    start->stop_fd = signals_open(&signals, false) == 0 ? signals.fd : -1;
    int rc = session_run(s, p, with, start, err);
    signals_close(&signals);
    if (rc != 0)
        bench_add_help(s->help, err);
    return rc;
}

static int choose_counter(const struct cmd_bench_opts *o, struct plan_opts *plan,
                          struct starter_opts *start, unsigned *ret_valgrind, struct err *err)
{
    enum count_by by;
    unsigned set = bench_run_counts(o);
    *ret_valgrind = 0;
    if (!set || counts_allocations(o))
        return 0;
    if (count_find(set, &by, err) != 0)
        return -1;
    *ret_valgrind = by == COUNT_BY_CPU ? 0 : set;
    if (*ret_valgrind && o->shell)
        return err_set(err, EXIT_ERROR,
                       "valgrind counts the first process only, which with "
                       "--shell is the shell: leave out --shell");
    start->fixed_layout = true;
    start->count = by == COUNT_BY_CPU ? set : 0;
    plan->wrap = *ret_valgrind ? count_valgrind_words(set) : NULL;
    return 0;
}

/* Commands are run without a shell, which surprises who is used to one. */
static void point_to_shell(const struct cmd_bench_opts *o, char **lines, size_t n)
{
    for (size_t i = 0; i < n && !o->shell && !o->quiet; i++) {
        const char *sign = words_shell_sign(lines[i]);
        if (sign)
            command_say("'%s' is passed to the program as it is, in: %.80s (add --shell to run the "
                        "line in a shell, or quote it to silence this note)",
                        sign, lines[i]);
    }
}

int bench_run(struct session *s, struct plan *plan, const struct cmd_bench_opts *o, char **lines,
              size_t n, struct err *err)
{
    struct plan_opts wanted = plan_opts_of(o, lines, n);
    autofree char *ask = ask_of(o);
    struct bar bar = {0};
    const char *env[OPT_LIST_MAX + 1] = {0};
    memcpy(env, o->env.at, o->env.n * sizeof *env);
    struct starter_opts start = {.env = (char *const *)env,
                                 .cwd = o->cwd,
                                 .input = o->input,
                                 .output = output_of(o),
                                 .output_path = o->output_of,
                                 .ask = ask,
                                 .timeout_s = o->timeout_s};
    unsigned valgrind;
    *plan = (struct plan){0};
    if (bench_run_check(o, err) != 0 || choose_counter(o, &wanted, &start, &valgrind, err) != 0 ||
        plan_build(plan, &wanted, err) != 0 || check_gates(o, plan, err) != 0)
        return -1;
    point_to_shell(o, lines, n);
    struct session_opts with = session_opts_of(o, plan);
    with.count_valgrind = valgrind;
    bool mixed = start.output == STARTER_INHERIT && isatty(STDOUT_FILENO);
    if (!o->quiet && !mixed && isatty(STDERR_FILENO)) {
        with.progress = bench_draw_progress;
        with.progress_to = &bar;
    }
    struct heap_count count = HEAP_COUNT_NONE;
    if (counts_allocations(o)) {
        if (heap_count_open(&count, err) != 0)
            return -1;
        with.allocations = bench_allocations;
        with.allocations_to = &count;
        start.fixed_layout = true;
    }
    int rc = run_session(s, plan, &with, &start, err);
    heap_count_close(&count);
    bench_run_wipe(&bar);
    return rc;
}
