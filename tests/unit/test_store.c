/* test_store.c - what is saved comes back to the last bit, and nothing bad happens to the file. */
#include "base/buf.h"
#include "store/exchange.h"
#include "store/pasts.h"
#include "store/store_inner.h"

#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[] = "/tmp/kelvin-store-XXXXXX";
static char path[64];

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(name);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(strchr(folder, '\0') - 6, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/s/history.db", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void must(int rc, const struct err *err)
{
    if (rc != 0)
        fail_msg("%s", err->text);
}

static struct store *open_store(enum store_mode mode)
{
    struct store *s;
    struct err err;
    must(store_open(&s, path, mode, &err), &err);
    return s;
}

/* The file as bytes. */
static struct buf content(void)
{
    struct buf b = {0};
    char piece[4096];
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        buf_add(&b, piece, n);
    fclose(f);
    return b;
}

static void overwrite(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Runs with values that are hard to write down; every third lacks its user time. */
static void add_series(struct series_set *set, const char *name, size_t n, double scale)
{
    struct series *s = series_add(set, name);
    s->items = 1.0 / 3;
    s->size = n % 2 ? NAN : 1e3 + 0.1;
    for (size_t i = 0; i < n; i++) {
        struct series_run *run = vec_push(&s->runs);
        run->block = (uint32_t)i * 7;
        for (int m = 0; m < MEASURES; m++)
            run->value[m] = NAN;
        run->value[MEASURE_TIME] = scale * (1 + sin((double)i) / 7);
        run->value[MEASURE_USER] = i % 3 ? nextafter(scale, INFINITY) * (double)i : NAN;
        run->value[MEASURE_PEAK_RSS] = i ? (double)(i << 40 | 1) : -0.0;
    }
}

static struct series_set make_set(double scale)
{
    struct series_set set = {0};
    meta_set_str(&set.meta, META_HOST, "2c-8g-01234567");
    meta_set_str(&set.meta, META_COMMIT, "0123456789012345678901234567890123456789");
    meta_set_str(&set.meta, META_TIME_NS, "1700000000000000000");
    meta_set_str(&set.meta, "odd \" key", "line\nbreak \xc3\xa9");
    add_series(&set, "sort", 11, scale);
    add_series(&set, "scan/n=4096", 2, scale / 1e9);
    add_series(&set, "one", 1, 5e-324);
    return set;
}

static void same_series(const struct series *a, const struct series *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->parameter, b->parameter);
    assert_memory_equal(&a->items, &b->items, 8);
    assert_memory_equal(&a->bytes, &b->bytes, 8);
    assert_true(a->size == b->size || (isnan(a->size) && isnan(b->size)));
    assert_int_equal(a->runs.n, b->runs.n);
    for (size_t i = 0; i < a->runs.n; i++) {
        assert_int_equal(a->runs.at[i].block, b->runs.at[i].block);
        assert_memory_equal(a->runs.at[i].value, b->runs.at[i].value, sizeof(double[MEASURES]));
    }
}

static void same_set(const struct series_set *a, const struct series_set *b)
{
    assert_int_equal(a->meta.entries.n, b->meta.entries.n);
    for (size_t i = 0; i < a->meta.entries.n; i++) {
        assert_string_equal(a->meta.entries.at[i].key, b->meta.entries.at[i].key);
        assert_string_equal(a->meta.entries.at[i].value, b->meta.entries.at[i].value);
    }
    assert_int_equal(a->series.n, b->series.n);
    for (size_t i = 0; i < a->series.n; i++)
        same_series(&a->series.at[i], &b->series.at[i]);
}

static void save(struct store *s, const char *name, double scale)
{
    struct err err;
    struct series_set set = make_set(scale);
    must(store_save_baseline(s, name, &set, &err), &err);
    series_set_done(&set);
}

/* A store with the baseline "main", closed. */
static void make_store(void)
{
    struct store *s = open_store(STORE_WRITE);
    save(s, "main", 1e6);
    store_close(s);
}

/* --- what is kept --- */

static void a_baseline_comes_back_to_the_last_bit(void **state)
{
    (void)state;
    struct err err;
    struct series_set want = make_set(12345.678), got;
    struct store *s = open_store(STORE_WRITE);
    must(store_save_baseline(s, "main", &want, &err), &err);
    store_close(s);
    s = open_store(STORE_READ);
    must(store_load_baseline(s, "main", &got, &err), &err);
    same_set(&want, &got);
    series_set_done(&want);
    series_set_done(&got);
    store_close(s);
}

static void json_comes_back_to_the_last_bit(void **state)
{
    (void)state;
    struct err err;
    struct series_set want = make_set(1e9 / 7), got;
    char *text = NULL, *name;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    exchange_write(f, "main", &want);
    fclose(f);
    struct reader in;
    reader_open_memory(&in, text, n);
    must(exchange_read(&in, &name, &got, &err), &err);
    assert_string_equal(name, "main");
    same_set(&want, &got);
    reader_close(&in);
    free(name);
    free(text);
    series_set_done(&want);
    series_set_done(&got);
}

static void a_replaced_baseline_stays_in_the_past(void **state)
{
    (void)state;
    struct err err;
    struct store_point *points;
    struct store_baseline *list;
    struct series_set set;
    size_t n;
    struct store *s = open_store(STORE_WRITE);
    save(s, "main", 1e6);
    save(s, "main", 2e6);
    save(s, "side", 3e6);
    must(store_load_baseline(s, "main", &set, &err), &err);
    assert_true(set.series.at[0].runs.at[0].value[MEASURE_TIME] == 2e6);
    series_set_done(&set);
    must(store_list_baselines(s, &list, &n, &err), &err);
    assert_int_equal(n, 2);
    assert_string_equal(list[0].name, "main");
    assert_int_equal(list[0].time_s, 1700000000);
    assert_int_equal(list[0].n_series, 3);
    assert_int_equal(list[0].n_runs, 14);
    assert_string_equal(list[1].name, "side");
    free(list);
    must(store_series_past(s, "sort", MEASURE_TIME, "", &points, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_true(points[1].median > 1.9 * points[0].median);
    assert_true(points[0].low < points[0].median && points[0].median < points[0].high);
    assert_string_equal(points[2].baseline, "side");
    free(points);
    must(store_series_past(s, "sort", MEASURE_TIME, "elsewhere", &points, &n, &err), &err);
    assert_int_equal(n, 0);
    free(points);
    store_close(s);
}

static void the_past_ends_now_and_says_where_the_level_changed(void **state)
{
    (void)state;
    struct err err;
    struct pasts pasts = {0};
    struct series_set now = make_set(2e6);
    struct store *s = open_store(STORE_WRITE);
    add_series(&now, "new", 11, 1);
    for (int i = 0; i < 24; i++)
        save(s, "main", (i < 12 ? 1e6 : 2e6) * (1 + 0.001 * (i * 7 % 5)));
    must(pasts_read(&pasts, s, &now, MEASURE_TIME, true, &err), &err);
    assert_int_equal(pasts.n, 3); /* "new" has none */
    const struct past *sort = &pasts.at[0];
    assert_string_equal(sort->name, "sort");
    assert_int_equal(sort->n_runs, 25);
    assert_string_equal(sort->runs[24].baseline, "now");
    assert_string_equal(sort->runs[23].baseline, "main");
    assert_string_equal(sort->runs[24].commit, "012345678901");
    assert_true(sort->runs[24].interval.low < sort->runs[24].median);
    for (size_t i = 0; i < sort->n_runs; i++)
        assert_int_equal(sort->runs[i].change_point, i == 12);
    pasts_done(&pasts);
    must(pasts_read(&pasts, s, &now, MEASURE_TIME, false, &err), &err);
    assert_int_equal(pasts.at[0].n_runs, 24);
    pasts_done(&pasts);
    must(pasts_read(&pasts, s, &now, MEASURE_SYSTEM, true, &err), &err); /* never measured */
    assert_int_equal(pasts.n, 0);
    pasts_done(&pasts);
    store_close(s);
    series_set_done(&now);
}

static void a_deleted_baseline_is_missed_by_name(void **state)
{
    (void)state;
    struct err err;
    struct series_set set;
    struct store *s = open_store(STORE_WRITE);
    save(s, "main", 1);
    save(s, "other", 1);
    must(store_delete_baseline(s, "main", &err), &err);
    assert_int_equal(store_load_baseline(s, "main", &set, &err), -1);
    assert_non_null(strstr(err.text, "there are other"));
    assert_int_equal(store_delete_baseline(s, "main", &err), -1);
    save(s, "main", 2); /* the transaction that failed is over */
    store_close(s);
}

static void a_renamed_benchmark_is_found_in_all_baselines(void **state)
{
    (void)state;
    struct err err;
    struct series_set set;
    struct store *s = open_store(STORE_WRITE);
    save(s, "main", 1);
    save(s, "side", 1);
    must(store_rename_series(s, "sort", "quick sort", &err), &err);
    must(store_load_baseline(s, "main", &set, &err), &err);
    assert_string_equal(set.series.at[0].name, "quick sort");
    series_set_done(&set);
    assert_int_equal(store_rename_series(s, "sort", "x", &err), -1);
    assert_non_null(strstr(err.text, "'sort'"));
    assert_int_equal(store_rename_series(s, "one", "quick sort", &err), -1);
    assert_non_null(strstr(err.text, "measured together"));
    store_close(s);
}

static void what_makes_no_sense_is_not_saved(void **state)
{
    (void)state;
    struct err err;
    struct series_set empty = {0}, set = make_set(1);
    struct store *s = open_store(STORE_WRITE);
    char name[65];
    memset(name, 'x', 64);
    name[64] = '\0';
    assert_int_equal(store_save_baseline(s, "main", &empty, &err), -1);
    assert_int_equal(store_save_baseline(s, "", &set, &err), -1);
    assert_int_equal(store_save_baseline(s, name, &set, &err), -1);
    assert_int_equal(store_save_baseline(s, "a\nb", &set, &err), -1);
    series_add(&set, "sort");
    assert_int_equal(store_save_baseline(s, "main", &set, &err), -1);
    assert_non_null(strstr(err.text, "'sort'"));
    series_set_done(&set);
    store_close(s);
}

/* --- files that are not ours --- */

/* Opening must fail in both modes, say WORD, and leave the file as it was. */
static void must_refuse(const char *word)
{
    struct buf before = content();
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        struct store *s;
        struct err err;
        if (store_open(&s, path, mode, &err) == 0)
            fail_msg("opened what should be refused: %s", word);
        assert_null(s);
        if (!strstr(err.text, word))
            fail_msg("no '%s' in: %s", word, err.text);
        struct buf after = content();
        assert_int_equal(before.n, after.n);
        assert_memory_equal(before.at, after.at, before.n);
        buf_done(&after);
    }
    buf_done(&before);
}

static void change(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void other_files_are_refused_and_left_alone(void **state)
{
    (void)state;
    make_store();
    overwrite("some notes of mine, much longer than a header would have to be", 60);
    must_refuse("not a store");
    overwrite("SQLite format 3", 15);
    must_refuse("not a store");
    remove(path);
    change("CREATE TABLE bookmarks (url)");
    must_refuse("another program");
    change("PRAGMA user_version=1");
    must_refuse("another program");
}

static void a_newer_store_is_refused_and_left_alone(void **state)
{
    (void)state;
    make_store();
    change("PRAGMA user_version=99");
    must_refuse("newer kelvin");
}

static void a_missing_store_is_explained(void **state)
{
    (void)state;
    struct store *s;
    struct err err;
    assert_int_equal(store_open(&s, path, STORE_READ, &err), -1);
    assert_int_equal(err.hint, HINT_SAVE_BASELINE);
    assert_int_equal(access(path, F_OK), -1);
}

/* Whatever a reader meets it says so or gives what was saved; a writer writes on no damage. */
static void damaged_pages_are_never_written(void **state)
{
    (void)state;
    make_store();
    struct buf good = content();
    int refused = 0;
    for (size_t at = 100; at < good.n; at += 499) {
        struct buf bad = {0};
        struct store *s;
        struct err err;
        buf_add(&bad, good.at, good.n);
        memset(bad.at + at, 0xa5, bad.n - at < 64 ? bad.n - at : 64);
        overwrite(bad.at, bad.n);
        struct series_set set;
        if (store_open(&s, path, STORE_READ, &err) == 0 &&
            store_load_baseline(s, "main", &set, &err) == 0)
            series_set_done(&set);
        store_close(s);
        if (store_open(&s, path, STORE_WRITE, &err) != 0)
            refused++;
        store_close(s);
        struct buf after = content();
        assert_int_equal(bad.n, after.n);
        assert_memory_equal(bad.at, after.at, bad.n);
        buf_done(&after);
        buf_done(&bad);
    }
    buf_done(&good);
    assert_true(refused >= 5);
}

/* A bit inside a value: SQLite does not mind, the checksum does. */
static void a_flipped_bit_in_a_run_is_found(void **state)
{
    (void)state;
    struct err err;
    struct series_set set;
    make_store();
    change("UPDATE measured SET runs = zeroblob(length(runs)) WHERE measure='user'");
    struct store *s = open_store(STORE_READ);
    assert_int_equal(store_load_baseline(s, "main", &set, &err), -1);
    assert_non_null(strstr(err.text, "checksum of 'sort'"));
    assert_int_equal(err.code, EXIT_INPUT);
    store_close(s);
    change("UPDATE measured SET runs = x'00'");
    s = open_store(STORE_READ);
    assert_int_equal(store_load_baseline(s, "main", &set, &err), -1);
    change("UPDATE series SET n_runs = 1 << 40");
    assert_int_equal(store_load_baseline(s, "main", &set, &err), -1);
    assert_non_null(strstr(err.text, "the runs of 'sort'"));
    store_close(s);
}

/* --- the file --- */

static void nothing_but_the_store_is_left_in_the_folder(void **state)
{
    (void)state;
    char other[80];
    make_store();
    for (const char *const *end = (const char *const[]){"-wal", "-shm", "-journal", NULL}; *end;
         end++) {
        snprintf(other, sizeof other, "%s%s", path, *end);
        assert_int_equal(access(other, F_OK), -1);
    }
}

static void a_folder_without_write_access_can_be_read(void **state)
{
    (void)state;
    struct err err;
    struct series_set set;
    char parent[64];
    make_store();
    snprintf(parent, sizeof parent, "%s/s", folder);
    chmod(path, 0444);
    chmod(parent, 0555);
    struct store *s = open_store(STORE_READ);
    must(store_load_baseline(s, "main", &set, &err), &err);
    assert_int_equal(store_save_baseline(s, "side", &set, &err), -1);
    series_set_done(&set);
    store_close(s);
    chmod(parent, 0755);
}

/* In a child whose files may not grow past LIMIT bytes; 0 when saving failed with a reason. */
static int save_with_limit(rlim_t limit)
{
    pid_t child = fork();
    if (child == 0) {
        struct store *s;
        struct err err;
        struct series_set set = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "b%d", i);
            add_series(&set, name, 500, 1);
        }
        int rc = store_open(&s, path, STORE_WRITE, &err);
        _exit(rc == 0 && store_save_baseline(s, "main", &set, &err) == 0 ? 1 : !*err.text);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_full_disk_leaves_the_store_as_it_was(void **state)
{
    (void)state;
    struct err err;
    struct series_set want = make_set(1e6), got;
    make_store();
    for (rlim_t limit = 4096; limit <= 256 << 10; limit *= 4) {
        assert_int_equal(save_with_limit(limit), 0);
        struct store *s = open_store(STORE_READ);
        must(store_load_baseline(s, "main", &got, &err), &err);
        same_set(&want, &got);
        series_set_done(&got);
        must(store_check_pages(s, &err), &err);
        store_close(s);
    }
    series_set_done(&want);
}

enum { WRITERS = 6, EACH = 5 };

static int write_some(int who)
{
    for (int i = 0; i < EACH; i++) {
        struct store *s;
        struct err err;
        struct series_set set = make_set(who + 1);
        char name[32];
        snprintf(name, sizeof name, "w%d-%d", who, i);
        if (store_open(&s, path, STORE_WRITE, &err) != 0 ||
            store_save_baseline(s, name, &set, &err) != 0 ||
            store_save_baseline(s, "shared", &set, &err) != 0) {
            fprintf(stderr, "# %s\n", err.text);
            return 1;
        }
        series_set_done(&set);
        store_close(s);
    }
    return 0;
}

static void programs_that_write_at_once_lose_nothing(void **state)
{
    (void)state;
    struct err err;
    struct store_baseline *list;
    struct store_point *points;
    size_t n;
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0)
            _exit(write_some(i)); /* the first ones make the store */
    for (int i = 0; i < WRITERS; i++) {
        int status;
        wait(&status);
        assert_int_equal(status, 0);
    }
    struct store *s = open_store(STORE_READ);
    must(store_list_baselines(s, &list, &n, &err), &err);
    assert_int_equal(n, WRITERS * EACH + 1);
    free(list);
    must(store_series_past(s, "sort", MEASURE_TIME, "", &points, &n, &err), &err);
    assert_int_equal(n, 2 * WRITERS * EACH);
    free(points);
    store_close(s);
}

/* A program that is killed in the middle leaves a journal: whoever comes next undoes the half. */
static void half_a_transaction_is_undone(void **state)
{
    (void)state;
    struct err err;
    struct series_set want = make_set(1e6), got;
    make_store();
    pid_t child = fork();
    if (child == 0) {
        struct store *s;
        if (store_open(&s, path, STORE_WRITE, &err) != 0)
            _exit(1);
        sqlite3_exec(s->db,
                     "PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE series SET name=name||'x';"
                     "CREATE TABLE t(x); INSERT INTO t VALUES (zeroblob(100000));"
                     "DELETE FROM measured",
                     NULL, NULL, NULL);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    char journal[80];
    snprintf(journal, sizeof journal, "%s-journal", path);
    assert_int_equal(access(journal, F_OK), 0);
    struct store *s = open_store(STORE_READ);
    must(store_load_baseline(s, "main", &got, &err), &err);
    same_set(&want, &got);
    assert_int_equal(access(journal, F_OK), -1);
    store_close(s);
    series_set_done(&got);
    series_set_done(&want);
}

static void the_store_is_beside_the_project(void **state)
{
    (void)state;
    char deep[80], want[80];
    char *old = getcwd(NULL, 0);
    unsetenv("KELVIN_STORE");
    snprintf(deep, sizeof deep, "%s/a", folder);
    assert_int_equal(mkdir(deep, 0700), 0);
    strcat(deep, "/b");
    assert_int_equal(mkdir(deep, 0700), 0);
    assert_int_equal(chdir(folder), 0);
    fclose(fopen("kelvin.conf", "we"));
    char *real = getcwd(NULL, 0);
    snprintf(want, sizeof want, "%s/.kelvin/history.db", real);
    assert_int_equal(chdir(deep), 0);
    char *got = store_path();
    assert_string_equal(got, want);
    free(got);
    setenv("KELVIN_STORE", "/elsewhere/x.db", 1);
    got = store_path();
    assert_string_equal(got, "/elsewhere/x.db");
    free(got);
    unsetenv("KELVIN_STORE");
    assert_int_equal(chdir(old), 0);
    free(old);
    free(real);
}

/* --- JSON from elsewhere --- */

static void json_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
#define HEAD "{\"kelvin\":\"bench\",\"version\":1,\"name\":\"m\",\"series\":["
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"", "ends"},
        {"[]", "object"},
        {"{\"version\":1}", "not an export"},
        {"{\"name\":\"m\"}", "not an export"},
        {"{\"kelvin\":\"bench\",\"version\":2}", "another kelvin"},
        {"{\"kelvin\":\"bench\",\"version\":1}", "no series"},
        {HEAD "]}", "no series"},
        {HEAD "{}]}", "without a name"},
        {HEAD "{\"name\":\"a\"}]}", "no runs"},
        {HEAD "{\"name\":\"a\",\"blocks\":[-1]}]}", "out of range"},
        {HEAD "{\"name\":\"a\",\"blocks\":[4294967296]}]}", "out of range"},
        {HEAD "{\"name\":\"a\",\"blocks\":[0],\"measures\":{\"time\":[1,2]}}]}", "1 and 2 runs"},
        {HEAD "{\"name\":\"a\",\"measures\":{\"time\":[1e999]}}]}", "too big"},
        {HEAD "{\"name\":\"a\",\"measures\":{\"smell\":[1]}}]}", "not known"},
        {HEAD "{\"name\":\"a\",\"measures\":{\"time\":[1],\"time\":[1]}}]}", "there twice"},
        {HEAD "{\"name\":\"a\",\"bytes\":-1,\"measures\":{\"time\":[1]}}]}", "negative"},
        {HEAD "{\"name\":\"a\\u0000b\",\"measures\":{\"time\":[1]}}]}", "NUL"},
        {HEAD "{\"name\":\"a\",\"measures\":{\"time\":[1]}},"
              "{\"name\":\"a\",\"measures\":{\"time\":[1]}}]}",
         "there twice"},
        {HEAD "{\"name\":\"a\",\"measures\":{\"time\":[1]}}]} x", "found 'x'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reader in;
        struct series_set set;
        struct err err;
        char *name;
        reader_open_memory(&in, bad[i].text, strlen(bad[i].text));
        if (exchange_read(&in, &name, &set, &err) == 0)
            fail_msg("accepted: %s", bad[i].text);
        if (!strstr(err.text, bad[i].word))
            fail_msg("no '%s' in '%s' for %s", bad[i].word, err.text, bad[i].text);
        reader_close(&in);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_baseline_comes_back_to_the_last_bit),
        TEST(json_comes_back_to_the_last_bit),
        TEST(a_replaced_baseline_stays_in_the_past),
        TEST(the_past_ends_now_and_says_where_the_level_changed),
        TEST(a_deleted_baseline_is_missed_by_name),
        TEST(a_renamed_benchmark_is_found_in_all_baselines),
        TEST(what_makes_no_sense_is_not_saved),
        TEST(other_files_are_refused_and_left_alone),
        TEST(a_newer_store_is_refused_and_left_alone),
        TEST(a_missing_store_is_explained),
        TEST(damaged_pages_are_never_written),
        TEST(a_flipped_bit_in_a_run_is_found),
        TEST(nothing_but_the_store_is_left_in_the_folder),
        TEST(a_folder_without_write_access_can_be_read),
        TEST(a_full_disk_leaves_the_store_as_it_was),
        TEST(programs_that_write_at_once_lose_nothing),
        TEST(half_a_transaction_is_undone),
        TEST(the_store_is_beside_the_project),
        TEST(json_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
