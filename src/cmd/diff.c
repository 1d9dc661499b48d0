/*
 * diff.c - what changed between profiles, and what of it is proven.
 */
#include "view/diff.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"

struct cmd_diff_opts {
    struct input_opts input;
    const char *output, *format, *theme;
    double min_share;
    long top;
    bool force, before, after;
};

#define AT(field) offsetof(struct cmd_diff_opts, field)

static const struct opt diff_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE", "write to FILE (default: standard output)"},
    {0, "before", OPT_FLAG, AT(before), NULL, "the profiles that follow are runs of before"},
    {0, "after", OPT_FLAG, AT(after), NULL, "the profiles that follow are runs of after"},
    {0, "format", OPT_CHOICE, AT(format), "FORMAT",
     "text, md, json or svg (default: by the end of the output's name, else text)",
     "text md json svg"},
    {0, "min-share", OPT_NUMBER, AT(min_share), "PERCENT",
     "test only what has this share of the time, the mean of both sides (default: 0.5)", .min = 0,
     .max = 100},
    {0, "top", OPT_INT, AT(top), "N", "rows in each list (default: 10)", .min = 1, .max = 1000000},
    {0, "force", OPT_FLAG, AT(force), NULL,
     "compare unlike profiles all the same; the output says so"},
    {0, "theme", OPT_CHOICE, AT(theme), "THEME",
     "of the drawing: light, dark, or auto (default: auto)", "auto light dark"},
    INPUT_OPTS(struct cmd_diff_opts),
    OPT_END,
};

/* --- sides --- */

/* Put in place of the words, so that they come out among the operands, where they stood. */
static char before_mark[] = "before", after_mark[] = "after";

static void mark_sides(int n, char **args)
{
    for (int i = 0; i < n && strcmp(args[i], "--") != 0; i++)
        if (strcmp(args[i], "--before") == 0)
            args[i] = before_mark;
        else if (strcmp(args[i], "--after") == 0)
            args[i] = after_mark;
}

struct sides {
    VEC(char *) before, after;
};

/* Without marks the first of two profiles is before, the second after. */
static int split(const struct opt_result *args, struct sides *s, struct err *err)
{
    bool marked = false, after = false;
    for (int i = 0; i < args->n_operands; i++) {
        char *word = args->operands[i];
        if (word == before_mark || word == after_mark) {
            after = word == after_mark;
            marked = true;
        } else if (after || (!marked && i == 1)) {
            *vec_push(&s->after) = word;
        } else {
            *vec_push(&s->before) = word;
        }
    }
    if (!marked && args->n_operands != 2)
        return err_set(err, EXIT_ERROR,
                       "diff takes two profiles, or --before PROFILE... --after PROFILE...");
    if (!s->before.n || !s->after.n)
        return err_set(err, EXIT_ERROR, "no profile for %s: name some behind --%s",
                       s->before.n ? "after" : "before", s->before.n ? "after" : "before");
    return 0;
}

/* --- loading --- */

struct loaded {
    VEC(struct diff_run) runs;
};

static void loaded_done(struct loaded *l)
{
    for (size_t i = 0; i < l->runs.n; i++)
        profile_free((struct profile *)l->runs.at[i].p);
    vec_done(&l->runs);
}

/* One run a side keeps the samples' times, which tell how many of them are independent. */
static int load_one(struct loaded *l, char *path, const struct input_opts *o, bool merge)
{
    struct input in;
    struct opt_result one = {.operands = &path, .n_operands = 1};
    struct import_opts want = {.merge = merge};
    int rc = input_load(&in, &one, o, &want);
    if (rc == EXIT_OK)
        *vec_push(&l->runs) = (struct diff_run){in.profile, in.type};
    return rc;
}

static int load_all(struct loaded *l, const struct sides *s, const struct input_opts *o)
{
    bool merge = s->before.n + s->after.n > 2;
    int rc = EXIT_OK;
    for (size_t i = 0; i < s->before.n && rc == EXIT_OK; i++)
        rc = load_one(l, s->before.at[i], o, merge);
    for (size_t i = 0; i < s->after.n && rc == EXIT_OK; i++)
        rc = load_one(l, s->after.at[i], o, merge);
    return rc;
}

/* --- output --- */

