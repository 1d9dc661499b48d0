/*
 * run.c - from source to published evidence in one command.
 */
#include "suite/run.h"
#include "cmd/command.h"
#include "host/ask.h"
#include "suite/exec.h"
#include "suite/notices.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

#define AT(field) offsetof(struct cmd_run_opts, field)

static const struct opt run_table[] = {
    {0, "conf", OPT_TEXT, AT(conf), "FILE",
     "the suite file (default: kelvin.conf here or in a folder above)"},
    {0, "set", OPT_LIST, AT(set), "KEY=VALUE",
     "overrule the suite file: build.command=make, workload.small.runs=20"},
    {0, "skip-build", OPT_FLAG, AT(skip_build), NULL, "use what was built before"},
    {0, "against", OPT_TEXT, AT(against), "NAME",
     "compare with the baseline NAME; a regression exits with 3"},
    {0, "save", OPT_TEXT, AT(save), "NAME", "keep this run as the baseline NAME, if all is well"},
    {0, "force", OPT_FLAG, AT(force), NULL,
     "compare with a baseline of another machine all the same"},
    {0, "explain", OPT_FLAG, AT(explain), NULL,
     "run nothing: print every value and where it comes from"},
    {0, "format", OPT_CHOICE, AT(format), "FORMAT",
     "print what went wrong for a forge: github (workflow commands) or gitlab (code quality)",
     .choices = "github gitlab"},
    {'q', "quiet", OPT_FLAG, AT(quiet), NULL, "print errors and the result only"},
    OPT_END,
};

