/*
 * baseline.c - sets of series, the names that point to them, and what they show over time.
 */
#include "base/cursor.h"
#include "base/utf8.h"
#include "stats/repeats.h"
#include "store/store_inner.h"

#include <math.h>
#include <time.h>
#include <xxhash.h>

enum { RUNS_MAX = 1 << 20 };

/* --- names --- */

int store_check_name(const char *name, struct err *err)
{
    struct store_baseline b;
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof b.name)
        return err_set(err, EXIT_ERROR, "the name of a baseline has 1 to %zu bytes, not %zu",
                       sizeof b.name - 1, n);
    for (size_t i = 0; i < n;) {
        int length = utf8_length(name + i, n - i);
        if (length == 0 || (uint8_t)name[i] < ' ' || name[i] == 0x7f)
            return err_set(err, EXIT_ERROR,
                           "the name of a baseline may not have control characters in it");
        i += (size_t)length;
    }
    return 0;
}

/* Say that there is no such baseline, and which there are. */
static int no_baseline(struct store *s, const char *name, struct err *err)
{
    struct store_baseline *list = NULL;
    size_t n = 0;
    autobuf struct buf b = {0};
    if (store_list_baselines(s, &list, &n, err) != 0)
        return -1;
    for (size_t i = 0; i < n && b.n < 100; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", list[i].name);
    free(list);
    err_set(err, EXIT_ERROR, "there is no baseline '%s'%s%s", name, n ? ": there are " : "",
            buf_cstr(&b));
    return n ? -1 : err_hint(err, HINT_SAVE_BASELINE);
}

/* --- saving --- */

static uint64_t bits_of(double v)
{
    uint64_t bits;
    v = isnan(v) ? NAN : v; /* one of the many */
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static bool has_measure(const struct series *s, enum measure m)
{
    for (size_t i = 0; i < s->runs.n; i++)
        if (!isnan(s->runs.at[i].value[m]))
            return true;
    return false;
}

/* What a series is kept as, and its checksum. */
struct packed {
    struct buf blocks, values[MEASURES];
    uint64_t checksum;
};

static void pack(struct packed *p, const struct series *s)
{
    *p = (struct packed){0};
    for (size_t i = 0; i < s->runs.n; i++)
        buf_u32(&p->blocks, s->runs.at[i].block);
    p->checksum = XXH64(p->blocks.at, p->blocks.n, 0);
    for (int m = 0; m < MEASURES; m++) {
        if (!has_measure(s, m))
            continue;
        for (size_t i = 0; i < s->runs.n; i++)
            buf_u64(&p->values[m], bits_of(s->runs.at[i].value[m]));
        p->checksum = XXH64(measure_infos[m].name, strlen(measure_infos[m].name), p->checksum);
        p->checksum = XXH64(p->values[m].at, p->values[m].n, p->checksum);
    }
}

static void packed_done(struct packed *p)
{
    buf_done(&p->blocks);
    for (int m = 0; m < MEASURES; m++)
        buf_done(&p->values[m]);
}

/* A series on its way into the store. */
struct saving {
    const struct series *series;
    struct packed packed;
    int64_t id;
};

static int save_measure(struct store *s, const struct saving *v, enum measure m, struct err *err)
{
    autofree double *sorted = mem_calloc(v->series->runs.n, sizeof *sorted);
    size_t n = series_values(v->series, m, sorted);
    repeats_sort(sorted, n);
    double median = repeats_quantile(sorted, n, 0.5);
    struct interval in = repeats_median_interval(sorted, n, 0.05);
    return store_run(s, err, "INSERT INTO measured VALUES (?,?,?,?,?,?)", "isdddb", v->id,
                     measure_infos[m].name, median, in.low, in.high,
                     (const void *)v->packed.values[m].at, v->packed.values[m].n);
}

static int save_series(struct store *s, int64_t set_id, size_t position,
                       const struct series *series, struct err *err)
{
    struct saving v = {.series = series};
    pack(&v.packed, series);
    int rc =
        store_run(s, err, "INSERT INTO series VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)", "iissdddsibi",
                  set_id, (int64_t)position, series->name, series->command, series->items,
                  series->bytes, series->size, series->parameter, (int64_t)series->runs.n,
                  (const void *)v.packed.blocks.at, v.packed.blocks.n, (int64_t)v.packed.checksum);
    v.id = sqlite3_last_insert_rowid(s->db);
    for (int m = 0; m < MEASURES && rc == 0; m++)
        if (v.packed.values[m].n)
            rc = save_measure(s, &v, (enum measure)m, err);
    packed_done(&v.packed);
    return rc;
}

static int64_t baseline_time_of(const struct meta *m)
{
    uint64_t ns;
    return meta_find_u64(m, META_TIME_NS, &ns) ? (int64_t)(ns / 1000000000u) : (int64_t)time(NULL);
}

static const char *baseline_fact(const struct meta *m, const char *key)
{
    const char *value = meta_find(m, key);
    return value ? value : "";
}

static int save_set(struct store *s, const char *name, const struct series_set *set,
                    int64_t *ret_id, struct err *err)
{
    const struct meta *m = &set->meta;
    int rc =
        store_run(s, err, "INSERT INTO sets VALUES (NULL,?,?,?,?)", "siss", name,
                  baseline_time_of(m), baseline_fact(m, META_HOST), baseline_fact(m, META_COMMIT));
    *ret_id = sqlite3_last_insert_rowid(s->db);
    for (size_t i = 0; i < m->entries.n && rc == 0; i++)
        rc = store_run(s, err, "INSERT INTO facts VALUES (?,?,?,?)", "iiss", *ret_id, (int64_t)i,
                       m->entries.at[i].key, m->entries.at[i].value);
    for (size_t i = 0; i < set->series.n && rc == 0; i++)
        rc = save_series(s, *ret_id, i, &set->series.at[i], err);
    return rc;
}

static int check_series(const struct series_set *set, const struct series *s, struct err *err)
{
    if (!*s->name || series_find(set, s->name) != s)
        return err_set(err, EXIT_ERROR,
                       "the benchmark name '%s' is %s: names are the keys by which "
                       "baselines are compared",
                       s->name, *s->name ? "there twice" : "empty");
    if (s->runs.n == 0 || s->runs.n > RUNS_MAX)
        return err_set(err, EXIT_ERROR, "'%s' has %zu runs: from 1 to %d can be saved", s->name,
                       s->runs.n, RUNS_MAX);
    for (size_t i = 0; i < s->runs.n; i++)
        for (int m = 0; m < MEASURES; m++)
            if (isinf(s->runs.at[i].value[m]))
                return err_set(err, EXIT_ERROR, "run %zu of '%s' has an infinite %s", i + 1,
                               s->name, measure_infos[m].name);
    return 0;
}

static int check_set(const struct series_set *set, struct err *err)
{
    if (!set->series.n)
        return err_set(err, EXIT_ERROR, "nothing was measured: there is nothing to save");
    for (size_t i = 0; i < set->series.n; i++)
        if (check_series(set, &set->series.at[i], err) != 0)
            return -1;
    return 0;
}

int store_save_baseline(struct store *s, const char *name, const struct series_set *set,
                        struct err *err)
{
    int64_t id;
    if (store_check_name(name, err) != 0 || check_set(set, err) != 0 || store_begin(s, err) != 0)
        return -1;
    int rc = save_set(s, name, set, &id, err);
    if (rc == 0)
        rc = store_run(s, err, "INSERT OR REPLACE INTO baselines VALUES (?,?)", "si", name, id);
    return store_end(s, rc, err);
}

/* --- loading --- */

struct loading {
    struct store *store;
    const char *name; /* of the baseline */
    struct series_set *set;
};

/* WHAT is wrong with the benchmark NAME. */
static int baseline_damaged(const struct loading *l, struct err *err, const char *what,
                            const char *name)
{
    return err_set(err, EXIT_INPUT,
                   "baseline '%s' in '%s' is damaged (%s '%.60s'): delete it and save it again",
                   l->name, l->store->path, what, name);
}

static int find_set(struct store *s, const char *name, int64_t *ret, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    if (store_prepare(s, &st, err, "SELECT set_id FROM baselines WHERE name=?", "s", name) != 0)
        return -1;
    int row = store_step(s, st, err);
    if (row == 1)
        *ret = sqlite3_column_int64(st, 0);
    return row == 1 ? 0 : row == 0 ? no_baseline(s, name, err) : -1;
}

static int load_facts(struct store *s, int64_t id, struct meta *m, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(s, &st, err, "SELECT key, value FROM facts WHERE set_id=? ORDER BY position",
                      "i", id) != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1) {
        struct text key = store_column_text(st, 0);
        meta_set(m, key.at, store_column_text(st, 1));
    }
    return row;
}

static bool unpack_values(struct series *to, const char *measure, const void *bytes, size_t n)
{
    int m = measure_find(measure);
    struct cursor c = cursor_of(bytes, n);
    if (m < 0 || n != 8 * to->runs.n)
        return false;
    for (size_t i = 0; i < to->runs.n; i++) {
        uint64_t bits = cursor_uint(&c, 8);
        memcpy(&to->runs.at[i].value[m], &bits, sizeof bits);
        if (isinf(to->runs.at[i].value[m]))
            return false;
    }
    return true;
}

static int load_measures(const struct loading *l, int64_t id, struct series *to, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(l->store, &st, err, "SELECT measure, runs FROM measured WHERE series_id=?",
                      "i", id) != 0)
        return -1;
    while ((row = store_step(l->store, st, err)) == 1) {
        const void *bytes = sqlite3_column_blob(st, 1);
        size_t n = (size_t)sqlite3_column_bytes(st, 1);
        if (!unpack_values(to, store_column_text(st, 0).at, bytes, n))
            return baseline_damaged(l, err, "the values of", to->name);
    }
    return row;
}

