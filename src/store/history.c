/*
 * history.c - runs of suites in the store.
 */
#include "store/history.h"
#include "base/idmap.h"
#include "store/store_inner.h"

#include <math.h>

/* --- in memory --- */

void history_run_done(struct history_run *r)
{
    for (size_t i = 0; i < r->functions.n; i++)
        free(r->functions.at[i].name);
    vec_done(&r->functions);
    vec_done(&r->metrics);
}

void history_runs_done(struct history_runs *h)
{
    for (size_t i = 0; i < h->at.n; i++)
        history_run_done(&h->at.at[i]);
    vec_done(&h->at);
}

void history_functions_done(struct history_functions *f)
{
    for (size_t i = 0; i < f->at.n; i++) {
        free(f->at.at[i].name);
        vec_done(&f->at.at[i].at);
    }
    vec_done(&f->at);
}

void history_add_metric(struct history_run *r, const char *name, double value, double low,
                        double high)
{
    struct history_metric *m = vec_push(&r->metrics);
    *m = (struct history_metric){.value = value, .low = low, .high = high};
    snprintf(m->name, sizeof m->name, "%s", name);
}

void history_add_function(struct history_run *r, struct text name, double self, double total)
{
    *vec_push(&r->functions) = (struct history_function){mem_strndup(name.at, name.n), self, total};
}

double history_metric(const struct history_run *r, const char *name)
{
    for (size_t i = 0; i < r->metrics.n; i++)
        if (strcmp(r->metrics.at[i].name, name) == 0)
            return r->metrics.at[i].value;
    return NAN;
}

/* --- writing --- */

static int history_add_function_row(struct store *s, int64_t run, const struct history_function *f,
                                    struct err *err)
{
    if (store_run(s, err, "INSERT OR IGNORE INTO names(name) VALUES (?)", "s", f->name) != 0)
        return -1;
    return store_run(s, err,
                     "INSERT OR REPLACE INTO shares SELECT ?, id, ?, ? FROM names WHERE name=?",
                     "idds", run, f->self, f->total, f->name);
}

static int add_run(struct store *s, struct history_run *r, struct err *err)
{
    int rc = store_run(s, err, "INSERT INTO runs VALUES (NULL,?,?,?,?,?,?,?)", "ississs", r->time_s,
                       r->commit, r->branch, (int64_t)r->dirty, r->host, r->workload, r->outcome);
    r->id = sqlite3_last_insert_rowid(s->db);
    for (size_t i = 0; i < r->metrics.n && rc == 0; i++) {
        const struct history_metric *m = &r->metrics.at[i];
        rc = store_run(s, err, "INSERT OR REPLACE INTO metrics VALUES (?,?,?,?,?)", "isddd", r->id,
                       m->name, m->value, m->low, m->high);
    }
    for (size_t i = 0; i < r->functions.n && rc == 0; i++)
        rc = history_add_function_row(s, r->id, &r->functions.at[i], err);
    return rc;
}

int history_add(struct store *s, struct history_run *r, struct err *err)
{
    if (store_begin(s, err) != 0)
        return -1;
    return store_end(s, add_run(s, r, err), err);
}

/* --- reading --- */

/* The runs of a filter whose values are bound as ?1 to ?4, newest first. */
#define FILTERED                                                                   \
    "(SELECT * FROM runs WHERE (?1='' OR workload=?1) AND (?2='' OR host=?2) AND " \
    "(?3='' OR substr(commit_id,1,length(?3))=?3) ORDER BY time_s DESC, id DESC LIMIT ?4)"

/* "ORDER BY ... LIMIT -1" below: SQLite sorts no part of a join that has no limit. */

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static int prepare_filtered(struct store *s, sqlite3_stmt **ret, const char *sql,
                            const struct history_filter *f, struct err *err)
{
    return store_prepare(s, ret, err, sql, "sssi", or_empty(f->workload), or_empty(f->host),
                         or_empty(f->commit), f->last ? (int64_t)f->last : (int64_t)-1);
}

