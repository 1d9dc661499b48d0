/*
 * history.c - what the runs of a suite gave, over time.
 */
#include "view/history.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/output.h"
#include "host/fingerprint.h"
#include "store/history.h"
#include "suite/archive.h"
#include "suite/run.h"
#include "view/flamesteps.h"

#include <math.h>

struct cmd_history_opts {
    struct output_opts output;
    const char *store, *host, *commit, *metric;
    long last, keep;
    bool all_hosts, functions, flame;
};

#define AT(field) offsetof(struct cmd_history_opts, field)

static const struct opt history_table[] = {
    OUTPUT_OPTS(struct cmd_history_opts, "text md json csv html", "text, md, json, csv or html"),
    {0, "last", OPT_INT, AT(last), "N", "only the newest N runs of a workload (default: 200)",
     .min = 1, .max = 1000000},
    {0, "host", OPT_TEXT, AT(host), "NAME", "runs on this machine (default: the one you are on)"},
    {0, "all-hosts", OPT_FLAG, AT(all_hosts), NULL,
     "list the runs of all machines; trends are not drawn across machines"},
    {0, "commit", OPT_TEXT, AT(commit), "COMMIT",
     "only runs of the commit that starts with COMMIT"},
    {0, "functions", OPT_FLAG, AT(functions), NULL,
     "show every function above 1%, not only those whose share changed"},
    {0, "metric", OPT_TEXT, AT(metric), "NAME",
     "only figures with NAME in their name: a metric, a benchmark, 'CPU time'..."},
    {0, "flame", OPT_FLAG, AT(flame), NULL,
     "write a page to step through the flame graphs of archived runs: needs -o FILE.html"},
    {0, "prune", OPT_INT, AT(keep), "N",
     "delete all but the newest N runs of each workload and machine", .min = 1, .max = 1000000},
    {0, "store", OPT_TEXT, AT(store), "FILE",
     "where runs are stored (default: .kelvin/history.db of the project)"},
    OPT_END,
};

/* Functions that never reach this share are not worth a line. */
#define LEAST_SHARE 0.01

/* --- from the store to what is shown --- */

struct shown {
    VEC(struct history_row) rows;
    VEC(struct trend) trends;
    struct history_runs *runs; /* of each workload, kept for the texts that rows point to */
    size_t n_runs, n_hidden;
};

static void shown_done(struct shown *s)
{
    for (size_t i = 0; i < s->trends.n; i++)
        trend_done(&s->trends.at[i]);
    for (size_t i = 0; i < s->n_runs; i++)
        history_runs_done(&s->runs[i]);
    free(s->runs);
    vec_done(&s->trends);
    vec_done(&s->rows);
}

static void cmd_history_add_rows(struct shown *s, const struct history_runs *runs)
{
    for (size_t i = 0; i < runs->at.n; i++) {
        const struct history_run *r = &runs->at.at[i];
        *vec_push(&s->rows) = (struct history_row){
            .time_s = r->time_s,
            .commit = r->commit,
            .branch = r->branch,
            .host = r->host,
            .workload = r->workload,
            .outcome = r->outcome,
            .dirty = r->dirty,
            .cpu_ns = history_metric(r, "cpu"),
            .time_ns = history_metric(r, "time"),
            .instructions = history_metric(r, "instructions"),
            .peak_bytes = history_metric(r, "peak_rss"),
        };
    }
}

static struct trend_point point_of(const struct history_run *r, const struct history_metric *m)
{
    struct trend_point p = {
        .time_s = r->time_s, .dirty = r->dirty, .value = m->value, .low = m->low, .high = m->high};
    memcpy(p.commit, r->commit, sizeof p.commit);
    return p;
}

struct metric_shown {
    const char *metric, *title;
    enum trend_unit unit;
    bool more_is_better;
};

