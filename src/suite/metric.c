/* metric.c - numbers of the program's own; see metric.h. */
#include "suite/metric.h"
#include "base/jsonread.h"
#include "base/path.h"
#include "model/comparison.h"
#include "stats/repeats.h"

#include <math.h>

enum { METRIC_FILE_MAX = 16 << 20 };

void metrics_done(struct metrics *m)
{
    for (size_t i = 0; i < m->at.n; i++) {
        struct metric *it = &m->at.at[i];
        if (it->pattern)
            regfree(it->pattern);
        free(it->pattern);
        free(it->name);
        free(it->unit);
    }
    vec_done(&m->at);
}

/* --- from the suite file --- */

/* Without quotes around it, which keep blanks at its ends. */
static char *unquoted(const char *text)
{
    size_t n = strlen(text);
    bool quoted = n >= 2 && (*text == '"' || *text == '\'') && text[n - 1] == *text;
    return quoted ? mem_strndup(text + 1, n - 2) : mem_strdup(text);
}

static int build_pattern(struct metric *m, const char *text, struct err *err)
{
    autofree char *pattern = unquoted(text);
    regex_t *it = mem_calloc(1, sizeof *it);
    int rc = regcomp(it, pattern, REG_EXTENDED | REG_NEWLINE);
    if (rc == 0) {
        m->pattern = it;
        return 0;
    }
    char why[100];
    regerror(rc, it, why, sizeof why);
    free(it);
    return err_set(err, EXIT_ERROR, "metric '%s': '%s' is not a regular expression: %s", m->name,
                   pattern, why);
}

static double metric_limit(const struct conf *c, const char *name)
{
    const char *own = conf_text(c, name, "metric.max-regression");
    if (conf_has(c, name, "metric.gate", "no"))
        return NAN;
    return (*own ? strtod(own, NULL) : conf_number(c, "", "check.max-regression")) / 100;
}

static int metric_build_parts(struct metric *m, const struct conf *c, const char *name,
                              struct err *err)
{
    const char *pattern = conf_text(c, name, "metric.pattern");
    *m = (struct metric){.name = mem_strdup(name),
                         .unit = mem_strdup(conf_text(c, name, "metric.unit")),
                         .file = conf_text(c, name, "metric.json"),
                         .field = conf_text(c, name, "metric.field"),
                         .more_is_better = conf_has(c, name, "metric.better", "higher"),
                         .limit = metric_limit(c, name)};
    if (!*pattern == !*m->file)
        return err_set(err, EXIT_ERROR, "metric '%s' needs either a pattern or a json file", name);
    if (!*m->file != !*m->field)
        return err_set(err, EXIT_ERROR, "metric '%s' needs both json and field, or neither", name);
    return *pattern ? build_pattern(m, pattern, err) : 0;
}

static int metric_build(struct metric *m, const struct conf *c, const char *name, struct err *err)
{
    static const char *const keys[] = {"metric.pattern", "metric.json", "metric.field",
                                       "metric.workload", "metric.unit"};
    size_t i = 0;
    if (metric_build_parts(m, c, name, err) == 0)
        return 0;
    while (i < sizeof keys / sizeof *keys - 1 && !*conf_text(c, name, keys[i]))
        i++;
    return conf_fail_at(c, name, keys[i], err);
}

static bool is_workload(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->names[CONF_WORKLOADS].at.n; i++)
        if (strcmp(c->names[CONF_WORKLOADS].at.at[i], name) == 0)
            return true;
    return false;
}

/* Whether bench was left out for this run alone: what needs it is then left out as well. */
static bool is_without_bench(const struct conf *c, const char *workload)
{
    struct conf_value collect = conf_find(c, workload, "workload.collect");
    return conf_overrules(&collect) && !conf_has(c, workload, "workload.collect", "bench");
}

