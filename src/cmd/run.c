/*
 * run.c - from source to published evidence in one command.
 */
#include "suite/run.h"
#include "base/signals.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "suite/judge.h"
#include "suite/notices.h"

#include <errno.h>
#include <libgen.h>
#include <unistd.h>

struct cmd_run_opts {
    const char *conf, *against, *save, *format;
    struct opt_list set;
    bool skip_build, explain, force, quiet;
};

#define AT(field) offsetof(struct cmd_run_opts, field)

static const struct opt run_table[] = {
    {0, "conf", OPT_TEXT, AT(conf), "FILE",
     "the suite file (default: kelvin.conf here or in a folder above)"},
    {0, "set", OPT_LIST, AT(set), "KEY=VALUE",
     "override the suite file: build.command=make, workload.small.runs=20"},
    {0, "skip-build", OPT_FLAG, AT(skip_build), NULL, "use what was built before"},
    {0, "against", OPT_TEXT, AT(against), "NAME",
     "compare with the baseline NAME; a regression exits with 3"},
    {0, "save", OPT_TEXT, AT(save), "NAME",
     "keep this run as the baseline NAME, if it is ok or inconclusive"},
    {0, "force", OPT_FLAG, AT(force), NULL, "compare with a baseline of another machine anyway"},
    {0, "explain", OPT_FLAG, AT(explain), NULL,
     "run nothing: print every value and where it comes from"},
    {0, "format", OPT_CHOICE, AT(format), "FORMAT",
     "print what went wrong for a forge: github (workflow commands) or gitlab (code quality)",
     .choices = "github gitlab"},
    {'q', "quiet", OPT_FLAG, AT(quiet), NULL, "print errors and the result only"},
    OPT_END,
};

/* --- what to run --- */

/* A line for each, whatever is quiet; the last is ERR, which the caller says. */
static int say_errors(const struct buf *errors, struct err *err)
{
    struct text rest = buf_text(errors);
    while (rest.n) {
        struct text line = text_cut(&rest, '\n');
        if (rest.n)
            command_say("%.*s", TEXT_ARG(line));
        else
            err_set(err, EXIT_ERROR, "%.*s", TEXT_ARG(line));
    }
    return -1;
}

static int open_conf(struct run *r, const struct cmd_run_opts *o, struct err *err)
{
    autobuf struct buf errors = {0};
    const struct opt_list *set = &o->set;
    autofree char *path = o->conf ? mem_strdup(o->conf) : NULL;
    if (!path && conf_locate(&path, err) != 0)
        return -1;
    if (!path)
        return err_set(err, EXIT_ERROR,
                       "no kelvin.conf here or above: 'kelvin init' writes one to start from");
    int rc =
        conf_read(&r->suite.conf, path, (struct conf_sets){set->at, set->n, "--set"}, &errors, err);
    if (errors.n)
        rc = say_errors(&errors, err);
    autofree char *copy = mem_strdup(path);
    if (rc == 0 && chdir(dirname(copy)) != 0)
        rc = err_set_errno(err, errno, "cannot go to the folder of '%s'", path);
    return rc;
}

static void run_explain(const struct conf *c)
{
    for (const struct conf_key *k = conf_keys; k->section; k++) {
        const struct conf_names *names = conf_section_names(c, k->section);
        for (size_t i = 0; i < (names ? names->at.n : 1); i++) {
            const char *name = names ? names->at.at[i] : "";
            autofree char *dotted = mem_printf("%s.%s", k->section, k->key);
            autofree char *shown =
                *name ? mem_printf("%s.%s.%s", k->section, name, k->key) : mem_strdup(dotted);
            struct conf_value v = conf_find(c, name, dotted);
            autobuf struct buf text = {0};
            utf8_plain(&text, text_of(v.text));
            printf("%-28s = %-30s # %s\n", shown, buf_cstr(&text), v.origin);
        }
    }
}

/* --- what is said on the way --- */

static void say_phase(void *to, enum suite_phase phase)
{
    (void)to;
    fprintf(stderr, "[%d/%d] %s\n", (int)phase + 1, PHASES, suite_phase_names[phase]);
}

/* Indented below the line of its phase; the end of a log has several lines. */
static void say_line(void *to, const char *line)
{
    struct text rest = text_of(line);
    (void)to;
    while (rest.n) {
        autobuf struct buf one = {0};
        utf8_plain(&one, text_cut(&rest, '\n'));
        fprintf(stderr, "      %s\n", buf_cstr(&one));
    }
}

/* From here on Ctrl-C is something to read: what is running is ended and nothing is left behind. */
static int watch_signals(void)
{
    struct signals s;
    return signals_open(&s, false) == 0 ? s.fd : -1;
}

/* --- what came of it --- */

static double total_seconds(const struct suite *s)
{
    double sum = 0;
    for (int i = 0; i < PHASES; i++)
        sum += s->seconds[i];
    return sum;
}