static const struct metric_shown metrics[] = {
    {"cpu", "CPU time", TREND_NS},
    {"time", "wall time", TREND_NS},
    {"instructions", "instructions", TREND_COUNT},
    {"peak_rss", "peak memory", TREND_BYTES},
    {"heap_peak", "heap peak", TREND_BYTES},
    {"heap_leaked", "heap never freed", TREND_BYTES},
    {"heap_allocations", "heap allocations", TREND_COUNT},
    {"heap_allocated", "heap allocated", TREND_BYTES},
    {"d1_miss_rate", "D1 misses", TREND_SHARE},
    {"ll_miss_rate", "LL misses", TREND_SHARE},
};

/* Runs that failed are no measure of anything. */
static bool cmd_history_counts(const struct history_run *r)
{
    return strcmp(r->outcome, "failed") != 0;
}

/* AT: where it was in the run before, and mostly is in this one: comparing all names of all runs
 * took 7% of the time of 10,000 runs with 40 metrics. */
static const struct history_metric *find_metric(const struct history_run *r, const char *name,
                                                size_t *at)
{
    for (size_t k = 0; k < r->metrics.n; k++, ++*at) {
        *at = *at < r->metrics.n ? *at : 0;
        if (strcmp(r->metrics.at[*at].name, name) == 0)
            return &r->metrics.at[*at];
    }
    return NULL;
}

static void add_metric(struct shown *s, const char *workload, const struct history_runs *runs,
                       const struct metric_shown *which)
{
    struct trend t = {.unit = which->unit, .more_is_better = which->more_is_better};
    size_t at = 0;
    for (size_t i = 0; i < runs->at.n; i++) {
        const struct history_run *r = &runs->at.at[i];
        const struct history_metric *m = find_metric(r, which->metric, &at);
        if (m && !isnan(m->value) && cmd_history_counts(r))
            *vec_push(&t.points) = point_of(r, m);
    }
    if (!t.points.n)
        return;
    t.title = mem_printf("%s: %s", workload, which->title);
    trend_find_changes(&t);
    *vec_push(&s->trends) = t;
}

/* What the name of a figure in the store means: false where it is none of those. The title is to be
 * freed. */
static bool figure_of(const char *name, struct metric_shown *ret, char **ret_title)
{
    struct text t = text_of(name);
    const char *blank = strchr(name, ' ');
    if (!blank)
        return false;
    *ret = (struct metric_shown){.metric = name, .unit = TREND_NS};
    if (text_starts(t, "scope_p")) /* "scope_p99 decode" */
        *ret_title = mem_printf("p%.*s of scope %s", (int)(blank - name) - 7, name + 7, blank + 1);
    else if (text_starts(t, "metric_") || text_starts(t, "benchmark "))
        *ret_title = mem_strdup(blank + 1);
    else
        return false;
    if (text_starts(t, "metric_")) {
        ret->unit = TREND_PLAIN;
        ret->more_is_better = text_starts(t, "metric_higher");
    }
    return true;
}

/* Scopes, metrics and benchmarks, those that the newest run has first. The others are gone or have
 * another name: their past is still found by the old one. */
static void add_named_figures(struct shown *s, const char *workload,
                              const struct history_runs *runs)
{
    struct intern seen;
    const struct history_run *newest = NULL;
    intern_init(&seen);
    for (size_t i = runs->at.n; i-- > 0;) {
        const struct history_run *r = &runs->at.at[i];
        if (!cmd_history_counts(r))
            continue;
        newest = newest ? newest : r;
        for (size_t k = 0; k < r->metrics.n; k++) {
            const char *name = r->metrics.at[k].name;
            struct metric_shown which;
            autofree char *title = NULL;
            if (intern_find(&seen, text_of(name)) != IDMAP_NONE)
                continue;
            intern_add(&seen, text_of(name));
            if (!figure_of(name, &which, &title))
                continue;
            autofree char *gone = mem_printf("%s (not in the newest run)", title);
            which.title = r == newest ? title : gone;
            add_metric(s, workload, runs, &which);
        }
    }
    intern_done(&seen);
}

static int by_run(const void *key, const void *share)
{
    int64_t id = *(const int64_t *)key, other = ((const struct history_share *)share)->run_id;
    return (id > other) - (id < other);
}

