/*
 * store_inner.h - what the files of this room share: statements, transactions, the list of
 * migrations.
 *
 * A file that adds tables puts their SQL into a row of store_migrations (store_schema.c) and uses
 * the helpers below. Statements never hold text from outside: values are bound.
 *
 * The version of a store is the number of rows of that table.
 */
#pragma once
#include "store/store.h"

#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    enum store_mode mode;
};

/* --- the schema --- */

#define STORE_APPLICATION_ID 0x4b656c76 /* "Kelv", at byte 68 of the file */

struct store_migration {
    const char *what; /* for errors: "baselines" */
    const char *sql;
};

/* Row I brings a store from version I to I + 1. Rows are only ever added at the end. */
extern const struct store_migration store_migrations[];
extern const int store_version; /* how many there are */

/* Bring S up to date. Anything that is not an empty file or a store of ours is refused. */
int store_migrate(struct store *s, struct err *err);

/* Damage must be found before more is written on top of it. Reads the whole file. */
int store_check_pages(struct store *s, struct err *err);

/* --- statements --- */

/* Describe the last failure of SQLite while DOING something, "save the baseline". Always -1. */
int store_fail(struct store *s, const char *doing, struct err *err);

/*
 * A statement with its values bound in order. FMT has a letter for each: i int64_t, d double (NAN
 * becomes NULL), s const char *, t struct text, b const void * and size_t: bytes. Texts and bytes
 * must live until the statement is finalized.
 */
int store_prepare(struct store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
                  const char *fmt, ...);

/* 1 = there is a row, 0 = no more, -1 = failed. */
int store_step(struct store *s, sqlite3_stmt *statement, struct err *err);

/* Prepare, run to the end, finalize. */
int store_run(struct store *s, struct err *err, const char *sql, const char *fmt, ...);

/* The first column of the first row, -1 with ERR set on failure; FALLBACK without a row. */
int store_number(struct store *s, const char *sql, int64_t fallback, int64_t *ret, struct err *err);

static inline void store_finalize(sqlite3_stmt **statement)
{
    sqlite3_finalize(*statement);
}

#define autostatement __attribute__((cleanup(store_finalize)))

/* A column as text, never NULL; good until the next step. */
struct text store_column_text(sqlite3_stmt *statement, int column);
void store_copy_text(sqlite3_stmt *statement, int column, char *to, size_t size);
double store_column_double(sqlite3_stmt *statement, int column); /* NULL = NAN */

/* --- transactions --- */

/* Wait for whoever writes just now, and keep others from writing until commit or rollback. */
int store_begin(struct store *s, struct err *err);
void store_rollback(struct store *s); /* harmless without a transaction */

/* End a transaction by the return code of what was done in it; gives that code back. */
int store_end(struct store *s, int rc, struct err *err);
