/*
 * store.c - opening the file, statements and transactions.
 *
 * The journal is SQLite's rollback journal, not the write-ahead log: a log needs shared memory,
 * which network folders do not have, and a folder that even readers may write to, and a program
 * that is killed leaves it behind. Saving is one short transaction at the end of a measurement, so
 * that readers wait for writers costs nothing.
 */
#include "store/store_inner.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

enum { WAIT_MS = 30000, HEADER_BYTES = 100, ID_AT = 68 };

/* --- where it is --- */

static bool is_project(const char *folder, bool above)
{
    static const char *const marks[] = {"kelvin.conf", ".git"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        autofree char *path = mem_printf("%s/%s", folder, marks[i]);
        if (access(path, F_OK) == 0 && path_is_trusted(path, above))
            return true;
    }
    return false;
}

char *store_path(void)
{
    const char *set = getenv("KELVIN_STORE");
    autofree char *folder = getcwd(NULL, 0);
    if (set && *set)
        return mem_strdup(set);
    bool above = false;
    for (char *slash; folder && (slash = strrchr(folder, '/')); *slash = '\0', above = true)
        if (is_project(folder, above))
            return mem_printf("%s/.kelvin/history.db", folder);
    return mem_strdup(".kelvin/history.db");
}

/* --- statements --- */

static const char *advice(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return "another program has been writing to it for a long time: try again when that is "
               "done";
    case SQLITE_FULL:
        return "the disk is full, and nothing was changed: make room and try again";
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return "no right to write to it or its folder";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return "the file is damaged: export what can be read, move it away and start a new one";
    case SQLITE_IOERR:
        return "reading or writing failed, and nothing was changed: is the disk full?";
    case SQLITE_CANTOPEN:
        return "it cannot be opened: check the folder and its rights";
    }
    return NULL;
}

int store_fail(struct store *s, const char *doing, struct err *err)
{
    int code = sqlite3_extended_errcode(s->db), base = code & 0xff;
    const char *text = advice(code);
    bool damaged = base == SQLITE_CORRUPT || base == SQLITE_NOTADB;
    bool locked = base == SQLITE_READONLY || base == SQLITE_PERM;
    if (base == SQLITE_FULL || code == SQLITE_IOERR_WRITE)
        doing = "write"; /* reading makes the file where there is none */
    return err_set_hint(err, damaged ? EXIT_INPUT : EXIT_ERROR,
                        locked ? HINT_OTHER_STORE : HINT_NONE, "cannot %s in '%s': %s", doing,
                        s->path, text ? text : sqlite3_errmsg(s->db));
}

static void bind(sqlite3_stmt *st, const char *fmt, va_list ap)
{
    struct text t;
    const void *bytes;
    double v;
    for (int i = 1; *fmt; fmt++, i++)
        switch (*fmt) {
        case 'i':
            sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
            break;
        case 'd': /* SQLite makes NULL of NAN */
            v = va_arg(ap, double);
            sqlite3_bind_double(st, i, v);
            break;
        case 's':
            sqlite3_bind_text(st, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
            break;
        case 't':
            t = va_arg(ap, struct text);
            sqlite3_bind_text64(st, i, t.at, t.n, SQLITE_STATIC, SQLITE_UTF8);
            break;
        case 'b':
            bytes = va_arg(ap, const void *);
            sqlite3_bind_blob64(st, i, bytes ? bytes : "", va_arg(ap, size_t), SQLITE_STATIC);
            break;
        }
}

static int store_compile_sql(struct store *s, sqlite3_stmt **ret, const char *sql, struct err *err)
{
    if (sqlite3_prepare_v2(s->db, sql, -1, ret, NULL) == SQLITE_OK)
        return 0;
    return store_fail(s, "look", err);
}

int store_prepare(struct store *s, sqlite3_stmt **ret, struct err *err, const char *sql,
                  const char *fmt, ...)
{
    *ret = NULL;
    if (store_compile_sql(s, ret, sql, err) != 0)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    bind(*ret, fmt, ap);
    va_end(ap);
    return 0;
}

int store_step(struct store *s, sqlite3_stmt *statement, struct err *err)
{
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW || code == SQLITE_DONE)
        return code == SQLITE_ROW;
    return store_fail(s, sqlite3_stmt_readonly(statement) ? "read" : "write", err);
}

int store_run(struct store *s, struct err *err, const char *sql, const char *fmt, ...)
{
    autostatement sqlite3_stmt *st = NULL;
    if (store_compile_sql(s, &st, sql, err) != 0)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    bind(st, fmt, ap);
    va_end(ap);
    int row;
    while ((row = store_step(s, st, err)) == 1)
        ;
    return row;
}

int store_number(struct store *s, const char *sql, int64_t fallback, int64_t *ret, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    if (store_compile_sql(s, &st, sql, err) != 0)
        return -1;
    int row = store_step(s, st, err);
    *ret = row == 1 ? sqlite3_column_int64(st, 0) : fallback;
    return row < 0 ? -1 : 0;
}