/* A run that does not have the function spent nothing in it. */
static double self_in(const struct history_shares *f, int64_t run_id)
{
    const struct history_share *found =
        bsearch(&run_id, f->at.at, f->at.n, sizeof *f->at.at, by_run);
    return found ? found->self : 0;
}

static struct trend trend_of_function(const char *workload, const struct history_runs *runs,
                                      const struct history_shares *f)
{
    struct trend t = {.title = mem_printf("%s: self time of %s", workload, f->name),
                      .unit = TREND_SHARE};
    for (size_t i = 0; i < runs->at.n; i++) {
        const struct history_run *r = &runs->at.at[i];
        if (!cmd_history_counts(r) || isnan(history_metric(r, "samples")))
            continue;
        struct history_metric m = {.value = self_in(f, r->id), .low = NAN, .high = NAN};
        *vec_push(&t.points) = point_of(r, &m);
    }
    trend_find_changes(&t);
    return t;
}

static int cmd_history_add_functions(struct shown *s, struct store *store,
                                     const struct history_filter *f,
                                     const struct history_runs *runs, bool all)
{
    struct history_functions functions;
    struct err err;
    if (history_functions(store, f, LEAST_SHARE, &functions, &err) != 0)
        return command_fail(&err);
    for (size_t i = 0; i < functions.at.n; i++) {
        struct trend t = trend_of_function(f->workload, runs, &functions.at.at[i]);
        if (t.points.n && (all || t.n_changes)) {
            *vec_push(&s->trends) = t;
        } else {
            s->n_hidden += t.points.n > 0;
            trend_done(&t);
        }
    }
    history_functions_done(&functions);
    return EXIT_OK;
}

/* What of the trends is shown. */
enum detail { ONLY_RUNS, CHANGED_FUNCTIONS, ALL_FUNCTIONS };

static int add_workload(struct shown *s, struct store *store, const struct history_filter *f,
                        enum detail detail)
{
    struct err err;
    struct history_runs *runs = &s->runs[s->n_runs];
    if (history_list(store, f, runs, &err) != 0)
        return command_fail(&err);
    s->n_runs++;
    cmd_history_add_rows(s, runs);
    if (!*f->host || detail == ONLY_RUNS)
        return EXIT_OK;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        add_metric(s, f->workload, runs, &metrics[i]);
    add_named_figures(s, f->workload, runs);
    return cmd_history_add_functions(s, store, f, runs, detail == ALL_FUNCTIONS);
}

static int cmd_history_by_time(const void *a, const void *b)
{
    const struct history_row *x = a, *y = b;
    if (x->time_s != y->time_s)
        return x->time_s < y->time_s ? -1 : 1;
    return strcmp(x->workload, y->workload);
}

/* Every workload that is asked for must be one of the N NAMES; where there are none, none is. */
static int check_workloads(const struct opt_result *wanted, char **names, size_t n)
{
    for (int k = 0; k < wanted->n_operands && n; k++) {
        autobuf struct buf all = {0};
        bool known = false;
        for (size_t i = 0; i < n; i++) {
            known |= strcmp(wanted->operands[k], names[i]) == 0;
            buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
        }
        if (known)
            continue;
        command_say("no workload '%s' in the history; there %s: %s", wanted->operands[k],
                    n == 1 ? "is" : "are", buf_cstr(&all));
        return EXIT_ERROR;
    }
    return EXIT_OK;
}

static int collect(struct shown *s, struct store *store, struct history_filter f,
                   const struct opt_result *wanted, enum detail detail)
{
    struct err err;
    char **names;
    size_t n;
    if (history_workloads(store, &names, &n, &err) != 0)
        return command_fail(&err);
    s->runs = mem_calloc(n ? n : 1, sizeof *s->runs);
    int rc = check_workloads(wanted, names, n);
    for (size_t i = 0; i < n && rc == EXIT_OK; i++) {
        bool take = wanted->n_operands == 0;
        for (int k = 0; k < wanted->n_operands; k++)
            take |= strcmp(wanted->operands[k], names[i]) == 0;
        f.workload = names[i];
        if (take)
            rc = add_workload(s, store, &f, detail);
    }
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
    if (s->rows.n)
        qsort(s->rows.at, s->rows.n, sizeof *s->rows.at, cmd_history_by_time);
    return rc;
}

