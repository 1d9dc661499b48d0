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
 *     @last:small        of the workload 'small'; needed where there are several
 */
#pragma once
#include "base/err.h"

struct suite;

/*
 * Keep the recordings of S, which lie in FOLDER, and forget all but the newest KEEP runs. Nothing
 * where KEEP is 0.
 */
int archive_add(const struct suite *s, const char *folder, long keep, struct err *err);

/* The file that NAME, without its @, stands for. Free *RET. */
int archive_find(const char *name, char **ret, struct err *err);