static struct history_run run_of_row(sqlite3_stmt *st)
{
    struct history_run r = {.id = sqlite3_column_int64(st, 0),
                            .time_s = sqlite3_column_int64(st, 1),
                            .dirty = sqlite3_column_int64(st, 4) != 0};
    store_copy_text(st, 2, r.commit, sizeof r.commit);
    store_copy_text(st, 3, r.branch, sizeof r.branch);
    store_copy_text(st, 5, r.host, sizeof r.host);
    store_copy_text(st, 6, r.workload, sizeof r.workload);
    store_copy_text(st, 7, r.outcome, sizeof r.outcome);
    return r;
}

static int list_runs(struct store *s, const struct history_filter *f, struct history_runs *ret,
                     struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (prepare_filtered(s, &st, "SELECT * FROM " FILTERED " ORDER BY time_s, id", f, err) != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1)
        *vec_push(&ret->at) = run_of_row(st);
    return row;
}

/* Metrics come in the order of the runs, and of one run by name: that is their key. */
static int list_metrics(struct store *s, const struct history_filter *f, struct history_runs *to,
                        struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    size_t i = 0;
    int row;
    if (prepare_filtered(s, &st,
                         "SELECT r.id, m.name, m.value, m.low, m.high FROM (SELECT * FROM " FILTERED
                         " ORDER BY time_s, id LIMIT -1) r CROSS JOIN metrics m ON m.run_id=r.id",
                         f, err) != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1) {
        int64_t id = sqlite3_column_int64(st, 0);
        for (size_t k = 0; k < to->at.n && to->at.at[i].id != id; k++)
            i = i + 1 < to->at.n ? i + 1 : 0;
        if (i < to->at.n)
            history_add_metric(&to->at.at[i], store_column_text(st, 1).at,
                               store_column_double(st, 2), store_column_double(st, 3),
                               store_column_double(st, 4));
    }
    return row;
}

int history_list(struct store *s, const struct history_filter *f, struct history_runs *ret,
                 struct err *err)
{
    *ret = (struct history_runs){0};
    if (store_run(s, err, "BEGIN", "") != 0) /* what is read belongs together */
        return -1;
    int rc = list_runs(s, f, ret, err);
    if (rc == 0)
        rc = list_metrics(s, f, ret, err);
    store_rollback(s);
    if (rc != 0)
        history_runs_done(ret);
    return rc;
}

int history_workloads(struct store *s, char ***ret, size_t *ret_n, struct err *err)
{
    VEC(char *) names = {0};
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(s, &st, err, "SELECT DISTINCT workload FROM runs ORDER BY workload", "") != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1)
        *vec_push(&names) = mem_strdup(store_column_text(st, 0).at);
    *ret = names.at;
    *ret_n = names.n;
    return row;
}

/* --- shares of functions --- */

/* Functions by the id of their name, while rows come run by run. */
struct share_pile {
    struct idmap by_id;
    VEC(int64_t) ids; /* of the names, in the order of TO */
    struct history_functions *to;
};

static struct history_shares *share_pile_get(struct share_pile *p, int64_t name_id)
{
    uint32_t hash = hash_u64((uint64_t)name_id);
    for_each_match (&p->by_id, hash, i)
        if (p->ids.at[i] == name_id)
            return &p->to->at.at[i];
    idmap_add(&p->by_id, hash, (uint32_t)p->ids.n);
    *vec_push(&p->ids) = name_id;
    *vec_push(&p->to->at) = (struct history_shares){0};
    return &p->to->at.at[p->to->at.n - 1];
}

/* Grouped and sorted here, not by SQLite: rows come in the order of the primary key, and that all
 * are sorted by name took most of the time of 10,000 runs with 40 functions each. */
static int pile_shares(struct store *s, const struct history_filter *f, struct share_pile *to,
                       struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (prepare_filtered(
            s, &st,
            "SELECT h.name_id, h.run_id, h.self, h.total FROM (SELECT id FROM " FILTERED
            " ORDER BY id LIMIT -1) r CROSS JOIN shares h ON h.run_id=r.id",
            f, err) != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1) {
        struct history_shares *shares = share_pile_get(to, sqlite3_column_int64(st, 0));
        *vec_push(&shares->at) =
            (struct history_share){sqlite3_column_int64(st, 1), sqlite3_column_double(st, 2),
                                   sqlite3_column_double(st, 3)};
    }
    return row;
}

