/*
 * diff.c - what changed between profiles, and what of it is proven.
 */
#include "view/diff.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/output.h"
#include "model/heapstream.h"
#include "view/scopediff.h"

struct cmd_diff_opts {
    struct input_opts input;
    struct output_opts output;
    const char *theme, *by;
    double min_share, band;
    long top;
    bool force, before, after, scopes;
};

#define AT(field) offsetof(struct cmd_diff_opts, field)

static const struct opt diff_table[] = {
    {0, "before", OPT_FLAG, AT(before), NULL,
     "the profiles that follow are the runs before the change"},
    {0, "after", OPT_FLAG, AT(after), NULL, "the profiles that follow are the runs after it"},
    OUTPUT_OPTS(struct cmd_diff_opts, "text md json svg html", "text, md, json, svg or html"),
    {0, "min-share", OPT_NUMBER, AT(min_share), "PERCENT",
     "test only what has at least this share of the time, as the mean of both sides (default: "
     "0.5)",
     .min = 0, .max = 100},
    {0, "band", OPT_NUMBER, AT(band), "PERCENT",
     "changes up to this count as none (default: 2; if the sides were not recorded in turn: 5, or "
     "50 on a busy machine)",
     .min = 0.01, .max = 100},
    {0, "top", OPT_INT, AT(top), "N", "rows in each list (default: 10)", .min = 1, .max = 1000000},
    {0, "by", OPT_CHOICE, AT(by), "WHAT",
     "compare functions, source lines, or places that allocate (of a heap; default: function)",
     "function line place"},
    {0, "scopes", OPT_FLAG, AT(scopes), NULL,
     "compare how long the program's scopes (kelvin.h) took, by percentile"},
    {0, "force", OPT_FLAG, AT(force), NULL,
     "compare incompatible profiles anyway; the output says so"},
    {0, "theme", OPT_CHOICE, AT(theme), "THEME",
     "theme of the SVG: light, dark, or auto (default: auto)", "auto light dark"},
    PUBLIC_OPTS(struct cmd_diff_opts),
    SELECTION_OPTS(struct cmd_diff_opts),
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
static int diff_split(const struct opt_result *args, struct sides *s, struct err *err)
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
        return err_set(err, EXIT_ERROR, "no profile for %s: name some after --%s",
                       s->before.n ? "after" : "before", s->before.n ? "after" : "before");
    return 0;
}

/* --- loading --- */

struct loaded {
    struct input *ins;
    char **paths;
    const struct selection **runs;
    size_t n;
};

static void loaded_done(struct loaded *l)
{
    for (size_t i = 0; i < l->n; i++)
        input_done(&l->ins[i]);
    free(l->ins);
    free(l->paths);
    free(l->runs);
}

/* One run per side keeps the samples' times, which say how many of them are independent. */
static int diff_load_all(struct loaded *l, const struct sides *s, const struct cmd_diff_opts *o)
{
    size_t n = s->before.n + s->after.n;
    l->paths = mem_calloc(n, sizeof *l->paths);
    l->ins = mem_calloc(n, sizeof *l->ins);
    l->runs = mem_calloc(n, sizeof *l->runs);
    l->n = n;
    for (size_t i = 0; i < n; i++) {
        l->paths[i] = i < s->before.n ? s->before.at[i] : s->after.at[i - s->before.n];
        l->runs[i] = &l->ins[i].selection;
    }
    struct import_opts want = {.merge = !o->scopes && n > 2,
                               .addresses = strcmp(o->by, "line") == 0};
    return input_load_all(l->ins, l->paths, n, &o->input, &want);
}

/* --- output --- */

typedef void print_fn(FILE *out, const struct diff *d, const struct diff_view *v);

static const struct {
    const char *format;
    print_fn *print;
} formats[] = {
    {"text", diff_print_text}, {"md", diff_print_markdown}, {"json", diff_print_json},
    {"svg", diff_print_svg},   {"html", diff_print_html},
};

static print_fn *printer_of(const struct output_opts *o)
{
    const char *format = output_format(o);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i].format) == 0)
            return formats[i].print;
    return diff_print_text;
}

static int diff_print(const struct cmd_diff_opts *o, const struct diff *d,
                      const struct diff_view *view, struct err *err)
{
    struct publish file;
    if (publish_open(&file, o->output.path, err) != 0)
        return -1;
    printer_of (&o->output)(file.out, d, view);
    return publish_commit(&file, err);
}

static int diff_refuse(const char *reasons, struct err *err)
{
    return err_set(err, EXIT_ERROR,
                   "these profiles cannot be compared: %.*s; --force compares them anyway",
                   (int)strcspn(reasons, "\n"), reasons);
}

/* Of one run per side the verdict itself says that both are one. */
static int diff_find_reasons(const struct loaded *l, const struct diff_opts *opts, bool force,
                             struct buf *reasons, struct err *err)
{
    diff_unlike(opts, reasons);
    if (l->n > 2)
        input_repeated(l->ins, l->paths, l->n, reasons);
    return reasons->n && !force ? diff_refuse(buf_cstr(reasons), err) : 0;
}

