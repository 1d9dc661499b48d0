/*
 * bench_baselines.c - what can be done with baselines without measuring anything.
 */
#include "base/buf.h"
#include "base/publish.h"
#include "base/units.h"
#include "bench/baseline.h"
#include "cmd/bench.h"
#include "cmd/bench_public.h"
#include "cmd/bench_store.h"
#include "cmd/command.h"
#include "store/exchange.h"
#include "store/store.h"
#include "view/document.h"

#include <math.h>
#include <time.h>

bool bench_store_acts(const struct bench_store_opts *o)
{
    return o->list || o->compare || o->remove || o->export_name || o->import_path ||
           (o->rename.n && !o->against);
}

/* --- the list --- */

static const struct document_column columns[] = {
    {"baseline", .wide = true}, {"saved"}, {"commit"}, {"host"}, {"benchmarks", .right = true},
    {"runs", .right = true},
};

static void bench_baselines_add_row(struct document *d, const struct store_baseline *b)
{
    char text[UNITS_MAX];
    time_t seconds = (time_t)b->time_s;
    struct tm tm;
    document_cell(d, text_of(b->name), 0);
    bool known = gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm);
    document_cell(d, text_of(known ? text : "not known"), 0);
    snprintf(text, sizeof text, "%.12s", b->commit);
    document_cell(d, text_of(*text ? text : "not known"), 0);
    document_cell(d, text_of(*b->host ? b->host : "not known"), 0);
    document_cell(d, text_of(units_count(text, b->n_series)), 0);
    document_cell(d, text_of(units_count(text, b->n_runs)), 0);
}

static int bench_baselines_list(const struct cmd_bench_opts *o, struct store *s, struct err *err)
{
    autofree struct store_baseline *all = NULL;
    size_t n;
    if (store_list_baselines(s, &all, &n, err) != 0)
        return -1;
    struct document d = {0};
    document_table(&d, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < n; i++)
        bench_baselines_add_row(&d, &all[i]);
    document_print_text(stdout, &d, output_width(&o->output), output_in_colour(&o->output));
    document_done(&d);
    return 0;
}

/* --- to other machines --- */

static int export(const struct cmd_bench_opts *o, const char *path, struct err *err)
{
    struct series_set set;
    struct publish file;
    if (bench_store_load(&o->store, o->store.export_name, &set, err) != 0)
        return -1;
    int rc = publish_open(&file, path, err);
    if (rc == 0) {
        exchange_write(file.out, o->store.export_name, &set);
        rc = publish_commit(&file, err);
    }
    series_set_done(&set);
    return rc;
}

static int read_export(const char *path, char **ret_name, struct series_set *ret, struct err *err)
{
    struct reader in;
    struct err why;
    if (reader_open(&in, path, err) != 0)
        return -1;
    int rc = exchange_read(&in, ret_name, ret, &why);
    reader_close(&in);
    return rc == 0 ? 0 : err_set(err, why.code, "'%s': %s", path, why.text);
}

static int import(const struct cmd_bench_opts *o, struct err *err)
{
    struct series_set set;
    struct store *s = NULL;
    autofree char *name = NULL, *path = bench_store_path(&o->store);
    if (read_export(o->store.import_path, &name, &set, err) != 0)
        return -1;
    const char *as = o->store.save ? o->store.save : name;
    int rc = store_check_name(as, err);
    if (rc == 0)
        rc = store_open(&s, path, STORE_WRITE, err);
    if (rc == 0)
        rc = store_save_baseline(s, as, &set, err);
    if (rc == 0)
        bench_beside_remove(path, as);
    if (rc == 0 && !o->quiet)
        command_say("imported baseline '%s': %zu benchmark%s", as, set.series.n,
                    set.series.n == 1 ? "" : "s");
    store_close(s);
    series_set_done(&set);
    return rc;
}

/* --- names --- */

static int bench_baselines_rename_all(const struct cmd_bench_opts *o, struct store *s,
                                      struct err *err)
{
    for (size_t i = 0; i < o->store.rename.n; i++) {
        const char *spec = o->store.rename.at[i], *equals = strrchr(spec, '=');
        if (!equals || equals == spec)
            return err_set(err, EXIT_ERROR, "--rename takes OLD=NEW, not '%s'", spec);
        autofree char *old_name = mem_strndup(spec, (size_t)(equals - spec));
        if (store_rename_series(s, old_name, equals + 1, err) != 0)
            return -1;
    }
    return 0;
}

/* Open the store, do one thing, close it. */
static int with_store(const struct cmd_bench_opts *o, struct err *err)
{
    const struct bench_store_opts *so = &o->store;
    struct store *s;
    autofree char *path = bench_store_path(so);
    /* Deleting and renaming make no sense in a store that is not there yet. */
    if (!so->list && access(path, F_OK) != 0)
        return err_set(err, EXIT_ERROR, "there are no baselines yet (no store '%s')", path);
    if (store_open(&s, path, so->list ? STORE_READ : STORE_WRITE, err) != 0)
        return -1;
    int rc = so->list     ? bench_baselines_list(o, s, err)
             : so->remove ? store_delete_baseline(s, so->remove, err)
                          : bench_baselines_rename_all(o, s, err);
    store_close(s);
    if (rc == 0 && so->remove)
        bench_beside_remove(path, so->remove);
    return rc;
}

