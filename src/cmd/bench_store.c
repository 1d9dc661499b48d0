/*
 * bench_store.c - what a measurement has to do with the store: a baseline to hold against, a past,
 * a place to be kept.
 *
 * The store is open only while it is used, as measuring takes long and others want to write.
 */
#include "cmd/bench_store.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/program.h"
#include "base/words.h"
#include "bench/gates.h"
#include "cmd/bench.h"
#include "cmd/command.h"
#include "host/fingerprint.h"
#include "host/provenance.h"
#include "stats/changepoint.h"
#include "stats/repeats.h"
#include "store/store.h"
#include "symbol/producer.h"

#include <math.h>
#include <time.h>

/* --- may they be compared? --- */

static const struct {
    const char *key, *what;
} must_agree[] = {
    {META_HOST, "the host differs"},
    {META_BUILD, "the build differs"},
    {META_GOVERNOR, "the frequency governor differs"},
    {META_METHOD, "the measuring options differ"},
};

/* Where the first word that differs begins, if much is alike before it: flags are long. */
static size_t skip_alike(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    while (n > 0 && a[n - 1] != ' ')
        n--;
    return n > 20 ? n : 0;
}

char *bench_store_differences(const struct meta *before, const struct meta *now)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < sizeof must_agree / sizeof *must_agree; i++) {
        const char *a = meta_find(before, must_agree[i].key);
        const char *c = meta_find(now, must_agree[i].key);
        if (!a || !c || strcmp(a, c) == 0)
            continue;
        size_t skip = skip_alike(a, c);
        const char *dots = skip ? "..." : "";
        buf_printf(&b, "%s%s ('%s%.60s', now '%s%.60s')", b.n ? ", " : "", must_agree[i].what, dots,
                   a + skip, dots, c + skip);
    }
    return b.n ? mem_strdup(buf_cstr(&b)) : NULL;
}

static void add_method(struct buf *b, const char *what, const char *value)
{
    if (value)
        buf_printf(b, "%s%s %s", b->n ? ", " : "", what, value);
}

/* What of the options changes the numbers. How long it is measured only makes them surer. */
static void put_method(const struct cmd_bench_opts *o, struct meta *m)
{
    autobuf struct buf b = {0};
    add_method(&b, "shell", o->shell ? "yes" : "no");
    add_method(&b, "prepare", o->prepare);
    add_method(&b, "input", o->input);
    add_method(&b, "output", o->show_output ? "inherit" : o->output_of);
    add_method(&b, "count", o->count);
    add_method(&b, "quick", o->quick ? "yes" : NULL);
    add_method(&b, "warm-up", o->warmup ? "yes" : "no");
    for (size_t i = 0; i < o->env.n; i++)
        add_method(&b, "env", o->env.at[i]);
    meta_set_str(m, META_METHOD, buf_cstr(&b));
}

/* The file that would be run for a word: as it is with a slash in it, else along PATH. Free it. */
static char *find_program(const char *word, const char *cwd)
{
    char *path = NULL;
    if (strchr(word, '/'))
        return *word == '/' || !cwd ? mem_strdup(word) : mem_printf("%s/%s", cwd, word);
    if (program_find(word, &path) == PROGRAM_FOUND)
        return path;
    free(path);
    return mem_strdup(word);
}

/* The compilers of the commands, each once. */
static void put_build(const struct cmd_bench_opts *o, const struct opt_result *operands,
                      struct meta *m)
{
    autobuf struct buf b = {0};
    for (int i = 0; i < operands->n_operands && !o->shell; i++) {
        struct words words;
        struct err ignored;
        autofree char *said = NULL;
        if (words_split(&words, text_of(operands->operands[i]), WORDS_BLANKS, &ignored) == 0 &&
            words.at.n) {
            autofree char *file = find_program(words.at.at[0], o->cwd);
            said = producer_read(file);
        }
        words_done(&words);
        if (said && !strstr(buf_cstr(&b), said))
            buf_printf(&b, "%s%s", b.n ? "; " : "", said);
    }
    if (b.n)
        meta_set_str(m, META_BUILD, buf_cstr(&b));
}

