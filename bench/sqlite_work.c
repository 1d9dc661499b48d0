/*
 * sqlite_work.c - keep SQLite busy for some seconds of CPU time: a real program for measurements.
 *
 * Usage: sqlite_work SECONDS. Prints the wall-clock time at which it ended, in seconds.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(sqlite3 *db, const char *sql)
{
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "sqlite_work: %s\n", why);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    double until = argc > 1 ? atof(argv[1]) : 1;
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK)
        return 1;
    run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v REAL); CREATE INDEX i ON t(name)");
    for (int i = 0; seconds(CLOCK_PROCESS_CPUTIME_ID) < until; i++) {
        run(db, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n WHERE x < 2000) "
                "INSERT INTO t(name, v) SELECT printf('name %d', abs(random()) % 50000), x * 0.5 "
                "FROM n");
        run(db, "SELECT name, count(*), avg(v) FROM t GROUP BY name ORDER BY 3 DESC LIMIT 10");
        run(db, "SELECT a.name FROM t a JOIN t b ON a.name = b.name WHERE a.id < 200 ORDER BY "
                "a.name || b.v");
        if (i % 20 == 19)
            run(db, "DELETE FROM t");
    }
    sqlite3_close(db);
    printf("%.6f\n", seconds(CLOCK_MONOTONIC));
    return 0;
}