/* Keep the trends that --metric asks for: "chat: tps" is of "tps". -1 where none is. */
static int choose_trends(struct shown *s, const char *metric)
{
    size_t n = 0;
    for (size_t i = 0; i < s->trends.n; i++) {
        const char *name = strstr(s->trends.at[i].title, ": ");
        if (name && strstr(name + 2, metric))
            s->trends.at[n++] = s->trends.at[i];
        else
            trend_done(&s->trends.at[i]);
    }
    s->trends.n = n;
    s->n_hidden = 0;
    return n ? 0 : -1;
}

/* --- output --- */

static int cmd_history_print(const struct cmd_history_opts *o, const struct shown *s,
                             const char *host)
{
    struct history_view v = {.rows = s->rows.at,
                             .n_rows = s->rows.n,
                             .trends = s->trends.at,
                             .n_trends = s->trends.n,
                             .n_hidden = s->n_hidden,
                             .host = host};
    const char *format = output_format(&o->output);
    struct publish file;
    struct err err;
    if (publish_open(&file, o->output.path, &err) != 0)
        return command_fail(&err);
    if (strcmp(format, "json") == 0)
        history_print_json(file.out, &v);
    else if (strcmp(format, "csv") == 0 && o->metric)
        history_print_trends_csv(file.out, &v);
    else if (strcmp(format, "csv") == 0)
        history_print_csv(file.out, &v);
    else if (strcmp(format, "md") == 0)
        history_print_markdown(file.out, &v);
    else if (strcmp(format, "html") == 0)
        history_print_html(file.out, &v);
    else
        history_print_text(file.out, &v, output_width(&o->output), output_in_colour(&o->output));
    return publish_commit(&file, &err) == 0 ? EXIT_OK : command_fail(&err);
}

/* --- flame graphs to step through --- */

/* RET_SHOWN: how many are on the page. */
static int flame_all_steps(const struct cmd_history_opts *o, const struct archive_steps *steps,
                           const char *title, size_t *ret_shown, struct err *err)
{
    struct publish file;
    struct flamesteps page;
    size_t first = steps->at.n > (size_t)o->last ? steps->at.n - (size_t)o->last : 0;
    if (publish_open(&file, o->output.path, err) != 0)
        return -1;
    flamesteps_begin(&page, file.out, title);
    for (size_t i = first; i < steps->at.n; i++) {
        struct suite_recording rec = {0};
        struct err why;
        bool good = run_load_recording(&rec, steps->at.at[i].path, &why) == 0;
        *ret_shown += good;
        if (good)
            flamesteps_add(&page, steps->at.at[i].name, &rec.selection);
        else
            command_say("%s is left out: %s", steps->at.at[i].path, why.text);
        suite_recording_done(&rec);
    }
    flamesteps_end(&page);
    return publish_commit(&file, err);
}