typedef void print_fn(FILE *out, const struct diff *d, const struct diff_view *v);

static const struct {
    const char *name, *ending;
    print_fn *print;
} formats[] = {
    {"text", ".txt", diff_print_text},
    {"md", ".md", diff_print_markdown},
    {"json", ".json", diff_print_json},
    {"svg", ".svg", diff_print_svg},
};

static print_fn *printer_of(const struct cmd_diff_opts *o)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (o->format ? strcmp(o->format, formats[i].name) == 0
                      : text_ends(text_of(o->output), formats[i].ending))
            return formats[i].print;
    return diff_print_text;
}

static int print(const struct cmd_diff_opts *o, const struct diff *d, const char *unlike,
                 struct err *err)
{
    struct diff_view view = {
        .unlike = unlike,
        .top = (size_t)o->top,
        .theme = strcmp(o->theme, "light") == 0  ? THEME_LIGHT
                 : strcmp(o->theme, "dark") == 0 ? THEME_DARK
                                                 : THEME_AUTO,
    };
    struct publish file;
    if (publish_open(&file, o->output, err) != 0)
        return -1;
    printer_of(o)(file.out, d, &view);
    return publish_commit(&file, err);
}

static int refuse(const char *reasons, struct err *err)
{
    return err_set(err, EXIT_ERROR, "these profiles do not compare: %.*s; --force does it anyway",
                   (int)strcspn(reasons, "\n"), reasons);
}

static int compare(const struct cmd_diff_opts *o, const struct loaded *l, size_t n_before,
                   struct err *err)
{
    struct diff_opts opts = {.runs = l->runs.at,
                             .n_before = n_before,
                             .n_runs = l->runs.n,
                             .min_share = o->min_share / 100};
    autobuf struct buf reasons = {0};
    diff_unlike(&opts, &reasons);
    if (reasons.n && !o->force)
        return refuse(buf_cstr(&reasons), err);
    struct diff *d = diff_build(&opts);
    int rc = print(o, d, buf_cstr(&reasons), err);
    diff_free(d);
    return rc;
}

static int diff_run(const struct command *self, int n, char **args)
{
    struct cmd_diff_opts o = {.output = "-", .theme = "auto", .min_share = 0.5, .top = 10};
    struct opt_result operands;
    mark_sides(n, args);
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err = {0};
    struct sides sides = {0};
    struct loaded loaded = {0};
    if (split(&operands, &sides, &err) != 0)
        rc = command_fail(&err);
    else if ((rc = load_all(&loaded, &sides, &o.input)) == EXIT_OK &&
             compare(&o, &loaded, sides.before.n, &err) != 0)
        rc = command_fail(&err);
    loaded_done(&loaded);
    vec_done(&sides.before);
    vec_done(&sides.after);
    return rc;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "compare profiles and say which differences are proven",
    .operands = "BEFORE AFTER | --before BEFORE... --after AFTER...",
    .about =
        "Lays profiles over each other by function and by call path and tells what grew and what "
        "shrank, in points of the share, with a 95 % interval and a p that is adjusted for the "
        "number of functions tested. What is not proven is shown, but not marked. Names are "
        "compared without what compilers append (.cold, .isra.0, hashes, numbers of lambdas).\n"
        "\n"
        "With one run a side only the error of sampling is known: a difference between two runs "
        "of the same program may look proven because the runs differ. With several runs a side "
        "the runs themselves show how much they differ, and nothing else is assumed. Four runs a "
        "side are the least that can prove anything; five or more are better.\n"
        "\n"
        "Shares add up to 100 %: when one function grows the others shrink. The verdict is "
        "therefore taken from the CPU time where several runs have one.\n"
        "\n"
        "Profiles of another event, kind, rate, machine or value are refused; --force compares "
        "them and says so in the output.",
    .examples =
        "kelvin diff before.kelvin after.kelvin              # top ten each way, and a verdict\n"
        "kelvin diff before.kelvin after.kelvin -o diff.svg  # grown red, shrunk blue, else grey\n"
        "kelvin diff --before b*.kelvin --after a*.kelvin    # several runs a side\n"
        "kelvin diff before.kelvin after.kelvin --format json | jq .verdict",
    .opts = diff_table,
    .run = diff_run,
};