static int history_by_run(const void *a, const void *b)
{
    int64_t x = ((const struct history_share *)a)->run_id,
            y = ((const struct history_share *)b)->run_id;
    return (x > y) - (x < y);
}

/* Whether F reaches LEAST somewhere; its shares are in the order of the runs then. */
static bool is_large(struct history_shares *f, double least)
{
    bool large = false, sorted = true;
    for (size_t i = 0; i < f->at.n; i++) {
        const struct history_share *h = &f->at.at[i];
        large |= fmax(h->self, h->total) >= least;
        sorted &= i == 0 || h[-1].run_id <= h->run_id;
    }
    if (large && !sorted)
        qsort(f->at.at, f->at.n, sizeof *f->at.at, history_by_run);
    return large;
}

/* Keep what reaches LEAST and has a name. */
static int name_shares(struct store *s, struct share_pile *p, double least, struct err *err)
{
    size_t kept = 0;
    int row = 0;
    for (size_t i = 0; i < p->to->at.n; i++) {
        struct history_shares *f = &p->to->at.at[i];
        autostatement sqlite3_stmt *st = NULL;
        if (row >= 0 && is_large(f, least) &&
            store_prepare(s, &st, err, "SELECT name FROM names WHERE id=?", "i", p->ids.at[i]) == 0)
            row = store_step(s, st, err);
        else if (row >= 0)
            row = 0;
        if (row == 1)
            f->name = mem_strdup(store_column_text(st, 0).at);
        if (row == 1)
            p->to->at.at[kept++] = *f;
        else
            vec_done(&f->at);
    }
    p->to->at.n = kept;
    return row < 0 ? -1 : 0;
}

static int history_by_name(const void *a, const void *b)
{
    return strcmp(((const struct history_shares *)a)->name,
                  ((const struct history_shares *)b)->name);
}

int history_functions(struct store *s, const struct history_filter *f, double least,
                      struct history_functions *ret, struct err *err)
{
    struct share_pile pile = {.to = ret};
    *ret = (struct history_functions){0};
    if (store_run(s, err, "BEGIN", "") != 0)
        return -1;
    int rc = pile_shares(s, f, &pile, err);
    if (rc == 0)
        rc = name_shares(s, &pile, least, err);
    store_rollback(s);
    if (rc != 0)
        history_functions_done(ret);
    else if (ret->at.n)
        qsort(ret->at.at, ret->at.n, sizeof *ret->at.at, history_by_name);
    idmap_done(&pile.by_id);
    vec_done(&pile.ids);
    return rc;
}

/* --- forgetting --- */

static int history_delete_old(struct store *s, size_t keep, size_t *ret_n, struct err *err)
{
    int rc = store_run(
        s, err,
        "DELETE FROM runs WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY "
        "workload, host ORDER BY time_s DESC, id DESC) AS n FROM runs) WHERE n>?)",
        "i", (int64_t)keep);
    *ret_n = (size_t)sqlite3_changes(s->db);
    if (rc == 0)
        rc = store_run(s, err, "DELETE FROM metrics WHERE run_id NOT IN (SELECT id FROM runs)", "");
    if (rc == 0)
        rc = store_run(s, err, "DELETE FROM shares WHERE run_id NOT IN (SELECT id FROM runs)", "");
    if (rc == 0)
        rc =
            store_run(s, err, "DELETE FROM names WHERE id NOT IN (SELECT name_id FROM shares)", "");
    return rc;
}

int history_prune(struct store *s, size_t keep, size_t *ret_n, struct err *err)
{
    *ret_n = 0;
    if (store_begin(s, err) != 0 || store_end(s, history_delete_old(s, keep, ret_n, err), err) != 0)
        return -1;
    return *ret_n ? store_run(s, err, "VACUUM", "") : 0;
}