struct text store_column_text(sqlite3_stmt *statement, int column)
{
    const char *at = (const char *)sqlite3_column_text(statement, column);
    return at ? (struct text){at, (size_t)sqlite3_column_bytes(statement, column)}
              : (struct text){"", 0};
}

void store_copy_text(sqlite3_stmt *statement, int column, char *to, size_t size)
{
    snprintf(to, size, "%.*s", TEXT_ARG(store_column_text(statement, column)));
}

double store_column_double(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? NAN
               : sqlite3_column_double(statement, column);
}

/* --- transactions --- */

int store_begin(struct store *s, struct err *err)
{
    return store_run(s, err, "BEGIN IMMEDIATE", "");
}

/* Rolled back if it fails. */
static int store_commit(struct store *s, struct err *err)
{
    if (store_run(s, err, "COMMIT", "") == 0)
        return 0;
    store_rollback(s);
    return -1;
}

void store_rollback(struct store *s)
{
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

int store_end(struct store *s, int rc, struct err *err)
{
    if (rc == 0)
        return store_commit(s, err);
    store_rollback(s);
    return rc;
}

/* --- opening --- */

/*
 * Look at the file before SQLite does, which would undo somebody else's interrupted transaction.
 * POSIX drops all locks of a process on a file when any of its descriptors is closed: so a process
 * must not open a store that it has open already.
 */
static int check_header(const char *path, struct err *err)
{
    uint8_t head[HEADER_BYTES];
    struct stat st;
    autofree char *folder = path_folder(path);
    if (path_is_planted(path) || path_is_planted(folder))
        return err_set_hint(err, EXIT_ERROR, HINT_OTHER_STORE,
                            "another user put the store '%s' into a shared folder", path);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_set_errno(err, errno, "cannot open the store '%s'", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return err_set_hint(err, EXIT_ERROR, HINT_OTHER_STORE, "'%s' is not a file", path);
    if (st.st_size == 0)
        return 0;
    ssize_t n = pread(fd, head, sizeof head, 0);
    if (n < 16 || memcmp(head, "SQLite format 3", 16) != 0)
        return err_set_hint(err, EXIT_INPUT, HINT_OTHER_STORE, "'%s' is not a store: move it away",
                            path);
    uint32_t id = n < HEADER_BYTES ? 0
                                   : (uint32_t)head[ID_AT] << 24 | (uint32_t)head[ID_AT + 1] << 16 |
                                         (uint32_t)head[ID_AT + 2] << 8 | head[ID_AT + 3];
    if (id != STORE_APPLICATION_ID)
        return err_set_hint(err, EXIT_INPUT, HINT_OTHER_STORE,
                            "'%s' is a database of another program", path);
    return 0;
}

static int make_folder(const char *path, struct err *err)
{
    autofree char *folder = mem_strdup(path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = '\0';
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return 0;
    return err_set_errno(err, errno, "cannot make the folder '%s' for the store", folder);
}

/* The file may come from anywhere: nothing in it may run, and no page is believed. */
static void distrust(struct store *s)
{
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_exec(s->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
}

static int connect(struct store *s, struct err *err)
{
    /* Readers too: only so can what was left by a program that was killed be undone. Where the
     * file may not be written SQLite opens it for reading. */
    int flags = SQLITE_OPEN_READWRITE | (s->mode == STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
    if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
        return store_fail(s, "open the store", err);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, WAIT_MS);
    distrust(s);
    return 0;
}

int store_check_pages(struct store *s, struct err *err)
{
    autostatement sqlite3_stmt *st = NULL;
    if (store_prepare(s, &st, err, "PRAGMA quick_check(1)", "") != 0)
        return -1;
    int row = store_step(s, st, err);
    if (row < 0)
        return -1;
    struct text said = row ? store_column_text(st, 0) : text_of("ok");
    if (text_is(said, "ok"))
        return 0;
    return err_set(err, EXIT_INPUT,
                   "the store '%s' is damaged (%.60s): move it away and start a new one", s->path,
                   said.at);
}

static int store_set_up(struct store *s, struct err *err)
{
    if (s->mode == STORE_WRITE && store_check_pages(s, err) != 0)
        return -1;
    if (store_migrate(s, err) != 0)
        return -1;
    return s->mode == STORE_READ ? store_run(s, err, "PRAGMA query_only=ON", "") : 0;
}

int store_open(struct store **ret, const char *path, enum store_mode mode, struct err *err)
{
    *ret = NULL;
    if (mode == STORE_READ && access(path, F_OK) != 0)
        return err_set_hint(err, EXIT_ERROR, HINT_SAVE_BASELINE,
                            "there are no baselines yet (no store '%s')", path);
    if (mode == STORE_WRITE && make_folder(path, err) != 0)
        return -1;
    if (check_header(path, err) != 0)
        return -1;
    struct store *s = mem_new(struct store);
    *s = (struct store){.path = mem_strdup(path), .mode = mode};
    if (connect(s, err) != 0 || store_set_up(s, err) != 0) {
        store_close(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    sqlite3_close(s->db);
    free(s->path);
    free(s);
}