/* 1 = NAME is of WORKLOAD, 0 = it is not. */
static int is_metric_of(const struct conf *c, const char *name, const char *workload,
                        struct err *err)
{
    struct words of = conf_words(c, name, "metric.workload");
    bool benched = conf_has(c, workload, "workload.collect", "bench"), named = false;
    int rc = 0;
    for (size_t i = 0; i < of.at.n && rc == 0; i++) {
        named |= strcmp(of.at.at[i], workload) == 0;
        if (!is_workload(c, of.at.at[i]))
            rc = err_set(err, EXIT_ERROR, "metric '%s': there is no workload '%s'", name,
                         of.at.at[i]);
    }
    if (rc == 0 && named && !benched && !is_without_bench(c, workload))
        rc = err_set(err, EXIT_ERROR,
                     "metric '%s' is taken from the runs of bench: add it to 'collect' of "
                     "workload '%s'",
                     name, workload);
    bool all = of.at.n == 0;
    words_done(&of);
    return rc != 0 ? conf_fail_at(c, name, "metric.workload", err) : (named || all) && benched;
}

/* "50 tokens": how many of what a run does. */
static int add_items(struct metrics *m, const struct conf *c, const char *workload, struct err *err)
{
    const char *text = conf_text(c, workload, "workload.items");
    char *end;
    double items = strtod(text, &end);
    struct text what = text_trim(text_of(end));
    if (!*text)
        return 0;
    if (!(items > 0) || !isfinite(items) || !what.n || end == text)
        return err_set(err, EXIT_ERROR,
                       "workload '%s': items takes a number above 0 and a word, such as "
                       "50 tokens, not '%s'",
                       workload, text);
    if (is_without_bench(c, workload))
        return 0;
    if (!conf_has(c, workload, "workload.collect", "bench"))
        return err_set(err, EXIT_ERROR,
                       "workload '%s': items are counted in the runs of bench: add it to 'collect'",
                       workload);
    char *unit = mem_printf("%.*s/s", TEXT_ARG(what));
    *vec_push(&m->at) = (struct metric){.name = mem_strdup(unit),
                                        .unit = unit,
                                        .file = "",
                                        .field = "",
                                        .items = items,
                                        .more_is_better = true,
                                        .limit = NAN};
    return 0;
}

int metrics_build(struct metrics *m, const struct conf *c, const char *workload, struct err *err)
{
    if (add_items(m, c, workload, err) != 0)
        return conf_fail_at(c, workload, "workload.items", err);
    for (size_t i = 0; i < c->names[CONF_METRICS].at.n; i++) {
        const char *name = c->names[CONF_METRICS].at.at[i];
        int mine = is_metric_of(c, name, workload, err);
        if (mine < 0 || (mine && metric_build(vec_push(&m->at), c, name, err) != 0))
            return -1;
    }
    return 0;
}

/* --- from a run --- */

/* The whole of T as a number; NAN where it is none. */
static double number_of(const char *at, size_t n)
{
    autofree char *text = mem_strndup(at, n);
    char *end;
    double v = strtod(text, &end);
    return end != text && !*end && isfinite(v) ? v : NAN;
}

double metric_in_output(const struct metric *m, struct text output, size_t *ret_matches)
{
    autofree char *text = mem_strndup(output.at ? output.at : "", output.n);
    double found = NAN;
    regmatch_t at[2];
    *ret_matches = 0;
    for (size_t i = 0; i < output.n; i++)
        if (!text[i])
            text[i] = ' ';
    for (size_t from = 0; from <= output.n;) {
        int flags = from && text[from - 1] != '\n' ? REG_NOTBOL : 0;
        if (regexec(m->pattern, text + from, 2, at, flags) != 0)
            break;
        regmatch_t part = m->pattern->re_nsub && at[1].rm_so >= 0 ? at[1] : at[0];
        double v = number_of(text + from + part.rm_so, (size_t)(part.rm_eo - part.rm_so));
        found = isnan(v) ? found : v;
        *ret_matches += !isnan(v);
        from += (size_t)(at[0].rm_eo > at[0].rm_so ? at[0].rm_eo : at[0].rm_eo + 1);
    }
    return found;
}

/* Go to member or element STEP of the next value. False where there is none. */
static bool json_step(struct jsonread *j, struct text step)
{
    struct text key;
    uint64_t wanted, i = 0;
    if (json_peek(j) == JSON_OBJECT && json_enter(j, JSON_OBJECT)) {
        while (json_member(j, &key)) {
            if (key.n == step.n && memcmp(key.at, step.at, key.n) == 0)
                return true;
            json_skip(j);
        }
    } else if (json_peek(j) == JSON_ARRAY && text_u64(step, 10, &wanted)) {
        json_enter(j, JSON_ARRAY);
        for (; json_element(j); i++) {
            if (i == wanted)
                return true;
            json_skip(j);
        }
    }
    return false;
}

