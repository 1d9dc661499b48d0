/*
 * store.h - what was measured before: baselines of benchmarks and the history of runs.
 *
 * One SQLite file in the project's folder (.kelvin/history.db). Several programs may use it at
 * once: every change is one transaction, and whoever comes second waits. A file that is not ours,
 * from a newer version or damaged is refused with the reason, and never written to.
 *
 * A set of series is written once and never changed; a baseline is a name that points to a set, so
 * replacing or deleting one forgets nothing. Every change takes the write lock first.
 *
 * Rollback journal, not the write-ahead log: the log needs shared memory, which network folders do
 * not have, and leaves files behind where a program is killed. The file is checked before SQLite
 * opens it. Before a write all pages are checked; the values of a series have a checksum of their
 * own.
 */
#pragma once
#include "base/err.h"
#include "model/series.h"

struct store;

/* Where the store of this project is: .kelvin/history.db beside the nearest kelvin.conf or .git of
 * this folder and those above, else in this folder. KELVIN_STORE overrides. Free it. */
char *store_path(void);

enum store_mode { STORE_READ, STORE_WRITE }; /* WRITE creates it where there is none */

/* With STORE_READ and no file: fails, says how to make one. A process must not open a store twice
 * at a time: POSIX would drop the locks. */
int store_open(struct store **ret, const char *path, enum store_mode mode, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* --- baselines: a name for a set of series --- */

struct store_baseline {
    char name[64];
    int64_t time_s; /* when it was saved, since 1970 */
    char host[48], commit[65];
    size_t n_series, n_runs;
};

/* Whether NAME may be one: 1 to 63 bytes without control characters. */
int store_check_name(const char *name, struct err *err);

/* Save SET as NAME; an older one of that name is replaced (and stays in the history). */
int store_save_baseline(struct store *s, const char *name, const struct series_set *set,
                        struct err *err);
int store_load_baseline(struct store *s, const char *name, struct series_set *ret, struct err *err);
int store_list_baselines(struct store *s, struct store_baseline **ret, size_t *ret_n,
                         struct err *err);
/* Only the name goes: what it stood for stays in the history. */
int store_delete_baseline(struct store *s, const char *name, struct err *err);

/* A benchmark was renamed: all that is stored as OLD is found as NEW from now on. Refused where
 * both were measured together, as they are then two. */
int store_rename_series(struct store *s, const char *old_name, const char *new_name,
                        struct err *err);

/* Past medians of MEASURE of a series on HOST ("" = any), oldest first. Free the array. */
struct store_point {
    int64_t time_s;
    char commit[65], baseline[64], host[48];
    double median, low, high;
};

int store_series_past(struct store *s, const char *series, enum measure measure, const char *host,
                      struct store_point **ret, size_t *ret_n, struct err *err);