/* What is known about a measurement before it is made. */
static void put_facts(const struct cmd_bench_opts *o, const struct opt_result *operands,
                      struct meta *m)
{
    struct fingerprint f;
    meta_set_u64(m, META_TIME_NS, clock_wall_ns());
    fingerprint_read(&f, "");
    fingerprint_put(&f, m);
    if (o->store.typed)
        meta_set_str(m, META_OPTIONS, o->store.typed);
    put_method(o, m);
    put_build(o, operands, m);
}

/* --- before measuring --- */

char *bench_store_path(const struct bench_store_opts *o)
{
    return o->path ? mem_strdup(o->path) : store_path();
}

static int rename_one(struct series_set *set, const char *spec, struct err *err)
{
    const char *equals = strrchr(spec, '=');
    autofree char *old_name = equals ? mem_strndup(spec, (size_t)(equals - spec)) : NULL;
    struct series *s = old_name ? series_find(set, old_name) : NULL;
    if (!s || !equals[1])
        return 0; /* not in this set: it may be in another */
    if (series_find(set, equals + 1))
        return err_set(err, EXIT_ERROR, "--rename %s: the baseline has a '%s' already", spec,
                       equals + 1);
    free(s->name);
    s->name = mem_strdup(equals + 1);
    return 0;
}

int bench_store_load(const struct bench_store_opts *o, const char *name, struct series_set *ret,
                     struct err *err)
{
    struct store *s;
    autofree char *path = bench_store_path(o);
    if (store_open(&s, path, STORE_READ, err) != 0)
        return -1;
    int rc = store_load_baseline(s, name, ret, err);
    store_close(s);
    for (size_t i = 0; i < o->rename.n && rc == 0; i++)
        if ((rc = rename_one(ret, o->rename.at[i], err)) != 0)
            series_set_done(ret);
    return rc;
}

static int load_before(struct bench_store *b, struct err *err)
{
    const struct bench_store_opts *o = &b->opts->store;
    if (bench_store_load(o, o->against, &b->before, err) != 0)
        return -1;
    b->forced = bench_store_differences(&b->before.meta, &b->facts);
    if (b->forced && !o->force)
        return err_set(err, EXIT_ERROR, "cannot compare with '%s': %s; measure it anew or --force",
                       o->against, b->forced);
    return 0;
}

/* That it can be written is found out before time is spent on measuring. */
static int try_save(const struct bench_store *b, struct err *err)
{
    struct store *s;
    if (store_check_name(b->opts->store.save, err) != 0 ||
        store_open(&s, b->path, STORE_WRITE, err) != 0)
        return -1;
    store_close(s);
    return 0;
}

int bench_store_begin(struct bench_store *b, const struct cmd_bench_opts *o,
                      const struct opt_result *operands, struct err *err)
{
    *b = (struct bench_store){.opts = o, .path = bench_store_path(&o->store)};
    put_facts(o, operands, &b->facts);
    if (o->store.against && load_before(b, err) != 0)
        return -1;
    return o->store.save ? try_save(b, err) : 0;
}

/* --- comparisons --- */

enum measure bench_store_measure(const struct cmd_bench_opts *o)
{
    int m = o->measure ? measure_find(o->measure) : -1;
    return m >= 0 ? (enum measure)m : o->count ? MEASURE_INSTRUCTIONS : MEASURE_TIME;
}

static void compare_one(struct bench_comparison *c, const struct paired_opts *opts)
{
    autofree double *before = mem_calloc(c->before->runs.n + 1, sizeof *before);
    autofree double *after = mem_calloc(c->after->runs.n + 1, sizeof *after);
    size_t n = series_values(c->before, c->measure, before);
    size_t m = series_values(c->after, c->measure, after);
    if (c->measure == MEASURE_INSTRUCTIONS)
        paired_compare_counts(&c->paired, before, after, n < m ? n : m, opts);
    else
        paired_compare_apart(&c->paired, before, n, after, m, opts);
}

static void judge(struct bench_comparison *c, const struct cmd_bench_opts *o)
{
    c->max_regression = gates_find(&o->max_regression, c->after->name, c->after->name);
    if (isnan(c->max_regression))
        return;
    enum gate gate = paired_gate(&c->paired, c->max_regression, c->band);
    c->broken = gate == GATE_BROKEN;
    c->undecided = gate == GATE_UNDECIDED;
}