/* Text is for the terminal; all else may be published. */
static void diff_make_public(const struct loaded *l, const struct cmd_diff_opts *o)
{
    if (strcmp(output_format(&o->output), "text") != 0)
        for (size_t i = 0; i < l->n; i++)
            input_make_public(&l->ins[i], &o->input);
}

/* Which ones is for those who may see them. */
static void diff_find_arguments(const struct cmd_diff_opts *o, struct diff_opts *d,
                                const struct loaded *l, struct buf *b)
{
    const struct profile *before = d->runs[0]->profile, *after = d->runs[d->n_before]->profile;
    diff_arguments(before, after, b);
    d->same_arguments = !b->n && !diff_arguments_hidden(before, after); /* as long as it is known */
    diff_make_public(l, o);
    autobuf struct buf shown = {0};
    diff_arguments(before, after, &shown);
    if (b->n && strcmp(buf_cstr(b), buf_cstr(&shown)) != 0) {
        b->n = 0;
        buf_str(b, "the arguments differ");
    }
}

static enum overlay_by diff_by_of(const struct cmd_diff_opts *o)
{
    return strcmp(o->by, "line") == 0    ? OVERLAY_LINE
           : strcmp(o->by, "place") == 0 ? OVERLAY_PLACE
                                         : OVERLAY_FUNCTION;
}

/* Only a heap has places. */
static int diff_check_by(const struct diff_opts *o, struct err *err)
{
    for (size_t i = 0; i < o->n_runs && o->by == OVERLAY_PLACE; i++)
        if (heapstream_column_of(o->runs[i]->profile, o->runs[i]->value) == HEAP_COLUMNS)
            return err_set(err, EXIT_ERROR,
                           "--by place compares allocations: choose a value of the heap, such as "
                           "--value allocated, peak or leaked");
    return 0;
}

static int diff_compare(const struct cmd_diff_opts *o, const struct loaded *l, size_t n_before,
                        struct err *err)
{
    struct diff_opts opts = {.runs = l->runs,
                             .n_before = n_before,
                             .n_runs = l->n,
                             .min_share = o->min_share / 100,
                             .band = o->band / 100};
    autobuf struct buf reasons = {0}, arguments = {0};
    opts.by = diff_by_of(o);
    if (diff_check_by(&opts, err) != 0)
        return -1;
    if (diff_find_reasons(l, &opts, o->force, &reasons, err) != 0)
        return -1;
    diff_find_arguments(o, &opts, l, &arguments);
    struct diff_view view = {
        .runs = opts.runs,
        .unlike = buf_cstr(&reasons),
        .arguments = buf_cstr(&arguments),
        .top = (size_t)o->top,
        .theme = strcmp(o->theme, "light") == 0  ? THEME_LIGHT
                 : strcmp(o->theme, "dark") == 0 ? THEME_DARK
                                                 : THEME_AUTO,
        .width = output_width(&o->output),
        .colour = output_in_colour(&o->output),
    };
    struct diff *d = diff_build(&opts);
    int rc = diff_print(o, d, &view, err);
    if (rc == 0 && strcmp(o->output.path, "-") != 0) /* nobody should have to open it for that */
        command_say("%s: %s", diff_verdict_names[d->verdict], d->why);
    diff_free(d);
    return rc;
}

/* --- scopes --- */

static int scopediff_publish(const struct cmd_diff_opts *o, const struct scopediff_view *v,
                             struct err *err)
{
    const char *format = output_format(&o->output);
    struct document_paper paper = output_paper(&o->output);
    struct publish file;
    if (publish_open(&file, o->output.path, err) != 0)
        return -1;
    if (strcmp(format, "json") == 0)
        scopediff_print_json(file.out, v);
    else
        scopediff_print(file.out, v, &paper);
    return publish_commit(&file, err);
}

static int diff_compare_scopes(const struct cmd_diff_opts *o, const struct loaded *l,
                               const struct sides *sides, struct err *err)
{
    autobuf struct buf reasons = {0};
    struct scopediff d;
    struct diff_opts like = {.runs = l->runs, .n_before = sides->before.n, .n_runs = l->n};
    if (diff_find_reasons(l, &like, o->force, &reasons, err) != 0)
        return -1;
    struct scopediff_view view = {.diff = &d,
                                  .before = sides->before.at[0],
                                  .after = sides->after.at[0],
                                  .unlike = buf_cstr(&reasons)};
    struct scopediff_opts opts = {.runs = l->runs,
                                  .n_before = sides->before.n,
                                  .n_runs = l->n,
                                  .band = o->band / 100,
                                  .top = (size_t)o->top};
    int rc = scopediff_build(&d, &opts, err);
    if (rc == 0)
        rc = scopediff_publish(o, &view, err);
    scopediff_done(&d);
    return rc;
}

/* --- all of it --- */

