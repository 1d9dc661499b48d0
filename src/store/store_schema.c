/*
 * store_schema.c - the tables, and how older stores get them.
 *
 * The version is SQLite's user_version. A store of an older version is brought up to date in the
 * transaction in which it is opened for writing: all of it or nothing.
 */
#include "store/store_inner.h"

/*
 * sets       what one run of `kelvin bench` measured, never changed afterwards
 * facts      its meta: host, commit, options
 * series     its benchmarks. blocks: a little-endian uint32 for each run. checksum: XXH64 of what
 *            was measured, as bits in a page can flip that SQLite does not miss
 * measured   a row for each measure of a series. runs: a little-endian double for each run, NAN
 *            where it was not measured
 * baselines  names that point to sets
 */
static const char baselines_sql[] =
    "CREATE TABLE sets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, time_s INTEGER NOT NULL,"
    " host TEXT NOT NULL, commit_id TEXT NOT NULL);"
    "CREATE TABLE facts (set_id INTEGER NOT NULL REFERENCES sets(id), position INTEGER NOT NULL,"
    " key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (set_id, position)) WITHOUT ROWID;"
    "CREATE TABLE series (id INTEGER PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES sets(id),"
    " position INTEGER NOT NULL, name TEXT NOT NULL, command TEXT NOT NULL, items REAL NOT NULL,"
    " bytes REAL NOT NULL, size REAL, parameter TEXT NOT NULL, n_runs INTEGER NOT NULL,"
    " blocks BLOB NOT NULL, checksum INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX series_of_set ON series(set_id, name);"
    "CREATE INDEX series_by_name ON series(name, set_id);"
    "CREATE TABLE measured (series_id INTEGER NOT NULL REFERENCES series(id),"
    " measure TEXT NOT NULL, median REAL, low REAL, high REAL, runs BLOB NOT NULL,"
    " PRIMARY KEY (series_id, measure)) WITHOUT ROWID;"
    "CREATE TABLE baselines (name TEXT PRIMARY KEY, set_id INTEGER NOT NULL REFERENCES sets(id))"
    " WITHOUT ROWID;";

/*
 * runs     one workload of one `kelvin run`, never changed afterwards
 * metrics  its totals
 * shares   of its functions, whose names are stored once
 */
static const char history_sql[] =
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, time_s INTEGER NOT NULL, commit_id TEXT NOT NULL,"
    " branch TEXT NOT NULL, dirty INTEGER NOT NULL, host TEXT NOT NULL, workload TEXT NOT NULL,"
    " outcome TEXT NOT NULL);"
    "CREATE INDEX runs_by_workload ON runs(workload, host, time_s);"
    "CREATE TABLE metrics (run_id INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL,"
    " value REAL, low REAL, high REAL, PRIMARY KEY (run_id, name)) WITHOUT ROWID;"
    "CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE shares (run_id INTEGER NOT NULL REFERENCES runs(id), name_id INTEGER NOT NULL"
    " REFERENCES names(id), self REAL NOT NULL, total REAL NOT NULL,"
    " PRIMARY KEY (run_id, name_id)) WITHOUT ROWID;";

const struct store_migration store_migrations[] = {
    {"baselines", baselines_sql},
    {"history", history_sql},
};

const int store_version = sizeof store_migrations / sizeof *store_migrations;

static int refuse_foreign(const struct store *s, struct err *err)
{
    return err_set_hint(err, EXIT_INPUT, HINT_OTHER_STORE, "'%s' is a database of another program",
                        s->path);
}

/* What the file is: its version, 0 for a file that has nothing in it yet. */
static int read_version(struct store *s, int64_t *ret, struct err *err)
{
    int64_t id, tables;
    if (store_number(s, "PRAGMA application_id", 0, &id, err) != 0 ||
        store_number(s, "PRAGMA user_version", 0, ret, err) != 0 ||
        store_number(s, "SELECT count(*) FROM sqlite_schema", 0, &tables, err) != 0)
        return -1;
    if (id == 0 && *ret == 0 && tables == 0)
        return 0;
    if (id != STORE_APPLICATION_ID)
        return refuse_foreign(s, err);
    if (*ret > store_version) {
        return err_set_hint(
            err, EXIT_INPUT, HINT_OTHER_STORE,
            "'%s' was written by a newer kelvin (format %lld, this one knows %d): use that one",
            s->path, (long long)*ret, store_version);
    }
    return *ret >= 1 ? 0 : err_set(err, EXIT_INPUT, "'%s' is damaged: it has no version", s->path);
}

static int store_schema_apply(struct store *s, int64_t from, struct err *err)
{
    char mark[96];
    for (int64_t i = from; i < store_version; i++)
        if (sqlite3_exec(s->db, store_migrations[i].sql, NULL, NULL, NULL) != SQLITE_OK)
            return store_fail(s, store_migrations[i].what, err);
    snprintf(mark, sizeof mark, "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION_ID, store_version);
    if (sqlite3_exec(s->db, mark, NULL, NULL, NULL) != SQLITE_OK)
        return store_fail(s, "set the version", err);
    return 0;
}

/* Two programs may find the same old store: who gets the lock second looks again. */
static int upgrade(struct store *s, struct err *err)
{
    int64_t version;
    if (store_begin(s, err) != 0)
        return -1;
    int rc = read_version(s, &version, err);
    if (rc == 0 && version < store_version)
        rc = store_schema_apply(s, version, err);
    return store_end(s, rc, err);
}

/* As one look: in between, another program may be making the store. */
static int store_schema_look(struct store *s, int64_t *ret, struct err *err)
{
    if (store_run(s, err, "BEGIN", "") != 0)
        return -1;
    int rc = read_version(s, ret, err);
    store_rollback(s);
    return rc;
}

int store_migrate(struct store *s, struct err *err)
{
    int64_t version;
    if (store_schema_look(s, &version, err) != 0)
        return -1;
    if (version == store_version)
        return 0;
    if (version == 0 && s->mode == STORE_READ)
        return err_set(err, EXIT_INPUT, "'%s' is empty: nothing has been saved in it", s->path);
    return store_check_pages(s, err) == 0 ? upgrade(s, err) : -1;
}