/* Room for the runs, whose number must be what their blocks say. */
static bool unpack_runs(struct series *to, int64_t n_runs, const void *blocks, size_t n)
{
    struct cursor c = cursor_of(blocks, n);
    if (n_runs < 1 || n_runs > RUNS_MAX || n != 4 * (size_t)n_runs)
        return false;
    for (int64_t i = 0; i < n_runs; i++) {
        struct series_run *run = vec_push(&to->runs);
        run->block = (uint32_t)cursor_uint(&c, 4);
        for (int m = 0; m < MEASURES; m++)
            run->value[m] = NAN;
    }
    return true;
}

static void replace(char **to, struct text t)
{
    free(*to);
    *to = mem_strndup(t.at, t.n);
}

static bool checksum_holds(const struct series *s, uint64_t checksum)
{
    struct packed p;
    pack(&p, s);
    packed_done(&p);
    return p.checksum == checksum;
}

/* Columns: id name command items bytes size parameter n_runs blocks checksum */
static int load_row(const struct loading *l, sqlite3_stmt *st, struct err *err)
{
    struct text name = store_column_text(st, 1);
    if (!name.n || series_find(l->set, name.at))
        return baseline_damaged(l, err, "the name", name.at);
    struct series *to = series_add(l->set, name.at);
    replace(&to->command, store_column_text(st, 2));
    to->items = sqlite3_column_double(st, 3);
    to->bytes = sqlite3_column_double(st, 4);
    to->size = store_column_double(st, 5);
    replace(&to->parameter, store_column_text(st, 6));
    const void *blocks = sqlite3_column_blob(st, 8);
    if (!unpack_runs(to, sqlite3_column_int64(st, 7), blocks, (size_t)sqlite3_column_bytes(st, 8)))
        return baseline_damaged(l, err, "the runs of", to->name);
    if (load_measures(l, sqlite3_column_int64(st, 0), to, err) != 0)
        return -1;
    return checksum_holds(to, (uint64_t)sqlite3_column_int64(st, 9))
               ? 0
               : baseline_damaged(l, err, "the checksum of", to->name);
}

