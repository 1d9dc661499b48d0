/*
 * check.c - rules that a profile must keep, and how cost grows with size.
 */
#include "view/check.h"
#include "analysis/diff.h"
#include "analysis/scopetree.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/output.h"
#include "code/program_names.h"
#include "suite/hotcode.h"
#include "suite/knownleaks.h"

#include <math.h>

enum { MOST_SIZES = 64, ERRORS_SHOWN = 100 };

struct cmd_check_opts {
    struct input_opts input;
    struct output_opts output;
    const char *against, *sizes;
    struct opt_list suppressions;
    long top;
    bool force;
};

#define AT(field) offsetof(struct cmd_check_opts, field)

static const struct opt check_table[] = {
    {0, "against", OPT_TEXT, AT(against), "PROFILE", "the profile that diff rules compare with"},
    {.name = "suppressions",
     .kind = OPT_LIST,
     .offset = AT(suppressions),
     .arg = "FILE",
     .help = "known leaks that rules on 'leaked' leave out, in Valgrind's or LeakSanitizer's "
             "format; may be repeated"},
    {0, "sizes", OPT_TEXT, AT(sizes), "N,N,...", "the sizes of the input, one for each PROFILE"},
    OUTPUT_OPTS(struct cmd_check_opts, "text md json junit", "text, md, json or junit"),
    {0, "top", OPT_INT, AT(top), "N", "functions and scopes in the tables of growth (default: 15)",
     .min = 1, .max = 1000},
    {0, "force", OPT_FLAG, AT(force), NULL,
     "compare incompatible profiles, and read programs that have changed since"},
    SELECTION_OPTS(struct cmd_check_opts),
    INPUT_OPTS(struct cmd_check_opts),
    OPT_END,
};

struct check_job {
    const struct cmd_check_opts *opts;
    double sizes[MOST_SIZES];
    size_t n; /* profiles; one without sizes */
    char **paths;
    const char *rules_path; /* NULL = none */
    struct rules rules;
    struct input in[MOST_SIZES], before;
    size_t last; /* the profile of the largest size, which rules are about */
    struct hotcode code;
    struct buf no_code, unlike;
    struct scaling scaling;
    struct selection scopes[MOST_SIZES]; /* of each profile, where they are needed */
    struct suppressions known_leaks;
};

static void job_done(struct check_job *job)
{
    scaling_done(&job->scaling);
    hotcode_done(&job->code);
    for (size_t i = 0; i < job->n; i++) {
        selection_done(&job->scopes[i]);
        input_done(&job->in[i]);
    }
    input_done(&job->before);
    suppressions_done(&job->known_leaks);
    rules_done(&job->rules);
    buf_done(&job->no_code);
    buf_done(&job->unlike);
}

/* --- what to check --- */

static int read_sizes(struct check_job *job, struct err *err)
{
    struct text rest = text_of(job->opts->sizes);
    while (rest.n) {
        char word[40], *end;
        struct text t = text_trim(text_cut(&rest, ','));
        snprintf(word, sizeof word, "%.*s", TEXT_ARG(t));
        double size = strtod(word, &end);
        if (end == word || *end || !(size > 0) || isinf(size))
            return err_set(err, EXIT_ERROR, "--sizes: '%s' is not a size above 0", word);
        if (job->n == MOST_SIZES)
            return err_set(err, EXIT_ERROR, "--sizes: at most %d sizes", MOST_SIZES);
        job->last = job->n && size <= job->sizes[job->last] ? job->last : job->n;
        job->sizes[job->n++] = size;
    }
    for (size_t i = 1; i < job->n; i++)
        if (job->sizes[i] != job->sizes[0])
            return 0;
    return err_set(err, EXIT_ERROR, "--sizes: growth needs at least two different sizes");
}