static double json_field(struct text document, const char *field)
{
    struct text path = text_of(field);
    struct reader in;
    struct jsonread j;
    bool there = true;
    reader_open_memory(&in, document.at, document.n);
    jsonread_init(&j, &in);
    while (path.n && there)
        there = json_step(&j, text_cut(&path, '.'));
    double v = there && json_peek(&j) == JSON_NUMBER ? json_get_double(&j) : NAN;
    if (j.err.code)
        v = NAN;
    jsonread_done(&j);
    reader_close(&in);
    return v;
}

double metric_in_file(const struct metric *m, struct timespec since)
{
    autobuf struct buf b = {0};
    return path_read_fresh(&b, m->file, since, METRIC_FILE_MAX) ? json_field(buf_text(&b), m->field)
                                                                : NAN;
}

const struct metric *metrics_items(const struct metrics *m)
{
    for (size_t i = 0; i < m->at.n; i++)
        if (m->at.at[i].items > 0)
            return &m->at.at[i];
    return NULL;
}

/* --- in words --- */

void metric_say_value(struct buf *b, const struct metric *m, double value)
{
    char text[UNITS_MAX];
    buf_printf(b, "%s%s%s", units_number(text, value), *m->unit ? " " : "", m->unit);
}

static double median_of(const struct series *s)
{
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, MEASURE_METRIC, values);
    return n ? repeats_median(values, n) : NAN;
}

/* What a ratio of costs means for the number itself: +8.7% of 1 / x is -8.0% of x. */
static double change_percent(const struct metric *m, double ratio)
{
    return 100 * ((m->more_is_better ? 1 / ratio : ratio) - 1);
}

static void say_gate(struct buf *b, const struct metric *m, const struct comparison *c)
{
    enum verdict v = c->paired.verdict;
    if (c->gate == GATE_BROKEN)
        buf_printf(b, "worse by more than the %g%% allowed", 100 * m->limit);
    else if (c->gate == GATE_UNDECIDED)
        buf_printf(b, "not decided whether that is worse by more than the %g%% allowed",
                   100 * m->limit);
    else if (v == VERDICT_INCONCLUSIVE && c->gate == GATE_HOLDS)
        buf_printf(b, "not worse by more than the %g%% allowed", 100 * m->limit);
    else
        buf_str(b, v == VERDICT_SLOWER   ? "worse"
                   : v == VERDICT_FASTER ? "better"
                   : v == VERDICT_SAME   ? "the same"
                                         : "inconclusive");
}

/* " (+2.8%, -8.2 to +12.5%)" */
static void say_metric_change(struct buf *b, const struct metric *m, const struct paired *p)
{
    bool flip = m->more_is_better;
    if (!isfinite(p->interval.high))
        buf_printf(b, " (%+.1f%%, too few runs for an interval)", change_percent(m, p->ratio));
    else
        buf_printf(b, " (%+.1f%%, %+.1f to %+.1f%%)", change_percent(m, p->ratio),
                   change_percent(m, flip ? p->interval.high : p->interval.low),
                   change_percent(m, flip ? p->interval.low : p->interval.high));
}

/*
 * The change is that of pairs of runs, or of pieces of two sessions. On a restless machine it
 * differs from that of the medians of each side, even in its sign: then both are named.
 */
void metric_say(struct buf *b, const struct metric *m, const struct comparison *c)
{
    const struct paired *p = &c->paired;
    double before = median_of(c->before), after = median_of(c->after);
    char was[UNITS_MAX];
    bool from_zero = before == 0; /* next to which any change is beyond every percentage */
    bool agree = from_zero ||
                 fabs(100 * (after - before) / fabs(before) - change_percent(m, p->ratio)) < 0.1;
    buf_printf(b, "%s %s%s -> ", m->name, agree || isnan(p->ratio) ? "" : "medians ",
               units_number(was, before));
    metric_say_value(b, m, after);
    if (isnan(p->ratio)) {
        buf_str(b, " (nothing to compare)");
    } else if (!from_zero) {
        if (!agree)
            buf_str(b, c->apart ? "; change between the sessions" : "; median change of the pairs");
        say_metric_change(b, m, p);
    }
    buf_str(b, ": ");
    say_gate(b, m, c);
}