void run_say(const struct run *r, const char *fmt, ...)
{
    va_list ap;
    if (r->opts->quiet)
        return;
    va_start(ap, fmt);
    fputs("      ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- what to run --- */

static int open_conf(struct run *r, struct err *err)
{
    autobuf struct buf errors = {0};
    const struct opt_list *set = &r->opts->set;
    autofree char *path = r->opts->conf ? mem_strdup(r->opts->conf) : conf_locate();
    if (!path)
        return err_set(err, EXIT_ERROR,
                       "no kelvin.conf here or above: 'kelvin init' writes one to start from");
    int rc = conf_read(&r->suite.conf, path, (struct conf_sets){set->at, set->n}, &errors, err);
    struct text rest = buf_text(&errors);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        if (rest.n)
            command_say("%.*s", TEXT_ARG(line));
        else
            rc = err_set(err, EXIT_ERROR, "%.*s", TEXT_ARG(line)); /* the caller says the last */
    }
    autofree char *copy = mem_strdup(path);
    if (rc == 0 && chdir(dirname(copy)) != 0)
        rc = err_set_errno(err, errno, "cannot go to the folder of '%s'", path);
    return rc;
}

static void explain(const struct conf *c)
{
    for (const struct conf_key *k = conf_keys; k->section; k++) {
        bool inputs = strcmp(k->section, "input") == 0;
        size_t n = !conf_section_has_name(k->section) ? 1 : inputs ? c->inputs.n : c->workloads.n;
        for (size_t i = 0; i < n; i++) {
            const char *name = !conf_section_has_name(k->section) ? ""
                               : inputs                           ? c->inputs.at[i]
                                                                  : c->workloads.at[i];
            autofree char *dotted = mem_printf("%s.%s", k->section, k->key);
            autofree char *shown =
                *name ? mem_printf("%s.%s.%s", k->section, name, k->key) : mem_strdup(dotted);
            struct conf_value v = conf_find(c, name, dotted);
            printf("%-28s = %-30s # %s\n", shown, v.text, v.origin);
        }
    }
}

static bool is_wanted(const struct opt_result *names, const char *name)
{
    for (int i = 0; i < names->n_operands; i++)
        if (strcmp(names->operands[i], name) == 0)
            return true;
    return names->n_operands == 0;
}

static int no_workload(const struct conf *c, const char *name, struct err *err)
{
    autofree const char **list = mem_calloc(c->workloads.n + 1, sizeof *list);
    for (size_t i = 0; i < c->workloads.n; i++)
        list[i] = c->workloads.at[i];
    const char *near = opt_nearest(name, list);
    return err_set(err, EXIT_ERROR, "no workload '%s'%s%s%s", name, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

static int check_names(const struct conf *c, const struct opt_result *names, struct err *err)
{
    if (!c->workloads.n)
        return err_set(err, EXIT_ERROR, "'%s' has no [workload NAME]: there is nothing to run",
                       c->path);
    for (int i = 0; i < names->n_operands; i++) {
        bool found = false;
        for (size_t k = 0; k < c->workloads.n; k++)
            found |= strcmp(names->operands[i], c->workloads.at[k]) == 0;
        if (!found)
            return no_workload(c, names->operands[i], err);
    }
    return 0;
}

/* All commands are made before anything runs: a missing input is told at once. */
static int build_workloads(struct run *r, const struct opt_result *names, struct err *err)
{
    struct suite *s = &r->suite;
    if (check_names(&s->conf, names, err) != 0)
        return -1;
    for (size_t i = 0; i < s->conf.workloads.n; i++) {
        if (!is_wanted(names, s->conf.workloads.at[i]))
            continue;
        struct suite_result *w = vec_push(&s->results);
        *w = (struct suite_result){0};
        if (workload_build(&w->workload, &s->conf, i, err) != 0)
            return -1;
    }
    return 0;
}

/* --- host --- */

static void note_project(struct suite *s)
{
    const char *name = conf_text(&s->conf, "", "project.name");
    autofree char *here = getcwd(NULL, 0);
    s->project = mem_strdup(*name ? name : here ? basename(here) : "project");
}

static void note_compiler(struct suite *s)
{
    autobuf struct buf said = {0};
    const char *argv[] = {"cc", "--version", NULL};
    struct ask ask = {.ms_left = 2000};
    bool known = ask_program(&ask, argv, &said);
    struct text all = buf_text(&said), line = text_cut(&all, '\n');
    s->compiler = mem_strndup(known ? line.at : "", known ? line.n : 0);
    s->flags = mem_strdup(conf_text(&s->conf, "", "build.env"));
}

static void warn(struct suite *s, char *text)
{
    *vec_push(&s->warnings) = text;
}

static void look_at_host(struct suite *s)
{
    const struct fingerprint *h = &s->host;
    if (h->has_load && h->load[0] > h->cpus_usable * 0.5)
        warn(s, mem_printf("load is %.1f on %d CPUs: other programs take part in what is measured",
                           h->load[0], h->cpus_usable));
    if (strcmp(h->governor, "performance") != 0 && strcmp(h->governor, FINGERPRINT_UNKNOWN) != 0)
        warn(s, mem_printf("the CPU's frequency is governed by '%s': 'cpupower frequency-set -g "
                           "performance' steadies it",
                           h->governor));
    if (strcmp(h->turbo, "on") == 0)
        warn(s, mem_strdup("turbo is on: the first seconds of a run may be faster than the rest"));
    if (strcmp(h->hypervisor, "none") != 0 && strcmp(h->hypervisor, FINGERPRINT_UNKNOWN) != 0)
        warn(s, mem_printf("a virtual machine (%s): neighbours may take part in what is measured",
                           h->hypervisor));
}

/* The files that differ from the commit, as git names them. */
static void note_dirty_files(struct suite *s)
{
    autobuf struct buf said = {0};
    const char *argv[] = {"git", "status", "--porcelain", "--untracked-files=no", NULL};
    struct ask ask = {.ms_left = 2000};
    if (!s->git.dirty || !ask_program(&ask, argv, &said))
        return;
    struct text rest = buf_text(&said);
    s->dirty_files = mem_calloc(SUITE_DIRTY_SHOWN + 1, sizeof *s->dirty_files);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        if (line.n > 3 && s->n_dirty < SUITE_DIRTY_SHOWN)
            s->dirty_files[s->n_dirty] = mem_strndup(line.at + 3, line.n - 3);
        s->n_dirty++;
    }
}

int run_host(struct run *r, struct err *err)
{
    struct suite *s = &r->suite;
    struct words cpus = conf_words(&s->conf, "", "determinism.cpus");
    char line[320];
    int rc = exec_check_cpus(&cpus, err);
    words_done(&cpus);
    if (rc != 0)
        return -1;
    fingerprint_read(&s->host, "");
    provenance_read(&s->git);
    fingerprint_put(&s->host, &s->series.meta);
    provenance_put(&s->git, &s->series.meta);
    meta_set_u64(&s->series.meta, META_TIME_NS, (uint64_t)s->time_s * 1000000000u);
    note_compiler(s);
    note_dirty_files(s);
    look_at_host(s);
    run_say(r, "%s", fingerprint_line(&s->host, line));
    for (size_t i = 0; i < s->warnings.n; i++)
        run_say(r, "note: %s", s->warnings.at[i]);
    if (s->git.dirty)
        run_say(r, "note: %zu files differ from the commit; the pages say so", s->n_dirty);
    return run_load_baseline(r, err);
}

/* --- the phases --- */

static int (*const phases[PHASES])(struct run *r, struct err *err) = {
    [PHASE_HOST] = run_host,       [PHASE_BUILD] = run_build,     [PHASE_RECORD] = run_record,
    [PHASE_BENCH] = run_bench,     [PHASE_ANALYSE] = run_analyse, [PHASE_CHECK] = run_check,
    [PHASE_PUBLISH] = run_publish,
};

/* From here on Ctrl-C is something to read: what is running is ended and nothing is left behind. */
static void watch_signals(struct run *r)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    r->stop_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run_go_on(const struct run *r, struct err *err)
{
    struct pollfd stop = {r->stop_fd, POLLIN, 0};
    if (poll(&stop, 1, 0) <= 0)
        return 0;
    return err_set(err, EXIT_STOPPED, "interrupted: nothing was published");
}

static int run_phases(struct run *r, struct err *err)
{
    double began = now_s();
    for (int i = 0; i < PHASES; i++) {
        double start = now_s();
        if (!r->opts->quiet)
            fprintf(stderr, "[%d/%d] %s\n", i + 1, PHASES, suite_phase_names[i]);
        r->suite.own_s = now_s() - began - r->away_s;
        if (run_go_on(r, err) != 0 || phases[i](r, err) != 0)
            return -1;
        r->suite.seconds[i] = now_s() - start;
    }
    r->suite.own_s = now_s() - began - r->away_s;
    return 0;
}

static int exit_code(enum suite_outcome o)
{
    switch (o) {
    case SUITE_OK:
        return EXIT_OK;
    case SUITE_FAILED:
        return EXIT_ERROR;
    case SUITE_REGRESSED:
    case SUITE_RULES:
        return EXIT_FAILS;
    case SUITE_INCONCLUSIVE:
        return EXIT_INCONCLUSIVE;
    }
    return EXIT_ERROR;
}

static void tell_result(const struct run *r)
{
    const struct suite *s = &r->suite;
    for (size_t i = 0; i < s->results.n; i++)
        if (s->results.at[i].outcome != SUITE_OK)
            command_say("workload '%s': %s%s%s", s->results.at[i].workload.name,
                        suite_outcome_names[s->results.at[i].outcome],
                        s->results.at[i].failure ? ", it " : "",
                        s->results.at[i].failure ? s->results.at[i].failure : "");
    if (!r->opts->quiet)
        fprintf(stderr, "%s; %.1f s of it kelvin's own\n", r->published, s->own_s);
}

static void annotate(const struct run *r, const char *why)
{
    if (r->opts->format)
        notices_print(stdout, &r->suite, why,
                      strcmp(r->opts->format, "github") == 0 ? NOTICES_GITHUB : NOTICES_GITLAB);
}

static int fail(const struct run *r, const struct err *err)
{
    annotate(r, err->text);
    return command_fail(err);
}

static int run(struct run *r, const struct opt_result *names)
{
    struct err err;
    if (open_conf(r, &err) != 0)
        return fail(r, &err);
    if (r->opts->explain) {
        explain(&r->suite.conf);
        return EXIT_OK;
    }
    watch_signals(r);
    note_project(&r->suite);
    r->suite.time_s = (int64_t)time(NULL);
    if (build_workloads(r, names, &err) != 0 ||
        folder_open(&r->suite.folder, conf_text(&r->suite.conf, "", "publish.folder"), &err) != 0)
        return fail(r, &err);
    r->log = folder_file(&r->suite.folder, ".log");
    if (run_phases(r, &err) != 0)
        return fail(r, &err);
    tell_result(r);
    annotate(r, NULL);
    return exit_code(suite_outcome(&r->suite));
}

static int run_run(const struct command *self, int n, char **args)
{
    struct cmd_run_opts o = {0};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct run r = {.opts = &o, .suite.folder.lock = -1, .stop_fd = -1};
    rc = run(&r, &operands);
    suite_done(&r.suite);
    free(r.log);
    return rc;
}

const struct command command_run = {
    .name = "run",
    .summary = "build, record, benchmark, analyse, check and publish, as kelvin.conf says",
    .operands = "[WORKLOAD...]",
    .about =
        "Reads kelvin.conf ('kelvin init' writes one) and goes through seven phases: host, build, "
        "record, bench, analyse, check, publish. At the end one folder holds, for each workload, "
        "a flame graph, a page in markdown and the recording, and an index and a receipt of every "
        "figure besides. The folder is replaced as a whole or not at all.\n"
        "\n"
        "A workload that fails fails the run; the others still run. What a failed run found goes "
        "to a folder of the same name with '-failed' at its end, and the good one stays. Every "
        "run is remembered: see 'kelvin history'.\n"
        "\n"
        "Values come from the suite file; the environment (KELVIN_BUILD_COMMAND, "
        "KELVIN_WORKLOAD_SMALL_RUNS) overrules it, and --set overrules both. --explain prints "
        "what counts and where it was said.\n"
        "\n"
        "Exits with 0 when all is well, 1 when a workload or the run failed, 3 on a regression, a "
        "rule that does not hold or memory errors, 4 when a rule or a change could not be told, "
        "130 "
        "on Ctrl-C.",
    .examples = "kelvin run                                 # all of it\n"
                "kelvin run small --skip-build              # one workload, as it was built\n"
                "kelvin run --save main                     # and keep it as the baseline 'main'\n"
                "kelvin run --against main                  # exit 3 when something got slower\n"
                "kelvin run --explain                       # where does each value come from?",
    .opts = run_table,
    .run = run_run,
};