static int read_operands(struct check_job *job, const struct opt_result *args, struct err *err)
{
    size_t n = (size_t)args->n_operands;
    job->paths = args->operands;
    if (job->opts->sizes) {
        if (read_sizes(job, err) != 0)
            return -1;
        if (n != job->n && n != job->n + 1)
            return err_set(
                err, EXIT_ERROR,
                "--sizes has %zu sizes: name %zu profiles, then a file of rules if there is one",
                job->n, job->n);
    } else {
        job->n = 1;
        if (n != 2)
            return err_set(
                err, EXIT_ERROR,
                "check: name a profile and a file of rules, the profile first; see --help");
    }
    job->rules_path = n > job->n ? args->operands[job->n] : NULL;
    if (!job->rules_path && strcmp(output_format(&job->opts->output), "junit") == 0)
        return err_set(err, EXIT_ERROR,
                       "JUnit output has a test case per rule: name a file of rules");
    return 0;
}

/* --- rules --- */

static int tell_errors(const struct check_job *job)
{
    const struct rules *r = &job->rules;
    for (size_t i = 0; i < r->errors.n && i < ERRORS_SHOWN; i++)
        command_say("%s:%u:%u: %s", job->rules_path, r->errors.at[i].line, r->errors.at[i].column,
                    r->errors.at[i].text);
    if (r->errors.n > ERRORS_SHOWN)
        command_say("%s: and %zu more error%s", job->rules_path, r->errors.n - ERRORS_SHOWN,
                    r->errors.n == ERRORS_SHOWN + 1 ? "" : "s");
    if (r->lacks_before)
        command_say("name the profile to compare with: --against PROFILE");
    if (r->lacks_sizes)
        command_say("name profiles of several sizes: --sizes N,N,... PROFILE...");
    return EXIT_ERROR;
}

static int read_rules(struct check_job *job)
{
    struct reader in;
    struct err err;
    if (reader_open(&in, job->rules_path, &err) != 0)
        return command_fail(&err);
    int rc = rules_parse(&job->rules, reader_peek(&in, RULES_MAX_BYTES + 1));
    bool failed = reader_failed(&in, &err);
    reader_close(&in);
    if (failed)
        return command_fail(&err);
    if (rc != 0 || rules_require(&job->rules, &(struct rules_have){.before = job->opts->against,
                                                                   .sizes = job->opts->sizes}) != 0)
        return tell_errors(job);
    return EXIT_OK;
}

/* --- profiles --- */

static int check_load(struct check_job *job, const char *path, struct input *in)
{
    char *operand = (char *)path;
    struct opt_result one = {.operands = &operand, .n_operands = 1};
    struct import_opts want = {.addresses = rules_need_code(&job->rules)};
    int rc = input_load(in, &one, &job->opts->input, &want);
    if (rc == EXIT_OK)
        input_tell_events(in, &job->opts->input);
    return rc;
}

static int check_load_all(struct check_job *job)
{
    int rc = EXIT_OK;
    for (size_t i = 0; i < job->n && rc == EXIT_OK; i++)
        rc = check_load(job, job->paths[i], &job->in[i]);
    if (rc == EXIT_OK && job->opts->against)
        rc = check_load(job, job->opts->against, &job->before);
    return rc;
}

/* Growth over one size, and a change from a recording to itself, keep any rule. */
static void check_add_repeated(struct check_job *job)
{
    struct input ins[MOST_SIZES + 1];
    char *paths[MOST_SIZES + 1];
    for (size_t i = 0; i < job->n; i++) {
        ins[i] = job->in[i];
        paths[i] = job->paths[i];
    }
    ins[job->n] = job->before;
    paths[job->n] = (char *)job->opts->against;
    input_repeated(ins, paths, job->n + (job->before.profile != NULL), &job->unlike);
}