/* --- side by side --- */

struct side_by_side {
    struct series_set sets[BENCH_TABLE_SETS];
    const struct series_set *pointers[BENCH_TABLE_SETS];
    const char *names[BENCH_TABLE_SETS];
    size_t n;
    struct comparisons comparisons;
    struct pasts pasts;
    char *forced;
};

static int bench_baselines_load_all(struct side_by_side *v, const struct cmd_bench_opts *o,
                                    const struct opt_result *operands, struct err *err)
{
    if (operands->n_operands < 2 || operands->n_operands > BENCH_TABLE_SETS)
        return err_set(err, EXIT_ERROR, "--compare takes 2 to %d baselines, not %d",
                       BENCH_TABLE_SETS, operands->n_operands);
    for (int i = 0; i < operands->n_operands; i++) {
        v->names[v->n] = operands->operands[i];
        v->pointers[v->n] = &v->sets[v->n];
        if (bench_store_load(&o->store, v->names[v->n], &v->sets[v->n], err) != 0)
            return -1;
        v->n++;
        autofree char *rebuilt = baseline_rebuilt(&v->sets[0].meta, &v->sets[v->n - 1].meta);
        if (rebuilt)
            command_say("note: %s, which is then part of what is compared", rebuilt);
        if (!v->forced)
            v->forced = baseline_differences(&v->sets[0].meta, &v->sets[v->n - 1].meta);
        if (v->forced && !o->store.force)
            return err_set(err, EXIT_ERROR, "cannot compare '%s' with '%s': %s; or use --force",
                           v->names[0], v->names[v->n - 1], v->forced);
    }
    return 0;
}

static void bench_baselines_fill(struct side_by_side *v, const struct cmd_bench_opts *o,
                                 struct bench_report *r)
{
    *r = (struct bench_report){
        .now = v->pointers[v->n - 1],
        .now_name = v->names[v->n - 1],
        .measure = bench_store_measure(o),
        .forced = v->forced,
        .pasts = v->pasts.at,
        .n_pasts = v->pasts.n,
        .false_alarm_rate = NAN,
    };
    if (v->n != 2)
        return;
    struct verdict_rules rules = {bench_store_measure(o), o->band / 100, o->risk / 100,
                                  &o->max_regression};
    verdict_compare_sets(&v->comparisons, v->pointers[0], v->pointers[1], &rules);
    r->before = v->pointers[0];
    r->before_name = v->names[0];
    r->comparisons = v->comparisons.at;
    r->n_comparisons = v->comparisons.n;
}

static int bench_baselines_compare(struct side_by_side *v, const struct cmd_bench_opts *o,
                                   const struct opt_result *operands, struct err *err)
{
    struct bench_report r;
    if (bench_check_gates(o, err) != 0 || bench_baselines_load_all(v, o, operands, err) != 0)
        return -1;
    if (o->max_regression.n && v->n != 2)
        return err_set(err, EXIT_ERROR, "--max-regression judges two baselines: before and after");
    if (bench_store_pasts(&v->pasts, o, v->pointers[v->n - 1], false, err) != 0)
        return -1;
    bench_baselines_fill(v, o, &r);
    struct bench_table table = {v->pointers, v->names, v->n, o->store.threshold / 100};
    r.table = &table;
    struct bench_public public = {.on = !o->arguments &&
                                        bench_public_is_page(output_format(&o->output))};
    for (size_t i = 0; i < v->n; i++)
        bench_public_hide(&public, &v->sets[i]);
    bench_public_hide_pasts(&public, &v->pasts);
    int rc = bench_report_print(&r, o, err);
    bench_public_done(&public);
    if (rc != 0)
        return -1;
    if (v->n != 2)
        return EXIT_OK;
    bench_tell_baseline(&v->comparisons, o);
    return verdict_code(baseline_gate(&v->comparisons));
}

static int run_compare(const struct cmd_bench_opts *o, const struct opt_result *operands,
                       struct err *err)
{
    struct side_by_side v = {0};
    int rc = bench_baselines_compare(&v, o, operands, err);
    for (size_t i = 0; i < v.n; i++)
        series_set_done(&v.sets[i]);
    vec_done(&v.comparisons);
    pasts_done(&v.pasts);
    free(v.forced);
    return rc;
}

/* --- choosing --- */

static int operands_allowed(const struct bench_store_opts *o)
{
    return o->compare ? BENCH_TABLE_SETS : o->export_name ? 1 : 0;
}

int bench_store_act(const struct cmd_bench_opts *o, const struct opt_result *operands)
{
    const struct bench_store_opts *so = &o->store;
    struct err err;
    int rc;
    if (!so->compare && operands->n_operands > operands_allowed(so))
        rc = err_set(&err, EXIT_ERROR, "'%s': nothing is measured here, so no command is run",
                     operands->operands[operands_allowed(so)]);
    else if (so->compare)
        rc = run_compare(o, operands, &err);
    else if (so->export_name)
        rc = export(o, operands->n_operands ? operands->operands[0] : o->output.path, &err);
    else if (so->import_path)
        rc = import(o, &err);
    else
        rc = with_store(o, &err);
    return rc < 0 ? command_fail(&err) : rc;
}