/* Last, where people look first, is why it failed. */
static void tell_result(const struct run *r, const struct cmd_run_opts *o)
{
    const struct suite *s = &r->suite;
    double all_s = total_seconds(s);
    if (!o->quiet)
        fprintf(stderr, "Published %s in %.*f s (%.1f s of that was kelvin itself).\n",
                r->published ? r->published : "", all_s < 10, all_s, s->own_s);
    for (size_t i = 0; i < s->results.n; i++)
        if (s->results.at[i].outcome != SUITE_OK)
            command_say("workload '%s': %s%s%s", s->results.at[i].workload.name,
                        suite_outcome_words[s->results.at[i].outcome],
                        s->results.at[i].failure ? ", it " : "",
                        s->results.at[i].failure ? s->results.at[i].failure : "");
}

static void annotate(const struct run *r, const struct cmd_run_opts *o, const char *why)
{
    if (o->format)
        notices_print(stdout, &r->suite, why,
                      strcmp(o->format, "github") == 0 ? NOTICES_GITHUB : NOTICES_GITLAB);
}

/* What an option could do about it. */
static void add_hint(const struct run *r, struct err *err)
{
    struct err why = *err;
    if (r->fault == RUN_BUILD_FAILED)
        err_set(err, why.code, "%s: fix it, or use --skip-build", why.text);
    else if (r->fault == RUN_NO_BASELINE)
        err_set(err, why.code, "%s: 'kelvin run --save %s' makes one", why.text, r->opts.against);
    else if (r->fault == RUN_OTHER_HOST)
        err_set(err, why.code, "%s: --force compares anyway", why.text);
}

static int run_fail(const struct run *r, const struct cmd_run_opts *o, struct err *err)
{
    add_hint(r, err);
    annotate(r, o, err->text);
    return command_fail(err);
}

static int run_from_conf(struct run *r, const struct cmd_run_opts *o,
                         const struct opt_result *names)
{
    struct err err;
    if (open_conf(r, o, &err) != 0)
        return run_fail(r, o, &err);
    if (o->explain) {
        run_explain(&r->suite.conf);
        return EXIT_OK;
    }
    r->opts.stop_fd = watch_signals();
    if (run_suite(r, names->operands, (size_t)names->n_operands, &err) != 0) {
        if (r->errors.n)
            say_errors(&r->errors, &err);
        int rc = run_fail(r, o, &err);
        if (rc != EXIT_STOPPED)
            run_ended_early(r, err.text);
        return rc;
    }
    tell_result(r, o);
    annotate(r, o, NULL);
    return judge_code(suite_outcome(&r->suite));
}

static int run_run(const struct command *self, int n, char **args)
{
    struct cmd_run_opts o = {0};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct run r = {.opts = {.against = o.against,
                             .save = o.save,
                             .skip_build = o.skip_build,
                             .force = o.force,
                             .stop_fd = -1,
                             .phase = o.quiet ? NULL : say_phase,
                             .say = o.quiet ? NULL : say_line},
                    .suite.folder.lock = -1};
    rc = run_from_conf(&r, &o, &operands);
    run_done(&r);
    return rc;
}

const struct command command_run = {
    .name = "run",
    .summary = "build, record, benchmark, analyse, check and publish, as kelvin.conf says",
    .operands = "[WORKLOAD...]",
    .about =
        "Reads kelvin.conf ('kelvin init' writes one) and goes through seven phases: host, build, "
        "record, bench, analyse, check, publish. The result is one folder with an index, a JSON "
        "file of every figure and, for each workload, a flame graph, a Markdown page and the "
        "recording. "
        "The folder is replaced as a whole or not at all.\n\n"
        "If a workload fails, the run fails; the others still run. If something you asked for is "
        "unavailable (too few samples, no valgrind), the run is incomplete. The results of such a "
        "run go to a folder of the same name with '-failed' at its end, and the good one stays. "
        "The next good run removes it. Every run is stored: see 'kelvin history'.\n\n"
        "Values come from the suite file. The environment (KELVIN_BUILD_COMMAND, "
        "KELVIN_WORKLOAD_SMALL_RUNS) overrides it, and --set overrides both. --explain prints each "
        "value and where it comes from.\n\n"
        "Exit code 0: passed; 1: a workload or the run failed; 3: a regression, a failed rule "
        "or memory errors; 4: a rule or a change is inconclusive, or the run is incomplete; 130: "
        "Ctrl-C.",
    .examples = "kelvin run                                 # all of it\n"
                "kelvin run small --skip-build              # one workload, as it was built\n"
                "kelvin run --save main                     # and keep it as the baseline 'main'\n"
                "kelvin run --against main                  # exit 3 when something got slower\n"
                "kelvin run --explain                       # where does each value come from?",
    .opts = run_table,
    .run = run_run,
};