static int cmd_history_flame(const struct cmd_history_opts *o, const struct opt_result *wanted)
{
    struct archive_steps steps = {0};
    struct err err;
    size_t shown = 0;
    const char *workload = wanted->n_operands ? wanted->operands[0] : "";
    bool nameless = !o->output.path || strcmp(o->output.path, "-") == 0;
    if (nameless || wanted->n_operands > 1) {
        command_say(wanted->n_operands > 1 ? "history --flame: name one workload"
                                           : "history --flame: name the page with -o FILE.html");
        return EXIT_ERROR;
    }
    autofree char *title = mem_printf("Runs%s%s", *workload ? " of " : "", workload);
    int rc = archive_steps(workload, &steps, &err);
    if (rc == 0)
        rc = flame_all_steps(o, &steps, title, &shown, &err);
    if (rc == 0)
        command_say("%s has %zu run%s to step through: use the arrow keys", o->output.path, shown,
                    shown == 1 ? "" : "s");
    archive_steps_done(&steps);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

static int history_forget_old(struct store *store, long keep)
{
    size_t n;
    struct err err;
    if (history_prune(store, (size_t)keep, &n, &err) != 0)
        return command_fail(&err);
    command_say("deleted %zu run%s", n, n == 1 ? "" : "s");
    return EXIT_OK;
}

static int cmd_history_show(const struct cmd_history_opts *o, struct store *store,
                            const struct opt_result *wanted)
{
    struct fingerprint here;
    struct shown s = {0};
    fingerprint_read(&here, "");
    const char *host = o->all_hosts ? "" : o->host ? o->host : here.name;
    struct history_filter f = {.host = host, .commit = o->commit, .last = (size_t)o->last};
    bool only_runs = strcmp(output_format(&o->output), "csv") == 0 && !o->metric;
    enum detail detail = only_runs ? ONLY_RUNS : o->functions ? ALL_FUNCTIONS : CHANGED_FUNCTIONS;
    int rc = collect(&s, store, f, wanted, detail);
    if (rc == EXIT_OK && !s.rows.n) {
        command_say("no such runs in the history%s%s%s; 'kelvin run' adds one",
                    *host ? " of the machine '" : "", host,
                    *host ? "' (--all-hosts shows others)" : "");
        rc = EXIT_INPUT;
    }
    if (rc == EXIT_OK && o->metric && choose_trends(&s, o->metric) != 0) {
        if (o->all_hosts)
            command_say(
                "--metric is about one machine: leave out --all-hosts, or name one with --host");
        else
            command_say("no figure in the history has '%s' in its name", o->metric);
        rc = EXIT_ERROR;
    }
    if (rc == EXIT_OK)
        rc = cmd_history_print(o, &s, host);
    shown_done(&s);
    return rc;
}

static int history_run(const struct command *self, int n, char **args)
{
    struct cmd_history_opts o = {.output = OUTPUT_DEFAULTS, .last = 200};
    struct opt_result operands;
    struct store *store;
    struct err err;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (o.flame)
        return cmd_history_flame(&o, &operands);
    autofree char *path = o.store ? mem_strdup(o.store) : store_path();
    if (access(path, F_OK) != 0) {
        command_say("there is no history '%s' yet: 'kelvin run' starts one", path);
        return EXIT_ERROR;
    }
    if (store_open(&store, path, o.keep ? STORE_WRITE : STORE_READ, &err) != 0)
        return command_fail(&err);
    rc = o.keep ? history_forget_old(store, o.keep) : cmd_history_show(&o, store, &operands);
    store_close(store);
    return rc;
}

const struct command command_history = {
    .name = "history",
    .summary = "list the runs of a suite, draw their trends, find what changed them",
    .operands = "[WORKLOAD...]",
    .about =
        "Every 'kelvin run' is stored by commit, machine and workload. This lists the runs, "
        "draws a line for each total and for the functions whose share changed, and names the "
        "commit at which a level shifted.\n\n"
        "Level shifts are found by E-divisive: the runs are cut where both parts differ most, and "
        "the cut counts if fewer than 1 in 100 shuffles of the same runs have such a cut. With few "
        "runs every order is tried instead. A clear step that up to 1 in 20 orders show is called "
        "likely, such as a step between four runs and the next four. A shift needs at least "
        "three runs on each side. Runs that failed do not "
        "count. Trends are drawn for one machine, as machines differ more than commits do.",
    .examples =
        "kelvin history                        # all workloads on this machine\n"
        "kelvin history small -o history.html  # one workload, with drawings\n"
        "kelvin history --metric tps           # only this figure\n"
        "kelvin history --flame -o steps.html  # flame graphs of archived runs, step by step\n"
        "kelvin history --format csv           # for a spreadsheet; with --metric, that figure\n"
        "kelvin history --prune 500            # delete older runs",
    .opts = history_table,
    .run = history_run,
};
