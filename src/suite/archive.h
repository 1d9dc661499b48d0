/*
 * archive.h - the recordings of the newest runs of a suite, by commit, and names for them.
 *
 *     .kelvin/archive/20261117T081500Z-3f9a1c2d04ab/small.kelvin
 *
 * A name such as "@HEAD~3" stands for a recording wherever a file is asked for:
 *
 *     @last              of the newest run
 *     @main              of the baseline 'main'
 *     @HEAD~3, @3f9a1c   of the newest run of that commit: whatever git calls a commit
 *     @last:small        of the workload 'small', of the newest run that recorded it; needed where
 *                        there are several
 */
#pragma once
#include "base/err.h"
#include "base/vec.h"

struct suite;

struct archive_limits {
    long runs; /* 0 = keep nothing */
    double bytes;
};

/*
 * Refuse HOME, the folder of the history, its archive, baselines and variants where another user
 * put them into a shared folder: programs kept there are run, and recordings written there.
 */
int archive_check_home(const char *home, struct err *err);

/*
 * Keep the recordings of S, if it made any, which lie in FOLDER, and forget all but the newest runs
 * within MOST: the newest of all stays. RET_TOO_LARGE: how many went because of their size, not of
 * their number.
 */
int archive_add(const struct suite *s, const char *folder, const struct archive_limits *most,
                size_t *ret_too_large, struct err *err);

/* A recording in the archive. */
struct archive_step {
    char *path;
    char name[64]; /* "2026-11-17 08:15:00 UTC, commit 3f9a1c2d04ab" */
};

struct archive_steps {
    VEC(struct archive_step) at;
};

/*
 * The recordings of WORKLOAD, oldest first; "" = the only workload that there is. Fails where there
 * is none, or several and none is named. Free with archive_steps_done() either way.
 */
int archive_steps(const char *workload, struct archive_steps *ret, struct err *err);
void archive_steps_done(struct archive_steps *s);

/* The file that NAME, without its @, stands for. Free *RET. */
int archive_find(const char *name, char **ret, struct err *err);