static int load_series(const struct loading *l, int64_t id, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(l->store, &st, err,
                      "SELECT id, name, command, items, bytes, size, parameter, n_runs, blocks, "
                      "checksum FROM series WHERE set_id=? ORDER BY position",
                      "i", id) != 0)
        return -1;
    while ((row = store_step(l->store, st, err)) == 1)
        if (load_row(l, st, err) != 0)
            return -1;
    return row == 0 && !l->set->series.n ? baseline_damaged(l, err, "no series in", l->name) : row;
}

int store_load_baseline(struct store *s, const char *name, struct series_set *ret, struct err *err)
{
    int64_t id;
    struct loading l = {s, name, ret};
    *ret = (struct series_set){0};
    if (store_run(s, err, "BEGIN", "") != 0) /* what is read belongs together */
        return -1;
    int rc = find_set(s, name, &id, err);
    if (rc == 0)
        rc = load_facts(s, id, &ret->meta, err);
    if (rc == 0)
        rc = load_series(&l, id, err);
    store_rollback(s);
    if (rc != 0)
        series_set_done(ret);
    return rc;
}

/* --- the list --- */

int store_list_baselines(struct store *s, struct store_baseline **ret, size_t *ret_n,
                         struct err *err)
{
    VEC(struct store_baseline) list = {0};
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(s, &st, err,
                      "SELECT b.name, t.time_s, t.host, t.commit_id, count(*), sum(r.n_runs) "
                      "FROM baselines b JOIN sets t ON t.id=b.set_id JOIN series r ON "
                      "r.set_id=t.id GROUP BY b.name ORDER BY b.name",
                      "") != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1) {
        struct store_baseline *b = vec_push(&list);
        *b = (struct store_baseline){.time_s = sqlite3_column_int64(st, 1),
                                     .n_series = (size_t)sqlite3_column_int64(st, 4),
                                     .n_runs = (size_t)sqlite3_column_int64(st, 5)};
        store_copy_text(st, 0, b->name, sizeof b->name);
        store_copy_text(st, 2, b->host, sizeof b->host);
        store_copy_text(st, 3, b->commit, sizeof b->commit);
    }
    *ret = list.at;
    *ret_n = list.n;
    if (row != 0)
        vec_done(&list);
    return row;
}