void bench_store_compare(struct bench_comparisons *to, const struct series_set *before,
                         const struct series_set *now, const struct cmd_bench_opts *o)
{
    struct paired_opts opts = {.band = o->band / 100, .risk = o->risk / 100};
    for (size_t i = 0; i < now->series.n; i++)
        opts.comparisons += series_find(before, now->series.at[i].name) != NULL;
    for (size_t i = 0; i < now->series.n; i++) {
        const struct series *after = &now->series.at[i];
        const struct series *old = series_find(before, after->name);
        if (!old)
            continue;
        struct bench_comparison *c = vec_push(to);
        *c = (struct bench_comparison){.before = old,
                                       .after = after,
                                       .measure = bench_store_measure(o),
                                       .band = opts.band,
                                       .apart = true,
                                       .max_regression = NAN};
        compare_one(c, &opts);
        judge(c, o);
    }
}

/* --- the past --- */

enum { PAST_MOST = 300 }; /* sessions: more cannot be told apart in a chart */

static void add_point(struct bench_past *p, const struct store_point *from)
{
    struct bench_past_run *run = &p->runs[p->n_runs++];
    *run = (struct bench_past_run){
        .time_s = from->time_s, .median = from->median, .interval = {from->low, from->high}};
    snprintf(run->commit, sizeof run->commit, "%.12s", from->commit);
    snprintf(run->baseline, sizeof run->baseline, "%.39s", from->baseline);
}

/* What was measured just now is the end of the line. */
static struct store_point point_now(const struct series_set *now, const struct series *s,
                                    enum measure m)
{
    const char *commit = meta_find(&now->meta, META_COMMIT);
    struct store_point p = {.time_s = (int64_t)time(NULL), .baseline = "now"};
    autofree double *values = mem_calloc(s->runs.n + 1, sizeof *values);
    size_t n = series_values(s, m, values);
    repeats_sort(values, n);
    struct interval in = repeats_median_interval(values, n, 0.05);
    p.median = n ? repeats_quantile(values, n, 0.5) : NAN;
    p.low = in.low;
    p.high = in.high;
    snprintf(p.commit, sizeof p.commit, "%s", commit ? commit : "");
    return p;
}

static void mark_changes(struct bench_past *p)
{
    autofree double *values = mem_calloc(p->n_runs, sizeof *values);
    autofree struct changepoint *points = NULL;
    for (size_t i = 0; i < p->n_runs; i++)
        values[i] = p->runs[i].median;
    size_t n = changepoint_find(values, p->n_runs, &CHANGEPOINT_DEFAULTS, &points);
    for (size_t i = 0; i < n; i++)
        p->runs[points[i].at].change_point = true;
}

/* POINTS and perhaps what was measured just now. */
static void add_past(struct bench_pasts *to, const struct series *series,
                     const struct store_point *points, size_t n, const struct store_point *last)
{
    struct bench_past p = {.name = series->name, .runs = mem_calloc(n + 1, sizeof *p.runs)};
    for (size_t k = n > PAST_MOST ? n - PAST_MOST : 0; k < n; k++)
        if (!isnan(points[k].median))
            add_point(&p, &points[k]);
    if (last && !isnan(last->median))
        add_point(&p, last);
    if (p.n_runs < 2) {
        free(p.runs);
        return;
    }
    mark_changes(&p);
    *vec_push(to) = p;
}

int bench_store_pasts(struct bench_pasts *to, const struct cmd_bench_opts *o,
                      const struct series_set *set, bool fresh, struct err *err)
{
    struct store *s;
    enum measure m = bench_store_measure(o);
    const char *host = meta_find(&set->meta, META_HOST);
    autofree char *path = bench_store_path(&o->store);
    if (store_open(&s, path, STORE_READ, err) != 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < set->series.n && rc == 0; i++) {
        autofree struct store_point *points = NULL;
        const struct series *series = &set->series.at[i];
        size_t n;
        rc = store_series_past(s, series->name, m, host ? host : "", &points, &n, err);
        struct store_point last = point_now(set, series, m);
        if (rc == 0)
            add_past(to, series, points, n, fresh ? &last : NULL);
    }
    store_close(s);
    return rc;
}

void bench_pasts_done(struct bench_pasts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i].runs);
    vec_done(p);
}

/* --- all of it --- */