/* All that are held against each other must be of one kind. */
static int compare_kinds(struct check_job *job, struct err *err)
{
    const struct selection *runs[MOST_SIZES + 1];
    size_t n = 0;
    for (size_t i = 0; i < job->n; i++)
        runs[n++] = &job->in[i].selection;
    if (job->before.profile)
        runs[n++] = &job->before.selection;
    diff_unlike(&(struct diff_opts){.runs = runs, .n_before = 1, .n_runs = n}, &job->unlike);
    check_add_repeated(job);
    if (!job->unlike.n || job->opts->force)
        return 0;
    const char *reasons = buf_cstr(&job->unlike);
    return err_set(err, EXIT_ERROR,
                   "these profiles cannot be compared: %.*s; --force compares them anyway",
                   (int)strcspn(reasons, "\n"), reasons);
}

static void read_code(struct check_job *job)
{
    const struct input *in = &job->in[job->last];
    hotcode_read_profile(&job->code, &in->selection,
                         &(struct hotcode_opts){.force = job->opts->force,
                                                .find = input_find_file,
                                                .where = &job->opts->input});
    if (!job->code.has_addresses)
        buf_str(&job->no_code, "the profile has no addresses, record with 'kelvin record'");
    for (size_t i = 0; i < job->code.notes.n && i < 3; i++)
        buf_printf(&job->no_code, "%s%s", job->no_code.n ? "; " : "", job->code.notes.at[i]);
}

static const struct selection *scopes_of(const struct check_job *job, size_t i)
{
    return job->scopes[i].profile ? &job->scopes[i] : NULL;
}

static void build_scaling(struct check_job *job)
{
    struct scaling_run runs[MOST_SIZES];
    for (size_t i = 0; i < job->n; i++)
        runs[i] = (struct scaling_run){&job->in[i].selection, job->sizes[i], scopes_of(job, i)};
    scaling_build(&job->scaling, runs, job->n, (size_t)job->opts->top);
}

/* Of the scopes the same threads, time and attributes; functions are not on their stacks. */
static int select_scopes(struct check_job *job, struct err *err)
{
    struct input_opts o = job->opts->input;
    o.event = "scopes";
    o.value = "self";
    o.focus = o.ignore = o.hide = (struct opt_list){0};
    for (size_t i = 0; i < job->n; i++) {
        const struct input *in = &job->in[i];
        bool needed = job->opts->sizes || rules_need_scopes(&job->rules);
        if (needed && scopetree_stream(in->profile) >= 0 &&
            input_select(in, &o, &job->scopes[i], err) != 0)
            return -1;
    }
    return 0;
}

/* --- output --- */

static int check_print(const struct check_job *job, const struct check *c, struct err *err)
{
    const struct output_opts *o = &job->opts->output;
    const char *format = output_format(o);
    struct publish file;
    struct check_view v = {
        .subject = job->paths[job->last],
        .selection = &job->in[job->last].selection,
        .rules_name = job->rules_path,
        .check = c,
        .scaling = job->opts->sizes ? &job->scaling : NULL,
        .against = job->opts->against,
        .unlike = job->unlike.n ? job->unlike.at : "",
    };
    if (publish_open(&file, o->path, err) != 0)
        return -1;
    if (strcmp(format, "json") == 0)
        check_print_json(file.out, &v);
    else if (strcmp(format, "junit") == 0)
        check_print_junit(file.out, &v);
    else if (strcmp(format, "md") == 0)
        check_print_markdown(file.out, &v);
    else
        check_print_text(file.out, &v, output_width(o), output_in_colour(o));
    return publish_commit(&file, err);
}

static int check_and_print(struct check_job *job)
{
    static const int codes[] = {EXIT_OK, EXIT_FAILS, EXIT_INCONCLUSIVE};
    struct check c;
    struct err err;
    struct check_input in = {
        .selection = &job->in[job->last].selection,
        .before = job->before.profile ? &job->before.selection : NULL,
        .code = job->code.rows.at,
        .n_code = job->code.rows.n,
        .no_code = buf_cstr(&job->no_code),
        .scaling = job->opts->sizes ? &job->scaling : NULL,
        .scopes = scopes_of(job, job->last),
        .known_leaks = &job->known_leaks,
        .has_function = program_has_function,
    };
    int rc = check_build(&c, &job->rules, &in) != 0 ? tell_errors(job)
             : check_print(job, &c, &err) != 0      ? command_fail(&err)
                                                    : codes[c.verdict];
    check_done(&c);
    return rc;
}