int store_delete_baseline(struct store *s, const char *name, struct err *err)
{
    int64_t id;
    if (store_begin(s, err) != 0)
        return -1;
    int rc = find_set(s, name, &id, err);
    if (rc == 0)
        rc = store_run(s, err, "DELETE FROM baselines WHERE name=?", "s", name);
    return store_end(s, rc, err);
}

/* --- renaming --- */

static int baseline_rename_all(struct store *s, const char *old_name, const char *new_name,
                               struct err *err)
{
    autostatement sqlite3_stmt *both = NULL;
    if (store_prepare(s, &both, err,
                      "SELECT 1 FROM series a JOIN series b ON a.set_id=b.set_id WHERE a.name=? "
                      "AND b.name=? LIMIT 1",
                      "ss", old_name, new_name) != 0)
        return -1;
    int row = store_step(s, both, err);
    if (row != 0)
        return row < 0 ? -1
                       : err_set(err, EXIT_ERROR,
                                 "'%s' and '%s' were measured together: they are two benchmarks, "
                                 "not two names of one",
                                 old_name, new_name);
    if (store_run(s, err, "UPDATE series SET name=? WHERE name=?", "ss", new_name, old_name) != 0)
        return -1;
    return sqlite3_changes(s->db) > 0
               ? 0
               : err_set(err, EXIT_ERROR, "no benchmark in the store is called '%s'", old_name);
}

int store_rename_series(struct store *s, const char *old_name, const char *new_name,
                        struct err *err)
{
    if (!*new_name || strcmp(old_name, new_name) == 0)
        return err_set(err, EXIT_ERROR, "a benchmark needs a new name that is another: OLD=NEW");
    if (store_begin(s, err) != 0)
        return -1;
    return store_end(s, baseline_rename_all(s, old_name, new_name, err), err);
}

/* --- over time --- */

int store_series_past(struct store *s, const char *series, enum measure measure, const char *host,
                      struct store_point **ret, size_t *ret_n, struct err *err)
{
    VEC(struct store_point) list = {0};
    autostatement sqlite3_stmt *st = NULL;
    int row;
    if (store_prepare(s, &st, err,
                      "SELECT t.time_s, t.commit_id, t.name, t.host, m.median, m.low, m.high FROM "
                      "series r JOIN sets t ON t.id=r.set_id JOIN measured m ON m.series_id=r.id "
                      "AND m.measure=?2 WHERE r.name=?1 AND (?3='' OR t.host=?3) "
                      "ORDER BY t.time_s, t.id",
                      "sss", series, measure_infos[measure].name, host) != 0)
        return -1;
    while ((row = store_step(s, st, err)) == 1) {
        struct store_point *p = vec_push(&list);
        *p = (struct store_point){.time_s = sqlite3_column_int64(st, 0),
                                  .median = store_column_double(st, 4),
                                  .low = store_column_double(st, 5),
                                  .high = store_column_double(st, 6)};
        store_copy_text(st, 1, p->commit, sizeof p->commit);
        store_copy_text(st, 2, p->baseline, sizeof p->baseline);
        store_copy_text(st, 3, p->host, sizeof p->host);
    }
    *ret = list.at;
    *ret_n = list.n;
    if (row != 0)
        vec_done(&list);
    return row;
}