/* What was known before; what the set says itself stays. */
static void add_facts(struct series_set *set, const struct meta *facts)
{
    for (size_t i = 0; i < facts->entries.n; i++)
        if (!meta_find(&set->meta, facts->entries.at[i].key))
            meta_set_str(&set->meta, facts->entries.at[i].key, facts->entries.at[i].value);
}

static void add_before(struct bench_store *b, struct bench_report *r)
{
    struct bench_comparisons all = {0};
    bench_store_compare(&b->comparisons, &b->before, r->now, b->opts);
    for (size_t i = 0; i < r->n_comparisons; i++)
        *vec_push(&all) = r->comparisons[i];
    for (size_t i = 0; i < b->comparisons.n; i++)
        *vec_push(&all) = b->comparisons.at[i];
    b->all = all;
    r->comparisons = all.at;
    r->n_comparisons = all.n;
    r->before = &b->before;
    r->before_name = b->opts->store.against;
    r->forced = b->forced;
}

int bench_store_report(struct bench_store *b, struct series_set *set, struct bench_report *r,
                       struct err *err)
{
    const struct bench_store_opts *o = &b->opts->store;
    add_facts(set, &b->facts);
    if (!o->against && !o->save)
        return 0;
    if (bench_store_pasts(&b->pasts, b->opts, set, true, err) != 0)
        return -1;
    r->pasts = b->pasts.at;
    r->n_pasts = b->pasts.n;
    if (o->against)
        add_before(b, r);
    return 0;
}

/* --- what is said besides --- */

static void tell_one(const struct bench_comparison *c)
{
    const struct paired *p = &c->paired;
    if (c->broken)
        command_say("'%s' is %.1f%% slower than in the baseline (%.1f to %.1f%%): more than the "
                    "%g%% that --max-regression allows",
                    c->after->name, 100 * (p->ratio - 1), 100 * (p->interval.low - 1),
                    100 * (p->interval.high - 1), 100 * c->max_regression);
    else if (c->undecided)
        command_say("not decided whether '%s' is more than %g%% slower than in the baseline: give "
                    "both more --time",
                    c->after->name, 100 * c->max_regression);
}

int bench_store_tell(const struct bench_comparisons *c, const struct cmd_bench_opts *o, int code)
{
    bool broken = false, undecided = false;
    for (size_t i = 0; i < c->n; i++) {
        tell_one(&c->at[i]);
        broken |= c->at[i].broken;
        undecided |= c->at[i].undecided;
    }
    if (!c->n) {
        command_say("the two have no benchmark in common: if they were renamed, say so with "
                    "--rename OLD=NEW");
        undecided = o->max_regression.n > 0;
    }
    if (broken)
        return EXIT_FAILS;
    return code == EXIT_OK && undecided ? EXIT_INCONCLUSIVE : code;
}

/* --- the end --- */

static int save(struct bench_store *b, const struct series_set *set, struct err *err)
{
    struct store *s;
    if (store_open(&s, b->path, STORE_WRITE, err) != 0)
        return -1;
    int rc = store_save_baseline(s, b->opts->store.save, set, err);
    store_close(s);
    return rc;
}

int bench_store_end(struct bench_store *b, const struct series_set *set, int code, struct err *err)
{
    const struct bench_store_opts *o = &b->opts->store;
    bool stopped = code != EXIT_OK && code != EXIT_FAILS && code != EXIT_INCONCLUSIVE;
    if (o->against && !stopped)
        code = bench_store_tell(&b->comparisons, b->opts, code);
    if (!o->save)
        return code;
    bool same = o->against && strcmp(o->save, o->against) == 0;
    if (stopped || (code == EXIT_FAILS && same)) {
        command_say("the baseline '%s' was not saved: %s", o->save,
                    stopped ? "the measurement was stopped" : "its gate is broken");
        return code;
    }
    return save(b, set, err) == 0 ? code : -1;
}

char *bench_store_typed(int n, char **args)
{
    struct meta m = {0};
    provenance_put_options(&m, n, args);
    char *typed = mem_strdup(meta_find(&m, META_OPTIONS));
    meta_done(&m);
    return typed;
}

void bench_store_done(struct bench_store *b)
{
    series_set_done(&b->before);
    bench_pasts_done(&b->pasts);
    vec_done(&b->comparisons);
    vec_done(&b->all);
    meta_done(&b->facts);
    free(b->path);
    free(b->forced);
}