static int check_all(struct check_job *job, const struct opt_result *operands)
{
    struct err err;
    int rc = EXIT_OK;
    const struct opt_list *known = &job->opts->suppressions;
    if (read_operands(job, operands, &err) != 0 ||
        knownleaks_read(known->at, known->n, &job->known_leaks, &err) != 0)
        return command_fail(&err);
    if (job->rules_path)
        rc = read_rules(job);
    if (rc != EXIT_OK || (rc = check_load_all(job)) != EXIT_OK)
        return rc;
    if (compare_kinds(job, &err) != 0 || select_scopes(job, &err) != 0)
        return command_fail(&err);
    if (rules_need_code(&job->rules))
        read_code(job);
    if (job->opts->sizes)
        build_scaling(job);
    if (job->rules_path)
        return check_and_print(job);
    return check_print(job, NULL, &err) == 0 ? EXIT_OK : command_fail(&err);
}

static int check_run(const struct command *self, int n, char **args)
{
    struct cmd_check_opts o = {.output = OUTPUT_DEFAULTS, .top = 15};
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct check_job *job = mem_new(struct check_job);
    job->opts = &o;
    rc = check_all(job, &operands);
    job_done(job);
    free(job);
    return rc;
}

const struct command command_check = {
    .name = "check",
    .summary = "check a profile against rules: each passes, fails, or is inconclusive",
    .operands = "PROFILE RULES | --sizes N,N,... PROFILE... [RULES]",
    .about =
        "Reads a file of rules, one per line, and says for each whether the profile passes:\n\n"
        "  total forward 90..95% tolerance 5    # its share, with all it calls\n"
        "  self memcpy <= 10%                   # its share, alone\n"
        "  samples >= 200                       # also: lost, unfinished, unnamed <= 1%\n"
        "  present parse                        # or absent\n"
        "  diff total matmul <= +5%             # of its cost in --against; or +2 points\n"
        "  simd matmul packed >= 80% width >= 256\n"
        "  growth matmul <= 1.2                 # its exponent over --sizes\n"
        "  peak <= 200 MiB                      # of the heap; also leaked, allocations\n"
        "  p99 decode <= 5 ms                   # of a scope; any pN, mean, max\n"
        "  calls layer == 24 * tokens           # of a scope, by a counter or a number\n"
        "  rate tokens >= 40                    # a counter or a scope, per second\n"
        "  cache-misses parse <= 2 per 1000     # instructions; also branch-misses\n"
        "  hotspot matmul primary               # or secondary, tertiary\n\n"
        "Suites have rules about measured runs as well: time, cpu, scatter, r2, gflops, memory, "
        "diff memory, metric; see doc/rules.md. "
        "Quote names that contain blanks. A share has a 95% interval: a rule passes if the whole "
        "interval is in the range and fails if none of it is. Otherwise the rule is inconclusive, "
        "and the output shows what would decide it. A function of the program without samples has "
        "an interval from 0% to the largest share that this many samples can miss. Names are "
        "looked up in the "
        "samples, then in the program's symbols. If the rules have errors, all of them are listed "
        "and nothing is checked.\n\n"
        "With --sizes the profiles are runs of growing input: a table shows how the cost of the "
        "whole and of hot functions grows, and rules apply to the largest.\n\n"
        "Exit code 0: all passed; 3: some failed; 4: none failed, some are inconclusive.",
    .examples =
        "kelvin check app.kelvin perf.rules                      # one line per rule, and an exit "
        "code\n"
        "kelvin check app.kelvin perf.rules -o check.xml         # JUnit, for a build server\n"
        "kelvin check new.kelvin perf.rules --against old.kelvin # with diff rules\n"
        "kelvin check --sizes 1000,2000,4000 a.kelvin b.kelvin c.kelvin",
    .opts = check_table,
    .run = check_run,
};