/* With --scopes the stream is given. */
static int diff_choose_scopes(struct cmd_diff_opts *o, struct err *err)
{
    if (!o->scopes)
        return 0;
    if (o->input.event || o->input.value)
        return err_set(err, EXIT_ERROR, "--scopes compares times of scopes: leave out --%s",
                       o->input.event ? "event" : "value");
    if (strcmp(output_format(&o->output), "svg") == 0)
        return err_set(err, EXIT_ERROR, "--scopes has no drawing: use text, md, json or html");
    o->input.event = "scopes";
    o->input.value = "self";
    o->input.no_event =
        "there are no scopes in this profile: put KELVIN_SCOPE(\"name\") of kelvin.h into the "
        "program, and record it with 'kelvin record -- COMMAND'";
    return 0;
}

static int diff_sides(const struct cmd_diff_opts *o, const struct sides *sides)
{
    struct loaded l = {0};
    struct err err = {0};
    int rc = diff_load_all(&l, sides, o);
    if (rc == EXIT_OK && (o->scopes ? diff_compare_scopes(o, &l, sides, &err)
                                    : diff_compare(o, &l, sides->before.n, &err)) != 0)
        rc = command_fail(&err);
    loaded_done(&l);
    return rc;
}

static int diff_run(const struct command *self, int n, char **args)
{
    struct cmd_diff_opts o = {
        .output = OUTPUT_DEFAULTS, .theme = "auto", .by = "function", .min_share = 0.5, .top = 10};
    struct opt_result operands;
    mark_sides(n, args);
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err = {0};
    struct sides sides = {0};
    if (diff_split(&operands, &sides, &err) != 0 || diff_choose_scopes(&o, &err) != 0)
        rc = command_fail(&err);
    else
        rc = diff_sides(&o, &sides);
    vec_done(&sides.before);
    vec_done(&sides.after);
    return rc;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "compare profiles and say which differences are proven",
    .operands = "BEFORE AFTER | --before FILE... --after FILE...",
    .about =
        "Compares profiles by function and by call path and shows what grew and what shrank: "
        "seconds of CPU time before and after, the change with a 95% interval, and a p that is "
        "adjusted for the number of functions tested. Unproven changes are shown, but not marked. "
        "Names are compared without the suffixes that compilers append (.cold, .isra.0, hashes, "
        "numbers of lambdas). A function that is gone and a new one with the same callers, callees "
        "and cost "
        "are listed as possibly renamed.\n"
        "\n"
        "A function's cost is its share times the CPU time of the run. Where the CPU time is not "
        "known (folded stacks), shares are compared with that of the typical function, because "
        "shares add to 100%: when one grows, the others shrink.\n"
        "\n"
        "One run per side shows sampling error, but not run-to-run variation. A change then counts "
        "only beyond a factor of 1.5 (2 on a busy machine), both by itself and relative to the "
        "rest of the program, or beyond a factor of 3 by itself. Such changes must add up to 5% of "
        "the time (20% on a busy machine). If both runs are of the same program with the same "
        "arguments, no change counts.\n"
        "\n"
        "Several runs per side show run-to-run variation. Record at least four per side: two on "
        "either side, or three on both, prove nothing. A change is proven when its p is at most "
        "0.01 "
        "(0.005 for the whole) and "
        "its interval lies beyond --band. The whole is unchanged when the interval of its CPU time "
        "lies within --band.\n"
        "\n"
        "A verdict never contradicts the CPU time. Interrupts (devices, "
        "timers, the scheduler's tick) are not the program's work: their sum is shown, and "
        "none of their functions is tested. Record the sides in turn, so that a change "
        "of the machine affects both.\n"
        "\n"
        "With --by line source lines are compared instead of functions, by file name and number: "
        "for the same source with another compiler, input or setting, as lines move when source "
        "changes. With --by place the functions that allocate are compared, past malloc, operator "
        "new, containers and wrappers.\n"
        "\n"
        "With --scopes the times of the program's scopes (kelvin.h) are compared instead: median, "
        "90th and 99th percentile of each, with 95% intervals. One run per side proves a change "
        "beyond a factor of 1.5 (2 on a busy machine), both by itself and relative to the other "
        "scopes, or beyond a factor of 3 by itself. Four or more runs prove smaller changes, "
        "from 5%.\n"
        "\n"
        "If a module has function names on one side only, its functions are not compared. "
        "Profiles of different programs, or with a different event, kind, rate, scope, machine or "
        "value, are refused; --force compares them anyway and says so in the output. A program "
        "that was renamed or rebuilt counts as the same as long as a third of its functions are "
        "in common. Arguments that differ are shown below the verdict.",
    .examples =
        "kelvin diff before.kelvin after.kelvin              # top ten each way, and a verdict\n"
        "kelvin diff before.kelvin after.kelvin -o diff.svg  # grown red, shrunk blue, else grey\n"
        "kelvin diff --before b*.kelvin --after a*.kelvin    # several runs per side\n"
        "kelvin diff before.kelvin after.kelvin -o diff.html # one page, with the drawing\n"
        "kelvin diff before.kelvin after.kelvin --by place --value peak   # who holds the memory\n"
        "kelvin diff before.kelvin after.kelvin --scopes     # how long scopes took, by "
        "percentile\n"
        "kelvin diff before.kelvin after.kelvin --format json | jq .verdict",
    .opts = diff_table,
    .run = diff_run,
};
